"""`layoutrand build`, and what the linker wrapper calls."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from layoutrand.cli import explaining, options
from layoutrand.cli.terminal import Terminal
from layoutrand.errors import LayoutrandError
from layoutrand.library.configuration import match_systems
from layoutrand.screens.build_screen import show_build
from layoutrand.screens.display import printable

if TYPE_CHECKING:
    from layoutrand.build.build import SystemBuild
    from layoutrand.model import LayoutName

_STOCK_TOO = (
    "your own build (stock) is made, too, as `run` executes it beside the layouts: about half of a first build "
    "(`--without-stock` leaves it to `run`)"
)


def build(  # noqa: PLR0913 - one parameter for each option
    seeds: options.Seeds = "30",
    system: options.Systems = None,
    controls: options.Controls = True,
    without_stock: Annotated[
        bool,
        typer.Option(
            "--without-stock",
            help="Leave your own build (stock), half of what a first call builds, to the `run` that executes it.",
        ),
    ] = False,
    mode: options.Mode = None,
    executor: options.Executor = None,
    jobs: options.Jobs = 0,
    explain: Annotated[
        bool, typer.Option("--explain", help="Build nothing; say what would be reused or made, and why.")
    ] = False,
    keep_going: Annotated[
        bool,
        typer.Option(
            "--keep-going",
            help="Build also systems whose builds differ in nothing but flags from one that made another artefact than "
            "build.artefacts names, or none.",
        ),
    ] = False,
    list_systems: Annotated[
        bool, typer.Option("--list-systems", help="Build nothing; list the systems, those of [matrix] included.")
    ] = False,
    directory: options.Directory = Path(),
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> int:
    """Capture each system once, then link and verify a binary for every seed (or build each, in rebuild mode)."""
    from layoutrand.build.build import all_layouts
    from layoutrand.build.build_document import build_document
    from layoutrand.config.seeds import parse_seeds
    from layoutrand.errors import ToolNotFound
    from layoutrand.host.launcher import find_launcher
    from layoutrand.instruments.asked_for import check_programs
    from layoutrand.model import STOCK

    terminal = options.terminal(json=json, quiet=quiet)
    config = options.on_executor(options.in_mode(options.load_config(directory), mode), executor)
    layouts = all_layouts(parse_seeds(seeds), controls=controls, listed=config.run.controls)
    left = without_stock and STOCK in layouts
    layouts = [layout for layout in layouts if layout != STOCK or not left]
    systems = match_systems(config, system)
    if list_systems:
        return explaining.list_systems(config, systems, terminal)
    if explain:
        return explaining.explain_build(config, directory, systems, layouts, terminal)
    try:  # what is built can be executed elsewhere, or later
        check_programs(config, [])
        find_launcher(config.run.launcher, directory)
    except ToolNotFound as error:
        terminal.warn(f"`layoutrand run` will need more than this: {error}")
    part = options.ProjectPart(config, directory, systems, jobs=options.count_jobs(jobs))
    results = build_with_progress(part, layouts, terminal, keep_going=keep_going, offer_without_stock=True)
    if left:
        terminal.say("your own build (stock) is left out: `layoutrand run` makes it before it executes anything")
    if json:
        terminal.document(build_document(results))
    show_build(results, terminal)
    return 1 if any(result.failures for result in results) else 0


def build_with_progress(
    part: options.ProjectPart,
    layouts: Sequence[LayoutName],
    terminal: Terminal,
    *,
    captures: Mapping[str, str] | None = None,
    keep_going: bool = False,
    offer_without_stock: bool = False,
    recalls_failures: bool = False,
) -> list[SystemBuild]:
    """Build, with a progress bar; systems that ``captures`` names from these, which earlier builds left.

    ``offer_without_stock``: who waits for a stock build is told that it can be left out.  ``recalls_failures``: commits
    whose builds failed earlier are not built again.
    """
    from layoutrand.build.build import build as build_systems
    from layoutrand.build.build import build_earlier
    from layoutrand.build.build_setup import BuildProgress, BuildSetup
    from layoutrand.build.references import check_references
    from layoutrand.build.shared_failures import SharedFailures
    from layoutrand.cache.store import Cache, default_root
    from layoutrand.cluster.open import linking_cluster
    from layoutrand.platform.process import SubprocessRunner

    config, directory, systems = part.config, part.directory, part.systems
    if not captures:
        check_references(config, systems, directory)
    fixed = sum(name in config.in_one_layout() for name in systems)
    total = ((len(systems) - fixed) * len(layouts) + fixed) * len(config.build.artefacts)
    with (
        terminal.progress("binaries", alike=config.build.mode == "rebuild") as update,
        linking_cluster(config, directory, terminal.say) as nodes,
    ):
        progress = BuildProgress(terminal.say, _counter(update, total))
        if offer_without_stock:
            progress = replace(progress, stock_begins=_once(lambda: terminal.say(_STOCK_TOO)))
        cache = Cache(default_root())
        if not captures:
            cache.check_writable()  # or each system would fail for it, one after the other
        setup = BuildSetup.of(config, directory, cache, SubprocessRunner(), progress, jobs=part.jobs)
        setup = replace(setup, nodes=nodes, failed=SharedFailures(keep_going), recalls_failures=recalls_failures)
        if captures:
            return build_earlier(setup, {name: captures[name] for name in systems}, layouts)
        return build_systems(setup, systems, layouts)


def _once(tell: Callable[[], None]) -> Callable[[], None]:
    """What tells at its first call, from whatever thread, and does nothing from then on."""
    from threading import Lock

    first = Lock()

    def told() -> None:
        if first.acquire(blocking=False):
            tell()

    return told


def _counter(update: Callable[[int, int], None], total: int) -> Callable[[], None]:
    from threading import Lock

    lock = Lock()
    done = 0

    def advance() -> None:
        nonlocal done
        with lock:
            done += 1
            update(done, total)

    return advance


def next_of_run(results: Sequence[SystemBuild]) -> str:
    """What to do with results of these: systems that are one program are nothing to compare."""
    from layoutrand.analysis.next_steps import STEPS

    built = [each for each in results if each.capture is not None or each.binaries]
    programs = {each.system if each.capture is None else each.capture.id for each in built}
    if len(programs) > 1:
        return "layoutrand compare"
    return f"{STEPS['look at the program'].briefly} · layoutrand analyse" if len(built) > 1 else "layoutrand analyse"


def relink_record(record: Path, order: Path) -> int:
    """Lay out one recorded link in place; what the helper has a client do that does not see the same files."""
    from layoutrand.build.apply import RelinkOrders, relink_recorded
    from layoutrand.capture.link_memory import LinkMemory
    from layoutrand.platform.process import SubprocessRunner

    relink_recorded(record, RelinkOrders.read(order), SubprocessRunner(), LinkMemory(), os.replace)
    return 0


def relink_helper(order: Path, descriptor: int) -> int:
    """Lay out the links of one build as the linker wrappers of `exec` and of rebuild mode ask for it."""
    from layoutrand.build.link_helper import RelinkService
    from layoutrand.platform.helper import Client, serve

    class HelperService(RelinkService):
        """Tells of errors as the command line does: standard error is the client's."""

        def answer(self, request: str, client: Client) -> int:
            try:
                super().answer(request, client)
            except LayoutrandError as error:
                sys.stderr.write(printable(f"layoutrand: {error}\n", keep="\n\t"))
                return error.exit_status
            return 0

    serve(descriptor, HelperService(order))
    return 0
