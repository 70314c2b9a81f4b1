"""The values that the layers hand to each other: frozen, without behaviour beyond naming themselves.

The nouns are those of the package docstring; each has one meaning throughout code, files and output.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

if TYPE_CHECKING:  # commands that look at no binary need not wait for it
    import numpy as np
    from numpy.typing import NDArray

STOCK: Final = "stock"
IDENTITY: Final = "identity"

LayoutName = int | Literal["stock", "identity"]
"""What names one layout of a system: a seed, or one of the two controls."""

BinaryName = int | str
"""What tells binaries of a sample apart: seeds, or names that came with imported results."""

MAX_SEED: Final = 2**64 - 1

RUSAGE_METRICS: Final = {
    "user_s": "s",
    "system_s": "s",
    "max_rss_bytes": "B",
    "minor_faults": "1",
    "major_faults": "1",
    "voluntary_switches": "1",
    "involuntary_switches": "1",
}
"""What ``wait4`` reports of a process and of those children that it waited for, with units."""

WALL_METRIC: Final = "wall_s"


@dataclass(frozen=True)
class Section:
    """One input section of a captured link that is present in its output and can be placed.

    ``index`` is its number within the capture (position in link order of first appearance); ``object`` names the
    object relative to the build root, ``archive.a(member.o)`` for a member; ``occurrence`` tells apart sections of
    one object that share name and group.  ``group`` is the COMDAT signature, or "".  ``kind`` is one of those in
    `layoutrand.objects.kinds`.  A pinned section (start files, system libraries, what the build keeps in order
    itself) keeps its slot in every layout.
    """

    index: int
    object: str
    name: str
    occurrence: int
    group: str
    kind: str
    size: int
    align: int
    pinned: bool


@dataclass(frozen=True)
class Layout:
    """A total order of a capture's sections: ``order[k]`` is the index of the section in slot k.

    ``gaps[k]`` is how many bytes stay free before it; empty for a layout that asks for none anywhere.
    """

    name: LayoutName
    factors: tuple[str, ...]
    classes: str
    order: tuple[int, ...]
    gaps: tuple[int, ...]

    @cached_property
    def numbers(self) -> NDArray[np.int64]:
        """The order, shape (n,)."""
        import numpy as np

        return np.array(self.order, np.int64)


@dataclass(frozen=True)
class Coincidence:
    """How much of one binary of a reconciled layout lies where all its systems have it, read off the binary.

    ``functions`` and ``variables`` (constants among them) count those whose contents are the same in all systems,
    ``changed`` functions that all systems have with other contents.  ``functions_elsewhere`` and the like are the
    addresses that were agreed on for those of them that lie elsewhere; of a changed function, that begin elsewhere.
    """

    functions: int
    variables: int
    changed: int
    functions_elsewhere: tuple[int, ...] = ()
    variables_elsewhere: tuple[int, ...] = ()
    changed_elsewhere: tuple[int, ...] = ()


@dataclass(frozen=True)
class Verification:
    """What was proved of one binary before it was handed out.

    ``tau_identity`` is Kendall's tau-a between its section order and identity's, ``tau_request`` between the order
    achieved and the order asked for (1.0, or the binary would have been refused).  ``post_processed`` is how much of
    the verified link is proved to be in the file, one of `layoutrand.build.descent`; other than "file as linked" only
    where the user's own build worked on the file after the link.  ``coincidence`` is of a reconciled layout alone.
    """

    n_sections: int
    n_functions: int
    tau_identity: float
    tau_request: float
    text_size: int
    post_processed: str = "file as linked"
    coincidence: Coincidence | None = None


Storage = Literal["whole", "delta", "order"]
"""How the cache keeps a binary: as its file, as what differs from another, or as the order that it is written in."""

DELTA_EXTENSION: Final = ".zst"
ORDER_EXTENSION: Final = ".order"
"""What the name of a file that stands for a binary ends with, beside that of the binary."""


class Stored(NamedTuple):
    """Where the content of a binary is: a whole file, or one from which it is made with the whole file ``base``.

    That one is of the same program in another layout. `layoutrand.cache.contents` reads all kinds.
    """

    path: Path
    base: Path | None = None

    @property
    def storage(self) -> Storage:
        """How it is kept."""
        if self.base is None:
            return "whole"
        return "order" if self.path.suffix == ORDER_EXTENSION else "delta"


@dataclass(frozen=True)
class Binary:
    """One linked artefact in the cache, verified; its content is for `layoutrand.cache.contents` to read.

    What is at ``path`` is the whole file, or, where there is a ``base``, what the binary is made of with the whole file
    there, which is of the same program in another layout.
    """

    system: str
    artefact: str
    layout: LayoutName
    path: Path
    sha256: str
    text_sha256: str
    cached: bool
    link_s: float
    verification: Verification | None  # None for stock: it is the user's own build, there is nothing to compare
    node: str = ""  # which node linked it; "" for this machine
    engine: str = "link"  # "permute" where layoutrand wrote it without the linker
    base: Path | None = None

    @property
    def stored(self) -> Stored:
        """Where its content is."""
        return Stored(self.path, self.base)


@dataclass(frozen=True)
class BuildFailure:
    """A layout that was asked for and has no binary; those with one ``cause`` are told together.

    ``absent`` is the artefact that a build did not make which succeeded, "" for all other causes.
    """

    system: str
    artefact: str
    layout: LayoutName
    error: str
    log: Path | None
    cause: str = field(default="", compare=False)  # of a failure that was recorded earlier it is not known any more
    absent: str = field(default="", compare=False)


class Measurement(NamedTuple):
    """One number of one iteration, in the unit that is named: for what a program prints, the unit it was printed in."""

    metric: str
    unit: str
    iteration: int
    value: float
    warmup: bool


@dataclass(frozen=True, slots=True)
class Execution:
    """One process started from one binary, finished or failed: the row that is recorded.

    ``definition`` is the digest of all that makes the benchmark what it is (command, inputs, reference output,
    metric).  ``round`` is the seed whose round it belongs to, ``repetition`` counts from 0 within that round and
    ``order`` is its place in the schedule.  ``attempt`` is 1, or more for a failed execution that was repeated on
    request; the failed one stays recorded.  ``status`` is "ok" or the kind of failure ("exit", "signal", "timeout",
    "output-limit", "memory-limit", "wrong-output", "no-measurement", "altered", "not-moved", "start", and "lost" if no
    node brought it to an end).  Times are seconds, ``started_at`` seconds since the epoch; ``log`` is the directory
    with the output, relative to the project, of a failed execution and of one that printed what none had, else "".
    ``conditions`` is what the execution was given beside its command (CPUs, priority, stack offset, limits),
    ``host_state`` what the machine was like, and ``disturbances`` names what was not as it should be (see
    `layoutrand.config.disturbance`).  ``node`` is the node of a cluster that executed it, or "" for the machine that
    layoutrand was started on.  ``output_sha256`` is the SHA-256 of what it printed (see
    `layoutrand.execute.printed`), or "" where that is not known.
    """

    system: str
    benchmark: str
    definition: str
    layout: LayoutName
    instrument: str
    repetition: int
    round: int
    attempt: int
    order: int
    binary_sha256: str
    capture: str
    status: str
    reason: str
    returncode: int | None
    signal: int | None
    started_at: float
    wall_s: float
    rusage: Mapping[str, float]
    env_size: int | None
    argv: tuple[str, ...]
    log: str
    conditions: Mapping[str, Any]
    host_state: Mapping[str, Any]
    disturbances: tuple[str, ...]
    measurements: tuple[Measurement, ...]
    node: str = ""
    output_sha256: str = ""


@dataclass(frozen=True)
class Node:
    """A machine of a cluster on which executions were made: its name, and the facts of `layoutrand.host.facts`."""

    name: str
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Experiment:
    """What results must have in common to be analysed together; captures and benchmarks come on top of it.

    ``policy`` and ``randomise`` are canonical JSON of ``[layout]`` and of ``run.randomise``, the latter with what else
    in ``[run]`` is not as by default and may move results (order, ASLR, CPUs); ``host`` is the key of the machine, or
    of a pool of nodes with one kind of processor, and ``hostname`` its name for people; ``protocol`` the version of how
    executions are made.
    """

    project: str
    protocol: int
    policy: str
    randomise: str
    host: str
    hostname: str


@dataclass(frozen=True)
class BuiltFrom:
    """What one system's capture was built from; systems that are one program share a capture, but not this.

    ``capture`` is what executions name it.  ``commit`` and ``tree`` are git's ids, of the commit and of what of it is
    built, "" where the source is no part of a repository; ``committed_at`` is the commit's date in seconds since the
    epoch, ``subject`` the first line of its message.  ``dirty`` is whether what was built differs from the commit, None
    where that is not known; ``digest`` is that of the files where these were a directory; ``words`` says it for people.
    ``made_from`` has the parts of the build's key (`layoutrand.build.made_from`), JSON or digests by name.
    """

    system: str
    capture: str
    commit: str = ""
    tree: str = ""
    committed_at: float | None = None
    subject: str = ""
    dirty: bool | None = None
    digest: str = ""
    words: str = ""
    made_from: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Context:
    """What is recorded once for every call that executes: a digest names it, so equal calls share one record.

    ``captures`` maps each of its systems to the capture that it executed, as executions name it.  ``tools`` says of
    each capture which "compilers" and "linker" made its binaries, and of which "source".  ``built`` says of each system
    and commit what its capture was built from; empty in records of layoutrand 0.1.0 and before.
    """

    version: str
    config: Mapping[str, Any]
    config_digest: str
    schedule_seed: int
    host_facts: Mapping[str, Any]
    instruments: Mapping[str, str]
    tools: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    captures: Mapping[str, str] = field(default_factory=dict)
    built: Sequence[BuiltFrom] = ()


@dataclass(frozen=True)
class SlotKey:
    """What tells one wanted execution from every other within an experiment; the key of resuming."""

    system: str
    benchmark: str
    definition: str
    capture: str
    layout: LayoutName
    binary_sha256: str
    instrument: str
    round: int
    repetition: int
