"""Options set at once: independent, conflicting, or one sets the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from assay.findings import Case, Together, ask, find_together

pytestmark = [pytest.mark.registry, pytest.mark.timeout(300)]
GetCase = Callable[[str, str], Case]


def together(case: Case, *asked: tuple[str, Any]) -> Together:
    return find_together(case, asked, [ask(case, name, value) for name, value in asked])


def test_independent(case: GetCase) -> None:
    found = together(case("llama8b-h100", "0.5.9"), ("schedule_policy", "lpm"), ("enable_metrics", True))
    assert [each.relation for each in found.pairs] == ["independent"]
    assert found.starts


def test_one_moves_the_other(case: GetCase) -> None:
    found = together(
        case("llama8b-h100", "0.5.9"), ("kv_cache_dtype", "fp8_e5m2"), ("attention_backend", "fa3")
    )
    assert [each.relation for each in found.pairs] == ["conflicting"]
    assert found.pairs[0].evidence


def test_both_are_refused(case: GetCase) -> None:
    of = case("llama8b-h100", "0.5.9")
    found = together(of, ("enable_hierarchical_cache", True), ("disable_radix_cache", True))
    assert [each.relation for each in found.pairs] == ["conflicting"]
    assert not found.starts
    assert "mutually exclusive" in found.failure


def test_one_lets_the_other_start(case: GetCase) -> None:
    of = case("qwen35-sm120", "0.5.9")
    found = together(of, ("enable_hierarchical_cache", True), ("mamba_scheduler_strategy", "extra_buffer"))
    assert [each.relation for each in found.pairs] == ["one_sets_the_other"]
    assert found.starts


def test_one_sets_the_other(case: GetCase) -> None:
    of = case("llama8b-h100", "0.5.9")
    found = together(of, ("kv_cache_dtype", "fp8_e5m2"), ("attention_backend", "triton"))
    assert [each.relation for each in found.pairs] == ["one_sets_the_other"]


def test_names_that_are_missing_are_only_findings(case: GetCase) -> None:
    found = together(case("llama8b-h100", "0.5.9"), ("no_such", True), ("enable_metrics", True))
    assert found.pairs == ()
    assert found.findings[0].subkind == "missing"
