"""When `run --until-half-width` stops."""

from __future__ import annotations

import math

import pytest

from experiments import measured, selected, write
from fakes import make_config
from layoutrand.analysis.stopping import Width, next_seeds, seeds_to_add, widths
from layoutrand.model import MAX_SEED

CONFIG = make_config('[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n', systems=("a",))


def width(relative, n=10):
    return Width("a", "b", n, relative)


def test_the_width_is_half_the_interval_over_the_mean(tmp_path):
    """Closed form: t(0.975, 2) s / sqrt(3) / mean for 9, 10, 11."""
    write(CONFIG, tmp_path, measured(CONFIG, tmp_path, "a", "b", {1: [[9.0]], 2: [[10.0]], 3: [[11.0]]}))
    (found,) = widths(selected(CONFIG, tmp_path), confidence=0.95)

    assert found.n_binaries == 3
    assert found.relative_half_width == pytest.approx(4.302653 / math.sqrt(3) / 10, rel=1e-6)


def test_one_binary_has_no_width(tmp_path):
    """So it never stops anything."""
    write(CONFIG, tmp_path, measured(CONFIG, tmp_path, "a", "b", {1: [[9.0]]}))

    assert widths(selected(CONFIG, tmp_path), confidence=0.95)[0].relative_half_width == math.inf


@pytest.mark.parametrize(
    ("found", "seeds", "limit", "added"),
    [
        ([width(0.009), width(0.01)], 10, 100, 0),  # narrow enough, the wanted width included
        ([width(0.011), width(0.001)], 10, 100, 3),  # 10 * 1.1^2 = 12.1
        ([width(0.010001)], 10, 100, 1),
        ([width(0.05)], 10, 100, 10),  # 250 are expected, but at most as many again
        ([width(math.inf)], 1, 100, 1),
        ([width(0.05)], 80, 100, 20),
        ([width(0.05)], 100, 100, 0),  # the limit
        ([], 10, 100, 0),
    ],
)
def test_how_many_seeds_are_added(found, seeds, limit, added):
    """As many as the widest interval is expected to need, within bounds."""
    assert seeds_to_add(found, wanted=0.01, seeds=seeds, limit=limit) == added


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
