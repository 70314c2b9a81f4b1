"""How much of what layout adds each factor adds: experiments in which one factor alone is drawn, beside all together.

All are layouts of the same captures, and a factor draws from a stream of its own: in the layout of one seed it does
alone what it does among the others.  So what a factor explains is the squared correlation, over seeds, between what was
measured with it alone and with all (the first-order index of Sobol, Mathematics and Computers in Simulation 55, 2001,
where the others are held in place and not drawn again), or the semipartial one where that is less.  What executions
differ by makes a correlation smaller and never larger, so its lower bound stands; and as factors are drawn
independently of each other, what the others explain at least is an upper bound of what is left for one.  All bounds
hold together, by Bonferroni's inequality; what layout adds stands beside them with the intervals that `analyse` has.
Shares need not add up to 100 %: where two factors matter only together, neither alone shows it.

A drift that both experiments went through would correlate, too, so the same is asked of what is measured relative to
the controls of each round, and the smaller answer is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from layoutrand.analysis.analyse import Analysis, AnalysisReport, analyse
from layoutrand.analysis.blocking import freed
from layoutrand.analysis.sample import Sample, binary_mean
from layoutrand.analysis.selection import Selection
from layoutrand.model import BinaryName
from layoutrand.stats import Interval, SharedVariance, adjust, shared_variance
from layoutrand.stats.correlation import FEWEST
from layoutrand.text.quantities import finite

Verdict = Literal["most of it", "matters", "practically none", "cannot tell", "not executed"]

_Shared = tuple[int, SharedVariance]
"""In how many seeds, and what."""

FloatArray = NDArray[np.float64]

MOST: Final = 0.5
"""Share of the variance from which on a factor makes most of it."""

LEFT_OUT: Final = 2
"""Layouts without which a share has to be as large, too.

Where few layouts are slow, those of one factor may be missing from a sample that has some of another's: of two equal
factors that each make one in twenty slow, one was named in a sixth of samples of 30 without that.
"""


@dataclass(frozen=True)
class FactorPart:
    """What one factor adds alone.

    ``sd`` is the interval of the standard deviation over the mean.  ``shared`` is what its layouts have in common with
    those of all factors, in ``n_seeds`` seeds that both have; ``share`` has the bounds of the variance that it explains
    of what layout adds.  ``analysis`` is that of its layouts.  None stands for what the data cannot tell.
    """

    factor: str
    verdict: Verdict
    analysis: Analysis | None = None
    sd: Interval | None = None
    shared: SharedVariance | None = None
    share: tuple[float, float] | None = None
    n_seeds: int = 0


@dataclass(frozen=True)
class Attribution:
    """One metric of a system on a benchmark: all factors together, and each alone, in the order of the configuration.

    ``confidence`` is that with which all bounds of shares hold together, and that of each interval.
    """

    whole: Analysis
    whole_sd: Interval | None
    parts: tuple[FactorPart, ...]
    confidence: float

    @property
    def is_judged(self) -> bool:
        """Whether layout as a whole is known to matter, so that there is something to attribute."""
        return _answer(self.whole) == "matters"

    @property
    def most(self) -> FactorPart | None:
        """The factor that makes most of it, if one is known to."""
        return next((part for part in self.parts if part.verdict == "most of it"), None)


def attribute(
    whole: Selection, alone: Mapping[str, Selection | None], *, confidence: float, metrics: Sequence[str]
) -> tuple[Attribution, ...]:
    """Every sample of ``whole``, of the main metrics where none is named, beside those of each factor alone.

    ``alone`` maps each factor to what was executed with it alone, None where nothing was.  Raises `AnalysisError` as
    `analyse` does, for ``whole``.
    """
    report = analyse(whole, confidence=confidence, metrics=metrics)
    reports = {
        factor: None if each is None else analyse(each, confidence=confidence, metrics=metrics)
        for factor, each in alone.items()
    }
    return tuple(
        _attributed(each, report, reports, confidence)
        for each in report.analyses
        if (each.is_primary or metrics) and not each.one_layout
    )


def _attributed(
    whole: Analysis, report: AnalysisReport, alone: Mapping[str, AnalysisReport | None], confidence: float
) -> Attribution:
    found = {factor: _same(of_factor, whole) for factor, of_factor in alone.items()}
    samples = {
        factor: _sample(of_factor, analysis)
        for factor, of_factor in alone.items()
        if of_factor is not None and (analysis := found[factor]) is not None
    }
    shared = _shared(_sample(report, whole), samples, 1 - (1 - confidence) / len(alone))
    parts = _bounded([_part(factor, whole, analysis, shared.get(factor)) for factor, analysis in found.items()])
    p_values = [_p_value(part) for part in parts]
    holm = iter(adjust([each for each in p_values if each is not None]))
    adjusted = [None if each is None else next(holm) for each in p_values]
    judged = (
        replace(part, verdict=_verdict(whole, part, p, 1 - confidence)) for part, p in zip(parts, adjusted, strict=True)
    )
    return Attribution(whole, _sd(whole), tuple(judged), confidence)


def _part(factor: str, whole: Analysis, alone: Analysis | None, shared: _Shared | None) -> FactorPart:
    """What was measured with the factor alone, and what that has in common with the layouts of all."""
    if alone is None:
        return FactorPart(factor, "not executed")
    n_seeds, found = shared or (0, None)
    unsteady = whole.is_machine or alone.is_machine
    return FactorPart(factor, "cannot tell", alone, _sd(alone), None if unsteady else found, n_seeds=n_seeds)


def _bounded(parts: Sequence[FactorPart]) -> list[FactorPart]:
    """With the bounds of their shares: what one explains at least the others cannot.

    Where they explain more than there is, chance has one of them wrong, and none is told.
    """
    left = 1 - sum(part.shared.low for part in parts if part.shared is not None)
    return [
        part
        if part.shared is None or left < 0
        else replace(part, share=(part.shared.low, min(1.0, part.shared.low + left)))
        for part in parts
    ]


def _p_value(part: FactorPart) -> float | None:
    """Of "this factor does nothing": by its own layouts, and by what they have in common with those of all (twice)."""
    if part.analysis is None or part.analysis.is_machine:
        return None
    own = None if part.analysis.findings is None else part.analysis.findings.layout.test
    found = [each.p_value for each in (own, part.shared) if each is not None]
    return min(1.0, len(found) * min(found)) if found else None


def _verdict(whole: Analysis, part: FactorPart, p_value: float | None, level: float) -> Verdict:
    if part.analysis is None:
        return "not executed"
    if part.share is not None and part.share[0] >= MOST and _answer(whole) == "matters":
        return "most of it"
    small = _answer(part.analysis) == "practically none"
    goes_along = part.share is not None and part.share[0] > 0
    if p_value is not None and p_value <= level and (goes_along or not small):
        return "matters"
    return "practically none" if small else "cannot tell"


def _shared(whole: Sample, alone: Mapping[str, Sample], confidence: float) -> dict[str, _Shared]:
    """What each factor has in common with all of them: the less of what plain values say, and relative ones.

    Factors are drawn independently of each other, but in few seeds they go along, or against each other, by chance.
    The one makes a correlation too large, the other one that of what is left beside the others: the less counts.
    """
    tables = {name: _tables(sample) for name, sample in {"": whole, **alone}.items()}
    found: dict[str, list[_Shared]] = {}
    for kind in range(2):
        seeds = sorted(set.intersection(*(set(each[kind]) for each in tables.values())), key=str)
        values = {name: np.array([each[kind][seed] for seed in seeds]) for name, each in tables.items()}
        if len(seeds) < FEWEST + max(LEFT_OUT, len(alone)):
            continue
        for factor in alone:
            others = [values[name] - values[name].mean() for name in alone if name != factor]
            own = values[factor] - values[factor].mean()
            for each, n_left_out in ((own, LEFT_OUT), (_without(own, others), 0)):
                judged = shared_variance(
                    values[""].tolist(), each.tolist(), confidence=confidence, n_left_out=n_left_out
                )
                found.setdefault(factor, []).append((len(seeds), judged))
    return {factor: _less(each) for factor, each in found.items()}


def _less(found: Sequence[_Shared]) -> _Shared:
    return found[0][0], SharedVariance(
        share=min(each.share for _, each in found),
        low=min(each.low for _, each in found),
        p_value=max(each.p_value for _, each in found),
    )


def _without(values: FloatArray, others: Sequence[FloatArray]) -> FloatArray:
    """What is left of values beside what a regression on the others explains; all have a mean of 0."""
    if not others:
        return values
    table = np.stack(others, axis=1)
    return np.asarray(values - table @ np.linalg.lstsq(table, values, rcond=None)[0])


def _tables(sample: Sample) -> tuple[dict[BinaryName, float], dict[BinaryName, float]]:
    """Seed -> the mean of its binary, and that over the mean of the controls that were executed in its round."""
    own = freed(sample).sample
    plain = {name: binary_mean(executions) for name, executions in own.binaries}
    around = _around(own)
    return plain, {name: value / around[name] for name, value in plain.items() if around.get(name)}


def _around(sample: Sample) -> dict[Any, float]:
    """Seed -> the mean of the controls that were executed in its round."""
    rounds: dict[int, list[float]] = {}
    for name, executions in sample.controls.items():
        for number, each in zip(sample.rounds[name], executions, strict=True):
            rounds.setdefault(number, []).append(fmean(each))
    return {number: fmean(values) for number, values in rounds.items()}


def _answer(analysis: Analysis) -> str:
    """Whether layout matters, "cannot tell" also where the machine changed its speed."""
    if analysis.findings is None or analysis.findings.is_machine:
        return "cannot tell"
    return analysis.findings.layout.answer or "cannot tell"


def _sd(analysis: Analysis) -> Interval | None:
    found = analysis.findings
    return None if found is None or found.is_machine else found.layout.sd


def _key(each: Analysis | Sample) -> tuple[str, str, str, str]:
    return each.system, each.benchmark, each.instrument, each.metric


def _same(report: AnalysisReport | None, wanted: Analysis) -> Analysis | None:
    analyses = () if report is None else report.analyses
    return next((each for each in analyses if _key(each) == _key(wanted)), None)


def _sample(report: AnalysisReport, wanted: Analysis) -> Sample:
    return next(each for each in report.selection.samples if _key(each) == _key(wanted))


def attribution_json(found: Attribution) -> dict[str, Any]:
    """One of them as JSON values: keys may be added, never renamed."""
    whole = found.whole
    return {
        "system": whole.system,
        "benchmark": whole.benchmark,
        "instrument": whole.instrument,
        "metric": whole.metric,
        "confidence": found.confidence,
        "matters": found.is_judged,
        "layout_sd": _ends(found.whole_sd),
        "factors": [
            {
                "factor": part.factor,
                "verdict": part.verdict,
                "n_layouts": 0 if part.analysis is None else part.analysis.n_binaries,
                "n_seeds_of_both": part.n_seeds,
                "layout_sd": _ends(part.sd),
                "share": None if part.shared is None else part.shared.share,
                "share_bounds": None if part.share is None else list(part.share),
                "p_value": None if part.shared is None else part.shared.p_value,
            }
            for part in found.parts
        ],
    }


def _ends(interval: Interval | None) -> list[float | None] | None:
    return None if interval is None else [finite(interval.low), finite(interval.centre), finite(interval.high)]
