"""A command that does not start: the line, what mends it, and what is said of other options."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from assay.findings import Case, Triage, ask, triage
from assay.flow import Baseline, Difference, Guard, Step
from assay.source import Site

pytestmark = [pytest.mark.registry, pytest.mark.timeout(300)]
GetCase = Callable[[str, str], Case]


@pytest.fixture(scope="module")
def plain(case: GetCase) -> Triage:
    return triage(case("qwen35-sm120", "0.5.10"))


def test_the_line_and_the_settings_that_mend_it(plain: Triage) -> None:
    assert plain.failure is not None
    assert plain.failure.evidence[0].line == 2206
    assert "not compatible with radix cache" in plain.failure.message
    settings = [str(remedy) for remedy in plain.remedies if not remedy.leave_out]
    assert sorted(settings) == ["--disable-radix-cache", "--mamba-scheduler-strategy extra_buffer"]
    assert [str(each) for each in plain.remedies if each.leave_out] == ["without --speculative-algorithm"]


def test_only_those_settings_are_effective(plain: Triage) -> None:
    effective = {each.option: each.subkind for each in plain.findings if each.verdict == "effective"}
    assert effective == {
        "--disable-radix-cache": "required_to_start",
        "--mamba-scheduler-strategy": "required_to_start",
    }
    others = {each.verdict for each in plain.findings if each.option not in effective}
    assert others == {"incompatible"}


def test_the_todo_list_begins_with_them(plain: Triage) -> None:
    assert [each.status for each in plain.todo[:2]] == ["mend", "mend"]


def test_another_option_names_the_commands_own_failure(case: GetCase) -> None:
    found = ask(case("qwen35-sm120", "0.5.10"), "enable_metrics", True)
    assert found.subkind == "command_does_not_start"
    assert "not compatible with radix cache" in found.summary


def test_the_option_that_breaks_it_says_so(case: GetCase) -> None:
    found = ask(case("qwen35-sm120", "0.5.10"), "speculative_algorithm", "NEXTN")
    assert found.subkind == "rejected_at_start"


def test_an_option_without_which_the_rest_does_not_start(case: GetCase) -> None:
    """Options of the command that are only there because of each other."""
    found = ask(case("qwen35-sm120", "0.5.9"), "speculative_eagle_topk", 1)
    assert found.subkind == "required_to_start"


SITE = Site(file="sglang/srt/x.py", line=7, text="raise KeyError(major)")


def stopped(base: Baseline) -> Difference | None:
    """A worker that only runs without CUDA graphs."""
    held = base.resolution.field("disable_cuda_graph")
    if held is None or held.value:
        return None
    atoms = ("option disable_cuda_graph",)
    guard = Guard(text="not args.x", site=SITE, taken=True, state="holds", decided_by=atoms)
    step = Step(site=SITE, says="raises KeyError")
    return Difference(outcome="raises", effect=step, message="KeyError: 12", guards=(guard,))


def test_a_worker_that_stops_is_a_failure_too(case: GetCase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Baseline, "failure", property(stopped))
    shared = case("llama8b-h100", "0.5.9")
    found = triage(shared.anew(shared.source))
    assert found.failure is not None
    assert (found.failure.phase, found.failure.message) == ("worker", "KeyError: 12")
    assert found.failure.evidence[0].line == 7
    assert [str(each) for each in found.remedies] == ["--disable-cuda-graph"]
    subkinds = {each.option: each.subkind for each in found.findings}
    assert subkinds.pop("--disable-cuda-graph") == "required_to_start"
    assert set(subkinds.values()) == {"command_does_not_start"}
