"""A change of a command line: options set or taken away, exactly and only those."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assay._masking import mask, may_be_secret_name, writable
from assay._value import Value
from assay.engines import server_of
from assay.errors import InputError, Refused
from assay.rollout.container import container_of

if TYPE_CHECKING:
    from collections.abc import Sequence

_NEGATIVE = re.compile(r"-\d+(?:\.\d*)?|-\.\d+", re.ASCII)
"""What argparse takes for a value though it begins with a dash."""
_FLAG = re.compile(r"--[A-Za-z][A-Za-z0-9_-]*", re.ASCII)


class Setting(Value):
    """One option as it shall be."""

    flag: str
    """With its dashes: `--kv-cache-dtype`."""
    value: str | None = None
    """Its value; None for a switch."""

    def __str__(self) -> str:
        """As a person would write it."""
        return self.flag if self.value is None else f"{self.flag} {mask(self.value)}"


class Change(Value):
    """Options to set and options to take away."""

    set: tuple[Setting, ...] = ()
    """In the order in which they are added."""
    unset: tuple[str, ...] = ()
    """Flags, with their dashes."""

    def __str__(self) -> str:
        """In one line."""
        return ", ".join([*(f"+{each}" for each in self.set), *(f"without {flag}" for flag in self.unset)])


def parse_change(settings: Sequence[str], without: Sequence[str] = ()) -> Change:
    """Reads `+kv-cache-dtype=fp8_e5m2`, `enable-x`, `--tp-size=4`.

    >>> str(parse_change(["+kv-cache-dtype=fp8_e5m2", "enable-x"], ["tp-size"]))
    '+--kv-cache-dtype fp8_e5m2, +--enable-x, without --tp-size'

    Raises:
        InputError: one is no option, or there is none, or one is named twice.
        Refused: one holds a secret.
    """
    found = []
    for text in settings:
        name, equals, value = text.removeprefix("+").partition("=")
        if "\0" in value or writable(value) != value:
            raise InputError(f"the value of {name} is no text in UTF-8", hint="change it by hand")
        found.append(Setting(flag=_flag(name, text), value=value if equals else None))
    unset = tuple(_flag(name, name) for name in without)
    flags = [*(each.flag for each in found), *unset]
    if not flags:
        raise InputError("nothing to change", hint="name an option: +FLAG or +FLAG=VALUE")
    if len(set(flags)) < len(flags):
        raise InputError("one option is named twice", hint="name each option once")
    return Change(set=tuple(found), unset=unset)


def _flag(name: str, text: str) -> str:
    flag = name if name.startswith("--") else f"--{name}"
    if not _FLAG.fullmatch(flag):
        raise InputError(f"{mask(text)!r} is not an option", hint="write +FLAG or +FLAG=VALUE")
    if may_be_secret_name(flag):
        raise Refused(f"assay does not change options that hold a secret ({flag})", hint="change it by hand")
    return flag


def changed_words(words: Sequence[str], change: Change, *, dollars: bool = True) -> tuple[str, ...]:
    """The command with the change in it; nothing else of it is touched.

    An option that is there is replaced where it stands, others come to the end. `$` in values is plain:
    it is doubled where systemd expands it (`dollars`).

    Raises:
        Refused: a shell stands around the server, or a container that cannot be followed, or how many words
            an option has is unclear.
    """
    inside = container_of(words) is not None
    server = server_of(words)
    arguments = tuple(word.text for word in server.arguments) if server else ()
    head = len(words) - len(arguments)
    if server is None or (server.launch.image is not None and not inside) or arguments != tuple(words[head:]):
        raise Refused(
            "the unit's command does not start a server that assay knows by itself",
            hint="assay changes commands such as `python -m sglang.launch_server …`, `vllm serve …` and "
            "`docker run … IMAGE …`; where a shell is around it, change that by hand",
        )
    changed = list(arguments)
    for flag in change.unset:
        if not _taken_out(changed, flag):
            raise InputError(f"{flag} is not in the command, so it cannot be taken away")
    for setting in change.set:
        _put(changed, setting, dollars=dollars)
    return (*words[:head], *changed)


def _put(arguments: list[str], setting: Setting, *, dollars: bool) -> None:
    new = [setting.flag]
    if setting.value is not None:
        value = setting.value.replace("$", "$$") if dollars else setting.value
        new = [f"{setting.flag}={value}"] if value.startswith("-") else [setting.flag, value]
    at = _span(arguments, setting.flag)
    if at is None:
        arguments.extend(new)
    else:
        arguments[at[0] : at[1]] = new


def _taken_out(arguments: list[str], flag: str) -> bool:
    at = _span(arguments, flag)
    if at is None:
        return False
    del arguments[at[0] : at[1]]
    return True


def _span(arguments: Sequence[str], flag: str) -> tuple[int, int] | None:
    """Where the option and its value stand; None if it is not there."""
    places = [at for at, word in enumerate(arguments) if word == flag or word.startswith(f"{flag}=")]
    if not places:
        return None
    if len(places) > 1:
        raise Refused(f"{flag} is in the command {len(places)} times", hint="leave one of them, by hand")
    start = places[0]
    if arguments[start] != flag:
        return start, start + 1
    end = start + 1
    while end < len(arguments) and (
        not arguments[end].startswith("-") or _NEGATIVE.fullmatch(arguments[end])
    ):
        end += 1
    if end - start > 2:
        raise Refused(
            f"{flag} is followed by {end - start - 1} words: which of them are its values is not known",
            hint=f"write it as {flag}=VALUE in the unit, or change it by hand",
        )
    return start, end
