"""Comparisons of programs that have few layouts: where these are all there are, no advice asks for more."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from layoutrand.analysis.compare import BenchmarkRatio, Comparison
from layoutrand.analysis.conclusion import all_of, of_pair
from layoutrand.analysis.plan_warnings import FewDistinctLayouts
from layoutrand.analysis.reasons import Step


def within_what_there_is(
    results: Sequence[Comparison], n_distinct: Callable[[], Mapping[str, int]]
) -> list[Comparison]:
    """The comparisons, those told of their few layouts that would ask for more.

    ``n_distinct`` are the layouts that the program of a system can have at most, of systems where these are few; it is
    asked only where layouts are asked for, as it takes a look at captures.
    """
    asked = [step for result in results for concluded in all_of(result) for step in concluded.next]
    if not any(step.kind == "more layouts" for step in asked):
        return list(results)
    known = n_distinct()
    return [_told(result, known) for result in results] if known else list(results)


def _told(result: Comparison, known: Mapping[str, int]) -> Comparison:
    there = [known[system] for system in (result.baseline, result.candidate) if system in known]
    if not there:
        return result
    return replace(result, benchmarks=tuple(_with_its_few(result, pair, min(there)) for pair in result.benchmarks))


def _with_its_few(result: Comparison, pair: BenchmarkRatio, n_layouts: int) -> BenchmarkRatio:
    steps = [step for step in of_pair(result, pair).next if step.kind == "more layouts"]
    if not any(_layouts_asked_for(step) > n_layouts for step in steps):
        return pair
    return replace(pair, warnings=(FewDistinctLayouts(n_layouts), *pair.warnings))


def _layouts_asked_for(step: Step) -> float:
    """How many in all; where the step cannot say, more than any program has."""
    return math.inf if step.n_layouts is None else step.n_layouts
