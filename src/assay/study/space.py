"""From candidates to what the search works on, and from an arm back to a change of the command; pure."""

from __future__ import annotations

from collections.abc import Sequence

from assay.candidates import Candidate, flags_of
from assay.rollout import Change
from assay.search import Arm, Effect, Knob, Space

_UNBOUNDED = Effect(mean=0.0, sd=0.3)
"""Of an option that nothing bounds, or that the user names without our knowing what it does: it may change
everything, and on a machine where starts differ much a narrower belief would not be overruled by one."""
_WITHOUT_BOUND = ("admission", "prefill")


def space_of(candidates: Sequence[Candidate]) -> Space:
    """A knob for each candidate, with what is believed of it."""
    return Space(knobs=tuple(_knob(each) for each in candidates))


def _knob(each: Candidate) -> Knob:
    return Knob(
        name=each.name,
        levels=tuple(level.text for level in each.levels),
        default=each.present,
        ordered=each.ordered,
        up=belief(each),
    )


def belief(each: Candidate) -> Effect | None:
    """What is believed of a change before it is measured: of a bound U the mean U/4 and spread U/2."""
    if each.bound is not None:
        return Effect(mean=each.bound / 4, sd=max(each.bound / 2, 0.006))
    return _UNBOUNDED if each.effect in _WITHOUT_BOUND or each.origin == "own" else None


def change_of(candidates: Sequence[Candidate], arm: Arm) -> Change | None:
    """The change that makes the arm out of the deployment's command; `None` for the baseline."""
    parts = [
        change
        for each, at in zip(candidates, arm, strict=True)
        if at != each.present and (change := each.levels[at].change) is not None
    ]
    if not parts:
        return None
    return Change(
        set=tuple(setting for part in parts for setting in part.set),
        unset=tuple(flag for part in parts for flag in part.unset),
    )


def is_valid(candidates: Sequence[Candidate], arm: Arm) -> bool:
    """Whether no option is changed twice in it."""
    flags = [
        flag
        for each, at in zip(candidates, arm, strict=True)
        if at != each.present and (change := each.levels[at].change) is not None
        for flag in flags_of(change)
    ]
    return len(flags) == len(set(flags))


def alone(candidates: Sequence[Candidate]) -> tuple[Arm, ...]:
    """An arm for each value of the user's own candidates, with nothing else changed.

    Nobody knows whether they start at all, and a start of several at once that fails does not say which.
    """
    baseline = tuple(each.present for each in candidates)
    return tuple(
        (*baseline[:at], level, *baseline[at + 1 :])
        for at, each in enumerate(candidates)
        if each.origin == "own"
        for level in range(len(each.levels))
        if level != each.present
    )


def changed(candidates: Sequence[Candidate], arm: Arm) -> tuple[tuple[str, str], ...]:
    """Name and value of what is otherwise in the arm."""
    return tuple(
        (each.name, each.levels[at].text)
        for each, at in zip(candidates, arm, strict=True)
        if at != each.present
    )


def arm_of(candidates: Sequence[Candidate], pairs: Sequence[tuple[str, str]]) -> Arm | None:
    """The arm with these names and values, as `changed` gives them; `None` where there is none here."""
    wanted = dict(pairs)
    found = []
    for each in candidates:
        text = wanted.pop(each.name, each.levels[each.present].text)
        places = [at for at, level in enumerate(each.levels) if level.text == text]
        if not places:
            return None
        found.append(places[0])
    return None if wanted else tuple(found)
