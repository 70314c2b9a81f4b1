"""Which rounds a search for a commit rests on: those in which all of its commits were executed beside each other."""

import pytest

from layoutrand.analysis.sample import Sample
from layoutrand.history.searched_rounds import SearchedRounds

SEEDS = range(1, 13)


def found(started, instrument="native", nodes=None):
    """Systems that were executed at these times: name -> seed -> when."""
    samples = {
        name: Sample(
            *(name, "work", instrument, "wall_s", "s"),
            is_primary=True,
            binaries=tuple((seed, ((1.0 + seed,),)) for seed in times),
            controls={},
            started={seed: (time,) for seed, time in times.items()},
            nodes={} if nodes is None else {seed: (nodes(name, seed),) for seed in times},
        )
        for name, times in started.items()
    }
    rounds = {name: {seed: 1.0 + seed for seed in times} for name, times in started.items()}
    return SearchedRounds(rounds, instrument != "native", "wall_s", "less", samples)


def in_turns(place, seeds=SEEDS, since=0):
    return {seed: since + 10.0 * seed + place for seed in seeds}


def test_all_rounds_count_that_were_executed_in_turns():
    every = found({"a": in_turns(0), "b": in_turns(2), "c": in_turns(1)})
    assert [list(own) for own in every.beside("abc", SEEDS)] == [list(SEEDS)] * 3
    assert [list(own) for own in every.beside("abc", range(3, 6))] == [[3, 4, 5]] * 3


@pytest.mark.parametrize("late", "abc")
def test_what_was_executed_later_since_it_had_failed_does_not_count(late):
    """As --retry-failed executes it: the machine may be at another speed by then."""
    started = {name: in_turns(place) for place, name in enumerate("abc")}
    started[late] |= in_turns(0, range(1, 9), since=1e6)
    every = found(started)
    assert [sorted(own) for own in every.beside("abc", SEEDS)] == [[9, 10, 11, 12]] * 3
    assert [len(own) for own in every.of("abc", SEEDS)] == [12] * 3, "they are numbers nonetheless"


def test_of_a_simulated_processor_all_count():
    every = found({"a": in_turns(0), "b": in_turns(0, since=1e6)}, "cachegrind")
    assert [len(own) for own in every.beside("ab", SEEDS)] == [12, 12]


def test_rounds_on_several_nodes_count_where_each_is_on_one():
    started = {"a": in_turns(0), "b": in_turns(1)}
    assert [len(own) for own in found(started, nodes=lambda _, seed: f"n{seed % 3}").beside("ab", SEEDS)] == [12, 12]
    apart = found(started, nodes=lambda name, seed: name if seed < 5 else "n")
    assert [sorted(own) for own in apart.beside("ab", SEEDS)] == [list(range(5, 13))] * 2


def test_a_system_without_numbers_leaves_the_others_theirs():
    some = found({"a": in_turns(0), "b": {}})
    assert [len(own) for own in some.beside("ab", SEEDS)] == [12, 0]
