"""A command of the user's own at the end of a long job."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from typing import Final

LONGEST_S: Final = 60.0
_STDERR: Final = 2


def notify(command: str, facts: Mapping[str, str]) -> str:
    """Have the shell execute ``command`` with ``facts`` as environment variables; "" or why that failed.

    Its output goes to standard error, because standard output may be a document.  After `LONGEST_S` seconds it is
    killed, so that nobody waits for a mail server for ever.
    """
    try:
        process = subprocess.Popen(  # noqa: S603 - the user's own command line, which may be a pipeline
            ["/bin/sh", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=_STDERR,
            start_new_session=True,
            env={**os.environ, **facts},
        )
    except (OSError, ValueError) as error:
        return str(error)
    try:
        status = process.wait(LONGEST_S)
    except subprocess.TimeoutExpired:
        status = None
    finally:  # also after Ctrl-C
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if status is None:
        return f"it did not end within {LONGEST_S:g} s, so it was killed"
    return "" if status == 0 else f"it ended with status {status}"
