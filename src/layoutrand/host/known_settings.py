"""The settings of the machine that layoutrand changes: which files they are, and what may be written into them.

Restoring is often done by root, from a file: so nothing is written that is not one of these, with a value of its form.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from re import Pattern
from typing import Final

_CPUS: Final = re.escape("sys/devices/system/cpu/")


@dataclass(frozen=True)
class KnownSetting:
    """One setting: the pattern of its ``path`` below the root, of values that it may have had, and the one we give."""

    path: Pattern[str]
    before: Pattern[str]
    after: str


GOVERNOR: Final = KnownSetting(
    re.compile(rf"{_CPUS}cpufreq/policy[0-9]{{1,5}}/scaling_governor"),
    re.compile(r"[a-z][a-z0-9_]{0,15}"),
    "performance",
)
NO_TURBO: Final = KnownSetting(re.compile(rf"{_CPUS}intel_pstate/no_turbo"), re.compile("[01]"), "1")
POLICY_BOOST: Final = KnownSetting(re.compile(rf"{_CPUS}cpufreq/policy[0-9]{{1,5}}/boost"), re.compile("[01]"), "0")
BOOST: Final = KnownSetting(re.compile(rf"{_CPUS}cpufreq/boost"), re.compile("[01]"), "0")
PARANOID: Final = KnownSetting(re.compile("proc/sys/kernel/perf_event_paranoid"), re.compile("-?[0-9]{1,2}"), "2")
WATCHDOG: Final = KnownSetting(re.compile("proc/sys/kernel/nmi_watchdog"), re.compile("[01]"), "0")
_ALL: Final = (GOVERNOR, NO_TURBO, BOOST, POLICY_BOOST, PARANOID, WATCHDOG)


def is_known_change(path: str, before: str, after: str) -> bool:
    """Whether layoutrand changes the file of that path below the root, from such a value to that one."""
    return any(known.path.fullmatch(path) and known.before.fullmatch(before) and after == known.after for known in _ALL)
