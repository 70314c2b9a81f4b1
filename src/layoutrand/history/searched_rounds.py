"""What is recorded of the commits that a search for a step measures, round by round."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

from layoutrand.analysis.asked_results import Question, recorded_experiment
from layoutrand.analysis.coarse_clock import NO_STEPS, ClockSteps, clock_steps
from layoutrand.analysis.current_executions import current_definitions
from layoutrand.analysis.round_design import round_design
from layoutrand.analysis.sample import Sample, binary_mean, samples_of
from layoutrand.config.at_commits import declared
from layoutrand.config.config import Benchmark, Config
from layoutrand.config.metric import Better
from layoutrand.config.problems import suggest
from layoutrand.errors import ResultsError, UsageError
from layoutrand.execute import experiment as experiments
from layoutrand.execute.cases import ABSENT, CasesOfHarnesses
from layoutrand.execute.iterations import read_now
from layoutrand.harnesses.case_names import entry_of
from layoutrand.history.bisecting import Rounds
from layoutrand.host.attempts import that_count
from layoutrand.instruments.asked_for import primary_metric
from layoutrand.instruments.known import reads_output, simulated
from layoutrand.model import Execution
from layoutrand.results.experiments import ResultsStore


@dataclass(frozen=True)
class SearchedRounds:
    """What is recorded of systems at captures: name -> rounds; and whether counts of a simulated processor they are.

    They are of ``metric``, of which ``better`` is an improvement; ``samples`` are what the rounds are the means of.
    """

    rounds: Mapping[str, Rounds]
    exact: bool
    metric: str
    better: Better
    samples: Mapping[str, Sample]

    @property
    def unit(self) -> str:
        """Of the metric; "" where no execution gave a number."""
        return next((sample.unit for sample in self.samples.values()), "")

    def of(self, names: Sequence[str], seeds: Container[int]) -> list[Rounds]:
        """These rounds of the systems of these names."""
        return [{seed: value for seed, value in self.rounds[name].items() if seed in seeds} for name in names]

    def beside(self, names: Sequence[str], seeds: Container[int]) -> list[Rounds]:
        """Those of these rounds in which all of them were executed beside each other.

        Where one was executed later, as after failures, what the machine did meanwhile would look like a difference.
        """
        own = self._samples(names, seeds)
        if len(own) < len(names):
            return self.of(names, seeds)
        designs = [round_design(own[0], other) for other in own[1:]]
        kept = set.intersection(*({pair.key for pair in design.pairs} for design in designs))
        return self.of(names, [seed for seed in kept if isinstance(seed, int)])

    def clock(self, names: Sequence[str], seeds: Container[int]) -> ClockSteps:
        """The steps of the clock in these rounds of the systems of these names."""
        own = self._samples(names, seeds)
        return clock_steps(*own, beside=[self.samples[name] for name in names]) if len(own) == len(names) else NO_STEPS

    def _samples(self, names: Sequence[str], seeds: Container[int]) -> list[Sample]:
        """What these rounds are the means of, without systems that have none of them."""
        found = [self.samples[name] for name in names if name in self.samples]
        own = [sample.of(tuple(each for each in sample.binaries if each[0] in seeds)) for sample in found]
        return [sample for sample in own if sample.binaries]


def searched_rounds(store: ResultsStore, question: Question, names: Sequence[str]) -> SearchedRounds:
    """The main metric of the question's one benchmark, of systems at captures under these names.

    The benchmark may be a case of an entry with a harness.  Raises `ResultsError` for values of 0 or below, which have
    no ratio, and `UsageError` for a case that processes do not report.
    """
    (wanted,) = question.benchmarks
    recorded = _recorded(store, question, names)
    cases = CasesOfHarnesses.of(question.config, [each for own in recorded.values() for each in own])
    config = cases.configuration()
    known = [each.name for each in config.benchmarks]
    if wanted not in known and any(cases.found.values()):
        of_it = [each for each in known if entry_of(each, [_entry(question).name])]
        raise UsageError(
            f"{_entry(question).name} has no case that is called {wanted!r}; there are {', '.join(of_it)}"
            f"{suggest(wanted, of_it)}"
        )
    benchmark = next((each for each in config.benchmarks if each.name == wanted), _entry(question))
    instrument, metric = primary_metric(benchmark)
    found = {name: _sample(cases.split(own), config, benchmark) for name, own in recorded.items()}
    rounds = {name: _rounds(sample) for name, sample in found.items()}
    if any(value <= 0 for own in rounds.values() for value in own.values()):
        raise ResultsError(f"{wanted}: values of 0 or below have no ratio, so no step can be looked for")
    better = benchmark.metric.better_of(metric) if reads_output(instrument) else "less"
    samples = {name: sample for name, sample in found.items() if sample is not None}
    return SearchedRounds(rounds, instrument in simulated(), metric, better, samples)


def recorded_cases(store: ResultsStore, question: Question, names: Sequence[str]) -> dict[str, set[str]]:
    """Case -> of which of the names, of the question's one entry with a harness; in the order of the reports."""
    recorded = _recorded(store, question, names)
    cases = CasesOfHarnesses.of(question.config, [each for own in recorded.values() for each in own])
    found: dict[str, set[str]] = {case: set() for case in cases.names(question.benchmarks)}
    for name, own in recorded.items():
        for execution in cases.split(own):
            if execution.benchmark in found and execution.reason != ABSENT:
                found[execution.benchmark].add(name)
    return found if any(cases.found.values()) else {}


def _entry(question: Question) -> Benchmark:
    (wanted,) = question.benchmarks
    entry = entry_of(wanted, [each.name for each in question.config.benchmarks])
    return next(each for each in question.config.benchmarks if each.name == entry)


def _recorded(store: ResultsStore, question: Question, names: Sequence[str]) -> dict[str, list[Execution]]:
    """Name -> its executions that count, under the system as it is declared."""
    config, entry = question.config, _entry(question)
    instrument, _ = primary_metric(entry)
    definitions = experiments.definitions(config, [entry], question.project)
    _, merged = recorded_experiment(question, store)
    everything = [(each.hostname, store.executions(each)) for each in merged]
    found: dict[str, list[Execution]] = {}
    for name in dict.fromkeys(names):
        found[name] = []
        for hostname, recorded in everything:
            about = (name, entry.name, instrument)
            mine = [e for e in recorded if (e.system, e.benchmark, e.instrument) == about]
            counting = that_count(mine, experiments.slot_values)
            own = read_now([replace(e, system=declared(name)) for e in counting], config, hostname)
            found[name] += current_definitions(own, definitions, [])
    return found


def _sample(executions: Sequence[Execution], config: Config, benchmark: Benchmark) -> Sample | None:
    """The sample of the main metric; None where nothing was executed well."""
    own = [e for e in executions if e.status == "ok" and e.benchmark == benchmark.name]
    systems = list(dict.fromkeys(e.system for e in own))
    primary = {benchmark.name: primary_metric(benchmark)}
    return next((each for each in samples_of(own, primary, systems, [benchmark], config) if each.is_primary), None)


def _rounds(sample: Sample | None) -> Rounds:
    binaries = () if sample is None else sample.binaries
    return {seed: binary_mean(runs) for seed, runs in binaries if isinstance(seed, int)}
