"""Compares the environment variables of two versions, those of the command first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from assay.drift.change import Change, Successor

if TYPE_CHECKING:
    from assay.source import Constant, Declarations

_SUPPRESS = "==SUPPRESS=="


def differs(before: Constant, now: Constant) -> bool:
    """Whether two declared defaults differ; those that only a run would show are not told from others."""
    if not before.known or not now.known or _SUPPRESS in (before.value, now.value):
        return False
    return bool(before.value != now.value)


def changed_variables(
    older: Declarations, newer: Declarations, name: str, present: Sequence[str]
) -> Iterator[Change]:
    """What became of environment variables.

    Args:
        older: what the older version declares.
        newer: what the newer version declares.
        name: the newer version, for messages.
        present: the engine's own variables that the command's environment has.
    """
    yield from _present(older, newer, name, present)
    words = set(newer.environment_words)
    declared = {variable.name: variable for variable in newer.environment}
    for variable in older.environment:
        kept = declared.get(variable.name)
        if kept is None and variable.name not in present and variable.name not in words:
            yield Change(
                kind="variable-gone",
                name=variable.name,
                effect="none",
                says=f"{name} has no such variable",
                older=variable.declared_at,
            )
        elif kept is not None and differs(variable.default, kept.default):
            yield Change(
                kind="variable-default",
                name=variable.name,
                effect="none" if variable.name in present else "differs",
                says="another default",
                before=variable.default,
                after=kept.default,
                older=variable.declared_at,
                newer=kept.declared_at,
            )
    yield from _new(older, newer)


def _present(older: Declarations, newer: Declarations, name: str, present: Sequence[str]) -> Iterator[Change]:
    """What became of those that the command has."""
    deprecated = {old: (new, site) for old, new, site in newer.deprecated_environment}
    before = {old for old, _, _ in older.deprecated_environment}
    for variable in present:
        if variable in deprecated and variable not in before:
            new, site = deprecated[variable]
            follows = Successor(flag=new, certainty="stated", why="its source says so", site=site)
            yield Change(
                kind="variable-deprecated",
                name=variable,
                written=variable,
                effect="warns",
                says=f"{name} calls it deprecated",
                successor=follows if new else None,
                newer=site,
            )
        elif (
            variable in older.environment_words
            and variable not in newer.environment_words
            and not newer.unsearched
        ):
            yield Change(
                kind="variable-gone",
                name=variable,
                written=variable,
                effect="differs",
                says=f"nothing in {name} reads it any more",
            )


def _new(older: Declarations, newer: Declarations) -> Iterator[Change]:
    known = {variable.name for variable in older.environment} | set(older.environment_words)
    for variable in newer.environment:
        if variable.name not in known:
            yield Change(
                kind="variable-new",
                name=variable.name,
                effect="none",
                says="the older version does not have it",
                after=variable.default,
                newer=variable.declared_at,
            )
