"""`layoutrand build`: systems x layouts -> verified binaries in the cache."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from layoutrand.build import prebuilt
from layoutrand.build.binaries import as_failure, cached_binary, store_stock
from layoutrand.build.build_setup import BuildSetup, LinkingNodes, refuse_twins, threads
from layoutrand.build.build_warnings import (
    BinaryMadeAgain,
    CaptureBuiltAgain,
    RecordedWarning,
    SharedCapture,
    StockBuiltAgain,
)
from layoutrand.build.earlier_builds import recall_capture, remember_build
from layoutrand.build.jdk_layouts import make_jdk_layouts
from layoutrand.build.linking import Linking, Reference
from layoutrand.build.rebuild import Rebuilt, rebuild
from layoutrand.cache.capture_record import Capture, CapturedLink
from layoutrand.cache.keys import stock_key
from layoutrand.capture.instrumented_build import BuildOrder, build_stock, capture, make_order
from layoutrand.capture.libraries import companions
from layoutrand.capture.workspace import end_abandoned_builds
from layoutrand.config.build_recipe import Recipe, Variant
from layoutrand.config.config import System
from layoutrand.config.jdk import JvmFacts
from layoutrand.errors import BuildFailed, LayoutrandError
from layoutrand.linkers import toolbox as toolboxes
from layoutrand.linkers.toolbox import Tool
from layoutrand.model import IDENTITY, STOCK, Binary, BuildFailure, LayoutName
from layoutrand.platform.disk import cache_errors
from layoutrand.platform.process import InTurn
from layoutrand.suites.expand import build_tools
from layoutrand.warning import AnyWarning


@dataclass(frozen=True)
class SystemBuild:
    """What `build` did for one system; ``capture`` is None if it failed.

    ``facts`` are those of the key of the instrumented build, none where there is no such build.

    ``jvms`` has what a JVM said of itself in each layout, where the system is a JDK whose options place something.
    """

    system: str
    capture: Capture | None
    cached: bool
    binaries: tuple[Binary, ...]
    failures: tuple[BuildFailure, ...]
    notes: tuple[AnyWarning, ...]
    jvms: Mapping[LayoutName, JvmFacts] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)


def build(setup: BuildSetup, systems: Sequence[str], layouts: Sequence[LayoutName]) -> list[SystemBuild]:
    """Build the layouts of the systems; failures are returned, not raised, and never stop the others.

    Captures come first (each system's instrumented and stock builds, as many at a time as there are jobs), then all
    missing binaries are linked and verified, as many at a time. In rebuild mode each layout is a build of its own.
    Prebuilt systems have their stock binaries, whatever the ``layouts``, and these with factors of a JDK.
    Where there are ``setup.nodes`` they link the layouts.
    """
    config, jobs, progress = setup.config, setup.jobs, setup.progress
    everything = list(systems)
    systems = [name for name in everything if config.systems[name].prebuilt is None]
    relinking = config.build.mode == "relink"
    at_once = max(1, min(jobs, len(systems) * (relinking + (STOCK in layouts))))
    if ended := end_abandoned_builds(setup.cache):
        progress.say(f"ended {ended} process(es) of a build whose layoutrand was killed")
    share = replace(setup, jobs=max(1, jobs // at_once))
    with threads(setup, at_once) as pool:
        # Interleaved, so that a system's two builds run side by side and neither kind waits for all of the other.
        captured = {}
        stocks = {}
        for name in systems:
            if relinking:
                captured[name] = pool.submit(_capture, share, name)
            if STOCK in layouts:
                stocks[name] = pool.submit(_stock, share, name)
        bases = {name: future.result() for name, future in captured.items()}
        controls = {name: future.result() for name, future in stocks.items()}
    for _ in [result for stock in controls.values() for result in stock.results]:
        progress.advance()
    nothing = _Stock([], [])
    if (
        relinking and setup.nodes is not None
    ):  # all systems at a time: who waits for nodes takes nothing from this machine
        with threads(setup, max(1, len(systems))) as pool:
            results = list(
                pool.map(lambda name: _layouts(setup, name, bases[name], controls.get(name, nothing), layouts), systems)
            )
    elif relinking:
        results = [_layouts(setup, name, bases[name], controls.get(name, nothing), layouts) for name in systems]
    else:
        results = [_rebuilt(setup, name, controls.get(name, nothing), layouts) for name in systems]
    results += [_prebuilt(setup, name, layouts) for name in everything if name not in systems]
    results.sort(key=lambda result: everything.index(result.system))
    return _with_remarks(results, setup.origins.notes())


def _with_remarks(results: Sequence[SystemBuild], sources: Sequence[AnyWarning]) -> list[SystemBuild]:
    """The results with what there is to say across systems: of the ``sources``, once, and of captures they share."""
    first: dict[str, str] = {}
    told = []
    for number, result in enumerate(results):
        notes = [*(sources if number == 0 else ()), *result.notes]
        if result.capture is not None:
            other = first.setdefault(result.capture.id, result.system)
            if other != result.system:
                notes.append(SharedCapture(result.system, other))
        told.append(replace(result, notes=tuple(notes)))
    return told


@dataclass(frozen=True)
class _Base:
    """A capture ready to link from, or the error why there is none; ``order`` is None for one of an earlier source."""

    capture: Capture | None
    ld: Tool | None
    order: BuildOrder | None
    cached: bool
    error: LayoutrandError | None
    notes: tuple[AnyWarning, ...]


@dataclass(frozen=True)
class _Stock:
    """What became of a system's stock build, by artefact."""

    results: list[Binary | BuildFailure]
    notes: list[AnyWarning]


def build_earlier(setup: BuildSetup, name: str, capture: str, layouts: Sequence[LayoutName]) -> SystemBuild:
    """Layouts of a capture that is in the cache, whatever the system's source and flags are now; without stock.

    Raises `BuildFailed` where it is not there any more, or damaged.
    """
    made = setup.cache.load_capture(capture)
    if made is None:
        raise BuildFailed(
            f"capture {capture[:12]} of {name} is not in the cache any more, so its layouts cannot be linked: check "
            "out the source that it was made from, and explain that"
        )
    factors = tuple(setup.config.layout.factors)
    toolbox = toolboxes.prepare(setup.config.systems[name].toolchain, setup.project, factors, setup.runner)
    base = _Base(replace(made, system=name), toolbox.tools["ld"], None, True, None, ())
    return _layouts(setup, name, base, _Stock([], []), layouts)


def find_order(setup: BuildSetup, name: str, variant: Variant) -> BuildOrder:
    """What building the system in this variant takes; raises if source, toolchain or a tool is not there."""
    options: System = setup.config.systems[name]
    factors = tuple(setup.config.layout.factors)
    toolbox = toolboxes.prepare(options.toolchain, setup.project, factors, setup.runner)
    recipe = Recipe(name, variant, setup.config.build, options, toolbox.toolchain, factors)
    return make_order(recipe, setup.origins.find(recipe), toolbox, build_tools(setup.config, recipe.build))


def _capture(setup: BuildSetup, name: str) -> _Base:
    """The system's capture, from the cache or made now."""
    notes: list[AnyWarning] = []
    cache = setup.cache
    try:
        order = find_order(setup, name, "capture")
        with cache.lock(f"capture-{order.key[:32]}"), cache_errors("use", cache.root):
            made, known = recall_capture(cache, order)
            cached = made is not None
            if known and not cached:
                notes.append(CaptureBuiltAgain(name))
            made = made or capture(order, cache, setup.runner, jobs=setup.jobs, say=setup.progress.say)
            remember_build(setup, order)
        return _Base(made, order.toolbox.tools["ld"], order, cached, None, tuple(notes))
    except LayoutrandError as error:
        return _Base(None, None, None, False, error, tuple(notes))


def _stock(setup: BuildSetup, name: str) -> _Stock:
    """The system's stock binaries, from the cache or built now."""
    notes: list[AnyWarning] = []
    artefacts = setup.config.build.artefacts
    cache = setup.cache
    try:
        order = find_order(setup, name, "stock")
        keys = {artefact: stock_key(order.key, artefact) for artefact in artefacts}
        with cache.lock(f"stock-{order.key[:32]}"), cache_errors("use", cache.root):
            found = [cached_binary(cache, name, artefact, STOCK, keys[artefact]) for artefact in artefacts]
            if all(found):
                remember_build(setup, order)
                return _Stock([binary for binary in found if binary], notes)
            if any(cache.has_entry(key) for key, binary in zip(keys.values(), found, strict=True) if binary is None):
                notes.append(StockBuiltAgain(name))
            made = build_stock(order, cache, setup.runner, jobs=setup.jobs, say=setup.progress.say)
            stored = [store_stock(cache, name, artefact, keys[artefact], data) for artefact, data in made.items()]
            remember_build(setup, order)
            return _Stock(list(stored), notes)
    except LayoutrandError as error:
        return _Stock([as_failure(name, artefact, STOCK, error) for artefact in artefacts], notes)


def _layouts(setup: BuildSetup, name: str, base: _Base, stock: _Stock, layouts: Sequence[LayoutName]) -> SystemBuild:
    """All layouts of one system."""
    results = list(stock.results)
    wanted = [layout for layout in layouts if layout != STOCK]
    notes = [*stock.notes, *base.notes]
    if base.error is not None:
        results += [
            as_failure(name, artefact, layout, base.error)
            for artefact in setup.config.build.artefacts
            for layout in wanted
        ]
    elif base.capture is not None and base.ld is not None:
        ld, policy = base.ld, setup.config.layout
        linkings = [
            Linking(setup.cache, setup.runner, setup.jobs, policy, ld, base.capture, number)
            for number in range(len(base.capture.links))
        ]
        tasks = [_Task(setup, linking) for linking in linkings]
        known = [task.cached(wanted) for task in tasks]
        if base.cached and any(len(found) < len(wanted) for found, _ in known):
            damaged = setup.cache.damaged_files(base.capture)
            if damaged and base.order is None:
                raise BuildFailed(f"capture {base.capture.id[:12]} is damaged in the cache ({damaged[0]})")
            if damaged:
                setup.cache.drop_capture(base.capture.id)
                note = CaptureBuiltAgain(name, damaged[0])
                again = _capture(setup, name)
                return _layouts(setup, name, replace(again, notes=(*base.notes, note)), stock, layouts)
        gc.freeze()  # a capture's sections live as long as the process: no search for garbage among them at each link
        rows = {}
        for task, (found, damaged_layouts) in zip(tasks, known, strict=True):
            notes += [BinaryMadeAgain(name, task.link.artefact, layout, "linked") for layout in damaged_layouts]
            rows[task.link.artefact] = _artefact_layouts(task, wanted, found)
            notes += [RecordedWarning(name, task.link.artefact, text) for text in task.link.warnings]
        for row in refuse_twins(_refuse_immovable(tasks, rows)).values():
            results += row
    return SystemBuild(
        system=name,
        capture=base.capture,
        cached=base.cached,
        binaries=tuple(r for r in results if isinstance(r, Binary)),
        failures=tuple(r for r in results if isinstance(r, BuildFailure)),
        notes=tuple(notes),
        facts=base.order.facts if base.order else {},
    )


def _prebuilt(setup: BuildSetup, name: str, layouts: Sequence[LayoutName]) -> SystemBuild:
    """A system of which nothing is built."""
    results = prebuilt.take(setup, name)
    for _ in results:
        setup.progress.advance()
    jvms: Mapping[LayoutName, JvmFacts] = {}
    if name not in setup.config.in_one_layout():
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
    )


def _rebuilt(setup: BuildSetup, name: str, stock: _Stock, layouts: Sequence[LayoutName]) -> SystemBuild:
    """All layouts of one system in rebuild mode."""
    wanted = [layout for layout in layouts if layout != STOCK]
    made = Rebuilt(None, True, [], [])
    if wanted:
        made = rebuild(setup, name, lambda: find_order(setup, name, "capture"), wanted)
    results = [*stock.results, *made.results]
    return SystemBuild(
        system=name,
        capture=made.capture,
        cached=made.cached,
        binaries=tuple(r for r in results if isinstance(r, Binary)),
        failures=tuple(r for r in results if isinstance(r, BuildFailure)),
        notes=(*stock.notes, *made.notes),
        facts=made.facts,
    )


def _artefact_layouts(
    task: _Task, layouts: Sequence[LayoutName], found: Mapping[LayoutName, Binary]
) -> list[Binary | BuildFailure]:
    """Every layout of one artefact: ``found`` in the cache, or linked now."""
    results: dict[LayoutName, Binary | BuildFailure] = dict(found)
    missing = [layout for layout in layouts if layout not in results]
    for _ in found:
        task.setup.progress.advance()
    # One thread more than linkers, so that none of these waits while layouts are drawn and binaries verified.
    jobs = task.setup.jobs
    task = replace(task, linking=replace(task.linking, runner=InTurn(task.setup.runner, jobs)))
    with task.setup.cache.thread_scratch("link") as own_scratch, threads(task.setup, jobs + (jobs > 1)) as pool:
        if task.setup.nodes is not None:
            results |= _on_nodes(task, task.setup.nodes, missing, found, own_scratch)
        else:
            results |= dict(zip(missing, pool.map(lambda layout: task.make(layout, own_scratch), missing), strict=True))
    return [results[layout] for layout in layouts]


def _on_nodes(
    task: _Task,
    nodes: LinkingNodes,
    missing: Sequence[LayoutName],
    found: Mapping[LayoutName, Binary],
    own_scratch: Callable[[], Path],
) -> dict[LayoutName, Binary | BuildFailure]:
    """The missing layouts, linked by nodes: all but the first that can be, which is linked here for them to repeat."""
    results: dict[LayoutName, Binary | BuildFailure] = dict(found)
    for layout in missing:
        if not task.linking.few() and any(isinstance(result, Binary) for result in results.values()):
            break
        results[layout] = task.make(layout, own_scratch)
    left = [layout for layout in missing if layout not in results]
    first = next((result for result in results.values() if isinstance(result, Binary)), None)
    if left and first is not None:
        reference = Reference(first.layout, first.sha256)
        results |= nodes.link(task.linking, left, reference, task.setup.progress.advance)
    return {layout: results[layout] for layout in missing}


def _refuse_immovable(
    tasks: Sequence[_Task], rows: Mapping[str, list[Binary | BuildFailure]]
) -> dict[str, list[Binary | BuildFailure]]:
    """A program with nothing to move has no layouts, unless it needs artefacts that have some."""
    needs = companions(rows)
    few = {task.link.artefact: task.linking.few() for task in tasks if not needs[task.link.artefact]}
    return {
        artefact: [
            BuildFailure(result.system, artefact, result.layout, reason, None)
            if isinstance(result, Binary) and isinstance(result.layout, int) and (reason := few.get(artefact, ""))
            else result
            for result in row
        ]
        for artefact, row in rows.items()
    }


@dataclass(frozen=True)
class _Task:
    """Linking one artefact of one capture, for this build."""

    setup: BuildSetup
    linking: Linking

    @property
    def link(self) -> CapturedLink:
        """The captured link."""
        return self.linking.link

    def cached(self, layouts: Sequence[LayoutName]) -> tuple[dict[LayoutName, Binary], list[LayoutName]]:
        """Those layouts that are in the cache, whole; and those that are there damaged."""
        # Before they are read: another process may be making them at this moment.
        key, cache = self.linking.key, self.setup.cache
        there = [layout for layout in layouts if cache.has_entry(key(layout))]
        names = (self.linking.capture.system, self.link.artefact)
        # Most of it is hashing, which needs no lock of the interpreter.
        with threads(self.setup, self.setup.jobs) as pool:
            found = pool.map(lambda layout: cached_binary(cache, *names, layout, key(layout)), layouts)
            whole = {layout: binary for layout, binary in zip(layouts, found, strict=True) if binary is not None}
        return whole, [layout for layout in there if layout not in whole]

    def make(self, layout: LayoutName, own_scratch: Callable[[], Path]) -> Binary | BuildFailure:
        """Link, verify and store one layout in the thread's own scratch; an error becomes a record that names it."""
        try:
            return self.linking.make(layout, own_scratch)
        finally:
            self.setup.progress.advance()


def all_layouts(seeds: Sequence[int], *, controls: bool) -> list[LayoutName]:
    """The seeds, with the controls before them unless they are left out."""
    return [*((STOCK, IDENTITY) if controls else ()), *seeds]
