"""Of recorded executions those that are about the present: captures, definitions of benchmarks, and binaries.

What is left out is said, in warnings that are added to those given.
"""

from __future__ import annotations

from collections.abc import Mapping

from layoutrand.analysis.analysis_warnings import EarlierDefinition, OtherCaptures, RebuiltBinaries
from layoutrand.errors import AnalysisError
from layoutrand.execute.cases import processes
from layoutrand.model import Execution, Experiment
from layoutrand.warning import AnyWarning, plural, sentences_of


def current_captures(
    executions: list[Execution], captures: Mapping[str, str], warnings: list[AnyWarning]
) -> list[Execution]:
    """Those of the capture that is wanted of each system, else of the one executed last."""
    # Clocks of nodes may differ, and a node may end what it was asked for before the source was changed: what the last
    # call was about is recorded, and when an execution began matters only where that call has executed nothing of a
    # system yet.
    latest = {execution.system: execution.capture for execution in sorted(executions, key=lambda e: e.started_at)}
    wanted = latest | {system: capture for system, capture in captures.items() if system in latest}
    kept = [execution for execution in executions if execution.capture == wanted[execution.system]]
    for system in wanted:
        left_out = [e for e in executions if e.system == system and e.capture != wanted[system]]
        if left_out and wanted[system]:  # what has no present capture was told of whole
            n_captures = len({execution.capture for execution in left_out})
            warnings.append(OtherCaptures(processes(left_out), system, n_captures, wanted[system]))
    return kept


def current_definitions(
    executions: list[Execution], definitions: Mapping[tuple[str, str], str], warnings: list[AnyWarning]
) -> list[Execution]:
    """Those of the benchmarks as they are defined now."""
    kept, left_out = [], dict[str, int]()
    for execution in executions:
        current = definitions.get((execution.benchmark, execution.instrument))
        if execution.definition == current:
            kept.append(execution)
        elif current is not None:
            left_out[execution.benchmark] = left_out.get(execution.benchmark, 0) + 1
    alike: dict[int, list[str]] = {}
    for benchmark, count in left_out.items():
        alike.setdefault(count, []).append(benchmark)
    warnings += [EarlierDefinition(count, tuple(benchmarks)) for count, benchmarks in alike.items()]
    return kept


def current_binaries(executions: list[Execution], warnings: list[AnyWarning]) -> list[Execution]:
    """A layout linked anew into other bytes is another binary: only the one executed last counts."""
    latest = {
        (e.system, e.benchmark, e.layout): e.binary_sha256 for e in sorted(executions, key=lambda e: e.started_at)
    }
    kept = [e for e in executions if e.binary_sha256 == latest[e.system, e.benchmark, e.layout]]
    if len(kept) < len(executions):
        warnings.append(RebuiltBinaries(len(executions) - len(kept)))
    return kept


def nothing_left(
    experiment: Experiment,
    everything: list[Execution],
    systems: list[str],
    names: list[str],
    warnings: list[AnyWarning],
) -> AnalysisError:
    """What to say where no execution is left: what the experiment has instead, and why that was left out."""
    counts: dict[tuple[str, str, str], int] = {}
    for execution in everything:
        key = (execution.system, execution.benchmark, execution.capture[:12])
        counts[key] = counts.get(key, 0) + 1
    lines = [
        f"no results of {', '.join(names)} with {', '.join(systems)} as configured now. {experiment.hostname} has:",
        *(
            f"  - {plural(n, 'execution')} of {b} with system {s}, capture {c}"
            for (s, b, c), n in sorted(counts.items())
        ),
        *sentences_of(warnings),
        "Execute them with `layoutrand run`.",
    ]
    return AnalysisError("\n".join(lines))
