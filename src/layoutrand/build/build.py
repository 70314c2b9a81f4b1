"""`layoutrand build`: systems x layouts -> verified binaries in the cache.

Most builds find everything in the cache.  What captures, links, reconciles or builds anew is imported where there is
something to make: reading all of it takes longer than such a build.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from layoutrand.build import prebuilt
from layoutrand.build.artefact_layouts import artefact_layouts, refuse_immovable
from layoutrand.build.artefact_task import ArtefactTask
from layoutrand.build.binaries import as_failure
from layoutrand.build.build_setup import BuildSetup, refuse_twins, threads
from layoutrand.build.build_warnings import (
    BinaryMadeAgain,
    CaptureBuiltAgain,
    LinkedAllTheSame,
    RecordedWarning,
    SharedCapture,
)
from layoutrand.build.coupled import coupled_names, require_captures
from layoutrand.build.two_builds import (
    CapturedSystem,
    StockBinaries,
    captured_system,
    earlier_capture,
    find_order,
    made_stock,
    made_system,
    recalled_stock,
    recalled_system,
    stock_binaries,
    without_stock,
)
from layoutrand.cache.capture_record import Capture
from layoutrand.cache.delta import zstandard
from layoutrand.capture.workspace import end_abandoned_builds
from layoutrand.config.jdk import JvmFacts
from layoutrand.errors import BuildFailed, FlagsUnheard
from layoutrand.model import IDENTITY, STOCK, Binary, BuildFailure, LayoutName
from layoutrand.warning import AnyWarning

if TYPE_CHECKING:
    from layoutrand.build.coupling import CoupledSystems
    from layoutrand.linkers.toolbox import Tool


@dataclass(frozen=True)
class SystemBuild:
    """What `build` did for one system; ``capture`` is None if it failed.

    ``facts`` are those of the key of the instrumented build, none where there is no such build.

    ``jvms`` has what a JVM said of itself in each layout, where the system is a JDK whose options place something.
    ``java`` is what ``java -version`` of a JDK that is taken as it is says.
    ``coupled`` are the captures of all systems that its layouts are reconciled with, its own among them.
    ``unwritten`` has the artefacts whose layouts were linked, though they would be written if that could be.
    """

    system: str
    capture: Capture | None
    cached: bool
    binaries: tuple[Binary, ...]
    failures: tuple[BuildFailure, ...]
    notes: tuple[AnyWarning, ...]
    jvms: Mapping[LayoutName, JvmFacts] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    coupled: tuple[str, ...] = ()
    java: str = ""
    unwritten: tuple[LinkedAllTheSame, ...] = ()


def build(setup: BuildSetup, systems: Sequence[str], layouts: Sequence[LayoutName]) -> list[SystemBuild]:
    """Build the layouts of the systems; failures are returned, not raised, and never stop the others.

    Captures come first, as many builds at a time as there are jobs; a system's layouts are linked and verified, as many
    at a time, as soon as it has its capture, and stock builds are made meanwhile, after all captures have begun.
    In rebuild mode each layout is a build of its own.
    Prebuilt systems have their stock binaries, whatever the ``layouts``, and these with factors of a JDK.
    Where there are ``setup.nodes`` they link the layouts. Systems with reconciled layouts need the captures of all.
    Raises `ToolNotFound` where layouts are to be deltas and what makes these is not installed.
    """
    config = setup.config
    everything = list(systems)
    systems = [name for name in everything if config.systems[name].prebuilt is None]
    coupled = coupled_names(config) if systems else []
    require_captures(config)
    if config.layout.storage == "delta":
        zstandard()  # before anything is built
    if coupled:  # layouts that depend on several captures are linked where all of these are
        setup = replace(setup, nodes=None)
    if ended := end_abandoned_builds(setup.cache):
        setup.progress.say(f"ended {ended} process(es) of a build whose layoutrand was killed")
    if config.build.mode == "relink":
        results = _relinked(setup, systems, coupled, layouts)
    else:
        stocks = _stocks_alone(setup, systems) if STOCK in layouts else {}
        results = [_with_stock(_rebuilt(setup, name, layouts), stocks.get(name)) for name in systems]
    results += [_prebuilt(setup, name, layouts) for name in everything if name not in systems]
    results.sort(key=lambda result: everything.index(result.system))
    return _with_remarks(results, [*setup.origins.notes(), *setup.failed.left_out()])


def _relinked(
    setup: BuildSetup, systems: Sequence[str], coupled: Sequence[str], layouts: Sequence[LayoutName]
) -> list[SystemBuild]:
    """The layouts of systems, linked from their captures."""
    names = list(dict.fromkeys([*systems, *coupled]))
    builds = len(names) + len(systems) * (STOCK in layouts)
    with threads(setup, max(1, min(setup.jobs, builds))) as pool:
        # Only what is to be built has a share of the jobs.
        found = pool.map(lambda name: recalled_system(setup, name), names)
        found_stocks = pool.map(lambda name: recalled_stock(setup, name), systems if STOCK in layouts else [])
        bases = dict(zip(names, found, strict=True))
        stocks = dict(zip(systems, found_stocks, strict=False))
        lacking = [name for name, base in bases.items() if base is None]
        without = [name for name, stock in stocks.items() if stock is None]
        at_once = without if lacking and setup.jobs > 1 else []
        shares = _shares(setup, len(lacking) + len(at_once))
        captured = {name: _known(base) for name, base in bases.items() if base is not None}
        captured |= {name: pool.submit(made_system, next(shares), name) for name in lacking}
        made_stocks = {name: pool.submit(_stock_beside, next(shares), name, captured[name]) for name in at_once}
        made = _all_layouts(setup, systems, coupled, captured, layouts)
        # Where nothing is captured, or one thing happens at a time, layouts are what is waited for: stock comes last.
        shares = _shares(setup, len(without))
        made_stocks = made_stocks or {
            name: pool.submit(_stock_beside, next(shares), name, captured[name]) for name in without
        }
        stocks |= {name: making.result() for name, making in made_stocks.items()}
        return [_with_stock(each, stocks.get(each.system)) for each in made]


def _stock_beside(setup: BuildSetup, name: str, captured: Future[CapturedSystem]) -> StockBinaries:
    """The system's stock binaries; not built where its capture has ended as they would: flags reached no compiler."""
    if captured.done() and isinstance(error := captured.result().error, FlagsUnheard):
        return without_stock(setup, name, error)
    return made_stock(setup, name)


def _shares(setup: BuildSetup, builds: int) -> Iterator[BuildSetup]:
    """The setup of each of so many builds: together they have all jobs, as long as there are builds for them."""
    at_once = max(1, min(setup.jobs, builds))
    jobs, more = divmod(setup.jobs, at_once)
    return (replace(setup, jobs=jobs + (number < more)) for number in range(builds))


def _known(base: CapturedSystem) -> Future[CapturedSystem]:
    """What need not be waited for."""
    known: Future[CapturedSystem] = Future()
    known.set_result(base)
    return known


def _all_layouts(
    setup: BuildSetup,
    systems: Sequence[str],
    coupled: Sequence[str],
    captured: Mapping[str, Future[CapturedSystem]],
    layouts: Sequence[LayoutName],
) -> list[SystemBuild]:
    """The layouts of each system but stock, linked when its capture is there; of reconciled ones when all are."""
    if setup.nodes is not None:  # all systems at a time: who waits for nodes takes nothing from this machine
        with threads(setup, max(1, len(systems))) as pool:
            return list(pool.map(lambda name: _layouts(setup, name, captured[name].result(), layouts), systems))
    if coupled:
        together = _together(setup, coupled, {name: future.result() for name, future in captured.items()})
        return [_layouts(setup, name, captured[name].result(), layouts, together) for name in systems]
    names = {captured[name]: name for name in systems}
    return [_layouts(setup, names[done], done.result(), layouts) for done in as_completed(names)]


def _stocks_alone(setup: BuildSetup, systems: Sequence[str]) -> dict[str, StockBinaries]:
    shares = list(_shares(setup, len(systems)))
    with threads(setup, max(1, min(setup.jobs, len(systems)))) as pool:
        return dict(zip(systems, pool.map(stock_binaries, shares, systems), strict=True))


def _with_stock(built: SystemBuild, stock: StockBinaries | None) -> SystemBuild:
    """The system's layouts with its stock binaries before them."""
    if stock is None:
        return built
    return replace(
        built,
        binaries=(*(each for each in stock.results if isinstance(each, Binary)), *built.binaries),
        failures=(*(each for each in stock.results if isinstance(each, BuildFailure)), *built.failures),
        notes=(*stock.notes, *built.notes),
    )


def _with_remarks(results: Sequence[SystemBuild], whole: Sequence[AnyWarning]) -> list[SystemBuild]:
    """The results with what there is to say of all together, ``whole``, once, and of captures they share."""
    first: dict[str, str] = {}
    told = []
    for number, result in enumerate(results):
        notes = [*(whole if number == 0 else ()), *result.notes]
        if result.capture is not None:
            other = first.setdefault(result.capture.id, result.system)
            if other != result.system:
                notes.append(SharedCapture(result.system, other))
        told.append(replace(result, notes=tuple(notes)))
    return told


def build_earlier(setup: BuildSetup, captures: Mapping[str, str], layouts: Sequence[LayoutName]) -> list[SystemBuild]:
    """Layouts of captures (by system) that are in the cache, whatever source and flags are now; without stock.

    Raises `BuildFailed` where one is not there any more, or damaged, or where layouts are reconciled with those of
    systems whose captures are not given.
    """
    coupled = coupled_names(setup.config)
    if missing := [name for name in coupled if name not in captures]:
        raise BuildFailed(
            f"layouts of {', '.join(captures)} are reconciled with those of {', '.join(missing)}, and cannot be linked "
            'without: set layout.couple = "order" for layouts of one system alone'
        )
    bases = {name: earlier_capture(setup, name, capture) for name, capture in captures.items()}
    together = _together(setup, coupled, bases)
    return [_layouts(setup, name, base, layouts, together) for name, base in bases.items()]


def _together(setup: BuildSetup, names: Sequence[str], bases: Mapping[str, CapturedSystem]) -> CoupledSystems | None:
    """The systems whose layouts are reconciled; None where they are not."""
    if not names:
        return None
    from layoutrand.build.coupling import CoupledSystem, CoupledSystems

    systems = tuple(
        CoupledSystem(name, base.capture, base.ld, base.error, base.order.facts if base.order else {})
        for name, base in ((name, bases[name]) for name in names)
    )
    return CoupledSystems(systems, setup.config.layout, setup.cache)


def _layouts(
    setup: BuildSetup,
    name: str,
    base: CapturedSystem,
    layouts: Sequence[LayoutName],
    together: CoupledSystems | None = None,
) -> SystemBuild:
    """All layouts of one system but stock, reconciled with those of others where they are given ``together``."""
    wanted = [layout for layout in layouts if layout != STOCK]
    made = _MadeLayouts()
    if base.error is not None:
        # Who wants a capture alone is told, too.
        failed = wanted or ([] if layouts else [IDENTITY])
        artefacts = setup.config.build.artefacts
        made = _MadeLayouts([as_failure(name, each, layout, base.error) for each in artefacts for layout in failed])
    elif base.capture is not None and base.ld is not None:
        tasks = _artefact_tasks(setup, base.ld, base.capture, together)
        known = [task.cached(wanted) for task in tasks]
        is_read = base.cached and any(len(found) < len(wanted) for found, _ in known)
        if is_read and (again := _in_place_of_damaged(setup, name, base, base.capture)) is not None:
            return _layouts(setup, name, again, layouts, together)
        made = _made_layouts(name, tasks, wanted, known)
    told = made.unwritten if setup.config.layout.engine == "permute" else []
    return SystemBuild(
        system=name,
        capture=base.capture,
        cached=base.cached,
        binaries=tuple(r for r in made.results if isinstance(r, Binary)),
        failures=tuple(r for r in made.results if isinstance(r, BuildFailure)),
        notes=(*base.notes, *made.notes, *told),
        unwritten=tuple(made.unwritten),
        facts={**(base.order.facts if base.order else {}), **(together.facts_beside(name) if together else {})},
        coupled=together.captures() if together else (),
    )


@dataclass(frozen=True)
class _MadeLayouts:
    """What came of the layouts of a system, what there is to say of that, and what was linked and not written."""

    results: list[Binary | BuildFailure] = field(default_factory=list)
    notes: list[AnyWarning] = field(default_factory=list)
    unwritten: list[LinkedAllTheSame] = field(default_factory=list)


def _artefact_tasks(
    setup: BuildSetup, ld: Tool, capture: Capture, together: CoupledSystems | None
) -> list[ArtefactTask]:
    """One for each artefact, in the order in which the build linked them."""
    return [
        ArtefactTask(
            *(setup, ld, capture, number), coupled=together.artefact(capture, link.artefact) if together else None
        )
        for number, link in enumerate(capture.links)
    ]


def _in_place_of_damaged(setup: BuildSetup, name: str, base: CapturedSystem, capture: Capture) -> CapturedSystem | None:
    """The system captured again where its capture is damaged in the cache; None where that is whole.

    Raises `BuildFailed` for an earlier capture, which no build gives again.
    """
    damaged = setup.cache.damaged_files(capture)
    if not damaged:
        return None
    if base.order is None:
        raise BuildFailed(f"capture {capture.id[:12]} is damaged in the cache ({damaged[0]})")
    setup.cache.drop_capture(capture.id)
    again = captured_system(setup, name)
    return replace(again, notes=(*base.notes, CaptureBuiltAgain(name, damaged[0], is_built=again.is_built)))


def _made_layouts(
    name: str,
    tasks: Sequence[ArtefactTask],
    wanted: Sequence[LayoutName],
    known: Sequence[tuple[Mapping[LayoutName, Binary], Sequence[LayoutName]]],
) -> _MadeLayouts:
    """Every artefact in each layout that is wanted.

    ``known`` is what the cache has of each artefact: its layouts, and those of which it has something damaged.
    """
    gc.freeze()  # a capture's sections live as long as the process: no search for garbage among them at each link
    made, rows = _MadeLayouts(), {}
    for task, (found, damaged_layouts) in zip(tasks, known, strict=True):
        row, remarks = artefact_layouts(task, wanted, found)
        rows[task.link.artefact] = row
        written = {each.layout for each in row if isinstance(each, Binary) and each.engine == "permute"}
        made.notes.extend(
            BinaryMadeAgain(name, task.link.artefact, layout, "written" if layout in written else "linked")
            for layout in damaged_layouts
        )
        made.unwritten.extend(each for each in remarks if isinstance(each, LinkedAllTheSame))
        made.notes.extend(each for each in remarks if not isinstance(each, LinkedAllTheSame))
        made.notes.extend(RecordedWarning(name, task.link.artefact, text) for text in task.link.warnings)
    for row in refuse_twins(refuse_immovable(tasks, rows)).values():
        made.results.extend(row)
    return made


def _prebuilt(setup: BuildSetup, name: str, layouts: Sequence[LayoutName]) -> SystemBuild:
    """A system of which nothing is built."""
    results = prebuilt.take(setup, name)
    for _ in results:
        setup.progress.advance()
    jvms: Mapping[LayoutName, JvmFacts] = {}
    if name not in setup.config.in_one_layout():
        from layoutrand.build.jdk_layouts import make_jdk_layouts

        made = make_jdk_layouts(setup, name, layouts)
        results, jvms = [*results, *made.results], made.facts
    return SystemBuild(
        system=name,
        capture=None,
        cached=True,
        binaries=tuple(r for r in results if isinstance(r, Binary)),
        failures=tuple(r for r in results if isinstance(r, BuildFailure)),
        notes=(),
        jvms=jvms,
        java=prebuilt.java_version(setup, name),
    )


def _rebuilt(setup: BuildSetup, name: str, layouts: Sequence[LayoutName]) -> SystemBuild:
    """All layouts of one system but stock in rebuild mode."""
    from layoutrand.build.rebuild import Rebuilt, rebuild

    wanted = [layout for layout in layouts if layout != STOCK]
    made = Rebuilt(None, True, [], [])
    if wanted:
        made = rebuild(setup, name, lambda: find_order(setup, name, "capture"), wanted)
    return SystemBuild(
        system=name,
        capture=made.capture,
        cached=made.cached,
        binaries=tuple(r for r in made.results if isinstance(r, Binary)),
        failures=tuple(r for r in made.results if isinstance(r, BuildFailure)),
        notes=tuple(made.notes),
        facts=made.facts,
    )


def all_layouts(
    seeds: Sequence[int], *, controls: bool, listed: Sequence[LayoutName] = (STOCK, IDENTITY)
) -> list[LayoutName]:
    """The seeds, with the controls that are ``listed`` before them unless they are left out."""
    return [*(each for each in (STOCK, IDENTITY) if controls and each in listed), *seeds]
