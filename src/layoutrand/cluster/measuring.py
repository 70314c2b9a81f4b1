"""`layoutrand run` on the nodes of a cluster: rounds are given out, and executions recorded as they come home.

Read `execute_on_nodes` from top to bottom: each step says what is true afterwards.  Only this side opens the results
file.  A node leaves each execution in the staging directory when it has ended; what waits there when this begins was
left for a run that was killed, and is taken first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from layoutrand.cache.store import Cache
from layoutrand.capture.origin import Say
from layoutrand.cluster.dealing import Dealer, TaskProblem
from layoutrand.cluster.measuring_node import execute_bout
from layoutrand.cluster.pools import Pools
from layoutrand.cluster.returned import Shelf
from layoutrand.cluster.shared_directory import Staging
from layoutrand.cluster.shelved import Arrival, take_record, take_records
from layoutrand.cluster.task import Bout, Ended, record_key
from layoutrand.cluster.task_inputs import RUN_DIGITS, run_name, send_orders
from layoutrand.config.schedule import Slot
from layoutrand.engines.engine import Remote, TaskExecutor
from layoutrand.errors import ClusterError
from layoutrand.execute.live import Live
from layoutrand.execute.run_plan import RunPlan, RunRequest, make_plan
from layoutrand.execute.run_progress import Known, RunProgress, Summary, summarised
from layoutrand.host.attempts import Attempts, is_to_be_repeated
from layoutrand.model import Execution, SlotKey
from layoutrand.results.experiments import ResultsStore
from layoutrand.results.file import exclusive_use


@dataclass(frozen=True)
class Nodes:
    """Nodes behind an ``executor``, which share the ``staging`` directory; ``cache`` is the home's."""

    executor: TaskExecutor
    staging: Staging
    settings: Remote
    cache: Cache
    jobs: int
    stopped: Callable[[], bool] = lambda: False


def execute_on_nodes(
    request: RunRequest, *, store: ResultsStore, nodes: Nodes, progress: Callable[[RunProgress], None], say: Say
) -> Summary:
    """Bring the results up to the schedule; ``progress`` is called for each execution that comes home.

    Raises `UsageError` (also `ConfigError`) before anything is given out where the request cannot be met,
    `BundleError` where the staging directory cannot be used, `ClusterError` where no node can execute anything, and
    lets `KeyboardInterrupt` through.  In every case all executions that came home are recorded.
    """
    # Everything that can be known of the executions here was checked: names, inputs, what cannot travel.
    plan = make_plan(request, here=False)
    with exclusive_use(store.path, wait_s=request.choices.wait_s, on_wait=say):
        # What nodes left for a run that was killed is recorded.
        shelf = Shelf(nodes.staging.root, run_name(plan))
        pools = Pools(plan, store, shelf)
        home = _Home(plan, pools, shelf, nodes, progress, say)
        home.take(everything=True)
        # Known slots are left out.
        before = pools.known()
        pending = [slot for slot in plan.slots if before.is_due(plan.key(slot), request)]
        home.begin(before, pending)
        if pending:
            # Inputs, captures and binaries are where nodes find them.
            pools.propose()
            sent = send_orders(
                plan,
                pending,
                staging=nodes.staging,
                cache=nodes.cache,
                jobs=nodes.jobs,
                node_cache=nodes.settings.cache or "",
                say=say,
            )
            # Milestone: from here on, nodes execute.
            home.deal(list(sent.bouts(plan, pending, before, nodes.settings)))
    return home.summary()


class _Home:
    """The submitting side of one call."""

    def __init__(
        self, plan: RunPlan, pools: Pools, shelf: Shelf, nodes: Nodes, progress: Callable[[RunProgress], None], say: Say
    ) -> None:
        self._plan, self._pools, self._shelf, self._nodes = plan, pools, shelf, nodes
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
        self._live = Live(self._plan.benchmarks, before.executions, pending)

    def deal(self, payloads: Sequence[Bout]) -> None:
        """Give the bouts out until each of their slots was executed, or was lost too often."""
        wanted = [payload.token for payload in payloads]
        if count := self._nodes.executor.forget_others(payloads[0].token[:RUN_DIGITS], wanted):
            self._say(f"{count} task(s) of an earlier call are not wanted any more and were cancelled")
        dealer: Dealer[Bout, Ended] = Dealer(
            self._nodes.executor,
            execute_bout,
            self,
            retries=self._nodes.settings.retries,
            stopped=self._nodes.stopped,
            doing="executing",
        )
        try:
            dealer.deal(payloads)
        finally:
            self.take(everything=True)  # also what came home while this was interrupted

    def take(self, *, everything: bool = False) -> None:
        """Record what has come home; ``everything`` also drops what no task that is out may look for."""
        for arrival in take_records(self._shelf, self._seen, self._say_once):
            self._arrived(arrival)
        if everything:
            self._drop(list(self._seen))

    def answered(self, answer: Ended) -> TaskProblem | None:
        """Record what a bout has left, and tell what its node had to say."""
        self.take()
        for note in answer.notes:
            if (answer.node, note) not in self._told:
                self._told.add((answer.node, note))
                self._say(f"node {answer.node}: {note}")
        if answer.refused:
            return TaskProblem(f"node {answer.node} cannot execute it: {answer.refused}", answer.refused, answer.node)
        return None

    def left(self, payload: Bout) -> Bout | None:
        """The bout with those of its slots that are still to be executed."""
        keys = [self._plan.key(slot) for slot, _ in payload.slots]
        own = set(keys)
        self._look_for(keys)
        self._drop([name for name, key in self._seen.items() if key in own])
        waiting = tuple(
            (slot, self._attempts(key)) for key, (slot, _) in zip(keys, payload.slots, strict=True) if key in self._open
        )
        return replace(payload, slots=waiting) if waiting else None

    def _look_for(self, keys: Sequence[SlotKey]) -> None:
        """Ask by name for records that the task may have left: of a shared directory the listing may be old."""
        for key in keys:
            while key in self._open:
                name = record_key(key, self._attempts(key).made + 1)
                arrival = None if name in self._seen else take_record(self._shelf, name, self._say_once)
                if arrival is None:
                    break
                self._arrived(arrival)

    def again(self, payload: Bout, problem: TaskProblem) -> None:
        """Say that a bout is given out again, and why."""
        self._say(f"{_named(payload)}: {problem.brief}; given out again")

    def failed(self, payload: Bout, attempts: int, problem: TaskProblem) -> None:
        """Record the executions as lost; where nodes refused, nothing was executed and nothing is recorded.

        Raises `ClusterError` where the executor is gone: that says nothing of the executions.
        """
        if problem.gone:
            raise ClusterError(
                f"{problem.words}. What came home is recorded; see to the engine and give the same command again"
            )
        if problem.node:
            self._refusals.setdefault(problem.words)
            return
        times = "once" if attempts == 1 else f"{attempts} times"
        reason = f"given out {times}: {problem.words}"
        for slot, _ in payload.slots:
            key = self._plan.key(slot)
            if key in self._open:
                self._lost(key, slot, reason)

    def summary(self) -> Summary:
        """What this call did; raises `ClusterError` where nodes refused all that there was to do."""
        if self._twice:
            self._say(
                f"{self._twice} execution(s) came home twice, as a lost node was not quite lost; the first counts"
            )
        executed = self._pending - len(self._open)
        if self._refusals and not executed:
            raise ClusterError(
                "\n".join(["no node can execute anything:", *(f"  - {each}" for each in self._refusals)])
            )
        return summarised(
            self._plan,
            self._pools.results,
            self._before,
            self._recorded,
            pending=self._pending,
            executed=executed,
            waiting=len(self._open),
            refusals=tuple(self._refusals),
        )

    def _arrived(self, arrival: Arrival) -> None:
        self._seen[arrival.name] = arrival.key
        execution = self._pools.record(arrival)
        if execution is None:
            self._twice += arrival.key in self._begun
            return
        self._settle(arrival.key, execution)

    def _lost(self, key: SlotKey, slot: Slot, reason: str) -> None:
        execution = self._pools.record_lost(key, slot, self._attempts(key).made + 1, reason)
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
        """The attempts at an open slot by now, in their order, whatever the order in which they came home."""
        came = self._came.get(key, {})
        return reduce(lambda history, attempt: history.after(came[attempt]), sorted(came), self._begun[key])

    def _say_once(self, words: str) -> None:
        if ("", words) not in self._told:
            self._told.add(("", words))
            self._say(words)

    def _drop(self, names: Sequence[str]) -> None:
        for name in names:
            self._shelf.drop(name)
            del self._seen[name]


def _named(bout: Bout) -> str:
    rounds = ", ".join(str(seed) for seed in dict.fromkeys(slot.round for slot, _ in bout.slots))
    return f"round {rounds} ({bout.size} executions left)"
