"""The command line: the only package that prints or chooses an exit status.

Command modules import what does the work inside their functions, so that ``layoutrand --help`` answers at once.
"""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Sequence

import typer
import typer.main

from layoutrand.cli.help_text import as_written
from layoutrand.errors import LayoutrandError

INTERRUPTED = 130


def make_app() -> typer.Typer:
    """The application with all its commands."""
    from layoutrand.cli import (
        analysis,
        building,
        doctor_command,
        exporting,
        plan_command,
        project,
        reporting,
        running,
        sharing,
        showing,
        simulating,
        suspecting,
        warming,
        wrapping,
    )

    app = typer.Typer(
        name="layoutrand",
        help="Build a program in many layouts, run each binary once, and learn how much layout matters.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(project.common)
    app.command()(project.init)
    app.command()(doctor_command.doctor)
    app.command()(building.build)
    app.command("exec", context_settings={"allow_interspersed_args": False})(wrapping.exec_)
    app.command()(running.run)
    app.command()(analysis.analyse)
    app.command("analyze", hidden=True)(analysis.analyse)
    app.command()(analysis.compare)
    app.command()(reporting.report)
    app.command()(reporting.figures)
    app.command()(exporting.export)
    app.command()(suspecting.explain)
    app.command()(plan_command.plan)
    app.command()(warming.warmup)
    app.command()(showing.inspect)
    app.add_typer(simulating.simulate_app, name="simulate")
    app.add_typer(showing.cache_app, name="cache")
    app.add_typer(sharing.staging_app, name="staging")
    app.add_typer(sharing.bundle_app, name="bundle")
    app.command()(doctor_command.demo)
    app.command("relink-record", hidden=True)(building.relink_record)
    app.command("relink-helper", hidden=True)(building.relink_helper)
    return app


def run(arguments: Sequence[str]) -> int:
    """Execute one command line; the exit status."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    if isinstance(sys.stdout, io.TextIOWrapper):  # in a locale without "±" it is shown as "?": better than no results
        sys.stdout.reconfigure(errors="replace")
    try:
        command = as_written(typer.main.get_command(make_app()))
        status = command(list(arguments), prog_name="layoutrand", standalone_mode=False)
    except LayoutrandError as error:
        sys.stderr.write(f"layoutrand: {error}\n")
        return error.exit_status
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    except typer.Exit as leaving:
        status = leaving.exit_code
    except BrokenPipeError:
        return 1  # the reader of our output has gone, and has seen what it wanted
    except Exception as error:  # noqa: BLE001 - click's usage errors have no public common base that typer exports
        return _usage(error)
    if status == INTERRUPTED:  # typer turns KeyboardInterrupt into this status, or into either exception above
        sys.stderr.write("layoutrand: interrupted; everything finished is kept, the same command goes on from here\n")
    return status if isinstance(status, int) else 0


def _interrupt(_number: int, _frame: object) -> None:
    """Being asked to end is treated like Ctrl-C: children are ended, what is finished is kept."""
    raise KeyboardInterrupt


def _usage(error: Exception) -> int:
    """Show a usage error as click would; anything else is a bug and keeps its traceback."""
    show = getattr(error, "show", None)
    if show is None:
        raise error
    show()
    return int(getattr(error, "exit_code", 2))
