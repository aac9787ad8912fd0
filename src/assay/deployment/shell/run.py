"""Follows a shell script without running anything: which commands it starts, with which words and variables.

Branches that may or may not be taken are followed each from the same state and joined after: a variable that
does not come out the same on each way is unknown from there on. A loop's body is followed once, with all that
it assigns unknown. A function is followed where it is called, or at the end if nothing calls it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from assay.deployment.launch import Fault, Variable
from assay.deployment.shell.builtins import EFFECTS, declare
from assay.deployment.shell.expand import Expander
from assay.deployment.shell.parse import parse
from assay.deployment.shell.state import State, as_variable
from assay.deployment.shell.static import assigned, names_run, surely_succeeds
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
from assay.deployment.shell.values import Part, Run, Unit, Var, WordPlace, as_value
from assay.deployment.text import Word, Written
from assay.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assay.deployment.text import Syntax

WORD_LIMIT = 100_000
"""Words of all commands of one script."""
CARRIED_FAULTS = 10
"""Faults of an assignment that come with the variable to the command that uses it."""
FOLLOW_LIMIT = 50
"""Levels of blocks, function calls and `eval` within each other."""
CALL_LIMIT = 8
"""Function calls and `eval` within each other."""

_PREFIXES = frozenset({"command", "builtin"})
_HOOK = re.compile(r"\b(?:conda|mamba|micromamba|pyenv|ssh-agent|modulecmd|lmod|brew|direnv)\b")


@dataclass(slots=True)
class Found:
    """One simple command that the script starts."""

    order: int
    words: tuple[Word, ...]
    environment: tuple[Variable, ...]
    directory: str | None
    faults: tuple[Fault, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """How the words of a script are to be handed out."""

    syntax: Syntax = "shell"
    editable: bool = True


@dataclass(slots=True)
class _Defined:
    """A function's bodies: several, or not sure, if a branch or a subshell defines it."""

    bodies: list[tuple[Function, Written]]
    sure: bool
    called: bool = False
    returns_early: bool = False


_Field: TypeAlias = "tuple[list[Part], WordPlace]"


class Runner:
    """Follows one script."""

    def __init__(self, state: State, reading: Reading) -> None:
        self.state = state
        self._reading = reading
        self._found: list[Found] = []
        self._functions: dict[str, _Defined] = {}
        self._calling: list[str] = []
        self._count = 0
        self._depth = 0
        self._order: int | None = None
        self._expand = Expander(state)
        state.follow = self._apart

    def run(self) -> list[Found]:
        """All commands, in the order in which they are written."""
        self._block(parse(self.state.source))
        self.state.positional = None
        followed: set[int] = set()
        while waiting := self._uncalled(followed):
            for function, source in waiting:
                followed.add(id(function))
                self.state.apart(partial(self._body, function, source))
        return sorted(self._found, key=lambda found: found.order)

    def _uncalled(self, followed: set[int]) -> list[tuple[Function, Written]]:
        """Bodies of functions that nothing calls, and that were not followed yet."""
        return [
            (function, source)
            for defined in self._functions.values()
            for function, source in defined.bodies
            if not defined.called and id(function) not in followed
        ]

    # Statements

    def _apart(self, node: Node) -> None:
        self.state.apart(partial(self._node, node))

    def _block(self, block: Block) -> None:
        self._all(block.statements)

    def _all(self, nodes: list[Node]) -> None:
        """Statements in order; what comes after the end of the script is read, and changes nothing."""
        for at, node in enumerate(nodes):
            self._node(node)
            if self.state.ended and at + 1 < len(nodes):
                positional = self.state.positional
                self.state.scoped(partial(self._rest, nodes[at + 1 :]))
                self.state.ended, self.state.positional = True, positional
                return

    def _rest(self, nodes: list[Node]) -> None:
        for node in nodes:
            self._node(node)

    def _node(self, node: Node) -> None:
        self._depth += 1
        if self._depth > FOLLOW_LIMIT:
            path = self.state.source.file.path
            raise InputError(f"{path}: the script's commands are nested more than {FOLLOW_LIMIT} deep")
        match node:
            case Simple():
                self._simple(node)
            case Block():
                self._block(node)
            case Chain():
                self._chain(node)
            case Pipe():
                for item in node.items:
                    self._apart(item)
            case Apart():
                self._apart(node.body)
            case Function():
                self._define(node)
            case _:
                self._compound(node)
        self._depth -= 1

    def _define(self, function: Function) -> None:
        """A definition in a branch or a subshell may or may not be the one that is called."""
        self.state.spend(1, "functions")
        defined = self._functions.get(function.name)
        if not self.state.scopes or defined is None:
            defined = self._functions[function.name] = _Defined([], sure=not self.state.scopes)
        defined.bodies.append((function, self.state.source))
        defined.returns_early |= _returns_early(function)

    def _compound(self, node: If | Case | Loop) -> None:
        match node:
            case If():
                self._if(node)
            case Case():
                self._expand.fields(node.subject)
                actions = [partial(self._block, body) for body in node.bodies]
                self.state.branches(actions, may_skip=not node.complete)
            case Loop():
                for word in node.words:
                    self._expand.fields(word)
                self._forget([node])
                self._block(node.test)
                self.state.branches([partial(self._block, node.body)], may_skip=True)

    def _if(self, node: If) -> None:
        """Whether a test after the first runs is not known, so neither is what it assigns."""
        first, *others = [test for test, _ in node.arms]
        self._block(first)
        for test in others:
            self._apart(test)
        self._forget(others)
        bodies = [body for _, body in node.arms] + ([node.otherwise] if node.otherwise else [])
        actions = [partial(self._block, body) for body in bodies]
        self.state.branches(actions, may_skip=node.otherwise is None)

    def _forget(self, nodes: Iterable[Node]) -> None:
        """What those statements may assign is unknown."""
        bodies: dict[str, list[Node]] = {
            name: [function.body for function, _ in defined.bodies]
            for name, defined in self._functions.items()
        }
        self.state.spend(len(bodies), "functions")
        self.state.forget(assigned(nodes, bodies, self.state.spend))

    def _chain(self, node: Chain) -> None:
        """`a && b && c` runs each only if the one before succeeds, `a || b` only if it fails."""
        first = node.items[0][1]
        self._node(first)
        certain = surely_succeeds(first)
        at = 1
        while at < len(node.items):
            operator, item = node.items[at]
            if operator == "&&" and certain:
                self._node(item)
                certain = surely_succeeds(item)
                at += 1
                continue
            end = at + 1
            while operator == "&&" and end < len(node.items) and node.items[end][0] == "&&":
                end += 1
            group = [item for _, item in node.items[at:end]]
            self.state.branches([partial(self._all, group)], may_skip=True)
            certain, at = False, end

    # Simple commands

    def _simple(self, node: Simple) -> None:
        state = self.state
        outer, state.faults = state.faults, list(node.faults)
        fields: list[_Field] = []
        declared: list[Var] = []
        for word in node.words:
            if isinstance(word, Assignment):
                declared.append(self._value(word))
                fields.append(self._declaration(word, declared[-1]))
            else:
                fields += self._placed(word, first=not fields)
        for target in node.targets:
            self._expand.fields(target)
        if fields:
            self._command(node, fields, declared)
        else:
            for assignment in node.assignments:
                state.assign(self._value(assignment))
        if not node.words and not node.assignments:
            state.compute(state.source.text[node.start : node.end])
        state.faults = outer

    def _placed(self, word: WordNode, *, first: bool) -> list[_Field]:
        """The words that a word makes. A command's name, or what stands before `>`, may need its quotes."""
        source = self.state.source
        fields = self._expand.fields(word)
        plain = len(word.pieces) == 1 and word.pieces[0].end - word.pieces[0].start == word.end - word.start
        needed = (first and not plain) or source.text[word.end : word.end + 1] in ("<", ">")
        place = WordPlace(
            source,
            word.start,
            word.end,
            len(fields) == 1,
            all(isinstance(piece, Literal) for piece in word.pieces),
            self._reading.syntax,
            self._reading.editable and not needed,
        )
        return [(parts, place) for parts in fields]

    def _declaration(self, assignment: Assignment, var: Var) -> _Field:
        """An argument of `export` and its like, as one word."""
        source = self.state.source
        start, end, value = assignment.start, assignment.end, assignment.value.start
        text = source.text[start : value if assignment.elements is None else end]
        run = Run(text, source, start, start + len(text), Unit(start, end, -1))
        parts = [Part(run, True, start, direct=True)]
        if assignment.elements is None and var.elements:
            parts += [
                Part(run, True, value, run.source is source and value <= run.start < end)
                for run in var.elements[-1]
            ]
        return parts, WordPlace(source, start, end, True, False, self._reading.syntax, False)

    def _value(self, assignment: Assignment) -> Var:
        """The variable that an assignment makes."""
        elements: tuple[tuple[Run, ...], ...] | None
        if assignment.elements is not None:
            fields = [parts for element in assignment.elements for parts in self._expand.fields(element)]
            elements = tuple(as_value(parts) for parts in fields)
        else:
            elements = (self._expand.scalar(assignment.value),)
        array = assignment.elements is not None or assignment.indexed
        if assignment.indexed:
            elements = None
        elif assignment.appends:
            elements, array = self._appended(assignment.name, elements, array=array)
        return Var(
            assignment.name,
            elements,
            self.state.source,
            assignment.start,
            assignment.end,
            array=array,
            faults=tuple(dict.fromkeys(self.state.faults))[:CARRIED_FAULTS],
        )

    def _appended(
        self, name: str, added: tuple[tuple[Run, ...], ...], *, array: bool
    ) -> tuple[tuple[tuple[Run, ...], ...] | None, bool]:
        """What `+=` makes of the old value and the added one, and whether that is an array."""
        old = self.state.variables.get(name)
        if old is None or old.elements is None:
            return (added, True) if old is None and array else (None, array)
        self.state.spend(sum(len(run.text) + 1 for element in old.elements for run in element), "+=")
        if array:
            return old.elements + added, True
        first = old.elements[0] if old.elements else ()
        return (first + added[0], *old.elements[1:]), old.array

    def _command(self, node: Simple, fields: list[_Field], declared: list[Var]) -> None:
        state = self.state
        words = tuple(place.word(parts) for parts, place in fields)
        self._count += len(words)
        if self._count > WORD_LIMIT:
            path = state.source.file.path
            raise InputError(f"{path}: the script's commands have more than {WORD_LIMIT:,} words")
        prefix = [self._value(assignment) for assignment in node.assignments]
        state.faults += [fault for fault in node.faults if fault not in state.faults]
        environment = state.environment()
        state.spend(len(environment) if prefix else 1, "the environment")
        self._found.append(
            Found(
                node.start if self._order is None else self._order,
                words,
                environment + tuple(as_variable(var) for var in prefix),
                state.directory(),
                tuple(dict.fromkeys(state.faults)),
            )
        )
        parts = [field for field, _ in fields]
        if words[0].known and (words[0].text in self._functions or words[0].text == "eval"):
            self._with(prefix, partial(self._inner, node, words, parts))
        else:
            self._effect(node, words, parts, declared)

    def _effect(
        self, node: Simple, words: tuple[Word, ...], parts: list[list[Part]], declared: list[Var]
    ) -> None:
        """What a command of the shell's own does to the shell."""
        at = 0
        while at < len(words) - 1 and words[at].text in _PREFIXES:
            at += 1
        name = words[at].text if words[at].known else ""
        if name in DECLARING:
            declare(self.state, node, words[at:], declared)
        elif name in EFFECTS:
            EFFECTS[name](self.state, node, words[at:], parts[at:])

    # Functions and eval

    def _with(self, prefix: list[Var], action: partial[None]) -> None:
        """Do something with variables that are set for its time only."""
        before = {var.name: self.state.variables.get(var.name) for var in prefix}
        for var in prefix:
            self.state.assign(replace(var, exported=True))
        action()
        for name, old in before.items():
            self.state.store(name, old)

    def _inner(self, node: Simple, words: tuple[Word, ...], parts: list[list[Part]]) -> None:
        name = words[0].text
        defined = self._functions.get(name)
        if len(self._calling) >= CALL_LIMIT or name in self._calling:
            bodies: list[Node] = [function.body for function, _ in defined.bodies] if defined else []
            self._forget(bodies)
            return
        self._calling.append(name)
        if defined is not None:
            self._call(defined, parts[1:])
        elif len(words) > 1:
            self._eval(node, words)
        self._calling.pop()

    def _call(self, defined: _Defined, parts: list[list[Part]]) -> None:
        state = self.state
        positional, ended = state.positional, state.ended
        defined.called = True
        state.locals.append({})
        state.positional = tuple(as_value(field) for field in parts)
        bodies = list(defined.bodies)
        if len(bodies) == 1 and defined.sure:
            self._body(*bodies[0])
        else:
            state.branches([partial(self._body, *body) for body in bodies], may_skip=True)
        if defined.returns_early:
            self._forget(function.body for function, _ in bodies)
        for local, var in state.locals.pop().items():
            state.store(local, var)
        state.positional, state.ended = positional, ended

    def _body(self, function: Function, source: Written) -> None:
        outer, self.state.source = self.state.source, source
        self._node(function.body)
        self.state.source = outer

    def _eval(self, node: Simple, words: tuple[Word, ...]) -> None:
        """The arguments, joined by blanks, are a script of their own; unknown ones may do anything."""
        state = self.state
        script = _joined(words[1:])
        state.spend(len(script.text), "eval")
        outer = state.source, self._reading, self._order
        self._order = node.start if self._order is None else self._order
        state.source, self._reading = script, replace(self._reading, editable=False)
        self._block(parse(script))
        state.source, self._reading, self._order = outer
        if not all(word.known for word in words) and not _HOOK.search(script.text):
            state.forget(list(state.variables))


def _returns_early(function: Function) -> bool:
    """Whether a `return` stands anywhere but at the end of the function's own statements."""
    body = function.body
    statements = body.statements if isinstance(body, Block) else [body]
    if statements and isinstance(statements[-1], Simple):
        statements = statements[:-1]
    return "return" in names_run(statements)


def _joined(words: tuple[Word, ...]) -> Written:
    """Words joined by blanks, as `eval` does, each character still knowing where it stands."""
    text = " ".join(word.text for word in words)
    offsets: list[int] = []
    for word in words:
        own = word.offsets if word.file is words[0].file else (0,) * len(word.offsets)
        offsets += own
    low = 0
    for at, offset in enumerate(offsets):
        low = offsets[at] = max(low, offset)
    return Written(file=words[0].file, text=text, offsets=tuple(offsets))
