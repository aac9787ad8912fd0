"""What a machine shows of rollouts: which one is under way, whether its switch is armed, what is kept."""

from __future__ import annotations

from assay._value import Value
from assay.errors import CommandFailed


class Armed(Value):
    """A rollout that is under way on a machine, or was taken back."""

    id: str
    """Its name."""
    who: str
    """Who began it."""
    since: str
    """When, by the machine's clock, in UTC."""


class Marks(Value):
    """The marks of one unit."""

    boot: str
    """Which boot of the machine this is; marks of rollouts under way do not outlive it."""
    armed: Armed | None = None
    """The rollout that is under way."""
    reverted: Armed | None = None
    """The last one that was taken back since the boot."""
    switch: bool = False
    """Whether a dead-man's switch is armed."""
    left_s: float | None = None
    """Seconds until it takes the change back; negative if it is at it."""
    trial: str | None = None
    """The invocation that was seen to serve with the change; None before that."""
    trial_file: bool = False
    """Whether the drop-in of a trial is there."""
    kept_file: bool = False
    """Whether the drop-in of a promoted change is there."""
    last: str | None = None
    """Which rollout was promoted last."""
    drained: Armed | None = None
    """The rollout that had it drained, and did not undrain it yet."""
    touched: bool = False
    """Whether the service was stopped for the rollout under way."""
    promoting: bool = False
    """Whether it was being promoted."""


def parse_marks(out: bytes) -> Marks:
    """Reads what the script MARKS printed.

    Raises:
        CommandFailed: that is no answer.
    """
    said = [line.split() for line in out.decode("utf-8", "replace").splitlines() if line.strip()]
    words = {line[0]: line[1:] for line in said}
    try:
        uptime_s, boot = float(words["uptime"][0]), words["boot"][0]
        until = words.get("until")
        return Marks(
            boot=boot,
            armed=_armed(words.get("armed")),
            reverted=_armed(words.get("reverted")),
            switch="switch" in words,
            left_s=float(until[0]) - uptime_s if until and "switch" in words else None,
            trial=words["trial"][0] if words.get("trial") else None,
            trial_file="trial-file" in words,
            kept_file="kept-file" in words,
            last=words["last"][0] if words.get("last") else None,
            drained=_armed(words.get("drained")),
            touched="touched" in words,
            promoting="promoting" in words,
        )
    except (KeyError, ValueError, IndexError) as error:
        raise CommandFailed("the marks of rollouts could not be read") from error


def _armed(words: list[str] | None) -> Armed | None:
    if not words:
        return None
    return Armed(id=words[0], who=words[1] if words[1:] else "?", since=words[2] if words[2:] else "?")
