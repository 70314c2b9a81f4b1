"""Build a system once: instrumented, into a capture; or untouched, for its stock binary."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from layoutrand.core import elf, linkline
from layoutrand.core.capture import Capture, CapturedLink, identity_facts
from layoutrand.core.recipe import Recipe
from layoutrand.errors import BuildError, BuildFailed, CaptureFailed, LayoutrandError
from layoutrand.usecases.collect import Bench, Place
from layoutrand.usecases.ingest import ingest
from layoutrand.world import source
from layoutrand.world.cache import Cache
from layoutrand.world.disk import cache_errors, canonical_json, remove_tree, sha256_bytes, tail, write_atomically
from layoutrand.world.process import Runner
from layoutrand.world.records import Record, read_records
from layoutrand.world.toolbox import Toolbox
from layoutrand.world.workspace import Workspace, build_environment, workspace, write_wrappers

_MOST_GUESSES = 20
_LITTLE = 1 << 20  # bytes

Say = Callable[[str], None]
"""Takes one line about what is happening."""


@dataclass(frozen=True)
class Origin:
    """The source to build: ``facts`` identify it in keys and records; ``fetch`` puts a private copy at a path.

    ``in_place`` is the tree itself where it is built without a copy.  ``state`` asks git for the commit and whether
    the tree is dirty: recorded, but no part of any key, since the content is.
    """

    facts: Mapping[str, Any]
    fetch: Callable[[Path], None]
    in_place: Path | None
    state: Callable[[], Mapping[str, Any] | None]


@dataclass(frozen=True)
class Order:
    """One build to do: its recipe, its source, the tools, and the key under which the result is remembered."""

    recipe: Recipe
    origin: Origin
    toolbox: Toolbox
    key: str


def find_origin(recipe: Recipe, project: Path, cache: Cache) -> Origin:
    """Where the recipe's source comes from: a directory, or a revision of a repository."""
    build = recipe.build
    if build.repo is not None:
        repo = str(project / build.repo) if (project / build.repo).exists() else build.repo
        mirror = cache.root / "repos" / sha256_bytes(repo.encode())[:16]
        mirror.parent.mkdir(exist_ok=True)
        with cache.lock(mirror.name):
            commit = source.resolve_revision(repo, recipe.options.rev or build.rev, mirror)
        return Origin(
            facts={"repo": repo, "commit": commit}, fetch=lambda target: source.check_out(mirror, commit, target),
            in_place=None, state=lambda: None,
        )  # fmt: skip
    folder = (project / build.source).resolve()  # the wrappers see physical paths
    facts = {"digest": source.digest(folder, build.exclude), "in_place": build.in_place}
    return Origin(
        facts=facts, fetch=lambda target: source.copy(folder, target, build.exclude),
        in_place=folder if build.in_place else None, state=lambda: source.git_state(folder),
    )  # fmt: skip


def make_order(recipe: Recipe, origin: Origin, toolbox: Toolbox) -> Order:
    """The order with its key."""
    facts = recipe.key_facts(origin.facts, toolbox.facts(), os.environ)
    return Order(recipe, origin, toolbox, sha256_bytes(canonical_json(facts)))


def capture(order: Order, cache: Cache, runner: Runner, *, jobs: int, say: Say) -> Capture:
    """Do the instrumented build, capture every artefact's link, prove each, and put the capture into the cache."""
    with _built(order, cache, runner, jobs=jobs, say=say) as (space, tree, log, build_s):
        records = read_records(space.records)
        place = Place(str(tree), str(space.temporary), str(space.wrappers))
        links = []
        with cache.scratch("capture") as scratch:
            for number, artefact in enumerate(order.recipe.build.artefacts):
                say(f"{order.recipe.system}: capturing the link of {artefact}")
                built = _artefact(tree, artefact, log)
                bench = Bench(artefact, built, place, scratch / str(number), order.toolbox, runner)
                links.append(_first_that_replays(records, bench, f"system {order.recipe.system!r}: ", log))
            result = _finish(order, links, build_s, len(records))
            with cache_errors("write", scratch):
                write_atomically(scratch / "build.log", log.read_bytes())
            cache.commit_capture(scratch, result)
    cache.remember(order.key, {"capture": result.id})
    return result


def build_stock(order: Order, cache: Cache, runner: Runner, *, jobs: int, say: Say) -> dict[str, bytes]:
    """Do the user's own build, without section flags; the artefacts by name."""
    with _built(order, cache, runner, jobs=jobs, say=say) as (_space, tree, log, _build_s):
        return {artefact: _artefact(tree, artefact, log) for artefact in order.recipe.build.artefacts}


@contextmanager
def _built(
    order: Order, cache: Cache, runner: Runner, *, jobs: int, say: Say
) -> Iterator[tuple[Workspace, Path, Path, float]]:
    """A workspace in which the user's commands have succeeded: it, the tree, the log, and the seconds they took."""
    recipe = order.recipe
    log = cache.logs() / f"build-{recipe.system}-{recipe.variant}-{order.key[:12]}.log"
    with _tree_lock(order, cache), workspace(cache, order.key) as space:
        tree = order.origin.in_place or space.tree
        if order.origin.in_place is None:
            with cache_errors("copy the source to", space.tree):
                order.origin.fetch(space.tree)
        write_wrappers(space, recipe, order.toolbox, tree=tree)
        log.unlink(missing_ok=True)
        say(f"{recipe.system}: {'instrumented' if recipe.variant == 'capture' else 'stock'} build")
        begin = time.perf_counter()
        status = runner.run_logged(
            ["bash", "-c", recipe.script(jobs)], cwd=tree, env=build_environment(os.environ, space, recipe), log=log,
            timeout_s=recipe.build.timeout_s,
        )  # fmt: skip
        if status != 0:
            raise BuildFailed(
                f"system {recipe.system!r}: the {recipe.variant} build exited with status {status}; the end of its "
                f"output:\n{_indent(tail(log, 20))}{_full_disk_hint(cache.root)}",
                log=log,
            )
        build_s = time.perf_counter() - begin
        if order.origin.in_place is not None and _changed(order):
            say(
                f"{recipe.system}: the build changed the tree it is in; to have the next call find its capture in the "
                "cache, name in build.exclude what the build makes"
            )
        yield space, tree, log, build_s


def _tree_lock(order: Order, cache: Cache) -> AbstractContextManager[None]:
    """Builds in one tree, such as a system's stock and instrumented ones, happen one after the other."""
    place = order.origin.in_place
    return nullcontext() if place is None else cache.lock(f"tree-{sha256_bytes(os.fsencode(place))[:32]}")


def _changed(order: Order) -> bool:
    assert order.origin.in_place is not None
    return bool(source.digest(order.origin.in_place, order.recipe.build.exclude) != order.origin.facts["digest"])


def _artefact(tree: Path, artefact: str, log: Path) -> bytes:
    path = tree / artefact
    if not path.is_file():
        raise CaptureFailed(f"the build succeeded, but made no {artefact}; is build.artefacts right?", log=log)
    data = path.read_bytes()
    if not elf.is_elf(data):
        kind = "a script" if data[:2] == b"#!" else "not an ELF file"
        hint = f"; libtool puts the program itself into {Path(artefact).parent / '.libs' / Path(artefact).name}"
        raise CaptureFailed(f"{artefact} is {kind}{hint if kind == 'a script' else ''}", log=log)
    return data


def _named(records: Sequence[Record], tree: Path, artefact: str) -> list[Record]:
    """Links that should have made the artefact: written to its path, then those under its name, newest first."""
    wanted = {linkline.absolute(artefact, str(tree)), os.path.realpath(tree / artefact)}
    exact = [record for record in reversed(records) if record.output() in wanted]
    names = _other_names(artefact)
    return exact + [r for r in reversed(records) if r not in exact and os.path.basename(r.output()) in names]


def _other_names(artefact: str) -> set[str]:
    name = os.path.basename(artefact)
    return {name, f"lt-{name}", f"{name}T", f"{name}.tmp", f"{name}.new", re.sub(r"\.so[.0-9]*$", ".so", name)}


def _guessed(records: Sequence[Record], built: bytes) -> list[Record]:
    """Links whose output was copied or moved to where the artefact is, likeliest first."""
    copied, gone = [], []
    for record in reversed(records):
        path = Path(record.output())
        if not path.exists():
            gone.append(record)
        elif path.stat().st_size == len(built) and path.read_bytes() == built:
            copied.append(record)
    return (copied + gone)[:_MOST_GUESSES]


def _first_that_replays(records: Sequence[Record], bench: Bench, prefix: str, log: Path) -> CapturedLink:
    """Capture the link whose replay gives the artefact; if none does, the likeliest one's error stands."""
    if not records:
        raise CaptureFailed(
            f"{prefix}no link of this build went through layoutrand's wrappers. Either the source tree holds an "
            "earlier build, so that nothing was linked (make clean); or the build calls its compiler or linker by an "
            "absolute path or changes PATH (let it use $CC, $CXX and $LD, or plain gcc, g++ and ld)",
            log=log,
        )
    first: BuildError | None = None
    for record in _named(records, Path(bench.place.tree), bench.artefact):
        try:
            return ingest(record, bench)
        except BuildError as error:
            remove_tree(bench.base)
            first = first or error
    for record in _guessed(records, bench.built):
        try:
            return ingest(record, bench)
        except LayoutrandError:
            remove_tree(bench.base)
    if first is not None:
        raise CaptureFailed(prefix + first.message, log=log) from first
    seen = sorted({linkline.inside(record.output(), bench.place.tree) or record.output() for record in records})
    raise CaptureFailed(
        f"{prefix}{bench.artefact} was never linked through layoutrand's wrappers; these were: "
        f"{', '.join(seen[:12])}{' ...' if len(seen) > 12 else ''}. Is it in build.artefacts under the name it was "
        "linked with, and is the source tree clean (make clean)?",
        log=log,
    )


def _finish(order: Order, links: list[CapturedLink], build_s: float, n_links: int) -> Capture:
    facts = order.toolbox.facts()
    return Capture(
        id=sha256_bytes(canonical_json(identity_facts(links, facts))), system=order.recipe.system,
        toolchain=order.toolbox.toolchain.name, separates_classes=order.toolbox.toolchain.link.separates_classes,
        tools=facts, source={**order.origin.facts, "git": order.origin.state()}, build_s=build_s, n_links=n_links,
        links=tuple(links),
    )  # fmt: skip


def _full_disk_hint(folder: Path) -> str:
    free = shutil.disk_usage(folder).free
    return f"\nNo space left on device for {folder}, perhaps: only {free >> 10} KiB are free" if free < _LITTLE else ""


def _indent(text: str) -> str:
    return "\n".join("    " + line for line in text.splitlines())
