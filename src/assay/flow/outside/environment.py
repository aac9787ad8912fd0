"""The environment variables of the server, read and written."""

from __future__ import annotations

from typing import Any

from assay.flow import operations
from assay.flow.interpreter import Interpreter
from assay.flow.values import MISSING, Choice, Instance, Library, Native, NotPure, Unknown, VDict, VList

_FROM_THE_SHELL = frozenset(
    {"PATH", "HOME", "USER", "PWD", "LANG", "SHELL", "HOSTNAME", "TMPDIR", "VIRTUAL_ENV"}
)


class Environment:
    """`os.environ`."""

    def __init__(self, facts: Any) -> None:
        self.facts = facts
        self.written: dict[str, Any] = {}
        """What the program has set; `None` where it has removed a variable."""
        self.value = Instance(
            Library("os.environ", {name: Native(name, run) for name, run in self._methods().items()})
        )

    def _methods(self) -> dict[str, Any]:
        return {
            "get": lambda i, _self, name, default=None: self.get(i, name, default),
            "__getitem__": lambda i, _self, name: self.get(i, name, MISSING),
            "__contains__": lambda i, _self, name: self.holds(i, name),
            "__setitem__": lambda i, _self, name, value: self.set(i, name, value),
            "__delitem__": lambda i, _self, name: self.set(i, name, None),
            "pop": lambda i, _self, name, default=MISSING: self.pop(i, name, default),
            "setdefault": self._setdefault,
            "update": self._update,
            "items": lambda i, _self: VList(self.all(i).items()),
            "keys": lambda i, _self: VList(self.all(i)),
            "copy": lambda i, _self: VDict(self.all(i)),
            "__iter__": lambda i, _self: VList(self.all(i)),
        }

    def all(self, i: Interpreter) -> dict[str, Any]:
        """The variables that are known to be set."""
        i.inputs_read.add("*")
        prefix = "environment:"
        given = {f.name.removeprefix(prefix): f.value for f in self.facts.facts if f.name.startswith(prefix)}
        merged = given | self.written
        return {name: value for name, value in merged.items() if value is not None}

    def find(self, i: Interpreter, name: Any) -> Any:
        """The value of a variable, `MISSING` if it is not set, or an `Unknown`."""
        name = i.force(name)
        if not isinstance(name, str):
            return Unknown("an environment variable of a name that is not known")
        i.machine.reads.add(f"environment {name}")
        i.inputs_read.add(f"environment {name}")
        if i.machine.strict is not None:
            i.machine.strict.note((f"environment {name}",))
        if name in self.written:
            value = i.force(self.written[name])
            return MISSING if value is None else value
        fact = self.facts.find(f"environment:{name}")
        if fact is not None:
            return fact.value if fact.value is not None else MISSING
        if not self.facts.environment_is_complete or name in _FROM_THE_SHELL:
            return Unknown(f"environment variable {name}", ("environment", name), "")
        return MISSING

    def get(self, i: Interpreter, name: Any, default: Any) -> Any:
        """`os.environ.get(name, default)`; without default it raises."""
        value = self.find(i, name)
        if isinstance(value, Choice):
            return i.machine.fork(
                value.test,
                lambda: default if i.force(value.yes) is None else value.yes,
                lambda: default if i.force(value.no) is None else value.no,
            )
        if value is not MISSING:
            return value
        if default is MISSING:
            raise i.error(KeyError, name)
        return default

    def holds(self, i: Interpreter, name: Any) -> Any:
        """`name in os.environ`."""
        value = self.find(i, name)
        if isinstance(value, Choice):
            return operations.negated(i, operations.identical(i, value, None))
        if isinstance(value, Unknown):
            return Unknown(value.reason, ("set", value.key), "bool")
        return value is not MISSING

    def set(self, i: Interpreter, name: Any, value: Any) -> None:
        """`os.environ[name] = value`; None removes it."""
        name = i.force(name)
        if not isinstance(name, str):
            i.machine.gap("an environment variable of a name that is not known is written")
            return
        value = i.force(value)
        if i.machine.strict is not None:
            raise NotPure(name)
        i.environment_writes.append((name, value, i.site, tuple(i.machine.guards)))
        i.machine.put(self.written, name, value)

    def pop(self, i: Interpreter, name: Any, default: Any) -> Any:
        """`os.environ.pop(name, default)`."""
        value = self.get(i, name, default)
        if self.find(i, name) is not MISSING:
            self.set(i, name, None)
        return value

    def _setdefault(self, i: Interpreter, _self: Any, name: Any, value: Any) -> Any:
        present = self.find(i, name)
        if present is MISSING:
            self.set(i, name, value)
            return value
        return present

    def _update(self, i: Interpreter, _self: Any, values: Any) -> None:
        for name, value in (operations.mapping(i, values) or {}).items():
            self.set(i, name, value)
