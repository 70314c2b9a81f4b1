"""``[[warmup]]``: which entry holds where, what it changes and what it does not, and how it is written."""

from __future__ import annotations

import dataclasses
import json
import sys

import pytest

from executekit import Project
from experiments import execution, selected, write
from fakes import make_binary, make_config
from layoutrand.analysis.warmup_choice import Scope, choose_suggested
from layoutrand.analysis.warmup_command import Warmup
from layoutrand.cli import warming
from layoutrand.config.config import parse
from layoutrand.config.settings import with_chosen_warmup
from layoutrand.config.warmup_choices import ChosenWarmup, InForce, WarmupScope, warmups_in_force
from layoutrand.errors import ConfigError, UsageError
from layoutrand.execute import experiment as experiments
from layoutrand.model import Measurement
from layoutrand.report.braille import ASCII, HEIGHT, beside
from layoutrand.report.warmup_figure import pairs
from warningkit import said

HEAD = """\
# keep this comment
[project]
name = "p"
[build]
commands = ["make"]
artefacts = ["prog"]
[systems.jvm-a]
[systems.jvm-b]
[[benchmarks]]
name = "b"
command = ["{artefact}"]
metric = { regex = "t ([0-9.]+)", name = "time", warmup = 1 }   # what is printed
# the end
"""
HERE = "[[warmup]]\nbenchmark = 'b'\niterations = {}\n"


def config_with(entries, head=HEAD):
    return parse(head + entries, path="layoutrand.toml")


def entry(iterations, **keys):
    return ChosenWarmup(benchmark=keys.pop("benchmark", "b"), iterations=iterations, **keys)


EVERY = (entry(2), entry(3, host="h"), entry(4, system="s"), entry(5, host="h", system="s"), entry(9, benchmark="c"))


@pytest.mark.parametrize(
    ("system", "host", "expected"),
    [
        ("s", "h", InForce(5, "warmup[3].iterations")),
        ("s", "other", InForce(4, "warmup[2].iterations")),
        ("other", "h", InForce(3, "warmup[1].iterations")),
        ("other", "other", InForce(2, "warmup[0].iterations")),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_the_most_specific_entry_holds_wherever_it_stands(system, host, expected, turned):
    entries = EVERY[::-1] if turned else EVERY
    (benchmark,) = config_with("").benchmarks
    found = warmups_in_force(entries, benchmark.metric, WarmupScope("b", system, host))["time"]
    assert found.iterations == expected.iterations
    assert turned or found == expected


def test_a_system_counts_more_than_a_host():
    (benchmark,) = config_with("").benchmarks
    found = warmups_in_force(EVERY[1:3], benchmark.metric, WarmupScope("b", "s", "h"))
    assert found == {"time": InForce(4, "warmup[1].iterations")}


def test_without_an_entry_the_metric_says_it_or_the_default():
    place = WarmupScope("b", "jvm-a", "h")
    (benchmark,) = config_with("").benchmarks
    assert warmups_in_force((), benchmark.metric, place) == {"time": InForce(1, "metric.warmup")}
    (benchmark,) = config_with("", HEAD.replace(", warmup = 1", "")).benchmarks
    assert warmups_in_force(EVERY[4:], benchmark.metric, place) == {"time": InForce(0, "default")}


def test_a_number_with_a_warm_up_of_its_own_keeps_it():
    head = HEAD.replace("warmup = 1", "printed = [{ name = 'total', regex = 'all (.*)', warmup = 0 }]")
    (benchmark,) = config_with("", head).benchmarks
    assert warmups_in_force([entry(7)], benchmark.metric, WarmupScope("b", "jvm-a", "h")) == {
        "time": InForce(7, "warmup[0].iterations"),
        "total": InForce(0, "metric.printed[0].warmup"),
    }


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ("benchmark = 'bb'\niterations = 1", "warmup[0].benchmark: no benchmark called 'bb'; did you mean 'b'?"),
        (
            "benchmark = 'b'\niterations = 1\nsystem = 'jvm-c'",
            "warmup[0].system: no system called 'jvm-c'; did you mean 'jvm-b'?",
        ),
        (
            "benchmark = 'b'\niterations = 1\nsystem = 'zzz'",
            "warmup[0].system: no system called 'zzz'; there are jvm-a, jvm-b",
        ),
        (
            "benchmark = 'b'\niterations = 1\nhost = 'h'\n[[warmup]]\nbenchmark = 'b'\niterations = 2\nhost = 'h'",
            "warmup[1]: warmup[0] is for the same benchmark, host and system; keep one",
        ),
        ("benchmark = 'b'", "warmup[0].iterations: this key is required"),
        ("iterations = 1", "warmup[0].benchmark: this key is required"),
        ("benchmark = 'b'\niterations = -1", "warmup[0].iterations: must be greater than or equal to 0 (given: -1)"),
        ("benchmark = 'b'\niterations = 1\nhots = 'h'", "warmup[0].hots: unknown key; did you mean 'host'?"),
    ],
)
def test_what_is_wrong_with_an_entry_is_said(entries, expected):
    with pytest.raises(ConfigError) as caught:
        config_with(f"[[warmup]]\n{entries}\n")
    assert list(caught.value.problems) == [expected]


def test_systems_of_a_matrix_are_known_and_a_wrong_matrix_is_told_alone():
    head = HEAD.replace("[systems.jvm-a]\n[systems.jvm-b]\n", "[matrix]\ntoolchain = ['gcc', 'clang']\n")
    system = next(iter(config_with("", head).systems))
    entries = f"[[warmup]]\nbenchmark = 'b'\niterations = 3\nsystem = '{system}'\n"
    assert config_with(entries, head).warmup == [entry(3, system=system)]
    with pytest.raises(ConfigError) as caught:
        config_with(entries, head.replace("toolchain", "tolchain"))
    assert not any(problem.startswith("warmup") for problem in caught.value.problems)


# --- what it changes -----------------------------------------------------------------------------------------------

BENCHMARK = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\nmetric = { regex = "t (\\\\d+)", warmup = 1 }\n'
THREE = "print t 1\nprint t 2\nprint t 3\n"


def values(project, config):
    return {sample.system: sample.binaries for sample in selected(config, project.path).samples if sample.is_primary}


def test_an_entry_moves_no_digest_and_executes_nothing_again(tmp_path):
    project = Project(tmp_path)
    before = make_config(BENCHMARK, systems=("a", "b"))
    here = experiments.current_experiment(before).hostname
    after = make_config(
        BENCHMARK + f"[[warmup]]\nbenchmark = 'b'\niterations = 2\nsystem = 'a'\nhost = '{here}'\n"
        "[[warmup]]\nbenchmark = 'b'\niterations = 0\nhost = 'elsewhere'\n",
        systems=("a", "b"),
    )
    binaries = [make_binary(project.root, system, 1, THREE) for system in "ab"]
    assert project.run(before, binaries).executed == 2
    recorded = [execution.measurements for execution in project.executions(before)]

    assert project.run(after, binaries).executed == 0

    definitions = [experiments.definitions(config, config.benchmarks, project.path) for config in (before, after)]
    assert definitions[0] == definitions[1]
    assert experiments.current_experiment(before) == experiments.current_experiment(after)
    assert [execution.measurements for execution in project.executions(after)] == recorded
    assert values(project, after) == {"a": ((1, ((3.0,),)),), "b": ((1, ((2.0, 3.0),)),)}


def test_an_execution_needs_more_iterations_than_the_entry_in_force_says(tmp_path):
    project = Project(tmp_path)
    config = make_config(BENCHMARK + "[[warmup]]\nbenchmark = 'b'\niterations = 3\nsystem = 'a'\n", systems=("a", "b"))
    project.run(config, [make_binary(project.root, system, 1, THREE) for system in "ab"])
    reasons = {execution.system: execution.reason for execution in project.executions(config)}
    assert "found 3 iterations, and all of them are warm-up (warmup[0].iterations = 3)" in reasons["a"]
    assert reasons["b"] == ""


def test_an_entry_that_leaves_nothing_is_named(tmp_path):
    config = config_with(HERE.format(3) + "system = 'jvm-a'\n")
    rows = [
        execution(
            config,
            tmp_path,
            system,
            "b",
            1,
            measurements=tuple(Measurement("time", "", k, 1.0 + k, warmup=False) for k in range(3)),
        )
        for system in ("jvm-a", "jvm-b")
    ]
    write(config, tmp_path, rows)
    (warning,) = [w for w in said(selected(config, tmp_path).warnings) if "leaves nothing" in w]
    assert warning.startswith(
        "b: warmup[0].iterations = 3 leaves nothing of time in 1 execution, which has 3 iterations at most: not in the sample"
    )


def test_results_of_another_host_are_read_with_the_entry_of_that_host(tmp_path):
    config = config_with(HERE.format(2) + "host = 'far'\n")
    row = execution(
        config,
        tmp_path,
        "jvm-a",
        "b",
        1,
        measurements=tuple(Measurement("time", "", k, float(k), warmup=False) for k in range(4)),
    )
    write(config, tmp_path, [row], host="key-of-far", hostname="far")
    (sample,) = selected(config, tmp_path, host="far").samples
    assert sample.binaries == ((1, ((2.0, 3.0),)),)


# --- writing it ----------------------------------------------------------------------------------------------------

A = Warmup(
    system="jvm-a",
    benchmark="b",
    metric="time",
    unit="",
    series=((1.0,),),
    n_recorded=1,
    in_force=1,
    setting="metric.warmup",
    initialised=8,
    independent=8,
    dacapo=None,
    georges=None,
    p_values=(),
    correlations=(),
    band=None,
    warnings=(),
    entry="b",
    number="time",
)
B = dataclasses.replace(A, system="jvm-b", initialised=12, independent=12)


def chosen(scope, found=(A, B), text=HEAD):
    return choose_suggested(text, "layoutrand.toml", parse(text, path="x"), found, scope, "h")


def test_each_system_gets_its_own_entry():
    done = chosen(Scope(by_system=True))
    assert done.text.startswith(HEAD)
    assert parse(done.text, path="x").warmup == [entry(8, system="jvm-a"), entry(12, system="jvm-b")]
    assert done.written[0] == "b: [[warmup]] iterations = 8 with system jvm-a"
    assert done.warnings == ()


def test_a_host_gets_the_largest_of_its_systems():
    done = chosen(Scope("h"))
    assert parse(done.text, path="x").warmup == [entry(12, host="h")]
    assert done.written == ("b: [[warmup]] iterations = 12 on host h",)


def test_host_and_system_go_together_and_an_entry_of_the_same_keys_is_changed():
    text = HEAD + "[[warmup]]\nbenchmark = 'b'\nhost = 'h'\nsystem = 'jvm-a'\niterations = 1   # seen in May\n"
    done = chosen(Scope("h", by_system=True), text=text)
    assert parse(done.text, path="x").warmup == [
        entry(8, host="h", system="jvm-a"),
        entry(12, host="h", system="jvm-b"),
    ]
    assert "iterations = 8   # seen in May" in done.text


def test_a_system_without_a_steady_state_leaves_only_itself_out():
    done = chosen(Scope(by_system=True), (A, dataclasses.replace(B, initialised=None, independent=None)))
    assert parse(done.text, path="x").warmup == [entry(8, system="jvm-a")]
    assert said(done.warnings) == ("b, jvm-b: nothing written, because it reaches no steady state",)


@pytest.mark.parametrize("scope", [Scope(), Scope("h")])
def test_a_more_specific_entry_that_still_holds_is_told(scope):
    text = HEAD + "[[warmup]]\nbenchmark = 'b'\nsystem = 'jvm-a'\niterations = 3\n"
    assert said(chosen(scope, text=text).warnings) == (
        "b, jvm-a: warmup[0].iterations = 3 is more specific and still holds on h",
    )


def test_an_entry_that_could_have_no_effect_is_not_written():
    text = HEAD.replace('{ regex = "t ([0-9.]+)", name', "{ printed = [{ regex = 't (.*)', warmup = 2, name")
    text = text.replace('"time", warmup = 1 }', '"time" }] }')
    done = chosen(Scope("h"), text=text)
    assert (done.text, done.written) == (text, ())
    assert "time has a warmup of its own (metric.printed[0].warmup), which [[warmup]] does not change" in "".join(
        said(done.warnings)
    )


@pytest.mark.parametrize(
    "text",
    [
        "warmup = [{ benchmark = 'c', iterations = 1 }]   # mine\n",
        "warmup = []   # mine\n",
        "[[warmup]]\nbenchmark = 'c'   # mine\niterations = 1\n\n[run]\nexecutions = 1\n",
        "[run]\nexecutions = 1   # mine",
    ],
)
def test_entries_are_added_however_there_are_some(text):
    head = HEAD.replace("[[benchmarks]]", "[[benchmarks]]\nname = 'c'\ncommand = ['x']\n[[benchmarks]]", 1)
    before = parse(text + "\n" + head, path="x")
    changed = with_chosen_warmup(text + "\n" + head, "b", 4, host="h", system=None)
    after = parse(changed, path="x")
    assert after.warmup == [*before.warmup, entry(4, host="h")]
    assert after.model_copy(update={"warmup": before.warmup}) == before
    assert "# mine" in changed


def test_the_command_writes_for_this_host_and_then_says_where_the_value_comes_from(tmp_path, capsys, monkeypatch):
    (tmp_path / "layoutrand.toml").write_text(HEAD)
    config = config_with("")
    series = [30.0 + k % 3 for k in range(4)] + [10.0 + (7 * k % 11) / 10 for k in range(40)]
    rows = [
        execution(
            config,
            tmp_path,
            "jvm-a",
            "b",
            seed,
            measurements=tuple(Measurement("time", "", k, v, warmup=k < 1) for k, v in enumerate(series)),
        )
        for seed in (1, 2)
    ]
    write(config, tmp_path, rows)
    assert warming.warmup(directory=tmp_path, write=True, for_host=True, json=True) == 0
    document = json.loads(capsys.readouterr().out)
    here = experiments.current_experiment(config).hostname
    assert document["host"] == here
    assert [(b["warmup"], b["warmup_setting"]) for b in document["benchmarks"]] == [(1, "metric.warmup")]
    suggested = document["suggestions"][0]["warmup"]
    assert parse((tmp_path / "layoutrand.toml").read_text(), path="x").warmup == [entry(suggested, host=here)]

    assert warming.warmup(directory=tmp_path, plots=True, quiet=True) == 0
    shown = capsys.readouterr().out
    assert f"in force: {suggested}, warmup[0].iterations" in shown
    assert "run sequence: time" in shown
    assert shown.count("reordered") == 3
    assert warming.warmup(directory=tmp_path, quiet=True) == 0
    assert "reordered" not in capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert warming.warmup(directory=tmp_path, quiet=True) == 0
    assert capsys.readouterr().out.count("reordered") == 3
    assert warming.warmup(directory=tmp_path, quiet=True, plots=False) == 0
    assert "reordered" not in capsys.readouterr().out


def test_short_and_constant_iterations_have_plots_too():
    """Ten iterations of one value have every plot, a few only the run sequence; marks show what is dropped."""
    constant = dataclasses.replace(A, series=((5.0,) * 30,))
    plots = pairs(constant)
    assert [own.title for own, _ in plots] == ["run sequence: time", "lag 1 from 8 on", "autocorrelation from 8 on"]
    assert [line.place for line in plots[0][0].verticals] == [1.0, 8.0]
    assert all(len(beside(pair, width=80, style=ASCII)) == HEIGHT + 3 for pair in plots)
    assert len(pairs(dataclasses.replace(A, series=((1.0, 2.0),)))) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"for_host": True}, "say what --write sets; give --write too"),
        ({"for_system": True}, "say what --write sets; give --write too"),
        ({"plots": True, "json": True}, "leave out one of them"),
    ],
)
def test_options_that_do_not_go_together_are_refused(tmp_path, options, message):
    with pytest.raises(UsageError, match=message):
        warming.warmup(directory=tmp_path, **options)
