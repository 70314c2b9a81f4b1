"""Several attempts at one execution: whether another one is due, and which of them counts.

An attempt is followed by another for one of two reasons only.  It was disturbed, and ``run.disturbance.repeat`` allows
more; or it failed, and the user asked for another with ``--retry-failed``.  An undisturbed attempt that did not fail
ends the matter.  So the last attempt is the first undisturbed one, or, where all are disturbed, the last of as many
as were allowed: it is the one that counts.  Neither rule looks at what was measured.  An attempt of which the record is
damaged is followed by another as if it had not been made.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Final, NamedTuple

from layoutrand.model import Execution

DAMAGED: Final = "damaged"
"""The status of an attempt of which the record is damaged: it was made, and what came of it is lost."""


class Attempts(NamedTuple):
    """What is recorded of one slot: how many attempts, how the last went, and how many at the end were disturbed.

    ``began_at`` is when the last one began, in seconds since 1970.
    """

    made: int = 0
    status: str = ""
    disturbed: int = 0
    began_at: float = 0.0

    def begun(self, *, repeat: int) -> Attempts:
        """The same as a call begins with it: a failed attempt that is retried has its repetitions anew."""
        return self if is_to_be_repeated(self, repeat=repeat) else self._replace(disturbed=0)

    def after(self, execution: Execution) -> Attempts:
        """The same with one more attempt."""
        disturbed = bool(execution.disturbances)
        return self.with_one(execution.attempt, execution.status, disturbed=disturbed, began_at=execution.started_at)

    def with_one(self, attempt: int, status: str, *, disturbed: bool, began_at: float) -> Attempts:
        """The same with the attempt of this number."""
        return Attempts(attempt, status, self.disturbed + 1 if disturbed else 0, began_at)


def is_due(attempts: Attempts, *, repeat: int, retry_failed: bool) -> bool:
    """Whether a slot is to be executed when `layoutrand run` begins.

    That a slot whose attempts were all disturbed is due again, as long as fewer than 1 + ``repeat`` were made, is what
    resumes a repetition that was killed half-way.
    """
    if not attempts.made or attempts.status == DAMAGED:
        return True
    return is_to_be_repeated(attempts, repeat=repeat) or (retry_failed and attempts.status != "ok")


def is_to_be_repeated(attempts: Attempts, *, repeat: int) -> bool:
    """Whether the last attempt was disturbed, and fewer than ``repeat`` repetitions were made."""
    return 0 < attempts.disturbed <= repeat


def that_count(executions: Iterable[Execution], key_of: Callable[[Execution], Hashable]) -> list[Execution]:
    """The attempt that counts of each slot, which ``key_of`` tells from others: the last one."""
    chosen: dict[Hashable, Execution] = {}
    for execution in executions:
        key = key_of(execution)
        other = chosen.setdefault(key, execution)
        if other is not execution and execution.attempt >= other.attempt:
            chosen[key] = execution
    return list(chosen.values())
