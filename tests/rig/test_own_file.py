"""Changes that are kept in the unit's own file, of which the user has a copy here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rig import service
from tests.rig.rigs import Rig, a_rig, wait_until
from tests.rig.service import serves, written
from tests.rig.test_rollout import PLACES, back, clean, command, is_base

from assay.cli import main

pytestmark = [pytest.mark.rig, pytest.mark.timeout(300)]

THERE = f"/etc/systemd/system/{service.UNIT}"
CHANGE = ("+enable-mixed-chunk", '+served-model-name={"$x%"}', "--unchecked", "--hold", "1")
CHANGED = service.UNIT_TEXT.replace(
    "$$HOME\"}'", "$$HOME\"}' --enable-mixed-chunk --served-model-name '{\"$$x%%\"}'"
)


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with a_rig(count=1) as started:
        yield started


@pytest.fixture(autouse=True)
def base(rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_JOURNAL", str(tmp_path / "j.sqlite"))
    clean(rig)


@pytest.fixture
def ssh(rig: Rig) -> tuple[str, ...]:
    return ("--ssh-config", str(rig.config))


@pytest.fixture
def file(ssh: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """A deployment file that names the user's copy, which lies beside it in a folder."""
    path = tmp_path / "chat.toml"
    assert main(["describe", "llm@rig1", *ssh, "-o", str(path)]) == 0
    text = path.read_text().replace('# gpus = "4x H100"', 'gpus = "4x H100"').replace("nowhere", "in_place")
    path.write_text(text.replace("[live]", '[live]\nunit_file = "units/ours.service"'))
    (tmp_path / "units").mkdir()
    (tmp_path / "units" / "ours.service").write_text(service.UNIT_TEXT)
    capsys.readouterr()
    return str(path)


def ours(file: str) -> str:
    return (Path(file).parent / "units" / "ours.service").read_text()


def test_kept_in_both_files_over_a_power_cut_and_taken_back(
    rig: Rig, ssh: tuple[str, ...], file: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["apply", file, *CHANGE, *ssh]) == 0
    assert "writes it into" in capsys.readouterr().err
    assert rig.inside("cat", THERE) == ours(file) == service.UNIT_TEXT, "the trial is a drop-in"
    before = command(rig)
    assert "--enable-mixed-chunk" in before
    pid = rig.inside("systemctl", "show", "-p", "MainPID", "--value", service.UNIT)
    assert main(["promote", file, *ssh]) == 0
    assert rig.inside("cat", THERE) == ours(file) == CHANGED
    assert rig.inside("systemctl", "show", "-p", "MainPID", "--value", service.UNIT) == pid
    assert not rig.inside("sh", "-c", f"ls {PLACES.trial} {PLACES.kept} 2>/dev/null; true")
    assert rig.inside("systemctl", "show", "-p", "NeedDaemonReload", "--value", service.UNIT) == "no\n"
    rig.call("power", "rig1", "cycle")
    wait_until(lambda: serves(rig) and command(rig) == before, 60)
    assert main(["status", file, *ssh]) == 0
    assert "a promoted change is in effect" in capsys.readouterr().out
    # who names the unit alone means another place, and is told so
    assert main(["rollback", "llm@rig1", *ssh]) == 3
    assert main(["rollback", file, *ssh]) == 0
    assert rig.inside("cat", THERE) == ours(file) == service.UNIT_TEXT
    assert is_base(rig)
    said = capsys.readouterr()
    everything = said.out + said.err + written(tmp_path).replace(ours(file), "")
    for secret in (service.KEY, service.TOKEN):
        assert secret not in everything


def test_a_copy_that_is_not_the_one_there(
    rig: Rig, ssh: tuple[str, ...], file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(file).parent / "units" / "ours.service"
    path.write_text(service.UNIT_TEXT + "# more\n")
    assert main(["apply", file, *CHANGE, *ssh]) == 3
    assert "as it is here" in capsys.readouterr().err
    path.write_text(service.UNIT_TEXT)
    assert main(["apply", file, *CHANGE, *ssh]) == 0
    path.write_text(service.UNIT_TEXT + "# more\n")
    assert main(["promote", file, *ssh]) == 3
    path.write_text(service.UNIT_TEXT)
    rig.put({THERE: (service.UNIT_TEXT + "# theirs\n").encode()})
    assert main(["promote", file, *ssh]) == 3
    assert rig.inside("cat", THERE) == service.UNIT_TEXT + "# theirs\n"
    rig.put({THERE: service.UNIT_TEXT.encode()})
    rig.inside("systemctl", "daemon-reload")
    assert main(["rollback", file, *ssh]) == 0
    assert is_base(rig)


def test_a_trial_goes_back_by_itself_and_a_full_disk_keeps_nothing(
    rig: Rig, ssh: tuple[str, ...], file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["apply", file, *CHANGE, "--switch", "10", "--trial", "25", *ssh]) == 0
    rig.call("fill", "rig1")
    try:
        assert main(["promote", file, *ssh]) == 4
    finally:
        rig.call("unfill", "rig1")
    assert "it stays on trial" in capsys.readouterr().err
    assert rig.inside("cat", THERE) == ours(file) == service.UNIT_TEXT
    back(rig, 60)
    assert rig.inside("cat", THERE) == service.UNIT_TEXT


def test_a_command_that_a_drop_in_states(
    rig: Rig, ssh: tuple[str, ...], file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    start = service.UNIT_TEXT.partition("ExecStart=")[2].partition("\nRestart")[0]
    rig.put(
        {f"{THERE}.d/50-ops.conf": f"[Service]\nExecStart=\nExecStart={start} --random-seed 1\n".encode()}
    )
    rig.inside("systemctl", "daemon-reload")
    rig.inside("systemctl", "restart", service.UNIT)
    wait_until(lambda: serves(rig))
    assert main(["apply", file, *CHANGE, *ssh]) == 3
    assert "words, and the command that runs has" in capsys.readouterr().err
