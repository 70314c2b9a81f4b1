"""The parsers of other harnesses' files: what they make of well-formed text, and what they say of anything else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutrand.errors import LayoutrandError, UnreadableResults
from layoutrand.interop.formats import FORMATS, parse
from layoutrand.interop.imported import ImportedNumber, in_base_unit
from layoutrand.text.foreign_fields import plain

SAMPLES = Path(__file__).resolve().parents[3] / "shared" / "samples"
needs_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples of real files are not beside this copy")


def jmh(raw, unit="us/op", **more):
    key = more.pop("key", "rawData")
    result = {"benchmark": "p.B.go", "mode": "avgt", "forks": len(raw), "primaryMetric": {"scoreUnit": unit, key: raw}}
    return result | more


def read(text, format_name=None):
    return parse(text if isinstance(text, str) else json.dumps(text), "f", format_name)


def rows_of(text, format_name=None):
    return read(text, format_name)[1].rows


def values(text, format_name=None):
    return [(r.benchmark, r.execution, r.iteration, r.value) for r in rows_of(text, format_name)]


# Go

GO = """\
goos: linux
pkg: example.com/fib
BenchmarkFib-8  1000  2000 ns/op  16 B/op  1 allocs/op
BenchmarkFib-8  1000  3000 ns/op  16 B/op  1 allocs/op
some words of the program: 3
BenchmarkCopy/1MB-8  300  4000 ns/op  250.00 MB/s
PASS
ok  example.com/fib  3.4s
"""


def test_a_process_of_go_is_an_execution_and_its_lines_are_iterations():
    assert read(GO)[0] == "go"
    times = [(r.benchmark, r.execution, r.iteration, r.value) for r in rows_of(GO + GO) if r.unit == "s"]
    one = [("Fib", 0, 0, 2e-6), ("Fib", 0, 1, 3e-6), ("Copy/1MB", 0, 0, 4e-6)]
    assert times == one + [(name, 1, iteration, value) for name, _, iteration, value in one]


def test_each_unit_of_go_is_a_metric():
    kinds = {(r.metric, r.unit, r.value, r.better) for r in rows_of(GO) if r.iteration == 0}
    assert kinds == {
        ("time_per_op", "s", 2e-6, "less"),
        ("time_per_op", "s", 4e-6, "less"),
        ("allocated_per_op", "B", 16, "less"),
        ("allocations_per_op", "1", 1, "less"),
        ("throughput", "B/s", 250e6, "more"),
    }


def test_a_unit_of_gos_own_metrics_says_which_way_is_better():
    (row,) = rows_of("Unit hits/op better=higher\nBenchmarkX 1 7.5 hits/op\n")
    assert (row.metric, row.unit, row.value, row.better) == ("hits/op", "hits/op", 7.5, "more")


def test_more_of_a_rate_is_better_in_go_unless_the_text_says_otherwise():
    (row,) = rows_of("BenchmarkX 1 7.5 req/s\n")
    assert row.better == "more"
    (row,) = rows_of("Unit faults/s better=lower\nBenchmarkX 1 7.5 faults/s\n")
    assert row.better == "less"


def test_processors_belong_to_a_name_of_go_where_they_differ():
    assert [r.benchmark for r in rows_of("BenchmarkX-2 1 5 ns/op\nBenchmarkX-4 1 3 ns/op\n")] == ["X-2", "X-4"]
    assert [r.benchmark for r in rows_of("BenchmarkX 1 5 ns/op\nBenchmarkX-4 1 3 ns/op\n")] == ["X", "X-4"]


def test_packages_of_go_are_told_apart():
    other = GO.replace("example.com/fib", "example.com/other")
    assert {r.benchmark for r in rows_of(GO + other)} == {
        f"example.com/{package}.{name}" for package in ("fib", "other") for name in ("Fib", "Copy/1MB")
    }


def test_what_is_exported_for_benchstat_comes_back():
    rows = rows_of("system: O2\nBenchmarkFib 3 1.5 sec/op\n\nsystem: O3\nBenchmarkFib 3 1.25 sec/op\n")
    assert [(r.system, r.benchmark, r.value, r.unit) for r in rows] == [
        ("O2", "Fib", 1.5, "s"),
        ("O3", "Fib", 1.25, "s"),
    ]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("BenchmarkX 1 5 ns/op 7", "f, line 2: a benchmark's line with a value that has no unit"),
        ("BenchmarkX 1 five ns/op", "f, line 2: ns/op of X is 'five', which is no number"),
        ("BenchmarkX 1 5 ns/op 6 ns/op", "f, line 2: time_per_op of one benchmark stands twice"),
        ("BenchmarkX 1 0 ns/op", "is 0 s, and nothing is executed in no time"),
    ],
)
def test_a_damaged_line_of_go_is_told(line, words):
    with pytest.raises(UnreadableResults) as refused:
        read(f"goos: linux\n{line}\n", "go")
    assert words in str(refused.value)


# JMH


def test_forks_of_jmh_are_executions():
    name, content = read([jmh([[1.5, 2.5], [4.0, 5.0]], "ms/op")])
    assert name == "jmh"
    assert [(r.execution, r.iteration, r.value) for r in content.rows] == [
        (0, 0, 0.0015),
        (0, 1, 0.0025),
        (1, 0, 0.004),
        (1, 1, 0.005),
    ]
    assert {(r.benchmark, r.metric, r.unit, r.better) for r in content.rows} == {("p.B.go", "time_per_op", "s", "less")}


@pytest.mark.parametrize(
    ("unit", "value", "expected"),
    [("ops/s", 3.0, 3.0), ("ops/ms", 3.0, 3000.0), ("ops/ns", 3.0, 3e9), ("ops/min", 3.0, 0.05)],
)
def test_more_is_better_of_a_throughput_of_jmh(unit, value, expected):
    (row,) = rows_of([jmh([[value]], unit, mode="thrpt")])
    assert (row.value, row.unit, row.better, row.metric) == (expected, "1/s", "more", "throughput")


def test_parameters_of_jmh_are_part_of_the_name():
    (row,) = rows_of([jmh([[1]], params={"n": "10", "kind": "a b"})])
    assert row.benchmark == "p.B.go,n=10,kind=a b"


def test_a_sampled_iteration_of_jmh_is_the_mean_of_its_histogram():
    (row,) = rows_of([jmh([[[[1.0, 3], [5.0, 1]]]], "s/op", mode="sample", key="rawDataHistogram")])
    assert (row.value, row.metric) == (2.0, "sampled_time_per_op")


def test_secondary_metrics_of_jmh_follow_and_those_with_nan_are_named():
    secondary = {
        "gc.alloc": {"scoreUnit": "B/op", "rawData": [[8.0]]},
        "gc.time": {"scoreUnit": "ms", "rawData": [["NaN"]]},
    }
    _, content = read([jmh([[1.0]], "s/op", secondaryMetrics=secondary)])
    assert [(r.metric, r.value, r.unit) for r in content.rows] == [("time_per_op", 1.0, "s"), ("gc.alloc", 8.0, "B")]
    assert "gc.time holds NaN" in str(content.remarks[0])


def test_jmh_without_forks_is_remarked():
    assert "forks = 0" in str(read([jmh([[1.0]], forks=0)])[1].remarks[0])


# Renaissance


def renaissance(durations, **entry):
    results = [{"duration_ns": d, "uptime_ns": 5} for d in durations]
    return {
        "format_version": 6,
        "environment": {"vm": {"termination": "normal"}},
        "data": {"als": {"results": results, "termination": "normal"} | entry},
    }


def test_repetitions_of_renaissance_are_iterations_of_one_execution():
    name, content = read(renaissance([2_000_000_000, 500_000_000]))
    assert name == "renaissance"
    assert [(r.benchmark, r.execution, r.iteration, r.value, r.metric) for r in content.rows] == [
        ("als", 0, 0, 2.0, "duration_s"),
        ("als", 0, 1, 0.5, "duration_s"),
    ]
    assert "--warmup" in str(content.remarks[0])


def test_a_benchmark_of_renaissance_that_failed_is_a_failure():
    _, content = read(renaissance([1], termination="failure"))
    assert content.rows == ()
    assert "'failure'" in content.failures[0].reason


def test_csv_of_renaissance():
    text = "benchmark,duration_ns,uptime_ns,extra,vm_start_unix_ms\r\nals,2000000000,7,3,9\r\nals,1000000000,8,4,9\r\n"
    name, content = read(text)
    assert name == "renaissance-csv"
    assert [(r.metric, r.iteration, r.value) for r in content.rows] == [
        ("duration_s", 0, 2.0),
        ("extra", 0, 3.0),
        ("duration_s", 1, 1.0),
        ("extra", 1, 4.0),
    ]


# SPEC CPU


def rsf(*results, suite="cpu2017"):
    lines = [f"spec.{suite}.lognum: 1"]
    for stem, tune, index, facts in results:
        lines += [f"spec.{suite}.results.{stem}.{tune}.{index:03}.{key}: {value}" for key, value in facts.items()]
    return "\n".join(lines) + "\n"


def good(time="12.5", **more):
    return {"benchmark": "505.mcf_r", "reported_time": time, "valid": "S"} | more


def test_iterations_of_spec_are_executions_and_the_hash_names_the_binary():
    text = rsf(("505_mcf_r", "base", 0, good(exehash="ab" * 32)), ("505_mcf_r", "base", 1, good("13")))
    name, content = read(text)
    assert name == "spec-rsf"
    assert [(r.benchmark, r.execution, r.value, r.unit, r.fingerprint) for r in content.rows] == [
        ("505.mcf_r", 0, 12.5, "s", "ab" * 32),
        ("505.mcf_r", 1, 13.0, "s", ""),
    ]


def test_peak_of_spec_is_a_system_of_its_own_unless_it_is_a_copy_of_base():
    copied = good(basepeak="1")
    text = rsf(("505_mcf_r", "base", 0, copied), ("505_mcf_r", "peak", 0, copied))
    _, content = read(text)
    assert [r.variant for r in content.rows] == [""]
    assert "copy of base for 505.mcf_r" in str(content.remarks[0])
    text = rsf(("505_mcf_r", "base", 0, good()), ("505_mcf_r", "peak", 0, good("11")))
    assert [(r.variant, r.value) for r in rows_of(text)] == [("", 12.5), ("peak", 11.0)]


def test_failed_runs_of_spec_have_no_time():
    failed = good("0.000570", valid="RE", errors000="copy 0 non-zero return code")
    broken = good("--", valid="CE")
    _, content = read(rsf(("505_mcf_r", "base", 0, failed), ("505_mcf_r", "base", 1, broken)))
    assert content.rows == ()
    assert [(f.status, f.reason) for f in content.failures] == [
        ("exit", "SPEC status RE (run-time error): copy 0 non-zero return code"),
        ("start", "SPEC status CE (compile error)"),
    ]


def test_a_raw_file_that_is_cut_off_is_an_error_with_its_place():
    text = rsf(("505_mcf_r", "base", 0, good()), ("505_mcf_r", "base", 1, good()))
    with pytest.raises(UnreadableResults, match="result 001 of 505_mcf_r .base. has no 'valid'"):
        read(text[: text.rindex("spec.")])
    with pytest.raises(UnreadableResults, match="line 7: a result that is cut off"):
        read(text[: text.rindex(".001")])
    with pytest.raises(UnreadableResults, match="no results"):
        read("spec.cpu2017.lognum: 1\n")


SPEC_CSV = """\
valid,0

"Full Results Table"

Benchmark,"Base # Copies","Est. Base Run Time","Est. Base Rate","Base Selected","Base Status","Peak # Copies","Est. Peak Run Time","Est. Peak Rate","Peak Selected","Peak Status",Description
500.perlbench_r,1,26.5,--,1,S,1,20.5,--,1,S,"test iteration #1"
500.perlbench_r,1,27.5,--,0,S,1,21.5,--,0,S,"test iteration #2"
502.gcc_r,1,--,--,0,CE,,,,,NR,"test iteration #1"
505.mcf_r,1,9,--,1,S,1,9,--,1,S,"test iteration #1"
557.xz_r,,,,,NR,,,,,NR

"Selected Results Table"
"""


def test_the_table_of_all_results_of_spec():
    name, content = read(SPEC_CSV)
    assert name == "spec-csv"
    assert [(r.benchmark, r.variant, r.execution, r.value) for r in content.rows] == [
        ("500.perlbench_r", "", 0, 1 / 26.5),
        ("500.perlbench_r", "", 1, 1 / 27.5),
        ("500.perlbench_r", "peak", 0, 1 / 20.5),
        ("500.perlbench_r", "peak", 1, 1 / 21.5),
        ("505.mcf_r", "", 0, 1 / 9.0),
    ]
    assert [(f.benchmark, f.reason) for f in content.failures] == [("502.gcc_r", "SPEC status CE (compile error)")]
    assert "copy of base for 505.mcf_r" in str(content.remarks[0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SPEC_CSV[: SPEC_CSV.index("\n\n", 150)], "ends within the table"),
        (SPEC_CSV[: SPEC_CSV.index('"test iteration #2')] + "\n\n", "line 7: no 'iteration #N'"),
        (SPEC_CSV.replace("26.5", "26,5"), "line 6: 13 cells under 12 columns"),
        (SPEC_CSV.replace("26.5", "x"), "line 6: base run time is 'x'"),
        (SPEC_CSV.replace("26.5", "6" * 200_000), "line 6: no CSV"),
        (SPEC_CSV.replace("Base Run Time", "Zeit"), "line 5: no column 'Base Run Time'"),
    ],
)
def test_a_damaged_table_of_spec_is_an_error_with_its_line(text, message):
    with pytest.raises(UnreadableResults, match=message):
        read(text)


# hyperfine


def test_runs_of_hyperfine_are_executions():
    result = {"command": "sort  a\nb", "times": [1.0, 2.0], "exit_codes": [0, 0], "memory_usage_byte": [10, 20]}
    name, content = read({"results": [result]})
    assert name == "hyperfine"
    assert [(r.benchmark, r.execution, r.metric, r.unit, r.value) for r in content.rows] == [
        ("sort a b", 0, "wall_s", "s", 1.0),
        ("sort a b", 0, "max_rss_bytes", "B", 10.0),
        ("sort a b", 1, "wall_s", "s", 2.0),
        ("sort a b", 1, "max_rss_bytes", "B", 20.0),
    ]


def test_failed_runs_of_hyperfine_are_not_in_the_numbers():
    _, content = read({"results": [{"command": "x", "times": [1, 2, 3], "exit_codes": [0, 3, None]}]})
    assert [r.execution for r in content.rows] == [0]
    assert [(f.execution, f.reason) for f in content.failures] == [(1, "exit status 3"), (2, "ended by a signal")]


# pyperf


def pyperf(*runs, **metadata):
    return {"version": "1.0", "benchmarks": [{"runs": list(runs)}], "metadata": {"name": "b"} | metadata}


def test_runs_of_pyperf_are_executions_and_warm_ups_are_flagged():
    name, content = read(pyperf({"warmups": [[1, 9.0]]}, {"warmups": [[4, 3.0]], "values": [1.0, 2.0]}))
    assert name == "pyperf"
    assert [(r.execution, r.iteration, r.value, r.warmup, r.unit) for r in content.rows] == [
        (0, 0, 9.0, True, "s"),
        (1, 0, 3.0, True, "s"),
        (1, 1, 1.0, False, "s"),
        (1, 2, 2.0, False, "s"),
    ]


def test_units_of_pyperf():
    (row,) = rows_of(pyperf({"values": [5]}, unit="byte"))
    assert (row.metric, row.unit) == ("memory_bytes", "B")
    with pytest.raises(UnreadableResults, match="expected one of second, byte, integer"):
        read(pyperf({"values": [5]}, unit="furlong"))


# plain CSV


def test_columns_of_a_plain_table_stand_in_any_order():
    text = "iteration,value,unit,seed,execution,system,benchmark,metric,warmup,better\n1,250,ms,7,2,A,b,lat,1,more\n"
    (row,) = rows_of(text)
    assert row == ImportedNumber(
        "b", 0.25, "lat", "s", execution=2, iteration=1, system="A", binary="7", warmup=True, better="more"
    )


@pytest.mark.parametrize(
    ("text", "better"),
    [
        ("value,unit\n1,MB/s\n", "more"),
        ("value,unit,better\n1,MB/s,\n", "more"),
        ("value,unit,better\n1,faults/s,less\n", "less"),
        ("value,unit\n1,MB\n", "less"),
    ],
)
def test_more_of_a_rate_is_better_in_a_table_unless_it_says_otherwise(text, better):
    (row,) = rows_of(text)
    assert row.better == better


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("value\n1\n2\n", [(0, 0), (1, 0)]),
        ("execution,value\n0,1\n0,2\n1,3\n", [(0, 0), (0, 1), (1, 0)]),
        ("iteration,value\n0,1\n1,2\n", [(0, 0), (0, 1)]),
        ("seed,value\n1,1\n2,2\n1,3\n", [(0, 0), (0, 0), (1, 0)]),
    ],
)
def test_executions_and_iterations_are_counted_where_the_table_does_not_say(text, expected):
    assert [(r.execution, r.iteration) for r in rows_of(text)] == expected


def test_a_table_may_have_a_byte_order_mark_crlf_quotes_and_blank_lines():
    assert values('\ufeff"benchmark","value"\r\n"a, ""b""",1\r\n\r\nc,2\r\n') == [('a, "b"', 0, 0, 1), ("c", 0, 0, 2)]


def test_rows_of_failed_executions_have_no_value():
    _, content = read("benchmark,value,status,reason\nb,,timeout,after 60 s\n")
    assert [(f.benchmark, f.status, f.reason) for f in content.failures] == [("b", "timeout", "after 60 s")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("value,colour\n1,red\n", "line 1: unknown column 'colour'"),
        ("system,seed\nA,1\n", "line 1: no column 'value'"),
        ("1.5,2.5\n", "line 1: unknown column '1.5', '2.5'"),
        ("value;seed\n1;2\n", "separated by commas"),
        ("value,value\n1,2\n", "two columns are called 'value'"),
        ("value\n", "no measurement"),
        ("value,seed\n1,2\n1\n", "line 3: 1 cells under 2 columns"),
        ("value\n1\nx\n", "line 3: value is 'x'"),
        ('value\n"1,5"\n', "line 2: value is '1,5'"),
        ("value\n1_000\n", "value is '1_000'"),
        ("value\nnan\n", "value is 'nan'"),
        ("value\n1e999\n", "too large"),
        (f"value\n{'9' * 400}\n", "too large"),
        ("seed,value\n1,1.5\n2,1e-320\n", "line 3: value is '1e-320', which is too small: values lie between 1e-60"),
        ("value,unit\n1e-58,ns\n", "line 2: value is too small in its base unit"),
        ("value,unit\n1e308,GB\n", "too large"),
        ("value\ninf\n", "line 2: value is 'inf'"),
        ("value,unit\n1,s\n-1.5,s\n", "line 3: value is -1.5 s, and no time is negative"),
        ("value,unit\n1,s\n-2,ms\n", "line 3: value is -0.002 s, and no time is negative"),
        ("value,unit\n-1,kB\n", "line 2: value is -1000 B, and no size is negative"),
        ("value,unit\n1,s\n0,s\n", "line 3: value is 0 s, and nothing is executed in no time"),
        ("value,unit,metric\n0,ms,wall_s\n", "line 2: value is 0 s, and nothing"),
        ("value,execution\n1,-1\n", "execution is '-1'"),
        ("value,execution\n1,1.5\n", "execution is '1.5'"),
        ("value,iteration\n1,0\n2,0\n", "line 3: the same .* as line 2"),
        ("value,warmup\n1,maybe\n", "warmup is 'maybe'"),
        ("value,better\n1,higher\n", "expected less or more"),
        ("value,status\n1,exit\n", "value must be empty"),
        ('value,seed\n1,"2\n', "no CSV"),
    ],
)
def test_a_malformed_table_is_an_error_that_names_the_line(text, message):
    with pytest.raises(UnreadableResults, match=message) as caught:
        read(text, "csv")
    assert str(caught.value).startswith("f")


def test_no_cpu_time_and_negative_differences_are_numbers():
    """A clock may see no CPU time; and what has no unit of time may be less than nothing."""
    _, content = read("value,unit,metric\n0,s,user_s\n-1.5,1,score\n-2,,balance\n")
    assert [row.value for row in content.rows] == [0, -1.5, -2]


def test_cells_that_are_shown_as_text_are_read_as_what_they_are():
    _, content = read("benchmark,value\n'=1+1,1\n'-O2,2\n''@x,3\n'tis,4\n-1,5\n")
    assert [row.benchmark for row in content.rows] == ["=1+1", "-O2", "'@x", "'tis", "-1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed;value\n1;2\n", "f, line 1: .*cells must be separated by commas"),
        ('"seed";"value"\n1;2\n', "f, line 1: .*cells must be separated by commas"),
        ("seed\tvalue\n1\t2\n", "f, line 1: .*cells must be separated by commas"),
        ("seed,Value\n1,2\n", "f, line 1: unknown column 'Value'; the first line must name the columns, some of"),
    ],
)
def test_what_is_nearly_a_table_is_told_what_it_lacks(text, message):
    with pytest.raises(UnreadableResults, match=message):
        read(text)


@pytest.mark.parametrize(
    "document",
    [
        {"version": "1.0", "benchmarks": [{"metadata": {"name": "b"}, "runs": [{"values": [1.0, 0.0]}]}]},
        {"benchmarks": [{"fullname": "b", "stats": {"data": [1.0, 0.0]}}]},
        {"commit_hash": "c", "result_columns": ["result"], "results": {"m.time_b": [[0.0]]}},
    ],
)
def test_no_harness_executes_anything_in_no_time(document):
    with pytest.raises(UnreadableResults, match="time_s of .* is 0 s, and nothing is executed in no time"):
        read(document)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([jmh([[-1]])], "time_per_op of p.B.go, execution 0, iteration 0, is -[0-9.e-]+ s, and no time is negative"),
        ([jmh([[1], [0]])], "execution 1, iteration 0, is 0 s, and nothing is executed in no time"),
        ([jmh([["NaN"]])], 'fork 0, iteration 0 is "NaN"; expected a number'),
        ([jmh([])], "holds no fork"),
        ([jmh([[]])], "expected its iterations"),
        ([jmh([[1]]), jmh([[2]])], "two results called 'p.B.go, mode avgt'"),
        ([jmh([[1]], benchmark=7)], "'benchmark' is 7; expected a string"),
        ([jmh([[1]], params=[1])], "'params' is"),
        ([jmh([[1]], secondaryMetrics=[1])], "'secondaryMetrics' is .* expected an object"),
        ([jmh([[[[1.0, 0]]]], key="rawDataHistogram")], "counts no call"),
        ([jmh([[1e59]], "day/op")], "fork 0, iteration 0 is .* which cannot be averaged"),
        ([jmh([[10**400]])], "which cannot be averaged"),
        ([jmh([[-1e-320]])], "is -1e-320, which cannot be averaged"),
        ({"format_version": 6, "data": {"a": {"results": [{}]}}}, "has no 'duration_ns'"),
        ({"format_version": 6, "data": {"a": {"results": [{"duration_ns": True}]}}}, "expected an integer"),
        ({"format_version": 6, "data": {"a": 3}}, "data, 'a' is 3; expected an object"),
        ({"results": [{"command": "x"}]}, "has no 'times'"),
        ({"results": [{"command": "x", "times": []}]}, "has no times"),
        ({"results": [{"command": "x", "times": [1], "exit_codes": []}]}, "one entry for each of 1 times"),
        ({"results": [{"command": "x", "times": [1]}] * 2}, "two results called 'x'"),
        ({"results": [{"command": "x", "times": [None]}]}, "time 0 is null"),
        (pyperf({}), "neither values nor warmups"),
        (pyperf(7), "run 0 is 7"),
        (pyperf({"values": ["1"]}), 'value 0 is "1"'),
        (pyperf({"values": [1], "warmups": [1]}), r"expected \[loops, value\]"),
        (pyperf({"values": [1]}) | {"version": "2.0"}, "expected '1.0'"),
        (pyperf({"values": [1]}) | {"metadata": {}}, "has no 'name'"),
        (pyperf({"values": [1]}) | {"metadata": ["name"]}, "the document, 'metadata' is .* expected an object"),
        (pyperf({"values": [1], "metadata": "x"}), "run 0, 'metadata' is .* expected an object"),
        (pyperf({"values": [1]}, unit=["second"]), "expected one of second, byte, integer"),
        ({"schema": "layoutrand/export/1", "rows": [{"colour": 1}]}, "row 0 is"),
        ({"schema": "layoutrand/export/1"}, "has no 'rows'"),
    ],
)
def test_a_malformed_document_is_an_error_that_says_what_is_expected(document, message):
    with pytest.raises(UnreadableResults, match=message):
        read(document)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("value,colour\n1,red\n", "unknown column 'colour'"),
        ("x" * 200_000, "no format"),
        (
            "system,benchmark,time\nO2,x,1.0\n",
            "line 1: unknown column 'time'; no column 'value', which numbers stand in; the",
        ),
        ("benchmark;commit;ms\n", "line 1: unknown column 'benchmark;commit;ms'; cells must be separated by commas"),
        ("command,mean,stddev,median,user,system,min,max\nx,1,1,1,1,1,1,1\n", "--export-json"),
        ("name,iterations,real_time,cpu_time,time_unit\n", "--benchmark_out_format=json"),
        ('"Benchmark","Mode","Threads","Samples","Score"\n"p.B.f","thrpt",1,5,2.5\n', "-rf json"),
        ("benchmark,value,duration_ns\n", "could be csv or renaissance-csv"),
        (" \n", "is empty"),
        ('[{"benchmark": "x",\n "primaryMetric": ', "line 2: no JSON .* is the file complete"),
        ("{}", "no format that is known; --format names one of asv, bencher, catch2, criterion, csv"),
        ("[]", "no format"),
        ("3", "no format"),
        ("time: 3 s\n", "no format"),
        ("===== DaCapo 23.11-chopin fop PASSED in 1959 msec =====\n", r"what DaCapo prints.*\[suite\] with kind"),
        ("===== DaCapo fop starting warmup =====\nout\n", "what DaCapo prints"),
        ("GC\n====== als (spark) [default], iteration 0 started ======\n", "what Renaissance prints.*--json FILE"),
        ("# JMH version: 1.37\n# VM version: JDK 17\n", "what JMH prints.*-rf json"),
        ("Benchmark   (n)  Mode  Cnt  Score   Error  Units\nA.b  1  avgt  3  5.1 ± 0.1  us/op\n", "what JMH prints"),
        ("\nSPECjvm2008 Base\n  Properties file:   none\n  Benchmarks:        compress\n", r"of SPECjvm2008.*\(csv\)"),
        ("Warmup (120s) result: 464.91 ops/m\n", "of SPECjvm2008"),
        ("Iteration 1 (1 operation) result: 141.84 ops/m\n\nValid run!\n", "of SPECjvm2008"),
        ("Noncompliant composite result: 115.78 ops/m\n", "of SPECjvm2008"),
        ('<?xml version="1.0"?>\n<specjvm-result>\n</specjvm-result>\n', r"of SPECjvm2008.*\.raw file"),
        ('{"results": [{"command": 1}], "benchmarks": [{"runs": []}]}', "could be hyperfine or pyperf"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_what_is_in_no_one_format_is_an_error_that_lists_them(text, message):
    with pytest.raises(UnreadableResults, match=message):
        read(text)


def test_a_format_can_be_forced():
    for name in FORMATS:
        with pytest.raises(UnreadableResults):
            read("{}" if name in {"jmh", "hyperfine", "pyperf", "renaissance", "layoutrand"} else "nothing\n", name)


@given(st.text(max_size=200), st.sampled_from([None, *FORMATS]))
def test_any_text_is_read_or_refused(text, name):
    try:
        content = read(text, name)[1]
    except LayoutrandError as error:
        refused = str(error)
        content = None
    assert content or refused.startswith("f")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "results",
                    "command",
                    "times",
                    "benchmarks",
                    "runs",
                    "values",
                    "warmups",
                    "metadata",
                    "name",
                    "version",
                    "data",
                    "format_version",
                    "duration_ns",
                    "benchmark",
                    "mode",
                    "primaryMetric",
                    "rawData",
                    "scoreUnit",
                    "rows",
                    "value",
                    "environment",
                    "vm",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON, st.sampled_from(["jmh", "hyperfine", "pyperf", "renaissance", "layoutrand"]))
def test_any_document_is_read_or_refused(document, name):
    try:
        content = read(json.dumps(document), name)[1]
    except LayoutrandError as error:
        refused = str(error)
        content = None
    assert content or refused.startswith("f")


def test_units():
    assert in_base_unit(3, "us") == (3e-6, "s")
    assert in_base_unit(2, "KiB") == (2048, "B")
    assert in_base_unit(2, "ops") == (2, "ops")


@pytest.mark.parametrize(
    ("name", "expected"), [("a\n b", "a b"), ("\x1b[31m", "\\x1b[31m"), ("é", "é"), ("\udcff", "\\udcff")]
)
def test_names_are_shown_on_one_line(name, expected):
    assert plain(name) == expected


@needs_samples
@pytest.mark.parametrize(
    ("name", "format_name", "n_rows", "n_failures", "first"),
    [
        ("other/jmh_result.json", "jmh", 2, 0, 8.868145528261346e-6),
        ("spec/CINT2006.004.ref.rsf", "spec-rsf", 36, 0, None),
        ("spec/CINT2006.014.ref.rsf", "spec-rsf", 3, 0, 324.887395),
        ("spec/CPU2017.003.intrate.test.rsf", "spec-rsf", 1, 0, 1 / 26.191351),
        ("spec/CPU2017.003.intrate.test.csv", "spec-csv", 1, 0, 1 / 26.191351),
        ("spec/cint2006-example.csv", "spec-csv", None, 0, 405.406748),
        ("spec/cfp2006-rates-example.csv", "spec-csv", None, 0, 24 / 800.570078),
    ],
)
def test_real_files(name, format_name, n_rows, n_failures, first):
    found, content = parse((SAMPLES / name).read_text(), name, None)
    assert found == format_name
    assert len(content.failures) == n_failures
    assert len(content.rows) == n_rows if n_rows else len(content.rows) > 36
    assert first is None or content.rows[0].value == first


@needs_samples
def test_raw_file_and_table_of_one_real_run_agree():
    raw, table = (
        parse((SAMPLES / f"spec/CPU2017.006.intrate.test.{end}").read_text(), end, None)[1] for end in ("rsf", "csv")
    )

    def times(content):
        return {(r.benchmark, r.variant, r.execution): r.value for r in content.rows}

    assert len(times(raw)) >= 9
    assert times(raw) == times(table)
    assert {(f.benchmark, f.status) for f in raw.failures} == {(f.benchmark, f.status) for f in table.failures}
    assert all(len(row.fingerprint) == 64 for row in raw.rows)


@needs_samples
@pytest.mark.parametrize("path", sorted(SAMPLES.rglob("*.*")) if SAMPLES.is_dir() else [], ids=lambda p: p.name)
def test_every_real_file_is_read_or_refused_with_a_reason(path):
    if path.is_file():
        text = path.read_text("utf-8", "replace")
        try:
            name, content = parse(text, path.name, None)
        except UnreadableResults as error:
            refused, content = str(error), None
        assert (name in FORMATS and content.rows) if content else path.name in refused


@needs_samples
@pytest.mark.parametrize("name", ["spec/CPU2017.006.intrate.test.rsf", "spec/CPU2017.006.intrate.test.csv"])
def test_a_real_file_that_is_cut_off_gives_no_number_that_is_not_in_it(name):
    """At every hundredth byte: refused, or a part of the whole."""
    text = (SAMPLES / name).read_text()
    whole = set(parse(text, name, None)[1].rows)
    for end in range(0, len(text), max(1, len(text) // 100)):
        try:
            part = parse(text[:end], name, None)[1]
        except UnreadableResults:
            continue
        strange = {r for r in part.rows if r not in whole}
        assert {r for r in strange if r.benchmark not in {w.benchmark for w in whole}} == set()
        assert {r.value for r in strange} <= {w.value for w in whole}


def test_a_benchmark_of_go_that_failed_is_a_failure_and_not_those_that_it_is_made_of():
    text = GO.replace(
        "PASS", "--- FAIL: BenchmarkBad\n    x_test.go:5: no\n--- FAIL: BenchmarkSub/a\n--- FAIL: BenchmarkSub\nFAIL"
    )
    content = read(text)[1]
    assert [(each.benchmark, each.reason) for each in content.failures] == [
        ("Bad", "go test says FAIL"),
        ("Sub/a", "go test says FAIL"),
    ]
    assert {row.benchmark for row in content.rows} == {"Fib", "Copy/1MB"}
    with_processors = read(text.replace("FAIL: BenchmarkBad", "FAIL: BenchmarkBad-8"))[1]
    assert [each.benchmark for each in with_processors.failures] == ["Bad", "Sub/a"]
