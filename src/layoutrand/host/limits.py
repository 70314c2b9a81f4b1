"""Memory and output limits of a child.

A child inherits the limits of this process, so ours are lowered for the moment of the start: the child has them from
its first instruction, and no code runs between fork and exec, which would cost `subprocess` its vfork.  A memory limit
that is less than layoutrand itself needs cannot be had that way.  It is set on the child right after its start, with
prlimit(2): the kernel checks it whenever more memory is asked for, and counts what is there already.
"""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from layoutrand.config.conditions import Conditions
from layoutrand.errors import FeatureUnsupported

_OWN_NEED: Final = 256 << 20  # more than starting a child takes, by far

Limits = Mapping[int, int]
"""Kind of resource (``resource.RLIMIT_...``) -> bytes."""


@contextlib.contextmanager
def inherited(conditions: Conditions) -> Iterator[Limits]:
    """While open, what this process starts has the limits of ``conditions``, but for those yielded: see `limit`.

    Writing beyond the output limit is an error here and no signal: Python ignores SIGXFSZ, but not in a child.
    """
    wanted = {resource.RLIMIT_DATA: conditions.memory_limit, resource.RLIMIT_FSIZE: conditions.output_limit}
    limits = {kind: bound for kind, bound in wanted.items() if bound is not None}
    unbearable = {
        kind: bound
        for kind, bound in limits.items()
        if kind == resource.RLIMIT_DATA and bound < _own_memory() + _OWN_NEED
    }
    before: dict[int, tuple[int, int]] = {}
    try:
        for kind in limits.keys() - unbearable.keys():
            before[kind] = soft, hard = resource.getrlimit(kind)
            resource.setrlimit(kind, (_least(limits[kind], soft), hard))
        yield unbearable
    finally:
        for kind, own in before.items():
            resource.setrlimit(kind, own)


def limit(pid: int, limits: Limits) -> None:
    """Put limits on process ``pid`` and what it has started; raises `FeatureUnsupported` where that is not allowed."""
    for process in _tree(pid) if limits else ():
        for kind, bound in limits.items():
            _set(process, kind, bound)


def _least(bound: int, limit_already: int) -> int:
    """The lower of the two: whoever set the other one wants no more, and has the last word."""
    return bound if limit_already == resource.RLIM_INFINITY else min(bound, limit_already)


def _own_memory() -> int:
    """What RLIMIT_DATA counts of this process, in bytes, and its stack."""
    import psutil

    return int(psutil.Process().memory_info().data)


def _set(pid: int, kind: int, bound: int) -> None:
    try:
        soft, hard = resource.prlimit(pid, kind)
        resource.prlimit(pid, kind, (_least(bound, soft), hard))
    except ProcessLookupError:
        return  # it has ended already
    except PermissionError as error:
        raise FeatureUnsupported(
            "a small memory_limit cannot be put on a program that changes its user (setuid); leave it out, raise it to "
            "1 GiB, or measure as root"
        ) from error


def _tree(pid: int) -> Iterator[int]:
    """The process and its descendants.  psutil would look through all of the machine, and the program runs already."""
    yield pid
    with contextlib.suppress(OSError):  # ended meanwhile
        for task in os.listdir(f"/proc/{pid}/task"):
            for child in Path(f"/proc/{pid}/task/{task}/children").read_bytes().split():
                yield from _tree(int(child))
