"""The documentation says what is: links lead somewhere, verbs, options and rules are documented."""

import re
from pathlib import Path

import pytest

from assay.diagnostics import RULES
from assay.findings import SUBKIND, SUBKINDS

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_paths_that_pages_name_exist(page: Path) -> None:
    pattern = r"`((?:src|docs|tests|scripts|examples|benchmarks)/[\w./-]+)`"
    for path in re.findall(pattern, page.read_text()):
        assert (ROOT / path).exists(), path


def test_every_rule_says_all_that_a_reader_asks() -> None:
    for rule in RULES:
        for text in (rule.finds, rule.matters, rule.evidence, rule.limits):
            assert text.endswith(".")
    assert len({rule.code for rule in RULES}) == len({rule.name for rule in RULES}) == len(RULES)


def test_every_subkind_says_what_it_means_and_what_to_do() -> None:
    for each in SUBKINDS:
        assert each.meaning.endswith(".")
        assert each.to_do.endswith(".")
        assert not each.title.endswith(".")
    assert len(SUBKIND) == len(SUBKINDS)


def test_the_readmes_commands_are_those_of_the_makefile() -> None:
    readme, makefile = (ROOT / "README.md").read_text(), (ROOT / "Makefile").read_text()
    for target in re.findall(r"[$`] ?make (\w+)", readme):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    assert "make test" in (ROOT / ".ci/run").read_text()
