"""Reads a systemd unit with its drop-ins and environment files into the command that it starts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from assay.deployment.files import read_user_file
from assay.deployment.launch import Launch
from assay.deployment.systemd.command_faults import CommandLine, check_command
from assay.deployment.systemd.drop_ins import drop_ins
from assay.deployment.systemd.environment import FROM_MANAGER, Environment, Expander, Resolved
from assay.deployment.systemd.fault_list import FaultList, Span
from assay.deployment.systemd.program import parse_program, refusal
from assay.deployment.systemd.program_faults import check_program
from assay.deployment.systemd.settings import Where, names_in, read_environment_files, read_settings
from assay.deployment.systemd.specifiers import UnitName, expand_specifiers, parse_unit_name
from assay.deployment.systemd.unit_faults import check_lines, line_span
from assay.deployment.systemd.unit_file import BLANKS, UnitFile, ends_file, parse_unit_file
from assay.deployment.systemd.words import Command, read_commands
from assay.deployment.text import UserFile, Word
from assay.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assay.deployment.systemd.unit_file import Entry

_LOADED_FROM = re.compile(
    r"(?P<root>.*?)(?:/etc|/run|/usr/lib|/lib|/usr/local/lib|/(?:home/[^/]+|root)/\.config)/systemd/(?:system|user)/"
)
"""Where systemd loads units from; behind a root, such as a repository that holds a copy of a host's files."""
_LIMIT_FILES = 100
_LOGIN = frozenset(("HOME", "LOGNAME", "USER", "SHELL"))
_LISTS = ("Environment", "EnvironmentFile", "PassEnvironment", "UnsetEnvironment")


@dataclass(frozen=True, slots=True)
class _Start:
    """One command that an `ExecStart=` adds."""

    entry: Entry
    command: Command
    main: bool
    """True in the unit file itself."""


@dataclass(slots=True)
class _Effective:
    """What holds after the unit and its drop-ins: lists with their resets, and the last of single values."""

    starts: list[_Start] = field(default_factory=list)
    dropped: list[_Start] = field(default_factory=list)
    """Commands that systemd leaves out because of an error in them."""
    lists: dict[str, list[Entry]] = field(default_factory=lambda: {key: [] for key in _LISTS})
    single: dict[str, Entry] = field(default_factory=dict)

    def text(self, key: str) -> str:
        """The last value of a key, or an empty string."""
        return self.single[key].value.text if key in self.single else ""


def read_unit(path: Path) -> Launch:
    """Read a systemd service, its drop-ins and its environment files; the last effective `ExecStart=` counts.

    Drop-ins are taken from `NAME.service.d/` and `service.d/` beside the unit. Words are those that the
    process gets; shells and other wrappers are not taken off. The rules are those of systemd 252's source.

    Raises:
        InputError: the file cannot be read, starts nothing, or starts more than Linux takes.
    """
    file = read_user_file(path)
    lone = path.suffix == ".conf" and path.parent.name.endswith(".d")
    unit = parse_unit_name(path.parent.name.removesuffix(".d") if lone else path.name)
    units = [
        parse_unit_file(file),
        *(parse_unit_file(other) for other in ([] if lone else drop_ins(path, unit))),
    ]
    faults = FaultList()
    effective = _Effective()
    for at, one in enumerate(units):
        check_lines(one, faults, drop_in=lone or at > 0)
        whole = _apply(one, unit, effective, main=at == 0 and not lone)
        if at == 0 and not whole and not lone:
            break  # systemd does not come to the drop-ins
    start = _last(path, unit, effective, faults)
    environment, files = _environment(path, unit, effective, faults)
    words = _words(start, unit, environment, faults)
    directory = effective.text("WorkingDirectory").removeprefix("-")
    return Launch(
        kind="systemd",
        name=unit.id,
        words=words,
        environment=tuple(setting.variable() for setting in environment.settings.values()),
        directory=directory or None,
        faults=faults.all(),
        files=(*(one.file for one in units), *files),
    )


def _apply(one: UnitFile, unit: UnitName, effective: _Effective, *, main: bool) -> bool:
    """Let a file's settings take effect; False after an error at which systemd reads no further."""
    for entry in one.entries:
        if ends_file(entry):
            return False
        if entry.kind != "assignment" or entry.section not in ("Service", "Install"):
            continue
        if entry.key == "ExecStart" and entry.section == "Service":
            if not _add_starts(entry, unit, effective, main=main):
                return False
        elif entry.key in _LISTS and entry.section == "Service":
            if not entry.value.text:
                effective.lists[entry.key].clear()
            else:
                effective.lists[entry.key].append(entry)
        else:
            effective.single[entry.key] = entry
    return True


def _add_starts(entry: Entry, unit: UnitName, effective: _Effective, *, main: bool) -> bool:
    """Add an `ExecStart=`; False if systemd takes an error in it for the end of the file."""
    if not entry.value.text:
        effective.starts = []
        effective.dropped = []
        return True
    for command in read_commands(entry.value):
        start = _Start(entry, command, main)
        if refusal(command, unit) or command.bad:
            effective.dropped.append(start)
            return not refusal(command, unit)
        effective.starts.append(start)
    return True


def _last(path: Path, unit: UnitName, effective: _Effective, faults: FaultList) -> _Start:
    starts, dropped = effective.starts, effective.dropped
    if not starts and not dropped:
        raise InputError(
            f"{path} starts nothing: there is no ExecStart= with a command in its [Service]",
            hint="give the unit file that holds the command (`systemctl cat NAME.service` names it)",
        )
    broken = dropped[-1] if dropped else None
    refused = broken is not None and (not starts or (broken.main and bool(refusal(broken.command, unit))))
    if broken is not None and broken.command.bad:
        at, value = broken.command.bad.at, broken.entry.value
        faults.add(
            "unbalanced-quotes",
            Span(value.file, value.offsets[at], value.offsets[at] + 1),
            "nothing closes this quote, so systemd "
            + ("refuses the unit" if refused else "leaves the command out"),
            refused=refused,
            advice="close it, or write \\' or \\\" where it is meant as a character",
        )
    if len(starts) > 1 and effective.text("Type") != "oneshot":
        _second_start(starts, faults)
        starts = [start for start in starts if start.entry is starts[-1].entry][:1]  # before a `;`
    if broken is not None and refused:
        return broken
    return starts[-1]


def _second_start(starts: list[_Start], faults: FaultList) -> None:
    last, before = starts[-1], starts[-2]
    if last.entry is before.entry:
        value, at = before.entry.value, before.command.end
        message = (
            "a `;` as a word of its own begins a second command, which systemd refuses unless Type=oneshot"
        )
        span = Span(value.file, value.offsets[at], value.offsets[at] + 1)
        faults.add("semicolon", span, message, refused=True, advice="write \\; for a plain semicolon")
        return
    file = last.entry.value.file
    span = line_span(file, last.entry)
    drop_in = file.path != before.entry.value.file.path
    edits = [span._replace(end=span.start).edit("ExecStart=\n")] if drop_in else []
    faults.add(
        "second-exec-start",
        span._replace(end=span.start + len("ExecStart")),
        f"a second ExecStart=, after the one in {before.entry.value.file.path}: systemd refuses the service "
        "unless Type=oneshot",
        refused=True,
        advice="write an empty ExecStart= before this one",
        edits=edits,
    )


def _environment(
    path: Path, unit: UnitName, effective: _Effective, faults: FaultList
) -> tuple[Environment, list[UserFile]]:
    """The variables in systemd's order: passed on, of `Environment=`, of the files, less the unset ones."""
    environment = Environment(from_manager=_from_manager(path, effective))
    environment.unknown = names_in(effective.lists["PassEnvironment"], unit)
    for entry in effective.lists["Environment"]:
        for setting in read_settings(entry, unit, faults):
            environment.settings[setting.name] = setting
    entries = effective.lists["EnvironmentFile"]
    if len(entries) > _LIMIT_FILES:
        raise InputError(f"{path} names {len(entries):,} environment files, more than {_LIMIT_FILES}")
    folders = dict.fromkeys([path.parent, *(Path(entry.value.file.path).parent for entry in entries)])
    match = _LOADED_FROM.match(str(path.absolute()))
    where = Where(tuple(folders), match["root"] if match else None)
    environment.files = bool(entries)
    files: list[UserFile] = []
    for entry in entries:
        complete, environment.complete = environment.complete, True
        files += read_environment_files(entry, unit, where, environment, faults)
        if not environment.complete:
            environment.forget()
        environment.complete = environment.complete and complete
    for name in names_in(effective.lists["UnsetEnvironment"], unit):
        environment.unset(name)
    return environment, files


def _from_manager(path: Path, effective: _Effective) -> frozenset[str]:
    """systemd sets the login's variables for a system service only where it names a user."""
    system = "multi-user.target" in effective.text("WantedBy") or "/systemd/system/" in str(path.absolute())
    login = any(effective.text(key) not in ("", "no", "false") for key in ("User", "DynamicUser", "PAMName"))
    return FROM_MANAGER - _LOGIN if system and not login else FROM_MANAGER


def _words(start: _Start, unit: UnitName, environment: Environment, faults: FaultList) -> tuple[Word, ...]:
    source, command = start.entry.value, start.command
    if not command.tokens:
        return tuple(_rest(start))
    program = parse_program(command.tokens[0], unit)
    dollars = ":" not in program.flags
    line = CommandLine(source, command, environment, unit, dollars, start.main)
    expander = Expander(environment, dollars=dollars)
    words = [program.word()]
    for token in command.tokens[2 if "@" in program.flags else 1 :]:
        written, found = expand_specifiers(token.written, unit)
        known = all(use.value is not None for use in found)
        plain = all(use.letter == "%" for use in found)
        words.extend(expander.words(Resolved(token, written, known, plain)))
    check_program(line, program, faults)
    check_command(line, faults)
    return (*words, *_rest(start))


def _rest(start: _Start) -> Iterator[Word]:
    """What follows an unbalanced quote, split at blanks: systemd makes no words of it."""
    bad, value = start.command.bad, start.entry.value
    if bad is None:
        return
    for match in re.finditer(f"[^{BLANKS}]+", value.text[bad.start :]):
        part = value.part(bad.start + match.start(), bad.start + match.end())
        yield Word(
            text=part.text,
            file=part.file,
            start=part.offsets[0],
            end=part.offsets[-1],
            offsets=part.offsets,
            syntax="systemd",
            known=False,
            editable=False,
        )
