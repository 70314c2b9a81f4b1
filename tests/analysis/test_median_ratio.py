"""The second statement of a comparison, where the mean says little of most ratios: true, and never against the first."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from experiments import measured, selected, write
from fakes import make_config
from layoutrand.analysis.compare import compare
from layoutrand.analysis.conclusion import of_pair
from layoutrand.analysis.documents import comparisons_document
from layoutrand.analysis.median_ratio import median_ratio
from layoutrand.analysis.ratio_findings import of_ratios
from layoutrand.analysis.sample_pair import sample_pair
from layoutrand.analysis.sentences import of_ratio
from layoutrand.stats import median_interval
from layoutrand.stats.streams import Stream
from roundkit import executed

OPTIONS = {"confidence": 0.95, "threshold": 0.01, "metric": None}
BENCHMARK = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'


def compared(tmp_path, ratios):
    """A comparison of these ratios of rounds, in this order."""
    config = make_config(BENCHMARK, systems=("a", "b"))
    old = {seed: [[1 + 0.001 * (seed % 7)]] for seed in range(1, len(ratios) + 1)}
    new = {seed: [[old[seed][0][0] * ratio]] for seed, ratio in enumerate(ratios, 1)}
    write(config, tmp_path, [*measured(config, tmp_path, "a", "b", old), *measured(config, tmp_path, "b", "b", new)])
    return compare(selected(config, tmp_path), "a", "b", **OPTIONS)


def spread(centre, count, key):
    return (centre * np.exp(0.002 * Stream(0, "median", key).normals(count))).tolist()


def mixed(values, key=5):
    return [values[place] for place in np.argsort(Stream(0, "mix", key).uniforms(len(values)))]


def test_where_ratios_are_bell_shaped_there_is_no_second_statement(tmp_path):
    result = compared(tmp_path, spread(0.95, 30, 1))
    assert result.benchmarks[0].median is None
    assert comparisons_document([result])["benchmarks"][0]["median"] is None
    assert "median" not in of_ratio(result, result.benchmarks[0])


def test_beside_far_values_stands_the_median_by_order_statistics(tmp_path):
    ratios = mixed([*spread(0.95, 28, 2), 1.2, 1.3])
    result = compared(tmp_path, ratios)
    (pair,) = result.benchmarks
    logs = median_interval(np.log(ratios))

    assert (pair.median.ratio.low, pair.median.ratio.high) == pytest.approx((math.exp(logs.low), math.exp(logs.high)))
    assert pair.median.verdict == "faster"
    found = comparisons_document([result])["benchmarks"][0]["median"]
    assert (found["ratio"], found["verdict"], found["of"]) == (pair.median.ratio.centre, "faster", "paired")
    assert (
        "as some rounds lie far from the others, beside the means: in the median round b took 5.00 % less time than a "
        "(95 % interval " in of_ratio(result, pair)
    )
    assert ", whatever the distribution)" in of_ratio(result, pair)


def test_where_means_and_medians_say_the_opposite_there_is_no_verdict(tmp_path):
    """A quarter of the layouts takes 40 % more, the others 3 % less: neither system is the faster one."""
    result = compared(tmp_path, mixed([*spread(0.97, 45, 3), *spread(1.4, 15, 4)]))
    (pair,) = result.benchmarks
    concluded = of_pair(result, pair)

    assert (pair.verdict, pair.median.verdict) == ("slower", "faster")
    assert (concluded.verdict, concluded.beside) == ("cannot tell", "cannot tell")
    assert "which system is faster depends on the layout" in of_ratio(result, pair)
    assert comparisons_document([result])["benchmarks"][0]["conclusion"] == "cannot tell"


def test_where_only_one_of_them_finds_a_difference_the_verdict_is_doubtful(tmp_path):
    result = compared(tmp_path, mixed([*spread(1.0, 45, 5), *spread(1.4, 15, 6)]))
    (pair,) = result.benchmarks
    concluded = of_pair(result, pair)

    assert (pair.verdict, pair.median.verdict) == ("slower", "equivalent")
    assert (concluded.verdict, concluded.trust) == ("slower", "doubtful")
    assert any("the verdict is on the means over layouts" in str(each) for each in concluded.reasons)


def test_a_tail_is_told_by_its_side(tmp_path):
    tail = mixed((0.95 * np.exp(0.01 * np.exp(Stream(0, "tail").normals(40)))).tolist())
    warnings = " ".join(map(str, compared(tmp_path, tail).benchmarks[0].warnings))
    assert "the ratios of the rounds have a long tail of large values" in warnings


@pytest.mark.slow
@pytest.mark.parametrize("is_by_round", [True, False])
def test_the_median_ratio_covers_of_groups(is_by_round):
    """A fifth of the layouts of both systems is 8 % slower; where rounds are not known, the medians are set apart."""
    sets, held, gave = 200, 0, 0
    plan = [(seed, "ab") for seed in range(1, 25)]
    for number in range(sets):
        stream = Stream(number, "two groups")
        effects = {s: 1 + 0.08 * (stream.uniforms(25) < 0.2) + 0.003 * stream.normals(25) for s in "ab"}
        pair = sample_pair(*executed(np.random.default_rng(number), plan, effects))
        if not is_by_round:
            renamed = tuple((f"x{name}", runs) for name, runs in pair.measured[1].binaries)
            pair = sample_pair(pair.measured[0], replace(pair.measured[1], binaries=renamed, started={}, rounds={}))
        found = median_ratio(pair, pair.design.primary, of_ratios(pair), 0.95, 0.01)
        if found is not None:
            gave += 1
            held += found.ratio.low <= 1 <= found.ratio.high

    assert gave > 0.5 * sets
    assert held >= binom.ppf(0.001, gave, 0.95)
