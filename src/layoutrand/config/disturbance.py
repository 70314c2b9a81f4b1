"""What disturbed an execution: names and sentences, decided from what the kernel counted around it.

Nothing here knows a measured value, and nothing may: an execution that is flagged, or executed again, because of its
own duration would be chosen by its result.  ``state`` is the mapping that `layoutrand.host.watch` makes and
that is recorded with the execution; what the machine does not tell is absent from it and disturbs nothing.

Shares are CPU seconds per second of the execution, so 1.0 is one CPU's worth however many CPUs there are: what
disturbs a program of one thread is a neighbour on one CPU, whether the machine has two CPUs or two hundred.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Protocol

from pydantic import Field

from layoutrand.text.name_lists import first_names
from layoutrand.text.quantities import percent
from layoutrand.text.strict_table import StrictTable
from layoutrand.warning import plural

TICK_S: Final = 0.01
"""Step of the CPU times in /proc/stat (USER_HZ is 100 wherever layoutrand runs)."""

# The kernel counts CPU time by looking at each tick who runs, and rounds each of the sums down.  A tick more or less
# is therefore no finding, which is also why an execution of some ticks shows only gross disturbances.
_STEAL_SLACK_S: Final = TICK_S
_BUSY_SLACK_S: Final = 2 * TICK_S
_BUSY_SLACK_SHARE: Final = 0.01  # of our own CPU time, which is known exactly and is subtracted from a sampled sum

_MOST: Final = 0.5
"""Share of executions from which on to execute again what was disturbed would be disturbed again."""

MOST_TOGETHER: Final = 2
"""Benchmarks that are named where one sentence is about several."""

Share = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Disturbance(StrictTable):
    """``[run.disturbance]``: from where on an execution counts as disturbed, and how often it is repeated then."""

    repeat: Annotated[int, Field(ge=0, le=10)] = 0
    steal: Share = 0.02
    busy: Share = 0.1
    frequency: Share = 0.05
    swap_pages: Annotated[int, Field(ge=0)] = 0


MEND: Final = {
    "throttled": "cool the machine, or switch turbo off (`layoutrand run --tune`)",
    "swap": "end programs that need memory",
    "steal": "measure on a machine of your own, or while its neighbours are quiet",
    "busy": "wait until other work has ended, or stop the service that it is of",
    "frequency": "fix the clock (`layoutrand run --tune`)",
    "governor-changed": "stop the power daemon that sets it (`systemctl stop power-profiles-daemon tlp`)",
    "turbo-changed": "stop the power daemon that sets it (`systemctl stop power-profiles-daemon tlp`)",
}
"""Every disturbance there is, and what helps."""


def disturbances(state: Mapping[str, Any], limits: Disturbance) -> tuple[str, ...]:
    """The names of what was not as it should be, in the order of `MEND`; none where nothing was."""
    found = {
        "throttled": state.get("throttle_events", 0) > 0,
        "swap": state.get("swap_in_pages", 0) + state.get("swap_out_pages", 0) > limits.swap_pages,
        "steal": _share(state, "steal_s", _STEAL_SLACK_S) > limits.steal,
        "busy": _share(state, "other_cpu_s", _busy_slack_s(state)) > limits.busy,
        "frequency": abs(_deviation(state)) > limits.frequency,
        "governor-changed": _changed(state, "governor"),
        "turbo-changed": _changed(state, "turbo"),
    }
    return tuple(name for name in MEND if found[name])


def sentence(name: str, state: Mapping[str, Any]) -> str:
    """What happened, with its numbers."""
    if name == "throttled":
        lasted = f", for {state['throttle_ms']} ms in all" if "throttle_ms" in state else ""
        return f"the processor slowed down {plural(state['throttle_events'], 'time')} because of heat{lasted}"
    if name == "swap":
        return f"{state.get('swap_in_pages', 0)} pages were swapped in and {state.get('swap_out_pages', 0)} out"
    if name == "steal":
        share = f"{percent(_share(state, 'steal_s', 0), 1)} of a CPU"
        return f"the hypervisor took {state['steal_s']:.2f} s of CPU time, {share}"
    if name == "busy":
        who = ", ".join(f"{p['name']} {p['cpu_s']:.2f} s" for p in state.get("processes", ()))
        share = f"{percent(_share(state, 'other_cpu_s', 0), 0)} of a CPU"
        return f"other processes used {state['other_cpu_s']:.2f} s of CPU time, {share}" + (f" ({who})" if who else "")
    if name == "frequency":
        return (
            f"the clock was at {state['frequency_hz'] / 1e9:.2f} GHz, {100 * _deviation(state):+.1f} % against the "
            f"{state['frequency_reference_hz'] / 1e9:.2f} GHz of other executions"
        )
    if name == "governor-changed":
        return f"the frequency governor changed from {state['governor']} to {state['governor_after']}"
    return "turbo was switched " + ("on" if state["turbo_after"] else "off")


def _share(state: Mapping[str, Any], key: str, slack_s: float) -> float:
    window_s = state.get("window_s", 0.0)
    return max(0.0, state.get(key, 0.0) - slack_s) / window_s if window_s > 0 else 0.0


def _busy_slack_s(state: Mapping[str, Any]) -> float:
    own: float = state.get("own_cpu_s", 0.0)
    return _BUSY_SLACK_S + _BUSY_SLACK_SHARE * own


def _deviation(state: Mapping[str, Any]) -> float:
    """The frequency against its reference, as a signed share; 0 where one of them is not known."""
    frequency, reference = state.get("frequency_hz"), state.get("frequency_reference_hz")
    return frequency / reference - 1 if frequency and reference else 0.0


def _changed(state: Mapping[str, Any], key: str) -> bool:
    """A changed value is recorded beside the first one; an unchanged one is not."""
    return f"{key}_after" in state and state[f"{key}_after"] != state.get(key)


class Watched(Protocol):
    """An execution, ours or another's, of which it is known what disturbed it."""

    @property
    def system(self) -> str:
        """Whose it is."""

    @property
    def benchmark(self) -> str:
        """Of what."""

    @property
    def instrument(self) -> str:
        """What it was measured by."""

    @property
    def status(self) -> str:
        """How it ended."""

    @property
    def disturbances(self) -> Sequence[str]:
        """Names, of `MEND`."""

    @property
    def host_state(self) -> Mapping[str, Any]:
        """What the names were decided from; empty where it is not known."""


@dataclass(frozen=True)
class Disturbed:
    """One benchmark: how many of its executions were disturbed, of how many, by what and of which systems.

    ``examples`` has a sentence for each disturbance, of the last execution that had it.  ``failed`` of the disturbed
    ones failed, so they are in no sample.
    """

    benchmark: str
    executions: int
    disturbed: int
    by: Mapping[str, int]
    systems: Mapping[str, int]
    examples: Mapping[str, str]
    failed: int = 0

    @property
    def is_throughout(self) -> bool:
        """Whether most executions were disturbed, so that others would be, too: the machine has to be quieter first."""
        return self.disturbed > _MOST * self.executions

    def line(self) -> str:
        """One sentence for people."""
        return f"{self.benchmark}: {self.how_many()}"

    def how_many(self) -> str:
        """The same for a place that has named the benchmark."""
        by = ", ".join(f"{name} {count}" for name, count in self.by.items())
        systems = ", ".join(f"{name} {count}" for name, count in self.systems.items())
        return f"{self.disturbed} of {self.executions} executions were disturbed ({by}; {systems})"


def summary(executions: Iterable[Watched], immune: Collection[str]) -> tuple[Disturbed, ...]:
    """Benchmarks with disturbed executions among these, in the order of their names.

    Those under the ``immune`` instruments do not count: nothing on the machine disturbs a simulated processor.
    """
    by_benchmark: dict[str, list[Watched]] = {}
    for execution in executions:
        if execution.instrument not in immune:
            by_benchmark.setdefault(execution.benchmark, []).append(execution)
    rows = []
    for benchmark, members in sorted(by_benchmark.items()):
        flagged = [execution for execution in members if execution.disturbances]
        if flagged:
            by = Counter(name for execution in flagged for name in execution.disturbances)
            systems = Counter(execution.system for execution in flagged)
            examples = {name: sentence(name, e.host_state) for e in flagged if e.host_state for name in e.disturbances}
            rows.append(
                Disturbed(
                    benchmark,
                    len(members),
                    len(flagged),
                    dict(by.most_common()),
                    dict(sorted(systems.items())),
                    examples,
                    sum(e.status != "ok" for e in flagged),
                )
            )
    return tuple(rows)


def summed(rows: Iterable[Disturbed]) -> dict[str, Disturbed]:
    """Benchmark -> its row, or one of all that were disturbed to the same whole percent: it is one machine that was.

    Cases of harnesses stay as they are: those of one entry are of the same executions, which would be counted twice.
    """
    alike: dict[object, list[Disturbed]] = {}
    for row in rows:
        share = round(100 * row.disturbed / row.executions)
        alike.setdefault(row.benchmark if "/" in row.benchmark else share, []).append(row)
    sums = [(_sum(members), members) for members in alike.values()]
    return {row.benchmark: one for one, members in sums for row in members}


def _sum(rows: Sequence[Disturbed]) -> Disturbed:
    if len(rows) == 1:
        return rows[0]
    by, systems = Counter[str](), Counter[str]()
    for row in rows:
        by.update(row.by)
        systems.update(row.systems)
    return Disturbed(
        first_names([row.benchmark for row in rows], MOST_TOGETHER),
        sum(row.executions for row in rows),
        sum(row.disturbed for row in rows),
        dict(by.most_common()),
        dict(sorted(systems.items())),
        {name: example for row in rows for name, example in row.examples.items()},
        sum(row.failed for row in rows),
    )


def whereabouts(rows: Collection[Disturbed], called: str = "samples") -> str:
    """Which of the disturbed executions are in the numbers, which are ``called`` so; there is at least one."""
    failed, disturbed = sum(row.failed for row in rows), sum(row.disturbed for row in rows)
    if not failed:
        return f"they are in the {called}"
    if failed == disturbed:
        return f"they failed, so none is in the {called}"
    return f"{failed} of them failed, the others are in the {called}"


def explanations(rows: Iterable[Disturbed]) -> list[str]:
    """For each disturbance that there was, what it was like once, and what helps."""
    examples = {name: example for row in rows for name, example in row.examples.items()}
    return [f"{name}, such as: {examples[name]}; {MEND[name]}" for name in MEND if name in examples]
