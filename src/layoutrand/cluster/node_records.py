"""What stands for the results file on a node: executions become records that are returned one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from layoutrand.cache.node_inputs import lock_beside
from layoutrand.cluster.carried_inputs import shortened
from layoutrand.cluster.measuring_task import record_key, record_of
from layoutrand.cluster.returned_records import ReturnedRecords
from layoutrand.execute import experiment as experiments
from layoutrand.host.attempts import Attempts
from layoutrand.model import BuildFailure, Context, Execution, Experiment, SlotKey
from layoutrand.platform.disk import remove_tree

LONGEST_OUTPUT: Final = 4 << 20  # bytes of one file of a failed execution that travel; of longer ones both ends


class NodeRecords:
    """The records of one task.

    ``attempts`` is what is known of its slots.  A record is in the shared directory before the next execution begins:
    a node that is lost loses the execution in flight at most.
    """

    def __init__(
        self, project: Path, records: ReturnedRecords, attempts: Mapping[SlotKey, Attempts], facts: Mapping[str, Any]
    ) -> None:
        """``project`` is the project's replica here, ``facts`` are those of this node."""
        self._project = project
        self._records = records
        self._attempts = dict(attempts)
        self._facts = facts

    @property
    def path(self) -> Path:
        """Beside which the lock lies that keeps a second task out of the same replica."""
        return lock_beside(self._project)

    def begin(self, _experiment: Experiment, _context: Context) -> tuple[int, int]:
        """Nothing: the submitting machine knows where records belong."""
        return 0, 0

    def replace_build_failures(
        self, experiment_id: int, captures: Mapping[str, str], failures: Sequence[BuildFailure]
    ) -> None:
        """Nothing: the submitting machine knows what was not built."""

    def latest(self, _experiment: Experiment) -> dict[SlotKey, Attempts]:
        """What is known of the task's slots."""
        return self._attempts

    def executions(self, _experiment: Experiment) -> list[Execution]:
        """None: those before are the submitting machine's."""
        return []

    def record(self, _ids: tuple[int, int], execution: Execution) -> None:
        """Leave the execution in the shared directory, with the output of a failed one."""
        output: dict[str, bytes] = {}
        if execution.log:
            folder = self._project / execution.log
            output = {file.name: shortened(file, LONGEST_OUTPUT) for file in sorted(folder.iterdir()) if file.is_file()}
            remove_tree(folder)
        key = record_key(experiments.slot_key(execution), execution.attempt)
        self._records.put(key, record_of(execution, self._facts, output))
