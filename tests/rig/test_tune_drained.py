"""A study of a user's own unit, drained meanwhile: `ASSAY_RIG=DIR pytest tests/rig/test_tune_drained.py`."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rig import service
from tests.rig.rigs import Rig, begun, wait_until
from tests.rig.service import serves
from tests.rig.test_tune import FILE, words, write_files
from tests.rig.test_user_units import ME, TEXT, a_users_rig, command, inside

from assay.cli import main

pytestmark = [pytest.mark.rig, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with a_users_rig() as started:
        yield started


@pytest.fixture(autouse=True)
def slow(rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that is badly set, and a file that says whose it is and how it is drained."""
    monkeypatch.setenv("ASSAY_JOURNAL", str(tmp_path / "j.sqlite"))
    monkeypatch.chdir(tmp_path)
    text = TEXT.replace("--port 31000", "--port 31000 --standin slow")
    wait_until(lambda: "yes" in inside(rig, "systemctl --user is-system-running >/dev/null; echo yes"))
    rig.put({f"/home/{ME}/.config/systemd/user/{service.UNIT}": text.encode()})
    rig.inside("chown", "-R", ME, f"/home/{ME}/.config")
    inside(rig, f"systemctl --user daemon-reload; systemctl --user restart {service.UNIT}")
    wait_until(lambda: serves(rig))
    told = tmp_path / "told"
    told.touch()
    hooks = "".join(f"{name} = ['sh', '-c', 'echo {name} >>{told}']\n" for name in ("drain", "undrain"))
    live = f'[live]\nuser = true\nunit = "llm.service"\nhost = "{ME}@rig1"\n'
    file = FILE.replace('[live]\nunit = "llm.service"\nhost = "rig1"\n', live)
    write_files(tmp_path, text, f"{file}[hooks]\n{hooks}")


def told(tmp_path: Path) -> list[str]:
    return (tmp_path / "told").read_text().split()


def test_it_is_drained_once_around_the_whole_study_and_kept(
    rig: Rig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = command(rig)
    assert main(words(rig, "--keep", "--json")) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert (found["end"]["result"], found["end"]["kept"]) == ("shipped", True)
    assert "--standin quick" in command(rig)
    assert told(tmp_path) == ["drain", "undrain"]
    assert service.KEY not in said.out + said.err
    assert main(["rollback", "chat.toml", "--ssh-config", str(rig.config)]) == 0
    assert command(rig) == before


def test_killed_it_stays_drained_is_said_to_be_and_goes_on(
    rig: Rig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = command(rig)
    process = begun(words(rig))
    assert process.stderr is not None
    for line in process.stderr:
        if "start 3, baseline" in line:
            break
    time.sleep(0.5)
    process.send_signal(signal.SIGKILL)
    process.stderr.close()
    process.wait()
    assert told(tmp_path) == ["drain"]
    wait_until(lambda: serves(rig), 30)
    assert main(["status", "chat.toml", "--ssh-config", str(rig.config)]) == 1
    assert "STILL DRAINED" in capsys.readouterr().out
    assert main(words(rig, "--resume")) == 0
    assert "llm.service serves as before" in capsys.readouterr().out
    assert told(tmp_path) == ["drain", "drain", "undrain"]
    assert command(rig) == before
    assert main(["status", "chat.toml", "--ssh-config", str(rig.config)]) == 0
