"""Edits: words leave a command line without a trace, and files are written whole or not at all."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.deployment import (
    Edit,
    Syntax,
    UserFile,
    Word,
    apply_edits,
    flag_replacement,
    read_user_file,
    removal,
)
from assay.diagnostics.edits import difference, preview_edits, write_edits
from assay.errors import InputError


def words(text: str, *wanted: str, syntax: Syntax = "systemd") -> list[Word]:
    file = UserFile(path="f", text=text)
    found = []
    for want in wanted:
        start = text.index(want)
        offsets = tuple(range(start, start + len(want) + 1))
        found.append(
            Word(text=want, file=file, start=start, end=start + len(want), offsets=offsets, syntax=syntax)
        )
    return found


@pytest.mark.parametrize(
    ("before", "gone", "after"),
    [
        ("E=run --a 1 --b 2\n", ["--a", "1"], "E=run --b 2\n"),
        ("E=run --a 1 --b 2\n", ["--b", "2"], "E=run --a 1\n"),
        ("E=run \\\n  --a 1 \\\n  --b 2\n", ["--a", "1"], "E=run \\\n  --b 2\n"),
        ("E=run \\\n  --a 1 \\\n  --b 2\n", ["--b", "2"], "E=run \\\n  --a 1\n"),
        ("E=run \\\n  --a \\\n  1 \\\n  --b 2\n", ["--a", "1"], "E=run \\\n  --b 2\n"),
        ("E=run \\\n  --a 1 --b 2 \\\n  --c\n", ["--a", "1"], "E=run \\\n  --b 2 \\\n  --c\n"),
        ("E=run \\\r\n  --a 1 \\\r\n  --b 2\r\n", ["--b", "2"], "E=run \\\r\n  --a 1\r\n"),
        ("E=run --a", ["--a"], "E=run"),
    ],
)
def test_removal_leaves_a_whole_command_line(before: str, gone: list[str], after: str) -> None:
    assert apply_edits(before, removal(words(before, *gone))) == after


@pytest.mark.parametrize(("syntax", "before"), [("shell", "A=(\n"), ("yaml", "command: >\n")])
@pytest.mark.parametrize(
    ("lines", "after"), [("  --a 1\n  --b\n", "  --b\n"), ("  --b\n  --a 1\n", "  --b\n")]
)
def test_where_lines_go_on_by_themselves_the_whole_line_goes(
    syntax: Syntax, before: str, lines: str, after: str
) -> None:
    text = before + lines + ")\n"
    assert apply_edits(text, removal(words(text, "--a", "1", syntax=syntax))) == before + after + ")\n"


@pytest.mark.parametrize(
    ("gone", "after"),
    [
        (["--a", "'1'"], 'c: [x, --b,\n    "2"]\n'),
        (["--b", '"2"'], "c: [x, --a, '1']\n"),
        (["x", "--a"], "c: ['1', --b,\n    \"2\"]\n"),
    ],
)
def test_items_of_a_list_in_brackets_go_with_a_comma(gone: list[str], after: str) -> None:
    text = "c: [x, --a, '1', --b,\n    \"2\"]\n"
    assert apply_edits(text, removal(words(text, *gone, syntax="yaml"))) == after


def test_items_on_lines_of_their_own_go_with_the_line() -> None:
    text = "c: [\n  x,\n  --a,\n  '1',\n  --b\n]\n"
    assert apply_edits(text, removal(words(text, "--a", "'1'", syntax="yaml"))) == "c: [\n  x,\n  --b\n]\n"


def test_removal_is_not_offered_where_a_comment_would_be_left_hanging() -> None:
    assert removal(words("E=run \\\n  # why\n  --a 1\n", "--a", "1")) == ()


def test_items_of_a_yaml_list_go_with_their_lines() -> None:
    text = "args:\n  - --a\n  - '1'\n  - --b\n"
    file = UserFile(path="f", text=text)
    item = [
        Word(text="--a", file=file, start=10, end=13, offsets=(10, 11, 12, 13), syntax="yaml"),
        Word(text="1", file=file, start=18, end=21, offsets=(19, 20), syntax="yaml"),
    ]
    assert apply_edits(text, removal(item)) == "args:\n  - --b\n"


def test_a_flag_is_replaced_before_its_value() -> None:
    text = "E=run --tens=4\n"
    (word,) = words(text, "--tens=4")
    assert apply_edits(text, flag_replacement(word, "--tens", "--tensor")) == "E=run --tensor=4\n"


@given(st.text("ab", max_size=12), st.data())
def test_apply_of_nothing_changes_nothing(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    assert apply_edits(text, [Edit(file="f", start=at, end=at, text="")]) == text


def test_written_files_keep_mode_link_mark_and_bytes(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"\xef\xbb\xbfone \xff two\r\n")
    real.chmod(0o640)
    link.symlink_to(real)
    file = read_user_file(link)
    (diff,) = write_edits([file], [Edit(file=file.path, start=0, end=3, text="1")])
    assert real.read_bytes() == b"\xef\xbb\xbf1 \xff two\r\n"
    assert real.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    assert "+1 " in diff
    assert os.listdir(tmp_path) == ["real", "link"] or set(os.listdir(tmp_path)) == {"real", "link"}


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "unit"
    path.write_text("one")
    file = read_user_file(path)
    path.write_text("two")
    with pytest.raises(InputError, match="changed while"):
        write_edits([file], [Edit(file=file.path, start=0, end=1, text="x")])
    assert path.read_text() == "two"


def test_the_difference_reads_as_a_patch() -> None:
    text = difference(UserFile(path="f", text="a\nb"), "a\nc")
    assert text == "--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"


def test_a_preview_is_the_diff_and_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text("one\ntwo\n")
    files, edits = [read_user_file(path)], [Edit(file=str(path), start=0, end=3, text="1")]
    shown = preview_edits(files, edits)
    assert path.read_text() == "one\ntwo\n"
    assert shown == write_edits(files, edits)
    assert path.read_text() == "1\ntwo\n"


def test_a_file_that_could_not_be_read_after_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "compose.yaml"
    path.write_text("a: [1, 2]\n")
    file = read_user_file(path)
    with pytest.raises(InputError, match="unreadable; nothing was written"):
        write_edits([file], [Edit(file=file.path, start=8, end=9, text="")])
    assert path.read_text() == "a: [1, 2]\n"


def test_a_file_of_several_names_is_not_torn_from_them(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("one two")
    (tmp_path / "b").hardlink_to(path)
    with pytest.raises(InputError, match="it has 2 names"):
        write_edits([read_user_file(path)], [Edit(file=str(path), start=0, end=3, text="1")])
    assert path.read_text() == "one two"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a", "b"]


def test_what_cannot_be_read_after_it_was_opened() -> None:
    with pytest.raises(InputError, match="cannot read /proc/self/mem"):
        read_user_file(Path("/proc/self/mem"))
