"""Statistics of benchmarks that are repeated at several levels.

A pure library: arrays in, frozen results out; numpy and scipy only; nothing is printed, read, written or warned
about.  What a user should be told stands on the results as ``warnings``, a tuple of
`StatsWarning`: the class is the kind, the fields are its figures, and ``str()`` is the sentence.  The kinds are in
``stats.advice`` and ``stats.series_advice``.

Measurements are arrays with axes ``(binary, execution, iteration)``, highest level first; any number of levels;
nested lists where the counts differ.  The statistical unit is the binary: measurements of one binary are averaged
first, since repeating an execution tells nothing new about how layouts differ.

Whatever is random depends on the `seed` given and on nothing else: not on chunk sizes, threads, or the version of
numpy, whose raw PCG64 words are turned into indices here.  Only the last digits of sums, and of simulated normal
numbers, may differ between builds of numpy and scipy.

The names follow the papers: levels are numbered from 1 (the lowest), S_i^2 is the biased and T_i^2 the unbiased
variance at level i, r_i its repetition count.

References
----------
TR: Kalibera and Jones, Quantifying Performance Changes with Effect Size Confidence Intervals, University of Kent,
Technical Report 4-12, 2012.
ISMM: Kalibera and Jones, Rigorous Benchmarking in Reasonable Time, ISMM 2013.
LCP: Li, Chen and Peng, Precise Computer Performance Comparisons Via Statistical Resampling Methods.
"""

from __future__ import annotations

from layoutrand.stats.adjustment import Adjusted, adjusted_mean
from layoutrand.stats.anytime import running_interval
from layoutrand.stats.benchmark_suite import suite_ratio
from layoutrand.stats.blocks import BlockEffects, block_effects
from layoutrand.stats.clock_steps import are_steps, clock_step, decimal_step
from layoutrand.stats.comparison import hpt_test, mann_whitney_test, suite_t_test, welch_test
from layoutrand.stats.control_noise import ControlNoise, control_noise, rounds_control_noise
from layoutrand.stats.correlation import SharedVariance, shared_variance
from layoutrand.stats.decision import Forecast, PairSpread, binaries_to_reach, decide, forecast, pair_spread
from layoutrand.stats.distribution import FiveNumberSummary, empirical_distribution, five_number_summary
from layoutrand.stats.dose import DoseFit, DoseResponse, DoseRun, dose_fit, dose_response
from layoutrand.stats.effect import LayoutEffect, layout_effect, single_binary_ratios
from layoutrand.stats.false_alarms import FalseAlarmRow, false_alarm_study
from layoutrand.stats.growth import SampleSize, grow_sample
from layoutrand.stats.interval import Interval, mean_interval
from layoutrand.stats.levels import with_lost
from layoutrand.stats.modality import dip_test
from layoutrand.stats.multiple import adjust
from layoutrand.stats.outliers import Outliers, outliers
from layoutrand.stats.paired import Pairing, pairing
from layoutrand.stats.planning import Prediction, RepetitionPlan, optimal_counts, plan, predict
from layoutrand.stats.power import PowerRow, power_study
from layoutrand.stats.prediction import next_mean, next_ratio
from layoutrand.stats.randomization import TestResult, randomization_test
from layoutrand.stats.ratio import ratio_half_width, ratio_interval
from layoutrand.stats.ratio_tests import decision_test, ratio_test
from layoutrand.stats.regimes import Regimes, find_regimes
from layoutrand.stats.rivals import ClassRest, left_in_classes
from layoutrand.stats.robust import median_interval, missed_share, skewness_test
from layoutrand.stats.running_ratio import running_decision, running_forecast, running_ratio, running_test
from layoutrand.stats.sample_size import (
    CountRange,
    binaries_for_half_width,
    binaries_to_decide,
    decision_power,
    variance_limit,
)
from layoutrand.stats.screening import (
    Screening,
    ScreeningStep,
    cross_validated_share,
    detectable_share,
    explained_share,
    fitted_values,
    screen_features,
)
from layoutrand.stats.serial import serial_test
from layoutrand.stats.simulation import HierarchicalModel, published_models, simulate
from layoutrand.stats.splitting import FactorSplit, split_factor
from layoutrand.stats.spread import SpreadTest, rounds_spread_test, spread_test
from layoutrand.stats.stats_warning import StatsWarning
from layoutrand.stats.steady import Autocorrelation, autocorrelation, lag_points, reordered
from layoutrand.stats.studies import CoverageRow, Rate, coverage_study
from layoutrand.stats.time_order import order_test
from layoutrand.stats.unblocked import Unblocked, without_blocks
from layoutrand.stats.variance import VarianceComponents, variance_components
from layoutrand.stats.variance_intervals import component_intervals, intraclass_correlation, variance_test
from layoutrand.stats.warmup import WarmupSuggestion, dacapo_warmup, georges_warmup, suggest_warmup
from layoutrand.stats.watching import WatchingRow, watching_study
from layoutrand.stats.whole_binaries import whole_binary_test

__all__ = [
    "Adjusted",
    "Autocorrelation",
    "BlockEffects",
    "ClassRest",
    "ControlNoise",
    "CountRange",
    "CoverageRow",
    "DoseFit",
    "DoseResponse",
    "DoseRun",
    "FactorSplit",
    "FalseAlarmRow",
    "FiveNumberSummary",
    "Forecast",
    "HierarchicalModel",
    "Interval",
    "LayoutEffect",
    "Outliers",
    "PairSpread",
    "Pairing",
    "PowerRow",
    "Prediction",
    "Rate",
    "Regimes",
    "RepetitionPlan",
    "SampleSize",
    "Screening",
    "ScreeningStep",
    "SharedVariance",
    "SpreadTest",
    "StatsWarning",
    "TestResult",
    "Unblocked",
    "VarianceComponents",
    "WarmupSuggestion",
    "WatchingRow",
    "adjust",
    "adjusted_mean",
    "are_steps",
    "autocorrelation",
    "binaries_for_half_width",
    "binaries_to_decide",
    "binaries_to_reach",
    "block_effects",
    "clock_step",
    "component_intervals",
    "control_noise",
    "coverage_study",
    "cross_validated_share",
    "dacapo_warmup",
    "decide",
    "decimal_step",
    "decision_power",
    "decision_test",
    "detectable_share",
    "dip_test",
    "dose_fit",
    "dose_response",
    "empirical_distribution",
    "explained_share",
    "false_alarm_study",
    "find_regimes",
    "fitted_values",
    "five_number_summary",
    "forecast",
    "georges_warmup",
    "grow_sample",
    "hpt_test",
    "intraclass_correlation",
    "lag_points",
    "layout_effect",
    "left_in_classes",
    "mann_whitney_test",
    "mean_interval",
    "median_interval",
    "missed_share",
    "next_mean",
    "next_ratio",
    "optimal_counts",
    "order_test",
    "outliers",
    "pair_spread",
    "pairing",
    "plan",
    "power_study",
    "predict",
    "published_models",
    "randomization_test",
    "ratio_half_width",
    "ratio_interval",
    "ratio_test",
    "reordered",
    "rounds_control_noise",
    "rounds_spread_test",
    "running_decision",
    "running_forecast",
    "running_interval",
    "running_ratio",
    "running_test",
    "screen_features",
    "serial_test",
    "shared_variance",
    "simulate",
    "single_binary_ratios",
    "skewness_test",
    "split_factor",
    "spread_test",
    "suggest_warmup",
    "suite_ratio",
    "suite_t_test",
    "variance_components",
    "variance_limit",
    "variance_test",
    "watching_study",
    "welch_test",
    "whole_binary_test",
    "with_lost",
    "without_blocks",
]
