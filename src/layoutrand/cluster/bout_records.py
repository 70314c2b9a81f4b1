"""What stands for the results file on a node: executions become records that travel home one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from layoutrand.cache.node_inputs import lock_beside
from layoutrand.cluster.carried_inputs import shortened
from layoutrand.cluster.returned import Shelf
from layoutrand.cluster.task import record_key, record_of
from layoutrand.execute import experiment as experiments
from layoutrand.host.attempts import Attempts
from layoutrand.model import BuildFailure, Context, Execution, Experiment, SlotKey
from layoutrand.platform.disk import remove_tree

LONGEST_OUTPUT: Final = 4 << 20  # bytes of one file of a failed execution that travel; of longer ones both ends


class TravellingRecords:
    """The records of one bout.

    ``attempts`` is what is known of its slots.  A record is on the shelf before the next execution begins, so that a
    node that is lost loses the execution in flight at most.
    """

    def __init__(
        self, project: Path, shelf: Shelf, attempts: Mapping[SlotKey, Attempts], facts: Mapping[str, Any]
    ) -> None:
        """``project`` is the project's replica here, ``facts`` are those of this node."""
        self._project = project
        self._shelf = shelf
        self._attempts = dict(attempts)
        self._facts = facts

    @property
    def path(self) -> Path:
        """Beside which the lock lies that keeps a second bout out of the same replica."""
        return lock_beside(self._project)

    def begin(self, _experiment: Experiment, _context: Context) -> tuple[int, int]:
        """Nothing: the home knows where records belong."""
        return 0, 0

    def replace_build_failures(
        self, experiment_id: int, captures: Mapping[str, str], failures: Sequence[BuildFailure]
    ) -> None:
        """Nothing: the home knows what was not built."""

    def latest(self, _experiment: Experiment) -> dict[SlotKey, Attempts]:
        """What is known of the bout's slots."""
        return self._attempts

    def executions(self, _experiment: Experiment) -> list[Execution]:
        """None: those before are the home's."""
        return []

    def record(self, _ids: tuple[int, int], execution: Execution) -> None:
        """Leave the execution on the shelf, with the output of a failed one."""
        output: dict[str, bytes] = {}
        if execution.log:
            folder = self._project / execution.log
            output = {file.name: shortened(file, LONGEST_OUTPUT) for file in sorted(folder.iterdir()) if file.is_file()}
            remove_tree(folder)
        key = record_key(experiments.slot_key(execution), execution.attempt)
        self._shelf.put(key, record_of(execution, self._facts, output))
