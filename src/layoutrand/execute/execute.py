"""`layoutrand run`: execute what the schedule asks for and the results do not have yet.

Read `execute` from top to bottom: each step says what is true afterwards.  A failed execution is recorded like any
other, is never repeated for having failed and never left out, because that would bias the sample; it ends the schedule
of its system and benchmark only where there is no sample (see `Fruitless`).  A disturbed one is repeated where
``run.disturbance.repeat`` says so, whatever came of it.
"""

from __future__ import annotations

import contextlib
import functools
import statistics
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from layoutrand.config import command as commands
from layoutrand.config.disturbance import Disturbance, disturbances
from layoutrand.config.schedule import Slot
from layoutrand.execute import experiment as experiments
from layoutrand.execute.cases import FAILED_CASES
from layoutrand.execute.execution_setup import (
    ExecutionSetup,
    guard_of,
    make_sandbox,
    program_command,
    programs_of,
    started_artefact,
    under_instrument,
)
from layoutrand.execute.fruitless import Fruitless
from layoutrand.execute.judge import altered, in_its_words, judge, not_moved, of_the_program
from layoutrand.execute.live import Live
from layoutrand.execute.measure import Command, Executor, Outcome
from layoutrand.execute.printed import KeptOutputs, output_sha256
from layoutrand.execute.run_plan import RunPlan, RunRequest, make_plan
from layoutrand.execute.run_progress import RunProgress, Summary, cost, executed_alone, known, limit_words, summarised
from layoutrand.execute.workplace import Workplace, end_leftovers
from layoutrand.host.attempts import Attempts, is_to_be_repeated, that_count
from layoutrand.host.machine_lock import machine_lock_path, only_one_measures
from layoutrand.host.watch import HostWatch
from layoutrand.instruments.known import simulated
from layoutrand.model import Execution
from layoutrand.platform.interrupts import noted_interrupts
from layoutrand.results.experiments import Records
from layoutrand.results.file import exclusive_use
from layoutrand.suites.known import by_reading

_Observe = Callable[[Command, Slot, Sequence[Path], str], "Observed"]
"""Executes a slot's command and watches; the paths are of the programs that it starts, and of where their files are."""


def execute(  # noqa: PLR0913 - what it asks, tells and enters, each with its usual default
    request: RunRequest,
    *,
    store: Records,
    executor: Executor,
    progress: Callable[[RunProgress], None],
    say: Callable[[str], None],
    watch: HostWatch | None = None,
    prepare: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext,
    on_wait: Callable[[str], None] | None = None,
) -> Summary:
    """Bring the results up to the schedule; ``progress`` is called between executions, ``say`` with plain sentences.

    ``watch`` reads the host's state (None: this machine's).  ``prepare`` is entered before the first execution and left
    after the last one, however that ends.  ``on_wait`` is called in place of ``say`` where another layoutrand is
    waited for.

    Raises `UsageError` (also `ConfigError`) before anything is executed where the request cannot be met,
    `ToolNotFound` without the program of an instrument, `CacheError` for a binary that is not what was built,
    `ResultsError` where results cannot be written, and lets `KeyboardInterrupt` through.  In every case all finished
    executions are recorded.
    """
    # Everything the executions need was checked: names, input files, instruments.
    plan = make_plan(request)
    with exclusive_use(store.path, wait_s=request.choices.wait_s, on_wait=on_wait or say):
        # No process of an earlier, killed layoutrand disturbs this one.
        are_whole = all(binary.base is None for binary in request.built.binaries)
        workplace = Workplace(request.folder / ".layoutrand" / "work", clone=are_whole)
        if ended := end_leftovers(workplace.root):
            say(f"ended {ended} process(es) that an interrupted run had left behind")
        # Experiment, context and failed builds are recorded, so the results file is known to be writable.
        experiment = request.experiment()
        built = request.built
        ids = store.begin(
            experiment,
            experiments.current_context(request.config, built.tools, built.captures, built.built),
        )
        store.replace_build_failures(ids[0], request.built.captures, request.built.failures)
        # Known slots are left out, and each binary still to be executed is the one that was built.
        setup = ExecutionSetup.of(request, workplace, say)
        before = known(store, experiment, plan)
        pending = [slot for slot in plan.slots if before.is_due(plan.key(slot), request)]
        names = dict.fromkeys((slot.system, slot.layout) for slot in pending)
        setup.as_built.check(binary for name in names for binary in plan.binaries[name].values())
        recorded = list(before.executions)
        live = Live(plan.benchmarks, that_count(recorded, experiments.slot_values), pending, plan.systems)
        if pending and not request.choices.is_round:
            limit = limit_words(plan.benchmarks, pending, before.ended(plan))
            say(cost(live, len(pending), len(plan.slots) - len(pending), limit))
        # Of commits `history`, `bisect` and `check` tell what that means for them, and they have no seeds for `run`.
        by_others = request.choices.by_capture or request.choices.is_round
        if not by_others and (alone := executed_alone(plan.slots, pending)):
            say(alone)
        kept = KeptOutputs(request.project, recorded)
        fruitless = Fruitless(give_up=request.choices.give_up and request.slots is None)
        fruitless.recorded(recorded)
        states = [execution.host_state for execution in recorded]
        observer = Observer(request.config.run.disturbance, states, watch or HostWatch())
        observe = functools.partial(_observe, observer, executor)
        # Milestone: from here on, processes are started, and no other layoutrand measures on this machine.
        prepared = prepare() if pending else contextlib.nullcontext()
        with _machine(request, pending, on_wait or say), prepared, contextlib.ExitStack() as cleanup:
            cleanup.callback(workplace.clear)
            for done, slot in enumerate(pending, len(plan.slots) - len(pending) + 1):
                if fruitless.leaves_out(slot):
                    live.leave_out(slot)
                    continue
                history = before.attempts.get(plan.key(slot), Attempts())
                attempts = list(_attempts(plan, slot, history, setup, kept, observe, lambda e: store.record(ids, e)))
                fruitless.note(attempts[-1:])
                recorded += attempts
                live.add(recorded[-1])
                progress(RunProgress(done, len(plan.slots), recorded[-1], live))
    not_executed = fruitless.left_out()
    executed = len(pending) - sum(each.count for each in not_executed)
    n_pending = len(pending)
    return summarised(
        plan, store.path, before, recorded, pending=n_pending, executed=executed, not_executed=not_executed
    )


def _attempts(
    plan: RunPlan,
    slot: Slot,
    history: Attempts,
    setup: ExecutionSetup,
    kept: KeptOutputs,
    observe: _Observe,
    record: Callable[[Execution], None],
) -> Iterator[Execution]:
    """Execute a slot once, and again as long as it is disturbed and may be repeated; each is recorded, then yielded."""
    repeat = plan.request.config.run.disturbance.repeat
    history = history.begun(repeat=repeat)
    while True:
        with noted_interrupts():  # Ctrl-C ends what is executed, and never loses what has ended
            execution = _execute_slot(plan, slot, history.made + 1, setup, kept, observe)
            execution = plan.request.marked(execution, setup.workplace.root)
            record(execution)
        yield execution
        history = history.after(execution)
        if not is_to_be_repeated(history, repeat=repeat):
            return


def _machine(
    request: RunRequest, pending: Sequence[Slot], on_wait: Callable[[str], None]
) -> contextlib.AbstractContextManager[None]:
    """The machine to ourselves, as far as other layoutrands go, where there is anything to measure on it."""
    if request.choices.share_machine or not pending:
        return contextlib.nullcontext()
    wait_s = request.choices.wait_s
    return only_one_measures(machine_lock_path(), project=request.folder, wait_s=wait_s, on_wait=on_wait)


def _observe(
    observer: Observer, executor: Executor, command: Command, slot: Slot, programs: Sequence[Path], prefix: str
) -> Observed:
    placement = command.conditions.placement
    cpus = None if placement is None else placement.cpus
    return observer.watch(
        lambda: executor(command), cpus=cpus, immune=slot.instrument in simulated(), programs=programs, prefix=prefix
    )


def _execute_slot(
    plan: RunPlan, slot: Slot, attempt: int, setup: ExecutionSetup, kept: KeptOutputs, observe: _Observe
) -> Execution:
    workplace = setup.workplace
    benchmark = plan.benchmarks[slot.benchmark]
    sandbox = make_sandbox(plan, slot, setup)
    run = plan.request.config.run
    padding = None
    # A simulation is to count the same to the digit, and its instructions alone change with the environment's size.
    if "env-size" in run.randomise and slot.instrument not in simulated():
        padding = commands.padding_size(run.schedule_seed, slot.identity)
    plain = program_command(plan, slot, sandbox, padding)
    command = setup.memory.given(under_instrument(plan, slot, sandbox, plain), sandbox)
    guard = guard_of(plan, slot, sandbox, setup)
    seen = observe(command, slot, programs_of(plan, slot, sandbox, plain), plan.launching.prefix)
    alteration = guard.alteration()
    outcome = of_the_program(seen.outcome, command, slot.instrument, workplace)
    judgement = judge(
        outcome,
        benchmark,
        slot.instrument,
        workplace,
        argv=command.argv,
        reference=plan.references.get(slot.benchmark),
        warmups=plan.warmups(slot),
        given={artefact: binary.sha256 for artefact, binary in plan.placed(slot).items()},
        hash_is_sha256=slot.system in plan.request.built.exehash_is_sha256,
    )
    judgement = in_its_words(judgement, benchmark, slot.instrument, workplace, argv=command.argv)
    proof = setup.memory.proof(command, seen.outcome, sandbox, started_artefact(plan, slot, sandbox))
    if judgement.status == "ok" and proof.problem:
        judgement = not_moved(proof.problem)
    if alteration is not None:
        judgement = altered(alteration)
        if not alteration.of_the_cache:
            setup.images.discard(slot.system)
    printed = output_sha256(benchmark, outcome, workplace)
    failed = judgement.status != "ok"
    is_new = not failed and slot.benchmark not in plan.references and kept.takes(slot, printed, sandbox)
    log = _keep(plan, slot, attempt, workplace, whole=failed) if failed or is_new else ""
    return Execution(
        **vars(plan.key(slot)),
        attempt=attempt,
        order=slot.order,
        status=judgement.status,
        reason=judgement.reason,
        returncode=outcome.returncode,
        signal=outcome.signal,
        started_at=outcome.started_at,
        wall_s=outcome.wall_s,
        rusage=outcome.rusage,
        env_size=padding,
        argv=command.argv,
        log=log,
        conditions={
            **command.conditions.facts(),
            **proof.facts,
            "program_file": workplace.manner(),
            **outcome.isolation,
            **plan.launching.facts(plan.binary(slot)),
            **({FAILED_CASES: dict(judgement.failed_cases)} if judgement.failed_cases else {}),
        },
        host_state=seen.state,
        disturbances=seen.disturbances,
        measurements=judgement.measurements,
        output_sha256=printed,
    )


def _keep(plan: RunPlan, slot: Slot, attempt: int, workplace: Workplace, *, whole: bool) -> str:
    """Keep what the slot's execution left, or only what it printed; where, relative to the project."""
    name = f"{slot.layout}-{slot.instrument}-round{slot.round}-{slot.repetition}-{attempt}"
    log = f".layoutrand/logs/run/{slot.system}/{slot.benchmark}/{name}"
    folder, masked = plan.request.project / log, plan.request.redaction.patterns()
    if not whole:
        workplace.keep_stdout(folder, masked)
        return log
    metric = plan.benchmarks[slot.benchmark].metric
    if metric.suite is not None and not metric.by_case:
        workplace.add_to_output(by_reading(metric.suite.kind).worth_keeping(workplace.sandbox.bin))
    workplace.keep_output(folder, masked)
    return log


REMEMBERED: Final = 100
_LEAST: Final = 5  # frequencies, before one of them can be said to be unusual


@dataclass(frozen=True)
class Observed:
    """What came of an execution, what is recorded of the host, and the names of what disturbed it."""

    outcome: Outcome
    state: Mapping[str, Any]
    disturbances: tuple[str, ...]


class Observer:
    """Watches the host while executions are made.

    The reference for the clock frequency is the median of the last `REMEMBERED` executions, those of earlier calls
    included, so that interrupting a run changes nothing.  ``recorded`` are the states of executions recorded before,
    oldest first.
    """

    def __init__(self, limits: Disturbance, recorded: Iterable[Mapping[str, Any]], watch: HostWatch) -> None:
        """Begin with what is known of the frequency."""
        self._limits = limits
        self._watch = watch
        known = (state["frequency_hz"] for state in recorded if "frequency_hz" in state)
        self._frequencies: deque[float] = deque(known, maxlen=REMEMBERED)

    def watch(
        self,
        execute: Callable[[], Outcome],
        *,
        cpus: Sequence[int] | None = None,
        immune: bool = False,
        programs: Sequence[Path] = (),
        prefix: str = "",
    ) -> Observed:
        """Call ``execute`` between two readings.

        ``cpus`` are those that the program may use, None for all of ours.  ``immune`` says that nothing which happens
        on the host can change what is measured, as with a simulated processor: then nothing disturbs it.  What starting
        ``programs`` reads is recorded, below ``prefix`` where that has it.
        """
        start_files = self._watch.start_files(programs, prefix) if programs else {}
        before = self._watch.before(cpus)
        outcome = execute()
        state = {**self._watch.state(before, cpus, unseen_cpu_s=outcome.unseen_cpu_s), **start_files}
        if len(self._frequencies) >= _LEAST and "frequency_hz" in state:
            state["frequency_reference_hz"] = round(statistics.median(self._frequencies))
        if "frequency_hz" in state:
            self._frequencies.append(state["frequency_hz"])
        found: tuple[str, ...] = ()
        if not immune and outcome.status != "start":
            found = disturbances(state, self._limits)
        if "busy" in found:
            state |= self._watch.culprits(outcome.measured_by)
        return Observed(outcome, state, found)
