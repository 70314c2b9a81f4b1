"""`layoutrand run`: execute what the schedule asks for and the results do not have yet.

Read `execute` from top to bottom: each step says what is true afterwards.  A failed execution is recorded like any
other and never stops the schedule, is never repeated by itself and never left out, because that would bias the sample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from layoutrand.core import command as commands
from layoutrand.core.schedule import CACHEGRIND, SIMULATED, Slot
from layoutrand.errors import CacheError
from layoutrand.model import Binary, BuildFailure, Execution, SlotKey
from layoutrand.text.cachegrind import command_prefix
from layoutrand.usecases import experiment as experiments
from layoutrand.usecases.judge import judge
from layoutrand.usecases.run_plan import Plan, Request, make_plan
from layoutrand.world.disk import sha256_file
from layoutrand.world.host import host_state
from layoutrand.world.measure import Command, Outcome
from layoutrand.world.results import ResultsStore
from layoutrand.world.results_file import exclusive_use
from layoutrand.world.workplace import Room, Workplace, end_leftovers

CACHEGRIND_SLOWDOWN: Final = 50
"""``timeout_s`` is meant for the program as it is; simulated it takes 20 to 50 times as long."""


class Executor(Protocol):
    """Executes one command and says how it went: `layoutrand.world.measure.measure`, or a fake."""

    def __call__(self, command: Command) -> Outcome:
        """Execute ``command``, its output going to the files that it names."""


@dataclass(frozen=True)
class Progress:
    """One execution is done: ``done`` of ``total`` slots are, those recorded by earlier calls included."""

    done: int
    total: int
    execution: Execution


@dataclass(frozen=True)
class Summary:
    """What a call did.

    ``total`` slots have a binary, of which ``already`` were recorded before and ``executed`` now; ``unbuilt`` slots
    have none.  ``failures`` are all slots whose last attempt failed, whenever that was.
    """

    total: int
    already: int
    executed: int
    unbuilt: int
    failures: tuple[Execution, ...]
    build_failures: tuple[BuildFailure, ...]
    results: Path


def execute(
    request: Request,
    *,
    store: ResultsStore,
    executor: Executor,
    progress: Callable[[Progress], None],
    say: Callable[[str], None],
) -> Summary:
    """Bring the results up to the schedule; ``progress`` is called between executions, ``say`` with plain sentences.

    Raises `UsageError` (also `ConfigError`) before anything is executed where the request cannot be met,
    `ToolNotFound` without valgrind where it is needed, `CacheError` for a binary that is not what was built,
    `ResultsError` where results cannot be written, and lets `KeyboardInterrupt` through.  In every case all finished
    executions are recorded.
    """
    # Everything the executions need was checked: names, input files, instruments.
    plan = make_plan(request)
    with exclusive_use(store.path, wait_s=request.wait_s, on_wait=say):
        # No process of an earlier, killed layoutrand disturbs this one.
        workplace = Workplace(request.project.resolve() / ".layoutrand" / "work")
        if ended := end_leftovers(workplace.root):
            say(f"ended {ended} process(es) that an interrupted run had left behind")
        # Experiment, context and failed builds are recorded, so the results file is known to be writable.
        experiment = experiments.current_experiment(request.config)
        ids = store.begin(experiment, experiments.current_context(request.config))
        store.replace_build_failures(ids[0], request.captures, request.build_failures)
        # Known slots are left out, and each binary still to be executed is the one that was built.
        attempts = store.latest(experiment)
        pending = [slot for slot in plan.slots if _is_pending(attempts.get(plan.key(slot)), retry=request.retry_failed)]
        _check_binaries(plan, pending)
        # Milestone: from here on, processes are started.
        done = len(plan.slots) - len(pending)
        try:
            for slot in pending:
                attempt = attempts.get(plan.key(slot), (0, ""))[0] + 1
                execution = _execute_slot(plan, slot, attempt, workplace, executor)
                store.record(ids, execution)
                done += 1
                progress(Progress(done, len(plan.slots), execution))
        finally:
            workplace.clear()
        wanted = {plan.key(slot) for slot in plan.slots}
        failures = _failures(store.executions(experiment), wanted) if plan.slots else ()
    return Summary(
        total=len(plan.slots), already=len(plan.slots) - len(pending), executed=len(pending), unbuilt=plan.unbuilt,
        failures=failures, build_failures=tuple(request.build_failures), results=store.path,
    )  # fmt: skip


def _is_pending(recorded: tuple[int, str] | None, *, retry: bool) -> bool:
    return recorded is None or (retry and recorded[1] != "ok")


def _check_binaries(plan: Plan, pending: Sequence[Slot]) -> None:
    """Every binary about to be executed has the content that was verified when it was built."""
    for name in dict.fromkeys((slot.system, slot.layout) for slot in pending):
        for binary in plan.binaries[name].values():
            try:
                actual = sha256_file(binary.path)
            except OSError as error:
                raise CacheError(
                    f"{_called(binary)}: cannot read {binary.path}: {error.strerror}; `layoutrand build` links it again"
                ) from error
            if actual != binary.sha256:
                raise CacheError(
                    f"{_called(binary)}: {binary.path} was changed since it was built (sha256 {actual[:12]}..., "
                    f"expected {binary.sha256[:12]}...); nothing was executed. `layoutrand build` mends it"
                )


def _called(binary: Binary) -> str:
    layout = f"seed {binary.layout}" if isinstance(binary.layout, int) else binary.layout
    return f"system {binary.system}, {layout}, artefact {binary.artefact}"


def _execute_slot(plan: Plan, slot: Slot, attempt: int, workplace: Workplace, executor: Executor) -> Execution:
    project = plan.request.project
    benchmark = plan.benchmarks[slot.benchmark]
    binary = plan.binary(slot)
    files = [project / name for name in benchmark.files]
    room = workplace.prepare({b.artefact: b.path for b in plan.binaries[slot.system, slot.layout].values()}, files)
    run = plan.request.config.run
    padding = None
    # A simulation is to count the same to the digit, and its instructions alone change with the environment's size.
    if "env-size" in run.randomise and slot.instrument not in SIMULATED:
        padding = commands.padding_size(run.schedule_seed, slot.identity)
    command = _command(plan, slot, binary, room, padding)
    state = host_state()
    outcome = executor(command)
    judgement = judge(outcome, benchmark, slot.instrument, workplace, plan.references.get(slot.benchmark))
    log = ""
    if judgement.status != "ok":
        name = f"{slot.layout}-{slot.instrument}-round{slot.round}-{slot.repetition}-{attempt}"
        log = f".layoutrand/logs/run/{slot.system}/{slot.benchmark}/{name}"
        workplace.keep_output(project / log)
    return Execution(
        **vars(plan.key(slot)), attempt=attempt, order=slot.order, status=judgement.status, reason=judgement.reason,
        returncode=outcome.returncode, signal=outcome.signal, started_at=outcome.started_at, wall_s=outcome.wall_s,
        rusage=outcome.rusage, env_size=padding, argv=command.argv, log=log, conditions={},
        host_state=state, disturbances=(), measurements=judgement.measurements,
    )  # fmt: skip


def _command(plan: Plan, slot: Slot, binary: Binary, room: Room, padding: int | None) -> Command:
    benchmark = plan.benchmarks[slot.benchmark]
    artefact = room.bin / binary.artefact
    places = commands.Places(
        artefact=str(artefact), artefact_dir=str(artefact.parent), project=str(plan.request.project.resolve()),
        home=str(Path.home()), tmp=str(room.tmp),
    )  # fmt: skip
    argv = commands.arguments(benchmark.command, places)
    timeout_s = benchmark.timeout_s
    if slot.instrument == CACHEGRIND:
        argv = command_prefix(str(plan.valgrind), str(room.profile), str(room.profile_log)) + argv
        timeout_s *= CACHEGRIND_SLOWDOWN
    return Command(
        argv=argv, env=_loader(plan, room) | commands.environment(benchmark.env, places, padding), cwd=room.cwd,
        stdin=None if benchmark.stdin is None else plan.request.project / benchmark.stdin,
        stdout=room.stdout, stderr=room.stderr, timeout_s=timeout_s,
        aslr=plan.request.config.run.aslr == "on",
    )  # fmt: skip


def _loader(plan: Plan, room: Room) -> dict[str, str]:
    """How the dynamic linker finds artefacts that others need: the build's tree, where they were linked, is gone."""
    folders = [str(room.bin / folder) for folder in plan.libraries]
    return {"LD_LIBRARY_PATH": ":".join(folders)} if folders else {}


def _failures(executions: Sequence[Execution], wanted: set[SlotKey]) -> tuple[Execution, ...]:
    """The wanted slots whose last attempt failed."""
    last: dict[SlotKey, Execution] = {}
    for execution in executions:
        last[experiments.slot_key(execution)] = execution
    return tuple(execution for key, execution in last.items() if key in wanted and execution.status != "ok")
