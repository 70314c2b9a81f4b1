"""Build a system once: instrumented, into a capture; or untouched, for its stock binary."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

from layoutrand.cache.capture_record import Capture, CapturedLink, identity_facts
from layoutrand.cache.keys import captured_id
from layoutrand.cache.store import Cache
from layoutrand.capture import source
from layoutrand.capture.build_environment import as_at_home, build_environment
from layoutrand.capture.build_order import BuildOrder, InstrumentedBuild
from layoutrand.capture.build_put_back import doubt_kept, find_kept, keep_build, put_back
from layoutrand.capture.built_artefact import artefact_of
from layoutrand.capture.capture_warnings import Unoptimised
from layoutrand.capture.cargo_messages import cargo_executables
from layoutrand.capture.collect import BuildPlace, IngestSetup
from layoutrand.capture.failed_build import LINES, failed_build
from layoutrand.capture.go_records import build_records
from layoutrand.capture.libraries import unlisted_libraries
from layoutrand.capture.linked_files import (
    compilers_of_files,
    first_bytes,
    give_names,
    linked_files,
    of_another_machine,
)
from layoutrand.capture.origin import Say
from layoutrand.capture.records import read_records
from layoutrand.capture.side_by_side import Beside, nothing_beside
from layoutrand.capture.which_link import captured_link
from layoutrand.capture.workspace import Workspace, workspace
from layoutrand.capture.wrappers import preparation, write_wrappers
from layoutrand.errors import (
    BuildFailed,
    CaptureFailed,
    FlagsUnheard,
    OtherMachine,
)
from layoutrand.linkers.compiling import what_stops
from layoutrand.model import LayoutName
from layoutrand.platform.disk import cache_errors, sha256_bytes, tail, write_atomically
from layoutrand.platform.masked_files import mask_file
from layoutrand.platform.packages import C_HEADERS, install
from layoutrand.platform.process import Runner
from layoutrand.text.build_output import lacks_c_library
from layoutrand.text.toml_words import toml_string
from layoutrand.warning import sentences_of

_UNHEARD: Mapping[str, str] = {
    "compiler": "no compiler of C, C++ or Fortran through the wrappers: does the build use $CC or gcc from PATH, and "
    "is the source tree clean (make clean)? rustc has rustflags, profile and features",
    "rustc": "no rustc: the build does not call it through cargo",
    "cargo": "no cargo: the build does not call it by that name with build, rustc, run, test or bench",
}
"""Whom flags did not reach, by kind (`Recipe.given_flags`)."""

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
            _check(order, back.space, back.tree, back.log)
            yield back
    except (CaptureFailed, OtherMachine):
        doubt_kept(order, cache, asked)
        raise


def keep(
    order: BuildOrder, made: InstrumentedBuild, cache: Cache, runner: Runner, *, beside: Beside, say: Say
) -> Capture:
    """Capture every artefact's link of a build that has just been made, prove each, and put it into the cache.

    ``beside`` tells whether two things may happen at once.
    Raises `CaptureFailed` for an artefact that was not linked, or whose link cannot be captured.
    """
    space, tree, log = made.space, made.tree, made.log
    give_names(order.recipe.build.artefacts, cargo_executables(space.records), tree)  # a first build knew none
    records = build_records(space.records, tree)
    outputs = [record.output() for record in records]
    place = BuildPlace(str(tree), str(space.temporary), str(space.wrappers))
    links = []
    with cache.scratch("capture") as scratch:
        for number, artefact in enumerate(order.recipe.build.artefacts):
            say(f"{order.recipe.system}: capturing the link of {artefact}")
            data = artefact_of(tree, artefact, log, outputs, records=records)
            base = scratch / str(number)
            recipe = order.recipe
            setup = IngestSetup(
                *(artefact, data, place, base, order.toolbox, runner, recipe.factors),
                archives=recipe.archives,
                ordered=recipe.options.ordered,
                beside=beside,
            )
            link = captured_link(records, setup, f"system {order.recipe.system!r}: ", log)
            absent = unlisted_libraries(link, data, setup.base / "root", order.recipe.build.artefacts)
            links.append(replace(link, warnings=(*link.warnings, *sentences_of(absent))))
        if space.is_unoptimised():
            links[0] = replace(links[0], warnings=(*links[0].warnings, *sentences_of([Unoptimised()])))
        _refuse_nothing_kept(order, links, log)
        learned = suite_facts(order, tree, say)
        result = _finish(order, links, made.build_s, len(records), learned)
        with cache_errors("write", scratch):
            write_atomically(scratch / "build.log", log.read_bytes())
        cache.commit_capture(scratch, result)
    known = {"capture": result.id, "build_s": result.build_s, "n_links": result.n_links}
    cache.remember(
        order.key,
        {**known, **({"learned": learned} if learned else {})},
        system=order.recipe.system,
        facts=order.facts,
    )
    return result


def _refuse_nothing_kept(order: BuildOrder, links: Sequence[CapturedLink], log: Path) -> None:
    """Raise `CaptureFailed` where functions are to be kept in order, and the build puts none in one."""
    if order.recipe.options.ordered == "keep" and all(link.ordered == "move" for link in links):
        raise CaptureFailed(
            f"system {order.recipe.system!r}: no artefact is linked with a --symbol-ordering-file that names one of "
            'its functions, so ordered = "keep" has none to keep',
            log=log,
        )


def build_stock(
    order: BuildOrder, cache: Cache, runner: Runner, *, jobs: int, say: Say, building: Building = _no_matter
) -> dict[str, bytes]:
    """The user's own build, without section flags; the artefacts by name."""
    build = order.recipe.build
    whatever = build.mode == "rebuild"
    with obtained(order, cache, runner, jobs=jobs, say=say, building=building) as made:
        tree, log = made.tree, made.log
        outputs = [record.output() for record in build_records(made.space.records, tree)]
        return {artefact: artefact_of(tree, artefact, log, outputs, whatever=whatever) for artefact in build.artefacts}


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
            write_wrappers(space, recipe, order.toolbox, tree=tree, relink=written)
            log.unlink(missing_ok=True)
            environment = build_environment(os.environ, space, recipe, order.toolbox) | as_at_home(order, space)
            say(f"{recipe.system}: {kind} build" + (f" ({order.toolbox.in_short()})" if kind == "instrumented" else ""))
            begin = time.perf_counter()
            try:
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
        if order.tools is not None:  # whatever the status: SPEC's tools may fail with 0
            order.tools.check(recipe.system, tree, log, status)
        if status != 0:
            _check_c_library(order, runner, log)
            folder = None if order.origin.contents is None else order.origin.home
            raise failed_build(f"system {recipe.system!r}: the {what} build", status, log, space, folder)
        made = InstrumentedBuild(space, tree, log, time.perf_counter() - begin)
        if relinking is None:
            keep_build(order, made, cache, say)
        _check(order, space, tree, log)
        if order.origin.in_place is not None and _changed(order):
            say(
                f"{recipe.system}: the build changed the tree it is in; to have the next call find its capture in the "
                "cache, name in build.exclude what the build makes"
            )
        yield made


def _what(order: BuildOrder, layout: LayoutName | None) -> str:
    return order.recipe.variant if layout is None else f"layout-{layout}"


def _log(order: BuildOrder, cache: Cache, layout: LayoutName | None = None) -> Path:
    return cache.logs() / f"build-{order.recipe.system}-{_what(order, layout)}-{order.key[:12]}.log"


def _check(order: BuildOrder, space: Workspace, tree: Path, log: Path) -> None:
    """Raise what is wrong with a build that has succeeded; and give cargo's programs the names of artefacts."""
    give_names(order.recipe.build.artefacts, cargo_executables(space.records), tree)
    _refuse_machine(order, tree)  # first: whatever else is wrong, there is no way for it
    _refuse_unheard(order, space, tree, log)


def _refuse_machine(order: BuildOrder, tree: Path) -> None:
    """Raise `OtherMachine` for an artefact that is for another machine than the toolchain builds for."""
    for artefact in order.recipe.build.artefacts:
        if why := of_another_machine(artefact, first_bytes(tree / artefact), order.toolbox.toolchain):
            raise OtherMachine(why)


def _refuse_unheard(order: BuildOrder, space: Workspace, tree: Path, log: Path) -> None:
    """Raise `FlagsUnheard` for flags that nothing of the build was given, or they would be measured as if it was."""
    unheard = {
        flags: _UNHEARD[kind] for kind, flags in order.recipe.given_flags().items() if not space.heard(kind).exists()
    }
    for path, flags in order.recipe.options.file_flags.items():
        if not space.heard_of(path).exists():
            given = f"file_flags = {{ {toml_string(path)} = {toml_string(flags)} }}"
            unheard[given] = (
                "no compilation: is the file called so from the source, and compiled through the wrappers (and not "
                "named in a response file)?"
            )
    if not unheard or not (links := read_records(space.records)):
        return
    flags, reached = next(iter(unheard.items()))
    raise FlagsUnheard(
        f"system {order.recipe.system!r}: {flags} reached {reached}. This would be the program without: leave them "
        "out, or give what the build can take",
        log=log,
        cause=f"{flags} reached {reached.partition(':')[0]}",
        compilers=compilers_of_files(tree / each.path for each in linked_files(links, tree)),
    )


def _check_c_library(order: BuildOrder, runner: Runner, log: Path) -> None:
    """Raise `BuildFailed` in one line where the build failed for want of the C library, as any program would."""
    if lacks_c_library(tail(log, LINES)) and lacks_c_library(what_stops(order.toolbox.tools["cc"].path, runner)):
        raise BuildFailed(
            f"system {order.recipe.system!r}: {C_HEADERS} and start files, which every program is built with, are "
            f"missing: {install([C_HEADERS])}",
            log=log,
        )


def _tree_lock(order: BuildOrder, cache: Cache) -> AbstractContextManager[None]:
    """Builds in one tree, such as a system's stock and instrumented ones, happen one after the other."""
    place = order.origin.in_place
    return nullcontext() if place is None else cache.lock(f"tree-{sha256_bytes(os.fsencode(place))[:32]}")


def _changed(order: BuildOrder) -> bool:
    assert order.origin.in_place is not None
    return bool(source.digest(order.origin.in_place, order.origin.exclude) != order.origin.facts["digest"])


def suite_facts(order: BuildOrder, tree: Path, say: Say) -> dict[str, str]:
    """What was learned of the suite whose tools built the tree."""
    if order.tools is None:
        return {}
    learned = order.tools.exehash(tree)
    if learned == "other":
        say(
            f"{order.recipe.system}: exehash of this suite is not the SHA-256 of the executable, so executions are "
            "checked by the digest of the file that was executed alone"
        )
    return {"exehash": learned}


def _finish(
    order: BuildOrder, links: list[CapturedLink], build_s: float, n_links: int, learned: Mapping[str, str]
) -> Capture:
    facts = order.toolbox.facts()
    return Capture(
        id=captured_id(identity_facts(links, facts)),
        system=order.recipe.system,
        toolchain=order.toolbox.toolchain.name,
        separates_classes=order.toolbox.toolchain.link.separates_classes,
        tools=facts,
        source={**order.origin.record(), **learned},
        build_s=build_s,
        n_links=n_links,
        links=tuple(links),
    )
