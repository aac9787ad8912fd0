"""`assay tune` of a unit on a real machine: `ASSAY_RIG=/path/to/rig pytest -m rig tests/rig/test_tune.py`."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rig import service
from tests.rig.rigs import Rig, a_rig, begun, wait_until
from tests.rig.service import serves
from tests.rig.test_rollout import clean, command
from tests.study.engine import ARGUMENTS, SERVER

from assay.cli import main
from assay.journal import Journal

pytestmark = [pytest.mark.rig, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
UNIT = "/etc/systemd/system/llm.service"
WORDS = service.UNIT_TEXT.partition("ExecStart=")[2].partition("\nRestart=")[0].replace("\\\n", "")
FILE = """
engine = "./engine"
unit = "llm.service"
[model]
path = "model"
[hardware]
name = "CPU"
capability = "0.0"
[live]
unit = "llm.service"
host = "rig1"
[trials]
where = "in_place"
"""
OWN = ("+standin=quick", "+standin=oom", "+schedule-policy=lpm")
HOW = (
    *("--max-concurrency", "2", "--num-prompts", "16", "--num-warmups", "0", "--metrics-url", "none"),
    *("--random-input-len", "16", "--random-output-len", "8", "--hold", "1", "--switch", "12"),
    *("--ready-timeout", "20", "--stop-timeout", "20", "--only", "--unchecked", "--hours", "0.15"),
    *("--start-minutes", "0.2", "--result-dir", "out"),
)


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with a_rig(count=1) as started:
        yield started


@pytest.fixture(autouse=True)
def slow(rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test begins with a service that is badly set, and its deployment file."""
    monkeypatch.setenv("ASSAY_JOURNAL", str(tmp_path / "j.sqlite"))
    monkeypatch.chdir(tmp_path)
    clean(rig)
    text = service.UNIT_TEXT.replace("--port 31000", "--port 31000 --standin slow")
    rig.put({UNIT: text.encode()})
    rig.inside("systemctl", "daemon-reload")
    rig.inside("systemctl", "restart", "llm.service")
    wait_until(lambda: serves(rig), 30)
    write_files(tmp_path, text, FILE)


def write_files(tmp_path: Path, unit: str, deployment: str) -> None:
    """The engine's source, the model, the unit and the deployment file, as the controller has them."""
    srt = tmp_path / "engine" / "sglang" / "srt"
    srt.mkdir(parents=True)
    for folder in (srt.parent, srt):
        (folder / "__init__.py").write_text("")
    (srt.parent / "launch_server.py").write_text(SERVER)
    last = '        parser.add_argument("--schedule-policy"'
    (srt / "server_args.py").write_text(
        ARGUMENTS.replace(last, '        parser.add_argument("--standin", type=str, default="")\n' + last)
    )
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text('{"architectures": ["Qwen3ForCausalLM"]}')
    (tmp_path / "llm.service").write_text(unit)
    (tmp_path / "chat.toml").write_text(deployment)


def words(rig: Rig, *more: str) -> list[str]:
    return ["tune", "chat.toml", *OWN, *HOW, "--ssh-config", str(rig.config), *more]


def now(rig: Rig) -> str:
    """The words of what runs; nothing while it is being started anew."""
    try:
        return command(rig)
    except AssertionError:
        return ""


def test_killed_on_trial_it_goes_back_by_its_switch_and_gone_on_with_it_is_kept(
    rig: Rig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = command(rig)
    process = begun(words(rig, "--keep"))
    assert process.stderr is not None
    for line in process.stderr:
        if re.search(r"start \d+, search: --standin quick", line):
            break
    else:
        pytest.fail("the study ended before that change was on trial")
    wait_until(lambda: "--standin quick" in now(rig), 60)
    time.sleep(1)
    process.send_signal(signal.SIGKILL)
    process.stderr.close()
    process.wait()
    wait_until(lambda: now(rig) == before, 60)
    wait_until(lambda: serves(rig), 30)
    assert main(words(rig, "--keep", "--resume", "--json")) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert found["end"]["result"] == "shipped"
    assert "--standin quick" in found["end"]["change"]
    assert found["end"]["kept"]
    assert "--standin quick" in command(rig)
    assert serves(rig)
    failed = [each for each in found["starts"] if each["outcome"] == "failed"]
    assert [(each["change"], each["failure"]) for each in failed] == [("--standin oom", "out-of-memory")]
    assert service.KEY not in said.out + said.err
    assert service.KEY.encode() not in (tmp_path / "j.sqlite").read_bytes()
    assert main(["rollback", "chat.toml", "--ssh-config", str(rig.config)]) == 0
    assert command(rig) == before
    with Journal(tmp_path / "j.sqlite", who="t") as journal:
        kinds = [each.kind for each in journal.entries()]
    assert kinds.count("start-lost") == 1
    assert kinds.count("study-ended") == 1


def test_without_keep_it_is_left_as_it_was(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    before = command(rig)
    assert main([*words(rig), "--no-quality"]) == 0
    out = capsys.readouterr().out
    assert "shipped: the gain is shown" in " ".join(out.split())
    assert "llm.service serves as before" in out
    assert "--standin quick" in out
    assert command(rig) == before
    assert serves(rig)


def test_a_server_that_dies_of_what_quality_asks_is_started_again(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    """It ends with status 0, so systemd does not start it again."""
    text = rig.inside("cat", UNIT).replace("--standin slow", "--standin dies-of-logprobs")
    rig.put({UNIT: text.encode()})
    rig.inside("systemctl", "daemon-reload")
    rig.inside("systemctl", "restart", "llm.service")
    wait_until(lambda: serves(rig), 30)
    Path("llm.service").write_text(text)
    assert main(words(rig)) == 6
    said = " ".join(capsys.readouterr().err.split())
    assert "when it was asked for log-probabilities (--no-quality leaves that out)" in said
    assert "llm.service serves as before" in said
    assert serves(rig)
