"""Command lines of the two runs: an option is taken out however it is written, and put in at any value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.flow.oracle import engine_source, words

from assay.findings import values_to_ask
from assay.findings.words import added, find_option, given_in, less_entries, wording
from assay.findings.words import without as less
from assay.source import ConfigEntry, Declarations, Option, parse

pytestmark = pytest.mark.registry


@pytest.fixture(scope="module")
def declarations(engine_tree: Callable[[str], Path]) -> Declarations:
    return engine_source(engine_tree("0.5.10")).declarations


def option_of(declarations: Declarations, name: str) -> Option:
    found = find_option(declarations, name)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("tp_size", "--tp-size 4"),
        ("tp_size", "--tp-size=4"),
        ("tp_size", "--tp 4"),
        ("tp_size", "--tensor-parallel 4"),
        ("tp_size", "--tp 2 --tp-size 4"),
        ("tp_size", "--tp-size four"),
        ("enable_metrics", "--enable-metrics"),
        ("cuda_graph_bs", "--cuda-graph-bs 1 2 4"),
        ("lora_target_modules", "--lora-target-modules q_proj k_proj"),
        ("experts_shared_outer_loras", "--no-experts-shared-outer-loras"),
    ],
)
def test_all_spellings_are_taken_out(declarations: Declarations, name: str, written: str) -> None:
    option = option_of(declarations, name)
    line = words("--model-path", "m", *written.split(), "--port", "1")
    parsed = parse(declarations, line)
    assert given_in(parsed, option)
    left = less(parsed, line, option)
    assert [word.text for word in left] == ["--model-path", "m", "--port", "1"]


def test_an_entry_of_the_file_of_arguments_is_taken_out(declarations: Declarations) -> None:
    def read(path: str) -> Sequence[ConfigEntry]:
        del path
        return (ConfigEntry(key="tp-size", value=4), ConfigEntry(key="port", value=1))

    line = words("--model-path", "m", "--config", "f.yaml")
    parsed = parse(declarations, line, read)
    option = option_of(declarations, "tp_size")
    reader = less_entries(read, parsed, option)
    again = parse(declarations, less(parsed, line, option), reader)
    assert not given_in(again, option)
    assert any(given.option.dest == "port" for given in again.given)


@pytest.mark.parametrize(
    ("name", "value", "stored"),
    [
        ("tp_size", 4, 4),
        ("tp_size", "4", 4),
        ("enable_metrics", True, True),
        ("enable_metrics", "false", False),
        ("cuda_graph_bs", [1, 2], [1, 2]),
        ("cuda_graph_bs", "[1, 2]", [1, 2]),
        ("cuda_graph_bs", "8", [8]),
        ("lora_target_modules", "all", ["all"]),
        ("mm_process_config", {"image": {"a": 1}}, {"image": {"a": 1}}),
        ("mm_process_config", '{"image": {}}', {"image": {}}),
        ("experts_shared_outer_loras", False, False),
        ("chat_template", "-x", "-x"),
        ("chat_template", "a b", "a b"),
        ("stream_interval", -1, -1),
    ],
)
def test_values_arrive(declarations: Declarations, name: str, value: Any, stored: Any) -> None:
    option = option_of(declarations, name)
    given = wording(option, value)
    assert not given.refusal
    parsed = parse(declarations, added(words("--model-path", "m"), given.words))
    assert parsed.problems == ()
    assert parsed.namespace[option.dest].value == stored


def test_every_value_that_triage_asks_about_parses(declarations: Declarations) -> None:
    """But for choices of other kinds, each is what its option's type takes."""
    for option in declarations.options:
        if option.action == "help" or option.dest == "config":
            continue
        for value in values_to_ask(option, option.default.value if option.default.known else None):
            parsed = parse(declarations, added(words("--model-path", "m"), wording(option, value).words))
            assert [each.message for each in parsed.problems] == [], option.flags
