"""`layoutrand run` on the nodes of a cluster: rounds are given out, and executions recorded as they arrive.

Read `execute_on_nodes` from top to bottom: each step says what is true afterwards.  Only this side opens the results
file.  A node leaves each execution in the shared directory when it has ended; what waits there when this begins was
left for a run that was killed, and is taken first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from layoutrand.cache.store import Cache
from layoutrand.capture.origin import Say
from layoutrand.cluster.measuring_node import execute_task
from layoutrand.cluster.measuring_task import MeasuringAnswer, MeasuringTask, record_key
from layoutrand.cluster.node_experiments import NodeExperiments
from layoutrand.cluster.returned_executions import ReturnedExecution, take_record, take_records
from layoutrand.cluster.returned_records import ReturnedRecords
from layoutrand.cluster.shared_directory import SharedDirectory
from layoutrand.cluster.task_distributor import TaskDistributor, TaskProblem
from layoutrand.cluster.task_inputs import RUN_DIGITS, run_name, send_description
from layoutrand.config.schedule import Slot
from layoutrand.engines.engine import Remote, TaskExecutor
from layoutrand.errors import ClusterError
from layoutrand.execute.live import Live
from layoutrand.execute.run_plan import RunPlan, RunRequest, make_plan
from layoutrand.execute.run_progress import Known, RunProgress, Summary, cost, limit_words, summarised
from layoutrand.host.attempts import Attempts, is_to_be_repeated
from layoutrand.model import Execution, SlotKey
from layoutrand.results.experiments import ResultsStore
from layoutrand.results.file import exclusive_use
from layoutrand.text.quantities import duration
from layoutrand.warning import plural


@dataclass(frozen=True)
class MeasuringCluster:
    """Nodes behind an ``executor``, which share the ``shared`` directory; ``cache`` is this machine's."""

    executor: TaskExecutor
    shared: SharedDirectory
    settings: Remote
    cache: Cache
    jobs: int
    stopped: Callable[[], bool] = lambda: False


def execute_on_nodes(
    request: RunRequest,
    *,
    store: ResultsStore,
    cluster: MeasuringCluster,
    progress: Callable[[RunProgress], None],
    say: Say,
) -> Summary:
    """Bring the results up to the schedule; ``progress`` is called for each execution that arrives.

    Raises `UsageError` (also `ConfigError`) before anything is given out where the request cannot be met,
    `BundleError` where the shared directory cannot be used, `ClusterError` where no node can execute anything, and
    lets `KeyboardInterrupt` through.  In every case all executions that arrived are recorded.
    """
    # Everything that can be known of the executions here was checked: names, inputs, what cannot travel.
    plan = make_plan(request, here=False)
    with exclusive_use(store.path, wait_s=request.choices.wait_s, on_wait=say):
        # What nodes left for a run that was killed is recorded.
        records = ReturnedRecords(cluster.shared.root, run_name(plan), trust_group=cluster.shared.trust_group)
        experiments = NodeExperiments(plan, store, records)
        submitting = _SubmittingSide(plan, experiments, records, cluster, progress, say)
        submitting.poll(everything=True)
        # Known slots are left out.
        before = experiments.known()
        pending = [slot for slot in plan.slots if before.is_due(plan.key(slot), request)]
        submitting.begin(before, pending)
        if pending:
            # Inputs, captures and binaries are where nodes find them.
            experiments.propose()
            sent = send_description(
                plan,
                pending,
                shared=cluster.shared,
                cache=cluster.cache,
                jobs=cluster.jobs,
                node_cache=cluster.settings.cache or "",
                say=say,
            )
            # Milestone: from here on, nodes execute.
            submitting.distribute(list(sent.tasks(plan, pending, before, cluster.settings)))
    return submitting.summary()


def over_limit(live: Live, tasks: Sequence[MeasuringTask], limit_s: float | None) -> str:
    """That tasks take longer than their jobs are let, as far as earlier executions tell, and what helps; else nothing.

    What such a task has finished is kept, and the rest given out again, at the cost of the execution in flight.
    """
    slots = [[slot for slot, _ in task.slots] for task in tasks]
    over = [] if limit_s is None else [s for own in slots if (s := live.executing_s(own) or 0.0) > limit_s]
    if limit_s is None or not over:
        return ""
    longest = max(live.executing_s([slot]) or 0.0 for own in slots for slot in own)
    minutes = "more minutes under [cluster.measure]"
    if longest > limit_s:
        return (
            f"an execution takes about {duration(longest)}, and a job has {duration(limit_s)}: it will be ended before "
            f"it is done, however often it is given out; give {minutes}"
        )
    fewer = (
        ", or fewer rounds to a task" if any(len({(e.round, e.repetition) for e in own}) > 1 for own in slots) else ""
    )
    return (
        f"{len(over):,} of {plural(len(tasks), 'task')} take longer than the {duration(limit_s)} that a job has (about "
        f"{duration(max(over))}): what is left then is given out again, and the execution in flight made anew; give "
        f"{minutes}{fewer}"
    )


class _SubmittingSide:
    """The submitting side of one call."""

    def __init__(
        self,
        plan: RunPlan,
        experiments: NodeExperiments,
        records: ReturnedRecords,
        cluster: MeasuringCluster,
        progress: Callable[[RunProgress], None],
        say: Say,
    ) -> None:
        self._plan, self._experiments, self._records, self._cluster = plan, experiments, records, cluster
        self._progress, self._say = progress, say
        self._begun: dict[SlotKey, Attempts] = {}
        self._came: dict[SlotKey, dict[int, Execution]] = {}
        self._open: dict[SlotKey, Slot] = {}
        self._seen: dict[str, SlotKey] = {}
        self._recorded: list[Execution] = []
        self._before = Known({}, ())
        self._live = Live({}, (), ())
        self._pending = self._twice = 0
        self._refusals: dict[str, None] = {}
        self._told: set[tuple[str, str]] = set()

    def begin(self, before: Known, pending: Sequence[Slot]) -> None:
        """These slots are to be executed; nothing is given out yet."""
        repeat = self._plan.request.config.run.disturbance.repeat
        self._before, self._recorded, self._pending = before, list(before.executions), len(pending)
        self._open = {self._plan.key(slot): slot for slot in pending}
        self._begun = {key: before.attempts.get(key, Attempts()).begun(repeat=repeat) for key in self._open}
        self._live = Live(self._plan.benchmarks, before.executions, pending, self._plan.systems)
        if pending:
            limit = limit_words(self._plan.benchmarks, pending, before.ended(self._plan))
            self._say(cost(self._live, len(pending), len(self._plan.slots) - len(pending), limit))

    def distribute(self, tasks: Sequence[MeasuringTask]) -> None:
        """Give the tasks out until each of their slots was executed, or was lost too often."""
        if too_long := over_limit(self._live, tasks, self._cluster.settings.measuring_limit_s):
            self._say(too_long)
        wanted = [task.token for task in tasks]
        if count := self._cluster.executor.forget_others(tasks[0].token[:RUN_DIGITS], wanted):
            self._say(f"{plural(count, 'task')} of an earlier call, not wanted any more: cancelled")
        distributor: TaskDistributor[MeasuringTask, MeasuringAnswer] = TaskDistributor(
            self._cluster.executor,
            execute_task,
            self,
            retries=self._cluster.settings.retries,
            stopped=self._cluster.stopped,
            doing="executing",
        )
        try:
            distributor.distribute(tasks)
        finally:
            self.poll(everything=True)  # also what arrived while this was interrupted

    def poll(self, *, everything: bool = False) -> None:
        """Record what has arrived; ``everything`` also drops what no task that is out may look for."""
        for returned in take_records(self._records, self._seen, self._say_once):
            self._returned(returned)
        if everything:
            self._drop(list(self._seen))

    def answered(self, answer: MeasuringAnswer) -> TaskProblem | None:
        """Record what a task has left, and tell what its node had to say."""
        self.poll()
        for note in answer.notes:
            if (answer.node, note) not in self._told:
                self._told.add((answer.node, note))
                self._say(f"node {answer.node}: {note}")
        if answer.refused:
            return TaskProblem(f"node {answer.node} cannot execute it: {answer.refused}", answer.refused, answer.node)
        return None

    def left(self, task: MeasuringTask) -> MeasuringTask | None:
        """The task with those of its slots that are still to be executed."""
        keys = [self._plan.key(slot) for slot, _ in task.slots]
        own = set(keys)
        self._look_for(keys)
        self._drop([name for name, key in self._seen.items() if key in own])
        waiting = tuple(
            (slot, self._attempts(key)) for key, (slot, _) in zip(keys, task.slots, strict=True) if key in self._open
        )
        return replace(task, slots=waiting) if waiting else None

    def _look_for(self, keys: Sequence[SlotKey]) -> None:
        """Ask by name for records that the task may have left: of a shared directory the listing may be old."""
        for key in keys:
            while key in self._open:
                name = record_key(key, self._attempts(key).made + 1)
                returned = None if name in self._seen else take_record(self._records, name, self._say_once)
                if returned is None:
                    break
                self._returned(returned)

    def again(self, task: MeasuringTask, problem: TaskProblem) -> None:
        """Say that a task is given out again, and why."""
        self._say(f"{_named(task)}: {problem.brief}; given out again")

    def failed(self, task: MeasuringTask, attempts: int, problem: TaskProblem) -> None:
        """Record the executions as lost; where nodes refused, nothing was executed and nothing is recorded.

        Raises `ClusterError` where the executor is gone: that says nothing of the executions.
        """
        if problem.gone:
            raise ClusterError(
                f"{problem.words}. What arrived is recorded; see to the engine and give the same command again"
            )
        if problem.node:
            self._refusals.setdefault(problem.words)
            return
        times = "once" if attempts == 1 else f"{attempts} times"
        reason = f"given out {times}: {problem.words}"
        for slot, _ in task.slots:
            key = self._plan.key(slot)
            if key in self._open:
                self._lost(key, slot, reason)

    def summary(self) -> Summary:
        """What this call did; raises `ClusterError` where nodes refused all that there was to do."""
        if self._twice:
            self._say(
                f"{plural(self._twice, 'execution')} arrived twice, as a lost node was not quite lost; the first counts"
            )
        executed = self._pending - len(self._open)
        if self._refusals and not executed:
            raise ClusterError(
                "\n".join(["no node can execute anything:", *(f"  - {each}" for each in self._refusals)])
            )
        return summarised(
            self._plan,
            self._experiments.results,
            self._before,
            self._recorded,
            pending=self._pending,
            executed=executed,
            waiting=len(self._open),
            refusals=tuple(self._refusals),
        )

    def _returned(self, returned: ReturnedExecution) -> None:
        self._seen[returned.name] = returned.key
        execution = self._experiments.record(returned)
        if execution is None:
            self._twice += returned.key in self._begun
            return
        self._settle(returned.key, execution)

    def _lost(self, key: SlotKey, slot: Slot, reason: str) -> None:
        execution = self._experiments.record_lost(key, slot, self._attempts(key).made + 1, reason)
        self._settle(key, execution)

    def _settle(self, key: SlotKey, execution: Execution) -> None:
        if key not in self._open:
            return
        self._recorded.append(execution)
        self._came.setdefault(key, {})[execution.attempt] = execution
        if is_to_be_repeated(self._attempts(key), repeat=self._plan.request.config.run.disturbance.repeat):
            return
        del self._open[key], self._came[key]
        self._live.add(execution)
        total = len(self._plan.slots)
        self._progress(RunProgress(total - len(self._open), total, execution, self._live))

    def _attempts(self, key: SlotKey) -> Attempts:
        """The attempts at an open slot by now, in their order, whatever the order in which they arrived."""
        came = self._came.get(key, {})
        return reduce(lambda history, attempt: history.after(came[attempt]), sorted(came), self._begun[key])

    def _say_once(self, words: str) -> None:
        if ("", words) not in self._told:
            self._told.add(("", words))
            self._say(words)

    def _drop(self, names: Sequence[str]) -> None:
        for name in names:
            self._records.drop(name)
            del self._seen[name]


def _named(task: MeasuringTask) -> str:
    rounds = ", ".join(str(seed) for seed in dict.fromkeys(slot.round for slot, _ in task.slots))
    return f"round {rounds} ({plural(task.size, 'execution')} left)"
