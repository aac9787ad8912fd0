"""YAML with places: the text is YAML's own, each offset names its character, hostile files end in errors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.deployment import UserFile, read_user_file
from assay.deployment.containers import yaml_text
from assay.deployment.containers.yaml_text import YamlMapping, YamlNode, YamlScalar, YamlSequence, read_yaml
from assay.errors import AssayError, InputError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=["libyaml", "pure"])
def _loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML may have been built without libyaml."""
    if request.param == "pure":
        monkeypatch.setattr(yaml_text, "_LOADER", yaml_text._Guarded)


def read(text: str) -> tuple[YamlNode, ...]:
    return read_yaml(UserFile(path="f.yml", text=text))


def only(text: str) -> YamlNode:
    (document,) = read(text)
    return document


def scalar(text: str) -> YamlScalar:
    node = only(text)
    while not isinstance(node, YamlScalar):
        node = node.items[0] if isinstance(node, YamlSequence) else node.entries[-1].value
    return node


def plain(node: YamlNode) -> Any:
    if isinstance(node, YamlScalar):
        return node.value()
    if isinstance(node, YamlSequence):
        return [plain(item) for item in node.items]
    return {entry.key.value(): plain(entry.value) for entry in node.entries}


def scalars(node: YamlNode) -> list[YamlScalar]:
    if isinstance(node, YamlScalar):
        return [node]
    if isinstance(node, YamlSequence):
        return [found for item in node.items for found in scalars(item)]
    return [found for entry in node.entries for part in (entry.key, entry.value) for found in scalars(part)]


def points_at_its_text(node: YamlScalar) -> None:
    """Each character stands where its offset says, unless YAML wrote or folded it otherwise."""
    written = node.written()
    source = node.file.text
    assert written.text == node.text
    assert len(written.offsets) == len(written.text) + 1
    assert list(written.offsets) == sorted(written.offsets)
    for char, at in zip(written.text, written.offsets, strict=False):
        escaped = node.style == "double" and source[at] == "\\"
        assert source[at] == char or escaped or (char in " \n" and source[at] in "\r\n\x85")


@pytest.mark.usefixtures("_loader")
@pytest.mark.parametrize(
    "text",
    [
        "a: one two",
        "a: one\n  two\n\n  three   \n  four\n",
        "a: 'it''s'",
        "a: 'one\n  two\n\n\n  three'",
        'a: "x\\ty \\"q\\" \\x41\\u00e9\\U0001F600 \\\n   joined\n  folded\\\\"',
        "a: |\n  one\n   two\n\n  three\n",
        "a: |-\n  one\n  two\n",
        "a: |+\n  one\n\n\nb: 1\n",
        "- |2-\n    two more\n  none\n",
        "a: >\n  one\n  two\n\n  three\n    more\n    more\n\n  end\n",
        "a: >-\n  one \\\n  two\n\n",
        "a: >+ # why\n\n\n  x\n  y\n\n",
        "a: |\n\n",
        "a: |",
        "a: &x !!str one",
        "a: !!str\n  # comment\n  &x 'one'",
        "a:\r\n  one\r\n  two\r\nb: >\r\n  x\r\n  y\r\n",
        "- - |\n    x\n  - y\n",
        "--- >\n one\n two\n...\n",
        "{a: [b c, 'd', \"e\", , ], ? f}".replace(", ,", ","),
        "a: one # comment\nb: two#not\n",
        "a: |\n  one  \n     \n",
        "a: \u00e9\u20ac\U0001f600 z",
        "? a\n: b",
        "a:\nb: ~\n",
    ],
)
def test_text_and_offsets_are_those_of_yaml(text: str) -> None:
    document = only(text)
    assert plain(document) == yaml.safe_load(text)
    for node in scalars(document):
        points_at_its_text(node)


@settings(max_examples=300, deadline=None)
@given(
    text=st.text(
        alphabet=st.one_of(
            st.sampled_from(" \n\t#:-'\"\\|>{}[],&*!%@`$"), st.characters(exclude_categories=["Cs"])
        ),
        max_size=60,
    ),
    style=st.sampled_from([None, "'", '"', "|", ">"]),
    width=st.sampled_from([10, 30, 1000]),
    indent=st.sampled_from([2, 4, 7]),
    wrap=st.sampled_from([0, 1, 2]),
)
def test_every_style_that_pyyaml_writes(text: str, style: str, width: int, indent: int, wrap: int) -> None:
    value: Any = text
    for level in range(wrap):
        value = [value] if level % 2 else {"key": value}
    dumped = yaml.dump(value, default_style=style, width=width, indent=indent, allow_unicode=True)
    node = scalar(dumped)
    loaded = yaml.safe_load(dumped)
    while not isinstance(loaded, str):  # PyYAML itself does not bring every text back
        loaded = next(iter(loaded.values() if isinstance(loaded, dict) else loaded))
    assert node.text == loaded
    points_at_its_text(node)


_PIECES = st.sampled_from(
    [
        *("a", "b: ", "- ", "\n", "  ", " ", "'", '"', "|", ">", ">-", "{", "}", "[", "]", ",", "&x ", "*x"),
        *(
            "<<: ",
            "# c",
            "\\",
            "\t",
            "!!str ",
            "!!int ",
            "? ",
            "---\n",
            "...\n",
            "1",
            "0x1",
            "true",
            "~",
            "%",
        ),
        *("%", "é", "\r\n"),
    ]
)


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.text(max_size=60), st.lists(_PIECES, max_size=30).map("".join)))
def test_arbitrary_text_gives_nodes_or_an_error_of_ours(text: str) -> None:
    try:
        documents = read(text)
    except AssayError as error:
        assert error.message.startswith("f.yml")  # noqa: PT017 - raising is allowed, not demanded
        return
    for document in documents:
        for node in scalars(document):
            assert len(node.written().offsets) == len(node.text) + 1


@settings(max_examples=300, deadline=None)
@given(st.lists(_PIECES, max_size=20).map("".join))
def test_what_pyyaml_loads_is_what_is_read(text: str) -> None:
    """libyaml and PyYAML's own scanner disagree on a few odd texts; only what both load is compared."""
    try:
        expected = list(yaml.load_all(text, Loader=yaml.CSafeLoader))
        if expected != list(yaml.safe_load_all(text)):
            return
    except (yaml.YAMLError, ValueError, TypeError, LookupError):
        return
    assert [plain(document) for document in read(text)] == expected


@pytest.mark.parametrize(
    ("text", "tag", "value"),
    [
        ("30000", "int", 30000),
        ("0777", "int", 0o777),
        ("0x1F", "int", 31),
        ("1_000", "int", 1000),
        ("1:30", "int", 90),
        ("1e3", "str", "1e3"),
        ("1.0e+3", "float", 1000.0),
        (".inf", "float", math.inf),
        ("on", "bool", True),
        ("No", "bool", False),
        ("~", "null", None),
        ("''", "str", ""),
        ("'8'", "str", "8"),
        ("!!str 8", "str", "8"),
        ("2024-01-01", "timestamp", "2024-01-01"),
        ("!reset x", "!reset", "x"),
        ("!!python/object:os.system x", "python/object:os.system", "x"),
    ],
)
def test_scalars_resolve_as_in_yaml_1_1(text: str, tag: str, value: object) -> None:
    node = scalar(text)
    assert (node.tag, node.value()) == (tag, value)


def test_merge_keys_and_aliases() -> None:
    text = "a: &a {x: 1, y: 2}\nb: &b {y: 3}\nc:\n  z: 4\n  <<: [*b, *a]\n  x: 5\n"
    node = only(text)
    assert isinstance(node, YamlMapping)
    assert plain(node) == yaml.safe_load(text)
    merged = node.get("c")
    assert isinstance(merged, YamlMapping)
    assert {entry.key.text: entry.key.place.line for entry in merged.entries} == {"x": 6, "y": 2, "z": 4}


def test_a_repeated_key_is_reported_and_the_last_one_counts() -> None:
    node = only("a: 1\nb: 2\na: 3\n")
    assert isinstance(node, YamlMapping)
    assert plain(node) == {"a": 3, "b": 2}
    assert [key.place.line for key in node.duplicates] == [3]


def test_nodes_know_their_place() -> None:
    text = "x: &a !t\n  - one\n  - {two: 'three'}\ny: [1]\n"
    node = only(text)
    assert isinstance(node, YamlMapping)
    found, flow = node.get("x"), node.get("y")
    assert isinstance(found, YamlSequence)
    assert isinstance(flow, YamlSequence)
    assert found.raw == "- one\n  - {two: 'three'}"
    assert found.tag == "!t"
    assert found.items[1].raw == "{two: 'three'}"
    assert (flow.raw, flow.flow) == ("[1]", True)
    assert node.raw == text.rstrip()


def test_bytes_that_are_not_utf_8_survive(tmp_path: Path) -> None:
    path = tmp_path / "a.yml"
    path.write_bytes(b"a: x\xffy\n")
    (node,) = read_yaml(read_user_file(path))
    (_, value) = scalars(node)
    assert value.text == "x\udcffy"
    points_at_its_text(value)


def test_several_documents_and_none() -> None:
    assert [plain(document) for document in read("a: 1\n---\nb: 2\n---\n")] == [{"a": 1}, {"b": 2}, None]
    assert read("# nothing\n") == ()
    with pytest.raises(InputError, match=r"^f.yml:2:4: undefined alias"):
        read("a: &x 1\n---\nb: *x\n".replace("---\nb: *x", "b: *y"))
    with pytest.raises(InputError, match="undefined alias"):
        read("a: &x 1\n---\nb: *x\n")


@pytest.mark.usefixtures("_loader")
@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("a: b: c\n", "f.yml:1:5: mapping values are not allowed"),
        ("a: [1, 2\nb: 3\n", "f.yml:2:"),
        ("a:\n\t- b\n", "f.yml:2:1: found character"),
        ("a: 'x\n", "f.yml:2:1: found unexpected end of stream"),
        ("a: *a\n", "f.yml:1:4: undefined alias"),
        ("a: &a [*a]\n", "f.yml:1:8: the alias *a stands inside"),
        ("{[a]: b}\n", "f.yml:1:2: expected text as a key, found a list"),
        ("<<: 1\n", "f.yml:1:5: expected a mapping"),
        ("!!int x: 1\n", "f.yml:1:7: expected int, found 'x'"),
        ("a: \x07\n", "f.yml:1:4: expected printable text"),
        ("a: b\nc\n", "f.yml:"),
    ],
)
def test_errors_say_where_and_what_was_expected(text: str, where: str) -> None:
    with pytest.raises(InputError) as caught:
        read(text)
    assert caught.value.message.startswith(where)


def _laughs() -> str:
    lines = ["a0: &a0 [lol, lol]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 12)]
    return "\n".join(lines)


def _deep_aliases() -> str:
    lines = ["- &a0 [x]"]
    lines += [f"- &a{level} [[[[[[*a{level - 1}]]]]]]" for level in range(1, 2000)]
    return "\n".join(lines)


@pytest.mark.usefixtures("_loader")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_laughs(), "more than 100,000 values"),
        (_deep_aliases(), "nested more than 100 deep"),
        ("[" * 100_000 + "]" * 100_000, "nested more than 100 deep"),
        ("[" * (1 << 20), "nested more than 100 deep"),
        ("{a: " * 200_000, "nested more than 100 deep"),
        ("- " * 500_000, "nested more than 100 deep"),
        ("? " * 500_000, "nested more than 100 deep"),
        ("a: &a {<<: [*a]}", "stands inside"),
        ("? " + "9" * 100_000 + "\n: 1", "expected int, found"),
        ("? 1" + ":00" * 100_000 + "\n: x", "expected int, found"),
    ],
    ids=lambda value: value[:12],
)
def test_hostile_files_end_in_a_clear_error(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(text)


def test_a_hundred_thousand_anchors_end_in_a_clear_error() -> None:
    with pytest.raises(InputError, match="more than 100,000 values"):
        read("".join(f"- &a{number} x\n" for number in range(100_000)))


def test_a_megabyte_of_text_is_read() -> None:
    node = scalar("a: |\n" + "  x y z\n" * 100_000)
    assert len(node.written().offsets) == len(node.text) + 1
