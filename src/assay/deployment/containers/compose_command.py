"""The words of a compose service's `command` and `entrypoint`, and what Compose refuses in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assay.deployment.containers.compose_interpolation import interpolate
from assay.deployment.containers.compose_split import split
from assay.deployment.containers.letters import Letters
from assay.deployment.containers.yaml_go import NAMES, go_type
from assay.deployment.containers.yaml_text import YamlMapping, YamlNode, YamlScalar, YamlSequence
from assay.deployment.launch import Fault
from assay.deployment.text import Edit, Word

if TYPE_CHECKING:
    from collections.abc import Callable

    from assay.deployment.containers.compose_interpolation import Interpolated, Unset

SHELLS = ("sh", "bash", "dash", "ash", "zsh", "ksh")
"""Programs that would replace a `$NAME` that reaches them."""
LIMIT_FAULTS = 100
"""More of one launch are not told; each costs a walk through its file."""


@dataclass(slots=True)
class Command:
    """Words and faults of one `command` or `entrypoint`."""

    words: list[Word] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    unset: list[tuple[YamlScalar, Unset]] = field(default_factory=list)
    """References to variables that are set nowhere."""


def read_command(node: YamlNode | None, key: str, look_up: Callable[[str], str | None]) -> Command:
    """The words of a command: a string is split, a list taken as it is, null gives none."""
    command = Command()
    if isinstance(node, YamlSequence):
        for item in node.items:
            _item(command, item, key, look_up)
    elif isinstance(node, YamlMapping):
        message = f"Compose refuses this {key}: it is a mapping, not text or a list"
        command.faults.append(Fault(kind="ignored-line", place=node.place, message=message, refused=True))
    elif node is not None and go_type(node) != "null":
        _string(command, node, key, look_up)
    return command


def interpolated(command: Command, scalar: YamlScalar, look_up: Callable[[str], str | None]) -> Interpolated:
    """A scalar with its variables put in; what Compose refuses becomes a fault of the command."""
    result = interpolate(Letters.of(scalar), look_up)
    command.unset += [(scalar, unset) for unset in result.unset]
    if result.error is not None and len(command.faults) < LIMIT_FAULTS:
        message, start, end = result.error
        edits: tuple[Edit, ...] = ()
        if message.startswith("not a variable"):
            edits = (Edit(file=scalar.file.path, start=start, end=start, text="$"),)
        place = scalar.file.place(start, end)
        message = f"Compose refuses this $: {message}"
        command.faults.append(
            Fault(
                kind="dollar-expansion",
                place=place,
                message=message,
                refused=True,
                help="write $$ for a $ that the process is to get",
                edits=edits,
            )
        )
    return result


def quoting(scalar: YamlScalar) -> tuple[Edit, ...]:
    """The edit that makes text of an unquoted value."""
    if scalar.style != "plain" or not scalar.text or scalar.tagged:
        return ()
    return (Edit(file=scalar.file.path, start=scalar.start, end=scalar.end, text=f'"{scalar.raw}"'),)


def flow_as_text(node: YamlSequence | YamlMapping, message: str) -> Fault:
    """The fault of JSON, or another collection, that stands where text is expected."""
    raw = node.raw
    if not node.flow:
        help_text = "write text; put a value that holds `: ` in quotes"
        return Fault(kind="ignored-line", place=node.place, message=message, refused=True, help=help_text)
    edits: tuple[Edit, ...] = ()
    if "\n" not in raw and "\r" not in raw:
        text = "'" + raw.replace("'", "''") + "'"
        edits = (Edit(file=node.file.path, start=node.start, end=node.end, text=text),)
    return Fault(
        kind="lost-quotes",
        place=node.place,
        message=message,
        refused=True,
        help="put it in single quotes",
        edits=edits,
    )


def word_as_written(node: YamlNode) -> Word:
    """The word that was meant where something else than text stands."""
    raw = node.raw
    span = range(node.start, node.end)
    letters = Letters(node.file, raw, list(span), [at + 1 for at in span], "." * len(raw))
    if not raw:
        letters = Letters(node.file, " ", [node.start], [node.start], ".")
        return letters.word([], 0, 1, alone=False)
    return letters.word(range(len(raw)), 0, len(raw), alone=False)


def scalar_word(scalar: YamlScalar, letters: Letters) -> Word:
    """The word that a list item gives after expansion."""
    if not letters.text:
        empty = Letters(scalar.file, " ", [scalar.start], [scalar.end], ".", letters.voids)
        return empty.word([], 0, 1, alone=scalar.end > scalar.start)
    letters.starts[0], letters.stops[-1] = scalar.start, scalar.end
    alone = scalar.style in ("plain", "single", "double") and not set("\r\n") & set(scalar.raw)
    inner = Letters.of(scalar).starts[0] if letters.marks[0] == "." and scalar.text else scalar.start
    word = letters.word(range(len(letters)), 0, len(letters), alone=alone)
    offsets = (inner, *word.offsets[1:-1], max(word.offsets[-2] + 1, _closing(scalar)))
    return Word(
        text=word.text,
        file=word.file,
        start=word.start,
        end=max(word.end, offsets[-1]),
        offsets=offsets,
        syntax="yaml",
        known=word.known,
        editable=word.editable,
    )


def _closing(scalar: YamlScalar) -> int:
    return scalar.end - 1 if scalar.style in ("single", "double") else scalar.end


def _item(command: Command, node: YamlNode, key: str, look_up: Callable[[str], str | None]) -> None:
    if not isinstance(node, YamlScalar):
        what = "mapping" if isinstance(node, YamlMapping) else "list"
        message = f"YAML reads this as a {what}, and Compose refuses it in a {key}: {node.raw[:60]}"
        if len(command.faults) < LIMIT_FAULTS:
            command.faults.append(flow_as_text(node, message))
        command.words.append(word_as_written(node))
        return
    kind = go_type(node)
    if kind != "str" and len(command.faults) < LIMIT_FAULTS:
        what = f"`{node.raw}`" if node.raw else "an empty item"
        message = f"Compose refuses {what} in a {key} list: it is {NAMES[kind]}, not text"
        command.faults.append(
            Fault(
                kind="lost-quotes",
                place=node.place,
                message=message,
                refused=True,
                help="put it in quotes",
                edits=quoting(node),
            )
        )
    letters = interpolated(command, node, look_up).letters
    command.words.append(scalar_word(node, letters))


def _string(command: Command, node: YamlScalar, key: str, look_up: Callable[[str], str | None]) -> None:
    kind = go_type(node)
    if kind != "str":
        message = f"Compose refuses this {key}: it is {NAMES[kind]}, not text"
        command.faults.append(
            Fault(kind="lost-quotes", place=node.place, message=message, refused=True, edits=quoting(node))
        )
    words, faults = split(interpolated(command, node, look_up).letters, node.style)
    command.words += words
    command.faults += faults
