"""Compose files: words, places, variables and faults, compared with what Compose's own code does."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.deployment.launch_text import as_text, check_edits, check_places

from assay.deployment import (
    Launch,
    UserFile,
    YamlNode,
    YamlScalar,
    looks_like_compose,
    read_compose,
    read_yaml,
)
from assay.deployment.containers.compose_env import read_environment_file
from assay.deployment.containers.compose_interpolation import interpolate
from assay.deployment.containers.compose_split import split
from assay.deployment.containers.letters import LITERAL, UNKNOWN, Letters
from assay.deployment.containers.yaml_go import go_text, go_type
from assay.errors import AssayError, InputError

HERE = Path(__file__).parent / "compose"
FOLDERS = sorted(path.name for path in HERE.iterdir() if path.is_dir())
GO = json.loads((HERE / "go.json").read_text(encoding="utf-8"))


def compose_file(folder: Path) -> Path:
    names = ("compose.yaml", "compose.yml", "docker-compose.yml")
    return next(folder / name for name in names if (folder / name).exists())


@pytest.fixture
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return Path(shutil.copytree(HERE / request.param, tmp_path / "project"))


def launch_of(tmp_path: Path, text: str, **environment: str) -> Launch:
    path = tmp_path / "compose.yml"
    path.write_text(text, encoding="utf-8")
    launches = read_compose(path, environment=environment)
    check_places(launches)
    return launches[0]


def words(launch: Launch) -> list[str]:
    return [word.text for word in launch.words]


@pytest.mark.parametrize("folder", FOLDERS, indirect=True)
def test_real_files(folder: Path) -> None:
    """`expected.txt` was read through by a person; delete it and run this to write it anew."""
    launches = read_compose(compose_file(folder))
    check_places(launches)
    found = as_text(launches, folder)
    expected = folder / "expected.txt"
    assert found == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", FOLDERS, indirect=True)
def test_an_edit_changes_what_it_says_and_nothing_else(folder: Path) -> None:
    check_edits(compose_file(folder), read_compose)


def letters_of(text: str) -> Letters:
    file = UserFile(path="f", text=text)
    return Letters(file, text, list(range(len(text))), list(range(1, len(text) + 1)), LITERAL * len(text))


def cases(op: str) -> list[Any]:
    found = [case for case in GO["cases"] if case["op"] == op]
    return [pytest.param(case["text"], case.get("value"), id=repr(case["text"])) for case in found]


@pytest.mark.parametrize(("text", "expected"), cases("split"))
def test_words_are_those_of_go_shellwords(text: str, expected: list[str] | None) -> None:
    found, faults = split(letters_of(text), "plain")
    refused = any(fault.refused for fault in faults)
    assert (None if refused else [word.text for word in found]) == expected or text == "(a)"


@pytest.mark.parametrize(("text", "expected"), cases("sub"))
def test_interpolation_is_that_of_compose_go(text: str, expected: str | None) -> None:
    """What is not known here is nothing for Compose, or refused."""
    done = interpolate(letters_of(text), GO["environment"].get)
    pairs = zip(done.letters.text, done.letters.marks, strict=True)
    known = "".join(char for char, mark in pairs if mark != UNKNOWN)
    assert (None if done.error else known) == expected


@pytest.mark.parametrize(("text", "expected"), cases("dotenv"))
def test_environment_files_are_read_as_compose_go_does(text: str, expected: dict[str, str] | None) -> None:
    file = UserFile(path="f", text=text)
    done = read_environment_file(file, GO["environment"].get)
    found = {variable.name: variable.value for variable in done.variables}
    found |= {name: GO["environment"][name] for name in done.inherited if name in GO["environment"]}
    if expected is not None:
        expected.pop("", None)  # a last line without = and line break
    assert (None if done.faults else found) == expected
    for variable in done.variables:
        assert file.text[variable.start : variable.end].rstrip() == file.text[variable.start : variable.end]


@pytest.mark.parametrize(("text", "expected"), cases("yaml"))
def test_types_are_those_of_go_yaml(text: str, expected: str) -> None:
    (node,) = read_yaml(UserFile(path="f", text=text))
    assert isinstance(node, YamlScalar)
    name, _, value = expected.partition(" ")
    kinds = {"uint64": "int", "float64": "float", "string": "str", "<nil>": "null", "time.Time": "timestamp"}
    assert go_type(node) == kinds.get(name, name)
    if name not in ("time.Time", "<nil>") and "Inf" not in value and "NaN" not in value:
        assert go_text(node) == value


def test_the_caret_lands_on_the_flag_in_a_folded_string(tmp_path: Path) -> None:
    launch = launch_of(tmp_path, "services:\n  a:\n    command: >-\n      sglang serve\n\n      --tp  4\n")
    flag = launch.words[2]
    assert (flag.text, flag.raw, flag.place.line, flag.place.column) == ("--tp", "--tp", 6, 7)
    assert flag.editable
    assert flag.syntax == "yaml"


def test_a_variable_of_the_shell_wins_over_dotenv(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=dotenv\nB=$A\n")
    text = "services: {a: {command: 'x $A $B', environment: [A, C]}}"
    launch = launch_of(tmp_path, text, A="shell")
    assert words(launch) == ["x", "shell", "shell"]
    assert [(v.name, v.value, v.known) for v in launch.environment] == [
        ("A", "shell", True),
        ("C", "", False),
    ]
    assert [file.path.rpartition("/")[2] for file in launch.files] == ["compose.yml", ".env"]


def test_a_value_is_split_like_the_rest(tmp_path: Path) -> None:
    launch = launch_of(tmp_path, 'services: {a: {command: "x --a=$A $A ${N:-}"}}', A="1 '2 3'")
    assert words(launch) == ["x", "--a=1", "2 3", "1", "2 3"]
    assert [word.editable for word in launch.words] == [True, False, False, False, False]


def test_what_is_not_known_is_one_word(tmp_path: Path) -> None:
    launch = launch_of(tmp_path, "services: {a: {command: 'x ${A:?set A, please} --b=$B'}}")
    assert [(word.text, word.known) for word in launch.words] == [
        ("x", True),
        ("${A:?set A, please}", False),
        ("--b=$B", False),
    ]
    assert launch.faults == ()  # B may well come from where Compose runs


def test_a_variable_that_dotenv_does_not_set_is_told(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=1\n")
    launch = launch_of(tmp_path, "services: {a: {command: 'x $A --b=$B'}}")
    assert [fault.kind for fault in launch.faults] == ["dollar-expansion"]


@pytest.mark.parametrize("command", ["x ${A", "x ${A.b}", "[x, '${}']"])
def test_a_reference_that_compose_refuses(tmp_path: Path, command: str) -> None:
    quoted = command if command.startswith("[") else json.dumps(command)
    (fault,) = launch_of(tmp_path, f"services: {{a: {{command: {quoted}}}}}").faults
    assert (fault.kind, fault.refused, fault.edits[0].text) == ("dollar-expansion", True, "$")


def test_null_command_and_reset_fall_back_to_the_image(tmp_path: Path) -> None:
    (tmp_path / "compose.override.yml").write_text(
        "services:\n  a:\n    command: !reset null\n    environment: !override [B=2]\n  b: {command: null}\n"
    )
    base = "services:\n  a: {entrypoint: [e], command: x, environment: [A=1]}\n  b: {command: y}\n"
    launch = launch_of(tmp_path, base)
    assert words(launch) == ["e"]
    assert [variable.name for variable in launch.environment] == ["B"]
    assert len(read_compose(tmp_path / "compose.yml")) == 1


def test_an_override_belongs_to_the_default_names_only(tmp_path: Path) -> None:
    (tmp_path / "compose.override.yml").write_text("services: {a: {command: other}}")
    path = tmp_path / "compose.prod.yml"
    path.write_text("services: {a: {command: mine}}")
    assert words(read_compose(path)[0]) == ["mine"]


def test_a_key_written_twice_is_refused(tmp_path: Path) -> None:
    launch = launch_of(tmp_path, "services:\n  a:\n    command: x\n    command: y\n")
    assert words(launch) == ["y"]
    assert [(fault.kind, fault.refused, fault.place.line) for fault in launch.faults] == [
        ("ignored-line", True, 4)
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\n", "no `services:` mapping"),
        ("services: {a: {extends: a, command: x}}", "extends itself"),
        ("services: {a: {extends: b}, b: {extends: a}}", "extends itself"),
        ("services: {a: {extends: {service: zzz}}}", r"compose.yml:1:35: extends: no service zzz"),
        ("services: {a: {extends: [b]}}", "expected the name of a service"),
        (
            'services:\n  a:\n    command: x --y {"a": 1}\n',
            "compose.yml:3:24: mapping values are not allowed",
        ),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        launch_of(tmp_path, text)


def test_a_name_that_no_file_can_have_is_a_missing_file(tmp_path: Path) -> None:
    launch = launch_of(tmp_path, "services: {a: {env_file: [" + "x" * 5000 + ', "a\\0b"], command: x}}')
    assert [fault.kind for fault in launch.faults] == ["missing-file", "missing-file"]


def test_a_missing_extends_file_is_a_fault(tmp_path: Path) -> None:
    launch = launch_of(tmp_path, "services: {a: {extends: {service: b, file: no.yml}, command: x}}")
    assert [(fault.kind, fault.refused) for fault in launch.faults] == [("missing-file", True)]


def document(text: str) -> YamlNode:
    return read_yaml(UserFile(path="f", text=text))[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("services: {a: {image: x}}", True),
        ("services: {}", False),
        ("services: [a]", False),
        ("apiVersion: v1\nkind: Pod\n", False),
        ("a: 1", False),
        ("- 1", False),
    ],
)
def test_what_looks_like_compose(text: str, expected: bool) -> None:  # noqa: FBT001
    assert looks_like_compose(document(text)) is expected


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                *(
                    "x",
                    " ",
                    "--a",
                    "'",
                    '"',
                    "\\",
                    "\n      ",
                    "$A",
                    "${A",
                    "}",
                    ":-",
                    "$$",
                    "{",
                    "[",
                    '"a": 1',
                ),
                *("#", ">", ";", "(", "`", "é", "\t", "- ", ": "),
            ]
        ),
        max_size=25,
    ).map("".join),
    st.sampled_from(["", ">\n      ", "|\n      ", "\n      - "]),
)
def test_any_command_gives_words_with_places_or_an_error_of_ours(
    tmp_path_factory: pytest.TempPathFactory, command: str, style: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "compose.yaml"
    path.write_text(f"services:\n  a:\n    command: {style}{command}\n", encoding="utf-8")
    try:
        launches = read_compose(path)
    except AssayError:
        return
    check_places(launches)
    check_edits_of_words(path, launches)


def check_edits_of_words(path: Path, launches: tuple[Launch, ...]) -> None:
    """The first editable word can be replaced alone."""
    for launch in launches:
        for index, word in enumerate(launch.words):
            if word.editable and launch.words[index].text:
                text = word.file.text[: word.start] + "zz" + word.file.text[word.end :]
                path.write_bytes(text.encode(errors="surrogateescape"))
                after = words(read_compose(path)[0])
                assert after[index] == "zz"
                break


@pytest.mark.parametrize(
    "text",
    [
        "services: {a: {command: '" + "${A:-" * 100_000 + "'}}",
        "services: {a: {command: '" + "${A:-x}" * 50_000 + "'}}",
        "services: {a: {command: '" + "$A " * 50_000 + "'}}",
        "services: {a: {command: '" + "[ " * 50_000 + "'}}",
        "services: {a: {command: '" + "[" * 300_000 + "'}}",
        "services: {a: {command: '" + "${A:-} " * 50_000 + "'}}",
        "services:\n  a:\n    command:\n" + "      - $A\n" * 50_000,
        "services:\n  a:\n    command:\n" + "      - 1\n" * 50_000,
        "services: {a: {command: '" + "$B" * 100_000 + "'}}",
    ],
    ids=lambda value: value[25:45],
)
def test_hostile_commands_end_soon(tmp_path: Path, text: str) -> None:
    (tmp_path / ".env").write_text("B0=" + "x" * 1000 + "\n" + "B=$B0\n")
    path = tmp_path / "compose.yml"
    path.write_text(text, encoding="utf-8")
    try:
        read_compose(path)
    except InputError as error:
        assert "more than" in error.message  # noqa: PT017 - both ends are good


def test_variables_that_double_each_other_end_in_an_error(tmp_path: Path) -> None:
    lines = ["A0=xxxxxxxx", *(f"A{level}=$A{level - 1}$A{level - 1}" for level in range(1, 60))]
    (tmp_path / ".env").write_text("\n".join(lines))
    with pytest.raises(InputError, match="more than"):
        launch_of(tmp_path, "services: {a: {command: x}}")


def test_messages_do_not_show_the_values_of_variables(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("KEY=s3cret\n")
    command = '\'x --y {"a": "$KEY"} $UNSET > $KEY\''
    launch = launch_of(tmp_path, f"services: {{a: {{command: {command}}}}}")
    assert [fault.kind for fault in launch.faults] == ["lost-quotes", "shell-syntax", "dollar-expansion"]
    assert not any("s3cret" in fault.message + fault.help for fault in launch.faults)
