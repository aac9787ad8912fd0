"""What a waiting user is told: rates, silence, streams that say nothing any more."""

from __future__ import annotations

import io

import msgspec

from assay.bench import Level, Report
from assay.cli.bench_progress import BenchProgress

LEVEL = Level(requests=20, concurrency=4)
REPORT = Report(sent=8, done=4, failed=1, in_flight=3, quiet_s=0.0)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_stall_is_named_once_where_lines_stay() -> None:
    stream = io.StringIO()
    with BenchProgress(stream) as progress:
        for quiet in (0.0, 4.9, 5.1, 6.0, 0.1, 7.0):
            progress(LEVEL, msgspec.structs.replace(REPORT, quiet_s=quiet))
    lines = stream.getvalue().splitlines()
    assert lines[0] == "assay: concurrency 4: 20 requests ..."
    assert [line.partition("nothing has come for ")[2] for line in lines[1:]] == [
        "5 s, 3 in flight",
        "7 s, 3 in flight",
    ]


def test_streams_that_fell_silent_are_named_while_others_go_on() -> None:
    stream = io.StringIO()
    with BenchProgress(stream) as progress:
        for silent in (0, 2, 2, 0):
            progress(LEVEL, msgspec.structs.replace(REPORT, silent=silent))
    assert stream.getvalue().count("2 of 3 requests in flight brought nothing for 5 s") == 1


def test_a_terminal_shows_how_far_it_is() -> None:
    stream = Terminal()
    with BenchProgress(stream) as progress:
        progress(LEVEL, REPORT)
        progress(LEVEL, msgspec.structs.replace(REPORT, quiet_s=9.0))
        progress(LEVEL, msgspec.structs.replace(REPORT, silent=1))
    shown = stream.getvalue()
    assert "5/20, 3 in flight, 1 failed" in shown
    assert "s left" in shown
    assert "nothing has come for 9 s" in shown
    assert "1 silent" in shown
    assert shown.endswith("\r\x1b[K")
