"""Which cases harnesses have reported in what is recorded, so that a misspelt one is told before anything is built."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutrand.build.present_parts import built_in
from layoutrand.config.config import Config
from layoutrand.config.problems import suggest
from layoutrand.errors import ResultsError
from layoutrand.execute import experiment as experiments
from layoutrand.execute.cases import CasesOfHarnesses
from layoutrand.results.experiments import ResultsStore
from layoutrand.results.file import open_for_reading


@dataclass(frozen=True)
class ReportedCases:
    """The cases of one entry with a harness, as benchmarks are called, by the commit whose build reported them.

    Those of builds that are of no commit, or of a changed one, stand under "".
    """

    entry: str
    of_commits: Mapping[str, Collection[str]]

    @property
    def names(self) -> list[str]:
        """All of them."""
        return list(dict.fromkeys(name for own in self.of_commits.values() for name in own))

    def refusal(self, case: str, commits: Mapping[str, str]) -> str:
        """What is wrong with a case that none of these commits (-> label) has, as far as that is known; or ""."""
        known = [label for commit, label in commits.items() if self.of_commits.get(commit)]
        if not known or case in self.names:
            return ""
        return f"{self.entry} has no case that is called {case!r} at {known[0]}; {self._others(case)}"

    def doubt(self, case: str) -> str:
        """What to say of a case that nothing has reported so far, while others were; or ""."""
        if not self.names or case in self.names:
            return ""
        return (
            f"{self.entry} has reported no case that is called {case!r} so far, and whether these commits have it is "
            f"known when they were executed; {self._others(case)}"
        )

    def _others(self, case: str) -> str:
        return f"there are {', '.join(self.names)}{suggest(case, self.names)}"


def reported_cases(files: Sequence[Path], configs: Sequence[Config], project: Path, entry: str) -> ReportedCases:
    """What these files of results have of the entry as any of the configurations declares it.

    A file that is not there or cannot be read has nothing.  Raises `ConfigError` for a missing input file.
    """
    definitions: set[str] = set()
    for config in configs:
        declared = [each for each in config.benchmarks if each.name == entry]
        definitions.update(experiments.definitions(config, declared, project).values())
    found: dict[str, dict[str, None]] = {}
    for path in files:
        try:
            with open_for_reading(path) as store:
                _add(store, configs[0], definitions, entry, found)
        except ResultsError:
            continue
    return ReportedCases(entry, found)


def _add(
    store: ResultsStore, config: Config, definitions: Collection[str], entry: str, found: dict[str, dict[str, None]]
) -> None:
    for experiment, _ in store.experiments():
        commits: dict[str, set[str]] = {}
        for built in (each for context in store.contexts(experiment) for each in built_in(context)):
            commits.setdefault(built.capture, set()).add(built.commit if built.dirty is False else "")
        own = [e for e in store.executions(experiment) if e.benchmark == entry and e.definition in definitions]
        for capture in dict.fromkeys(each.capture for each in own):
            of_it = CasesOfHarnesses.of(config, [each for each in own if each.capture == capture])
            if of_it.found.get(entry):
                for commit in commits.get(capture, {""}):
                    found.setdefault(commit, {}).update(dict.fromkeys(of_it.names([entry])))
