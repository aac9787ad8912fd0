"""When a change that is being watched leaves the range it was proven in: the rule, and its state; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from assay._value import Value
from assay.study.proven import Proven


class WatchRule(Value):
    """What is no good sign; declared before the first look."""

    seconds: float
    """How long it must go well."""
    every_s: float = 15.0
    """From one look to the next."""
    errors: float = 0.02
    """Share of requests that may fail."""
    latency: float = 1.5
    """So many times the proven time per token are still in range: what users ask is not what was measured."""
    acceptance: float = 0.8
    """So much of the fewest proven tokens a step of speculation are still in range, likewise."""
    in_a_row: int = 2
    """Looks that must find the same figure out of range: one may be chance."""
    failures: int = 5
    """So many failures over all looks count, too, where their share is above `errors`."""
    fewest: int = 3
    """Looks at the least."""
    blind_s: float = 300.0
    """So long nothing may be seen, as where the way to the server is cut."""


class WatchLook(Value):
    """What one look saw; the entry `watch-look`."""

    id: str
    """The rollout."""
    at_s: float
    """Seconds since the watch began."""
    unseen: str = ""
    """Why nothing could be seen, as where the machine was not reached; then the rest says nothing."""
    ended: str = ""
    """Why the trial is over by itself."""
    asked: int = 0
    """Requests: ours, or all that the server says it answered since the last look."""
    failed: int = 0
    """Those that failed, with a status of 500 or above or without an answer."""
    reason: str = ""
    """How one of ours failed."""
    running: float | None = None
    """Requests of others that it ran; `None` where it does not say."""
    token_ms: float | None = None
    """Mean time from token to token of everybody's requests, as the server says."""
    answer_ms: float | None = None
    """Mean time of a whole answer to us."""
    answer_tokens: int = 0
    """Tokens of such an answer, the most."""
    acceptance: float | None = None
    """Tokens a step of speculation gave."""
    faults: tuple[str, ...] = ()
    """Kinds of damage among the answers to us."""
    out: tuple[str, ...] = ()
    """Figures out of range, in words."""


class WatchFigure(Value):
    """How one figure went over the whole watch."""

    name: str
    """Which."""
    low: float
    """Least of it at a look."""
    high: float
    """Most of it."""
    looks: int
    """Looks that saw it."""


class Standing:
    """A watch so far."""

    def __init__(self, rule: WatchRule, proven: Proven | None) -> None:
        self._rule, self._proven = rule, proven
        self._row: Counter[str] = Counter()
        self._last: WatchLook | None = None
        self._asked = self._failed = 0
        self._seen_s = 0.0
        self.looks: list[WatchLook] = []
        """Those that saw something."""
        self.watched_s = 0.0
        """Time between looks that saw something."""
        self.leave = ""
        """Why it has to go back; empty while it has not."""

    @property
    def well(self) -> bool:
        """It was seen for long enough, and the last look was in range."""
        if self.leave or self._last is None or self._last.out or self._last.unseen:
            return False
        return self.watched_s >= self._rule.seconds and len(self.looks) >= self._rule.fewest

    def add(self, look: WatchLook) -> WatchLook:
        """One look more; it is given back with what of it is out of range."""
        before, self._last = self._last, look
        if look.ended:
            self.leave = look.ended
        if look.unseen and look.at_s - self._seen_s > self._rule.blind_s:
            self.leave = f"nothing could be seen for {look.at_s - self._seen_s:.0f} s: {look.unseen}"
        if look.unseen or look.ended:
            return look
        self._seen_s = look.at_s
        found = dict(self._out(look))
        look = self._last = msgspec.structs.replace(look, out=tuple(found.values()))
        self.looks.append(look)
        if before is not None and not before.unseen:
            self.watched_s += look.at_s - before.at_s
        self._row = Counter({name: self._row[name] + 1 for name in found})
        self._asked, self._failed = self._asked + look.asked, self._failed + look.failed
        self.leave = self._why_leave(found)
        return look

    def _why_leave(self, found: dict[str, str]) -> str:
        for name, text in found.items():
            if name == "answers" or self._row[name] >= self._rule.in_a_row:
                return text
        share = self._failed / max(1, self._asked)
        if self._failed >= self._rule.failures and share > self._rule.errors:
            return f"{self._failed} of {self._asked} requests failed in all"
        return ""

    def _out(self, look: WatchLook) -> Iterator[tuple[str, str]]:
        """Each figure that is out of range, with what was seen and what is the range."""
        if look.failed and look.failed / max(1, look.asked) > self._rule.errors:
            told = f": {look.reason}" if look.reason else ""
            yield "errors", f"{look.failed} of {look.asked} requests failed{told}"
        if look.faults:
            yield "answers", f"its answers are damaged: {', '.join(look.faults)}"
        if self._proven is None:
            return
        if self._proven.loads:
            yield from self._slow(look, self._proven)
        least = (self._proven.acceptance or 0.0) * self._rule.acceptance
        if look.acceptance is not None and look.acceptance < least:
            yield (
                "acceptance",
                f"{look.acceptance:.3g} tokens a step of speculation, of at least {least:.3g}",
            )

    def _slow(self, look: WatchLook, proven: Proven) -> Iterator[tuple[str, str]]:
        """Only what was proven is a range: beyond the largest load that was measured, nobody knows."""
        load = proven.loads[-1] if look.running is None else proven.at(look.running)
        if load is None:
            return
        limit = self._rule.latency * load.token_ms
        among = f"{load.concurrency} requests at a time"
        if look.token_ms is not None:
            if look.token_ms > limit:
                yield "token", f"{look.token_ms:.3g} ms a token, of at most {limit:.3g} among {among}"
            return
        limit = self._rule.latency * (load.ttft_ms + look.answer_tokens * load.token_ms)
        if look.answer_ms is not None and look.answer_ms > limit:
            yield "answer", f"{look.answer_ms:.4g} ms an answer, of at most {limit:.4g} among {among}"

    def figures(self) -> tuple[WatchFigure, ...]:
        """How each figure went."""
        return tuple(
            WatchFigure(name=name, low=min(values), high=max(values), looks=len(values))
            for name in ("running", "token_ms", "answer_ms", "acceptance")
            if (values := [value for each in self.looks if (value := getattr(each, name)) is not None])
        )

    @property
    def requests(self) -> tuple[int, int]:
        """How many were seen in all, and how many of them failed."""
        return self._asked, self._failed
