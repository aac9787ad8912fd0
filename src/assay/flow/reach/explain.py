"""Puts what following an engine has found into values: chains, guards, and readers that are not reached."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from assay.flow.comparison import Difference, Read, Step, WriteBack
from assay.flow.reach.context import Context, Death, Path
from assay.flow.reach.effects import Effect, Found
from assay.flow.reach.elements import ALWAYS, MARKS, PERHAPS, SOMETIMES, Known
from assay.flow.reach.engine import Engine
from assay.flow.reach.overlay import Overlay
from assay.flow.reach.owners import PUT
from assay.flow.reach.readers import Readers
from assay.flow.report import is_plain, plain
from assay.flow.resolution import Guard
from assay.source import Site

MAX_STEPS = 40
_MOST_GAPS = 8


def _weight(effect: Effect) -> tuple[bool, bool, bool, int]:
    """What to name of several effects: one that happens, rather than a line of the log or an attribute that
    perhaps only the tree itself reads, and the surest.
    """
    return effect.level >= SOMETIMES, effect.what != "log", effect.says != PUT, effect.level


class Explainer:
    """Explains one analysis."""

    def __init__(self, engine: Engine, readers: Readers | None = None) -> None:
        self.engine = engine
        self.readers = readers

    # ------------------------------------------------------------ places

    def site(self, context: Context, node: ast.AST) -> Site:
        """A place in a function."""
        found: Site = context.state.module.site(node)
        return found

    def _guard(self, context: Context, path: Path) -> Guard:
        module = context.state.module
        return Guard(
            text=module.text(path.node),
            site=module.site(path.node),
            taken=path.taken,
            state="open" if path.level == PERHAPS else "holds",
        )

    def chain(self, context: Context, overlay: Overlay | None) -> list[tuple[Context, ast.AST]]:
        """The calls from the entry to a function, outermost first."""
        found: list[tuple[Context, ast.AST]] = []
        seen = {context}
        at: Context | None = context
        while at is not None and len(found) < MAX_STEPS:
            via = (overlay.via.get(at) if overlay is not None else None) or at.via
            if via is None or via[0] in seen:
                break
            found.append(via)
            seen.add(via[0])
            at = via[0]
        return found[::-1]

    def steps(self, chain: Iterable[tuple[Context, ast.AST]], last: Context) -> tuple[Step, ...]:
        """The same as steps."""
        calls = list(chain)
        callees = [*(each[0] for each in calls[1:]), last][: len(calls)]
        return tuple(
            Step(site=self.site(caller, node), function=caller.name, says=f"calls {callee.name}")
            for (caller, node), callee in zip(calls, callees, strict=True)
        )

    def chain_guards(
        self, chain: Iterable[tuple[Context, ast.AST]], last: Context, overlay: Overlay | None
    ) -> tuple[tuple[Context, Path], ...]:
        """Every test on the calls of a chain."""
        calls = list(chain)
        callees = [*(each[0] for each in calls[1:]), last][: len(calls)]
        found: list[tuple[Context, Path]] = []
        for (caller, node), callee in zip(calls, callees, strict=True):
            outcome = overlay.outcome(caller) if overlay is not None else caller.outcome
            edge = outcome.edges.get((node, callee))
            if edge is not None and edge.path is not None:
                found.extend((caller, each) for each in edge.path.tests())
        return tuple(found)

    def tests(
        self, context: Context, path: Path | None, overlay: Overlay | None
    ) -> tuple[list[tuple[Context, ast.AST]], list[tuple[Context, Path]]]:
        """The calls that lead to a place, and all tests on the way to it, outermost first."""
        chain = self.chain(context, overlay)
        inner = path.tests() if path is not None else []
        return chain, [*self.chain_guards(chain, context, overlay), *((context, each) for each in inner)]

    # ------------------------------------------------------------ run A

    def failure(self) -> Difference | None:
        """The line at which run A surely stops after its arguments were resolved."""
        for context in self.engine.contexts.values():
            if context.is_root and context.level == ALWAYS and context.outcome.death is not None:
                return self._raises(context.outcome.death, None, ())
        return None

    def write_backs(self) -> tuple[WriteBack, ...]:
        """Options that the running engine itself sets."""
        return tuple(self._write_backs())

    def _write_backs(self) -> Iterable[WriteBack]:
        element = next(iter(self.engine.elements.known(self.engine.record)))
        for name in sorted(self.engine.fields):
            cell = self.engine.cells.get(("attribute", element, name))
            for context, (value, level, _) in cell.parts.items() if cell is not None else ():
                only = next(iter(value - MARKS)) if len(value - MARKS) == 1 else None
                known = isinstance(only, Known) and is_plain(only.value)
                node = self._writer(context, name)
                yield WriteBack(
                    name=name,
                    known=known,
                    value=plain(only.value) if known and isinstance(only, Known) else None,
                    certain=level == ALWAYS,
                    site=self.site(context, node),
                )

    def _writer(self, context: Context, name: str) -> ast.AST:
        known = self.engine.writers
        if (context, name) not in known:
            known[context, name] = _writer(context, name)
        return known[context, name]

    # ------------------------------------------------------------ run B

    def difference(self, overlay: Overlay, found: Found, fields: Sequence[str]) -> Difference:
        """What the comparison of B with A came to."""
        if found.death is not None:
            return self._raises(found.death, overlay, fields)
        if found.stuck is not None:
            stop = f"whether the start gets there: {self._stop(found.stuck)}"
            return Difference(outcome="open", open_atoms=(stop,), reads=self.reached_reads(fields))
        best = max(found.effects, key=_weight, default=None)
        if best is not None and best.level >= SOMETIMES:
            return self._effect(best, overlay, fields)
        if best is not None:
            atoms = self._open_atoms(best, overlay)
            return Difference(outcome="open", open_atoms=atoms, reads=self.reached_reads(fields))
        reads = self.reads(fields, overlay)
        unclear = [each for each in reads if each.state == "unclassified"]
        if not unclear and self.readers is not None:
            unclear = list(self.readers.out_of_reach(overlay.changed_attributes()))
        if unclear:
            atoms = tuple(f"{each.site}: {each.says}" for each in unclear)
            return Difference(outcome="open", open_atoms=atoms, reads=reads)
        gaps = self._gaps(found)
        if gaps:
            return Difference(outcome="open", open_atoms=gaps, reads=reads)
        return Difference(outcome="none", reads=reads, write_backs=tuple(self._write_backs()))

    def _gaps(self, found: Found) -> tuple[str, ...]:
        """What was not followed to its end: there may be an effect that nobody has seen."""
        engine, at = self.engine, self.site
        reached = engine.is_reached
        broken = found.broken | {c: why for c, why in engine.broken.items() if reached(c)}
        restless = found.restless | {c: None for c in engine.restless if reached(c)}
        wild = {node: c for node, c in engine.wild_reads.items() if reached(c)}
        gaps = ["the comparison was given up"] if found.gave_up or engine.gave_up else []
        gaps += [f"{at(c, c.node)}: {c.name} could not be followed: {why}" for c, why in broken.items()]
        gaps += [f"{at(c, c.node)}: {c.name} did not come to rest" for c in restless]
        gaps += [f"{at(c, node)}: reads an option by a name that is not known" for node, c in wild.items()]
        return tuple(gaps[:_MOST_GAPS])

    def _effect(self, effect: Effect, overlay: Overlay, fields: Sequence[str]) -> Difference:
        context = effect.context
        chain, tests = self.tests(context, effect.path, overlay)
        deciding = effect.deciding
        node = deciding.node if deciding is not None else effect.node
        return Difference(
            outcome="effect",
            effect=Step(site=self.site(context, node), function=context.name, says=effect.says),
            what=effect.what,
            chain=self.steps(chain, context),
            guards=tuple(self._guard(*each) for each in tests),
            when=tuple(
                dict.fromkeys(
                    ("" if path.taken else "not: ") + owner.state.module.text(path.node)
                    for owner, path in tests
                    if path.level == SOMETIMES
                )
            ),
            reads=self.reached_reads(fields),
        )

    def _raises(self, death: Death, overlay: Overlay | None, fields: Sequence[str]) -> Difference:
        context = death.context
        chain, tests = self.tests(context, death.path, overlay)
        return Difference(
            outcome="raises",
            effect=Step(
                site=self.site(context, death.node), function=context.name, says=f"raises {death.type_name}"
            ),
            what="raise",
            message=death.message,
            chain=self.steps(chain, context),
            guards=tuple(self._guard(*each) for each in tests),
            reads=self.reached_reads(fields),
        )

    def _stop(self, death: Death) -> str:
        says = f"{death.type_name}: {death.message}" if death.message else death.type_name
        return f"{self.site(death.context, death.node)}: raises {says}"

    def _open_atoms(self, effect: Effect, overlay: Overlay) -> tuple[str, ...]:
        _, tests = self.tests(effect.context, effect.path, overlay)
        found = [owner.state.module.text(path.node) for owner, path in tests if path.level == PERHAPS]
        return tuple(dict.fromkeys(found)) or ("whether an exception is raised",)

    # ------------------------------------------------------------ readers

    def reads(self, fields: Sequence[str], overlay: Overlay) -> tuple[Read, ...]:
        """The lines that read these options."""
        if self.readers is None:
            return ()
        found: dict[tuple[str, int], Read] = {}
        changed = {name for _, name in overlay.changed_attributes()}
        for name in fields:
            for read in self.readers.of(name, others_differ=name in changed):
                found.setdefault((read.site.file, read.site.line), read)
        return tuple(found.values())

    def reached_reads(self, fields: Sequence[str]) -> tuple[Read, ...]:
        """The lines that read these options and are reached."""
        found: dict[tuple[str, int], Read] = {}
        for name in fields:
            for node, context in self.engine.record_reads.get(name, {}).items():
                site = self.site(context, node)
                found[(site.file, site.line)] = Read(
                    site=site, function=context.name, state="tells", says="reads it"
                )
        return tuple(found.values())


def _writer(context: Context, name: str) -> ast.AST:
    for each in ast.walk(context.node):
        if isinstance(each, ast.Attribute) and each.attr == name and isinstance(each.ctx, ast.Store):
            return each
    node: ast.AST = context.node
    return node
