"""Experiments as data: results files with chosen measurements, without executing anything."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from layoutrand.analysis.asked_results import Question
from layoutrand.analysis.selection import Selection, select
from layoutrand.config.config import Config
from layoutrand.execute import experiment as experiments
from layoutrand.model import BuildFailure, BuiltFrom, Execution, LayoutName, Measurement, Node
from layoutrand.results.file import open_for_reading, open_for_writing, results_path

Data = Mapping[LayoutName, Sequence[Sequence[float]]]
"""Layout -> (execution, iteration); of a seed all executions in its round, of a control each in a round of its own."""


def digest(system: str, layout: LayoutName) -> str:
    """That of the binary that `execution` records."""
    return hashlib.sha256(f"{system}-{layout}".encode()).hexdigest()


def execution(config: Config, project: Path, system: str, benchmark: str, layout: LayoutName, **changes) -> Execution:
    """A successful execution without measurements, as `execute` would record it."""
    chosen = next(b for b in config.benchmarks if b.name == benchmark)
    instrument = changes.get("instrument", "native")
    definition = experiments.definitions(config, [chosen], project)[benchmark, instrument]
    fields = {
        "system": system,
        "benchmark": benchmark,
        "definition": definition,
        "layout": layout,
        "instrument": instrument,
        "repetition": 0,
        "round": layout if isinstance(layout, int) else 1,
        "attempt": 1,
        "order": 0,
        "binary_sha256": digest(system, layout),
        "capture": f"capture-of-{system}",
        "status": "ok",
        "reason": "",
        "returncode": 0,
        "signal": None,
        "started_at": 1.0,
        "wall_s": 1.0,
        "rusage": {},
        "env_size": None,
        "argv": (),
        "log": "",
        "conditions": {},
        "host_state": {},
        "disturbances": (),
        "measurements": (),
    }
    return Execution(**fields | changes)


def measured(
    config: Config, project: Path, system: str, benchmark: str, data: Data, *, metric: str = "wall_s", unit: str = "s"
) -> list[Execution]:
    """Executions with these measurements of one metric."""
    rows = []
    for layout, executions in data.items():
        for number, iterations in enumerate(executions):
            place = {"repetition": number} if isinstance(layout, int) else {"round": number}
            values = tuple(Measurement(metric, unit, k, float(v), warmup=False) for k, v in enumerate(iterations))
            rows.append(execution(config, project, system, benchmark, layout, measurements=values, **place))
    return rows


def rounds(
    config: Config,
    project: Path,
    system: str,
    benchmark: str,
    nodes: Mapping[int, str],
    values: Mapping[LayoutName, Mapping[int, float]],
) -> list[Execution]:
    """Executions on nodes: the round of each seed on its node, with the controls that ``values`` has.

    ``values`` are layout -> seed of the round -> measurement; "seed" stands for the seed's own layout.
    """
    rows = []
    for order, (seed, node) in enumerate(nodes.items()):
        for layout, own in values.items():
            if seed in own:
                measurement = Measurement("wall_s", "s", 0, float(own[seed]), warmup=False)
                rows.append(
                    execution(
                        config,
                        project,
                        system,
                        benchmark,
                        seed if layout == "seed" else layout,
                        round=seed,
                        order=order,
                        started_at=float(order),
                        node=node,
                        measurements=(measurement,),
                    )
                )
    return rows


def write(
    config: Config,
    project: Path,
    executions: Sequence[Execution],
    build_failures: Sequence[BuildFailure] = (),
    nodes: Sequence[Node] = (),
    built: Sequence[BuiltFrom] = (),
    tools: Mapping[str, Mapping[str, str]] | None = None,
    **experiment,
) -> None:
    """Record them as one experiment, of captures built from what ``built`` says, with ``tools``.

    Keywords change its fields.
    """
    with open_for_writing(results_path(project)) as store:
        identity = dataclasses.replace(experiments.current_experiment(config), **experiment)
        context = dataclasses.replace(experiments.current_context(config, built=built), tools=tools or {})
        ids = store.begin(identity, context)
        for item in executions:
            store.record(ids, item)
        for node in nodes:
            store.record_node(ids[0], node)
        captures = {name: f"capture-of-{name}" for name in config.systems}
        store.replace_build_failures(ids[0], captures, build_failures)


def selected(config: Config, project: Path, **changes) -> Selection:
    """What `select` makes of the project's results; all systems and benchmarks unless ``changes`` says otherwise."""
    fields = {"systems": [], "benchmarks": [], "captures": {}, "host": None} | changes
    with open_for_reading(results_path(project)) as store:
        return select(Question(config=config, project=project, **fields), store)
