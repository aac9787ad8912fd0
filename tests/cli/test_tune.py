"""`assay tune` from its command line on an engine that starts at once: whole, killed, and twice at once."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.study.engine import write

from assay.cli import main
from assay.cli.tune_options import TuneOptions
from assay.hosts import end, marked, running
from assay.journal import Entry, Journal, locked
from assay.study import Record, StudyBegan, studies

pytestmark = pytest.mark.timeout(400)
ROOT = Path(__file__).parents[2]
OWN = ("+max-running-requests=8", "+page-size=7", "+schedule-policy=lpm")
LOAD = (
    *("--max-concurrency", "4", "--num-prompts", "16", "--metrics-url", "none"),
    *("--random-input-len", "16", "--random-output-len", "4"),
)
HOW = ("--only", "--unchecked", "--hours", "0.1", "--start-minutes", "0.1", "--result-dir", "out")


@pytest.fixture
def deployment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("ASSAY_JOURNAL", str(tmp_path / "j.sqlite"))
    monkeypatch.chdir(tmp_path)
    yield write(tmp_path, port)
    for _, began in of_journal(tmp_path):
        end(marked(began.id), patience_s=5)


def of_journal(folder: Path) -> list[tuple[Entry, StudyBegan]]:
    with Journal(folder / "j.sqlite", who="t") as journal:
        return list(studies(journal.entries()))


def test_a_dry_run_shows_the_plan_and_starts_nothing(
    deployment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tune", "tiny.toml", *OWN, *LOAD, *HOW, "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "1. --max-running-requests: 1 -> 8" in out
    assert "not triaged: --unchecked" in out
    assert "it can show: a gain of" in out
    assert not (deployment.parent / "out").exists()
    assert not (deployment.parent / "j.sqlite").exists()


def test_the_source_is_asked_where_it_can_be(deployment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del deployment
    how = [each for each in HOW if each != "--unchecked"]
    assert main(["tune", "tiny.toml", *OWN, *LOAD, *how, "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "by what the engine's source does with each" in " ".join(out.split())
    assert "nothing in sglang reads --schedule-policy" in out


@pytest.mark.parametrize(
    ("change", "code", "told"),
    [
        (("--start-minutes", "9"), 3, "allow no baseline and confirmation"),
        (("--request-rate", "3"), 3, "no open load"),
        (("--primary", "concurrency 3"), 2, "no such load"),
        (("--resume",), 2, "there is no study of this deployment that has not ended"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_started(
    deployment: Path,
    capsys: pytest.CaptureFixture[str],
    change: tuple[str, ...],
    code: int,
    told: str,
) -> None:
    del deployment
    how = [*HOW[:4], *HOW[6:]] if change[0] == HOW[4] else HOW
    assert main(["tune", "tiny.toml", *OWN, *LOAD, *how, *change]) == code
    assert told in capsys.readouterr().err.replace("\n", " ")


def test_a_file_must_let_assay_start_servers(deployment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deployment.write_text(deployment.read_text().replace('where = "in_place"', 'where = "nowhere"'))
    assert main(["tune", "tiny.toml", *OWN, *LOAD, *HOW]) == 3
    assert "does not let assay start servers" in capsys.readouterr().err


def test_hooks_of_a_process_have_no_machine_that_remembers_them(
    deployment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hooks = '[hooks]\ndrain = ["lb", "drain"]\nundrain = ["lb", "up"]\n'
    deployment.write_text(f"{deployment.read_text()}\n{hooks}")
    assert main(["tune", "tiny.toml", *OWN, *LOAD, *HOW]) == 3
    assert "has [hooks] and no [live]" in capsys.readouterr().err


def test_killed_and_gone_on_with_it_finds_the_large_gain(
    deployment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """kill -9 in the fourth and the seventh start; the server of a start that was cut short is ended."""
    del deployment
    command = [sys.executable, "-m", "assay", "tune", "tiny.toml", *OWN, *LOAD, *HOW]
    for number, more in ((4, ()), (7, ("--resume",))):
        process = subprocess.Popen(
            [*command, *more],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        )
        assert process.stderr is not None
        for line in process.stderr:
            if f"start {number}, " in line:
                time.sleep(0.5)
                break
        process.send_signal(signal.SIGKILL)
        process.stderr.close()
        process.wait()
    assert main(["tune", "tiny.toml", *OWN, *LOAD, *HOW, "--resume", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["end"]["result"] == "shipped"
    assert found["end"]["change"].startswith("--max-running-requests 8")
    status = {each["name"]: each["status"] for each in found["end"]["options"]}
    assert (status["--max-running-requests"], status["--page-size"]) == ("shipped", "failed")
    assert [each["number"] for each in found["starts"]] == list(range(1, len(found["starts"]) + 1))
    assert "--max-running-requests 8" in " ".join(found["end"]["command"])
    id = found["id"]
    assert marked(id) == ()
    assert main(["history"]) == 0
    assert f"{id}  shipped" in capsys.readouterr().out
    assert main(["show", id[:15]]) == 0
    out = capsys.readouterr().out
    assert "cut short" in out
    assert "7: failed: it ended (exit status 1): ValueError: No common block size for 7" in " ".join(
        out.split()
    )
    # the next study knows what fails
    assert main(["tune", "tiny.toml", *OWN, *LOAD, *HOW, "--dry-run"]) == 0
    assert f"--page-size 7: it failed in study {id}" in " ".join(capsys.readouterr().out.split())


def test_what_ran_before_runs_again_afterwards(
    deployment: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the study comes to no end; here the client is interrupted in the second start."""
    from assay.cli import tune_plan
    from assay.hosts import start_child
    from assay.study import LiveRunner

    subject = tune_plan.looked_at("tiny.toml", TuneOptions(unchecked=True))
    before = start_child(
        subject.words, environment=os.environ, folder=deployment.parent, log=deployment.parent / "l", mark="x"
    )
    run = LiveRunner.run

    def interrupted(self: LiveRunner, start: object, *more: object, **rest: object) -> object:
        if start.number == 2:  # type: ignore[attr-defined]
            raise KeyboardInterrupt
        return run(self, start, *more, **rest)  # type: ignore[arg-type]

    monkeypatch.setattr(LiveRunner, "run", interrupted)
    assert main(["tune", "tiny.toml", *OWN, *LOAD, *HOW]) == 130
    assert "it runs as before, as a process of its own" in capsys.readouterr().err
    after = running(subject.words[-6:])
    assert before.status is not None
    assert len(after) == 1
    with Journal(deployment.parent / "j.sqlite", who="t") as journal:
        [(_, began)] = studies(journal.entries())
        record = Record(began, journal.entries())
    assert began.ran
    assert list(record.ended) == [1]
    end(after, patience_s=5)


IMPOSTOR = """
import os, sys, time
from sglang.srt.server_args import prepare_server_args

arguments = prepare_server_args(sys.argv[1:])
if os.fork() == 0:
    os.setsid()
    code = open(__file__.replace("launch_server", "real")).read()
    words = [sys.executable, "-c", code, *sys.argv[1:]]
    os.execve(sys.executable, words, {"PYTHONPATH": os.environ["PYTHONPATH"]})
time.sleep(600)
"""


def test_the_tokens_of_another_server_are_not_taken_for_ours(
    deployment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that begins to answer after the study has looked, as somebody's that was just starting."""
    package = deployment.parent / "engine" / "sglang"
    (package / "launch_server.py").rename(package / "real.py")
    (package / "launch_server.py").write_text(IMPOSTOR)
    port = deployment.read_text().partition("--port ")[2].split()[0]
    try:
        assert main(["tune", "tiny.toml", *OWN, *LOAD, *HOW]) == 4
    finally:
        end(running(["--port", port, "--max-running-requests", "1"]), patience_s=5)
    assert "another process answers at" in capsys.readouterr().err


def test_without_numpy_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [each for each in sys.modules if each.split(".")[0] == "numpy"]:
        monkeypatch.setitem(sys.modules, name, None)
    for name in [each for each in sys.modules if each.startswith(("assay.search", "assay.study"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "assay.cli.history_run", raising=False)
    monkeypatch.delattr("assay.cli.history_run", raising=False)
    assert main(["history"]) == 2
    assert "pip install 'assay[search]'" in capsys.readouterr().err


def test_two_cannot_tune_one_server_at_once(deployment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    port = deployment.read_text().partition("--port ")[2].split()[0]
    subject = f"127.0.0.1:{port}@{socket.gethostname()}"
    with locked(deployment.parent / "j.sqlite", subject, who="ann@there"):
        assert main(["tune", "tiny.toml", *OWN, *LOAD, *HOW]) == 9
    assert "by ann@there, process" in capsys.readouterr().err
