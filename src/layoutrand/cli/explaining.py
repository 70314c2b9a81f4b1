"""`layoutrand build --explain` and `--list-systems`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layoutrand.cli.terminal import Terminal

if TYPE_CHECKING:
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
    from layoutrand.screens.reuse_screen import show_reuse

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
        show_reuse(one, terminal)
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
