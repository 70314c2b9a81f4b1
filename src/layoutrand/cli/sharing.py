"""`layoutrand staging`, the directory that a cluster shares, and `layoutrand bundle`, captures for other machines."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from layoutrand.cli import completing, options
from layoutrand.errors import UsageError
from layoutrand.library.configuration import choose_systems
from layoutrand.screens.display import Display
from layoutrand.text.quantities import ago
from layoutrand.text.sizes import sized

if TYPE_CHECKING:
    from layoutrand.cluster.bundle_command import Carried
    from layoutrand.cluster.unneeded import Inventory, SharedFile

staging_app = typer.Typer(help="The directory that the nodes of a cluster share.", no_args_is_help=True)
bundle_app = typer.Typer(help="Captures to and from machines that share no directory.", no_args_is_help=True)

Shared = Annotated[
    Path | None, typer.Option(help="The shared directory. Default: shared of [cluster] in layoutrand.toml.")
]
_SECONDS = {"h": 3600, "d": 86400, "w": 7 * 86400}


@staging_app.command("ls")
def staging_ls(shared: Shared = None, directory: options.Directory = Path(), json: options.Json = False) -> int:
    """List what is in the shared directory, least recently used first."""
    from layoutrand.cluster.unneeded import inventory, kinds

    terminal = options.terminal(json=json, quiet=False)
    root = _shared(shared, directory)
    found = inventory(root)
    if json:
        terminal.document({"schema": "layoutrand/staging/1", "path": str(root), **_document(found)})
        return 0
    bundles = found.of("bundle")
    rows = [
        (entry.name[:16], entry.label, sized(entry.size + entry.contents_size), ago(time.time() - entry.used_at))
        for entry in bundles
    ]
    if rows:
        terminal.table("Captures for nodes", ("bundle", "of", "size with shared files", "last used"), rows)
    terminal.table(
        "In all",
        ("what", "number", "size"),
        [
            (what, str(len(found.of(kind))), sized(sum(entry.size for entry in found.of(kind))))
            for kind, what in kinds().items()
            if found.of(kind)
        ],
    )
    _warn_of(found, terminal)
    return 0


@staging_app.command("gc")
def staging_gc(
    older_than: Annotated[str, typer.Option(help="Delete what was not used for so long: 30d, 12h, 2w.")] = "30d",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Delete nothing; say what would be.")] = False,
    shared: Shared = None,
    directory: options.Directory = Path(),
    json: options.Json = False,
) -> int:
    """Delete captures, binaries and job files that were not used for long; all of it can be made again."""
    from layoutrand.cluster.unneeded import collect, kinds
    from layoutrand.engines.known import engines

    terminal = options.terminal(json=json, quiet=False)
    root = _shared(shared, directory)
    active = {engine.name: engine.active_jobs() for engine in engines()}
    deleted, left = collect(root, older_s=parse_age(older_than), now=time.time(), active=active, dry_run=dry_run)
    freed = sum(entry.size for entry in deleted)
    if json:
        rows = [{"kind": entry.kind, "name": entry.name, "size": entry.size} for entry in deleted]
        terminal.document(
            {
                "schema": "layoutrand/staging-gc/1",
                "path": str(root),
                "dry_run": dry_run,
                "deleted": rows,
                "freed": freed,
                "skipped": _problems(left),
            }
        )
        return 0
    for kind, what in kinds().items():
        some = [entry for entry in deleted if entry.kind == kind]
        if some:
            terminal.line(f"{what}: {len(some)}, {sized(sum(entry.size for entry in some))}")
    _warn_of(left, terminal)
    terminal.line(f"{sized(freed)} {'would be freed' if dry_run else 'freed'}")
    return 0


@bundle_app.command("export")
def bundle_export(
    system: Annotated[
        str, typer.Argument(autocompletion=completing.systems, help="The system whose capture is to be carried.")
    ],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to put it, such as a removable disk.")],
    jobs: options.Jobs = 0,
    directory: options.Directory = Path(),
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> int:
    """Put a system's capture from the cache into a directory, and print the digest that names it."""
    from layoutrand.build.build_setup import BuildProgress, BuildSetup
    from layoutrand.cache.store import Cache, default_root
    from layoutrand.cluster.bundle_command import export_system
    from layoutrand.cluster.shared_directory import SharedDirectory
    from layoutrand.platform.process import SubprocessRunner

    terminal = options.terminal(json=json, quiet=quiet)
    config = options.load_config(directory)
    choose_systems(config, [system])
    options.must_be_built(config, system)
    progress, at_once = BuildProgress(terminal.say, lambda: None), options.count_jobs(jobs)
    setup = BuildSetup.of(config, directory, Cache(default_root()), SubprocessRunner(), progress, jobs=at_once)
    done = export_system(setup, system, folder)
    options.leave_out_of_source(config, directory, SharedDirectory(folder).carried_files(), terminal)
    if json:
        terminal.document(_carried("layoutrand/bundle-export/1", done))
        return 0
    moved = done.travelled
    terminal.say(f"{system}: {moved.contents} files written, {sized(moved.moved)}; unpacked {sized(moved.size)}")
    terminal.line(done.digest)
    return 0


@bundle_app.command("import")
def bundle_import(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where it was put.")],
    digest: Annotated[str | None, typer.Argument(help="What export printed; default: the only one there.")] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> int:
    """Put a capture that was exported elsewhere into this machine's cache; every file is checked."""
    from layoutrand.cache.store import Cache, default_root
    from layoutrand.cluster.bundle_command import import_system

    terminal = options.terminal(json=json, quiet=quiet)
    done = import_system(Cache(default_root()), folder, digest)
    if json:
        terminal.document(_carried("layoutrand/bundle-import/1", done))
        return 0
    moved = done.travelled
    terminal.line(
        f"{done.system}: capture {done.capture[:16]} is in the cache; {moved.contents} files, {sized(moved.moved)}, "
        "were read. A build of the same source with the same tools and flags uses it"
    )
    return 0


def parse_age(text: str) -> float:
    """``30d``, ``12h`` or ``2w`` in seconds; raises `UsageError`."""
    from layoutrand.text.foreign_fields import excerpt

    match = re.fullmatch(r"\s*(\d{1,6}(?:\.\d{1,6})?)\s*([hdw])\s*", text, re.ASCII)
    if match is None:
        raise UsageError(f"--older-than {excerpt(text, quoted=False)}: write an age such as 30d, 12h or 2w")
    return float(match[1]) * _SECONDS[match[2]]


def _shared(given: Path | None, directory: Path) -> Path:
    if given is not None:
        return given.absolute()
    settings = options.load_config(directory).remote
    if settings is None:
        raise UsageError("no [cluster] in layoutrand.toml names a shared directory: --shared DIR does")
    return (directory / settings.shared).absolute()


def _document(found: Inventory) -> dict[str, Any]:
    from layoutrand.cluster.unneeded import kinds

    totals = {kind: {"number": len(found.of(kind)), "size": sum(e.size for e in found.of(kind))} for kind in kinds()}
    return {
        "entries": [_entry(entry) for kind in kinds() if kind != "content" for entry in found.of(kind)],
        "totals": totals,
        "skipped": _problems(found),
    }


def _entry(entry: SharedFile) -> dict[str, Any]:
    return {
        "kind": entry.kind,
        "name": entry.name,
        "path": str(entry.path),
        "label": entry.label,
        "size": entry.size,
        "contents_size": entry.contents_size,
        "used_at": entry.used_at,
    }


def _problems(found: Inventory) -> list[dict[str, str]]:
    return [{"path": str(path), "problem": what} for path, what in found.problems]


def _warn_of(found: Inventory, page: Display) -> None:
    for path, what in found.problems[:20]:
        page.warn(f"{path} is left alone: {what}")
    if len(found.problems) > 20:
        page.warn(f"{len(found.problems) - 20} more are left alone; --json lists all")


def _carried(schema: str, done: Carried) -> dict[str, Any]:
    return {
        "schema": schema,
        "digest": done.digest,
        "system": done.system,
        "capture": done.capture,
        "files": done.travelled.contents,
        "moved": done.travelled.moved,
        "size": done.travelled.size,
    }
