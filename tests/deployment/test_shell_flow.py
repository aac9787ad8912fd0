"""Branches, loops, functions and scopes: whatever is said to be known is what the real bash gives."""

from __future__ import annotations

import subprocess
from collections import defaultdict

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from assay.deployment import Command, UserFile, Written, split_script
from assay.errors import InputError

_PROBE = """cmd() { printf '%s\\0' "$#" "$@"; }\n"""


def _executed(script: str, environment: dict[str, str]) -> list[list[str]]:
    """The arguments of each call of `cmd` in bash."""
    done = subprocess.run(
        ["bash", "--norc", "--noprofile", "-c", _PROBE + script],
        env=environment,
        capture_output=True,
        timeout=20,
        check=False,
    )
    items = iter(done.stdout.decode().split("\0")[:-1])
    return [[next(items) for _ in range(int(count))] for count in items]


def _sites(script: str) -> dict[str, list[Command]]:
    """Our reading of each call of `cmd`, by its first argument."""
    sites: dict[str, list[Command]] = defaultdict(list)
    for command in split_script(Written.whole(UserFile(path="start.sh", text=script))):
        if command.words[0].text == "cmd":
            sites[command.words[1].text].append(command)
    return sites


def _allows(command: Command, arguments: list[str]) -> bool:
    """Whether our reading of a call may be that run of it."""
    words = command.words[1:]
    if all(word.known for word in words):
        return [word.text for word in words] == arguments
    pairs = zip(words, arguments, strict=False)
    for word, argument in pairs:
        if not word.known:
            return True
        if word.text != argument:
            return False
    return True


_SIMPLE = st.sampled_from(
    """A=1; A=2; A=$B; B=x; B='y z'; B="$A w"; A+=3; C=(1 '2 3'); C+=($A); C+=(4); unset A; unset B; export A;
    export A=5; export B=$A; set -- p 'q r'; shift; read A </dev/null; A=6 true; declare A=7; eval 'A=8';
    eval B=$A; A="${A:+v}"; B=${A%2}; : ${A:=9}; f; f 1; g "$A"; h; local A=10; exit; return;
    A=$(cmd sub,A=11); C=(); D=$A; A=$D; set -- "$@" z; f $A w; C=($A 5);
    A=6 f; A=6 eval B=q; break; ((A=4)); A=$((A+1)); let A=3; C=("$@"); unset C[0]; f "$@"; C[1]=x""".replace(
        "\n", ""
    ).split("; ")
).map(lambda text: text.strip().replace(",", "; "))
_CALL = st.sampled_from(
    [
        "$A",
        '"$B"',
        '"${C[@]}"',
        "$A $B",
        '"$A" $C',
        '"$@"',
        "${1} $#",
        "$D",
        '"${C[1]}"',
        '"$2"',
        "${#C[@]}",
        '"${A%1}"',
        '"${C[*]}" $A',
    ]
).map(lambda words: f"cmd @ {words}")
_TEST = st.sampled_from(
    ["true", "false", '[ "$A" = 1 ]', "[[ -n $B ]]", "A=1", "! true", "B=2; true", "A=3; false"]
)
_LEAF = st.one_of(_SIMPLE, _CALL, _CALL)


def _compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    body = st.lists(inner, min_size=1, max_size=3).map("\n".join)
    return st.one_of(
        st.builds("if {}; then\n{}\nfi".format, _TEST, body),
        st.builds("if {}; then\n{}\nelse\n{}\nfi".format, _TEST, body, body),
        st.builds("if {}; then\n{}\nelif {}; then\n{}\nelse\n{}\nfi".format, _TEST, body, _TEST, body, body),
        st.builds("{{ {}\n}} && {}".format, _TEST, inner),
        st.builds("{{ {}\n}} || {}".format, _TEST, inner),
        st.builds("{} && {} || {}".format, inner, inner, inner),
        st.builds("{} && {} && {}".format, _LEAF, inner, inner),
        st.builds("(\n{}\n)".format, body),
        st.builds("{{\n{}\n}}".format, body),
        st.builds("{{\n{}\n}} | cat".format, body),
        st.builds("{{\n{}\n}} & wait".format, body),
        st.builds("for X in 1 2; do\n{}\ndone".format, body),
        st.builds("for A in 1 2; do\n{}\ndone".format, body),
        st.builds("until true; do\n{}\ndone".format, body),
        st.builds("case $A in 1) {}\n;; *) {}\n;; esac".format, body, body),
        st.builds("case $A in 1) {}\n;; 2) {}\n;; esac".format, body, body),
        st.builds("{}() {{\n{}\n}}".format, st.sampled_from("fgh"), body),
        st.builds("function {} {{\n{}\n}}".format, st.sampled_from("fgh"), body),
    )


_SCRIPT = st.lists(st.recursive(_LEAF, _compound, max_leaves=6), min_size=1, max_size=7).map("\n".join)


def _numbered(script: str) -> str:
    """Each call with its own number."""
    head, *rest = script.split("@ ")
    return head + "".join(f"{number} {part}" for number, part in enumerate(rest))


@settings(deadline=None, max_examples=120, suppress_health_check=[HealthCheck.too_slow])
@given(_SCRIPT, st.sampled_from([{}, {"A": "env"}, {"B": "a b", "D": ""}]))
def test_no_run_contradicts_what_we_claim(script: str, environment: dict[str, str]) -> None:
    script = _numbered("PATH=/usr/bin:/bin FUNCNEST=20\n" + script)
    if environment and ":=" in script:
        return  # a default is taken as written, whatever the environment may hold
    try:
        sites = _sites(script)
    except InputError:  # functions that call each other in loops can exceed what assay follows: no claim
        assume(False)
    for arguments in _executed(script, environment):
        site = sites[arguments[0]]
        assert any(_allows(command, arguments) for command in site), (script, arguments)
