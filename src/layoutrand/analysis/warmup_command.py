"""`layoutrand warmup`: what the recorded iterations say about warm-up and independence, for a person to judge.

Nothing is executed and nothing is changed here: every iteration of every execution is in the results whatever
``warmup`` says, so all of them can be looked at, and looked at again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from layoutrand.analysis.selection import Selection
from layoutrand.analysis.warmup_warnings import NotASpeed, TooShortForWarmup
from layoutrand.config.config import Benchmark, Config
from layoutrand.config.metric import Printed
from layoutrand.config.problems import suggest
from layoutrand.config.readings import EACH_CASE
from layoutrand.config.warmup_choices import InForce
from layoutrand.errors import AnalysisError, UnknownMetric
from layoutrand.execute.iterations import warmups_of
from layoutrand.harnesses.case_names import entry_of
from layoutrand.instruments.known import reads_output
from layoutrand.model import Execution
from layoutrand.stats import WarmupSuggestion, autocorrelation, dacapo_warmup, georges_warmup, suggest_warmup
from layoutrand.stats.warmup import DACAPO_WINDOW, GEORGES_WINDOW
from layoutrand.warning import AnyWarning, sentences_of

MOST_EXECUTIONS: Final = 20
"""More would not help to see, and the tests are corrected for their number: they would see nothing any more."""
FEWEST_ITERATIONS: Final = 10

State = Literal["initialised", "independent", "dacapo", "georges"]

Series = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Warmup:
    """Iterations of one system on one benchmark.

    ``series`` are all iterations of the first `MOST_EXECUTIONS` executions, of ``n_recorded`` that have some.
    ``in_force`` is what the configuration says now, by its key ``setting`` (``default`` where it says nothing);
    ``initialised``, ``independent`` are the states of the paper, ``dacapo`` and ``georges`` the two heuristics, each
    the number of iterations before it or None where it is never reached; ``too_few`` are those of them that so few
    iterations cannot tell.  ``correlations`` are those of lags 1, 2, ...
    in the first execution once ``suggested`` (or else ``in_force``) iterations are dropped, within ``band`` for
    independent ones.  What is set in the file is the ``warmup`` of ``number`` of the ``entry``: of a harness's cases
    that of all of them, else of the metric and benchmark themselves.
    """

    system: str
    benchmark: str
    metric: str
    unit: str
    series: Series
    n_recorded: int
    in_force: int
    setting: str
    initialised: int | None
    independent: int | None
    dacapo: int | None
    georges: int | None
    p_values: tuple[float, ...]
    correlations: tuple[float, ...]
    band: float | None
    warnings: tuple[AnyWarning, ...]
    entry: str
    number: str
    too_few: frozenset[State] = frozenset()

    @property
    def suggested(self) -> int | None:
        """Iterations to drop: up to the independent state, or else up to the initialised one; None without either."""
        return self.initialised if self.independent is None else self.independent


def examine(selection: Selection, config: Config, metric: str | None) -> list[Warmup]:
    """One entry for each benchmark and system with iterations: of ``metric``, or of the benchmark's main one.

    Raises `UnknownMetric` where no benchmark has such a number, `AnalysisError` where none has iterations of it.
    """
    benchmarks = selection.benchmarks
    if metric is not None:
        known = sorted({each.name for one in benchmarks for each in one.metric.numbers().values()} - {EACH_CASE})
        if metric not in known:
            there = ", ".join(known) or "none"
            raise UnknownMetric(
                f"no benchmark prints a number called {metric!r}; there are {there}{suggest(metric, known)}"
            )
    entries = {benchmark.name: benchmark for benchmark in config.benchmarks}
    by_case = [name for name, benchmark in entries.items() if benchmark.metric.by_case]
    found: list[Warmup] = []
    for benchmark in benchmarks:
        number = _number(benchmark, metric)
        if number is None:
            continue
        case_of = None if benchmark.name in entries else entry_of(benchmark.name, by_case)
        entry, key = (benchmark, number.name) if case_of is None else (entries[case_of], EACH_CASE)
        for system in config.systems:
            executions = [
                execution
                for execution in selection.executions
                if (execution.system, execution.benchmark, execution.status) == (system, benchmark.name, "ok")
                and reads_output(execution.instrument)
            ]
            series = [values for execution in executions if (values := _values(execution, number.name))]
            if series:
                in_force = warmups_of(config, entry, system, selection.experiment.hostname)[key]
                found.append(_examine(system, benchmark, number, series, in_force, set_in=(entry.name, key)))
    if not found:
        wanted = f"a number called {metric!r}" if metric else "any number that it prints"
        raise AnalysisError(
            f"no benchmark has recorded iterations of {wanted}: `regex` or `json` in its metric reads one per "
            "iteration, as `harness` does, and `layoutrand run` records them"
        )
    return found


def _number(benchmark: Benchmark, metric: str | None) -> Printed | None:
    """The number of that name, or the benchmark's main one, or the first that it prints."""
    numbers = {number.name: number for number in benchmark.metric.numbers().values()}
    if metric is not None:
        return numbers.get(metric)
    return numbers.get(benchmark.metric.primary or "", next(iter(numbers.values()), None))


def _values(execution: Execution, metric: str) -> tuple[float, ...]:
    return tuple(m.value for m in execution.measurements if m.metric == metric)


def _examine(
    system: str,
    benchmark: Benchmark,
    number: Printed,
    recorded: list[tuple[float, ...]],
    now: InForce,
    *,
    set_in: tuple[str, str],
) -> Warmup:
    series = tuple(recorded[:MOST_EXECUTIONS])
    durations, warnings = _durations(series, number)
    in_force = now.iterations
    suggestion, reason = _suggestion(durations)
    warnings += reason
    dropped = in_force
    if suggestion is not None:
        warnings += suggestion.warnings
        best = suggestion.initialised if suggestion.independent is None else suggestion.independent
        dropped = in_force if best is None else best
    rest = durations[0][dropped:]
    correlation = autocorrelation(rest) if len(rest) >= FEWEST_ITERATIONS else None
    return Warmup(
        system=system,
        benchmark=benchmark.name,
        metric=number.name,
        unit=number.unit,
        series=series,
        n_recorded=len(recorded),
        in_force=in_force,
        setting=now.setting,
        initialised=suggestion.initialised if suggestion else None,
        independent=suggestion.independent if suggestion else None,
        dacapo=dacapo_warmup(durations),
        georges=georges_warmup(durations),
        p_values=suggestion.p_values if suggestion else (),
        correlations=correlation.values[1:] if correlation else (),
        band=correlation.band if correlation else None,
        warnings=tuple(warnings),
        entry=set_in[0],
        number=set_in[1],
        too_few=_too_few(min(map(len, series)), suggestion),
    )


def _too_few(shortest: int, suggestion: WarmupSuggestion | None) -> frozenset[State]:
    """What the shortest execution has too few iterations for: that it was not seen does not say that it never comes."""
    found: set[State] = {"initialised", "independent"} if suggestion is None else set()
    found |= {"independent"} if suggestion is not None and suggestion.untested else set()
    found |= {"dacapo"} if shortest < DACAPO_WINDOW else set()
    return frozenset(found | ({"georges"} if shortest < GEORGES_WINDOW else set()))


def _durations(series: Series, number: Printed) -> tuple[Series, list[AnyWarning]]:
    """The series as something of which more is slower, which is what the methods look for."""
    if number.better == "less":
        return series, []
    if any(value <= 0 for values in series for value in values):
        return series, [NotASpeed(number.name)]
    return tuple(tuple(1 / value for value in values) for values in series), []


def _suggestion(durations: Series) -> tuple[WarmupSuggestion | None, list[AnyWarning]]:
    """The suggestion, or why there is none."""
    shortest = min(map(len, durations))
    if shortest < FEWEST_ITERATIONS:
        return None, [TooShortForWarmup(shortest, FEWEST_ITERATIONS)]
    return suggest_warmup(durations), []


def for_benchmarks(found: Iterable[Warmup]) -> dict[tuple[str, str], int | None]:
    """(Benchmark, metric) -> suggestion that serves all its systems: the largest; None where one has none."""
    together: dict[tuple[str, str], list[int | None]] = {}
    for each in found:
        together.setdefault((each.benchmark, each.metric), []).append(each.suggested)
    return {
        key: None if None in counts else max(count for count in counts if count is not None)
        for key, counts in together.items()
    }


def warmup_document(found: Sequence[Warmup], host: str, figure: Callable[[str], str]) -> dict[str, Any]:
    """``layoutrand/warmup/1`` about the host of that name; ``figure`` maps a benchmark to the path of its figure."""
    suggestions = for_benchmarks(found)
    return {
        "schema": "layoutrand/warmup/1",
        "host": host,
        "benchmarks": [
            {
                "system": each.system,
                "benchmark": each.benchmark,
                "metric": each.metric,
                "unit": each.unit,
                "n_executions": len(each.series),
                "n_recorded": each.n_recorded,
                "n_iterations": min(map(len, each.series)),
                "warmup": each.in_force,
                "warmup_setting": each.setting,
                "suggested": each.suggested,
                "initialised": each.initialised,
                "independent": each.independent,
                "dacapo": each.dacapo,
                "georges": each.georges,
                "too_few": sorted(each.too_few),
                "p_values": list(each.p_values),
                "correlations": list(each.correlations),
                "band": each.band,
                "figure": figure(each.benchmark),
                "warnings": sentences_of(each.warnings),
            }
            for each in found
        ],
        "suggestions": [
            {"benchmark": benchmark, "metric": metric, "warmup": warmup}
            for (benchmark, metric), warmup in suggestions.items()
        ],
    }
