"""`layoutrand build`: systems x layouts -> verified binaries in the cache."""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from layoutrand.build import prebuilt
from layoutrand.build.artefact_layouts import (
    ArtefactTask,
    artefact_layouts,
    linked_instead,
    permuting_of,
    refuse_immovable,
)
from layoutrand.build.binaries import as_failure, cached_binary, store_stock
from layoutrand.build.build_setup import BuildSetup, refuse_twins, threads
from layoutrand.build.build_warnings import (
    BinaryMadeAgain,
    CaptureBuiltAgain,
    RecordedWarning,
    SharedCapture,
    StockBuiltAgain,
)
from layoutrand.build.coupling import CoupledSystem, CoupledSystems, coupled_names, require_captures
from layoutrand.build.earlier_builds import recall_capture, remember_build
from layoutrand.build.jdk_layouts import make_jdk_layouts
from layoutrand.build.linking import Linking
from layoutrand.build.rebuild import Rebuilt, rebuild
from layoutrand.build.why_again import TellsWhy
from layoutrand.cache.capture_record import Capture
from layoutrand.cache.keys import stock_key
from layoutrand.capture.build_order import BuildOrder, make_order
from layoutrand.capture.instrumented_build import build_stock, capture
from layoutrand.capture.workspace import end_abandoned_builds
from layoutrand.config.build_recipe import Recipe, Variant
from layoutrand.config.config import System
from layoutrand.config.jdk import JvmFacts
from layoutrand.errors import BuildFailed, FeatureUnsupported, LayoutrandError
from layoutrand.linkers import toolbox as toolboxes
from layoutrand.linkers.known import linker
from layoutrand.linkers.toolbox import Tool
from layoutrand.model import IDENTITY, STOCK, Binary, BuildFailure, LayoutName
from layoutrand.platform.disk import cache_errors
from layoutrand.suites.expand import build_tools
from layoutrand.warning import AnyWarning


@dataclass(frozen=True)
class SystemBuild:
    """What `build` did for one system; ``capture`` is None if it failed.

    ``facts`` are those of the key of the instrumented build, none where there is no such build.

    ``jvms`` has what a JVM said of itself in each layout, where the system is a JDK whose options place something.
    ``java`` is what ``java -version`` of a JDK that is taken as it is says.
    ``coupled`` are the captures of all systems that its layouts are reconciled with, its own among them.
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


def build(setup: BuildSetup, systems: Sequence[str], layouts: Sequence[LayoutName]) -> list[SystemBuild]:
    """Build the layouts of the systems; failures are returned, not raised, and never stop the others.

    Captures come first (each system's instrumented and stock builds, as many at a time as there are jobs), then all
    missing binaries are linked and verified, as many at a time. In rebuild mode each layout is a build of its own.
    Prebuilt systems have their stock binaries, whatever the ``layouts``, and these with factors of a JDK.
    Where there are ``setup.nodes`` they link the layouts. Systems with reconciled layouts need the captures of all.
    """
    config, jobs, progress = setup.config, setup.jobs, setup.progress
    everything = list(systems)
    systems = [name for name in everything if config.systems[name].prebuilt is None]
    coupled = coupled_names(config) if systems else []
    require_captures(config)
    if coupled:  # layouts that depend on several captures are linked where all of these are
        setup = replace(setup, nodes=None)
    relinking = config.build.mode == "relink"
    at_once = max(1, min(jobs, len(systems) * (relinking + (STOCK in layouts))))
    if ended := end_abandoned_builds(setup.cache):
        progress.say(f"ended {ended} process(es) of a build whose layoutrand was killed")
    share = replace(setup, jobs=max(1, jobs // at_once))
    with threads(setup, at_once) as pool:
        # Interleaved, so that a system's two builds run side by side and neither kind waits for all of the other.
        captured = {}
        stocks = {}
        for name in dict.fromkeys([*systems, *coupled]):
            if relinking:
                captured[name] = pool.submit(_capture, share, name)
            if STOCK in layouts and name in systems:
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
        together = _together(setup, coupled, bases)
        results = [
            _layouts(setup, name, bases[name], controls.get(name, nothing), layouts, together) for name in systems
        ]
    else:
        results = [_rebuilt(setup, name, controls.get(name, nothing), layouts) for name in systems]
    results += [_prebuilt(setup, name, layouts) for name in everything if name not in systems]
    results.sort(key=lambda result: everything.index(result.system))
    return _with_remarks(results, [*setup.origins.notes(), *setup.failed.left_out()])


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


@dataclass(frozen=True)
class _Base:
    """A capture ready to link from, or the error why there is none; ``order`` is None for one of an earlier source.

    ``is_built`` where a build was made for it.
    """

    capture: Capture | None
    ld: Tool | None
    order: BuildOrder | None
    cached: bool
    error: LayoutrandError | None
    notes: tuple[AnyWarning, ...]
    is_built: bool = False


@dataclass(frozen=True)
class _Stock:
    """What became of a system's stock build, by artefact."""

    results: list[Binary | BuildFailure]
    notes: list[AnyWarning]


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
    bases = {name: _earlier(setup, name, capture) for name, capture in captures.items()}
    together = _together(setup, coupled, bases)
    return [_layouts(setup, name, base, _Stock([], []), layouts, together) for name, base in bases.items()]


def _earlier(setup: BuildSetup, name: str, capture: str) -> _Base:
    made = setup.cache.load_capture(capture)
    if made is None:
        raise BuildFailed(
            f"capture {capture[:12]} of {name} is not in the cache any more, so its layouts cannot be linked: check "
            "out the source that it was made from, and explain that"
        )
    factors = setup.config.layout.captured()
    around = toolboxes.Surroundings.of(setup.config, name)
    toolbox = toolboxes.prepare(setup.config.systems[name].toolchain, setup.project, factors, setup.runner, around)
    return _Base(replace(made, system=name), toolbox.tools["ld"], None, True, None, ())


def find_order(setup: BuildSetup, name: str, variant: Variant) -> BuildOrder:
    """What building the system in this variant takes; raises if source, toolchain or a tool is not there."""
    options: System = setup.config.systems[name]
    factors = setup.config.layout.captured()
    around = toolboxes.Surroundings.of(setup.config, name)
    toolbox = toolboxes.prepare(options.toolchain, setup.project, factors, setup.runner, around)
    recipe = Recipe.of(setup.config, name, variant, toolbox.toolchain, factors, os.environ)
    if linker(toolbox.toolchain.link.linker).own_objects:
        _refuse_for_own_objects(recipe)
    return make_order(recipe, setup.origins.find(recipe), toolbox, build_tools(setup.config, recipe.build))


def _refuse_for_own_objects(recipe: Recipe) -> None:
    """Raise `FeatureUnsupported` for what is not there where the compiler has a linker of its own."""
    flags = [key for key in ("cflags", "cxxflags", "fflags", "ldflags", "file_flags") if getattr(recipe.options, key)]
    where = f"system {recipe.system!r}, toolchain {recipe.toolchain.name!r}"
    if flags:
        raise FeatureUnsupported(
            f"{where}: {', '.join(flags)} would reach no compiler. Go takes flags by a variable: "
            'env = { GOFLAGS = "-gcflags=all=-B" }, or CGO_CFLAGS for C'
        )
    if recipe.build.mode == "rebuild":
        raise FeatureUnsupported(
            f'{where}: mode = "rebuild" is for linkers that the build calls; layouts of Go are linked from a capture'
        )


def _capture(setup: BuildSetup, name: str) -> _Base:
    """The system's capture, from the cache or made now."""
    notes: list[AnyWarning] = []
    cache = setup.cache
    again = None
    try:
        order = find_order(setup, name, "capture")
        with cache.lock(f"capture-{order.key[:32]}"), cache_errors("use", cache.root):
            made, recorded = recall_capture(cache, order)
            cached = made is not None
            if made is None:
                setup.failed.refuse(setup.config, name)
                again = TellsWhy(setup, order)
                say = setup.progress.say
                try:
                    made = capture(order, cache, setup.runner, jobs=setup.jobs, say=say, building=again)
                finally:
                    if recorded != "none":
                        notes.append(CaptureBuiltAgain(name, record=recorded, is_built=again.is_built))
            remember_build(setup, order)
        is_built = again is not None and again.is_built
        return _Base(made, order.toolbox.tools["ld"], order, cached, None, tuple(notes), is_built)
    except LayoutrandError as error:
        setup.failed.note(setup.config, name, error)
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
            setup.failed.refuse(setup.config, name)
            again = TellsWhy(setup, order)
            try:
                made = build_stock(order, cache, setup.runner, jobs=setup.jobs, say=setup.progress.say, building=again)
            finally:
                absent = [key for key, binary in zip(keys.values(), found, strict=True) if binary is None]
                if any(map(cache.has_entry, absent)):
                    notes.append(StockBuiltAgain(name, is_built=again.is_built))
            stored = [store_stock(cache, name, artefact, keys[artefact], data) for artefact, data in made.items()]
            remember_build(setup, order)
            return _Stock(list(stored), notes)
    except LayoutrandError as error:
        setup.failed.note(setup.config, name, error)
        return _Stock([as_failure(name, artefact, STOCK, error) for artefact in artefacts], notes)


def _together(setup: BuildSetup, names: Sequence[str], bases: Mapping[str, _Base]) -> CoupledSystems | None:
    """The systems whose layouts are reconciled; None where they are not."""
    if not names:
        return None
    systems = tuple(_coupled_system(name, bases[name]) for name in names)
    return CoupledSystems(systems, setup.config.layout, setup.cache)


def _coupled_system(name: str, base: _Base) -> CoupledSystem:
    return CoupledSystem(name, base.capture, base.ld, base.error, base.order.facts if base.order else {})


def _layouts(
    setup: BuildSetup,
    name: str,
    base: _Base,
    stock: _Stock,
    layouts: Sequence[LayoutName],
    together: CoupledSystems | None = None,
) -> SystemBuild:
    """All layouts of one system, reconciled with those of others where they are given ``together``."""
    results = list(stock.results)
    wanted = [layout for layout in layouts if layout != STOCK]
    notes = [*stock.notes, *base.notes]
    if base.error is not None:
        results += [
            as_failure(name, artefact, layout, base.error)
            for artefact in setup.config.build.artefacts
            for layout in wanted or ([] if results else [IDENTITY])  # who wants a capture alone is told, too
        ]
    elif base.capture is not None and base.ld is not None:
        ld, policy = base.ld, setup.config.layout
        tasks = [
            ArtefactTask(
                setup,
                Linking(
                    *(setup.cache, setup.runner, setup.jobs, policy, ld, base.capture, number),
                    coupled=together.artefact(base.capture, link.artefact) if together else None,
                    permuting=permuting_of(setup, base.capture, number, ld),
                ),
            )
            for number, link in enumerate(base.capture.links)
        ]
        known = [task.cached(wanted) for task in tasks]
        if base.cached and any(len(found) < len(wanted) for found, _ in known):
            damaged = setup.cache.damaged_files(base.capture)
            if damaged and base.order is None:
                raise BuildFailed(f"capture {base.capture.id[:12]} is damaged in the cache ({damaged[0]})")
            if damaged:
                setup.cache.drop_capture(base.capture.id)
                again = _capture(setup, name)
                note = CaptureBuiltAgain(name, damaged[0], is_built=again.is_built)
                return _layouts(setup, name, replace(again, notes=(*base.notes, note)), stock, layouts, together)
        gc.freeze()  # a capture's sections live as long as the process: no search for garbage among them at each link
        rows = {}
        for task, (found, damaged_layouts) in zip(tasks, known, strict=True):
            notes += [BinaryMadeAgain(name, task.link.artefact, layout, "linked") for layout in damaged_layouts]
            rows[task.link.artefact] = artefact_layouts(task, wanted, found)
            notes += linked_instead(task, rows[task.link.artefact])
            notes += [RecordedWarning(name, task.link.artefact, text) for text in task.link.warnings]
        for row in refuse_twins(refuse_immovable(tasks, rows)).values():
            results += row
    return SystemBuild(
        system=name,
        capture=base.capture,
        cached=base.cached,
        binaries=tuple(r for r in results if isinstance(r, Binary)),
        failures=tuple(r for r in results if isinstance(r, BuildFailure)),
        notes=tuple(notes),
        facts={**(base.order.facts if base.order else {}), **(together.facts_beside(name) if together else {})},
        coupled=together.captures() if together else (),
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
        java=prebuilt.java_version(setup, name),
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


def all_layouts(seeds: Sequence[int], *, controls: bool) -> list[LayoutName]:
    """The seeds, with the controls before them unless they are left out."""
    return [*((STOCK, IDENTITY) if controls else ()), *seeds]
