"""Statistics."""

from __future__ import annotations

from layoutrand.stats.decision import decide
from layoutrand.stats.interval import Interval, mean_interval
from layoutrand.stats.ratio import ratio_interval
from layoutrand.stats.suite import suite_ratio
from layoutrand.stats.variance import VarianceComponents, variance_components

__all__ = ["Interval", "VarianceComponents", "decide", "mean_interval", "ratio_interval", "suite_ratio", "variance_components"]
