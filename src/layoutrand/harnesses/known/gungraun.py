"""gungraun (Rust): what iai-callgrind is called from 0.17 on."""

from __future__ import annotations

from typing import Final

from layoutrand.config.readings import HarnessReading
from layoutrand.harnesses.known.iai_callgrind import IaiCallgrind


class _Gungraun(IaiCallgrind):
    name = "gungraun"
    described = "gungraun, Rust: what Valgrind counts in each case: estimated cycles, instructions, misses"
    starts = ("gungraun-runner", "cargo", "valgrind")

    def words(self, reading: HarnessReading) -> list[str]:
        """See `Harness`; its filter is a pattern for the whole name of a case, with wildcards."""
        return self._always(reading) + ([] if reading.cases is None else [reading.cases])

    def environment(self) -> dict[str, str]:
        """See `Harness`."""
        return {"GUNGRAUN_HOME": "{tmp}"}


HARNESS: Final = _Gungraun()
