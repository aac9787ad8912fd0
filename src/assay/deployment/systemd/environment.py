"""The variables that systemd gives a process, and what `$` in an `ExecStart=` becomes by them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from assay.deployment.launch import Variable
from assay.deployment.systemd.words import Token, WordReader
from assay.deployment.text import Word, Written
from assay.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assay.deployment.text import Syntax

LIMIT_WORDS = 100_000
"""No command line that Linux takes has more words."""
LIMIT_CHARACTERS = 1 << 22
"""Linux takes 2 MiB of arguments and environment unless told otherwise."""

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
FROM_MANAGER = frozenset(
    (
        "PATH",
        "LANG",
        "LANGUAGE",
        "LOCALE",
        "HOME",
        "LOGNAME",
        "USER",
        "SHELL",
        "TERM",
        "INVOCATION_ID",
        "JOURNAL_STREAM",
        "SYSTEMD_EXEC_PID",
        "LISTEN_PID",
        "LISTEN_FDS",
        "LISTEN_FDNAMES",
        "NOTIFY_SOCKET",
        "WATCHDOG_PID",
        "WATCHDOG_USEC",
        "MAINPID",
        "MANAGERPID",
        "MEMORY_PRESSURE_WATCH",
        "MEMORY_PRESSURE_WRITE",
        "FDSTORE",
        "LOG_NAMESPACE",
        "CREDENTIALS_DIRECTORY",
        "RUNTIME_DIRECTORY",
        "STATE_DIRECTORY",
        "CACHE_DIRECTORY",
        "LOGS_DIRECTORY",
        "CONFIGURATION_DIRECTORY",
        "XDG_RUNTIME_DIR",
        "PIDFILE",
        "DBUS_SESSION_BUS_ADDRESS",
        "SSH_AUTH_SOCK",
        "DISPLAY",
        "TMPDIR",
        "TEMP",
        "TMP",
        "TZ",
    )
)
"""Variables that systemd itself may set; their values only show on the host."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One variable that the user's files set."""

    name: str
    value: Written
    start: int
    """Offset of the assignment in `value.file.text`."""
    end: int
    """Offset after it."""
    syntax: Syntax
    """The language that it is written in."""
    known: bool = True
    """False if a specifier or a file that could not be read decides it."""

    def variable(self) -> Variable:
        """As the launch holds it."""
        return Variable(
            name=self.name,
            value=self.value.text,
            file=self.value.file,
            start=self.start,
            end=self.end,
            known=self.known,
        )


State = Literal["set", "unset", "unknown"]


@dataclass(slots=True)
class Environment:
    """All settings, the effective one for each name."""

    settings: dict[str, Setting] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    """Names whose value comes from elsewhere."""
    complete: bool = True
    """False if a file that could not be read may set any name."""
    files: bool = False
    """True if the unit has an `EnvironmentFile=`, which may leave variables for options unset on purpose."""
    from_manager: frozenset[str] = FROM_MANAGER
    """Names that systemd itself may set here."""
    removed: set[str] = field(default_factory=set)
    """Names that `UnsetEnvironment=` takes away, whoever sets them."""
    _words: dict[str, tuple[Token, ...]] = field(default_factory=dict)

    def state(self, name: str) -> State:
        """Whether a name is set here, nowhere, or perhaps elsewhere."""
        if name in self.settings:
            return "set" if self.settings[name].known else "unknown"
        if name in self.unknown or name in self.from_manager:
            return "unknown"
        if self.complete or name in self.removed or NAME.fullmatch(name) is None:
            return "unset"
        return "unknown"

    def split(self, name: str) -> tuple[Token, ...]:
        """The words that `$NAME` as a word of its own becomes."""
        if name not in self._words:
            self._words[name] = tuple(iter(WordReader(self.settings[name].value, "variable").next, None))
        return self._words[name]

    def forget(self) -> None:
        """A file that could not be read comes after all that was set so far and may set it anew."""
        self.settings = {name: replace(setting, known=False) for name, setting in self.settings.items()}

    def unset(self, what: str) -> None:
        """Take away a name, or a name with this value (`UnsetEnvironment=`)."""
        name, equals, value = what.partition("=")
        setting = self.settings.get(name)
        if equals and (setting is None or setting.value.text != value):
            return
        self.settings.pop(name, None)
        if not equals:
            self.unknown.discard(name)
            self.from_manager -= {name}
            self.removed.add(name)


_REFERENCE = re.compile(r"\$(?:\$|\{(?P<name>[^}:]*)\})")
"""`$$` and `${NAME}`; `${NAME:-x}` is not systemd's and stays as it is."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A token after `%`, with what is needed to make words of it."""

    token: Token
    written: Written
    known: bool
    """False if it holds a specifier whose value only shows on the host."""
    plain: bool
    """True if nothing but `%%` was expanded in it."""


class Expander:
    """Makes the words that a process gets of tokens; bounded."""

    def __init__(self, environment: Environment, *, dollars: bool) -> None:
        self._environment = environment
        self._dollars = dollars
        self._characters = 0
        self._words = 0

    def words(self, resolved: Resolved) -> Iterator[Word]:
        """The words that one token becomes: none, one, or those that `$NAME` is split into.

        Raises:
            InputError: there are more words or characters than Linux takes.
        """
        text = resolved.written.text
        if self._dollars and text[:1] == "$" and text[1:2] not in ("{", "$"):
            yield from self._split(resolved, text[1:])
            return
        if not self._dollars or "$" not in text:
            yield self._count(
                _word(resolved, resolved.written, known=resolved.known, editable=resolved.plain)
            )
            return
        whole = _REFERENCE.fullmatch(text)
        if whole and whole["name"] is not None and self._environment.state(whole["name"]) == "set":
            yield self._count(_from(self._environment.settings[whole["name"]], None))
            return
        yield self._count(self._substituted(resolved))

    def _split(self, resolved: Resolved, name: str) -> Iterator[Word]:
        state = self._environment.state(name)
        if not resolved.known or state == "unknown":
            yield self._count(_word(resolved, resolved.written, known=False, editable=False))
        elif state == "set":
            for token in self._environment.split(name):
                yield self._count(_from(self._environment.settings[name], token))

    def _substituted(self, resolved: Resolved) -> Word:
        written = resolved.written
        texts: list[str] = []
        offsets: list[int] = []
        known, editable, at = resolved.known, resolved.plain, 0
        for match in _REFERENCE.finditer(written.text):
            name = match["name"]
            if name is None:
                value = "$"
            else:
                editable = False
                if self._environment.state(name) == "unknown":
                    known = False
                    continue
                setting = self._environment.settings.get(name)
                value = setting.value.text if setting else ""
            self._add(len(value))
            texts += (written.text[at : match.start()], value)
            offsets.extend(written.offsets[at : match.start()])
            offsets.extend([written.offsets[match.start()]] * len(value))
            at = match.end()
        texts.append(written.text[at:])
        text = Written(file=written.file, text="".join(texts), offsets=(*offsets, *written.offsets[at:]))
        return _word(resolved, text, known=known, editable=editable)

    def _count(self, word: Word) -> Word:
        self._words += 1
        self._add(len(word.text))
        if self._words > LIMIT_WORDS:
            raise InputError(f"{word.file.path}: the command has more than {LIMIT_WORDS:,} words")
        return word

    def _add(self, characters: int) -> None:
        self._characters += characters
        if self._characters > LIMIT_CHARACTERS:
            raise InputError(f"the command expands to more than {LIMIT_CHARACTERS:,} characters")


def _word(resolved: Resolved, written: Written, *, known: bool, editable: bool) -> Word:
    return Word(
        text=written.text,
        file=written.file,
        start=resolved.token.file_start,
        end=resolved.token.file_end,
        offsets=written.offsets,
        syntax="systemd",
        known=known,
        editable=editable,
    )


def _from(setting: Setting, token: Token | None) -> Word:
    """A word that a variable's text gives."""
    value = setting.value
    start, end = (token.start, token.end) if token else (0, len(value.text))
    return Word(
        text=token.written.text if token else value.text,
        file=value.file,
        start=value.offsets[start],
        end=value.offsets[end],
        offsets=token.written.offsets if token else value.offsets,
        syntax=setting.syntax,
        editable=False,
    )
