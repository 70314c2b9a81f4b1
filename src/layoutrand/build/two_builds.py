"""A system's two builds: the instrumented one, which is captured, and the user's own, for its stock binaries."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from layoutrand.build.binaries import as_failure, cached_binary, store_stock
from layoutrand.build.build_setup import BuildSetup
from layoutrand.build.build_warnings import CaptureBuiltAgain, StockBuiltAgain
from layoutrand.build.earlier_builds import recall_capture, remember_build
from layoutrand.build.failed_commits import forget_failed, note_failed, refuse_failed
from layoutrand.cache.capture_record import Capture
from layoutrand.cache.keys import stock_key
from layoutrand.capture.build_order import BuildOrder, make_order
from layoutrand.config.build_recipe import Recipe, Variant
from layoutrand.errors import BuildFailed, FeatureUnsupported, LayoutrandError
from layoutrand.linkers.known import linker
from layoutrand.linkers.toolbox import Tool
from layoutrand.model import STOCK, Binary, BuildFailure
from layoutrand.platform.disk import cache_errors
from layoutrand.suites.expand import build_tools
from layoutrand.warning import AnyWarning

_Taken = TypeVar("_Taken")


@dataclass(frozen=True)
class CapturedSystem:
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
class StockBinaries:
    """What became of a system's stock build, by artefact."""

    results: list[Binary | BuildFailure]
    notes: list[AnyWarning]


def earlier_capture(setup: BuildSetup, name: str, capture: str) -> CapturedSystem:
    """A capture that an earlier build left; raises `BuildFailed` where it is not there any more."""
    made = setup.cache.load_capture(capture)
    if made is None:
        raise BuildFailed(
            f"capture {capture[:12]} of {name} is not in the cache any more, so its layouts cannot be linked: check "
            "out the source that it was made from, and explain that"
        )
    toolbox = setup.toolboxes.prepare(setup.config, name)
    return CapturedSystem(replace(made, system=name), toolbox.tools["ld"], None, True, None, ())


def find_order(setup: BuildSetup, name: str, variant: Variant) -> BuildOrder:
    """What building the system in this variant takes; raises if source, toolchain or a tool is not there."""
    toolbox = setup.toolboxes.prepare(setup.config, name)
    factors = setup.config.layout.captured()
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


def captured_system(setup: BuildSetup, name: str) -> CapturedSystem:
    """The system's capture, from the cache or made now."""
    return recalled_system(setup, name) or made_system(setup, name)


def recalled_system(setup: BuildSetup, name: str) -> CapturedSystem | None:
    """The system's capture from the cache, or the error why there can be none; None where it is to be made."""
    try:
        order = find_order(setup, name, "capture")
        with cache_errors("use", setup.cache.root):
            made, _ = recall_capture(setup.cache, order)
            if made is None:
                return None
            remember_build(setup, order)
        return CapturedSystem(made, order.toolbox.tools["ld"], order, True, None, ())
    except LayoutrandError as error:
        return _without_capture(setup, name, error, [])


def made_system(setup: BuildSetup, name: str) -> CapturedSystem:
    """The system's capture, made now with as many jobs as the setup has, unless another process has made it."""
    notes: list[AnyWarning] = []
    cache = setup.cache
    is_built = False
    try:
        order = find_order(setup, name, "capture")
        with cache.lock(f"capture-{order.key[:32]}"), cache_errors("use", cache.root):
            made, recorded = recall_capture(cache, order)
            cached = made is not None
            if made is None:
                from layoutrand.capture.instrumented_build import capture
                from layoutrand.capture.side_by_side import Beside, something_beside

                # Where this system's share of the turns is one, another is free once other builds have ended.
                beside: Beside = something_beside if setup.jobs > 1 else setup.turns.one_more

                def note(built: bool) -> None:
                    nonlocal is_built
                    is_built = built
                    if recorded != "none":
                        notes.append(CaptureBuiltAgain(name, record=recorded, is_built=built))

                made = _made(setup, order, partial(capture, beside=beside), note)
            remember_build(setup, order)
        return CapturedSystem(made, order.toolbox.tools["ld"], order, cached, None, tuple(notes), is_built)
    except LayoutrandError as error:
        return _without_capture(setup, name, error, notes)


def _without_capture(
    setup: BuildSetup, name: str, error: LayoutrandError, notes: Sequence[AnyWarning]
) -> CapturedSystem:
    setup.failed.note(setup.config, name, error)
    return CapturedSystem(None, None, None, False, error, tuple(notes))


def _made(setup: BuildSetup, order: BuildOrder, take: Callable[..., _Taken], note: Callable[[bool], None]) -> _Taken:
    """What ``take`` takes of the build, made when it is its turn, or kept since earlier.

    ``note`` is told whether a build was made, of one that failed, too.
    """
    from layoutrand.build.why_again import TellsWhy

    setup.failed.refuse(setup.config, order.recipe.system)
    refuse_failed(setup, order)
    again = TellsWhy(setup, order)
    try:
        with setup.turns.taken(setup.jobs):
            made = take(order, setup.cache, setup.runner, jobs=setup.jobs, say=setup.progress.say, building=again)
    except LayoutrandError as error:
        note_failed(setup, order, error)
        raise
    else:
        forget_failed(setup, order)
        return made
    finally:
        note(again.is_built)


def stock_binaries(setup: BuildSetup, name: str) -> StockBinaries:
    """The system's stock binaries, whatever becomes of its capture: from the cache or built now."""
    return recalled_stock(setup, name) or made_stock(setup, name)


def recalled_stock(setup: BuildSetup, name: str) -> StockBinaries | None:
    """The system's stock binaries from the cache, or why there can be none; None where they are to be built."""
    try:
        order = find_order(setup, name, "stock")
        with cache_errors("use", setup.cache.root):
            found = _cached_stock(setup, name, order)
            if not all(found.values()):
                return None
            remember_build(setup, order)
    except LayoutrandError as error:
        return without_stock(setup, name, error)
    return _done(setup, StockBinaries([each for each in found.values() if each], []))


def made_stock(setup: BuildSetup, name: str) -> StockBinaries:
    """The system's stock binaries, built now with as many jobs as the setup has, unless another process has done it."""
    notes: list[AnyWarning] = []
    cache = setup.cache
    try:
        order = find_order(setup, name, "stock")
        with cache.lock(f"stock-{order.key[:32]}"), cache_errors("use", cache.root):
            found = _cached_stock(setup, name, order)
            if all(found.values()):
                remember_build(setup, order)
                return _done(setup, StockBinaries([binary for binary in found.values() if binary], notes))
            from layoutrand.capture.instrumented_build import build_stock

            absent = [stock_key(order.key, artefact) for artefact, binary in found.items() if binary is None]

            def note(built: bool) -> None:
                if any(map(cache.has_entry, absent)):
                    notes.append(StockBuiltAgain(name, is_built=built))

            made = _made(setup, order, build_stock, note)
            stored = [
                store_stock(cache, name, artefact, stock_key(order.key, artefact), data)
                for artefact, data in made.items()
            ]
            remember_build(setup, order)
        return _done(setup, StockBinaries(list(stored), notes))
    except LayoutrandError as error:
        return without_stock(setup, name, error, notes)


def _cached_stock(setup: BuildSetup, name: str, order: BuildOrder) -> dict[str, Binary | None]:
    """The stock binaries that are in the cache, by artefact."""
    return {
        artefact: cached_binary(setup.cache, name, artefact, STOCK, stock_key(order.key, artefact))
        for artefact in setup.config.build.artefacts
    }


def without_stock(
    setup: BuildSetup, name: str, error: LayoutrandError, notes: Sequence[AnyWarning] = ()
) -> StockBinaries:
    """That there are none for this error."""
    setup.failed.note(setup.config, name, error)
    failures = [as_failure(name, artefact, STOCK, error) for artefact in setup.config.build.artefacts]
    return _done(setup, StockBinaries(list(failures), list(notes)))


def _done(setup: BuildSetup, made: StockBinaries) -> StockBinaries:
    """The same, once the progress knows of each."""
    for _ in made.results:
        setup.progress.advance()
    return made
