"""What `layoutrand run` tells while it goes on and at its end, and what the results know of a plan already."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutrand.config.config import Benchmark
from layoutrand.config.disturbance import Disturbed, summary
from layoutrand.config.execution_warnings import TooShort, too_short
from layoutrand.config.schedule import Slot
from layoutrand.config.twice import is_second
from layoutrand.execute import experiment as experiments
from layoutrand.execute.cases import failed_cases
from layoutrand.execute.iterations import read_now
from layoutrand.execute.live import Live
from layoutrand.execute.named_inputs import unlike_work
from layoutrand.execute.output_warnings import InputChanged, MeasuresItself, UnlikeOutputs
from layoutrand.execute.own_measurements import measuring_themselves
from layoutrand.execute.run_plan import RunPlan, RunRequest
from layoutrand.execute.run_warnings import CasesFailed, NotExecuted
from layoutrand.host.attempts import Attempts, is_due, that_count
from layoutrand.instruments.asked_for import primary_metric
from layoutrand.instruments.known import instrument, is_elapsed, simulated
from layoutrand.model import BuildFailure, Execution, Experiment, SlotKey
from layoutrand.results.experiments import Records
from layoutrand.text.quantities import duration
from layoutrand.warning import plural


@dataclass(frozen=True)
class RunProgress:
    """One execution is done: ``done`` of ``total`` slots are, those recorded by earlier calls included.

    ``live`` knows how long the rest will take, and how well each mean is known so far.
    """

    done: int
    total: int
    execution: Execution
    live: Live


def cost(live: Live, n_pending: int, n_known: int, limit: str = "") -> str:
    """What is about to be executed, and how long that takes where earlier executions tell; ``limit`` is told behind."""
    known = f" ({n_known:,} {'is' if n_known == 1 else 'are'} recorded already)" if n_known else ""
    seconds = live.remaining_s()
    time = "" if seconds is None else f", about {duration(max(1, round(seconds)))}"
    return f"{plural(n_pending, 'execution')}{known}{time}{limit}"


def limit_words(benchmarks: Mapping[str, Benchmark], pending: Sequence[Slot], ended: Collection[str] = ()) -> str:
    """After how long an execution is killed, where none of its benchmark has ended by itself yet; "" where one has.

    The latter are the benchmarks ``ended``.  It has to be said beforehand: during an execution nothing is drawn, and
    one that waits for ever looks like any.
    """
    waiting = dict.fromkeys((slot.benchmark, slot.instrument) for slot in pending if slot.benchmark not in ended)
    if not waiting:
        return ""
    limits = sorted({benchmarks[name].timeout_s for name, _ in waiting})
    after = " to ".join(duration(each) for each in dict.fromkeys((limits[0], limits[-1])))
    slowdowns = {name: instrument(name).slowdown for _, name in waiting}
    longer = "".join(f", {slowdown} times that under {name}" for name, slowdown in slowdowns.items() if slowdown > 1)
    return f"; one that still runs after {after} is killed (timeout_s{longer})"


def executed_alone(slots: Sequence[Slot], pending: Sequence[Slot]) -> str:
    """That a system is about to be executed in rounds that another has already, and what to do instead; or "".

    What an interrupted run left of a round, or a failed execution, is no reason to say so: it takes half of the rounds.
    """
    timed = [slot for slot in slots if slot.instrument not in simulated()]
    due = {(slot.system, slot.round) for slot in pending}
    rounds = {slot.round for slot in timed}
    known = {(slot.system, slot.round) for slot in timed} - due
    for system in dict.fromkeys(slot.system for slot in timed):
        others = [each for each in dict.fromkeys(slot.system for slot in timed) if each != system]
        late = [r for r in rounds if (system, r) in due and any((each, r) in known for each in others)]
        if len(late) > 1 and 2 * len(late) >= len(rounds):
            first = max(rounds) + 1
            twice = " --twice" if is_second(system) else ""  # without it the second would not be executed there
            return (
                f"{system} is executed alone: the others have {len(late)} of these rounds already, and what the "
                "machine does meanwhile looks like a difference, so that `compare` will not tell; new rounds execute "
                f"all systems beside each other: layoutrand run --seeds {first}..{first + len(rounds) - 1}{twice}"
            )
    return ""


@dataclass(frozen=True)
class Summary:
    """What a call did.

    ``total`` slots have a binary, of which ``already`` were recorded before and ``executed`` now; ``unbuilt`` slots
    have none.  ``failures`` are all slots whose last attempt failed, whenever that was, and ``disturbed`` says of which
    benchmarks attempts that count were disturbed.  ``repeated`` further executions were made because of disturbances.
    ``nodes`` executed them where that was a cluster, which leaves ``waiting`` slots that no node could execute, because
    of the ``refusals``.  ``not_executed`` is what was left out as it failed again and again.
    ``too_short`` are benchmarks that are judged by times of processes as short as that, ``failed_cases`` those of
    harnesses that other cases of the same process have numbers beside, ``unlike_outputs`` what binaries of one system
    do not print alike, ``changed_inputs`` files on command lines that were changed after executions,
    ``measuring_themselves`` benchmarks that print measurements and are judged by the time of their process.
    """

    total: int
    already: int
    executed: int
    unbuilt: int
    failures: tuple[Execution, ...]
    build_failures: tuple[BuildFailure, ...]
    results: Path
    disturbed: tuple[Disturbed, ...] = ()
    repeated: int = 0
    nodes: tuple[str, ...] = ()
    waiting: int = 0
    refusals: tuple[str, ...] = ()
    too_short: tuple[TooShort, ...] = ()
    not_executed: tuple[NotExecuted, ...] = ()
    failed_cases: tuple[CasesFailed, ...] = ()
    unlike_outputs: tuple[UnlikeOutputs, ...] = ()
    changed_inputs: tuple[InputChanged, ...] = ()
    measuring_themselves: tuple[MeasuresItself, ...] = ()


@dataclass(frozen=True)
class Known:
    """What the results hold of a plan's slots: how the attempts at each went, and every execution."""

    attempts: Mapping[SlotKey, Attempts]
    executions: Sequence[Execution]

    def is_due(self, key: SlotKey, request: RunRequest) -> bool:
        """Whether the slot is to be executed now."""
        choices, attempts = request.choices, self.attempts.get(key, Attempts())
        retry = choices.retry_failed and attempts.began_at < choices.retry_before
        return is_due(attempts, repeat=request.config.run.disturbance.repeat, retry_failed=retry)

    def ended(self, plan: RunPlan) -> set[str]:
        """The benchmarks of which an execution has ended by itself, of whatever program, as they are defined now."""
        now = set(plan.definitions.values())
        mine = ((key.benchmark, each.status) for key, each in self.attempts.items() if key.definition in now)
        return {benchmark for benchmark, status in mine if status != "timeout"}


def known(store: Records, experiment: Experiment, plan: RunPlan) -> Known:
    """What is recorded, with the warm-up of today's configuration."""
    wanted = {plan.key(slot) for slot in plan.slots}
    recorded = store.executions(experiment) if wanted else []
    everything = read_now(recorded, plan.request.config, experiment.hostname)
    mine = [execution for execution in everything if experiments.slot_key(execution) in wanted]
    return Known(store.latest(experiment), mine)


def summarised(  # noqa: PLR0913 - the parts of one record
    plan: RunPlan,
    results: Path,
    before: Known,
    recorded: Sequence[Execution],
    *,
    pending: int,
    executed: int,
    waiting: int = 0,
    refusals: Sequence[str] = (),
    not_executed: Sequence[NotExecuted] = (),
) -> Summary:
    """What a call did that found ``before`` and left ``recorded``; of ``pending`` slots ``executed`` are done."""
    counting = that_count(recorded, experiments.slot_values)
    printed, read = unlike_work(counting, plan.benchmarks, plan.request.project)
    return Summary(
        total=len(plan.slots),
        already=len(plan.slots) - pending,
        executed=executed,
        unbuilt=plan.unbuilt,
        failures=tuple(execution for execution in counting if execution.status != "ok"),
        build_failures=tuple(plan.request.built.failures),
        results=results,
        disturbed=summary(counting, simulated()),
        repeated=len(recorded) - len(before.executions) - executed,
        nodes=tuple(sorted({e.node for e in recorded[len(before.executions) :] if e.node})),
        waiting=waiting,
        refusals=tuple(refusals),
        too_short=tuple(_too_short(plan, counting)),
        not_executed=tuple(not_executed),
        failed_cases=tuple(failed_cases(counting)),
        unlike_outputs=tuple(printed),
        changed_inputs=tuple(read),
        measuring_themselves=tuple(measuring_themselves(counting, plan.benchmarks, plan.request.project)),
    )


def _too_short(plan: RunPlan, executions: Sequence[Execution]) -> Iterator[TooShort]:
    for name, benchmark in plan.benchmarks.items():
        instrument, metric = primary_metric(benchmark)
        if is_elapsed(metric) and instrument not in simulated():
            ended = [e for e in executions if (e.benchmark, e.instrument, e.status) == (name, instrument, "ok")]
            yield from too_short(name, [each.wall_s for each in ended], may_simulate=benchmark.may_simulate)
