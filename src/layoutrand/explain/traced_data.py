"""A trace of the identity binary's loads and stores, for what it says of variables (`layoutrand.explain.data_use`)."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.config.schedule import Slot
from layoutrand.errors import AnalysisError, NoMeasurement
from layoutrand.execute.execution_setup import ExecutionSetup, make_sandbox, program_command
from layoutrand.execute.measure import Outcome
from layoutrand.execute.run_plan import RunPlan, RunRequest, make_plan
from layoutrand.execute.workplace import Sandbox, Workplace, end_leftovers
from layoutrand.explain.data_use import DataCounter, DataUse, StoreLoads
from layoutrand.explain.hot_functions import FOLDER, ProfilingSetup, profiled_by, ready_results, refuse_suites_tools
from layoutrand.instruments.known import tracer
from layoutrand.instruments.memory_trace import TraceReader
from layoutrand.instruments.tracer import Tracer
from layoutrand.model import IDENTITY, Binary, Section
from layoutrand.objects import elf
from layoutrand.objects.kinds import is_code
from layoutrand.platform.disk import canonical_json, sha256_bytes, write_atomically
from layoutrand.platform.fifo import end_writer, pieces
from layoutrand.platform.regular_file import RECORD, content_of_regular
from layoutrand.results.file import exclusive_use

MOST: Final = 200_000_000
"""So many instructions are traced at most: some minutes."""


@dataclass(frozen=True)
class Variables:
    """What is looked for in a trace of at most so many instructions (``most``).

    ``address`` has where each of the ``sections`` lies in the identity binary, shape (sections,); ``section`` is the
    one whose accesses are all kept, None for none.
    """

    sections: Sequence[Section]
    address: NDArray[np.int64]
    section: int | None = None
    most: int = MOST


def data_use(
    request: RunRequest, system: str, benchmark: str, profiling: ProfilingSetup, variables: Variables
) -> DataUse:
    """How the identity binary of a system uses its variables on a benchmark, from an earlier call or traced now.

    ``request`` has the binary and those of everything that is executed with it.
    Raises `AnalysisError` where nothing can be traced, `ToolNotFound` without valgrind, and what `make_plan` raises.
    """
    under = tracer()
    program = under.find()
    run = request.config.run.model_copy(update={"controls": [IDENTITY], "executions": 1})
    request = replace(request, config=request.config.model_copy(update={"run": run}))
    plan = make_plan(request)
    plan.launching.check(under)
    refuse_suites_tools(plan, benchmark)
    slot = Slot(system, benchmark, IDENTITY, under.name, round=1, repetition=0, order=0)
    file = elf.read(plan.binary(slot).path.read_bytes(), name=str(plan.binary(slot).path))
    counter = DataCounter(
        [each.index for each in variables.sections if not is_code(each.kind)],
        variables.address,
        np.array([each.size for each in variables.sections], np.int64),
        moved=under.moved(movable=file.kind == "ET_DYN"),
        section=variables.section,
        most=variables.most,
    )
    project = request.project.resolve()
    key = sha256_bytes(
        canonical_json([profiled_by(plan, slot), list(under.options), variables.section, variables.most])
    )
    kept = project / FOLDER / f"trace-{key[:32]}.json"
    known = _load(kept, variables.address)
    if known is not None:
        return known
    with exclusive_use(ready_results(project), wait_s=request.choices.wait_s, on_wait=profiling.say):
        workplace = Workplace(project / ".layoutrand" / "work")
        end_leftovers(workplace.root)
        with contextlib.ExitStack() as cleanup:
            cleanup.callback(workplace.clear)
            profiling.say(f"tracing {system} on {benchmark}: loads and stores by {under.name}")
            setup = ExecutionSetup.of(plan.request, workplace, profiling.say)
            sandbox = make_sandbox(plan, slot, setup)
            found = _traced(plan, slot, sandbox, workplace, profiling, (under, program), counter)
    part = "" if found.whole else ", which are not all"
    profiling.say(f"traced {found.instructions / 1e6:,.0f} million instructions{part}")
    write_atomically(kept, json.dumps(_as_json(found)).encode())
    return found


def _traced(
    plan: RunPlan,
    slot: Slot,
    sandbox: Sandbox,
    workplace: Workplace,
    profiling: ProfilingSetup,
    started: tuple[Tracer, str],
    counter: DataCounter,
) -> DataUse:
    under, program = started
    command = program_command(plan, slot, sandbox, None)
    under.prepare(sandbox.instrument)
    free = replace(command.conditions, output_limit=None, process_limit=None)
    command = replace(
        command,
        argv=under.prefix(program, sandbox.instrument) + command.argv,
        timeout_s=command.timeout_s * under.slowdown,
        aslr=True,
        conditions=free,
    )
    over = Event()
    reader = under.reading(_names(plan, sandbox, plan.binary(slot)))
    with ThreadPoolExecutor(1, thread_name_prefix="trace") as pool:
        followed = pool.submit(_follow, under.fifo(sandbox.instrument), reader, counter, over)
        try:
            outcome = profiling.executor(command)
        finally:
            over.set()
        try:
            enough = followed.result()
        except (NoMeasurement, OSError) as error:
            raise AnalysisError(f"loads and stores cannot be traced: {error}") from error
    _check(outcome, reader, workplace, enough=enough)
    return counter.use(whole=not enough)


def _follow(fifo: Path, reader: TraceReader, counter: DataCounter, over: Event) -> bool:
    """Whether there was enough before the end; the rest is read and thrown away, as its writer would wait for ever."""
    enough, broken = False, None
    for piece in pieces(fifo, over.is_set):
        if enough or broken:
            continue
        try:
            for stretch in reader.stretches(piece):
                if stretch.first == 0:
                    counter.end_process()
                counter.add(stretch.accesses, stretch.instructions)
        except NoMeasurement as error:
            broken = error
        enough = counter.has_enough
        if (enough or broken) and reader.pid is not None:
            end_writer(reader.pid)
    if broken:
        raise broken
    return enough


def _names(plan: RunPlan, sandbox: Sandbox, binary: Binary) -> tuple[str, ...]:
    """Under which names the artefact may be executed."""
    image = plan.request.config.build.image
    inside = () if image is None else (str(sandbox.home / image.path),)
    return (str(sandbox.bin / binary.artefact), *inside)


def _check(outcome: Outcome, reader: TraceReader, workplace: Workplace, *, enough: bool) -> None:
    """Raise `AnalysisError` where the program was not traced, or failed by itself."""
    if not reader.seen:
        said = workplace.stderr().decode("utf-8", "backslashreplace").strip()[-1000:]
        reason = outcome.reason or "the artefact was not executed under it"
        raise AnalysisError(f"loads and stores cannot be traced: {reason}" + (f":\n{said}" if said else ""))
    if outcome.status != "ok" and not enough:
        raise AnalysisError(f"traced, the identity binary failed ({outcome.reason})")


def _as_json(use: DataUse) -> dict[str, Any]:
    return {
        "touched": use.touched.tolist(),
        "own": use.own.tolist(),
        "pairs": [values.tolist() for values in vars(use.pairs).values()],
        "traced": use.instructions,
        "whole": use.whole,
    }


def _load(path: Path, address: NDArray[np.int64]) -> DataUse | None:
    """A trace kept by an earlier call; None where there is none that can be read, and then it is made again."""
    try:
        table = json.loads(content_of_regular(path, largest=RECORD))
        touched, own = (np.array(table[name], np.int64).reshape(-1, 3) for name in ("touched", "own"))
        pairs = StoreLoads(*(np.array(values, np.int64) for values in table["pairs"]))
        return DataUse(touched, own, pairs, address, int(table["traced"]), bool(table["whole"]))
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None
