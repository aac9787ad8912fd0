"""Classifies every line that reads an option: reached with the same result, or which test keeps it away."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Any

from assay.flow.comparison import Read
from assay.flow.reach.context import Context
from assay.flow.reach.elements import NEVER, Known, Obj
from assay.flow.reach.engine import Engine
from assay.flow.resolution import Guard
from assay.flow.values import Class, Instance
from assay.source import Call, Condition, Mention, Module, Scope, Sites

MAX_DEPTH = 12
MAX_CALLERS = 400
_READING = frozenset({"attribute-load", "string"})
_LEADING = frozenset({"call", "reference", "property", "decorator", "string", "construction"})


class Reason:
    """Why a function is not reached: a test that keeps it away, or that nobody builds its class."""

    __slots__ = ("guard", "says")

    def __init__(self, guard: Guard | None, says: str) -> None:
        self.guard, self.says = guard, says


class Readers:
    """The readers of options in one analysis."""

    def __init__(self, engine: Engine, sites: Sites, record_file: str) -> None:
        self.engine = engine
        self.sites = sites
        self.record_file = record_file
        self._reached: dict[ast.AST, list[Context]] = {}
        for context in engine.contexts.values():
            if context.level > NEVER and context.runs:
                self._reached.setdefault(context.node, []).append(context)
        self._built = self._classes_built()
        self._reasons: dict[ast.AST, Reason | None] = {}
        self._open: set[ast.AST] = set()

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

    def of(self, name: str) -> tuple[Read, ...]:
        """Every line outside the arguments' own class that reads an option, with what becomes of it."""
        found: dict[tuple[str, int], Read] = {}
        for node, context in self.engine.record_reads.get(name, {}).items():
            read = self._read(
                context.state.module, node, context.name, "same", "has the same result in both runs"
            )
            found[(read.site.file, read.site.line)] = read
        for mention in self.sites.mentions(name):
            if mention.kind not in _READING or mention.module.file == self.record_file:
                continue
            read = self._classified(name, mention)
            key = (read.site.file, read.site.line)
            if key not in found or found[key].state != "same":
                found.setdefault(key, read)
        return tuple(found.values())

    def _classified(self, name: str, mention: Mention) -> Read:
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
        if scope.function in self.engine.folding.functions:
            return self._read(
                mention.module, mention.node, function, "same", "has the same result in both runs"
            )
        reason = self._why_not(mention.module, scope, 0)
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
        if function is None:
            return self._module_not_loaded(module)
        if function in self._reasons:
            return self._reasons[function]
        if function in self._open or depth > MAX_DEPTH:
            return Reason(None, "it is only reached from functions that are not reached") if depth else None
        self._open.add(function)
        try:
            found = self._search(module, scope, function, depth)
        finally:
            self._open.discard(function)
        if not self._open or found is not None:
            self._reasons[function] = found
        return found

    def _search(self, module: Module, scope: Scope, function: Any, depth: int) -> Reason | None:
        if scope.cls is not None and scope.cls.name not in self._built:
            return self._class_not_built(module, scope.cls, depth)
        callers = self.sites.callers(module, function)
        if not callers:
            return None
        reasons = [self._call_not_made(call, depth) for call in callers[:MAX_CALLERS]]
        if any(reason is None for reason in reasons) or len(callers) > MAX_CALLERS:
            return None
        told = [reason for reason in reasons if reason is not None and reason.guard is not None]
        return (told or [reason for reason in reasons if reason is not None])[0]

    def _class_not_built(self, module: Module, cls: ast.ClassDef, depth: int) -> Reason | None:
        says = f"no {cls.name} is built here"
        if self._is_another_model(module, cls):
            return Reason(None, f"{cls.name} belongs to other models")
        begin = next((e for e in cls.body if isinstance(e, ast.FunctionDef) and e.name == "__init__"), None)
        target = begin or next((e for e in cls.body if isinstance(e, ast.FunctionDef)), None)
        if target is None:
            return Reason(None, says)
        for call in self.sites.callers(module, target)[:MAX_CALLERS]:
            reason = self._call_not_made(call, depth)
            if reason is not None and reason.guard is not None:
                return Reason(reason.guard, says)
        return Reason(None, says)

    def _is_another_model(self, module: Module, _cls: ast.ClassDef) -> bool:
        return ".models." in f"{module.name}."

    def _call_not_made(self, call: Call, depth: int) -> Reason | None:
        """Why a place that names a function does not lead to it; None if it may."""
        if call.kind not in _LEADING:
            return Reason(None, "it is only named as a type")
        scope = call.scope
        if scope.function is None:
            loaded = call.module.name in self.engine.touched_modules
            if call.kind == "decorator" or not loaded:
                return Reason(None, f"{call.module.file} is not loaded, or only registers it")
            return None
        if scope.function not in self._reached:
            return self._why_not(call.module, scope, depth + 1)
        guard = self._kept_away(call.module, scope)
        if guard is not None:
            return Reason(
                guard, f"it is called under a test that is false ({guard.site.file.rpartition('/')[2]})"
            )
        if call.kind in ("string", "reference"):
            return None
        return Reason(None, "the calls of that name go to other objects here")

    def _module_not_loaded(self, module: Module) -> Reason | None:
        if module.name in self.engine.touched_modules:
            return None
        return Reason(None, f"{module.file} is not loaded here")


_HARDWARE = re.compile(
    r"(^|_)(sm\d+|sm|capability|blackwell|hopper|ampere|cuda|hip|npu|xpu|hpu|cpu|musa)(_|$)"
)
_OF_MODELS = frozenset(
    {"hf_config", "model_config", "config", "architectures", "model_type", "quant_config", "is_hybrid_swa"}
)
