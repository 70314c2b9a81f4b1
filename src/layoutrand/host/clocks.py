"""At which clock frequency CPUs ran between two readings.

Linux documentation, admin-guide/pm/cpufreq.rst (scaling_cur_freq) and cpu-freq/cpufreq-stats.rst (time_in_state: the
time spent at each frequency, in units of 10 ms).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutrand.platform import proc_files


@dataclass(frozen=True)
class ClockReading:
    """CPU -> (frequency in kHz -> time spent at it, in units of 10 ms)."""

    times: Mapping[int, Mapping[int, int]]


class Clocks:
    """The frequency files of a machine."""

    def __init__(self, root: Path) -> None:
        """Remember where they are."""
        self._cpus = f"{root}/{proc_files.CPUS}"

    def read(self, cpus: Sequence[int]) -> ClockReading:
        """The time spent at each frequency by these CPUs; of those that do not count it nothing."""
        times = {}
        for cpu in cpus:
            found = _table(proc_files.text(f"{self._cpus}/cpu{cpu}/cpufreq/stats/time_in_state"))
            if found is None:
                break  # a matter of the driver: no other CPU has it either
            times[cpu] = found
        return ClockReading(times)

    def frequency_hz(self, before: ClockReading, after: ClockReading, cpus: Sequence[int]) -> float | None:
        """The mean over these CPUs, in Hz; what they say of themselves now where the time in between is unknown."""
        means = []
        for cpu in cpus:
            khz = _mean_khz(before.times.get(cpu, {}), after.times.get(cpu, {}))
            if khz is None:
                khz = proc_files.number(f"{self._cpus}/cpu{cpu}/cpufreq/scaling_cur_freq")
            if khz:
                means.append(khz * 1000.0)
        return sum(means) / len(means) if means else None


def _table(content: str | None) -> dict[int, int] | None:
    lines = [line.split() for line in (content or "").splitlines()]
    pairs = [proc_files.integers(words) for words in lines if len(words) == 2]
    known = [pair for pair in pairs if pair is not None]
    return {pair[0]: pair[1] for pair in known} if lines and len(known) == len(lines) else None


def _mean_khz(before: Mapping[int, int], after: Mapping[int, int]) -> float | None:
    spent = {khz: ticks - before.get(khz, 0) for khz, ticks in after.items()} if before else {}
    total = sum(spent.values())
    return sum(khz * ticks for khz, ticks in spent.items()) / total if total > 0 else None
