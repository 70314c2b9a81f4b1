"""`layoutrand build`: systems x layouts -> verified binaries in the cache."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from layoutrand.core.capture import Capture, CapturedLink
from layoutrand.core.config import Config, System
from layoutrand.core.order import draw
from layoutrand.core.recipe import Recipe, Variant, binary_facts
from layoutrand.core.toolchain import require_factors
from layoutrand.errors import BuildError, CaptureFailed, LayoutrandError
from layoutrand.model import IDENTITY, STOCK, Binary, BuildFailure, LayoutName
from layoutrand.usecases.binaries import cached_binary, store_linked, store_stock
from layoutrand.usecases.capture import Order, Say, build_stock, capture, find_origin, make_order
from layoutrand.usecases.relink import Code, Linked, link_layout, verify
from layoutrand.world import toolbox as toolboxes
from layoutrand.world.cache import Cache
from layoutrand.world.disk import cache_errors, canonical_json, sha256_bytes
from layoutrand.world.process import Runner

MIN_SECTIONS = 2


@dataclass(frozen=True)
class SystemBuild:
    """What `build` did for one system; ``capture`` is None if it failed."""

    system: str
    capture: Capture | None
    cached: bool
    binaries: tuple[Binary, ...]
    failures: tuple[BuildFailure, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Progress:
    """How `build` reports while it works: ``say`` takes a line, ``advance`` is called after each layout."""

    say: Say
    advance: Callable[[], None]


@dataclass(frozen=True)
class _Site:
    """Where and with what everything is built."""

    config: Config
    project: Path
    cache: Cache
    runner: Runner
    jobs: int
    progress: Progress


def build(  # noqa: PLR0913 - one argument for each choice of the user
    config: Config, project: Path, cache: Cache, runner: Runner, *, systems: Sequence[str],
    layouts: Sequence[LayoutName], jobs: int, progress: Progress,
) -> list[SystemBuild]:  # fmt: skip
    """Build the layouts of the systems; failures are returned, not raised, and never stop the others.

    Captures come first (each system's instrumented and stock builds, as many at a time as there are jobs), then all
    missing binaries are linked and verified, ``jobs`` at a time.
    """
    at_once = max(1, min(jobs, len(systems) * (2 if STOCK in layouts else 1)))
    site = _Site(config, project, cache, runner, jobs, progress)
    share = replace(site, jobs=max(1, jobs // at_once))
    with _pool(site, at_once) as pool:
        # Interleaved, so that a system's two builds run side by side and neither kind waits for all of the other.
        captured = {}
        stocks = {}
        for name in systems:
            captured[name] = pool.submit(_capture, share, name)
            if STOCK in layouts:
                stocks[name] = pool.submit(_stock, share, name)
        bases = {name: future.result() for name, future in captured.items()}
        controls = {name: future.result() for name, future in stocks.items()}
    for _ in [result for stock in controls.values() for result in stock.results]:
        progress.advance()
    return [_layouts(site, name, bases[name], controls.get(name, _Stock([], [])), layouts) for name in systems]


@contextmanager
def _pool(site: _Site, workers: int) -> Iterator[ThreadPoolExecutor]:
    """Threads whose builds end at once when the main thread is interrupted, instead of being waited for."""
    pool = ThreadPoolExecutor(workers)
    try:
        yield pool
    except BaseException:
        site.runner.stop()
        pool.shutdown(cancel_futures=True)
        raise
    pool.shutdown()


@dataclass(frozen=True)
class _Base:
    """A capture ready to link from, or the error why there is none."""

    capture: Capture | None
    order: Order | None
    cached: bool
    error: LayoutrandError | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Stock:
    """What became of a system's stock build, by artefact."""

    results: list[Binary | BuildFailure]
    notes: list[str]


def _order(site: _Site, name: str, variant: Variant) -> Order:
    options: System = site.config.systems[name]
    toolchain = toolboxes.load(options.toolchain, site.project)
    others = [toolboxes.load(other, site.project) for other in toolboxes.shipped()]
    require_factors(toolchain, list(site.config.layout.factors), others)
    recipe = Recipe(name, variant, site.config.build, options, toolchain)
    return make_order(recipe, find_origin(recipe, site.project, site.cache), toolboxes.find(toolchain, site.runner))


def _capture(site: _Site, name: str) -> _Base:
    """The system's capture, from the cache or made now."""
    notes: list[str] = []
    cache = site.cache
    try:
        order = _order(site, name, "capture")
        with cache.lock(f"capture-{order.key[:32]}"), cache_errors("use", cache.root):
            known = cache.recall(order.key)
            found = cache.load_capture(known["capture"]) if known else None
            if found is not None:
                return _Base(replace(found, system=name), order, True, None, ())
            if known:
                notes.append(f"{name}: its capture was missing or damaged, so it is built again")
            made = capture(order, cache, site.runner, jobs=site.jobs, say=site.progress.say)
        return _Base(made, order, False, None, tuple(notes))
    except LayoutrandError as error:
        return _Base(None, None, False, error, tuple(notes))


def _stock(site: _Site, name: str) -> _Stock:
    """The system's stock binaries, from the cache or built now."""
    notes: list[str] = []
    artefacts = site.config.build.artefacts
    cache = site.cache
    try:
        order = _order(site, name, "stock")
        keys = {artefact: _stock_key(order, artefact) for artefact in artefacts}
        with cache.lock(f"stock-{order.key[:32]}"), cache_errors("use", cache.root):
            found = [cached_binary(cache, name, artefact, STOCK, keys[artefact]) for artefact in artefacts]
            if all(found):
                return _Stock([binary for binary in found if binary], notes)
            if any(cache.has_entry(key) for key, binary in zip(keys.values(), found, strict=True) if binary is None):
                notes.append(f"{name}: its cached stock binary was damaged, so it is built again")
            made = build_stock(order, cache, site.runner, jobs=site.jobs, say=site.progress.say)
            stored = [store_stock(cache, name, artefact, keys[artefact], data) for artefact, data in made.items()]
            return _Stock(list(stored), notes)
    except LayoutrandError as error:
        return _Stock([_failure(name, artefact, STOCK, error) for artefact in artefacts], notes)


def _stock_key(order: Order, artefact: str) -> str:
    return sha256_bytes(canonical_json({"stock": order.key, "artefact": artefact}))


def _failure(system: str, artefact: str, layout: LayoutName, error: LayoutrandError) -> BuildFailure:
    return BuildFailure(system, artefact, layout, str(error), error.log if isinstance(error, BuildError) else None)


def _layouts(site: _Site, name: str, base: _Base, stock: _Stock, layouts: Sequence[LayoutName]) -> SystemBuild:
    """All layouts of one system."""
    results = list(stock.results)
    wanted = [layout for layout in layouts if layout != STOCK]
    notes = [*stock.notes, *base.notes]
    if base.error is not None:
        results += [
            _failure(name, artefact, layout, base.error)
            for artefact in site.config.build.artefacts
            for layout in wanted
        ]
    elif base.capture is not None and base.order is not None:
        tasks = [_Task(site, base.capture, base.order, *numbered) for numbered in enumerate(base.capture.links)]
        known = [task.cached(wanted) for task in tasks]
        if base.cached and any(len(found) < len(wanted) for found in known):
            damaged = site.cache.damaged_files(base.capture)
            if damaged:
                site.cache.drop_capture(base.capture.id)
                note = f"{name}: its capture was damaged on disk ({damaged[0]}), so it is built again"
                again = _capture(site, name)
                return _layouts(site, name, replace(again, notes=(*base.notes, note)), stock, layouts)
        for task, found in zip(tasks, known, strict=True):
            results += _artefact_layouts(task, wanted, found, notes)
            notes += [f"{name}: {task.link.artefact}: {warning}" for warning in task.link.warnings]
    return SystemBuild(
        system=name, capture=base.capture, cached=base.cached,
        binaries=tuple(r for r in results if isinstance(r, Binary)),
        failures=tuple(r for r in results if isinstance(r, BuildFailure)), notes=tuple(notes),
    )  # fmt: skip


def _artefact_layouts(
    task: _Task, layouts: Sequence[LayoutName], found: Mapping[LayoutName, Binary], notes: list[str]
) -> list[Binary | BuildFailure]:
    """Every layout of one artefact: ``found`` in the cache, or linked now."""
    results: dict[LayoutName, Binary | BuildFailure] = dict(found)
    missing = [layout for layout in layouts if layout not in results]
    for _ in found:
        task.site.progress.advance()
    notes += [
        f"{task.capture.system}: the cached binary of {task.link.artefact}, layout {layout}, was damaged; linked again"
        for layout in missing
        if task.site.cache.has_entry(task.key(layout))
    ]
    with _pool(task.site, task.site.jobs) as pool:
        results |= dict(zip(missing, pool.map(task.make, missing), strict=True))
    return _refuse_twins([results[layout] for layout in layouts])


@dataclass(frozen=True)
class _Task:
    """Linking one artefact of one capture."""

    site: _Site
    capture: Capture
    order: Order
    number: int
    link: CapturedLink

    @property
    def base(self) -> Path:
        """The artefact's directory in the capture."""
        return self.site.cache.capture_path(self.capture.id) / str(self.number)

    def key(self, layout: LayoutName) -> str:
        """The key of one binary in the cache."""
        facts = binary_facts(self.capture.id, self.link.artefact, self.site.config.layout, layout)
        return sha256_bytes(canonical_json(facts))

    def cached(self, layouts: Sequence[LayoutName]) -> dict[LayoutName, Binary]:
        """Those layouts that are in the cache, whole."""
        names = (self.capture.system, self.link.artefact)
        with _pool(self.site, self.site.jobs) as pool:  # most of it is hashing, which needs no lock of the interpreter
            found = pool.map(lambda layout: cached_binary(self.site.cache, *names, layout, self.key(layout)), layouts)
            return {layout: binary for layout, binary in zip(layouts, found, strict=True) if binary is not None}

    def make(self, layout: LayoutName) -> Binary | BuildFailure:
        """Link, verify and store one layout; an error becomes a record that names it."""
        try:
            with self.site.cache.scratch("link") as scratch, cache_errors("use", scratch):
                try:
                    linked = self._link(layout, scratch)
                except BuildError as error:
                    return self._failure(layout, self._kept(error, layout))
                return store_linked(
                    self.site.cache, scratch / "entry", linked, key=self.key(layout), system=self.capture.system,
                    artefact=self.link.artefact, layout=layout,
                )  # fmt: skip
        except LayoutrandError as error:
            return self._failure(layout, error)
        finally:
            self.site.progress.advance()

    def _failure(self, layout: LayoutName, error: LayoutrandError) -> BuildFailure:
        return _failure(self.capture.system, self.link.artefact, layout, error)

    def _link(self, layout: LayoutName, scratch: Path) -> Linked:
        movable = self.link.movable()
        if layout != IDENTITY and movable < MIN_SECTIONS:
            raise CaptureFailed(f"{self.link.artefact} has {movable} placeable section: there is only one layout")
        policy = self.site.config.layout
        wanted = draw(
            self.link.sections, self.link.identity, name=layout, factors=tuple(policy.factors), classes=policy.classes
        )
        ld = self.order.toolbox.tools["ld"].path
        binary, seconds, output = link_layout(self.site.runner, ld, self.link, self.base, wanted, scratch=scratch)
        entry = scratch / "entry"
        with cache_errors("make", entry):
            entry.mkdir()
            os.rename(output, entry / os.path.basename(self.link.artefact))
        return verify(binary, self.link, wanted, _code(self.base / "code.npz", self.link.code_sha256), seconds)

    def _kept(self, error: BuildError, layout: LayoutName) -> BuildError:
        """The error with its log moved to where it stays."""
        if error.log is None:
            return error
        name = os.path.basename(self.link.artefact)
        log = self.site.cache.logs() / f"link-{self.capture.system}-{name}-{layout}-{self.capture.id[:12]}.log"
        log.write_bytes(error.log.read_bytes())
        return type(error)(error.message, log=log)


_codes: dict[str, Code] = {}


def _code(path: Path, digest: str) -> Code:
    """Identity's code, read once per process: every seed of a capture is compared with the same arrays."""
    if digest not in _codes:
        _codes[digest] = Code.load(path)
    return _codes[digest]


def _refuse_twins(results: list[Binary | BuildFailure]) -> list[Binary | BuildFailure]:
    """Two seeds with the same text are one binary, not two: the later is a failure, since it would count twice."""
    first: dict[str, LayoutName] = {}
    kept: list[Binary | BuildFailure] = []
    for result in results:
        if isinstance(result, Binary) and isinstance(result.layout, int):
            twin = first.setdefault(result.text_sha256, result.layout)
            if twin != result.layout:
                result = BuildFailure(  # noqa: PLW2901 - the binary becomes a failure
                    result.system, result.artefact, result.layout,
                    f"the same code in the same order as seed {twin}: {result.artefact} has too few placeable "
                    "sections for this many seeds",
                    None,
                )  # fmt: skip
        kept.append(result)
    return kept


def all_layouts(seeds: Sequence[int], *, controls: bool) -> list[LayoutName]:
    """The seeds, with the controls before them unless they are left out."""
    return [*((STOCK, IDENTITY) if controls else ()), *seeds]
