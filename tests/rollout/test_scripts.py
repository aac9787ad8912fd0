"""The scripts themselves, run by this machine's `sh` upon a folder; only systemd is a stand-in here."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
from pathlib import Path

import pytest

from assay.rollout import scripts

SYSTEMCTL = r"""#!/bin/sh
echo "systemctl $*" >>"$TIMERS/../said"
for last; do :; done
case $1 in
  is-active) [ -e "$TIMERS/$last" ] ;;
  stop) shift; for each; do rm -f "$TIMERS/$each"; done ;;
  restart) case $last in *.timer) [ -e "$TIMERS/$last" ] ;; *) [ ! -e "$TIMERS/no-restart" ] ;; esac ;;
  daemon-reload) [ ! -e "$TIMERS/no-reload" ] ;;
  show) cat "$TIMERS/load-state" 2>/dev/null || echo loaded ;;
esac
"""
SYSTEMD_RUN = r"""#!/bin/sh
echo "systemd-run $*" >>"$TIMERS/../said"
for each; do case $each in --unit=*) : >"$TIMERS/${each#--unit=}.timer" ;; esac; done
"""


class Machine:
    """A folder that the scripts take for a machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run, self.var = folder / "run/assay/llm", folder / "var/assay/llm"
        self.trial = folder / "run/systemd/llm.service.d/zz-assay-2-trial.conf"
        self.kept = folder / "etc/systemd/llm.service.d/zz-assay-1-kept.conf"
        self.timers = folder / "timers"
        self.bin = folder / "bin"
        for each in (self.timers, self.bin, self.trial.parent.parent, self.kept.parent.parent):
            each.mkdir(parents=True)
        self.program("systemctl", SYSTEMCTL)
        self.program("systemd-run", SYSTEMD_RUN)

    def program(self, name: str, text: str) -> None:
        """Put one into the PATH."""
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def __call__(self, text: str, *more: str, id: str = "one", stdin: bytes = b"") -> int:
        """Run one; its exit status."""
        places = (self.run, id, "llm.service", self.trial, self.kept, self.var, "switch")
        environment = {"PATH": f"{self.bin}:{os.environ['PATH']}", "TIMERS": str(self.timers)}
        command = ["sh", "-c", text, "sh", *map(str, places), *more]
        shell = subprocess.run(command, input=stdin, env=environment, check=False)
        return shell.returncode

    def arm(self) -> None:
        """A rollout begins."""
        revert = scripts.REVERT.encode()
        assert self(scripts.ARM, "me@here", "60", digest(revert), stdin=revert) == 0

    def on_trial(self, text: bytes = b"[Service]\n", *originals: Path) -> None:
        """It is written and on trial."""
        self.arm()
        assert self(scripts.WRITE, digest(text), *map(str, originals or [self.bin]), stdin=text) == 0
        assert self(scripts.STOP) == 0
        assert self(scripts.TRIAL, "600", "invocation") == 0

    def promoted(self) -> None:
        """It is kept."""
        self.on_trial()
        for text in (scripts.EXTEND, scripts.PROMOTE, scripts.SWAP, scripts.DISARM):
            assert self(text) == 0

    def said(self) -> str:
        """What systemd was asked for since the last look."""
        path = self.folder / "said"
        text = path.read_text()
        path.write_text("")
        return text


def digest(data: bytes) -> str:
    """SHA-256."""
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("modes", "mode"), [((0o644,), 0o644), ((0o777,), 0o644), ((0o600,), 0o600), ((0o644, 0o640), 0o600)]
)
def test_the_drop_in_is_read_by_no_more_people_than_what_it_repeats(
    machine: Machine, tmp_path: Path, modes: tuple[int, ...], mode: int
) -> None:
    files = []
    for number, each in enumerate(modes):
        real, link = tmp_path / f"real-{number}", tmp_path / f"link-{number}"
        real.touch()
        real.chmod(each)
        link.symlink_to(real)  # as `systemctl link` makes them: a link's own mode is 0777
        files.append(link)
    machine.on_trial(b"x", *files)
    assert stat.S_IMODE(machine.trial.stat().st_mode) == mode


def test_what_was_cut_on_its_way_arms_nothing_and_is_not_written(machine: Machine) -> None:
    revert = scripts.REVERT.encode()
    assert machine(scripts.ARM, "me@here", "60", digest(revert), stdin=revert[:-9]) == 1
    assert not (machine.run / "armed").exists()
    machine.arm()
    assert machine(scripts.WRITE, digest(b"all of it"), str(machine.bin), stdin=b"all") == 1
    assert not machine.trial.exists()
    assert not list(machine.trial.parent.iterdir())


def test_a_trial_that_is_asked_for_twice_keeps_its_switch_throughout(machine: Machine) -> None:
    machine.on_trial()
    machine.said()
    assert machine(scripts.TRIAL, "600", "invocation") == 0
    assert "stop switch-trial.timer" not in machine.said()
    assert (machine.timers / "switch-trial.timer").exists()
    assert not (machine.timers / "switch.timer").exists()


def test_the_switch_is_tried_without_end(machine: Machine) -> None:
    machine.arm()
    assert "StartLimitIntervalSec=0" in machine.said()


def test_a_promotion_whose_last_answer_was_lost_is_still_one(machine: Machine) -> None:
    machine.promoted()
    assert machine(scripts.DISARM) == 0
    assert machine(scripts.REVERT) == 0
    assert machine.kept.exists()
    assert machine(scripts.DISARM, id="another") == scripts.NOT_ARMED


def test_a_switch_that_fires_at_the_last_step_takes_back_what_counts_as_last(machine: Machine) -> None:
    machine.promoted()
    before = machine.kept.read_bytes()
    two = "two"
    revert = scripts.REVERT.encode()
    assert machine(scripts.ARM, "me@here", "60", digest(revert), id=two, stdin=revert) == 0
    assert machine(scripts.WRITE, digest(b"new"), str(machine.bin), id=two, stdin=b"new") == 0
    assert machine(scripts.TRIAL, "600", "invocation", id=two) == 0
    assert machine(scripts.PROMOTE, id=two) == 0
    cut = scripts.DISARM.partition('rm -f "$run/armed"')[0]  # killed just before it counts
    assert machine(cut, id=two) == 0
    assert (machine.var / "last").read_text() == "two\n"
    assert machine(scripts.REVERT, id=two) == 0
    assert (machine.var / "last").read_text() == "one\n"
    assert machine.kept.read_bytes() == before
    assert machine(scripts.UNKEEP) == 0, "so that can be taken back, too"
    assert not machine.kept.exists()


def test_a_promotion_that_was_cut_short_goes_on(machine: Machine) -> None:
    machine.on_trial()
    for text in (
        scripts.PROMOTE,
        scripts.SWAP,
        scripts.EXTEND,
        scripts.PROMOTE,
        scripts.SWAP,
        scripts.DISARM,
    ):
        assert machine(text) == 0
    assert machine.kept.exists()
    assert not machine.trial.exists()


@pytest.mark.parametrize("fault", ["no-reload", "full"])
def test_what_cannot_be_kept_stays_on_trial(machine: Machine, fault: str) -> None:
    machine.on_trial()
    if fault == "full":
        machine.program("cmp", "#!/bin/sh\nexit 1\n")
    (machine.timers / fault).touch()
    assert machine(scripts.PROMOTE) == 1
    assert not machine.kept.parent.exists() or not list(machine.kept.parent.iterdir())
    assert machine.trial.exists()
    assert not (machine.run / "promoting").exists()
    (machine.timers / fault).unlink()
    (machine.bin / "cmp").unlink(missing_ok=True)
    assert machine(scripts.PROMOTE) == 0, "and can be tried again"
    assert machine.kept.exists()


@pytest.mark.parametrize("fault", ["no-reload", "no-restart"])
def test_a_rollback_that_was_cut_is_gone_through_again(machine: Machine, fault: str) -> None:
    machine.promoted()
    (machine.timers / fault).touch()
    assert machine(scripts.UNKEEP) == 1
    assert (machine.var / "last").exists(), "it is not over"
    (machine.timers / fault).unlink()
    machine.said()
    assert machine(scripts.UNKEEP) == 0
    assert "restart --no-block llm.service" in machine.said()
    assert not machine.kept.exists()
    assert machine(scripts.UNKEEP) == scripts.NOT_ARMED


def test_nothing_of_a_write_that_was_killed_is_left(machine: Machine) -> None:
    machine.arm()
    machine.trial.parent.mkdir()
    (machine.trial.parent / ".assay-new").touch()
    assert machine(scripts.REVERT) == 0
    assert not machine.trial.parent.exists()


def test_a_unit_that_was_taken_away_is_not_asked_for_all_the_time(machine: Machine) -> None:
    machine.program("sleep", '#!/bin/sh\necho "sleep $*" >>"$TIMERS/../said"\n')
    machine.on_trial()
    (machine.timers / "load-state").write_text("not-found\n")
    machine.said()
    assert machine(scripts.REVERT) == 1
    said = machine.said()
    assert "sleep 20" in said
    assert "restart" not in said
    assert (machine.run / "armed").exists(), "it is tried again"
    (machine.timers / "load-state").unlink()
    assert machine(scripts.REVERT) == 0
    assert "restart --no-block llm.service" in machine.said()
