"""Text reports: golden blocks, narrow terminals, secrets, hostile characters."""

import re

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from assay.deployment import Edit, UserFile
from assay.diagnostics import Diagnostic, EngineSeen, Evidence, Fix, LintResult
from assay.reports import Style, diagnostic_text, lint_text
from assay.source import Site

TEXT = (
    "[Service]\n"
    "Environment=HF_TOKEN=hf_abcdef SGLANG_FO=1\n"
    "ExecStart=python -m sglang.launch_server --tp-siz 4\n"
)
FILE = UserFile(path="llm.service", text=TEXT)
SITE = Site(file="sglang/srt/server_args.py", line=3700, text='"--tensor-parallel-size",')
ENGINE = EngineSeen(
    name="sglang", version="0.5.10", digest="ab" * 32, origin="wheel sglang-0.5.10", chosen_by="--engine"
)


def finding(
    word: str, *, message: str = "sglang 0.5.10 has no option `--tp-siz`", label: str = ""
) -> Diagnostic:
    start = TEXT.index(word)
    return Diagnostic(
        code="ASY101",
        severity="error",
        message=message,
        place=FILE.place(start, start + len(word)),
        label=label,
        evidence=(Evidence(site=SITE, says="declares `--tp-size`"),),
        help="did you mean `--tp-size`?",
        fix=Fix(
            title="write `--tp-size`", edits=(Edit(file=FILE.path, start=start, end=start + 8, text="x"),)
        ),
    )


def result(*found: Diagnostic) -> LintResult:
    return LintResult(
        target="llm.service",
        server="llm.service",
        engine=ENGINE,
        diagnostics=found,
        unknown_words=0,
        files=(FILE,),
        secrets=frozenset(),
    )


def test_a_finding_reads_like_a_compilers() -> None:
    found = finding("--tp-siz", label="unknown option")
    assert diagnostic_text(found, result(found), Style()) == (
        "error[ASY101]: sglang 0.5.10 has no option `--tp-siz`\n"
        " --> llm.service:3:42\n"
        "  |\n"
        "3 | ExecStart=python -m sglang.launch_server --tp-siz 4\n"
        "  |                                          ^^^^^^^^ unknown option\n"
        "  |\n"
        "  = source: sglang/srt/server_args.py:3700: declares `--tp-size`\n"
        '    | "--tensor-parallel-size",\n'
        "  = help: did you mean `--tp-size`?\n"
        "  = fix: `--fix` can write `--tp-size`\n"
    )


def test_the_carets_move_with_what_is_masked() -> None:
    found = finding("SGLANG_FO=1")
    lines = diagnostic_text(found, result(found), Style()).splitlines()
    assert lines[3] == "2 | Environment=HF_TOKEN=*** SGLANG_FO=1"
    assert lines[4].index("^") == lines[3].index("SGLANG_FO")
    assert lines[4].count("^") == len("SGLANG_FO=1")


@given(
    st.integers(40, 120),
    st.text(max_size=200),
    st.integers(0, 199),
    st.integers(0, 60),
    st.text("abc ", max_size=60),
)
def test_lines_fit_whatever_the_users_file_holds(
    width: int, text: str, start: int, length: int, label: str
) -> None:
    start = min(start, len(text))
    file = UserFile(path="f", text=text)
    place = file.place(start, min(len(text), start + length))
    found = Diagnostic(code="ASY101", severity="note", message="m " * 30, place=place, label=label)
    shown = diagnostic_text(found, msgspec.structs.replace(result(found), files=(file,)), Style(width=width))
    for line in shown.splitlines():
        assert len(line) <= width
        assert line.isprintable()


def test_colour_adds_only_escape_sequences() -> None:
    found = finding("--tp-siz", label="unknown option")
    plain = lint_text([result(found)], Style())
    colored = lint_text([result(found)], Style(color=True))
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain
    assert colored != plain


def test_the_summary_says_what_it_was_checked_against() -> None:
    text = lint_text([result()], Style())
    assert "llm.service: nothing to report" in text
    assert "sglang 0.5.10 (wheel sglang-0.5.10; chosen by --engine)" in " ".join(text.split())


def test_what_concerns_several_servers_is_told_once_and_each_is_named() -> None:
    one = result(finding("--tp-siz"))
    results = [msgspec.structs.replace(one, server="a"), msgspec.structs.replace(one, server="b")]
    text = lint_text(results, Style())
    assert text.count("error[ASY101]") == 1
    assert text.endswith(
        "llm.service (a): 1 error; 1 can be mended with --fix\n"
        "llm.service (b): 1 error; 1 can be mended with --fix\n"
        "  checked against sglang 0.5.10 (wheel sglang-0.5.10; chosen by --engine)"
    )


def test_servers_of_one_name_are_told_apart_by_their_lines() -> None:
    results = [msgspec.structs.replace(result(), started_at=FILE.place(at, at + 1)) for at in (0, 12)]
    assert lint_text(results, Style()).splitlines()[:2] == [
        "llm.service:1: nothing to report",
        "llm.service:2: nothing to report",
    ]
