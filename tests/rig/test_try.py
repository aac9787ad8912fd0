"""`assay try` on a real machine that breaks: `ASSAY_RIG=/path/to/rig pytest -m rig tests/rig/test_try.py`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
from tests.rig import service
from tests.rig.rigs import Rig, a_rig, wait_until
from tests.rig.service import serves, written
from tests.rig.test_rollout import PLACES, back, clean, command, is_base

from assay.bench import read_run
from assay.cli import main
from assay.journal import Journal

pytestmark = [pytest.mark.rig, pytest.mark.timeout(300)]

QUICK = {
    **{"--max-concurrency": "1,2", "--num-prompts": "6", "--num-warmups": "0"},
    **{"--random-input-len": "32", "--random-output-len": "8"},
    **{"--hold": "1", "--switch": "12", "--ready-timeout": "20", "--stop-timeout": "20"},
}
LONG = {"--max-concurrency": "1", "--num-prompts": "60", "--random-output-len": "32"}
"""About 40 s for the slow stand-in."""


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with a_rig(count=1) as started:
        yield started


@pytest.fixture(autouse=True)
def base(rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test begins with the service as it is written, and nothing of ours on the machine."""
    monkeypatch.setenv("ASSAY_JOURNAL", str(tmp_path / "j.sqlite"))
    monkeypatch.chdir(tmp_path)
    clean(rig)
    yield
    rig.call("link", "rig1", "up")


def words(
    rig: Rig, *change: str, target: str = "llm@rig1", more: Mapping[str, str] = MappingProxyType({})
) -> list[str]:
    # a unit has no file that lets it be restarted, and the stand-in is no release whose source is to be had
    place = [] if target.endswith(".toml") else ["--in-place", "--unchecked"]
    options = [word for pair in {**QUICK, **more}.items() for word in pair]
    return ["try", target, *change, "--ssh-config", str(rig.config), *place, *options]


def kinds(tmp_path: Path) -> list[str]:
    with Journal(tmp_path / "j.sqlite", who="t") as opened:
        return [entry.kind for entry in opened.entries()]


def no_secrets(*texts: str) -> None:
    for secret in (service.KEY, service.TOKEN):
        for text in texts:
            assert secret not in text


def test_the_whole_cycle_from_nothing(rig: Rig, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = command(rig)
    asked = words(rig, "+kv-cache-dtype=fp8_e5m2", "+standin=slow")
    assert main([*asked, "--json", "--result-dir", "out"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert (found["schema"], found["result"]) == ("assay.try/1", "reverted")
    assert (found["triaged"], found["why_not_triaged"]) == (False, "--unchecked")
    assert found["effect"]["status"] == "took"
    assert {(one["field"], one["role"], one["after"]) for one in found["effect"]["settings"]} == {
        ("kv_cache_dtype", "asked", "fp8_e5m2"),
        ("standin", "asked", "slow"),
    }
    rows = {row["name"]: row for row in found["comparison"]["loads"][0]["rows"]}
    # 0.002 s a token against 0.02 s
    assert rows["output_throughput"]["change"]["ratio"] < 0.5
    assert found["comparison"]["outcome"] != "same"
    assert "its server gave no token for" not in said.out
    assert 0 < found["downtime_s"] < 60
    assert is_base(rig)
    assert command(rig) == before
    arms = [read_run(tmp_path / "out" / f"{arm}.json") for arm in ("baseline", "candidate")]
    assert [[one.load for one in arm.measurements] for arm in arms] == [
        ["concurrency 1", "concurrency 2"]
    ] * 2
    assert kinds(tmp_path) == [
        *("try", "measured", "measured", "plan", *["step"] * 9, "outcome", "effect"),
        *("measured", "measured", "rollback", "outcome", "tried"),
    ]
    assert 'where = "in_place"' in (tmp_path / "out" / "llm.toml").read_text()
    no_secrets(said.out, said.err, written(tmp_path))


@pytest.mark.registry
def test_from_a_file_with_triage_and_kept(
    rig: Rig, tmp_path: Path, capsys: pytest.CaptureFixture[str], engine_tree: Callable[[str], Path]
) -> None:
    file = tmp_path / "chat.toml"
    ssh = ("--ssh-config", str(rig.config))
    assert main(["describe", "llm@rig1", *ssh, "-o", str(file)]) == 0
    text = file.read_text().replace('# gpus = "4x H100"', 'gpus = "1x H100"').replace("nowhere", "in_place")
    text = text.replace('"sglang==0.5.10"', f'"{engine_tree("0.5.10")}"')
    file.write_text(text)
    (tmp_path / "chat-config.json").write_text(CONFIG)
    asked = words(
        rig,
        *("+schedule-policy=lpm", "+num-continuous-decode-steps=4", "+enable-no-such-thing"),
        target=str(file),
    )
    asked += ["--cache", str(tmp_path / "cache")]
    capsys.readouterr()
    assert main([*asked, "--dry-run", "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert planned["result"] == "planned"
    verdicts = {one["flag"]: (one["tried"], one["verdict"]) for one in planned["asked"]}
    assert verdicts["--num-continuous-decode-steps"] == (False, "dead")
    assert verdicts["--enable-no-such-thing"] == (False, "incompatible")
    assert verdicts["--schedule-policy"][0]
    assert [one["flag"] for one in planned["plan"]["change"]["set"]] == ["--schedule-policy"]
    assert kinds(tmp_path) == []
    assert main([*asked, "--keep"]) == 0
    said = capsys.readouterr()
    assert "not tried: --num-continuous-decode-steps 4: dead" in said.err
    assert "server_args.py:" in said.out
    assert "kept: it serves with the change" in said.out
    assert "--schedule-policy lpm" in command(rig)
    assert main(["rollback", str(file), *ssh]) == 0
    assert is_base(rig)
    assert main([*words(rig, "+num-continuous-decode-steps=4", target=str(file)), *asked[-2:]]) == 3
    assert "nothing of this is worth a restart" in capsys.readouterr().out
    no_secrets(said.out, said.err, written(tmp_path))


CONFIG = json.dumps(
    {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "hidden_size": 1024,
        "intermediate_size": 3072,
        "num_attention_heads": 16,
        "num_hidden_layers": 28,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "max_position_embeddings": 40960,
        "vocab_size": 151936,
        "torch_dtype": "bfloat16",
        "rope_theta": 1000000,
        "rms_norm_eps": 1e-06,
        "hidden_act": "silu",
        "tie_word_embeddings": True,
    }
)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (["+kv-cache-dtype=fp8_e5m2", "+standin=overrides"], "the server runs with auto"),
        (["+kv-cache-dtype=auto"], "both arms are one"),
    ],
)
def test_a_change_that_did_not_take_is_void(
    rig: Rig, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: list[str], told: str
) -> None:
    assert main([*words(rig, *change), "--keep"]) == 6
    said = capsys.readouterr()
    assert told in " ".join(said.out.split())
    assert "void, and taken back" in said.out
    assert is_base(rig)
    assert kinds(tmp_path).count("measured") == 2
    assert kinds(tmp_path)[-1] == "tried"


def test_an_arm_that_cannot_be_measured_goes_back(
    rig: Rig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words(rig, "+standin=fails-under-load"), "--keep"]) == 6
    assert "none of 6 requests was answered" in capsys.readouterr().err
    assert is_base(rig)
    assert kinds(tmp_path)[-3:] == ["broken-off", "rollback", "outcome"]


def test_a_change_that_fails_keeps_the_baseline(
    rig: Rig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words(rig, "+standin=oom"), "--result-dir", "out"]) == 7
    assert "[out-of-memory]" in capsys.readouterr().err
    assert is_base(rig)
    assert len(read_run(tmp_path / "out" / "baseline.json").measurements) == 2


def test_nobody_says_that_it_may_be_restarted(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    asked = [each for each in words(rig, "+standin=slow") if each != "--in-place"]
    assert main(asked) == 3
    assert "--in-place" in capsys.readouterr().err
    assert main([*asked, "--dry-run"]) == 0
    assert "1. arm" in capsys.readouterr().out
    assert is_base(rig)


class Child:
    """`assay try` as a process of its own."""

    def __init__(
        self, rig: Rig, tmp_path: Path, *change: str, more: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        asked = [*words(rig, *change, more=more), "--result-dir", "out"]
        self._said = tmp_path / "said"
        with self._said.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "assay", *asked],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=tmp_path,
                start_new_session=True,
            )

    def at(self, text: str) -> None:
        """Wait until it says that."""
        wait_until(lambda: text in self.said() or self.process.poll() is not None, 90)
        assert text in self.said(), self.said()

    def said(self) -> str:
        return self._said.read_text(errors="replace")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("step", ["baseline", "ready", "candidate"])
def test_an_interruption_at_any_step(rig: Rig, tmp_path: Path, number: signal.Signals, step: str) -> None:
    change = "+standin=sleep-2" if step == "ready" else "+standin=slow"
    child = Child(rig, tmp_path, change, more=LONG if step == "candidate" else {})
    child.at(f"assay: {step} ...")
    child.process.send_signal(number)
    assert child.process.wait(60) == 130, child.said()
    assert "`assay status` says where the service stands" in child.said()
    assert is_base(rig)


@pytest.mark.parametrize("step", ["baseline", "ready", "effect", "candidate"])
def test_killed_at_any_step_the_machine_takes_it_back(rig: Rig, tmp_path: Path, step: str) -> None:
    child = Child(rig, tmp_path, "+standin=slow", more=LONG if step == "candidate" else {})
    child.at(f"assay: {step} ...")
    os.killpg(child.process.pid, signal.SIGKILL)
    child.process.wait()
    back(rig, 60)
    if step in ("effect", "candidate"):
        assert len(read_run(tmp_path / "out" / "baseline.json").measurements) >= 1
    assert "try" in kinds(tmp_path)


def test_a_link_that_is_cut_while_the_change_is_measured(rig: Rig, tmp_path: Path) -> None:
    child = Child(rig, tmp_path, "+standin=slow", more={**LONG, "--stall-timeout": "8"})
    child.at("assay: candidate ...")
    rig.call("link", "rig1", "down")
    wait_until(lambda: not rig.inside("sh", "-c", f"ls {PLACES.run}/armed 2>/dev/null; true").strip(), 60)
    rig.call("link", "rig1", "up")
    back(rig, 60)
    assert child.process.wait(120) in (4, 6), child.said()
    assert len(read_run(tmp_path / "out" / "baseline.json").measurements) == 1


def test_a_long_measurement_keeps_its_switch(rig: Rig, tmp_path: Path) -> None:
    """It takes longer than the switch, and the trial is still on at its end."""
    began = time.monotonic()
    child = Child(rig, tmp_path, "+standin=slow", more={**LONG, "--switch": "6"})
    child.at("assay: candidate ...")
    assert child.process.wait(120) == 0, child.said()
    assert time.monotonic() - began > 12
    assert "taken back: it serves as before" in child.said()
    assert is_base(rig)


def test_a_service_that_is_restarted_while_it_is_measured_is_void(rig: Rig, tmp_path: Path) -> None:
    child = Child(rig, tmp_path, "+standin=slow", more=LONG)
    child.at("assay: candidate ...")
    rig.inside("systemctl", "restart", service.UNIT)
    assert child.process.wait(120) == 6, child.said()
    assert is_base(rig)
    assert serves(rig)


def test_a_promotion_that_cannot_be_written_goes_back(rig: Rig, tmp_path: Path) -> None:
    child = Child(rig, tmp_path, "+standin=slow", "--keep", more=LONG)
    child.at("assay: candidate ...")
    rig.call("fill", "rig1")
    try:
        assert child.process.wait(120) == 4, child.said()
    finally:
        rig.call("unfill", "rig1")
    assert "could not be kept" in child.said()
    assert is_base(rig)
