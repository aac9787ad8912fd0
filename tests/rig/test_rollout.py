"""Rollouts on a real machine that breaks: `ASSAY_RIG=/path/to/rig pytest -m rig tests/rig/test_rollout.py`.

Each test ends with the service on its old command, or with a clear word that a person must look.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.rig import service
from tests.rig.rigs import PASSWORD, Rig, a_rig, wait_until
from tests.rig.service import serves

from assay._value import Value
from assay.cli import main
from assay.errors import ApplyFailed, AssayError, CommandFailed, JournalError, Refused, RestoreFailed
from assay.hosts import Secret, SshHost
from assay.journal import Journal
from assay.rollout import (
    Look,
    Outcome,
    Patience,
    Plan,
    Request,
    apply,
    layout,
    parse_change,
    prepare,
    promote,
    rollback,
)

pytestmark = [pytest.mark.rig, pytest.mark.timeout(300)]

PLACES = layout(service.UNIT)
Note = Callable[[str, Value], None]
NUMBERS = itertools.count(1)
QUICK = Patience(switch_s=6, trial_s=8, stop_s=20, ready_s=15, hold_s=1, token_s=3, lost_s=20, poll_s=0.1)
STEPS = ("arm", "write", "verify", "reload", "stop", "start", "ready", "hold", "trial")


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with a_rig(count=1) as started:
        yield started


@pytest.fixture(autouse=True)
def base(rig: Rig) -> Iterator[None]:
    """Each test begins with the service as it is written, and nothing of ours on the machine."""
    clean(rig)
    yield
    rig.call("link", "rig1", "up")


def clean(rig: Rig) -> None:
    script = f"""
    systemctl unmask {service.UNIT} 2>/dev/null
    systemctl stop '{PLACES.switch}*.timer' '{PLACES.switch}*.service' {service.UNIT} 2>/dev/null
    rm -rf /run/assay /var/lib/assay {PLACES.trial} {PLACES.kept} /etc/systemd/system/{service.UNIT}.d
    rm -rf /run/systemd/system/{service.UNIT}.d; pkill -f http.server; pkill -f leaves-child; true
    """
    rig.call("exec", "rig1", "sh", "-s", data=script.encode())
    service.install(rig)
    rig.inside("systemctl", "restart", service.UNIT)
    wait_until(lambda: serves(rig))


def command(rig: Rig) -> str:
    """The words of what runs."""
    pid = rig.inside("systemctl", "show", "-p", "MainPID", "--value", service.UNIT).strip()
    return rig.inside("cat", f"/proc/{pid}/cmdline").replace("\0", " ") if pid != "0" else ""


def is_base(rig: Rig) -> bool:
    """The old command serves, and nothing of a rollout is left that could change that."""
    left = rig.inside("sh", "-c", f"ls {PLACES.trial} {PLACES.kept} {PLACES.run}/armed 2>/dev/null; true")
    timers = rig.inside("systemctl", "list-units", "--no-legend", f"{PLACES.switch}*.timer")
    return not left and not timers.strip() and "--enable-mixed-chunk" not in command(rig) and serves(rig)


def back(rig: Rig, timeout_s: float = 40.0) -> None:
    """Wait until the service is as before."""
    wait_until(lambda: is_base(rig), timeout_s)


class Attempt:
    """A rollout as a test makes it, with what was journalled."""

    def __init__(self, rig: Rig, *change: str, name: str = "root@rig1", patience: Patience = QUICK) -> None:
        self.rig = rig
        self.host: SshHost = rig.host(name)
        self.note: Note = self._note
        self.notes: list[tuple[str, Value]] = []
        settings = change or ("enable-mixed-chunk",)
        self.request = Request(
            id=f"test-{next(NUMBERS)}",
            unit=service.UNIT,
            change=parse_change(settings),
            who="me@here",
            patience=patience,
        )

    def _note(self, kind: str, body: Value) -> None:
        self.notes.append((kind, body))

    def run(self, on_step: Callable[[str], None] = lambda _: None) -> Outcome | AssayError:
        """What comes of it."""
        with self.host:
            try:
                prepared = prepare(self.host, self.request)
                return apply(prepared, note=self.note, on_step=on_step)
            except AssayError as error:
                return error


def at(step: str, act: Callable[[], object]) -> Callable[[str], None]:
    """Acts when that step begins."""

    def on_step(name: str) -> None:
        if name == step:
            act()

    return on_step


def failed(outcome: object, kind: str = "") -> ApplyFailed:
    """It failed and was restored."""
    assert isinstance(outcome, ApplyFailed), outcome
    assert not kind or outcome.hint.startswith(f"[{kind}]"), outcome.hint
    assert "serves as before" in outcome.message
    text = " ".join([outcome.message, outcome.hint, *outcome.details])
    assert service.KEY not in text
    assert service.TOKEN not in text
    return outcome


# the whole of it


@pytest.mark.registry
def test_from_a_change_to_a_promotion_over_a_power_cut_and_back(
    rig: Rig,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    engine_tree: Callable[[str], Path],
) -> None:
    monkeypatch.setenv("ASSAY_JOURNAL", str(tmp_path / "j.sqlite"))
    ssh = ("--ssh-config", str(rig.config), "--cache", str(tmp_path / "cache"))
    file = tmp_path / "chat.toml"
    assert main(["describe", "llm@deploy@rig1", *ssh[:2], "-o", str(file)]) == 0
    text = file.read_text().replace('# gpus = "4x H100"', 'gpus = "4x H100"')
    file.write_text(text.replace('"sglang==0.5.10"', f'"{engine_tree("0.5.10")}"'))
    assert main(["apply", str(file), "+enable-mixed-chunk", *ssh]) == 3
    assert "does not let assay change llm.service" in capsys.readouterr().err
    file.write_text(file.read_text().replace('"nowhere"', '"in_place"'))
    before = command(rig)

    assert main(["apply", str(file), "+kv-cache-dtype=nosuch", *ssh]) == 3
    assert "does not take the changed command; nothing was changed" in capsys.readouterr().err
    change = ["+enable-mixed-chunk", "+kv-cache-dtype=fp8_e5m2"]
    assert main(["apply", str(file), *change, "--dry-run", "--json", *ssh]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert [step["name"] for step in plan["steps"]] == list(STEPS)
    assert command(rig) == before
    with Journal(tmp_path / "j.sqlite", who="t") as opened:
        assert not opened.entries()

    words = [*change, "--why", "a test", "--hold", "1", "--json"]
    assert main(["apply", str(file), *words, *ssh]) == 0
    outcome = json.loads(capsys.readouterr().out)
    assert (outcome["result"], outcome["lines"]) == ("trial", [])
    # exactly the change, and every other word as it was
    assert command(rig) == f"{before}--enable-mixed-chunk --kv-cache-dtype fp8_e5m2 "
    assert main(["status", str(file), "--json", *ssh[:2]]) == 0
    seen = json.loads(capsys.readouterr().out)
    assert seen["marks"]["switch"]
    assert 3000 < seen["marks"]["left_s"] <= 3600
    assert main(["promote", str(file), *ssh[:2]]) == 0
    rig.call("power", "rig1", "cycle")
    wait_until(lambda: serves(rig), 60)
    assert "--enable-mixed-chunk" in command(rig)
    assert main(["status", str(file), *ssh[:2]]) == 0
    assert main(["rollback", str(file), *ssh[:2]]) == 0
    assert is_base(rig)
    assert main(["rollback", str(file), *ssh[:2]]) == 3

    said = capsys.readouterr()
    for told in ("no restart", "restarted"):  # of promote and rollback, before they act
        assert told in " ".join(said.err.split())  # lines are broken where they are full
    journal = (tmp_path / "j.sqlite").read_bytes()
    for secret in (service.KEY, service.TOKEN):
        assert secret.encode() not in journal
        assert secret not in said.out + said.err + file.read_text()
    with Journal(tmp_path / "j.sqlite", who="t") as opened:
        kinds = [entry.kind for entry in opened.entries()]
    assert kinds == ["plan", *["step"] * 9, "outcome", "promote", "outcome", "rollback", "outcome"]


def test_what_the_server_did_not_take_is_said(rig: Rig) -> None:
    outcome = Attempt(rig, "kv-cache-dtype=fp8_e5m2", "enable-mixed-chunk", "standin=overrides").run()
    assert isinstance(outcome, Outcome)
    assert outcome.lines == (
        "--kv-cache-dtype fp8_e5m2 was asked for, the server runs with auto",
        "--enable-mixed-chunk was asked for, the server runs without",
    )
    back(rig)


def test_a_trial_goes_back_by_itself(rig: Rig) -> None:
    outcome = Attempt(rig).run()
    assert isinstance(outcome, Outcome)
    assert outcome.result == "trial"
    assert "--enable-mixed-chunk" in command(rig)
    back(rig)


def test_a_switch_that_fails_is_tried_again_until_it_does_not(rig: Rig) -> None:
    assert isinstance(Attempt(rig).run(), Outcome)
    # what cannot be removed as a file
    rig.inside("sh", "-c", f"rm {PLACES.trial} && mkdir {PLACES.trial}")
    tries = ["journalctl", "-q", "-o", "cat", "-u", f"{PLACES.switch}-trial.service"]
    wait_until(lambda: rig.inside(*tries).count("Is a directory") >= 2, 40)
    rig.inside("rmdir", PLACES.trial)
    back(rig)


def test_a_second_change_upon_a_kept_one_and_back_to_it(rig: Rig) -> None:
    assert isinstance(Attempt(rig).run(), Outcome)
    with rig.host() as host:
        promote(look(host), note=no_note)
    kept = rig.inside("cat", PLACES.kept)
    outcome = Attempt(rig, "kv-cache-dtype=fp8_e4m3").run()
    assert isinstance(outcome, Outcome)
    assert "--enable-mixed-chunk --kv-cache-dtype fp8_e4m3" in command(rig)
    with rig.host() as host:
        promote(look(host), note=no_note)
        rollback(look(host), note=no_note)
    assert rig.inside("cat", PLACES.kept) == kept
    assert "fp8_e4m3" not in command(rig)
    with rig.host() as host:
        rollback(look(host), note=no_note)
    assert is_base(rig)


def look(host: SshHost) -> Look:
    return Look(host, service.UNIT, url=None, model=None, patience=QUICK)


def no_note(_kind: str, _body: Value) -> None:
    """Nothing is written down."""


# servers that fail


@pytest.mark.parametrize(
    ("change", "kind", "line"),
    [
        ("standin=oom", "out-of-memory", "CUDA out of memory"),
        ("standin=nccl", "nccl", "NCCL error"),
        ("standin=missing", "missing-file", "/models/nowhere"),
        ("kv-cache-dtype=nosuch", "unknown-argument", "invalid choice"),
        ("no-such-option", "unknown-argument", "unrecognized arguments"),
        ("standin=never", "never-ready", "server_args"),
        ("standin=loading", "never-ready", "Loading safetensors checkpoint shards"),
        ("standin=no-token", "no-token", "ready to roll"),
        ("standin=dies-under-load", "", "illegal memory access"),
        ("port=abc", "", ""),
    ],
)
def test_a_server_that_fails(rig: Rig, change: str, kind: str, line: str) -> None:
    attempt = Attempt(rig, change, patience=replace(QUICK, ready_s=4.0))
    outcome = attempt.run()
    if change.startswith("port"):
        assert isinstance(outcome, Refused)
    else:
        assert line in " ".join(failed(outcome, kind).details)
        assert attempt.notes[0][0] == "plan"
        assert attempt.notes[-1][0] == "outcome"
    assert is_base(rig)


def test_a_crash_loop_that_never_reaches_its_limit(rig: Rig) -> None:
    rig.put(
        {
            f"/etc/systemd/system/{service.UNIT}": service.UNIT_TEXT.replace(
                "RestartSec=1", "RestartSec=3"
            ).encode()
        }
    )
    rig.inside("systemctl", "daemon-reload")
    rig.inside("systemctl", "restart", service.UNIT)
    wait_until(lambda: serves(rig))
    failed(Attempt(rig, "standin=oom").run(), "out-of-memory")
    assert is_base(rig)


def test_a_server_that_ignores_sigterm(rig: Rig) -> None:
    outcome = Attempt(rig, "standin=ignores-term").run()
    assert isinstance(outcome, Outcome)
    with rig.host() as host:
        rollback(look(host), note=no_note)
    assert is_base(rig)


def test_an_old_process_that_stays(rig: Rig) -> None:
    text = service.UNIT_TEXT.replace("--port", "--standin leaves-child --port").replace(
        "[Install]", "KillMode=process\n[Install]"
    )
    rig.put({f"/etc/systemd/system/{service.UNIT}": text.encode()})
    rig.inside("systemctl", "daemon-reload")
    rig.inside("systemctl", "restart", service.UNIT)
    wait_until(lambda: serves(rig))
    outcome = failed(Attempt(rig, patience=replace(QUICK, stop_s=2.0)).run(), "not-stopped")
    assert "still runs" in " ".join(outcome.details)
    assert serves(rig)
    assert "--enable-mixed-chunk" not in command(rig)


def test_memory_of_a_gpu_is_waited_for(rig: Rig) -> None:
    """A driver that lets go of a process's memory only a while after its end."""
    pid = rig.inside("systemctl", "show", "-p", "MainPID", "--value", service.UNIT).strip()
    smi = f"#!/bin/sh\n[ -e /run/held ] && echo 'GPU-1, {pid}, 100, python3'\ntrue\n"
    rig.put({"/usr/local/bin/nvidia-smi": smi.encode(), "/run/held": b""})
    try:
        quick = replace(QUICK, stop_s=2.0)
        outcome = failed(Attempt(rig, patience=quick).run(), "not-stopped")
        assert f"process {pid} still holds memory of a GPU" in outcome.details
        assert is_base(rig)
        pid_now = rig.inside("systemctl", "show", "-p", "MainPID", "--value", service.UNIT).strip()
        rig.put({"/usr/local/bin/nvidia-smi": smi.replace(pid, pid_now).encode()})
        threading.Timer(3, lambda: rig.inside("rm", "/run/held")).start()
        second = Attempt(rig).run()
        assert isinstance(second, Outcome), second
        assert second.downtime_s > 1
    finally:
        rig.inside("rm", "-f", "/usr/local/bin/nvidia-smi", "/run/held")
    back(rig)


def test_a_port_that_another_takes(rig: Rig) -> None:
    serve = (
        "systemd-run",
        "--quiet",
        "--collect",
        "-p",
        "RuntimeMaxSec=5",
        "python3",
        "-m",
        "http.server",
        "31000",
        "--bind",
        "127.0.0.1",
    )

    def take() -> None:
        rig.inside(*serve)
        wait_until(
            lambda: "31000" in rig.inside("sh", "-c", "grep -i :7918 /proc/net/tcp && echo 31000; true")
        )

    failed(Attempt(rig).run(at("start", take)), "port-in-use")
    assert is_base(rig)


# machines, links and people


@pytest.mark.parametrize("step", STEPS)
def test_the_controller_is_killed(rig: Rig, tmp_path: Path, step: str) -> None:
    with controller(rig, tmp_path, f"lambda name: name == {step!r} and os.kill(os.getpid(), 9)") as killed:
        assert killed.wait(60) == -signal.SIGKILL
    back(rig)
    with Journal(tmp_path / "j.sqlite", who="t") as journal:
        written = journal.entries()
    assert written[0].kind == "plan"
    assert json.loads(written[-1].body) == {"id": "test-1", "step": step}
    assert isinstance(Attempt(rig).run(), Outcome), "the next one is not hindered"


@pytest.mark.parametrize("seconds", [0.3, 0.7, 1.1, 1.6, 2.2])
def test_the_controller_is_killed_anywhere(rig: Rig, tmp_path: Path, seconds: float) -> None:
    with controller(rig, tmp_path, "lambda name: name == 'arm' and print('armed', flush=True)") as process:
        assert process.stdout
        process.stdout.readline()
        time.sleep(seconds)  # where in the rollout is left to chance
        process.kill()
    back(rig)


def controller(rig: Rig, tmp_path: Path, on_step: str, *, quiet: bool = False) -> subprocess.Popen[str]:
    """A rollout by a process of its own; `quiet` about how it ends."""
    text = f"""
    import os
    from pathlib import Path
    from tests.rig.test_rollout import QUICK, service
    from assay.hosts import SshHost
    from assay.journal import Journal
    from assay.rollout import Request, apply, parse_change, prepare
    host = SshHost("root@rig1", config=Path({str(rig.config)!r}), connect_timeout_s=3, keepalive_s=1)
    journal = Journal(Path({str(tmp_path / "j.sqlite")!r}), who="killed@here")
    request = Request(
        id="test-1", unit=service.UNIT, change=parse_change(["enable-mixed-chunk"]), who="me", patience=QUICK
    )
    apply(prepare(host, request), note=lambda kind, body: journal.append("s", kind, body), on_step={on_step})
    """
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}"}
    command = [sys.executable, "-c", textwrap.dedent(text)]
    told = subprocess.DEVNULL if quiet else None
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=told, text=True, env=environment)


@pytest.mark.parametrize("step", STEPS)
def test_the_link_is_cut_and_comes_back_too_late(rig: Rig, step: str) -> None:
    quick = replace(QUICK, lost_s=1.0)
    outcome = Attempt(rig, patience=quick).run(at(step, lambda: rig.call("link", "rig1", "down")))
    if step == "arm":
        assert isinstance(outcome, AssayError), outcome
    else:
        assert isinstance(outcome, RestoreFailed), outcome
        assert "a person must look" in " ".join(outcome.details)
    # without any controller
    rig.call("link", "rig1", "up")
    back(rig)


@pytest.mark.parametrize("step", ["reload", "stop", "ready"])
def test_the_link_is_cut_for_longer_than_the_switch_waits(rig: Rig, step: str) -> None:
    def cut() -> None:
        rig.call("link", "rig1", "down")
        threading.Timer(9, lambda: rig.call("link", "rig1", "up")).start()

    outcome = failed(Attempt(rig).run(at(step, cut)))
    assert "switch fired" in outcome.message
    assert is_base(rig)


@pytest.mark.parametrize("step", ["write", "stop", "ready"])
def test_a_short_cut_is_waited_out(rig: Rig, step: str) -> None:
    def cut() -> None:
        rig.call("link", "rig1", "down")
        threading.Timer(1, lambda: rig.call("link", "rig1", "up")).start()

    patient = replace(QUICK, switch_s=30, trial_s=30)
    outcome = Attempt(rig, patience=patient).run(at(step, cut))
    assert isinstance(outcome, Outcome), outcome
    with rig.host() as host:
        rollback(look(host), note=no_note)
    assert is_base(rig)


@pytest.mark.parametrize("step", ["reload", "start", "hold", "trial"])
def test_the_power_is_cut(rig: Rig, step: str) -> None:
    patient = replace(QUICK, lost_s=60.0, ready_s=30.0)
    outcome = failed(Attempt(rig, patience=patient).run(at(step, lambda: rig.call("power", "rig1", "cycle"))))
    assert "was restarted" in outcome.message
    assert is_base(rig)


def test_the_power_is_cut_during_a_trial(rig: Rig) -> None:
    assert isinstance(Attempt(rig).run(), Outcome)
    rig.call("power", "rig1", "cycle")
    wait_until(lambda: serves(rig), 60)
    assert is_base(rig)


def test_sshd_is_killed_and_comes_back(rig: Rig) -> None:
    def kill() -> None:
        rig.call("sshd", "rig1", "kill")
        threading.Timer(2, lambda: rig.call("sshd", "rig1", "start")).start()

    patient = replace(QUICK, switch_s=30, trial_s=30)
    outcome = Attempt(rig, patience=patient).run(at("start", kill))
    assert isinstance(outcome, Outcome), outcome


def test_a_full_disk_hinders_no_trial_and_no_way_back(rig: Rig) -> None:
    rig.call("fill", "rig1")
    try:
        assert isinstance(Attempt(rig).run(), Outcome)
        with rig.host() as host:
            with pytest.raises(CommandFailed, match="stays on trial"):
                promote(look(host), note=no_note)
            assert look(host).marks.switch
        back(rig)
        failed(Attempt(rig, "standin=oom").run(), "out-of-memory")
    finally:
        rig.call("unfill", "rig1")
    assert is_base(rig)


def test_ctrl_c(rig: Rig) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Attempt(rig).run(at("hold", interrupt))
    assert is_base(rig)


@pytest.mark.parametrize("step", ["arm", "start"])
def test_a_journal_that_cannot_be_written(rig: Rig, step: str) -> None:
    attempt = Attempt(rig)

    def note(_kind: str, body: Value) -> None:
        if getattr(body, "step", "") == step:
            raise JournalError("cannot write to the journal: disk full")

    attempt.note = note
    outcome = attempt.run()
    assert isinstance(outcome, JournalError) if step == "arm" else failed(outcome)
    assert is_base(rig)


def test_the_switch_is_stopped_by_somebody(rig: Rig) -> None:
    stop = at("start", lambda: rig.inside("systemctl", "stop", f"{PLACES.switch}.timer"))
    failed(Attempt(rig).run(stop))
    assert is_base(rig)


def test_another_target_does_not_stop_the_switch(rig: Rig) -> None:
    assert isinstance(Attempt(rig, patience=replace(QUICK, trial_s=20)).run(), Outcome)
    rig.inside("systemctl", "isolate", "multi-user.target")
    with rig.host() as host:
        assert look(host).marks.switch
    back(rig)


def test_two_controllers_at_once(rig: Rig) -> None:
    others: list[Outcome | AssayError] = []
    outcome = Attempt(rig).run(
        at("hold", lambda: others.append(Attempt(rig, "kv-cache-dtype=fp8_e5m2").run()))
    )
    assert isinstance(outcome, Outcome)
    (other,) = others
    assert isinstance(other, Refused)
    assert "by me@here" in other.message
    back(rig)


def test_two_that_prepared_before_either_armed(rig: Rig) -> None:
    first, second = Attempt(rig), Attempt(rig)
    with first.host, second.host:
        one, two = prepare(first.host, first.request), prepare(second.host, second.request)
        assert apply(one, note=first.note).result == "trial"
        with pytest.raises(Refused, match="another rollout"):
            apply(two, note=second.note)
    back(rig)


# what is refused before anything is changed


def edited(rig: Rig, old: str, new: str, *, reload: bool = True) -> None:
    text = service.UNIT_TEXT.replace(old, new)
    assert text != service.UNIT_TEXT
    rig.put({f"/etc/systemd/system/{service.UNIT}": text.encode()})
    if reload:
        rig.inside("systemctl", "daemon-reload")


def refused(rig: Rig, match: str, *, name: str = "root@rig1") -> None:
    outcome = Attempt(rig, name=name).run()
    assert isinstance(outcome, Refused | CommandFailed), outcome
    assert match in outcome.message
    assert outcome.hint
    assert "0\n" in rig.inside("sh", "-c", f"ls {PLACES.trial} {PLACES.run}/armed 2>/dev/null | wc -l")


def test_a_unit_that_was_never_reloaded(rig: Rig) -> None:
    edited(rig, "--port", "--chunked-prefill-size 4096 --port", reload=False)
    refused(rig, "never reloaded")


def test_a_unit_that_was_never_restarted(rig: Rig) -> None:
    edited(rig, "--port", "--chunked-prefill-size 4096 --port")
    refused(rig, "other words")


def test_a_unit_with_bad_quoting(rig: Rig) -> None:
    edited(rig, "'{{".replace("{{", "{"), "'{\"")
    edited(rig, "$HOME\"}'", '$HOME"}')
    refused(rig, "not loaded")


@pytest.mark.parametrize("setting", ["Requires", "BindsTo", "PartOf", "StopPropagatedFrom"])
def test_a_unit_that_another_hangs_on(rig: Rig, setting: str) -> None:
    text = f"[Unit]\n{setting}={service.UNIT}\n[Service]\nExecStart=/usr/bin/sleep 600\n"
    rig.put({"/run/systemd/system/front.service": text.encode()})
    rig.inside("systemctl", "daemon-reload")
    rig.inside("systemctl", "start", "front.service")
    try:
        refused(rig, "coupled to front.service")
    finally:
        rig.inside("systemctl", "stop", "front.service")
        rig.inside("rm", "/run/systemd/system/front.service")
    assert isinstance(Attempt(rig).run(), Outcome)


PROXY = """
import http.server, os, sys, urllib.error, urllib.request
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        size = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(size) if size else None
        headers = {"Authorization": self.headers.get("Authorization", "")}
        for port in sys.argv[2:]:
            try:
                asked = urllib.request.Request(f"http://127.0.0.1:{port}{self.path}", body, headers)
                with urllib.request.urlopen(asked, timeout=2) as answer:
                    return self.say(200, answer.read())
            except OSError:
                pass
        self.say(502, b"bad gateway")
    do_POST = do_GET
    def say(self, status, data):
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@pytest.mark.parametrize("others", [[], ["31005"]])
def test_a_proxy_in_front_that_answers_while_it_is_down(rig: Rig, others: list[str]) -> None:
    rig.put({"/opt/proxy.py": PROXY.encode()})
    run = ["systemd-run", "--quiet", "--collect"]
    rig.inside(*run, "--unit=front", "python3", "/opt/proxy.py", "31001", "31000", *others)
    words = ["-m", "sglang.launch_server", "--model-path", "/models/tiny", "--port", "31005"]
    rig.inside(*run, "--unit=second", "/opt/venv/bin/python3", *words)
    ask = ["curl", "-s", "-m", "2", "-H", f"Authorization: Bearer {service.KEY}", "-d", "{}"]
    try:
        for port in ("31001", "31005"):
            url = f"http://127.0.0.1:{port}/v1/completions"
            wait_until(functools.partial(answers, rig, *ask, url))
        attempt = Attempt(rig)
        attempt.request = dataclasses.replace(attempt.request, url="http://127.0.0.1:31001")
        outcome = attempt.run()
        if others:  # a balancer: its tokens say nothing of the unit
            assert "another server is behind it" in failed(outcome, "port-in-use").message
        else:
            assert isinstance(outcome, Outcome), outcome
            assert outcome.result == "trial"
        [(_, plan)] = [each for each in attempt.notes if each[0] == "plan"]
        assert isinstance(plan, Plan)
        assert "not where the command listens" in plan.notes[0]
        back(rig)
    finally:
        rig.inside("systemctl", "stop", "front.service", "second.service")


def answers(rig: Rig, *command: str) -> bool:
    try:
        return "usage" in rig.inside(*command)
    except AssertionError:
        return False


def test_what_systemd_starts_when_the_unit_fails_stands_in_the_plan(rig: Rig) -> None:
    edited(rig, "[Unit]", "[Unit]\nOnFailure=page-somebody.service")
    try:
        attempt = Attempt(rig, "standin=oom")
        failed(attempt.run(), "out-of-memory")
        [(_, plan)] = [each for each in attempt.notes if each[0] == "plan"]
        assert isinstance(plan, Plan)
        assert "starts page-somebody.service (OnFailure=)" in plan.notes[0]
    finally:
        service.install(rig)


def test_a_rollback_that_is_refused_has_an_outcome(rig: Rig) -> None:
    assert isinstance(Attempt(rig).run(), Outcome)
    notes: list[tuple[str, Value]] = []
    with rig.host() as host:
        promote(look(host), note=no_note)
        rig.inside("sh", "-c", f"echo '# by hand' >>{PLACES.kept}; systemctl daemon-reload")
        with pytest.raises(Refused):
            rollback(look(host), note=lambda kind, body: notes.append((kind, body)))
    assert [kind for kind, _ in notes] == ["rollback", "outcome"]
    assert isinstance(notes[1][1], Outcome)
    assert notes[1][1].result == "refused"


@pytest.mark.parametrize(
    "setting", ["RefuseManualStop=yes", "FailureAction=reboot", "OnSuccess=next.service"]
)
def test_a_unit_that_must_not_be_restarted_or_takes_more_with_it(rig: Rig, setting: str) -> None:
    edited(rig, "[Unit]", f"[Unit]\n{setting}")
    try:
        refused(rig, setting.replace("RefuseManualStop=yes", "CanStop=no"))
    finally:
        service.install(rig)


def test_a_unit_by_its_other_name(rig: Rig) -> None:
    edited(rig, "[Install]", "[Install]\nAlias=chat.service")
    rig.inside("systemctl", "enable", service.UNIT)
    attempt = Attempt(rig)
    attempt.request = Request(
        id="x", unit="chat.service", change=parse_change(["a"]), who="me", patience=QUICK
    )
    try:
        outcome = attempt.run()
        assert isinstance(outcome, Refused)
        assert f"another name of {service.UNIT}" in outcome.message
    finally:
        rig.inside("rm", "/etc/systemd/system/chat.service")


def test_a_masked_unit(rig: Rig) -> None:
    rig.inside("sh", "-c", f"cd /etc/systemd/system; mv {service.UNIT} /root/; systemctl mask {service.UNIT}")
    refused(rig, "masked")


def test_a_stopped_unit(rig: Rig) -> None:
    rig.inside("systemctl", "stop", service.UNIT)
    refused(rig, "does not run")


def test_a_unit_of_no_such_name(rig: Rig) -> None:
    attempt = Attempt(rig)
    attempt.request = Request(
        id="x", unit="nosuch.service", change=parse_change(["a"]), who="me", patience=QUICK
    )
    assert isinstance(attempt.run(), Refused)


def test_a_shell_around_the_server(rig: Rig) -> None:
    edited(
        rig,
        "ExecStart=/opt/venv/bin/python3 ",
        "ExecStart=/bin/sh -c 'exec /opt/venv/bin/python3 \"$$@\"' x ",
    )
    rig.inside("systemctl", "restart", service.UNIT)
    wait_until(lambda: serves(rig))
    refused(rig, "does not start a server")


def test_a_key_that_stands_in_the_environment(rig: Rig) -> None:
    """The unit says `${THE_KEY}`; only the process has it, and its log prints it."""
    edited(rig, f"--api-key {service.KEY}", "--api-key ${THE_KEY}", reload=False)
    text = rig.inside("cat", f"/etc/systemd/system/{service.UNIT}")
    text = text.replace("Environment=", f"Environment=THE_KEY={service.KEY} ")
    rig.put({f"/etc/systemd/system/{service.UNIT}": text.encode()})
    rig.inside("systemctl", "daemon-reload")
    rig.inside("systemctl", "restart", service.UNIT)
    wait_until(lambda: serves(rig))
    failed(Attempt(rig, "standin=oom").run(), "out-of-memory")
    assert is_base(rig)
    attempt = Attempt(rig)
    assert isinstance(attempt.run(), Outcome)
    assert "--api-key ${THE_KEY}" in rig.inside("cat", PLACES.trial)
    assert service.KEY not in repr(attempt.notes)
    with rig.host() as host:
        rollback(look(host), note=no_note)
    assert is_base(rig)


def test_processes_that_other_users_cannot_see(rig: Rig) -> None:
    rig.inside("mount", "-o", "remount,hidepid=2", "/proc")
    try:
        outcome = Attempt(rig, name="deploy@rig1").run()
        assert isinstance(outcome, Outcome), outcome
        back(rig)
    finally:
        rig.inside("mount", "-o", "remount,hidepid=0", "/proc")


def test_a_wrapper_around_the_server_stays(rig: Rig) -> None:
    edited(rig, "ExecStart=/opt", "ExecStart=/usr/bin/nice -n 5 /opt")
    rig.inside("systemctl", "restart", service.UNIT)
    wait_until(lambda: serves(rig))
    assert isinstance(Attempt(rig).run(), Outcome)
    assert "ExecStart=/usr/bin/nice -n 5 /opt/venv/bin/python3 -m sglang" in rig.inside("cat", PLACES.trial)
    back(rig)


def test_a_drop_in_that_beats_ours(rig: Rig) -> None:
    line = next(
        line for line in service.UNIT_TEXT.replace("\\\n", "").splitlines() if line.startswith("ExecStart")
    )
    path = f"/etc/systemd/system/{service.UNIT}.d/zzz-ops.conf"
    rig.put({path: f"[Service]\nExecStart=\n{line}\n".encode()})
    rig.inside("systemctl", "daemon-reload")
    rig.inside("systemctl", "restart", service.UNIT)
    wait_until(lambda: serves(rig))
    started = rig.inside("systemctl", "show", "-p", "InvocationID", service.UNIT)
    assert path in " ".join(failed(Attempt(rig).run(), "beaten").details)
    assert rig.inside("systemctl", "show", "-p", "InvocationID", service.UNIT) == started, (
        "no restart was needed"
    )
    assert is_base(rig)


def test_an_edit_after_the_plan_is_not_started(rig: Rig) -> None:
    pid = rig.inside("systemctl", "show", "-p", "MainPID", "--value", service.UNIT)
    edit = at("reload", lambda: edited(rig, "[Service]", "[Service]\nEnvironment=X=1", reload=False))
    error = failed(Attempt(rig).run(edit), "bad-unit")
    assert any(service.UNIT in line for line in error.details)
    assert rig.inside("systemctl", "show", "-p", "MainPID", "--value", service.UNIT) == pid, "no restart"
    assert is_base(rig)


def test_no_rights(rig: Rig) -> None:
    for name, password in (
        ("guest@rig1", None),
        ("ops@rig1", None),
        ("ops@rig1", lambda: Secret("planted-s3cret")),
    ):
        attempt = Attempt(rig)
        attempt.host.close()
        attempt.host = rig.host(name, password=password)
        outcome = attempt.run()
        assert isinstance(outcome, CommandFailed), outcome
        assert "s3cret" not in str(outcome)
        assert is_base(rig)


@pytest.mark.parametrize("name", ["deploy@rig1", "ops@rig1"])
def test_by_sudo(rig: Rig, name: str) -> None:
    attempt = Attempt(rig)
    attempt.host.close()
    attempt.host = rig.host(name, password=(lambda: Secret(PASSWORD)) if name.startswith("ops") else None)
    outcome = attempt.run()
    assert isinstance(outcome, Outcome), outcome
    back(rig)


def test_a_start_by_hand_during_a_trial_cannot_be_promoted(rig: Rig) -> None:
    patient = replace(QUICK, trial_s=60)
    assert isinstance(Attempt(rig, patience=patient).run(), Outcome)
    rig.inside("systemctl", "restart", service.UNIT)
    wait_until(lambda: serves(rig))
    with rig.host() as host:
        with pytest.raises(Refused, match="started anew"):
            promote(look(host), note=no_note)
        rollback(look(host), note=no_note)
    assert is_base(rig)


def test_a_kept_file_that_was_edited_is_left_alone(rig: Rig) -> None:
    assert isinstance(Attempt(rig).run(), Outcome)
    with rig.host() as host:
        promote(look(host), note=no_note)
        host.write(PLACES.kept, host.read(PLACES.kept) + b"# mine\n")
        with pytest.raises(Refused, match="was edited or removed"):
            rollback(look(host), note=no_note)
    assert "--enable-mixed-chunk" in command(rig)
