"""What an upgrade of the engine does to a command, by declarations and start-up code of both versions."""

from assay.drift.change import Change, ChangeKind, Drift, EngineAt, Successor
from assay.drift.compare import compare
from assay.drift.opened import open_drift

__all__ = ["Change", "ChangeKind", "Drift", "EngineAt", "Successor", "compare", "open_drift"]
