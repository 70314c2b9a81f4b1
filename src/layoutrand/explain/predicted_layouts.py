"""What `layoutrand predict` does: from measured layouts to those that nobody has linked, and to the best of them.

A model is fitted to where hot code lies in the layouts that were measured (`layoutrand.explain.features`), and judged
by layouts that it was not fitted to; only where it predicts these is anything said of others.  Then thousands of
layouts are drawn and placed without being linked (`layoutrand.explain.placement`): their features are those of the
population, for which the mean of the few that were measured is corrected, and the one that is predicted best can be
measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Final

import numpy as np

from layoutrand.analysis.analyse import choose_metrics
from layoutrand.analysis.asked_results import Question
from layoutrand.analysis.sample import Sample
from layoutrand.analysis.selection import Selection, select
from layoutrand.build.build import SystemBuild
from layoutrand.config.config import Config
from layoutrand.config.schedule import Slot
from layoutrand.errors import AnalysisError, BuildFailed, LayoutrandError
from layoutrand.execute.run_progress import RunProgress, Summary
from layoutrand.execute.run_request import make_request
from layoutrand.explain.as_analysed import as_analysed
from layoutrand.explain.explain import ExplainSetup, Unexplained, examined, executed, refuse_prebuilt
from layoutrand.explain.features import table_of
from layoutrand.explain.hotness import Hotness, cost_elsewhere, hot_functions
from layoutrand.explain.own_results import execute_apart
from layoutrand.explain.placement import CodePlacement
from layoutrand.explain.suspects import Subject, addresses, hot_starts, means_of
from layoutrand.layout.keyed import keyed_order
from layoutrand.model import IDENTITY, STOCK, LayoutName
from layoutrand.results import file
from layoutrand.stats import Adjusted, Interval, adjust, adjusted_mean, ratio_interval
from layoutrand.stats.adjustment import FEWEST
from layoutrand.warning import plural

RESULTS_NAME: Final = "predict.sqlite"
FEWEST_ROUNDS: Final = 5
_STREAM: Final = "predict"
_ROUNDS_OF_ONE: Final = 10_000
"""From the number of a layout's first round to that of the next layout's, as far as anybody measures one."""


@dataclass(frozen=True)
class PredictOrder:
    """What is asked for: so many layouts drawn, from seed ``first`` on."""

    drawn: int
    first: int
    most_functions: int
    confidence: float


@dataclass(frozen=True)
class Predicted:
    """What features say of one sample; ``p_value`` is adjusted for all samples that were looked at.

    ``best`` is the seed of the drawn layout that is predicted best.  How good it is nobody knows before it is measured:
    what was chosen among thousands for its prediction is predicted too well.
    """

    subject: Subject
    hotness: Hotness
    seeds: tuple[int, ...]
    drawn: int
    adjusted: Adjusted
    p_value: float
    best: int
    confidence: float

    @property
    def holds(self) -> bool:
        """Whether layouts that the model was not fitted to are predicted better than chance would."""
        return self.p_value <= 1 - self.confidence


@dataclass(frozen=True)
class MeasuredBest:
    """The predicted layout beside the user's own build and identity, in the same rounds.

    ``ratios`` are predicted layout / control, by the control's name, and hold together; ``means`` are those of the
    complete ``rounds``.
    """

    seed: int
    rounds: int
    means: dict[LayoutName, float]
    ratios: dict[LayoutName, Interval]
    summary: Summary


def results_path(project: Path) -> Path:
    """Where executions of predicted layouts are recorded."""
    return project / ".layoutrand" / RESULTS_NAME


def predict_selection(
    selection: Selection, metric: str | None, setup: ExplainSetup, order: PredictOrder
) -> list[Predicted | Unexplained]:
    """Look at each benchmark's main metric, or at the one that is named.

    One that cannot be looked at is no reason to leave out the others.  Raises `UnknownMetric` for a metric that was
    never measured, and where nothing was.
    """
    samples = choose_metrics(selection, [metric] if metric else [])
    chosen = [sample for sample in samples if sample.is_primary or metric]
    if not chosen:
        raise AnalysisError("no main metric was measured, so there is nothing to predict (--metric)")
    found: list[Predicted | Unexplained] = []
    for sample in chosen:
        try:
            found.append(_predict(sample, selection, setup, order))
        except LayoutrandError as error:
            found.append(Unexplained(sample.system, sample.benchmark, sample.metric, str(error)))
    holm = iter(adjust([each.p_value for each in found if isinstance(each, Predicted)]))
    return [replace(each, p_value=next(holm)) if isinstance(each, Predicted) else each for each in found]


def _predict(sample: Sample, selection: Selection, setup: ExplainSetup, order: PredictOrder) -> Predicted:
    refuse_prebuilt(sample, setup.config)  # a quieter machine would be no help
    _refuse_changing_machine(sample, selection, order.confidence)
    subject, profile, _ = examined(sample, selection, setup, lambda each: _refuse_few(each, selection))
    seeds, means = means_of(subject.sample, subject.binaries)
    identity = addresses(setup.cache, subject.identity, subject.link)
    hotness = hot_functions(profile, subject.link.sections, identity, most=order.most_functions)
    hotness = replace(hotness, caches=subject.caches)
    wanted = [function.section for function in hotness.functions]
    if not wanted:
        reasons = "; ".join(map(str, cost_elsewhere(hotness, subject.artefact, subject.others, subject.program)))
        raise AnalysisError(f"there is nothing to predict from: {reasons}")
    placement = CodePlacement(subject.link, setup.config.layout, identity)
    linked = hot_starts(setup.cache, subject.link, hotness, [subject.binaries[seed] for seed in seeds])
    placement.check([IDENTITY, *seeds], np.concatenate([identity[None, wanted], linked]), wanted)
    drawn = range(order.first, order.first + order.drawn)
    setup.profiling.say(f"placing {order.drawn:,} layouts of {subject.artefact} that are not linked")
    table, weights = table_of(hotness, np.concatenate([linked, placement.starts(drawn, wanted)]))
    measured, population = table[: len(seeds)], table[len(seeds) :]
    adjusted = adjusted_mean(
        means.tolist(), measured, population=population, weights=weights, confidence=order.confidence
    )
    best = int(np.argmin(adjusted.predicted) if sample.better == "less" else np.argmax(adjusted.predicted))
    return Predicted(
        subject=subject,
        hotness=hotness,
        seeds=seeds,
        drawn=order.drawn,
        adjusted=adjusted,
        p_value=adjusted.p_value,
        best=drawn[best],
        confidence=order.confidence,
    )


def _refuse_changing_machine(sample: Sample, selection: Selection, confidence: float) -> None:
    """Raise `AnalysisError` where `analyse` says that it was the machine which made the difference."""
    own = as_analysed(sample, selection, confidence)
    if own is not None and own.is_machine:
        raise AnalysisError(
            "the machine changed its speed while layouts were measured, so no place explains what they differ by; "
            "measure on a quieter one"
        )


def _refuse_few(subject: Subject, selection: Selection) -> None:
    """Raise `AnalysisError` for too few layouts, with what became of others."""
    sample = subject.sample
    count = len(means_of(sample, subject.binaries)[0])
    if count >= FEWEST:
        return
    failed = [each for each in selection.failures if (each.system, each.benchmark) == (sample.system, sample.benchmark)]
    lost = f" ({plural(len(failed), 'execution')} failed: {failed[0].reason})" if failed else ""
    raise AnalysisError(
        f"{count} measured layouts{lost}; at least {FEWEST} are needed to predict others, and 60 or more to predict "
        "them well: `layoutrand run --seeds 60`"
    )


def measure_best(
    found: Predicted, setup: ExplainSetup, *, rounds: int, progress: Callable[[RunProgress], None]
) -> MeasuredBest:
    """Execute the layout that is predicted best beside stock and identity, each once a round, in random order.

    Raises what `execute` raises, `BuildFailed` where the layout cannot be built, and `AnalysisError` where too few
    rounds have all of them.
    """
    sample, target = found.subject.sample, results_path(setup.project)
    file.check_usable(target)
    config = _in_rounds(setup.config)
    built = setup.build(sample.system, [STOCK, IDENTITY, found.best])
    there = {binary.layout for binary in built.binaries if binary.artefact == found.subject.artefact}
    if found.best not in there:
        reasons = dict.fromkeys(failure.error for failure in built.failures)
        raise BuildFailed(f"layout {found.best} cannot be built: {'; '.join(reasons)}")
    layouts = [layout for layout in (found.best, STOCK, IDENTITY) if layout in there]
    name = executed(sample.benchmark, config)[0].name
    choices = replace(setup.choices, benchmarks=[name], seeds=[])
    slots = _slots(sample, name, layouts, rounds_of(found.best, rounds), config)
    request = replace(make_request(config, setup.project, [built], choices), slots=slots)
    profiling = setup.profiling
    summary = execute_apart(request, target, profiling.executor, progress=progress, say=profiling.say)
    return _compared(found, config, setup.project, built, layouts, rounds, summary)


def _in_rounds(config: Config) -> Config:
    run = config.run.model_copy(update={"order": "blocks", "controls": [STOCK, IDENTITY], "executions": 1})
    return config.model_copy(update={"run": run})


def rounds_of(best: int, rounds: int) -> range:
    """The numbers of a layout's rounds, which no other has: its controls are executed beside it, not before."""
    return range(best * _ROUNDS_OF_ONE + 1, best * _ROUNDS_OF_ONE + rounds + 1)


def _slots(
    sample: Sample, benchmark: str, layouts: Sequence[LayoutName], rounds: Sequence[int], config: Config
) -> tuple[Slot, ...]:
    slots: list[Slot] = []
    for number in rounds:
        cells = [
            Slot(sample.system, benchmark, layout, sample.instrument, round=number, repetition=0, order=0)
            for layout in layouts
        ]
        places = keyed_order(config.run.schedule_seed, _STREAM, [cell.identity for cell in cells])
        slots += [replace(cells[place], order=len(slots) + at) for at, place in enumerate(places)]
    return tuple(slots)


def _compared(
    found: Predicted,
    config: Config,
    project: Path,
    built: SystemBuild,
    layouts: Sequence[LayoutName],
    rounds: int,
    summary: Summary,
) -> MeasuredBest:
    sample = found.subject.sample
    captures = {} if built.capture is None else {sample.system: built.capture.id}
    question = Question(config, project, [sample.system], [sample.benchmark], captures, None)
    with file.open_for_reading(results_path(project)) as store:
        selection = select(question, store)
    measured = next(
        (s for s in selection.samples if (s.metric, s.instrument) == (sample.metric, sample.instrument)), None
    )
    values: dict[LayoutName, dict[int, float]] = {layout: {} for layout in layouts}
    if measured is not None:
        for layout in layouts:
            executions = (
                dict(measured.binaries).get(layout, ())
                if isinstance(layout, int)
                else measured.controls.get(layout, ())
            )
            for number, each in zip(measured.rounds.get(layout, ()), executions, strict=True):
                values[layout][number] = fmean(each)
    own = set(rounds_of(found.best, rounds))
    complete = sorted(own.intersection(*values.values()))
    if len(complete) < FEWEST_ROUNDS:
        raise AnalysisError(
            f"{len(complete)} of {rounds} rounds have a value of each layout, and at least {FEWEST_ROUNDS} are needed"
        )
    rows = {layout: [of_layout[number] for number in complete] for layout, of_layout in values.items()}
    if any(value <= 0 for row in rows.values() for value in row):
        raise AnalysisError(f"some values of {sample.metric} are not above 0, and ratios are looked at")
    ratios = against_controls(rows, found.best, found.confidence)
    return MeasuredBest(
        found.best, len(complete), {layout: fmean(row) for layout, row in rows.items()}, ratios, summary
    )


def against_controls(
    rows: Mapping[LayoutName, Sequence[float]], best: int, confidence: float
) -> dict[LayoutName, Interval]:
    """The ratios of a layout to its controls, of values of the same rounds, which hold together."""
    controls = [layout for layout in rows if layout != best]
    single = 1 - (1 - confidence) / max(1, len(controls))
    return {
        control: ratio_interval(rows[control], rows[best], confidence=single, method="paired-log-t")
        for control in controls
    }
