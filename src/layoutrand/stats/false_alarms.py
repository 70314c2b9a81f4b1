"""Simulation study of false alarms: how often is a system called different from itself?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from layoutrand.stats.checks import check_choice, check_count, check_fraction, check_seed
from layoutrand.stats.decision import decide
from layoutrand.stats.interval import Interval
from layoutrand.stats.levels import FloatArray
from layoutrand.stats.ratio import RATIO_METHODS, ratio_interval
from layoutrand.stats.simulation import HierarchicalModel
from layoutrand.stats.studies import Rate, rate, two_systems

ANALYSES = ("per-binary", "flat-t", "fieller", "fieller-welch", "fieller-normal", "log-t", "RRR", "RRN", "RNN", "FLAT")


@dataclass(frozen=True, kw_only=True)
class FalseAlarmRow:
    """How often two samples of one system were called different.

    Attributes
    ----------
    counts
        Repetitions of each sample, highest level first.
    analysis
        One of the analyses of `false_alarm_study`.
    threshold
        Smallest relative difference that counts.
    alarms
        Share of comparisons that found one.
    """

    counts: tuple[int, ...]
    analysis: str
    threshold: float
    alarms: Rate


def false_alarm_study(
    model: HierarchicalModel,
    *,
    designs: Sequence[Sequence[int]] = ((1, 30, 1), (3, 10, 1), (10, 3, 1), (30, 1, 1)),
    analyses: Sequence[str] = ("flat-t", "per-binary", "log-t"),
    thresholds: Sequence[float] = (0.0,),
    n_comparisons: int = 1000,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> tuple[FalseAlarmRow, ...]:
    """Compare a system with itself and count the differences found (TR 4-12, section 8.3).

    Parameters
    ----------
    model
        Population of both samples.
    designs
        Repetitions of each sample, highest level first.  Each sample has its own binaries, also when that is one.
    analyses
        ``"per-binary"``: fieller on the binaries' means, the default of `ratio_interval` (`layoutrand compare` has
        paired-log-t, else fieller-welch); it needs several binaries, so designs with one are left out.
        ``"flat-t"``: fieller-welch on all measurements as if independent.
        ``"fieller"``, ``"fieller-welch"``, ``"fieller-normal"``, ``"log-t"``: that method of `ratio_interval`;
        ``"RRR"``, ``"RRN"``, ``"RNN"``, ``"FLAT"``: bootstrap with that resampling; who measures only one binary takes
        its executions as the top level (TR 8.3.2), and so do these, but for FLAT.
    thresholds
        Smallest relative differences that count as different.
    n_comparisons
        Comparisons for each design, the same for all analyses.
    n_resamples
        Of the bootstrap analyses.
    confidence
        Of the intervals.
    seed
        The study depends on it alone.

    Returns
    -------
    tuple of FalseAlarmRow
        One for each design, analysis and threshold.

    Raises
    ------
    AnalysisError
        An unknown analysis, thresholds outside [0, 1), counts below 1, or what `simulate` refuses.
    """
    for analysis in analyses:
        check_choice(analysis, ANALYSES, name="analysis")
    for threshold in thresholds:
        check_fraction(threshold, name="threshold")
    check_count(n_comparisons, name="n_comparisons")
    check_seed(seed)
    rows = []
    for index, design in enumerate(designs):
        counts = tuple(design)
        old, new = two_systems(model, counts, ratio=1.0, n_datasets=n_comparisons, seed=seed, index=index)
        for analysis in analyses:
            if analysis == "per-binary" and counts[0] == 1:
                continue
            compare = _comparison(analysis, counts, confidence, n_resamples)
            found = [compare(a, b, seed + k) for k, (a, b) in enumerate(zip(old, new, strict=True))]
            for threshold in thresholds:
                alarms = sum(decide(interval, threshold) in ("faster", "slower") for interval in found)
                rows.append(
                    FalseAlarmRow(
                        counts=counts, analysis=analysis, threshold=threshold, alarms=rate(alarms, n_comparisons)
                    )
                )
    return tuple(rows)


def _comparison(
    analysis: str, counts: tuple[int, ...], confidence: float, n_resamples: int
) -> Callable[[FloatArray, FloatArray, int], Interval]:
    def compare(old: FloatArray, new: FloatArray, seed: int) -> Interval:
        if analysis == "flat-t":
            return ratio_interval(old.ravel(), new.ravel(), confidence=confidence, method="fieller-welch")
        if analysis == "FLAT":
            old, new = old.ravel(), new.ravel()
        elif counts[0] == 1:
            old, new = old[0], new[0]
        if analysis == "per-binary" or analysis in RATIO_METHODS:
            method = "fieller" if analysis == "per-binary" else analysis
            return ratio_interval(old, new, confidence=confidence, method=method)
        return ratio_interval(
            old,
            new,
            confidence=confidence,
            method="bootstrap",
            resampling="R" if analysis == "FLAT" else analysis,
            n_resamples=n_resamples,
            seed=seed,
        )

    return compare
