"""Adjusted p-values against statsmodels and scipy, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats
from statsmodels.stats.multitest import multipletests

from layoutrand import stats
from layoutrand.errors import AnalysisError


@pytest.mark.parametrize(("ours", "theirs"), [("holm", "holm"), ("bh", "fdr_bh")])
@pytest.mark.parametrize("seed", range(4))
def test_statsmodels(ours, theirs, seed):
    p = np.random.default_rng(seed).uniform(size=17) ** 3
    p[3] = p[5]  # ties

    assert stats.adjust(p, ours) == pytest.approx(multipletests(p, method=theirs)[1])


def test_scipy():
    if not hasattr(scipy_stats, "false_discovery_control"):
        pytest.skip("scipy before 1.11 does not control the false discovery rate")
    p = np.random.default_rng(1).uniform(size=12)

    assert stats.adjust(p, "bh") == pytest.approx(scipy_stats.false_discovery_control(p))


def test_by_hand_and_in_the_given_order():
    assert stats.adjust([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert stats.adjust([0.01, 0.04, 0.03, 0.005], "bh") == pytest.approx((0.02, 0.04, 0.04, 0.02))
    assert stats.adjust([]) == ()
    assert stats.adjust([0.7, 0.9]) == (1.0, 1.0)


def test_family_wise_error_of_twenty_comparisons():
    """Unadjusted 64 %, Holm at most 5 % (2,000 families; bounds of 4 standard errors)."""
    p = np.random.default_rng(2).uniform(size=(2000, 20))
    raw = (p.min(axis=1) <= 0.05).mean()
    holm = np.mean([min(stats.adjust(family)) <= 0.05 for family in p])

    assert raw == pytest.approx(1 - 0.95**20, abs=4 * np.sqrt(0.23 / 2000))
    assert holm <= 0.05 + 4 * np.sqrt(0.0475 / 2000)


@pytest.mark.parametrize("bad", [[1.1], [-0.1], [float("nan")], [[0.1, 0.2]]])
def test_p_values_must_be_probabilities(bad):
    with pytest.raises(AnalysisError, match="p-values(:| must be).* flat sequence of numbers"):
        stats.adjust(bad)


def test_unknown_method():
    with pytest.raises(AnalysisError, match="unknown method 'bonferroni', choose from bh, holm"):
        stats.adjust([0.1], "bonferroni")
