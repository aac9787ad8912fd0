"""Rewrites words before they are parsed, as vLLM's `FlexibleArgumentParser.parse_args` does.

Source: `vllm/utils/argparse_utils.py`, 0.20.0 to 0.32.0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from assay.source.command_line.conversion import NotConverted, convert
from assay.source.command_line.parsed_command import Item
from assay.source.declarations import Converter

_NAME = re.compile(r"(?<=--)[^.]*")
_LEVELS = frozenset({"0", "1", "2", "3"})


def rewritten(items: Sequence[Item], *, serves: bool) -> list[Item]:
    """The words that argparse sees, each with its place; JSON made of several words has that of the first.

    `serves` says that the word `serve` stands before them: then the value of `--model` becomes the first.
    """
    return _joined(_named(_model_first(items) if serves else items))


def _model_first(items: Sequence[Item]) -> Sequence[Item]:
    for at, item in enumerate(items):
        name, equals, value = item.text.partition("=")
        if name != "--model" or not item.known or item.config is not None or (equals and not value):
            continue
        if equals:
            return [_with(item, value), *items[:at], *items[at + 1 :]]
        if at + 1 < len(items):
            return [items[at + 1], *items[:at], *items[at + 2 :]]
    return items


def _named(items: Sequence[Item]) -> list[Item]:
    """With `-` for `_` in names, and the level of optimisation written out."""
    words: list[Item] = []
    for at, item in enumerate(items):
        text = item.text
        following = items[at + 1].text if at + 1 < len(items) else ""
        if text.startswith("--help="):
            words.append(_with(item, "--help"))
        elif text.startswith("--"):
            key, equals, value = text.partition("=")
            key = _NAME.sub(lambda match: match.group().replace("_", "-"), key, count=1)
            words.append(_with(item, key + equals + value))
        elif text.startswith("-O") and text != "-O":
            words.append(_with(item, "--optimization-level"))
            words.append(_with(item, text[3:] if text[2] == "=" else text[2:]))
        elif text == "-O" and following in _LEVELS:
            words.append(_with(item, "--optimization-level"))
        else:
            words.append(item)
    return words


def _joined(items: Sequence[Item]) -> list[Item]:
    """With all `--x.a.b value` of one `--x` made to one JSON value at the end."""
    kept: list[Item] = []
    made: dict[str, dict[str, Any]] = {}
    first: dict[str, Item] = {}
    unknown: set[str] = set()
    at = 0
    while at < len(items):
        item = items[at]
        name, equals, value = item.text.partition("=")
        at += 1
        if not item.text.startswith("-") or "." not in name:
            kept.append(item)
            continue
        known = item.known
        if not equals:
            if at == len(items):
                kept.append(item)
                continue
            value, known = items[at].text, known and items[at].known
            at += 1
        if name.endswith("+"):
            name, value = name[:-1], json.dumps(value.split(","))
        key, *path = name.split(".")
        first.setdefault(key, item)
        if not known:
            unknown.add(key)
        _put(made.setdefault(key, {}), path, _value(value))
    for key, values in made.items():
        kept.append(_with(first[key], key))
        text = Item(json.dumps(values), key not in unknown, first[key].at, first[key].config)
        kept.append(text)
    return kept


def _put(target: dict[str, Any], path: Sequence[str], value: Any) -> None:
    """Set the value at that path; a list is added to one that is there, a mapping merged into it."""
    nested = value
    for key in reversed(path):
        nested = {key: nested}
    _merge(target, nested)


def _merge(target: dict[str, Any], update: dict[str, Any]) -> None:
    for key, value in update.items():
        if isinstance(value, dict) and isinstance(target.get(key), dict):
            _merge(target[key], value)
        elif isinstance(value, list) and isinstance(target.get(key), list):
            target[key] += value
        else:
            target[key] = value


def _value(text: str) -> Any:
    """JSON, else a number with a unit, else the text."""
    readers: tuple[Converter, ...] = ("json", "unit-int")
    for converter in readers:
        try:
            return convert(converter, text)
        except NotConverted:
            continue
    return text


def _with(item: Item, text: str) -> Item:
    return Item(text, item.known, item.at, item.config)
