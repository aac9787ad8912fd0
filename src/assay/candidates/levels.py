"""The values of one option that may be tried, from its line in the table and its declaration; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay._value import Value
from assay.candidates.candidate import LeftOut, Level
from assay.engines import Knob, value_of
from assay.rollout import Change, Setting
from assay.source import Option

AS_IT_IS = "as it is"
"""What the present value is called where nobody knows it: the engine chooses it at its start."""


class Levels(Value):
    """What may be tried of one option."""

    levels: tuple[Level, ...]
    """Its values, the present one among them."""
    present: int
    """The place of the present one."""
    ordered: bool
    """Whether they ascend."""
    dropped: tuple[LeftOut, ...] = ()
    """Values that this version does not know."""


def option_of(flag: str, options: Iterable[Option]) -> Option | None:
    """The option of that flag, in whatever spelling."""
    wanted = flag.replace("_", "-")
    for option in options:
        names = {each.replace("_", "-") for each in option.flags}
        if wanted in names or (option.action == "boolean" and f"--{wanted.removeprefix('--no-')}" in names):
            return option
    return None


def levels_of(knob: Knob, option: Option, words: Sequence[str], *, concurrency: int) -> Levels:
    """The values of an option that are worth a trial beside the one that it has.

    Args:
        knob: its line in the table.
        option: its declaration in this version.
        words: the deployment's command.
        concurrency: the largest number of requests at a time that is measured.
    """
    if knob.kind == "switch":
        return _switch(knob, option, words)
    present = _present(option, words)
    known, dropped = _declared(knob, option)
    flag = spelled(option, knob.flag, words)
    if knob.kind == "choice":
        values = [each for each in known if each != present]
        return _with_present(flag, values, present, dropped)
    return _numbers(knob, flag, present, known, concurrency=concurrency, dropped=dropped)


def spelled(option: Option, flag: str, words: Sequence[str]) -> str:
    """The flag as the command writes it, so that it is replaced where it stands; else the usual one."""
    names = {each.replace("_", "-") for each in option.flags}
    for word in words:
        name = word.partition("=")[0]
        if name.startswith("-") and name.replace("_", "-") in names:
            return name
    return flag


def _switch(knob: Knob, option: Option, words: Sequence[str]) -> Levels:
    """On and off; of a switch that has no word for off, off is without it."""
    no = f"--no-{knob.flag.removeprefix('--')}"
    given = {word.replace("_", "-"): word for word in words}
    yes, given_no, given_yes = given.get(knob.flag, knob.flag), given.get(no), knob.flag in given
    if option.action != "boolean":
        put = None if given_yes else Change(set=(Setting(flag=yes),))
        away = Change(unset=(yes,)) if given_yes else None
        return _two(away, put, present=int(given_yes))
    on = Change(set=(Setting(flag=knob.flag),), unset=(given_no,) if given_no else ())
    off = Change(set=(Setting(flag=no),), unset=(yes,) if given_yes else ())
    is_on = given_yes if given_yes or given_no else option.default.value if option.default.known else None
    if is_on is None:
        known = (Level(text=AS_IT_IS), Level(text="on", change=on), Level(text="off", change=off))
        return Levels(levels=known, present=0, ordered=False)
    return _two(off if is_on else None, None if is_on else on, present=int(bool(is_on)))


def _two(off: Change | None, on: Change | None, *, present: int) -> Levels:
    levels = (Level(text="off", change=off), Level(text="on", change=on))
    return Levels(levels=levels, present=present, ordered=False)


def _present(option: Option, words: Sequence[str]) -> str | None:
    """The value that the option has now, where the command or the declaration says it."""
    given = value_of(words, spelled(option, option.flags[0], words))
    if given is not None:
        return given
    default = option.default.value if option.default.known else None
    return str(default) if isinstance(default, int | float | str) and not isinstance(default, bool) else None


def _declared(knob: Knob, option: Option) -> tuple[tuple[str, ...], tuple[LeftOut, ...]]:
    """Those of the table's values that this version declares, and those that it does not."""
    choices = option.choices.value if option.choices is not None and option.choices.known else None
    if not isinstance(choices, list):
        return knob.values, ()
    known = {str(each) for each in choices}
    at = option.site("choices")
    dropped = tuple(
        LeftOut(name=knob.flag, value=each, why=f"this version does not know the value ({at.file}:{at.line})")
        for each in knob.values
        if each not in known
    )
    return tuple(each for each in knob.values if each in known), dropped


def _numbers(
    knob: Knob,
    flag: str,
    present: str | None,
    usual: Sequence[str],
    *,
    concurrency: int,
    dropped: tuple[LeftOut, ...],
) -> Levels:
    """Numbers around the present one; the table's own where that is not known."""
    now = number(present)
    if now is None:
        return _with_present(flag, usual, present, dropped)
    if knob.kind == "doubling":
        found = {now / 2, now * 2, now * 4}
        if knob.reaches == "concurrency" and concurrency > now:
            found.add(float(concurrency))
    else:
        step = knob.step or 1.0
        found = {now - step, now + step, now + 2 * step}
    least, most = knob.least, knob.most
    if least is not None and now < least:
        found.add(least)
    kept = sorted(
        each
        for each in {round(each, 6) for each in found}
        if each != now and (least is None or each >= least) and (most is None or each <= most)
    )
    kept = [each for each in kept if float(each).is_integer() or not float(now).is_integer()]
    below = [each for each in kept if each < now]
    texts = [f"{each:g}" if each < 1e6 else f"{int(each)}" for each in kept]
    levels = [Level(text=text, change=Change(set=(Setting(flag=flag, value=text),))) for text in texts]
    levels.insert(len(below), Level(text=present or AS_IT_IS))
    return Levels(levels=tuple(levels), present=len(below), ordered=True, dropped=dropped)


def _with_present(
    flag: str, values: Sequence[str], present: str | None, dropped: tuple[LeftOut, ...]
) -> Levels:
    levels = [Level(text=present or AS_IT_IS)]
    levels += [Level(text=each, change=Change(set=(Setting(flag=flag, value=each),))) for each in values]
    return Levels(levels=tuple(levels), present=0, ordered=False, dropped=dropped)


def number(text: str | None) -> float | None:
    """A number as people write it; `None` where it is none.

    >>> number("8"), number("0.9"), number("auto"), number(None)
    (8.0, 0.9, None, None)
    """
    try:
        return float(text) if text is not None else None
    except ValueError:
        return None
