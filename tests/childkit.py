"""What the processes of `platform/test_child.py` do."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

from layoutrand.platform.child import serve


def main():
    """What the child does: see `answer`."""
    serve(answer)


def answer(words):
    """Do what the first word says."""
    what, *rest = words
    if what == "echo":
        print("noise on stdout", flush=True)
        return [os.getpid(), *rest]
    if what == "raise":
        raise ValueError("as asked")
    if what == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "start":
        subprocess.Popen(["bash", "-c", 'exec -a "$0" sleep 600', rest[1]], start_new_session=True)
    Path(rest[0]).write_text(str(os.getpid()))
    try:
        time.sleep(600)
    except KeyboardInterrupt:
        Path(rest[0] + ".ended").write_text("")
        raise
    return None
