"""What benchmarks ask for by the names of instruments; that a program is absent is in `test_known.py`."""

from __future__ import annotations

import pytest

from fakes import make_config
from layoutrand.errors import ConfigError, FeatureUnsupported, ToolNotFound, UsageError
from layoutrand.instruments.asked_for import check_asked, check_programs, judged_by, primary_metric

BENCHMARK = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\nmetric = { %s }\n'


def config_of(*metrics):
    """A configuration with a benchmark of each of these metrics."""
    return make_config("".join(BENCHMARK.replace('"b"', f'"b{n}"') % metric for n, metric in enumerate(metrics)))


@pytest.mark.parametrize(
    ("metric", "problem"),
    [
        ('instruments = ["sundial"]', "no instrument is called 'sundial'; there are native, cachegrind, perf"),
        ('instruments = ["cachegrnd"]', "did you mean 'cachegrind'?"),
        ('instruments = ["callgrind"]', "no instrument is called 'callgrind'"),
        ('instruments = ["perf"]', "perf is asked for by metric.counters"),
        ('instruments = ["native"], cachegrind = true', "native is asked for by metric.wall, or a number"),
    ],
)
def test_what_cannot_be_asked_for_by_name(metric, problem):
    with pytest.raises(ConfigError) as caught:
        check_asked(config_of("wall = true", metric).benchmarks, "layoutrand.toml")
    assert "benchmarks[1].metric.instruments: " in str(caught.value)
    assert problem in str(caught.value)


@pytest.mark.parametrize("asked", ['instruments = ["cachegrind"]', "cachegrind = true"])
def test_a_primary_metric_must_be_measured(asked):
    check_asked(config_of(f'{asked}, wall = true, primary = "i1_misses"').benchmarks, "x")
    with pytest.raises(ConfigError, match="primary = 'words' is not measured; there are wall_s, estimated_cycles"):
        check_asked(config_of(f'{asked}, wall = true, primary = "words"').benchmarks, "x")


def test_a_counter_that_is_not_asked_for_is_nothing_to_judge_by():
    with pytest.raises(ConfigError, match=r"metric.primary = 'b' is not measured; there are a"):
        check_asked(config_of("counters = ['a'], primary = 'b'").benchmarks, "x")


def test_what_is_printed_alone_has_no_wall_time_to_judge_by():
    with pytest.raises(
        ConfigError, match=r"benchmarks\[0\].metric.primary = 'wall_s' is not measured; there are value"
    ):
        check_asked(config_of("regex = '(x)', primary = 'wall_s'").benchmarks, "x")


def test_what_the_kernel_counts_can_be_named_to_judge_by():
    """A growth in memory is a step like others; by itself nothing is judged by it."""
    config = config_of("wall = true, primary = 'max_rss_bytes'", "regex = '(x)'")
    check_asked(config.benchmarks, "x")
    assert primary_metric(config.benchmarks[0]) == ("native", "max_rss_bytes")
    with pytest.raises(ConfigError, match="primary = 'user_s' is not measured; there are estimated_cycles"):
        check_asked(config_of("cachegrind = true, primary = 'user_s'").benchmarks, "x")


def test_a_configuration_is_judged_by_another_metric_without_changing_the_others():
    config = config_of("wall = true, cachegrind = true", "wall = true")
    other = judged_by(config, "b0", "i1_misses")
    assert [primary_metric(each) for each in other.benchmarks] == [("cachegrind", "i1_misses"), ("native", "wall_s")]
    assert primary_metric(config.benchmarks[0]) == ("native", "wall_s")
    assert primary_metric(judged_by(config, "b1", "user_s").benchmarks[1]) == ("native", "user_s")
    with pytest.raises(UsageError, match="no metric called 'i1_misses'"):
        judged_by(config, "b1", "i1_misses")


def test_every_problem_is_told_at_once():
    with pytest.raises(ConfigError) as caught:
        check_asked(config_of('instruments = ["a"]', 'instruments = ["b", "perf"]').benchmarks, "x")
    assert len(caught.value.problems) == 3


def test_a_key_and_the_name_that_it_is_short_for_are_the_same():
    both, key, name = config_of(
        'cachegrind = true, instruments = ["cachegrind"]', "cachegrind = true", 'instruments = ["cachegrind"]'
    ).benchmarks
    check_asked([both, key, name], "x")
    assert primary_metric(both) == primary_metric(key) == primary_metric(name) == ("cachegrind", "estimated_cycles")


def test_a_metric_that_two_measure_is_that_of_the_real_processor():
    (benchmark,) = config_of('cachegrind = true, counters = ["instructions"], primary = "instructions"').benchmarks
    assert primary_metric(benchmark) == ("perf", "instructions")
    (simulated,) = config_of('instruments = ["cachegrind"], primary = "branches"').benchmarks
    assert primary_metric(simulated) == ("cachegrind", "branches")


def test_what_only_another_version_measures_is_a_clear_error():
    (benchmark,) = config_of('instruments = ["sundial"]').benchmarks
    with pytest.raises(FeatureUnsupported, match="no instrument here measures"):
        primary_metric(benchmark)


def test_a_program_that_no_chosen_benchmark_needs_may_be_absent(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    config = config_of("wall = true", "cachegrind = true")
    check_programs(config, ["b0"])
    with pytest.raises(ToolNotFound, match=r"asks for metric.cachegrind, .*valgrind.* or set cachegrind = false"):
        check_programs(config, [])
