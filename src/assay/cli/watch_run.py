"""The watch over a change before it is kept: of `assay promote --watch` and `assay tune --keep --watch`."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from assay import reports
from assay._masking import mask
from assay.bench import read_arm, target
from assay.cli.noting import read_journal, say, tell
from assay.errors import InputError
from assay.hosts import reach_url
from assay.study import WatchPlan, WatchRule, proven_by_runs, proven_by_study

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from assay._value import Value
    from assay.bench import Target
    from assay.cli.rollout_options import PromoteOptions
    from assay.cli.tune_options import TuneOptions
    from assay.rollout import Look
    from assay.study import Proven


def watch_rule(minutes: float) -> WatchRule:
    """The rule for so many minutes.

    Raises:
        InputError: that is no time.
    """
    if not 0 < minutes <= 7 * 1440:
        raise InputError(f"--watch {minutes:g}: minutes above 0 and up to a week were expected")
    rule = WatchRule(seconds=60 * minutes)
    return WatchRule(seconds=rule.seconds, every_s=min(rule.every_s, rule.seconds / rule.fewest))


def watch_plan(
    rule: WatchRule,
    look: Callable[[], Look],
    note: Callable[[str, Value], None],
    options: PromoteOptions | TuneOptions,
    *,
    subject: str,
) -> WatchPlan:
    """What is watched, and how; `subject` is what the journal calls the service.

    Raises:
        InputError: a URL or result files are wrong.
    """
    if options.base_url is not None:
        target(options.base_url)
    given = _given(getattr(options, "proven", None))

    def proven(rollout: str) -> Proven | None:
        if given is not None:
            return given
        try:
            return proven_by_study(read_journal(options.journal, subject), rollout)
        except InputError as error:
            said(f"the range of the study that proved it is not to be had: {error.message}")
            return None

    return WatchPlan(
        rule=rule,
        switch_s=_switch(options.switch),
        look=look,
        reach=lambda seen: _reached(seen, options.base_url),
        proven=proven,
        note=note,
        on_step=say,
        say=said,
    )


def said(text: str) -> None:
    """What a person wants to know of it."""
    tell(reports.harmless(mask(f"assay: {text}")))


def _switch(seconds: int) -> int:
    if not 5 <= seconds <= 7 * 86400:
        raise InputError(f"--switch {seconds}: at least 5 s, and at most a week, were expected")
    return seconds


def _given(files: str | None) -> Proven | None:
    return None if files is None else proven_by_runs(read_arm(files), by=files)


@contextlib.contextmanager
def _reached(look: Look, base_url: str | None) -> Iterator[Target]:
    """The server as it is to be had from here."""
    if base_url is not None:
        yield target(base_url)
        return
    assert look.service is not None, "it is on trial"
    with reach_url(look.machine.host, look.service.url) as url:
        yield target(url)
