"""The parser of what was recorded: any cut of the same bytes says the same; stamps are those of the reads."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bench.servers import HEAD, LAST, chunk, event, generated, said, streamed, usage

from assay.bench.connection import NO_STAMP, TIMESPEC
from assay.bench.events import EventSplitter
from assay.bench.job import Exchange, Fate
from assay.bench.parse import _Reader, arrivals, parsed

WHOLE = b"".join(
    step for step in streamed(said("é"), said("b", "stop"), usage(3, 2)) if isinstance(step, bytes)
)
OFFSET = 1_700_000_000_000_000_000


def exchange(reads: list[bytes], *, kernel: list[int] | None = None, fate: Fate = "complete") -> Exchange:
    stamps = [1000 * (number + 1) for number in range(len(reads))]
    waited = b"".join(TIMESPEC.pack(*divmod(at + OFFSET, 10**9)) if at else NO_STAMP for at in kernel or ())
    said = waited or NO_STAMP * len(reads)
    return Exchange(0, 1, 1, 0, 0, 500, fate, "", stamps, said, list(map(len, reads)), b"".join(reads))


@given(st.sets(st.integers(1, len(WHOLE) - 1), max_size=12))
def test_any_cut_says_the_same(cuts: set[int]) -> None:
    edges = [0, *sorted(cuts), len(WHOLE)]
    reads = [WHOLE[a:b] for a, b in pairwise(edges)]
    record = parsed(exchange(reads), None)
    assert (record.outcome, record.text_chars, record.completion_tokens) == ("ok", 2, 2)
    assert len(record.events_ns) == 2
    ends = [WHOLE.index(text) + len(text) + 2 for text in (b'"finish_reason": null}]}', b'"stop"}]}')]
    for at, end in zip(record.events_ns, ends, strict=True):
        assert at == 1000 * next(number for number, edge in enumerate(edges) if edge >= end)


@given(st.lists(st.binary(max_size=40), max_size=6), st.sampled_from([b"\n", b"\r\n"]))
def test_events_survive_any_line_end(parts: list[bytes], end: bytes) -> None:
    texts = [part.replace(b"\n", b"").replace(b"\r", b"") for part in parts]
    stream = b"".join(b"data: " + text + end + end for text in texts)
    splitter = EventSplitter()
    found = [event for at in range(len(stream)) for event in splitter.feed(stream[at : at + 1])]
    assert found == texts
    assert splitter.left == b""


ODD = [
    said("a"),
    said("hm", channel="reasoning"),
    said("", "stop"),
    usage(3, 2),
    generated("ab", 2),
    event({"error": "down"}),
    event({"object": "error", "message": "no"}),
    event({"choices": [{"text": "x"}, {"text": "y"}]}),
    event({"choices": [{"delta": {"content": "x", "tool_calls": [{"index": 0}]}}]}),
    event({"choices": [{"delta": {"content": "x", "tool_calls": []}}], "error": None}),
    event("{},{}"),
    event("[1]"),
    event("[DONE]"),
    event("{"),
    b"data: {}\r\n\r\n",
    b"data:{}\n\n",
    b": ping\n\n",
    b"\n",
    b"event: x\ndata: {}\n\n",
    b"data: {\ndata: }\n\n",
]


@given(
    st.lists(st.sampled_from(ODD), max_size=8),
    st.lists(st.integers(1, 2000), max_size=12),
    st.lists(st.integers(1, 2000), max_size=6),
    st.sampled_from([[], [event("[DONE]")]]),
)
def test_taken_at_once_or_read_by_read_it_is_the_same(
    events: list[bytes], chunks: list[int], reads: list[int], end: list[bytes]
) -> None:
    body = b"".join([*events, *end])
    raw = HEAD + b"".join(chunk(part) for part in cut(body, chunks)) + LAST
    recorded = exchange(cut(raw, reads))
    slow = _Reader(recorded, None)
    slow.take_reads()
    assert parsed(recorded, None) == slow.finished()


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted({place for place in places if place < len(data)}), len(data)]
    return [data[a:b] for a, b in pairwise(edges) if b > a]


def test_a_usual_response_is_taken_at_once() -> None:
    assert _Reader(exchange([WHOLE]), None).took_plain()


def test_the_first_answer_is_not_the_first_thought() -> None:
    head, *rest = [
        step
        for step in streamed(said("hm", channel="reasoning"), said("a", "stop"))
        if isinstance(step, bytes)
    ]
    record = parsed(exchange([head, *rest]), None)
    assert (record.events_ns, record.first_answer_ns) == ([2000, 3000], 3000)


def test_comments_and_names_are_passed_over() -> None:
    splitter = EventSplitter()
    assert splitter.feed(b": ping\n\nevent: x\nid: 1\ndata: a\ndata: b\n\n") == [b"a\nb"]


def test_the_kernels_stamp_goes_before_the_reads() -> None:
    assert arrivals(exchange([b"a", b"b"], kernel=[900, 1500]), OFFSET) == ([900, 1500], [100, 500])


@pytest.mark.parametrize(("kernel", "found"), [([900, 800], [900, 900]), ([1500, 1600], [1000, 1600])])
def test_stamps_never_run_backwards_nor_ahead(kernel: list[int], found: list[int]) -> None:
    assert arrivals(exchange([b"a", b"b"], kernel=kernel), OFFSET)[0] == found


def test_without_the_kernels_stamps_reads_count() -> None:
    assert arrivals(exchange([b"a", b"b"]), OFFSET) == ([1000, 2000], [])
    assert arrivals(exchange([b"a"], kernel=[900]), None) == ([1000], [])
    mixed = exchange([b"a", b"b"], kernel=[0, 1500])
    assert arrivals(mixed, OFFSET) == ([1000, 1500], [500])


@given(st.binary(max_size=300), st.sampled_from(["complete", "closed", "garbage", "unfinished"]))
def test_nothing_that_a_server_sends_breaks_the_parser(data: bytes, fate: Fate) -> None:
    assert not parsed(exchange([data], fate=fate), None).ok
    assert not parsed(exchange([WHOLE[:110] + data], fate=fate), None).ok
