"""Options that several commands share, and what they mean."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from layoutrand.cli import completing
from layoutrand.cli.printed_files import note_project
from layoutrand.cli.terminal import Terminal
from layoutrand.errors import UsageError
from layoutrand.library.configuration import read_config
from layoutrand.library.project_directory import CONFIG_NAME, project_of

if TYPE_CHECKING:
    from layoutrand.analysis.conclusion import Verdict
    from layoutrand.config.config import Config

_FAIL_IF_MET: Final = 3
_UNTOLD: Final = 4


def a_number(value: float) -> float:
    """The value of an option with a range, in which older typers let nan be."""
    if math.isnan(value):
        raise typer.BadParameter("nan is no number")
    return value


Directory = Annotated[
    Path,
    typer.Option(
        "-C",
        "--directory",
        metavar="DIR",
        callback=project_of,
        show_default=False,
        help="The project: where layoutrand.toml is, or below; default: here.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else there.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress, no remarks; warnings and failures stay.")]
Seeds = Annotated[str, typer.Option(help="Layouts to build: 30 (= 1..30), 5..12, or 1,7,9.")]
Systems = Annotated[
    list[str] | None,
    typer.Option(
        "--system",
        metavar="NAME",
        autocompletion=completing.systems,
        help="Only this system, or those a pattern such as 'gcc-*' matches; may be repeated.",
    ),
]
Jobs = Annotated[int, typer.Option("-j", "--jobs", min=0, help="Builds and links at once; 0 for one per core.")]
Controls = Annotated[
    bool, typer.Option("--controls/--no-controls", help="Include stock (your own build) and identity (ours, unmoved).")
]
Mode = Annotated[
    str | None,
    typer.Option(
        help="relink: one build, then a link per seed. rebuild: a build per seed, for artefacts that are stripped, "
        "converted, packed or signed after the link. Default: build.mode."
    ),
]
Order = Annotated[
    str | None,
    typer.Option(
        help="Order of executions: blocks (each round complete, at random within), pairs (systems side by side "
        "within it), interleaved (A B A B), random, sequential. Default: run.order."
    ),
]
Executor = Annotated[
    str | None,
    typer.Option(
        help="Where layouts are linked and executed: local (here), or the kind of [cluster], such as slurm. "
        "Default: cluster.kind."
    ),
]
Confidence = Annotated[float, typer.Option(min=0.5, max=0.9999, callback=a_number, help="Confidence of the intervals.")]
Wait = Annotated[
    float, typer.Option(min=0, callback=a_number, help="Seconds to wait for another layoutrand that measures.")
]
RetryFailed = Annotated[bool, typer.Option(help="Execute again what failed; the failures stay recorded.")]
RetryBuilds = Annotated[
    bool, typer.Option(help="Build and execute again what failed; failed executions stay recorded.")
]
ShareMachine = Annotated[
    bool, typer.Option("--share-machine", help="Measure even while another layoutrand measures on this machine.")
]


@dataclass(frozen=True)
class ProjectPart:
    """What of the project in ``directory`` a command is about: systems, benchmarks (none for all); ``jobs`` at once."""

    config: Config
    directory: Path
    systems: Sequence[str]
    benchmarks: Sequence[str] = ()
    jobs: int = 1


_UNITS_S: Final = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def failing_status(failing: Collection[Verdict], has: Callable[[Verdict], bool], *, failed: int = 0) -> int:
    """3 where a verdict on speed is there that ``--fail-if`` names, else ``failed``, else 4 where nobody can tell."""
    from layoutrand.analysis.conclusion import CANNOT_TELL

    if any(has(verdict) for verdict in failing if verdict != CANNOT_TELL):
        return _FAIL_IF_MET
    return failed or (_UNTOLD if CANNOT_TELL in failing and has(CANNOT_TELL) else 0)


def failing_verdicts(given_words: Sequence[str]) -> list[Verdict]:
    """The verdicts that each ``--fail-if`` names, ``none`` for no verdict; raises `UsageError`.

    It may be repeated: where the last one counted alone, a gate would let pass what the first one names.
    """
    from layoutrand.analysis.conclusion import FAIL_IF
    from layoutrand.text.foreign_fields import excerpt

    text = ",".join(given_words)
    words = [word.strip() for word in text.split(",")]
    if words == ["none"]:
        return []
    if not FAIL_IF.keys() >= set(words):
        given = f"--fail-if {excerpt(text, quoted=False)}"
        raise UsageError(f"{given}: choose of slower, faster and cannot-tell (or undecided), with commas, or none")
    return [FAIL_IF[word] for word in words]


def budget_s(text: str) -> float:
    """``90s``, ``10m`` or ``1h`` of ``--budget`` in seconds; raises `UsageError`."""
    from layoutrand.text.foreign_fields import excerpt

    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*(s|m|min|h)?", text.strip(), re.ASCII)
    value = 0.0 if match is None else float(match[1]) * _UNITS_S[match[2] or "s"]
    if value <= 0:
        raise UsageError(f"--budget {excerpt(text, quoted=False)}: write a time such as 90s, 10m or 1h")
    return value


def load_config(directory: Path) -> Config:
    """The project's configuration; raises `UsageError` where there is none, with what to do."""
    config, remarks = read_config(directory, elsewhere=", -C names another directory")
    note_project(config, directory)
    for sentence in remarks:
        terminal(json=False, quiet=False).warn(sentence)
    return config


def write_on_request(target: Path, text: str, terminal: Terminal) -> None:
    """Write a file whose name was typed, and say so; a directory made for it may be a slip of the keyboard."""
    from layoutrand.platform.foreign import write_text

    made = made_for(target)
    write_text(target, text)
    terminal.say(f"wrote {target}{made}")


def made_for(target: Path) -> str:
    """What is said behind a file or directory that is about to be written: what is made above it, or nothing."""
    from layoutrand.platform.foreign import missing_directory

    made = missing_directory(target)
    return "" if made is None else f" (and made the directory {made})"


def leave_out_of_source(config: Config, directory: Path, files: Sequence[Path], terminal: Terminal) -> None:
    """Have files that were written on request be no part of what is built, where they lie in it."""
    from layoutrand.capture import origin

    try:
        origin.leave_out_of_source(config, directory, files)
    except OSError as error:
        terminal.warn(
            f"{files[0]} lies in build.source, and that it is no part of it cannot be remembered ({error.strerror}): "
            "to the next build that is another source, which is captured anew; move it elsewhere, or name it in "
            "build.exclude"
        )


def must_be_built(config: Config, system: str) -> None:
    """Raise `UsageError` where the system is prebuilt: it has no layout but its own, and no toolchain."""
    if config.systems[system].prebuilt is not None:
        raise UsageError(
            f"system {system} is prebuilt: nothing is linked for it, so there is no order of its code to make or to "
            "look at"
        )


def in_mode(config: Config, mode: str | None) -> Config:
    """The configuration with ``build.mode`` as the command line has it, if it has one; raises `UsageError`."""
    from layoutrand.config.config import choose

    if mode is None:
        return config
    chosen = choose("mode", [mode], ["relink", "rebuild"])[0]
    return config.model_copy(update={"build": config.build.model_copy(update={"mode": chosen})})


def on_executor(config: Config, executor: str | None) -> Config:
    """The configuration with the engine that the command line has, if it has one; raises `UsageError`."""
    from layoutrand.config.cluster import HERE, tables
    from layoutrand.config.config import choose

    if executor is None or choose("executor", [executor], list(tables())) == [config.cluster.kind]:
        return config
    if executor != HERE:
        raise UsageError(
            f'--executor {executor} needs to be told of the cluster: write [cluster] with kind = "{executor}" into '
            f"{CONFIG_NAME}, where kind is {config.cluster.kind!r} now"
        )
    return config.here()


def in_order(config: Config, order: str | None, terminal: Terminal) -> Config:
    """The configuration with ``run.order`` as the command line has it, if it has one; raises `UsageError`."""
    from typing import get_args

    from layoutrand.config.config import choose
    from layoutrand.config.schedule import Order

    if order is None or choose("order", [order], list(get_args(Order))) == [config.order()]:
        return config
    terminal.say(
        f'executions in another order are an experiment of their own: set order = "{order}" under [run] in '
        f"{CONFIG_NAME} to analyse these"
    )
    return config.model_copy(update={"run": config.run.model_copy(update={"order": order})})


def count_jobs(jobs: int) -> int:
    """How many builds and links to do at once: as many as this process may use cores, unless given."""
    return jobs or len(os.sched_getaffinity(0))


def terminal(*, json: bool, quiet: bool) -> Terminal:
    """Where this command writes."""
    return Terminal(json, quiet)
