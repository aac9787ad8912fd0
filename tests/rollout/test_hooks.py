"""Hooks around a block: what is run, what is told, and what stays drained."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from assay._value import Value
from assay.deployment import Hooks
from assay.errors import ApplyFailed, JournalError, Refused, RestoreFailed
from assay.hosts import CommandResult, LocalHost
from assay.rollout import Machine, layout
from assay.rollout.hooks import Drain, HookRun


class Marked:
    """A machine that only takes marks."""

    def __init__(self) -> None:
        self.host = LocalHost()
        self.layout = layout("llm.service")
        self.id = "r1"
        self.marks: list[str] = []

    def script(self, _text: str, name: str, *_more: str) -> CommandResult:
        self.marks.append(name)
        return CommandResult(host="here", name=name, status=0, out=b"", err=b"")


class Told:
    """A journal that may be full."""

    def __init__(self, *, full: bool = False) -> None:
        self.runs: list[HookRun] = []
        self.full = full

    def __call__(self, _kind: str, body: Value) -> None:
        if self.full:
            raise JournalError("no space")
        assert isinstance(body, HookRun)
        self.runs.append(body)


def drain_of(folder: Path, *, drain: str = "true", undrain: str = "true") -> tuple[Drain, Marked]:
    def words(name: str, then: str) -> tuple[str, ...]:
        return ("sh", "-c", f"echo {name} >>{folder}/told; {then}")

    machine = Marked()
    hooks = Hooks(drain=words("drain", drain), undrain=words("undrain", undrain), timeout_s=5)
    return Drain(hooks, cast("Machine", machine), who="me"), machine


def told(folder: Path) -> list[str]:
    return (folder / "told").read_text().split()


def silent(_step: str) -> None:
    return None


def test_the_outermost_block_counts(tmp_path: Path) -> None:
    drain, machine = drain_of(tmp_path)
    note = Told()
    steps: list[str] = []
    with drain.around(note, steps.append), drain.around(note, steps.append) as inner:
        inner()
        assert told(tmp_path) == ["drain"]
    assert told(tmp_path) == ["drain", "undrain"]
    assert (steps, machine.marks) == (["drain", "undrain"], ["drain", "undrain"])
    assert [(each.hook, each.ok) for each in note.runs] == [("drain", True), ("undrain", True)]
    assert drain.drained_s == note.runs[1].drained_s


def test_it_may_be_undrained_before_the_end(tmp_path: Path) -> None:
    drain, _ = drain_of(tmp_path)
    with drain.around(Told(), silent) as undrain:
        undrain()
        assert told(tmp_path) == ["drain", "undrain"]
        undrain()
    assert told(tmp_path) == ["drain", "undrain"]


@pytest.mark.parametrize("error", [ApplyFailed("x"), KeyboardInterrupt(), JournalError("x")])
def test_a_block_that_fails_is_undrained(tmp_path: Path, error: BaseException) -> None:
    drain, _ = drain_of(tmp_path)
    with pytest.raises(type(error)), drain.around(Told(), silent):
        raise error
    assert told(tmp_path) == ["drain", "undrain"]


def test_one_that_does_not_serve_again_stays_drained(tmp_path: Path) -> None:
    drain, machine = drain_of(tmp_path)
    with pytest.raises(RestoreFailed) as caught, drain.around(Told(), silent):
        raise RestoreFailed("it is gone", details=("look",))
    assert caught.value.details == ("look", "it stays drained: no hook was run to undrain it")
    assert (told(tmp_path), machine.marks) == (["drain"], ["drain"])


def test_a_drain_that_fails_or_cannot_be_told_changes_nothing(tmp_path: Path) -> None:
    drain, _ = drain_of(tmp_path, drain="exit 3")
    with pytest.raises(Refused, match="nothing was changed"), drain.around(Told(), silent):
        pytest.fail("the block is not entered")
    assert told(tmp_path) == ["drain", "undrain"]
    (tmp_path / "told").unlink()
    drain, _ = drain_of(tmp_path)
    with pytest.raises(JournalError), drain.around(Told(full=True), silent):
        pytest.fail("the block is not entered")
    assert told(tmp_path) == ["drain", "undrain"]


def test_an_undrain_that_fails_needs_a_person(tmp_path: Path) -> None:
    drain, machine = drain_of(tmp_path, undrain="echo gone --api-key k3y; exit 1")
    with pytest.raises(RestoreFailed, match="still drained") as caught, drain.around(Told(), silent):
        pass
    assert caught.value.details[0] == "gone --api-key ***"
    assert machine.marks == ["drain"], "the mark stays"


def test_without_hooks_nothing_is_run(tmp_path: Path) -> None:
    machine = Marked()
    drain = Drain(Hooks(), cast("Machine", machine), who="me")
    with drain.around(Told(full=True), silent) as undrain:
        undrain()
    assert (machine.marks, drain.asked, drain.shown("drain")) == ([], False, "")
    assert not (tmp_path / "told").exists()


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    drain = Drain(Hooks(drain=("/nowhere/x",), undrain=("true",)), cast("Machine", Marked()), who="me")
    with pytest.raises(Refused) as caught, drain.around(Told(), silent):
        pytest.fail("the block is not entered")
    assert any("/nowhere/x" in line for line in caught.value.details)
    assert not (tmp_path / "told").exists()
