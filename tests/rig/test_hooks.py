"""Hooks around a restart, on a real machine: `ASSAY_RIG=DIR pytest tests/rig/test_hooks.py`, as root."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rig import service
from tests.rig.rigs import Rig, a_rig
from tests.rig.test_rollout import QUICK, back, clean, command, is_base

from assay._value import Value
from assay.cli import main
from assay.deployment import Hooks
from assay.errors import ApplyFailed, Refused, RestoreFailed
from assay.hosts import SshHost
from assay.journal import Journal
from assay.rollout import Look, Outcome, Request, apply, parse_change, prepare, rollback, status

pytestmark = [pytest.mark.rig, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with a_rig(count=1) as started:
        yield started


@pytest.fixture(autouse=True)
def base(rig: Rig) -> None:
    clean(rig)


class Balancer:
    """What a balancer was told, in order, in a file; its two commands can be made to fail."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "told"
        self.log.touch()
        self.folder = folder

    def hooks(self, *, drain: str = "true", undrain: str = "true", timeout_s: float = 20) -> Hooks:
        def words(name: str, then: str) -> tuple[str, ...]:
            text = f'echo {name} "$ASSAY_UNIT" "$ASSAY_HOST" "$ASSAY_ROLLOUT" >>{self.log}; {then}'
            return ("sh", "-c", text, "hook", "--api-key", "planted-hook-key")

        return Hooks(drain=words("drain", drain), undrain=words("undrain", undrain), timeout_s=timeout_s)

    def told(self) -> list[str]:
        return [line.split()[0] for line in self.log.read_text().splitlines()]


@pytest.fixture
def balancer(tmp_path: Path) -> Balancer:
    return Balancer(tmp_path)


class Noted:
    """A journal in memory."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, Value]] = []

    def __call__(self, kind: str, body: Value) -> None:
        self.entries.append((kind, body))

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.entries]


def request(hooks: Hooks, change: str = "enable-mixed-chunk") -> Request:
    asked = parse_change([change])
    return Request(id="test-1", unit=service.UNIT, change=asked, who="me@here", hooks=hooks, patience=QUICK)


def look(host: SshHost, hooks: Hooks) -> Look:
    seen = Look(host, service.UNIT, url=None, model=None, patience=QUICK)
    return seen.hooked(hooks, who="me@here")


def test_a_trial_and_its_way_back_are_drained_each(rig: Rig, balancer: Balancer) -> None:
    note, steps, hooks = Noted(), [], balancer.hooks(drain="sleep 1")
    with rig.host() as host:
        prepared = prepare(host, request(hooks))
        assert [prepared.plan.steps[at].name for at in (0, -1)] == ["drain", "undrain"]
        assert "planted-hook-key" not in str(prepared.plan)

        def on_step(name: str) -> None:
            steps.append(name)
            if name == "stop":
                assert balancer.told() == ["drain"]
                assert status(look(host, hooks)).marks.drained is not None

        outcome = apply(prepared, note=note, on_step=on_step)
        assert isinstance(outcome, Outcome)
        assert balancer.told() == ["drain", "undrain"]
        assert balancer.log.read_text().split("\n")[0] == f"drain {service.UNIT} rig1 test-1"
        assert (steps[0], steps[1], steps[-2:]) == ("drain", "arm", ["trial", "undrain"])
        assert outcome.drained_s > outcome.downtime_s > 0
        assert note.kinds()[:3] == ["plan", "hook", "step"]
        assert note.kinds()[-2:] == ["hook", "outcome"]
        rollback(look(host, hooks), note=note)
        assert balancer.told() == ["drain", "undrain"] * 2
        assert status(look(host, hooks)).marks.drained is None
    assert is_base(rig)


def test_a_server_that_does_not_drain_is_not_touched(rig: Rig, balancer: Balancer) -> None:
    before = rig.inside("systemctl", "show", "-p", "InvocationID", service.UNIT)
    with rig.host() as host:
        prepared = prepare(host, request(balancer.hooks(drain="echo no such --api-key k3y >&2; exit 3")))
        with pytest.raises(Refused, match="drain hook failed") as caught:
            apply(prepared, note=Noted())
    assert caught.value.details == ("no such --api-key ***",)
    assert balancer.told() == ["drain", "undrain"], "half drained is put back"
    assert rig.inside("systemctl", "show", "-p", "InvocationID", service.UNIT) == before
    assert is_base(rig)


def test_a_hook_that_hangs_is_ended(rig: Rig, balancer: Balancer) -> None:
    with rig.host() as host:
        prepared = prepare(host, request(balancer.hooks(drain="sleep 600", timeout_s=2)))
        with pytest.raises(Refused, match="drain hook failed") as caught:
            apply(prepared, note=Noted())
    assert "took longer than 2 s" in caught.value.details[0]
    assert is_base(rig)


def test_a_change_that_fails_is_undrained_once_it_serves(rig: Rig, balancer: Balancer) -> None:
    with rig.host() as host:
        prepared = prepare(host, request(balancer.hooks(), "standin=oom"))
        with pytest.raises(ApplyFailed, match="serves as before"):
            apply(prepared, note=Noted())
        assert balancer.told() == ["drain", "undrain"]
        assert status(look(host, Hooks())).marks.drained is None
    assert is_base(rig)


def test_one_that_is_not_undrained_is_taken_back_and_tried_again(
    rig: Rig, balancer: Balancer, tmp_path: Path
) -> None:
    once = tmp_path / "once"
    hooks = balancer.hooks(undrain=f"[ -e {once} ] || {{ touch {once}; exit 1; }}")
    with rig.host() as host:
        with pytest.raises(ApplyFailed, match="undrain hook failed"):
            apply(prepare(host, request(hooks)), note=Noted())
        assert balancer.told() == ["drain", "undrain", "undrain"]
        assert status(look(host, hooks)).marks.drained is None
    assert is_base(rig)


def test_one_that_cannot_be_undrained_needs_a_person(rig: Rig, balancer: Balancer) -> None:
    with rig.host() as host:
        hooks = balancer.hooks(undrain="echo it is gone; exit 1")
        with pytest.raises(RestoreFailed, match="still drained") as caught:
            apply(prepare(host, request(hooks)), note=Noted())
        assert caught.value.details[0] == "it is gone"
        assert "planted-hook-key" not in str(caught.value.details)
        assert is_base(rig)
        assert status(look(host, hooks)).marks.drained is not None
        done = rollback(look(host, balancer.hooks()), note=Noted())
        assert isinstance(done, Outcome)
        assert done.result == "undrained"
        assert status(look(host, hooks)).marks.drained is None


@pytest.mark.parametrize("step", ["arm", "stop", "trial"])
def test_killed_while_it_is_drained(rig: Rig, balancer: Balancer, step: str) -> None:
    """The machine takes the change back by itself; what stays drained is said, and a rollback mends it."""
    text = f"""
    import os
    from pathlib import Path
    from tests.rig.test_hooks import Balancer, Noted, request
    from assay.hosts import SshHost
    from assay.rollout import apply, prepare
    host = SshHost("root@rig1", config=Path({str(rig.config)!r}), connect_timeout_s=3, keepalive_s=1)
    hooks = Balancer(Path({str(balancer.folder)!r})).hooks()
    kill = lambda name: name == {step!r} and os.kill(os.getpid(), 9)
    apply(prepare(host, request(hooks)), note=Noted(), on_step=kill)
    """
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)], env=environment, check=False, timeout=60
    )
    assert done.returncode == -signal.SIGKILL
    back(rig)
    assert balancer.told() == ["drain"]
    rig.call("power", "rig1", "cycle")
    with rig.host() as host:
        seen = status(look(host, balancer.hooks()))
        assert seen.marks.drained is not None
        assert seen.marks.drained.id == "test-1"
        with pytest.raises(Refused, match="no hook is known"):
            rollback(look(host, Hooks()), note=Noted())
        rollback(look(host, balancer.hooks()), note=Noted())
        assert status(look(host, balancer.hooks())).marks.drained is None
    assert balancer.told() == ["drain", "undrain"]
    assert "--enable-mixed-chunk" not in command(rig)


@pytest.mark.parametrize("end", ["--keep", "--revert"])
def test_a_whole_trial_is_drained_once(
    rig: Rig, balancer: Balancer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setenv("ASSAY_JOURNAL", str(tmp_path / "j.sqlite"))
    monkeypatch.chdir(tmp_path)
    file, ssh = tmp_path / "chat.toml", ("--ssh-config", str(rig.config))
    assert main(["describe", "llm@rig1", *ssh, "-o", str(file)]) == 0
    text = file.read_text().replace('# gpus = "4x H100"', 'gpus = "1x H100"').replace("nowhere", "in_place")
    words = {name: json.dumps(list(getattr(balancer.hooks(), name))) for name in ("drain", "undrain")}
    file.write_text(text + "".join(["\n[hooks]\n", *(f"{name} = {each}\n" for name, each in words.items())]))
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
    quick = ("--hold", "1", "--switch", "12", "--ready-timeout", "20", "--unchecked", end)
    assert main(["try", str(file), "+enable-mixed-chunk", *ssh, *load, *quick]) == 0
    assert balancer.told() == ["drain", "undrain"]
    with Journal(tmp_path / "j.sqlite", who="t") as opened:
        kinds = [entry.kind for entry in opened.entries()]
        whole = "".join(entry.body for entry in opened.entries())
    assert (kinds[:3], kinds[-2:]) == (["try", "hook", "measured"], ["tried", "hook"])
    assert "planted-hook-key" not in whole
    assert ("--enable-mixed-chunk" in command(rig)) is (end == "--keep")
