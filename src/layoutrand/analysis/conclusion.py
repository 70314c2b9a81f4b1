"""The conclusion from two systems on a benchmark, or a suite, and from the layouts of one system.

Everything that a command prints as a verdict, in whatever form, and its exit status, is asked of here; what it rests
on is in `analysis/reasons.py`, its words in `analysis/conclusion_words.py`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeVar

from layoutrand.analysis.analyse import Analysis
from layoutrand.analysis.clock_warnings import CoarseClock
from layoutrand.analysis.compare import BenchmarkRatio, Comparison
from layoutrand.analysis.comparison_warnings import DesignError, ExecutedApart
from layoutrand.analysis.conclusion_warnings import (
    AgainstItself,
    FalseAlarm,
    MedianDiffers,
    MedianOpposes,
    NotBesideOthers,
    OneProgram,
    PartlyOneProgram,
    WideInterval,
)
from layoutrand.analysis.evidence import Evidence
from layoutrand.analysis.forecasting import forecast_words
from layoutrand.analysis.next_steps import (
    LAYOUT_HIDES,
    STEPS,
    WITHIN_REACH,
    LayoutsThere,
    Step,
    as_many_executions,
    possible_of,
    with_number,
    without_simulation,
)
from layoutrand.analysis.noise_warnings import WithinNoise
from layoutrand.analysis.plan_warnings import FewDistinctLayouts
from layoutrand.analysis.reasons import Reason, concerns, reasons, steps
from layoutrand.analysis.same_program import SameProgram
from layoutrand.analysis.start_warnings import UnlikeCode
from layoutrand.instruments.known import simulated
from layoutrand.stats import Interval, decide
from layoutrand.stats.advice import FEWEST_BINARIES
from layoutrand.warning import AnyWarning

Verdict = Literal["faster", "slower", "same", "same program", "cannot tell"]
"""Of two systems: ``same`` is within the threshold; ``same program`` is no matter of measuring."""

LayoutVerdict = Literal["layout matters", "practically none", "cannot tell", "machine, not layout", "one layout"]
"""Of the layouts of one system."""

_FROM_NUMBERS: Final[frozenset[LayoutVerdict]] = frozenset(("layout matters", "practically none"))
"""What the numbers say as they are; not where these are not of one thing."""

Trust = Literal["sound", "doubtful"]

CANNOT_TELL: Final = "cannot tell"
SAME_PROGRAM: Final = "same program"

_OF_STATISTICS: Final[dict[str, Verdict]] = {
    "faster": "faster",
    "slower": "slower",
    "equivalent": "same",
    "undecided": "cannot tell",
}

FAIL_IF: Final[dict[str, Verdict]] = {
    "slower": "slower",
    "faster": "faster",
    "undecided": "cannot tell",
    "cannot-tell": "cannot tell",
}
"""What `--fail-if` takes, and the verdict that it means."""


@dataclass(frozen=True)
class Conclusion:
    """One verdict, why there is none or what casts doubt on it, and what to do next.

    ``beside`` is the verdict that stands beside all that are given at once, else ``cannot tell``.  ``reasons`` hold one
    of each cause, those for which there is no verdict first.
    """

    verdict: Verdict
    beside: Verdict
    reasons: tuple[Reason, ...]
    next: tuple[Step, ...]

    @property
    def trust(self) -> Trust:
        """Whether anything casts doubt on the numbers."""
        return "doubtful" if any(each.effect == "doubts" for each in self.reasons) else "sound"


@dataclass(frozen=True)
class LayoutConclusion:
    """What is concluded from the layouts of one system on one benchmark; the rest as in `Conclusion`."""

    verdict: LayoutVerdict
    reasons: tuple[Reason, ...]
    next: tuple[Step, ...]

    @property
    def trust(self) -> Trust:
        """Whether anything casts doubt on the numbers."""
        return "doubtful" if any(each.effect == "doubts" for each in self.reasons) else "sound"


_Concluded = TypeVar("_Concluded", Conclusion, LayoutConclusion)


def possible(of: _Concluded, told: Evidence | None) -> _Concluded:
    """The same with the steps that can be taken (`possible_of`)."""
    return replace(of, next=tuple(possible_of(of.next, of_others=told is not None and told.of_others)))


def stated(verdict: Verdict) -> str:
    """A verdict in the words that ``verdict`` has in documents."""
    return {value: key for key, value in _OF_STATISTICS.items()}.get(verdict, verdict)


def of_statistics(verdict: str) -> Verdict:
    """The word of a conclusion for a verdict of statistics."""
    return _OF_STATISTICS[verdict]


def of_pair(result: Comparison, pair: BenchmarkRatio) -> Conclusion:
    """What is concluded from one benchmark of two systems."""
    both = (result.baseline, result.candidate)
    about = [each for each in result.warnings if concerns(each, pair.benchmark, pair.instrument, both)]
    warnings: list[AnyWarning] = [*pair.warnings, *about]
    if pair.same_program is not None:
        return _one_program([_known(pair.same_program), *warnings], pair.ratio, result, _layouts_of([pair]))
    verdict = CANNOT_TELL if pair.ratio is None else _OF_STATISTICS[pair.verdict]
    beside = CANNOT_TELL if pair.sureness is None else _OF_STATISTICS[pair.sureness.verdict]
    first: list[Step] = []
    if verdict == CANNOT_TELL and pair.ratio is not None:
        warnings[:0] = _too_wide(pair.ratio, result.threshold)
        first = _to_decide(pair)
    elif beside == CANNOT_TELL and pair.sureness is not None and pair.sureness.n_judged > 1:
        warnings.insert(0, NotBesideOthers(pair.sureness.n_judged))
    first = [*_beside_each_other(pair), *first]
    return _concluded(verdict, beside, [*_of_medians(pair), *warnings], first, _layouts_of([pair]))


def few_layouts(warnings: Iterable[AnyWarning]) -> FewDistinctLayouts | None:
    """That more layouts would be asked for than there are, where it is known."""
    return next((each for each in warnings if isinstance(each, FewDistinctLayouts)), None)


def _beside_each_other(pair: BenchmarkRatio) -> list[Step]:
    """New rounds, where those there are were executed of one system alone; nothing executes these again."""
    apart = next((each for each in pair.warnings if isinstance(each, DesignError)), None)
    if apart is None:
        return []
    command = f"layoutrand run --seeds {apart.new_rounds}"
    return [Step("same rounds", command, STEPS["same rounds"].sentence, n_layouts=apart.last_new_seed)]


def _of_medians(pair: BenchmarkRatio) -> list[AnyWarning]:
    """That the median says something else than the means do."""
    if pair.median is None or pair.ratio is None:
        return []
    ends = (pair.ratio.low, pair.ratio.high), (pair.median.ratio.low, pair.median.ratio.high)
    match pair.median.against(pair.verdict):
        case "opposite":
            return [MedianOpposes(*ends)]
        case "differ":
            return [MedianDiffers(*ends)]
        case _:
            return []


def of_suite(result: Comparison) -> Conclusion | None:
    """What is concluded from the geometric mean over the benchmarks; None where there is none."""
    suite = result.suite
    if suite is None:
        return None
    both, of = (result.baseline, result.candidate), result.benchmarks
    about = [w for w in result.warnings if any(concerns(w, each.benchmark, each.instrument, both) for each in of)]
    warnings: list[AnyWarning] = [*suite.ratio.warnings, *about]
    same = [_known(pair.same_program) for pair in result.benchmarks if pair.same_program is not None]
    if len(same) == len(result.benchmarks):
        return _one_program([*dict.fromkeys(same), *warnings], suite.ratio, result, _layouts_of(of))
    verdict = _OF_STATISTICS[suite.verdict]
    if verdict == CANNOT_TELL:
        warnings[:0] = _too_wide(suite.ratio, result.threshold)
        warnings += [each for pair in result.benchmarks for each in pair.warnings if isinstance(each, CoarseClock)]
    if one := tuple(pair.benchmark for pair in result.benchmarks if pair.same_program is not None):
        warnings.append(PartlyOneProgram(one, len(same)))
    first = [step for pair in of for step in _beside_each_other(pair)]
    return _concluded(verdict, verdict, [*warnings, *_of_benchmarks(result)], first, _layouts_of(of))


def _too_wide(ratio: Interval, threshold: float) -> list[AnyWarning]:
    """That the interval decides nothing, where it is that, and not how the systems were executed."""
    is_open = decide(ratio, threshold) == "undecided"
    return [WideInterval(ratio.low, ratio.high, threshold)] if is_open else []


def _of_benchmarks(result: Comparison) -> list[AnyWarning]:
    """What is wrong with the mean as it is with its parts.

    That one cannot be compared, told once, and what casts doubt on the numbers of each: their mean is no surer.
    """
    found = [reasons(pair.warnings) for pair in result.benchmarks]
    every = [reason for own in found for reason in own]
    apart = [each for reason in every if reason.effect == "undecides" for each in reason.warnings if _is_apart(each)]
    told = list({type(each): each for each in apart}.values())
    if all(any(reason.effect == "doubts" for reason in own) for own in found):
        told += [each for reason in every if reason.effect == "doubts" for each in reason.warnings]
    return told


def _is_apart(warning: AnyWarning) -> bool:
    return isinstance(warning, ExecutedApart | UnlikeCode)


def _layouts_of(pairs: Sequence[BenchmarkRatio]) -> LayoutsThere:
    """The layouts of the system that has most of them; how few there are where all of the pairs are told of it."""
    most = max(count for pair in pairs for count in (pair.n_baseline, pair.n_candidate))
    few = [few_layouts(pair.warnings) for pair in pairs]
    often = max(
        _often(*each)
        for pair in pairs
        for each in zip(pair.n_executions, (pair.n_baseline, pair.n_candidate), strict=True)
    )
    return LayoutsThere(most, few[0] if all(few) else None, often)


def _often(n_executions: int, n_binaries: int) -> int:
    """How often each binary was executed."""
    return max(1, round(n_executions / max(1, n_binaries)))


def all_of(result: Comparison) -> list[Conclusion]:
    """What is concluded from each benchmark, and from the suite where it has several."""
    suite = of_suite(result) if len(result.benchmarks) > 1 else None
    return [*(of_pair(result, pair) for pair in result.benchmarks), *([suite] if suite else [])]


def of_layouts(analysis: Analysis, warnings: Sequence[AnyWarning] = ()) -> LayoutConclusion:
    """What is concluded from the layouts of one system; ``warnings`` are those about all that is analysed."""
    about = [each for each in warnings if concerns(each, analysis.benchmark, analysis.instrument, (analysis.system,))]
    told = [*analysis.warnings, *about]
    layouts = LayoutsThere(analysis.n_binaries, few_layouts(told), _often(analysis.n_executions, analysis.n_binaries))
    found, verdict = reasons(told), _of_layouts(analysis)
    is_open = any(each.effect == "undecides" for each in found)
    if verdict in _FROM_NUMBERS and is_open:
        verdict = CANNOT_TELL
    elif verdict == CANNOT_TELL and not is_open and analysis.findings is not None:
        told.append(WithinNoise(analysis.findings.layout.upper))
        found = reasons(told)
    return LayoutConclusion(verdict, found, steps(told, layouts=layouts))


def meets(results: Iterable[Comparison], condition: Verdict, *, holm: bool = False) -> bool:
    """Whether any benchmark has this verdict; with ``holm``, beside all others."""
    concluded = [of_pair(result, pair) for result in results for pair in result.benchmarks]
    return any((each.beside if holm else each.verdict) == condition for each in concluded)


def _concluded(
    verdict: Verdict, beside: Verdict, warnings: Sequence[AnyWarning], first: Sequence[Step], layouts: LayoutsThere
) -> Conclusion:
    found = reasons(warnings, notes={"same binaries"})
    if any(each.effect == "undecides" for each in found):
        verdict, beside = CANNOT_TELL, CANNOT_TELL
    if verdict == CANNOT_TELL:  # what makes a ratio less certain, and no more, is a reason where it is too uncertain
        found = reasons(warnings, notes={"machine"})
    told = (warning for each in found for warning in each.warnings)
    return Conclusion(verdict, beside, found, steps(told, first, layouts=layouts))


def _one_program(
    warnings: list[AnyWarning], ratio: Interval | None, result: Comparison, layouts: LayoutsThere
) -> Conclusion:
    """An A/A test: whatever was measured is noise, and an interval that leaves 1 out is a false alarm."""
    if ratio is not None and not ratio.low <= 1 <= ratio.high:
        warnings.insert(1, FalseAlarm(ratio.low, ratio.high, result.confidence))
    found = [each for each in reasons(warnings, notes={"same binaries"}) if each.effect != "undecides"]
    found.sort(key=lambda each: each.cause != "same binaries")
    told = (warning for each in found for warning in each.warnings)
    return Conclusion(SAME_PROGRAM, SAME_PROGRAM, tuple(found), steps(told, layouts=layouts))


def _known(same: SameProgram) -> AnyWarning:
    """How it is known that two systems are one program."""
    return AgainstItself() if same.is_itself else OneProgram(str(same))


def _to_decide(pair: BenchmarkRatio) -> list[Step]:
    """How many layouts would decide it, where that is known."""
    forecast = pair.forecast
    if forecast is None or pair.ratio is None or math.isinf(pair.ratio.half_width):
        return []
    units = " or ".join(dict.fromkeys(pair.counted))
    sentence = forecast_words(forecast, min(pair.n_baseline, pair.n_candidate), units, confidence=pair.ratio.confidence)
    if not sentence:
        return []
    if has_too_few(pair):  # of so few nothing says how many, nor what hides a difference
        return [with_number(STEPS["more layouts"], _layouts_of([pair]))]
    # Thousands are no advice: the sentence of the benchmark has the figure, and other steps may do more.
    few = forecast.n_binaries if forecast.n_more and (forecast.n_binaries or 0) <= WITHIN_REACH else None
    command = f"layoutrand run --seeds {few}" if few else ""
    is_enough = forecast.n_binaries is not None and not forecast.n_more
    more = [] if few or is_enough else [_instead_of_layouts(pair)]
    there = _layouts_of([pair]).executions
    is_fewer = bool(few) and pair.executions_now is not None and pair.executions_now < there
    before = [as_many_executions(there)] if is_fewer else []
    most, fewest = forecast.n_binaries, forecast.fewest
    return [*before, Step("more layouts", command, sentence, has_figures=True, n_layouts=most, fewest=fewest), *more]


def has_too_few(pair: BenchmarkRatio) -> bool:
    """Whether more layouts than are within reach are asked for by fewer than support an interval."""
    forecast, fewest = pair.forecast, min(pair.n_baseline, pair.n_candidate)
    is_far = forecast is not None and not forecast.warnings and (forecast.n_binaries or math.inf) > WITHIN_REACH
    return is_far and fewest < FEWEST_BINARIES and pair.instrument not in simulated()


def hidden_by_layout(pair: BenchmarkRatio) -> bool:
    """Whether more layouts than are within reach would be needed without any noise, too."""
    return (pair.fewest_without_noise or 0) > WITHIN_REACH


def _instead_of_layouts(pair: BenchmarkRatio) -> Step:
    """What decides where more layouts than are within reach would."""
    if pair.instrument in simulated():  # which has no noise that could be less
        return STEPS["other threshold"]
    if hidden_by_layout(pair):
        return LAYOUT_HIDES
    return STEPS["sooner"] if pair.may_simulate else without_simulation(STEPS["sooner"])


def _of_layouts(analysis: Analysis) -> LayoutVerdict:
    found = analysis.findings
    if analysis.one_layout:
        return "one layout"
    if found is not None and found.is_machine:
        return "machine, not layout"
    answer = None if found is None else found.layout.answer
    return "layout matters" if answer == "matters" else answer or "cannot tell"


def counted(conclusions: Collection[Conclusion]) -> dict[Verdict, int]:
    """How many have which verdict, in the order in which they are told."""
    order: tuple[Verdict, ...] = ("slower", "faster", "same", "cannot tell", "same program")
    numbers = {verdict: sum(each.verdict == verdict for each in conclusions) for verdict in order}
    return {verdict: count for verdict, count in numbers.items() if count}
