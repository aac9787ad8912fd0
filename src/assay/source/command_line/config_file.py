"""Merges a file of arguments into the command line, by the engine's own rules."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePath

from assay.source.command_line.parsed_command import (
    ArgumentWord,
    ConfigEntry,
    Item,
    Merged,
    Problem,
    ProblemKind,
)
from assay.source.declarations import Declarations, Option

ReadConfig = Callable[[str], Sequence[ConfigEntry] | str | None]
"""The entries of the file of that path; a text that says why it cannot be used; None if it is not known."""


_JSON = ("typed-json", "any-flag", "flexible")
"""The rules by which a mapping becomes JSON text."""


class _Refused(Exception):
    def __init__(self, kind: ProblemKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def merge_config(
    declarations: Declarations, words: Sequence[ArgumentWord], read_config: ReadConfig | None
) -> Merged:
    """The words that the parser sees: those of the file first, then the command line without the option."""
    items = [Item(word.text, word.known, at) for at, word in enumerate(words)]
    flag = declarations.config_option
    places = [item.at or 0 for item in items if item.known and item.text == flag]
    if flag is None or not places:
        return Merged(items)
    first = places[0]
    rest = [*items[:first], *items[first + 2 :]]
    if len(places) > 1:
        message = "Multiple config files specified! Only one allowed."
        return Merged(rest, [Problem(kind="config-repeated", message=message, at=places[1])], complete=False)
    if first == len(items) - 1:
        message = f"No config file specified after {flag} flag!"
        return Merged(rest, [Problem(kind="config-without-file", message=message, at=first)])
    if not items[first + 1].known or read_config is None:
        return Merged(rest, complete=False)
    return _merged(declarations, items[first + 1], rest, read_config)


def _merged(declarations: Declarations, file: Item, rest: list[Item], read_config: ReadConfig) -> Merged:
    path = file.text
    is_flexible = declarations.config_rules == "flexible"
    suffix = PurePath(path).suffix
    if (suffix if is_flexible else suffix.lower()) not in (".yaml", ".yml"):
        message = f"Config file must be YAML format, got: {PurePath(path).suffix}"
        return Merged(rest, [Problem(kind="config-not-yaml", message=message, at=file.at)], complete=False)
    entries = read_config(path)
    if isinstance(entries, str):
        return Merged(rest, [Problem(kind="config-unreadable", message=entries, at=file.at)], complete=False)
    if entries is None or declarations.config_rules == "opaque":
        return Merged(rest, complete=False)
    words: list[Item] = []
    problems: list[Problem] = []
    for entry in entries:
        try:
            words.extend(Item(text, config=entry) for text in _words(declarations, entry))
        except _Refused as error:
            problems.append(Problem(kind=error.kind, message=str(error), config=entry))
    return Merged([*words, *rest], problems)


def _words(declarations: Declarations, entry: ConfigEntry) -> Iterator[str]:
    """The words that one key becomes."""
    if declarations.config_rules not in ("plain", "flexible"):
        if not isinstance(entry.key, str):
            raise _Refused("config-key", f"the key {entry.key!r} is no text")
        _check_supported(declarations, entry.key)
    if isinstance(entry.value, bool):
        yield from _boolean(declarations, str(entry.key), entry.value)
        return
    if isinstance(entry.value, list):
        if entry.value:
            yield f"--{entry.key}"
            yield from (str(element) for element in entry.value)
        return
    yield f"--{entry.key}"
    is_json = isinstance(entry.value, dict) and declarations.config_rules in _JSON
    yield json.dumps(entry.value) if is_json else str(entry.value)


def _boolean(declarations: Declarations, key: str, value: bool) -> Iterator[str]:  # noqa: FBT001
    if declarations.config_rules == "flexible":
        opposite = f"--no-{key}"
        if value:
            yield f"--{key}"
        elif any(opposite in option.flags for option in declarations.options):
            yield opposite
        return
    if declarations.config_rules == "plain":
        if value:
            yield f"--{key}"
        return
    dest = key.replace("-", "_")
    if any(
        dest in _keys(declarations, option) and option.action_text == "store_true"
        for option in declarations.options
    ):
        if value:
            yield f"--{key}"
    else:
        yield f"--{key}"
        yield str(value).lower()


def _keys(declarations: Declarations, option: Option) -> set[str]:
    """The names that stand for an option in a file."""
    if declarations.config_rules != "any-flag":
        return {option.dest}
    long = (flag[2:].replace("-", "_") for flag in option.flags if flag.startswith("--"))
    return {option.dest, *long}


def _check_supported(declarations: Declarations, key: str) -> None:
    """The engine refuses options that do neither store a value nor `store_true`, by their names there."""
    dest = key.replace("-", "_")
    named = [option for option in declarations.options if dest in _keys(declarations, option)]
    refused = [option for option in named if not _is_plain(declarations, option)]
    if refused and (declarations.config_rules != "any-flag" or len(refused) == len(named)):
        name = refused[-1].action_text.rpartition(".")[2]
        raise _Refused("config-unsupported", f"Unsupported config option '{dest}' with action '{name}'")


def _is_plain(declarations: Declarations, option: Option) -> bool:
    always = (declarations.config_option, "--help", "-h")
    if option.action_text in ("", "store", "store_true") or any(flag in always for flag in option.flags):
        return True
    return declarations.config_rules == "any-flag" and option.nargs is None
