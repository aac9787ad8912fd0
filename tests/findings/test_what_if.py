"""One change of the deployment, and the answer that it brings."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from assay.findings import Case, ask, what_if

pytestmark = [pytest.mark.registry, pytest.mark.timeout(300)]
GetCase = Callable[[str, str], Case]


def test_another_capability(case: GetCase) -> None:
    of = case("qwen35-sm120", "0.5.9")
    found = ask(of, "attention_backend", "trtllm_mha")
    told = {each.change: each for each in what_if(of, found)}
    assert found.subkind == "rejected_at_start"
    assert told["accelerator.capability = [10, 0]"].verdict != "incompatible"


def test_another_option(case: GetCase) -> None:
    of = case("qwen35-sm120", "0.5.9")
    told = {each.change for each in what_if(of, ask(of, "disable_radix_cache", True))}
    assert {"without --speculative-algorithm", '--mamba-scheduler-strategy "extra_buffer"'} <= told


def test_the_deployment_itself_is_left_as_it_was(case: GetCase) -> None:
    of = case("llama8b-h100", "0.5.9")
    before = ask(of, "attention_backend", "fa3")
    what_if(of, before)
    assert ask(of, "attention_backend", "fa3") == before
