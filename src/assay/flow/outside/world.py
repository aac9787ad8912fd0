"""Answers the interpreted program's questions to what lies outside its tree."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping
from typing import Any

from assay.engines import probes
from assay.facts import Fact, Facts
from assay.flow import classes, log
from assay.flow.interpreter import Interpreter
from assay.flow.machine import same
from assay.flow.outside import (
    decorators,
    files,
    hub,
    native_values,
    nvml,
    pydantic,
    standard_library,
    standard_objects,
    structs,
    transformers,
)
from assay.flow.outside.environment import Environment
from assay.flow.place import place
from assay.flow.values import (
    MISSING,
    Class,
    External,
    Instance,
    Native,
    Symbol,
    Unknown,
    VDict,
    adopt_all,
)


class AnyError(Exception):
    """Stands for whatever something that is not modelled may raise."""


class Outside:
    """The world outside the tree, as facts describe it."""

    def __init__(self, facts: Facts, start: probes.Start = probes.STARTS["sglang"]) -> None:
        self.facts = facts
        self.start = start
        self.environment = Environment(facts)
        self.known_modules = _installed(facts)
        self.namespace: Any = None
        """What the command line parser gives."""
        self.record: Instance | None = None
        self.when_filled: Callable[[Interpreter, Instance], None] = _ignored
        """Called when the record has been filled and its own start-up code is about to begin."""
        self.fuel_left = -1
        """Steps that were left when the record's own start-up code had come to its end."""
        self.provenance: dict[str, Any] = {}
        self.option_names: frozenset[str] = frozenset()
        """The options of the record, once its start-up code has begun."""
        self.fallbacks: dict[str, Any] = {}
        """What options are in effect that start-up code leaves at None."""
        self._noted: dict[str, tuple[Any, tuple[Any, ...]]] = {}
        self.overridden: dict[str, Any] = {}
        self.models: dict[str, Any] = {}
        """Config classes that the engine registers with transformers, by model type."""
        self.is_serving = False
        """True while workers are followed, in which some answers are no longer those of the start."""
        self.files: dict[str, Any] = {}
        """What the program wrote, by path."""
        self._memo: dict[str, Any] = {}
        self._symbols: dict[str, Symbol] = {}
        self._builtins: dict[str, Any] = {}

    # ------------------------------------------------------------ names

    def known(self, i: Interpreter, dotted: str) -> Any:
        """What a dotted name from outside stands for; an `External` if it is not modelled."""
        if self.is_serving and (dotted in probes.ONLY_AT_START or dotted in standard_objects.NAMES):
            return External(dotted)  # what they act on, or hold, counts in a server
        if dotted in self.overridden:
            return self.overridden[dotted]
        if dotted in probes.FACTS:
            return self.fact(i, probes.FACTS[dotted])
        if dotted in _COMPUTED:
            return _COMPUTED[dotted](i)
        if dotted not in self._memo:
            self._memo[dotted] = self._find(dotted)
        return self._memo[dotted]

    def _find(self, dotted: str) -> Any:
        if dotted in probes.CALLED_FACTS:
            name = probes.CALLED_FACTS[dotted]
            return Native(dotted, lambda i, *_a, **_k: self.fact(i, name))
        if dotted in probes.CALLED_CONSTANTS:
            return Native(dotted, lambda _i, *_a, **_k: probes.CALLED_CONSTANTS[dotted])
        if dotted in probes.SYMBOLS:
            name = probes.SAME_SYMBOLS.get(dotted, dotted)
            return self._symbols.setdefault(name, Symbol(name))
        if dotted in ("os.environ", "builtins.os.environ"):
            return self.environment.value
        for table in _TABLES:
            if dotted in table:
                return table[dotted]
        config_class = transformers.named_class(dotted)
        if config_class is not None:
            return config_class
        head, _, name = dotted.rpartition(".")
        if head == "builtins":
            return self.builtin(name) or External(dotted)
        return External(dotted)

    def fact(self, i: Interpreter, name: str) -> Any:
        """The value of a fact, or an `Unknown`."""
        i.machine.reads.add(f"fact {name}")
        found = self.facts.find(name) or self._library_version(name)
        if found is None:
            return Unknown(f"fact {name}", ("fact", name), _KINDS.get(name, ""))
        value = found.value
        return tuple(value) if isinstance(value, list) else value

    def _library_version(self, name: str) -> Fact | None:
        """The version of a library, where only the library is known to be installed in it."""
        library, _, what = name.rpartition(".")
        found = self.facts.find(f"library:{library}") if what == "version" else None
        if found is None or not found.value["version"]:
            return None
        return Fact(name=name, value=found.value["version"], source=found.source)

    def builtin(self, name: str) -> Any:
        """A built-in function of Python."""
        if not self._builtins:
            from assay.flow.builtin_names import BUILTINS

            self._builtins = BUILTINS
        return self._builtins.get(name)

    def member(self, _i: Interpreter, owner: External, name: str) -> Any:
        """`owner.name` of something from outside."""
        dotted = f"{owner.dotted}.{name}"
        return MISSING if dotted in probes.ABSENT else External(dotted)

    def exists(self, i: Interpreter, dotted: str) -> bool:
        """Whether something from outside is known to exist."""
        return dotted in probes.PRESENT or not isinstance(self.known(i, dotted), External)

    def is_still_to_add(self, dotted: str) -> bool:
        """Whether it is something that the program adds itself, and has not added at its start."""
        return not self.is_serving and dotted.startswith(probes.OWN_OPERATORS)

    def set_member(self, i: Interpreter, owner: External, name: str, value: Any) -> None:
        """`owner.name = value`."""
        i.machine.put(self.overridden, f"{owner.dotted}.{name}", value)

    def item(self, i: Interpreter, owner: External, key: Any) -> Any:
        """`owner[key]`, mostly of types."""
        if owner.dotted in ("typing.Literal", "typing_extensions.Literal"):
            return standard_objects.one_of(i, key if isinstance(key, tuple) else (key,))
        if owner.dotted.startswith(("typing.", "collections.abc.", "typing_extensions.")):
            return External(owner.dotted)
        return Unknown(
            f"{owner.dotted}[…] is not modelled", ("item", owner.key, getattr(key, "key", str(type(key))))
        )

    def set_item(self, i: Interpreter, owner: External, _key: Any, _value: Any) -> None:
        """`owner[key] = value`."""
        i.machine.gap(f"{owner.dotted}[…] = … is not modelled")

    # ------------------------------------------------------------ libraries

    def present(self, module: str) -> bool | Unknown:
        """Whether a module from outside can be imported."""
        top = module.partition(".")[0]
        if top in sys.stdlib_module_names or top in probes.ALWAYS_INSTALLED:
            return True
        if top in self.known_modules:
            return self.known_modules[top]
        if top in probes.OF_OTHER_ACCELERATORS and self._is_nvidia:
            return False
        if self.facts.libraries_are_complete:
            return False
        return Unknown(f"whether {top} is installed", ("library", top), "bool")

    @property
    def _is_nvidia(self) -> bool:
        vendor = self.facts.find("accelerator.vendor")
        return vendor is not None and vendor.value == "nvidia"

    def importing(self, i: Interpreter, module: str) -> None:
        """An `import` of a module from outside."""
        present = self.present(module)
        if present is True:
            return
        raised = i.error(ModuleNotFoundError, f"No module named {module!r}")
        handled = any(handlers.catches(raised) for handlers in i.machine.tries)
        i.machine.reads.add(f"library {module.partition('.')[0]}")
        if present is False:
            if handled or i.machine.depth:
                raise raised
        elif handled:
            i.machine.may_raise(Unknown(f"{module} is not installed", ("absent", present.key)), raised)

    def version(self, i: Interpreter, name: Any) -> Any:
        """`importlib.metadata.version(name)`."""
        name = str(i.force(name)).lower().replace("_", "-").replace(".", "-")
        i.machine.reads.add(f"library {name}")
        fact = self.facts.find(f"library:{name}")
        if fact is None and not self.facts.libraries_are_complete:
            return Unknown(f"version of {name}", ("version", name), "str")
        if fact is None or not fact.value["present"]:
            raise i.error(standard_library.PACKAGE_NOT_FOUND, name)
        version = fact.value["version"]
        return version if version is not None else Unknown(f"version of {name}", ("version", name), "str")

    def may_fail(self, i: Interpreter, function: Unknown) -> None:
        """A call of something that is not modelled: in a `try` it may raise what the `try` waits for."""
        if i.machine.tries:
            test = Unknown(f"whether it raises: {function.reason}", ("raises", function.key))
            i.machine.may_raise(test, i.error(AnyError))

    def exception_class(self, handled: Any) -> Any:
        """The exception class behind a handler's type, if it is known."""
        return handled if isinstance(handled, type) else None

    # ------------------------------------------------------------ the record of options

    def passes_over(self, arguments: list[Any]) -> bool:
        """Whether a call declares options, which the room `source` has read already."""
        return any(isinstance(each, Instance) and each.cls is standard_library.PARSER for each in arguments)

    def begins(self, i: Interpreter, made: Instance) -> None:
        """A record was filled and is about to be resolved, unless its version waits for a call to do so."""
        if not isinstance(made.cls, Class) or not made.cls.is_record:
            return
        if self.start.log and self.start.log not in made.attributes:
            log.begin(i, made, self.start.log)
        waits = classes.class_attribute(made.cls, self.start.resolve) is not MISSING
        if self.record is None and not waits:
            self._begin(i, made)

    def _begin(self, i: Interpreter, made: Instance) -> None:
        self.record = made
        self.option_names = frozenset(name for name, _ in made.cls.fields or ())
        self.when_filled(i, made)

    def keeps(self, i: Interpreter, owner: Instance, name: str, value: Any) -> bool:
        """Whether the program sets an attribute of the record that is kept in a way of its own."""
        if name == self.start.log:
            log.put(i, owner, name, value)
            return True
        if name == self.start.raw:  # its record holds the very same until it ends
            i.machine.put(owner.attributes, name, log.snapshot(owner))
            if self.record is None:
                self._begin(i, owner)
            return True
        return False

    def notes(self, i: Interpreter, name: Any, value: Any, node: ast.expr | None = None) -> bool:
        """The program puts something into a dict by the name of an option: it may go on to declare that."""
        if type(name) is not str or name not in self.option_names or i.machine.strict is not None:
            return False
        site = (i.site[0], node) if node is not None and i.site is not None else i.site
        function = i.callers[-1][2].name if i.callers else ""
        self._noted[name] = (value, (site, function, tuple(i.machine.guards), frozenset(i.machine.reads)))
        return True

    def declared(self, i: Interpreter, name: str, value: Any) -> None:
        """The program declares what an option is."""
        noted = self._noted.pop(name, None)
        if noted is not None and same(noted[0], value):
            self._write(i, name, value, noted[1])
        else:
            self._write(i, name, value, (*place(i, self.start.through), frozenset(i.machine.reads)))

    def class_attribute(self, i: Interpreter, owner: Class, name: str) -> Any:
        """What Python itself keeps of a class."""
        if name == "__annotations__":
            return structs.annotated(i, owner)
        if name == "__mro__":
            return tuple(owner.line)
        if name == "__dict__":
            return VDict(owner.attributes)
        return tuple(field for field, _ in owner.fields) if owner.fields is not None else MISSING

    def has_begun(self, i: Interpreter, made: Instance) -> None:
        """A record's own start-up code has come to its end."""
        if made is self.record:
            self.fuel_left = i.machine.fuel

    def record_write(self, i: Interpreter, owner: Instance, name: str, value: Any, reads: set[str]) -> None:
        """The program assigns to an option."""
        if owner is not self.record or not any(name == each for each, _ in owner.cls.fields):
            return
        self._write(i, name, value, (*place(i, self.start.through), frozenset(reads)))

    def _write(self, i: Interpreter, name: str, value: Any, entry: tuple[Any, ...]) -> None:
        i.writes.append((name, value, *entry))
        i.machine.put(self.provenance, name, entry)

    # ------------------------------------------------------------ values

    def native_attribute(self, i: Interpreter, owner: Any, name: str) -> Any:
        """An attribute of a native value."""
        return native_values.attribute(i, owner, name)

    def instance_attribute(self, i: Interpreter, owner: Instance, name: str) -> Any:
        """An attribute that only a library's class knows of."""
        return transformers.attribute(i, owner, name)

    def renamed(self, owner: Instance, name: str) -> str:
        """The name that a library's class keeps an attribute under."""
        return transformers.renamed(owner, name)

    def open_up(self, owner: Any) -> None:
        """From here on nobody knows what a collection holds."""
        native_values.open_up(owner)

    def call_native(
        self, i: Interpreter, function: Any, arguments: list[Any], keywords: dict[str, Any]
    ) -> Any:
        """Call a native type or function."""
        from assay.flow.builtin_names import CONSTRUCTORS

        made = CONSTRUCTORS.get(function)
        if made is not None:
            return i.call(made, arguments, keywords)
        return i.machine.unknown(f"a call of {getattr(function, '__name__', function)}")

    def path_method(self, path: Any, name: str) -> Any:
        """A method of a path that looks at the file system."""
        return files.path_method(path, name)

    def opened(self, i: Interpreter, path: Any, mode: Any = "r") -> Any:
        """`open(path, mode)`."""
        return transformers.opened(i, path, mode)

    def entered(self, i: Interpreter, manager: Any, inside: Callable[[Any], Any]) -> Any:
        """The body of a `with` whose manager is from outside."""
        if isinstance(manager, Instance) and manager.cls is decorators.SUPPRESS:
            return decorators.suppressed(i, manager, inside)
        if isinstance(manager, Instance):
            return inside(manager)
        reason = manager.reason if isinstance(manager, Unknown) else "a context manager that is not modelled"
        return inside(Unknown(reason))

    def text(self, i: Interpreter, value: Any) -> Any:
        """`str(value)`."""
        from assay.flow import operations

        return operations.text(i, value)

    def made_dict(self, value: dict[Any, Any]) -> VDict:
        """A dict for the program."""
        return VDict(value)

    def model(self, path: str) -> Any:
        """The config.json of the model at a path or of a name, or None if it is not known."""
        fact = self.facts.find(f"model:{path}")
        return None if fact is None else adopt_all(fact.value)


_TABLES = (
    standard_library.NAMES,
    standard_objects.NAMES,
    transformers.NAMES,
    pydantic.NAMES,
    nvml.NAMES,
    hub.NAMES,
)
_COMPUTED: Mapping[str, Callable[[Interpreter], Any]] = {
    "huggingface_hub.constants.HF_HUB_OFFLINE": hub.is_offline,
    "triton.backends.backends": standard_objects.backends,
}
"""Attributes that follow from facts and variables."""


def _ignored(_i: Interpreter, _record: Instance) -> None:
    pass


_KINDS = {
    "accelerator.count": "int",
    "accelerator.name": "str",
    "cuda.version": "str",
    "torch.version": "str",
}


def _installed(facts: Facts) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for fact in facts.facts:
        if fact.name.startswith("library:"):
            name = fact.name.removeprefix("library:")
            present = bool(fact.value["present"])
            for module in probes.MODULE_OF_DISTRIBUTION.get(name, (name.replace("-", "_"),)):
                found[module] = found.get(module, False) or present
    return found
