"""What layoutrand needs of an engine: its settings, an executor of tasks, and what it leaves in the shared directory.

Each engine is a module of `layoutrand.engines.known`.  An engine knows nothing of captures, layouts and benchmarks: it
executes functions on nodes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from re import Pattern
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from layoutrand.errors import ClusterError
from layoutrand.text.strict_table import StrictTable

Text = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=1)]

Purpose = Literal["link", "measure"]
"""What tasks do: they may need other settings, such as a node of their own."""

Left = Literal["job", "token", "scratch"]
"""What a file in the shared directory is: of a job, the note of a job's id, or writing that was not finished."""


class Measure(StrictTable):
    """How executions are given to nodes.

    A task executes ``rounds`` rounds.  All nodes have the processor ``cpu`` (as /proc/cpuinfo calls it), by default
    that of whichever node is first; with ``unlike_cpus`` they may differ, and are analysed together.
    """

    rounds: Count = 1
    cpu: Text | None = None
    unlike_cpus: bool = False


class Remote(StrictTable):
    """What every engine is told in ``[cluster]``; each has more of its own.

    ``shared`` is a directory that all nodes see under one path; ``cache`` is where each keeps its captures and
    binaries, with variables of the node's environment (its own default cache if not given).  With ``trust_group``
    members of the shared directory's group may write there, and so execute anything as the user.  A task links
    ``chunk`` layouts with ``cpus`` CPUs; one that is lost is given out again up to ``retries`` times.
    """

    kind: str
    shared: Text
    trust_group: bool = False
    cache: Text | None = None
    chunk: Count = 8
    cpus: Count = 1
    retries: Annotated[int, Field(ge=0)] = 2
    measure: Measure = Measure()

    @property
    def measuring_limit_s(self) -> float | None:
        """After how long a task that executes is ended, done or not; None where nobody ends it."""
        return None


@dataclass(frozen=True)
class Opening:
    """For what an engine is opened.

    ``shared`` is the shared directory, ``node_of``, called on a node, names it (`host.facts.node_name`), and ``say``
    takes what the user should know, such as that tasks may wait for ever.
    """

    shared: Path
    purpose: Purpose
    node_of: Callable[[], str]
    say: Callable[[str], None]


class TaskExecutor(Executor):
    """The standard executor, with two methods more that an engine may be able to do something for."""

    def avoid(self, node: str) -> bool:
        """Have nothing begin on the node of that name any more, as far as possible; False where it is not."""
        del node
        return False

    def forget_others(self, prefix: str, wanted: Collection[str]) -> int:
        """Cancel tasks of an earlier process whose token has the prefix and is not wanted; how many there were."""
        del prefix, wanted
        return 0


class Engine(ABC):
    """One engine.  ``settings`` are its ``[cluster]`` table, whose type is its own."""

    name: ClassVar[str]
    """``cluster.kind`` in layoutrand.toml, and the engine's own directory in the shared one."""

    title: ClassVar[str]
    """What it is called in sentences."""

    table: ClassVar[type[Remote]]
    """What it is told in ``[cluster]``; ``kind`` can be its name alone."""

    node_variable: ClassVar[str] = ""
    """The environment variable in which a node finds its name, or ""."""

    left: ClassVar[Mapping[Left, Pattern[str]]] = {}
    """Paths of what it leaves in its own directory for jobs; those of one job lie in a directory named by its id."""

    @abstractmethod
    def open(self, settings: Any, opening: Opening) -> AbstractContextManager[TaskExecutor]:
        """The executor of the tasks; what is still on its way at the end is cancelled.

        Raises `ClusterError` where the engine or its library is not there, or nothing that could execute such a task,
        and `BundleError` where the shared directory cannot be used.
        """

    def active_jobs(self) -> Collection[str] | None:
        """Ids of the user's jobs that it has not done with, whose files are kept; None if it does not answer."""
        return frozenset()

    def library(self, package: str) -> Any:
        """The Python package that the engine is used through; raises `ClusterError` if it is not installed."""
        try:
            return import_module(package)
        except ImportError as error:
            raise ClusterError(
                f'[cluster] kind = "{self.name}" needs the Python package {package}: '
                f'pip install "layoutrand[{self.name}]", or give --executor local to use this machine alone'
            ) from error
