"""`layoutrand try`: from a build command and a program to an answer, without a file."""

from __future__ import annotations

import os
import shlex
import stat
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from layoutrand.cli import learning, options
from layoutrand.cli.terminal import Terminal, terminal_width
from layoutrand.errors import UsageError
from layoutrand.library.project_directory import CONFIG_NAME
from layoutrand.text.quantities import duration

if TYPE_CHECKING:
    from layoutrand.analysis.next_steps import Step
    from layoutrand.analysis.selection import Selection
    from layoutrand.build.new_project import NewProject
    from layoutrand.config.config import Config
    from layoutrand.warning import AnyWarning

SYSTEM: Final = "default"
"""The one system: the flags are the build's own."""

LAST: Final = ".layoutrand/try.toml"
"""Where a directory has the configuration of its last `try`."""

_ENOUGH: Final = 30
"""With fewer layouts than these, more of them are worth proposing."""

MOST_SIMULATED_S: Final = 90.0
"""How long simulated executions may take altogether to be made unasked."""


def try_(  # noqa: PLR0913 - one parameter for each option
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- BUILD COMMAND -- PROGRAM ARGS", help="How it is built, and what to execute."),
    ] = None,
    seeds: options.Seeds = "30",
    write: Annotated[
        bool, typer.Option("--write", help="Write layoutrand.toml; without a command, that of the last try.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Let --write replace an existing layoutrand.toml.")] = False,
    stdin: learning.Stdin = None,
    simulate: Annotated[
        bool | None,
        typer.Option(
            "--simulate/--no-simulate",
            help="Count on a simulated processor, too, where valgrind is there; default: if it takes little time.",
        ),
    ] = None,
    toolchain: learning.Toolchain = None,
    directory: learning.Source = Path(),
    jobs: options.Jobs = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> int:
    """How much does code layout matter for this program? An answer without any file.

    Example: layoutrand try -- make -- ./prog input.txt

    Example: layoutrand try --seeds 50 -- 'cmake -B b -DCMAKE_BUILD_TYPE=Release && cmake --build b' -- b/prog

    The command builds in a copy of the source; the program is found among what it links, linked in many layouts and
    executed in each. A second try goes on from the first; without a command it is that of the last.
    """
    from layoutrand.build.new_project import refuse_existing, refuse_unwritable, write_project
    from layoutrand.config.seeds import parse_seeds

    terminal = options.terminal(json=json, quiet=quiet)
    if write:
        refuse_existing(directory, force=force)
    line = learning.FirstWords.of(words or [])
    if write and not line.build:
        path = write_project(directory, _last(directory), force=force)
        terminal.line(f"{path} written, of the last try. {_next(directory)}")
        return 0
    if not line.build and (stdin, toolchain, simulate) != (None, None, None):
        raise UsageError("--stdin, --toolchain and --simulate go with a command; without one it is the last try again")
    numbers = parse_seeds(seeds)
    attempt = _Try(learning.FirstQuestion(directory, _checked(line), toolchain, jobs, terminal), numbers, simulate)
    if directory.is_dir():
        refuse_unwritable(directory / LAST)
    _warn_of_redirection(stdin, terminal)
    status = attempt.answer(stdin) if line.build else attempt.again()
    if write:
        path = write_project(directory, _last(directory), force=force)
        terminal.line(f"{path} written. {_next(directory)}")
    elif not (json or quiet):
        force_it = " --force" if (directory / CONFIG_NAME).exists() else ""
        keep_it = f"layoutrand try --write{force_it}{learning.at(directory)}"
        terminal.line(f"  To keep this as {CONFIG_NAME}: {keep_it}")
    return status


def _next(directory: Path) -> str:
    """What goes on with the file that was written."""
    where = learning.at(directory)
    return f"Next: layoutrand run{where}, layoutrand analyse{where}"


def _checked(line: learning.FirstWords) -> learning.FirstWords:
    """The words, where both commands are among them, or neither."""
    if of_java := line.of_java():
        raise UsageError(
            f"of Java nothing is built, so there is nothing to try: layoutrand init -- {shlex.join(of_java)}, then "
            "layoutrand run"
        )
    if bool(line.build) != bool(line.program):
        example = f"layoutrand try -- {shlex.join(line.build) or 'make'} -- ./prog arguments"
        raise UsageError(f"give the command that builds and the program to execute, each behind --, as in: {example}")
    return line


def _last(directory: Path) -> str:
    """The configuration of the last try here; raises `UsageError` where there was none."""
    try:
        return (directory / LAST).read_text("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{directory / LAST} is damaged; `layoutrand try` with both commands writes it anew"
        ) from error
    except FileNotFoundError as error:
        raise UsageError(
            f"nothing was tried in {directory.absolute()} so far; give the command that builds and the program to "
            "execute, each behind --, as in: layoutrand try -- make -- ./prog arguments"
        ) from error


def times_alone(seconds: float, warnings: Iterable[AnyWarning]) -> str:
    """Why nothing is simulated, as that takes so long; ``warnings`` say whether the program may measure itself.

    One that runs for a fixed time does so on a simulated processor, too, and less work in it.
    """
    from layoutrand.execute.output_warnings import MeasuresItself

    takes = f"times alone: to count on a simulated processor would take about {duration(round(seconds))} more"
    if any(isinstance(each, MeasuresItself) for each in warnings):
        return (
            f"{takes} if the program does the same work each time (--simulate does it); if it runs for a fixed time, "
            "counts say nothing"
        )
    return f"{takes} (--simulate does it)"


def _after_first_round(failed: set[str]) -> str:
    """What to say where the first round failed in these ways."""
    said = "the first round failed, so no other was made"
    if failed == {"build"}:
        return said
    said += "; the logs named above have what was printed"
    if not failed & {"exit", "signal"}:  # the program found its files: a filter matched nothing, or it took too long
        return said
    said += (
        ". Each execution has a fresh working directory: a file that the program opens by a name of its own is "
        "to be listed in benchmarks.files, after `layoutrand try --write`"
    )
    if "exit" in failed:
        said += "; a program that ends with such a status when all is well gets it as benchmarks.expect_status"
    return said


def _warn_of_redirection(stdin: str | None, terminal: Terminal) -> None:
    """A file that is redirected to layoutrand itself would be read by nobody."""
    if stdin is not None:
        return
    info = os.fstat(0)
    if stat.S_ISREG(info.st_mode) and info.st_size:
        terminal.warn("what is redirected to layoutrand is not passed on: name the file with --stdin FILE")


@dataclass(frozen=True)
class _Try:
    """One call: what is to be found out, in which layouts, and whether to simulate (None: if it takes little time)."""

    question: learning.FirstQuestion
    seeds: Sequence[int]
    simulate: bool | None

    def answer(self, stdin: str | None) -> int:
        """Learn, execute one round, decide what that allows, execute the rest, and say what it means."""
        project = self._project(stdin)
        if failed := self._execute(self._configured(project), self.seeds[:1]):
            self.question.terminal.fail(_after_first_round(failed))
            raise typer.Exit(1)
        return self._concluded(self._configured(project.simulated(self._may_simulate(project))))

    def again(self) -> int:
        """The last try in the directory, in these layouts."""
        from layoutrand.config.config import parse

        directory = self.question.directory
        return self._concluded(parse(_last(directory), path=str(directory / LAST)))

    def _concluded(self, config: Config) -> int:
        """Execute what has no result yet, and say what all of it means."""
        from layoutrand.analysis.analyse import analyse
        from layoutrand.analysis.documents import analyse_document
        from layoutrand.instruments.known import instruments
        from layoutrand.screens.charts import ELSEWHERE, NARROWEST
        from layoutrand.screens.layout_screen import layout_answer

        terminal = self.question.terminal
        is_well = not self._execute(config, self.seeds)
        report = analyse(self._selection(config), confidence=0.95, metrics=[])
        sums = {each.summing_up for each in instruments() if each.summing_up}
        shown = [each for each in report.analyses if each.is_primary or each.metric in sums]
        if terminal.json:
            terminal.document(analyse_document(report))
        lines, steps = layout_answer(report, shown, terminal_width())
        terminal.screen(lines)
        if said := self._next(steps, can_be_more=len(report.selection.build_failures) < len(self.seeds) / 2):
            width = max(terminal_width() or ELSEWHERE, NARROWEST) - 2
            text = f"Next: {' · '.join(said)}"
            for each in textwrap.wrap(text, width, subsequent_indent="  ", break_on_hyphens=False):
                terminal.line(f"  {each}")
        return 0 if is_well else 1

    def _next(self, steps: Sequence[Step], *, can_be_more: bool) -> list[str]:
        """What to do next, as far as it needs no project: that is offered behind it."""
        more = f"layoutrand try --seeds {2 * len(self.seeds)}{learning.at(self.question.directory)}"
        by_kind = {"quiet machine": "layoutrand doctor", "more work": "more work for each execution"}
        known = [by_kind[step.kind] for step in steps if step.kind in by_kind]
        wanted = any(step.kind in {"more layouts", "more executions"} for step in steps)
        is_worth_it = can_be_more and (wanted or len(self.seeds) < _ENOUGH)
        return list(dict.fromkeys([*known, *([more] if is_worth_it else [])]))

    def _project(self, stdin: str | None) -> NewProject:
        """What a first build shows; says what is laid out and executed."""
        from layoutrand.build.new_project import (
            NewProject,
            benchmark_of,
            in_its_harness,
            of_go_test,
            of_linked_cases,
            unreported_cases,
        )
        from layoutrand.capture.recognise import safe_name
        from layoutrand.config.config import System
        from layoutrand.platform.process import SubprocessRunner

        question, words = self.question, self.question.words.program
        found = question.recognised()
        learned = question.learn(found, SYSTEM, System())
        place = learned.chosen.place
        benchmark = benchmark_of(words, place, Path.cwd(), question.directory, stdin)
        if found.is_rust:
            benchmark = in_its_harness(benchmark, learned.chosen.artefacts[0], question.directory, SubprocessRunner())
        benchmark = of_linked_cases(of_go_test(benchmark, learned.way.commands), learned.harness)
        if needed := unreported_cases(benchmark, learned.harness):
            question.terminal.warn(needed)
        question.terminal.say(
            f"{', '.join(learned.chosen.artefacts)}: linked by {os.path.basename(learned.chosen.linker)}, toolchain "
            f"{learned.toolchain}"
        )
        for line in learning.beside(learned.chosen):
            question.terminal.say(line)
        systems = {SYSTEM: System(toolchain=learned.toolchain)}
        return NewProject(safe_name(question.directory), found.what, learned, systems, benchmark)

    def _configured(self, project: NewProject) -> Config:
        """The configuration, left where `--write` finds it."""
        from layoutrand.config.config import parse
        from layoutrand.harnesses.command_words import with_harness_words
        from layoutrand.platform.disk import cache_errors, write_atomically

        text = project.text()
        path = self.question.directory / LAST
        with cache_errors("write", path):
            write_atomically(path, text.encode())
        return with_harness_words(parse(text, path=str(path)), str(path))

    def _execute(self, config: Config, seeds: Sequence[int]) -> set[str]:
        """Build and execute these; how executions failed, and "build" where a layout could not be built."""
        from layoutrand.cli import running
        from layoutrand.execute.run_plan import RunChoices
        from layoutrand.screens import failing
        from layoutrand.screens.build_screen import show_failures

        terminal = self.question.terminal
        jobs = options.count_jobs(self.question.jobs)
        part = options.ProjectPart(config, self.question.directory, [SYSTEM], jobs=jobs)
        told = failing.Failures()
        choices = RunChoices(seeds=seeds, retry_failed=seeds == self.seeds[:1])
        summary, results = running.build_and_execute(part, choices, terminal, told=told)
        told.conclude(summary.failures, terminal)
        told.of_cases(summary.failed_cases, terminal)
        show_failures(summary.build_failures, terminal)
        if seeds == self.seeds:
            for note in [note for result in results for note in result.notes]:
                terminal.warn(str(note))
        return {each.status for each in summary.failures} | ({"build"} if summary.build_failures else set())

    def _selection(self, config: Config) -> Selection:
        from layoutrand.library.recorded import Which, load_selection

        return load_selection(config, self.question.directory, [], [], Which(is_settled=True))

    def _may_simulate(self, project: NewProject) -> bool:
        """Whether counts by simulation are made, too; says so where they are not for want of time or a program."""
        from layoutrand.build.demo import absent_simulators
        from layoutrand.instruments.known import instruments

        if self.simulate is False:
            return False
        terminal = self.question.terminal
        simulators = [each for each in instruments() if each.simulated and each.program]
        absent = absent_simulators()
        if len(absent) == len(simulators):
            if self.simulate:
                raise UsageError(f"--simulate: there is no {absent[0].program}: {absent[0].how_to_install()}")
            terminal.say(f"times alone: there is no {absent[0].program} to count with ({absent[0].how_to_install()})")
            return False
        first = self._selection(self._configured(project))
        each = min((execution.wall_s for execution in first.executions), default=0.0)
        count = len(self.seeds) + 2
        slowest = max((simulator.slowdown for simulator in simulators), default=1)
        if self.simulate is None and each * slowest * count > MOST_SIMULATED_S:
            terminal.say(times_alone(each * slowest * count, first.warnings))
            return False
        return True
