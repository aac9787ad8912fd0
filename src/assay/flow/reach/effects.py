"""What a comparison of two runs finds."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from assay.flow.reach.context import Context, Death, Path


@dataclass(eq=False)
class Effect:
    """Something that B does to the world and A does not, or the other way round, or otherwise."""

    context: Context
    node: ast.AST
    path: Path | None
    level: int
    what: str
    says: str
    deciding: Path | None = None
    """The first test on the way that comes out otherwise."""


@dataclass
class Found:
    """What the comparison came to."""

    effects: list[Effect] = field(default_factory=list)
    death: Death | None = None
    stuck: Death | None = None
    """Ends every way through a function in B that A's start comes through, where it is not known whether that
    function is called: B may not start."""
    gave_up: bool = False
    broken: dict[Context, str] = field(default_factory=dict)
    """Functions that could not be followed in B, and why."""
    restless: dict[Context, None] = field(default_factory=dict)
    """Functions that did not come to rest in B."""
