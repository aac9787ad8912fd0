"""Numbers only: summaries, intervals within and between runs, noise of starts, looks at data, steadiness."""

from assay.stats.change import Change, change
from assay.stats.groups import TwoGroups, two_groups
from assay.stats.interval import Interval, batch_means
from assay.stats.noise import Noise, PairedMean, is_used, noise, noise_df, paired_mean, pooled
from assay.stats.normal import normal_below
from assay.stats.sequential import boundaries
from assay.stats.steady import mser5
from assay.stats.student import t_quantile
from assay.stats.summary import Summary, carried_from, quantile, summarised
from assay.stats.tally import Tally

__all__ = [
    "Change",
    "Interval",
    "Noise",
    "PairedMean",
    "Summary",
    "Tally",
    "TwoGroups",
    "batch_means",
    "boundaries",
    "carried_from",
    "change",
    "is_used",
    "mser5",
    "noise",
    "noise_df",
    "normal_below",
    "paired_mean",
    "pooled",
    "quantile",
    "summarised",
    "t_quantile",
    "two_groups",
]
