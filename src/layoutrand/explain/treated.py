"""What measured layouts say of each remedy: whether it helps, and which one is recommended.

A remedy helps where its layouts spread less than those of the system as it is do, by the test of spread that exchanges
places within rounds (`layoutrand.stats.rounds_spread_test`), or where the mean is better, and the other of both is not
worse: code that lies alike everywhere may lie badly everywhere.  Both p-values of all remedies are one family (Holm's
method), so that with nothing to find anything is recommended in at most 5 % of cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from layoutrand.analysis.analyse import Analysis, analyse
from layoutrand.analysis.blocking import freed
from layoutrand.analysis.compare import BenchmarkRatio, compare
from layoutrand.analysis.sample import Sample, binary_mean
from layoutrand.analysis.selection import Selection
from layoutrand.config.config import System
from layoutrand.config.metric import Better
from layoutrand.errors import AnalysisError
from layoutrand.execute.run_progress import Summary
from layoutrand.explain.as_analysed import of_system
from layoutrand.explain.remedies import Remedy
from layoutrand.explain.suspects import Explanation
from layoutrand.stats import Interval, adjust, decide, rounds_spread_test

Verdict = Literal["helps", "is slower", "spreads more", "no help shown", "same code", "cannot tell", "failed"]

FEWEST: Final = 8
"""Layouts of each system that a remedy is tried in at least: with fewer no difference in spread stands out."""

_THRESHOLD: Final = 0.01
_LEFT_BY_CURE: Final = 0.5
"""With room for as much as before, 15 of 95 recommended remedies were told to cure where half was left."""
_MOST_CHOICES: Final = 15
"""Pairs of the six remedies that there are at most."""


@dataclass(frozen=True)
class RemedyOrder:
    """What is asked for: so many new layouts of each system, from seed ``first`` on."""

    layouts: int
    first: int
    confidence: float


@dataclass(frozen=True)
class TriedSystem:
    """A remedy, the system with it, and what that is called."""

    remedy: Remedy
    name: str
    system: System


@dataclass(frozen=True)
class Tried:
    """What became of one remedy; ``text_size`` is bytes of code without and with it.

    ``spread_p`` is p of "layouts differ by no less", ``mean_p`` that of "the mean is the same", both adjusted for all
    that was tried; None where nothing can be told.

    ``reason`` says why it failed, or why nothing can be told.  ``after`` is the analysis of its layouts, ``mean`` the
    interval of the ratio of means, with it / without.
    """

    candidate: TriedSystem
    verdict: Verdict
    reason: str = ""
    after: Analysis | None = None
    mean: Interval | None = None
    spread_p: float | None = None
    mean_p: float | None = None
    text_size: tuple[int, int] | None = None


@dataclass(frozen=True)
class Treatment:
    """The system as it is in the new layouts, what was tried, and what is recommended: None where nothing helped."""

    system: str
    before: Analysis
    tried: tuple[Tried, ...]
    recommended: Tried | None
    seeds: tuple[int, ...]
    confidence: float
    summary: Summary


@dataclass(frozen=True)
class BuildFindings:
    """What builds say of the remedies: whose code is the ``same``, which ``failed`` and why, and bytes of code."""

    same: frozenset[str]
    failed: dict[str, str]
    text_sizes: dict[str, int | None]


def conclude(
    explanation: Explanation,
    selection: Selection,
    candidates: Sequence[TriedSystem],
    order: RemedyOrder,
    known: BuildFindings,
    summary: Summary,
) -> Treatment:
    """What the measured layouts say of each remedy; raises `AnalysisError` where the system as it is has none."""
    subject, confidence = explanation.subject.sample, order.confidence
    report = analyse(selection, confidence=confidence, metrics=[subject.metric])
    before = of_system(report, subject, subject.system)
    if before is None:
        raise AnalysisError(f"no layout of {subject.system} was measured, so no remedy can be judged")
    measured = {name: after for name in (c.name for c in candidates) if (after := of_system(report, subject, name))}
    signs = {name: _signs(selection, subject, name, confidence) for name in measured}
    adjusted = iter(adjust([p for each in signs.values() for p in (each.falls, each.mean)]))
    tried = []
    for candidate in candidates:
        name = candidate.name
        if name in known.same:
            tried.append(Tried(candidate, "same code"))
        elif name not in measured:
            tried.append(Tried(candidate, "failed", known.failed.get(name) or _failures(selection, name)))
        else:
            own = replace(signs[name], falls=next(adjusted), mean=next(adjusted))
            sizes = (known.text_sizes.get(subject.system), known.text_sizes.get(name))
            tried.append(
                Tried(
                    candidate,
                    "cannot tell" if own.doubt else judged(own, before.better, confidence),
                    reason=own.doubt,
                    after=measured[name],
                    mean=own.ratio,
                    spread_p=None if own.doubt else own.falls,
                    mean_p=None if own.doubt else own.mean,
                    text_size=None if sizes[0] is None or sizes[1] is None else (sizes[0], sizes[1]),
                )
            )
    return Treatment(
        system=subject.system,
        before=before,
        tried=tuple(tried),
        recommended=recommended(tried, before, lambda one, other: _is_better(selection, subject, one, other, order)),
        seeds=tuple(range(order.first, order.first + order.layouts)),
        confidence=confidence,
        summary=summary,
    )


@dataclass(frozen=True)
class Signs:
    """What speaks for a remedy and against it: p of "layouts differ by no less", "by no more", "the mean is the same".

    ``ratio`` is the interval of the means, with it / without; None where there is none.  ``doubt`` says why nothing can
    be told by them; "" where something can.
    """

    falls: float
    rises: float
    mean: float
    ratio: Interval | None
    doubt: str


def _signs(selection: Selection, subject: Sample, system: str, confidence: float) -> Signs:
    pair = _pair(selection, subject, (subject.system, system), confidence)
    rounds = log_rounds(selection, subject, system)
    doubt = ""
    if pair.ratio is None or len(rounds) < FEWEST:
        doubt = f"fewer than {FEWEST} rounds have values of both that are above 0"
    elif pair.sureness is None:  # the design does not tell the system from the time, whatever the values are
        doubt = "it was not executed in the rounds of the system as it is; --first-seed takes new layouts for all"
    return Signs(
        falls=spread_p(rounds),
        rises=spread_p([(after, before) for before, after in rounds]),
        mean=1.0 if pair.sureness is None else pair.sureness.no_difference,
        ratio=pair.ratio,
        doubt=doubt,
    )


def _pair(selection: Selection, subject: Sample, systems: tuple[str, str], confidence: float) -> BenchmarkRatio:
    """The comparison of two systems, the second by the first, on the subject's benchmark."""
    found = compare(selection, *systems, confidence=confidence, threshold=_THRESHOLD, metric=subject.metric)
    return next(each for each in found.benchmarks if each.benchmark == subject.benchmark)


def _failures(selection: Selection, system: str) -> str:
    reasons = dict.fromkeys(each.reason for each in selection.failures if each.system == system)
    return "; ".join(reasons) or "nothing of it was measured"


def log_rounds(selection: Selection, subject: Sample, system: str) -> list[tuple[float, float]]:
    """Logarithms of the means of each round that both systems have, in the order of time: without, then with it.

    None where some are not above 0, which have no logarithm.
    """
    wanted = [(name, subject.benchmark, subject.metric) for name in (subject.system, system)]
    samples = {(each.system, each.benchmark, each.metric): each for each in selection.samples}
    both = tuple(freed(samples[each]).sample for each in wanted)
    before, after = ({name: binary_mean(executions) for name, executions in each.binaries} for each in both)
    rounds = sorted(before.keys() & after.keys(), key=lambda name: _began(name, both))
    if any(value <= 0 for side in (before, after) for value in side.values()):
        return []
    return [(math.log(before[name]), math.log(after[name])) for name in rounds]


def _began(name: object, samples: Sequence[Sample]) -> float:
    """When the first execution in a round began; 0 where that is not known."""
    times = [time for sample in samples for key, each in sample.started.items() if key == name for time in each]
    return min(times, default=0.0)


def spread_p(rounds: Sequence[tuple[float, float]]) -> float:
    """p of "the second of each round spread as much as the first", one-sided; 1 where there are too few rounds."""
    return rounds_spread_test([rounds]).p_value if len(rounds) >= FEWEST else 1.0


def judged(signs: Signs, better: Better, confidence: float) -> Verdict:
    """By what speaks for a remedy, of which p-values are adjusted, and by what speaks against it."""
    assert signs.ratio is not None
    level = 1 - confidence
    direction = decide(signs.ratio, 0.0, better=better)
    if direction == "slower":
        return "is slower"
    if signs.rises <= level:
        return "spreads more"
    helps = signs.falls <= level or (direction == "faster" and signs.mean <= level)
    return "helps" if helps else "no help shown"


def recommended(
    tried: Sequence[Tried], before: Analysis, is_better: Callable[[Sequence[Tried], Tried], bool]
) -> Tried | None:
    """Of what helps the first that cures, else the first that leaves no sign of layout, else what leaves the least.

    A later one that cures, too, is taken in its place where it ``is_better`` than all before it, which says whether
    the mean is for certain.
    """
    helping = [each for each in tried if each.verdict == "helps" and each.after is not None]
    without = [each for each in helping if each.after and _shows_none(each.after)]
    curing = [each for each in without if each.after and cures(before, each.after)]
    chosen = next(iter(curing or without), None) or min(helping, key=_left, default=None)
    for number, each in enumerate(curing[1:], 1):
        chosen = each if is_better(curing[:number], each) else chosen
    return chosen


def _is_better(
    selection: Selection, subject: Sample, others: Sequence[Tried], tried: Tried, order: RemedyOrder
) -> bool:
    """Whether the mean is better with it than with each of the others; as many as there may be hold at once."""
    confidence = 1 - (1 - order.confidence) / _MOST_CHOICES
    for other in others:
        pair = _pair(selection, subject, (other.candidate.name, tried.candidate.name), confidence)
        if pair.ratio is None or pair.sureness is None or decide(pair.ratio, 0.0, better=subject.better) != "faster":
            return False
    return True


def cures(before: Analysis, after: Analysis) -> bool:
    """Whether no sign of layout is left, nor room, at the upper end of its interval, for half of what was."""
    if not _shows_none(after) or before.findings is None or after.findings is None:
        return False
    was, left = before.findings.layout.sd, after.findings.layout.upper
    return was is not None and left is not None and left < _LEFT_BY_CURE * was.centre


def _shows_none(after: Analysis) -> bool:
    """Whether there is no sign of layout any more."""
    return after.findings is not None and after.findings.layout.answer != "matters"


def _left(tried: Tried) -> float:
    assert tried.after is not None
    layout = tried.after.layout
    return math.inf if layout is None or layout.relative_sd is None else layout.relative_sd
