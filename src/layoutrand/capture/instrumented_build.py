"""Build a system once: instrumented, into a capture; or untouched, for its stock binary."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from layoutrand.cache.capture_record import Capture
from layoutrand.cache.store import Cache
from layoutrand.capture import source
from layoutrand.capture.build_environment import as_at_home, build_environment
from layoutrand.capture.build_order import BuildOrder, InstrumentedBuild
from layoutrand.capture.build_put_back import doubt_kept, find_kept, put_back
from layoutrand.capture.long_builds import EVERY_S, EVERY_S_OF_LAYOUTS, told_while_it_goes_on
from layoutrand.capture.origin import Say
from layoutrand.capture.side_by_side import Beside, nothing_beside
from layoutrand.capture.workspace import Workspace, workspace
from layoutrand.capture.wrappers import preparation, write_wrappers
from layoutrand.errors import CaptureFailed, OtherMachine
from layoutrand.model import LayoutName
from layoutrand.platform.disk import cache_errors, sha256_bytes
from layoutrand.platform.masked_files import mask_file
from layoutrand.platform.meanwhile import import_meanwhile
from layoutrand.platform.process import Runner

Building = Callable[[str], object]
"""Told that a build is made; and why an earlier one does not do, "" where there was none."""


def _no_matter(_why: str) -> None:
    """For who wants to tell nothing of it."""


Relinking = Callable[[Workspace, Path], AbstractContextManager[Path]]
"""Lays out the links of a build in this workspace and tree while it lasts; gives the path of the orders for them."""


def capture(
    order: BuildOrder,
    cache: Cache,
    runner: Runner,
    *,
    jobs: int,
    say: Say,
    building: Building = _no_matter,
    beside: Beside = nothing_beside,
) -> Capture:
    """Capture every artefact's link of the instrumented build, prove each, and put the capture into the cache.

    The build is an earlier one that is kept, or is made now.
    """
    with obtained(order, cache, runner, jobs=jobs, say=say, building=building) as made:
        from layoutrand.capture.ended_build import keep

        return keep(order, made, cache, runner, beside=beside, say=say)


@contextmanager
def obtained(
    order: BuildOrder,
    cache: Cache,
    runner: Runner,
    *,
    jobs: int,
    say: Say,
    building: Building = _no_matter,
    asked: str = "",
) -> Iterator[InstrumentedBuild]:
    """The build: an earlier one that is kept and put back, or made now, of which ``building`` is told beforehand.

    One that did not give what was asked for is not put back for the same again; ``asked`` stands for what that is,
    where artefacts alone do not say it.
    """
    try:
        whole, why = find_kept(order, cache, asked)
        if whole is None:
            building(why)
            with built(order, cache, runner, jobs=jobs, say=say) as made:
                yield made
            return
        say(
            f"{order.recipe.system}: no {order.called} is needed: that of {whole.build.when} is kept "
            "(`layoutrand cache gc --builds` forgets it)"
        )
        with put_back(order, whole, _log(order, cache), cache) as back:
            from layoutrand.capture.ended_build import check

            check(order, back)
            yield back
    except (CaptureFailed, OtherMachine):
        doubt_kept(order, cache, asked)
        raise


def build_stock(
    order: BuildOrder, cache: Cache, runner: Runner, *, jobs: int, say: Say, building: Building = _no_matter
) -> dict[str, bytes]:
    """The user's own build, without section flags; the artefacts by name."""
    with obtained(order, cache, runner, jobs=jobs, say=say, building=building) as made:
        from layoutrand.capture.ended_build import artefacts_of, linked_of_earlier

        for warning in linked_of_earlier(order, made):  # a capture keeps it
            say(f"{order.recipe.system}: stock: {warning}")
        return artefacts_of(order, made)


@contextmanager
def built(
    order: BuildOrder,
    cache: Cache,
    runner: Runner,
    *,
    jobs: int,
    say: Say,
    layout: LayoutName | None = None,
    relinking: Relinking | None = None,
) -> Iterator[InstrumentedBuild]:
    """A build in which the user's commands have succeeded.

    Where the links of this build are to be laid out, ``layout`` names how and ``relinking`` does it.
    While the commands work, what is needed when they have is imported.
    """
    recipe = order.recipe
    kind = "stock" if recipe.variant == "stock" else "instrumented" if layout is None else f"layout {layout}:"
    what = _what(order, layout)
    log = _log(order, cache, layout)
    with _tree_lock(order, cache), workspace(cache, order.key) as space:
        tree = order.origin.in_place or space.tree
        if order.origin.in_place is None:
            with cache_errors("copy the source to", space.tree):
                order.origin.fetch(space.tree)
        with nullcontext() if relinking is None else relinking(space, tree) as written:
            copied = None if order.origin.in_place else order.origin.home
            write_wrappers(space, recipe, order.toolbox, tree=tree, relink=written, copied=copied)
            log.unlink(missing_ok=True)
            environment = build_environment(os.environ, space, recipe, order.toolbox) | as_at_home(order, space)
            say(f"{recipe.system}: {kind} build" + (f" ({order.toolbox.in_short()})" if kind == "instrumented" else ""))
            begin = time.perf_counter()
            import_meanwhile("layoutrand.capture.ended_build")
            what_goes_on = f"{recipe.system}: {kind} build"
            # Of builds of single layouts it is told, too, how many there are by now.
            every_s = EVERY_S if layout is None else EVERY_S_OF_LAYOUTS
            try:
                with told_while_it_goes_on(say, what_goes_on, log, every_s=every_s):
                    status = runner.run_logged(
                        ["bash", "-c", preparation(space, order.toolbox) + recipe.script(jobs)],
                        cwd=tree,
                        log=log,
                        timeout_s=recipe.build.timeout_s,
                        env=environment,
                    )
            finally:
                with cache_errors("write", log):
                    mask_file(log, recipe.redaction.patterns())
        made = InstrumentedBuild(space, tree, log, time.perf_counter() - begin)
        from layoutrand.capture.ended_build import check, refuse_failed
        from layoutrand.capture.keep_build import keep_build

        refuse_failed(order, made, runner, status, f"the {what} build")
        if relinking is None:
            keep_build(order, made, cache, say)
        check(order, made)
        if order.origin.in_place is not None and _changed(order):
            say(
                f"{recipe.system}: the build changed the tree it is in; to have the next call find its capture in the "
                "cache, name in build.exclude what the build makes, and let build.commands begin with what removes it "
                "(make clean), or the next build there is made of it"
            )
        yield made


def _what(order: BuildOrder, layout: LayoutName | None) -> str:
    return order.recipe.variant if layout is None else f"layout-{layout}"


def _log(order: BuildOrder, cache: Cache, layout: LayoutName | None = None) -> Path:
    return cache.logs() / f"build-{order.recipe.system}-{_what(order, layout)}-{order.key[:12]}.log"


def _tree_lock(order: BuildOrder, cache: Cache) -> AbstractContextManager[None]:
    """Builds in one tree, such as a system's stock and instrumented ones, happen one after the other."""
    place = order.origin.in_place
    return nullcontext() if place is None else cache.lock(f"tree-{sha256_bytes(os.fsencode(place))[:32]}")


def _changed(order: BuildOrder) -> bool:
    assert order.origin.in_place is not None
    return bool(source.digest(order.origin.in_place, order.origin.exclude) != order.origin.facts["digest"])
