"""`compare X X`, `run --twice`, `run --aa`: a system compared with itself, as `compare` would have compared two.

What `compare` would say of two systems that do not differ depends on the machine and on the design, so the two sides
are made as the design makes two systems.  Best is a system that was executed twice, as two, in the same rounds (`run
--twice`).  Of one that was not, neighbouring rounds stand for the two systems of a round: which of two neighbours is
on which side is drawn, since the order within a round is.  They are a little farther apart than systems of one round,
and half as many.  Sides drawn from all rounds at random would hide whatever the machine does over time.

Systems that are executed one after the other, or on different days, are another matter: they differ by what the machine
did meanwhile.  The first half of the rounds against the second shows how much that is; `compare` gives no verdict on
such systems.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from layoutrand.analysis.analyse import choose_metrics, measurements
from layoutrand.analysis.blocking import freed
from layoutrand.analysis.compare import Comparison, compare
from layoutrand.analysis.comparison_warnings import ExecutedApart
from layoutrand.analysis.evidence import evidence
from layoutrand.analysis.same_program import SameProgram
from layoutrand.analysis.sample import Sample
from layoutrand.analysis.selection import Selection
from layoutrand.analysis.sides_of_itself import (
    FEWEST,
    Sides,
    SidesOfItself,
    in_order_of_time,
    of_once,
    of_second,
    round_number,
    side_of,
)
from layoutrand.config.twice import first_of, is_second, second_of
from layoutrand.errors import AnalysisError, UnknownMetric, UsageError
from layoutrand.instruments.known import simulated
from layoutrand.model import BinaryName
from layoutrand.stats import Interval, missed_share, ratio_interval
from layoutrand.stats.decision import Verdict
from layoutrand.text.quantities import finite
from layoutrand.warning import plural

_IN_TIME: Final[frozenset[Sides]] = frozenset({"executed apart", "first and second half"})

FEWEST_FOR_FLOOR: Final = 10
"""Binaries a side below which rare executions and speeds of the machine are seen too seldom to foresee them: of 5
pairs, the floor held .72 of comparisons on a machine of two speeds and .88 with rare slow executions."""


@dataclass(frozen=True)
class SelfComparison:
    """One benchmark of one system against itself.

    ``ratio`` is that of ``n_each`` binaries a side (executions, of what has one layout alone), None where it is not
    defined; ``verdict`` is what `compare` would say of it if it did not know, with this ``threshold``: "undecided"
    where the sides were executed at different times.  In as many as 1 - confidence of comparisons of ``n_floor``
    rounds two systems that do not differ are measured farther apart than ``noise_floor``, a fraction; None where sides
    are not beside each other in time, are too few (`FEWEST_FOR_FLOOR`), or an interval has no bounds.  It knows nothing
    of what happens to fewer executions than a share of ``could_miss``: so many may well have had none of it.
    """

    system: str
    benchmark: str
    metric: str
    sides: Sides
    n_each: int
    ratio: Interval | None
    verdict: Verdict
    threshold: float
    noise_floor: float | None = None
    n_floor: int = 0
    could_miss: float | None = None

    @property
    def is_alarm(self) -> bool:
        """Whether the interval finds a difference, which is not there."""
        return self.ratio is not None and not self.ratio.low <= 1 <= self.ratio.high

    @property
    def has_too_few(self) -> bool:
        """Whether there are too few binaries for a noise floor."""
        return self.sides not in _IN_TIME and self.n_each < FEWEST_FOR_FLOOR


@dataclass(frozen=True)
class Halves:
    """One system as two, compared as two systems are, and all that its results tell of it against itself.

    ``first`` and ``second`` are the seeds of the comparison's baseline and candidate, the same for every benchmark.
    """

    system: str
    sides: Sides
    first: tuple[BinaryName, ...]
    second: tuple[BinaryName, ...]
    comparison: Comparison
    noise: tuple[SelfComparison, ...]


def check_seeds_of_aa(seeds: Sequence[int]) -> None:
    """Raise `UsageError` before seeds are executed of which no comparison of a system with itself can be made."""
    if len(seeds) < FEWEST:
        raise UsageError(
            f"an A/A comparison of {plural(len(seeds), 'seed')} says nothing: it is over the seeds of --seeds alone, "
            f"and needs {FEWEST} or more, better 10; what was executed of them already is not executed again"
        )


def compare_halves(
    selection: Selection, system: str, *, confidence: float, threshold: float, metric: str | None
) -> Halves:
    """Compare a system with itself.

    ``selection`` also holds what was executed of it a second time, where anything was
    (`layoutrand.analysis.second_executions`).  Raises `AnalysisError` where no benchmark has the binaries to divide.
    """
    samples = [s for s in choose_metrics(selection, [metric] if metric else []) if metric or s.is_primary]
    own = [sample for sample in samples if sample.system == system and len(sample.binaries) >= FEWEST]
    if not own:
        raise AnalysisError(f"A/A needs at least {FEWEST} binaries per benchmark: `layoutrand run --twice --seeds 10`")
    again = [sample for sample in samples if sample.system == second_of(system)]
    options = {"confidence": confidence, "threshold": threshold, "metric": metric}
    division, late = of_second(own, again), []
    found = None if division is None else _compared(selection, division, **options)
    if division is not None and found is not None and _is_apart(found):
        late = [
            replace(row, sides="executed apart", noise_floor=None, n_floor=0) for row in _rows(found, division, own)
        ]
        division = None
    if division is None or found is None:
        division = of_once(own, selection)
        found = _compared(selection, division, **options)
    shown = division.sides == "first and second half"
    in_time = [sample for sample in own if not shown and sample.instrument not in simulated()]
    halves = [_by_time(sample, confidence, threshold) for sample in in_time]
    rows = (*_rows(found, division, own), *late, *halves)
    return Halves(system, division.sides, *division.seeds, _of_one_program(found, selection, own, again), rows)


def _compared(selection: Selection, division: SidesOfItself, **options: Any) -> Comparison:
    return compare(replace(selection, samples=division.samples), *division.names, **options)


def _is_apart(found: Comparison) -> bool:
    """Whether the second time was another time: nothing else may be in the rounds of `run --twice`."""
    return any(isinstance(each, ExecutedApart) for pair in found.benchmarks for each in pair.warnings)


def _rows(found: Comparison, division: SidesOfItself, own: Sequence[Sample]) -> list[SelfComparison]:
    """What a comparison of two sides says of each benchmark."""
    counts = {sample.benchmark: len(sample.binaries) for sample in own}
    rows = []
    for pair in found.benchmarks:
        n_each = min(pair.n_baseline, pair.n_candidate)
        n_rounds = n_each if division.sides == "executed twice" else counts[pair.benchmark]
        row = SelfComparison(
            own[0].system,
            pair.benchmark,
            pair.metric,
            division.sides,
            n_each,
            pair.ratio,
            pair.verdict,
            found.threshold,
        )
        floor = None if pair.sureness is None else _floor(pair.ratio, n_each, n_rounds)
        missed = None if floor is None else missed_share(2 * n_each)
        rows.append(replace(row, noise_floor=floor, n_floor=n_rounds, could_miss=missed))
    return rows


def compare_with_itself(
    selection: Selection, *, confidence: float, threshold: float = 0.01, metric: str | None = None
) -> list[SelfComparison]:
    """The rows of each system that has binaries to divide, by each benchmark's main metric or by ``metric``.

    Raises `AnalysisError` where no system has.
    """
    systems = dict.fromkeys(first_of(sample.system) for sample in selection.samples)
    rows: list[SelfComparison] = []
    problem: AnalysisError | None = None
    for system in systems:
        try:
            halves = compare_halves(selection, system, confidence=confidence, threshold=threshold, metric=metric)
            rows += halves.noise
        except AnalysisError as error:
            problem = error
    if problem is not None and not rows:
        raise problem
    return rows


def of_second_executions(
    selection: Selection, *, confidence: float, threshold: float, metric: str | None
) -> list[SelfComparison]:
    """The rows of systems that were executed twice; none where none was, or too seldom."""
    twice = {first_of(sample.system) for sample in selection.samples if is_second(sample.system)}
    if not twice:
        return []
    own = tuple(sample for sample in selection.samples if first_of(sample.system) in twice)
    try:
        rows = compare_with_itself(
            replace(selection, samples=own), confidence=confidence, threshold=threshold, metric=metric
        )
    except (AnalysisError, UnknownMetric):  # the comparison beside which they would stand has said what there is
        return []
    return [row for row in rows if row.sides in {"executed twice", "executed apart"}]


def of_seeds(selection: Selection, seeds: Collection[int]) -> Selection:
    """The same without binaries of other rounds than those of these seeds."""
    wanted = set(seeds)
    samples = []
    for sample in selection.samples:
        kept = [item for item in sample.binaries if round_number(sample, item[0]) in wanted]
        samples.append(replace(sample, binaries=tuple(kept)))
    return replace(selection, samples=tuple(samples))


def alarms(rows: Sequence[SelfComparison], *, in_time: bool) -> tuple[int, int]:
    """How many intervals find a difference, of how many: of sides executed at different times, or of all others."""
    own = [row for row in rows if (row.sides in _IN_TIME) == in_time and row.ratio is not None]
    return sum(row.is_alarm for row in own), len(own)


def _of_one_program(
    found: Comparison, selection: Selection, own: Sequence[Sample], again: Sequence[Sample]
) -> Comparison:
    """The comparison of two sides, told as what it is: of one system."""
    systems = {sample.system for sample in (*own, *again)}
    return replace(
        found,
        benchmarks=tuple(replace(pair, same_program=SameProgram(0, is_itself=True)) for pair in found.benchmarks),
        evidence=evidence(selection, systems),
        failures=tuple(e for e in selection.failures if e.system in systems),
        build_failures=tuple(f for f in selection.build_failures if f.system in systems),
        disturbed=selection.disturbed({sample.instrument for sample in own}, systems),
    )


def _by_time(sample: Sample, confidence: float, threshold: float) -> SelfComparison:
    """The first half of the rounds against the second, each side by itself."""
    sample = freed(sample).sample  # else the node that has more rounds in one half would make a difference
    order = [name for _, name in in_order_of_time([sample])]
    half = len(order) // 2
    parts = [{name: name for name in part} for part in (order[:half], order[len(order) - half :])]
    try:
        data = [measurements(side_of(sample, sample.system, part)) for part in parts]
        ratio = ratio_interval(data[0], data[1], confidence=confidence, method="fieller-welch")
    except AnalysisError:  # a mean that is not above 0
        ratio = None
    return SelfComparison(
        sample.system, sample.benchmark, sample.metric, "first and second half", half, ratio, "undecided", threshold
    )


def _floor(ratio: Interval | None, n_each: int, n_rounds: int) -> float | None:
    """How far two systems that do not differ may be measured apart over ``n_rounds``, of an interval of ``n_each``.

    The interval is Student's, of logarithms of rounds, or nearly so; what is predicted is a new mean around no
    difference, with the degrees of freedom that the interval has.
    """
    if ratio is None or not (ratio.low > 0 and math.isfinite(ratio.high)) or n_each < FEWEST_FOR_FLOOR:
        return None
    return math.expm1(math.log(ratio.high / ratio.low) / 2 * math.sqrt(n_each / n_rounds))


def aa_document(rows: Sequence[SelfComparison]) -> list[dict[str, Any]]:
    """The rows as JSON values; null for an end that an interval does not have, and for a ratio that there is not."""
    return [
        {
            "system": row.system,
            "benchmark": row.benchmark,
            "metric": row.metric,
            "sides": row.sides,
            "n_each": row.n_each,
            "ratio": None if row.ratio is None else row.ratio.centre,
            "interval": None if row.ratio is None else [finite(row.ratio.low), finite(row.ratio.high)],
            "alarm": None if row.ratio is None else row.is_alarm,
            "verdict": row.verdict,
            "threshold": row.threshold,
            "noise_floor": finite(row.noise_floor),
            "n_floor": row.n_floor or None,
            "could_miss": row.could_miss,
        }
        for row in rows
    ]
