"""Simulated data have the moments that their model states."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from layoutrand import stats
from layoutrand.errors import AnalysisError
from stats.papers import TR_VARIATION


def _model(layout="normal", sds=(1.0, 2.0, 3.0)):
    return stats.HierarchicalModel(mean=100.0, sds=sds, layout=layout)


def test_shape_is_highest_level_first():
    assert stats.simulate(_model(), (5, 4, 3)).shape == (5, 4, 3)
    assert stats.simulate(_model(), (5, 4, 3), n_datasets=7).shape == (7, 5, 4, 3)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["normal", "skewed", "bimodal", "rare"])
def test_components_are_those_of_the_model(layout):
    data = stats.simulate(_model(layout), (4, 3, 3), n_datasets=4000, seed=1)
    found = np.array([stats.variance_components(one).unbiased for one in data])
    errors = found.std(axis=0) / math.sqrt(4000)

    assert (np.abs(found.mean(axis=0) - [1, 4, 9]) < 4.5 * errors).all()
    assert data.mean() == pytest.approx(100, abs=4 * 3 / math.sqrt(16_000))


def test_normal_layouts_are_normal_and_the_others_have_their_shape():
    def top(layout):
        return stats.simulate(_model(layout, sds=(1.0,)), (20_000,), seed=2) - 100

    assert scipy_stats.kstest(top("normal"), "norm").pvalue > 1e-3
    assert scipy_stats.skew(top("skewed")) == pytest.approx(1.75, abs=0.2)
    for layout, share in (("bimodal", 0.2), ("rare", 0.05)):
        values, counts = np.unique(top(layout).round(9), return_counts=True)
        assert values == pytest.approx([-math.sqrt(share / (1 - share)), math.sqrt((1 - share) / share)])
        assert counts[1] / 20_000 == pytest.approx(share, abs=4 * math.sqrt(share / 20_000))


def test_units_share_the_deviations_of_the_units_they_are_in():
    data = stats.simulate(_model(sds=(0.0, 0.0, 3.0)), (4, 3, 2), seed=3)

    assert (data == data[:, :1, :1]).all()
    assert len(set(data[:, 0, 0])) == 4


def test_seed_alone_decides_and_data_sets_differ():
    a, b, c = (stats.simulate(_model(), (2, 2, 2), n_datasets=2, seed=seed) for seed in (1, 1, 2))

    assert (a == b).all()
    assert (a != c).all()
    assert (a[0] != a[1]).all()


def test_pinned():
    assert stats.simulate(_model(), (2, 1, 1), seed=5).ravel() == pytest.approx(
        [95.21962591202227, 102.79199479281029], rel=1e-12
    )


def test_published_models_are_those_of_the_report():
    found = stats.published_models()

    for name, (compilation, execution, measurement, _) in TR_VARIATION.items():
        assert found.pop(name) == stats.HierarchicalModel(
            mean=100.0, sds=(measurement, execution, compilation), layout="normal"
        )
    assert found == {"layout 2 %": stats.HierarchicalModel(mean=100.0, sds=(0.0, 0.5, 2.0), layout="normal")}


def test_model_of_binaries_means_has_their_variance():
    one = _model().of_top_means((4, 5))

    assert one.sds == (pytest.approx(math.sqrt(9 + 4 / 4 + 1 / 20)),)
    assert one.mean == 100.0
    assert _model().variances == (1.0, 4.0, 9.0)


@pytest.mark.parametrize(
    ("model", "counts", "message"),
    [
        (_model("odd"), (1, 1, 1), "unknown layout distribution 'odd', choose from bimodal, normal, rare, skewed"),
        (_model(sds=(-1.0,)), (1,), "standard deviations must be finite and not negative, got (-1.0,)"),
        (_model(sds=()), (), "standard deviations must be finite and not negative, got ()"),
        (_model(), (1, 1), "model has 3 levels, but 2 repetition counts were given"),
        (_model(), (1, 0, 1), "each repetition count must be an integer of at least 1, got 0"),
        (stats.HierarchicalModel(mean=math.inf, sds=(1.0,), layout="normal"), (1,), "the mean must be finite, got inf"),
    ],
)
def test_messages(model, counts, message):
    with pytest.raises(AnalysisError) as error:
        stats.simulate(model, counts)

    assert message in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "message"), [({"seed": -1}, "seed must be"), ({"n_datasets": 0}, "n_datasets must be")]
)
def test_messages_about_counts(arguments, message):
    with pytest.raises(AnalysisError, match=message):
        stats.simulate(_model(), (1, 1, 1), **arguments)
