"""Results in the formats of services that follow benchmarks over commits: Bencher, Apache Otava, CodSpeed's shape.

What they are given is the mean over layouts, so that they do not alarm at where the code of one build landed; stock is
beside it under a name of its own where the format has room.

Sources: Bencher Metric Format (bencher.dev/docs/reference/bencher-metric-format); Apache Otava's CSV and JSON importers
(otava/importer.py, 0.8); the results file of pytest-codspeed 4 and codspeed-rust, which stands in no documentation.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import fmean, quantiles, stdev
from typing import Any, Final

from layoutrand.analysis.analyse import measurements
from layoutrand.analysis.blocking import freed
from layoutrand.analysis.coarse_clock import clock_steps
from layoutrand.analysis.sample import Sample
from layoutrand.errors import AnalysisError
from layoutrand.history.history_values import CommitSeries, History
from layoutrand.instruments.known import is_elapsed
from layoutrand.interop.interop_warnings import CommitsWithoutAll, NotTimes
from layoutrand.model import STOCK
from layoutrand.stats import mean_interval
from layoutrand.text import csv_cells
from layoutrand.text.csv_cells import cell
from layoutrand.version import __version__
from layoutrand.warning import AnyWarning

TRACKING: Final = ("bencher", "codspeed")
"""Formats of the results of one commit."""

OVER_COMMITS: Final = ("otava-csv", "otava-json")
"""Formats of a history."""

_NANOSECONDS: Final = 1e9
_SLUG: Final = re.compile(r"[^a-z0-9]+")
_LONGEST_MEASURE: Final = 64
_FAR_SDS: Final = 3.0
_FAR_IQRS: Final = 1.5


@dataclass(frozen=True)
class TrackedText:
    """A document, and what there was no place for."""

    text: str
    warnings: tuple[AnyWarning, ...]


def as_bencher(samples: Sequence[Sample], *, confidence: float = 0.95) -> TrackedText:
    """Bencher Metric Format: each benchmark's mean over layouts with its interval as limits, and stock beside it.

    Wall time is the measure "latency" in nanoseconds, which Bencher has; others are named after the metric.  Systems
    stand behind the benchmark's name where there are several.
    """
    several = len({sample.system for sample in samples}) > 1
    document: dict[str, dict[str, dict[str, float]]] = {}
    for sample in samples:
        if not sample.binaries:
            continue
        name = f"{sample.benchmark} ({sample.system})" if several else sample.benchmark
        measure, factor = _measure(sample)
        own = freed(sample)
        mean = mean_interval(own.charged(measurements(own.sample)), confidence=confidence)
        mean = clock_steps(sample).of_mean(mean)
        values = {"value": mean.centre * factor}
        if math.isfinite(mean.low) and math.isfinite(mean.high):
            values |= {"lower_value": mean.low * factor, "upper_value": mean.high * factor}
        document.setdefault(name, {})[measure] = values
        if executions := own.sample.controls.get(STOCK):
            beside = _slug(f"{measure}-as-built")
            document[name][beside] = {"value": fmean(map(fmean, executions)) * factor}
    if not document:
        raise AnalysisError("no seed was executed successfully, so there is nothing to export")
    return TrackedText(json.dumps(document, indent=1, allow_nan=False) + "\n", ())


def _measure(sample: Sample) -> tuple[str, float]:
    """What Bencher calls the quantity, and the factor to its unit."""
    if is_elapsed(sample.metric) and sample.unit == "s":
        return "latency", _NANOSECONDS
    return _slug(sample.metric), 1.0


def _slug(name: str) -> str:
    return _SLUG.sub("-", name.lower()).strip("-")[:_LONGEST_MEASURE].rstrip("-") or "value"


def as_codspeed(samples: Sequence[Sample]) -> TrackedText:
    """Wall times in the shape of CodSpeed's results files: a layout is a round; stock is not in it."""
    times = [sample for sample in samples if sample.unit == "s" and sample.binaries]
    others = tuple(dict.fromkeys(sample.metric for sample in samples if sample.unit != "s"))
    if not times:
        raise AnalysisError("codspeed holds times alone, and no executed benchmark has one; --metric chooses another")
    several = len({sample.system for sample in times}) > 1
    benchmarks = []
    for sample in times:
        name = f"{sample.benchmark}[{sample.system}]" if several else sample.benchmark
        if (
            len({each.metric for each in times if (each.system, each.benchmark) == (sample.system, sample.benchmark)})
            > 1
        ):
            name = f"{name}[{sample.metric}]"
        benchmarks.append(
            {
                "name": name,
                "uri": f"layoutrand.toml::{name}",
                "config": {"warmup_time_ns": None, "min_round_time_ns": None, "max_time_ns": None, "max_rounds": None},
                "stats": _codspeed_stats(freed(sample).sample),
            }
        )
    document = {
        "creator": {"name": "layoutrand", "version": __version__, "pid": 0},
        "instrument": {"type": "walltime"},
        "benchmarks": benchmarks,
    }
    warnings = (NotTimes("codspeed", others),) if others else ()
    return TrackedText(json.dumps(document, indent=1, allow_nan=False) + "\n", warnings)


def _codspeed_stats(sample: Sample) -> dict[str, float | int]:
    values = [mean * _NANOSECONDS for mean in sample.binary_means]
    mean, sd = fmean(values), stdev(values) if len(values) > 1 else 0.0
    low, middle, high = quantiles(values, n=4) if len(values) > 1 else (mean, mean, mean)
    reach = _FAR_IQRS * (high - low)
    return {
        "min_ns": min(values),
        "max_ns": max(values),
        "mean_ns": mean,
        "stdev_ns": sd,
        "q1_ns": low,
        "median_ns": middle,
        "q3_ns": high,
        "rounds": len(values),
        "total_time": math.fsum(values) / _NANOSECONDS,
        "iqr_outlier_rounds": sum(not low - reach <= value <= high + reach for value in values),
        "stdev_outlier_rounds": sum(abs(value - mean) > _FAR_SDS * sd for value in values),
        "iter_per_round": 1,
        "warmup_iters": 0,
    }


def as_otava(history: History, format_name: str, *, raw_csv: bool = False) -> TrackedText:
    """One row for each measured commit, as Apache Otava's importers read them: CSV, or JSON.

    Columns are ``time``, ``commit``, and each series' mean over layouts, with stock as ``NAME.as-built``.  Otava takes
    rows by time and wants every metric in each, so commits that lack one are left out, and told; a commit that is dated
    before the one it follows is given a second more than that.  ``raw_csv`` as in `layoutrand.text.csv_cells`.
    """
    columns: dict[str, dict[str, float]] = {}
    units: dict[str, str] = {}
    for series in history.series:
        name = _column(series, history)
        points = [(commit.commit, point) for point in series.points for commit in point.commits]
        columns[name] = {commit: point.mean.centre for commit, point in points}
        units[name] = series.unit
        stock = {commit: point.stock for commit, point in points if point.stock is not None}
        if len(stock) == len(points):
            columns[f"{name}.as-built"], units[f"{name}.as-built"] = stock, series.unit
    measured = [each for each in history.commits if any(each.commit in values for values in columns.values())]
    whole = [each for each in measured if all(each.commit in values for values in columns.values())]
    if not whole:
        raise AnalysisError(f"no commit has all of {', '.join(columns)}; choose with --benchmark, --system or --metric")
    rows: list[tuple[int, str, Mapping[str, float]]] = []
    for commit in whole:
        moment = round(commit.committed_at or 0) if commit.day else 0
        if rows:
            moment = max(moment, rows[-1][0] + 1)
        rows.append((moment, commit.commit, {name: values[commit.commit] for name, values in columns.items()}))
    left = len(measured) - len(whole)
    text = _otava_csv(rows, list(columns), raw=raw_csv) if format_name == "otava-csv" else _otava_json(rows, units)
    return TrackedText(text, (CommitsWithoutAll(format_name, left),) if left else ())


def _column(series: CommitSeries, history: History) -> str:
    """The series as a name without blanks: Otava takes it in configuration files and patterns."""
    parts = [series.benchmark]
    if len({each.system for each in history.series}) > 1:
        parts.append(series.system)
    if len({each.metric for each in history.series}) > 1:
        parts.append(series.metric)
    return re.sub(r"[^\w.+-]+", "_", ".".join(parts))


def _otava_csv(rows: Sequence[tuple[int, str, Mapping[str, float]]], names: Sequence[str], *, raw: bool) -> str:
    lines = [["time", "commit", *(cell(name, raw=raw) for name in names)]]
    for moment, commit, values in rows:
        time = datetime.fromtimestamp(moment, UTC).isoformat(sep=" ")
        lines.append([time, commit, *(repr(values[name]) for name in names)])
    return csv_cells.table(lines)


def _otava_json(rows: Sequence[tuple[int, str, Mapping[str, float]]], units: Mapping[str, str]) -> str:
    document: list[dict[str, Any]] = [
        {
            "timestamp": moment,
            "metrics": [{"name": name, "unit": units[name], "value": value} for name, value in values.items()],
            "attributes": {"commit": commit},
        }
        for moment, commit, values in rows
    ]
    return json.dumps(document, indent=1, allow_nan=False) + "\n"
