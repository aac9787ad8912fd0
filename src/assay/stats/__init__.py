"""Numbers only: summaries, intervals of one run and between runs, steadiness."""

from assay.stats.change import Change, change
from assay.stats.groups import TwoGroups, two_groups
from assay.stats.interval import Interval, batch_means
from assay.stats.steady import mser5
from assay.stats.student import t_quantile
from assay.stats.summary import Summary, carried_from, quantile, summarised

__all__ = [
    "Change",
    "Interval",
    "Summary",
    "TwoGroups",
    "batch_means",
    "carried_from",
    "change",
    "mser5",
    "quantile",
    "summarised",
    "t_quantile",
    "two_groups",
]
