"""Run arms on a running service, prove that each took effect, and yield each measurement as it is made."""

from assay.trials.cycle import Choice, Tried, TryOut, try_once
from assay.trials.effect import Effect, Expected, SettingSeen, prove_effect
from assay.trials.ground import Ended, Ground, Started
from assay.trials.ladder import ArmName, Ladder, MeasuredRung, Told, climb, fit
from assay.trials.prediction import PredictedSetting, are_one, predict
from assay.trials.process import LocalProcess, ProcessPlan
from assay.trials.sift import Asked, Sieve, Sifted, not_triaged, sift
from assay.trials.unit import SystemdUnit, UnitPlan

__all__ = [
    "ArmName",
    "Asked",
    "Choice",
    "Effect",
    "Ended",
    "Expected",
    "Ground",
    "Ladder",
    "LocalProcess",
    "MeasuredRung",
    "PredictedSetting",
    "ProcessPlan",
    "SettingSeen",
    "Sieve",
    "Sifted",
    "Started",
    "SystemdUnit",
    "Told",
    "Tried",
    "TryOut",
    "UnitPlan",
    "are_one",
    "climb",
    "fit",
    "not_triaged",
    "predict",
    "prove_effect",
    "sift",
    "try_once",
]
