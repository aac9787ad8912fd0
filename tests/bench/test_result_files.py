"""Result files of other tools, written by these tools against a server with 20 ms TTFT and 5 ms ITL."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.bench import FIGURES, Measurement, compare, read_arm, read_run
from assay.decisions import decide_files
from assay.errors import InputError
from assay.reports import compare_json, compare_text, decision_text

RESULTS = Path(__file__).parent / "results"

FILES = [
    ("vllm-0.32.0.json", "vllm bench serve", ["concurrency 4", "20 req/s, burstiness 0.5"], [False, True]),
    ("sglang-0.5.23.jsonl", "sglang.bench_serving", ["concurrency 2", "concurrency 4"], [False, False]),
    ("sglang-0.5.23-all-at-once.jsonl", "sglang.bench_serving", ["all at once"], [False]),
    (
        "guidellm-0.8.1.json",
        "guidellm",
        ["concurrency 2", "concurrency 4", "20 req/s, constant"],
        [False, False, True],
    ),
    ("aiperf-0.13.0.json", "aiperf", ["concurrency 4"], [False]),
    ("inference-perf-0.7.0.json", "inference-perf", ["concurrency 4"], [False]),
    ("inference-perf-0.7.0-poisson.json", "inference-perf", ["20 req/s"], [True]),
]


@pytest.mark.parametrize(("name", "tool", "loads", "is_open"), FILES, ids=[each[0] for each in FILES])
def test_what_a_tool_measured_is_read(name: str, tool: str, loads: list[str], is_open: list[bool]) -> None:
    run = read_run(RESULTS / name)
    assert run.tool == tool
    assert [each.load for each in run.measurements] == loads
    assert [each.open for each in run.measurements] == is_open
    for each in run.measurements:
        assert each.completed in (20, 40, 70, 80)
        assert each.output_tokens == 16 * each.completed
        figures = each.figures
        assert set(figures) <= set(FIGURES)
        assert figures["median_ttft_ms"] == pytest.approx(22, abs=8)
        assert figures["median_tpot_ms"] == pytest.approx(5, abs=0.5)
        assert figures["median_e2el_ms"] == pytest.approx(100, abs=10)
        throughput, requests = figures["output_throughput"], figures["request_throughput"]
        assert throughput == pytest.approx(16 * requests, rel=1e-6)
        assert ("p90_ttft_ms" in figures) == (each.completed >= 64)
        assert "p99_ttft_ms" not in figures  # 662 requests carry it


def test_what_only_some_tools_say() -> None:
    vllm = read_run(RESULTS / "vllm-0.32.0.json")
    assert (vllm.date, vllm.measurements[0].model) == ("20261201-020917", "fake")
    assert vllm.measurements[0].figures["request_goodput"] == pytest.approx(36.45, abs=0.01)
    guidellm = read_run(RESULTS / "guidellm-0.8.1.json")
    assert (guidellm.version, guidellm.date[:13]) == ("0.8.1", "2026-12-01T02")
    assert "median_itl_ms" not in guidellm.measurements[0].figures  # what it calls so is a TPOT
    assert guidellm.measurements[0].objections[0].code == "tool-warns"
    [aiperf] = read_run(RESULTS / "aiperf-0.13.0.json").measurements
    assert aiperf.figures["mean_itl_ms"] == pytest.approx(5.07, abs=0.01)
    assert [each.code for each in aiperf.objections] == ["count-mismatch"]


def test_what_inference_perf_says_of_itself_is_heard(tmp_path: Path) -> None:
    whole = json.loads((RESULTS / "inference-perf-0.7.0-poisson.json").read_text())
    slow = {**whole["load_summary"], "achieved_rate": 15.0}
    counted = {**whole["successes"], "token_count_mismatches": 3}
    changed = one(tmp_path, "inference-perf-0.7.0-poisson.json", load_summary=slow, successes=counted)
    assert [(each.code, each.blocks) for each in changed.objections] == [
        ("below-asked-load", True),
        ("count-mismatch", False),
    ]


def test_a_folder_of_inference_perf_is_its_stages(tmp_path: Path) -> None:
    data = (RESULTS / "inference-perf-0.7.0.json").read_bytes()
    (tmp_path / "stage_0_lifecycle_metrics.json").write_bytes(data)
    (tmp_path / "summary_lifecycle_metrics.json").write_bytes(data)
    (tmp_path / "per_request_lifecycle_metrics.json").write_bytes(b"[]")
    (tmp_path / "validation.json").write_bytes(b"{}")
    [run] = read_arm(str(tmp_path))
    assert [each.load for each in run.measurements] == ["concurrency 4"]


def one(tmp_path: Path, name: str, **changes: Any) -> Measurement:
    """The first run of a file, with some keys changed."""
    document = json.loads((RESULTS / name).read_text().splitlines()[0])
    path = tmp_path / "changed.json"
    path.write_text(json.dumps({**document, **changes}))
    return read_run(path).measurements[0]


def test_runs_that_failed_say_so(tmp_path: Path) -> None:
    def codes(**changes: Any) -> list[str]:
        found = one(tmp_path, "sglang-0.5.23.jsonl", **changes)
        assert all(each.blocks for each in found.objections)
        return [each.code for each in found.objections]

    assert codes() == []
    assert codes(errors=["", "boom"] * 35) == ["failed-requests"]
    assert codes(errors=[""] * 70) == []
    assert codes(completed=0) == ["none-answered"]
    assert codes(median_ttft_ms=0.0, median_itl_ms=0.0) == ["no-latencies"]
    assert one(tmp_path, "vllm-0.32.0.json", failed=3).objections[0].code == "failed-requests"


def test_halves_of_characters_are_taken_out(tmp_path: Path) -> None:
    found = one(tmp_path, "vllm-0.32.0.json", model_id="a\ud800b", backend="\udfff")
    assert (found.model, found.work["backend"]) == ("a?b", "?")
    document = json.loads((RESULTS / "aiperf-0.13.0.json").read_text())
    document["input_config"]["phases"][-1]["requests"] = "\ud800"
    (tmp_path / "x.json").write_text(json.dumps(document))
    assert read_run(tmp_path / "x.json").measurements[0].work["requests"] == "?"


def test_what_was_asked_differs_however_long_it_is(tmp_path: Path) -> None:
    found = []
    for name in "ab":
        document = {"schema": "assay.bench/1", "extra_body": {"x": "y" * 500 + name}, "rungs": [{}]}
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(document))
        found.append(read_run(path).measurements[0].work)
    assert {each for each in found[0] if found[0][each] != found[1][each]} == {"extra_body"}
    assert max(map(len, found[0].values())) < 400


def test_a_trace_is_a_load_of_its_own(tmp_path: Path) -> None:
    found = one(tmp_path, "sglang-0.5.23.jsonl", request_rate="trace")
    assert (found.load, found.open) == ("trace", True)


BAD = [
    "",
    "{",
    "[]",
    "3",
    "{}",
    '{"schema": "assay.bench/9"}',
    '{"completed": 1, "duration": 2}',
    "[" * 10000,
]


@pytest.mark.parametrize("content", [*BAD, '{"benchmarks": [], "metadata": 1}', '{"a":1}\n{"a":'])
def test_what_is_no_result_file_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(InputError, match=r"x\.json"):
        read_run(path)


def test_a_file_that_was_cut_off_says_where(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text((RESULTS / "guidellm-0.8.1.json").read_text()[:2000])
    with pytest.raises(InputError, match=r"no JSON: .* line [2-9]\d+ "):
        read_run(path)


def test_a_device_without_end_is_no_result_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.bench.result_files._MOST_BYTES", 1 << 20)
    with pytest.raises(InputError, match="more than"):
        read_run(Path("/dev/zero"))


def test_an_arm_is_a_file_a_folder_or_a_list(tmp_path: Path) -> None:
    line = (RESULTS / "sglang-0.5.23.jsonl").read_text().splitlines()[0]
    for number in (1, 2):
        (tmp_path / f"{number},x.json").write_text(line + " " * number)
    (tmp_path / "notes.txt").write_text("not read")
    assert len(read_arm(str(tmp_path))) == 2
    assert len(read_arm(str(tmp_path / "1,x.json"))) == 1
    for number in (1, 2):
        (tmp_path / str(number)).write_text(" " * number + line)
    assert len(read_arm(f"{tmp_path}/1,{tmp_path}/2")) == 2
    with pytest.raises(InputError, match="No such file"):
        read_arm(f"{tmp_path}/1,{tmp_path}/none")
    (tmp_path / "3.json").write_bytes((tmp_path / "2,x.json").read_bytes())
    with pytest.raises(InputError, match="same bytes"):
        read_arm(str(tmp_path))
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(InputError, match="file in it"):
        read_arm(str(empty))


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.integers(-(10**400), 10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_no_value_in_a_known_file_breaks_the_reader(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from([each[0] for each in FILES]))
    whole = (RESULTS / name).read_text()
    document = json.loads(whole if name.startswith(("guide", "aiperf")) else whole.splitlines()[0])
    for _ in range(data.draw(st.integers(1, 4))):
        at: Any = document
        while isinstance(at, dict) and at:
            key = data.draw(st.sampled_from(sorted(at)))
            if not isinstance(at[key], dict) or data.draw(st.booleans()):
                at[key] = data.draw(JSON)
                break
            at = at[key]
    path = tmp_path_factory.mktemp("fuzz") / "x.json"
    path.write_text(json.dumps(document))
    try:
        run = read_run(path)
        found = compare([run], [read_run(RESULTS / name)])
    except InputError:
        return
    for each in run.measurements:
        assert all(math.isfinite(value) for value in each.figures.values())
    decision = decide_files(found)
    json.loads(compare_json(found, decision))
    for text in (compare_text(found), decision_text(decision)):
        assert all(line.isprintable() for line in text.splitlines())
