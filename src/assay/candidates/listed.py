"""The list of what is worth a trial in one deployment: from the engine's table and the user; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from assay.bounds import Bound
from assay.candidates.candidate import Candidate, Candidates, LeftOut, Level, Own
from assay.candidates.levels import AS_IT_IS, levels_of, number, option_of, spelled
from assay.deployment import Model
from assay.engines import Effect, Knob, Need, value_of
from assay.rollout import Change, Setting
from assay.source import Option
from assay.trials import Asked

MOST = 12
"""More options than this at once are not searched: the rest waits for the next study."""
_RANKS = ("--tensor-parallel-size", "--tp-size", "--tp", "-tp")
_DRAFTS = ("--speculative-algorithm", "--speculative-config", "--spec-method")
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts")
_WITHOUT: dict[Need, str] = {
    "ranks": "it needs several ranks, and this is one",
    "experts": "it needs a model with experts",
    "drafts": "nothing is drafted here",
    "prefixes": "the requests of this workload share no prefix",
}
_ORDER: tuple[Effect, ...] = (
    *("admission", "prefill", "kernels", "host", "draft_steps", "norm_all_reduce", "all_reduce"),
    *("expert_sum", "kv_cache", "weights", "none"),
)
"""Where no bound ranks them: what most often gives most first."""
_LOSSY = "it makes answers less precise; --lossy is your word that it may"
_LEAST_BOUND = 0.01
_SAME = ("already_on", "dead", "no_op")

Ask = Callable[[Change], Sequence[Asked]]
"""Triage of a change: what the engine's source says of each option of it."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is to be listed, and for which load."""

    table: Sequence[Knob]
    """The engine's knobs."""
    only: bool = False
    """Whether only the user's own are wanted; what the table says of their risk holds all the same."""
    own: Sequence[Own] = ()
    """What the user names."""
    words: Sequence[str] = ()
    """The deployment's command."""
    model: Model
    """What is served."""
    concurrency: int = 1
    """The largest number of requests at a time that is measured."""
    prefixes: bool = False
    """Whether the requests share prefixes."""
    lossy: bool = False
    """The user's word that less precise answers may be shipped."""
    bounds: Mapping[Effect, Bound] = field(default_factory=dict)
    """The most that each effect can give; empty where nobody knows."""


def candidates(
    wanted: Wanted, options: Sequence[Option], *, ask: Ask | None = None, why_not_triaged: str = ""
) -> Candidates:
    """List what is worth a trial, the most promising first, and what is not, with the reason.

    Args:
        wanted: what is to be listed.
        options: what this version of the engine declares.
        ask: triage of a change; `None` where the engine's source cannot be asked.
        why_not_triaged: why it cannot.
    """
    found: list[Candidate] = []
    out: list[LeftOut] = []
    own_flags = {flags[0] for each in wanted.own if len(flags := flags_of(each.change)) == 1}
    for each in (*_own(wanted, options), *_of_table(wanted, options, own_flags)):
        if isinstance(each, LeftOut):
            out.append(each)
            continue
        kept, dropped = _asked(each, ask)
        out += dropped
        if kept is not None:
            found.append(kept)
    ranked = sorted(found, key=_place)
    out += [
        LeftOut(name=each.name, why=f"it waits: {MOST} options at once are searched")
        for each in ranked[MOST:]
    ]
    return Candidates(
        planned=tuple(ranked[:MOST]),
        left_out=tuple(out),
        triaged=ask is not None,
        why_not_triaged=why_not_triaged,
    )


def flags_of(change: Change) -> tuple[str, ...]:
    """The flags that a change touches, in one spelling, so that two changes of one option are seen."""
    every = (*(each.flag for each in change.set), *change.unset)
    return tuple(dict.fromkeys(_folded(flag) for flag in every))


def _folded(flag: str) -> str:
    return f"--{flag.lstrip('-').replace('_', '-').removeprefix('no-')}"


def _of_table(wanted: Wanted, options: Sequence[Option], own: set[str]) -> Iterator[Candidate | LeftOut]:
    there = _there(wanted)
    for knob in () if wanted.only else wanted.table:
        option = option_of(knob.flag, options)
        if knob.flag in own:
            continue
        if why := _why_not(knob, option, there, lossy=wanted.lossy):
            yield LeftOut(name=knob.flag, why=why)
            continue
        assert option is not None
        found = levels_of(knob, option, wanted.words, concurrency=wanted.concurrency)
        yield from found.dropped
        bound = largest(wanted.bounds.get(knob.effect))
        if bound is not None and bound < _LEAST_BOUND:
            yield LeftOut(name=knob.flag, why=f"it can give {100 * bound:.1f} % at the most")
        elif len(found.levels) < 2:
            yield LeftOut(name=knob.flag, why="no other value of it is in the table")
        else:
            yield _candidate(knob, found.levels, found.present, bound, ordered=found.ordered)


def _why_not(knob: Knob, option: Option | None, there: set[Need], *, lossy: bool) -> str:
    if option is None:
        return "this version has no such option"
    at = f"{option.declared_at.file}:{option.declared_at.line}"
    if option.action in ("ignored", "refused"):
        return f"this version takes it and does nothing with it, or refuses it ({at})"
    if option.deprecated:
        return f"this version calls it deprecated ({at})"
    missing = [each for each in knob.needs if each not in there]
    if missing:
        return _WITHOUT[missing[0]]
    if knob.risk == "lossy" and not lossy:
        return _LOSSY
    return ""


def _candidate(
    knob: Knob, levels: tuple[Level, ...], present: int, bound: float | None, *, ordered: bool
) -> Candidate:
    return Candidate(
        name=knob.flag,
        levels=levels,
        present=present,
        ordered=ordered,
        effect=knob.effect,
        risk=knob.risk,
        cost=knob.cost,
        bound=bound,
        reason=f"changes {_SAYS[knob.effect]}",
    )


_SAYS: dict[Effect, str] = {
    "expert_sum": "the sum over experts",
    "norm_all_reduce": "norms and all-reduces",
    "all_reduce": "how ranks sum",
    "draft_steps": "how much is drafted",
    "kv_cache": "the size of the KV cache",
    "weights": "the size of weights",
    "kernels": "which kernels run",
    "host": "what the CPU does between kernels",
    "admission": "how many requests run at once",
    "prefill": "how prompts are cut or reused",
    "none": "nothing that is meant to be faster",
}


def _there(wanted: Wanted) -> set[Need]:
    """What the deployment and its load have."""
    found: set[Need] = set()
    if (number(value_of(wanted.words, *_RANKS)) or 1) > 1:
        found.add("ranks")
    counts = [wanted.model.find(name) for name in _EXPERTS]
    if any(isinstance(count, int) and count > 1 for count in counts):
        found.add("experts")
    if value_of(wanted.words, *_DRAFTS) is not None:
        found.add("drafts")
    if wanted.prefixes:
        found.add("prefixes")
    return found


def _own(wanted: Wanted, options: Sequence[Option]) -> Iterator[Candidate | LeftOut]:
    """The user's own: values of one option are levels of one candidate, several together are one switch."""
    single: dict[str, list[Own]] = {}
    for own in wanted.own:
        unknown = [flag for flag in flags_of(own.change) if option_of(flag, options) is None]
        if unknown:
            yield LeftOut(name=str(own.change), why=f"this version has no {', '.join(unknown)}")
            continue
        flags = flags_of(own.change)
        if not wanted.lossy and any(knob.risk == "lossy" and knob.flag in flags for knob in wanted.table):
            yield LeftOut(name=str(own.change), why=_LOSSY)
            continue
        single.setdefault(flags[0] if len(flags) == 1 else str(own.change), []).append(own)
    for name, every in single.items():
        yield _own_candidate(name, every, wanted, options)


def _own_candidate(name: str, every: Sequence[Own], wanted: Wanted, options: Sequence[Option]) -> Candidate:
    option = option_of(name, options) if name.startswith("--") else None
    knob = next((each for each in wanted.table if each.flag == name), None)
    now = _now(option, wanted.words) if option is not None else None
    levels = [Level(text=now or AS_IT_IS)]
    for own in every:
        change = _as_written(own.change, wanted.words, options)
        levels.append(Level(text=_level_text(own.change, alone=option is not None), change=change))
    values = [number(level.text) for level in levels]
    numbers = [value for value in values if value is not None]
    ordered = len(levels) > 2 and len(numbers) == len(levels)
    first = levels[0]
    if ordered:
        levels.sort(key=lambda level: number(level.text) or 0.0)
    why = next((own.why for own in every if own.why), "you name it")
    return Candidate(
        name=name,
        levels=tuple(levels),
        present=levels.index(first),
        ordered=ordered,
        origin="own",
        effect=knob.effect if knob else None,
        risk=knob.risk if knob else None,
        cost=knob.cost if knob else "restart",
        bound=largest(wanted.bounds.get(knob.effect)) if knob else None,
        reason=why,
    )


def _now(option: Option, words: Sequence[str]) -> str | None:
    """What the command says of an option; `None` where it says nothing."""
    if option.action not in ("boolean", "store_const"):
        return value_of(words, *option.flags)
    names = {each.replace("_", "-") for each in option.flags}
    given = [name for word in words if (name := word.replace("_", "-")) in names or _opposite(name) in names]
    return ("off" if given[-1].startswith("--no-") else "on") if given else None


def _as_written(change: Change, words: Sequence[str], options: Sequence[Option]) -> Change:
    """The change with each flag as the command spells it, and without an opposite that stands there."""
    settings, unset = [], list(change.unset)
    for each in change.set:
        option = option_of(each.flag, options)
        flag = spelled(option, each.flag, words) if option is not None else each.flag
        if each.value is None and option is not None and option.action == "boolean":
            flag, opposite = each.flag, _opposite(each.flag)
            unset += [word for word in words if word.replace("_", "-") == opposite and word not in unset]
        settings.append(Setting(flag=flag, value=each.value))
    return Change(set=tuple(settings), unset=tuple(unset))


def _opposite(flag: str) -> str:
    name = flag.removeprefix("--").replace("_", "-")
    return f"--{name.removeprefix('no-')}" if name.startswith("no-") else f"--no-{name}"


def _level_text(change: Change, *, alone: bool) -> str:
    if not alone or len(change.set) != 1:
        return "without" if alone else "on"
    only = change.set[0]
    return only.value if only.value is not None else "off" if only.flag.startswith("--no-") else "on"


def _asked(each: Candidate, ask: Ask | None) -> tuple[Candidate | None, list[LeftOut]]:
    """The candidate without the values of which the source says that they do nothing here, or are refused."""
    if ask is None:
        return each, []
    kept, dropped, reasons = [], [], []
    for at, level in enumerate(each.levels):
        said = ask(level.change) if level.change is not None and at != each.present else ()
        if said and not any(one.tried for one in said):
            evidence = said[0].evidence
            dropped.append(LeftOut(name=each.name, value=level.text, why=said[0].why, evidence=evidence))
            continue
        reasons += [one.why for one in said if one.verdict not in _SAME and one.why]
        kept.append(level)
    if len(kept) < 2:
        return None, dropped
    reason = f"{each.reason}; {reasons[0]}" if reasons else each.reason
    present = kept.index(each.levels[each.present])
    return msgspec.structs.replace(each, levels=tuple(kept), present=present, reason=reason), dropped


def largest(bound: Bound | None) -> float | None:
    """The largest gain that a bound allows at any load; `None` where it bounds nothing."""
    if bound is None or not bound.loads or any(load.gain is None for load in bound.loads):
        return None
    return max(load.gain for load in bound.loads if load.gain is not None)


def _place(each: Candidate) -> tuple[bool, float, int]:
    """The user's own first, then by bound, then by what is changed."""
    order = _ORDER.index(each.effect) if each.effect in _ORDER else len(_ORDER)
    return each.origin != "own", -(each.bound if each.bound is not None else 0.05), order
