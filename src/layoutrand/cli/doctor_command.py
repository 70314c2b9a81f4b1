"""`layoutrand doctor` and `layoutrand demo`."""

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


def _shown_first() -> list[str]:
    """The metrics that say most to somebody who sees them for the first time."""
    from layoutrand.instruments.known import instruments

    return [metric for each in instruments() for metric in each.shown_first]


def demo(
    directory: Annotated[
        Path, typer.Option("-C", "--directory", help="Where to put the example; made if it is not there.")
    ] = Path("layoutrand-demo"),
    seeds: options.Seeds = "30",
    jobs: options.Jobs = 0,
    quiet: options.Quiet = False,
) -> int:
    """All of it on the built-in example, in about a minute: build, run, analyse, compare."""
    from layoutrand.analysis.analyse import analyse
    from layoutrand.analysis.compare import compare
    from layoutrand.build.demo import absent_simulators, check_needs, copy_example, left_out
    from layoutrand.cli import building, comparing, failing, reporting, running, selecting, terminal_tables
    from layoutrand.cli.markdown_report import write_report
    from layoutrand.config.seeds import parse_seeds
    from layoutrand.execute.run_plan import RunChoices
    from layoutrand.platform.process import SubprocessRunner

    terminal = options.terminal(json=False, quiet=quiet)
    check_needs(SubprocessRunner())
    copy_example(directory)
    config = options.load_config(directory)
    systems, without = list(config.systems), left_out(config)
    benchmarks = [each.name for each in config.benchmarks if each.name not in without] if without else []
    terminal.line(f"The example, a small language interpreter, is in {directory}; see its layoutrand.toml.\n")
    if without:
        absent = absent_simulators()
        terminal.line(
            f"There is no {absent[0].program} ({absent[0].how_to_install()}), so nothing is simulated: "
            f"{', '.join(without)} is left out, and times alone are measured.\n"
        )
    only = "".join(f"--benchmark {name} " for name in benchmarks)
    terminal.line(f"$ layoutrand run --seeds {seeds} {only}-C {directory}")
    told = failing.Failures()
    part = options.ProjectPart(config, directory, systems, benchmarks, options.count_jobs(jobs))
    choices = RunChoices(benchmarks, parse_seeds(seeds))
    summary, results = running.build_and_execute(part, choices, terminal, told=told)
    building.show_build(results, terminal)
    running.show_run(summary, terminal, told)
    selection = selecting.load_selection(config, directory, [], benchmarks, selecting.Which())
    measured = {sample.metric for sample in selection.samples}
    metrics = [metric for metric in _shown_first() if metric in measured]
    chosen = "".join(f"--metric {metric} " for metric in metrics)
    terminal.line(f"\n$ layoutrand analyse {only}{chosen}-C {directory}")
    every = analyse(selection, confidence=0.95, metrics=[])
    report = analyse(selection, confidence=0.95, metrics=metrics)
    terminal_tables.show_analysis(report, terminal, every=True)
    base, candidate = systems[0], systems[1]
    terminal.line(f"$ layoutrand compare {base} {candidate} {only}-C {directory}")
    comparison = compare(selection, base, candidate, confidence=0.95, threshold=0.01, metric=None)
    comparing.show_comparison(comparison, terminal)
    path = write_report(directory, config, results, summary, every, comparison)
    page = reporting.write_report(directory)
    terminal.line(f"\nReport: {path.absolute()}\nAs a page: {page.absolute()}")
    return 1 if summary.failures or summary.build_failures else 0
