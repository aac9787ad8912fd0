"""Places: offsets become lines and columns."""

from hypothesis import given
from hypothesis import strategies as st

from assay.deployment import UserFile, Written


@given(st.text(alphabet="ab\n\r"), st.data())
def test_a_place_names_the_same_characters(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    place = UserFile(path="f", text=text).place(start, end)
    lines = text.split("\n")
    back = sum(len(line) + 1 for line in lines[: place.line - 1]) + place.column - 1
    back_end = sum(len(line) + 1 for line in lines[: place.end_line - 1]) + place.end_column - 1
    assert (back, back_end) == (start, end)


def test_a_part_of_a_part_still_knows_where_it_stands() -> None:
    file = UserFile(path="f", text="0123456789")
    part = Written.whole(file).part(2, 8).part(1, 4)
    assert part.text == "345"
    assert part.offsets == (3, 4, 5, 6)
