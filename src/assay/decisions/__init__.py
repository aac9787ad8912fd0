"""Ship, revert or not shown, from pairs of fresh starts, with a stated error rate."""

from assay.decisions.decide import decide, smallest_shown
from assay.decisions.files import NoDecision, decide_files
from assay.decisions.rule import ConfirmationRule, Decision, LevelEffect

__all__ = [
    "ConfirmationRule",
    "Decision",
    "LevelEffect",
    "NoDecision",
    "decide",
    "decide_files",
    "smallest_shown",
]
