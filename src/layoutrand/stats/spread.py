"""Do binaries differ by more than executions of one binary do? A test of spread, and how much layouts add.

Where each binary was executed once, only executions of one binary, such as stock, show what an execution differs by
without any layout.  A ratio of variances that is taken for an F has false alarms in one case out of five where the
noise has long tails, and finds little where the machine drifts.  The tests here need no distribution, and what the
executions of a round have in common cancels.

Notes
-----
The test is Brown and Forsythe's (Robust Tests for the Equality of Variances, JASA 69, 1974), one-sided: absolute
deviations from a centre of each sample are compared, and p is the share of random exchanges of places that give the
binaries deviations at least as large.  The centre is the median; of an odd number of values the mean of the three in
the middle, as one deviation from the median would always be 0.

The interval of the layouts' standard deviation is 95 % whatever it is, with all of the error on one side where it is
0: binaries are said to differ exactly where it does not begin at 0.  Between, the share of the error that the upper
bound has rises to a half (Puza and O'Neill, Interval Estimation via Tail Functions, Canadian Journal of Statistics 34,
2006; Feldman and Cousins, Physical Review D 57, 1998, of signals that cannot be negative).  The lower bound is that of
the ratio of mean absolute deviations, by its logarithm (Bonett and Seier, Confidence Intervals for Mean Absolute
Deviations, American Statistician 57, 2003), turned into the standard deviation of normal layouts that give noise like
the controls' this ratio, or of flatter ones as far as the binaries are flatter than a normal sample, such as two groups
of equal size (Geary's ratio); where the test finds more than the ratio alone, it is the bound that p stands for.  The
upper bound is the largest of the same and of those of `spread_bounds`, as few slow layouts make a large standard
deviation of a small mean deviation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats.agreement import agreement_p
from layoutrand.stats.checks import check_confidence, check_count, check_seed
from layoutrand.stats.interval import Interval
from layoutrand.stats.levels import FloatArray
from layoutrand.stats.quantiles import normal_levels, normal_quantile, normal_tail, t_tail
from layoutrand.stats.round_contrasts import (
    Contrasts,
    LabelTable,
    RoundValues,
    binaries_by_pass,
    contrasts,
    deviations_by_label,
    window_of,
)
from layoutrand.stats.spread_bounds import flatness, noisy_upper, quiet_bounds
from layoutrand.stats.streams import RaggedSampler, Stream
from layoutrand.stats.univariate import Values, middle_of, middles_of, sample_of
from layoutrand.warning import plural

_ROUNDING: Final = 1e-12
_AT_ONCE: Final = 1 << 20
JUST_FOUND: Final = 1e-3
"""Of an error, by which the lower bound is above 0 at least where binaries are found to differ."""

_LARGEST: Final = 1e6
"""Ratio of spreads beyond which controls are as good as constant."""


@dataclass(frozen=True, kw_only=True)
class SpreadTest:
    """How binaries spread beside executions of one binary.

    Attributes
    ----------
    p_value
        Of the hypothesis that binaries differ by no more than executions of one binary do.
    p_less
        Of binaries that differ by no less than that: small where controls vary more, as they cannot by chance.
    statistic
        Mean absolute deviation of the binaries over that of the controls; infinite where controls do not vary.
    sd
        Interval of the standard deviation that the layouts add, in the unit of the values.  It begins at 0 exactly
        where ``p_value > 1 - confidence``; its end is infinite where there are too few executions for one.
    variance
        What the layouts add, estimated without bias: squared unit of the values, may be negative.
    noise
        Variance of one execution, without what executions of a round have in common, squared unit.
    window
        Rounds before and after each that its executions are compared with, to be free of drift; None where all are.
    n_compared
        Binaries that took part.
    """

    p_value: float
    p_less: float
    statistic: float
    sd: Interval
    variance: float
    noise: float
    window: int | None
    n_compared: int


def spread_test(
    values: Values,
    controls: Sequence[Values],
    *,
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> SpreadTest:
    """Compare binaries with executions of one or several other binaries, whatever the order they were made in.

    Parameters
    ----------
    values
        One measurement of each binary, shape ``(n,)``; at least 2.
    controls
        Executions of one binary each, such as stock and identity; at least one of them with 2 or more.
    confidence
        Nominal confidence of the interval; binaries are said to differ where ``p_value <= 1 - confidence``.
    n_resamples, seed
        Random exchanges of places.

    Raises
    ------
    AnalysisError
        Fewer than 2 values, no control with 2 executions, or values that are not finite.

    Notes
    -----
    All deviations change places with each other.  They are stretched by ``sqrt(n / (n - 1))`` in a sample of n, as
    they are taken from its own centre.  A drift counts as noise here; where there are rounds, `rounds_spread_test`
    is free of it.
    """
    _check(confidence, n_resamples, seed)
    sample = sample_of(values, "spread test")
    others = repeated(controls)
    if sample.size < 2 or not others:
        raise AnalysisError(
            f"spread test: {plural(sample.size)} beside {plural(len(others), 'control')} with 2 executions or more; "
            "at least 2 binaries and 1 such control are needed, better 10 executions of it"
        )
    parts = [sample, *others]
    size = max(float(np.abs(part - np.median(part)).max()) for part in parts)
    if size == 0:
        return _constant(confidence, sample.size)
    centred = [(part - middle_of(part)) / size * math.sqrt(part.size / (part.size - 1)) for part in parts]
    away = np.abs(np.concatenate(centred))
    found = Contrasts(
        binaries=centred[0],
        noise=np.concatenate(centred[1:]),
        of_binaries=pooled_variance(parts[:1], size),
        of_noise=pooled_variance(parts[1:], size),
        degrees=(sample.size - 1, sum(part.size - 1 for part in others)),
        to_execution=1.0,
    )
    p_value = _pooled_p(away, sample.size, n_resamples, seed)
    return _result(p_value, found, size, None, confidence)


def rounds_spread_test(
    cells: RoundValues,
    *,
    confidence: float = 0.95,
    are_apart: bool = False,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> SpreadTest:
    """Compare binaries with the executions of controls that were made in the same rounds.

    Parameters
    ----------
    cells
        Shape ``(passes, rounds, 1 + controls)`` in the order of measurement: of each round the execution of its own
        binary, then one of each control, such as stock and identity; NaN for what is missing.  Further passes execute
        all binaries again.
    confidence
        Nominal confidence of the interval; binaries are said to differ where ``p_value <= 1 - confidence``.
    are_apart
        Whether rounds have nothing to do with each other, as those of several machines: each is then compared with
        itself alone, for which it takes 2 controls.
    n_resamples, seed
        Random exchanges of places.

    Raises
    ------
    AnalysisError
        Another shape, infinite values, fewer than 2 rounds with both a binary and a control, or rounds apart with
        1 control.

    Notes
    -----
    Executions of one round were made one after the other in an order that was drawn; if layout does nothing they are
    exchangeable, but for a constant that each control has of its own, whatever the machine did from round to round.
    So they change places within their round and pass alone.  Each is taken relative to the mean of the others in the
    same round and some before and after it: as many as make the mean square of what is left the least, or all.  This
    choice regards no label, so the exchange stays exact but for the centres.  Binaries that were executed in several
    passes are judged by the mean of these, and p is no less than that of `agreement_p`: executed once, they are taken
    to be as noisy as the controls.
    """
    _check(confidence, n_resamples, seed)
    table = deviations_by_label(cells)
    if table is None:
        return _constant(confidence, int(np.asarray(cells).shape[1]))
    window = window_in(table, are_apart=are_apart)
    p_value = _rounds_p(table.relative(window), n_resamples, seed)
    agree = agreement_p(binaries_by_pass(table.values, window), n_resamples=n_resamples, seed=seed)
    p_value = max(p_value, agree or 0.0)
    return _result(p_value, contrasts(table.values, window), table.size, window, confidence)


def window_in(table: LabelTable, *, are_apart: bool) -> int | None:
    """Rounds around each that it is compared with, as `window_of`; 0 where rounds ``are_apart``."""
    if are_apart and table.values.shape[2] < 3:
        raise AnalysisError("spread in rounds: rounds that are apart need 2 controls each, such as stock and identity")
    return 0 if are_apart else window_of(table.values)


def repeated(controls: Sequence[Values]) -> list[FloatArray]:
    """The controls with 2 executions or more."""
    try:
        samples = [sample_of(each, "spread test") for each in controls]
    except TypeError as error:
        raise AnalysisError(
            f"controls: give the executions of each, as a sequence of sequences of numbers: {error}"
        ) from error
    return [part for part in samples if part.size > 1]


def of_one_execution(found: Contrasts, size: float) -> float:
    """The variance of one execution, in the unit of the values."""
    return found.of_noise * found.to_execution * size * size


def _check(confidence: float, n_resamples: int, seed: int) -> None:
    check_confidence(confidence)
    check_count(n_resamples, name="n_resamples", at_least=100)
    check_seed(seed)


def _constant(confidence: float, count: int) -> SpreadTest:
    sd = Interval(centre=0.0, low=0.0, high=0.0, confidence=confidence, method="spread", warnings=())
    return SpreadTest(
        p_value=1.0, p_less=1.0, statistic=1.0, sd=sd, variance=0.0, noise=0.0, window=None, n_compared=count
    )


def pooled_variance(parts: Sequence[FloatArray], size: float) -> float:
    """Sample variance over all parts, each about its own mean."""
    squares = sum(float((((part - part.mean()) / size) ** 2).sum()) for part in parts if part.max() > part.min())
    return squares / sum(part.size - 1 for part in parts)


def _pooled_p(away: FloatArray, count: int, n_resamples: int, seed: int) -> float:
    """Share of the exchanges among all that give the first ``count`` as large a sum."""
    observed = float(away[:count].sum()) * (1 - _ROUNDING)
    stream, hits = Stream(seed, "spread", away.size, count), 0
    rows = max(1, _AT_ONCE // away.size)
    for done in range(0, n_resamples, rows):
        words = stream.words(min(rows, n_resamples - done) * away.size).reshape(-1, away.size)
        hits += int((away[np.argsort(words, axis=1, kind="stable")[:, :count]].sum(axis=1) >= observed).sum())
    return (hits + 1) / (n_resamples + 1)


def _rounds_p(relative: FloatArray, n_resamples: int, seed: int) -> float:
    """Share of the exchanges within cells, ``(pass, round, label)``, that give the first label as large a sum."""
    n_passes, n_rounds, _ = relative.shape
    there = np.isfinite(relative)
    ordered = np.argsort(~there, axis=2, kind="stable")
    values = np.nan_to_num(np.take_along_axis(relative, ordered, axis=2)).reshape(n_passes * n_rounds, -1)
    options = there.sum(axis=2).ravel()
    takes_part = np.flatnonzero(options)
    passes = np.maximum((there[:, :, 0]).sum(axis=0), 1)

    def sums(chosen: FloatArray) -> FloatArray:
        whole = chosen.reshape(-1, n_passes, n_rounds).sum(axis=1) / passes
        # Means of executions that came from several labels have a centre of their own.
        return np.asarray(np.abs(whole - middles_of(whole) if n_passes > 1 else whole).sum(axis=1))

    observed = float(sums(values[:, 0])[0]) * (1 - _ROUNDING)
    sampler = RaggedSampler(Stream(seed, "spread in rounds", options.size), row_length=takes_part.size)
    rows, hits = max(1, _AT_ONCE // options.size), 0
    for done in range(0, n_resamples, rows):
        count = min(rows, n_resamples - done)
        chosen = np.zeros((count, options.size))
        picks = sampler.rows(np.broadcast_to(options[takes_part], (count, takes_part.size)))
        chosen[:, takes_part] = values[takes_part, picks]
        hits += int((sums(chosen) >= observed).sum())
    return (hits + 1) / (n_resamples + 1)


def _result(p_value: float, found: Contrasts, size: float, window: int | None, confidence: float) -> SpreadTest:
    """The test with the interval that goes with it, in the unit of the values."""
    alpha = 1 - confidence
    own, noise = (float(np.abs(part).mean()) for part in (found.binaries, found.noise))
    variance, p_less = found.of_binaries - found.of_noise, 1.0
    if noise * _LARGEST <= own:
        low, high = quiet_bounds(found, alpha)
        bounds = (max(low, JUST_FOUND * high) if p_value <= alpha else 0.0, high)
    else:
        log_ratio, error = math.log(own / noise) if own > 0 else -math.inf, _error(found)
        p_less = 1 - t_tail(log_ratio / error, min(found.degrees))
        bounds = _bounds(p_value, found, (log_ratio, error), alpha)
    low, high = bounds
    centre = min(max(math.sqrt(max(variance, 0.0)), low), high)
    sd = Interval(
        centre=centre * size, low=low * size, high=high * size, confidence=confidence, method="spread", warnings=()
    )
    return SpreadTest(
        p_value=p_value,
        p_less=p_less,
        statistic=math.inf if noise == 0 else own / noise,
        sd=sd,
        variance=variance * size * size,
        noise=of_one_execution(found, size),
        window=window,
        n_compared=found.binaries.size,
    )


def _error(found: Contrasts) -> float:
    """Standard error of the logarithm of the ratio of mean absolute deviations."""
    parts = ((found.binaries, found.degrees[0]), (found.noise, found.degrees[1]))
    return math.sqrt(sum(_precision(part) / max(degrees, 1) for part, degrees in parts))


def _bounds(p_value: float, found: Contrasts, ratio: tuple[float, float], alpha: float) -> tuple[float, float]:
    """Of the layouts' standard deviation: consistent with the test, and with the ratio (logarithm, error)."""
    (log_ratio, error), noise = ratio, found.noise
    limit = _tail_limits(lambda shift: t_tail((log_ratio - shift) / error, found.degrees[0]), alpha, error)
    low = 0.0
    if p_value <= alpha:
        low = limit[0]
        if low <= 0:
            score = normal_quantile(max(1 - 2 * p_value, 0.0))
            low = _tail_limits(lambda shift: normal_tail(score - shift / error), alpha, error)[0]
        low = max(low + math.log(flatness(found)), JUST_FOUND * error)
    high = _layout_sd(limit[1], noise)
    return min(_layout_sd(low, noise), high), max(high, noisy_upper(found, alpha))


def _precision(part: FloatArray) -> float:
    """Variance of the logarithm of a mean absolute deviation, times the size of the sample."""
    mean = float(np.abs(part).mean())
    if mean == 0:
        return math.pi / 2 - 1
    return max(float((part**2).mean()) / mean**2 - 1, 0.1) + (float(part.mean()) / mean) ** 2


def _tail_limits(exceeds: Callable[[float], float], alpha: float, error: float) -> tuple[float, float]:
    """The lower and the upper bound of a logarithm that is not below 0.

    ``exceeds`` is the probability of as large a statistic or a larger one for a true value; it rises with that.
    """

    def above(shift: float) -> float:
        """Error of the upper bound: none at 0, half of all from two standard errors on."""
        return alpha / 2 * min(1.0, shift / (2 * error))

    most = math.log(_LARGEST)
    low = _first(lambda shift: exceeds(shift) > alpha - above(shift), most)
    high = _first(lambda shift: 1 - exceeds(shift) <= above(shift), most)
    return low, math.inf if high >= most else high


def _first(is_so: Callable[[float], bool], most: float) -> float:
    """The smallest value from 0 on at which it is so."""
    if is_so(0.0):
        return 0.0
    low, high = 0.0, most
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if is_so(middle) else (middle, high)
    return high


def _layout_sd(log_ratio: float, noise: FloatArray) -> float:
    """The standard deviation of normal layouts that stretch the noise's mean absolute deviation by this factor."""
    if log_ratio <= 0 or math.isinf(log_ratio):
        return max(log_ratio, 0.0)
    mean = float(np.abs(noise).mean())
    wanted = mean * math.exp(log_ratio)

    def reaches(sd: float) -> bool:
        return bool(_folded(noise, sd).mean() >= wanted)

    # A normal of this standard deviation has the wanted mean deviation even without noise.
    return _first(reaches, wanted * math.sqrt(math.pi / 2))


def _folded(values: FloatArray, sd: float) -> FloatArray:
    """Mean absolute value of a normal about each of these."""
    if sd <= 0:
        return np.abs(values)
    z = values / sd
    density = np.exp(-(z**2) / 2) * math.sqrt(2 / math.pi)
    return np.asarray(sd * density + values * (1 - 2 * normal_levels(-z)))
