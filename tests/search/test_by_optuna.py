"""Optuna behind the same ask and tell. Needs optuna, which is an optional part of assay."""

from __future__ import annotations

import pytest
from tests.search.test_search import GAINS, OBJECTIVE, SPACE, run, truth

from assay.search import Arm, Habits, OptunaSearch, Outcome

pytest.importorskip("optuna", reason="NOT TRIED WITH OPTUNA: pip install optuna")


def made(seed: int = 1, *, first: tuple[Arm, ...] = ()) -> OptunaSearch:
    return OptunaSearch(
        SPACE, OBJECTIVE, valid=lambda arm: not (arm[1] and arm[2]), habits=Habits(seed=seed), first=first
    )


def test_it_begins_with_the_baseline_and_what_was_wanted_first() -> None:
    wanted = (0, 0, 0, 1, 0, 0, 1)
    asked = [arm for arm, _ in run(made(first=(wanted,)), 4)]
    assert asked[:3] == [SPACE.baseline, SPACE.baseline, wanted]


def test_what_is_not_valid_or_failed_is_never_asked_for_again() -> None:
    search = made()
    seen = run(search, 40, fails=lambda arm: arm[5] == 1)
    failed = [arm for arm, bad in seen if bad]
    assert not any(arm[1] and arm[2] for arm, _ in seen)
    assert len(set(failed)) == len(failed)
    assert search.failed == set(failed)
    assert search.best()[5] == 0


def test_with_many_cheap_starts_it_finds_what_gains() -> None:
    search = made()
    run(search, 120)
    best = search.best()
    gain = truth(best)["64"] - truth(SPACE.baseline)["64"]
    assert gain > 0.6 * max(GAINS[0], GAINS[3])
    assert search.pruned(best) == best


def test_the_same_record_leads_to_the_same_next_start() -> None:
    assert run(made(3), 25) == run(made(3), 25)


def test_what_nobody_asked_for_is_learnt_too_and_what_was_not_seen_is_not_known() -> None:
    search, other = made(), (1, 0, 0, 0, 0, 0, 1)
    assert search.difference(other, SPACE.baseline) is None
    for arm in (SPACE.baseline, SPACE.baseline, other):
        search.tell(arm, Outcome(status="served", values=truth(arm)))
    found = search.difference(other, SPACE.baseline)
    assert found is not None
    assert found[0] == pytest.approx(GAINS[0])
    assert search.best() == other
