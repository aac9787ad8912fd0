"""Which configuration to start next: ask and tell, for starts that are few, slow and noisy. Needs numpy."""

from assay.search.by_optuna import OptunaSearch
from assay.search.feasibility import Memory
from assay.search.habits import Habits, Outcome
from assay.search.search import Search
from assay.search.space import Arm, Effect, Knob, Objective, Space

AnySearch = Search | OptunaSearch
"""Both are asked and told alike."""

__all__ = [
    "AnySearch",
    "Arm",
    "Effect",
    "Habits",
    "Knob",
    "Memory",
    "Objective",
    "OptunaSearch",
    "Outcome",
    "Search",
    "Space",
]
