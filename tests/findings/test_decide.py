"""Verdicts that the parser and start-up code decide, on real releases: known answers and their lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from assay.findings import SUBKIND, Case, Finding, ask

pytestmark = [pytest.mark.registry, pytest.mark.timeout(300)]
GetCase = Callable[[str, str], Case]
Q, L, D = "qwen35-sm120", "llama8b-h100", "dsv3-h200"

KNOWN = [
    (Q, "enable_fused_moe_sum_all_reduce", True, "missing", 2890),
    (Q, "num_continuous_decode_steps", 4, "nobody_reads", 4670),
    (L, "num_continuous_decode_steps", 4, "nobody_reads", 4670),
    (Q, "speculative_ngram_match_type", "PROB", "nobody_reads", 488),
    (Q, "file_storage_path", "/x", "nobody_reads", 411),
    (Q, "debug_tensor_dump_inject", True, "nobody_reads", 652),
    (Q, "hybrid_kvcache_ratio", True, "accepted_and_ignored", None),
    (Q, "cuda_graph_max_bs", 512, "set_at_start", 985),
    (L, "cuda_graph_max_bs", 256, "set_at_start", 973),
    (D, "cuda_graph_max_bs", 512, "set_at_start", 985),
    (Q, "disable_overlap_schedule", True, "set_at_start", 2384),
    (Q, "disable_radix_cache", True, "set_at_start", 1764),
    (Q, "max_running_requests", 48, "set_at_start", 2363),
    (L, "attention_backend", "fa3", "set_at_start", 1803),
    (D, "attention_backend", "fa3", "set_at_start", 1822),
    (L, "mem_fraction_static", 0.835, "set_at_start", 1059),
    (L, "chunked_prefill_size", 8192, "set_at_start", 970),
    (D, "chunked_prefill_size", 8192, "set_at_start", 2117),
    (L, "disable_radix_cache", False, "declared_default", None),
    (L, "schedule_policy", "fcfs", "declared_default", None),
    (Q, "attention_backend", "trtllm_mha", "rejected_at_start", 1900),
    (Q, "enable_hierarchical_cache", True, "rejected_at_start", 2686),
    (Q, "enable_two_batch_overlap", True, "rejected_at_start", 5259),
    (L, "enable_eplb", True, "rejected_at_start", 2243),
    (Q, "enable_dp_lm_head", True, "overridden", 2112),
    (Q, "enable_dp_attention", True, "overridden", 2111),
    (Q, "disable_radix_cache", False, "overridden", 1764),
    (Q, "speculative_num_draft_tokens", 8, "overridden", 2450),
    (Q, "attention_backend", "no-such", "not_a_choice", None),
    (Q, "tp_size", "many", "wrong_type", None),
    (Q, "enable_metrics", "maybe", "wrong_type", None),
    (Q, "model_path", "Qwen/Qwen3.5-122B-A10B", "required_to_start", None),
]


@pytest.mark.parametrize(
    ("example", "name", "value", "subkind", "line"), KNOWN, ids=lambda each: str(each)[:40]
)
def test_known_answers_of_0_5_9(
    case: GetCase, example: str, name: str, value: Any, subkind: str, line: int | None
) -> None:
    found = ask(case(example, "0.5.9"), name, value)
    assert (found.verdict, found.subkind) == (SUBKIND[subkind].verdict, subkind), found.summary
    assert line is None or any(abs(each.line - line) <= 3 for each in found.evidence), found.evidence
    assert found.evidence, "no finding without evidence"


def test_text_of_a_command_line_and_values_ask_the_same(case: GetCase) -> None:
    of = case(Q, "0.5.9")
    assert ask(of, "--max-running-requests", "48") == ask(of, "max_running_requests", 48)
    assert ask(of, "disable_radix_cache", "true") == ask(of, "--disable-radix-cache", True)


def test_a_missing_option_names_releases_and_the_nearest(case: GetCase) -> None:
    found = ask(case(Q, "0.5.9"), "enable_fused_moe_sum_all_reduce", True)
    assert "0.5.10 and later" in found.summary
    near = ask(case(Q, "0.5.9"), "--max-runing-requests", 4)
    assert "--max-running-requests" in near.summary
    assert any("--max-running-requests" in each.text for each in near.evidence)


def test_a_refused_option_cites_who_set_what_it_conflicts_with(case: GetCase) -> None:
    found = ask(case(Q, "0.5.9"), "enable_hierarchical_cache", True)
    assert any(each.line == 1764 for each in found.evidence), found.evidence
    assert "mutually exclusive" in found.summary


def test_an_option_of_the_command_is_compared_with_the_command_without_it(case: GetCase) -> None:
    found = ask(case(Q, "0.5.9"), "attention_backend", "triton")
    assert found.resolved is not None
    assert found.resolved.without.value == "flashinfer"
    assert found.resolved.with_.value == "triton"


def test_side_effects_are_named_with_their_lines(case: GetCase) -> None:
    found = ask(case(L, "0.5.9"), "kv_cache_dtype", "fp8_e5m2")
    assert found.verdict == "effective"
    moved = {each.field: (each.without, each.with_, each.line) for each in found.side_effects}
    assert moved["attention_backend"][:2] == ("fa3", "triton")
    assert moved["attention_backend"][2]


@pytest.mark.parametrize("found_at", ["disable_radix_cache", "cuda_graph_max_bs"])
def test_guards_name_state_and_atoms(case: GetCase, found_at: str) -> None:
    value = {"disable_radix_cache": True, "cuda_graph_max_bs": 512}[found_at]
    found: Finding = ask(case(Q, "0.5.9"), found_at, value)
    assert found.guards
    for guard in found.guards:
        assert guard.state in ("true", "false")
        assert guard.atoms
    assert (
        found.guards[-1].expr
        == {
            "disable_radix_cache": "self.speculative_algorithm is None",
            "cuda_graph_max_bs": "self.tp_size < 4",
        }[found_at]
    )
