"""What `layoutrand build --explain` and `--list-systems` show."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layoutrand.cli.terminal import Terminal
from layoutrand.screens.display import Display

if TYPE_CHECKING:
    from layoutrand.build.reuse import Binaries, ReuseExplanation, ReuseVerdict
    from layoutrand.config.config import Config
    from layoutrand.model import LayoutName

_MOST_FILES = 12


def explain_build(
    config: Config, directory: Path, systems: Sequence[str], layouts: Sequence[LayoutName], terminal: Terminal
) -> int:
    """Show what a build would reuse and make, and why; exit status 1 if a system could not be judged."""
    from layoutrand.build.build_setup import BuildProgress, BuildSetup
    from layoutrand.build.reuse import explain_reuse, reuse_document
    from layoutrand.cache.store import Cache, default_root
    from layoutrand.platform.process import SubprocessRunner

    built = [name for name in systems if config.systems[name].prebuilt is None]
    for name in systems:
        if name not in built:
            own = "" if name in config.in_one_layout() else "; its layouts are options and archives of classes"
            terminal.say(f"{name}: prebuilt, so there is nothing to build{own}")
    progress = BuildProgress(terminal.say, lambda: None)
    setup = BuildSetup.of(config, directory, Cache(default_root()), SubprocessRunner(), progress)
    found = explain_reuse(setup, built, layouts)
    if terminal.json:
        terminal.document(reuse_document(found))
    for one in found:
        _show(one, terminal)
    return 1 if any(one.capture.state == "error" for one in found) else 0


def list_systems(config: Config, systems: Sequence[str], terminal: Terminal) -> int:
    """Show the systems as they stand after the matrix was expanded."""
    from layoutrand.config.config import FLAGS_OF_SYSTEMS, as_dict

    rows = {name: as_dict(config.systems[name]) for name in systems}
    any_built = any(row["prebuilt"] is None for row in rows.values())
    for row in rows.values():
        if row["prebuilt"] is not None:
            row["toolchain"] = None  # nothing is built with it
    if terminal.json:
        listed = [{"name": name, **row} for name, row in rows.items()]
        terminal.document({"schema": "layoutrand/systems/1", "systems": listed})
    columns = [
        key
        for key in ("rev", "toolchain", *FLAGS_OF_SYSTEMS, "env", "prebuilt", "args")
        if (key in ("toolchain", "cflags") and any_built) or any(row[key] for row in rows.values())
    ]
    cells = [(name, *(_cell(row[key]) for key in columns)) for name, row in rows.items()]
    terminal.table("Systems", ("system", *columns), cells)
    return 0


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name}={text}" for name, text in value.items())
    return (",".join(value) if isinstance(value, list) else value) or "-"


def _show(one: ReuseExplanation, page: Display) -> None:
    if one.capture.state == "error":
        page.fail(f"{one.system}: {one.capture.reason}")
        return
    _show_verdict(f"{one.system}: capture", one.capture, page)
    if one.stock is not None:
        _show_verdict(f"{one.system}: stock build", one.stock, page, known=one.capture)
    for binaries in one.binaries:
        page.line(f"{one.system}: {_counted(binaries)}")
    page.line()


def _show_verdict(what: str, verdict: ReuseVerdict, page: Display, *, known: ReuseVerdict | None = None) -> None:
    """One verdict with the parts of its key; those that ``known`` has shown already are not shown again."""
    from layoutrand.build.why_again import told_files, told_part
    from layoutrand.cache.difference import unchanged

    latest = verdict.compared_with
    when = "" if latest is None else f" ({_when(latest.at)}, {latest.directory})"
    page.line(f"{what}: {verdict.state}: {verdict.reason}{when}")
    if verdict.shared_with:
        page.line(f"    shared with {', '.join(verdict.shared_with)}: equal keys, so it is built once")
    shown = set() if known is None else {told_part(part) for part in known.parts}
    new = [part for part in verdict.parts if part.change != "same" and told_part(part) not in shown]
    for part in new if latest is not None else ():
        page.line(f"    {told_part(part)}")
        if part.name in ("source.digest", "source.commit") and verdict.files is not None:
            for change, names in told_files(verdict.files, _MOST_FILES):
                page.line(f"        {change}: {names}")
    same = unchanged(list(verdict.parts))
    if same and known is None:
        page.line(f"    same: {', '.join(same)}")


def _counted(binaries: Binaries) -> str:
    asked = len(binaries.cached) + len(binaries.damaged) + len(binaries.missing)
    parts = [f"{len(binaries.cached)} of {asked} layouts are cached"]
    parts += [f"{len(names)} {kind}" for kind in ("damaged", "missing") if (names := getattr(binaries, kind))]
    return f"{binaries.artefact}: {', '.join(parts)}" + (f" ({binaries.reason})" if binaries.reason else "")


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")
