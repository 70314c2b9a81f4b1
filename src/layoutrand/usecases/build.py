"""`layoutrand build`: systems x layouts -> verified binaries in the cache."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from layoutrand.core.capture import Capture, CapturedLink
from layoutrand.core.config import Config, System
from layoutrand.core.order import draw
from layoutrand.core.recipe import Recipe, Variant, binary_facts
from layoutrand.core.toolchain import require_factors
from layoutrand.errors import BuildError, CaptureFailed, LayoutrandError
from layoutrand.model import IDENTITY, STOCK, Binary, BuildFailure, LayoutName, Verification
from layoutrand.usecases.capture import Order, Say, build_stock, capture, find_origin, make_order
from layoutrand.usecases.relink import Code, Linked, link_layout, verify
from layoutrand.world import toolbox as toolboxes
from layoutrand.world.cache import Cache
from layoutrand.world.disk import cache_errors, canonical_json, sha256_bytes, sha256_file
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


def build(  # noqa: PLR0913 - one argument for each choice of the user
    config: Config, project: Path, cache: Cache, runner: Runner, *, systems: Sequence[str], layouts: Sequence[LayoutName],
    jobs: int, progress: Progress,
) -> list[SystemBuild]:  # fmt: skip
    """Build the layouts of the systems; failures are returned, not raised, and never stop the others.

    Captures come first (each system's instrumented and stock builds, as many at a time as there are jobs), then all
    missing binaries are linked and verified, ``jobs`` at a time.
    """
    jobs_at_once = max(1, min(jobs, len(systems) * (2 if STOCK in layouts else 1)))
    share = max(1, jobs // jobs_at_once)
    with ThreadPoolExecutor(jobs_at_once) as pool:
        stocks = {
            name: pool.submit(_stock, config, name, project, cache, runner, share, progress)
            for name in systems
            if STOCK in layouts
        }
        captured = {
            name: pool.submit(_capture, config, name, project, cache, runner, share, progress) for name in systems
        }
        bases = {name: future.result() for name, future in captured.items()}
        controls = {name: future.result() for name, future in stocks.items()}
    return [
        _layouts(config, name, bases[name], controls.get(name, []), cache, runner, layouts, jobs, progress)
        for name in systems
    ]


@dataclass(frozen=True)
class _Base:
    """A capture ready to link from, or the error why there is none."""

    capture: Capture | None
    order: Order | None
    cached: bool
    error: LayoutrandError | None
    notes: tuple[str, ...]


def _order(config: Config, name: str, variant: Variant, project: Path, cache: Cache, runner: Runner) -> Order:
    options: System = config.systems[name]
    toolchain = toolboxes.load(options.toolchain, project)
    others = [toolboxes.load(other, project) for other in toolboxes.shipped()]
    require_factors(toolchain, list(config.layout.factors), others)
    recipe = Recipe(name, variant, config.build, options, toolchain)
    return make_order(recipe, find_origin(recipe, project, cache), toolboxes.find(toolchain, runner))


def _capture(  # noqa: PLR0913 - the parts of one build
    config: Config, name: str, project: Path, cache: Cache, runner: Runner, jobs: int, progress: Progress
) -> _Base:
    """The system's capture, from the cache or made now."""
    notes: list[str] = []
    try:
        order = _order(config, name, "capture", project, cache, runner)
        with cache.lock(f"capture-{order.key[:32]}"):
            known = cache.recall(order.key)
            found = cache.load_capture(known["capture"]) if known else None
            if found is not None:
                return _Base(found, order, True, None, ())
            if known:
                notes.append(f"{name}: its capture was missing or damaged, so it is built again")
            made = capture(order, cache, runner, jobs=jobs, say=progress.say)
        return _Base(made, order, False, None, tuple(notes))
    except LayoutrandError as error:
        return _Base(None, None, False, error, tuple(notes))


def _stock(  # noqa: PLR0913 - the parts of one build
    config: Config, name: str, project: Path, cache: Cache, runner: Runner, jobs: int, progress: Progress
) -> list[Binary | BuildFailure]:
    """The system's stock binaries, from the cache or built now."""
    try:
        order = _order(config, name, "stock", project, cache, runner)
        with cache.lock(f"stock-{order.key[:32]}"):
            found = [_cached(cache, name, artefact, STOCK, _stock_key(order, artefact)) for artefact in config.build.artefacts]
            if all(found):
                return [binary for binary in found if binary]
            made = build_stock(order, cache, runner, jobs=jobs, say=progress.say)
            return [
                _store(cache, name, artefact, STOCK, _stock_key(order, artefact), data)
                for artefact, data in made.items()
            ]
    except LayoutrandError as error:
        log = error.log if isinstance(error, BuildError) else None
        return [BuildFailure(name, artefact, STOCK, str(error), log) for artefact in config.build.artefacts]


def _stock_key(order: Order, artefact: str) -> str:
    return sha256_bytes(canonical_json({"stock": order.key, "artefact": artefact}))


def _layouts(  # noqa: PLR0913 - the parts of one system's build
    config: Config, name: str, base: _Base, stock: list[Binary | BuildFailure], cache: Cache, runner: Runner,
    layouts: Sequence[LayoutName], jobs: int, progress: Progress,
) -> SystemBuild:  # fmt: skip
    """All layouts of one system."""
    results: list[Binary | BuildFailure] = list(stock)
    for _ in stock:
        progress.advance()
    wanted = [layout for layout in layouts if layout != STOCK]
    notes = list(base.notes)
    if base.capture is None or base.order is None:
        log = base.error.log if isinstance(base.error, BuildError) else None
        results += [
            BuildFailure(name, artefact, layout, str(base.error), log)
            for artefact in config.build.artefacts
            for layout in wanted
        ]
    else:
        for number, link in enumerate(base.capture.links):
            results += _artefact_layouts(
                config, base.capture, base.order, number, link, cache, runner, wanted, jobs, progress, notes
            )
            notes += [f"{name}: {link.artefact}: {warning}" for warning in link.warnings]
    return SystemBuild(
        system=name, capture=base.capture, cached=base.cached,
        binaries=tuple(r for r in results if isinstance(r, Binary)),
        failures=tuple(r for r in results if isinstance(r, BuildFailure)), notes=tuple(notes),
    )  # fmt: skip


def _artefact_layouts(  # noqa: PLR0913 - the parts of one artefact's build
    config: Config, base: Capture, order: Order, number: int, link: CapturedLink, cache: Cache, runner: Runner,
    layouts: Sequence[LayoutName], jobs: int, progress: Progress, notes: list[str],
) -> list[Binary | BuildFailure]:  # fmt: skip
    """Every layout of one artefact: from the cache where it is whole, linked now where not."""
    system = order.recipe.system
    keys = {
        layout: sha256_bytes(canonical_json(binary_facts(base.id, link.artefact, config.layout, layout)))
        for layout in layouts
    }
    results: dict[LayoutName, Binary | BuildFailure] = {}
    for layout, key in keys.items():
        found = _cached(cache, system, link.artefact, layout, key)
        if found is not None:
            results[layout] = found
            progress.advance()
        elif cache.has_entry(key):
            notes.append(f"{system}: the cached binary of {link.artefact}, layout {layout}, was damaged; linked again")
    missing = [layout for layout in layouts if layout not in results]
    if missing:
        task = _Task(config, base, order, number, link, cache, runner)
        problem = task.ready()
        if problem is not None:
            results |= {layout: task.failure(layout, problem) for layout in missing}
        else:
            with ThreadPoolExecutor(jobs) as pool:
                for layout, made in zip(missing, pool.map(lambda n: task.make(n, keys[n], progress), missing), strict=True):
                    results[layout] = made
    return _refuse_twins([results[layout] for layout in layouts])


@dataclass(frozen=True)
class _Task:
    """Linking one artefact of one capture."""

    config: Config
    capture: Capture
    order: Order
    number: int
    link: CapturedLink
    cache: Cache
    runner: Runner

    def ready(self) -> LayoutrandError | None:
        """Whether links can start: the capture is undamaged and there is something to move."""
        if self.link.movable() < MIN_SECTIONS:
            return CaptureFailed(
                f"{self.link.artefact} has {self.link.movable()} placeable section: there is only one layout"
            )
        damaged = self.cache.damaged_files(self.capture)
        if damaged:
            self.cache.drop_capture(self.capture.id)
            return CaptureFailed(
                f"the capture of {self.capture.system!r} was damaged on disk and has been removed "
                f"({damaged[0]}); give the same command again to capture anew"
            )
        return None

    def failure(self, layout: LayoutName, error: LayoutrandError) -> BuildFailure:
        """The error as a record."""
        log = error.log if isinstance(error, BuildError) else None
        return BuildFailure(self.order.recipe.system, self.link.artefact, layout, str(error), log)

    def make(self, layout: LayoutName, key: str, progress: Progress) -> Binary | BuildFailure:
        """Link, verify and store one layout; an error becomes a record that names it."""
        system = self.order.recipe.system
        policy = self.config.layout
        base = self.cache.capture_path(self.capture.id) / str(self.number)
        try:
            with self.cache.scratch("link") as scratch:
                wanted = draw(
                    self.link.sections, self.link.identity, name=layout, factors=tuple(policy.factors), classes=policy.classes
                )
                entry = scratch / "entry"
                with cache_errors("make", entry):
                    entry.mkdir()
                output = entry / os.path.basename(self.link.artefact)
                try:
                    binary, seconds = link_layout(
                        self.runner, self.order.toolbox.tools["ld"].path, self.link, base, wanted, scratch=scratch,
                        output=output,
                    )  # fmt: skip
                    linked = verify(binary, self.link, wanted, _code(base / "code.npz"), seconds)
                except BuildError as error:
                    return self.failure(layout, self._kept(error, system, layout))
                return _store_linked(self.cache, system, self.link.artefact, layout, key, entry, linked)
        except LayoutrandError as error:
            return self.failure(layout, error)
        finally:
            progress.advance()

    def _kept(self, error: BuildError, system: str, layout: LayoutName) -> BuildError:
        """The error with its log moved to where it stays."""
        if error.log is None:
            return error
        name = os.path.basename(self.link.artefact)
        log = self.cache.logs() / f"link-{system}-{name}-{layout}-{self.capture.id[:12]}.log"
        log.write_bytes(error.log.read_bytes())
        return type(error)(str(error).rsplit("\nFull log:", 1)[0], log=log)


_codes: dict[Path, Code] = {}


def _code(path: Path) -> Code:
    """Identity's code, read once per process: every seed of a capture is compared with the same arrays."""
    if path not in _codes:
        _codes[path] = Code.load(path)
    return _codes[path]


def _cached(cache: Cache, system: str, artefact: str, layout: LayoutName, key: str) -> Binary | None:
    found = cache.load_binary(key, os.path.basename(artefact))
    if found is None:
        return None
    proof = found.meta["verification"]
    return Binary(
        system=system, artefact=artefact, layout=layout, path=found.path, sha256=found.meta["sha256"],
        text_sha256=found.meta["text_sha256"], cached=True, link_s=found.meta["link_s"],
        verification=Verification(**proof) if proof else None,
    )  # fmt: skip


def _store_linked(  # noqa: PLR0913 - the parts of one entry
    cache: Cache, system: str, artefact: str, layout: LayoutName, key: str, entry: Path, linked: Linked
) -> Binary:
    meta: dict[str, Any] = {
        "system": system, "artefact": artefact, "layout": layout, "sha256": linked.sha256,
        "text_sha256": linked.text_sha256, "link_s": linked.link_s, "verification": vars(linked.verification),
    }  # fmt: skip
    cache.commit_binary(entry, key, meta)
    return Binary(
        system=system, artefact=artefact, layout=layout,
        path=cache.binary_path(key, os.path.basename(artefact)), sha256=linked.sha256,
        text_sha256=linked.text_sha256, cached=False, link_s=linked.link_s, verification=linked.verification,
    )  # fmt: skip


def _store(cache: Cache, system: str, artefact: str, layout: LayoutName, key: str, data: bytes) -> Binary:
    """Put the user's own binary into the cache."""
    name = os.path.basename(artefact)
    meta = {
        "system": system, "artefact": artefact, "layout": layout, "sha256": sha256_bytes(data), "text_sha256": "",
        "link_s": 0.0, "verification": None,
    }  # fmt: skip
    with cache.scratch("stock") as scratch:
        entry = scratch / "entry"
        with cache_errors("write", entry):
            entry.mkdir()
            (entry / name).write_bytes(data)
            (entry / name).chmod(0o755)
        cache.commit_binary(entry, key, meta)
    path = cache.binary_path(key, name)
    return Binary(system, artefact, layout, path, sha256_file(path), "", False, 0.0, None)


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


