"""`$`, the program, comments and shell syntax in an `ExecStart=`, as against what systemd makes of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.deployment.systemd.environment import NAME, Environment
from assay.deployment.systemd.fault_list import FaultList, Span, shown
from assay.deployment.systemd.quote_faults import (
    add_json_fault,
    check_escapes,
    check_percents,
    check_quotes,
    json_groups,
    shown_word,
    span_of,
)
from assay.deployment.systemd.words import Token

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.deployment.systemd.specifiers import UnitName
    from assay.deployment.systemd.words import Command
    from assay.deployment.text import Edit, Written

_SHELLS = frozenset(["sh", "bash", "dash", "ash", "zsh", "ksh", "su", "runuser"])
_SCRIPT_OPTION = re.compile(r"-[A-Za-z]*c|--command")
_OPERATOR = re.compile(r"\|\||\||&&|&|\d*>>?(?:&\d|[^=&>].*)?|&>>?.*|<<?<?(?![^<].*>).*")
_REFERENCE = re.compile(r"\$(?:\$|\{(?P<braced>[^}]*)\}|(?P<bare>[A-Za-z_][A-Za-z0-9_]*)|(?P<command>\())")
_BACKTICKS = re.compile(r"`[^`]+`")


@dataclass(frozen=True, slots=True)
class CommandLine:
    """The command that is looked at."""

    source: Written
    """The value of its `ExecStart=`."""
    command: Command
    """The command as it was split."""
    environment: Environment
    """Its variables."""
    unit: UnitName
    """Its unit."""
    dollars: bool
    """False after the prefix `:`, where systemd expands no `$`."""
    main: bool
    """True in the unit file itself: there an error refuses the unit, in a drop-in it ends the drop-in."""


def check_command(line: CommandLine, faults: FaultList) -> None:
    """Note the faults of a command's words, the program's apart."""
    tokens = line.command.tokens
    comment = _comment(line, faults)
    groups = {group.first: group for group in json_groups(line.source, tokens[:comment])}
    covered = {at for group in groups.values() for at in range(group.first, group.last + 1)}
    operator = next((at for at, token in enumerate(tokens) if at and _is_operator(line, token)), 0)
    shell = False
    for index, token in enumerate(tokens):
        context = tokens[index - 1].written.text if index else ""
        if index in groups:
            add_json_fault(line.source, tokens[index : groups[index].last + 1], faults, context=context)
        script = shell and bool(_SCRIPT_OPTION.fullmatch(context))
        shell = shell or token.written.text.rpartition("/")[2] in _SHELLS
        if index == 0 or index >= comment:
            continue
        check_percents(token, line.unit, faults, refused=line.main, editable=index not in covered)
        if index in covered:
            continue
        check_quotes(line.source, token, faults, script=script, context=context)
        check_escapes(line.source, token, faults)
        if line.dollars:
            _check_dollars(line, token, faults, script=script)
        if not script and (index == operator or not _is_operator(line, token)):
            _check_shell(line, index, faults)
    if line.dollars:
        _check_variables(line, faults)


def _comment(line: CommandLine, faults: FaultList) -> int:
    """Index of the token where what looks like a comment begins; past the last if there is none."""
    tokens, text = line.command.tokens, line.source.text
    for index, token in enumerate(tokens[1:], start=1):
        if text[token.start] != "#":
            continue
        previous = tokens[index - 1].written.text
        following = tokens[index + 1].written.text if index + 1 < len(tokens) else "-"
        if token.end - token.start > 1 and previous[:1] == "-" and following[:1] == "-":
            continue  # the value of an option, such as a colour
        if text[: token.start].rstrip(" \t").endswith("\\"):
            return index  # behind a backslash: told as a broken continuation
        span = comment_span(line.source, token)
        faults.add(
            "inline-comment",
            span,
            "no comment for systemd: the process gets "
            f"{shown(text[token.start : token.end])} and what follows",
            advice="put the comment on a line of its own",
            edits=comment_edits(span),
        )
        return index
    return len(tokens)


def comment_span(source: Written, token: Token) -> Span:
    """From a `#` to the end of its line, a continuing backslash left out."""
    text = source.file.text
    match = re.compile(r"[\r\n]").search(text, token.file_start)
    content = text[token.file_start : match.start() if match else len(text)].rstrip()
    if (len(content) - len(content.rstrip("\\"))) % 2:
        content = content[:-1].rstrip()
    return Span(source.file, token.file_start, token.file_start + len(content))


def comment_edits(span: Span) -> list[Edit]:
    """Put the comment on a line of its own, after a backslash if the command goes on."""
    text, start = span.file.text, span.start
    while start and text[start - 1] in " \t":
        start -= 1
    tail = re.compile(r"[ \t]*\\(?=[\r\n])").match(text, span.end)
    if tail is None:
        return [Span(span.file, start, span.start).edit("\n")]
    return [
        Span(span.file, start, span.start).edit(" \\\n"),
        Span(span.file, span.end, tail.end()).edit(""),
    ]


def _check_dollars(line: CommandLine, token: Token, faults: FaultList, *, script: bool) -> None:
    text = token.written.text
    if "$" not in text and "`" not in text:
        return
    if text[:1] == "$" and text[1:2] not in ("{", "$"):
        _check_split(line, token, faults)
        return
    for match in _REFERENCE.finditer(text):
        at = Span(token.written.file, *_ends(token, match.start(), match.end()))
        if match["braced"] is not None:
            _check_braced(line, token, match["braced"], at, faults, script=script)
        elif script:
            continue
        elif match["bare"]:
            _check_bare(line, token, match, faults)
        elif match["command"]:
            _add_command(at, faults)
    if not script and (ticks := _BACKTICKS.search(text)):
        _add_command(Span(token.written.file, *_ends(token, *ticks.span())), faults)


def _ends(token: Token, start: int, end: int) -> tuple[int, int]:
    offsets = token.written.offsets
    return offsets[start], offsets[end - 1] + 1


def _add_command(span: Span, faults: FaultList) -> None:
    message = "no shell runs here: the command is not run, its text is passed on"
    faults.add(
        "dollar-expansion", span, message, advice="start it by /bin/sh -c '…', or write the value itself"
    )


def _check_split(line: CommandLine, token: Token, faults: FaultList) -> None:
    """A word that begins with an unbraced `$`: all of it is the variable's name."""
    name = token.written.text[1:]
    span = span_of(token, token)
    state = line.environment.state(name)
    if NAME.fullmatch(name):
        if state == "unset" and not line.environment.files:
            message = f"no Environment= sets {name}, so the word vanishes"
            faults.add("dollar-expansion", span, message)
        elif state == "set" and token.quotes and (count := len(line.environment.split(name))) != 1:
            edits = _braces(token, 0, len(name))
            message = f"systemd splits {shown('$' + name)} also in quotes: the process gets {count} words"
            faults.add("dollar-expansion", span, message, advice=f"write ${{{name}}}", edits=edits)
        return
    message = (
        f"systemd takes all of {shown(name)} for a variable's name, which nothing sets: the word vanishes"
    )
    if name[:1] == "(" or not name:
        faults.add("dollar-expansion", span, message, advice="write $$ for a dollar sign; no shell runs here")
        return
    match = NAME.match(name)
    edits = _braces(token, 0, match.end()) if match else []
    faults.add("dollar-expansion", span, message, advice="put the name into braces: ${NAME}", edits=edits)


def _check_variables(line: CommandLine, faults: FaultList) -> None:
    """JSON in a variable that loses its quotes where the variable is split."""
    names = dict.fromkeys(
        token.written.text[1:] for token in line.command.tokens if token.written.text[:1] == "$"
    )
    for name in names:
        setting = line.environment.settings.get(name)
        if setting is None or not setting.known:
            continue
        tokens = line.environment.split(name)
        for group in json_groups(setting.value, tokens):
            add_json_fault(setting.value, tokens[group.first : group.last + 1], faults, variable=True)


def _check_braced(
    line: CommandLine, token: Token, name: str, span: Span, faults: FaultList, *, script: bool
) -> None:
    if ":" in name:
        message = f"systemd does not know {shown('${' + name + '}')}; it passes it on as it is"
        advice = "set the default by Environment= before the EnvironmentFile="
        if not script:
            faults.add("dollar-expansion", span, message, advice=advice)
        return
    state = line.environment.state(name)
    if state == "unset":
        message = f"no Environment= or EnvironmentFile= sets {shown(name)}, so it becomes empty"
        faults.add("dollar-expansion", span, message)
    elif state == "set" and token.written.text == "${" + name + "}" and not token.quotes:
        value = line.environment.settings[name].value.text
        if value[:1] == "-" and re.search(r"\s", value.strip()):
            offsets = token.written.offsets
            edits = [
                Span(span.file, offsets[1], offsets[1] + 1).edit(""),
                Span(span.file, offsets[len(name) + 2], offsets[len(name) + 2] + 1).edit(""),
            ]
            message = f"the process gets all options of {name} as one word"
            faults.add(
                "dollar-expansion", span, message, advice=f"write ${name} to have it split", edits=edits
            )


def _check_bare(line: CommandLine, token: Token, match: re.Match[str], faults: FaultList) -> None:
    """`$NAME` in the middle of a word."""
    name = match["bare"]
    state = line.environment.state(name)
    if state == "unset" and not re.fullmatch(r"[A-Z][A-Z0-9_]+", name):
        return
    edits = _braces(token, match.start(), len(name)) if state != "unset" else []
    faults.add(
        "dollar-expansion",
        Span(token.written.file, *_ends(token, match.start(), match.end())),
        f"systemd does not expand {shown('$' + name)} in the middle of a word: the process gets it as it is",
        advice=f"write ${{{name}}}",
        edits=edits,
    )


def _braces(token: Token, dollar: int, length: int) -> list[Edit]:
    file, offsets = token.written.file, token.written.offsets
    start, last = offsets[dollar + 1], offsets[dollar + length]
    return [Span(file, start, start).edit("{"), Span(file, last + 1, last + 1).edit("}")]


def _is_operator(line: CommandLine, token: Token) -> bool:
    return not token.quotes and bool(_OPERATOR.fullmatch(line.source.text, token.start, token.end))


def _last_behind(tokens: Sequence[Token], index: int, operator: str) -> int:
    """The last of the words that belong to an operator: all that follow, of a redirection its file."""
    if operator in ("&&", "||", "|", "&"):
        return len(tokens) - 1
    while index + 1 < len(tokens) and tokens[index + 1].written.text[:1] != "-":
        index += 1
    return index


def _check_shell(line: CommandLine, index: int, faults: FaultList) -> None:
    tokens, text = line.command.tokens, line.source.text
    token = tokens[index]
    raw = text[token.start : token.end]
    if token.quotes or raw != token.written.text:
        return
    span = span_of(token, token)
    context = tokens[index - 1].written.text
    word = shown_word(raw, context)
    if _OPERATOR.fullmatch(raw):
        message = f"no shell runs here: the process gets {word} and what follows as arguments"
        span = span_of(token, tokens[_last_behind(tokens, index, raw)])
        faults.add("shell-syntax", span, message, advice="start it by /bin/sh -c 'exec …'")
    elif raw[-1] == ";" and len(raw) > 1 and index + 1 < len(tokens):
        message = f"no shell runs here: the process gets {word} and what follows as arguments"
        faults.add("shell-syntax", span, message, advice="use ExecStartPre= for a command before")
    elif re.match(r"(?:[-\w.]+=)?~[\w-]*/", raw):
        message = f"systemd does not expand `~`: the process gets {word}"
        faults.add("shell-syntax", span, message, advice="write the whole path")
    elif "*" in raw and "/" in raw and "://" not in raw:
        message = f"no shell expands the pattern: the process gets {word}"
        faults.add("shell-syntax", span, message, advice="name the files, or start it by /bin/sh -c 'exec …'")
