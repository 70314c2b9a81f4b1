"""A system that is executed as two: its names, its seeds, and where both stand in a schedule."""

from __future__ import annotations

import pytest

from fakes import make_config
from layoutrand.build.build import SystemBuild
from layoutrand.build.divided import divided
from layoutrand.config.config import parse
from layoutrand.config.doubled import with_second
from layoutrand.config.schedule import Design, schedule
from layoutrand.config.twice import first_of, is_second, second_of, second_seed
from layoutrand.errors import ConfigError
from layoutrand.execute.iterations import warmups_of
from layoutrand.model import IDENTITY, STOCK, BuildFailure

AGAIN = second_of("a")


def design(order, systems=("a", "b", AGAIN, "b again")):
    return Design(systems, (("x", ("native",)), ("y", ("native",))), (1, 2, 3), (STOCK, IDENTITY), 2, 1, order)


def test_no_system_can_be_declared_by_the_name_of_a_second():
    assert (first_of(AGAIN), first_of("a"), is_second(AGAIN), is_second("a")) == ("a", "a", True, False)
    text = '[project]\nname = "p"\n[build]\ncommands = ["make"]\nartefacts = ["p"]\n[systems."a again"]\n'
    with pytest.raises(ConfigError):
        parse(text, path="layoutrand.toml")


def test_second_seeds_are_seeds_and_differ():
    seeds = [0, 1, 2, 2**64 - 1]
    found = {second_seed(seed) for seed in seeds}
    assert len(found) == 4 and not found & set(seeds) and all(0 <= seed < 2**64 for seed in found)


@pytest.mark.parametrize("order", ["blocks", "pairs", "interleaved", "random", "sequential"])
def test_each_round_executes_both_in_layouts_of_their_own(order):
    slots = schedule(design(order))
    for system in ("a", "b"):
        first = {(s.layout, s.benchmark, s.round, s.repetition) for s in slots if s.system == system}
        second = {(s.layout, s.benchmark, s.round, s.repetition) for s in slots if s.system == second_of(system)}
        own = {(k if isinstance(k, str) else second_seed(k), *rest) for k, *rest in first}
        assert second == own


def test_what_is_executed_once_keeps_its_order_whatever_is_executed_twice():
    """Rounds are drawn by what is in them: the slots of a system are the same ones."""
    for order in ("blocks", "pairs", "interleaved", "sequential"):
        alone = [s.identity for s in schedule(design(order, ("a", "b")))]
        assert set(alone) < {s.identity for s in schedule(design(order))}


def test_in_pairs_a_system_follows_itself():
    slots = schedule(design("pairs"))
    groups = [slots[place : place + 4] for place in range(0, len(slots), 4)]
    for group in groups:
        assert len({s.system for s in group}) == 4
        assert len({(s.benchmark, s.round, s.repetition, isinstance(s.layout, int)) for s in group}) == 1


def test_what_was_built_is_divided_with_the_controls_on_both_sides():
    failures = tuple(BuildFailure("a", "prog", layout, "no", None) for layout in (STOCK, 1, 2, second_seed(1), 7))
    first, second = divided([SystemBuild("a", None, True, (), failures, ("note",))], [1, 2])
    assert [(f.system, f.layout) for f in first.failures] == [("a", STOCK), ("a", 1), ("a", 2)]
    assert [(f.system, f.layout) for f in second.failures] == [(AGAIN, STOCK), (AGAIN, second_seed(1))]
    assert (first.notes, second.notes) == (("note",), ())


def test_the_second_is_configured_as_the_first():
    config = make_config(
        '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\nmetric = { regex = "t ([0-9.]+)", name = "time", unit = "ms" }\n'
        '[[warmup]]\nbenchmark = "b"\nsystem = "a"\niterations = 3\n',
        systems=("a", "c"),
    )
    twice = with_second(config, ["a"])
    assert list(twice.systems) == ["a", "c", AGAIN]
    assert twice.systems[AGAIN] == twice.systems["a"]
    (benchmark,) = config.benchmarks
    assert warmups_of(twice, benchmark, AGAIN, "h") == warmups_of(twice, benchmark, "a", "h")
    assert warmups_of(twice, benchmark, "a", "h") != warmups_of(twice, benchmark, "c", "h")
