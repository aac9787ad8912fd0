"""Numbers only: summaries, intervals of one run, steadiness."""

from assay.stats.interval import Interval, batch_means
from assay.stats.steady import mser5
from assay.stats.summary import Summary, carried_from, quantile, summarised

__all__ = ["Interval", "Summary", "batch_means", "carried_from", "mser5", "quantile", "summarised"]
