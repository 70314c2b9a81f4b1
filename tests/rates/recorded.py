"""Experiments of known truth as recorded results: what a real run would have left, and what commands say of it."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from experiments import write
from layoutrand.analysis.aa import compare_halves
from layoutrand.analysis.analyse import analyse
from layoutrand.analysis.asked_results import Question
from layoutrand.analysis.compare import compare_several
from layoutrand.analysis.documents import analyse_document, comparisons_document, halves_document
from layoutrand.analysis.plan import HALF_WIDTHS, make_plans
from layoutrand.analysis.plan_document import plan_document
from layoutrand.analysis.selection import Selection, select
from layoutrand.config.config import Config, parse
from layoutrand.config.doubled import with_second
from layoutrand.config.twice import second_of, second_seed
from layoutrand.execute import experiment as experiments
from layoutrand.model import BuildFailure, Context, Execution, Experiment, Measurement, Node
from layoutrand.results.experiments import ResultsStore
from rates.worlds import SYSTEMS, Plan

Document = dict[str, Any]
CONFIDENCE = 0.95
METRIC = "wall_s"
HEAD = """\
[project]
name = "rates"
[build]
source = "src"
commands = ["make"]
artefacts = ["prog"]
"""


@lru_cache(maxsize=8)
def config_of(n_benchmarks: int) -> Config:
    """The configuration that the experiments are of."""
    return parse(text_of(n_benchmarks), path="layoutrand.toml")


def text_of(n_benchmarks: int) -> str:
    """The configuration's text."""
    systems = "".join(f"[systems.{name}]\n" for name in SYSTEMS)
    tables = "".join(
        f'[[benchmarks]]\nname = "b{k}"\ncommand = ["{{artefact}}"]\nmetric = {{ wall = true }}\n'
        for k in range(n_benchmarks)
    )
    return HEAD + systems + tables


class Memory:
    """Results in memory: what `select` reads of a results file."""

    path = Path("results.sqlite")
    damaged = ()

    def __init__(self, config: Config, executions: list[Execution]) -> None:
        self._experiment, self._context = _facts(len(config.benchmarks))
        self._executions = executions

    def experiments(self) -> list[tuple[Experiment, int]]:
        return [(self._experiment, len(self._executions))]

    def executions(self, _experiment: Experiment) -> list[Execution]:
        return self._executions

    def contexts(self, _experiment: Experiment) -> list[Context]:
        return [self._context]

    def current_captures(self, _experiment: Experiment) -> dict[str, str]:
        return {each.system: each.capture for each in self._executions}

    def build_failures(self, _experiment: Experiment, _captures: Any) -> list[BuildFailure]:
        return []

    def nodes(self, _experiment: Experiment) -> list[Node]:
        return []


@lru_cache(maxsize=8)
def _facts(n_benchmarks: int) -> tuple[Experiment, Context]:
    config = config_of(n_benchmarks)
    return experiments.current_experiment(config), experiments.current_context(config)


@lru_cache(maxsize=8)
def _definitions(n_benchmarks: int) -> dict[tuple[str, str], str]:
    config = config_of(n_benchmarks)
    return experiments.definitions(config, list(config.benchmarks), Path())


def executions_of(plan: Plan, seconds: Any, failed: Any, n_benchmarks: int) -> list[Execution]:
    """What `run` would have recorded."""
    definitions = _definitions(n_benchmarks)
    clock, rows = 1.7e9, []
    for slot, value, is_lost in zip(plan.slots, seconds.tolist(), failed.tolist(), strict=True):
        clock += value + 0.05
        rows.append(
            Execution(
                system=slot.system,
                benchmark=slot.benchmark,
                definition=definitions[slot.benchmark, "native"],
                layout=slot.layout,
                instrument="native",
                repetition=slot.repetition,
                round=slot.round,
                attempt=1,
                order=slot.order,
                binary_sha256=f"sha-{slot.system}-{slot.layout}",
                capture=f"capture-of-{slot.system}",
                status="exit" if is_lost else "ok",
                reason="exit status 1" if is_lost else "",
                returncode=1 if is_lost else 0,
                signal=None,
                started_at=clock - value,
                wall_s=value,
                rusage={},
                env_size=None,
                argv=(),
                log="",
                conditions={},
                host_state={},
                disturbances=(),
                measurements=() if is_lost else (Measurement(METRIC, "s", 0, value, False),),
            )
        )
    return rows


def selection_of(executions: list[Execution], n_benchmarks: int, systems: Sequence[str] = ()) -> Selection:
    """What the commands work on."""
    config = config_of(n_benchmarks)
    question = Question(config=config, project=Path(), systems=systems, benchmarks=[], captures={}, host=None)
    return select(question, cast("ResultsStore", Memory(config, executions)))


def analysed(selection: Selection) -> Document:
    """What ``analyse --json`` prints."""
    return analyse_document(analyse(selection, confidence=CONFIDENCE, metrics=[]))


def compared(selection: Selection, threshold: float) -> Document:
    """What ``compare a b --json`` prints."""
    baseline, *candidates = SYSTEMS
    return comparisons_document(
        compare_several(selection, baseline, candidates, confidence=CONFIDENCE, threshold=threshold, metric=None)
    )


def executed_twice(executions: Sequence[Execution]) -> list[Execution]:
    """The same, but the second system is the first, executed a second time in layouts of its own."""
    first = SYSTEMS[0]
    return [
        execution
        if execution.system == first
        else replace(
            execution,
            system=second_of(first),
            layout=second_seed(execution.layout) if isinstance(execution.layout, int) else execution.layout,
            capture=f"capture-of-{first}",
        )
        for execution in executions
    ]


def selection_of_twice(executions: list[Execution], n_benchmarks: int) -> Selection:
    """What ``compare a a`` works on after `run --twice`."""
    config = with_second(config_of(n_benchmarks), SYSTEMS[:1])
    names = [SYSTEMS[0], second_of(SYSTEMS[0])]
    question = Question(config=config, project=Path(), systems=names, benchmarks=[], captures={}, host=None)
    return select(question, cast("ResultsStore", Memory(config, executions)))


def compared_with_itself(selection: Selection, threshold: float) -> Document:
    """What ``compare a a --json`` prints."""
    return halves_document(
        compare_halves(selection, SYSTEMS[0], confidence=CONFIDENCE, threshold=threshold, metric=None)
    )


def planned_from(selection: Selection, threshold: float) -> Document:
    """What ``plan --json`` prints."""
    plans = make_plans(selection, {}, half_widths=HALF_WIDTHS, threshold=threshold, confidence=CONFIDENCE)
    return plan_document(plans, confidence=CONFIDENCE)


def in_a_file(directory: Path, executions: list[Execution], n_benchmarks: int) -> None:
    """A project with these results, as the commands find it."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "layoutrand.toml").write_text(text_of(n_benchmarks))
    write(config_of(n_benchmarks), directory, executions)


def through_cli(directory: Path, *words: str) -> Document:
    """What the command prints, executed as a user does."""
    from layoutrand.cli import run

    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        run([*words, "--json", "-C", str(directory)])
    return cast("Document", json.loads(out.getvalue()))


def as_printed(document: Document) -> Document:
    """A document as it is after it was written and read."""
    return cast("Document", json.loads(json.dumps(document, default=list)))
