"""One process of a harness is one execution in the results, and a benchmark for each case to whoever reads them."""

from __future__ import annotations

import json

import pytest

from executekit import Project
from harnesses.samplekit import left
from layoutrand.analysis.analyse import analyse
from layoutrand.analysis.analysis_warnings import OtherCaptures
from layoutrand.analysis.asked_results import Question
from layoutrand.analysis.evidence import evidence
from layoutrand.analysis.selection import select
from layoutrand.config.config import parse
from layoutrand.errors import AnalysisError, ConfigError, UsageError
from layoutrand.execute.cases import FAILED_CASES
from layoutrand.execute.measure import measure
from layoutrand.harnesses.command_words import with_harness_words
from layoutrand.results.file import open_for_reading, results_path

CONFIG = """
[project]
name = "cased"
[build]
artefacts = ["prog"]
[systems.a]
prebuilt = "."
[[benchmarks]]
name = "bench"
harness = "google-benchmark"
command = ["/bin/sh", "-c", "cat {project}/given.json > layoutrand-cases.json"%s]
%s
[run]
controls = ["stock"]
"""


COUNTED = '[ $IAI_CALLGRIND_HOME = $TMPDIR ] && [ \\"$*\\" = --output-format=json ] && cat {project}/given.jsonl'
"""What a runner does, whose words are behind ``--bench`` here, which is the name that a shell takes for itself."""


def run_of(name, time, **others):
    return {"name": name, "run_type": "iteration", "real_time": time, "cpu_time": 1.0, "time_unit": "ns", **others}


BOTH = [run_of("B/1", 5.0), run_of("B/2", 7.0, items_per_second=3.0), run_of("B/1", 6.0, repetition_index=1)]


def config_of(keys="", words=""):
    return with_harness_words(parse(CONFIG % (words, keys), path="layoutrand.toml"), "layoutrand.toml")


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def give(project, *runs):
    (project.path / "given.json").write_text(json.dumps({"benchmarks": list(runs)}))


def executed(project, config, **choices):
    return project.run(config, project.binaries(layouts=("stock",)), executor=measure, seeds=(1, 2, 3), **choices)


def selected(project, config, benchmarks=()):
    with open_for_reading(results_path(project.path)) as store:
        return select(Question(config, project.path, (), benchmarks, {}, None), store)


def test_a_process_is_one_execution_and_each_case_a_benchmark(project):
    give(project, *BOTH)
    config = config_of()
    assert executed(project, config).executed == 3
    assert [execution.benchmark for execution in project.executions(config)] == ["bench"] * 3
    found = selected(project, config)
    assert {sample.benchmark for sample in found.samples} == {"bench/B/1", "bench/B/2"}
    (main,) = [each for each in found.samples if each.benchmark == "bench/B/1" and each.is_primary]
    assert (main.metric, main.unit) == ("time_s", "s")
    assert [value for _, runs in main.binaries for value in runs] == [(5e-9, 6e-9)] * 3
    (rate,) = [each for each in found.samples if each.metric == "items_per_second"]
    assert rate.better == "more"


STARTED_ELSEWHERE = {
    "google-benchmark": 'cat given.json > "${1#*=}"',
    "criterion": 'for f in sample benchmark; do mkdir -p "$CRITERION_HOME/b/new"; cp $f.json "$CRITERION_HOME/b/new"; done',
}
"""What a program does that reads files of the directory that it is started in; ``$1`` is the harness's first word."""


@pytest.mark.parametrize("harness", STARTED_ELSEWHERE)
def test_a_program_that_is_started_in_the_project_leaves_its_cases_where_they_are_read(project, harness):
    """As ``cargo bench`` starts its programs: a name alone would be a file among the user's, and nothing be read."""
    give(project, run_of("B/1", 5.0))
    (project.path / "benchmark.json").write_text(json.dumps({"full_id": "B/1"}))
    (project.path / "sample.json").write_text(json.dumps({"iters": [1.0], "times": [5.0]}))
    there = set(project.path.iterdir())
    command = ["env", "-C", "{project}", "/bin/sh", "-c", STARTED_ELSEWHERE[harness], "prog"]
    text = CONFIG.replace(
        '["/bin/sh", "-c", "cat {project}/given.json > layoutrand-cases.json"%s]', json.dumps(command)
    )
    text = text.replace("google-benchmark", harness) % ""
    config = with_harness_words(parse(text, path="layoutrand.toml"), "layoutrand.toml")
    executed(project, config)
    assert {execution.status for execution in project.executions(config)} == {"ok"}
    (main,) = [each for each in selected(project, config).samples if each.is_primary]
    assert (main.benchmark, main.binaries[0][1][0]) == ("bench/B/1", pytest.approx((5e-9,)))
    assert {path.name for path in set(project.path.iterdir()) - there} <= {".layoutrand", "bin", "binaries"}


def test_processes_are_counted_and_not_their_cases(project):
    give(project, *BOTH, run_of("C", 0.0, error_occurred=True, error_message="no data"))
    config = config_of()
    executed(project, config)
    (row,) = evidence(selected(project, config)).systems
    assert (row.n_executions, row.n_failed) == (3, 3)


def test_captures_that_are_left_out_are_counted_by_processes(project):
    give(project, *BOTH)
    config = config_of()
    executed(project, config)
    again = project.binaries(layouts=("stock",))
    project.run(config, again, executor=measure, captures={"a": "later"}, seeds=(1, 2, 3))
    (left_out,) = [each for each in selected(project, config).warnings if isinstance(each, OtherCaptures)]
    assert left_out.count == 3


def test_a_program_that_refuses_the_words_of_its_harness_is_told_with_them(project):
    """It ends well when its user executes it, without them."""
    text = (CONFIG % ("", "")).replace("cat {project}/given.json > layoutrand-cases.json", "echo usage; exit 1")
    refusing = with_harness_words(parse(text, path="layoutrand.toml"), "layoutrand.toml")
    executed(project, refusing)
    assert {each.reason for each in project.executions(refusing)} == {
        "exit status 1, executed with --benchmark_out=layoutrand-cases.json --benchmark_out_format=json behind its "
        "command (harness = 'google-benchmark'); its output says: usage"
    }


def test_a_program_that_reported_cases_took_the_words_of_its_harness(project):
    give(project, *BOTH)
    text = (CONFIG % ("", "")).replace("layoutrand-cases.json", "layoutrand-cases.json; exit 1")
    failing = with_harness_words(parse(text, path="layoutrand.toml"), "layoutrand.toml")
    executed(project, failing)
    assert {each.reason for each in project.executions(failing)} == {"exit status 1"}


def test_the_time_of_a_process_is_shared_out_so_that_it_is_counted_once(project):
    give(project, *BOTH)
    config = config_of()
    executed(project, config)
    whole = sum(execution.wall_s for execution in project.executions(config))
    assert sum(execution.wall_s for execution in selected(project, config).executions) == pytest.approx(whole)


def test_a_second_call_finds_all_executed(project):
    give(project, *BOTH)
    executed(project, config_of())
    summary = executed(project, config_of())
    assert (summary.executed, summary.already) == (0, 3)


def test_a_case_is_not_executed_by_itself_and_that_is_said(project):
    give(project, *BOTH)
    with pytest.raises(UsageError, match=r"^bench/B/1 is a case of bench, whose cases are executed by one process: "):
        executed(project, config_of(), benchmarks=["bench/B/1"])


def test_an_entry_stands_for_all_its_cases_and_a_case_for_itself(project):
    give(project, *BOTH)
    config = config_of()
    executed(project, config)
    assert {each.benchmark for each in selected(project, config, ["bench"]).samples} == {"bench/B/1", "bench/B/2"}
    assert not selected(project, config, ["bench"]).never_alone
    assert {each.benchmark for each in selected(project, config, ["bench/B/2"]).samples} == {"bench/B/2"}
    with pytest.raises(UsageError, match=r"no benchmark called 'bench/B/3'; there are bench/B/1, bench/B/2"):
        selected(project, config, ["bench/B/3"])


def test_primary_chooses_the_number_that_cases_are_judged_by_and_repeats_nothing(project):
    give(project, *BOTH)
    executed(project, config_of())
    by_cpu = config_of('metric = { primary = "cpu_time_s" }')
    assert executed(project, by_cpu).executed == 0
    assert {each.metric for each in selected(project, by_cpu).samples if each.is_primary} == {"cpu_time_s"}
    with pytest.raises(AnalysisError, match=r"primary = 'cycles': bench/B/1 has no such number; there are"):
        selected(project, config_of('metric = { primary = "cycles" }'))


def test_a_harness_that_counts_is_judged_by_its_estimate_and_has_a_directory_of_its_own(project):
    (project.path / "given.jsonl").write_text(left("iai-callgrind").output)
    text = CONFIG % ("", "")
    text = text.replace("google-benchmark", "iai-callgrind").replace(
        "cat {project}/given.json > layoutrand-cases.json", COUNTED
    )
    config = with_harness_words(parse(text, path="layoutrand.toml"), "layoutrand.toml")
    assert executed(project, config).failures == ()
    found = selected(project, config)
    assert {(each.benchmark, each.instrument, each.metric) for each in found.samples if each.is_primary} == {
        ("bench/counts::sorting::sorted::short", "simulating-harness", "estimated_cycles"),
        ("bench/counts::counting::primes", "simulating-harness", "estimated_cycles"),
    }
    assert found.never_alone == {each.benchmark for each in found.samples}


def test_warm_up_is_by_the_harness_s_repetitions(project):
    give(project, *BOTH, run_of("B/2", 8.0, items_per_second=3.0, repetition_index=1))
    config = config_of("metric = { warmup = 1 }")
    executed(project, config)
    samples = {each.benchmark: each for each in selected(project, config).samples if each.metric == "time_s"}
    assert samples["bench/B/1"].binaries[0][1] == ((6e-9,),)
    assert samples["bench/B/2"].binaries[0][1] == ((8e-9,),)


def test_a_case_that_failed_is_a_failure_of_its_own(project):
    give(project, *BOTH, run_of("C", 0.0, error_occurred=True, error_message="no data"))
    config = config_of()
    summary = executed(project, config)
    assert summary.failures == ()
    assert list(map(str, summary.failed_cases)) == [
        "bench: C has no numbers in 3 executions: the case reported an error: no data"
    ]
    first = project.executions(config)[0]
    assert first.conditions[FAILED_CASES] == {"C": "the case reported an error: no data"}
    found = selected(project, config)
    assert {(each.benchmark, each.status, each.reason) for each in found.failures} == {
        ("bench/C", "no-measurement", "the case reported an error: no data")
    }
    assert len(found.failures) == 3


def test_a_process_that_failed_has_failed_all_cases_that_are_known(project):
    give(project, *BOTH)
    executed(project, config_of())
    give(project)
    binaries = project.binaries(layouts=("stock",))
    summary = project.run(config_of(), binaries, executor=measure, seeds=(1, 2, 3, 4))
    (failure,) = summary.failures
    assert failure.reason == "the document of Google Benchmark holds no case"
    found = selected(project, config_of())
    assert [each.benchmark for each in found.failures] == ["bench/B/1", "bench/B/2"]


def test_a_case_that_one_process_did_not_report_is_missing_there(project):
    give(project, *BOTH)
    executed(project, config_of())
    give(project, BOTH[0])
    project.run(config_of(), project.binaries(layouts=("stock",)), executor=measure, seeds=(1, 2, 3, 4))
    (failure,) = selected(project, config_of()).failures
    assert failure.benchmark == "bench/B/2"
    assert failure.reason.startswith("the harness did not report this case")


def test_where_no_process_has_reported_a_case_the_entry_itself_has_failed(project):
    give(project)
    executed(project, config_of())
    found = selected(project, config_of())
    assert {each.benchmark for each in found.failures} == {"bench"}
    assert found.samples == ()


def test_what_is_analysed_has_a_row_for_each_case(project):
    give(project, *BOTH)
    config = config_of()
    executed(project, config)
    report = analyse(selected(project, config), confidence=0.95, metrics=())
    assert list(dict.fromkeys(each.benchmark for each in report.analyses)) == ["bench/B/1", "bench/B/2"]


def test_cases_and_repetitions_become_words_of_the_command():
    (benchmark,) = config_of('cases = "B/{n}"\nrepetitions = 3').benchmarks
    assert "--benchmark_filter=B/{{n}}" in benchmark.command
    assert "--benchmark_repetitions=3" in benchmark.command
    assert "--benchmark_enable_random_interleaving=true" in benchmark.command


def test_definitions_of_benchmarks_without_a_harness_are_what_they_were():
    plain = CONFIG.replace('harness = "google-benchmark"', "") % ("", "")
    (benchmark,) = parse(plain, path="f").benchmarks
    assert (benchmark.harness, benchmark.metric.by_case) == (None, False)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("metric = { wall = true }", "leave out metric.wall beside harness"),
        ('metric = { cachegrind = true, regex = "(1)" }', "leave out metric.cachegrind, metric.regex beside harness"),
        ("repetitions = 0", "repetitions"),
        ('cases = ""', "cases"),
    ],
)
def test_keys_that_do_not_go_with_a_harness_are_told(keys, message):
    with pytest.raises(ConfigError, match=message):
        config_of(keys)


def test_a_harness_that_there_is_not_is_told_with_those_that_there_are():
    text = CONFIG.replace("google-benchmark", "googel-benchmark") % ("", "")
    with pytest.raises(ConfigError, match=r"benchmarks\[0\].harness: no harness is called .*google-benchmark"):
        with_harness_words(parse(text, path="f"), "f")


def test_what_a_harness_has_no_option_for_is_told():
    text = CONFIG.replace("google-benchmark", "libtest") % ("", "repetitions = 3")
    with pytest.raises(ConfigError, match=r"benchmarks\[0\].repetitions: libtest"):
        with_harness_words(parse(text, path="f"), "f")


def test_cases_without_a_harness_are_told():
    text = CONFIG.replace('harness = "google-benchmark"', "") % ("", 'cases = "B"')
    with pytest.raises(ConfigError, match="cases say what a harness executes"):
        parse(text, path="f")


def test_a_benchmark_that_was_expanded_is_itself_when_it_is_read_again():
    """As it was recorded, or told to a node."""
    (benchmark,) = config_of('cases = "B"\nmetric = { primary = "cpu_time_s" }').benchmarks
    assert type(benchmark).model_validate(benchmark.model_dump(mode="json", by_alias=True)) == benchmark
