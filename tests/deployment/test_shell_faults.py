"""What a shell does to a command that its writer did not mean."""

from __future__ import annotations

import json

import pytest

from assay.deployment import Command, Fault, UserFile, Written, split_script


def _read(script: str) -> tuple[Command, ...]:
    return split_script(Written.whole(UserFile(path="start.sh", text=script)))


def _faults(script: str) -> list[Fault]:
    return [fault for command in _read(script) for fault in command.faults]


def _repaired(script: str) -> str:
    """The script with the edits of its faults, the last first."""
    edits = sorted({(e.start, e.end, e.text) for fault in _faults(script) for e in fault.edits}, reverse=True)
    for start, end, text in edits:
        script = script[:start] + text + script[end:]
    return script


def _argv(script: str) -> list[list[str]]:
    return [[word.text for word in command.words] for command in _read(script)]


@pytest.mark.parametrize(
    ("script", "kinds", "place"),
    [
        ("cmd --a \\ \n  --b\n", ["broken-continuation", "ignored-line"], (1, 9, 1, 11)),
        ("cmd --a \\\t \n  --b\n", ["broken-continuation", "ignored-line"], (1, 9, 1, 12)),
        ("cmd --a \\\r\n  --b\r\n", ["broken-continuation", "ignored-line"], (1, 9, 1, 11)),
        ("cmd --a \\\n  # --x 1 \\\n  --b\n", ["broken-continuation", "ignored-line"], (2, 3, 2, 12)),
        ("cmd --a \\\n  # one\n  # two\n\n  --b\n", ["broken-continuation", "ignored-line"], (2, 3, 2, 8)),
        ("cmd --a \\\n\n  --b\n", ["broken-continuation", "ignored-line"], (2, 1, 2, 1)),
        ("cmd --a # why \\\n  --b\n", ["broken-continuation", "ignored-line"], (1, 9, 1, 16)),
        ("cmd --a\n  --b\n", ["ignored-line"], (2, 3, 2, 6)),
        ("cmd --a \\\n  --b 1\n  --c \\\n  --d\n", ["ignored-line"], (3, 3, 4, 6)),
        ("cmd --a\n--b\n--c\n", ["ignored-line", "ignored-line"], (2, 1, 2, 4)),
        ("cd x && cmd --a\n--b\n", ["ignored-line"], (2, 1, 2, 4)),
        ("cmd --a &\n--b\n", ["ignored-line"], (2, 1, 2, 4)),
        ('cmd --a {"a": 1}', ["lost-quotes"], (1, 9, 1, 17)),
        ('cmd --a={"a":1,"b":{"c":2}} --d', ["lost-quotes"], (1, 9, 1, 28)),
        ('cmd --a ["x","y"]', ["lost-quotes"], (1, 9, 1, 18)),
        ('cmd --a "{"a": 1}" --b', ["lost-quotes"], (1, 9, 1, 19)),
        ('cmd --a="{"a": {"b": 2}}"', ["lost-quotes"], (1, 9, 1, 26)),
        ('cmd --a {"a": $X}', ["lost-quotes"], (1, 9, 1, 11)),
        ('cmd --a [{"a": 1}]', ["lost-quotes"], (1, 9, 1, 19)),
        ('cmd --a \'{"a": 1} --b', ["unbalanced-quotes"], (1, 9, 1, 10)),
        ('cmd --a "x\ncmd b', ["unbalanced-quotes"], (1, 9, 1, 10)),
        ("cmd $(x", ["unbalanced-quotes"], (1, 5, 1, 7)),
        ("cmd `x", ["unbalanced-quotes"], (1, 5, 1, 6)),
        ("cmd ${x", ["unbalanced-quotes"], (1, 5, 1, 7)),
        ('A=(--a \'b)\ncmd "${A[@]}"', ["unbalanced-quotes"], None),
        ('A=(--a {"a": 1})\ncmd "${A[@]}"', ["lost-quotes"], (1, 8, 1, 16)),
        ('A="--a \\\n --b \\ \n"\ncmd $A', [], None),
        ('A=(--a \\ \n --b)\ncmd "${A[@]}"', ["broken-continuation"], (1, 8, 1, 10)),
    ],
)
def test_faults(script: str, kinds: list[str], place: tuple[int, int, int, int] | None) -> None:
    faults = _faults(script)
    if place is None and kinds:
        return  # no command is left to tell it
    assert [fault.kind for fault in faults] == kinds
    if faults:
        at = faults[0].place
        assert (at.line, at.column, at.end_line, at.end_column) == place
        assert all(fault.refused == (fault.kind == "unbalanced-quotes") for fault in faults)


@pytest.mark.parametrize(
    ("script", "argv"),
    [
        ("cmd --a \\ \n  --b 1\n", ["cmd", "--a", "--b", "1"]),
        ("cmd --a \\\t \n  --b \\ \n --c\n", ["cmd", "--a", "--b", "--c"]),
        ("cmd --a \\\n  # --x 1 \\\n  --b\n", ["cmd", "--a", "--b"]),
        ("cmd --a \\\n  # one\n  # two\n\n  --b\n", ["cmd", "--a", "--b"]),
        ("cmd --a \\\n\n  --b\n", ["cmd", "--a", "--b"]),
        ("cmd --a # why \\\n  --b\n", ["cmd", "--a", "--b"]),
        ("cmd --a\n  --b\n", ["cmd", "--a", "--b"]),
        ("cmd --a \\\n  --b 1\n  --c \\\n  --d\n", ["cmd", "--a", "--b", "1", "--c", "--d"]),
        ("cmd --a\n--b\n--c\n", ["cmd", "--a", "--b", "--c"]),
        ('cmd --a {"a": 1} --b', ["cmd", "--a", '{"a": 1}', "--b"]),
        ('cmd --a={"a":1,"b":{"c":2}}', ["cmd", '--a={"a":1,"b":{"c":2}}']),
        ('cmd --a "{"a": 1}" --b', ["cmd", "--a", '{"a": 1}', "--b"]),
        ('cmd --a ["x", "y"]', ["cmd", "--a", '["x", "y"]']),
        ('cmd \\\n --a {"a": 1} \\ \n # no\n --b\n', ["cmd", "--a", '{"a": 1}', "--b"]),
    ],
)
def test_edits_give_the_process_what_was_meant(script: str, argv: list[str]) -> None:
    repaired = _repaired(script)
    again = _repaired(repaired)
    assert _argv(again) == [argv]
    assert _faults(again) == []


@pytest.mark.parametrize(
    "script",
    [
        "cmd --a \\\n  --b\n",
        "cmd --a \\\n  --b \\\n\n\nnext\n",
        "cmd --a \\\n  # end\nnext\n",
        "cmd --a # comment\nnext --b\n",
        "cmd '--a \\ \n'",
        'cat <<E\ncmd \\ \n--a {"a": 1} "\nE\n',
        '# cmd \\ \n# --a "\n',
        'cmd \'{"a": 1}\' "{\\"a\\": 1}" {} { } {a,b} [a] \'["x"]\' {a}',
        '[ "$A" = x ] && [[ ("$B") ]] && cmd',
        'cmd "${A["x"]}" {$A,"b"}',
        'A=(\n  --a\n  # note\n  --b\n)\ncmd "${A[@]}"',
        "cmd a\\ b \\ c",
        "if x; then\n  cmd --a\nfi\n",
    ],
)
def test_sound_scripts_have_none(script: str) -> None:
    assert _faults(script) == []


def test_json_that_holds_a_quote_or_a_variable_is_not_edited() -> None:
    for value in ({"a": "it's"}, {"a": "$X"}):
        (fault,) = _faults("cmd --a " + json.dumps(value))
        assert (fault.kind, fault.edits) == ("lost-quotes", ())


def test_the_orphaned_line_is_a_command_of_its_own() -> None:
    assert _argv("cmd --a\n--b 1\n") == [["cmd", "--a"], ["--b", "1"]]


def test_a_fault_is_told_once() -> None:
    (_, command) = _read('A="${B:-x}" && A=(--x {"a": 1})\nexport Z\ncmd "${A[@]}" "${A[@]}"\n')
    assert [fault.kind for fault in command.faults] == ["lost-quotes"]
