"""The search of `bisect` over commits whose rounds are simulated: nothing is built or executed."""

import random
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from fakes import make_config
from layoutrand.capture.commit_log import LoggedCommit
from layoutrand.cli.commit_search import CommitSearch
from layoutrand.history.bisect_words import bisect_document
from layoutrand.history.bisecting import CaseSearch, CaseSearches, SearchState
from layoutrand.history.searched_rounds import SearchedRounds
from layoutrand.screens.bisect_screen import bisect_cases_screen, bisect_screen


@dataclass
class Simulated(CommitSearch):
    """Each commit is a program of its own with a mean in ``levels``; a round of it is the same whenever it is asked for."""

    levels: tuple[float, ...] = ()
    sd: float = 0.0
    made: set[tuple[int, int]] = field(default_factory=set)

    def _built(self, state, places):
        self.programs |= {str(place): {"prog": ((".text", 0, 1, str(place)),)} for place in places}
        return {place: str(place) for place in places}, {}

    def _rounds(self, state, places, number, n):
        seeds = range(10_000 * number + 1, 10_000 * number + n + 1)
        self.made |= {(place, seed) for place in places for seed in seeds}
        of = {
            str(place): {
                seed: self.levels[place] * random.Random(f"{place} {seed}").gauss(1, self.sd) for seed in seeds
            }
            for place in places
        }
        return SearchedRounds(of, False, "wall_s", "less", {}), list(of), seeds

    def _merged(self, state):
        return None


def searched(levels, *, sd, threshold, most):
    project = SimpleNamespace(terminal=SimpleNamespace(say=lambda _: None), part=SimpleNamespace(benchmarks=["work"]))
    search = Simulated(project, "work", threshold, most, None, None, levels=levels, sd=sd)
    line = [LoggedCommit(f"{k:040x}") for k in range(len(levels))]
    search._built(None, [0, len(levels) - 1])
    return search.run(SearchState.begin(line, 0.95).with_ends("0", str(len(levels) - 1))), search


def test_a_pair_within_the_threshold_goes_on_until_it_differs_as_the_ends_do():
    """Of a drift each commit is within it, and that was "cannot tell", whatever further rounds were allowed."""
    levels = tuple(1.005**k for k in range(16))
    answer, _ = searched(levels, sd=0.005, threshold=0.02, most=400)
    assert (answer.ending, answer.state.decisions[-1].outcome) == ("found", "differ")
    assert answer.ratio.low <= 1.005 <= answer.ratio.high

    open_, short = searched(levels, sd=0.005, threshold=0.02, most=12)
    _, longer = searched(levels, sd=0.005, threshold=0.02, most=50)
    assert open_.ending == "cannot tell" and open_.state.decisions[-1].outcome == "open"
    assert longer.made > short.made, "a larger --most-seeds goes on, as it is said to"


@pytest.mark.parametrize("cflags", ["-O2", ""])
def test_ends_that_are_one_program_tell_of_flags_that_may_hide_the_change(cflags):
    """A makefile that went from -O2 to -O1 was "nothing was executed", without a word: -O2 was the system's."""
    config = make_config("", systems=("a",))
    own = config.systems["a"].model_copy(update={"cflags": cflags})
    part = SimpleNamespace(config=config.model_copy(update={"systems": {"a": own}}), systems=["a"], benchmarks=["work"])
    search = Simulated(SimpleNamespace(part=part), "work", 0.01, 40, None, None)
    begun = SearchState.begin([LoggedCommit(f"{k:040x}") for k in range(2)], 0.95)
    answer = search.run(begun.with_ends("one", "one"))
    assert answer.ending == "same program"
    told = "system a has flags (cflags), which win over the build's own"
    document = bisect_document(answer, system="a", benchmark="work", metric="wall_s", threshold=0.01)
    found = CaseSearches("work", (CaseSearch("work", "wall_s", "less", answer),), {}, 0)
    for lines in (
        bisect_screen(answer, "less", "a", "work", 0.01, 80),
        bisect_cases_screen(found, "a", 0.01, 80),
        [[(text, "")] for text in document["warnings"]],
    ):
        text = " ".join(" ".join(part for part, _ in line) for line in lines)
        assert (told in " ".join(text.split())) == bool(cflags)
