"""What is asked of the results file, and the experiment in it that the question is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from layoutrand.analysis.present_captures import WantedCaptures
from layoutrand.config.config import Config
from layoutrand.errors import AnalysisError
from layoutrand.execute import experiment as experiments
from layoutrand.model import Experiment
from layoutrand.results.experiments import ResultsStore
from layoutrand.warning import plural


@dataclass(frozen=True)
class Question:
    """What to analyse: names of systems and benchmarks, each empty for all.

    ``captures`` maps systems to capture ids; a system that is not in it is analysed by the capture that the last
    `layoutrand run` with it was about.
    ``wanted`` says which other captures are taken than those of the present configuration and source.
    ``host`` is the name of the machine whose results to take, None for this one.
    """

    config: Config
    project: Path
    systems: Sequence[str]
    benchmarks: Sequence[str]
    captures: Mapping[str, str]
    host: str | None
    wanted: WantedCaptures = field(default_factory=WantedCaptures)


def recorded_experiment(question: Question, store: ResultsStore) -> tuple[Experiment, list[Experiment]]:
    """The recorded experiment that the configuration describes, on the host asked for, and those that it is made of.

    With a cluster configured it is the one executed on nodes; several of them where these may be unlike.
    """
    recorded = [(experiment, count) for experiment, count in store.experiments() if count]
    current = experiments.current_experiment(question.config)
    here = experiments.current_experiment(question.config.here())
    remote = question.config.remote
    found = []
    for experiment, _ in recorded:
        pool = experiments.is_pool(experiment)
        if question.host is not None:
            same_host = question.host in {experiment.hostname, experiment.host}
        else:
            same_host = experiment.host == current.host if remote is None else pool
        if same_host and experiments.same_question(experiment, current if pool else here):
            found.append(experiment)
    if len(found) > 1 and remote is not None and question.host is None:
        if not remote.measure.unlike_cpus:
            raise AnalysisError(unlike([(e, count) for e, count in recorded if e in found]))
        together = " and ".join(sorted(experiment.hostname for experiment in found))
        return replace(found[-1], hostname=together), found
    if found:
        return found[-1], found[-1:]
    if not recorded and store.damaged:
        raise AnalysisError(f"{store.path} holds no experiment that is as it was recorded; `layoutrand results verify`")
    if not recorded:
        raise AnalysisError(f"{store.path} holds no executions yet; make some with `layoutrand run`")
    host = question.host or (current.hostname if question.config.remote is None else "any nodes")
    lines = [
        f"{store.path} holds no results for this configuration:",
        f"    project {current.project}, layout {current.policy}, randomise {current.randomise}, "
        f"protocol {current.protocol}, host {host}",
        "It has:",
        *(
            f"  - {plural(count, 'execution')}: project {e.project}, layout {e.policy}, randomise {e.randomise}, "
            f"protocol {e.protocol}, host {e.hostname}"
            for e, count in recorded
        ),
        "Execute this configuration with `layoutrand run`, set layoutrand.toml to one of these, or name their host.",
    ]
    raise AnalysisError("\n".join(lines))


def unlike(pools: Sequence[tuple[Experiment, int]]) -> str:
    """What to say where unlike pools would have to be mixed: (pool, its executions)."""
    return "\n".join(
        [
            "executed on nodes with unlike processors, which are not analysed together unless you say so:",
            *(f"  - {plural(count, 'execution')}: {experiment.hostname}" for experiment, count in pools),
            "Name one with --host, or set unlike_cpus = true under [cluster.measure].",
        ]
    )
