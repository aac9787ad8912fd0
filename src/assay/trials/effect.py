"""Whether a change took effect: the server's settings in both arms, against what was predicted; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from assay._masking import may_be_secret_name
from assay._value import Value
from assay.facts import resolved_otherwise
from assay.rollout import Change
from assay.trials.prediction import PredictedSetting

Plain = bool | int | float | str | None
Settings = Mapping[str, Plain]
EffectStatus = Literal["took", "void", "not_shown"]
"""`took` the server, or its log, says that it runs with the change; `void` it says that it does not, or that
more is otherwise than the change explains: nothing measured may be counted; `not_shown` it does not say."""
_LOGGED = r"(?<![\w-]){name}['\"]?\s*[=:]\s*(?P<quote>['\"]?)(?P<value>[^'\"\s,)}}\]]*)(?P=quote)"
_LEFT_TO_THE_ENGINE = ("auto", "default")
"""Values that the server's settings show as what it chose."""
_MOST = 8


class SettingSeen(Value):
    """One setting of the server in both arms."""

    field: str
    """Its name."""
    role: Literal["asked", "side_effect", "unexplained", "not_predicted", "missed"]
    """`asked` of the change; `side_effect` predicted with it; `unexplained` otherwise though the source says
    that it stays; `not_predicted` otherwise, and the source does not say; `missed` predicted otherwise."""
    before: Plain
    """In the arm before."""
    after: Plain
    """In the arm with the change."""
    at: str = ""
    """FILE:LINE of the source that sets it, where triage knows."""


class Effect(Value):
    """What shows that an arm is what it should be."""

    status: EffectStatus
    """Whether it took."""
    shown_by: Literal["settings", "metrics", "log", "words"]
    """The server's own settings; labels of its metrics; a line of its log; only the words of its process."""
    message: str
    """In a sentence."""
    settings: tuple[SettingSeen, ...] = ()
    """What is otherwise, and what should be."""
    lines: tuple[str, ...] = ()
    """Lines of its log that show it. Not masked yet."""


class Expected(Value):
    """What the arms are held against."""

    fields: dict[str, str | None] = msgspec.field(default_factory=dict)
    """The field of each flag, where triage knows it."""
    prediction: tuple[PredictedSetting, ...] = ()
    """What triage says that both arms resolve to; empty where it was not asked."""
    drawn: frozenset[str] = frozenset()
    """Settings that differ from start to start by themselves."""


def prove_effect(
    change: Change,
    before: Settings,
    after: Settings,
    expected: Expected,
    *,
    log: Sequence[str] = (),
    by: Literal["settings", "metrics"] = "settings",
) -> Effect:
    """Compare both arms.

    Args:
        change: what is tried.
        before: the server's settings without it, as `/server_info` gives them; empty where it does not.
        after: the same with it.
        expected: what they are held against.
        log: the lines of the start with the change.
        by: where both say so; labels of metrics name but few settings.

    The process's words are known to be the planned ones before anybody asks this.
    """
    names = {flag: expected.fields.get(flag) or flag_name(flag) for flag in _flags(change)}
    known = {each.field: each for each in expected.prediction}
    shown = [flag for flag, name in names.items() if name in after]
    others = _others(before, after, {*names.values(), *expected.drawn}, known)
    if not shown:
        return _by_log(change, log, others)
    asked = [_seen(names[flag], "asked", before, after, known) for flag in shown]
    failed = [text for flag in shown if (text := _not_taken(change, flag, names[flag], before, after, known))]
    seen = (*asked, *others)
    unexplained = [each for each in others if each.role == "unexplained"]
    if failed:
        return Effect(status="void", shown_by=by, message="; ".join(failed), settings=seen)
    if all(before.get(names[flag]) == after[names[flag]] for flag in shown) and len(shown) == len(names):
        same = "the server runs with the same settings as before: both arms are one"
        return Effect(status="void", shown_by=by, message=same, settings=seen)
    if unexplained:
        told = ", ".join(f"{each.field} {each.before} -> {each.after}" for each in unexplained[:_MOST])
        message = f"more is otherwise than the change explains: {told}"
        return Effect(status="void", shown_by=by, message=message, settings=seen)
    rest = [flag for flag in names if flag not in shown]
    message = "the server runs with it" + (f"; not shown of {', '.join(rest)}" if rest else "")
    return Effect(status="took", shown_by=by, message=message, settings=seen)


def _flags(change: Change) -> list[str]:
    return [*(each.flag for each in change.set), *change.unset]


def _seen(
    name: str,
    role: Literal["asked", "side_effect", "unexplained", "not_predicted", "missed"],
    before: Settings,
    after: Settings,
    known: Mapping[str, PredictedSetting],
) -> SettingSeen:
    at = known[name].at if name in known else ""
    return SettingSeen(field=name, role=role, before=before.get(name), after=after.get(name), at=at)


def _not_taken(
    change: Change,
    flag: str,
    name: str,
    before: Settings,
    after: Settings,
    known: Mapping[str, PredictedSetting],
) -> str:
    """Why an option did not take, or nothing. What was predicted counts before what was written."""
    if may_be_secret_name(flag):
        return ""
    predicted, now = known.get(name), after[name]
    if predicted is not None and predicted.known and _same(predicted.after, now):
        return ""
    setting = next((each for each in change.set if each.flag == flag), None)
    if setting is not None and setting.value in _LEFT_TO_THE_ENGINE:
        return ""
    if setting is not None:
        return resolved_otherwise(flag, setting.value, {flag_name(flag): now})
    stays = name in before and before[name] == now
    return f"{flag} was taken away, the server still runs with {now}" if stays and predicted is None else ""


def flag_name(flag: str) -> str:
    """The name that a flag's setting usually has: `--tp-size` is `tp_size`."""
    return flag.lstrip("-").replace("-", "_")


def _others(
    before: Settings, after: Settings, asked: set[str], known: Mapping[str, PredictedSetting]
) -> list[SettingSeen]:
    """Settings beside the change that are otherwise, or that should be.

    With a prediction only the engine's own arguments are looked at: the rest is the state of a server.
    """
    found = []
    for name in sorted({*before} & {*after} - asked):
        predicted = known.get(name)
        differs = not _same(before[name], after[name])
        if known and predicted is None:
            continue
        if predicted is None or not predicted.known:
            if differs:
                found.append(_seen(name, "not_predicted", before, after, known))
        elif differs:
            explained = predicted.changes and _same(predicted.after, after[name])
            found.append(_seen(name, "side_effect" if explained else "unexplained", before, after, known))
        elif predicted.changes:
            found.append(_seen(name, "missed", before, after, known))
    return found


def _same(one: object, other: object) -> bool:
    """JSON has one kind of number, and texts for enums."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return float(one) == float(other)
    return one == other


def _by_log(change: Change, log: Sequence[str], others: Sequence[SettingSeen]) -> Effect:
    """For servers that do not say their settings: lines of their log that name them."""
    found = {each.flag: _logged(each.flag, each.value, log) for each in change.set}
    lines = tuple(dict.fromkeys(line for line in found.values() if line))
    rest = [flag for flag, line in found.items() if not line] + list(change.unset)
    if not rest:
        message = "its log says that it runs with it"
        return Effect(status="took", shown_by="log", message=message, lines=lines, settings=tuple(others))
    message = (
        f"the process was started with the changed command; whether it took {', '.join(rest)}, neither its "
        "settings nor its log say"
    )
    return Effect(status="not_shown", shown_by="words", message=message, lines=lines, settings=tuple(others))


def _logged(flag: str, value: str | None, log: Sequence[str]) -> str:
    """The first line that gives the option that value, or nothing."""
    name, wanted = flag_name(flag), "true" if value is None else value.lower()
    looked_for = [(name, wanted)]
    if value is None and name.startswith("no_"):  # the other half of a switch that can be set both ways
        looked_for.append((name.removeprefix("no_"), "false"))
    patterns = [(re.compile(_LOGGED.format(name=re.escape(each))), wish) for each, wish in looked_for]
    for line in log:
        for pattern, wish in patterns:
            for match in pattern.finditer(line):
                if match["value"].lower() == wish or _equal_numbers(match["value"], wish):
                    return line
    return ""


def _equal_numbers(one: str, other: str) -> bool:
    try:
        return float(one) == float(other)
    except ValueError:
        return False
