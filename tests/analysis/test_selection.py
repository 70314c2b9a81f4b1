from __future__ import annotations

import pytest

from experiments import execution, measured, selected, write
from fakes import make_config
from layoutrand.analysis.reasons import concerns
from layoutrand.errors import AnalysisError, ConfigError, ResultsError, UsageError
from layoutrand.execute.experiment import current_context, current_experiment
from layoutrand.instruments.asked_for import primary_metric
from layoutrand.model import BuildFailure, Measurement
from layoutrand.results.file import open_for_writing, results_path
from warningkit import said

BENCHMARK = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'
CONFIG = make_config(BENCHMARK)


def wall(value):
    return (Measurement("wall_s", "s", 0, value, warmup=False),)


def one(project, system="a", layout=1, value=1.0, **changes):
    return execution(CONFIG, project, system, "b", layout, **{"measurements": wall(value)} | changes)


def test_samples_hold_binaries_and_controls(tmp_path):
    data = {2: [[3.0, 4.0]], 1: [[1.0], [2.0]], "stock": [[5.0], [6.0]], "identity": [[7.0]]}
    write(CONFIG, tmp_path, measured(CONFIG, tmp_path, "a", "b", data))
    (sample,) = selected(CONFIG, tmp_path).samples
    assert (sample.system, sample.benchmark, sample.metric, sample.unit, sample.is_primary) == (
        "a",
        "b",
        "wall_s",
        "s",
        True,
    )
    assert sample.binaries == ((1, ((1.0,), (2.0,))), (2, ((3.0, 4.0),)))
    assert sample.controls == {"stock": ((5.0,), (6.0,)), "identity": ((7.0,),)}


def test_warm_up_is_left_out(tmp_path):
    values = tuple(Measurement("wall_s", "s", k, float(k), warmup=k < 2) for k in range(4))
    write(CONFIG, tmp_path, [one(tmp_path, measurements=values)])
    assert selected(CONFIG, tmp_path).samples[0].binaries == ((1, ((2.0, 3.0),)),)


def test_samples_are_in_the_order_of_the_configuration_primary_metric_first(tmp_path):
    config = make_config(BENCHMARK + BENCHMARK.replace('"b"', '"a"'), systems=("z", "y"))
    rows = []
    for system in ("y", "z"):
        for benchmark in ("a", "b"):
            both = (Measurement("user_s", "s", 0, 1.0, warmup=False), *wall(1.0))
            rows.append(execution(config, tmp_path, system, benchmark, 1, measurements=both))
    write(config, tmp_path, rows)
    assert [(s.benchmark, s.system, s.metric) for s in selected(config, tmp_path).samples] == [
        (b, s, m) for b in "ba" for s in "zy" for m in ("wall_s", "user_s")
    ]


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("{wall = true, cachegrind = true}", ("native", "wall_s")),
        ("{regex = '(x)', name = 'fps'}", ("native", "fps")),
        ("{regex = '(x)', cachegrind = true}", ("native", "value")),
        ("{cachegrind = true}", ("cachegrind", "estimated_cycles")),
    ],
)
def test_primary_metric(metric, expected):
    assert primary_metric(make_config(BENCHMARK + f"metric = {metric}").benchmarks[0]) == expected


def test_benchmarks_that_were_all_defined_otherwise_are_told_together(tmp_path):
    """As the cases of a harness are: a filter that was changed would be told once for each of them."""
    names = [f"BM_{k}" for k in range(5)]
    config = make_config("".join(BENCHMARK.replace('"b"', f'"{name}"') for name in [*names, "other"]))
    rows = [
        execution(config, tmp_path, "a", name, 1, measurements=wall(k), repetition=k, **changes)
        for name in [*names, "other"]
        for k, changes in enumerate([{"definition": "old"}] * (1 if name == "other" else 2) + [{}])
    ]
    write(config, tmp_path, rows)
    selection = selected(config, tmp_path)
    about = "of an earlier definition (command, inputs or metric)"

    assert list(said(selection.left_out)) == [
        f"each of BM_0, BM_1 and 3 more: left out 2 executions {about}",
        f"other: left out 1 execution {about}",
    ]
    assert selection.left_out[0].brief() == f"each of BM_0, BM_1 and 3 more: 2 executions {about}"
    of_all = selection.left_out[0]
    assert concerns(of_all, "BM_4", "native", ["a"])
    assert not concerns(of_all, "other", "native", ["a"])


def test_other_captures_definitions_and_binaries_are_left_out_and_said(tmp_path):
    rows = [
        one(tmp_path, value=1, started_at=1.0, capture="old"),
        one(tmp_path, layout=2, value=2, started_at=1.0, definition="old"),
        one(tmp_path, layout=3, value=3, started_at=1.0, binary_sha256="old"),
        *(one(tmp_path, layout=k, value=k * 10, started_at=2.0) for k in (1, 2, 3)),
    ]
    write(CONFIG, tmp_path, rows)
    selection = selected(CONFIG, tmp_path)
    assert [executions for _, executions in selection.samples[0].binaries] == [((10,),), ((20,),), ((30,),)]
    text = "\n".join(said(selection.warnings))
    assert "1 execution of 1 other capture" in text
    assert "b: left out 1 execution of an earlier definition" in text
    assert "built anew" in text


def test_a_capture_can_be_chosen(tmp_path):
    write(CONFIG, tmp_path, [one(tmp_path, value=1, capture="old"), one(tmp_path, value=2, started_at=2.0)])
    assert selected(CONFIG, tmp_path, captures={"a": "old"}).samples[0].binaries == ((1, ((1,),)),)
    with pytest.raises(AnalysisError, match=r"1 execution of b with system a, capture capture-of-a"):
        selected(CONFIG, tmp_path, captures={"a": "never executed"})


def test_the_capture_of_the_last_call_counts_whatever_clocks_say(tmp_path):
    """A node whose clock is fast, or that is late with what it was asked for before, has executed another one since."""
    rows = [one(tmp_path, value=1, started_at=9.0, capture="old"), one(tmp_path, value=2, started_at=1.0)]
    write(CONFIG, tmp_path, rows)
    assert selected(CONFIG, tmp_path).samples[0].binaries == ((1, ((1,),)),)
    with open_for_writing(results_path(tmp_path)) as store:
        store.begin(current_experiment(CONFIG), current_context(CONFIG, {}, {"a": "capture-of-a"}))
    assert selected(CONFIG, tmp_path).samples[0].binaries == ((1, ((2,),)),)
    with open_for_writing(results_path(tmp_path)) as store:
        store.begin(current_experiment(CONFIG), current_context(CONFIG, {}, {"a": "nothing executed yet"}))
    assert selected(CONFIG, tmp_path).samples[0].binaries == ((1, ((1,),)),)


def test_the_last_attempt_counts(tmp_path):
    rows = [
        one(tmp_path, status="exit", reason="first", measurements=()),
        one(tmp_path, layout=2),
        one(tmp_path, layout=2, round=9, status="exit", reason="still", measurements=()),
        one(tmp_path, value=7.0, attempt=2),
    ]
    write(CONFIG, tmp_path, rows)
    selection = selected(CONFIG, tmp_path)
    assert dict(selection.samples[0].binaries)[1] == ((7.0,),)
    assert [failure.reason for failure in selection.failures] == ["still"]


def test_failed_builds_belong_to_the_capture(tmp_path):
    failure = BuildFailure("a", "prog", 3, "e", None)
    write(CONFIG, tmp_path, [one(tmp_path)], [failure])
    assert selected(CONFIG, tmp_path).build_failures == (failure,)


def test_chosen_systems_and_benchmarks(tmp_path):
    config = make_config(BENCHMARK + BENCHMARK.replace('"b"', '"c"'))
    rows = [execution(config, tmp_path, s, b, 1, measurements=wall(1.0)) for s in "ab" for b in "bc"]
    write(config, tmp_path, rows)
    chosen = selected(config, tmp_path, systems=["b"], benchmarks=["c"]).samples
    assert [(s.system, s.benchmark) for s in chosen] == [("b", "c")]
    with pytest.raises(UsageError, match="no system called"):
        selected(config, tmp_path, systems=["x"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"policy": '{"classes":"mix"}'}, "mix"),
        ({"protocol": 99}, "protocol 99"),
        ({"host": "another", "hostname": "other-machine"}, "host other-machine"),
        ({"randomise": '["env-size"]'}, "env-size"),
    ],
)
def test_results_of_another_experiment_are_never_taken_but_listed(tmp_path, change, words):
    write(CONFIG, tmp_path, [one(tmp_path), one(tmp_path, layout=2)], **change)
    with pytest.raises(AnalysisError) as caught:
        selected(CONFIG, tmp_path)
    assert words in str(caught.value)
    assert "2 executions" in str(caught.value)
    assert "layoutrand run" in str(caught.value)


def test_a_host_can_be_named(tmp_path):
    write(CONFIG, tmp_path, [one(tmp_path, value=5.0)], host="another", hostname="other-machine")
    assert selected(CONFIG, tmp_path, host="other-machine").samples[0].binaries == ((1, ((5.0,),)),)


def test_no_results_at_all(tmp_path):
    with pytest.raises(ResultsError, match="layoutrand run"):
        selected(CONFIG, tmp_path)
    write(CONFIG, tmp_path, [])
    with pytest.raises(AnalysisError, match="no executions yet"):
        selected(CONFIG, tmp_path)


def test_an_input_that_is_gone(tmp_path):
    (tmp_path / "in").write_text("x")
    config = make_config(BENCHMARK + 'stdin = "in"')
    write(config, tmp_path, [execution(config, tmp_path, "a", "b", 1, measurements=wall(1.0))])
    (tmp_path / "in").unlink()
    with pytest.raises(ConfigError, match="stdin"):
        selected(config, tmp_path)
