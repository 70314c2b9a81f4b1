"""The search of `bisect` over commits whose rounds are simulated: nothing is built or executed."""

import random
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

from layoutrand.capture.commit_log import LoggedCommit
from layoutrand.cli.commit_search import CommitSearch
from layoutrand.history.bisecting import SearchState
from layoutrand.history.searched_rounds import SearchedRounds


@dataclass
class Simulated(CommitSearch):
    """Each commit is a program of its own with a mean in ``levels``; a round of it is the same whenever it is asked for."""

    levels: tuple[float, ...] = ()
    sd: float = 0.0
    made: set[tuple[int, int]] = field(default_factory=set)

    def _built(self, state, places):
        for place in places:
            state = replace(state, captures={**state.captures, place: str(place)})
        return state

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
    return search.run(search._built(SearchState.begin(line, 0.95), [0, len(levels) - 1])), search


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
