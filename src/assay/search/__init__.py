"""Which configuration to start next: ask and tell, for starts that are few, slow and noisy. Needs numpy."""

from assay.search.feasibility import Memory
from assay.search.search import Habits, Outcome, Search
from assay.search.space import Arm, Effect, Knob, Objective, Space

__all__ = ["Arm", "Effect", "Habits", "Knob", "Memory", "Objective", "Outcome", "Search", "Space"]
