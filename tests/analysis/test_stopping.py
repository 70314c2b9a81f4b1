"""When `run --until-half-width` stops."""

from __future__ import annotations

import dataclasses
import math

import pytest
from scipy.stats import binom

from experiments import measured, selected, write
from fakes import make_config
from layoutrand.analysis.stopping import Width, next_seeds, seeds_to_add, widths
from layoutrand.model import MAX_SEED
from layoutrand.stats import mean_interval
from layoutrand.stats.streams import Stream

CONFIG = make_config('[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n', systems=("a",))


def width(relative, n=10, *, has_changed=False):
    return Width("a", "b", n, relative, has_changed)


def test_the_width_is_half_the_interval_over_the_mean(tmp_path):
    """Closed form: t(0.975, 2) s / sqrt(3) / mean for 9, 10, 11."""
    write(CONFIG, tmp_path, measured(CONFIG, tmp_path, "a", "b", {1: [[9.0]], 2: [[10.0]], 3: [[11.0]]}))
    (found,) = widths(selected(CONFIG, tmp_path), confidence=0.95)

    assert found.n_binaries == 3
    assert found.relative_half_width == pytest.approx(4.302653 / math.sqrt(3) / 10, rel=1e-6)


def test_times_that_are_steps_of_their_clock_are_never_narrow(tmp_path):
    """Each 0.20 s, the mean may be off by 2.5 % of it."""
    write(CONFIG, tmp_path, measured(CONFIG, tmp_path, "a", "b", {number: [[0.2]] for number in range(1, 21)}))
    (found,) = widths(selected(CONFIG, tmp_path), confidence=0.95)

    assert found.relative_half_width == pytest.approx(0.025)


def test_one_binary_has_no_width(tmp_path):
    """So it never stops anything."""
    write(CONFIG, tmp_path, measured(CONFIG, tmp_path, "a", "b", {1: [[9.0]]}))

    assert widths(selected(CONFIG, tmp_path), confidence=0.95)[0].relative_half_width == math.inf


@pytest.mark.parametrize(
    ("values", "relative", "said"),
    [
        ((0.0, 0.0, 0.0), 0, "0.00 %"),  # of counts
        ((-1.0, 0.0, 1.0), math.inf, "no share of a mean of 0"),
        ((9.0,), math.inf, "unknown of one binary"),
    ],
)
def test_a_mean_of_0_has_no_relative_width(tmp_path, values, relative, said):
    config = make_config(
        '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\nmetric = { printed = [{ name = "n", regex = "n (.*)", unit = "1" }] }\n',
        systems=("a",),
    )
    by_seed = {seed: [[value]] for seed, value in enumerate(values, 1)}
    write(config, tmp_path, measured(config, tmp_path, "a", "b", by_seed, metric="n", unit="1"))
    (found,) = widths(selected(config, tmp_path), confidence=0.95)

    assert (found.relative_half_width, str(found)) == (relative, said)


@pytest.mark.parametrize(
    ("found", "seeds", "limit", "added"),
    [
        ([width(0.009, 20), width(0.01, 20)], 20, 100, 0),  # narrow enough, the wanted width included
        ([width(0.009, 20), width(0.001, 19)], 20, 100, 1),  # but not of fewer than 20
        ([width(0.001, 2)], 2, 100, 18),
        ([width(0.001, 2)], 2, 7, 5),
        ([width(0.001, 2)], 7, 7, 0),
        ([width(0.001, 19)], 30, 100, 1),  # some could not be executed
        ([width(0.022, 25), width(0.001, 25)], 25, 300, 25),  # 25 * 2.2^2 = 121, but at most as many again
        ([width(0.011, 25), width(0.001, 25)], 25, 100, 6),  # 25 * 1.1^2 = 30.25
        ([width(0.010001, 25)], 25, 100, 1),
        ([width(0.05)], 10, 100, 10),
        ([width(math.inf)], 1, 100, 19),
        ([width(0.05)], 80, 100, 20),
        ([width(0.05)], 100, 100, 0),  # the limit
        ([], 10, 100, 0),
        ([width(0.001, 40, has_changed=True), width(0.001, 40)], 40, 100, 10),  # narrow, but of a machine that changed
        ([width(0.02, 40, has_changed=True)], 40, 1000, 40),
        ([width(0.001, 100, has_changed=True)], 100, 100, 0),
        ([width(0.001, 10, has_changed=True)], 10, 100, 10),
    ],
)
def test_how_many_seeds_are_added(found, seeds, limit, added):
    """As many as the widest interval is expected to need, within bounds."""
    assert seeds_to_add(found, wanted=0.01, seeds=seeds, limit=limit) == added


def test_a_drifting_series_does_not_stop(tmp_path):
    """30 binaries that become slower by 3 % meanwhile: narrow enough, and no mean to rely on."""
    steady = {seed: [[1 + 0.001 * (seed * 7 % 11)]] for seed in range(1, 31)}
    drifting = {seed: [[value * (1 + 0.001 * seed)]] for seed, ((value,),) in steady.items()}
    for name, data in (("steady", steady), ("drifting", drifting)):
        rows = measured(CONFIG, tmp_path / name, "a", "b", data)
        rows = [dataclasses.replace(row, started_at=float(row.layout)) for row in rows]
        write(CONFIG, tmp_path / name, rows)
        (found,) = widths(selected(CONFIG, tmp_path / name), confidence=0.95)
        assert found.relative_half_width < 0.01
        assert found.has_changed == (name == "drifting")
        assert bool(seeds_to_add([found], wanted=0.01, seeds=30, limit=100)) == (name == "drifting")


def _stopped(draw, truth, wanted, k, fewest=20):
    """Whether the interval that stops the sample holds the truth; ``fewest`` 2 is how it was."""
    values = draw(Stream(k, "until"), 400)
    count = 3
    while True:
        found = mean_interval(values[:count])
        at_hand = count if fewest == 20 else max(count, 20)
        added = seeds_to_add([width(found.relative_half_width, at_hand)], wanted=wanted, seeds=count, limit=400)
        if not added:
            return found.low <= truth <= found.high
        count += added if fewest == 20 else min(added, count)


def _normal(stream, n):
    return 1 + 0.02 * stream.normals(n)


def _two_groups(stream, n):
    return 1 + 0.04 * (stream.uniforms(n) < 0.3) + 0.002 * stream.normals(n)


@pytest.mark.parametrize(("draw", "truth"), [(_normal, 1.0), (_two_groups, 1.012)])
def test_the_interval_that_stops_covers(draw, truth):
    """Coverage of at least .94 of both; with as few binaries as it liked the two groups had about .8."""
    sets = 150
    held = sum(_stopped(draw, truth, 0.01, k) for k in range(sets))

    assert held >= binom.ppf(0.001, sets, 0.94)
    if draw is _two_groups:
        assert sum(_stopped(draw, truth, 0.01, k, fewest=2) for k in range(sets)) < binom.ppf(0.001, sets, 0.94)


@pytest.mark.slow
@pytest.mark.parametrize("wanted", [0.02, 0.01, 0.005])
@pytest.mark.parametrize(("draw", "truth", "covers"), [(_normal, 1.0, 0.94), (_two_groups, 1.012, 0.925)])
def test_the_interval_that_stops_covers_at_all_widths(draw, truth, covers, wanted):
    sets = 1500
    assert sum(_stopped(draw, truth, wanted, k) for k in range(sets)) >= binom.ppf(0.001, sets, covers)


@pytest.mark.parametrize(
    ("seeds", "count", "more"),
    [
        ([1, 2, 3], 2, [4, 5]),
        ([7, 5], 1, [8]),
        ([MAX_SEED - 1], 1, [MAX_SEED]),
        ([MAX_SEED - 1], 2, [1, 2]),
        ([2, MAX_SEED], 3, [1, 3, 4]),
    ],
)
def test_which_seeds_are_added(seeds, count, more):
    """New ones, each of which is a seed."""
    assert next_seeds(seeds, count) == more
