"""What is known of an execution of a suite's harness, and what is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class HarnessOutput:
    """How the harness ended and what it left: ``status`` and ``reason`` as in `Execution`, before its output is read.

    ``output`` and ``messages`` are its standard output and standard error, the former holding both where they were
    merged.  ``files`` are text files that it left (see `layoutrand.suites.suite.Suite.left_behind`), by path relative
    to where they were sought.  ``expected`` is the SHA-256 of each artefact that the benchmark was given,
    ``digests`` that of each file of such a name that was there afterwards; ``hash_is_sha256`` says that a hash of the
    executable which the suite records is known to be that, too.
    """

    status: str
    reason: str
    returncode: int | None
    output: str
    messages: str
    files: dict[str, str]
    expected: Mapping[str, str] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    hash_is_sha256: bool = False


@dataclass(frozen=True)
class Verdict:
    """``status`` and ``reason`` as in `Execution`; ``values`` of the iterations in order, only where it is "ok"."""

    status: str
    reason: str
    values: tuple[float, ...]
