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
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from layoutrand.analysis.analyse import choose_metrics, measurements
from layoutrand.analysis.blocking import freed
from layoutrand.analysis.compare import Comparison, compare
from layoutrand.analysis.comparison_warnings import ExecutedApart
from layoutrand.analysis.evidence import evidence
from layoutrand.analysis.same_program import SameProgram
from layoutrand.analysis.sample import ROUND, Sample
from layoutrand.analysis.selection import Selection
from layoutrand.config.twice import first_of, is_second, second_of
from layoutrand.errors import AnalysisError
from layoutrand.instruments.known import simulated
from layoutrand.layout.keyed import keyed_order
from layoutrand.model import BinaryName
from layoutrand.stats import Interval, ratio_interval
from layoutrand.stats.decision import Verdict
from layoutrand.text.quantities import finite

Sides = Literal["executed twice", "neighbouring rounds", "executed apart", "first and second half"]
"""What stands for two systems: two executions in each round, rounds beside each other, the second execution at another
time than the first, halves of the time."""

_IN_TIME: Final[frozenset[Sides]] = frozenset({"executed apart", "first and second half"})

FEWEST: Final = 4


@dataclass(frozen=True)
class SelfComparison:
    """One benchmark of one system against itself.

    ``ratio`` is that of ``n_each`` binaries a side (executions, of what has one layout alone), None where it is not
    defined; ``verdict`` is what `compare` would say of it if it did not know, with this ``threshold``: "undecided"
    where the sides were executed at different times.  In as many as 1 - confidence of comparisons of ``n_floor``
    rounds two systems that do not differ are measured farther apart than ``noise_floor``, a fraction; None where sides
    are not beside each other in time, or an interval has no bounds.
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

    @property
    def is_alarm(self) -> bool:
        """Whether the interval finds a difference, which is not there."""
        return self.ratio is not None and not self.ratio.low <= 1 <= self.ratio.high


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
    division, late = _of_second(own, again), []
    found = None if division is None else _compared(selection, division, **options)
    if division is not None and found is not None and _is_apart(found):
        late = [
            replace(row, sides="executed apart", noise_floor=None, n_floor=0) for row in _rows(found, division, own)
        ]
        division = None
    if division is None or found is None:
        division = _of_once(own, selection)
        found = _compared(selection, division, **options)
    shown = division.sides == "first and second half"
    in_time = [sample for sample in own if not shown and sample.instrument not in simulated()]
    halves = [_by_time(sample, confidence, threshold) for sample in in_time]
    rows = (*_rows(found, division, own), *late, *halves)
    return Halves(system, division.sides, *division.seeds, _of_one_program(found, selection, own, again), rows)


def _compared(selection: Selection, division: _Division, **options: Any) -> Comparison:
    return compare(replace(selection, samples=division.samples), *division.names, **options)


def _is_apart(found: Comparison) -> bool:
    """Whether the second time was another time: nothing else may be in the rounds of `run --twice`."""
    return any(isinstance(each, ExecutedApart) for pair in found.benchmarks for each in pair.warnings)


def _rows(found: Comparison, division: _Division, own: Sequence[Sample]) -> list[SelfComparison]:
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
        rows.append(replace(row, noise_floor=floor, n_floor=n_rounds))
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
    except AnalysisError:  # the comparison beside which they would stand has said what there is
        return []
    return [row for row in rows if row.sides in {"executed twice", "executed apart"}]


def of_seeds(selection: Selection, seeds: Collection[int]) -> Selection:
    """The same without binaries of other rounds than those of these seeds."""
    wanted = set(seeds)
    samples = []
    for sample in selection.samples:
        kept = [item for item in sample.binaries if _number(sample, item[0]) in wanted]
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


@dataclass(frozen=True)
class _Division:
    """Two sides: the names that they are compared under, their seeds, and their samples, both of each benchmark."""

    sides: Sides
    names: tuple[str, str]
    seeds: tuple[tuple[BinaryName, ...], tuple[BinaryName, ...]]
    samples: tuple[Sample, ...]


def _of_second(own: Sequence[Sample], again: Sequence[Sample]) -> _Division | None:
    """Each round's two executions; None where there are too few of them."""
    seconds = {(sample.benchmark, sample.instrument, sample.metric): sample for sample in again}
    samples: list[Sample] = []
    names: tuple[dict[BinaryName, None], dict[BinaryName, None]] = {}, {}
    for sample in own:
        other = seconds.get((sample.benchmark, sample.instrument, sample.metric))
        if other is None:
            continue
        called = {name: _first_name(other, name) for name, _ in other.binaries}
        common = {name: name for name, _ in sample.binaries if name in set(called.values())}
        called = {name: first for name, first in called.items() if first in common}
        if 2 * len(common) >= FEWEST:
            samples += [_side(sample, sample.system, common), _side(other, other.system, called)]
            names[0].update(dict.fromkeys(common))
            names[1].update(dict.fromkeys(called))
    if not samples:
        return None
    both = (samples[0].system, samples[1].system)
    return _Division("executed twice", both, (tuple(names[0]), tuple(names[1])), tuple(samples))


def _first_name(sample: Sample, name: BinaryName) -> BinaryName:
    """What the first execution of a round is called, of the name of the second."""
    return sample.rounds[name][0] if isinstance(name, int) and name in sample.rounds else name


def _of_once(own: Sequence[Sample], selection: Selection) -> _Division:
    """What the design makes two systems: halves of the time where it executes one after the other, else neighbours."""
    system = own[0].system
    both = (f"{system}, half 1", f"{system}, half 2")
    if selection.in_sequence:
        order = [name for _, name in _in_time(own)]
        half = len(order) // 2
        firsts, seconds = order[:half], order[len(order) - half :]
        halves = {name: name for name in firsts}, {name: name for name in seconds}
        samples = [_side(sample, name, part) for sample in own for name, part in zip(both, halves, strict=True)]
        return _Division("first and second half", both, (tuple(firsts), tuple(seconds)), tuple(samples))
    return _of_neighbours(own, both, at_random=selection.at_random)


def _of_neighbours(own: Sequence[Sample], both: tuple[str, str], *, at_random: bool) -> _Division:
    """Rounds executed one after the other on one node, by two; an odd one is left out.

    ``at_random``: rounds have no time of their own, nor have those of two systems; neighbours are then next by seed.
    """
    by_node: dict[str, list[BinaryName]] = {}
    order = _in_time(own)
    if at_random:
        listed = list(dict.fromkeys(name for sample in own for name, _ in sample.binaries))
        order.sort(key=lambda each: listed.index(each[1]))
    for node, name in order:
        by_node.setdefault(node, []).append(name)
    called: tuple[dict[BinaryName, BinaryName], dict[BinaryName, BinaryName]] = {}, {}
    for names in by_node.values():
        for place in range(0, len(names) - 1, 2):
            pair = names[place : place + 2]
            first, second = (pair[k] for k in keyed_order(0, "aa", [str(name).encode() for name in pair]))
            called[0][first] = first
            called[1][second] = first
    samples = [_side(sample, name, own_names) for sample in own for name, own_names in zip(both, called, strict=True)]
    return _Division("neighbouring rounds", both, (tuple(called[0]), tuple(called[1])), tuple(samples))


def _in_time(own: Sequence[Sample]) -> list[tuple[str, BinaryName]]:
    """Node and name of all binaries in the order of execution; imported ones are taken to be in that order."""
    found: dict[BinaryName, tuple[float, str]] = {}
    for sample in own:
        for name, _ in sample.binaries:
            started = sample.started.get(name, (0.0,))[0]
            node = sample.nodes.get(name, ("",))[0]
            found[name] = min(found.get(name, (math.inf, "")), (started, node))
    return [(found[name][1], name) for name in sorted(found, key=lambda name: found[name][0])]


def _side(sample: Sample, system: str, called: Mapping[BinaryName, BinaryName]) -> Sample:
    """The sample as one side: binaries under the names of the rounds that they stand in, and these rounds' controls."""
    rounds = {_number(sample, name): _round_of(other) for name, other in called.items()}
    executed = {
        control: [place for place, number in enumerate(sample.rounds.get(control, ())) if number in rounds]
        for control in sample.controls
    }
    controls = {
        control: tuple(sample.controls[control][place] for place in places) for control, places in executed.items()
    }

    def chosen(of: Mapping[BinaryName, tuple[Any, ...]]) -> dict[BinaryName, tuple[Any, ...]]:
        parts = {
            control: tuple(of[control][place] for place in own) for control, own in executed.items() if control in of
        }
        return {called[name]: values for name, values in of.items() if name in called} | parts

    numbers = chosen(sample.rounds)
    for control in executed:
        if control in numbers:
            numbers[control] = tuple(rounds[number] for number in numbers[control])
    return replace(
        sample,
        system=system,
        binaries=tuple((called[name], runs) for name, runs in sample.binaries if name in called),
        controls={control: runs for control, runs in controls.items() if runs},
        rounds=numbers,
        nodes=chosen(sample.nodes),
        started=chosen(sample.started),
    )


def _number(sample: Sample, name: BinaryName) -> int | None:
    """The round of a binary, or of an execution of what has one layout alone; None of imported names."""
    if is_second(sample.system) and name in sample.rounds:
        return sample.rounds[name][0]
    return _round_of(name)


def _round_of(name: BinaryName) -> int | None:
    found = None if isinstance(name, int) else ROUND.fullmatch(name)
    return name if isinstance(name, int) else int(found[1]) if found else None


def _by_time(sample: Sample, confidence: float, threshold: float) -> SelfComparison:
    """The first half of the rounds against the second, each side by itself."""
    sample = freed(sample).sample  # else the node that has more rounds in one half would make a difference
    order = [name for _, name in _in_time([sample])]
    half = len(order) // 2
    parts = [{name: name for name in part} for part in (order[:half], order[len(order) - half :])]
    try:
        data = [measurements(_side(sample, sample.system, part)) for part in parts]
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
    if ratio is None or not (ratio.low > 0 and math.isfinite(ratio.high)) or not n_rounds:
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
        }
        for row in rows
    ]
