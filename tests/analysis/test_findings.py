"""What `analyse` finds in a sample: how sure variances are, whether layout matters, odd layouts, what is still needed."""

from __future__ import annotations

import json
import math
import random
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats as scipy_stats

from experiments import execution, measured, selected, write
from fakes import make_config
from layoutrand import stats
from layoutrand.analysis.analyse import analyse
from layoutrand.analysis.beside import simulated_beside
from layoutrand.analysis.documents import analyse_document
from layoutrand.analysis.evidence import evidence, evidence_json, policy_words, sentences
from layoutrand.analysis.layout_words import size_of
from layoutrand.analysis.sentences import UNFORESEEN, of_analysis, one_more
from layoutrand.cli.output_formats import MarkdownPage
from layoutrand.model import BuildFailure, Measurement
from layoutrand.screens.layout_tables import show_analysis
from layoutrand.stats.agreement import agreement_p
from layoutrand.text.flat import analysis_rows
from warningkit import said

CONTROLS = ("stock", "identity")

CONFIG = make_config('[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n', systems=("a",))


def analysed(tmp_path, data, **options):
    write(CONFIG, tmp_path, measured(CONFIG, tmp_path, "a", "b", data, **options))
    (analysis,) = analyse(selected(CONFIG, tmp_path), confidence=0.95, metrics=[]).analyses
    return analysis


def document_of(tmp_path):
    document = analyse_document(analyse(selected(CONFIG, tmp_path), confidence=0.95, metrics=[]))
    json.dumps(document, allow_nan=False)
    return document


def column_of(tmp_path, capsys, name):
    """The one cell of this column among the tables of `analyse`."""
    capsys.readouterr()
    page = MarkdownPage(json=False, quiet=True)
    show_analysis(analyse(selected(CONFIG, tmp_path), confidence=0.95, metrics=[]), page, every=False)
    page.finish()
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in capsys.readouterr().out.splitlines()]
    (head,) = [number for number, cells in enumerate(lines) if name in cells]
    return lines[head + 2][lines[head].index(name)]


def test_a_mean_of_0_has_no_half_width_beside_it(tmp_path, capsys):
    """As of differences that a harness prints: no width is a share of it, and the table was an exception."""
    analysed(tmp_path, {seed: [[1.0 if seed % 2 else -1.0]] for seed in range(1, 21)})
    assert column_of(tmp_path, capsys, "interval").startswith("[-")


def layouts(sd, *, seed=1, n=20, executions=1, noise=0.1):
    chance = random.Random(seed)
    return {
        k: [[100 + place + chance.gauss(0, noise)] for _ in range(executions)]
        for k in range(1, n + 1)
        for place in [chance.gauss(0, sd)]
    }


def test_every_level_has_an_interval_of_its_relative_standard_deviation(tmp_path):
    data = layouts(2, executions=3)
    values = np.array([[x for (x,) in runs] for runs in data.values()])
    found = analysed(tmp_path, data).findings
    binary, execution_level = found.relative_sds

    assert (binary.method, execution_level.method) == ("kurtosis", "f")
    within = values.var(axis=1, ddof=1).mean()
    bounds = [math.sqrt(40 * within / scipy_stats.chi2.ppf(q, 40)) / values.mean() for q in (0.975, 0.025)]
    assert [execution_level.low, execution_level.high] == pytest.approx(bounds)
    levels = document_of(tmp_path)["benchmarks"][0]["levels"]
    assert levels[1]["relative_sd_interval"] == pytest.approx(bounds)
    assert levels[0]["relative_sd_interval"][0] < levels[0]["relative_sd"] < levels[0]["relative_sd_interval"][1]


def test_unbalanced_executions_get_a_permutation_test_and_intervals_like_balanced_ones(tmp_path):
    data = layouts(2, executions=3)
    data[1] = data[1][:1]
    found = analysed(tmp_path, data).findings

    assert [each.method for each in found.relative_sds] == ["kurtosis", "f"]
    assert (found.test.method, found.correlation.method) == ("permutation", "f")
    assert found.test.p_value < 0.001


def test_repeated_executions_are_tested_by_f_with_the_share_of_layouts(tmp_path):
    data = layouts(2, executions=3)
    values = [[x for (x,) in runs] for runs in data.values()]
    analysis = analysed(tmp_path, data)
    found = analysis.findings

    assert found.test.method == "f"
    assert scipy_stats.f_oneway(*values).pvalue < found.test.p_value == agreement_p(np.array(values).T) < 0.001
    assert found.correlation == stats.intraclass_correlation(values, method="f")
    assert found.layout_sd == found.relative_sds[0]
    assert found.layout.answer == "matters"
    assert re.search(
        r"layout matters: a standard deviation of 1.8 % \[1.4, 2.7\], beside 0.09 % between executions of one \(p < ",
        of_analysis(analysis),
    )


def in_order(tmp_path, values):
    """Layouts whose seeds have nothing to do with the order of execution, executed twice each."""
    seeds = random.Random(1).sample(range(1, len(values) + 1), len(values))
    rows = measured(CONFIG, tmp_path, "a", "b", {k: [[v], [v + 0.01]] for k, v in zip(seeds, values, strict=True)})
    write(CONFIG, tmp_path, [replace(row, started_at=float(number)) for number, row in enumerate(rows)])
    (analysis,) = analyse(selected(CONFIG, tmp_path), confidence=0.95, metrics=[]).analyses
    return analysis


def test_a_machine_that_drifted_is_not_taken_for_layout_without_a_word(tmp_path):
    """These executions of a binary follow each other, so repeating them does not tell drift from layout."""
    analysis = in_order(tmp_path, [100 + 5 * math.sin(k / 5) for k in range(30)])

    assert analysis.findings.test.p_value < 0.001
    assert analysis.findings.drift.is_found
    (warning,) = (each for each in said(analysis.warnings) if "the machine drifted" in each)
    assert "with more run.executions (each is a pass of its own over all binaries" in warning
    assert "layout, or drift of the machine, matters: a standard deviation of" in of_analysis(analysis)
    assert document_of(tmp_path)["benchmarks"][0]["drift"]["found"] is True


def test_layouts_that_differ_in_no_order_are_no_drift(tmp_path):
    chance = random.Random(2)
    analysis = in_order(tmp_path, [100 + chance.gauss(0, 5) for _ in range(30)])

    assert not analysis.findings.drift.is_found
    assert ": layout matters: a standard deviation of" in of_analysis(analysis)


def controlled(*, layout, noise=0.5, n=20, seed=5, course=lambda _: 0.0):
    """Rounds of one binary, stock and identity each; the machine is slower by what ``course`` says of the round."""
    chance = random.Random(seed)
    own = {k: 100 + chance.gauss(0, layout) for k in range(1, n + 1)}
    rows = {k: [[own[k] + course(k) + chance.gauss(0, noise)]] for k in own}
    # The first execution of a control is of round 0, which has no seed.
    return rows | {name: [[100 + course(k) + chance.gauss(0, noise)] for k in range(n + 1)] for name in CONTROLS}


def by_time(tmp_path, data):
    """The same, with the times of the rounds; a seed's round has its number."""
    rows = measured(CONFIG, tmp_path, "a", "b", data)
    times = [10.0 * (row.round if row.layout in CONTROLS else row.layout) for row in rows]
    write(
        CONFIG,
        tmp_path,
        [replace(row, started_at=t + k / 1e3) for k, (row, t) in enumerate(zip(rows, times, strict=True))],
    )
    (analysis,) = analyse(selected(CONFIG, tmp_path), confidence=0.95, metrics=[]).analyses
    return analysis


def test_binaries_executed_once_are_tested_against_the_controls_of_their_rounds(tmp_path):
    data = controlled(layout=2)
    analysis = analysed(tmp_path, data)
    cells = [[data[k][0][0], data["stock"][k][0], data["identity"][k][0]] for k in range(1, 21)]
    found = stats.rounds_spread_test([cells])

    assert (analysis.findings.test.method, analysis.findings.test.p_value) == ("rounds", found.p_value)
    assert analysis.findings.layout_sd.high == pytest.approx(found.sd.high / np.mean([row[0] for row in cells]))
    assert analysis.layout.variance == found.variance
    row = document_of(tmp_path)["benchmarks"][0]
    assert row["layout_test"] == {"p_value": found.p_value, "statistic": found.statistic, "method": "rounds"}
    assert row["layout_matters"] == "matters"
    low, high = row["layout_relative_sd_interval"]
    assert 0 < low < row["layout"]["relative_sd"] < high == row["layout_relative_sd_upper"]
    assert row["intraclass_correlation"]["interval"][0] > 0.5
    beside = (
        r"beside 0\.[456]\d % between executions of stock and identity, if those of all layouts are as noisy \(p < "
    )
    assert re.search(beside, of_analysis(analysis))


def test_a_drift_that_all_of_a_round_share_is_no_layout_and_hides_none(tmp_path):
    """The machine becomes slower by six times the layouts' standard deviation meanwhile."""
    (tmp_path / "none").mkdir()
    slower = {"course": lambda k: 0.6 * k, "noise": 0.3}
    none = by_time(tmp_path / "none", controlled(layout=0, **slower))
    some = by_time(tmp_path, controlled(layout=2, **slower))

    assert (none.findings.layout.answer, some.findings.layout.answer) == ("cannot tell", "matters")
    assert some.findings.layout_sd.low < 0.02 < some.findings.layout_sd.high
    assert none.findings.drift.is_found
    assert "cannot tell whether layout matters: it may add up to" in of_analysis(none)
    assert any(
        "free of that, as each round was compared with its own executions" in each for each in said(none.warnings)
    )


def test_what_is_not_found_is_bounded_and_never_called_no_sign(tmp_path):
    found = analysed(tmp_path, controlled(layout=0)).findings

    assert found.layout.answer == "cannot tell"
    assert (found.layout_sd.low, found.correlation.low) == (0, 0)
    assert 0.001 < found.layout.upper < 0.01
    row = document_of(tmp_path)["benchmarks"][0]
    assert row["conclusion"] == "cannot tell"


def test_a_thousandth_of_a_percent_does_not_matter_however_sure(tmp_path):
    """Instructions that differ as another ld.so.cache was written: significant, and practically nothing."""
    analysis = analysed(tmp_path, controlled(layout=0.001, noise=0.00001))

    assert analysis.findings.test.p_value < 0.001
    assert analysis.findings.layout.answer == "practically none"
    assert "layout matters practically not: it adds at most 0.00" in of_analysis(analysis)
    assert document_of(tmp_path)["benchmarks"][0]["conclusion"] == "practically none"


def test_what_varies_is_told_apart_by_the_controls(tmp_path, capsys):
    """Binaries differ by 0.5 %, all of it noise: the bar of layout is not as long as that."""
    analysis = analysed(tmp_path, controlled(layout=0, n=40))
    layout, execution = document_of(tmp_path)["benchmarks"][0]["what_varies"]

    assert (layout["part"], execution["part"]) == ("layout", "execution")
    assert execution["relative_sd"] == pytest.approx(0.005, rel=0.25)
    assert layout["share"] < 0.3
    assert layout["share"] + execution["share"] == pytest.approx(1)
    assert analysis.levels[0].relative_sd == pytest.approx(0.005, rel=0.4)
    assert column_of(tmp_path, capsys, "binary and execution").startswith("0.48 % [")


def test_warm_up_within_single_executions_does_not_hide_what_layouts_differ_by(tmp_path):
    """Iterations that fall by 30 % scatter far more than layouts that differ by 0.5 %, which are there nevertheless."""
    chance = random.Random(1)
    places = [chance.gauss(1, 0.005) for _ in range(20)]
    data = {k: [[130 * place, 107.5 * place, 103 * place]] for k, place in enumerate(places, 1)}
    part = analysed(tmp_path, data).findings.layout
    assert part.answer == "cannot tell"
    assert 0.005 < part.upper < 0.02


@pytest.mark.parametrize("controls", [False, True])
def test_the_noise_of_executions_has_that_of_their_iterations(tmp_path, controls):
    """Whoever shows it: an execution of three iterations that scatter by 1 % scatters by 0.58 %, and never by none."""
    chance = random.Random(9)
    data = {
        k: [[mean * (1 + chance.gauss(0, 0.01)) for _ in range(3)] for _ in range(1 if controls else 2)]
        for k, mean in ((k, 100 * (1 + chance.gauss(0, 0.02))) for k in range(1, 31))
    }
    if controls:
        data["stock"] = [[100 * (1 + chance.gauss(0, 0.01)) for _ in range(3)] for _ in range(30)]
    found = analysed(tmp_path, data).findings
    assert found.layout.noise_sd == pytest.approx(0.01 / math.sqrt(3), rel=0.3)


def test_what_nothing_tells_apart_is_one_part(tmp_path):
    analysed(tmp_path, layouts(2))
    (both,) = document_of(tmp_path)["benchmarks"][0]["what_varies"]

    assert (both["part"], both["share"]) == ("layout and execution", 1)


def test_what_so_many_layouts_could_have_missed_is_always_said(tmp_path):
    analysis = analysed(tmp_path, layouts(2, n=30))

    assert "; 30 layouts: a group of up to 9.5 % could have been missed" in of_analysis(analysis)
    assert analysis.findings.median is None
    assert document_of(tmp_path)["benchmarks"][0]["could_miss"] == pytest.approx(0.095, abs=1e-3)


def test_one_more_binary_lies_in_a_range_of_its_own(tmp_path):
    """Not between the lowest and the highest of those measured, which lie farther apart the more there are."""
    analysis = analysed(tmp_path, {1: [[9.0]], 2: [[10.0]], 3: [[11.0]]})

    one = analysis.findings.one_binary.next

    half = scipy_stats.t.ppf(0.975, 2) * math.sqrt(4 / 3)
    assert (one.low, one.high) == pytest.approx((10 - half, 10 + half))
    assert "one more binary would show -50 to +50 % of the mean over 3 layouts" in of_analysis(analysis)


@pytest.mark.parametrize("lowest", [1.0, 0.0])
def test_a_range_down_to_no_time_at_all_tells_nothing_of_one_more_binary(tmp_path, lowest):
    """In no table, sentence or page; nor of a count that was 0 in one of the layouts."""
    analysis = analysed(tmp_path, {1: [[lowest]], 2: [[10.0]], 3: [[30.0]]})

    assert analysis.findings.one_binary.next.low < 0
    assert one_more(analysis) == UNFORESEEN
    assert "what one more binary would show cannot be told" in of_analysis(analysis)


def test_a_long_tail_gets_a_median_beside_the_mean(tmp_path):
    chance = random.Random(3)
    analysis = analysed(tmp_path, {k: [[100 + 10 * chance.expovariate(1)]] for k in range(1, 31)})
    found = analysis.findings

    assert found.shape.is_skewed
    assert found.median.low < 100 + 10 * math.log(2) < found.median.high
    assert "beside the mean: half of the layouts measure below 10" in of_analysis(analysis)
    assert document_of(tmp_path)["benchmarks"][0]["median"]["value"] == found.median.centre


def test_without_repetition_and_stock_it_is_said_that_nothing_tells_layout_from_noise(tmp_path):
    analysis = analysed(tmp_path, layouts(2))

    assert (analysis.findings.test, analysis.findings.correlation, analysis.findings.layout_sd) == (None, None, None)
    assert analysis.findings.layout.answer == "cannot tell"
    assert analysis.findings.layout.upper == analysis.findings.relative_sds[0].high  # layouts add no more than all does
    assert any("set run.executions = 2, or execute stock" in warning for warning in said(analysis.warnings))


def test_simulated_counts_in_two_groups_are_told_from_rounding_and_need_no_noise(tmp_path):
    """Counts come in steps of one, so equal ones are no accident of rounding; a simulator has no noise to miss."""
    metric = "metric = {wall = false, cachegrind = true}\n"
    config = make_config('[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n' + metric, systems=("a",))
    rows = [
        execution(
            config,
            tmp_path,
            "a",
            "b",
            seed,
            instrument="cachegrind",
            measurements=(Measurement("estimated_cycles", "1", 0, 1000.0 + seed % 2 * 500, warmup=False),),
        )
        for seed in range(1, 31)
    ]
    write(config, tmp_path, rows)
    (analysis,) = analyse(selected(config, tmp_path), confidence=0.95, metrics=[]).analyses

    assert analysis.findings.shape.has_several_peaks
    assert analysis.warnings == ()


def test_counts_that_are_the_same_in_all_layouts_are_not_less_than_nothing(tmp_path):
    """And one count beside times is shown by itself; there is no list of others."""
    metric = "metric = {wall = true, instruments = ['qemu']}\n"
    config = make_config('[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n' + metric, systems=("a",))
    measured = {"native": ("wall_s", "s"), "qemu": ("instructions", "1")}
    rows = [
        execution(
            config,
            tmp_path,
            "a",
            "b",
            seed,
            instrument=instrument,
            measurements=(Measurement(*measured[instrument], 0, 1000.0, warmup=False),),
        )
        for seed in range(1, 31)
        for instrument in measured
    ]
    write(config, tmp_path, rows)
    found = selected(config, tmp_path)
    (analysis,) = analyse(found, confidence=0.95, metrics=["instructions"]).analyses

    assert size_of(analysis.findings.layout) == "0 %"
    assert simulated_beside(found, [("b", "native")]) == (
        "Simulated counts, which no other work disturbs, are recorded of b as well: --metric instructions shows them."
    )


def test_stock_that_varies_more_than_the_layouts_bounds_nothing(tmp_path):
    chance = random.Random(6)
    stock = [[100 + chance.gauss(0, 9)] for _ in range(20)]
    analysis = analysed(tmp_path, layouts(0, noise=0.5) | {"stock": stock})

    assert analysis.findings.layout.upper == analysis.findings.relative_sds[0].high
    assert analysis.findings.test.p_value > 0.99
    assert any("stock and identity vary more than the layouts do" in warning for warning in said(analysis.warnings))
    assert "cannot tell whether layout matters: it may add up to 0." in of_analysis(analysis)


def test_an_outlier_is_flagged_and_stays_in_the_mean(tmp_path, capsys):
    data = layouts(1) | {21: [[150.0]]}
    analysis = analysed(tmp_path, data)
    (odd,) = analysis.findings.shape.outliers

    assert (odd.binary, odd.mean) == (21, 150.0)
    assert odd.score > analysis.findings.shape.limit
    assert analysis.mean.centre == pytest.approx(sum(runs[0][0] for runs in data.values()) / 21)
    assert "far from the others, but in the numbers: seed 21" in of_analysis(analysis)
    (row,) = document_of(tmp_path)["benchmarks"]
    assert [each["seed"] for each in row["outliers"]] == [21]
    assert row["n_binaries"] == 21
    assert column_of(tmp_path, capsys, "outliers") == "1 (seed 21)"
    (cells,) = analysis_rows(document_of(tmp_path), every=False)
    assert (cells["outliers"], cells["outlier_seeds"]) == (1, "21")


def test_several_outliers_are_counted_and_named(tmp_path, capsys):
    far = {seed: [[150.0 + seed]] for seed in (21, 22, 23, 24)}
    analysis = analysed(tmp_path, layouts(1, n=40) | far)

    assert column_of(tmp_path, capsys, "outliers") == "4 (seeds 21, 22 and 2 more)"
    assert "in the numbers: seeds 21, 22, 23, 24" in of_analysis(analysis)
    (cells,) = analysis_rows(document_of(tmp_path), every=False)
    assert (cells["outliers"], cells["outlier_seeds"]) == (4, "21; 22; 23; 24")


def test_no_outlier_is_a_count_of_0(tmp_path, capsys):
    analysed(tmp_path, layouts(1))
    assert column_of(tmp_path, capsys, "outliers") == "0"
    (cells,) = analysis_rows(document_of(tmp_path), every=False)
    assert (cells["outliers"], cells["outlier_seeds"]) == (0, "")


def test_two_groups_of_layouts_are_flagged(tmp_path):
    chance = random.Random(7)
    data = {k: [[100 + 20 * (k % 2) + chance.gauss(0, 1)]] for k in range(1, 31)}
    analysis = analysed(tmp_path, data)

    assert analysis.findings.shape.has_several_peaks
    assert "the layouts fall into groups (dip test, p" in of_analysis(analysis)
    assert document_of(tmp_path)["benchmarks"][0]["modality"]["several_peaks"] is True


def test_few_layouts_are_not_judged_by_their_shape(tmp_path):
    shape = analysed(tmp_path, {1: [[1.0]], 2: [[1.1]], 3: [[9.0]]}).findings.shape

    assert (shape.outliers, shape.limit, shape.dip_p_value, shape.has_several_peaks) == ((), None, None, False)


def test_what_one_binary_would_have_shown(tmp_path):
    one = analysed(tmp_path, {1: [[9.0]], 2: [[10.0]], 3: [[11.0]]}).findings.one_binary

    assert (one.lowest, one.highest) == pytest.approx((0.9, 1.1))
    assert (one.comparison.minimum, one.comparison.maximum) == pytest.approx((9 / 11, 11 / 9))


def test_binaries_still_needed_for_one_percent(tmp_path):
    data = layouts(3)
    analysis = analysed(tmp_path, data)
    needed = analysis.findings.needed

    assert (needed.half_width, needed.n_more) == (0.01, needed.n_binaries - 20)
    relative = np.std([runs[0][0] for runs in data.values()], ddof=1) / analysis.mean.centre
    for count, sd in (
        (needed.fewest, relative),
        (needed.n_binaries, relative * math.sqrt(19 / scipy_stats.chi2.ppf(0.2, 19))),
    ):
        unlucky = sd * math.sqrt(scipy_stats.chi2.ppf(0.8, count - 1) / (count - 1))
        assert scipy_stats.t.ppf(0.975, count - 1) * unlucky / math.sqrt(count) <= 0.01
    assert needed.n_more > 0


def test_the_evidence_states_seeds_counts_policy_failures_and_what_was_left_out(tmp_path):
    rows = measured(CONFIG, tmp_path, "a", "b", {1: [[1.0]], 2: [[1.1]], 3: [[1.2]], 7: [[1.3]], "stock": [[1.0]]})
    rows.append(execution(CONFIG, tmp_path, "a", "b", 8, status="exit", reason="r", log="l"))
    earlier = execution(CONFIG, tmp_path, "a", "b", 1, definition="earlier", repetition=5)
    write(CONFIG, tmp_path, [*rows, earlier], [BuildFailure("a", "prog", 9, "e", None)])
    selection = selected(CONFIG, tmp_path)
    of = evidence(selection)
    (row,) = of.systems

    assert (row.seeds, row.n_seeds, row.n_executions, row.n_failed, row.n_unbuilt) == ("1..3,7", 4, 6, 1, 1)
    (left_out,) = of.left_out
    assert "left out 1 execution of an earlier definition" in str(left_out)
    said = "\n".join(sentences(of))
    assert "a: seeds 1..3,7 (4), 6 executions (1 of them of controls), 1 failed, 1 binary not built" in said
    assert "layout policy: function-order" in said
    assert "left out: b: 1 execution of" in said
    found = document_of(tmp_path)["evidence"]
    assert found["systems"][0]["seeds"] == "1..3,7"
    assert found["layout_policy"]["factors"] == ["function-order"]
    assert found["left_out"] == [str(left_out)]


@pytest.mark.parametrize(
    ("compilers", "told"),
    [
        (("gcc 12.2.0", "gcc 12.2.0"), ["built with gcc 12.2.0; GNU ld 2.40"]),
        (("gcc 12.2.0", "clang 14"), ["a: built with gcc 12.2.0; GNU ld 2.40", "c: built with clang 14; GNU ld 2.40"]),
        (("gcc 12.2.0", None), ["a: built with gcc 12.2.0; GNU ld 2.40"]),
        ((None, None), []),
    ],
)
def test_the_evidence_names_compilers_and_linker(tmp_path, compilers, told):
    """What a paper has to say of both systems, without a page of the report."""
    config = make_config('[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n', systems=("a", "c"))
    rows = [
        row for name in ("a", "c") for row in measured(config, tmp_path, name, "b", {k: [[1.0]] for k in (1, 2, 3)})
    ]
    tools = {
        f"capture-of-{name}": {"compilers": compiler, "linker": "GNU ld 2.40", "source": ""}
        for name, compiler in zip(("a", "c"), compilers, strict=True)
        if compiler
    }
    write(config, tmp_path, rows, tools=tools)
    of = evidence(selected(config, tmp_path))
    assert [line for line in sentences(of) if "built with" in line] == told
    first = None if compilers[0] is None else f"{compilers[0]}; GNU ld 2.40"
    assert evidence_json(of)["systems"][0]["built_with"] == first


def test_a_policy_in_words():
    assert policy_words({"factors": ["padding", "function-order"], "classes": "keep", "padding_bytes": 8}) == (
        "padding, function-order; classes keep; padding_bytes 8"
    )
