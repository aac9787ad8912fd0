"""Which options are worth a trial, by the real source of a release, and what both arms then resolve to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.deployment import parse_engine
from assay.findings import Opened, open_deployment
from assay.rollout import changed_words, parse_change
from assay.trials import Sifted, are_one, predict, sift

pytestmark = [pytest.mark.registry, pytest.mark.timeout(300)]
EXAMPLES = Path(__file__).parents[2] / "examples" / "deployments"
OpenExample = Callable[[str], Opened]


@pytest.fixture(scope="module")
def example(engine_tree: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> OpenExample:
    known: dict[str, Opened] = {}
    home, tree = tmp_path_factory.mktemp("home"), engine_tree("0.5.10")

    def get(name: str) -> Opened:
        if name not in known:
            known[name] = open_deployment(
                EXAMPLES / f"{name}.toml",
                engine=parse_engine(str(tree)),
                environment={},
                home=home,
                cache=tree.with_name("lint-cache"),
            )
        return known[name]

    return get


def words_of(opened: Opened, *more: str) -> tuple[str, ...]:
    return (*(word.text for word in opened.server.launch.words), *more)


def sifted(
    opened: Opened, *settings: str, without: tuple[str, ...] = (), more: tuple[str, ...] = ()
) -> Sifted:
    return sift(opened.case, words_of(opened, *more), parse_change(settings, without))


def told(found: Sifted) -> dict[str, tuple[bool, str]]:
    return {each.flag: (each.tried, each.verdict) for each in found.asked}


def test_the_case_that_started_it(example: OpenExample) -> None:
    opened = example("qwen35-sm120-xbuf")
    found = sifted(
        opened,
        "enable-fused-moe-sum-all-reduce",
        "enable-flashinfer-allreduce-fusion",
        "num-continuous-decode-steps=4",
        "enable-no-such-thing",
    )
    assert told(found) == {
        "--enable-fused-moe-sum-all-reduce": (True, "effective"),
        "--enable-flashinfer-allreduce-fusion": (False, "no_op"),
        "--num-continuous-decode-steps": (False, "dead"),
        "--enable-no-such-thing": (False, "incompatible"),
    }
    assert str(found.change) == "+--enable-fused-moe-sum-all-reduce"
    assert all(each.evidence and each.evidence[0].line for each in found.asked)
    assert found.change is not None
    words = words_of(opened)
    arms = predict(opened.case, words, changed_words(words, found.change))
    assert [each.field for each in arms if each.changes] == ["enable_fused_moe_sum_all_reduce"]
    assert [each.field for each in arms if not each.known] == ["random_seed"]
    assert not are_one(arms, frozenset({"random_seed"}))
    same = predict(opened.case, words, (*words, "--tp-size", "4"))
    assert are_one(same, frozenset({"random_seed"}))
    assert not are_one(same, frozenset()), "what is not known may be otherwise"
    assert not are_one((), frozenset())


def test_nothing_is_left(example: OpenExample) -> None:
    found = sifted(example("llama8b-h100"), "num-continuous-decode-steps=4")
    assert found.triaged
    assert found.change is None


def test_an_option_that_only_matters_with_another_is_tried_with_it(example: OpenExample) -> None:
    opened = example("llama8b-h100")
    alone = sifted(opened, "speculative-ngram-capacity=5000")
    assert told(alone) == {"--speculative-ngram-capacity": (False, "no_op")}
    found = sifted(opened, "speculative-ngram-capacity=5000", "speculative-algorithm=NGRAM")
    assert all(each.tried for each in found.asked)
    assert found.change is not None
    words = words_of(opened)
    arms = {each.field: each for each in predict(opened.case, words, changed_words(words, found.change))}
    # what the source sets by itself once speculation is on
    side = {
        "disable_overlap_schedule",
        "max_running_requests",
        "speculative_eagle_topk",
        "mem_fraction_static",
    }
    assert side <= {name for name, each in arms.items() if each.changes}
    assert arms["disable_overlap_schedule"].at.startswith("sglang/srt/server_args.py:")


def test_back_to_the_default_is_a_change_where_another_value_does_something(example: OpenExample) -> None:
    opened = example("llama8b-h100")
    found = sifted(opened, "schedule-policy=fcfs", more=("--schedule-policy", "lpm"))
    assert told(found) == {"--schedule-policy": (True, "already_on")}
    assert "the value that it has now" in found.asked[0].why
    away = sifted(opened, without=("schedule-policy",), more=("--schedule-policy", "lpm"))
    assert told(away)["--schedule-policy"][0]
    dead = ("--num-continuous-decode-steps", "4")
    assert sifted(opened, without=("num-continuous-decode-steps",), more=dead).change is None
    assert sifted(opened, "num-continuous-decode-steps=8", more=dead).change is None


def test_a_value_that_is_refused_does_not_take_the_others_with_it(example: OpenExample) -> None:
    found = sifted(example("llama8b-h100"), "chunked-prefill-size=words", "schedule-policy=lpm")
    assert told(found)["--chunked-prefill-size"] == (False, "incompatible")
    assert told(found)["--schedule-policy"][0]
    assert str(found.change) == "+--schedule-policy lpm"


def test_what_runs_and_does_not_start_by_its_source_decides_nothing(example: OpenExample) -> None:
    found = sifted(example("qwen35-sm120"), "num-continuous-decode-steps=4")
    assert not found.triaged
    assert "server_args.py:2206" in found.why_not
    assert str(found.change) == "+--num-continuous-decode-steps 4"
