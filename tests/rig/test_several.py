"""One change on two machines, all or nothing: `ASSAY_RIG=DIR pytest tests/rig/test_several.py`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rig import service
from tests.rig.rigs import Rig, a_rig, wait_until
from tests.rig.service import KEY
from tests.rig.test_rollout import PLACES

from assay.cli import main
from assay.journal import Journal

pytestmark = [pytest.mark.rig, pytest.mark.timeout(300)]

HOSTS = ("rig1", "rig2")
QUICK = ("--unchecked", "--hold", "1", "--switch", "10", "--trial", "60", "--stop-timeout", "20")


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with a_rig(count=2) as started:
        yield started


@pytest.fixture(autouse=True)
def base(rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_JOURNAL", str(tmp_path / "j.sqlite"))
    for host in HOSTS:
        script = (
            f"systemctl stop '{PLACES.switch}*' {service.UNIT} 2>/dev/null; "
            f"rm -rf /run/assay {PLACES.trial}; true"
        )
        rig.inside("sh", "-c", script, host=host)
        service.install(rig, host=host)
        rig.inside("systemctl", "restart", service.UNIT, host=host)
    wait_until(lambda: all(serves(rig, host) for host in HOSTS))


@pytest.fixture
def files(rig: Rig, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    found = []
    for host in HOSTS:
        path = tmp_path / f"{host}.toml"
        assert main(["describe", f"llm@{host}", "--ssh-config", str(rig.config), "-o", str(path)]) == 0
        text = path.read_text().replace('# gpus = "4x H100"', 'gpus = "4x H100"')
        path.write_text(text.replace("nowhere", "in_place"))
        found.append(str(path))
    capsys.readouterr()
    return found


def serves(rig: Rig, host: str) -> bool:
    ask = (
        f"curl -s -m 2 -H 'Authorization: Bearer {KEY}' -d '{{}}' http://127.0.0.1:31000/v1/completions; true"
    )
    return "completion_tokens" in rig.inside("sh", "-c", ask, host=host)


def changed(rig: Rig, host: str) -> bool:
    return "--enable-mixed-chunk" in rig.inside("ps", "-A", "-o", "args=", host=host)


def is_base(rig: Rig, host: str) -> bool:
    left = rig.inside("sh", "-c", f"ls {PLACES.trial} {PLACES.run}/armed 2>/dev/null; true", host=host)
    timers = rig.inside("systemctl", "list-units", "--no-legend", f"{PLACES.switch}*.timer", host=host)
    return not left and not timers.strip() and not changed(rig, host) and serves(rig, host)


def test_both_are_on_trial_and_one_after_the_other_is_kept(
    rig: Rig, files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ssh = ("--ssh-config", str(rig.config))
    words = ["apply", files[0], "--also", files[1], "+enable-mixed-chunk", *QUICK, "--json", *ssh]
    assert main([*words, "--dry-run"]) == 0
    assert [plan["host"] for plan in json.loads(capsys.readouterr().out)] == list(HOSTS)
    assert main(words) == 0
    assert [outcome["result"] for outcome in json.loads(capsys.readouterr().out)] == ["trial", "trial"]
    assert all(changed(rig, host) for host in HOSTS)
    for file in files:
        assert main(["status", file, "--json", *ssh]) == 0
        assert 30 < json.loads(capsys.readouterr().out)["marks"]["left_s"] <= 60
    for file in files:
        assert main(["rollback", file, *ssh]) == 0
    assert all(is_base(rig, host) for host in HOSTS)
    with Journal(tmp_path / "j.sqlite", who="t") as opened:
        first, second = ([entry.kind for entry in opened.entries(f"{service.UNIT}@{host}")] for host in HOSTS)
    assert first[:2] == ["joint-plan", "plan"]
    assert second[0] == "plan"


def test_the_second_fails_and_the_first_is_taken_back(
    rig: Rig, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    drop_in = (
        "[Service]\nExecStartPost=/bin/sh -c 'grep -q mixed-chunk /proc/$MAINPID/cmdline && exit 1; exit 0'\n"
    )
    rig.put({f"/etc/systemd/system/{service.UNIT}.d/10-fails.conf": drop_in.encode()}, host="rig2")
    rig.inside("systemctl", "daemon-reload", host="rig2")
    rig.inside("systemctl", "restart", service.UNIT, host="rig2")
    wait_until(lambda: serves(rig, "rig2"))
    try:
        words = ["apply", files[0], "--also", files[1], "+enable-mixed-chunk", *QUICK]
        assert main([*words, "--ssh-config", str(rig.config)]) == 7
        assert "rig2" in capsys.readouterr().err
        wait_until(lambda: all(is_base(rig, host) for host in HOSTS), 30)
    finally:
        rig.inside("rm", "-r", f"/etc/systemd/system/{service.UNIT}.d", host="rig2")


def test_killed_while_the_second_is_under_way(rig: Rig, files: list[str], tmp_path: Path) -> None:
    said = tmp_path / "said"
    words = ["apply", files[0], "--also", files[1], "+enable-mixed-chunk", "+standin=sleep-5", *QUICK]
    with said.open("wb") as stream:
        command = [sys.executable, "-m", "assay", *words, "--ssh-config", str(rig.config)]
        process = subprocess.Popen(command, stderr=stream, stdout=stream)
        wait_until(lambda: "on rig2: ready" in said.read_text() or process.poll() is not None, 90)
        process.kill()
        process.wait()
    assert "on rig2: ready" in said.read_text(), said.read_text()
    wait_until(lambda: all(is_base(rig, host) for host in HOSTS), 60)
