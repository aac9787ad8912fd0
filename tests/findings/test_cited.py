"""Which lines are cited, and in which order."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from assay.findings import Case, ask
from assay.findings.cited import MOST, few
from assay.findings.finding import Evidence

GetCase = Callable[[str, str], Case]


def line(at: int) -> Evidence:
    return Evidence(file="x.py", line=at, text="", says=f"says {at}")


def test_each_line_is_cited_once_and_few_are() -> None:
    assert few([line(2), line(1), line(2)]) == (line(2), line(1))
    assert len(few(map(line, range(50)))) == MOST


@pytest.mark.registry
@pytest.mark.timeout(300)
def test_a_second_failure_is_cited_before_that_of_the_command(case: GetCase) -> None:
    found = ask(case("qwen35-sm120", "0.5.9"), "attention_backend", "fa3")
    assert found.subkind == "raises_in_worker"
    assert found.evidence[0].file.endswith("attention_registry.py")
    assert "does not start without it either" in found.summary
