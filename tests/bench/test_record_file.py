"""The compact file gives back what was put in, and appears only when it is whole."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench import RequestRecord, read_records
from assay.bench.record_file import RecordFile, RecordWriter
from assay.errors import InputError

TIMES = st.lists(st.integers(0, 1 << 61), max_size=5)
RECORDS = st.builds(
    RequestRecord,
    index=st.integers(0, 1 << 20),
    connection=st.integers(1, 4),
    nth_on_connection=st.integers(1, 4),
    sent_ns=st.integers(0, 1 << 61),
    outcome=st.sampled_from(["ok", "garbage"]),
    error=st.text(max_size=5),
    prompt_tokens=st.none() | st.integers(0, 9),
    accept_length=st.none() | st.floats(1, 4),
    events_ns=TIMES,
    tokens_at_event=TIMES,
    backlog_ns=TIMES,
)
HEAD = RecordFile(rung="concurrency 4", began_ns=5, ended_ns=9)


@given(st.lists(RECORDS, max_size=3), st.sampled_from([1, 256]))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, some: list[RequestRecord], times: int
) -> None:
    path, records = tmp_path_factory.mktemp("r") / "x.records", some * times
    with RecordWriter(path, HEAD) as file:
        for each in records:
            file.add(each)
        assert not path.exists()
    found = read_records(path)
    assert (found.rung, found.began_ns, found.ended_ns) == ("concurrency 4", 5, 9)
    assert list(found.records) == list(found.records) == records
    assert [each.name for each in path.parent.iterdir()] == ["x.records"]


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyError), RecordWriter(tmp_path / "x.records", HEAD):
        raise KeyError
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "data", [b"", b"x", gzip.compress(b""), gzip.compress(b"\xff\xff\xff\xff"), gzip.compress(b"\1\0\0\0\1")]
)
def test_what_is_no_such_file_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.records"
    path.write_bytes(data)
    with pytest.raises(InputError, match="no file of records"):
        read_records(path)
    with pytest.raises(InputError, match="no file of records"):
        read_records(tmp_path / "none")
