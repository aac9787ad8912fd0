"""What imports and names of a module stand for."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from assay.flow.builtin_names import BUILTINS
from assay.flow.reach.elements import (
    CHANGED,
    NOTHING,
    RUN,
    Known,
    Value,
)
from assay.flow.values import (
    MISSING,
    Deferred,
    External,
    ModuleValue,
)
from assay.source import absolute

if TYPE_CHECKING:
    from assay.flow.reach.runner import Runner


def module_value(run: Runner, state: Any, name: str) -> Value:
    """What a module-level name that no function assigns stands for."""
    engine = run.engine
    value = engine.module_level(state, name)
    if value is MISSING:
        value = BUILTINS.get(name, MISSING)
        if value is MISSING:
            return engine.elements.thing(name)
        return engine.elements.known(value)
    origins = state.frame.origins.get(name)
    if origins:
        remarks = noted_environment(run, origins)
        if remarks:
            return engine.lift(value) | remarks
    return rebound(run, engine.lift(value), value)


def rebound(run: Runner, value: Value, raw: Any) -> Value:
    """A name imported from a module where some function assigns it stands for what it has there."""
    if isinstance(raw, Deferred):
        other = run.engine.i.modules.state(raw.module)
        if other is not None and raw.name in other.rebound:
            return run.read(run.engine.module_cell(other, raw.name))
    return value


def import_module(run: Runner, node: ast.Import) -> bool:
    """`import a.b as c`; False if it surely fails."""
    for alias in node.names:
        bound = alias.asname or alias.name.partition(".")[0]
        whole = alias.name if alias.asname else bound
        if run.i.modules.has(whole):
            run.engine.touched_modules.setdefault(alias.name)
            run.bind(bound, run.engine.elements.one(("module", whole), lambda w=whole: Known(ModuleValue(w))))
        elif run.i.outside.present(alias.name) is False:
            run.die(node, "ModuleNotFoundError", f"No module named {alias.name!r}")
            return False
        else:
            run.bind(bound, run.engine.lift(External(whole)))
    return True


def import_names(run: Runner, node: ast.ImportFrom) -> bool:
    """`from a import b`; False if it surely fails."""
    source = absolute(run.state.module, node)
    if source is None or source == "__future__":
        return True
    inside = run.i.modules.has(source)
    own = run.i.modules.has(source.partition(".")[0])
    if not inside and (own or run.i.outside.present(source) is False):
        run.die(node, "ModuleNotFoundError", f"No module named {source!r}")
        return False
    for alias in node.names:
        if alias.name == "*":
            continue
        name = alias.asname or alias.name
        run.bind(
            name, imported(run, source, alias.name) if inside else external(run, f"{source}.{alias.name}")
        )
    return True


def imported(run: Runner, source: str, name: str) -> Value:
    """What `from source import name` binds, for a module of the tree."""
    engine = run.engine
    other = engine.i.modules.state(source)
    if other is not None:
        engine.touched_modules.setdefault(source)
        if name in other.rebound:
            return run.read(engine.module_cell(other, name))
    value = engine.imported(source, name)
    if isinstance(value, ModuleValue):
        engine.touched_modules.setdefault(value.name)
        return engine.elements.one(("module", value.name), lambda: Known(value))
    return RUN if value is MISSING else engine.lift(value)


def external(run: Runner, dotted: str) -> Value:
    """Something from outside the tree."""
    return run.engine.lift(External(dotted))


def is_importable(run: Runner, node: ast.Import | ast.ImportFrom) -> bool:
    """Whether an import surely works."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        source = absolute(run.state.module, node)
        names = [source] if source else []
    return all(run.i.modules.has(name) or run.i.outside.present(name) is True for name in names)


def noted_environment(run: Runner, origins: Iterable[str]) -> Value:
    """Who depends on which environment variables; a remark if one differs in run B."""
    overlay = run.engine.overlay
    found = NOTHING
    for name in origins:
        if name.startswith("environment "):
            run.engine.key_readers.setdefault((0, name), {})[run.context] = None
            if overlay is not None and (0, name) in overlay.changed:
                found = frozenset({CHANGED})
    return found
