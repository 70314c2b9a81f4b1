"""``perf record``: samples of where the program is, by a counter of the processor or else by the clock."""

from __future__ import annotations

from typing import Final

from layoutrand.errors import FeatureUnsupported
from layoutrand.instruments import perf_script
from layoutrand.instruments.counters import check_events
from layoutrand.instruments.instrument import InstrumentFiles
from layoutrand.instruments.profile import Profile, ProfiledExecution, Profiler

_SAMPLES: Final = "perf.data"


class _PerfRecord(Profiler):
    name = "perf-record"
    option = "perf"
    program = "perf"
    slowdown = 2

    def absent(self) -> str:
        """See `Starter`."""
        return f"--profiler {self.option}: {super().absent()}"

    def alternative(self) -> str:
        """See `Profiler`."""
        return f"on a machine whose counters can be read, {super().alternative()}"

    def event(self, program: str) -> str:
        """See `Profiler`."""
        try:
            check_events(program, [perf_script.COUNTER])
        except FeatureUnsupported:
            return perf_script.CLOCK
        return perf_script.COUNTER

    def suits(self, event: str) -> bool:
        """See `Profiler`."""
        return event == perf_script.COUNTER

    def words(self, event: str) -> str:
        """See `Profiler`."""
        return f"samples of {event} by perf"

    def prefix(self, program: str, event: str, files: InstrumentFiles) -> tuple[str, ...]:
        """See `Profiler`."""
        return perf_script.command_prefix(program, event, str(files.output / _SAMPLES))

    def profile(self, program: str, ended: ProfiledExecution) -> Profile:
        """See `Profiler`."""
        printed = ended.say(perf_script.script_command(program, str(ended.files.output / _SAMPLES)))
        return perf_script.parse_samples(printed, ended.artefact, ended.segments())


INSTRUMENT: Final = _PerfRecord()
