"""What is made of the lines behind start-up: the verdict and sub-kind of each outcome."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from assay.findings import Case
from assay.findings.difference import followed, reason_of
from assay.findings.records import changes
from assay.findings.words import find_option
from assay.flow import Alternative, Baseline, Difference, Guard, Read, Resolution, Step, WriteBack
from assay.source import Site

pytestmark = [pytest.mark.registry, pytest.mark.timeout(300)]
SITE = Site(file="sglang/srt/x.py", line=7, text="if args.x:")


class Told(Alternative):
    """Run B, with what is behind start-up given."""

    def __init__(self, base: Baseline, resolution: Resolution, told: Difference) -> None:
        super().__init__(base, resolution, None)
        self._told = told
        self.asked: tuple[str, ...] = ()

    def difference(self, fields: Sequence[str] = ()) -> Difference:
        self.asked = tuple(fields)
        return self._told


def guard(*atoms: str) -> Guard:
    return Guard(text="test()", site=SITE, taken=False, state="holds", decided_by=atoms)


def read(state: Any, *atoms: str) -> Read:
    return Read(site=SITE, state=state, guards=(guard(*atoms),) if atoms else ())


@pytest.fixture
def answer(case: Callable[[str, str], Case]) -> Callable[..., tuple[Any, Told]]:
    def run(told: Difference, name: str = "schedule_policy", value: Any = "lpm") -> tuple[Any, Told]:
        of = case("llama8b-h100", "0.5.9")
        option = find_option(of.source.declarations, name)
        assert option is not None
        question = of.question(option, value)
        real = of.alternative(question)
        other = Told(real.base, real.resolution, told)
        found = changes(real.base.resolution, real.resolution, option.field)
        return followed(question, other, found), other

    return run


STEP = Step(site=SITE, function="f", says="sorts the queue")


def test_an_effect(answer: Any) -> None:
    told = Difference(
        outcome="effect", effect=STEP, what="branch", chain=(STEP,), guards=(guard("option x"),), when=("b",)
    )
    found, other = answer(told)
    assert (found.verdict, found.subkind) == ("effective", "takes_another_branch")
    assert found.evidence[0].line == 7
    assert found.when == ("b",)
    assert other.asked == ("schedule_policy",)


def test_an_effect_with_other_options(answer: Any) -> None:
    found, other = answer(
        Difference(outcome="effect", effect=STEP, what="value"), "kv_cache_dtype", "fp8_e5m2"
    )
    assert found.subkind == "changes_other_option"
    assert {"kv_cache_dtype", "attention_backend"} <= set(other.asked)
    assert "attention_backend" in {each.field for each in found.side_effects}


def test_a_worker_that_raises(answer: Any) -> None:
    found, _ = answer(Difference(outcome="raises", effect=STEP, what="raise", message="KeyError: 12"))
    assert (found.verdict, found.subkind) == ("incompatible", "raises_in_worker")
    assert "KeyError: 12" in found.summary


def test_what_a_worker_writes_back(answer: Any) -> None:
    back = WriteBack(name="schedule_policy", known=True, value="lpm", certain=True, site=SITE)
    found, _ = answer(Difference(outcome="none", write_backs=(back,)))
    assert (found.verdict, found.subkind) == ("already_on", "set_at_run_time")


@pytest.mark.parametrize(
    ("reads", "subkind"),
    [
        ((read("unreached", "fact accelerator.capability"),), "hardware"),
        ((read("unreached", "config.json architectures", "option model_path"),), "model"),
        ((read("unreached", "option tp_size"),), "layout"),
        ((read("unreached", "option enable_lora"),), "other_option"),
        ((read("unreached", "environment SGLANG_X"),), "environment"),
        ((read("unreached", "library flashinfer"),), "library"),
        ((read("same"),), "same_value"),
        ((read("unreached"),), "not_reached"),
        ((), "not_reached"),
    ],
)
def test_why_nothing_happens(answer: Any, reads: tuple[Read, ...], subkind: str) -> None:
    found, _ = answer(Difference(outcome="none", reads=reads))
    assert (found.verdict, found.subkind) == ("no_op", subkind)


@pytest.mark.parametrize(
    ("reads", "subkind"),
    [
        ((read("open", "fact host.numa"),), "open_condition"),
        ((read("unclassified"),), "reader_not_followed"),
        ((), "reader_not_followed"),
    ],
)
def test_what_stays_open(answer: Any, reads: tuple[Read, ...], subkind: str) -> None:
    found, _ = answer(Difference(outcome="open", reads=reads, open_atoms=("fact host.numa",)))
    assert (found.verdict, found.subkind) == ("unknown", subkind)
    assert found.open_atoms == ("fact host.numa",)


def test_the_least_changeable_reason_counts() -> None:
    assert reason_of(guard("option tp_size", "fact accelerator.capability")) == "hardware"
