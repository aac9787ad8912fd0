"""Conducts all of the tuning of one deployment under a budget, and keeps the record that it goes on from."""

from assay.study.budget import Spent, fewest_pairs
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
    "fewest_pairs",
    "studies",
]
