"""Conducts all of the tuning of one deployment under a budget, and keeps the record that it goes on from."""

from assay.study.begin import digest, foreseen, known_before, without_failures
from assay.study.budget import Forecast, Spent, fewest_pairs, forecast
from assay.study.conduct import BASELINES, Conclusion, Conductor, Runner
from assay.study.entries import (
    Budget,
    Decided,
    Judged,
    OptionEnd,
    Remembered,
    Scope,
    StartBegan,
    StartEnded,
    StartLost,
    StudyBegan,
    StudyEnded,
)
from assay.study.live import LiveRunner
from assay.study.proven import Proven, ProvenLoad, proven_by_runs, proven_by_study
from assay.study.record import Known, Record, decisions, studies
from assay.study.watch import Watched, WatchPlan, promote_watched
from assay.study.watch_rule import Standing, WatchFigure, WatchLook, WatchRule

__all__ = [
    "BASELINES",
    "Budget",
    "Conclusion",
    "Conductor",
    "Decided",
    "Forecast",
    "Judged",
    "Known",
    "LiveRunner",
    "OptionEnd",
    "Proven",
    "ProvenLoad",
    "Record",
    "Remembered",
    "Runner",
    "Scope",
    "Spent",
    "Standing",
    "StartBegan",
    "StartEnded",
    "StartLost",
    "StudyBegan",
    "StudyEnded",
    "WatchFigure",
    "WatchLook",
    "WatchPlan",
    "WatchRule",
    "Watched",
    "decisions",
    "digest",
    "fewest_pairs",
    "forecast",
    "foreseen",
    "known_before",
    "promote_watched",
    "proven_by_runs",
    "proven_by_study",
    "studies",
    "without_failures",
]
