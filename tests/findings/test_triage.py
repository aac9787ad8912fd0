"""Triage of whole deployments: a finding for every option, what nobody asked for, what to do."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from assay.findings import SUBKIND, Case, Triage, triage
from assay.findings.words import find_option

pytestmark = [pytest.mark.registry, pytest.mark.timeout(300)]
GetCase = Callable[[str, str], Case]


@pytest.fixture(scope="module")
def hybrid(case: GetCase) -> Triage:
    return triage(case("qwen35-sm120", "0.5.9"))


def test_every_option_has_a_finding_with_evidence(hybrid: Triage, case: GetCase) -> None:
    options = [
        each for each in case("qwen35-sm120", "0.5.9").source.declarations.options if each.action != "help"
    ]
    assert len(hybrid.findings) == len(options) == sum(hybrid.counts.values())
    for found in hybrid.findings:
        assert found.verdict == SUBKIND[found.subkind].verdict
        assert found.evidence, found.option
        assert found.summary
        assert found.verdict != "unknown" or found.open_atoms, found.option


def test_what_is_silently_off_is_named_with_line_and_reason(hybrid: Triage) -> None:
    told = {each.field: each for each in hybrid.unasked}
    prefix, overlap = told["disable_radix_cache"], told["disable_overlap_schedule"]
    assert prefix.summary.startswith("prefix caching: off")
    assert prefix.evidence[0].line == 1764
    assert "not supported with radix cache" in prefix.warning
    assert overlap.summary.startswith("overlap scheduling: off")
    assert any("SGLANG_ENABLE_SPEC_V2" in atom for guard in overlap.guards for atom in guard.atoms)
    assert told["max_running_requests"].value == 48


def test_overlap_is_off_under_0_5_10_too(case: GetCase) -> None:
    from assay.findings.unasked import unasked

    told = {each.field for each in unasked(case("qwen35-sm120-xbuf", "0.5.10"))}
    assert "disable_overlap_schedule" in told
    assert "disable_radix_cache" not in told


def test_what_is_taken_for_granted_is_said(hybrid: Triage) -> None:
    assert [each.depends_on for each in hybrid.premises] == [("fact cudnn.version",)]


def test_the_order_of_what_to_do(hybrid: Triage) -> None:
    order = ("mend", "take_out", "try", "decide")
    ranks = [order.index(each.status) for each in hybrid.todo]
    assert ranks == sorted(ranks)
    assert len({each.option for each in hybrid.todo}) == len(hybrid.todo)


def test_it_survives_json(hybrid: Triage) -> None:
    assert b'"with":' in msgspec.json.encode(hybrid)
    assert len(msgspec.json.encode(hybrid)) < 4_000_000


def test_options_are_found_by_flag_and_field(case: GetCase) -> None:
    declarations = case("qwen35-sm120", "0.5.9").source.declarations
    for option in declarations.options:
        for flag in option.flags:
            assert find_option(declarations, flag) == option
        if option.field and option.action != "help":
            found = find_option(declarations, option.field)
            assert found is not None
            assert found.field == option.field
