"""How often the first sentence of `layoutrand sweep` is true: rounds of known truth, judged and worded as the command does."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
import pytest

from layoutrand.analysis.sample import Sample
from layoutrand.errors import AnalysisError
from layoutrand.explain.causes import cause
from layoutrand.explain.explain_warnings import RoundsLeftOut
from layoutrand.explain.mechanisms import MECHANISMS
from layoutrand.explain.sweep import by_round
from layoutrand.explain.sweep_words import not_seen, offsets_in_words, verdict, why
from sweepkit import judged

LINE = tuple(range(0, 64, 16))
FINE = tuple(range(0, 64, 4))
FOUND = re.compile(r"offsets? (\d+)(?: … (\d+))?( modulo \d+)? of f: \S+ % (slower|faster) \((\S+) … (\S+)\) than")
NOT_FOUND = re.compile(r"nothing stands out: no offset of f differs from the others by more than (\S+) %")


def told(table: np.ndarray, offsets: tuple[int, ...], seed: int, permutations: int = 399) -> str:
    """The sentence on values of shape (rounds, offsets)."""
    return verdict(judged(table, offsets, seed, permutations))


@dataclass
class Counts:
    """Of ``n`` sweeps: something was said to differ, it was what differs, and the sentence's numbers hold."""

    n: int = 0
    found: int = 0
    right: int = 0
    true: int = 0


def study(kind: str, offsets: tuple[int, ...], rounds: int, effect: float, n: int) -> Counts:
    """Sweeps in which the 16 bytes from 32 on are slower by ``effect``; executions differ by 1 %."""
    rng = np.random.default_rng([rounds, len(offsets), int(1000 * effect)])
    slow = np.array([32 <= offset < 48 for offset in offsets])
    counts = Counts()
    for seed in range(n):
        noise = drawn(rng, kind, (rounds, len(offsets)))
        text = told(np.exp(noise + np.where(slow, np.log1p(effect), 0.0)), offsets, seed)
        counts.n += 1
        if match := FOUND.match(text):
            counts.found += 1
            first, last = int(match[1]), int(match[2] or match[1])
            said = np.array([first <= o <= last if first <= last else o >= first or o <= last for o in offsets])
            logs = np.where(slow, np.log1p(effect), 0.0)
            truth = abs(np.expm1(logs[said].mean() - logs[~said].mean())) * 100 if not match[3] else np.nan
            low, high = float(match[5]), float(match[6])
            unit = 10.0 ** -len(match[5].partition(".")[2]) / 2 + 1e-9  # what rounding may take
            counts.true += bool(effect) and low - unit <= truth <= high + unit
            counts.right += bool((said == slow).all())
        elif match := NOT_FOUND.match(text):
            counts.true += effect * 100 <= float(match[1]) + 0.01
        else:
            raise AssertionError(text)
    return counts


def drawn(rng: np.random.Generator, kind: str, shape: tuple[int, int]) -> np.ndarray:
    """What executions add."""
    if kind == "spikes":
        return rng.normal(0, 0.01, shape) + np.where(rng.random(shape) < 0.03, 0.2, 0.0)
    if kind == "lognormal":
        return 0.01 * (rng.lognormal(0, 0.8, shape) - 1)
    if kind == "drift":
        walk = rng.normal(0, 0.003, shape[0] * shape[1]).cumsum().reshape(shape)
        return rng.normal(0, 0.01, shape) + np.array([row[rng.permutation(shape[1])] for row in walk])
    return rng.normal(0, 0.01, shape)


def test_few_of_sixty_sentences_are_false():
    """At 5 % each, more than 9 of 60 come by chance in 1 of 1000."""
    nothing, third = study("normal", LINE, 5, 0.0, 60), study("normal", LINE, 5, 0.33, 60)
    assert nothing.found <= 9
    assert nothing.true >= 51
    assert (third.found, third.right) == (60, 60)
    assert third.true >= 51


@pytest.mark.hour
@pytest.mark.parametrize("kind", ["normal", "lognormal", "spikes", "drift"])
def test_sentences_are_true_at_their_rate(kind):
    """The table of docs/guides/explain.md; three standard errors of 1000 sweeps (of 200 of 16 offsets)."""
    for offsets, rounds, n in ((LINE, 3, 1000), (LINE, 10, 1000), (FINE, 5, 200)):
        slack = 3 * np.sqrt(0.05 * 0.95 / n)
        nothing, some = study(kind, offsets, rounds, 0.0, n), study(kind, offsets, rounds, 0.05, n)
        print(
            f"| {kind} | {len(offsets)} | {rounds} | {nothing.found / n:.3f} | {some.found / n:.3f} | "
            f"{some.right / n:.3f} | {some.true / n:.3f} |"
        )
        assert nothing.found / n <= 0.05 + slack
        assert some.true / n >= 0.95 - slack


def test_runs_of_offsets_in_words():
    assert offsets_in_words((32,), LINE, 64, 64) == "offset 32"
    assert offsets_in_words((32, 36, 40), FINE, 64, 64) == "offsets 32 … 40"
    assert offsets_in_words((0, 4, 56, 60), FINE, 64, 64) == "offsets 56 … 4"
    assert offsets_in_words((16, 48), LINE, 32, 64) == "offset 16 modulo 32"
    assert offsets_in_words((8, 24, 40, 56), FINE, 16, 64) == "offset 8 modulo 16"


def with_rounds(rounds: dict[int, tuple[int, ...]]) -> Sample:
    """A sample that has for each offset a value (100 times the offset and the round) in these rounds."""
    return Sample(
        system="O2",
        benchmark="b",
        instrument="wall",
        metric="wall_s",
        unit="s",
        is_primary=True,
        binaries=tuple((o, tuple((100.0 * o + r,) for r in own)) for o, own in rounds.items()),
        controls={},
        rounds=rounds,
    )


def test_rounds_with_a_missing_value_are_left_out_and_told():
    sample = with_rounds({0: (1, 2, 3, 4, 5), 16: (1, 3, 4), 32: (3, 1, 2)})
    complete, means, lost = by_round(sample, (0, 16), 4)
    assert (complete, lost) == ((1, 3, 4), (2,))
    assert means.tolist() == [[1.0, 1601.0], [3.0, 1603.0], [4.0, 1604.0]]
    assert by_round(sample, (0, 16, 32), 5)[::2] == ((1, 3), (2, 4, 5))
    with pytest.raises(
        AnalysisError, match=r"1 of 2 rounds have a value at each of 2 offsets.* at least 2 are needed;"
    ):
        by_round(sample, (0, 16), 2)
    with pytest.raises(AnalysisError, match="offset 48 was never measured"):
        by_round(sample, (0, 48), 5)
    assert str(RoundsLeftOut((2,), 4)) == ("1 of 4 rounds are left out, because an execution of theirs has no value: 2")
    assert str(RoundsLeftOut(tuple(range(1, 11)), 30)).endswith("1, 2, 3, 4, 5, 6, 7, 8, …")


def test_why_is_said_or_why_it_cannot_be():
    rng = np.random.default_rng(9)
    values = rng.normal(0, 0.01, (10, 4)) + np.array([0.0, 0.0, 0.1, 0.0])
    sweep = judged(np.exp(values), LINE, 1)
    same = dict.fromkeys(MECHANISMS, (1.0, 1.0, 1.0, 1.0))
    line, window = {"line": (1.0, 1.0, 2.0, 1.0)}, {"window": (2.0, 1.0, 2.0, 1.0)}
    three = {"window": (1.0, 1.0, 3.0, 2.0)}

    def said(met: dict[str, tuple[float, ...]], instrument: str = "wall") -> str:
        return why(replace(sweep, cause=cause(values, same | met, instrument, level=0.05, seed=1)))

    assert why(sweep) == ""
    assert said(line | window).startswith("cause: instruction line straddle (64-byte lines under its hottest")
    assert said(line | window).endswith("of what offsets do; no other mechanism that was looked at is left")
    assert "cannot tell between instruction line straddle" in said(line | three)
    assert "closest is 32-byte window" in said(window)
    assert said(window).endswith("of what offsets do, but offsets at which it is the same differ")
    assert said({}) == "cause: cannot tell: what offsets do goes by none of the mechanisms that were looked at"
    weak = cause(values, same | window, "wall", level=1e-9, seed=1)
    assert "is left, and explains no more than" in why(replace(sweep, cause=weak))
    simulated = replace(sweep, cause=cause(values, same | line, "cachegrind", level=0.05, seed=1))
    assert "is simulated, and has nothing of instruction line straddle" in not_seen(simulated)
    assert not_seen(sweep) == ""
