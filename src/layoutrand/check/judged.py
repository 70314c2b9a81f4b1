"""What is judged of a configuration's benchmarks, counts of simulated processors first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from layoutrand.analysis.selection import Selection
from layoutrand.check.question import CheckQuestion, Quantity
from layoutrand.config.config import Benchmark, Config
from layoutrand.config.problems import suggest
from layoutrand.config.two_commits import BASE, HEAD
from layoutrand.errors import UsageError
from layoutrand.execute.cases import ABSENT
from layoutrand.harnesses.case_names import entry_of
from layoutrand.harnesses.harness import TIME
from layoutrand.instruments.asked_for import kernel_metrics, primary_metric
from layoutrand.instruments.known import asked, program_itself


def judged_quantities(question: CheckQuestion) -> list[Quantity]:
    """Of each benchmark its main metric, after the counts of a simulated processor where these are measured beside it.

    Only the question's metric where it has one.  An entry with a harness stands for its cases, which nobody knows
    before they are executed (`judged_cases`).  Raises `UsageError` where no benchmark has the metric.
    """
    config, metric = question.config, question.metric
    chosen = [each for each in config.benchmarks if not question.benchmarks or each.name in question.entries]
    found = [quantity for each in chosen for quantity in _of(each, metric)]
    if metric is not None and not found:
        raise UsageError(f"--metric {metric}: no benchmark that is checked measures it")
    return found


def _of(benchmark: Benchmark, metric: str | None) -> list[Quantity]:
    if benchmark.metric.by_case:
        return [Quantity(benchmark.name, *primary_metric(benchmark), entry=benchmark.name)]
    used = sorted(asked(benchmark.metric), key=lambda each: not each.simulated)
    if metric is not None and metric in kernel_metrics(benchmark.metric):
        return [Quantity(benchmark.name, program_itself().name, metric)]
    if metric is not None:
        named = [each for each in used if metric in each.metrics(benchmark.metric)]
        return [Quantity(benchmark.name, each.name, metric) for each in named[-1:]]
    main = primary_metric(benchmark)
    counted = [each for each in used if each.simulated and each.summing_up and each.name != main[0]]
    return [
        *(Quantity(benchmark.name, each.name, each.summing_up) for each in counted),
        Quantity(benchmark.name, *main),
    ]


def main_metrics(config: Config, quantities: Sequence[Quantity]) -> dict[str, tuple[str, str]]:
    """Benchmark -> (instrument, metric) of its main one, of those that are judged and no cases of a harness."""
    names = {each.benchmark for each in quantities}
    return {each.name: primary_metric(each) for each in config.benchmarks if each.name in names}


@dataclass(frozen=True)
class JudgedCases:
    """The cases of one entry with a harness that are judged, and those that one commit alone has: name -> which.

    Neither where no process has reported any.
    """

    quantities: tuple[Quantity, ...] = ()
    one_sided: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_apart(self) -> bool:
        """Whether there are cases, and none that can be compared."""
        return bool(self.one_sided) and not self.quantities


def judged_cases(question: CheckQuestion, selection: Selection, entry: Quantity) -> JudgedCases:
    """The cases of an entry by what was executed so far.

    A case that one commit alone has is judged only where it was asked for by name, and then has no verdict.  Raises
    `UsageError` for names of cases that no process has reported, and for a metric that no case has.
    """
    name = entry.benchmark
    sides: dict[str, set[str]] = {}
    ended_well: set[str] = set()
    for execution in selection.executions:
        case = execution.benchmark
        if case != name and entry_of(case, [name]) == name:
            own = sides.setdefault(case, set())
            if execution.status in {"ok", "no-measurement"}:
                ended_well.add(execution.system)
                own |= set() if execution.reason == ABSENT else {execution.system}
    if not sides:
        return JudgedCases()
    of_it = [each for each in question.benchmarks if entry_of(each, [name])]
    named = [] if name in of_it else of_it
    for each in named:
        if each not in sides:
            raise UsageError(
                f"{name} has no case that is called {each!r}; there are {', '.join(sides)}{suggest(each, list(sides))}"
            )
    lacking = {case: missing for case, own in sides.items() if (missing := ended_well - own)}
    chosen = named or [case for case in sides if case not in lacking]
    metrics = _metrics(selection, question.metric)
    if question.metric is not None and not any(case in metrics for case in sides):
        measured = dict.fromkeys(each.metric for each in selection.samples if each.benchmark in sides)
        raise UsageError(f"--metric {question.metric}: no case of {name} has it; there are {', '.join(measured)}")
    return JudgedCases(
        tuple(
            Quantity(case, entry.instrument, metrics.get(case, question.metric or TIME), entry=name)
            for case in chosen
            if question.metric is None or case in metrics or case in named
        ),
        {} if named else {case: HEAD if BASE in missing else BASE for case, missing in lacking.items()},
    )


def _metrics(selection: Selection, metric: str | None) -> dict[str, str]:
    """Benchmark -> its metric of that name, or its main one."""
    wanted = [each for each in selection.samples if (each.is_primary if metric is None else each.metric == metric)]
    return {each.benchmark: each.metric for each in wanted}
