"""iai-callgrind (Rust): each case is executed under Valgrind and counted; a summary of each is a line of JSON.

Summaries have the form of the sixth of its schemas, that of 0.16 and of gungraun, as it is called from 0.17 on; what is
read here is the same in the fourth and fifth, from 0.15 on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from layoutrand.config.readings import HarnessReading
from layoutrand.errors import NoMeasurement
from layoutrand.harnesses.harness import Case, CaseQuantity, Harness, LeftByHarness, UnsupportedByHarness, number
from layoutrand.harnesses.written_forms import document, part

_EVENTS: Final = (
    ("estimated_cycles", ("EstimatedCycles",)),
    ("instructions", ("Ir",)),
    ("i1_misses", ("I1mr",)),
    ("d1_misses", ("D1mr", "D1mw")),
    ("ll_i_misses", ("ILmr",)),
    ("ll_d_misses", ("DLmr", "DLmw")),
    ("data_reads", ("Dr",)),
    ("data_writes", ("Dw",)),
    ("branch_mispredictions", ("Bcm", "Bim")),
)
"""Numbers, and the events of Valgrind that each sums, where all were counted: without simulated caches, fewer."""

_COUNTING: Final = ("Callgrind", "Cachegrind")
"""The tools whose totals are counts of the case; others (DHAT, Memcheck) look for something else."""


class IaiCallgrind(Harness):
    """The harness by either of its names."""

    name = "iai-callgrind"
    described = "iai-callgrind, Rust: what Valgrind counts in each case: estimated cycles, instructions, misses"
    main = ("estimated_cycles", "instructions")
    simulates = True
    starts = ("iai-callgrind-runner", "cargo", "valgrind")
    in_project = True

    def words(self, reading: HarnessReading) -> list[str]:
        """See `Harness`; before 0.17 its filter chooses among benchmark programs, and not among cases."""
        if reading.cases is not None:
            raise UnsupportedByHarness(f"cases: {self.name} chooses no cases by name; leave it out")
        return self._always(reading)

    def words_for(self, case: str) -> list[str]:
        """See `Harness`."""
        raise UnsupportedByHarness(
            f"{self.name} executes {case} under Valgrind, which a profiler would see in its place: profile a program "
            "(an example of the crate, say) that calls the same function"
        )

    def environment(self) -> dict[str, str]:
        """See `Harness`: with a directory of its own it compares with no earlier execution and leaves nothing."""
        return {"IAI_CALLGRIND_HOME": "{tmp}"}

    def read(self, left: LeftByHarness) -> list[Case]:
        """See `Harness`."""
        lines = [line for line in left.output.splitlines() if line.startswith("{")]
        if not lines:
            raise NoMeasurement(f"{self.name} executed no case: it printed no summary")
        return [case_of(document(line, f"a summary of {self.name}")) for line in lines]

    def _always(self, reading: HarnessReading) -> list[str]:
        if reading.repetitions is not None:
            raise UnsupportedByHarness(f"repetitions: {self.name} executes each case once, and its counts do not vary")
        return ["--bench", "--output-format=json"]


def case_of(summary: Any) -> Case:
    """The case of a summary, by the name that ``--list`` has for it; raises `NoMeasurement`."""
    name = part(summary, "module_path", str, "a summary")
    if (own := summary.get("id")) is not None:
        name += f"::{own}"
    if part(summary, "kind", str, name) != "LibraryBenchmark":
        return Case(name, {}, f"it executes {summary.get('benchmark_exe')}, which is no program of the layout")
    counts = dict(_counts(summary, name))
    numbers = {
        ours: CaseQuantity("1", (sum(counts[event] for event in events),))
        for ours, events in _EVENTS
        if all(event in counts for event in events)
    }
    return Case(name, numbers, "" if numbers else "none of the tools that executed it counts instructions")


def _counts(summary: Any, name: str) -> Iterator[tuple[str, float]]:
    for profile in part(summary, "profiles", list, name):
        total = part(part(profile, "summaries", dict, name), "total", dict, name)
        of_tool = total.get("summary")
        for tool in _COUNTING:
            if isinstance(of_tool, dict) and tool in of_tool:
                yield from _of_tool(part(of_tool, tool, dict, name), name)
                return


def _of_tool(events: Mapping[str, Any], name: str) -> Iterator[tuple[str, float]]:
    for event, found in events.items():
        metrics = part(found, "metrics", dict, f"{event} of {name}")
        if "Left" not in metrics:  # which is this execution; "Right" and "Both" have an earlier one
            raise NoMeasurement(f"{event} of {name} is compared with an earlier execution: leave out its baselines")
        value = next(iter(part(metrics, "Left", dict, f"{event} of {name}").values()), None)
        yield event, number(value, f"{event} of {name}")


HARNESS: Final = IaiCallgrind()
