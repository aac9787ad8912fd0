"""Reads the structure of a shell script in one pass: commands, branches, loops, functions, here-documents.

A parser of our own, since tree-sitter's bash grammar takes time that grows with the square of the text for
some inputs (16,000 times `a|`, 32 kB: ten seconds), cannot be interrupted, and drops the word that a
backslash before a blank makes. What the shell would refuse is read as far as it makes sense.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assay.deployment.shell.faults import Quotes, comment_breaks, orphan
from assay.deployment.shell.lex import Lexer
from assay.deployment.shell.syntax import (
    DECLARING,
    Apart,
    Assignment,
    Block,
    Case,
    Chain,
    Function,
    If,
    Literal,
    Loop,
    Node,
    Pipe,
    Simple,
    WordNode,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from assay.deployment.text import Written

_GAP = re.compile(r"(?:[ \t]|\\\n)*")
_RESERVED = re.compile(r"(?:[a-z]+|[{}!]|\[\[)(?=[ \t\n;&|()<>]|\Z)")
_CLOSERS = frozenset({"then", "do", "done", "fi", "esac", "elif", "else", "}"})
_REDIRECTION = re.compile(
    r"(?:[0-9]+|\{[A-Za-z_][A-Za-z0-9_]*\})?(<<<|<<-?|<>|<&|>&|>>|>\||&>>|&>|<(?!\()|>(?!\())"
)
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[[^\]\n]*\])?(\+?)=")
_FUNCTION = re.compile(r"[ \t]*\([ \t]*\)")


def parse(written: Written) -> Block:
    """The statements of a shell text.

    Raises:
        InputError: it is nested too deep.
    """
    return _Parser(written).script()


class _Parser:
    def __init__(self, written: Written) -> None:
        self.lex = Lexer(written, self._list)
        self.text = written.text
        self.heredocs: list[tuple[str, bool]] = []
        self.quotes = Quotes(self.lex)
        self.compounds: dict[str, Callable[[], Node]] = {
            "if": self._if,
            "while": self._while,
            "until": self._while,
            "for": self._for,
            "select": self._for,
            "case": self._case,
            "{": self._group,
            "[[": self._test,
            "function": self._function,
            "coproc": self._coproc,
        }

    def script(self) -> Block:
        block = Block()
        while True:
            block.statements += self._list().statements
            if self._over():
                return block
            self.lex.at += len(self._reserved()) or 1

    def _over(self) -> bool:
        return self.lex.at >= self.lex.end

    def _reserved(self) -> str:
        match = _RESERVED.match(self.text, self.lex.at)
        return match[0] if match else ""

    def _take(self, word: str) -> bool:
        """Step over a reserved word, if it stands here."""
        self._blank()
        if self._reserved() != word:
            return False
        self.lex.at += len(word)
        return True

    def _gap(self) -> str:
        start = self.lex.at
        match = _GAP.match(self.text, start)
        self.lex.at = match.end() if match else start
        return self.text[start : self.lex.at]

    def _comment(self) -> None:
        end = self.text.find("\n", self.lex.at)
        self.lex.at = end if end >= 0 else self.lex.end

    def _newline(self) -> None:
        """Step over the end of a line, and over the here-documents that it starts."""
        self.lex.at += 1
        for delimiter, strips in self.heredocs:
            while not self._over():
                end = self.text.find("\n", self.lex.at)
                end = end if end >= 0 else self.lex.end
                line = self.text[self.lex.at : end]
                self.lex.at = min(end + 1, self.lex.end)
                if (line.lstrip("\t") if strips else line) == delimiter:
                    break
        self.heredocs.clear()

    def _blank(self) -> None:
        """Step over blanks, line ends and comments."""
        while True:
            self._gap()
            character = self.text[self.lex.at : self.lex.at + 1]
            if character == "\n":
                self._newline()
            elif character == "#":
                self._comment()
            else:
                return

    def _list(self) -> Block:
        """Statements up to the end, a closing bracket, or a word that closes or goes on with a compound."""
        block = Block()
        owner: Simple | None = None
        while True:
            self._blank()
            while self.text.startswith(";", self.lex.at) and not self.text.startswith(
                (";;", ";&"), self.lex.at
            ):
                self.lex.at += 1
                self._blank()
            if self._over() or self.text[self.lex.at] in ");" or self._reserved() in _CLOSERS:
                return block
            node = self._chain()
            owner = orphan(self.lex, owner, node)
            block.statements.append(self._ended(node))

    def _ended(self, node: Node) -> Node:
        self._gap()
        if self.text.startswith("&", self.lex.at):
            self.lex.at += 1
            return Apart(node)
        if self.text.startswith("|", self.lex.at):
            self.lex.at += 1
        return node

    def _chain(self) -> Node:
        items: list[tuple[str, Node]] = [("", self._pipeline())]
        while True:
            self._gap()
            operator = self.text[self.lex.at : self.lex.at + 2]
            if operator not in ("&&", "||"):
                return items[0][1] if len(items) == 1 else Chain(items)
            self.lex.at += 2
            self._blank()
            items.append((operator, self._pipeline()))

    def _pipeline(self) -> Node:
        items = [self._command()]
        while True:
            self._gap()
            if not self.text.startswith("|", self.lex.at) or self.text.startswith("||", self.lex.at):
                return items[0] if len(items) == 1 else Pipe(items)
            self.lex.at += 2 if self.text.startswith("|&", self.lex.at) else 1
            self._blank()
            items.append(self._command())

    def _command(self) -> Node:
        while self._reserved() == "!":
            self.lex.at += 1
            self._gap()
        if self.text.startswith("(", self.lex.at):
            compound: Callable[[], Node] | None = self._parentheses
        else:
            compound = self.compounds.get(self._reserved())
        if compound is None:
            return self._simple()
        with self.lex.deeper():
            node = compound()
        self._gap()
        while self._redirection([]):
            self._gap()
        return node

    def _skip_reserved(self) -> None:
        self.lex.at += len(self._reserved())

    def _if(self) -> Node:
        arms: list[tuple[Block, Block]] = []
        self._skip_reserved()
        while True:
            test = self._list()
            self._take("then")
            arms.append((test, self._list()))
            if not self._take("elif"):
                break
        otherwise = self._list() if self._take("else") else None
        self._take("fi")
        return If(arms, otherwise)

    def _while(self) -> Node:
        self._skip_reserved()
        test = self._list()
        return Loop(None, [], test, self._do())

    def _do(self) -> Block:
        if self._take("{"):
            body = self._list()
            self._take("}")
            return body
        self._take("do")
        body = self._list()
        self._take("done")
        return body

    def _for(self) -> Node:
        self._skip_reserved()
        self._gap()
        if self.text.startswith("((", self.lex.at):
            match = _ASSIGNMENT.match(self.text, self.lex.at + 2)
            self.lex.at = self.lex.arithmetic_end(self.lex.at + 2) or self.lex.end
            name, words = match[1] if match else None, []
        else:
            name, words = self._word_text(self.lex.word()), self._for_words()
        self._blank()
        if self.text.startswith(";", self.lex.at):
            self.lex.at += 1
        return Loop(name, words, Block(), self._do())

    def _for_words(self) -> list[WordNode]:
        words: list[WordNode] = []
        if self._take("in"):
            self._gap()
            while not self._over() and self.text[self.lex.at] not in "\n;&|()<>#":
                words.append(self.lex.word())
                self._gap()
        return words

    @staticmethod
    def _word_text(word: WordNode) -> str:
        """A word without its quotes, parameters as nothing."""
        return "".join(piece.text for piece in word.pieces if isinstance(piece, Literal))

    def _case(self) -> Node:
        self._skip_reserved()
        self._gap()
        subject = self.lex.word()
        self._take("in")
        bodies: list[Block] = []
        complete = False
        while not self._take("esac") and not self._over():
            at = self.lex.at
            complete |= self._patterns() == ["*"]
            bodies.append(self._list())
            if self.text.startswith((";", "&"), self.lex.at):
                while self.text[self.lex.at : self.lex.at + 1] in (";", "&"):
                    self.lex.at += 1
            elif self.lex.at == at:
                break
        return Case(subject, bodies, complete)

    def _patterns(self) -> list[str]:
        patterns: list[str] = []
        while not self._over() and self.text[self.lex.at] not in ");\n":
            if self.text[self.lex.at] in "(|<>&":
                self.lex.at += 1
            else:
                patterns.append(self._word_text(self.lex.word()))
            self._gap()
        if self.text.startswith(")", self.lex.at):
            self.lex.at += 1
        return patterns

    def _group(self) -> Node:
        self._skip_reserved()
        body = self._list()
        self._take("}")
        return body

    def _parentheses(self) -> Node:
        if self.text.startswith("((", self.lex.at) and (end := self.lex.arithmetic_end(self.lex.at + 2)):
            node = Simple(start=self.lex.at, end=end)
            self.lex.at = end
            return node
        self.lex.at += 1
        body = self._list()
        if self.text.startswith(")", self.lex.at):
            self.lex.at += 1
        return Apart(body)

    def _test(self) -> Node:
        node = Simple(start=self.lex.at)
        self.lex.at += 2
        while not self._over():
            self._blank()
            if self._reserved() == "" and self.text.startswith("]]", self.lex.at):
                self.lex.at += 2
                break
            if self._over():
                break
            at = self.lex.at
            self.lex.word()
            if self.lex.at == at:
                self.lex.at += 1
        node.end = self.lex.at
        return node

    def _function(self) -> Node:
        start = self.lex.at
        self._skip_reserved()
        self._gap()
        name = self._word_text(self.lex.word())
        if match := _FUNCTION.match(self.text, self.lex.at):
            self.lex.at = match.end()
        return self._function_body(name, start)

    def _function_body(self, name: str, start: int) -> Function:
        self._blank()
        with self.lex.deeper():
            return Function(name, self._command(), start)

    def _coproc(self) -> Node:
        self._skip_reserved()
        self._gap()
        return Apart(self._command())

    def _simple(self) -> Node:
        node = Simple(start=self.lex.at, end=self.lex.at)
        outer, self.lex.faults = self.lex.faults, node.faults
        while True:
            gap = self._gap()
            if self._ends_simple(gap):
                break
            if not self._redirection(node.targets):
                self._argument(node)
            node.end = self.lex.at
            if match := self._names_function(node):
                self.lex.faults = outer
                self.lex.at = match.end()
                return self._function_body(self.text[node.start : node.end], node.start)
        self.lex.faults = outer
        if node.end == node.start and not self._over():
            self.lex.at += self.text[self.lex.at] in "&|(" and not self.text.startswith("||", self.lex.at)
        return node

    def _ends_simple(self, gap: str) -> bool:
        character = self.text[self.lex.at : self.lex.at + 1]
        if character in ("#", "\n") and self.lex.at > 0:
            comment_breaks(self.lex, gap)
        if character == "#":
            self._comment()
            return True
        if character == "&":
            return not self.text.startswith("&>", self.lex.at)
        return character in ("", "\n", ";", "|", ")", "(")

    def _names_function(self, node: Simple) -> re.Match[str] | None:
        if len(node.words) != 1 or node.assignments or node.targets:
            return None
        return _FUNCTION.match(self.text, self.lex.at)

    def _argument(self, node: Simple) -> None:
        declares = bool(node.words) and self._declares(node.words[0])
        match = _ASSIGNMENT.match(self.text, self.lex.at) if declares or not node.words else None
        if match:
            assignment = self._assignment(match)
            if declares:
                node.words.append(assignment)
            else:
                node.assignments.append(assignment)
            return
        if node.words:
            self.quotes.check()
        node.words.append(self.lex.word())

    def _declares(self, first: WordNode | Assignment) -> bool:
        return isinstance(first, WordNode) and self._word_text(first) in DECLARING

    def _assignment(self, match: re.Match[str]) -> Assignment:
        self.lex.at = match.end()
        elements: tuple[WordNode, ...] | None = None
        indexed = match[2] is not None
        if self.text.startswith("(", self.lex.at):
            start = self.lex.at
            elements = self._elements()
            value = WordNode((), start, self.lex.at)
            indexed = any(re.match(r"\[[^\]\n]*\]\+?=", self.text[e.start : e.start + 99]) for e in elements)
        else:
            self.quotes.check()
            value = self.lex.word()
        return Assignment(match[1], match[3] == "+", indexed, value, elements, match.start(), self.lex.at)

    def _elements(self) -> tuple[WordNode, ...]:
        start = self.lex.at
        self.lex.at += 1
        elements: list[WordNode] = []
        while True:
            self._blank()
            if self._over():
                self.lex.unbalanced(start, "(")
                return tuple(elements)
            if self.text[self.lex.at] == ")":
                self.lex.at += 1
                return tuple(elements)
            at = self.lex.at
            self.quotes.check()
            elements.append(self.lex.word())
            if self.lex.at == at:
                elements.pop()
                self.lex.at += 1

    def _redirection(self, targets: list[WordNode]) -> bool:
        match = _REDIRECTION.match(self.text, self.lex.at)
        if match is None:
            return False
        self.lex.at = match.end()
        self._gap()
        word = self.lex.word()
        if match[1] in ("<<", "<<-"):
            self.heredocs.append((self._word_text(word), match[1] == "<<-"))
        else:
            targets.append(word)
        return True
