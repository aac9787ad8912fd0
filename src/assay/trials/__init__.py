"""Run arms on a running service, prove that each took effect, and yield each measurement as it is made."""

from assay.trials.cycle import Choice, Tried, TryOut, try_once
from assay.trials.effect import Effect, Expected, SettingSeen, prove_effect
from assay.trials.ladder import ArmName, Ladder, MeasuredRung, Told
from assay.trials.prediction import PredictedSetting, are_one, predict
from assay.trials.sift import Asked, Sifted, not_triaged, sift

__all__ = [
    "ArmName",
    "Asked",
    "Choice",
    "Effect",
    "Expected",
    "Ladder",
    "MeasuredRung",
    "PredictedSetting",
    "SettingSeen",
    "Sifted",
    "Told",
    "Tried",
    "TryOut",
    "are_one",
    "not_triaged",
    "predict",
    "prove_effect",
    "sift",
    "try_once",
]
