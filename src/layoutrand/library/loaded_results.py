"""`layoutrand.load` and `layoutrand.load_files`: recorded or imported results, to ask questions of."""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, Protocol

from layoutrand.analysis.evidence import evidence, left_out_words
from layoutrand.analysis.evidence import sentences as evidence_sentences
from layoutrand.errors import UsageError
from layoutrand.library.analysed_layouts import AnalysedLayouts, analysed_layouts
from layoutrand.library.compared_systems import ComparedSystems, compared_systems
from layoutrand.library.configuration import match_systems, read_config
from layoutrand.library.project_directory import project_of
from layoutrand.library.recorded import Which, existing_results, question_of, select_with_second
from layoutrand.library.sample_rows import (
    FailureRow,
    SampleRow,
    failure_rows,
    parquet,
    sample_frame,
    sample_rows,
)
from layoutrand.platform.foreign import write_bytes
from layoutrand.text.shares import share
from layoutrand.version import __version__
from layoutrand.warning import AnyWarning, plural, sentences_of

if TYPE_CHECKING:
    import pandas as pd

    from layoutrand.analysis.selection import Selection
    from layoutrand.config.config import Config
    from layoutrand.interop.importing import ImportQuestion

_CONFIDENCES: Final = (0.5, 0.9999)

Names = str | Sequence[str]
"""One name, or several; none stands for all."""

_Chosen = tuple[tuple[str, ...], tuple[str, ...]]


class _Origin(Protocol):
    """Where results are from; ``declared`` are the systems that there should be, none where nothing says."""

    @property
    def declared(self) -> Sequence[str]:
        """Names in the order of layoutrand.toml."""

    def select(self, systems: Sequence[str], benchmarks: Sequence[str]) -> tuple[Selection, Selection]:
        """What there is of these, and the same with what was executed a second time."""


class _Recorded:
    """A project's own results, as they were when it was loaded."""

    def __init__(self, directory: Path, config: Config, which: Which) -> None:
        from layoutrand.results.file import copied

        self.directory, self.config, self.which = directory, config, which
        self.store = copied(existing_results(directory))
        weakref.finalize(self, self.store.close)

    @property
    def declared(self) -> Sequence[str]:
        return list(self.config.systems)

    def select(self, systems: Sequence[str], benchmarks: Sequence[str]) -> tuple[Selection, Selection]:
        chosen = match_systems(self.config, systems) if systems else []
        question = question_of(self.config, self.directory, chosen, benchmarks, self.which)
        return select_with_second(self.store, question)


class _Imported:
    """Files of other harnesses, which are read for each question."""

    def __init__(self, question: ImportQuestion) -> None:
        self.question = question

    @property
    def declared(self) -> Sequence[str]:
        return ()

    def select(self, systems: Sequence[str], benchmarks: Sequence[str]) -> tuple[Selection, Selection]:
        from dataclasses import replace

        from layoutrand.interop.importing import import_selection
        from layoutrand.library.project_directory import CONFIG_NAME

        found = import_selection(replace(self.question, systems=systems, benchmarks=benchmarks))
        found = replace(found, at_home=Path(CONFIG_NAME).is_file())  # as `--import` has it
        return found, found


class Results:
    """Recorded or imported results: samples, and what `layoutrand analyse` and `layoutrand compare` say of them.

    Made by `load` and `load_files`.  By itself it shows what it holds.

    Attributes
    ----------
    systems, benchmarks, metrics
        Names of what has numbers, in the order of layoutrand.toml or of the files.
    samples
        Every number that the analyses take, one `SampleRow` each; warm-up is not among them.
    failures
        The executions that failed, one `FailureRow` each; they are in no number.
    warnings
        What is to be known of the numbers: what was left out, what disturbed the machine.  ``str()`` of one is a
        sentence.
    remarks
        Sentences about layoutrand.toml.
    evidence
        Sentences on what the numbers rest on: machine, sources, layouts, order.
    """

    def __init__(self, origin: _Origin, title: str, chosen: _Chosen = ((), ()), remarks: Sequence[str] = ()) -> None:
        """Use `load` or `load_files`."""
        self._origin, self._title, self._chosen = origin, title, chosen
        self._known: dict[_Chosen, tuple[Selection, Selection]] = {}
        self.remarks = tuple(remarks)
        self._selection = self._select(*chosen)[0]

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems."""
        return tuple(dict.fromkeys(each.system for each in self._selection.samples))

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """Names of the benchmarks."""
        return tuple(dict.fromkeys(each.benchmark for each in self._selection.samples))

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics, main ones first."""
        ordered = sorted(self._selection.samples, key=lambda each: not each.is_primary)
        return tuple(dict.fromkeys(each.metric for each in ordered))

    @cached_property
    def samples(self) -> tuple[SampleRow, ...]:
        """Every number without warm-up."""
        return tuple(sample_rows(self._selection))

    @cached_property
    def failures(self) -> tuple[FailureRow, ...]:
        """Failed executions."""
        return tuple(failure_rows(self._selection))

    @property
    def warnings(self) -> tuple[AnyWarning, ...]:
        """What is to be known of the numbers."""
        return self._selection.warnings

    @property
    def evidence(self) -> tuple[str, ...]:
        """What the numbers rest on, in sentences."""
        return tuple(evidence_sentences(evidence(self._selection)))

    def frame(self, metrics: Names = (), *, warmup: bool = False) -> pd.DataFrame:
        """The samples of these metrics, or of all, as a data frame with the attributes of `SampleRow` as columns.

        With ``warmup`` also iterations that are warm-up, marked in their column; of imported results these are not
        known any more.  Raises `ToolNotFound` where pandas is not installed (``pip install 'layoutrand[frame]'``) and
        `AnalysisError` for a metric that was never measured.
        """
        return sample_frame(sample_rows(self._selection, _names(metrics), warmup=warmup))

    def to_parquet(self, path: str | os.PathLike[str], metrics: Names = (), *, warmup: bool = False) -> Path:
        """Write what `frame` holds as a Parquet file, whole or not at all; the path.

        The file's metadata has under ``layoutrand`` a JSON object with schema, version, project, machine, evidence and
        warnings.  Raises `ToolNotFound` where pyarrow is not installed (``pip install 'layoutrand[parquet]'``),
        `AnalysisError` for a metric that was never measured and `UsageError` where the file cannot be written.
        """
        experiment = self._selection.experiment
        facts = {
            "version": __version__,
            "project": experiment.project,
            "host": experiment.hostname,
            "evidence": list(self.evidence),
            "warnings": sentences_of(self.warnings),
        }
        target = Path(path)
        write_bytes(target, parquet(sample_rows(self._selection, _names(metrics), warmup=warmup), facts))
        return target

    def compare(
        self,
        *systems: str,
        benchmarks: Names = (),
        metric: str | None = None,
        threshold: float | str = 0.01,
        confidence: float = 0.95,
    ) -> ComparedSystems:
        """What `layoutrand compare` says of these systems: the first is the baseline, each other a candidate.

        Without names of the two that there are; one name twice compares a system with itself.  ``metric`` None goes by
        each benchmark's main one.  ``threshold`` is a fraction or such as ``"1%"``: within it systems are the same.
        Raises `UsageError` for what makes no sense, and `AnalysisError` where the results cannot answer, with what
        there is.
        """
        from layoutrand.analysis.aa import aa_document, compare_halves, of_second_executions
        from layoutrand.analysis.compare import compare_several
        from layoutrand.analysis.documents import comparisons_document, halves_document

        limit = share(str(threshold), "threshold", may_be_zero=True)
        baseline, *candidates = _checked(systems or self._both())
        selection, twice = self._select(
            tuple(dict.fromkeys([baseline, *candidates])), tuple(_names(benchmarks)) or self._chosen[1]
        )
        how = {"confidence": _checked_confidence(confidence), "threshold": limit}
        if candidates == [baseline]:
            halves = compare_halves(twice, baseline, **how, metric=metric)
            return compared_systems([halves.comparison], selection, halves_document(halves))
        found = compare_several(selection, baseline, candidates, **how, metric=metric)
        document = comparisons_document(found)
        if selves := of_second_executions(twice, **how, metric=metric):
            document["aa"] = {"noise_floor": aa_document(selves)}
        return compared_systems(found, selection, document, selves)

    def analyse(
        self,
        *,
        systems: Names = (),
        benchmarks: Names = (),
        metrics: Names = (),
        every_metric: bool = False,
        confidence: float = 0.95,
    ) -> AnalysedLayouts:
        """What `layoutrand analyse` says: how much layout matters to each system and benchmark.

        By each benchmark's main metric, unless ``metrics`` names others or ``every_metric`` is wanted; ``systems`` may
        be patterns such as ``"gcc-*"``.  Raises as `compare`.
        """
        from layoutrand.analysis.analyse import analyse

        names = _names(metrics)
        chosen = tuple(_names(systems)) or self._chosen[0], tuple(_names(benchmarks)) or self._chosen[1]
        report = analyse(self._select(*chosen)[0], confidence=_checked_confidence(confidence), metrics=names)
        return analysed_layouts(report, every=every_metric or bool(names))

    def _select(self, systems: tuple[str, ...], benchmarks: tuple[str, ...]) -> tuple[Selection, Selection]:
        """The selection of such a question, looked for once."""
        if (systems, benchmarks) not in self._known:
            self._known[systems, benchmarks] = self._origin.select(systems, benchmarks)
        return self._known[systems, benchmarks]

    def _both(self) -> Sequence[str]:
        known = self._chosen[0] or self._origin.declared or self.systems
        if len(known) != 2:
            raise UsageError(f"compare which systems? Name the baseline first; there are {', '.join(known)}")
        return known

    def __repr__(self) -> str:
        lines = [f"layoutrand results: {self._title}"]
        lines += [f"  {name:<11}{', '.join(values)}" for name, values in self._contents()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from html import escape

        rows = [f"<tr><th>{escape(a)}</th><td>{escape(', '.join(b))}</td></tr>" for a, b in self._contents()]
        return f"<table><caption>layoutrand results: {escape(self._title)}</caption>{''.join(rows)}</table>"

    def _contents(self) -> list[tuple[str, Sequence[str]]]:
        """What it holds, for people."""
        of, failed = self._selection, len(self._selection.failures)
        counts = {
            each.benchmark: max(s.n_binaries for s in of.samples if s.benchmark == each.benchmark)
            for each in of.samples
        }
        primary = {each.benchmark: each.metric for each in of.samples if each.is_primary}
        shown = [
            f"{name} ({primary[name]}, {plural(n, 'layout')})" if name in primary else f"{name} ({plural(n, 'layout')})"
            for name, n in counts.items()
        ]
        rows: list[tuple[str, Sequence[str]]] = [("systems", self.systems), ("benchmarks", shown)]
        rows.append(("samples", [f"{plural(len(self.samples), 'number')} of {plural(len(self.metrics), 'metric')}"]))
        if failed:
            rows.append(
                ("failed", [f"{plural(failed, 'execution')}, which {'is' if failed == 1 else 'are'} in no number"])
            )
        if of.left_out:
            rows.append(("left out", [left_out_words(evidence(of))]))
        rows += [("remark", [remark]) for remark in self.remarks]
        return rows


def load(
    directory: str | os.PathLike[str] = ".",
    *,
    systems: Names = (),
    benchmarks: Names = (),
    host: str | None = None,
    captures: Names = (),
    any_source: bool = False,
) -> Results:
    """The results that `layoutrand run` recorded for the project in ``directory``, or above it, as they are now.

    Later executions are not in it: load again for these.  ``systems`` (names or patterns) and ``benchmarks`` are those
    that samples are of, none for all.  ``host`` is the machine whose results to take, this one by default;
    ``captures`` names captures by the beginnings of their ids; ``any_source`` takes what was executed last, whatever
    the source is now.  Without these, results of another source or configuration than the present one are refused, as
    the commands do.

    Raises `UsageError` where there is no project, no such name or nothing recorded, `ConfigError` for a wrong
    layoutrand.toml, `AnalysisError` where nothing recorded belongs to the question and `ResultsError` for a file that
    cannot be read.
    """
    place = project_of(Path(directory))
    config, remarks = read_config(place)
    own = match_systems(config, _names(systems)) if systems else []
    chosen = tuple(own), tuple(_names(benchmarks))
    origin = _Recorded(place, config, Which(host, _names(captures), any_source))
    return Results(origin, f"{config.project.name} in {place}", chosen, remarks)


def load_files(
    *files: str,
    format_name: str | None = None,
    names_are: Literal["benchmarks", "systems"] = "benchmarks",
    warmup: int = 0,
    systems: Names = (),
    benchmarks: Names = (),
) -> Results:
    """Results of other harnesses, or exported ones, from files as ``--import`` of the commands takes them.

    Each of ``files`` is ``FILE``, ``NAME=FILE`` or ``NAME:SEED=FILE``, NAME being the system; ``NAME:*=PATTERN`` takes
    every file that matches, * being the seed.  ``format_name`` None goes by the content; ``names_are`` says what names
    within the files stand for; ``warmup`` is how many first iterations of each execution to leave out.  The files are
    read again for each question.  Raises `UsageError` where one cannot be read or it is not clear what is of what.
    """
    from layoutrand.config.config import choose
    from layoutrand.interop import formats
    from layoutrand.interop.importing import ImportQuestion, wanted_files

    if not files:
        raise UsageError("name at least one file to load")
    choose("format", [] if format_name is None else [format_name], list(formats.FORMATS))
    choose("meaning of names_are", [names_are], ["benchmarks", "systems"])
    if warmup < 0:
        raise UsageError(f"warmup {warmup}: must be 0 or more")
    chosen = tuple(_names(systems)), tuple(_names(benchmarks))
    question = ImportQuestion([str(file) for file in files], format_name, names_are, warmup, *chosen)
    shown = f"{len(wanted_files(question.files))} files" if len(files) > 1 else str(files[0])
    return Results(_Imported(question), f"imported from {shown}", chosen)


def _names(given: Names) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _checked(systems: Sequence[str]) -> Sequence[str]:
    """Baseline and candidates; raises `UsageError` where these make no comparison."""
    baseline, candidates = systems[0], systems[1:]
    if not candidates:
        raise UsageError(
            f"compare {baseline} with what? Name a candidate, or {baseline} again to compare it with itself"
        )
    if len(set(candidates)) < len(candidates):
        raise UsageError("a candidate is named twice")
    if baseline in candidates and len(candidates) > 1:
        raise UsageError(f"{baseline} would be compared with itself among others; compare it with itself alone")
    return systems


def _checked_confidence(confidence: float) -> float:
    low, high = _CONFIDENCES
    if not low <= confidence <= high:
        raise UsageError(f"confidence {confidence}: must lie between {low} and {high}")
    return confidence
