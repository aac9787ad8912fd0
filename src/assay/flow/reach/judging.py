"""Judges what one run through a function in B does to the world that A's did not."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from assay.flow.reach.context import Context, Event, Outcome
from assay.flow.reach.differing import differing
from assay.flow.reach.effects import Effect
from assay.flow.reach.elements import NEVER

if TYPE_CHECKING:
    from assay.flow.reach.overlay import Overlay


class Judge:
    """Notes effects for one comparison."""

    def __init__(self, overlay: Overlay) -> None:
        self.overlay = overlay

    def judge(
        self, context: Context, outcome: Outcome, seen: Mapping[Any, Any], base: Mapping[Any, Any]
    ) -> None:
        """Note what this run does to the world that run A's did not."""
        source = self.overlay.partners.get(context, context)
        old = source.outcome if base else Outcome()
        for node, event in outcome.events.items():
            before_ = old.events.get(node)
            if before_ is None:
                self._note(context, event, "branch", seen, base)
            elif event.changed:
                self._note(context, event, "value", seen, base)
        for node, event in old.events.items():
            if node not in outcome.events and outcome.death is None:
                self._note(context, event, "branch", seen, base)
        self._judge_edges(context, old, outcome, seen, base)

    def _note(
        self, context: Context, event: Event, what: str, seen: Mapping[Any, Any], base: Mapping[Any, Any]
    ) -> None:
        level = min(event.level, self.overlay.level(context))
        sets_up = what == "value" and event.says.endswith(".init_process_group")
        shakes_hands = event.says.startswith("calls torch.distributed.") and not sets_up
        says_little = shakes_hands or (event.kind != "effect" and not event.changed)
        if says_little and not (event.repeats or self.overlay.engine.serves(context, self.overlay.via)):
            return
        if event.kind == "log":
            what = "log"
        deciding = differing(event.path, seen, base)
        self.overlay.found.effects.append(
            Effect(context, event.node, event.path, level, what, event.says, deciding)
        )

    def _judge_edges(
        self,
        context: Context,
        old: Outcome,
        outcome: Outcome,
        seen: Mapping[Any, Any],
        base: Mapping[Any, Any],
    ) -> None:
        lost = {key: edge for key, edge in old.edges.items() if key not in outcome.edges}
        for (node, callee), edge in outcome.edges.items():
            if (node, callee) in old.edges and not edge.changed:
                continue
            if (node, callee) not in old.edges:
                partner = self.overlay.partners.get(callee)
                if partner is not None:
                    lost.pop((node, partner), None)
                    continue
                if callee.runs == 0 or callee.level == NEVER:
                    continue  # its own run is compared with nothing
            self._note_edge(context, node, callee, edge, seen, base)
        if outcome.death is None:
            for (node, callee), edge in lost.items():
                self._note_edge(context, node, callee, edge, seen, base)

    def _note_edge(
        self,
        context: Context,
        node: ast.AST,
        callee: Context,
        edge: Any,
        seen: Mapping[Any, Any],
        base: Mapping[Any, Any],
    ) -> None:
        event = self.overlay.engine.effect_below(callee)
        if event is None:
            return
        made = Event(node, event.kind, min(edge.level, event.level), edge.path, f"calls {callee.name}")
        self._note(context, made, "branch", seen, base)
