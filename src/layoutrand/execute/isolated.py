"""Executions in a control group: all that a program starts is limited, counted and ended together.

A process starts in the group of the one that starts it, and whatever moves it later comes late: what it has started
by then stays outside, and the kernel holds up every start and end of a process while it moves one.  So it is not the
program that is moved but who measures it.  That is a process of ours beside this one (`StandingChild`): it joins a new
group, measures as `measure` does in this process, leaves, and kills the group.  Between the two readings of the clock
nothing is done that is not done without a group.

At the limit of memory the kernel ends the group with who measures in it, and that is how it is noticed.
"""

from __future__ import annotations

import contextlib
import os
import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from layoutrand.config.conditions import CONTROL_GROUP, Isolation, reason_with_refusals
from layoutrand.errors import FeatureUnsupported
from layoutrand.execute.measure import SAME_STOP_S, Command, Executor, Outcome, measure, stopped_as_well
from layoutrand.host import pinning
from layoutrand.platform.control_groups import ControlGroup, NoPlace, OwnGroups, Usage, find_place, own_groups
from layoutrand.platform.ending import STOPPING
from layoutrand.platform.interrupts import Interrupts, noted_interrupts
from layoutrand.platform.standing_child import ChildGone, StandingChild, answer_calls
from layoutrand.text.sizes import size_in_words


@contextlib.contextmanager
def isolated(wish: Isolation) -> Iterator[Executor]:
    """While open, what executes commands as `measure` does, isolated as ``run.isolation`` wishes.

    Raises `FeatureUnsupported` where control groups are asked for and cannot be made.
    """
    place = NoPlace("", "") if wish == "process-group" else find_place()
    if isinstance(place, NoPlace):
        if wish == CONTROL_GROUP:
            raise FeatureUnsupported(
                f'run.isolation = "{CONTROL_GROUP}": {place.why}; nothing was executed. What helps: {place.mend}'
            )
        yield measure
        return
    with own_groups(place) as groups, contextlib.closing(_Isolating(groups)) as isolating:
        yield isolating


@dataclass(frozen=True)
class _Question:
    """A command, the directory of its group, and the limits of what the program starts in it, where it has them."""

    command: Command
    group: Path
    memory: int | None
    tasks: int | None


@dataclass(frozen=True)
class _Measured:
    """What came of it, what the group used, and the CPU seconds of who answers and its children since its start."""

    outcome: Outcome
    usage: Usage
    cpu_s: float


class _Isolating:
    """The side that asks; the other one is started when there is something to ask."""

    def __init__(self, groups: OwnGroups) -> None:
        self._groups = groups
        self._count = 0
        self._child: StandingChild | None = None
        self._cpu_s = 0.0

    def __call__(self, command: Command) -> Outcome:
        """As `measure`."""
        where, before_s = command.conditions.placement, self._cpu_s
        question = self._question(command)
        with noted_interrupts() as interrupts, pinning.kept_off(where.taken if where else frozenset()):
            child = self._child = self._child or self._started()
            at, clock_s = time.time(), time.perf_counter()
            try:
                measured: _Measured = child.ask(question, interrupts)
                outcome, usage, self._cpu_s = measured.outcome, measured.usage, measured.cpu_s
            except ChildGone as gone:
                usage = _left_behind(ControlGroup(question.group))
                if question.memory is None or not usage.memory_kills:
                    raise _interrupt_or_error(gone, interrupts) from gone
                outcome = _out_of_memory(question.memory, at, time.perf_counter() - clock_s)
                usage = replace(usage, tasks_peak=None)  # how many of them were who measures, that alone knew
                self._child, self._cpu_s = None, 0.0
                before_s = 0.0  # what it had used is known here, now that it was waited for
            if interrupts.received or stopped_as_well(outcome, interrupts):
                raise KeyboardInterrupt
        return replace(
            outcome,
            reason=reason_with_refusals(command.conditions, outcome.status, outcome.reason, usage.refused_starts),
            isolation=_facts(self._groups, usage),
            measured_by=child.pid,
            unseen_cpu_s=self._cpu_s - before_s,
        )

    def close(self) -> None:
        """End the process that measures."""
        if self._child is not None:
            self._child.close()

    def _started(self) -> StandingChild:
        return StandingChild(__name__, str(self._groups.directory))

    def _question(self, command: Command) -> _Question:
        """The command, without the limits that its group has instead of it."""
        asked, limits = command.conditions, self._groups.limits
        self._count += 1
        return _Question(
            command=replace(
                command,
                conditions=replace(
                    asked,
                    memory_limit=None if "memory" in limits else asked.memory_limit,
                    process_limit=None if "processes" in limits else asked.process_limit,
                ),
            ),
            group=self._groups.directory / f"execution-{self._count}",
            memory=asked.memory_limit if "memory" in limits else None,
            tasks=asked.process_limit if "processes" in limits else None,
        )


def main() -> None:
    """The side that answers."""
    own = ControlGroup(Path(sys.argv[4]) / "measuring")
    own.directory.mkdir(exist_ok=True)
    own.join()
    answer_calls(partial(_measured, own))


def _measured(own: ControlGroup, question: _Question) -> _Measured:
    group = ControlGroup(question.group)
    group.directory.mkdir()
    ours = len(os.listdir("/proc/self/task"))
    asked = question.command.conditions
    starter = 1 if asked.placement is not None or asked.priority is not None else 0  # a thread of `pinning`
    group.limit(memory=question.memory, tasks=None if question.tasks is None else question.tasks + ours + starter)

    def end_tree() -> None:
        own.join()
        group.end()

    group.join()
    try:
        outcome = measure(question.command, end_tree=end_tree)
    finally:  # also where nothing was started
        end_tree()
        usage = _left_behind(group)
    peak = None if usage.tasks_peak is None else max(1, usage.tasks_peak - ours)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = time.process_time() + children.ru_utime + children.ru_stime
    return _Measured(outcome, replace(usage, tasks_peak=peak), cpu_s)


def _left_behind(group: ControlGroup) -> Usage:
    """What the group of an execution has used, once all that was in it has ended and it is removed."""
    if not group.directory.exists():
        return Usage(cpu_s=0.0)
    group.end()
    usage = group.usage()
    try:
        group.remove()
    except OSError as error:
        raise FeatureUnsupported(
            f"what an execution started cannot be ended ({group.directory}: {error.strerror}): it may wait for a "
            "device or a network file system. All finished executions are recorded; run again once it is gone"
        ) from error
    return usage


def _interrupt_or_error(gone: ChildGone, interrupts: Interrupts) -> BaseException:
    """What the end of who measures means where no limit explains it."""
    if interrupts.received or (-gone.status in STOPPING and interrupts.comes_within(SAME_STOP_S)):
        return KeyboardInterrupt()
    return FeatureUnsupported(
        f"the process that measures ended with status {gone.status}; all finished executions are recorded. Run again, "
        f'or without it: run.isolation = "process-group"\n{gone.said}'.rstrip()
    )


def _out_of_memory(limit: int, at: float, wall_s: float) -> Outcome:
    return Outcome(
        pid=0,
        started_at=at,
        wall_s=wall_s,
        status="memory-limit",
        reason=f"all its processes together reached memory_limit = {size_in_words(limit)}, so the kernel ended them",
        returncode=None,
        signal=None,
        rusage={},
    )


def _facts(groups: OwnGroups, usage: Usage) -> dict[str, Any]:
    """What is recorded: JSON values, without what the kernel does not count."""
    facts = {
        "isolation": CONTROL_GROUP,
        "tree_limits": list(groups.limits),
        "tree_cpu_s": round(usage.cpu_s, 6),
        "tree_memory_peak": usage.memory_peak,
        "tree_tasks_peak": usage.tasks_peak,
    }
    return {name: value for name, value in facts.items() if value is not None}
