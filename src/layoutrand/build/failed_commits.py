"""Builds of commits that failed before: a commit does not change, so the same build of it is not made over and over.

What failed by the machine (a full disk, a time limit, an interrupt) is not remembered, nor of sources that are no
commits.  Who asks for one commit has it built; who goes through many is told what is remembered, and how to try again.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from layoutrand.build.build_setup import BuildSetup
from layoutrand.build.shared_failures import SHARED
from layoutrand.cache.keys import failed_name
from layoutrand.capture.build_order import BuildOrder
from layoutrand.errors import BuildError, BuildFailed, LayoutrandError
from layoutrand.version import __version__

_KINDS: Final[dict[str, type[LayoutrandError]]] = {each.__name__: each for each in (BuildFailed, *SHARED)}


def refuse_failed(setup: BuildSetup, order: BuildOrder) -> None:
    """Raise what this build of a commit failed for earlier, where that is to be recalled."""
    if not setup.recalls_failures or "commit" not in order.origin.facts:
        return
    found = setup.cache.recall(failed_name(order.key))
    if found is None or found.get("by") != __version__:  # another layoutrand may capture what this one could not
        return
    kind = _KINDS[found["kind"]]
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(found["at"]))
    again = f"\nThat was at {when}, and is not tried again: --retry-failed builds it again"
    if not issubclass(kind, BuildError):
        raise kind(f"{found['message']}{again}")
    log = Path(found["log"]) if found["log"] else None
    raise kind(
        f"{found['message']}{again}",
        log=log if log is not None and log.exists() else None,
        cause=f"{found['cause']}{again}",
    )


def note_failed(setup: BuildSetup, order: BuildOrder, error: LayoutrandError) -> None:
    """Remember that this build failed, if it is of a commit and would fail again."""
    kind = type(error)
    by_itself = error.status is not None if isinstance(error, BuildFailed) else True
    if "commit" not in order.origin.facts or _KINDS.get(kind.__name__) is not kind or not by_itself:
        return
    told = {"message": str(error), "cause": "", "log": ""}
    if isinstance(error, BuildError):
        told = {"message": error.message, "cause": error.cause, "log": str(error.log or "")}
    known = {"by": __version__, "kind": kind.__name__, "at": time.time(), **told}
    setup.cache.remember(failed_name(order.key), known)


def forget_failed(setup: BuildSetup, order: BuildOrder) -> None:
    """Remember nothing of this build, which has succeeded."""
    setup.cache.forget(failed_name(order.key))
