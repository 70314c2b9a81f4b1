"""`layoutrand build`: systems x layouts -> verified binaries in the cache."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
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
    return [_layouts(site, name, bases[name], controls.get(name, []), layouts) for name in systems]


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
        with cache.lock(f"capture-{order.key[:32]}"):
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


def _stock(site: _Site, name: str) -> list[Binary | BuildFailure]:
    """The system's stock binaries, from the cache or built now."""
    artefacts = site.config.build.artefacts
    cache = site.cache
    try:
        order = _order(site, name, "stock")
        keys = {artefact: _stock_key(order, artefact) for artefact in artefacts}
        with cache.lock(f"stock-{order.key[:32]}"):
            found = [cached_binary(cache, name, artefact, STOCK, keys[artefact]) for artefact in artefacts]
            if all(found):
                return [binary for binary in found if binary]
            made = build_stock(order, cache, site.runner, jobs=site.jobs, say=site.progress.say)
            return [store_stock(cache, name, artefact, keys[artefact], data) for artefact, data in made.items()]
    except LayoutrandError as error:
        return [_failure(name, artefact, STOCK, error) for artefact in artefacts]


def _stock_key(order: Order, artefact: str) -> str:
    return sha256_bytes(canonical_json({"stock": order.key, "artefact": artefact}))


def _failure(system: str, artefact: str, layout: LayoutName, error: LayoutrandError) -> BuildFailure:
    return BuildFailure(system, artefact, layout, str(error), error.log if isinstance(error, BuildError) else None)


def _layouts(
    site: _Site, name: str, base: _Base, stock: list[Binary | BuildFailure], layouts: Sequence[LayoutName]
) -> SystemBuild:
    """All layouts of one system."""
    results: list[Binary | BuildFailure] = list(stock)
    for _ in stock:
        site.progress.advance()
    wanted = [layout for layout in layouts if layout != STOCK]
    notes = list(base.notes)
    if base.error is not None:
        results += [
            _failure(name, artefact, layout, base.error)
            for artefact in site.config.build.artefacts
            for layout in wanted
        ]
    elif base.capture is not None and base.order is not None:
        for number, link in enumerate(base.capture.links):
            results += _artefact_layouts(_Task(site, base.capture, base.order, number, link), wanted, notes)
            notes += [f"{name}: {link.artefact}: {warning}" for warning in link.warnings]
    return SystemBuild(
        system=name, capture=base.capture, cached=base.cached,
        binaries=tuple(r for r in results if isinstance(r, Binary)),
        failures=tuple(r for r in results if isinstance(r, BuildFailure)), notes=tuple(notes),
    )  # fmt: skip


def _artefact_layouts(task: _Task, layouts: Sequence[LayoutName], notes: list[str]) -> list[Binary | BuildFailure]:
    """Every layout of one artefact: from the cache where it is whole, linked now where not."""
    site, link, system = task.site, task.link, task.capture.system
    policy = site.config.layout
    keys = {
        layout: sha256_bytes(canonical_json(binary_facts(task.capture.id, link.artefact, policy, layout)))
        for layout in layouts
    }
    results: dict[LayoutName, Binary | BuildFailure] = {}
    for layout, key in keys.items():
        found = cached_binary(site.cache, system, link.artefact, layout, key)
        if found is not None:
            results[layout] = found
            site.progress.advance()
        elif site.cache.has_entry(key):
            notes.append(f"{system}: the cached binary of {link.artefact}, layout {layout}, was damaged; linked again")
    missing = [layout for layout in layouts if layout not in results]
    problem = task.ready() if missing else None
    if problem is not None:
        results |= {layout: task.failure(layout, problem) for layout in missing}
    else:
        with _pool(site, site.jobs) as pool:
            made = pool.map(lambda layout: task.make(layout, keys[layout]), missing)
            results |= dict(zip(missing, made, strict=True))
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

    def ready(self) -> LayoutrandError | None:
        """Why links cannot start, or None: the capture is undamaged and there is something to move."""
        if self.link.movable() < MIN_SECTIONS:
            return CaptureFailed(
                f"{self.link.artefact} has {self.link.movable()} placeable section: there is only one layout"
            )
        damaged = self.site.cache.damaged_files(self.capture)
        if damaged:
            self.site.cache.drop_capture(self.capture.id)
            return CaptureFailed(
                f"the capture of {self.capture.system!r} was damaged on disk and has been removed "
                f"({damaged[0]}); give the same command again to capture anew"
            )
        return None

    def failure(self, layout: LayoutName, error: LayoutrandError) -> BuildFailure:
        """The error as a record."""
        return _failure(self.capture.system, self.link.artefact, layout, error)

    def make(self, layout: LayoutName, key: str) -> Binary | BuildFailure:
        """Link, verify and store one layout; an error becomes a record that names it."""
        try:
            with self.site.cache.scratch("link") as scratch:
                try:
                    linked = self._link(layout, scratch)
                except BuildError as error:
                    return self.failure(layout, self._kept(error, layout))
                return store_linked(
                    self.site.cache, scratch / "entry", linked, key=key, system=self.capture.system,
                    artefact=self.link.artefact, layout=layout,
                )  # fmt: skip
        except LayoutrandError as error:
            return self.failure(layout, error)
        finally:
            self.site.progress.advance()

    def _link(self, layout: LayoutName, scratch: Path) -> Linked:
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
