"""Scripts and commands as launches: places, environments, limits."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.deployment import (
    Command,
    UserFile,
    Variable,
    Word,
    Written,
    command_line,
    parse_command,
    quote_shell,
    read_script,
    split_script,
    unwrap,
)
from assay.errors import AssayError, InputError

SCRIPTS = Path(__file__).parent / "scripts"


def _read(script: str) -> tuple[Command, ...]:
    return split_script(Written.whole(UserFile(path="start.sh", text=script)))


def _words(script: str, name: str = "cmd") -> list[Word]:
    return [word for command in _read(script) if command.words[0].text == name for word in command.words]


def _texts(commands: tuple[Command, ...]) -> list[list[str]]:
    return [[word.text for word in command.words] for command in commands]


# Places


@pytest.mark.parametrize(
    ("script", "text", "raw", "editable"),
    [
        ("cmd --tp 4", "--tp", "--tp", True),
        ("cmd 'a b'", "a b", "'a b'", True),
        ('cmd --x="a b"', "--x=a b", '--x="a b"', True),
        ("cmd a\\\nb", "ab", "a\\\nb", True),
        ("M='a b'; cmd \"$M\"", "a b", "'a b'", True),
        ("M=ab; cmd $M", "ab", "ab", False),
        ("A='--tp 4'; cmd $A", "--tp", "--tp", False),
        ('A="--tp 4"; A="$A --dp 2"; cmd $A', "--dp", "--dp", False),
        ('A="--tp 4"; A="$A --dp 2"; cmd $A', "--tp", "--tp", False),
        ("A=(--a '--b c'); cmd \"${A[@]}\"", "--b c", "'--b c'", True),
        ('D=/m; cmd "$D/x"', "/m/x", '"$D/x"', False),
        ("D=/m; cmd --p=$D", "--p=/m", "--p=$D", False),
        ("cmd ${T:-8}", "8", "${T:-8}", False),
        ("cmd $X", "$X", "$X", False),
        ("cmd {a,b}", "b", "b", False),
        ("f() { cmd \"$1\"; }; f 'a b'", "a b", "'a b'", True),
        ("export A='x y'; cmd \"$A\"", "x y", "'x y'", True),
        ("eval 'cmd --tp'", "--tp", "--tp", False),
    ],
)
def test_a_word_stands_where_it_is_written(script: str, text: str, raw: str, editable: bool) -> None:  # noqa: FBT001
    word = next(word for word in _words(script) if word.text == text)
    assert (word.raw, word.editable) == (raw, editable)
    if text in raw:
        file = word.file.text
        assert "".join(file[offset] for offset in word.offsets[:-1]) == text


def _check_round_trip(script: str) -> int:
    """Each word that may be edited can be replaced by its own text; returns how many there were."""
    try:
        commands = _read(script)
    except InputError:
        return 0
    words = [word for command in commands for word in command.words]
    before = [word.text if word.known else None for word in words]
    tried = 0
    for word in words[:40]:
        assert len(word.offsets) == len(word.text) + 1
        assert list(word.offsets) == sorted(word.offsets)
        assert word.start <= word.offsets[0] <= word.offsets[-1] <= word.end
        if not (word.known and word.editable):
            continue
        tried += 1
        quoted = quote_shell(word.text)
        again = _read(script[: word.start] + quoted + script[word.end :])
        after = [one.text if one.known else None for command in again for one in command.words]
        assert after == before, (script, word)
    return tried


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("*.s*")), ids=lambda path: str(path.name))
def test_words_of_scripts_can_be_replaced_by_themselves(path: Path) -> None:
    if path.suffix != ".json":
        assert _check_round_trip(path.read_text()) >= 2


_SNIPPET = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "cmd",
                " ",
                "\n",
                "'",
                '"',
                "$A",
                "A=",
                "A='x y'",
                "B=(",
                ")",
                '"${B[',
                ']}"',
                "\\\n",
                "\\",
                "--x",
                "{a,b}",
                "a b",
                ";",
                "&&",
                "|",
                "if",
                "then",
                "fi",
                "(",
                "{",
                "}",
                "<<E",
                "E",
                "#",
                "`",
                "$(",
                "${",
                "$((",
                "))",
                "for i in",
                "do",
                "done",
                "case x in",
                "esac",
                "f()",
                "eval ",
                "export ",
                "é\n",
                "*",
                "~",
                "$'\\x41'",
                "[[",
                "]]",
                "&",
                ">",
                "2>&1",
                '{"a": 1}',
                "set -- a",
                "shift",
                "$1",
                "unset A",
                "\t",
                "\r",
                "'a'",
            ]
        ),
        st.text(max_size=3),
    ),
    max_size=14,
).map("".join)


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(_SNIPPET)
def test_any_text_raises_nothing_of_its_own_and_keeps_its_places(text: str) -> None:
    _check_round_trip(text)
    with contextlib.suppress(AssayError):
        unwrap(parse_command(Written.whole(UserFile(path="<x>", text=text))))


@settings(deadline=None, max_examples=200)
@given(st.lists(st.text(st.characters(exclude_characters="\0"), max_size=8), min_size=1, max_size=5))
def test_a_command_line_reads_back_as_its_words(argv: list[str]) -> None:
    launch = command_line(argv)
    assert [word.text for word in launch.words] == argv
    text = launch.files[0].text
    assert shlex.split(text) == argv
    for word in launch.words:
        assert "".join(text[offset] for offset in word.offsets[:-1]) == word.text
        assert (word.raw, word.syntax) == (quote_shell(word.text), "argv")
    again = [w.text for c in _read("cmd " + text) for w in c.words if c.words[0].text == "cmd"]
    assert again == ["cmd", *argv]


# Environment


@pytest.mark.parametrize(
    ("script", "environment"),
    [
        ("A=1; cmd", {}),
        ("export A=1; cmd", {"A": "1"}),
        ("A=1; export A; A=2; cmd", {"A": "2"}),
        ("export A=1; A=2 cmd", {"A": "2"}),
        ("A=1 B='x y' cmd", {"A": "1", "B": "x y"}),
        ("A=1 true; cmd", {}),
        ("set -a; A=1; set +a; B=2; cmd", {"A": "1"}),
        ("set -o allexport; A=1; cmd", {"A": "1"}),
        ("export A=1 B=2; unset A; cmd", {"B": "2"}),
        ("export A=1; export -n A; cmd", {}),
        ("declare -x A=1; cmd", {"A": "1"}),
        ("(export A=1); cmd", {}),
        ("(export A=1; cmd)", {"A": "1"}),
        ("X=1; export A=$X-$X; cmd", {"A": "1-1"}),
        ("f() { export A=1; }; f; cmd", {"A": "1"}),
        ("f() { local A=1; export A; }; f; cmd", {}),
        ("export A=1; env | grep x; cmd", {"A": "1"}),
        ("A=(1 2); export B=x; cmd", {"B": "x"}),
    ],
)
def test_a_command_gets_what_is_exported(script: str, environment: dict[str, str]) -> None:
    (command,) = (command for command in _read(script) if command.words[0].text == "cmd")
    assert {variable.name: variable.value for variable in command.environment} == environment
    for variable in command.environment:
        assert variable.known
        assert variable.file.text[variable.start :].startswith(variable.name)


def test_a_variable_exported_in_one_branch_is_unknown() -> None:
    command = _read("if x; then export A=1; fi\ncmd")[-1]
    assert [(v.name, v.value, v.known) for v in command.environment] == [("A", "1", False)]


def test_variables_from_outside_are_expanded_and_handed_on() -> None:
    unit = UserFile(path="x.service", text='Environment="ARGS=--tp 4"\nEnvironmentFile=x')
    outer = {
        "ARGS": Variable(name="ARGS", value="--tp 4", file=unit, start=13, end=24),
        "HOST": Variable(name="HOST", value="%H", file=unit, start=0, end=1, known=False),
    }
    (command,) = split_script(
        Written.whole(UserFile(path="s", text="cmd $ARGS $HOST")), variables=outer, editable=False
    )
    assert [(w.text, w.known, w.file.path, w.raw) for w in command.words[1:]] == [
        ("--tp", True, "x.service", "--tp"),
        ("4", True, "x.service", "4"),
        ("$HOST", False, "s", "$HOST"),
    ]
    assert next((v.name, v.value, v.known) for v in command.environment) == ("ARGS", "--tp 4", True)
    assert not any(word.editable for word in command.words)


def test_the_working_directory_is_kept() -> None:
    commands = _read("cd /srv\ncmd a\n(cd /tmp; cmd b)\ncmd c\ncd $X\ncmd d")
    found = [(c.words[1].text, c.directory) for c in commands if c.words[0].text == "cmd"]
    assert found == [("a", "/srv"), ("b", "/tmp"), ("c", "/srv"), ("d", None)]


# Launches


def test_commands_come_in_the_order_of_the_text() -> None:
    script = "f() { a; }\nb && c | d\nif e; then (g); fi\n{ h; } &\nf\nx=$(i)\nexec j"
    assert [texts[0] for texts in _texts(_read(script))] == [*"abcdeghf", "i", "exec"]


def test_a_script_gives_one_launch_for_each_command(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_bytes(b"#!/bin/bash\n#SBATCH -N 1\nA=1 one \xff\ntwo\n")
    launches = read_script(path)
    assert [(one.kind, one.name, len(one.words)) for one in launches] == [
        ("sbatch", "run.sh", 2),
        ("sbatch", "run.sh", 1),
    ]
    assert launches[0].words[1].text == "\udcff"
    assert launches[0].files == (launches[0].words[0].file,)


def test_a_command_of_a_deployment_keeps_its_places() -> None:
    file = UserFile(path="d.toml", text='command = "python -m x --tpp" # note')
    written = Written(file=file, text=file.text[11:28], offsets=tuple(range(11, 29)))
    launch = parse_command(written)
    assert (launch.kind, launch.name) == ("deployment", "python")
    assert [word.raw for word in launch.words] == ["python", "-m", "x", "--tpp"]
    assert launch.words[3].place.column == 24
    assert not any(word.editable for word in launch.words)


@pytest.mark.parametrize("text", ["", "  # nothing", "A=1", "a; b", "a\nb --c"])
def test_what_is_not_one_command_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="command"):
        parse_command(Written.whole(UserFile(path="d.toml", text=text)))


def test_lines_left_out_of_a_command_are_its_faults() -> None:
    launch = parse_command(Written.whole(UserFile(path="d.toml", text="cmd --a\n  --b\n")))
    assert [fault.kind for fault in launch.faults] == ["ignored-line"]


def test_too_many_words_are_refused() -> None:
    with pytest.raises(InputError, match="100,000"):
        command_line(["a"] * 100_001)
    with pytest.raises(InputError, match="100,000"):
        _read("a " * 100_001)


# Hostile text

OPENERS = [
    "(",
    "$(",
    '"$(',
    "{ ",
    "if ",
    "`",
    "[[ ",
    "((",
    "${a:-",
    '"${a:-',
    "<<E\n",
    "a=(",
    "x <<E ",
    "case x in ",
    "f() ",
    "! ",
    "a|",
    "a(b)",
    "for x in ",
    "$((",
    "[",
    "case a in b) ",
    "'",
    "a\\\n",
    "<(",
    '"',
    '{"a":',
    "{a,",
    "}",
    ")",
    ";;",
    "a && ",
    "a;",
    "$'",
    "do ",
    "\\",
    "eval ",
    "f(){ f;};f;",
    "while ",
    "coproc ",
    "{a,b}",
    "a=$a$a;",
    "-a\n",
    "\n#",
    "if :;then a=1;fi;",
    "export a=1;x;",
    "function f ",
    "x &",
    "$a",
    "a=1 ",
    '["',
    "! {",
    "x \\ \n-a",
    "A+=(x);",
]


@pytest.mark.parametrize("opener", OPENERS)
def test_hostile_repetition_ends_soon(opener: str) -> None:
    for text in (opener * 30_000)[:30_000], "cmd " + opener * 2000, opener * 25 + "cmd":
        with contextlib.suppress(InputError):
            _read(text)


@pytest.mark.parametrize("opener", ["(", "$(", '"$(', "{ ", "${a:-", "[[ ", "((", "if ", "[", "<("])
def test_a_hundred_thousand_brackets_end_soon(opener: str) -> None:
    with contextlib.suppress(InputError):
        _read("cmd " + opener * 100_000)
    with contextlib.suppress(InputError):
        _read(opener * 100_000)


@pytest.mark.parametrize(
    "script",
    [
        "A=aaaaaaaaaaaaaaaa\n" + "A=$A$A\n" * 40 + "cmd $A",
        "A=(a b)\n" + 'A=("${A[@]}" "${A[@]}")\n' * 40 + 'cmd "${A[@]}"',
        "A=(a b)\n" + 'A+=("${A[@]}")\n' * 40 + 'cmd "${A[@]}"',
        "A='a b c d e f g h'\n" + 'A="$A $A"\n' * 12 + "cmd $A $A $A $A $A $A $A $A $A $A $A $A $A $A",
        "a() { b; b; b; b; }\nb() { c; c; c; c; }\nc() { d; d; d; d; }\nd() { e; e; e; e; }\n"
        "e() { f; f; f; f; }\nf() { g; g; g; g; }\ng() { h; h; h; h; }\nh() { i; i; i; i; }\n"
        "i() { j; j; j; j; }\nj() { cmd; cmd; }\na",
        "A=a\n" + "export B$A=1\n" * 3 + "A=x; cmd ${A:-" * 40,
        "a() { " + "a b c;" * 20000 + " }; a; a; a",
        'A=\'eval "$A$A"\'; eval "$A"',
    ],
)
def test_what_grows_without_end_is_refused_or_ends(script: str) -> None:
    with contextlib.suppress(InputError):
        _read(script)


def test_a_bomb_of_variables_is_an_input_error() -> None:
    with pytest.raises(InputError, match="grow"):
        _read("A=aaaaaaaaaaaaaaaa\n" + "A=$A$A\n" * 40 + "cmd $A")
    with pytest.raises(InputError, match="nested"):
        _read("(" * 100_000)


def test_a_word_of_many_braces_is_unknown() -> None:
    (word,) = _words("cmd " + "{a,b}" * 30)[1:]
    assert not word.known
