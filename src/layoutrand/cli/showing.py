"""`layoutrand inspect` and `layoutrand cache`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Final

import typer

from layoutrand.cli import building, completing, options
from layoutrand.errors import BuildFailed, CacheError, UsageError, without_log
from layoutrand.library.configuration import choose_systems
from layoutrand.text.quantities import ago
from layoutrand.text.sizes import size_of, sized
from layoutrand.warning import plural

if TYPE_CHECKING:
    from layoutrand.build.coincidence import CoincidingSystems
    from layoutrand.build.inspect import Inspection
    from layoutrand.cache.capture_record import CapturedLink
    from layoutrand.cli.terminal import Terminal
    from layoutrand.model import Binary

_LONGEST_NAME: Final = 34
_LONGEST_OBJECT: Final = 16
"""So that a table of them fits into 80 columns; JSON has all of both."""

cache_app = typer.Typer(help="The cache of captures, binaries and kept builds.", no_args_is_help=True)


def inspect(  # noqa: PLR0913 - one parameter for each option
    system: Annotated[str, typer.Argument(autocompletion=completing.systems, help="The system.")],
    seed: Annotated[str, typer.Argument(help="The layout: a seed, or identity.")],
    other: Annotated[list[str] | None, typer.Option("--with", help="Also the distance to this layout.")] = None,
    artefact: Annotated[str | None, typer.Option(help="Which artefact; default: the first.")] = None,
    mode: options.Mode = None,
    limit: Annotated[int, typer.Option(min=0, help="Sections to list; 0 for all.")] = 20,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Also write the layout's binary to this file.")
    ] = None,
    directory: options.Directory = Path(),
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> int:
    """The order asked for, the order achieved, and how far two layouts are apart."""
    from layoutrand.build.binaries import kept_addresses
    from layoutrand.build.coincidence import coinciding_systems
    from layoutrand.build.inspect import inspect as inspect_binary
    from layoutrand.build.inspect import inspect_document
    from layoutrand.cache.store import Cache, default_root
    from layoutrand.config.config import choose
    from layoutrand.config.seeds import parse_layout
    from layoutrand.model import IDENTITY

    terminal = options.terminal(json=json, quiet=quiet)
    config = options.on_executor(options.in_mode(options.load_config(directory), mode), "local")
    choose_systems(config, [system])
    options.must_be_built(config, system)
    name = choose("artefact", [artefact] if artefact else [], config.build.artefacts)[0]
    layout = parse_layout(seed)
    others = list(dict.fromkeys([IDENTITY, *(parse_layout(text) for text in other or [])]))
    part = options.ProjectPart(config, directory, [system], jobs=options.count_jobs(0))
    result = building.build_with_progress(part, [layout], options.terminal(json=json, quiet=True))[0]
    for failure in result.failures:
        why = failure.cause or without_log(failure.error, failure.log)
        raise BuildFailed(f"system {system}, layout {seed}: {why}", log=failure.log)
    assert result.capture is not None
    binary = next(binary for binary in result.binaries if binary.artefact == name)
    kept = kept_addresses(Cache(default_root()), binary)
    link = result.capture.link(name)
    found = inspect_binary(config, link, binary, others, kept)
    if output is not None:
        _write(binary, output)
        options.leave_out_of_source(config, directory, [output], options.terminal(json=json, quiet=True))
    if json:
        terminal.document(inspect_document(found))
        return 0
    whose = f" of {name}" if len(config.build.artefacts) > 1 else ""
    for line in _inspected(found, link, coinciding_systems([binary]), whose):
        terminal.sentence(line)
    terminal.line()
    _show_order(found, link, terminal, limit)
    terminal.line(f"{found.path}\nsha256 {found.sha256}")
    stored = binary.stored
    if stored.storage != "whole":
        what = {"delta": "a delta", "order": "the order that it is written in"}[stored.storage]
        itself = "-o FILE writes the binary itself" if output is None else f"{output} is the binary itself"
        terminal.line(f"It is {what}: {itself}")
    return 0


def _write(binary: Binary, output: Path) -> None:
    """Write the binary, whole, to a file that may be executed."""
    from layoutrand.cache.contents import content_of
    from layoutrand.platform.foreign import write_bytes

    try:
        data = content_of(binary.stored)
    except OSError as error:
        raise CacheError(f"{error}; `layoutrand build` mends it") from error
    write_bytes(output, data, executable=True)


def _inspected(
    found: Inspection, link: CapturedLink, coinciding: Sequence[CoincidingSystems], whose: str
) -> Iterator[str]:
    """What can move, whether it lies as asked, and how far it is from other layouts; ``whose`` of several artefacts."""
    from layoutrand.build.claims import AS_LINKED
    from layoutrand.layout.factors import LINKER_SHUFFLE
    from layoutrand.link.one_layout import only_one_layout

    stay = len(found.placed) - found.n_movable
    staying = f" ({stay} {'keeps its' if stay == 1 else 'keep their'} place)" if stay else ""
    exact = "in exactly the order asked for" if not found.wrong_slots else f"{found.wrong_slots} slots are not as asked"
    classes = "" if LINKER_SHUFFLE in found.factors else f"; classes {found.classes}"  # that linker knows none
    if found.not_drawn:  # no order was asked for
        exact = f"in the order that was verified: {found.not_drawn} it"
    yield (
        f"{found.system}, layout {found.layout}{whose}: {found.n_movable} of {len(found.placed)} sections can move"
        f"{staying}, {exact} ({', '.join(found.factors)}{classes})"
    )
    yield from map(str, coinciding)
    if reason := only_one_layout(link, factors=found.factors, classes=found.classes):
        yield f"it has {reason}"
    if found.engine == "permute":
        yield 'written without the linker (layout.engine = "permute"), and verified as linked ones are'
    if found.post_processed != AS_LINKED:
        yield f"read off the link inside the build; the file was changed after it: {found.post_processed}"
    for distance in found.distances:
        yield (
            f"from {distance.other}: Kendall tau {distance.movable_tau:+.4f} over what can move, "
            f"{distance.movable_kept} of {max(0, found.n_movable - 1)} neighbours kept"
        )


def _show_order(found: Inspection, link: CapturedLink, terminal: Terminal, limit: int) -> None:
    """Section by section, by names that people read."""
    from layoutrand.explain.hot_functions import readable_names
    from layoutrand.explain.hotness import function_names, mangled_of
    from layoutrand.platform.process import SubprocessRunner
    from layoutrand.text.document import cut

    shown = found.placed[:limit] if limit else found.placed
    sections = [link.sections[number] for number in found.order[: len(shown)]]
    names = function_names(sections, readable_names(mangled_of(sections), SubprocessRunner(), terminal.say))
    rows = [
        (
            cut(name.removesuffix(f" ({placed.object})").removesuffix(f" of {placed.object}"), _LONGEST_NAME),
            cut(PurePosixPath(placed.object).name, _LONGEST_OBJECT),
            f"{placed.address:#x}",
            f"{placed.size:,}",
            placed.kind + (" pinned" if placed.pinned else ""),
        )
        for name, placed in zip(names, shown, strict=True)
    ]
    terminal.table("Order", ("function or section", "object", "address", "bytes", "class"), rows)
    if len(found.placed) > len(shown):
        terminal.line(f"... {len(found.placed) - len(shown)} more; --limit 0 shows all, --json too")
    terminal.line()


@cache_app.command("path")
def cache_path() -> int:
    """Print where the cache is ($LAYOUTRAND_CACHE, else the user's cache directory)."""
    from layoutrand.cache.store import default_root

    typer.echo(str(default_root()))
    return 0


@cache_app.command("ls")
def cache_ls(json: options.Json = False) -> int:
    """List what is in the cache, least recently used first."""
    from layoutrand.cache.kept_builds import ROOM, room
    from layoutrand.cache.store import Cache, default_root
    from layoutrand.cache.upkeep import entries

    terminal = options.terminal(json=json, quiet=False)
    most, found, now = room(), entries(Cache(default_root())), time.time()
    if json:
        rows = [{**vars(entry), "path": str(entry.path)} for entry in found]
        terminal.document({"schema": "layoutrand/cache/1", "entries": rows})
    terminal.table(
        "Cache",
        ("what", "kind", "size", "last used", "entry"),
        [(e.label, e.kind, sized(e.size), ago(now - e.used_at) if e.used_at else "-", e.name[:16]) for e in found],
    )
    terminal.line(f"{plural(len(found), 'entry')}, {sized(sum(entry.size for entry in found))}")
    builds = [entry.size for entry in found if entry.kind == "build"]
    if builds:
        terminal.line(f"of these {sized(sum(builds))} are kept builds, which may have {sized(most)} ({ROOM})")
    return 0


@cache_app.command("verify")
def cache_verify(
    mend: Annotated[bool, typer.Option(help="Remove what is damaged; the next build makes it again.")] = False,
    json: options.Json = False,
) -> int:
    """Check every file in the cache, and that records, captures, binaries and logs belong together.

    The exit status is 1 if something is damaged.
    """
    from layoutrand.cache.linked_check import verify
    from layoutrand.cache.store import Cache, default_root
    from layoutrand.cache.upkeep import entries, record_entries
    from layoutrand.platform.disk import cache_errors, remove_tree

    terminal = options.terminal(json=json, quiet=False)
    cache = Cache(default_root())
    total, records = len(entries(cache)), len(record_entries(cache))
    problems = verify(cache)
    if json:
        rows = [{"name": e.name, "kind": e.kind, "path": str(e.path), "problem": what} for e, what in problems]
        terminal.document(
            {"schema": "layoutrand/cache-verify/1", "entries": total, "records": records, "damaged": rows}
        )
    for entry, problem in problems:
        terminal.fail(f"{entry.kind} {entry.name[:16]} ({entry.label}): {problem}")
        if mend:
            with cache_errors("remove", entry.path):
                remove_tree(entry.path) if entry.path.is_dir() else entry.path.unlink(missing_ok=True)
    advice = "" if not problems else ("; removed" if mend else "; --mend removes them, the next build makes them again")
    terminal.line(f"{total} entries and {records} records checked, {len(problems)} damaged{advice}")
    return 1 if problems and not mend else 0


@cache_app.command("gc")
def cache_gc(
    max_size: Annotated[str, typer.Option(help="Keep at most this much, such as 2G or 500M; 0 empties it.")] = "5G",
    builds: Annotated[
        bool, typer.Option("--builds", help="All builds that are kept to capture other artefacts of, and nothing else.")
    ] = False,
    layouts: Annotated[
        bool,
        typer.Option(
            "--layouts",
            help="All layouts whose capture is there, and nothing else: `run` makes them again without a build.",
        ),
    ] = False,
    json: options.Json = False,
) -> int:
    """Evict what was used least recently, but nothing that is in use; nothing is lost, it can all be made again.

    Builds that are kept to capture other artefacts of go before all else.
    """
    from layoutrand.cache.store import Cache, default_root
    from layoutrand.cache.upkeep import collect, collect_builds, collect_layouts

    if builds and layouts:
        raise UsageError("--builds and --layouts evict one thing each: give one of them, or neither for all")

    terminal = options.terminal(json=json, quiet=False)
    cache, most = Cache(default_root()), size_of(max_size, "--max-size")
    done = collect_builds(cache, 0) if builds else collect_layouts(cache) if layouts else collect(cache, most)
    freed, kept = (sum(entry.size for entry in group) for group in (done.evicted, done.in_use))
    if json:
        names = {"evicted": [e.name for e in done.evicted], "in_use": [e.name for e in done.in_use]}
        terminal.document({"schema": "layoutrand/cache-gc/1", **names, "freed": freed})
    terminal.line(f"{plural(len(done.evicted), 'entry')} evicted, {sized(freed)} freed")
    if done.in_use:
        stays = "stays" if len(done.in_use) == 1 else "stay"
        terminal.line(
            f"{plural(len(done.in_use), 'entry')} of {sized(kept)} {stays}, since another layoutrand may be using "
            f"{'it' if len(done.in_use) == 1 else 'them'}: give the command again once it has ended"
        )
    return 0


@cache_app.command("pack")
def cache_pack(
    whole: Annotated[
        bool, typer.Option("--whole", help="The other way: make files of layouts that are deltas or orders.")
    ] = False,
    json: options.Json = False,
) -> int:
    """Keep layouts that are in the cache as deltas, as layout.storage = "delta" has those that are made from then on.

    They are the same layouts as before, and stay in the cache; what is in use is left as it is.
    """
    from layoutrand.cache.packing import keep_as_deltas, keep_whole
    from layoutrand.cache.store import Cache, default_root

    terminal = options.terminal(json=json, quiet=False)
    cache = Cache(default_root())
    done = keep_whole(cache) if whole else keep_as_deltas(cache)
    if json:
        terminal.document({"schema": "layoutrand/cache-pack/1", **vars(done)})
    kind = "whole files" if whole else "deltas"
    terminal.line(
        f"{done.changed} layouts were made {kind}: {sized(done.before)} before, {sized(done.after)} now"
        + (f"; {done.others} gain nothing or are damaged (layoutrand cache verify)" if done.others else "")
    )
    if done.in_use:
        terminal.line(
            f"{done.in_use} layouts stay as they are, since another layoutrand may be using them: give the command "
            "again once it has ended"
        )
    return 0
