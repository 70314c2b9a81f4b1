"""A system compared with itself."""

from __future__ import annotations

import dataclasses
import json
import math
import random

import pytest
from scipy.stats import t

from experiments import execution, measured, write
from fakes import make_config
from layoutrand.analysis.aa import (
    aa_document,
    alarms,
    compare_halves,
    compare_with_itself,
    of_second_executions,
    of_seeds,
)
from layoutrand.analysis.asked_results import Question
from layoutrand.analysis.compare import compare
from layoutrand.analysis.conclusion import of_pair, of_suite
from layoutrand.analysis.second_executions import with_second_executions
from layoutrand.analysis.selection import select
from layoutrand.cli import run
from layoutrand.cli.running import show_aa
from layoutrand.cli.terminal import Terminal
from layoutrand.config.config import parse
from layoutrand.config.twice import second_of, second_seed
from layoutrand.errors import AnalysisError
from layoutrand.model import Measurement
from layoutrand.results.file import open_for_reading, results_path
from layoutrand.screens.self_comparison import beside_lines
from warningkit import unwrapped

CONFIG = make_config('[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n', systems=("a",))
AGAIN = second_of("a")


def executed(project, values, *, system="a", start=0.0, step=10.0, capture="capture-of-a", metric="wall_s", **changes):
    """An execution in each round of these (seed -> value), rounds one after the other."""
    rows = []
    for place, (seed, value) in enumerate(values.items()):
        layout = second_seed(seed) if system == AGAIN else seed
        rows.append(
            execution(
                CONFIG,
                project,
                "a",
                "b",
                layout,
                **{
                    "round": seed,
                    "started_at": start + step * place,
                    "capture": capture,
                    "binary_sha256": f"sha-{layout}-{capture}",
                    "measurements": (Measurement(metric, "s", 0, float(value), warmup=False),),
                    **changes,
                },
            )
        )
    return [dataclasses.replace(row, system=system) for row in rows]


def chosen(project, config=CONFIG, systems=()):
    """The present results, and again with what was executed a second time."""
    question = Question(config=config, project=project, systems=systems, benchmarks=[], captures={}, host=None)
    with open_for_reading(results_path(project)) as store:
        found = select(question, store)
        return found, with_second_executions(found, question, store)


def recorded(project, rows, config=CONFIG):
    """Their selections; the last call had every system that there are executions of."""
    write(
        config.model_copy(update={"systems": {name: config.systems["a"] for name in {e.system for e in rows}}}),
        project,
        rows,
    )
    return chosen(project, config)


@pytest.fixture(autouse=True)
def captures_are_recorded(monkeypatch):
    """Of a call whose systems were executed twice, as `run --twice` records it."""
    from layoutrand.execute import experiment as experiments

    whole = experiments.current_context
    captures = dict.fromkeys(("a", AGAIN, "b", second_of("b")), "capture-of-a")
    monkeypatch.setattr(
        experiments, "current_context", lambda config, **more: whole(config, **{**more, "captures": captures})
    )


def row_of(selection, **options):
    rows = compare_with_itself(selection, confidence=0.95, **options)
    json.dumps(aa_document(rows), allow_nan=False)
    return rows


def test_neighbouring_rounds_stand_for_two_systems_of_a_round(tmp_path):
    """A machine that becomes slower all the time does not make rounds differ; its halves it does."""
    chance = random.Random(3)
    values = {seed: (1 + 0.02 * seed) * (1 + 0.002 * chance.gauss(0, 1)) for seed in range(1, 31)}
    selection, _ = recorded(tmp_path, executed(tmp_path, values))
    beside, in_time = row_of(selection)

    assert (beside.sides, beside.n_each, beside.is_alarm) == ("neighbouring rounds", 15, False)
    assert (in_time.sides, in_time.n_each, in_time.is_alarm) == ("first and second half", 15, True)
    assert in_time.ratio.centre == pytest.approx(1.46 / 1.16, abs=0.01)
    assert (in_time.noise_floor, in_time.verdict) == (None, "undecided")
    halves = compare_halves(selection, "a", confidence=0.95, threshold=0.01, metric=None)
    for first, second in zip(halves.first, halves.second, strict=True):
        assert abs(first - second) == 1 and (min(first, second) - 1) % 2 == 0
    assert sum(first < second for first, second in zip(halves.first, halves.second, strict=True)) not in {0, 15}


def test_the_noise_floor_is_that_of_as_many_rounds_as_there_are(tmp_path):
    """Student's t of the pairs' logarithms, over the square root of the rounds."""
    chance = random.Random(4)
    values = {seed: math.exp(0.02 * chance.gauss(0, 1)) for seed in range(1, 21)}
    row, _ = row_of(recorded(tmp_path, executed(tmp_path, values))[0])
    logs = [math.log(values[seed] / values[seed + 1]) for seed in range(1, 21, 2)]
    signs = compare_halves(chosen(tmp_path)[0], "a", confidence=0.95, threshold=0.0, metric=None).first
    signed = [log if seed in signs else -log for seed, log in zip(range(1, 21, 2), logs, strict=True)]
    mean = sum(signed) / 10
    sd = math.sqrt(sum((each - mean) ** 2 for each in signed) / 9)
    assert row.n_floor == 20
    assert row.could_miss == pytest.approx(1 - 0.05 ** (1 / 20))
    assert row.noise_floor == pytest.approx(math.expm1(t.ppf(0.975, 9) * sd / math.sqrt(20)))


def test_of_too_few_rounds_there_is_no_noise_floor(tmp_path):
    """What happens once in a while is not in them, and would be in the next."""
    selection, _ = recorded(tmp_path, executed(tmp_path, {seed: 1 + 0.001 * seed % 0.007 for seed in range(1, 20)}))
    beside, in_time = row_of(selection)
    assert (beside.n_each, beside.noise_floor, beside.has_too_few) == (9, None, True)
    assert (in_time.noise_floor, in_time.has_too_few) == (None, False)
    assert (beside.could_miss, in_time.could_miss) == (None, None)


def test_a_system_that_was_executed_twice_is_compared_as_two(tmp_path):
    chance = random.Random(5)
    first = {seed: 1 + 0.01 * chance.gauss(0, 1) for seed in range(1, 13)}
    second = {seed: 1 + 0.01 * chance.gauss(0, 1) for seed in range(1, 13)}
    rows = executed(tmp_path, first) + executed(tmp_path, second, system=AGAIN, start=3.0)
    plain, both = recorded(tmp_path, rows)
    assert [sample.system for sample in plain.samples] == ["a"]
    assert [str(each) for each in plain.left_out] == [
        "a: left out 12 executions of its second time (`run --twice`), which `compare a a` is of"
    ]
    assert both.left_out == ()
    assert [sample.system for sample in both.samples] == ["a", AGAIN]

    halves = compare_halves(both, "a", confidence=0.95, threshold=0.01, metric=None)
    (pair,) = halves.comparison.benchmarks
    logs = [math.log(second[seed] / first[seed]) for seed in first]
    assert (halves.sides, pair.primary, pair.n_pairs) == ("executed twice", "paired", 12)
    assert halves.second == tuple(second_seed(seed) for seed in first)
    assert pair.ratio.centre == pytest.approx(math.exp(sum(logs) / 12))
    assert halves.noise[0].noise_floor == pytest.approx(math.sqrt(pair.ratio.high / pair.ratio.low) - 1)
    assert [row.sides for row in of_second_executions(both, confidence=0.95, threshold=0.01, metric=None)] == [
        "executed twice"
    ]
    assert of_second_executions(plain, confidence=0.95, threshold=0.01, metric=None) == []


def test_beside_a_comparison_both_systems_stand_against_themselves(tmp_path, capsys):
    chance = random.Random(6)
    config = make_config('[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n', systems=("a", "b"))
    rows = []
    for place, system in enumerate(("a", "b", AGAIN, second_of("b"))):
        own = executed(
            tmp_path, {seed: 1 + 0.01 * chance.gauss(0, 1) for seed in range(1, 11)}, system=AGAIN if place > 1 else "a"
        )
        rows += [dataclasses.replace(row, system=system, started_at=row.started_at + place) for row in own]
    write(config, tmp_path, rows)
    (tmp_path / "layoutrand.toml").write_text(
        '[project]\nname = "fake"\n[build]\ncommands = ["make"]\nartefacts = ["prog"]\n[systems.a]\n[systems.b]\n'
        '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'
    )
    run(["compare", "a", "b", "--any-source", "-C", str(tmp_path), "--json"])
    document = json.loads(capsys.readouterr().out)
    assert [(row["system"], row["sides"], row["n_each"]) for row in document["aa"]["noise_floor"]] == [
        ("a", "executed twice", 10),
        ("b", "executed twice", 10),
    ]
    assert (document["baseline"], document["candidate"]) == ("a", "b")
    run(["compare", "a", "b", "--any-source", "-C", str(tmp_path)])
    first = " ".join(capsys.readouterr().out.split())
    assert "A/A: " not in first  # which is for --full: it had a line of each benchmark and system below a whole screen
    assert "Each system against itself: 0 of 2 intervals find a difference." in first
    assert "no farther apart): b of a ± " in first and ", b of b ± " in first
    assert "left out" not in first  # these lines are what it was executed twice for
    assert first.index("Noise floor") < first.index("Next:")
    text = (tmp_path / "layoutrand.toml").read_text()
    (tmp_path / "layoutrand.toml").write_text(text.replace("[systems.a]", '[systems.a]\nlabel = "gcc"'))
    run(["compare", "a", "b", "--any-source", "-C", str(tmp_path)])
    labelled = " ".join(capsys.readouterr().out.split())
    assert "b of gcc ± " in labelled and "left out" not in labelled
    (tmp_path / "layoutrand.toml").write_text(text)
    run(["compare", "a", "b", "--any-source", "--full", "-C", str(tmp_path)])
    shown = capsys.readouterr()
    assert "A/A: each system against itself" in shown.out
    assert "a: left out 10 executions of its second time" in shown.err


def test_what_systems_executed_twice_say_of_a_comparison_takes_few_lines(tmp_path):
    """Of many benchmarks as of one, and an alarm is told as what casts doubt."""
    values = {seed: 1.0 + 0.01 * (seed % 3) for seed in range(1, 21)}
    late = {seed: 1.3 * value for seed, value in values.items()}
    rows = executed(tmp_path, values) + executed(tmp_path, late, system=AGAIN, start=90_000.0)
    _, both = recorded(tmp_path, rows)
    (apart,) = of_second_executions(both, confidence=0.95, threshold=0.01, metric=None)
    assert apart.sides == "executed apart"
    lines = beside_lines([dataclasses.replace(apart, benchmark=f"b{n}") for n in range(20)], 0.95, 60)
    assert len(lines) <= 2
    said = " ".join("".join(text for text, _ in line).strip() for line in lines)
    assert said == "⚠ Each system against itself, executed at another time: 20 of 20 intervals find a difference."


def test_a_false_alarm_is_told_alike_by_the_row_and_by_the_conclusion(tmp_path):
    """A constant difference between one system and itself: `same program`, and an alarm that is called false."""
    first = {seed: 1 + 0.001 * seed for seed in range(1, 9)}
    slower = {seed: 1.1 * value * (1 + 0.0001 * (seed % 2)) for seed, value in first.items()}
    rows = executed(tmp_path, first) + executed(tmp_path, slower, system=AGAIN, start=3.0)
    _, both = recorded(tmp_path, rows)
    halves = compare_halves(both, "a", confidence=0.95, threshold=0.01, metric=None)
    (pair,) = halves.comparison.benchmarks
    concluded = of_pair(halves.comparison, pair)
    assert (concluded.verdict, of_suite(halves.comparison).verdict) == ("same program", "same program")
    assert "false alarm" in [reason.cause for reason in concluded.reasons]
    assert "look at the program" not in [step.kind for step in concluded.next]
    assert (halves.noise[0].is_alarm, halves.noise[0].verdict) == (True, "slower")
    assert alarms(halves.noise, in_time=False) == (1, 1)
    # The same two, compared as any two systems are, are found to be one program by their capture.
    (known,) = compare(both, "a", AGAIN, confidence=0.95, threshold=0.01, metric=None).benchmarks
    assert known.same_program is not None


def test_second_executions_of_another_capture_are_none(tmp_path):
    """The source changed between `run --twice` and `run`: what was executed twice is not the present program."""
    old = {"capture": "earlier"}
    values = {seed: 1.0 + seed % 3 for seed in range(1, 9)}
    rows = executed(tmp_path, values) + executed(tmp_path, values, system=AGAIN, start=-900.0, **old)
    _, both = recorded(tmp_path, rows)
    halves = compare_halves(both, "a", confidence=0.95, threshold=0.01, metric=None)
    assert halves.sides == "neighbouring rounds"


def test_executed_the_second_time_on_another_day_there_is_no_verdict_and_no_floor(tmp_path):
    """That is no comparison in rounds, and `compare` says so of two systems, too."""
    values = {seed: 1.0 + 0.01 * (seed % 3) for seed in range(1, 21)}
    rows = executed(tmp_path, values)
    rows += executed(tmp_path, {seed: 1.3 * value for seed, value in values.items()}, system=AGAIN, start=90_000.0)
    _, both = recorded(tmp_path, rows)
    rows = row_of(both)
    assert [row.sides for row in rows] == ["neighbouring rounds", "executed apart", "first and second half"]
    apart = rows[1]
    assert (apart.is_alarm, apart.verdict, apart.noise_floor) == (True, "undecided", None)
    assert (alarms(rows, in_time=False), alarms(rows, in_time=True)) == ((0, 1), (1, 2))


def test_only_the_rounds_that_were_executed_twice_are_compared(tmp_path):
    values = {seed: 1.0 + 0.01 * (seed % 3) for seed in range(1, 21)}
    again = {seed: values[seed] + 0.001 * seed for seed in (3, 4, 5, 6, 7)}
    rows = executed(tmp_path, values) + [
        dataclasses.replace(row, started_at=10.0 * (row.round - 1) + 3.0)
        for row in executed(tmp_path, again, system=AGAIN)
    ]
    _, both = recorded(tmp_path, rows)
    row = row_of(both)[0]
    assert (row.sides, row.n_each, row.n_floor) == ("executed twice", 5, 5)
    assert row_of(of_seeds(both, [3, 4, 5, 6]))[0].n_each == 4


def test_binaries_that_do_not_differ_have_no_noise(tmp_path):
    """The ratio is 1 and no interval misses it."""
    selection, _ = recorded(tmp_path, executed(tmp_path, dict.fromkeys(range(1, 7), 5.0)))
    for row in row_of(selection):
        assert (row.ratio.centre, row.is_alarm) == (1.0, False)


def test_an_odd_binary_is_left_out(tmp_path):
    """Both sides are of one size, so neither is known better."""
    selection, _ = recorded(tmp_path, executed(tmp_path, {seed: 5.0 + seed for seed in range(1, 8)}))
    assert [row.n_each for row in row_of(selection)] == [3, 3]


def test_neighbours_are_of_one_node(tmp_path):
    """What differs between nodes is no difference of the system from itself."""
    values = {seed: (2.0 if seed % 2 else 1.0) * (1 + 0.001 * (seed % 5)) for seed in range(1, 25)}
    rows = [dataclasses.replace(e, node="fast" if e.round % 2 == 0 else "slow") for e in executed(tmp_path, values)]
    selection, _ = recorded(tmp_path, rows)
    beside, in_time = row_of(selection)
    assert beside.n_each == 12
    for row in (beside, in_time):
        assert row.ratio.centre == pytest.approx(1, abs=0.01)


def in_order(order):
    """The configuration, executed in another order."""
    return CONFIG.model_copy(update={"run": CONFIG.run.model_copy(update={"order": order})})


def test_systems_that_are_executed_one_after_the_other_are_halves_of_the_time(tmp_path):
    """`compare` gives no verdict on such systems, and neither has a floor."""
    values = {seed: (1 + 0.02 * seed) * (1 + 0.001 * (seed % 3)) for seed in range(1, 31)}
    selection, _ = recorded(tmp_path, executed(tmp_path, values), in_order("sequential"))
    halves = compare_halves(selection, "a", confidence=0.95, threshold=0.01, metric=None)
    (row,) = halves.noise
    assert (row.sides, row.is_alarm, row.verdict, row.noise_floor) == ("first and second half", True, "undecided", None)
    assert (halves.first, halves.second) == (tuple(range(1, 16)), tuple(range(16, 31)))


def test_of_rounds_in_random_order_neighbours_are_next_by_seed(tmp_path):
    """Two systems of such a round are executed at any two times, so the drift between them is in the noise."""
    order = list(range(1, 31))
    random.Random(8).shuffle(order)
    values = {seed: 1 + 0.02 * place for place, seed in enumerate(order)}
    rows = executed(tmp_path, values)
    floors = {}
    for name in ("blocks", "random"):
        selection, _ = recorded(tmp_path / name, rows, in_order(name))
        floors[name] = row_of(selection)[0].noise_floor
    assert floors["random"] > 5 * floors["blocks"]


def test_of_the_seeds_asked_for_alone(tmp_path):
    """`run --aa --seeds 4` judges four binaries, however many are recorded."""
    selection, _ = recorded(tmp_path, executed(tmp_path, {seed: 5.0 + seed for seed in range(1, 31)}))
    row = row_of(of_seeds(selection, [1, 2, 3, 4]))[0]
    assert (row.n_each, row.n_floor) == (2, 4)
    assert row_of(selection)[0].n_each == 15
    with pytest.raises(AnalysisError, match="at least 4 binaries"):
        row_of(of_seeds(selection, [1, 2, 3]))


def test_of_the_rounds_asked_for_where_there_is_one_layout(tmp_path):
    text = (
        '[project]\nname = "p"\n[build]\nartefacts = ["prog"]\n[systems.a]\nprebuilt = "old"\n'
        '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'
    )
    config = parse(text, path="layoutrand.toml")
    write(config, tmp_path, measured(config, tmp_path, "a", "b", {"stock": [[1.0 + k] for k in range(12)]}))
    assert row_of(of_seeds(chosen(tmp_path, config)[0], range(1, 9)))[0].n_each == 4


def test_the_same_results_give_the_same_rows(tmp_path):
    values = {seed: 5.0 + seed % 3 for seed in range(1, 9)}
    one, other = (recorded(tmp_path / name, executed(tmp_path / name, values))[0] for name in "xy")
    assert row_of(one) == row_of(other)


def test_intervals_without_bounds_are_null_in_json_and_words_in_the_table(tmp_path, capsys):
    """Two binaries a side that differ much: the mean of a side may be 0, so the ratio of the halves has no bounds."""
    selection, _ = recorded(tmp_path, executed(tmp_path, {1: 1.0, 2: 90.0, 3: 2.0, 4: 80.0}))
    rows = row_of(selection)
    _, in_time = aa_document(rows)
    show_aa(rows, 0.95, Terminal(json=False, quiet=False))
    shown = capsys.readouterr().out

    assert (in_time["interval"], in_time["noise_floor"]) == ([None, None], None)
    assert "without bounds" in shown
    assert "inf" not in shown


def test_digits_are_no_finer_than_the_interval(tmp_path, capsys):
    chance = random.Random(7)
    values = {seed: 1 + 0.05 * chance.gauss(0, 1) for seed in range(1, 31)}
    show_aa(row_of(recorded(tmp_path, executed(tmp_path, values))[0]), 0.95, Terminal(json=False, quiet=False))
    shown = unwrapped(capsys.readouterr().out)
    (line,) = [line for line in shown.splitlines() if "neighbouring rounds" in line]
    assert "noise floor: what happens to fewer than 10 % of executions may have been missed" in shown
    assert "0.997  [0.968, 1.028]     no  ± 2.1 % (30 rounds)" in line
    assert (
        "find a difference of a system from itself: 0 of 1, where 5 % are to be expected by chance; so few tell little of how often"
        in shown
    )


def test_a_mean_of_nothing_has_no_ratio(tmp_path):
    selection, _ = recorded(tmp_path, executed(tmp_path, dict.fromkeys(range(1, 7), 0.0)))
    rows = row_of(selection)
    assert [(row.ratio, row.is_alarm, row.noise_floor) for row in rows] == [(None, False, None)] * 2
    assert [each["alarm"] for each in aa_document(rows)] == [None, None]


def test_too_few_binaries(tmp_path):
    """The message says what to execute."""
    with pytest.raises(AnalysisError, match="at least 4 binaries.*run --twice --seeds 10"):
        row_of(recorded(tmp_path, executed(tmp_path, {1: 1.0, 2: 1.1, 3: 1.2}))[0])
