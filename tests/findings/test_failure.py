"""A command that does not start: the line, what mends it, and what is said of other options."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from assay.findings import Case, Triage, ask, triage

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
