"""JMH's ``-rf json``: an array of results, with the score of every iteration of every fork in ``rawData``.

A fork is an execution.  Warm-up iterations are not in the file.  With forks = 0 the benchmark ran in JMH's own JVM.
Sample mode has histograms of calls in place of scores; the mean over an iteration is what is taken.
"""

from __future__ import annotations

from typing import Any, Final

from layoutrand.config.metric import Better
from layoutrand.interop.imported import Imported, ImportedNumber, in_base_unit, json_number, member, once
from layoutrand.interop.interop_warnings import NanMetric, SharedJvm
from layoutrand.text.foreign_fields import json_excerpt, plain, unreadable
from layoutrand.warning import AnyWarning

_METRICS: Final = {"thrpt": "throughput", "avgt": "time_per_op", "sample": "sampled_time_per_op", "ss": "single_shot"}


def recognise(document: Any) -> bool:
    """Whether a JSON document is of JMH."""
    return (
        isinstance(document, list)
        and bool(document)
        and all(isinstance(result, dict) and "primaryMetric" in result for result in document)
    )


def parse(document: Any, source: str) -> Imported:
    """Rows of all results; raises `UnreadableResults`."""
    if not isinstance(document, list) or not document:
        raise unreadable(source, f"the document is {json_excerpt(document)}; expected JMH's array of results")
    rows: list[ImportedNumber] = []
    remarks: list[AnyWarning] = []
    seen: set[str] = set()
    for place, result in enumerate(document):
        where = f"result {place}"
        name = _name(result, source, where)
        mode = member(result, "mode", str, source, where)
        once(f"{name}, mode {mode}", seen, source, "split the file, one for each system")
        seen.add(f"{name}, mode {mode}")
        if result.get("forks") == 0:
            remarks.append(SharedJvm(name))
        primary = member(result, "primaryMetric", dict, source, where)
        rows += _rows(primary, name, _METRICS.get(mode, plain(mode)), source, f"{where}, primaryMetric")
        others = member(result, "secondaryMetrics", dict, source, where) if result.get("secondaryMetrics") else {}
        for metric, secondary in others.items():
            if _has_nan(secondary):
                remarks.append(NanMetric(name, plain(metric)))
                continue
            rows += _rows(secondary, name, plain(metric), source, f"{where}, secondaryMetrics, {metric!r}")
    return Imported(tuple(rows), remarks=tuple(dict.fromkeys(remarks)))


def _name(result: Any, source: str, where: str) -> str:
    name = plain(member(result, "benchmark", str, source, where))
    params = result.get("params") or {}
    if not isinstance(params, dict):
        raise unreadable(source, f"{where}, 'params' is {json_excerpt(params)}; expected an object")
    return name + "".join(f",{plain(str(key))}={plain(str(value))}" for key, value in params.items())


def _rows(metric: Any, benchmark: str, name: str, source: str, where: str) -> list[ImportedNumber]:
    unit, factor, better = _unit(member(metric, "scoreUnit", str, source, where))
    histogram = "rawDataHistogram" in metric
    raw = member(metric, "rawDataHistogram" if histogram else "rawData", list, source, where)
    rows = []
    for fork, iterations in enumerate(raw):
        if not isinstance(iterations, list) or not iterations:
            raise unreadable(source, f"{where}, fork {fork} is {json_excerpt(iterations)}; expected its iterations")
        for iteration, score in enumerate(iterations):
            place = f"{where}, fork {fork}, iteration {iteration}"
            number = _histogram_mean(score, source, place) if histogram else json_number(score, source, place)
            value = json_number(number * factor if factor >= 1 else number / round(1 / factor), source, place)
            rows.append(ImportedNumber(benchmark, value, name, unit, fork, iteration, better=better))
    if not rows:
        raise unreadable(source, f"{where} holds no fork")
    return rows


def _histogram_mean(bins: Any, source: str, where: str) -> float:
    """Of [value, count] pairs."""
    if not isinstance(bins, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in bins):
        raise unreadable(source, f"{where} is {json_excerpt(bins)}; expected pairs of value and count")
    pairs = [(json_number(value, source, where), json_number(count, source, where)) for value, count in bins]
    total = sum(count for _, count in pairs)
    if total <= 0:
        raise unreadable(source, f"{where} counts no call")
    return sum(value * count for value, count in pairs) / total


def _unit(score_unit: str) -> tuple[str, float, Better]:
    """(Base unit, factor into it, direction) of JMH's unit: ``us/op`` is a time, ``ops/us`` a rate."""
    over, _, under = score_unit.partition("/")
    if over == "ops":
        factor, base = in_base_unit(1, under)
        if base == "s":
            return "1/s", round(1 / factor) if factor < 1 else 1 / factor, "more"
    factor, base = in_base_unit(1, over)
    if under == "op" and base in {"s", "B"}:
        return base, factor, "less"
    return plain(score_unit), 1, "less"


def _has_nan(metric: Any) -> bool:
    raw = metric.get("rawData") if isinstance(metric, dict) else None
    return isinstance(raw, list) and any("NaN" in fork for fork in raw if isinstance(fork, list))
