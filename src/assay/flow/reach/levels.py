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
        pending += [each for each in levels if not each.is_root]
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


def started(contexts: Collection[Context]) -> tuple[set[Context], set[Context]]:
    """What runs before the program serves, and of that, what does not run again later."""
    first = [each for each in contexts if each.is_root and each.level == ALWAYS]
    at_start = _reached(first, again=False)
    later = [each for each in contexts if each.is_root and each.level < ALWAYS]
    for each in contexts:
        later += [callee for (_, callee), edge in each.outcome.edges.items() if edge.repeats]
    return at_start, at_start - _reached(later, again=True)


def _reached(first: list[Context], *, again: bool) -> set[Context]:
    """All that these contexts lead to; with `again` also by calls that are made again and again."""
    found: set[Context] = set()
    pending = list(first)
    while pending:
        at = pending.pop()
        if at not in found:
            found.add(at)
            pending += [c for (_, c), edge in at.outcome.edges.items() if again or not edge.repeats]
    return found
