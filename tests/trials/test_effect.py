"""The proof of effect: settings before and after, against what was asked and what was predicted."""

from __future__ import annotations

import pytest

from assay.rollout import parse_change
from assay.trials import Effect, Expected, PredictedSetting, prove_effect

Plain = bool | int | float | str | None
BEFORE: dict[str, Plain] = {
    "tp_size": 1,
    "policy": "fcfs",
    "mixed": False,
    "seed": 1,
    "share": 0.83,
    "load": 0.5,
}


def arms(**known: tuple[object, object] | None) -> Expected:
    """Predicted values of both arms; None: not known."""
    settings = [
        PredictedSetting(
            field=name, known=both is not None, before=both and both[0], after=both and both[1], at="a.py:1"
        )
        for name, both in known.items()
    ]
    return Expected(prediction=tuple(settings), drawn=frozenset({"seed"}))


def proved(
    change: list[str], after: dict[str, Plain], expected: Expected | None = None, **more: object
) -> Effect:
    without = more.pop("without", ())
    assert isinstance(without, tuple)
    asked = parse_change(change, without)
    log = more.pop("log", ())
    assert isinstance(log, tuple)
    return prove_effect(asked, BEFORE, {**BEFORE, **after}, expected or arms(), log=log)


SAME = arms(tp_size=(1, 1), policy=("fcfs", "fcfs"), mixed=(False, False), share=(0.83, 0.83), seed=None)


@pytest.mark.parametrize(
    ("change", "after"),
    [
        (["policy=lpm"], {"policy": "lpm", "seed": 7}),
        (["mixed"], {"mixed": True}),
        (["tp-size=2"], {"tp_size": 2}),
        (["tp-size=2", "mixed"], {"tp_size": 2, "mixed": True}),
    ],
)
def test_it_took(change: list[str], after: dict[str, Plain]) -> None:
    found = proved(change, after)
    assert (found.status, found.shown_by) == ("took", "settings")
    assert {each.role for each in found.settings} == {"asked"}


@pytest.mark.parametrize(
    ("change", "after", "says"),
    [
        (["policy=lpm"], {}, "the server runs with fcfs"),
        (["mixed"], {}, "the server runs without"),
        (["policy=fcfs"], {}, "both arms are one"),
        (["tp-size=2", "mixed"], {"tp_size": 2}, "--mixed was asked for"),
        (["tp-size=2"], {"tp_size": 4}, "the server runs with 4"),
    ],
)
def test_it_did_not(change: list[str], after: dict[str, Plain], says: str) -> None:
    found = proved(change, after)
    assert found.status == "void"
    assert says in found.message


def test_predicted_side_effects_are_part_of_it_and_others_are_not() -> None:
    expected = arms(
        tp_size=(1, 2), policy=("fcfs", "fcfs"), mixed=(False, True), share=(0.83, 0.826), seed=None
    )
    fine = proved(
        ["tp-size=2"], {"tp_size": 2, "mixed": True, "share": 0.826, "load": 0.9, "seed": 3}, expected
    )
    assert fine.status == "took"
    assert {each.field: each.role for each in fine.settings} == {
        "tp_size": "asked",
        "mixed": "side_effect",
        "share": "side_effect",
    }
    assert fine.settings[1].at == "a.py:1"
    more = proved(["tp-size=2"], {"tp_size": 2, "mixed": True, "share": 0.826, "policy": "lpm"}, expected)
    assert more.status == "void"
    assert "policy fcfs -> lpm" in more.message
    otherwise = proved(["tp-size=2"], {"tp_size": 2, "mixed": True, "share": 0.9}, expected)
    assert otherwise.status == "void"


def test_what_was_predicted_and_did_not_come_is_said_and_voids_nothing() -> None:
    found = proved(["tp-size=2"], {"tp_size": 2}, arms(tp_size=(1, 2), share=(0.83, 0.9)))
    assert found.status == "took"
    assert {each.field: each.role for each in found.settings} == {"tp_size": "asked", "share": "missed"}


def test_what_could_not_be_predicted_is_said_and_voids_nothing() -> None:
    found = proved(["tp-size=2"], {"tp_size": 2, "share": 0.9}, arms(tp_size=(1, 2), share=None))
    assert (found.status, found.settings[1].role) == ("took", "not_predicted")
    untriaged = proved(["tp-size=2"], {"tp_size": 2, "share": 0.9})
    assert (untriaged.status, untriaged.settings[1].role) == ("took", "not_predicted")


def test_a_value_that_the_engine_writes_otherwise_took_where_that_was_predicted() -> None:
    expected = Expected(
        fields={"--kind": "policy"},
        prediction=(PredictedSetting(field="policy", known=True, before="fcfs", after="longest"),),
    )
    assert proved(["kind=lpm"], {"policy": "longest"}, expected).status == "took"
    assert proved(["kind=lpm"], {}, expected).status == "void"


def test_an_option_that_was_taken_away() -> None:
    assert proved([], {"policy": "lpm"}, without=("policy",)).status == "took"
    assert proved([], {}, without=("policy",)).status == "void"


LOG = (
    "INFO non-default args: {'model': '/m', 'max_num_seqs': 1, 'enforce_eager': True, "
    "'enable_prefix_caching': False, 'dtype': 'bfloat16'}",
    "Using max model len 2048",
)


@pytest.mark.parametrize(
    "change",
    [
        ["max-num-seqs=1"],
        ["enforce-eager"],
        ["no-enable-prefix-caching"],
        ["dtype=bfloat16", "max-num-seqs=1"],
    ],
)
def test_a_log_shows_it_where_the_server_does_not_say(change: list[str]) -> None:
    found = proved(change, {}, log=LOG)
    assert (found.status, found.shown_by, found.lines) == ("took", "log", (LOG[0],))


@pytest.mark.parametrize(
    "change", [["max-num-seqs=2"], ["num-seqs=1"], ["block-size=32"], ["max-num-seqs=1", "x"]]
)
def test_what_nothing_shows_is_not_shown(change: list[str]) -> None:
    found = proved(change, {}, log=LOG)
    assert (found.status, found.shown_by) == ("not_shown", "words")
    assert "started with the changed command" in found.message


def test_a_number_is_a_number() -> None:
    assert proved(["share=.9"], {"share": 0.9}).status == "took"
    assert proved(["tp-size=1"], {"tp_size": True}, arms(tp_size=(1, 1))).status == "void"


def test_what_is_left_to_the_engine_cannot_be_contradicted() -> None:
    assert proved(["policy=auto", "tp-size=2"], {"tp_size": 2}).status == "took"


def test_labels_of_metrics_name_few_settings() -> None:
    before: dict[str, Plain] = {"block_size": 16, "cache_dtype": "auto", "num_gpu_blocks": 900}
    after = {**before, "block_size": 32, "num_gpu_blocks": 450}
    change = parse_change(["block-size=32"])
    found = prove_effect(change, before, after, Expected(), by="metrics")
    assert (found.status, found.shown_by) == ("took", "metrics")
    assert {(each.field, each.role) for each in found.settings} == {
        ("block_size", "asked"),
        ("num_gpu_blocks", "not_predicted"),
    }
    same = prove_effect(change, before, before, Expected(), by="metrics")
    assert (same.status, same.shown_by) == ("void", "metrics")
    elsewhere = prove_effect(parse_change(["max-num-seqs=1"]), before, before, Expected(), by="metrics")
    assert (elsewhere.status, elsewhere.shown_by) == ("not_shown", "words")
