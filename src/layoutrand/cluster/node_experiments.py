"""Experiments on nodes: the executions of nodes with one kind of processor are one.

Unlike processors are not mixed unless ``cluster.measure.unlike_cpus`` says so: the first node that begins settles which
kind executes a run, and the results of earlier calls settle it before that.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from layoutrand.analysis.asked_results import unlike
from layoutrand.cluster.measuring_task import agreement_name
from layoutrand.cluster.returned_executions import ReturnedExecution
from layoutrand.cluster.returned_records import ReturnedRecords
from layoutrand.config.schedule import Slot
from layoutrand.errors import ClusterError
from layoutrand.execute import experiment as experiments
from layoutrand.execute.run_plan import RunPlan
from layoutrand.execute.run_progress import Known, known
from layoutrand.execute.workplace import keep_files
from layoutrand.host.facts import host_facts, processor
from layoutrand.model import Context, Execution, Experiment, Node, SlotKey
from layoutrand.results.experiments import ResultsStore

LOST: Final = "lost"
"""The status of an execution that no node brought to an end."""


class NodeExperiments:
    """The experiments of one configuration on nodes, in the results file."""

    def __init__(self, plan: RunPlan, store: ResultsStore, records: ReturnedRecords) -> None:
        """Record into the store; nothing is read or written yet."""
        self._plan, self._store, self._records = plan, store, records
        self._config = plan.request.config
        assert self._config.remote is not None
        self._wish = self._config.remote.measure
        self._ids: dict[str, tuple[int, int]] = {}
        self._known_kinds: dict[str, tuple[int, int]] = {}
        self._nodes: set[tuple[str, str]] = set()

    @property
    def results(self) -> Path:
        """The results file."""
        return self._store.path

    def known(self) -> Known:
        """What the results have of the plan's slots, of one kind of node or of all."""
        chosen = self._chosen()
        for experiment in chosen:  # also where nothing is left to be executed, these are the captures of now
            self._begun(experiment, processor(self._store.nodes(experiment)[-1].facts))
        found = [known(self._store, experiment, self._plan) for experiment in chosen]
        return Known(
            {key: attempts for each in found for key, attempts in each.attempts.items()},
            [execution for each in found for execution in each.executions],
        )

    def propose(self) -> None:
        """Let nodes know which processor executed what the results have already."""
        if self._wish.unlike_cpus or self._records.agreed(agreement_name(self._config)) is not None:
            return
        for experiment in self._chosen():
            for node in self._store.nodes(experiment)[:1]:
                self._records.agree(agreement_name(self._config), processor(node.facts))

    def record(self, returned: ReturnedExecution) -> Execution | None:
        """Record what arrived, and the output of what failed; None if it was recorded before.

        What was recorded as lost and arrives after all is the attempt that follows.
        """
        ids = self._ids_of(processor(returned.facts))
        execution = returned.execution
        self._note(ids[0], Node(execution.node, returned.facts))
        while (status := self._store.status(ids[0], execution)) == LOST:
            execution = replace(execution, attempt=execution.attempt + 1)
        if status is not None:
            return None
        if execution.log:  # before the record, which would name what is not there if this were killed in between
            keep_files(self._plan.request.project, execution.log, returned.output)
        self._store.record(ids, execution)
        return execution

    def record_lost(self, key: SlotKey, slot: Slot, attempt: int, reason: str) -> Execution:
        """Record that no node brought this execution to an end; raises `ClusterError` where no node ever began."""
        kind = self._records.agreed(agreement_name(self._config))
        if kind is not None:
            experiment = experiments.pool_experiment(self._config, kind)
        elif chosen := self._chosen():
            experiment, kind = chosen[-1], processor(self._store.nodes(chosen[-1])[-1].facts)
        else:
            raise ClusterError(f"no node ever began to execute anything; {reason}")
        execution = Execution(
            **vars(key),
            attempt=attempt,
            order=slot.order,
            status=LOST,
            reason=self._plan.request.redaction.text(reason),
            returncode=None,
            signal=None,
            started_at=time.time(),
            wall_s=0.0,
            rusage={},
            env_size=None,
            argv=(),
            log="",
            conditions={},
            host_state={},
            disturbances=(),
            measurements=(),
        )
        self._store.record(self._begun(experiment, kind), execution)
        return execution

    def _chosen(self) -> list[Experiment]:
        """Those whose executions count, as far as the results have any; raises `ClusterError` for unlike ones."""
        question = experiments.current_experiment(self._config)
        recorded = [(experiment, count) for experiment, count in self._store.experiments() if count]
        found = [
            (experiment, count)
            for experiment, count in recorded
            if experiments.is_pool(experiment) and experiments.same_question(experiment, question)
        ]
        if self._wish.unlike_cpus:
            return [experiment for experiment, _ in found]
        agreed = self._records.agreed(agreement_name(self._config))
        if agreed is not None:
            own = experiments.pool_experiment(self._config, agreed)
            return [experiment for experiment, _ in found if experiment.host == own.host]
        if self._wish.cpu is not None:
            found = [row for row in found if self._has(row[0], self._wish.cpu)]
        if len(found) > 1:
            raise ClusterError(unlike(found))
        return [experiment for experiment, _ in found]

    def _has(self, experiment: Experiment, cpu: str) -> bool:
        return any(node.facts.get("cpu_model") == cpu for node in self._store.nodes(experiment))

    def _ids_of(self, kind: Mapping[str, Any]) -> tuple[int, int]:
        name = str(sorted(kind.items()))
        if name not in self._known_kinds:
            self._known_kinds[name] = self._begun(experiments.pool_experiment(self._config, kind), kind)
        return self._known_kinds[name]

    def _begun(self, experiment: Experiment, kind: Mapping[str, Any]) -> tuple[int, int]:
        if experiment.host not in self._ids:
            ids = self._store.begin(experiment, self._context(experiment, kind))
            request = self._plan.request
            self._store.replace_build_failures(ids[0], request.built.captures, request.built.failures)
            self._ids[experiment.host] = ids
        return self._ids[experiment.host]

    def _context(self, experiment: Experiment, kind: Mapping[str, Any]) -> Context:
        """The context of this call, in which the submitting machine has no part."""
        request = self._plan.request
        facts = {**dict.fromkeys(host_facts()), **kind, "hostname": experiment.hostname}
        built = request.built
        return replace(
            experiments.current_context(self._config, built.tools, built.captures, built.built), host_facts=facts
        )

    def _note(self, experiment_id: int, node: Node) -> None:
        name = node.name, str(sorted(node.facts.items()))
        if name not in self._nodes:
            self._store.record_node(experiment_id, node)
            self._nodes.add(name)
