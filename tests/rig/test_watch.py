"""A watch over a change, on a real machine: `ASSAY_RIG=DIR pytest tests/rig/test_watch.py`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rig import service, test_tune
from tests.rig.rigs import Rig, a_rig, begun, wait_until
from tests.rig.test_rollout import back, clean, command, is_base

from assay.cli import main
from assay.journal import Journal

pytestmark = [pytest.mark.rig, pytest.mark.timeout(300)]

FILE = test_tune.FILE.replace("./engine", "sglang==0.5.10")


def words(rig: Rig, *, minutes: str = "0.1", switch: str = "8") -> list[str]:
    """Six seconds, a look every two, unless told otherwise."""
    how = ("--watch", minutes, "--switch", switch, "--proven", "proven.json")
    return ["promote", "chat.toml", *how, "--ssh-config", str(rig.config)]


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with a_rig(count=1) as started:
        yield started


@pytest.fixture(autouse=True)
def on_trial(rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A change that serves, and the results that say how well it should."""
    monkeypatch.setenv("ASSAY_JOURNAL", str(tmp_path / "j.sqlite"))
    monkeypatch.chdir(tmp_path)
    turn(rig, "")
    clean(rig)
    (tmp_path / "llm.service").write_text(service.UNIT_TEXT)
    (tmp_path / "chat.toml").write_text(FILE)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text('{"architectures": ["Qwen3ForCausalLM"]}')
    rung = {
        **{"load": "concurrency 4", "max_concurrency": 4, "completed": 50, "failed": 0, "accept_length": 3.0},
        **{"mean_tpot_ms": 2.0, "mean_ttft_ms": 3.0, "output_throughput": 100.0},
    }
    (tmp_path / "proven.json").write_text(json.dumps({"schema": "assay.bench/1", "rungs": [rung]}))
    how = ("--hold", "1", "--switch", "20", "--trial", "60", "--ready-timeout", "20", "--unchecked")
    assert main(["apply", "chat.toml", "+enable-mixed-chunk", *how, *ssh(rig)]) == 0
    yield
    rig.call("link", "rig1", "up")


def turn(rig: Rig, to: str) -> None:
    """What becomes of the server with the change from now on."""
    rig.put({"/tmp/standin-turn": to.encode()})


def ssh(rig: Rig) -> tuple[str, str]:
    return "--ssh-config", str(rig.config)


def watching(rig: Rig, *, minutes: str, switch: str = "8") -> subprocess.Popen[str]:
    """A watch under way, of which the first look was written down."""
    process = begun(words(rig, minutes=minutes, switch=switch), stdout=subprocess.PIPE)
    wait_until(lambda: "watch-look" in kinds() or process.poll() is not None, 30)
    assert process.poll() is None, process.communicate()
    return process


def kinds() -> list[str]:
    with Journal(Path(os.environ["ASSAY_JOURNAL"]), who="t") as journal:
        return [each.kind for each in journal.entries()]


def kept(rig: Rig) -> bool:
    return "--enable-mixed-chunk" in command(rig)


def test_what_goes_well_is_kept(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words(rig), "--json"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert (found["result"], found["failed"]) == ("kept", 0)
    assert found["looks"] >= 3
    assert {each["name"]: each["high"] for each in found["figures"]}["token_ms"] == pytest.approx(2)
    assert kept(rig)
    assert "watched" in kinds()
    assert service.KEY not in said.out + said.err
    rig.call("power", "rig1", "cycle")
    wait_until(lambda: kept(rig), 60)
    assert main(["rollback", "chat.toml", *ssh(rig)]) == 0
    assert is_base(rig)


@pytest.mark.parametrize(
    ("to", "told"),
    [
        ("errors", "requests failed"),
        ("slow", "100 ms a token, of at most 3 among 4 requests at a time"),
        ("drafts", "1.1 tokens a step of speculation, of at least 2.4"),
        ("dies", "it ended by itself, and was started anew"),
    ],
)
def test_what_leaves_its_range_goes_back(rig: Rig, to: str, told: str) -> None:
    process = watching(rig, minutes="0.3")
    turn(rig, to)
    wait_until(lambda: process.poll() is not None, 90)
    turn(rig, "")
    _, said = process.communicate()
    assert process.returncode == 7, said
    assert told in said
    assert is_base(rig)


def test_killed_its_shorter_switch_takes_it_back(rig: Rig) -> None:
    process = watching(rig, minutes="5")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    began = time.monotonic()
    back(rig, 30)
    assert time.monotonic() - began < 25  # and not only after the minute of the trial


def test_interrupted_it_goes_back_at_once(rig: Rig) -> None:
    process = watching(rig, minutes="5")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert is_base(rig)


def test_a_link_that_is_cut_for_good_leaves_it_to_the_switch(rig: Rig) -> None:
    process = watching(rig, minutes="5")
    rig.call("link", "rig1", "down")
    back(rig, 40)
    rig.call("link", "rig1", "up")
    process.wait(120)
    _, said = process.communicate()
    assert process.returncode == 7, said
    assert "its switch has fired" in said
    assert is_base(rig)


def test_a_link_that_is_cut_for_a_moment_does_not_matter(rig: Rig) -> None:
    process = watching(rig, minutes="0.3", switch="30")
    rig.call("link", "rig1", "down")
    time.sleep(10)  # longer than from one look to the next
    rig.call("link", "rig1", "up")
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert kept(rig)


def test_without_a_trial_there_is_nothing_to_watch(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rollback", "chat.toml", *ssh(rig)]) == 0
    assert main(words(rig)) == 3
    assert "has no change on trial" in capsys.readouterr().err
