"""A trace of the identity binary's loads and stores, for what it says of variables (`layoutrand.explain.data_use`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.cache.contents import content_of
from layoutrand.errors import AnalysisError, NoMeasurement
from layoutrand.execute.measure import Executor, Outcome
from layoutrand.execute.run_plan import RunRequest
from layoutrand.execute.workplace import Workplace
from layoutrand.explain.data_use import GRAIN, SHORTLY, STORES, DataCounter, DataUse, StoreLoads
from layoutrand.explain.hot_functions import ProfilingSetup
from layoutrand.explain.identity_run import IdentityRun, LookingPlace
from layoutrand.instruments.known import tracer
from layoutrand.instruments.memory_trace import TraceReader
from layoutrand.instruments.tracer import Tracer
from layoutrand.model import Section
from layoutrand.objects import elf
from layoutrand.objects.kinds import is_code
from layoutrand.platform.disk import write_atomically
from layoutrand.platform.log_server import LogServer, end_writer
from layoutrand.platform.regular_file import RECORD, content_of_regular

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
    run = IdentityRun.of(request, system, benchmark, under)
    how = [list(under.options), variables.section, variables.most, SHORTLY, STORES, GRAIN]
    kept = run.kept("trace", how)
    known = _load(kept, variables.address)
    if known is not None:
        return known
    file = elf.read(content_of(run.binary.stored), name=str(run.binary.path))
    counter = DataCounter(
        [each.index for each in variables.sections if not is_code(each.kind)],
        variables.address,
        np.array([each.size for each in variables.sections], np.int64),
        moved=under.moved(movable=file.kind == "ET_DYN"),
        section=variables.section,
        most=variables.most,
    )
    with run.place(profiling.say) as place:
        profiling.say(f"tracing {system} on {benchmark}: loads and stores by {under.name}")
        found = _traced(place, profiling.executor, (under, program), counter)
    part = "" if found.whole else ", which are not all"
    profiling.say(f"traced {found.instructions / 1e6:,.0f} million instructions{part}")
    write_atomically(kept, json.dumps(_as_json(found)).encode())
    return found


def _traced(place: LookingPlace, executor: Executor, started: tuple[Tracer, str], counter: DataCounter) -> DataUse:
    under, program = started
    over = Event()
    with LogServer() as server, ThreadPoolExecutor(1, thread_name_prefix="trace") as pool:
        followed = pool.submit(_follow, server, lambda: under.reading(place.names), counter, over)
        try:
            outcome = executor(place.command(under.prefix(program, server.address), under))
        finally:
            over.set()
        try:
            enough, seen = followed.result()
        except (NoMeasurement, OSError) as error:
            why = f"{outcome.reason}; {error}" if outcome.reason else str(error)
            raise AnalysisError(f"loads and stores cannot be traced: {why}") from error
    _check(outcome, place.workplace, enough=enough, seen=seen)
    return counter.use(whole=not enough)


def _follow(
    server: LogServer, reading: Callable[[], TraceReader], counter: DataCounter, over: Event
) -> tuple[bool, bool]:
    """Whether there was enough before the end, and whether the program was seen at all.

    What comes after that, or after an error, is read and thrown away, as its writer would wait for ever; those that are
    known are ended.  Raises `NoMeasurement`, also where a process of the program ended in the middle.
    """
    enough, seen, latest = False, False, 0
    broken: Exception | None = None
    readers: dict[int, TraceReader] = {}
    for number, piece in server.pieces(over.is_set):
        if number not in readers:
            readers[number] = reading()
        reader = readers[number]
        if number != latest:  # what several processes do at once is none of it shortly after the other's
            counter.end_process()
        latest = number
        try:
            for stretch in reader.stretches(piece):
                if not (enough or broken):
                    counter.add(stretch.accesses, stretch.instructions)
        except Exception as error:  # noqa: BLE001 - raised below: whoever writes would wait for ever if nobody read
            broken = broken or error
        if not piece and reader.is_program and not (reader.has_ended or enough or broken):
            broken = NoMeasurement("a process of it ended in the middle")
        seen |= reader.is_program
        enough |= counter.has_enough
        if piece and (enough or broken) and reader.is_program and reader.pid is not None:
            end_writer(reader.pid, server.address)
    if broken and not enough:
        raise broken
    return enough, seen


def _check(outcome: Outcome, workplace: Workplace, *, enough: bool, seen: bool) -> None:
    """Raise `AnalysisError` where the program was not traced, or failed by itself."""
    if not seen:
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
        pairs = StoreLoads(*np.array(table["pairs"], np.int64))
        named = np.concatenate([touched[:, 0], pairs.stored, pairs.loaded])
        if len(named) and not (named.min() >= 0 and named.max() < len(address)):
            return None
        return DataUse(touched, own, pairs, address, int(table["traced"]), bool(table["whole"]))
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
