"""`Environment=` and `EnvironmentFile=` of a unit: what they set, and what is wrong with them."""

from __future__ import annotations

import glob
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.deployment.files import read_user_file
from assay.deployment.systemd.command_faults import comment_edits, comment_span
from assay.deployment.systemd.environment import FROM_MANAGER, NAME, Environment, Setting
from assay.deployment.systemd.environment_file import parse_environment_file
from assay.deployment.systemd.environment_file_faults import check_assignment
from assay.deployment.systemd.fault_list import FaultList, Span, shown
from assay.deployment.systemd.quote_faults import (
    add_json_fault,
    check_percents,
    check_quotes,
    json_groups,
    shown_word,
    span_of,
)
from assay.deployment.systemd.specifiers import UnitName, expand_specifiers
from assay.deployment.systemd.specifiers import uses as specifier_uses
from assay.deployment.systemd.unit_file import is_utf8
from assay.deployment.systemd.words import BadWord, Token, WordReader
from assay.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from assay.deployment.systemd.unit_file import Entry
    from assay.deployment.text import UserFile, Written

_LIMIT_FILES = 100
_GLOB = re.compile(r"[*?\[]")
_NOT_EXPANDED = re.compile(r"\$\{?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\}?")
_PATHS = frozenset(("PYTHONPATH", "LD_LIBRARY_PATH"))


@dataclass(frozen=True, slots=True)
class Where:
    """Where a unit's files are to be found."""

    folders: tuple[Path, ...]
    """The unit's own folder, then those of its drop-ins."""
    root: str | None
    """What stands before the folder that systemd loads units from: nothing on the host itself, the folder of
    a copy of its files, None if the unit lies elsewhere."""


def read_settings(entry: Entry, unit: UnitName, faults: FaultList) -> list[Setting]:
    """The variables that one `Environment=` sets."""
    source, file = entry.value, entry.value.file
    tokens = _tokens(source, faults)
    groups = {group.first: group for group in json_groups(source, tokens)}
    covered = {at for group in groups.values() for at in range(group.first, group.last + 1)}
    settings: list[Setting] = []
    stray: list[Token] = []
    names: set[str] = set()
    comment = False
    for index, token in enumerate(tokens):
        if index in groups:
            add_json_fault(source, tokens[index : groups[index].last + 1], faults)
        check_percents(
            token, unit, faults, refused=False, editable=index not in covered, what="the assignment"
        )
        setting = _setting(token, unit)
        if setting is not None:
            settings.append(setting)
            names.add(setting.name)
        if index in covered or comment:
            continue
        if setting is not None:
            check_quotes(source, token, faults, script=False)
            _check_dollar(setting, names, Span(file, token.file_start, token.file_end), faults)
        elif source.text[token.start] == "#":
            comment = True
            _comment(source, token, faults)
        elif all(use.valid for use in specifier_uses(token.written.text)):
            stray.append(token)
    if stray:
        _check_stray(source, tokens, stray, faults)
    return settings


def _tokens(source: Written, faults: FaultList) -> list[Token]:
    reader = WordReader(source, "assignments")
    tokens: list[Token] = []
    try:
        while (token := reader.next()) is not None:
            tokens.append(token)
    except BadWord as error:
        end = len(source.text)
        span = Span(source.file, source.offsets[error.at], source.offsets[min(error.at + 2, end)])
        if error.reason == "escape":
            message = f"systemd knows no escape {shown(source.text[error.at : error.at + 2])} here"
            edits = [span._replace(end=span.start).edit("\\")]
            message += " and ignores the rest of the line"
            faults.add("unknown-escape", span, message, advice="write two backslashes", edits=edits)
        else:
            message = "nothing closes this quote, so systemd ignores the rest of the line"
            faults.add("unbalanced-quotes", span._replace(end=span.start + 1), message)
    return tokens


def _setting(token: Token, unit: UnitName) -> Setting | None:
    written, found = expand_specifiers(token.written, unit)
    name, equals, _ = written.text.partition("=")
    if not equals or not NAME.fullmatch(name) or any(not use.valid for use in found):
        return None
    if not is_utf8(written.text):
        return None  # systemd takes no value that is not UTF-8
    return Setting(
        name=name,
        value=written.part(len(name) + 1, len(written.text)),
        start=token.file_start,
        end=token.file_end,
        syntax="systemd",
        known=all(use.value is not None for use in found),
    )


def _comment(source: Written, token: Token, faults: FaultList) -> None:
    span = comment_span(source, token)
    message = "no comment for systemd: it takes each word for an assignment"
    advice = "put the comment on a line of its own"
    faults.add("inline-comment", span, message, advice=advice, edits=comment_edits(span))


def _check_stray(source: Written, tokens: Sequence[Token], stray: list[Token], faults: FaultList) -> None:
    """Words that are no assignment: mostly a value with blanks and no quotes."""
    first = stray[0]
    words = shown_word(first.written.text, tokens[0].written.text) + (" and more" if len(stray) > 1 else "")
    plain = tokens[1:] == stray and not any(token.quotes for token in tokens) and "\\" not in source.text
    span = span_of(tokens[0], tokens[-1])
    edits = [span.edit(f'"{source.text}"')] if plain and not source.text.count('"') else []
    faults.add(
        "ignored-line",
        span_of(first, stray[-1]),
        f"systemd splits at blanks and ignores {words}, which sets no variable",
        advice="put the whole assignment into quotes",
        edits=edits,
    )


def _check_dollar(setting: Setting, names: set[str], span: Span, faults: FaultList) -> None:
    for match in _NOT_EXPANDED.finditer(setting.value.text):
        name = match["name"]
        if name in names or name in FROM_MANAGER or name in _PATHS:
            message = f"Environment= expands no `$`: {setting.name} gets {shown(match[0])} as it is"
            faults.add(
                "dollar-expansion", span, message, advice="write the value itself, or %h for the home folder"
            )
            return


def read_environment_files(
    entry: Entry, unit: UnitName, where: Where, environment: Environment, faults: FaultList
) -> list[UserFile]:
    """Read the files of one `EnvironmentFile=` into the environment."""
    written, found = expand_specifiers(entry.value, unit)
    span = Span(entry.value.file, entry.value.offsets[0], entry.value.offsets[-1])
    dash = "-" if written.text.startswith("-") else ""
    text = written.text.removeprefix("-")
    if any(use.value is None for use in found):
        environment.complete = False
        return []
    if not text.startswith("/"):
        bare = text.strip("\"'")
        edits = [span.edit(dash + bare)] if bare != text and bare[:1] == "/" else []
        message = f"EnvironmentFile= takes an absolute path without quotes; systemd ignores {shown(text)}"
        faults.add("ignored-line", span, message, edits=edits)
        return []
    paths = _find(text, where)
    if not paths and where.root != "":
        environment.complete = False
    elif not paths and not dash:
        message = f"there is no {shown(text)}, so systemd does not start the service"
        advice = "put a `-` before the path if it may be missing"
        faults.add("missing-file", span, message, refused=True, advice=advice)
    files = [file for path in paths if (file := _read(path, environment)) is not None]
    for file in files:
        _take(file, span, environment, faults, optional=bool(dash))
    return files


def _take(file: UserFile, span: Span, environment: Environment, faults: FaultList, *, optional: bool) -> None:
    """Let a file's assignments take effect; `span` is where the unit names it."""
    lines = parse_environment_file(file)
    if not all(line.value is None or is_utf8(line.name + line.value.text) for line in lines):
        message = f"{file.path} is not UTF-8, so systemd " + (
            "leaves it out" if optional else "does not start"
        )
        faults.add("ignored-line", span, message, refused=not optional)
        return
    for line in lines:
        check_assignment(file, line, environment, faults)
        if line.value is not None and NAME.fullmatch(line.name):
            environment.settings[line.name] = Setting(
                name=line.name,
                value=line.value,
                start=line.start,
                end=line.end,
                syntax="environment-file",
                known=not line.after_comment,
            )


def _find(text: str, where: Where) -> list[Path]:
    """The files of that path, below its root if the unit is of a copy; else those of that name beside it."""
    path = Path(text)
    folders = [path.parent, *where.folders]
    if where.root is not None:
        folders = [Path(where.root + str(path.parent)), *(where.folders if where.root else ())]
    for folder in folders:
        try:
            if _GLOB.search(path.name) and not _GLOB.search(str(path.parent)):
                names = sorted(glob.iglob(path.name, root_dir=folder))[:_LIMIT_FILES]
                found = [folder / name for name in names]
            else:
                found = [folder / path.name] if (folder / path.name).is_file() else []
        except (OSError, ValueError):
            continue
        if found:
            return found
    return []


def _read(path: Path, environment: Environment) -> UserFile | None:
    try:
        return read_user_file(path)
    except InputError:
        environment.complete = False
        return None


def names_in(entries: Iterable[Entry], unit: UnitName) -> set[str]:
    """The names (or `NAME=value`) that `PassEnvironment=` and `UnsetEnvironment=` list."""
    names: set[str] = set()
    for entry in entries:
        for token in _tokens(entry.value, FaultList()):
            names.add(expand_specifiers(token.written, unit)[0].text)
    return names
