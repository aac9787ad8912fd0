"""Finds what the shell does to a command that its writer did not mean: lost quotes, broken continuations."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from assay.deployment.launch import Fault
from assay.deployment.shell.syntax import Block, Chain, Pipe, Simple, WordNode

if TYPE_CHECKING:
    from assay.deployment.shell.lex import Lexer
    from assay.deployment.shell.syntax import Node

_JSON = re.compile(r"(?:--?[A-Za-z][\w.-]*=)?(?P<quote>\"?)(?P<open>[{\[])[ \t]*(?=\"|[{\[][ \t]*\")")
_JSON_LIMIT = 8192
_BETWEEN = re.compile(r"[ \t]*\n[ \t]*")
_COMMENT_LINES = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)*")


class Quotes:
    """Finds JSON that the shell takes the quotes from."""

    def __init__(self, lex: Lexer) -> None:
        self._lex = lex
        self._until = 0

    def check(self) -> None:
        """Look at the word that begins at the lexer's position."""
        lex = self._lex
        match = _JSON.match(lex.text, lex.at)
        if match is None or lex.at < self._until:
            return
        opening = match.start("open")
        end = _json_end(lex.text, opening)
        if match["quote"]:
            if end is None or not lex.text.startswith('"', end):
                return
            self._note(match.start("quote"), end + 1, lex.text[opening:end])
        elif end is not None:
            self._note(opening, end, lex.text[opening:end])
        elif match["open"] == "{":
            self._note(opening, opening + 2, None)

    def _note(self, start: int, end: int, text: str | None) -> None:
        self._until = end
        if not self._lex.may_note():
            return
        safe = text is not None and not set(text) & set("'$`\\\n")
        self._lex.faults.append(
            Fault(
                kind="lost-quotes",
                place=self._lex.place(start, end),
                message="the shell takes the double quotes away, so the process does not get JSON",
                help="put the JSON in single quotes",
                edits=(self._lex.edit(start, end, f"'{text}'"),) if safe else (),
            )
        )


def _json_end(text: str, start: int) -> int | None:
    """Offset after the JSON object or list that begins at `start`."""
    try:
        _, length = json.JSONDecoder().raw_decode(text[start : start + _JSON_LIMIT])
    except (ValueError, RecursionError):
        return None
    return start + length


def comment_breaks(lex: Lexer, gap: str) -> None:
    """Note a comment or an empty line that ends a command although arguments follow.

    `gap` is what was stepped over before the comment or the line's end at the lexer's position.
    """
    continued = gap.rstrip(" \t").endswith("\\\n")
    line_end = lex.text.find("\n", lex.at)
    if line_end < 0:
        return
    inline = not continued and lex.text[lex.at : line_end].endswith("\\") and lex.text[lex.at] == "#"
    if not continued and not inline:
        return
    match = _COMMENT_LINES.match(lex.text, line_end + 1)
    following = match.end() if match else line_end + 1
    if not re.compile(r"[ \t]*-").match(lex.text, following) or not lex.may_note():
        return
    what = "comment" if lex.text[lex.at] == "#" else "empty line"
    start = lex.text.rfind("\n", 0, lex.at) + 1
    edit = lex.edit(lex.at, line_end - 1, "") if inline else lex.edit(start, following, "")
    lex.faults.append(
        Fault(
            kind="broken-continuation",
            place=lex.place(lex.at, line_end),
            message=f"this {what} ends the command: the lines after it are no arguments of it"
            + (", and the backslash is part of the comment" if inline else ""),
            help=f"take the {what} out of the command",
            edits=(edit,),
        )
    )


def orphan(lex: Lexer, owner: Simple | None, node: Node) -> Simple | None:
    """Note a line that begins with an option and stands alone after a command; return who owns what follows.

    `owner` is the command before, if any.
    """
    first, last = _outermost(node, 0), _outermost(node, -1)
    if first is None or owner is None or not _starts_with_option(lex, first):
        return last if last and last.words else None
    if lex.may_note():
        between = _BETWEEN.fullmatch(lex.text, owner.end, first.start)
        broken = lex.text[max(owner.end - 2, 0) : owner.end - 1] == "\\"
        taken = "\\" in lex.raw(owner.end, first.start) and not broken
        owner.faults.append(
            Fault(
                kind="ignored-line",
                place=lex.place(first.start, first.end),
                message="this line is no part of the command before it: it runs as a command of its own",
                help="the quotes around take the backslash before it away: write two"
                if taken
                else "end the line before it with a backslash",
                edits=(lex.edit(owner.end, owner.end, " \\"),)
                if between and not broken and not taken
                else (),
            )
        )
    owner.end = first.end
    return owner if last is first else last


def _outermost(node: Node, index: int) -> Simple | None:
    """The first (0) or last (-1) simple command of a chain or pipeline."""
    while True:
        if isinstance(node, Simple):
            return node
        if isinstance(node, Chain):
            node = node.items[index][1]
        elif isinstance(node, Pipe):
            node = node.items[index]
        elif isinstance(node, Block) and node.statements:
            node = node.statements[index]
        else:
            return None


def _starts_with_option(lex: Lexer, command: Simple) -> bool:
    first = command.words[0] if command.words else None
    return isinstance(first, WordNode) and not command.assignments and lex.text.startswith("-", first.start)
