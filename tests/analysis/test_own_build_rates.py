"""That an own build is unusually good or bad, and what is to be expected of the next: true at its rate, simulated."""

from types import SimpleNamespace

import numpy as np
import pytest

from layoutrand.analysis.place_among import FEWEST_TO_FORETELL, expected_move
from layoutrand.stats import ratio_interval

TIMES = 2000
SD = 0.05

POPULATIONS = {
    "normal": lambda chance, n: chance.normal(0, 1, n),
    "heavy": lambda chance, n: chance.standard_t(3, n),
    "two groups": lambda chance, n: np.where(chance.random(n) < 0.3, 2.0, 0.0) + chance.normal(0, 0.2, n) - 0.6,
    "skewed": lambda chance, n: chance.lognormal(0, 1, n) - np.exp(0.5),
}


def analysed(layouts, stock):
    """What `expected_move` looks at; both in the order of rounds."""
    shift = ratio_interval(stock.tolist(), layouts.tolist(), confidence=0.95, method="paired-log-t")
    return SimpleNamespace(
        stock=SimpleNamespace(mean=stock.mean(), shift=shift),
        binary_means=tuple(enumerate(layouts.tolist())),
        one_layout=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("population", POPULATIONS)
@pytest.mark.parametrize("noise", [0.1, 1.0])
@pytest.mark.parametrize("layouts", [FEWEST_TO_FORETELL, 30])
def test_what_is_foretold_is_true_at_its_rate(layouts, noise, population):
    """The own build is one more of the population; noise of an execution as a share of what layouts differ by."""
    chance = np.random.default_rng(layouts)
    told = wrong = near = 0
    for _ in range(TIMES):
        means, own = (1 + SD * POPULATIONS[population](chance, n) for n in (layouts, 1))
        measured = [np.maximum(each + chance.normal(0, SD * noise, layouts), 0.1) for each in (means, own)]
        move = expected_move(analysed(*measured))
        if move is not None:
            true = 1 / own[0] - 1
            told, wrong, near = told + 1, wrong + (move * true <= 0), near + (0.5 <= move / true <= 2)
    assert told >= 0.002 * TIMES
    assert wrong <= 0.02 * told
    assert near >= 0.75 * told


def test_nothing_is_foretold_of_few_layouts_or_an_uncertain_side():
    chance = np.random.default_rng(1)
    layouts = 1 + SD * chance.normal(0, 1, 30)
    stock = np.full(30, layouts.min() - 0.02) + chance.normal(0, 0.001, 30)
    assert expected_move(analysed(layouts, stock)) == pytest.approx(1 / stock.mean() - 1, abs=0.01)
    assert expected_move(analysed(layouts[:14], stock[:14])) is None
    assert expected_move(analysed(layouts, stock + 0.03)) is None, "within the layouts"
    noisy = layouts.max() + 0.02 + np.tile([-0.6, 0.6], 15)
    assert expected_move(analysed(layouts, noisy)) is None, "slower than all by its mean, but which side is uncertain"
