"""Follows a shell script without running anything: which commands it starts, with which words and variables.

Branches that may or may not be taken are followed each from the same state and joined after: a variable that
does not come out the same on each way is unknown from there on. A loop's body is followed once, with all that
it assigns unknown. A function is followed where it is called.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from assay.deployment.launch import Fault, Variable
from assay.deployment.shell_expand import Expander
from assay.deployment.shell_parse import parse
from assay.deployment.shell_syntax import (
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
from assay.deployment.shell_values import (
    Part,
    Run,
    Unit,
    Var,
    WordPlace,
    as_value,
    from_variable,
    from_word,
    text_of,
)
from assay.deployment.text import Word, Written
from assay.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from assay.deployment.text import Syntax

WORK_LIMIT, WORK_BASE, WORK_FACTOR = 4_000_000, 50_000, 64
"""Characters and parts handled while following one script: base plus factor times its length, limited."""
VALUE_LIMIT = 131_072
"""Characters of one value or word: Linux takes no longer one."""
WORD_LIMIT = 100_000
"""Words of all commands of one script."""
CARRIED_FAULTS = 10
"""Faults of an assignment that come with the variable to the command that uses it."""
FOLLOW_LIMIT = 50
"""Levels of blocks, function calls and `eval` within each other."""

_SUCCEEDS = frozenset({"export", "declare", "typeset", "set", "true", ":", "echo", "unset"})
_ENVIRONMENT_ONLY = ("activate", "bashrc", ".profile", "profile", "conda.sh", "setvars.sh", "modules.sh")
_LOCAL = frozenset({"local", "declare", "typeset"})
_PREFIXES = frozenset({"command", "builtin"})


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


_Field: TypeAlias = "tuple[list[Part], WordPlace]"
_CWD = "<directory>"


class Runner:
    """The state of the shell that is followed."""

    def __init__(
        self,
        written: Written,
        variables: Mapping[str, Variable],
        arguments: Sequence[Word] | None,
        reading: Reading,
    ) -> None:
        self.source = written
        self.splits_plainly = True
        self.found: list[Found] = []
        self._reading = reading
        self._variables: dict[str, Var] = {name: from_variable(v) for name, v in variables.items()}
        self._zero = from_word(arguments[0]) if arguments else None
        self._arguments = None if arguments is None else tuple(from_word(word) for word in arguments[1:])
        self._scopes: list[dict[str, Var | None]] = []
        self._functions: dict[str, tuple[tuple[Function, Written], ...]] = {}
        self._locals: list[dict[str, Var | None]] = []
        self._declared: list[Var] = []
        self._called: set[str] = set()
        self._calling: list[str] = []
        self._exports_all = False
        self._ended = False
        self._work = min(WORK_LIMIT, WORK_BASE + WORK_FACTOR * len(written.text))
        self._count = 0
        self._depth = 0
        self._order: int | None = None
        self._faults: list[Fault] = []
        self._environment: tuple[Variable, ...] | None = None
        self._expand = Expander(self)

    def run(self) -> list[Found]:
        """All commands, in the order in which they are written."""
        self._block(parse(self.source))
        self._arguments = None
        for name, bodies in list(self._functions.items()):
            for function, source in bodies if name not in self._called else ():
                self.source = source
                self._apart(function.body)
        return sorted(self.found, key=lambda found: found.order)

    # What the expander asks for

    def spend(self, amount: int, what: str) -> None:
        """Count work.

        Raises:
            InputError: there is too much of it.
        """
        self._work -= amount
        if self._work < 0:
            raise InputError(
                f"{self.source.file.path}: the script's variables and words grow far beyond its own size "
                f"({what} among them)",
                hint="name the file or command that starts the server itself",
            )

    def lookup(self, name: str) -> Var | None:
        """The variable of that name."""
        if name.isdigit():
            return self._argument(int(name)) if len(name) < 6 else None
        if name == "#" and self._arguments is not None:
            run = Run(str(len(self._arguments)), self.source, 0, 0, Unit(0, 0, -1))
            return Var("#", ((run,),), self.source, 0, 0)
        var = self._variables.get(name)
        if var is not None and var.faults:
            self.spend(len(var.faults), "faults")
            self._faults += var.faults
        return var

    def arguments(self) -> tuple[tuple[Run, ...], ...] | None:
        """The positional parameters from 1."""
        return self._arguments

    def _argument(self, number: int) -> Var | None:
        if number == 0:
            return None if self._zero is None else Var("0", (self._zero,), self.source, 0, 0)
        if self._arguments is None:
            return None
        return Var(str(number), self._arguments[number - 1 : number], self.source, 0, 0)

    def substitute(self, body: Block) -> None:
        """Follow the commands of `$(…)`."""
        faults, self._faults = self._faults, []
        self._apart(body)
        self._faults = faults

    def assign(self, var: Var) -> None:
        """Set a variable."""
        size = sum(len(run.text) for element in var.elements or () for run in element)
        if size > VALUE_LIMIT and not var.array:
            place = self.source.file.place(*self._span(var.start, var.end))
            raise InputError(
                f"{place.file}:{place.line}: the value of ${var.name} grows beyond {VALUE_LIMIT:,} characters"
            )
        old = self._variables.get(var.name)
        exported = var.exported or self._exports_all or (old is not None and old.exported)
        if var.name == "IFS":
            self.splits_plainly = False
        self._store(var.name, replace(var, exported=exported and var.name != _CWD))

    def _span(self, start: int, end: int) -> tuple[int, int]:
        return self.source.offsets[start], self.source.offsets[end]

    # Scopes

    def _store(self, name: str, var: Var | None) -> None:
        old = self._variables.get(name)
        if self._scopes:
            self._scopes[-1].setdefault(name, old)
        if (old is not None and old.exported) or (var is not None and var.exported):
            self._environment = None
        if var is None:
            self._variables.pop(name, None)
        else:
            self._variables[name] = var

    def _scoped(self, action: Callable[[], None]) -> dict[str, Var | None]:
        """Do something and take back what it assigned; that is returned."""
        self._scopes.append({})
        action()
        before = self._scopes.pop()
        after = {name: self._variables.get(name) for name in before}
        for name, var in before.items():
            if var is None:
                self._variables.pop(name, None)
            else:
                self._variables[name] = var
        if before:
            self._environment = None
        return after

    def _apart(self, node: Node) -> None:
        ended, exports_all, arguments = self._ended, self._exports_all, self._arguments
        splits = self.splits_plainly
        self._scoped(lambda: self._node(node))
        self._ended, self._exports_all, self._arguments = ended, exports_all, arguments
        self.splits_plainly = splits

    def _branches(self, actions: Sequence[Callable[[], None]], *, may_skip: bool) -> None:
        """Follow each way from the same state, then join."""
        arguments, ended = self._arguments, self._ended
        outcomes: list[dict[str, Var | None]] = [{}] if may_skip else []
        all_arguments = [arguments] if may_skip else []
        dropped: list[dict[str, Var | None]] = []
        for action in actions:
            self._ended = False
            self._arguments = arguments
            after = self._scoped(action)
            if self._ended:
                dropped.append(after)
            else:
                outcomes.append(after)
                all_arguments.append(self._arguments)
        self._ended = ended or not outcomes
        self._join(outcomes or dropped)
        if all_arguments:
            same = all(other is all_arguments[0] for other in all_arguments)
            self._arguments = all_arguments[0] if same else None

    def _join(self, outcomes: list[dict[str, Var | None]]) -> None:
        for name in dict.fromkeys(name for outcome in outcomes for name in outcome):
            before = self._variables.get(name)
            values = [outcome.get(name, before) for outcome in outcomes]
            first = values[0]
            same = all(
                value is first or (value is not None and first is not None and value.same_value(first))
                for value in values
            )
            self._store(name, first if same else _either(values))

    # Statements

    def _block(self, block: Block) -> None:
        for statement in block.statements:
            self._node(statement)

    def _node(self, node: Node) -> None:
        self._depth += 1
        if self._depth > FOLLOW_LIMIT:
            raise InputError(
                f"{self.source.file.path}: the script's commands are nested more than {FOLLOW_LIMIT} deep"
            )
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
        """A definition in a branch may or may not replace the one before."""
        others = self._functions.get(function.name, ()) if self._scopes else ()
        self.spend(len(others), "functions")
        self._functions[function.name] = (*others, (function, self.source))

    def _compound(self, node: If | Case | Loop) -> None:
        match node:
            case If():
                self._if(node)
            case Case():
                self._expand.fields(node.subject)
                actions = [partial(self._block, body) for body in node.bodies]
                self._branches(actions, may_skip=not node.complete)
            case Loop():
                self._loop(node)

    def _if(self, node: If) -> None:
        """Whether a test after the first runs is not known, so neither is what it assigns."""
        first, *others = [test for test, _ in node.arms]
        self._block(first)
        for test in others:
            self._apart(test)
        for name in _assigned(others, self._functions):
            self._store(name, self._unknown(name))
        bodies = [body for _, body in node.arms] + ([node.otherwise] if node.otherwise else [])
        actions = [partial(self._block, body) for body in bodies]
        self._branches(actions, may_skip=node.otherwise is None)

    def _loop(self, node: Loop) -> None:
        for word in node.words:
            self._expand.fields(word)

        def body() -> None:
            for name in _assigned([node.test, node.body], self._functions):
                self._store(name, self._unknown(name))
            if node.name:
                self._store(node.name, self._unknown(node.name))
            self._block(node.body)

        names = _assigned([node.test], self._functions)
        for name in names:
            self._store(name, self._unknown(name))
        self._block(node.test)
        self._branches([body], may_skip=True)

    def _unknown(self, name: str) -> Var:
        old = self._variables.get(name)
        if old is not None:
            return old.unknown()
        return Var(name, None, self.source, 0, 0, exported=self._exports_all)

    def _chain(self, node: Chain) -> None:
        """`a && b && c` runs each only if the one before succeeds, `a || b` only if it fails."""
        first = node.items[0][1]
        self._node(first)
        certain = _surely_succeeds(first)
        at = 1
        while at < len(node.items):
            operator, item = node.items[at]
            if operator == "&&" and certain:
                self._node(item)
                certain = _surely_succeeds(item)
                at += 1
                continue
            end = at + 1
            while operator == "&&" and end < len(node.items) and node.items[end][0] == "&&":
                end += 1
            group = [item for _, item in node.items[at:end]]
            self._branches([partial(self._all, group)], may_skip=True)
            certain, at = False, end

    def _all(self, nodes: list[Node]) -> None:
        for node in nodes:
            self._node(node)

    # Simple commands

    def _simple(self, node: Simple) -> None:
        outer, self._faults = self._faults, list(node.faults)
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
            self._declared = declared
            self._command(node, fields)
        for assignment in node.assignments if not fields else ():
            self.assign(self._value(assignment))
        self._faults = outer

    def _placed(self, word: WordNode, *, first: bool) -> list[_Field]:
        """The words that a word makes. A command's name, or what stands before `>`, may need its quotes."""
        fields = self._expand.fields(word)
        plain = len(word.pieces) == 1 and word.pieces[0].end - word.pieces[0].start == word.end - word.start
        needed = (first and not plain) or self.source.text[word.end : word.end + 1] in ("<", ">")
        literal = all(isinstance(piece, Literal) for piece in word.pieces)
        place = WordPlace(
            self.source,
            word.start,
            word.end,
            len(fields) == 1,
            literal,
            self._reading.syntax,
            self._reading.editable and not needed,
        )
        return [(parts, place) for parts in fields]

    def _declaration(self, assignment: Assignment, var: Var) -> _Field:
        """An argument of `export` and its like, as one word."""
        start, end, value = assignment.start, assignment.end, assignment.value.start
        text = self.source.text[start : value if assignment.elements is None else end]
        run = Run(text, self.source, start, start + len(text), Unit(start, end, -1))
        parts = [Part(run, True, start, direct=True)]
        if assignment.elements is None and var.elements:
            parts += [
                Part(run, True, value, run.source is self.source and value <= run.start < end)
                for run in var.elements[-1]
            ]
        place = WordPlace(self.source, start, end, True, False, self._reading.syntax, False)
        return parts, place

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
            elements, array = self._appended(self._variables.get(assignment.name), elements, array=array)
        return Var(
            assignment.name,
            elements,
            self.source,
            assignment.start,
            assignment.end,
            array=array,
            faults=tuple(dict.fromkeys(self._faults))[:CARRIED_FAULTS],
        )

    def _appended(
        self, old: Var | None, added: tuple[tuple[Run, ...], ...], *, array: bool
    ) -> tuple[tuple[tuple[Run, ...], ...] | None, bool]:
        """What `+=` makes of the old value and the added one, and whether that is an array."""
        if old is None or old.elements is None:
            return (added, True) if old is None and array else (None, array)
        self.spend(sum(len(run.text) + 1 for element in old.elements for run in element), "+=")
        if array:
            return old.elements + added, True
        first = old.elements[0] if old.elements else ()
        return (first + added[0], *old.elements[1:]), old.array

    def _command(self, node: Simple, fields: list[_Field]) -> None:
        words = tuple(place.word(parts) for parts, place in fields)
        self._count += len(words)
        if self._count > WORD_LIMIT:
            raise InputError(
                f"{self.source.file.path}: the script's commands have more than {WORD_LIMIT:,} words"
            )
        prefix = tuple(self._variable(self._value(assignment)) for assignment in node.assignments)
        self._faults += [fault for fault in node.faults if fault not in self._faults]
        faults = tuple(dict.fromkeys(self._faults))
        order = node.start if self._order is None else self._order
        cwd = self._variables.get(_CWD)
        directory = text_of(cwd.elements[0]) if cwd is not None and cwd.elements else None
        environment = self._exports()
        self.spend(len(environment) if prefix else 1, "the environment")
        self.found.append(Found(order, words, environment + prefix, directory, faults))
        self._effect(node, words, [parts for parts, _ in fields])

    def _exports(self) -> tuple[Variable, ...]:
        if self._environment is None:
            self._environment = tuple(self._variable(v) for v in self._variables.values() if v.exported)
            self.spend(len(self._variables), "the environment")
        return self._environment

    def _variable(self, var: Var) -> Variable:
        offsets = var.source.offsets
        runs = var.elements[0] if var.elements else ()
        known = var.elements is not None and all(run.known for run in runs)
        value = text_of(runs) if var.elements else var.source.text[var.start : var.end].partition("=")[2]
        return Variable(
            name=var.name,
            value=value,
            file=var.source.file,
            start=offsets[var.start],
            end=offsets[var.end],
            known=known,
        )

    # What a command does to the shell itself

    def _effect(self, node: Simple, words: tuple[Word, ...], fields: list[list[Part]]) -> None:
        at = 0
        while at < len(words) - 1 and words[at].known and words[at].text in _PREFIXES:
            at += 1
        if not words[at].known:
            return
        name = words[at].text
        if name in self._functions and name not in self._calling:
            self._call(name, fields[at + 1 :])
            return
        effect = _EFFECTS.get(name)
        if effect is not None:
            effect(self, node, words[at:], fields[at:])

    def _call(self, name: str, fields: list[list[Part]]) -> None:
        arguments, ended = self._arguments, self._ended
        bodies = self._functions[name]
        self._called.add(name)
        self._calling.append(name)
        self._locals.append({})
        self._arguments = tuple(as_value(parts) for parts in fields)
        if len(bodies) == 1:
            self._body(*bodies[0])
        else:
            self._branches([partial(self._body, *body) for body in bodies], may_skip=True)
        for local, var in self._locals.pop().items():
            self._store(local, var)
        self._calling.pop()
        self._arguments, self._ended = arguments, ended

    def _body(self, function: Function, source: Written) -> None:
        outer, self.source = self.source, source
        self._node(function.body)
        self.source = outer

    def _declare(self, node: Simple, words: tuple[Word, ...], _: list[list[Part]]) -> None:
        command = words[0].text
        if command == "local" and not self._locals:
            return
        flags = {letter for word in words[1:] if word.text.startswith("-") for letter in word.text[1:]}
        exports = command == "export" or "x" in flags
        bare = [word.text for word in words[1:] if word.known and word.text.isidentifier()]
        if self._locals and command in _LOCAL:
            for name in [var.name for var in self._declared] + bare:
                self._locals[-1].setdefault(name, self._variables.get(name))
        for var in self._declared:
            self.assign(replace(var, exported=exports, elements=None if "A" in flags else var.elements))
        for name in bare:
            self._redeclare(node, name, command, exports=exports and not (flags & {"n", "f"}))

    def _redeclare(self, node: Simple, name: str, command: str, *, exports: bool) -> None:
        """`export NAME`, `local NAME`."""
        old = self._variables.get(name)
        if command == "export" or exports:
            if old is not None:
                self._store(name, replace(old, exported=exports))
        elif command in _LOCAL and (self._locals or old is None):
            self._store(name, Var(name, (), self.source, node.start, node.end))

    def _unset(self, node: Simple, words: tuple[Word, ...], _: list[list[Part]]) -> None:
        if any(word.text == "-f" for word in words):
            return
        for word in words[1:]:
            if word.known and word.text.isidentifier():
                self._store(word.text, Var(word.text, (), self.source, node.start, node.end))

    def _set(self, _: Simple, words: tuple[Word, ...], fields: list[list[Part]]) -> None:
        for at, word in enumerate(words[1:], start=1):
            if word.text == "--" or not word.text.startswith(("-", "+")):
                rest = fields[at + (word.text == "--") :]
                if word.text == "--" or words[at - 1].text != "-o":
                    self._arguments = tuple(tuple(part.run for part in parts) for parts in rest)
                elif word.text == "allexport":
                    self._exports_all = True
                if word.text == "--":
                    return
            elif "a" in word.text and not word.text.startswith("--"):
                self._exports_all = word.text.startswith("-")

    def _shift(self, _: Simple, words: tuple[Word, ...], __: list[list[Part]]) -> None:
        count = words[1].text if len(words) > 1 else "1"
        if self._arguments is not None:
            self._arguments = self._arguments[int(count) :] if count.isdecimal() and len(count) < 6 else None

    def _read(self, _: Simple, words: tuple[Word, ...], __: list[list[Part]]) -> None:
        for word in words[1:]:
            if word.text.isidentifier():
                self._store(word.text, self._unknown(word.text))

    def _printf(self, node: Simple, words: tuple[Word, ...], fields: list[list[Part]]) -> None:
        if len(words) > 2 and words[1].text == "-v":
            self._read(node, words[:3], fields)

    def _source(self, _: Simple, words: tuple[Word, ...], __: list[list[Part]]) -> None:
        """Another file's commands run in this shell: what was set before may be something else after."""
        if len(words) > 1 and words[1].text.endswith(_ENVIRONMENT_ONLY):
            return
        for name, var in list(self._variables.items()):
            self._store(name, var.unknown())

    def _exit(self, _: Simple, words: tuple[Word, ...], __: list[list[Part]]) -> None:
        command = words[0].text
        if command != "return" or self._locals:
            self._ended |= command != "exec" or len(words) > 1

    def _cd(self, node: Simple, words: tuple[Word, ...], fields: list[list[Part]]) -> None:
        known = len(words) == 2 and words[1].known and words[1].text.startswith("/")
        elements = (tuple(part.run for part in fields[1]),) if known else None
        self._store(_CWD, Var(_CWD, elements, self.source, node.start, node.end))

    def _eval(self, node: Simple, words: tuple[Word, ...], _: list[list[Part]]) -> None:
        """The arguments, joined by blanks, are a script of their own."""
        if len(words) < 2 or len(self._calling) > 8:
            return
        script = _joined(words[1:])
        self.spend(len(script.text), "eval")
        outer = self.source, self._reading, self._order
        self._order = node.start if self._order is None else self._order
        self.source, self._reading = script, replace(self._reading, editable=False)
        self._calling.append("eval")
        self._block(parse(script))
        self._calling.pop()
        self.source, self._reading, self._order = outer


_EFFECTS: dict[str, Callable[[Runner, Simple, tuple[Word, ...], list[list[Part]]], None]] = {
    "export": Runner._declare,
    "declare": Runner._declare,
    "typeset": Runner._declare,
    "local": Runner._declare,
    "readonly": Runner._declare,
    "unset": Runner._unset,
    "set": Runner._set,
    "shift": Runner._shift,
    "read": Runner._read,
    "mapfile": Runner._read,
    "readarray": Runner._read,
    "getopts": Runner._read,
    "printf": Runner._printf,
    "source": Runner._source,
    ".": Runner._source,
    "exit": Runner._exit,
    "return": Runner._exit,
    "exec": Runner._exit,
    "cd": Runner._cd,
    "eval": Runner._eval,
}


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


def _either(values: Iterable[Var | None]) -> Var | None:
    """A variable that holds one value or another."""
    some = [var for var in values if var is not None]
    if not some:
        return None
    return replace(some[-1], elements=None, exported=any(var.exported for var in some))


def _surely_succeeds(node: Node) -> bool:
    if not isinstance(node, Simple):
        return False
    if not node.words:
        return bool(node.assignments)
    first = node.words[0]
    return isinstance(first, WordNode) and _name(first) in _SUCCEEDS


def _name(word: WordNode) -> str:
    return "".join(piece.text if isinstance(piece, Literal) else "$" for piece in word.pieces)


def _assigned(
    nodes: Iterable[Node], functions: Mapping[str, tuple[tuple[Function, Written], ...]]
) -> dict[str, None]:
    """Names of the variables that those statements may assign."""
    names: dict[str, None] = {}
    waiting: list[Node] = list(nodes)
    seen: set[str] = set()
    while waiting:
        node = waiting.pop()
        if not isinstance(node, Simple):
            waiting += _inside(node)
            if isinstance(node, Loop) and node.name:
                names[node.name] = None
            continue
        names |= dict.fromkeys(a.name for a in (*node.assignments, *node.words) if isinstance(a, Assignment))
        texts = [_name(word) for word in node.words if isinstance(word, WordNode)]
        if texts and texts[0] in ("read", "unset", "mapfile", "readarray", "getopts", "printf"):
            names |= dict.fromkeys(text for text in texts[1:] if text.isidentifier())
        elif texts and texts[0] in functions and texts[0] not in seen:
            seen.add(texts[0])
            waiting += [function.body for function, _ in functions[texts[0]]]
    return names


def _inside(node: Node) -> list[Node]:
    """The statements directly inside of a compound one."""
    match node:
        case Block():
            return list(node.statements)
        case Chain():
            return [item for _, item in node.items]
        case Pipe():
            return list(node.items)
        case Apart() | Function():
            return [node.body]
        case If():
            blocks: list[Node] = [block for arm in node.arms for block in arm]
            return blocks + ([node.otherwise] if node.otherwise else [])
        case Case():
            return list(node.bodies)
        case Loop():
            return [node.test, node.body]
        case _:
            return []
