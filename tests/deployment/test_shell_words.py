"""Word splitting and expansion, against the real bash."""

from __future__ import annotations

import subprocess
import tempfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.deployment import Command, UserFile, Written, split_script

_PROBE = """cmd() { printf '%s\\0' "$#" "$@"; }\n"""


def bash_arguments(script: str, environment: dict[str, str] | None = None) -> list[list[str]]:
    """The arguments of each call of `cmd` in a script without side effects."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["bash", "--norc", "--noprofile", "-c", _PROBE + script, "zero"],
            cwd=folder,
            env={"HOME": "/home/x", "LC_ALL": "C.UTF-8", **(environment or {})},
            capture_output=True,
            timeout=20,
            check=False,
        )
    items = iter(done.stdout.decode(errors="surrogateescape").split("\0")[:-1])
    return [[next(items) for _ in range(int(count))] for count in items]


def read(script: str) -> tuple[Command, ...]:
    """Our reading of a whole file with that text."""
    return split_script(Written.whole(UserFile(path="start.sh", text=script)))


def calls(script: str, name: str = "cmd") -> list[Command]:
    """Our reading of the calls of one command."""
    return [command for command in read(script) if command.words[0].text == name]


def our_arguments(script: str) -> list[list[str]]:
    """As `bash_arguments`, in our reading."""
    return [[word.text for word in command.words[1:]] for command in calls(script)]


def all_known(script: str) -> bool:
    """Whether we claim to know each word of the calls."""
    return all(word.known for command in calls(script) for word in command.words)


KNOWN = [
    "cmd",
    "cmd a b  c",
    "cmd 'a b' \"c d\" e\\ f",
    "cmd '' \"\" a''b",
    "cmd a\\\n  b \\\n  --c",
    "cmd a\\\nb",
    "cmd 'a\\\nb' \"a\\\nb\"",
    'cmd "a\\"b\\$c\\`d\\\\e\\f"',
    "cmd $'a\\n\\t\\x41\\101\\u00e9\\'\\\"q\\z' $'' $\"x y\"",
    "cmd a#b #c\ncmd d # e",
    "cmd --x=\"a b\"c'd e'",
    "cmd x{},} ''{},} {},} x{a},b} {a},b} {a{b,c} a{,}b} {a,b{c,d} {{a,b} {a,b}}",
    "cmd {a,b} x{1,2}y {a,b}{c,d} {a,{b,c}} {a} {} {,} a{,b} {a,b {a,{b,c} \"{a,b}\" {a,'b c'}",
    'cmd {"a": 1, "b": [1}',
    'cmd {"a":1,"b":2} \'{"a": 1}\' "{\\"a\\": 1}"',
    "A=1; cmd $A ${A} \"$A\" '$A' \\$A $A$A x${A}y",
    "A='a b'; cmd $A \"$A\" x$A'y' x${A}y",
    "A=' a  b '; cmd $A \"$A\" x$A'y' x${A}y",
    'A=; cmd $A "$A" x${A}y $A$A',
    "A='--a 1'; A=\"$A --b '2 3'\"; cmd $A",
    "A=a; A+=b; A+=' c'; cmd $A",
    "A=(--a b 'c d'); cmd \"${A[@]}\"",
    'A=(--a b \'c d\'); cmd ${A[@]} ${A[1]} "${A[2]}" ${#A[@]} ${A[9]} "${A[9]}" $A',
    "A=(--a b); A+=(--c 'd e'); A+=x; cmd \"${A[@]}\"",
    'A=(a \'b c\'); cmd "x${A[@]}y" "${A[*]}" "x${A[*]}y"',
    'A=(); cmd "${A[@]}" x "${A[*]}" ${A[@]} "a${A[@]}"',
    'A=(\n  --a # comment\n  --b \\\n  --c\n)\ncmd "${A[@]}"',
    'B=(x y); A=(--a "${B[@]}" $B); cmd "${A[@]}"',
    'A=a; cmd ${A:-b} ${A-b} ${A:+c d} "${A:+c d}" ${A+e} ${A:=f} ${A:?g}',
    'A=; cmd ${A:-b c} "${A:-b c}" ${A-b} ${A:+c} "${A:+c}" ${A+e}',
    'unset A; cmd ${A:-b \'c d\'} "${A:-b "c d"}" ${A-b} x${A:+c}y ${A+e} "${A:-\'x\'}" ${A:-} "${A:-}"',
    'unset A; cmd $A "$A" x$A',
    'unset A; cmd ${A:=v w} $A "$A"',
    'cmd ${NOT_SET:-30000} --port=${NOT_SET:-30000} "${NOT_SET:-a b}"',
    'A=x; cmd ${NOT_SET:-$A} ${NOT_SET:-"${A}/y z"}',
    'A=a:b; B=$A:c; B="$B" cmd $B',
    "A=0; A=1 cmd $A",
    "A='x y'; B=$A; cmd \"$B\"",
    'A=/a/b/c.tar.gz; cmd ${A##*/} ${A#*/} ${A%.*} ${A%%.*} ${A%/*} ${A#x} "${A##*/}" ${A%.gz}',
    'A=a; export B="$A b" C=$A; cmd "$B" $C',
    "readonly A=x; declare B=y; cmd $A $B",
    "if true; then A=1; else A=1; fi; cmd $A",
    "for x in 1; do cmd a; done",
    'f() { cmd "$@" $# "$1" ${2:-z}; }; f a \'b c\'',
    "f() { local A=$1; cmd $A; }; A=out; f in; cmd $A",
    "main() { cmd x $A; }\nA=1\nmain",
    'function g { cmd "$*"; }; g a b',
    'set -- a \'b c\'; cmd "$@" $#; shift; cmd "$1"',
    'set -- "$@" --x; cmd x',
    "(A=1; cmd $A); A=2; cmd $A",
    "A=1; (A=2); cmd $A",
    "A=1; A=2 | A=3; cmd $A",
    "A=1; { A=2; }; cmd $A",
    "A=1 && B=2 && cmd $A $B",
    "export A=1 && cmd $A || cmd no",
    "eval \"cmd 'a b' c\"; A='d e'; eval cmd \\$A \"'$A'\"",
    "cat <<EOF >/dev/null\ncmd no\nEOF\ncmd yes",
    "cat <<-'E F' >/dev/null && cmd both\n\tcmd no\n\tE F\ncmd yes",
    "cat <<A <<B >/dev/null\ncmd 1\nA\ncmd 2\nB\ncmd yes",
    'cat <<<"cmd x" >/dev/null; cmd yes',
    "cmd a >/dev/stdout 2>&1 b &>>/dev/null\ncmd c 3>/dev/null d",
    ">/dev/stdout cmd a",
    "case x in (a|b) cmd no;; x) cmd yes;; esac",
    "case $1 in *) A=1;; esac; cmd $A",
    "[[ a && (b || c) ]] && cmd yes",
    "((1 + 2)) && cmd yes",
    "! cmd a; cmd b",
    "while true; do cmd a; break; done",
    "cmd a & wait; cmd b",
    "cmd a;\ncmd b",
    "if false; then :; elif true; then cmd yes; fi",
    'cmd "a$" $ a$ "$"',
    "cmd a\tb",
    "cmd 'é' \"日本\" ü",
    "cmd [ x ] a=b A=b --a=b",
    "cmd ] [ [] a] ",
    "cmd if then else { } ! do",
    "C='cmd --a'; $C --b",
    'C=(cmd --a); "${C[@]}" --b',
    "A='{a,b}'; cmd $A",
    'A=five; cmd "${#A}" ${#A}',
    'B="${B:-x y}"; cmd "$B" $B',
    ": ${B:=x}; cmd $B",
    'A=(a b c); cmd "${A[@]:+x y}" ${A[@]+"${A[@]}"}',
    'A=1; B=A; C=$A$B; cmd $C "${C}${C}"',
    "A=a\\\nb; cmd $A",
    'A="x\ny"; cmd $A "$A"',
    "A=$'x\\ty'; cmd $A \"$A\"",
]


@pytest.mark.parametrize("script", KNOWN)
def test_words_are_those_of_bash(script: str) -> None:
    truth = bash_arguments(script)
    ours = our_arguments(script)
    executed = [arguments for arguments in ours if arguments in truth]
    assert all_known(script)
    assert executed == truth


@pytest.mark.parametrize(
    ("script", "unknown"),
    [
        ("cmd a$(hostname) b", ["a$(hostname)"]),
        ("cmd `hostname`", ["`hostname`"]),
        ('cmd $1 "$@" $? $$ ${!A}', ["$1", "$@", "$?", "$$", "${!A}"]),
        ('cmd $A ${B} "$C"x', ["$A", "${B}", "$Cx"]),
        ("cmd *.py a?b [ab] x[a-c]*", ["*.py", "a?b", "[ab]", "x[a-c]*"]),
        ("cmd ~ ~/m a=~/m a~", ["~", "~/m", "a=~/m"]),
        ("cmd $((1+2)) <(echo)", ["$((1+2))", "<(echo)"]),
        ("A='*'; cmd $A \"$A\"", ["*"]),
        ("if x; then A=1; fi; cmd $A", ["$A"]),
        ("A=0; if x; then A=1; fi; cmd $A", ["$A"]),
        ("x && A=1; cmd $A", ["$A"]),
        ("A=0; x || A=1; cmd $A", ["$A"]),
        ("while x; do A=1; done; cmd $A", ["$A"]),
        ("for A in 1 2; do cmd $A; done", ["$A"]),
        ("A=0; while x; do cmd $A; A=1; done", ["$A"]),
        ("case x in a) A=1;; *) A=2;; esac; cmd $A", ["$A"]),
        ("case x in a) A=1;; esac; cmd $A", ["$A"]),
        ("read A; cmd $A", ["$A"]),
        ("A=1; read -r A; cmd $A", ["$A"]),
        ("A=1; source other.sh; cmd $A", ["$A"]),
        ('A="--a $(date) --b"; cmd $A', ["$(date)"]),
        ('A=(--a $(date) *.x); cmd "${A[@]}"', ["$(date)", "*.x"]),
        ("A=a/b; cmd ${A/a/b} ${A:1} ${A^^}", ["${A/a/b}", "${A:1}", "${A^^}"]),
        ("A+=x; cmd $A", ["$A"]),
        ("IFS=,; A=a,b; cmd $A", ["a,b"]),
        ("cmd ${A:+x}", ["${A:+x}"]),
        ("f() { A=1; }; x && f; cmd $A", ["$A"]),
        ("f() { cmd $1; }", ["$1"]),
        ("declare -A A=([x]=y); cmd ${A[x]}", ["${A[x]}"]),
        ("cmd {1..3}", ["{1..3}"]),
        ('cmd "abc', ["abc"]),
    ],
)
def test_what_only_shows_at_run_time_is_unknown(script: str, unknown: list[str]) -> None:
    words = [word for command in calls(script) for word in command.words]
    assert [word.text for word in words if not word.known] == unknown


def test_a_branch_that_leaves_the_script_does_not_count() -> None:
    (command,) = calls("if x; then A=1; else exit 1; fi\ncmd $A")
    assert [word.text for word in command.words] == ["cmd", "1"]


_QUOTED = st.text(alphabet='ab ,:{}[]"$\\*~#=-é', max_size=8).map(lambda text: f"'{text}'")
_DOUBLE = st.lists(
    st.sampled_from(
        [
            "a",
            " ",
            "\\\\",
            '\\"',
            "\\$",
            "'",
            "{",
            ",",
            "}",
            "$A",
            "${A}",
            "${B[@]}",
            "${U:-d e}",
            "${A:+x}",
            "~",
            "#",
        ]
    ),
    max_size=5,
).map(lambda parts: '"' + "".join(parts) + '"')
_BARE = st.text(alphabet="ab{},:=-.%+/@]", min_size=1, max_size=6)
_PIECE = st.one_of(
    _QUOTED,
    _DOUBLE,
    _BARE,
    st.sampled_from(
        [
            "$A",
            "${A}",
            "$E",
            "${E:-x y}",
            "${B[@]}",
            "$B",
            "${B[*]}",
            "\\ ",
            "\\\n",
            "{a,b}",
            '{"a":',
            "$'\\n'",
            "${U:-'p q' r}",
        ]
    ),
)
_WORD = st.lists(_PIECE, min_size=1, max_size=4).map("".join)
_SCALAR = st.one_of(_QUOTED, _DOUBLE, st.text(alphabet="ab/.:,{}", max_size=5))


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(a=_SCALAR, b=st.lists(_WORD, max_size=3), words=st.lists(_WORD, max_size=4))
def test_any_words_are_those_of_bash(a: str, b: list[str], words: list[str]) -> None:
    script = f"unset A B U; E=\nA={a}\nB=({' '.join(b)})\ncmd {' '.join(words)}"
    if not all_known(script):
        return
    assert our_arguments(script) == bash_arguments(script)
