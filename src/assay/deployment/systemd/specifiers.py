"""systemd's `%` specifiers: which there are, and what those say that follow from the unit's name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay._value import Value
from assay.deployment.text import Written

if TYPE_CHECKING:
    from collections.abc import Iterator

MEANINGS = {
    "a": "the machine's architecture",
    "A": "the version of the operating system's image",
    "b": "the boot id",
    "B": "the operating system's build id",
    "c": "the unit's control group",
    "C": "the cache folder",
    "d": "the folder of credentials",
    "D": "the folder of shared data",
    "E": "the folder of configuration",
    "f": "the instance or the unit's name as a path",
    "g": "the service manager's group",
    "G": "the service manager's group id",
    "h": "the home folder of the service manager's user",
    "H": "the host name",
    "i": "the instance",
    "I": "the instance, unescaped",
    "j": "the last part of the unit's prefix",
    "J": "the last part of the unit's prefix, unescaped",
    "l": "the short host name",
    "L": "the folder of logs",
    "m": "the machine id",
    "M": "the id of the operating system's image",
    "n": "the unit's name",
    "N": "the unit's name without its type",
    "o": "the operating system's id",
    "p": "the unit's prefix",
    "P": "the unit's prefix, unescaped",
    "q": "the machine's pretty host name",
    "r": "the control group of the unit's slice",
    "R": "the root of the control groups",
    "s": "the shell of the service manager's user",
    "S": "the state folder",
    "t": "the runtime folder",
    "T": "the folder for temporary files",
    "u": "the service manager's user",
    "U": "the service manager's user id",
    "v": "the kernel's release",
    "V": "the folder for larger temporary files",
    "w": "the operating system's version",
    "W": "the operating system's variant",
    "y": "the path of the unit file",
    "Y": "the folder of the unit file",
}
"""Every specifier of systemd 252, and `%D` of 256."""

_SPECIFIER = re.compile(r"%(?P<letter>[A-Za-z0-9%])")


class UnitName(Value):
    """A unit's name, taken apart."""

    id: str
    """All of it, such as `llm@0.service`."""
    prefix: str | None
    """Before the `@`, or all without the type; None if the file's name is not that of a unit."""
    instance: str | None = None
    """Between `@` and the type; None for a unit without instance, and for a template."""
    template: bool = False
    """True for `llm@.service`, of which any instance may be started."""

    def value(self, letter: str) -> str | None:
        """What a specifier stands for, None if this name does not tell."""
        if self.prefix is None or (self.template and letter in "iInN"):
            return None
        values = {
            "n": self.id,
            "N": self.id.rpartition(".")[0],
            "p": self.prefix,
            "P": _unescaped(self.prefix),
            "i": self.instance or "",
            "I": _unescaped(self.instance or ""),
            "j": self.prefix.rpartition("-")[2],
            "J": _unescaped(self.prefix.rpartition("-")[2]),
            "%": "%",
        }
        return values.get(letter)


def parse_unit_name(name: str) -> UnitName:
    """Take a file's name apart; what follows `.service` (`.in`, `.example`) is left out.

    >>> parse_unit_name("llm@0.service").instance
    '0'
    """
    match = re.match(r"(?P<prefix>[^@]+?)(?:(?P<at>@)(?P<instance>.*?))?\.service(?:\.|\Z)", name, re.DOTALL)
    if match is None:
        return UnitName(id=name, prefix=None)
    instance = match["instance"] or None
    at = f"@{instance or ''}" if match["at"] else ""
    return UnitName(
        id=f"{match['prefix']}{at}.service",
        prefix=match["prefix"],
        instance=instance,
        template=bool(match["at"]) and instance is None,
    )


@dataclass(frozen=True, slots=True)
class Use:
    """One `%x` in a word."""

    index: int
    """Index of the `%` in the word's text before expansion."""
    letter: str
    """The character after it."""
    value: str | None
    """What it becomes; None if that depends on the host, or if there is no such specifier."""

    @property
    def valid(self) -> bool:
        """False if systemd refuses it."""
        return self.letter == "%" or self.letter in MEANINGS


def uses(text: str) -> Iterator[Use]:
    """All specifiers in a word's text, `%%` included, without their values."""
    for match in _SPECIFIER.finditer(text):
        yield Use(match.start(), match["letter"], None)


def expand_specifiers(written: Written, unit: UnitName) -> tuple[Written, tuple[Use, ...]]:
    """Put in what the unit's name tells; other specifiers stay as they are written.

    >>> from assay.deployment.text import UserFile
    >>> text = Written.whole(UserFile(path="a", text="%p-%H-50%%"))
    >>> expand_specifiers(text, parse_unit_name("llm.service"))[0].text
    'llm-%H-50%'
    """
    if "%" not in written.text:
        return written, ()
    texts: list[str] = []
    offsets: list[int] = []
    found: list[Use] = []
    at = 0
    for use in uses(written.text):
        value = "%" if use.letter == "%" else unit.value(use.letter)
        found.append(Use(use.index, use.letter, value))
        if value is None:
            continue
        texts += (written.text[at : use.index], value)
        offsets.extend(written.offsets[at : use.index])
        offsets.extend([written.offsets[use.index]] * len(value))
        at = use.index + 2
    texts.append(written.text[at:])
    expanded = Written(file=written.file, text="".join(texts), offsets=(*offsets, *written.offsets[at:]))
    return expanded, tuple(found)


def _unescaped(text: str) -> str:
    """`unit_name_unescape`: `-` is `/`, `\\xNN` a byte."""
    slashes = text.replace("-", "/").encode("utf-8", "surrogateescape")
    plain = re.sub(rb"\\x([0-9A-Fa-f]{2})", lambda match: bytes([int(match[1], 16)]), slashes)
    return plain.decode("utf-8", "surrogateescape")
