"""In which order a program is followed: its start, what serves, then what was waiting for neither.

The order matters. What a request writes must not be taken for something that the start may find, and a value
that only seems possible for a moment can keep itself alive for good.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable
from typing import TYPE_CHECKING

from assay.flow.reach.context import Context, Outcome
from assay.flow.reach.elements import NEVER
from assay.flow.reach.levels import levels_of, started

if TYPE_CHECKING:
    from assay.flow.reach.engine import Engine

MAX_SPLITS = 8


class Phases:
    """Who has to wait, and for what."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.is_serving = False
        self.at_start: set[Context] = set()
        """What runs at the start, once that is known."""
        self.starting: set[Context] = set()
        """What runs only at the start: it does not see what only requests write."""
        self.held: dict[Context, None] = {}
        """Until the start is at rest: what is only called again and again."""
        self.lenient: set[ast.AST] = set()
        """Places that gave no value when nothing moved any more: from then on, something of run time."""
        self._stalled: dict[ast.AST, dict[Context, None]] = {}
        self._awaited: dict[Hashable, dict[Context, None]] = {}
        """By label of a cell that there was not, or by collection whose keys were asked: who has looked."""
        self._late: dict[Context, None] = {}
        """Those that looked for something that there is now."""
        self._splits = 0

    def hold(self, caller: Context, callee: Context, *, repeats: bool) -> None:
        """A call of what has not run yet: until the program serves, what is called again and again waits."""
        if not self.is_serving and repeats:
            if callee.level == NEVER:
                self.held[callee] = None
            return
        self.held.pop(callee, None)
        if self.is_serving and caller in self.starting and not repeats:
            self.at_start.add(callee)
            self.starting.add(callee)

    def stall(self, node: ast.AST, context: Context) -> None:
        """A place gives no value yet."""
        self._stalled.setdefault(node, {})[context] = None

    def awaits(self, what: Hashable, context: Context) -> None:
        """The context runs again when `what` has come into being."""
        self._awaited.setdefault(what, {})[context] = None

    def arrived(self, what: Hashable) -> None:
        """Run those again that have looked for it: in run A once all others are at rest."""
        for context in self._awaited.pop(what, ()):
            if self.engine.overlay is not None:
                self.engine.overlay.enqueue(context)
            elif context.runs:
                self._late[context] = None

    def go_on(self) -> bool:
        """Nothing moves: let those go on that have waited; False if there is nobody."""
        if not self.is_serving:
            self._serve()
            return True
        return self._sweep() or self._split() or self._look_again() or self._relent()

    def _serve(self) -> None:
        self.is_serving = True
        self.at_start, self.starting = started(self.engine.contexts.values())
        held, self.held = self.held, {}
        for context in held:
            self.engine.enqueue(context)

    def _sweep(self) -> bool:
        """Forget what contexts have handed on that nobody calls any more; True if something moves again."""
        engine = self.engine
        levels = levels_of(engine.contexts.values())
        for context in engine.contexts.values():
            level = levels.get(context, NEVER)
            if context.is_root or level == context.level or not context.runs:
                continue
            context.level = level
            if level == NEVER:
                engine.commit(context, Outcome())
                context.runs = 0
            else:
                engine.publish(context, context.outcome)
        return engine.is_moving

    def _split(self) -> bool:
        """Tell what runs at the start from what only requests reach; True if something is read again."""
        engine = self.engine
        at_start, starting = started(engine.contexts.values())
        if (at_start, starting) == (self.at_start, self.starting) or self._splits >= MAX_SPLITS:
            return False
        self._splits += 1
        changed = (at_start ^ self.at_start) | (starting ^ self.starting)
        self.at_start, self.starting = at_start, starting
        for label, cell in engine.cells.items():
            if label[0] == "attribute" and any(writer not in at_start for writer in cell.parts):
                moved = any(writer in changed for writer in cell.parts)
                for reader in cell.readers:
                    if reader.runs and (moved or reader in changed):
                        engine.enqueue(reader)
        return engine.is_moving

    def _look_again(self) -> bool:
        late, self._late = self._late, {}
        for context in late:
            self.engine.enqueue(context)
        return bool(late)

    def _relent(self) -> bool:
        """What still gives no value is something of run time."""
        waiting = {node: readers for node, readers in self._stalled.items() if node not in self.lenient}
        self._stalled.clear()
        for node, readers in waiting.items():
            self.lenient.add(node)
            for context in readers:
                self.engine.enqueue(context)
        return bool(waiting)
