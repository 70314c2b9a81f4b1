"""`layoutrand warmup`: from recorded iterations to figures, a suggestion, and a setting."""

from __future__ import annotations

import json
import random
import re
from xml.etree import ElementTree as ET

import pytest

from experiments import execution, selected, write
from layoutrand.analysis.warmup_command import MOST_EXECUTIONS, examine, for_benchmarks, warmup_document
from layoutrand.cli import warming
from layoutrand.cli.options import load_config
from layoutrand.config.config import parse
from layoutrand.config.settings import with_warmup
from layoutrand.errors import AnalysisError, UnknownMetric, UsageError
from layoutrand.model import Measurement
from layoutrand.screens.warmup_tables import sparkline
from layoutrand.stats import autocorrelation, suggest_warmup
from warningkit import said

HEAD = """\
# keep this comment
[project]
name = "p"
[build]
commands = ["make"]
artefacts = ["prog"]
[systems.a]
[systems.b]
"""
BENCHMARK = """\
[[benchmarks]]
name = "b"
command = ["{artefact}"]
metric = { regex = "t ([0-9.]+)", name = "time", unit = "ms", warmup = 1 }   # what is printed
"""


def series(seed, *, start=8, n=80, level=100.0, slow=30.0, noise=1.0):
    """A start-up phase of ``start`` slow iterations, then independent ones."""
    chance = random.Random(seed)
    return [level + (slow if k < start else 0) + chance.gauss(0, noise) for k in range(n)]


def iterations(values, metric_name="time", unit="ms"):
    return [Measurement(metric_name, unit, k, value, warmup=k < 1) for k, value in enumerate(values)]


def project(tmp_path, data, text=HEAD + BENCHMARK, **changes):
    """A project with these (system, seed) -> iterations recorded of benchmark b, or name of a number -> iterations."""
    (tmp_path / "layoutrand.toml").write_text(text)
    config = load_config(tmp_path)
    rows = [
        execution(
            config,
            tmp_path,
            system,
            "b",
            seed,
            measurements=tuple(
                row
                for name, own in (values if isinstance(values, dict) else {"time": values}).items()
                for row in iterations(own, **{"metric_name": name, **changes})
            ),
        )
        for (system, seed), values in data.items()
    ]
    write(config, tmp_path, rows)
    return config


def examined(tmp_path, data, metric=None, **changes):
    config = project(tmp_path, data, **changes)
    return examine(selected(config, tmp_path), config, metric)


TWO = {(s, k): series(10 * k + (s == "b"), start=8 if s == "a" else 12) for s in "ab" for k in (1, 2, 3)}


def test_the_start_up_phase_is_found_in_iterations_that_warm_up_left_out(tmp_path):
    """The iteration flagged as warm-up when it was recorded is looked at like any other."""
    a, b = examined(tmp_path, TWO)
    assert (a.system, a.benchmark, a.metric, a.unit, a.in_force, len(a.series[0])) == ("a", "b", "time", "ms", 1, 80)
    assert (a.initialised, a.independent, a.suggested) == (8, 8, 8)
    assert b.suggested == 12
    assert for_benchmarks([a, b]) == {("b", "time"): 12}
    expected = suggest_warmup([TWO["a", k] for k in (1, 2, 3)])
    assert a.p_values == expected.p_values
    assert a.correlations == autocorrelation(TWO["a", 1][8:]).values[1:]


def test_dependent_iterations_give_the_initialised_state_and_say_so(tmp_path):
    """Each iteration is much like the one before it, all the time: no start-up phase, and no independence either."""

    def dependent(seed):
        chance, value = random.Random(seed), 0.0
        for _ in range(200):
            value = 0.9 * value + chance.gauss(0, 0.5)
            yield 100 + value

    (found,) = examined(tmp_path, {("a", k): list(dependent(k)) for k in (1, 2, 3)})
    assert (found.independent, found.initialised, found.suggested) == (None, 0, 0)
    assert any("no independent state within 200 iterations" in warning for warning in said(found.warnings))


def test_too_few_iterations_give_no_suggestion_but_a_reason(tmp_path):
    (found,) = examined(tmp_path, {("a", 1): [3.0, 2.0, 1.0]})
    assert (found.suggested, found.correlations, found.band) == (None, (), None)
    assert any("3 iterations per execution are too few" in warning for warning in said(found.warnings))


@pytest.mark.parametrize(
    ("values", "row", "state"),
    [
        ([2.0, 1.0], ["cannot tell"] * 5, "too few iterations to tell"),
        ([1.0] * 5, ["cannot tell"] * 3 + ["3", "cannot tell"], "too few iterations to tell"),
        ([1.0, 2.0] * 4, ["cannot tell"] * 3 + ["never", "cannot tell"], "too few iterations to tell"),
        (series(1, start=0, n=15), ["0", "0", "cannot tell", "3", "0"], "too few follow to tell whether they depend"),
        (series(1, start=8, n=26), ["8", "8", "cannot tell", "3", "8"], "too few follow to tell whether they depend"),
        ([100 + k / 10 for k in range(60)], ["0", "0", "never", "3", "0"], "but iterations depend on each other"),
    ],
)
def test_what_so_few_iterations_cannot_tell_is_not_said_to_be_never(tmp_path, capsys, values, row, state):
    project(tmp_path, {("a", 1): values})

    assert warming.warmup(directory=tmp_path, plots=False) == 0

    shown = capsys.readouterr()
    (line,) = [line for line in shown.out.splitlines() if line.strip().startswith("b ")]
    assert re.split(r"  +", line.strip())[-5:] == row
    assert state in shown.out
    assert ("once start-up is over, after 8 of them: too few follow" in shown.err) is (len(values) == 26)
    assert ("no independent state within" in shown.err) is ("never" == row[2])


def test_a_throughput_warms_up_from_below(tmp_path):
    text = HEAD + BENCHMARK.replace('unit = "ms"', 'unit = "1/s", better = "more"')
    data = {key: [1e6 / value for value in values] for key, values in TWO.items()}
    a, _b = examined(tmp_path, data, text=text, unit="1/s")
    assert a.suggested == 8
    assert a.series[0][0] == pytest.approx(1e6 / TWO["a", 1][0])


def test_many_executions_are_as_many_as_the_tests_can_be_corrected_for(tmp_path):
    (found,) = examined(tmp_path, {("a", k): series(k) for k in range(1, MOST_EXECUTIONS + 6)})
    assert (len(found.series), found.n_recorded) == (MOST_EXECUTIONS, MOST_EXECUTIONS + 5)
    assert found.suggested == 8


def test_a_number_can_be_chosen_and_must_exist(tmp_path):
    text = HEAD + BENCHMARK.replace("warmup = 1 }", "printed = [{ name = 'other', regex = '(x)' }] }")
    (found,) = examined(tmp_path, {("a", 1): series(1)}, text=text)
    assert found.metric == "time"
    config = parse(text, path="x")
    with pytest.raises(AnalysisError, match="iterations of a number called 'other'"):
        examine(selected(config, tmp_path), config, "other")
    with pytest.raises(UnknownMetric, match="no benchmark prints a number called 'othr'; there are .*'other'"):
        examine(selected(config, tmp_path), config, "othr")


def test_the_document_is_json_and_names_the_figure(tmp_path):
    found = examined(tmp_path, TWO)
    document = json.loads(json.dumps(warmup_document(found, "h", "figures/{}.svg".format), allow_nan=False))
    assert document["schema"] == "layoutrand/warmup/1"
    assert [(b["system"], b["suggested"], b["warmup"], b["figure"]) for b in document["benchmarks"]] == [
        ("a", 8, 1, "figures/b.svg"),
        ("b", 12, 1, "figures/b.svg"),
    ]
    assert document["suggestions"] == [{"benchmark": "b", "metric": "time", "warmup": 12}]


def test_one_system_without_a_steady_state_leaves_the_benchmark_without_a_suggestion(tmp_path):
    found = examined(tmp_path, {("a", 1): series(1), ("b", 1): [1.0, 2.0]})
    assert for_benchmarks(found) == {("b", "time"): None}


# --- the command -------------------------------------------------------------------------------------------------


def test_people_read_labels_and_programs_names(tmp_path, capsys):
    labelled = BENCHMARK.replace('name = "b"\n', 'name = "b"\nlabel = "a long sum"\n')
    project(tmp_path, TWO, HEAD.replace("[systems.a]\n", '[systems.a]\nlabel = "GCC 12"\n') + labelled)
    assert warming.warmup(directory=tmp_path, plots=False) == 0
    assert "\na long sum, GCC 12, time: " in capsys.readouterr().out
    assert "GCC 12" in (tmp_path / ".layoutrand" / "warmup" / "b.svg").read_text()
    assert warming.warmup(directory=tmp_path, json=True) == 0
    assert [row["system"] for row in json.loads(capsys.readouterr().out)["benchmarks"]] == ["a", "b"]


def test_the_command_draws_a_figure_and_changes_nothing(tmp_path, capsys):
    project(tmp_path, TWO)
    before = (tmp_path / "layoutrand.toml").read_text()
    assert warming.warmup(directory=tmp_path) == 0
    shown = capsys.readouterr()
    assert "iterations look independent from number 8 on" in shown.out
    assert "a suggestion only" in shown.err
    root = ET.fromstring((tmp_path / ".layoutrand" / "warmup" / "b.svg").read_text())
    titles = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    for system in "ab":
        assert {f"{system}: run sequence", f"{system}: lag 1, from iteration {8 if system == 'a' else 12} on"} <= set(
            titles
        )
    assert len(root.findall(".//{http://www.w3.org/2000/svg}polyline")) == 6
    assert (tmp_path / "layoutrand.toml").read_text() == before


def test_figures_of_short_and_constant_series_are_drawn_too(tmp_path):
    project(tmp_path, {("a", 1): [5.0] * 30, ("b", 1): [1.0, 2.0]})
    assert warming.warmup(directory=tmp_path, figures=tmp_path / "pictures", quiet=True) == 0
    root = ET.fromstring((tmp_path / "pictures" / "b.svg").read_text())
    assert len(root.findall("{http://www.w3.org/2000/svg}g")) == 4  # three panels, and one alone


def test_write_sets_the_warm_up_and_leaves_the_rest_of_the_file(tmp_path, capsys):
    config = project(tmp_path, TWO)
    assert warming.warmup(directory=tmp_path, write=True) == 0
    text = (tmp_path / "layoutrand.toml").read_text()
    assert text == (HEAD + BENCHMARK).replace("warmup = 1", "warmup = 12")
    assert "b: metric.warmup = 12 written to" in capsys.readouterr().err
    now = parse(text, path="x")
    (sample,) = [s for s in selected(now, tmp_path).samples if s.system == "a"]
    assert sample.binaries[0][1] == (tuple(TWO["a", 1][12:]),)
    assert now != config


def test_write_leaves_a_benchmark_without_a_suggestion_alone(tmp_path, capsys):
    project(tmp_path, {("a", 1): series(1), ("b", 1): [1.0, 2.0]})
    assert warming.warmup(directory=tmp_path, write=True) == 0
    assert (tmp_path / "layoutrand.toml").read_text() == HEAD + BENCHMARK
    shown = capsys.readouterr()
    assert "b: nothing written, because one of its systems has too few iterations to tell" in shown.err
    assert "never" not in shown.out


def test_a_place_that_cannot_be_written_is_an_error_that_names_it(tmp_path):
    project(tmp_path, TWO)
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write into .*file.*--figures names another place"):
        warming.warmup(directory=tmp_path, figures=tmp_path / "file", quiet=True)


def test_a_benchmark_without_iterations_is_an_error_that_says_how_to_have_some(tmp_path):
    text = HEAD + '[[benchmarks]]\nname = "b"\ncommand = ["x"]\n'
    with pytest.raises(AnalysisError, match="no benchmark has recorded iterations of any number that it prints"):
        examined(tmp_path, {("a", 1): [1.0]}, text=text, metric_name="wall_s", unit="s")


def test_executions_may_differ_in_length(tmp_path):
    data = {("a", 1): series(1), ("a", 2): series(2, n=60), ("a", 3): series(3, n=90)}
    (found,) = examined(tmp_path, data)
    assert (found.suggested, [len(values) for values in found.series]) == (8, [80, 60, 90])


METRICS = {
    "inline": "metric = { regex = '(x)' }",
    "table": "[benchmarks.metric]\nregex = '(x)'",
    "dotted": "metric.regex = '(x)'",
}


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_the_setting_goes_where_the_metric_is(metric):
    two = "".join(f'[[benchmarks]]\nname = "{name}"\ncommand = ["x"]\n{metric}\n' for name in "bc")
    changed = parse(with_warmup(HEAD + two, "c", 7, printed=None), path="x")
    assert [benchmark.metric.warmup for benchmark in changed.benchmarks] == [0, 7]


def test_a_number_with_a_warm_up_of_its_own_has_that_one_set():
    metric = (
        "metric = { warmup = 1, printed = [{ name = 'n', regex = '(x)', warmup = 2 }, { name = 'm', regex = '(y)' }] }"
    )
    text = HEAD + f'[[benchmarks]]\nname = "b"\ncommand = ["x"]\n{metric}\n'
    (benchmark,) = parse(with_warmup(text, "b", 7, printed="n"), path="x").benchmarks
    assert (benchmark.metric.warmup, [number.warmup for number in benchmark.metric.printed]) == (1, [7, None])


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ([1.0], "▁"),
        ([2.0, 2.0], "▁▁"),
        ([0.0, 7.0], "▁█"),
        (list(range(8)), "▁▂▃▄▅▆▇█"),
        ([1.0] * 40 + [9.0] * 40, "▁" * 20 + "█" * 20),
    ],
)
def test_a_run_sequence_in_one_line(values, line):
    assert sparkline(values) == line


HARNESS = """\
[[benchmarks]]
name = "b"
command = ["{artefact}"]
harness = "jmh"
"""


def test_iterations_of_a_harness_are_looked_at_case_by_case_and_set_for_its_entry(tmp_path, capsys):
    data = {
        (system, seed): {
            f"p.C/{case} :: time_s": series(seed + start, start=start) for case, start in (("quick", 6), ("slow", 9))
        }
        for system in "ab"
        for seed in (1, 2, 3)
    }
    config = project(tmp_path, data, HEAD + HARNESS, unit="s")
    found = examine(selected(config, tmp_path), config, None)
    assert {(each.benchmark, each.metric, each.suggested) for each in found} == {
        ("b/p.C/quick", "time_s", 6),
        ("b/p.C/slow", "time_s", 9),
    }
    with pytest.raises(UnknownMetric, match="there are time_s"):
        examine(selected(config, tmp_path), config, "each_case")

    assert warming.warmup(directory=tmp_path, write=True) == 0
    assert "b: metric.warmup = 9 written to" in capsys.readouterr().err
    assert len(list((tmp_path / ".layoutrand/warmup").glob("b-p.C-*.svg"))) == 2
    now = load_config(tmp_path)
    assert now.benchmarks[0].metric.warmup == 9
    assert {each.in_force for each in examine(selected(now, tmp_path), now, None)} == {9}
