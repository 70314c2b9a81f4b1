"""What the program prints, several numbers at once, and what is recorded of them."""

from __future__ import annotations

import pytest

from executekit import Project
from experiments import execution, selected, write
from fakes import make_binary, make_config
from layoutrand.analysis.compare import compare
from layoutrand.analysis.documents import compare_document
from layoutrand.config.config import Config, as_dict
from layoutrand.errors import ConfigError
from layoutrand.execute import experiment as experiments
from layoutrand.instruments.asked_for import primary_metric
from layoutrand.model import Measurement
from warningkit import said

BENCHMARK = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'
SEVERAL = (
    "metric = { wall = true, printed = ["
    "{ name = 'throughput', regex = 'rate (\\d+)', unit = '1/s', better = 'more' }, "
    "{ name = 'p99', json = '/p99', json_lines = 'matching', unit = 'ms' }] }"
)


RETRY = "; with a smaller one `layoutrand run --retry-failed` executes it again"


def config_of(metric, systems=("a", "b")):
    return make_config(BENCHMARK + metric, systems=systems)


def problems(metric):
    with pytest.raises(ConfigError) as caught:
        config_of(metric)
    return caught.value.problems


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def printed(project, config, name="b"):
    (found,) = {(e.system, e.layout): e for e in project.executions(config) if e.layout == 1}.values()
    return [(m.metric, m.unit, m.iteration, m.value, m.warmup) for m in found.measurements if "_" not in m.metric]


def test_several_numbers_of_one_execution(project):
    config = config_of(SEVERAL, systems=("a",))
    script = 'print rate 100\nprint {"p99": 3.5}\nprint rate 200\nprint {"p99": 4}\n'
    project.run(config, [make_binary(project.root, "a", 1, script)])
    assert project.executions(config)[0].reason == ""
    assert printed(project, config) == [
        ("p99", "ms", 0, 3.5, False),
        ("p99", "ms", 1, 4.0, False),
        ("throughput", "1/s", 0, 100.0, False),
        ("throughput", "1/s", 1, 200.0, False),
    ]


def test_one_number_in_json_has_the_short_form(project):
    config = config_of("metric = { json = '/t', name = 'time', unit = 'ms', warmup = 1 }", systems=("a",))
    project.run(config, [make_binary(project.root, "a", 1, 'print {"t": 9}\nprint {"t": 5}\n')])
    assert printed(project, config) == [("time", "ms", 0, 9.0, True), ("time", "ms", 1, 5.0, False)]


def test_a_number_has_its_own_warm_up(project):
    metric = (
        "metric = { warmup = 1, printed = [{ name = 'time', regex = 't (\\d)' }, "
        "{ name = 'total', regex = 'all (\\d)', warmup = 0 }] }"
    )
    config = config_of(metric, systems=("a",))
    project.run(config, [make_binary(project.root, "a", 1, "print t 7\nprint t 5\nprint all 9\n")])
    assert printed(project, config) == [
        ("time", "", 0, 7.0, True),
        ("time", "", 1, 5.0, False),
        ("total", "", 0, 9.0, False),
    ]


@pytest.mark.parametrize(
    ("metric", "output", "reason"),
    [
        (SEVERAL, "rate 5", "metric.printed[1].json = '/p99' leads nowhere in any of 1 lines"),
        (
            SEVERAL,
            '{"p99": 1}',
            "metric.printed[0].regex 'rate (\\\\d+)' matches nothing in the standard output; its output says: "
            '{"p99": 1}',
        ),
        (
            "metric = { json = '/t' }",
            '{"t": "x"}',
            "metric.json = '/t': in the standard output the pointer leads to \"x\", which is no number",
        ),
        (
            "metric = { warmup = 2, printed = [{ name = 'n', json = '/t' }] }",
            '{"t": [1, 2]}',
            f"metric.printed[0].json found 2 iterations, and all of them are warm-up (metric.warmup = 2){RETRY}",
        ),
        (
            "metric = { printed = [{ name = 'n', json = '/t', warmup = 1 }] }",
            '{"t": 1}',
            f"metric.printed[0].json found 1 iterations, and all of them are warm-up (metric.printed[0].warmup = 1){RETRY}",
        ),
    ],
)
def test_a_number_that_is_missing_is_a_failure_that_names_its_key(project, metric, output, reason):
    config = config_of(metric, systems=("a",))
    summary = project.run(config, [make_binary(project.root, "a", 1, f"print {output}\n")])
    assert [(f.status, f.reason) for f in summary.failures] == [("no-measurement", reason)]


@pytest.mark.parametrize(
    ("metric", "problem"),
    [
        (
            "metric = { json = 'time' }",
            "benchmarks[0].metric.json: a JSON pointer (RFC 6901) is empty, for the whole document, or begins with '/' "
            "(given: 'time')",
        ),
        (
            "metric = { json = '/a~b' }",
            "benchmarks[0].metric.json: in a JSON pointer '~' stands only in ~0, which means '~', and in ~1, which means "
            "'/' (given: '/a~b')",
        ),
        (
            "metric = { json = '/t', regex = '(x)' }",
            "benchmarks[0].metric: give either regex or json; printed = [...] takes several numbers",
        ),
        (
            "metric = { wall = true, json_lines = 'matching' }",
            "benchmarks[0].metric: json_lines says how the output is read for json, which is not given",
        ),
        (
            "metric = { wall = true, better = 'more' }",
            "benchmarks[0].metric: better is about the number of regex or json beside it; those in printed have their own",
        ),
        (
            "metric = { regex = '(x)', better = 'higher' }",
            "benchmarks[0].metric.better: must be 'less' or 'more' (given: 'higher')",
        ),
        (
            "metric = { printed = [{ name = 'n' }] }",
            "benchmarks[0].metric.printed[0]: the number 'n' needs regex or json, which say where it is printed",
        ),
        ("metric = { printed = [{ regex = '(x)' }] }", "benchmarks[0].metric.printed[0].name: this key is required"),
        (
            "metric = { regex = '(x)', printed = [{ name = 'value', regex = '(y)' }] }",
            "benchmarks[0].metric: two of the numbers that are printed are called 'value'",
        ),
        (
            "metric = { printed = [{ name = 'user_s', regex = '(y)' }] }",
            "benchmarks[0].metric: name = 'user_s' is what layoutrand calls a measurement of its own; choose another",
        ),
        ("metric = { wall = true, jsn = '/t' }", "benchmarks[0].metric.jsn: unknown key; did you mean 'json'?"),
        (
            "metric = { printed = [{ name = 'n', jsn = '/t' }] }",
            "benchmarks[0].metric.printed[0].jsn: unknown key; did you mean 'json'?",
        ),
        (
            "metric = { wall = true, pointer = '/t' }",
            "benchmarks[0].metric.pointer: unknown key; did you mean 'printed'?",
        ),
    ],
)
def test_what_is_wrong_with_a_metric(metric, problem):
    assert problems(metric)[0] == problem


def test_a_recorded_configuration_can_be_read_again():
    config = config_of(SEVERAL)
    assert as_dict(config)["benchmarks"][0]["metric"]["printed"][1]["json"] == "/p99"
    assert Config.model_validate(as_dict(config)) == config


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (SEVERAL, ("native", "wall_s")),
        (SEVERAL.replace("wall = true", "wall = true, primary = 'p99'"), ("native", "p99")),
        (SEVERAL.replace("wall = true, ", ""), ("native", "throughput")),
        ("metric = { json = '/t', name = 'first', printed = [{ name = 'n', json = '/u' }] }", ("native", "first")),
        ("metric = { cachegrind = true, printed = [{ name = 'n', json = '/u' }] }", ("native", "n")),
    ],
)
def test_which_number_a_benchmark_is_judged_by(metric, expected):
    assert primary_metric(config_of(metric).benchmarks[0]) == expected


# --- what makes results belong together ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "digest"),
    [
        ("", "e6085a46de220386"),
        ("metric = { regex = 't (x)', name = 't', unit = 'ms' }", "8a5f42e331fe9281"),
        ("metric = { wall = true, regex = '(x)' }", "d070545ff1cfa6ee"),
    ],
)
def test_definitions_of_benchmarks_are_what_they_were_before_there_were_more_keys(metric, digest, tmp_path):
    """Pinned: another digest would execute everything anew."""
    config = config_of(metric)
    assert experiments.definitions(config, config.benchmarks, tmp_path)["b", "native"].startswith(digest)


@pytest.mark.parametrize(
    ("old", "new", "executed"),
    [
        ("metric = { regex = '(\\d)' }", "metric = { regex = '(\\d)', warmup = 1 }", 0),
        ("metric = { regex = '(\\d)', warmup = 1 }", "metric = { regex = '(\\d)', warmup = 2 }", 0),
        ("metric = { regex = '(\\d)' }", "metric = { regex = '(\\d)', better = 'more' }", 0),
        (SEVERAL, SEVERAL.replace("wall = true", "wall = true, primary = 'p99'"), 0),
        (SEVERAL, SEVERAL.replace("'more'", "'less'").replace("unit = 'ms'", "unit = 'ms', warmup = 1"), 0),
        ("metric = { regex = '(\\d)' }", "metric = { json = '' }", 1),
        ("metric = { json = '' }", "metric = { json = '', json_lines = 'matching' }", 1),
        (SEVERAL, SEVERAL.replace("'ms'", "'us'"), 1),
    ],
)
def test_only_what_changes_the_recorded_numbers_executes_again(project, old, new, executed):
    script = 'print 1\nprint 2\nprint 3\nprint rate 4\nprint rate 5\nprint {"p99": [6, 7]}\n'
    binaries = [make_binary(project.root, "a", 1, script)]
    project.run(config_of(old, systems=("a",)), binaries)
    assert project.run(config_of(new, systems=("a",)), binaries).executed == executed


# --- warm-up is decided where results are read ---------------------------------------------------------------------

REGEX = "metric = {{ regex = 't (\\d+)', warmup = {} }}"


def values_of(project, config):
    (sample,) = [s for s in selected(config, project.path).samples if s.metric == "value"]
    return dict(sample.binaries)


def test_a_new_warm_up_repeats_nothing_and_holds_for_what_was_recorded(project):
    """The file keeps the flags that were in force; what counts is what layoutrand.toml says now."""
    first = config_of(REGEX.format(2), systems=("a",))
    binaries = [make_binary(project.root, "a", seed, f"print t {seed}\nprint t 10\nprint t 20\n") for seed in (1, 2)]
    project.run(first, binaries)
    recorded = printed(project, first)
    assert values_of(project, first) == {1: ((20.0,),), 2: ((20.0,),)}

    for warmup, expected in (
        (1, {1: ((10.0, 20.0),), 2: ((10.0, 20.0),)}),
        (0, {1: ((1.0, 10.0, 20.0),), 2: ((2.0, 10.0, 20.0),)}),
    ):
        later = config_of(REGEX.format(warmup), systems=("a",))
        assert project.run(later, binaries).executed == 0
        assert values_of(project, later) == expected
    assert printed(project, first) == recorded
    assert [m[-1] for m in recorded] == [True, True, False]


def test_a_warm_up_that_leaves_nothing_is_said(project):
    binaries = [make_binary(project.root, "a", seed, "print t 1\nprint t 2\n") for seed in (1, 2)]
    project.run(config_of(REGEX.format(0), systems=("a",)), binaries)
    config = config_of(REGEX.format(2), systems=("a",))
    assert project.run(config, binaries).executed == 0
    selection = selected(config, project.path)
    assert "value" not in {sample.metric for sample in selection.samples}
    assert any(
        "warmup = 2 leaves nothing of value in 2 executions, which have 2 iterations at most" in w
        for w in said(selection.warnings)
    )


def test_an_execution_that_was_too_short_is_mended_by_a_smaller_warm_up(project):
    binaries = [make_binary(project.root, "a", 1, "print t 1\nprint t 2\n")]
    assert len(project.run(config_of(REGEX.format(2), systems=("a",)), binaries).failures) == 1
    smaller = config_of(REGEX.format(1), systems=("a",))
    assert len(project.run(smaller, binaries).failures) == 1  # recorded failures are never repeated by themselves
    assert project.run(smaller, binaries, retry_failed=True).failures == ()
    assert values_of(project, smaller) == {1: ((2.0,),)}


# --- more is better ------------------------------------------------------------------------------------------------


def compared(tmp_path, metric, old, new, *, name=None, benchmarks=("b",)):
    tables = "".join(BENCHMARK.replace('"b"', f'"{b}"') + m + "\n" for b, m in zip(benchmarks, metric, strict=True))
    config = make_config(tables)
    rows = []
    for system, value in (("a", old), ("b", new)):
        for benchmark in benchmarks:
            for seed in range(1, 6):
                numbers = (
                    Measurement("rate", "1/s", 0, value + 0.001 * seed, warmup=False),
                    Measurement("wall_s", "s", 0, value + 0.001 * seed, warmup=False),
                )
                rows.append(execution(config, tmp_path, system, benchmark, seed, measurements=numbers))
    write(config, tmp_path, rows)
    return compare_document(compare(selected(config, tmp_path), "a", "b", confidence=0.95, threshold=0.01, metric=name))


RATE = "metric = { wall = true, primary = 'rate', printed = [{ name = 'rate', regex = '(x)', better = 'more' }] }"


@pytest.mark.parametrize(("new", "verdict"), [(2.0, "faster"), (0.5, "slower"), (1.0, "equivalent")])
def test_where_more_is_better_the_verdict_turns_and_the_ratio_stays(tmp_path, new, verdict):
    document = compared(tmp_path, [RATE], 1.0, new)
    (benchmark,) = document["benchmarks"]
    assert (benchmark["metric"], benchmark["better"], benchmark["verdict"]) == ("rate", "more", verdict)
    assert benchmark["ratio"] == pytest.approx(new, rel=0.01)
    assert document["suite"]["verdict"] == verdict


@pytest.mark.parametrize(
    ("keys", "better"),
    [
        ("unit = 'MB/s'", "more"),
        ("unit = 'MB/s', better = 'less'", "less"),
        ("unit = 'MB'", "less"),
        ("unit = 'ms', better = 'more'", "more"),
    ],
)
@pytest.mark.parametrize("metric", ["regex = '(x)', name = 'n', {}", "printed = [{{ json = '', name = 'n', {} }}]"])
def test_more_of_a_rate_is_better_unless_it_is_said_otherwise(metric, keys, better):
    (benchmark,) = config_of(f"metric = {{ wall = true, {metric.format(keys)} }}").benchmarks
    assert benchmark.metric.better_of("n") == better
    assert benchmark.metric.better_of("wall_s") == "less"


def test_another_metric_of_the_same_benchmark_keeps_its_own_direction(tmp_path):
    (benchmark,) = compared(tmp_path, [RATE], 1.0, 2.0, name="wall_s")["benchmarks"]
    assert (benchmark["better"], benchmark["verdict"]) == ("less", "slower")


def test_no_suite_over_numbers_that_point_in_different_directions(tmp_path):
    document = compared(tmp_path, [RATE, RATE.replace("more", "less")], 1.0, 2.0, benchmarks=("b", "c"))
    assert [b["verdict"] for b in document["benchmarks"]] == ["faster", "slower"]
    assert document["suite"] is None
    assert any("of rate less is better in some of its benchmarks, more in others" in w for w in document["warnings"])
