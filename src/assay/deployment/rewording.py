"""Edits that make a unit or compose file start other words; what is not changed stays as it is written."""

from __future__ import annotations

import difflib
import json
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.deployment.containers.compose_command import read_command
from assay.deployment.containers.yaml_text import YamlMapping, YamlSequence, read_yaml
from assay.deployment.edits import apply_edits, removal
from assay.deployment.systemd.unit import read_unit
from assay.deployment.systemd.words import quote_systemd
from assay.deployment.text import Edit, UserFile, Word
from assay.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.deployment.containers.yaml_text import YamlNode

_PLAIN = re.compile(r"[\w@%+=:,./-]+", re.ASCII)


@dataclass(frozen=True)
class _Style:
    """How words are written where these ones stand."""

    write: Callable[[str], str]
    gap: Callable[[Word], str]
    """What stands between a word and one that is put in behind it."""


def _unit_words(file: UserFile, unit: str) -> tuple[Word, ...]:
    """The words of the command that the file of a unit starts by itself, without drop-ins.

    Raises:
        InputError: it starts nothing, or cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        path = Path(folder) / unit
        path.write_text(file.text, encoding="utf-8", errors="surrogateescape", newline="")
        return read_unit(path).words


def reword_unit(
    file: UserFile, unit: str, before: Sequence[str], after: Sequence[str], *, dollars: bool
) -> str:
    """The text of a unit's file that starts `after` and not `before`: words as systemd holds them.

    `%` is resolved in them, and `$` is not; `dollars` says whether systemd makes `$` of `$$` there.

    Raises:
        InputError: the words of the file are others, or cannot be changed one by one.
    """
    style = _Style(write=lambda text: quote_systemd(text, dollars=False), gap=lambda _: " ")
    words = _unit_words(file, unit)
    if any(word.text != text for word, text in zip(words, before, strict=False) if _plain_there(word)):
        raise InputError(
            f"{file.path} states another command than the one that runs",
            hint="see whether a drop-in does: `systemctl cat`; then write the command into that file",
        )
    text = _reworded(file, words, before, after, style)
    got = [word.replace("$$", "$") for word in after] if dollars else after
    _check(
        file, _unit_words(UserFile(path=file.path, text=text), unit), _came_from(before, after), got, words
    )
    return text


def _plain_there(word: Word) -> bool:
    """Whether nothing that systemd puts in stands in it."""
    return word.known and not set("$%") & set(word.raw)


def _command_node(file: UserFile, service: str) -> YamlNode | None:
    """What a compose file states as the command of a service; None if it states none.

    Raises:
        InputError: it is no YAML.
    """
    for document in read_yaml(file):
        services = document.get("services") if isinstance(document, YamlMapping) else None
        node = services.get(service) if isinstance(services, YamlMapping) else None
        command = node.get("command") if isinstance(node, YamlMapping) else None
        if command is not None:
            return command
    return None


def states_command(file: UserFile, service: str) -> bool:
    """Whether a compose file states the command of a service.

    Raises:
        InputError: it is no YAML.
    """
    return _command_node(file, service) is not None


def compose_words(text: str) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    """The entry point and the command in a stretch of YAML that has them at its top; None: not there.

    >>> compose_words("command:\\n- serve\\n- $$x\\n")
    (None, ('serve', '$x'))
    """
    found: dict[str, tuple[str, ...]] = {}
    for document in read_yaml(UserFile(path="<docker compose config>", text=text)):
        for entry in document.entries if isinstance(document, YamlMapping) else ():
            found[entry.key.text] = tuple(word.text for word in _service_words(entry.value))
    return found.get("entrypoint"), found.get("command")


def reword_service(file: UserFile, service: str, before: Sequence[str], after: Sequence[str]) -> str:
    """The text of a compose file whose service gets `after` and not `before` as its command.

    Both are as Compose resolves them; references to variables in the file stay.

    Raises:
        InputError: the file states no command, or another one, or it cannot be changed word by word.
    """
    node = _command_node(file, service)
    if node is None:
        raise InputError(f"{file.path} states no command of {service}", hint="write its command there")
    words = _service_words(node)
    text = _reworded(file, words, before, after, _style_of(node))
    changed = _command_node(UserFile(path=file.path, text=text), service)
    found = _service_words(changed) if changed is not None else ()
    _check(file, found, _came_from(before, after), after, words)
    return text


def _service_words(node: YamlNode) -> tuple[Word, ...]:
    return tuple(read_command(node, "command", lambda _: None).words)


def _style_of(node: YamlNode) -> _Style:
    if not isinstance(node, YamlSequence):
        return _Style(write=_plain, gap=lambda _: " ")
    if node.flow:
        return _Style(write=_in_yaml, gap=lambda _: ", ")
    return _Style(write=_in_yaml, gap=_next_item)


def _plain(text: str) -> str:
    if not _PLAIN.fullmatch(text):
        raise InputError(
            f"{text!r} cannot be put safely into a command that is one text",
            hint="write the service's command as a list",
        )
    return text


def _in_yaml(text: str) -> str:
    """A list item; Compose puts variables in for `$`."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\x7f").replace("$", "$$")


def _next_item(word: Word) -> str:
    text = word.file.text
    line = text.rfind("\n", 0, word.start) + 1
    lead = text[line : word.start]
    if not re.fullmatch(r"[ \t]*-[ \t]+", lead):
        raise InputError(f"{word.file.path}: the command's items do not stand on lines of their own")
    return f"\n{lead}"


def _reworded(
    file: UserFile, words: Sequence[Word], before: Sequence[str], after: Sequence[str], style: _Style
) -> str:
    if len(words) != len(before):
        raise InputError(
            f"{file.path} gives {len(words)} words, and the command that runs has {len(before)}",
            hint="write each word of the command into that file itself, or change it by hand",
        )
    edits: list[Edit] = []
    matcher = difflib.SequenceMatcher(a=list(before), b=list(after), autojunk=False)
    for tag, start, end, first, last in matcher.get_opcodes():
        if tag != "equal":
            edits += _replaced(words, start, end, after[first:last], style)
    return apply_edits(file.text, edits)


def _replaced(
    words: Sequence[Word], start: int, end: int, new: Sequence[str], style: _Style
) -> tuple[Edit, ...]:
    """Edits that put `new` in the place of `words[start:end]`."""
    old, edits = words[start:end], []
    for word, text in zip(old, new, strict=False):
        if not word.editable:
            raise _not_plain(word)
        edits.append(Edit(file=word.file.path, start=word.start, end=word.end, text=style.write(text)))
    if len(old) > len(new):
        gone = removal(old[len(new) :])
        if not gone:
            raise _not_plain(old[len(new)])
        return (*edits, *gone)
    if len(new) > len(old):
        if not end:
            raise InputError("nothing can be put before a command")
        last = words[end - 1]
        text = "".join(style.gap(last) + style.write(each) for each in new[len(old) :])
        if old:  # one stretch, replaced once
            text = edits.pop().text + text
            edits.append(Edit(file=last.file.path, start=last.start, end=last.end, text=text))
        else:
            edits.append(Edit(file=last.file.path, start=last.end, end=last.end, text=text))
    return tuple(edits)


def _not_plain(word: Word) -> InputError:
    place = word.place
    return InputError(
        f"{place.file}:{place.line}: the word there cannot be replaced by itself",
        hint="write it out there, or change it by hand",
    )


def _came_from(before: Sequence[str], after: Sequence[str]) -> list[int | None]:
    """For each word of `after`, which one of `before` it is; None for a new one."""
    found: list[int | None] = [None] * len(after)
    for start, first, size in difflib.SequenceMatcher(
        a=before, b=after, autojunk=False
    ).get_matching_blocks():
        found[first : first + size] = range(start, start + size)
    return found


def _check(
    file: UserFile,
    found: Sequence[Word],
    origins: Sequence[int | None],
    after: Sequence[str],
    words: Sequence[Word],
) -> None:
    """The changed file gives the planned words; of those that stay it gives what it gave."""
    if len(found) != len(after) or any(
        each.text != (wanted if was is None else words[was].text)
        for each, wanted, was in zip(found, after, origins, strict=True)
    ):
        raise InputError(
            f"{file.path} could not be changed so that it starts the planned command",
            hint="write its command in a plainer way, or change it by hand",
        )
