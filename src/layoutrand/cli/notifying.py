"""`--notify`: a command of the user's own when a long job is over, however it ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from layoutrand.cli.terminal import Terminal

Notify = Annotated[
    str | None,
    typer.Option(
        metavar="CMD",
        help="Have the shell execute this at the end; $LAYOUTRAND_STATUS is ok, failed or interrupted.",
    ),
]


@dataclass
class JobEnding:
    """How the job ended: "ok", "failed" or "interrupted", and a sentence about it."""

    status: str = "failed"
    message: str = ""


@contextmanager
def notifying(command: str | None, directory: Path, terminal: Terminal) -> Iterator[JobEnding]:
    """Execute ``command`` when the block is left; its failure is told and changes nothing.

    The block fills in the `JobEnding`; where it is left by an exception, that says how it ended.
    """
    ending = JobEnding()
    try:
        yield ending
    except KeyboardInterrupt:
        ending.status, ending.message = "interrupted", "interrupted; everything finished is kept"
        raise
    except Exception as error:
        ending.status, ending.message = "failed", f"{error}"
        raise
    finally:
        if command is not None:
            _notify(command, ending, directory, terminal)


def _notify(command: str, ending: JobEnding, directory: Path, terminal: Terminal) -> None:
    from layoutrand.platform.notify import notify
    from layoutrand.results.file import results_path

    trouble = notify(
        command,
        {
            "LAYOUTRAND_STATUS": ending.status,
            "LAYOUTRAND_MESSAGE": ending.message,
            "LAYOUTRAND_RESULTS": str(results_path(directory.absolute())),
        },
    )
    if trouble:
        terminal.warn(f"--notify {command}: {trouble}")
