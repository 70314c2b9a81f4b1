"""A system compared with itself."""

from __future__ import annotations

import json
import random

import pytest

from experiments import measured, selected, write
from fakes import make_config
from layoutrand.analysis.aa import aa_document, compare_with_itself, of_seeds
from layoutrand.cli.running import show_aa
from layoutrand.cli.terminal import Terminal
from layoutrand.config.config import parse
from layoutrand.errors import AnalysisError

CONFIG = make_config('[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n', systems=("a",))


def compared(tmp_path, data, **options):
    write(CONFIG, tmp_path, measured(CONFIG, tmp_path, "a", "b", data))
    rows = compare_with_itself(selected(CONFIG, tmp_path), confidence=0.95, **options)
    json.dumps(aa_document(rows), allow_nan=False)
    (row,) = rows
    return row


def test_halves_of_one_population_raise_alarms_about_as_often_as_promised(tmp_path):
    """Normal layouts, 40 binaries, 400 divisions: the share of alarms is near 5 %, and cannot be 0 or 20 %."""
    chance = random.Random(3)
    row = compared(tmp_path, {seed: [[chance.gauss(100, 2)]] for seed in range(40)}, splits=400)

    assert (row.n_each, row.n_splits) == (20, 400)
    assert 4 <= row.n_alarms <= 44
    # t(0.975, 38) * 2 % * sqrt(2 / 20) is 1.28 %
    assert row.half_width == pytest.approx(0.0128, rel=0.25)


def test_binaries_that_do_not_differ_have_no_noise(tmp_path):
    """The ratio is 1 and no interval misses it."""
    row = compared(tmp_path, {seed: [[5.0]] for seed in range(6)})

    assert (row.ratio.centre, row.half_width, row.n_alarms) == (1.0, 0.0, 0)


def test_an_odd_binary_is_left_out(tmp_path):
    """Both halves are of one size, so neither side is known better."""
    assert compared(tmp_path, {seed: [[5.0 + seed]] for seed in range(7)}).n_each == 3


def test_of_the_seeds_asked_for_alone(tmp_path):
    """`run --aa --seeds 4` judges four binaries, however many are recorded."""
    write(CONFIG, tmp_path, measured(CONFIG, tmp_path, "a", "b", {seed: [[5.0 + seed]] for seed in range(1, 31)}))
    everything = selected(CONFIG, tmp_path)
    (row,) = compare_with_itself(of_seeds(everything, [1, 2, 3, 4]), confidence=0.95)

    assert row.n_each == 2
    assert 5.5 / 8.5 < row.ratio.centre < 8.5 / 5.5
    assert compare_with_itself(everything, confidence=0.95)[0].n_each == 15
    with pytest.raises(AnalysisError, match="at least 4 binaries"):
        compare_with_itself(of_seeds(everything, [1, 2, 3]), confidence=0.95)


def test_of_the_rounds_asked_for_where_there_is_one_layout(tmp_path):
    text = (
        '[project]\nname = "p"\n[build]\nartefacts = ["prog"]\n[systems.a]\nprebuilt = "old"\n'
        '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'
    )
    config = parse(text, path="layoutrand.toml")
    write(config, tmp_path, measured(config, tmp_path, "a", "b", {"stock": [[1.0 + k] for k in range(12)]}))
    (row,) = compare_with_itself(of_seeds(selected(config, tmp_path), range(1, 9)), confidence=0.95)
    assert row.n_each == 4


def test_the_same_results_give_the_same_rows(tmp_path):
    """Divisions depend on nothing but their number and the seeds."""
    data = {seed: [[5.0 + seed % 3], [5.1]] for seed in range(8)}

    assert compared(tmp_path / "x", data) == compared(tmp_path / "y", data)


def test_intervals_without_bounds_are_null_in_json_and_words_in_the_table(tmp_path, capsys):
    """Two binaries a side that differ much: the mean of a side may be 0, so most ratios have no bounds."""
    row = compared(tmp_path, {1: [[1.0]], 2: [[90.0]], 3: [[2.0]], 4: [[80.0]]})
    (document,) = aa_document([row])
    show_aa([row], 0.95, Terminal(json=False, quiet=False))
    shown = capsys.readouterr().out

    assert (document["interval"], document["half_width"]) == ([None, None], None)
    assert "without bounds" in shown
    assert "inf" not in shown


def test_too_few_binaries(tmp_path):
    """The message says what to execute."""
    with pytest.raises(AnalysisError, match="at least 4 binaries.*run --aa --seeds 10"):
        compared(tmp_path, {1: [[1.0]], 2: [[1.1]], 3: [[1.2]]})
