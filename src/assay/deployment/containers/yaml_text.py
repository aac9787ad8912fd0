"""YAML of the user's, read within bounds and with places, as mappings, sequences and text alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml
from yaml.constructor import SafeConstructor
from yaml.reader import Reader
from yaml.resolver import Resolver

from assay._value import Value
from assay.deployment.containers.yaml_scalars import Style, locate
from assay.deployment.text import Place, UserFile, Written
from assay.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT_DEPTH = 100
"""How deep mappings and sequences may be nested, aliases counted as what they stand for."""
LIMIT_NODES = 100_000
"""How many nodes a file may have, aliases counted as what they stand for. Compose has the same limit."""
_LIMIT_NUMBER = 4300  # digits; Python refuses longer integers too

_STANDARD = "tag:yaml.org,2002:"
_STYLES: dict[str | None, Style] = {
    None: "plain",
    "": "plain",
    "'": "single",
    '"': "double",
    "|": "literal",
    ">": "folded",
}
_HINTS = {
    "mapping values are not allowed": "a value that holds `: ` must stand in quotes or in a block after `>-`",
    "cannot start any token": "indent with spaces; put a value that begins with this character in quotes",
    "expected <block end>": "check the indentation of this line against the lines above it",
    "did not find expected key": "check the indentation of this line against the lines above it",
    "did not find expected ',' or": "close every bracket and brace; quote values that hold them",
    "could not find expected ':'": "a key needs `: ` after it; text of several lines needs quotes or a block",
    "undefined alias": "a value that begins with `*` must stand in quotes",
    "unknown escape": "in double quotes a backslash begins an escape; use single quotes",
}


class YamlScalar(Value):
    """A single value."""

    file: UserFile
    """The file that it is written in."""
    start: int
    """Offset of its first character, quotes and block header included, anchor and tag not."""
    end: int
    """Offset after its last character, a closing quote included, line breaks at the end of a block not."""
    text: str
    """What YAML makes of it, before it is taken for a number or the like."""
    style: Style
    """How it is written."""
    tag: str
    """Its type as PyYAML's safe loader resolves it (YAML 1.1): `str`, `int`, `float`, `bool`, `null`,
    `timestamp`, `binary`, `merge`, `value`; any other explicit tag as written, such as `!reset`."""
    tagged: bool
    """True if the tag is written in the file."""

    @property
    def place(self) -> Place:
        """Where it stands."""
        return self.file.place(self.start, self.end)

    @property
    def raw(self) -> str:
        """As written, quotes included."""
        return self.file.text[self.start : self.end]

    def written(self) -> Written:
        """Its text, with the place of every character."""
        offsets = locate(self.file.text, self.start, self.end, self.style, self.text)
        return Written(file=self.file, text=self.text, offsets=offsets)

    def value(self) -> str | int | float | bool | None:
        """What PyYAML's safe loader makes of it; dates and other types stay text.

        Raises:
            InputError: it is not of the type that its tag says, or a number is absurdly long.
        """
        if self.tag == "null":
            return None
        if self.tag in ("int", "float", "bool"):
            return self._number()
        return self.text

    def _number(self) -> int | float | bool:
        if len(self.text) <= _LIMIT_NUMBER:
            node = yaml.ScalarNode(tag=_STANDARD + self.tag, value=self.text)
            make: Any = getattr(_CONSTRUCTOR, f"construct_yaml_{self.tag}")
            try:
                number: int | float | bool = make(node)
            except (ValueError, LookupError, OverflowError):
                pass
            else:
                return number
        raise _wrong(self.file, self.start, f"expected {self.tag}, found {self.text[:40]!r}")


class YamlSequence(Value):
    """A list."""

    file: UserFile
    """The file that it is written in."""
    start: int
    """Offset of its first character, anchor and tag left out."""
    end: int
    """Offset after its last character."""
    items: tuple[YamlNode, ...]
    """Its items."""
    flow: bool
    """True if it is written in brackets."""
    tag: str
    """`seq`, or an explicit tag as written, such as `!override`."""

    @property
    def place(self) -> Place:
        """Where it stands."""
        return self.file.place(self.start, self.end)

    @property
    def raw(self) -> str:
        """As written."""
        return self.file.text[self.start : self.end]


class YamlEntry(Value):
    """One key of a mapping, and its value."""

    key: YamlScalar
    """The key."""
    value: YamlNode
    """The value."""


class YamlMapping(Value):
    """A mapping, merge keys (`<<`) resolved."""

    file: UserFile
    """The file that it is written in."""
    start: int
    """Offset of its first character, anchor and tag left out."""
    end: int
    """Offset after its last character."""
    entries: tuple[YamlEntry, ...]
    """Its entries; where a key is written twice, the last. Merged entries stand before its own."""
    duplicates: tuple[YamlScalar, ...]
    """Keys that repeat an earlier one, in order."""
    flow: bool
    """True if it is written in braces."""
    tag: str
    """`map`, or an explicit tag as written, such as `!override`."""

    @property
    def place(self) -> Place:
        """Where it stands."""
        return self.file.place(self.start, self.end)

    @property
    def raw(self) -> str:
        """As written."""
        return self.file.text[self.start : self.end]

    def entry(self, key: str) -> YamlEntry | None:
        """The entry whose key has this text."""
        return next((entry for entry in self.entries if entry.key.text == key), None)

    def get(self, key: str) -> YamlNode | None:
        """The value of the entry whose key has this text."""
        entry = self.entry(key)
        return entry.value if entry else None


YamlNode = YamlScalar | YamlSequence | YamlMapping
"""A value of a YAML file with its place."""


def read_yaml(file: UserFile) -> tuple[YamlNode, ...]:
    """The documents of a YAML file; an empty document is a null scalar, an empty file gives none.

    Raises:
        InputError: it is not YAML, an alias is undefined or holds itself, a key is a list or mapping, or
            there is more than `LIMIT_DEPTH` or `LIMIT_NODES` allow.

    >>> (document,) = read_yaml(UserFile(path="a.yml", text="port: 0x10"))
    >>> [(entry.key.text, entry.value.value()) for entry in document.entries]
    [('port', 16)]
    """
    composer = _Composer(file)
    for event in _events(file, composer.source):
        composer.take(event)
    return tuple(composer.documents)


class _Guarded(yaml.SafeLoader):
    """PyYAML's own scanner takes quadratic time in the depth of brackets, so it is stopped early."""

    def fetch_flow_collection_start(self, TokenClass: Any) -> None:
        if self.flow_level > LIMIT_DEPTH:
            raise yaml.scanner.ScannerError(None, None, "exceeded maximum nesting depth", self.get_mark())
        super().fetch_flow_collection_start(TokenClass)


_LOADER: Any = yaml.CSafeLoader if yaml.__with_libyaml__ else _Guarded
_RESOLVER: Any = Resolver()
_CONSTRUCTOR = SafeConstructor()


def _events(file: UserFile, source: str) -> Iterator[Any]:
    if bad := Reader.NON_PRINTABLE.search(source):
        raise _wrong(file, bad.start(), f"expected printable text, found the control character {bad[0]!r}")
    try:
        yield from yaml.parse(source, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        raise _explained(file, error) from None
    except yaml.YAMLError as error:
        raise InputError(f"{file.path}: not YAML: {str(error).splitlines()[0]}") from None


def _explained(file: UserFile, error: yaml.MarkedYAMLError) -> InputError:
    mark = error.problem_mark or error.context_mark
    problem = error.problem or error.context or "not YAML"
    if "maximum nesting depth" in problem:
        problem = f"nested more than {LIMIT_DEPTH} deep"
    context = f" {error.context}" if error.context and error.context != problem else ""
    hint = next((hint for part, hint in _HINTS.items() if part in problem), "")
    return _wrong(file, min(mark.index, len(file.text)) if mark else 0, problem + context, hint)


def _wrong(file: UserFile, offset: int, message: str, hint: str = "") -> InputError:
    place = file.place(offset, offset)
    return InputError(f"{file.path}:{place.line}:{place.column}: {message}", hint=hint)


class _Anchored(Value):
    """A node that aliases may stand for."""

    node: YamlNode | None
    """The node; None while it is still being read."""
    size: int
    """Nodes in it."""
    height: int
    """Levels in it."""


class _Open:
    """A collection whose end has not been read."""

    def __init__(self, event: Any, start: int) -> None:
        self.anchor: str | None = event.anchor
        self.tag: str | None = event.tag
        self.flow = bool(event.flow_style)
        self.mapping = isinstance(event, yaml.MappingStartEvent)
        self.start = start
        self.children: list[YamlNode] = []
        self.size = 1
        self.height = 1


class _Composer:
    """Makes nodes from PyYAML's events, with a stack of its own."""

    def __init__(self, file: UserFile) -> None:
        self.file = file
        self.source = "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in file.text)
        self.shift = int(file.text.startswith("\ufeff"))  # PyYAML does not count a byte order mark
        self.documents: list[YamlNode] = []
        self.anchors: dict[str, _Anchored] = {}
        self.stack: list[_Open] = []
        self.nodes = 0

    def take(self, event: Any) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event)
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._opens(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._closes(event)
        elif isinstance(event, yaml.DocumentStartEvent):
            self.anchors = {}

    def _count(self, size: int, offset: int) -> None:
        self.nodes += size
        if self.nodes > LIMIT_NODES:
            raise _wrong(
                self.file, offset, f"more than {LIMIT_NODES:,} values, aliases counted as what they stand for"
            )

    def _start(self, event: Any) -> int:
        start: int = event.start_mark.index + self.shift
        if event.anchor is not None or event.tag is not None:
            start = _after_properties(self.source, start)
        return start

    def _scalar(self, event: Any) -> None:
        style = _STYLES[event.style]
        end = event.end_mark.index + self.shift
        start = end if style == "plain" and not event.value else self._start(event)
        if style in ("literal", "folded"):
            end = start + len(self.source[start:end].rstrip())
        self._count(1, start)
        text, tag = event.value, event.tag
        tagged = tag is not None and tag != "!"
        if not tagged:
            tag = _RESOLVER.resolve(yaml.ScalarNode, text, event.implicit)
        if "\ufffd" in text and self.source != self.file.text:
            text = self._original(text, locate(self.source, start, end, style, text))
        tag = tag.removeprefix(_STANDARD)
        node = YamlScalar(
            file=self.file, start=start, end=end, text=text, style=style, tag=tag, tagged=tagged
        )
        self._add(node, event.anchor, size=1, height=0)

    def _original(self, text: str, offsets: tuple[int, ...]) -> str:
        """Bytes that are not UTF-8 were hidden from PyYAML; this puts them back."""
        pairs = zip(text, offsets, strict=False)
        return "".join(self.file.text[at : at + 1] if char == "\ufffd" else char for char, at in pairs)

    def _alias(self, event: Any) -> None:
        start = event.start_mark.index + self.shift
        known = self.anchors.get(event.anchor)
        if known is None:
            hint = _HINTS["undefined alias"]
            raise _wrong(self.file, start, f"undefined alias: no anchor &{event.anchor} before it", hint)
        if known.node is None:
            raise _wrong(self.file, start, f"the alias *{event.anchor} stands inside what it stands for")
        if len(self.stack) + known.height > LIMIT_DEPTH:
            raise _wrong(self.file, start, f"nested more than {LIMIT_DEPTH} deep")
        self._count(known.size, start)
        self._add(known.node, None, size=known.size, height=known.height)

    def _opens(self, event: Any) -> None:
        start = self._start(event)
        self._count(1, start)
        if len(self.stack) >= LIMIT_DEPTH:
            raise _wrong(self.file, start, f"nested more than {LIMIT_DEPTH} deep")
        if event.anchor is not None:
            self.anchors[event.anchor] = _Anchored(node=None, size=0, height=0)
        self.stack.append(_Open(event, start))

    def _closes(self, event: Any) -> None:
        done = self.stack.pop()
        end = event.end_mark.index + self.shift
        if not done.flow:
            inside = [child.end for child in done.children if done.start <= child.end <= end]
            end = max(inside, default=done.start)
        node = self._mapping(done, end) if done.mapping else self._sequence(done, end)
        self._add(node, done.anchor, size=done.size, height=done.height)

    def _add(self, node: YamlNode, anchor: str | None, *, size: int, height: int) -> None:
        if anchor is not None:
            self.anchors[anchor] = _Anchored(node=node, size=size, height=height)
        if not self.stack:
            self.documents.append(node)
            return
        parent = self.stack[-1]
        parent.children.append(node)
        parent.size += size
        parent.height = max(parent.height, height + 1)

    def _sequence(self, done: _Open, end: int) -> YamlSequence:
        tag = (done.tag or "seq").removeprefix(_STANDARD)
        return YamlSequence(
            file=self.file, start=done.start, end=end, items=tuple(done.children), flow=done.flow, tag=tag
        )

    def _mapping(self, done: _Open, end: int) -> YamlMapping:
        own: dict[object, YamlEntry] = {}
        merged: dict[object, YamlEntry] = {}
        duplicates = []
        for key, value in zip(done.children[::2], done.children[1::2], strict=True):
            if not isinstance(key, YamlScalar):
                raise _wrong(self.file, key.start, "expected text as a key, found a list or mapping")
            if key.tag == "merge":
                merged = {**self._merged(value), **merged}
                continue
            name = key.value()
            if name in own:
                duplicates.append(key)
            own[name] = YamlEntry(key=key, value=value)
        return YamlMapping(
            file=self.file,
            start=done.start,
            end=end,
            entries=tuple({**merged, **own}.values()),
            duplicates=tuple(duplicates),
            flow=done.flow,
            tag=(done.tag or "map").removeprefix(_STANDARD),
        )

    def _merged(self, value: YamlNode) -> dict[object, YamlEntry]:
        """What a merge key adds; of several mappings the first wins."""
        found: dict[object, YamlEntry] = {}
        for node in value.items if isinstance(value, YamlSequence) else (value,):
            if not isinstance(node, YamlMapping):
                raise _wrong(
                    self.file, node.start, "expected a mapping, or a list of mappings, to merge here"
                )
            found = {**{entry.key.value(): entry for entry in node.entries}, **found}
        return found


def _after_properties(source: str, at: int) -> int:
    """Skip anchors, tags, and the space and comments after them."""
    while at < len(source):
        if source[at] in "&!":
            while at < len(source) and not source[at].isspace():
                at += 1
        elif source[at].isspace() or source[at] == "\ufeff":
            at += 1
        elif source[at] == "#":
            end = source.find("\n", at)
            at = end if end >= 0 else len(source)
        else:
            break
    return at
