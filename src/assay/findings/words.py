"""Command lines of the two runs: without an option however it is written, and with it at a value."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.source import ArgumentWord, ConfigEntry, Declarations, Option, Parsed, ReadConfig


@dataclass(frozen=True)
class Asked:
    """A word that assay adds to a command line."""

    text: str
    known: bool = True


@dataclass(frozen=True)
class Wording:
    """How an option is given a value."""

    words: tuple[Asked, ...] = ()
    """The words; empty if the value is the one that leaving the option out gives."""
    refusal: str = ""
    """Why no words can give that value, or empty."""


def find_option(declarations: Declarations, name: str, value: Any = None) -> Option | None:
    """The option of that flag, destination or field; of several for one field, the one that can store it.

    A name that is only an abbreviation is none: what it stands for changes with the release. One that is
    written as a flag is asked about as one: where only a field has that name, the parser would refuse it.
    """
    bare = name.lstrip("-").replace("-", "_")
    for option in declarations.options:
        if name in option.flags:
            return option
    if name.startswith("--"):
        return None
    flag = "--" + bare.replace("_", "-")
    named = [
        option
        for option in declarations.options
        if bare in (option.field, option.dest) or flag in option.flags
    ]
    usual = sorted(named, key=lambda option: (not _stores(option, value), bool(option.deprecated)))
    return usual[0] if usual else None


def _stores(option: Option, value: Any) -> bool:
    return option.action != "store_const" or option.const is None or value in (None, option.const.value)


def without(parsed: Parsed, words: Sequence[ArgumentWord], option: Option) -> tuple[ArgumentWord, ...]:
    """The words less every occurrence of the option's destination, well or badly formed."""
    gone: set[int] = set()
    for given in parsed.given:
        if given.option.dest == option.dest and given.at is not None:
            gone |= {given.at, *given.value_at}
    for problem in parsed.problems:
        if problem.option is not None and problem.option.dest == option.dest and problem.at is not None:
            gone |= {problem.at, *problem.value_at}
    return tuple(word for at, word in enumerate(words) if at not in gone)


def given_in(parsed: Parsed, option: Option) -> bool:
    """Whether the command line gives the option, or another for the same destination."""
    problems = any(each.option is not None and each.option.dest == option.dest for each in parsed.problems)
    return problems or any(each.option.dest == option.dest for each in parsed.given)


def less_entries(read_config: ReadConfig | None, parsed: Parsed, option: Option) -> ReadConfig | None:
    """The reader of the file of arguments, without the entries that give the option."""
    keys = {
        str(one.config.key)
        for one in parsed.given
        if one.config is not None and one.option.dest == option.dest
    }
    if read_config is None or not keys:
        return read_config

    def read(path: str) -> Sequence[ConfigEntry] | str | None:
        found = read_config(path)
        if found is None or isinstance(found, str):
            return found
        return tuple(entry for entry in found if str(entry.key) not in keys)

    return read


def added(words: Sequence[ArgumentWord], more: Sequence[ArgumentWord]) -> tuple[ArgumentWord, ...]:
    """The words with more at their end, before a lone `--` that ends the options."""
    end = next((at for at, word in enumerate(words) if word.known and word.text == "--"), len(words))
    return (*words[:end], *more, *words[end:])


def wording(option: Option, value: Any) -> Wording:
    """The words that give the option that value: text as a shell would pass it, or a Python value."""
    flag = _flag(option)
    if option.action == "store_const":
        return _switch(option, flag, value)
    if option.action == "boolean":
        wanted = _truth(value)
        if wanted is None:
            return Wording(refusal=f"{flag} takes no value; say true or false")
        return Wording((Asked(flag if wanted else f"--no-{flag[2:]}"),))
    if option.nargs == 0:
        return Wording((Asked(flag),))
    if value is None and option.converter != "nullable-text":
        default = option.default.value if option.default.known else None
        return Wording() if default is None else Wording(refusal=f"no value of {flag} stands for None")
    texts = _texts(option, value)
    if option.action == "append":
        return Wording(tuple(word for text in texts for word in _single(flag, text)))
    if len(texts) == 1 and (option.nargs in (None, "?") or texts[0].startswith("-")):
        return Wording(_single(flag, texts[0]))
    return Wording((Asked(flag), *(Asked(text) for text in texts)))


def _flag(option: Option) -> str:
    """The first long flag that is not a negation."""
    long = [flag for flag in option.flags if flag.startswith("--") and not flag.startswith("--no-")]
    return (long or list(option.flags))[0]


def _switch(option: Option, flag: str, value: Any) -> Wording:
    constant = option.const.value if option.const is not None else True
    wanted = _truth(value) if isinstance(constant, bool) else value
    if wanted == constant:
        return Wording((Asked(flag),))
    unset = bool(option.default.value) if option.default.known and isinstance(constant, bool) else None
    if wanted is not None and (wanted == unset or not option.default.known or option.default.value is None):
        return Wording()
    return Wording(refusal=f"{flag} is a switch and takes no value; say {json.dumps(constant)}")


def _truth(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False, "1": True, "0": False}.get(str(value).strip().lower())


def _single(flag: str, text: str) -> tuple[Asked, ...]:
    """`--flag value`, or `--flag=value` where the value would be taken for a flag."""
    return (Asked(f"{flag}={text}"),) if text.startswith("-") else (Asked(flag), Asked(text))


def _texts(option: Option, value: Any) -> list[str]:
    several = option.nargs not in (None, "?") or option.action == "append"
    if several and isinstance(value, str) and value.lstrip().startswith("["):
        try:
            read = json.loads(value)
        except ValueError:
            read = value
        value = read if isinstance(read, list) else value
    if isinstance(value, list | tuple) and several:
        return [_text(each) for each in value]
    return [_text(value)]


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict | list | tuple) or value is None:
        return json.dumps(value) if value is not None else "None"
    return str(value)
