"""Rollouts of a user's own units, without root: `ASSAY_RIG=DIR pytest tests/rig/test_user_units.py`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.rig import service
from tests.rig.rigs import Rig, a_rig, wait_until
from tests.rig.service import serves
from tests.rig.test_rollout import QUICK

from assay._value import Value
from assay.cli import main
from assay.errors import ApplyFailed, Refused
from assay.hosts import SshHost
from assay.rollout import (
    Layout,
    Look,
    Outcome,
    Request,
    apply,
    check_machine,
    parse_change,
    prepare,
    promote,
    rollback,
)
from assay.rollout.places import places_of

pytestmark = [pytest.mark.rig, pytest.mark.timeout(300)]

ME = "deploy"
TEXT = service.UNIT_TEXT.replace("multi-user.target", "default.target")


@contextmanager
def a_users_rig() -> Iterator[Rig]:
    """A machine on which the service is to be that user's."""
    with a_rig(count=1, packages="dbus-user-session") as started:
        service.install(started)
        started.inside("systemctl", "disable", "--now", service.UNIT)
        started.inside("loginctl", "enable-linger", ME)
        yield started


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with a_users_rig() as started:
        yield started


def inside(rig: Rig, script: str) -> str:
    """What a script says that is run as the user, with no code of ours."""
    head = "export XDG_RUNTIME_DIR=/run/user/$(id -u); "
    return rig.inside("su", "-s", "/bin/sh", ME, "-c", head + script)


@pytest.fixture(autouse=True)
def places(rig: Rig) -> Layout:
    """Each test begins with the unit as it is written, and nothing of ours."""
    wait_until(lambda: "yes" in inside(rig, "systemctl --user is-system-running >/dev/null; echo yes"))
    rig.put({f"/home/{ME}/.config/systemd/user/{service.UNIT}": TEXT.encode()})
    rig.inside("chown", "-R", ME, f"/home/{ME}/.config")
    with rig.host(f"{ME}@rig1") as host:
        found = places_of(host, service.UNIT, user=True)
    inside(
        rig,
        f"systemctl --user stop '{found.switch}*.timer' '{found.switch}*.service' 2>/dev/null; "
        f"rm -rf {found.run} {found.var} {found.trial} {found.kept}; systemctl --user daemon-reload; "
        f"systemctl --user reset-failed; systemctl --user enable {service.UNIT}; "
        f"systemctl --user restart {service.UNIT}",
    )
    wait_until(lambda: serves(rig))
    return found


def command(rig: Rig) -> str:
    try:
        pid = inside(rig, f"systemctl --user show -p MainPID --value {service.UNIT}").strip()
        return rig.inside("cat", f"/proc/{pid}/cmdline").replace("\0", " ") if pid != "0" else ""
    except AssertionError:
        return ""


def is_base(rig: Rig, places: Layout) -> bool:
    """The old command serves, and nothing of a rollout is left."""
    left = inside(rig, f"ls {places.trial} {places.kept} {places.run}/armed 2>/dev/null; true")
    timers = inside(rig, f"systemctl --user list-units --no-legend '{places.switch}*.timer'")
    words = command(rig)
    return not left and not timers.strip() and "--enable-mixed" not in words and bool(words) and serves(rig)


def request(*change: str, id: str = "test-1") -> Request:
    asked = parse_change(change or ("enable-mixed-chunk",))
    return Request(id=id, unit=service.UNIT, user=True, change=asked, who="me@here", patience=QUICK)


def silent(_kind: str, _body: Value) -> None:
    return None


def look(host: SshHost) -> Look:
    return Look(host, service.UNIT, url=None, model=None, patience=QUICK, user=True)


def test_a_change_without_root_is_kept_over_a_power_cut_and_taken_back(rig: Rig, places: Layout) -> None:
    before = command(rig)
    with rig.host(f"{ME}@rig1") as host:
        prepared = prepare(host, request())
        assert prepared.plan.layout.user
        outcome = apply(prepared, note=silent)
        assert isinstance(outcome, Outcome)
        assert outcome.result == "trial"
        assert command(rig) == f"{before}--enable-mixed-chunk "
        with pytest.raises(Refused, match="under way"):
            prepare(host, request(id="test-2"))
        kept = promote(look(host), note=silent)
        assert isinstance(kept, Outcome)
        assert kept.result == "promoted"
    rig.call("power", "rig1", "cycle")
    wait_until(lambda: "--enable-mixed-chunk" in command(rig) and serves(rig), 60)
    with rig.host(f"{ME}@rig1") as host:
        rollback(look(host), note=silent)
    assert is_base(rig, places)


def test_a_trial_goes_back_by_itself(rig: Rig, places: Layout) -> None:
    with rig.host(f"{ME}@rig1") as host:
        apply(prepare(host, request()), note=silent)
    assert "--enable-mixed-chunk" in command(rig)
    wait_until(lambda: is_base(rig, places), 40)


@pytest.mark.parametrize("mode", ["oom", "never", "dies-under-load"])
def test_a_server_that_fails_is_taken_back(rig: Rig, places: Layout, mode: str) -> None:
    with rig.host(f"{ME}@rig1") as host:
        quick = replace(QUICK, ready_s=4)
        asked = Request(
            id="test-1",
            unit=service.UNIT,
            user=True,
            change=parse_change([f"standin={mode}"]),
            who="me",
            patience=quick,
        )
        with pytest.raises(ApplyFailed, match="serves as before") as caught:
            apply(prepare(host, asked), note=silent)
    if mode == "oom":
        assert caught.value.hint.startswith("[out-of-memory]")
        assert any("CUDA out of memory" in line for line in caught.value.details)
    assert is_base(rig, places)


@pytest.mark.parametrize("step", ["arm", "write", "reload", "stop", "start", "ready", "hold", "trial"])
def test_the_controller_is_killed(rig: Rig, places: Layout, step: str) -> None:
    text = f"""
    import os
    from pathlib import Path
    from tests.rig.test_user_units import request, silent
    from assay.hosts import SshHost
    from assay.rollout import apply, prepare
    host = SshHost("{ME}@rig1", config=Path({str(rig.config)!r}), connect_timeout_s=3, keepalive_s=1)
    kill = lambda name: name == {step!r} and os.kill(os.getpid(), 9)
    apply(prepare(host, request()), note=silent, on_step=kill)
    """
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)], env=environment, check=False, timeout=60
    )
    assert done.returncode == -signal.SIGKILL
    wait_until(lambda: is_base(rig, places), 40)


def test_the_link_is_cut_for_longer_than_the_switch_waits(rig: Rig, places: Layout) -> None:
    def cut(name: str) -> None:
        if name == "ready":
            rig.call("link", "rig1", "down")
            time.sleep(9)
            rig.call("link", "rig1", "up")

    with rig.host(f"{ME}@rig1") as host, pytest.raises(ApplyFailed, match="switch fired"):
        apply(prepare(host, request()), note=silent, on_step=cut)
    wait_until(lambda: is_base(rig, places), 40)


def test_a_power_cut_during_a_trial(rig: Rig, places: Layout) -> None:
    with rig.host(f"{ME}@rig1") as host:
        apply(prepare(host, request()), note=silent)
    rig.call("power", "rig1", "cycle")
    wait_until(lambda: is_base(rig, places), 60)


def test_a_manager_that_ends_with_the_session_is_refused(rig: Rig) -> None:
    rig.inside("loginctl", "disable-linger", ME)
    try:
        with rig.host(f"{ME}@rig1") as host, pytest.raises(Refused, match="ends with the last session"):
            prepare(host, request())
    finally:
        rig.inside("loginctl", "enable-linger", ME)


def test_the_verbs(rig: Rig, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ssh = ("--ssh-config", str(rig.config))
    file = tmp_path / "chat.toml"
    assert main(["describe", f"llm@{ME}@rig1", "--user", *ssh, "-o", str(file)]) == 0
    assert "user = true" in file.read_text()
    assert main(["status", f"llm@{ME}@rig1", "--user", *ssh]) == 0
    assert main(["doctor", f"llm@{ME}@rig1", "--user", *ssh]) == 0
    assert "not needed: the unit is of the user" in capsys.readouterr().out
    assert main(["status", str(file), "--user", *ssh]) == 2
    with rig.host(f"{ME}@rig1") as host:
        from assay.deployment import Live

        found = {
            each.name: each.status for each in check_machine(host, Live(unit="other.service", user=True))
        }
    assert found["unit"] == "failed"


def test_a_whole_trial(
    rig: Rig,
    places: Layout,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("ASSAY_JOURNAL", str(tmp_path / "j.sqlite"))
    monkeypatch.chdir(tmp_path)
    load = (
        "--max-concurrency",
        "1",
        "--num-prompts",
        "2",
        "--random-input-len",
        "8",
        "--random-output-len",
        "4",
    )
    quick = (
        "--hold",
        "1",
        "--switch",
        "12",
        "--ready-timeout",
        "20",
        "--in-place",
        "--unchecked",
        "--revert",
    )
    ssh = ("--ssh-config", str(rig.config))
    assert main(["try", f"llm@{ME}@rig1", "--user", "+enable-mixed-chunk", *ssh, *load, *quick]) == 0
    assert "taken back: it serves as before" in capsys.readouterr().out
    assert is_base(rig, places)
