"""Files of harnesses that were executed without layoutrand, by what they are recognised as and what is read."""

from __future__ import annotations

import json

import pytest

from harnesses.samplekit import text_of
from layoutrand.errors import UnreadableResults
from layoutrand.interop.formats import parse


def read(name):
    return parse(text_of(name), name, None)


def values(content, benchmark, metric="time_s"):
    return [row.value for row in content.rows if (row.benchmark, row.metric) == (benchmark, metric)]


@pytest.mark.parametrize(
    ("file", "format_name", "benchmark"),
    [
        ("google-benchmark-1.7.1.json", "google-benchmark", "BM_Sort/16"),
        ("nanobench-4.6.0.json", "nanobench", "numbers/sum"),
        ("catch2-2.13.10.xml", "catch2", "Sums/sum"),
        ("doctest-2.4.9.xml", "doctest", "sum of squares"),
        ("bencher-0.1.5.txt", "libtest", "fib15"),
        ("libtest-1.95.txt", "libtest", "fib"),
        ("divan-0.1.21.txt", "divan", "cases::sum::100"),
        ("pytest-benchmark.json", "pytest-benchmark", "test_b.py::test_sum[10]"),
        ("asv-0.6.6.json", "asv", "b.Suite.time_sum(10, 'y')"),
        ("rebench.data", "rebench", "S/0.02"),
    ],
)
def test_a_file_is_known_by_its_content(file, format_name, benchmark):
    found, content = read(file)
    assert found == format_name
    assert values(content, benchmark)
    assert all(row.unit == "s" for row in content.rows if row.metric == "time_s")


def test_a_case_that_failed_is_a_failed_execution():
    (failure,) = read("google-benchmark-1.7.1.json")[1].failures
    assert (failure.benchmark, failure.reason) == ("BM_Err", "the case reported an error: no data")


def test_each_set_of_parameters_of_asv_is_a_benchmark_and_what_failed_is_told():
    document = json.loads(text_of("asv-0.6.6.json"))
    content = read("asv-0.6.6.json")[1]
    sums = document["results"]["b.Suite.time_sum"]
    assert values(content, "b.Suite.time_sum(100, 'x')") == sums[-1][2]
    assert values(content, "b.Suite.track_count(100, 'x')", "value") == [200]
    assert values(content, "b.peakmem_list", "max_rss_bytes") == [document["results"]["b.peakmem_list"][0][0]]
    assert {(each.benchmark, each.reason) for each in content.failures} == {
        ("b.time_fail", "asv has no result of it: it failed"),
        ("b.time_skip", "asv has no result of it: it failed"),
        ("b.Suite.track_count(10, 'y')", "asv skipped it"),
    }
    for cells in document["results"].values():
        del cells[11:]
    _, content = parse(json.dumps(document), "f", None)
    assert values(content, "b.Suite.time_sum(100, 'x')") == [sums[0][2]]


@pytest.mark.parametrize(
    "cells",
    [3, [[1.0], 3], [[1.0], [[1, 2]]], [[1.0, 2.0], [[1], 2]], [["1"], []], [[1.0], [[0] * 2000] * 2], [0] * 20],
)
def test_results_that_are_not_asvs_are_refused(cells):
    document = json.loads(text_of("asv-0.6.6.json")) | {"results": {"b.time_x": cells}}
    with pytest.raises(UnreadableResults, match=r"b\.time_x"):
        parse(json.dumps(document), "f", "asv")


def test_a_rate_is_better_when_it_is_more():
    rows = read("google-benchmark-1.7.1.json")[1].rows
    assert {row.better for row in rows if row.metric == "items_per_second"} == {"more"}
    assert {row.better for row in rows if row.metric == "time_s"} == {"less"}


def test_rounds_of_pytest_benchmark_are_iterations_and_without_them_there_is_the_mean():
    document = json.loads(text_of("pytest-benchmark.json"))
    first = document["benchmarks"][0]
    assert values(read("pytest-benchmark.json")[1], first["fullname"]) == first["stats"]["data"]
    for benchmark in document["benchmarks"]:
        del benchmark["stats"]["data"]
    _, content = parse(json.dumps(document), "f", None)
    assert values(content, first["fullname"]) == [first["stats"]["mean"]]


def test_invocations_of_rebench_are_executions_and_its_executor_is_the_system():
    rows = [row for row in read("rebench.data")[1].rows if row.benchmark == "S/0.02"]
    times = [(row.execution, row.iteration, row.value, row.system) for row in rows if row.metric == "time_s"]
    assert times == [(0, 0, 0.02, "E"), (1, 0, 0.02, "E")]
    memory = [row.unit for row in rows if row.metric == "max_rss_bytes"]
    assert memory == ["B", "B"]


def test_machines_of_rebench_are_no_iterations_of_one_execution_and_a_criterion_may_stand_several_times():
    header = "invocation\titeration\tvalue\tunit\tcriterion\tbenchmark\texecutor\tsuite\tmachine"
    lines = ["1\t1\t5\tms\ttotal\tb\te\ts\tm1", "1\t1\t6\tms\ttotal\tb\te\ts\tm2"]
    lines += ["1\t2\t1\tms\tgc\tb\te\ts\tm1", "1\t2\t2\tms\tgc\tb\te\ts\tm1"]
    rows = parse("\n".join([header, *lines]), "f", "rebench")[1].rows
    assert [(row.benchmark, row.metric, row.value) for row in rows] == [
        ("s/b,machine=m1", "time_s", 0.005),
        ("s/b,machine=m2", "time_s", 0.006),
        ("s/b,machine=m1", "gc", 0.001),
        ("s/b,machine=m1", "gc", 0.002),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\t1\t5", "begins with"),
        ("{header}\n1\t1", "2 cells under 8 columns"),
        ("{header}\n0\t1\t5\tms\ttotal\tb\te\ts", "no numbers from 1 on"),
        ("{header}", "holds no number"),
        (
            "{header}\n1\t1\t5\tms\ttotal\tb\te\ts\n1\t1\t6\tms\ttotal\tb\te\ts",
            "f, line 3: a total of the same executor, benchmark, invocation and iteration as line 2; .* give the executor "
            r"another name in the lines of one, import the lines of one alone, or .* begin .* anew \(rebench --clean\)",
        ),
        ("{header}\n1\t1\t0\tms\ttotal\tb\te\ts", "f, line 2: the value is 0 s, and nothing is executed in no time"),
        ("{header}\n1\t1\t-5\tms\tgc\tb\te\ts", "f, line 2: the value is -0.005 s, and no time is negative"),
    ],
)
def test_what_is_wrong_in_a_file_of_rebench_is_told(text, message):
    header = "invocation\titeration\tvalue\tunit\tcriterion\tbenchmark\texecutor\tsuite"
    with pytest.raises(UnreadableResults, match=message):
        parse(text.replace("{header}", header), "f", "rebench")


def test_latency_of_bencher_is_in_nanoseconds_and_more_throughput_is_better():
    document = {
        "go": {"latency": {"value": 1500.0, "lower_value": 1.0}, "throughput": {"value": 3}, "size": {"value": 7}}
    }
    name, content = parse(json.dumps(document), "f", None)
    assert name == "bencher"
    assert [(row.metric, row.unit, row.better, row.value) for row in content.rows] == [
        ("time_s", "s", "less", 1.5e-6),
        ("throughput", "ops/s", "more", 3.0),
        ("size", "", "less", 7.0),
    ]


def test_what_a_harness_would_not_write_is_told_with_the_file():
    with pytest.raises(UnreadableResults, match=r"^f: the document of Google Benchmark holds only aggregates"):
        parse('{"benchmarks": [{"name": "a", "run_type": "aggregate", "aggregate_name": "mean"}]}', "f", None)
