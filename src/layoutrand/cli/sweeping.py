"""`layoutrand sweep`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from layoutrand.cli import building, options
from layoutrand.cli.measuring_apart import measuring_apart
from layoutrand.cli.selecting import Benchmarks
from layoutrand.cli.terminal import Terminal, terminal_width
from layoutrand.library.configuration import match_systems
from layoutrand.screens.run_screen import run_message, warn_disturbed

if TYPE_CHECKING:
    from layoutrand.build.build import SystemBuild
    from layoutrand.cache.capture_record import CapturedLink
    from layoutrand.config.config import Config
    from layoutrand.execute.run_plan import RunChoices
    from layoutrand.explain.offsets import Offsets
    from layoutrand.explain.sweep import Sweep
    from layoutrand.explain.sweep_rounds import SweepOrder
    from layoutrand.model import LayoutName


_ROUNDS: Final = 10
_ROUNDS_IF_EXACT: Final = 2


def sweep(  # noqa: PLR0913 - one parameter for each option
    function: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="The function or variable to move: its symbol, or its name in C++ or Rust."
        ),
    ],
    offset: Annotated[
        str | None,
        typer.Option(
            metavar="FIRST..LAST",
            help="Bytes that it begins at, modulo 64, or modulo the next power of two above LAST; default: 0..63, with "
            "--switch as far as the mechanism repeats.",
        ),
    ] = None,
    step: Annotated[
        int | None,
        typer.Option(min=1, help="Bytes from one offset to the next; default: 16, or the alignment if more."),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Execute every offset so often; default: 10, and 2 where what is simulated repeats to the digit.",
        ),
    ] = None,
    base: Annotated[
        str,
        typer.Option(
            help="The layout that all else is as in: identity, or a seed; several, as identity,1..9, are swept one "
            "after the other, and looked at together."
        ),
    ] = "identity",
    system: options.Systems = None,
    benchmark: Benchmarks = None,
    metric: Annotated[str | None, typer.Option(help="Compare this metric; default: the benchmark's main one.")] = None,
    cause: Annotated[
        bool,
        typer.Option(
            "--cause",
            help="Where offsets differ, say why: a profile finds the hottest instructions, of a variable a trace its "
            "loads and stores.",
        ),
    ] = False,
    switch: Annotated[
        str | None,
        typer.Option(
            metavar="MECHANISM",
            help="Choose offsets at which this one alone differs: line, window, jcc, fetch, page, sets, itlb or "
            "aliasing; of a variable data-split, data-line, data-page, data-sets or store-load.",
        ),
    ] = None,
    profiler: Annotated[
        str, typer.Option(help="With --cause and --switch: perf, callgrind, or auto (perf where it has counters).")
    ] = "auto",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Also draw dose and response as SVG, into this file.")
    ] = None,
    confidence: options.Confidence = 0.95,
    wait: options.Wait = 3600,
    share_machine: options.ShareMachine = False,
    jobs: options.Jobs = 0,
    directory: options.Directory = Path(),
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> int:
    """What a function's or variable's place does: binaries in which it alone lies elsewhere, compared."""
    from layoutrand.errors import UsageError
    from layoutrand.execute.run_plan import RunChoices
    from layoutrand.explain.sweep_document import sweep_document
    from layoutrand.explain.sweep_rounds import SweepOrder
    from layoutrand.platform.foreign import write_text
    from layoutrand.screens.sweep_screen import show_sweep

    terminal = options.terminal(json=json, quiet=quiet)
    offsets = _offsets(offset, step, switch)
    if cause and switch is not None:
        raise UsageError("--cause says which mechanism it may be, and --switch looks at one alone: give one of them")
    config = options.load_config(directory)
    if config.remote is not None:
        raise UsageError(
            "a sweep executes on the machine that it is given on, and not on nodes: take [cluster] out of "
            "layoutrand.toml to execute here"
        )
    bases = _layouts(base)
    if len(bases) > 1 and (cause or switch is not None or output is not None):
        raise UsageError("--cause, --switch and --output are of one layout: name one --base with them")
    order = SweepOrder(
        system=_the_one("system", match_systems(config, system)),
        benchmark=_the_one("benchmark", _benchmarks(config, benchmark or [])),
        function=function,
        offsets=offsets,
        rounds=_ROUNDS if rounds is None else rounds,
        base=bases[0],
        metric=metric,
        confidence=confidence,
        switch=switch,
        rounds_if_exact=_ROUNDS_IF_EXACT if rounds is None else None,
    )
    if output is not None:
        _check_output(output)
    part = options.ProjectPart(config, directory, [order.system], [order.benchmark], jobs=options.count_jobs(jobs))
    choices = RunChoices(wait_s=wait, share_machine=share_machine)
    if len(bases) > 1:
        return _over_bases([replace(order, base=each) for each in bases], part, choices, terminal, json=json)
    found = _swept(order, part, choices, terminal, profiler if cause or switch else None)
    terminal.say(run_message(found.summary))
    if cause and found.cause is None and not found.not_looked_for:
        terminal.say("no cause is looked for, since no offset stands out")
    if output is not None:
        write_text(output, _figure(found))
        options.leave_out_of_source(config, directory, [output], terminal)
        terminal.say(f"wrote {output}")
    if json:
        terminal.document(sweep_document(found))
    show_sweep(found, terminal, terminal_width())
    warn_disturbed(found.summary.disturbed, terminal)
    counted = found.counters.failures if found.counters else 0
    return 1 if found.summary.failures or counted else 0


def _over_bases(
    orders: Sequence[SweepOrder], part: options.ProjectPart, choices: RunChoices, terminal: Terminal, *, json: bool
) -> int:
    """One sweep after the other, then what they say together."""
    from layoutrand.explain.several_bases import bases_document, over_bases
    from layoutrand.screens.sweep_screen import show_bases

    found = []
    for number, order in enumerate(orders, start=1):
        terminal.say(f"layout {order.base}, {number} of {len(orders)}")
        found.append(_swept(order, part, choices, terminal, None))
        terminal.say(run_message(found[-1].summary))
    together = over_bases(found, seed=part.config.run.schedule_seed)
    if json:
        terminal.document(bases_document(together))
    show_bases(together, terminal, terminal_width())
    warn_disturbed([row for each in found for row in each.summary.disturbed], terminal)
    return 1 if any(each.summary.failures for each in found) else 0


def _the_one(kind: str, names: Sequence[str]) -> str:
    from layoutrand.errors import UsageError

    if len(names) != 1:
        raise UsageError(f"a sweep is of one {kind}, and there are {', '.join(names) or 'none'}: name one (--{kind})")
    return names[0]


def _offsets(asked: str | None, step: int | None, switch: str | None) -> Offsets:
    """The range; raises `UsageError`, also for a mechanism that is none."""
    from layoutrand.config.config import choose
    from layoutrand.explain.caches import caches_of
    from layoutrand.explain.data_mechanisms import DATA_MECHANISMS
    from layoutrand.explain.mechanisms import MECHANISMS
    from layoutrand.explain.offsets import parse_offsets
    from layoutrand.explain.switching import range_of
    from layoutrand.host.facts import host_facts

    if switch is not None:
        choose("mechanism", [switch], [*MECHANISMS, *DATA_MECHANISMS])
        if asked is None:
            return range_of(switch, caches_of(host_facts(), "", "EM_X86_64"), step)
    return parse_offsets("0..63" if asked is None else asked, step)


def _benchmarks(config: Config, names: Sequence[str]) -> list[str]:
    from layoutrand.config.config import choose

    return choose("benchmark", list(names), [benchmark.name for benchmark in config.benchmarks])


def _layouts(text: str) -> list[LayoutName]:
    """`identity`, seeds and ranges of them, in the order in which they are written; raises `UsageError`."""
    from layoutrand.errors import UsageError
    from layoutrand.explain.several_bases import MOST_BASES
    from layoutrand.model import IDENTITY, MAX_SEED
    from layoutrand.text.digits import whole_number
    from layoutrand.text.foreign_fields import excerpt

    given = f"--base {excerpt(text, quoted=False)}"
    found: dict[LayoutName, None] = {}
    for word in (part.strip() for part in text.split(",")):
        first, dots, last = word.partition("..")
        ends = [whole_number(end, MAX_SEED) for end in (first, last if dots else first)]
        if word == IDENTITY:
            found[IDENTITY] = None
        elif ends[0] is None or ends[1] is None or ends[1] < ends[0]:
            raise UsageError(f"{given}: it is identity, a seed from 0 to 2^64-1, or several, such as identity,1..9")
        elif ends[1] - ends[0] >= MOST_BASES or len(found) >= MOST_BASES:
            raise UsageError(f"{given}: at most {MOST_BASES:,} layouts can be swept in one call")
        else:
            found |= dict.fromkeys(range(ends[0], ends[1] + 1))
    return list(found)


def _check_output(path: Path) -> None:
    """Raise `UsageError` for a figure that cannot be written, before anything is measured."""
    from layoutrand.errors import UsageError

    if path.suffix.lower() != ".svg":
        raise UsageError(f"--output {path}: the figure is SVG, so the file is called .svg")
    if not path.absolute().parent.is_dir() or path.is_dir():
        raise UsageError(f"--output {path}: there is no such directory to write a file into")


def _swept(
    order: SweepOrder, part: options.ProjectPart, choices: RunChoices, terminal: Terminal, profiler: str | None
) -> Sweep:
    """Make the sweep, and tell failed executions as they come."""
    from layoutrand.analysis.display_names import DisplayNames
    from layoutrand.build.build_setup import BuildProgress, BuildSetup
    from layoutrand.cache.store import Cache, default_root
    from layoutrand.config.config import choose
    from layoutrand.execute.measure import measure
    from layoutrand.explain.hot_functions import ProfilingSetup, readable_names
    from layoutrand.explain.place_choice import find_place
    from layoutrand.explain.sweep import sweep as make_sweep
    from layoutrand.explain.sweep_rounds import SweepSetup
    from layoutrand.instruments.profilers import choose_profiler, profiler_options
    from layoutrand.platform.process import SubprocessRunner

    runner = SubprocessRunner()
    progress = BuildProgress(terminal.say, lambda: None)
    setup = BuildSetup.of(part.config, part.directory, Cache(default_root()), runner, progress, jobs=part.jobs)

    def build(system: str, layouts: Sequence[LayoutName]) -> SystemBuild:
        del system
        return building.build_with_progress(part, layouts, terminal)[0]

    def find(link: CapturedLink, name: str) -> tuple[int, str]:
        return find_place(link.sections, name, lambda symbols: readable_names(symbols, runner, terminal.say))

    names = DisplayNames.of(part.config)
    wanted = None if profiler is None else choose_profiler(choose("profiler", [profiler], profiler_options())[0])
    of_offset = "offset {0.layout}".format
    with measuring_apart(part.config, names, order.confidence, terminal, of_offset) as (executor, advance):
        profiling = None if wanted is None else ProfilingSetup(wanted, measure, runner, terminal.say)
        whole = SweepSetup(part.config, part.directory, setup, build, find, executor, choices, profiling)
        return make_sweep(order, whole, advance)


def _figure(found: Sweep) -> str:
    from layoutrand.explain import sweep_words as words
    from layoutrand.report.dose_figure import dose_figure, dose_plot

    changes = 100 * (found.means / found.means.mean(axis=1, keepdims=True) - 1)
    return dose_figure(
        dose_plot(
            words.verdict(found),
            f"begin of {found.name} modulo {found.order.offsets.period}, in bytes",
            found.offsets,
            changes.tolist(),
        )
    )
