"""What `layoutrand explain --remedy` does: flags that may cure are built as systems, and measured over new layouts.

The system as it is and each with a remedy are executed in the same rounds, in layouts of seeds that took no part in
finding the suspects; `layoutrand.explain.treated` judges them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from layoutrand.analysis.asked_results import Question
from layoutrand.analysis.sample import Sample
from layoutrand.analysis.selection import Selection, select
from layoutrand.build.build import SystemBuild
from layoutrand.cache.contents import content_of
from layoutrand.config.config import Config
from layoutrand.errors import BuildFailed, FeatureUnsupported
from layoutrand.execute.run_progress import RunProgress
from layoutrand.execute.run_request import make_request
from layoutrand.explain.as_analysed import as_analysed
from layoutrand.explain.explain import Confirmed, ExplainSetup, executed
from layoutrand.explain.linker_orders import not_in_order
from layoutrand.explain.own_results import execute_apart
from layoutrand.explain.remedies import ALIGNMENT, Remedy
from layoutrand.explain.suspected import suspects_left
from layoutrand.explain.suspects import Explanation
from layoutrand.explain.treated import BuildFindings, RemedyOrder, Treatment, TriedSystem, conclude
from layoutrand.model import IDENTITY, Binary, LayoutName, Section
from layoutrand.objects import elf
from layoutrand.results import file

RESULTS_NAME: Final = "remedy.sqlite"


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
    if suspects_left(explanation, confirmed):
        return ""
    own = as_analysed(subject, selection, confidence)
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
    same, failed = _not_executed(explanation, built, candidates)
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
            instruments=[explanation.subject.sample.instrument],
        ),
    )
    profiling, target = setup.profiling, results_path(setup.project)
    summary = execute_apart(request, target, profiling.executor, progress=progress, say=profiling.say)
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


def _not_executed(
    explanation: Explanation, built: dict[str, SystemBuild], candidates: Sequence[TriedSystem]
) -> tuple[frozenset[str], dict[str, str]]:
    """Systems whose code is that of the one as it is, and those that were not built as meant, with the reason."""
    own = _identity(explanation, built[explanation.subject.sample.system])
    assert own is not None
    same, failed = set(), {}
    ordered = {each.name for each in candidates if each.remedy.order is not None}  # layouts differ whatever identity is
    for name, each in built.items():
        identity = _identity(explanation, each)
        if identity is None:
            failed[name] = _why(each)
        elif name != own.system and identity.text_sha256 == own.text_sha256 and name not in ordered:
            same.add(name)
    for candidate in candidates:
        if candidate.name not in failed and candidate.name not in same:
            reason = _not_reached(explanation, candidate, built[candidate.name])
            failed |= {candidate.name: reason} if reason else {}
    return frozenset(same), failed


def _not_reached(explanation: Explanation, candidate: TriedSystem, built: SystemBuild) -> str:
    """Why the remedy does not do what it is said to in the binaries, whatever they measure; "" where it does."""
    if candidate.remedy.order is None:
        return _not_aligned(explanation, candidate, built)
    return not_in_order(
        candidate.remedy.order, [each for each in built.binaries if each.artefact == explanation.subject.artefact]
    )


def _not_aligned(explanation: Explanation, candidate: TriedSystem, built: SystemBuild) -> str:
    """Why flags for a file did not reach the function that they are for; "" if they did."""
    link, remedy = explanation.subject.link, candidate.remedy
    assert built.capture is not None
    place = {_called(section): section for section in built.capture.link(explanation.subject.artefact).sections}
    for function in explanation.hotness.functions:
        if function.name in remedy.aligned:
            found = place.get(_called(link.sections[function.section]))
            if found is None or found.align % ALIGNMENT:
                now = "is not there" if found is None else f"is aligned to {found.align} bytes"
                return f"{function.name} {now} with it, so it is compiled from another file, or by other flags as well"
    return ""


def _called(section: Section) -> tuple[str, str, int, str]:
    return section.object, section.name, section.occurrence, section.group


def _nothing_to_execute(candidates: Sequence[TriedSystem], same: frozenset[str], failed: dict[str, str]) -> str:
    reasons = {f"{each.remedy.words} changes nothing" for each in candidates if each.name in same}
    reasons |= set(failed.values())
    return f"none of the remedies makes another program: {'; '.join(sorted(reasons))}"


def _identity(explanation: Explanation, built: SystemBuild) -> Binary | None:
    wanted = (explanation.subject.artefact, IDENTITY)
    return next((b for b in built.binaries if (b.artefact, b.layout) == wanted), None)


def _why(built: SystemBuild) -> str:
    return "; ".join(dict.fromkeys(failure.error for failure in built.failures)) or "nothing was built"


def _text_size(explanation: Explanation, built: SystemBuild) -> int | None:
    identity = _identity(explanation, built)
    if identity is None:
        return None
    file = elf.read(content_of(identity.stored), name=str(identity.path))
    return int(file.sections["size"][(file.sections["flags"] & elf.SHF_EXECINSTR) != 0].sum())


def of_seeds(selection: Selection, seeds: Sequence[int]) -> Selection:
    """What was measured of these layouts: the file has those of earlier calls, too."""
    wanted = frozenset(seeds)

    def own(sample: Sample) -> Sample:
        return replace(sample, binaries=tuple(each for each in sample.binaries if each[0] in wanted))

    return replace(selection, samples=tuple(own(sample) for sample in selection.samples))
