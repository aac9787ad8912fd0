"""Frames are found however the bytes are torn, and nothing of the command's own output is lost or added."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from assay.hosts.wire import Framed

MARK = b"\n@assay-n0 "
PIECES = st.lists(
    st.sampled_from([b"\n", b"\n@", b"\n@assay-", b"\n@assay-n0", b"\n@assay-n1 end 0\n", b"a", b"\0\xff"])
).map(b"".join)


@given(before=PIECES, body=PIECES, after=PIECES, cuts=st.lists(st.integers(0, 400), max_size=8))
def test_any_tearing(before: bytes, body: bytes, after: bytes, cuts: list[int]) -> None:
    data = before + MARK + b"ready 7\n" + body + MARK + b"end 3\n" + after
    bounds = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    stream = Framed("n0", 1 << 20)
    frames = [frame for start, end in itertools.pairwise(bounds) for frame in stream.feed(data[start:end])]
    stream.finish()
    assert frames == [["ready", "7"], ["end", "3"]]
    assert (bytes(stream.preamble), bytes(stream.body), stream.cut) == (before, body, False)


@given(body=st.binary(max_size=50), limit=st.integers(0, 60))
def test_what_is_over_the_limit_is_cut(body: bytes, limit: int) -> None:
    stream = Framed("n0", limit)
    stream.feed(MARK + b"ready\n" + body + MARK + b"end\n")
    assert bytes(stream.body) == body[:limit]
    assert stream.cut == (len(body) > limit)
