"""`layoutrand doctor`."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from layoutrand.cli import options
from layoutrand.cli.terminal import Terminal, terminal_width
from layoutrand.screens.charts import Line, Span, paragraph

if TYPE_CHECKING:
    from layoutrand.cli.doctor_checks import Diagnosis
    from layoutrand.host.host_problems import Severity

_SEVERITIES: Final[dict[Severity, Span]] = {"error": ("✗", "red"), "warning": ("⚠", "yellow"), "note": ("ⓘ", "cyan")}


def doctor(
    directory: options.Directory = Path(),
    tune: Annotated[
        bool, typer.Option("--tune", help="First set the machine for measuring, as far as we may, until --undo.")
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="First restore the settings that layoutrand has changed.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Also the factors of each toolchain, and where programs are.")
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
    terminal.screen(diagnosis_screen(found, terminal_width()))
    if full:
        _show_tables(found, terminal)
    return 1 if any(problem.severity == "error" for problem in found.problems) else 0


def diagnosis_screen(found: Diagnosis, columns: int | None) -> list[Line]:
    """Whether the machine is ready, what stands in the way and what mends it; None columns where no terminal is."""
    from layoutrand.cli.doctor_checks import huge_pages_in_words, isolation_in_words
    from layoutrand.linkers.toolbox import HAVE_VERSIONS
    from layoutrand.screens.charts import ELSEWHERE, NARROWEST

    facts = found.facts
    memory = f"{facts['memory_bytes'] / 2**30:.0f} GiB" if facts["memory_bytes"] else "unknown memory"
    machine = (
        f"{facts['hostname']}: {facts['cpu_model'] or 'unknown CPU'}, {facts['cpus_allowed']} of {facts['cpus']} CPUs, "
        f"{memory}, {facts['kernel']}, ASLR {facts['aslr']}"
    )
    width = max(columns or ELSEWHERE, NARROWEST)
    lines: list[Line] = [*paragraph(machine, "", width), [], _answer(found), []]
    for problem in sorted(found.problems, key=lambda each: list(_SEVERITIES).index(each.severity)):
        first, *rest = paragraph(problem.what, "    ", width)
        lines += [[("  ", ""), _SEVERITIES[problem.severity], (first[0][0][3:], "")], *rest]
        mend = problem.mend.splitlines()
        parts = [part for line in mend for part in textwrap.wrap(line, width - 10, break_on_hyphens=False)]
        heads = ["    mend: ", *[" " * 10] * len(parts)]
        lines += [[(head, "dim"), (part, "bold")] for head, part in zip(heads, parts, strict=False)]
    usable = [ability.toolchain for ability in found.abilities if ability.usable]
    programs = [name for name, path in found.instruments.items() if path]
    lines += [[]] if found.problems else []
    lines += paragraph(f"Toolchains here: {', '.join(usable) or 'none'}", "  ", width)
    # Who wants a cross compiler knows it.
    if absent := [each.toolchain for each in found.abilities if not each.usable and not each.is_cross]:
        lines += paragraph(f"Toolchains not here: {', '.join(absent)}; --full says what each lacks", "  ", width)
    versions = [name for ability in found.abilities if ability.toolchain in HAVE_VERSIONS for name in ability.versions]
    if versions:
        lines += paragraph(
            f"Versions that can be named, alone or as in clang-lld-19: {', '.join(versions)}", "  ", width
        )
    if found.linkers:
        lines += paragraph(f"Linkers here, each version of them: {', '.join(found.linkers)}", "  ", width)
    lines += paragraph(f"Measuring programs here: {', '.join(programs) or 'none'}", "  ", width)
    lines += paragraph(f"Text on huge pages here: {huge_pages_in_words(found)}", "  ", width)
    lines += paragraph(f"Isolation here: {isolation_in_words(found.isolation)}", "  ", width)
    return lines


def _answer(found: Diagnosis) -> Line:
    severities = [problem.severity for problem in found.problems]
    if "error" in severities:
        return [("  ", ""), _SEVERITIES["error"], (" not ready: what is marked like this comes first", "bold")]
    if count := severities.count("warning"):
        what = "1 thing" if count == 1 else f"{count} things"
        return [("  ", ""), _SEVERITIES["warning"], (f" ready to build; {what} to see to before measuring", "bold")]
    return [("  ", ""), ("✓", "green"), (" ready to build and to measure", "bold")]


def _show_tables(found: Diagnosis, terminal: Terminal) -> None:
    terminal.line()
    for ability in found.abilities:
        if not ability.usable:
            # Nobody has to install Go for a project in C.
            mend = f"; `{ability.mend}`" if found.asked is None or ability.toolchain in found.asked else ""
            terminal.item(f"{ability.toolchain} is not usable: {ability.lack}{mend}")
    terminal.line()
    rows = [(a.toolchain, a.detail, ", ".join(a.factors) or "-") for a in found.abilities if a.usable]
    terminal.table("Toolchains", ("toolchain", "compiler; linker", "factors"), rows)
    terminal.line()
    instruments = [(name, path or "absent") for name, path in found.instruments.items()]
    terminal.table("Instruments", ("program", "where"), instruments)
