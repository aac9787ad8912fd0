"""How surely each function is reached, from the entries of the program down."""

from __future__ import annotations

from collections.abc import Collection

from assay.flow.reach.context import Context
from assay.flow.reach.elements import ALWAYS, NEVER, PERHAPS, SOMETIMES


def levels_of(contexts: Collection[Context]) -> dict[Context, int]:
    """How surely each context is reached, which then knows the call by which it is."""
    levels: dict[Context, int] = {}
    roots = [each for each in contexts if each.is_root]
    for level in (ALWAYS, SOMETIMES, PERHAPS):
        pending = [each for each in roots if each.level == level or (level < ALWAYS and each in levels)]
        pending += [each for each in levels if each not in pending]
        for each in pending:
            levels.setdefault(each, level)
        while pending:
            at = pending.pop()
            for (node, callee), edge in at.outcome.edges.items():
                if edge.level >= level and levels.get(callee, NEVER) < level:
                    levels[callee] = level
                    callee.via = (at, node)
                    pending.append(callee)
    return levels


def started(contexts: Collection[Context]) -> set[Context]:
    """What runs before the program serves: reached without a loop that has no fixed end."""
    found: set[Context] = set()
    pending = [each for each in contexts if each.is_root and each.level == ALWAYS]
    while pending:
        at = pending.pop()
        if at not in found:
            found.add(at)
            pending += [callee for (_, callee), edge in at.outcome.edges.items() if not edge.repeats]
    return found
