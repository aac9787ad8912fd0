"""Which options are listed for a trial, at which values, and why others are not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from assay.candidates import Candidates, Own, Wanted, candidates
from assay.deployment import Model
from assay.engines import ENGINES, Knob, knobs
from assay.rollout import Change, parse_change
from assay.source import Constant, Option, Site
from assay.source.declarations import Action
from assay.trials import Asked

EngineTree = Callable[[str], Path]
AT = Site(file="pkg/args.py", line=7)
MODEL = Model(name="m", origin="folder", where="config.json", config_text='{"num_experts": 8}')
SERVE = ("vllm", "serve", "m")
SEQS = Knob(
    flag="--max-num-seqs", kind="doubling", effect="admission", risk="numerics", values=("64",), least=1,
    most=2048, reaches="concurrency",
)  # fmt: skip


def option(
    *flags: str, action: Action = "store", default: object = None, choices: Sequence[str] | None = None
) -> Option:
    return Option(
        flags=flags, dest="x", field="x", action=action, declared_at=AT, first_line=7, last_line=7,
        default=Constant(known=True, value=default),
        choices=None if choices is None else Constant(known=True, value=list(choices)),
    )  # fmt: skip


OPTIONS = (
    option("--max-num-seqs"),
    option("--kv-cache-dtype", choices=["auto", "fp8_e5m2"], default="auto"),
    option("--enable-prefix-caching", "--no-enable-prefix-caching", action="boolean"),
    option("--enforce-eager", "--no-enforce-eager", action="boolean", default=False),
    option("--mixed", action="store_const", default=False),
)


def listed(*words: str, table: Sequence[Knob] = (), own: Sequence[str] = (), **more: object) -> Candidates:
    wanted = Wanted(
        table=table,
        own=[Own(change=parse_change(each.split())) for each in own],
        words=(*SERVE, *words),
        model=MODEL,
        **more,  # type: ignore[arg-type]
    )
    return candidates(wanted, OPTIONS)


def knob(flag: str, kind: str = "switch", **more: object) -> Knob:
    return Knob(flag=flag, kind=kind, effect="host", risk="lossless", **more)  # type: ignore[arg-type]


def test_a_number_is_tried_around_its_present_value_and_at_the_measured_concurrency() -> None:
    [found] = listed("--max-num-seqs", "1", table=[SEQS], concurrency=16).planned
    assert [level.text for level in found.levels] == ["1", "2", "4", "16"]
    assert (found.present, found.ordered) == (0, True)
    assert str(found.levels[3].change) == "+--max-num-seqs 16"


def test_where_its_present_value_is_not_known_the_tables_own_are_tried() -> None:
    [found] = listed(table=[SEQS]).planned
    assert [level.text for level in found.levels] == ["as it is", "64"]
    assert not found.ordered


def test_an_option_is_replaced_as_the_command_spells_it() -> None:
    [found] = listed("--max_num_seqs=4", table=[SEQS]).planned
    assert [str(level.change) for level in found.levels] == [
        "+--max_num_seqs 2", "None", "+--max_num_seqs 8", "+--max_num_seqs 16",
    ]  # fmt: skip


def test_a_switch_goes_both_ways() -> None:
    [found] = listed(table=[knob("--mixed")]).planned
    assert (found.tried, str(found.levels[1].change)) == (("on",), "+--mixed")
    [found] = listed("--mixed", table=[knob("--mixed")]).planned
    assert (found.tried, str(found.levels[0].change)) == (("off",), "without --mixed")
    [found] = listed("--no-enforce-eager", table=[knob("--enforce-eager")]).planned
    assert (found.tried, str(found.levels[1].change)) == (
        ("on",),
        "+--enforce-eager, without --no-enforce-eager",
    )
    [found] = listed(table=[knob("--enable-prefix-caching")]).planned  # nobody says what its default is
    assert found.tried == ("on", "off")


def test_what_is_left_out_is_named_with_its_reason() -> None:
    table = [
        knob("--no-such-thing"),
        knob("--mixed", needs=("prefixes",)),
        Knob(flag="--kv-cache-dtype", kind="choice", effect="kv_cache", risk="lossy", values=("fp8_e5m2",)),
    ]
    found = listed(table=table)
    assert found.planned == ()
    assert {each.name: each.why.partition(";")[0] for each in found.left_out} == {
        "--no-such-thing": "this version has no such option",
        "--mixed": "the requests of this workload share no prefix",
        "--kv-cache-dtype": "it makes answers less precise",
    }


def test_lossy_options_are_tried_with_the_users_word_at_values_that_this_version_has() -> None:
    lossy = Knob(
        flag="--kv-cache-dtype", kind="choice", effect="kv_cache", risk="lossy", values=("fp8_e5m2", "fp2")
    )
    found = listed(table=[lossy], lossy=True)
    assert [each.tried for each in found.planned] == [("fp8_e5m2",)]
    assert [(each.value, each.why) for each in found.left_out] == [
        ("fp2", "this version does not know the value (pkg/args.py:7)")
    ]


def test_what_the_user_names_needs_the_word_too_where_it_is_lossy() -> None:
    lossy = Knob(flag="--kv-cache-dtype", kind="choice", effect="kv_cache", risk="lossy")
    for own in (["+kv-cache-dtype=fp8_e5m2"], ["+mixed +kv-cache-dtype=fp8_e5m2"]):
        found = listed(table=[lossy], own=own, only=True)
        assert found.planned == ()
        assert "--lossy is your word" in found.left_out[0].why
        assert len(listed(table=[lossy], own=own, only=True, lossy=True).planned) == 1


def test_the_users_own_come_first_and_values_of_one_option_are_one_candidate() -> None:
    own = ["+max-num-seqs=8", "+max-num-seqs=2", "+mixed +kv-cache-dtype=fp8_e5m2", "+unheard-of=1"]
    found = listed("--max-num-seqs", "4", table=[SEQS, knob("--enforce-eager")], own=own)
    assert [(each.name, each.origin) for each in found.planned] == [
        ("--max-num-seqs", "own"),
        ("+--mixed, +--kv-cache-dtype fp8_e5m2", "own"),
        ("--enforce-eager", "table"),
    ]
    assert [level.text for level in found.planned[0].levels] == ["2", "4", "8"]
    assert found.planned[0].present == 1
    assert found.left_out[0].why == "this version has no --unheard-of"


def test_triage_takes_out_what_does_nothing_here() -> None:
    def ask(change: Change) -> list[Asked]:
        [each] = change.set
        works = each.value == "8"
        why = "read by the scheduler" if works else "the same as now"
        verdict = "effective" if works else "no_op"
        return [Asked(flag=each.flag, value=each.value, tried=works, why=why, verdict=verdict)]

    wanted = Wanted(table=[SEQS], words=(*SERVE, "--max-num-seqs", "2"), model=MODEL)
    found = candidates(wanted, OPTIONS, ask=ask)
    assert [each.tried for each in found.planned] == [("8",)]
    assert found.planned[0].reason == "changes how many requests run at once; read by the scheduler"
    assert [(each.value, each.why) for each in found.left_out] == [
        ("1", "the same as now"),
        ("4", "the same as now"),
    ]


@pytest.mark.parametrize("name", ["sglang", "vllm"])
def test_each_line_of_a_table_can_be_listed(name: str) -> None:
    for each in knobs(ENGINES[name]):
        assert each.flag.startswith("--")
        assert each.values or each.kind == "switch" or each.least is not None, each.flag
        assert each.kind != "steps" or each.step, each.flag
        assert len({one.flag for one in knobs(ENGINES[name])}) == len(knobs(ENGINES[name]))


@pytest.mark.registry
@pytest.mark.timeout(300)
def test_most_of_the_tables_are_declared_by_real_releases(engine_tree: EngineTree) -> None:
    from assay.source.declaring.reader import read_declarations

    tree = engine_tree("0.5.10")
    declared = read_declarations(tree, ENGINES["sglang"], lambda _file, _total=None: None)
    wanted = Wanted(table=knobs(ENGINES["sglang"]), words=SERVE, model=MODEL, lossy=True, prefixes=True)
    found = candidates(wanted, declared.options)
    missing = [each.name for each in found.left_out if each.why == "this version has no such option"]
    assert missing == []


@pytest.mark.parametrize(
    ("words", "own", "levels"),
    [
        (("--no-enable-prefix-caching", "--enforce-eager"), "+enable-prefix-caching", ["off", "on"]),
        (("--enable-prefix-caching", "--enforce-eager"), "+no-enable-prefix-caching", ["on", "off"]),
        (("--enforce-eager",), "+enable-prefix-caching", ["as it is", "on"]),
        (("--mixed", "--enforce-eager"), "+no-enforce-eager", ["on", "off"]),
    ],
)
def test_a_switch_has_no_value_of_the_word_behind_it(
    words: tuple[str, ...], own: str, levels: list[str]
) -> None:
    [found] = listed(*words, own=[own], only=True).planned
    assert [level.text for level in found.levels] == levels
