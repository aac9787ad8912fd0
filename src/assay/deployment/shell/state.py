"""What is known of a shell at one point of its script: variables, positional parameters, scopes, branches."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from assay.deployment.launch import Fault, Variable
from assay.deployment.shell.values import Run, Unit, Var, from_variable, from_word, text_of
from assay.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from assay.deployment.shell.syntax import Block
    from assay.deployment.text import Word, Written

WORK_LIMIT, WORK_BASE, WORK_FACTOR = 4_000_000, 50_000, 64
"""Characters and parts handled while following one script: base plus factor times its length, limited."""
VALUE_LIMIT = 131_072
"""Characters of one value or word: Linux takes no longer one."""
DIRECTORY = "<directory>"
"""Name under which the working directory is kept; no variable can have it."""

_CHANGED = re.compile(
    r"([A-Za-z_][A-Za-z0-9_]*)(?:\[[^\]\n]{0,99}\])?[ \t]{0,9}(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))"
    r"|(?:\+\+|--)[ \t]{0,9}([A-Za-z_][A-Za-z0-9_]*)"
)


class State:
    """The state of the shell that is followed."""

    def __init__(
        self, source: Written, variables: Mapping[str, Variable], arguments: Sequence[Word] | None
    ) -> None:
        self.source = source
        self.splits_plainly = True
        self.variables: dict[str, Var] = {name: from_variable(v) for name, v in variables.items()}
        self.positional: tuple[tuple[Run, ...], ...] | None = None
        self.zero: tuple[Run, ...] | None = None
        if arguments is not None:
            self.zero = from_word(arguments[0]) if arguments else None
            self.positional = tuple(from_word(word) for word in arguments[1:])
        self.exports_all = False
        self.ended = False
        """True after `exit`, `exec` or `return`."""
        self.scopes: list[dict[str, Var | None]] = []
        self.locals: list[dict[str, Var | None]] = []
        """For each function that runs, what its local variables hide."""
        self.faults: list[Fault] = []
        """Faults of the command at hand, and of the variables that it uses."""
        self.follow: Callable[[Block], None] = lambda _: None
        """Follows the commands of a substitution."""
        self._work = min(WORK_LIMIT, WORK_BASE + WORK_FACTOR * len(source.text))
        self._environment: tuple[Variable, ...] | None = None

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
        """The variable of that name, None if it may come from outside."""
        if name.isdigit():
            return self._argument(int(name)) if len(name) < 6 else None
        if name == "#" and self.positional is not None and not _spreads(self.positional):
            run = Run(str(len(self.positional)), self.source, 0, 0, Unit(0, 0, -1))
            return Var("#", ((run,),), self.source, 0, 0)
        var = self.variables.get(name)
        if var is not None and var.faults:
            self.spend(len(var.faults), "faults")
            self.faults += var.faults
        return var

    def arguments(self) -> tuple[tuple[Run, ...], ...] | None:
        """The positional parameters from 1, None where unknown."""
        return self.positional

    def _argument(self, number: int) -> Var | None:
        if number == 0:
            return None if self.zero is None else Var("0", (self.zero,), self.source, 0, 0)
        if self.positional is None or _spreads(self.positional[:number]):
            return None
        return Var(str(number), self.positional[number - 1 : number], self.source, 0, 0)

    def shift(self, count: int) -> None:
        """Drop positional parameters."""
        if self.positional is not None:
            self.positional = None if _spreads(self.positional[:count]) else self.positional[count:]

    def substitute(self, body: Block) -> None:
        """Follow the commands of `$(…)`."""
        faults, self.faults = self.faults, []
        self.follow(body)
        self.faults = faults

    def compute(self, text: str) -> None:
        """Arithmetic assigns what nobody here works out."""
        self.forget(match[1] or match[2] for match in _CHANGED.finditer(text))

    def forget(self, names: Iterable[str]) -> None:
        """From here on the values of those variables are unknown."""
        for name in names:
            if name == "@":
                self.positional = None
            else:
                self.store(name, self.unknown(name))

    def unknown(self, name: str) -> Var:
        """The variable of that name, its value unknown."""
        old = self.variables.get(name)
        if old is not None:
            return old.unknown()
        return Var(name, None, self.source, 0, 0, exported=self.exports_all)

    def assign(self, var: Var) -> None:
        """Set a variable.

        Raises:
            InputError: its value is longer than any program may get.
        """
        size = sum(len(run.text) for element in var.elements or () for run in element)
        if size > VALUE_LIMIT and not var.array:
            offsets = self.source.offsets
            place = self.source.file.place(offsets[var.start], offsets[var.end])
            raise InputError(
                f"{place.file}:{place.line}: the value of ${var.name} grows beyond {VALUE_LIMIT:,} characters"
            )
        old = self.variables.get(var.name)
        exported = var.exported or self.exports_all or (old is not None and old.exported)
        if var.name == "IFS":
            self.splits_plainly = False
        self.store(var.name, replace(var, exported=exported))

    def store(self, name: str, var: Var | None) -> None:
        """Set or remove a variable as it is, so that the scope can take it back."""
        old = self.variables.get(name)
        if self.scopes:
            self.scopes[-1].setdefault(name, old)
        if (old is not None and old.exported) or (var is not None and var.exported):
            self._environment = None
        if var is None:
            self.variables.pop(name, None)
        else:
            self.variables[name] = var

    def environment(self) -> tuple[Variable, ...]:
        """The exported variables."""
        if self._environment is None:
            self._environment = tuple(as_variable(v) for v in self.variables.values() if v.exported)
            self.spend(len(self.variables), "the environment")
        return self._environment

    def directory(self) -> str | None:
        """The working directory, if the script says it."""
        var = self.variables.get(DIRECTORY)
        return text_of(var.elements[0]) if var is not None and var.elements else None

    def scoped(self, action: Callable[[], None]) -> dict[str, Var | None]:
        """Do something and take back what it assigned; that is returned."""
        self.scopes.append({})
        action()
        before = self.scopes.pop()
        after = {name: self.variables.get(name) for name in before}
        for name, var in before.items():
            if var is None:
                self.variables.pop(name, None)
            else:
                self.variables[name] = var
        if before:
            self._environment = None
        return after

    def apart(self, action: Callable[[], None]) -> None:
        """Do something in a shell of its own."""
        kept = self.ended, self.exports_all, self.positional, self.splits_plainly
        self.scoped(action)
        self.ended, self.exports_all, self.positional, self.splits_plainly = kept

    def branches(self, actions: Sequence[Callable[[], None]], *, may_skip: bool) -> None:
        """Follow each way from the same state, then join those that do not leave the script."""
        positional, ended = self.positional, self.ended
        outcomes: list[dict[str, Var | None]] = [{}] if may_skip else []
        positionals = [positional] if may_skip else []
        dropped: list[dict[str, Var | None]] = []
        for action in actions:
            self.ended, self.positional = False, positional
            after = self.scoped(action)
            if self.ended:
                dropped.append(after)
            else:
                outcomes.append(after)
                positionals.append(self.positional)
        self.ended = ended or not outcomes
        self._join(outcomes or dropped)
        same = bool(positionals) and all(other is positionals[0] for other in positionals)
        self.positional = positionals[0] if same else None

    def _join(self, outcomes: list[dict[str, Var | None]]) -> None:
        for name in dict.fromkeys(name for outcome in outcomes for name in outcome):
            before = self.variables.get(name)
            values = [outcome.get(name, before) for outcome in outcomes]
            first = values[0]
            same = all(
                value is first or (value is not None and first is not None and value.same_value(first))
                for value in values
            )
            self.store(name, first if same else _either(values))


def as_variable(var: Var) -> Variable:
    """A shell variable as the environment variable that a command gets."""
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


def _spreads(values: Iterable[tuple[Run, ...]]) -> bool:
    """Whether one of them may stand for no word or for several."""
    return any(run.spreads for value in values for run in value)


def _either(values: Iterable[Var | None]) -> Var | None:
    """A variable that holds one value or another."""
    some = [var for var in values if var is not None]
    if not some:
        return None
    return replace(some[-1], elements=None, exported=any(var.exported for var in some))
