"""The search: finds what there is, learns from failures, never proposes them again, can be overruled."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.search import Arm, Effect, Habits, Knob, Memory, Objective, OptunaSearch, Outcome, Search, Space

SWITCHES = tuple(Knob(name=f"--f{at}", levels=("off", "on"), default=0) for at in range(6))
NUMBER = Knob(name="--n", levels=("1", "2", "4", "8", "16"), default=1, ordered=True)
SPACE = Space(knobs=(*SWITCHES, NUMBER))
GAINS = (0.03, -0.04, 0.0, 0.02, 0.0, -0.02)
OBJECTIVE = Objective(levels=("64", "1"))


def truth(arm: Arm) -> dict[str, float]:
    """Effects that add up, with one pair that spoils each other and an optimum of the number at 8."""
    primary = sum(gain * on for gain, on in zip(GAINS, arm, strict=False)) - 0.006 * (arm[6] - 3) ** 2
    primary -= 0.05 * arm[0] * arm[3]
    return {"64": 5.0 + primary, "1": 3.0 - 0.03 * arm[2]}


def run(
    search: Search | OptunaSearch, starts: int, fails: Callable[[Arm], bool] = lambda _: False, seed: int = 1
) -> list[tuple[Arm, bool]]:
    """So many starts; what was asked for, and whether it failed."""
    draw, seen = random.Random(seed), []
    for _ in range(starts):
        arm = search.ask()
        if arm is None:
            break
        failed = fails(arm)
        seen.append((arm, failed))
        if failed:
            search.tell(arm, Outcome(status="failed"))
        else:
            values = {level: value + draw.gauss(0, 0.008) for level, value in truth(arm).items()}
            search.tell(arm, Outcome(status="served", values=values))
    return seen


def objective(arm: Arm) -> float:
    here, usual = truth(arm), truth(SPACE.baseline)
    return here["64"] - usual["64"] - 3 * max(0.0, usual["1"] - 0.02 - here["1"])


def searching(
    *, valid: Callable[[Arm], bool] = lambda _: True, seed: int = 0, memory: Memory | None = None
) -> Search:
    return Search(SPACE, OBJECTIVE, valid=valid, habits=Habits(seed=seed), memory=memory)


def test_it_begins_with_the_baseline() -> None:
    assert [arm for arm, _ in run(searching(), 2)] == [SPACE.baseline] * 2


@pytest.mark.parametrize("seed", range(4))
def test_it_comes_near_the_best(seed: int) -> None:
    search = searching(seed=seed)
    run(search, 30, seed=seed)
    best = 0.03 + 0.006 * 4  # the first switch and the number at 8
    assert objective(search.best()) > best - 0.02
    assert search.best()[1] == 0
    assert search.best()[2] == 0  # it costs the other level
    assert search.expected(search.best()) == pytest.approx(objective(search.best()), abs=0.025)


def test_what_is_not_valid_is_never_asked() -> None:
    search = searching(valid=lambda arm: not (arm[0] and arm[6] > 1))
    assert all(not (arm[0] and arm[6] > 1) for arm, _ in run(search, 25))
    with pytest.raises(ValueError, match="baseline"):
        searching(valid=lambda _: False)


def test_a_failure_is_never_proposed_again_and_teaches() -> None:
    search = searching(seed=3)
    seen = run(search, 40, fails=lambda arm: bool(arm[0] and arm[4]))
    failures = [arm for arm, failed in seen if failed]
    assert len(failures) == len(set(failures)) <= 4  # of 40; a quarter of all arms would fail
    assert set(failures) == search.failed


def test_a_limit_of_memory_is_learnt() -> None:
    memory = Memory(lambda arm: 10.0 + 2.0 * arm[6], limit=18.0, limit_sd=3.0, error_sd=0.3)
    search = searching(memory=memory, seed=2)
    seen = run(search, 30, fails=lambda arm: arm[6] > 2)
    assert sum(failed for _, failed in seen) <= 4
    assert search.best()[6] == 2  # the most that fits; 3 would be best


def test_a_dead_baseline_ends_it() -> None:
    search = searching()
    search.tell(SPACE.baseline, Outcome(status="failed"))
    assert search.ask() is None


def test_wrong_beliefs_are_overruled() -> None:
    wrong = [Effect(mean=0.02, sd=0.0), Effect(mean=0.02, sd=0.0)]
    knobs = list(SPACE.knobs)
    for at, effect in zip((1, 5), wrong, strict=True):
        knobs[at] = Knob(name=f"--f{at}", levels=("off", "on"), default=0, up=effect)
    search = Search(Space(knobs=tuple(knobs)), OBJECTIVE, valid=lambda _: True, habits=Habits(seed=1))
    run(search, 40)
    assert search.best()[1] == 0


def test_pruning_drops_what_does_not_contribute() -> None:
    search = searching()
    run(search, 40)
    everything = (0, 0, 0, 1, 1, 0, 3)
    pruned = search.pruned(everything)
    assert pruned == (0, 0, 0, 1, 0, 0, 3)
    kept = searching(valid=lambda arm: arm[6] < 3 or bool(arm[4]))
    run(kept, 40)
    assert kept.pruned(everything)[4] == 1  # its default would not be valid


def test_little_is_left_to_gain_at_the_end() -> None:
    search = searching(seed=5)
    run(search, 6)
    early = search.gain_left()
    run(search, 44)
    assert 0 <= search.gain_left() < 0.01
    assert search.gain_left() <= early


def test_a_value_that_is_missing_is_refused() -> None:
    with pytest.raises(ValueError, match="no value for 1"):
        searching().tell(SPACE.baseline, Outcome(status="served", values={"64": 5.0}))


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(2, 5), st.booleans()), min_size=1, max_size=6), st.integers(0, 2**31))
def test_any_space_can_be_searched(shape: list[tuple[int, bool]], seed: int) -> None:
    draw = np.random.default_rng(seed)
    knobs = tuple(
        Knob(
            name=f"--k{at}",
            levels=tuple(str(level) for level in range(size)),
            default=int(draw.integers(0, size)),
            ordered=ordered,
            kink=0 if ordered and at % 2 else None,
        )
        for at, (size, ordered) in enumerate(shape)
    )
    space = Space(knobs=knobs)
    search = Search(
        space, Objective(levels=("1",)), valid=lambda arm: sum(arm) % 7 != 6 or arm == space.baseline
    )
    for _ in range(14):
        arm = search.ask()
        if arm is None:
            break
        assert all(0 <= level < len(knob.levels) for level, knob in zip(arm, knobs, strict=True))
        if draw.random() < 0.2 and arm != space.baseline:
            search.tell(arm, Outcome(status="crashed"))
        else:
            search.tell(arm, Outcome(status="served", values={"1": float(draw.normal())}))
        assert search.best() not in search.failed


def test_what_nobody_knows_to_start_is_started_by_itself_before_the_screening() -> None:
    first = ((1, *SPACE.baseline[1:]), (*SPACE.baseline[:-1], 0))
    search = Search(SPACE, OBJECTIVE, valid=lambda _: True, habits=Habits(), first=first)
    seen = [arm for arm, _ in run(search, 8)]
    assert tuple(seen[2:4]) == first
    assert search.difference(first[0], SPACE.baseline)[1] < 0.02
