"""The page of a run: whole, without scripts, and harmless whatever a server said."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from assay.bench import Level, RandomPrompts, RunInfo, Sending, Workload, measure, slos
from assay.reports import bench_html
from assay.reports.charts import line_chart
from tests.bench.servers import Scripted, Step, event, said, streamed, usage

EVIL = "<script>alert(1)</script>\x1b[31m\u202e"


class Tags(HTMLParser):
    """Collects tags, and checks that they nest."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.append(tag)
        assert not any(name.startswith("on") or name in ("src", "href") for name, _ in attrs)
        if tag not in ("meta", "line", "circle", "polyline", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.open[-1] in ("dt", "dd", "li") and tag != self.open[-1]:
            self.open.pop()
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: Any) -> None:  # noqa: ARG002 - as the base has it
        self.seen.append(tag)


def test_a_page_is_whole_and_nothing_in_it_runs() -> None:
    def answer(_connection: int, nth: int, _request: bytes) -> list[Step]:
        if nth == 3:
            return streamed(event({"error": EVIL}))
        return streamed(said("a"), said("b", "stop"), usage(8, 2))

    server = Scripted(answer)
    try:
        sending = Sending(model=f"m{EVIL}", endpoint="/v1/chat/completions")
        workload = Workload(sending=sending, prompts=RandomPrompts(input_tokens=8, output_tokens=2))
        levels = [Level(requests=12, concurrency=n, slos=slos(["ttft:1000"])) for n in (1, 2)]
        rungs = list(measure(server.where, workload, levels))
        info = RunInfo(where=server.where, workload=workload, started="2026-01-01", assay="0")
    finally:
        server.stop()
    kept = {rung.number: records for rung, records in rungs}
    page = bench_html(info, [rung for rung, _ in rungs], lambda rung: kept[rung.number])
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert "script" not in tags.seen
    assert 2 + 4 * 2 <= tags.seen.count("svg") <= 2 + 5 * 2  # no gaps where both events came in one read
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "&lt;script&gt;" in page
    assert page.index("errors-inside-200") < page.index("<h2>Ladder</h2>")  # doubts first
    assert "default-src 'none'" in page


def test_charts_stand_in_their_frame() -> None:
    chart = line_chart("t", "x", "y", [("a", [(0, 0), (7, 30)]), ("b", [(3, 31)])])
    assert 'points="62.0,200.0' in chart
    assert "&#9644;" in chart
    assert line_chart("t", "x", "y", [("a", [])]) == ""
    assert line_chart("t", "x", "y", [("a", [(0, 0)])])
