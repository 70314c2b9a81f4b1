"""`run --aa`, `compare X X`: a system compared with itself, to see the noise floor and how often it raises an alarm.

The binaries of a system are divided at random into two halves, which differ in nothing but chance, and the halves are
compared as two systems would be.  Over many divisions about 1 - confidence of the intervals should miss 1; a share
far above that says that this set-up would find differences that are not there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Final

from layoutrand.analysis.analyse import choose_metrics, collapse
from layoutrand.analysis.blocking import freed
from layoutrand.analysis.compare import Comparison, compare
from layoutrand.analysis.evidence import evidence
from layoutrand.analysis.same_program import SameProgram
from layoutrand.analysis.sample import ROUND, Sample
from layoutrand.analysis.selection import Selection
from layoutrand.errors import AnalysisError
from layoutrand.layout.keyed import keyed_order
from layoutrand.model import BinaryName
from layoutrand.stats import Interval, ratio_interval
from layoutrand.text.quantities import finite

SPLITS: Final = 200
FEWEST: Final = 4


@dataclass(frozen=True)
class SelfComparison:
    """One benchmark of one system against itself.

    ``ratio`` is that of the first division into ``n_each`` binaries a side, ``half_width`` the median half-width of
    the ratio's interval over all ``n_splits``, and ``n_alarms`` how many of these intervals do not hold 1.
    """

    system: str
    benchmark: str
    metric: str
    n_each: int
    ratio: Interval
    half_width: float
    n_alarms: int
    n_splits: int


@dataclass(frozen=True)
class Halves:
    """One division: two halves of a system's seeds compared as two systems would be, and the noise floor over many.

    ``first`` and ``second`` are the seeds of the comparison's baseline and candidate, the same for every benchmark.
    """

    system: str
    first: tuple[BinaryName, ...]
    second: tuple[BinaryName, ...]
    comparison: Comparison
    noise: tuple[SelfComparison, ...]


def compare_halves(
    selection: Selection, system: str, *, confidence: float, threshold: float, metric: str | None
) -> Halves:
    """Compare a system with itself, over disjoint seeds.

    Raises `AnalysisError` where no benchmark has the binaries to divide.
    """
    own = [sample for sample in choose_metrics(selection, [metric] if metric else []) if sample.system == system]
    own = [sample for sample in own if metric or sample.is_primary]
    noise = compare_with_itself(replace(selection, samples=tuple(own)), confidence=confidence, metric=metric)
    binaries = list(dict.fromkeys(binary for sample in own for binary, _ in sample.binaries))
    order = keyed_order(0, "aa", [str(binary).encode() for binary in binaries])
    parts = [sorted(order[: len(order) // 2]), sorted(order[len(order) // 2 : len(order) // 2 * 2])]
    names = [f"{system}, half {number}" for number in (1, 2)]
    seeds = [tuple(binaries[place] for place in part) for part in parts]
    samples = [_restricted(sample, name, kept) for sample in own for name, kept in zip(names, seeds, strict=True)]
    found = compare(
        replace(selection, samples=tuple(samples)), *names, confidence=confidence, threshold=threshold, metric=metric
    )
    found = replace(
        found,
        benchmarks=tuple(replace(pair, same_program=SameProgram(0, is_itself=True)) for pair in found.benchmarks),
        evidence=evidence(selection, {system}),
        failures=tuple(e for e in selection.failures if e.system == system),
        build_failures=tuple(f for f in selection.build_failures if f.system == system),
        disturbed=selection.disturbed({sample.instrument for sample in own}, {system}),
    )
    return Halves(system, seeds[0], seeds[1], found, tuple(noise))


def _restricted(sample: Sample, name: str, kept: Sequence[BinaryName]) -> Sample:
    return replace(sample, system=name, binaries=tuple(item for item in sample.binaries if item[0] in set(kept)))


def of_seeds(selection: Selection, seeds: Collection[int]) -> Selection:
    """The same without binaries of other seeds, or executions of other rounds where there is one layout alone."""
    wanted = set(seeds)
    samples = []
    for sample in selection.samples:
        kept = [name for name, _ in sample.binaries if _number(name) in wanted]
        samples.append(_restricted(sample, sample.system, kept))
    return replace(selection, samples=tuple(samples))


def _number(name: BinaryName) -> int | None:
    """The seed, or the round: `run --seeds` executes what has one layout alone in a round for each seed."""
    found = None if isinstance(name, int) else ROUND.fullmatch(name)
    return name if isinstance(name, int) else int(found[1]) if found else None


def compare_with_itself(
    selection: Selection, *, confidence: float, splits: int = SPLITS, metric: str | None = None
) -> list[SelfComparison]:
    """One row for each benchmark's main metric, or for ``metric``.

    Raises `AnalysisError` where no benchmark has the binaries to divide.
    """
    samples = [
        sample
        for sample in selection.samples
        if (sample.metric == metric if metric else sample.is_primary) and len(sample.binaries) >= FEWEST
    ]
    if not samples:
        raise AnalysisError(f"A/A needs at least {FEWEST} binaries per benchmark: `layoutrand run --aa --seeds 10`")
    return [_compare(sample, confidence, splits) for sample in samples]


def _compare(sample: Sample, confidence: float, splits: int) -> SelfComparison:
    sample = freed(sample).sample  # else the node that has more seeds in one half would make a difference
    intervals = [ratio_interval(*_halves(sample, number), confidence=confidence) for number in range(splits)]
    return SelfComparison(
        system=sample.system,
        benchmark=sample.benchmark,
        metric=sample.metric,
        n_each=len(sample.binaries) // 2,
        ratio=intervals[0],
        half_width=median((each.high - each.low) / 2 for each in intervals),
        n_alarms=sum(not each.low <= 1 <= each.high for each in intervals),
        n_splits=splits,
    )


def _halves(sample: Sample, number: int) -> tuple[Any, Any]:
    """Two halves of the binaries, divided by chance that depends on the number alone; an odd one out is left out."""
    order = keyed_order(number, "aa", [str(seed).encode() for seed, _ in sample.binaries])
    half = len(order) // 2
    parts = (order[:half], order[half : 2 * half])
    first, second = (collapse([sample.binaries[which][1] for which in sorted(part)])[0] for part in parts)
    return first, second


def aa_document(rows: Sequence[SelfComparison]) -> list[dict[str, Any]]:
    """The rows as JSON values; null for an end that an interval does not have."""
    return [
        {
            "system": row.system,
            "benchmark": row.benchmark,
            "metric": row.metric,
            "n_each": row.n_each,
            "ratio": row.ratio.centre,
            "interval": [finite(row.ratio.low), finite(row.ratio.high)],
            "half_width": finite(row.half_width),
            "alarms": row.n_alarms,
            "splits": row.n_splits,
        }
        for row in rows
    ]
