"""What `layoutrand explain --remedy` does: flags that may cure are built as systems, and measured over new layouts.

The system as it is and each with a remedy are executed in the same rounds, in layouts of seeds that took no part in
finding the suspects.  A remedy helps where its layouts spread less than those of the system as it is do, by the test of
spread that exchanges places within rounds (`layoutrand.stats.rounds_spread_test`), or where the mean is better, and the
other of both is not worse: code that lies alike everywhere may lie badly everywhere.  Both p-values of all remedies are
one family (Holm's method), so that with nothing to find anything is recommended in at most 5 % of cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from layoutrand.analysis.analyse import Analysis, AnalysisReport, analyse
from layoutrand.analysis.blocking import freed
from layoutrand.analysis.compare import compare
from layoutrand.analysis.sample import Sample, binary_mean
from layoutrand.analysis.selection import Question, Selection, select
from layoutrand.build.build import SystemBuild
from layoutrand.config.config import Config, System
from layoutrand.config.metric import Better
from layoutrand.errors import AnalysisError, BuildFailed, FeatureUnsupported
from layoutrand.execute.execute import execute
from layoutrand.execute.run_progress import RunProgress, Summary
from layoutrand.execute.run_request import make_request
from layoutrand.explain.explain import Confirmed, ExplainSetup, executed
from layoutrand.explain.remedies import Remedy
from layoutrand.explain.suspects import Explanation
from layoutrand.model import IDENTITY, Binary, LayoutName
from layoutrand.results import file
from layoutrand.stats import Interval, adjust, decide, rounds_spread_test

Verdict = Literal["helps", "is slower", "spreads more", "no help shown", "same code", "cannot tell", "failed"]

RESULTS_NAME: Final = "remedy.sqlite"
FEWEST: Final = 8
"""Layouts of each system that a remedy is tried in at least: with fewer no difference in spread stands out."""

_THRESHOLD: Final = 0.01


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
    that was tried.

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

    before: Analysis
    tried: tuple[Tried, ...]
    recommended: Tried | None
    seeds: tuple[int, ...]
    confidence: float
    summary: Summary


def results_path(project: Path) -> Path:
    """Where executions of remedies are recorded."""
    return project / ".layoutrand" / RESULTS_NAME


def why_not_tried(
    explanation: Explanation, confirmed: Confirmed | None, selection: Selection, confidence: float
) -> str:
    """Why there is nothing to cure; "" where a suspect is left, or layout matters whatever it is that does.

    ``selection`` is what the explanation is of.  A remedy is judged by new layouts alone, so it takes no suspect.
    """
    subject = explanation.subject.sample
    confirmations = () if confirmed is None else confirmed.confirmations
    if explanation.suspects and not (confirmations and all(each.verdict == "not confirmed" for each in confirmations)):
        return ""
    own = _of(analyse(selection, confidence=confidence, metrics=[subject.metric]), subject, subject.system)
    if own is not None and own.findings is not None and own.findings.layout.answer == "matters":
        return ""
    suspects = "no suspect was confirmed" if explanation.suspects else "there is no suspect"
    return f"{suspects}, and no sign that layout matters"


def with_remedies(config: Config, system: str, remedies: Sequence[Remedy]) -> tuple[Config, tuple[TriedSystem, ...]]:
    """The configuration with a further system for each remedy, and these.

    Raises `FeatureUnsupported` where no system can be added, or nothing is known to try.
    """
    if not remedies:
        raise FeatureUnsupported(
            f"no remedy is known for toolchain {config.systems[system].toolchain}: its compilers have no flags that "
            "align code"
        )
    if config.layout.by_address:
        raise FeatureUnsupported(
            'layout.couple = "address" ties layouts of all systems to each other, so a further one would change them; '
            'remedies are tried with couple = "order"'
        )
    own = config.systems[system]
    made = tuple(TriedSystem(each, _free(f"{system}+{each.name}", config), each.applied(own)) for each in remedies)
    systems = {system: own, **{each.name: each.system for each in made}}
    run = config.run.model_copy(update={"order": "blocks", "controls": [IDENTITY], "executions": 1})
    return config.model_copy(update={"systems": systems, "run": run}), made


def _free(name: str, config: Config) -> str:
    return _free(f"{name}+", config) if name in config.systems else name


def treat(
    explanation: Explanation,
    setup: ExplainSetup,
    candidates: Sequence[TriedSystem],
    order: RemedyOrder,
    progress: Callable[[RunProgress], None],
) -> Treatment:
    """Build, execute and compare, with the setup of a configuration that `with_remedies` made.

    Raises what `execute` raises, `BuildFailed` where the system as it is cannot be built, `AnalysisError` where nothing
    of it was measured, and `FeatureUnsupported` where no remedy makes another program.
    """
    file.check_usable(results_path(setup.project))
    seeds = tuple(range(order.first, order.first + order.layouts))
    system = explanation.subject.sample.system
    built = _built(explanation, setup, [system, *(each.name for each in candidates)], seeds)
    same, failed = _not_executed(explanation, built)
    to_execute = [each for name, each in built.items() if name not in same and name not in failed]
    if len(to_execute) == 1:  # the system as it is, with nothing to compare it with
        raise FeatureUnsupported(_nothing_to_execute(candidates, same, failed))
    request = make_request(
        setup.config,
        setup.project,
        to_execute,
        replace(
            setup.choices,
            benchmarks=[executed(explanation.subject.sample.benchmark, setup.config)[0].name],
            seeds=seeds,
        ),
    )
    profiling, target = setup.profiling, results_path(setup.project)
    with (
        file.exclusive_use(
            file.results_path(setup.project.resolve()), wait_s=setup.choices.wait_s, on_wait=profiling.say
        ),
        file.open_for_writing(target) as store,
    ):
        summary = execute(request, store=store, executor=profiling.executor, progress=progress, say=profiling.say)
    captures = {each.system: each.capture.id for each in to_execute if each.capture is not None}
    names = [each.system for each in to_execute]
    question = Question(setup.config, setup.project, names, [], captures, None)
    with file.open_for_reading(target) as store:
        selection = of_seeds(select(question, store), seeds)
    sizes = {name: _text_size(explanation, each) for name, each in built.items()}
    return conclude(explanation, selection, candidates, order, BuildFindings(same, failed, sizes), summary)


def _built(
    explanation: Explanation, setup: ExplainSetup, systems: Sequence[str], seeds: Sequence[LayoutName]
) -> dict[str, SystemBuild]:
    found = {}
    for name in systems:
        found[name] = setup.build(name, [IDENTITY, *seeds])
        if name == explanation.subject.sample.system and _identity(explanation, found[name]) is None:
            raise BuildFailed(f"{explanation.subject.artefact} cannot be built: {_why(found[name])}")
    return found


def _not_executed(explanation: Explanation, built: dict[str, SystemBuild]) -> tuple[frozenset[str], dict[str, str]]:
    """Systems whose code is that of the one as it is, and those that were not built, with the reason."""
    own = _identity(explanation, built[explanation.subject.sample.system])
    assert own is not None
    same, failed = set(), {}
    for name, each in built.items():
        identity = _identity(explanation, each)
        if identity is None:
            failed[name] = _why(each)
        elif name != own.system and identity.text_sha256 == own.text_sha256:
            same.add(name)
    return frozenset(same), failed


def _nothing_to_execute(candidates: Sequence[TriedSystem], same: frozenset[str], failed: dict[str, str]) -> str:
    reasons = {f"{each.remedy.flags} changes nothing" for each in candidates if each.name in same}
    reasons |= set(failed.values())
    return f"none of the flags makes another program: {'; '.join(sorted(reasons))}"


def _identity(explanation: Explanation, built: SystemBuild) -> Binary | None:
    wanted = (explanation.subject.artefact, IDENTITY)
    return next((b for b in built.binaries if (b.artefact, b.layout) == wanted), None)


def _why(built: SystemBuild) -> str:
    return "; ".join(dict.fromkeys(failure.error for failure in built.failures)) or "nothing was built"


def _text_size(explanation: Explanation, built: SystemBuild) -> int | None:
    identity = _identity(explanation, built)
    return None if identity is None or identity.verification is None else identity.verification.text_size


def of_seeds(selection: Selection, seeds: Sequence[int]) -> Selection:
    """What was measured of these layouts: the file has those of earlier calls, too."""
    wanted = frozenset(seeds)

    def own(sample: Sample) -> Sample:
        return replace(sample, binaries=tuple(each for each in sample.binaries if each[0] in wanted))

    return replace(selection, samples=tuple(own(sample) for sample in selection.samples))


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
    before = _of(report, subject, subject.system)
    if before is None:
        raise AnalysisError(f"no layout of {subject.system} was measured, so no remedy can be judged")
    measured = {name: after for name in (c.name for c in candidates) if (after := _of(report, subject, name))}
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
            doubt = _doubt((before, measured[name]), own)
            tried.append(
                Tried(
                    candidate,
                    "cannot tell" if doubt else judged(own, before.better, confidence),
                    reason=doubt,
                    after=measured[name],
                    mean=own.ratio,
                    spread_p=own.falls,
                    mean_p=own.mean,
                    text_size=None if sizes[0] is None or sizes[1] is None else (sizes[0], sizes[1]),
                )
            )
    return Treatment(
        before=before,
        tried=tuple(tried),
        recommended=recommended(tried),
        seeds=tuple(range(order.first, order.first + order.layouts)),
        confidence=confidence,
        summary=summary,
    )


def _of(report: AnalysisReport, subject: Sample, system: str) -> Analysis | None:
    wanted = (system, subject.benchmark, subject.metric)
    return next((each for each in report.analyses if (each.system, each.benchmark, each.metric) == wanted), None)


@dataclass(frozen=True)
class Signs:
    """What speaks for a remedy and against it: p of "layouts differ by no less", "by no more", "the mean is the same".

    ``ratio`` is the interval of the means, with it / without; None where there is none, as ``is_enough`` then says.
    """

    falls: float
    rises: float
    mean: float
    ratio: Interval | None
    is_enough: bool


def _signs(selection: Selection, subject: Sample, system: str, confidence: float) -> Signs:
    found = compare(
        selection, subject.system, system, confidence=confidence, threshold=_THRESHOLD, metric=subject.metric
    )
    pair = next(each for each in found.benchmarks if each.benchmark == subject.benchmark)
    rounds = log_rounds(selection, subject, system)
    return Signs(
        falls=spread_p(rounds),
        rises=spread_p([(after, before) for before, after in rounds]),
        mean=1.0 if pair.sureness is None else pair.sureness.no_difference,
        ratio=pair.ratio,
        is_enough=len(rounds) >= FEWEST,
    )


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


def _doubt(analyses: Sequence[Analysis], signs: Signs) -> str:
    """Why nothing can be told of a remedy that was measured; "" where something can."""
    if any(each.findings is not None and each.findings.is_machine for each in analyses):
        return "the machine changed its speed while it was measured"
    if signs.ratio is None or not signs.is_enough:
        return f"fewer than {FEWEST} rounds have values of both that are above 0"
    return ""


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


def recommended(tried: Sequence[Tried]) -> Tried | None:
    """Of what helps the first that leaves no sign of layout, else the one that leaves the least of it."""
    helping = [each for each in tried if each.verdict == "helps" and each.after is not None]
    for each in helping:
        assert each.after is not None
        if each.after.findings is not None and each.after.findings.layout.answer != "matters":
            return each
    return min(helping, key=_left, default=None)


def _left(tried: Tried) -> float:
    assert tried.after is not None
    layout = tried.after.layout
    return math.inf if layout is None or layout.relative_sd is None else layout.relative_sd
