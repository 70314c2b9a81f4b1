"""The command line: the only package that prints or chooses an exit status.

Command modules import what does the work inside their functions, so that ``layoutrand --help`` answers at once, and of
the commands only the one that is asked for is imported.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final, TextIO

import typer
import typer.main

from layoutrand.cli import appearance, completing
from layoutrand.cli.help_text import dressed
from layoutrand.cli.printed_files import remember_printed
from layoutrand.cli.summaries import SUMMARIES
from layoutrand.errors import ConfigError, LayoutrandError
from layoutrand.platform import ending


@dataclass(frozen=True)
class _Command:
    """Where in this package a command (or a group of them, which is an application itself) is, and how it is taken."""

    module: str
    attribute: str
    is_hidden: bool = False
    takes_all: bool = False

    def add(self, app: typer.Typer, name: str) -> None:
        """Import it, and make it a command of the application."""
        found = getattr(import_module(f"{__name__}.{self.module}"), self.attribute)
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name)
        else:  # what stands behind a command to execute is its own
            settings = {"allow_interspersed_args": False} if self.takes_all else None
            app.command(name, hidden=self.is_hidden, context_settings=settings)(found)


_COMMANDS: Final = {
    "try": _Command("trying", "try_", takes_all=True),
    "init": _Command("project", "init", takes_all=True),
    "doctor": _Command("doctor_command", "doctor"),
    "build": _Command("building", "build"),
    "exec": _Command("wrapping", "exec_", takes_all=True),
    "run": _Command("running", "run"),
    "analyse": _Command("analysis", "analyse"),
    "analyze": _Command("analysis", "analyse", is_hidden=True),
    "check": _Command("checking", "check"),
    "compare": _Command("analysis", "compare"),
    "history": _Command("history_command", "history"),
    "bisect": _Command("bisect_command", "bisect"),
    "report": _Command("reporting", "report"),
    "figures": _Command("reporting", "figures"),
    "export": _Command("exporting", "export"),
    "explain": _Command("suspecting", "explain"),
    "sweep": _Command("sweeping", "sweep"),
    "predict": _Command("predicting", "predict"),
    "plan": _Command("plan_command", "plan"),
    "warmup": _Command("warming", "warmup"),
    "inspect": _Command("showing", "inspect"),
    "simulate": _Command("simulating", "simulate_app"),
    "demo": _Command("demo_command", "demo"),
    "help": _Command("helping", "help_"),
    "results": _Command("verifying", "results_app"),
    "cache": _Command("showing", "cache_app"),
    "staging": _Command("sharing", "staging_app"),
    "bundle": _Command("sharing", "bundle_app"),
    "relink-record": _Command("building", "relink_record", is_hidden=True),
    "relink-helper": _Command("building", "relink_helper", is_hidden=True),
}
"""All commands."""

_LISTS: Final = frozenset({"-h", "--help"})
"""Words of a command line that asks for the list of commands alone, as one without words does."""

_IN_FULL: Final = frozenset({"analyse", "analyze", "check", "compare", "history", "plan"})
"""Commands whose --full is what -v asks for."""


def make_app(only: str | None = None, *, is_list: bool = False) -> typer.Typer:
    """The application with all its commands, or with one alone: importing the others would take longer than typer.

    As a list it can do nothing but say which commands there are.
    """
    from layoutrand.cli import project

    app = typer.Typer(
        name="layoutrand",
        help="Build a program in many layouts, run each binary once, and learn how much layout matters.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(project.common)
    for name, command in _COMMANDS.items():
        if is_list:
            app.command(name, hidden=command.is_hidden, help=SUMMARIES.get(name))(lambda: None)
        elif only in (None, name):
            command.add(app, name)
    return app


def run(arguments: Sequence[str]) -> int:
    """Execute one command line; the exit status."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # in a locale without "±" it is shown as "?": better than no results
        sys.stdout.reconfigure(errors="replace")
    interruption = None
    try:
        with ending.interruptible() as interruption:
            status = _status(arguments)
    except KeyboardInterrupt:
        status = ending.INTERRUPTED
    except BrokenPipeError:  # of the stream for messages
        status = 1
    if interruption is not None and interruption.came:  # whatever has become of the exception
        status = ending.INTERRUPTED
    if status == ending.INTERRUPTED:
        with contextlib.suppress(OSError):
            sys.stderr.write(ending.INTERRUPTED_WORDS)
    status = _delivered(status)
    remember_printed()
    return status


def _status(arguments: Sequence[str]) -> int:
    """The status of a command line, errors told."""
    try:
        words = _looks(arguments)
        begun = completing.words() or words  # a shell that completes tells its line in variables, and gives no words
        asked = next((word for word in begun[:1] if word in _COMMANDS), None)
        app = make_app(asked, is_list=_LISTS.issuperset(begun))
        command = dressed(typer.main.get_command(app), is_short="-h" in words)
        status = command(words, prog_name="layoutrand", standalone_mode=False)
    except LayoutrandError as error:
        trace = traceback.format_exc() if appearance.appearance().is_verbose else ""
        sys.stderr.write(_visible(f"{trace}layoutrand: {_told(error)}\n"))
        return error.exit_status
    except (KeyboardInterrupt, typer.Abort):
        return ending.INTERRUPTED
    except typer.Exit as leaving:
        status = leaving.exit_code
    except BrokenPipeError:
        return 1  # the reader of our output has gone, and has seen what it wanted
    except OSError as error:
        if error.errno != errno.ENOSPC or error.filename is not None:
            return _unforeseen(error)
        _discard(sys.stdout)  # or what is left of it in the buffer would fail, and be told, again at the end
        sys.stderr.write(f"layoutrand: the output cannot be written: {error.strerror}\n")
        return 1
    except Exception as error:  # noqa: BLE001 - click's usage errors have no public common base that typer exports
        return _unforeseen(error)
    return status if isinstance(status, int) else 0


def _delivered(status: int) -> int:
    """The status when all output is written, of which the interpreter would complain at its end, in its own way."""
    for stream in (sys.stderr, sys.stdout):
        try:
            if stream is not None:  # as it is where the descriptor was closed before our start
                stream.flush()
        except OSError as error:
            status = status or 1
            _discard(stream)
            if not isinstance(error, BrokenPipeError) and stream is sys.stdout:
                sys.stderr.write(f"layoutrand: the output cannot be written: {error.strerror}\n")
    return status


def _discard(stream: TextIO) -> None:
    """Have all that is still to be written to a stream go nowhere."""
    nobody = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nobody, stream.fileno())
    os.close(nobody)


def _looks(arguments: Sequence[str]) -> list[str]:
    """Have output look as asked for; the arguments without what asks for it."""
    whole = frozenset(name for name, command in _COMMANDS.items() if command.takes_all)
    words, look = appearance.taken_out(arguments, whole)
    appearance.choose(look)
    if look.is_verbose:
        from layoutrand.platform.process import SubprocessRunner

        SubprocessRunner.listeners.append(appearance.show_log)
        if words[:1] and words[0] in _IN_FULL and "--full" not in words:
            words.insert(1, "--full")
    return words


def _told(error: LayoutrandError) -> str:
    """The message, where it is about a file with the lines that it is about."""
    if not isinstance(error, ConfigError):
        return str(error)
    from layoutrand.config.lines import line_of, lines_of
    from layoutrand.platform.regular_file import WRITTEN_BY_HAND, text_of_regular

    try:
        lines = lines_of(text_of_regular(Path(error.path), largest=WRITTEN_BY_HAND))
    except (OSError, ValueError):  # a file that ships with layoutrand, is no text, or is gone by now
        return str(error)
    places = [(line_of(problem, lines), problem) for problem in error.problems]
    places.sort(key=lambda place: (place[0] is None, place[0] or 0))
    return error.listed([problem if line is None else f"line {line}: {problem}" for line, problem in places])


def _visible(text: str) -> str:
    """Lines of a message as a terminal may have them: names in it are from files and from the command line."""
    from layoutrand.screens.display import printable

    return printable(text, keep="\n\t")


def _unforeseen(error: Exception) -> int:
    """Tell a limit that was met, with the traceback where all is to be told; or else a usage error."""
    from layoutrand.cli.limits_met import limit_met

    met = limit_met(error)
    if met is None:
        return _usage(error)
    trace = traceback.format_exc() if appearance.appearance().is_verbose else ""
    sys.stderr.write(f"{trace}layoutrand: {met}\n")
    return 1


def _usage(error: Exception) -> int:
    """Show a usage error as click would; anything else is a bug and keeps its traceback."""
    show = getattr(error, "show", None)
    if show is None:
        raise error
    context = getattr(error, "ctx", None)
    own_help = context.get_help() if context is not None else None
    for words in ("message", "ui_filename"):
        said = getattr(error, words, None)
        if isinstance(said, str) and said != own_help:  # which is told where a group is called by its name alone
            setattr(error, words, _visible(said))
    show()
    return int(getattr(error, "exit_code", 2))
