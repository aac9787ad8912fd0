"""`assay compare`: text for 80 columns, JSON, and the exit code for each outcome."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from assay.cli import main

GOLDEN = Path(__file__).parents[1] / "bench" / "results" / "sglang-0.5.23.jsonl"
ONE = json.loads(GOLDEN.read_text().splitlines()[0])


def arm(folder: Path, name: str, throughputs: Sequence[float]) -> str:
    """Files of SGLang's tool with these throughputs."""
    (folder / name).mkdir()
    for number, each in enumerate(throughputs):
        path = folder / name / f"{number}.jsonl"
        path.write_text(json.dumps({**ONE, "output_throughput": each, "tag": name}))
    return str(folder / name)


CASES = [
    ([100, 101, 99.5], 0, "same or better"),
    ([90, 91, 89.5], 1, "worse"),
    ([100], 2, "one run of an arm: no verdict"),
]


@pytest.mark.parametrize(("b", "code", "said"), CASES)
def test_the_exit_code_is_the_outcome(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], b: Sequence[float], code: int, said: str
) -> None:
    words = ["compare", arm(tmp_path, "a", [100, 101, 99.6]), arm(tmp_path, "b", b)]
    assert main(words) == code
    text = capsys.readouterr().out
    assert f"concurrency 2: {'inconclusive: ' if code == 2 else ''}{said}" in text
    assert "* output_throughput" in text
    if code < 2:
        assert re.search(r"output_throughput +100.2 +\S+ +[+-]\d+\.\d +[+-]\d+\.\d to [+-]\d+\.\d \S", text)
    assert max(map(len, text.splitlines())) <= 80
    assert main([*words, "--json"]) == code
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "assay.compare/1"
    assert document["outcome"] == ["same", "worse", "inconclusive"][code]
    assert len(document["b"]) == len(b)


def test_doubts_give_no_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = arm(tmp_path, "a", [100, 101]), arm(tmp_path, "b", [50, 51])
    line = json.dumps({**ONE, "output_throughput": 50.5, "completed": 60, "errors": ["\x1b[31mboom"] * 10})
    (tmp_path / "b" / "9.jsonl").write_text(line)
    assert main(["compare", a, b]) == 3
    shown = capsys.readouterr().out
    assert "doubt: B, 1 of 3 runs: 10 of 70 requests failed [failed-requests]" in shown
    assert "\x1b" not in shown


def test_absurd_figures_stay_in_their_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = arm(tmp_path, "a", [1e299, 2e299]), arm(tmp_path, "b", [1e-320, 2e-320])
    main(["compare", a, b])
    main(["compare", b, arm(tmp_path, "c", [100, 1e9, 1])])
    main(["compare", b, a, "--json"])
    text, _, _ = capsys.readouterr().out.partition("{")
    assert max(map(len, text.splitlines())) <= 80


def test_a_load_of_any_length_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in "ab":
        text = json.dumps({**ONE, "max_concurrency": 1e299, "tag": name})
        (tmp_path / f"{name}.json").write_text(text)
    main(["compare", str(tmp_path / "a.json"), str(tmp_path / "b.json")])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_a_table_of_rows_that_say_nothing_fits_80_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["compare", arm(tmp_path, "a", [100, 300]), arm(tmp_path, "b", [12345678, 400])])
    text = capsys.readouterr().out
    assert re.search(r"output_throughput .* to .* inconclusive", text)
    assert max(map(len, text.splitlines())) <= 80


def test_what_is_asked_wrongly_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = arm(tmp_path, "a", [100, 101]), arm(tmp_path, "b", [50, 51])
    assert main(["compare", a, b, "--margin", "0"]) == 2
    assert main(["compare", a, str(tmp_path / "none")]) == 2
    assert main(["compare", a, ","]) == 2
    assert "names no result file" in capsys.readouterr().err
    assert main(["compare", a, b, "--metric", "speed"]) == 2
    assert "no figure of that name" in capsys.readouterr().err
    assert main(["compare", a, b, "--margin", "60"]) == 0


def pairs(folder: Path, gain: float) -> tuple[str, str]:
    """Four pairs A B, B A, A B, B A at two loads of a machine that drifts; the gain is at the second."""
    (folder / "a").mkdir()
    (folder / "b").mkdir()
    for at, name in enumerate("abbaabba"):
        lines = []
        for load, effect in ((1, 0.0), (64, gain)):
            factor = 1 + 0.002 * at + 0.003 * ((7 * at + load) % 3) + (effect if name == "b" else 0)
            lines.append({**ONE, "max_concurrency": load, "output_throughput": 100 * load * factor})
        date = f"2026-01-01T{at:02}:00:00"
        text = "\n".join(json.dumps({**each, "date": date, "tag": name}) for each in lines)
        (folder / name / f"{at}.jsonl").write_text(text)
    return str(folder / "a"), str(folder / "b")


@pytest.mark.parametrize(("gain", "outcome"), [(0.05, "ship"), (0.0, "not_shown"), (-0.09, "revert")])
def test_pairs_of_fresh_starts_give_a_decision(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], gain: float, outcome: str
) -> None:
    words = ["compare", *pairs(tmp_path, gain)]
    main(words)
    text = capsys.readouterr().out
    assert f"decision: {outcome.replace('_', ' ')}: " in text
    assert re.search(r"\n  \* concurrency 64 +[+-]\d+\.\d +[+-]\d+\.\d to [+-]\d+\.\d +[+-]\d+\.\d \w", text)
    assert "4 pairs, 8 starts" in text
    assert max(map(len, text.splitlines())) <= 80
    main([*words, "--json", "--primary", "concurrency 64"])
    decision = json.loads(capsys.readouterr().out)["decision"]
    assert (decision["outcome"], decision["pairs"], decision["primary"]) == (outcome, 4, "concurrency 64")
    assert [each["level"] for each in decision["levels"]] == ["concurrency 64", "concurrency 1"]
    assert main([*words, "--primary", "concurrency 3"]) == 2


def test_runs_in_blocks_give_no_decision(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["compare", arm(tmp_path, "a", [100, 101, 99.6]), arm(tmp_path, "b", [110, 111, 109.6])])
    assert "decision: none; the runs are no pairs" in capsys.readouterr().out


def test_what_cannot_be_printed_is_no_verdict(tmp_path: Path) -> None:
    """Exit code 1 would say that B is worse."""
    program = [sys.executable, "-m", "assay", "compare"]
    a, b = arm(tmp_path, "a", [100, 101, 99.6]), arm(tmp_path, "b", [100, 101, 99.5])
    with open("/dev/full", "w") as full:
        missing = subprocess.run([*program, a, f"{b}no"], check=False, stderr=full, timeout=60)
        assert missing.returncode == 2
        words = [*program, a, b]
        found = subprocess.run(words, check=False, stdout=full, stderr=subprocess.PIPE, timeout=60)
        assert (found.returncode, b"cannot write" in found.stderr) == (4, True)
