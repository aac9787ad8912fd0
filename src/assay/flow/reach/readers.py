"""Classifies every line that reads an option: reached with the same result, or which test keeps it away."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from assay.flow.comparison import Read
from assay.flow.namesakes import Namesakes
from assay.flow.reach.context import Context
from assay.flow.reach.elements import MARKS, NEVER, Element, Known, Obj, Seq, Value, is_object
from assay.flow.reach.engine import Engine
from assay.flow.reach.loading import Loading
from assay.flow.resolution import Guard
from assay.flow.values import Class, Instance
from assay.source import Call, Condition, Mention, Module, Scope, Sites

MAX_DEPTH = 40
MAX_CALLERS = 400
_READING = frozenset({"attribute-load", "string"})
_HOLDERS = (ast.Call, ast.keyword, ast.Dict, ast.List, ast.Tuple, ast.Set, ast.BinOp, ast.Subscript)
"""What may stand around a name that a module only stores, or puts into a type (`A | B`, `list[A]`)."""
_LEADING = frozenset({"call", "reference", "property", "decorator", "string", "construction"})


class Reason:
    """Why a function is not reached: a test that keeps it away, or that nobody builds its class."""

    __slots__ = ("guard", "says")

    def __init__(self, guard: Guard | None, says: str) -> None:
        self.guard, self.says = guard, says


class Readers:
    """The readers of options in one analysis."""

    def __init__(
        self, engine: Engine, sites: Sites, record_file: str, namesakes: Namesakes, loading: Loading
    ) -> None:
        self.engine = engine
        self.sites = sites
        self.record_file = record_file
        self._namesakes = namesakes
        self._loading = loading
        self._reached: dict[ast.AST, list[Context]] = {}
        for context in engine.contexts.values():
            if context.level > NEVER and context.runs:
                self._reached.setdefault(context.node, []).append(context)
        self._built = self._classes_built() | engine.i.built
        self._out = out_of_sight(engine)
        self._reasons: dict[ast.AST, Reason | None] = {}
        self._holders: dict[str, bool] = {}
        self._open: dict[ast.AST, int] = {}
        """Searches under way, with how many answers rested on others when they began."""
        self._resting: list[ast.AST] = []
        """What was answered while a search was under way, and may rest on it."""

    def _classes_built(self) -> frozenset[str]:
        found: set[str] = set()
        for context in self.engine.contexts.values():
            receiver = context.receiver
            cls = receiver.cls if isinstance(receiver, Obj) else None
            if isinstance(receiver, Known) and isinstance(receiver.value, Instance):
                cls = receiver.value.cls
            if isinstance(cls, Class) and context.level > NEVER:
                found.update(base.name for base in cls.line if isinstance(base, Class))
        return frozenset(found)

    # ------------------------------------------------------------ one option

    def of(self, name: str, *, others_differ: bool = False) -> tuple[Read, ...]:
        """Every line outside the arguments' own class that reads an option, with what becomes of it.

        `others_differ` says that some other object has an attribute of that name that differs in run B.
        """
        found: dict[tuple[str, int], Read] = {}
        for node, context in self.engine.record_reads.get(name, {}).items():
            read = self._read(
                context.state.module, node, context.name, "same", "has the same result in both runs"
            )
            found[(read.site.file, read.site.line)] = read
        for mention in self.sites.mentions(name):
            if mention.kind not in _READING or mention.module.file == self.record_file:
                continue
            read = self._classified(name, mention, others_differ)
            key = (read.site.file, read.site.line)
            if key not in found or found[key].state != "same":
                found.setdefault(key, read)
        return tuple(found.values())

    def out_of_reach(self, changed: Iterable[tuple[Any, str]]) -> Iterable[Read]:
        """The lines that read what an option was put into, an attribute of an object of that class, in
        functions of which nobody knows whether they are called: they may do otherwise in run B.
        """
        for cls, name in changed:
            family = {base.name for base in getattr(cls, "line", ()) if isinstance(base, Class)}
            mentions = self.sites.mentions(name) if family else ()
            own = {m for m in mentions if _is_of_self(m.node) and getattr(m.scope.cls, "name", "") in family}
            nobody_elses = all(m in own for m in mentions if m.kind == "attribute-store")
            for mention in mentions:
                is_meant = mention in own or (nobody_elses and not _is_of_self(mention.node))
                function = mention.scope.function
                is_known = function in self._reached or function in self.engine.i.ran
                if mention.kind != "attribute-load" or is_known or not is_meant:
                    continue
                if self._why_not(mention.module, mention.scope, 0) is None:
                    says = f"reads what it was put into, {name}; whether it is called is not known"
                    yield self._read(
                        mention.module, mention.node, mention.scope.qualname, "unclassified", says
                    )

    def _classified(self, name: str, mention: Mention, others_differ: bool) -> Read:  # noqa: FBT001 (handed on)
        scope = mention.scope
        function = scope.qualname
        if scope.function is not None and scope.function in self._reached:
            kept = self._kept_away(mention.module, scope)
            if kept is not None:
                return self._read(
                    mention.module, mention.node, function, "unreached", "this test is false", kept
                )
            if mention.node in self.engine.unbound.get(name, {}):
                return self._read(
                    mention.module, mention.node, function, "unclassified", "of which object is not known"
                )
            return self._read(
                mention.module,
                mention.node,
                function,
                "same",
                "reads it of another object, or of one that is equal",
            )
        if scope.function in self.engine.i.ran:  # start-up code, or all that it reads is known
            return self._read(
                mention.module, mention.node, function, "same", "has the same result in both runs"
            )
        reason = self._why_not(mention.module, scope, 0)
        if reason is None and not others_differ and self._is_of_another(mention):
            says = "reads it of another object, where it is the same in both runs"
            return self._read(mention.module, mention.node, function, "same", says)
        if reason is None:
            says = "nobody could be found who leads there, or who keeps it away"
            return self._read(mention.module, mention.node, function, "unclassified", says)
        return self._read(mention.module, mention.node, function, "unreached", reason.says, reason.guard)

    def _read(
        self, module: Module, node: ast.AST, function: str, state: Any, says: str, guard: Guard | None = None
    ) -> Read:
        return Read(
            site=module.site(node),
            function=function,
            state=state,
            says=says,
            guards=(guard,) if guard is not None else (),
        )

    def _is_of_another(self, mention: Mention) -> bool:
        """Whether a line reads an attribute of that name of some object that is not the record."""
        node = mention.node
        if not isinstance(node, ast.Attribute):
            return False
        if self._namesakes.is_of_another(mention, node):
            return True
        return isinstance(node.value, ast.Attribute) and self._never_holds_record(node.value.attr)

    def _never_holds_record(self, name: str) -> bool:
        """Whether all that attributes of that name hold is known, and never the record."""
        if name not in self._holders:
            record = self.engine.record
            held = [
                cell.value for label, cell in self.engine.cells.items() if label[0::2] == ("attribute", name)
            ]
            self._holders[name] = bool(held) and all(
                isinstance(each, Obj) or (isinstance(each, Known) and each.value is not record)
                for value in held
                for each in value - MARKS
            )
        return self._holders[name]

    # ------------------------------------------------------------ why a place is not reached

    def _kept_away(self, module: Module, scope: Scope) -> Guard | None:
        """The first test within the function that never has the outcome that the place needs."""
        for condition in scope.conditions:
            guard = self._false(module, condition)
            if guard is not None:
                return guard
        return None

    def _false(self, module: Module, condition: Condition) -> Guard | None:
        test = condition.test
        if test is None:
            return None
        mask = self.engine.outcomes.get(test)
        needed = 1 if condition.holds else 2
        if mask is not None and not mask & needed:
            return self._guard(module, test, condition.holds)
        if isinstance(test, ast.BoolOp):
            for part in test.values:
                inner = self.engine.outcomes.get(part)
                decides = isinstance(test.op, ast.And) == condition.holds
                if inner is not None and decides and not inner & needed:
                    return self._guard(module, part, condition.holds)
        return None

    def _guard(self, module: Module, test: ast.expr, needed: bool) -> Guard:  # noqa: FBT001 (reads as the outcome)
        narrow = self._narrowed(test, needed)
        text = module.text(narrow)
        return Guard(
            text=text,
            site=module.site(narrow),
            taken=not needed,
            state="holds",
            decided_by=tuple(sorted(self._deciding(text))),
        )

    def _narrowed(self, test: ast.expr, needed: bool) -> ast.expr:  # noqa: FBT001 (as above)
        """The part of a test that decides it."""
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) == needed:
            want = 1 if needed else 2
            for part in test.values:
                mask = self.engine.outcomes.get(part)
                if mask is not None and not mask & want:
                    return self._narrowed(part, needed)
        return test

    def _deciding(self, text: str) -> Iterable[str]:
        for word in set(re.findall(r"[A-Za-z_]\w*", text)):
            if word in self.engine.fields:
                yield f"option {word}"
            elif word.startswith("SGLANG_"):
                yield f"environment {word}"
            elif _HARDWARE.search(word):
                yield "fact accelerator.capability"
            elif word in ("world_size", "tp_group", "full_nvlink"):
                yield "option tp_size" if word != "full_nvlink" else "fact accelerator.nvlink"
            elif word in _OF_MODELS:
                yield "model config.json"

    def _why_not(self, module: Module, scope: Scope, depth: int) -> Reason | None:
        """Why a function, or a module's own level, is not reached; None if that could not be told."""
        function = scope.function
        if function in self.engine.i.ran:
            return None
        if not self._loading.may_be(module.name):
            return Reason(None, f"{module.file} is not loaded here")
        if function is None:
            return None
        circle = Reason(None, "it is only reached from functions that are not reached")
        return self._once(function, circle, depth, lambda: self._search(module, scope, function, depth))

    def _once(
        self, node: ast.AST, circle: Reason, depth: int, search: Callable[[], Reason | None]
    ) -> Reason | None:
        """The answer of a search, kept. Asked again while it is under way, it is `circle`: what leads only to
        itself is not reached. Answers that rest on that are forgotten if the search then finds none.
        """
        if node in self._reasons:
            return self._reasons[node]
        if node in self._open:
            return circle
        if depth > MAX_DEPTH:
            return None
        self._open[node] = len(self._resting)
        found = search()
        since = self._open.pop(node)
        self._reasons[node] = found
        if found is None:
            for each in self._resting[since:]:
                del self._reasons[each]
            del self._resting[since:]
        elif self._open:
            self._resting.append(node)
        else:
            self._resting.clear()
        return found

    def _search(self, module: Module, scope: Scope, function: Any, depth: int) -> Reason | None:
        if scope.cls is not None and scope.cls.name not in self._built:
            if function.name in _OF_CLASSES or any(_is_type(base) for base in scope.cls.bases):
                return None
            return self._class_not_built(module, scope.cls, depth)
        if scope.cls is not None and _is_hook(function.name):
            return None  # Python itself calls it
        callers = self.sites.callers(module, function)
        if not callers:
            alone = scope.cls is None and scope.qualname == function.name and not function.decorator_list
            return Reason(None, f"nobody calls {function.name}") if alone else None
        if any(call.kind == "construction" for call in callers):
            return None  # a library may call it, of the objects that are made there
        may_come_back = scope.cls is not None and scope.cls.name in self._out
        if may_come_back and any(map(self._asks_outside, callers)):
            return None
        return self._of_all(callers, depth)

    def _asks_outside(self, call: Call) -> bool:
        """Whether what is called there came from outside, and may be anything that went there."""
        return call.node in self.engine.asked_outside

    def _class_not_built(self, module: Module, cls: ast.ClassDef, depth: int) -> Reason | None:
        says = f"no {cls.name} is built here"
        if _is_of_models(module):
            return Reason(None, f"{cls.name} belongs to other models")

        def search() -> Reason | None:
            calls = self.sites.constructions(module, cls)
            if any(map(self._asks_outside, calls)):
                return None
            found = self._of_all(calls, depth)
            return Reason(found.guard, says) if found is not None else None

        return self._once(cls, Reason(None, says), depth, search)

    def _of_all(self, callers: Sequence[Call], depth: int) -> Reason | None:
        """The reason why none of several calls is made; None if one may be."""
        if len(callers) > MAX_CALLERS:
            return None
        reasons = []
        for call in callers:
            reason = self._call_not_made(call, depth)
            if reason is None:
                return None
            reasons.append(reason)
        return next(
            (reason for reason in reasons if reason.guard is not None),
            (reasons or [Reason(None, "nobody leads there")])[0],
        )

    def _is_stored(self, call: Call) -> bool:
        """Whether a module only puts a function or class, or its name, into a call or a collection: what
        comes of that is followed from there.
        """
        parent = self.sites.parent(call.module, call.node)
        around = isinstance(parent, _HOLDERS)
        if isinstance(parent, ast.Assign):  # table["name"] = Class
            is_item = any(isinstance(target, ast.Subscript) for target in parent.targets)
            around = is_item or call.kind == "string"
        return call.kind in ("reference", "string") and around

    def _is_in_lambda(self, call: Call) -> bool:
        node: ast.AST | None = call.node
        while node is not None and not isinstance(node, ast.Lambda | ast.stmt):
            node = self.sites.parent(call.module, node)
        return isinstance(node, ast.Lambda)

    def _call_not_made(self, call: Call, depth: int) -> Reason | None:
        """Why a place that names a function does not lead to it; None if it may."""
        if call.kind not in _LEADING:
            return Reason(None, "it is only named as a type")
        if call.kind == "string" and isinstance(self.sites.parent(call.module, call.node), ast.Compare):
            return Reason(None, "a text is only compared with its name")
        scope = call.scope
        if scope.function is None:
            return self._module_does_not(call, depth)
        if scope.function not in self._reached:
            if scope.function in self.engine.i.ran:  # then what it leads to has been run as well
                return Reason(None, "the calls of that name go to other objects here")
            return self._why_not(call.module, scope, depth + 1)
        guard = self._kept_away(call.module, scope)
        if guard is not None:
            return Reason(
                guard, f"it is called under a test that is false ({guard.site.file.rpartition('/')[2]})"
            )
        if call.kind in ("string", "reference"):
            return self._is_kept(call)
        if call.call is not None and call.node not in self.engine.asked:
            return None
        return Reason(None, "the calls of that name go to other objects here")

    def _module_does_not(self, call: Call, depth: int) -> Reason | None:
        """The same for a place at a module's own level."""
        cls = call.scope.cls
        if not self._loading.may_be(call.module.name):
            return Reason(None, f"{call.module.file} is not loaded here")
        if call.kind == "decorator" or self._is_stored(call):
            return Reason(None, f"{call.module.file} only registers it")
        if cls is None or not self._is_in_lambda(call) or cls.name in self._built:
            return None
        return self._class_not_built(call.module, cls, depth + 1)  # default_factory=lambda: ...

    def _is_kept(self, call: Call) -> Reason | None:
        """A function or class that is used as a value was followed, unless it went outside the tree."""
        name = getattr(call.node, "attr", getattr(call.node, "id", ""))
        if call.kind == "reference" and name and name not in self.engine.escaped:
            return Reason(None, f"what {call.scope.qualname} does with {name} leads to no call here")
        return None


def out_of_sight(engine: Engine) -> frozenset[str]:
    """Names of classes, and of their bases, of which an object may come back from outside the tree: it was
    handed out, or an object that was holds it.
    """
    held: dict[Element, list[Value]] = {}
    for label, cell in engine.cells.items():
        if label[0] == "attribute":
            held.setdefault(label[1], []).append(cell.value)
    seen: set[Element] = set()
    waiting = list(engine.handed_out)
    names: set[str] = set()
    while waiting:
        each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        owner = each.value if isinstance(each, Known) else each
        cls = getattr(owner, "cls", None)
        if isinstance(cls, Class):
            names.update(base.name for base in cls.line if isinstance(base, Class))
        own = owner.attributes.values() if isinstance(owner, Instance) else ()
        for value in (*held.get(each, ()), *map(engine.lift, own)):
            waiting += [e for e in value if isinstance(e, Seq) or is_object(e)]
    return frozenset(names)


_OF_CLASSES = frozenset({"__init_subclass__", "__class_getitem__"})
"""Methods that need no object."""


def _is_type(base: ast.expr) -> bool:
    """Whether what a class derives from makes classes."""
    return getattr(base, "id", getattr(base, "attr", "")) in ("type", "ABCMeta", "EnumMeta")


def _is_hook(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _is_of_models(module: Module) -> bool:
    return ".models." in f"{module.name}."


_HARDWARE = re.compile(
    r"(^|_)(sm\d+|sm|capability|blackwell|hopper|ampere|cuda|hip|npu|xpu|hpu|cpu|musa)(_|$)"
)
_OF_MODELS = frozenset(
    {"hf_config", "model_config", "config", "architectures", "model_type", "quant_config", "is_hybrid_swa"}
)


def _is_of_self(node: ast.AST) -> bool:
    """Whether a method reads an attribute of its own object."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
