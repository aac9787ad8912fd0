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
from assay.study.record import Known, Record, decisions, studies

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
    "Record",
    "Remembered",
    "Runner",
    "Scope",
    "Spent",
    "StartBegan",
    "StartEnded",
    "StartLost",
    "StudyBegan",
    "StudyEnded",
    "decisions",
    "digest",
    "fewest_pairs",
    "forecast",
    "foreseen",
    "known_before",
    "studies",
    "without_failures",
]
