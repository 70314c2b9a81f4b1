"""Which functions of a program are hot: one profile of its identity binary, kept for the next time."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from layoutrand.cache.contents import content_of
from layoutrand.config.command import SYSTEM_PATH
from layoutrand.config.readings import HarnessReading
from layoutrand.config.schedule import Slot
from layoutrand.errors import AnalysisError, NoMeasurement, ToolNotFound, UnusableFile
from layoutrand.execute.judge import left_by
from layoutrand.execute.measure import Executor, Outcome
from layoutrand.execute.run_plan import RunPlan, RunRequest
from layoutrand.execute.workplace import Sandbox, Workplace
from layoutrand.explain.explain_warnings import CostOutside
from layoutrand.explain.hotness import segments
from layoutrand.explain.identity_run import IdentityRun, LookingPlace
from layoutrand.explain.other_artefacts import others_of
from layoutrand.harnesses.case_names import ENTRY_OF_ITS_OWN
from layoutrand.harnesses.known import harness_named
from layoutrand.instruments.profile import Profile, ProfiledExecution, Segment
from layoutrand.instruments.profilers import ChosenProfiler
from layoutrand.instruments.program_output import first_difference
from layoutrand.model import Binary
from layoutrand.objects import elf
from layoutrand.platform.disk import write_atomically
from layoutrand.platform.process import Runner
from layoutrand.platform.regular_file import RECORD, content_of_regular
from layoutrand.text.foreign_fields import plain
from layoutrand.text.mangled import STYLES, without_hashes


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
    """What C++, Rust and D call these symbols; empty, and said so, without c++filt."""
    names: dict[str, str] = {}
    for style, pattern in STYLES.items():
        of_style = [symbol for symbol in symbols if pattern.match(symbol)]
        if not of_style:
            continue
        try:
            done = runner.run(["c++filt", "-p", "-s", style, *of_style], cwd=Path.cwd(), env={"PATH": SYSTEM_PATH})
        except ToolNotFound as error:
            say(f"names of functions are as in the symbol table: {error} (package binutils)")
            return {}
        lines = done.stdout.decode("utf-8", "replace").splitlines()
        if len(lines) == len(of_style):
            names |= {symbol: without_hashes(symbol, name) for symbol, name in zip(of_style, lines, strict=True)}
    return names


def profile_of(request: RunRequest, system: str, benchmark: str, profiling: ProfilingSetup, case: str = "") -> Profile:
    """The profile of the identity binary of one system on one benchmark, from an earlier call or made now.

    ``case`` is the one that the benchmark's harness is told to execute, which must have been executed alone.
    ``request`` has that binary and those of everything that is executed with it.  Raises `AnalysisError` where the
    program fails under the profiler or leaves no profile, and what `make_plan` raises.
    """
    profiler = profiling.profiler
    run = IdentityRun.of(request, system, benchmark, profiler.kind)
    kept = run.kept("profile", [profiler.kind.option, profiler.event, profiler.kind.options])
    known = _load(kept)
    if known is not None:
        return known
    with run.place(profiling.say) as place:
        of = f"{benchmark}/{case}" if case else benchmark
        profiling.say(f"profiling {system} on {of}: {profiler.words}")
        made = _profile(run, place, profiling, case)
    write_atomically(kept, json.dumps(_as_json(made)).encode())
    return made


def _profile(run: IdentityRun, place: LookingPlace, profiling: ProfilingSetup, case: str) -> Profile:
    chosen, profiler = profiling.profiler, profiling.profiler.kind
    profiler.prepare(place.sandbox.instrument)
    prefix = profiler.prefix(chosen.program, chosen.event, place.sandbox.instrument)
    outcome = profiling.executor(place.command(prefix, profiler))
    if outcome.returncode and (gave_up := profiler.why_it_gave_up(place.workplace.all_written)):
        raise AnalysisError(gave_up)
    _check(outcome, run.plan, run.slot, place.workplace, profiler.option)
    if case:
        _check_case(run.plan, run.slot, place.workplace, case)
    try:
        made = profiler.profile(
            chosen.program,
            ProfiledExecution(
                place.names,
                place.sandbox.instrument,
                segments=lambda: _segments(run.binary),
                written=place.workplace.all_written,
                say=lambda words: _said(words, place.sandbox, profiling),
            ),
        )
    except NoMeasurement as error:
        raise AnalysisError(str(error)) from error
    if not made.cost:
        artefact = run.binary.artefact
        others, started = others_of(run.plan.benchmarks[run.slot.benchmark], artefact, run.plan.request.config)
        elsewhere = f"; {CostOutside(1.0, artefact, others, started)}" if others else ""
        raise AnalysisError(
            f"the profile has nothing in {artefact}: it was not executed, or not for long enough to be seen{elsewhere}"
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


def _said(words: Sequence[str], sandbox: Sandbox, profiling: ProfilingSetup) -> str:
    done = profiling.runner.run(words, cwd=sandbox.cwd, env={"PATH": SYSTEM_PATH, "LC_ALL": "C"})
    if done.returncode != 0:
        raise NoMeasurement(f"{Path(words[0]).name} {words[1]} failed: {done.text().strip()[-500:]}")
    return done.stdout.decode("utf-8", "surrogateescape")


def _segments(binary: Binary) -> Sequence[Segment]:
    return segments(elf.read(content_of(binary.stored), name=str(binary.path)))


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
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
