"""`layoutrand doctor`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from layoutrand.cli import options
from layoutrand.cli.terminal import Terminal

if TYPE_CHECKING:
    from layoutrand.cli.doctor_checks import Diagnosis


def doctor(
    directory: options.Directory = Path(),
    tune: Annotated[
        bool, typer.Option("--tune", help="First set the machine for measuring, as far as we may, until --undo.")
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="First restore the settings that layoutrand has changed.")
    ] = False,
    json: options.Json = False,
) -> int:
    """What this machine can do; each problem with the command that mends it. Nothing is changed without --tune."""
    from layoutrand.cli.doctor_checks import diagnose, doctor_document
    from layoutrand.errors import UsageError
    from layoutrand.host import tune as tuning
    from layoutrand.host.tuning import Tuning
    from layoutrand.platform.process import SubprocessRunner

    terminal = options.terminal(json=json, quiet=False)
    if tune and undo:
        raise UsageError("give either --tune or --undo")
    if undo:
        tuning.undo(Tuning(), terminal.say, terminal.warn)
    if tune:
        tuning.tune(Tuning(), terminal.say)
    found = diagnose(directory, SubprocessRunner())
    if json:
        terminal.document(doctor_document(found))
    _show_diagnosis(found, terminal)
    return 1 if any(problem.severity == "error" for problem in found.problems) else 0


def _show_diagnosis(found: Diagnosis, terminal: Terminal) -> None:
    facts = found.facts
    terminal.line(
        f"{facts['hostname']}: {facts['cpu_model'] or 'unknown CPU'}, {facts['cpus_allowed']} of {facts['cpus']} CPUs, "
        f"{facts['memory_bytes'] / 2**30:.0f} GiB, {facts['kernel']}, ASLR {facts['aslr']}"
    )
    rows = [(a.toolchain, "yes" if a.usable else "no", ", ".join(a.factors) or "-") for a in found.abilities]
    terminal.table("Toolchains", ("toolchain", "usable", "factors"), rows)
    instruments = [(name, path or "absent") for name, path in found.instruments.items()]
    terminal.table("Instruments", ("program", "where"), instruments)
    if not found.problems:
        terminal.line("no problems found")
    for problem in found.problems:
        terminal.line(f"{problem.severity}: {problem.what}\n    mend: {problem.mend}")
