"""The trust lights of the report: machine quiet, nothing failed, layouts enough, no drift.

They say what the reasons of all conclusions say (`analysis/reasons.py`), sorted by what a reader would look at.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from layoutrand.analysis.analyse import AnalysisReport
from layoutrand.analysis.compare import Comparison
from layoutrand.analysis.conclusion import of_layouts, of_pair
from layoutrand.analysis.machine_warnings import CountsFollowTime
from layoutrand.analysis.reasons import Cause, Reason
from layoutrand.analysis.sample import order_is_known
from layoutrand.analysis.selection import Selection
from layoutrand.config.execution_warnings import disturbed_of, summed_of_each
from layoutrand.execute.cases import processes
from layoutrand.instruments.known import simulated
from layoutrand.report.page_parts import LightState, TrustLight
from layoutrand.text.name_lists import fitting_names

_MACHINE: Final[frozenset[Cause]] = frozenset({"machine", "disturbed", "unlike conditions", "false alarm", "nodes"})
_DRIFT: Final[frozenset[Cause]] = frozenset({"drift"})
_ENOUGH: Final[frozenset[Cause]] = frozenset(
    {
        "too few layouts",
        "interval too wide",
        "without bounds",
        "beside the others",
        "shape of the layouts",
        "too short",
        "coarse clock",
        "not to be tested",
    }
)
_FAILURES: Final[frozenset[Cause]] = frozenset({"failures"})
_TOLD: Final[frozenset[Cause]] = frozenset({"same binaries"})
"""What is no matter of trust: the verdict says it."""

_COMPARED: Final = "outputs were compared where expect_stdout says with what"
_MOST_NAMED: Final = 3
_LONGEST: Final = 160

Found = Sequence[tuple[str, Reason]]


def lights(
    selection: Selection, found: AnalysisReport, comparisons: Sequence[Comparison], cards: Mapping[str, str]
) -> list[TrustLight]:
    """Four lights, and a fifth where unlike things were compared; ``cards`` are the anchors of benchmarks' cards."""
    reasons = list(_reasons(found, comparisons))
    is_simulated = bool(found.analyses) and simulated().issuperset(each.instrument for each in found.analyses)
    first = next(iter(cards.values()), "")
    alone = () if comparisons else found.analyses
    unknown = [each.benchmark for each in alone if of_layouts(each, found.warnings).verdict == "cannot tell"]
    made = [
        _of_machine(selection, found, reasons, _link(reasons, _MACHINE, cards, "order", first), simulated=is_simulated),
        _of_failures(selection, reasons),
        _of_layouts(reasons, unknown, cards),
        _of_drift(found, reasons, _link(reasons, _DRIFT, cards, "order", first), simulated=is_simulated),
    ]
    # What made counts of a simulated processor differ was not the machine.
    known = _DRIFT | _ENOUGH | _FAILURES | _TOLD | (frozenset() if is_simulated else _MACHINE)
    if others := [(name, each) for name, each in reasons if each.cause not in known]:
        made.append(TrustLight("like compared with like", "doubtful", _said(others), "warnings"))
    return made


def doubts(found: AnalysisReport, comparisons: Sequence[Comparison]) -> dict[str, str]:
    """Benchmark -> what casts doubt on its numbers; "" -> the same of all, with names; none where nothing does."""
    about = [(name, each) for name, each in _reasons(found, comparisons) if each.effect == "doubts"]
    told = {name: _of_all([pair for pair in about if pair[0] == name], named=False) for name, _ in about}
    return {**told, **({"": _of_all(about, named=True)} if about else {})}


def doubts_of(found: AnalysisReport, result: Comparison) -> str:
    """What casts doubt on the numbers of one comparison, of its own two systems; "" for nothing.

    What another candidate of the same page has is none: not sure beside the others is one verdict, not both.
    """
    own = tuple(each for each in found.analyses if each.system in {result.baseline, result.candidate})
    warnings = tuple(disturbed_of(found.warnings, result.disturbed))
    return doubts(replace(found, analyses=own, warnings=warnings), [result]).get("", "")


def of_the_page(result: Comparison, found: AnalysisReport) -> Comparison:
    """The comparison with the disturbed executions of all systems, as a sentence about the whole page has them."""
    return replace(result, warnings=tuple(disturbed_of(result.warnings, found.disturbed)))


def _of_all(about: Found, *, named: bool) -> str:
    """Each cause once."""
    causes = dict.fromkeys(each.cause for _, each in about)
    return "; ".join(_said([pair for pair in about if pair[1].cause == cause], named=named) for cause in causes)


def _reasons(found: AnalysisReport, comparisons: Sequence[Comparison]) -> Iterator[tuple[str, Reason]]:
    """Benchmark and reason, of all conclusions, without what is only noted."""
    for result in comparisons:
        for pair in result.benchmarks:
            for reason in of_pair(result, pair).reasons:
                if reason.effect != "notes" or reason.cause == "machine":
                    yield pair.benchmark, reason
    for analysis in found.analyses:
        for reason in of_layouts(analysis, found.warnings).reasons:
            if reason.effect != "notes" and (not comparisons or reason.cause in _MACHINE | _DRIFT | _FAILURES):
                yield analysis.benchmark, reason


def _of_machine(
    selection: Selection, found: AnalysisReport, reasons: Found, link: str, *, simulated: bool
) -> TrustLight:
    name = "machine quiet"
    if simulated:
        return TrustLight(name, "good", "the processor is simulated, so no machine disturbs the counts", link)
    about = _of(reasons, _MACHINE)
    if about:
        return TrustLight(name, "doubtful", _said(about), link)
    if selection.sources and not selection.felt:
        return TrustLight(name, "unknown", "imported files do not tell", "warnings")
    rows = found.disturbed
    disturbed, executed = sum(row.disturbed for row in rows), sum(row.executions for row in rows)
    few = f"{disturbed:,} of {executed:,} executions were disturbed" if disturbed else "no execution was disturbed"
    return TrustLight(name, "good", few, link)


def _of_failures(selection: Selection, reasons: Found) -> TrustLight:
    name = "nothing failed"
    if selection.sources and not selection.failures:
        return TrustLight(name, "unknown", "imported files do not tell", "failures")
    executed, failed = processes(selection.executions), processes(selection.failures)
    unbuilt = len(selection.build_failures)
    if selection.sources:  # there are no records of executions, only numbers, beside which stand those that failed
        executed = failed + _measured(selection)
    if failed or unbuilt:
        parts = [f"{failed:,} of {executed:,} executions failed"] if failed else []
        if unbuilt:
            parts.append(f"{unbuilt:,} binaries were not built" if unbuilt > 1 else "1 binary was not built")
        said = f"{' and '.join(parts)}; not in the numbers"
        return TrustLight(name, "bad" if failed else "doubtful", said, "failures")
    if about := _of(reasons, _FAILURES):
        return TrustLight(name, "doubtful", _said(about), "failures")
    return TrustLight(name, "good", f"{executed:,} executions, none of which failed; {_COMPARED}", "failures")


def _measured(selection: Selection) -> int:
    """Executions in imported numbers, with those of controls; several metrics of a benchmark are of the same ones."""
    most: dict[tuple[str, str], int] = {}
    for sample in selection.samples:
        count = sample.n_executions + sum(len(executions) for executions in sample.controls.values())
        key = (sample.system, sample.benchmark)
        most[key] = max(most.get(key, 0), count)
    return sum(most.values())


def _of_layouts(reasons: Found, unknown: Sequence[str], cards: Mapping[str, str]) -> TrustLight:
    """``unknown`` are benchmarks of which cannot be told whether layout matters."""
    name, first = "layouts enough", next(iter(cards.values()), "")
    about = _of(reasons, _ENOUGH)
    if not cards:
        return TrustLight(name, "unknown", "there is nothing to conclude from", "failures")
    open_names = list(dict.fromkeys([*(each for each, why in about if why.effect == "undecides"), *unknown]))
    if not about and not open_names:
        return TrustLight(name, "good", "as many as the verdicts need", _link(about, _ENOUGH, cards, "binaries", first))
    if not open_names:
        return TrustLight(name, "doubtful", _said(about), _link(about, _ENOUGH, cards, "binaries", first))
    state: LightState = "bad" if len(open_names) == len(cards) else "doubtful"
    told = [pair for pair in about if pair[0] in open_names and pair[1].effect == "undecides"]
    said = _said(told) if len(open_names) == 1 and told else f"cannot tell on {fitting_names(open_names, _MOST_NAMED)}"
    return TrustLight(name, state, said, f"{cards.get(open_names[0], first)}-binaries")


def _of_drift(found: AnalysisReport, reasons: Found, link: str, *, simulated: bool) -> TrustLight:
    name = "no drift"
    if about := _of(reasons, _DRIFT):
        return TrustLight(name, "doubtful", _said(about), link)
    if follow := [(whose, each) for whose, reason in reasons if (each := _counts_follow_time(reason)) is not None]:
        return TrustLight(name, "doubtful", _said(follow), "warnings")
    if simulated:
        return TrustLight(name, "good", "counts of a simulated processor do not drift", link)
    if found.selection.sources and not order_is_known(found.selection.samples):
        return TrustLight(name, "unknown", "imported files do not tell in which order was executed", "warnings")
    judged = [each.findings.machine for each in found.analyses if each.findings is not None]
    if not any(each is not None and each.state is not None for each in judged):
        return TrustLight(name, "unknown", "too few executions to tell", link)
    return TrustLight(name, "good", "executions do not follow the time at which they were made", link)


def _counts_follow_time(reason: Reason) -> Reason | None:
    warnings = tuple(each for each in reason.warnings if isinstance(each, CountsFollowTime))
    return replace(reason, warnings=warnings) if warnings else None


def _of(reasons: Found, causes: Collection[Cause]) -> list[tuple[str, Reason]]:
    return [(name, each) for name, each in reasons if each.cause in causes]


def _said(about: Found, *, named: bool = True) -> str:
    """What was found first, on which benchmarks, and on which others something of the kind was."""
    first_of = [(name, each.warnings[0]) for name, each in about]
    sums = summed_of_each(warning for _, warning in first_of)  # counts of two benchmarks are told as their sum
    told = [(name, sums.get(warning, warning).brief()) for name, warning in first_of]
    text = told[0][1]
    alike = list(dict.fromkeys(name for name, said in told if said == text))
    others = [name for name in dict.fromkeys(name for name, _ in about) if name not in alike]
    whose = fitting_names(alike, _MOST_NAMED)
    words = f"{whose}: {text}" if named and text.partition(":")[0] != whose else text
    words = textwrap.shorten(words, _LONGEST, placeholder=" …")
    return f"{words}; also {fitting_names(others, _MOST_NAMED)}" if others else words


def _link(reasons: Found, causes: Collection[Cause], cards: Mapping[str, str], part: str, first: str) -> str:
    """The anchor of the figure that shows it: of the first benchmark that it is about, else of the first of all."""
    about = next((cards[name] for name, each in reasons if each.cause in causes and name in cards), first)
    return f"{about}-{part}" if about else "warnings"
