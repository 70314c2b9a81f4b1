"""A mean with what known features explain taken out, and how much they predict of observations not seen.

Where features of a whole population are known, as the places of functions are in any number of layouts that nobody
built, a sample whose features lie off the population's is known to be off, too, and the mean can be corrected for it:
control variates (Owen, Monte Carlo Theory, Methods and Examples, chapter 8; Lin, Annals of Applied Statistics 7, 2013).
Every observation is corrected by a model that was fitted to the others alone (cross-fitting: Wager, Du, Taylor and
Tibshirani, High-Dimensional Regression Adjustments in Randomized Experiments, PNAS 113, 2016), so that any number of
features may be used, and a model that learnt nothing but noise widens the interval and biases nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats.checks import check_confidence, check_count, check_seed
from layoutrand.stats.interval import Interval
from layoutrand.stats.levels import FloatArray, IntArray
from layoutrand.stats.quantiles import t_quantile
from layoutrand.stats.streams import Stream
from layoutrand.stats.univariate import Values, sample_of

FEWEST: Final = 15
"""Observations: with fewer each model is fitted to too little to predict anything."""

_FOLDS: Final = 10
_PENALTIES: Final = tuple(10.0**power for power in np.arange(3.0, -2.25, -0.5))
"""Of the ridge, times the number of observations; the first one leaves next to nothing of any feature."""

_ROUNDING: Final = 1e-9


@dataclass(frozen=True, kw_only=True)
class Adjusted:
    """What features say of a sample.

    Attributes
    ----------
    share
        The part of the variance that models predict of observations they were not fitted to; at most 1, around 0 or
        below where there is nothing to predict.
    share_interval
        The interval of that part; its upper end is at most 1.
    p_value
        Of the hypothesis that features have nothing to do with the values: the share of permutations of the values
        that are predicted as well.
    mean
        The mean over the population, with what the features explain of the sample's taken out.
    plain
        The mean of the sample as it is.
    predicted
        Of each member of the population, by the model that was fitted to all observations, shape ``(members,)``.
    """

    share: float
    share_interval: Interval
    p_value: float
    mean: Interval
    plain: Interval
    predicted: FloatArray

    @property
    def variance_ratio(self) -> float:
        """Variance of the adjusted mean over that of the plain one, by the widths of their intervals."""
        return (self.mean.half_width / self.plain.half_width) ** 2 if self.plain.half_width > 0 else 1.0


def adjusted_mean(
    values: Values,
    features: FloatArray,
    *,
    population: FloatArray,
    weights: Values | None = None,
    confidence: float = 0.95,
    n_permutations: int = 999,
    seed: int = 0,
) -> Adjusted:
    """Adjust the mean of a random sample for features whose distribution in the population is known.

    Parameters
    ----------
    values
        One measurement of each observation, shape ``(n,)``; at least 15.
    features
        Their features, shape ``(n, k)``; k may be larger than n.
    population
        Features of members of the population that were drawn alike, whether measured or not, shape ``(members, k)``;
        at least 100, better thousands: their means are taken for those of the population.
    weights
        How much is expected of each feature before anything is measured, shape ``(k,)``, not below 0: its coefficient
        is penalised by the inverse square.  Default: all alike.
    confidence
        Nominal confidence of the intervals.
    n_permutations, seed
        Of the test, and what draws folds and permutations.

    Raises
    ------
    AnalysisError
        Too few observations or members, shapes that do not fit, or numbers that are not finite.

    Notes
    -----
    Models are ridge regressions (Hoerl and Kennard, Technometrics 12, 1970) on features in units of the population's
    standard deviation, with the penalty that predicts each observation best from the others it is fitted to (Allen's
    PRESS, Technometrics 16, 1974).  With folds I_1 ...  I_K, and a model g_k that was fitted to all but I_k, the
    adjusted value of observation i in I_k is ``y_i - g_k(x_i) + E g_k``, of which the last is an average over the
    population; the mean is that of the adjusted values.  They are not independent, as models share observations, so
    their variance is taken 1 + d/n times as large, for the d degrees of freedom that models have spent on average,
    which t has less, too; and the mean over the members of the population has an error of its own.  The interval of
    the share is that of the ratio of mean squared errors, of the model and of the other folds' mean, by linearisation
    (Bayle, Bayle, Janson and Mackey, Cross-validation Confidence Intervals for Test Error, NeurIPS 2020) of its
    logarithm, with a variance 1 + K / (K - 1) times as large, since models share observations (Nadeau and Bengio,
    Inference for the Generalization Error, Machine Learning 52, 2003).
    """
    check_confidence(confidence)
    check_count(n_permutations, name="n_permutations", at_least=19)
    check_seed(seed)
    y = sample_of(values, "adjusted mean")
    own, everyone = _checked(y, features, population)
    middle, scale = everyone.mean(axis=0), everyone.std(axis=0)
    varies = scale > _ROUNDING * np.maximum(np.abs(middle), 1.0)
    expected_of = np.ones(own.shape[1]) if weights is None else sample_of(weights, "weights")
    if expected_of.size != own.shape[1] or (expected_of < 0).any():
        raise AnalysisError(f"adjusted mean: {expected_of.size} weights for {own.shape[1]} features, none below 0")
    scale = np.divide(scale, expected_of, out=np.full_like(scale, np.inf), where=expected_of > 0)  # 0: nothing of it
    x, whole = ((table[:, varies] - middle[varies]) / scale[varies] for table in (own, everyone))
    folds = _folds(y.size, seed)
    models = [_Fold(x, folds == number) for number in range(_FOLDS)]
    stream = Stream(seed, "adjusted mean", y.size)
    orders = np.argsort(stream.words(n_permutations * y.size).reshape(-1, y.size), axis=1, kind="stable")
    rows = np.concatenate([y[None, :], y[orders]])
    fitted, expected, plain = (np.empty(rows.shape) for _ in range(3))
    for model in models:
        fitted[:, model.test], expected[:, model.test], plain[:, model.test] = model.predict(rows)
    wrong, around = (rows - fitted) ** 2, (rows - plain) ** 2
    shares = 1 - wrong.sum(axis=1) / np.maximum(around.sum(axis=1), np.finfo(float).tiny)
    adjusted = y - fitted[0] + expected[0]
    predicted = _Fold(x, np.zeros(y.size, bool)).of_others(y, whole)
    spent = float(np.mean([model.spent for model in models]))
    return Adjusted(
        share=float(shares[0]),
        share_interval=_share_interval(wrong[0], around[0], confidence),
        p_value=float((shares >= shares[0] - _ROUNDING).mean()),
        mean=_adjusted_mean_of(adjusted, confidence, spent, float(predicted.var()) / len(everyone)),
        plain=_mean_of(y, confidence),
        predicted=predicted,
    )


class _Fold:
    """A ridge regression on the observations outside ``test``, for any number of responses."""

    def __init__(self, x: FloatArray, test: np.typing.NDArray[np.bool_]) -> None:
        self.spent = 0.0
        self.test = np.flatnonzero(test)
        self._train = np.flatnonzero(~test)
        self._centre = x[self._train].mean(axis=0)
        self._left, self._size, self._right = np.linalg.svd(x[self._train] - self._centre, full_matrices=False)
        self._inside = (x[self.test] - self._centre) @ self._right.T
        self._at_middle = -self._centre @ self._right.T  # the population's mean is 0

    def predict(self, rows: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Of each row of responses: what is predicted of the test's, on average of the population, and the mean."""
        weights, means = self._weights(rows)
        self.spent = float(self._kept[0].sum())
        predicted = means + weights @ self._inside.T
        expected = np.broadcast_to(means + weights @ self._at_middle[:, None], predicted.shape)
        return predicted, expected, np.broadcast_to(means, predicted.shape)

    def of_others(self, y: FloatArray, others: FloatArray) -> FloatArray:
        """What is predicted of observations with other features, shape ``(others,)``."""
        weights, means = self._weights(y[None, :])
        return np.asarray(means[0] + ((others - self._centre) @ self._right.T) @ weights[0])

    def _weights(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Of each row of responses the coefficients on the right singular vectors, and the mean."""
        y = rows[:, self._train]
        means = y.mean(axis=1, keepdims=True)
        inner = (y - means) @ self._left
        count = self._train.size
        best, chosen = np.full(len(rows), np.inf), np.zeros(len(rows), np.int64)
        shrunk = [self._size**2 / (self._size**2 + penalty * count) for penalty in _PENALTIES]
        for number, kept in enumerate(shrunk):
            leverage = 1 / count + (self._left**2) @ kept
            residual = (y - means - (inner * kept) @ self._left.T) / np.maximum(1 - leverage, _ROUNDING)
            press = (residual**2).sum(axis=1)
            better = press < best * (1 - _ROUNDING)
            best, chosen = np.where(better, press, best), np.where(better, number, chosen)
        self._kept = np.array(shrunk)[chosen]
        factors = np.array([np.where(self._size > 0, kept / np.maximum(self._size, 1e-300), 0.0) for kept in shrunk])
        return inner * factors[chosen], means


def _folds(count: int, seed: int) -> IntArray:
    part = np.empty(count, np.int64)
    part[Stream(seed, "folds of an adjusted mean").order(count)] = np.arange(count) % _FOLDS
    return part


def _share_interval(wrong: FloatArray, around: FloatArray, confidence: float) -> Interval:
    whole = float(around.mean())
    if whole == 0:
        return Interval(centre=0.0, low=0.0, high=0.0, confidence=confidence, method="cross-validation", warnings=())
    ratio = float(wrong.mean()) / whole
    error = float(np.std(wrong - ratio * around, ddof=1)) / whole / math.sqrt(wrong.size)
    error *= math.sqrt(1 + _FOLDS / (_FOLDS - 1))
    reach = math.exp(t_quantile(confidence, wrong.size - 1) * error / ratio) if ratio else 1.0
    return Interval(
        centre=1 - ratio,
        low=1 - ratio * reach,
        high=1 - ratio / reach,
        confidence=confidence,
        method="cross-validation",
        warnings=(),
    )


def _mean_of(values: FloatArray, confidence: float) -> Interval:
    return _t_interval(values, confidence, "t", values.size - 1, float(values.var(ddof=1)) / values.size)


def _adjusted_mean_of(values: FloatArray, confidence: float, spent: float, error: float) -> Interval:
    """With the degrees of freedom that models have ``spent``, and the squared ``error`` of the population's mean."""
    count = values.size
    variance = float(values.var(ddof=1)) / count * (1 + spent / count) + error
    return _t_interval(values, confidence, "cross-fitted", max(count - 1 - spent, count / 2), variance)


def _t_interval(values: FloatArray, confidence: float, method: str, degrees: float, variance: float) -> Interval:
    centre, reach = float(values.mean()), t_quantile(confidence, degrees) * math.sqrt(variance)
    return Interval(
        centre=centre, low=centre - reach, high=centre + reach, confidence=confidence, method=method, warnings=()
    )


def _checked(y: FloatArray, features: FloatArray, population: FloatArray) -> tuple[FloatArray, FloatArray]:
    own, everyone = np.asarray(features, np.float64), np.asarray(population, np.float64)
    if y.size < FEWEST:
        raise AnalysisError(f"adjusted mean: at least {FEWEST} observations are needed, got {y.size}")
    if own.ndim != 2 or len(own) != y.size or everyone.ndim != 2 or everyone.shape[1] != own.shape[1]:
        raise AnalysisError(
            f"adjusted mean: features of shape {own.shape} and {everyone.shape} do not fit {y.size} observations"
        )
    if len(everyone) < 100:
        raise AnalysisError(f"adjusted mean: {len(everyone)} members say too little of a population; at least 100")
    if not (np.isfinite(own).all() and np.isfinite(everyone).all()):
        raise AnalysisError("adjusted mean: features must be finite")
    return own, everyone
