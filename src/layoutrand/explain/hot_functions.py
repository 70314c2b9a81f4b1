"""Which functions of a program are hot: one profile of its identity binary, kept for the next time."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from layoutrand.config.command import SYSTEM_PATH
from layoutrand.config.readings import HarnessReading
from layoutrand.config.schedule import Slot
from layoutrand.errors import AnalysisError, FeatureUnsupported, NoMeasurement, ResultsError, ToolNotFound, UnusableFile
from layoutrand.execute.execution_setup import ExecutionSetup, make_sandbox, program_command
from layoutrand.execute.judge import left_by
from layoutrand.execute.measure import Executor, Outcome
from layoutrand.execute.run_plan import RunPlan, RunRequest, make_plan
from layoutrand.execute.workplace import Sandbox, Workplace, end_leftovers
from layoutrand.explain.hotness import segments
from layoutrand.harnesses.case_names import ENTRY_OF_ITS_OWN
from layoutrand.harnesses.known import harness_named
from layoutrand.instruments.profile import Profile, ProfiledExecution, Segment
from layoutrand.instruments.profilers import ChosenProfiler
from layoutrand.instruments.program_output import first_difference
from layoutrand.model import IDENTITY, Binary
from layoutrand.objects import elf
from layoutrand.platform.disk import canonical_json, sha256_bytes, write_atomically
from layoutrand.platform.process import Runner
from layoutrand.platform.regular_file import RECORD, content_of_regular
from layoutrand.results.file import exclusive_use, results_path
from layoutrand.text.foreign_fields import plain

FOLDER: Final = Path(".layoutrand") / "explain"


@dataclass(frozen=True)
class ProfilingSetup:
    """What profiling is done with: the profiler, what starts the program, what starts others, and who is told."""

    profiler: ChosenProfiler
    executor: Executor
    runner: Runner
    say: Callable[[str], None]

    def readable(self, symbols: Sequence[str]) -> dict[str, str]:
        """As `readable_names`."""
        return readable_names(symbols, self.runner, self.say)


def readable_names(symbols: Sequence[str], runner: Runner, say: Callable[[str], None]) -> dict[str, str]:
    """What C++ and Rust call these symbols; empty, and said so, without c++filt."""
    if not symbols:
        return {}
    try:
        done = runner.run(["c++filt", "-p", *symbols], cwd=Path.cwd(), env={"PATH": SYSTEM_PATH})
    except ToolNotFound as error:
        say(f"names of functions are as in the symbol table: {error} (package binutils)")
        return {}
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    return dict(zip(symbols, lines, strict=True)) if len(lines) == len(symbols) else {}


def profile_of(request: RunRequest, system: str, benchmark: str, profiling: ProfilingSetup, case: str = "") -> Profile:
    """The profile of the identity binary of one system on one benchmark, from an earlier call or made now.

    ``case`` is the one that the benchmark's harness is told to execute, which must have been executed alone.
    ``request`` has that binary and those of everything that is executed with it.  Raises `AnalysisError` where the
    program fails under the profiler or leaves no profile, and what `make_plan` raises.
    """
    run = request.config.run.model_copy(update={"controls": [IDENTITY], "executions": 1})
    request = replace(
        request,
        config=request.config.model_copy(update={"run": run}),
        choices=replace(request.choices, benchmarks=[benchmark], seeds=[1]),
    )
    plan = make_plan(request)
    plan.launching.check(profiling.profiler.kind)
    refuse_suites_tools(plan, benchmark)
    slot = Slot(system, benchmark, IDENTITY, profiling.profiler.kind.name, round=1, repetition=0, order=0)
    project = request.project.resolve()
    kept = project / FOLDER / f"profile-{_key(plan, slot, profiling.profiler)[:32]}.json"
    known = _load(kept)
    if known is not None:
        return known
    with exclusive_use(ready_results(project), wait_s=request.choices.wait_s, on_wait=profiling.say):
        workplace = Workplace(project / ".layoutrand" / "work")
        end_leftovers(workplace.root)
        with contextlib.ExitStack() as cleanup:
            cleanup.callback(workplace.clear)
            of = f"{benchmark}/{case}" if case else benchmark
            profiling.say(f"profiling {system} on {of}: {profiling.profiler.words}")
            made = _profile(plan, slot, workplace, profiling, case)
    write_atomically(kept, json.dumps(_as_json(made)).encode())
    return made


def refuse_suites_tools(plan: RunPlan, benchmark: str) -> None:
    """Raise `FeatureUnsupported` where the binary is not executed itself."""
    reading = plan.benchmarks[benchmark].metric.suite
    if reading is not None and reading.by_tools:
        raise FeatureUnsupported(
            f"{benchmark} is executed by its suite's own tools, from a copy that they make, so it cannot be profiled "
            "here; give its program and inputs as a benchmark of its own"
        )


def ready_results(project: Path) -> Path:
    """Where the project's results are, in a directory that is there by now; raises `ResultsError`."""
    path = results_path(project)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultsError(f"cannot create {path.parent}: {error.strerror}; check owner and permissions") from error
    return path


def profiled_by(plan: RunPlan, slot: Slot) -> list[Any]:
    """What decides what an execution does, as JSON values: its binaries, its benchmark's definition, the capture."""
    placed = sorted((artefact, binary.sha256) for artefact, binary in plan.placed(slot).items())
    definition = sorted(
        digest for (benchmark, _instrument), digest in plan.definitions.items() if benchmark == slot.benchmark
    )
    return [placed, definition, plan.request.built.captures[slot.system]]


def _key(plan: RunPlan, slot: Slot, profiler: ChosenProfiler) -> str:
    how = [profiler.kind.option, profiler.event, profiler.kind.options]
    return sha256_bytes(canonical_json([*profiled_by(plan, slot), *how]))


def _profile(plan: RunPlan, slot: Slot, workplace: Workplace, profiling: ProfilingSetup, case: str) -> Profile:
    binary = plan.binary(slot)
    setup = ExecutionSetup.of(plan.request, workplace, profiling.say)
    sandbox = make_sandbox(plan, slot, setup)
    command = program_command(plan, slot, sandbox, None)
    chosen, profiler = profiling.profiler, profiling.profiler.kind
    profiler.prepare(sandbox.instrument)
    prefix = profiler.prefix(chosen.program, chosen.event, sandbox.instrument)
    free = replace(command.conditions, output_limit=None, process_limit=None)  # a profile is a file, too
    limit_s = command.timeout_s * profiler.slowdown
    outcome = profiling.executor(
        replace(command, argv=prefix + command.argv, timeout_s=limit_s, aslr=True, conditions=free)
    )
    _check(outcome, plan, slot, workplace, profiler.option)
    if case:
        _check_case(plan, slot, workplace, case)
    try:
        made = profiler.profile(
            chosen.program,
            ProfiledExecution(
                _places(plan, sandbox, binary),
                sandbox.instrument,
                segments=lambda: _segments(binary),
                written=workplace.all_written,
                say=lambda words: _said(words, sandbox, profiling),
            ),
        )
    except NoMeasurement as error:
        raise AnalysisError(str(error)) from error
    if not made.cost:
        raise AnalysisError(
            f"the profile has nothing in {binary.artefact}: it was not executed, or not for long enough to be seen"
        )
    return made


def _check(outcome: Outcome, plan: RunPlan, slot: Slot, workplace: Workplace, profiler: str) -> None:
    reason = outcome.reason
    reference = plan.references.get(slot.benchmark)
    if outcome.status == "ok" and reference is not None:
        reason = first_difference(reference, workplace.stdout()) or ""
    if reason:
        said = workplace.stderr().decode("utf-8", "backslashreplace").strip()[-1000:]
        raise AnalysisError(f"under {profiler} the identity binary failed ({reason})" + (f":\n{said}" if said else ""))


def _check_case(plan: RunPlan, slot: Slot, workplace: Workplace, case: str) -> None:
    """Raise `AnalysisError` where the harness executed other cases than the one that it was told."""
    reading = plan.benchmarks[slot.benchmark].metric.suite
    assert isinstance(reading, HarnessReading)
    harness = harness_named(reading.harness)
    try:
        executed = {plain(each) for each in harness.executed(left_by(harness, workplace))}
    except (NoMeasurement, UnusableFile) as error:
        raise AnalysisError(f"{case} cannot be executed by itself: {error}; {ENTRY_OF_ITS_OWN}") from error
    if executed != {case}:
        others = ", ".join(sorted(executed - {case})) or "nothing"
        beside = f"{harness.name} executes {others} beside it" if case in executed else f"{others} was executed"
        raise AnalysisError(f"{case} cannot be executed by itself: {beside}; {ENTRY_OF_ITS_OWN}")


def _places(plan: RunPlan, sandbox: Sandbox, binary: Binary) -> tuple[str, ...]:
    """Under which names the artefact may be executed."""
    image = plan.request.config.build.image
    inside = () if image is None else (str(sandbox.home / image.path),)
    return (str(sandbox.bin / binary.artefact), *inside)


def _said(words: Sequence[str], sandbox: Sandbox, profiling: ProfilingSetup) -> str:
    done = profiling.runner.run(words, cwd=sandbox.cwd, env={"PATH": SYSTEM_PATH, "LC_ALL": "C"})
    if done.returncode != 0:
        raise NoMeasurement(f"{Path(words[0]).name} {words[1]} failed: {done.text().strip()[-500:]}")
    return done.stdout.decode("utf-8", "surrogateescape")


def _segments(binary: Binary) -> Sequence[Segment]:
    return segments(elf.read(binary.path.read_bytes(), name=str(binary.path)))


def _as_json(profile: Profile) -> dict[str, Any]:
    return {
        "total": profile.total,
        "cost": sorted(profile.cost.items()),
        "calls": [[*pair, count] for pair, count in sorted(profile.calls.items())],
    }


def _load(path: Path) -> Profile | None:
    """A profile kept by an earlier call; None where there is none that can be read, and then it is made again."""
    try:
        table = json.loads(content_of_regular(path, largest=RECORD))
        return Profile(
            float(table["total"]),
            {int(at): float(value) for at, value in table["cost"]},
            {(int(a), int(b)): int(count) for a, b, count in table["calls"]},
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
