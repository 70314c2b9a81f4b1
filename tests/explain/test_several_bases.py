"""Sweeps of several layouts: what is said over them, and how often that is true, where layouts have effects of their own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from layoutrand.cli.sweeping import _layouts
from layoutrand.cli.terminal import Terminal
from layoutrand.errors import AnalysisError, UsageError
from layoutrand.explain.several_bases import SeveralBases, agreement, each_base, over_bases, verdict_over_bases
from layoutrand.model import IDENTITY
from layoutrand.screens.sweep_screen import show_bases
from sweepkit import judged

OFFSETS = (0, 16, 32, 48)


def swept(logs: np.ndarray, base: int, seed: int = 1, permutations: int = 199, offsets: tuple[int, ...] = OFFSETS):
    """A sweep of a layout with these logarithms, shape (rounds, offsets)."""
    found = judged(np.exp(logs), offsets, seed, permutations)
    return replace(found, order=replace(found.order, base=base))


def drawn(
    rng,
    bases: int,
    common: float,
    own: float,
    *,
    rounds: int = 8,
    noise: float = 0.01,
    seed: int = 1,
    offsets: tuple[int, ...] = OFFSETS,
    side_by_side: bool = False,
):
    """Offset 32 is slower by ``common`` in all layouts; each has effects of its own with a standard deviation of ``own``.

    With ``side_by_side`` these are a half of all offsets, somewhere else in each layout, that is slower.
    """
    effect, n = np.where(np.array(offsets) == 32, common, 0.0), len(offsets)

    def own_effects():
        if side_by_side:
            return 2 * own * ((np.arange(n) - rng.integers(n)) % n < n // 2)
        return rng.normal(0, own, n)

    return [
        swept(effect + own_effects() + rng.normal(0, noise, (rounds, n)), base, seed, offsets=offsets)
        for base in range(1, bases + 1)
    ]


def judged_over(rng, bases: int, common: float, own: float, seed: int = 1, **world) -> SeveralBases:
    return over_bases(drawn(rng, bases, common, own, seed=seed, **world), seed=seed, n_permutations=399)


def test_what_is_the_same_in_all_layouts_is_said():
    found = judged_over(np.random.default_rng(1), 6, 0.1, 0.005)
    assert verdict_over_bases(found).startswith("over 6 layouts offset 32 of f: ")
    assert " slower (" in verdict_over_bases(found)
    assert (
        agreement(found)
        == "by themselves, 6 of 6 layouts have an offset that stands out, 6 of them the same offsets in the same direction"
    )
    assert [line.partition(":")[0] for line in each_base(found)] == [f"layout {n}" for n in range(1, 7)]
    assert found.bases == ("1", "2", "3", "4", "5", "6")


def test_what_each_layout_has_of_its_own_is_not_said_over_them():
    """Each by itself stands out."""
    effects = [0, 16, 32, 48, 0, 16, 32, 48]
    sweeps = [
        swept(np.where(np.array(OFFSETS) == slow, 0.1, 0.0) + np.random.default_rng(n).normal(0, 0.01, (8, 4)), n)
        for n, slow in enumerate(effects)
    ]
    found = over_bases(sweeps, seed=1)
    assert "over 8 layouts nothing stands out" in verdict_over_bases(found)
    assert agreement(found) == "by themselves, 8 of 8 layouts have an offset that stands out"
    assert all("slower" in line for line in each_base(found))


def test_few_layouts_cannot_tell():
    sweeps = drawn(np.random.default_rng(2), 2, 0.1, 0.0)
    two = [replace(each, offsets=(0, 32), means=each.means[:, ::2]) for each in sweeps]
    said = verdict_over_bases(over_bases(two, seed=1))
    assert said.startswith("cannot tell: 2 layouts with 2 offsets are too few")
    assert said.endswith("; 7 or more in --base can")
    five, six = (over_bases(drawn(np.random.default_rng(2), n, 0.1, 0.0), seed=1) for n in (5, 6))
    assert verdict_over_bases(five).endswith("; 6 or more in --base can")
    assert six.response.matters
    for wrong in (sweeps[:1], [sweeps[0], two[0]]):
        with pytest.raises(AnalysisError, match="in two or more"):
            over_bases(wrong, seed=1)


def test_of_layouts_that_cannot_tell_no_count_is_said():
    found = over_bases(drawn(np.random.default_rng(3), 3, 0.0, 0.0, rounds=2), seed=1)
    assert not any(each.response.can_tell for each in found.sweeps)
    assert agreement(found) == ""


def test_what_repeats_to_the_digit_is_told_as_such():
    logs = np.tile([0.0, 0.0, 0.1, 0.0], (4, 1))
    assert "to the digit" in verdict_over_bases(over_bases([swept(logs, n) for n in range(3)], seed=1))
    same = over_bases([swept(0 * logs, n) for n in range(3)], seed=1)
    assert verdict_over_bases(same) == "over 3 layouts no offset of f differs, to the digit"


def test_it_is_shown(capsys):
    found = judged_over(np.random.default_rng(3), 6, 0.1, 0.005)
    show_bases(found, Terminal(json=False, quiet=False), None)
    out = capsys.readouterr().out
    assert out.startswith("over 6 layouts offset 32 of f")
    assert out.count("layout ") >= 6
    assert "from others" in out


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("identity", [IDENTITY]),
        ("7", [7]),
        ("1..4", [1, 2, 3, 4]),
        ("identity,9, 2..3,9", [IDENTITY, 9, 2, 3]),
        ("18446744073709551615", [2**64 - 1]),
    ],
)
def test_layouts_as_they_are_written(text, expected):
    assert _layouts(text) == expected


@pytest.mark.parametrize(
    "text", ["", "stock", "4..1", "1,,2", "1..", "..3", "-1", "18446744073709551616", "1..1001", "1..2..3"]
)
def test_what_is_no_layout_is_one_clear_error(text):
    with pytest.raises(UsageError, match="--base"):
        _layouts(text)


SIXTEEN = tuple(range(0, 64, 4))


def study(bases: int, common: float, own: float, n: int, **world) -> tuple[float, float, float]:
    """How often something is said, how often that offset 32 is slower, and how often the interval holds of these."""
    rng = np.random.default_rng([bases, int(1000 * common), int(1000 * own)])
    said = right = holds = 0
    for seed in range(n):
        found = judged_over(rng, bases, common, own, seed=seed, **world)
        if not found.response.matters:
            continue
        said += 1
        run = found.response.largest
        others = set(world.get("offsets", OFFSETS)) - {32}
        if set(run.doses) in ({32}, others):
            sign = 1 if set(run.doses) == {32} else -1
            right += run.difference.centre * sign > 0
            holds += run.difference.low <= sign * common <= run.difference.high
    return said / n, right / n, holds / n


def test_effects_of_single_layouts_make_few_false_sentences():
    """At 5 %, more than 9 of 60 come by chance in 1 of 1000."""
    assert study(6, 0.0, 0.05, 60)[0] <= 9 / 60


@pytest.mark.parametrize("bases", [3, 6, 10])
def test_nor_do_effects_that_neighbouring_offsets_share(bases):
    """Values of a layout that change places find an offset in 34 to 45 % of such sweeps."""
    assert study(bases, 0.0, 0.05, 60, offsets=SIXTEEN, side_by_side=True)[0] <= 9 / 60


@pytest.mark.hour
@pytest.mark.parametrize("bases", [6, 10, 20])
@pytest.mark.parametrize("is_wide", [False, True])
@pytest.mark.parametrize(("common", "own"), [(0.0, 0.0), (0.0, 0.05), (0.05, 0.0), (0.05, 0.01), (0.05, 0.05)])
def test_sentences_are_true_at_their_rate(bases, is_wide, common, own):
    """The table of docs/guides/explain.md; wide are sweeps of 16 offsets, with effects that neighbours share."""
    n = 400
    world = {"offsets": SIXTEEN, "side_by_side": True} if is_wide else {}
    said, right, holds = study(bases, common, own, n, **world)
    print(f"| {is_wide} | {bases} | {common:.0%} | {own:.0%} | {said:.3f} | {right:.3f} | {holds:.3f} |", flush=True)
    if not common:
        assert said <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n)
