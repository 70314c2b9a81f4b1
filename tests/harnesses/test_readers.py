"""What harnesses wrote, read case by case."""

from __future__ import annotations

import json

import pytest

from harnesses.samplekit import JMH, criterion_files, left, text_of
from layoutrand.errors import NoMeasurement
from layoutrand.harnesses.harness import LeftByHarness
from layoutrand.harnesses.known import (
    catch2,
    divan,
    doctest_times,
    go_test,
    google_benchmark,
    harness_named,
    iai_callgrind,
    jmh_forks,
    libtest,
    nanobench,
)


def read(harness):
    return {case.name: case for case in harness_named(harness).read(left(harness))}


def google(*runs):
    return google_benchmark.cases_of({"benchmarks": list(runs)})


RUN = {"name": "B/1", "run_name": "B/1", "run_type": "iteration", "real_time": 2.0, "cpu_time": 1.0, "time_unit": "us"}


def test_google_benchmark_has_times_in_seconds_counters_and_cases_that_failed():
    cases = read("google-benchmark")
    assert list(cases) == ["BM_Sort/256", "BM_Sort/16", "BM_Sum", "BM_Err"]
    raw = [
        run
        for run in json.loads(text_of("google-benchmark-1.7.1.json"))["benchmarks"]
        if run["run_type"] != "aggregate"
    ]
    sort = cases["BM_Sort/256"].numbers
    assert list(sort)[:2] == ["time_s", "cpu_time_s"]
    wanted = [run["real_time"] for run in raw if run["run_name"] == "BM_Sort/256"]
    assert [value * 1e9 for value in sort["time_s"].values] == pytest.approx(wanted)
    assert sort["items_per_second"].unit == "items/s"
    assert sort["swaps"].values == (3.0, 3.0)
    in_us = [run["cpu_time"] for run in raw if run["run_name"] == "BM_Sum"]
    assert [value * 1e6 for value in cases["BM_Sum"].numbers["cpu_time_s"].values] == pytest.approx(in_us)
    assert cases["BM_Err"].failure == "the case reported an error: no data"


def test_repetitions_of_google_benchmark_that_took_turns_are_in_their_order():
    runs = [{**RUN, "repetition_index": place, "real_time": 1.0 + place} for place in (2, 0, 1)]
    (case,) = google(*runs)
    assert case.numbers["time_s"].values == (1e-6, 2e-6, 3e-6)


def test_cases_of_google_benchmark_with_aggregates_alone_fail_and_fits_of_a_family_are_no_cases():
    mean = {**RUN, "name": "C/1_mean", "run_name": "C/1", "run_type": "aggregate", "aggregate_name": "mean"}
    fit = {**mean, "name": "B_BigO", "run_name": "B", "aggregate_name": "BigO"}
    measured, summed = google(RUN, mean, fit)
    assert (measured.name, measured.failure) == ("B/1", "")
    assert summed.name == "C/1"
    assert "only aggregates of it" in summed.failure


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ([{**RUN, "run_type": "aggregate"}], "leave out --benchmark_report_aggregates_only"),
        (
            [{**RUN, "error_occurred": True}, {**RUN, "run_name": "C", "run_type": "aggregate"}],
            "holds only aggregates",  # once, and not of each case
        ),
        ([], "no case"),
        ([{**RUN, "time_unit": "days"}], "'days', which is no unit of time"),
        ([{**RUN, "real_time": "2"}], "real_time of B/1 is no number"),
        ([{"run_type": "iteration"}], "no 'name' that is text"),
    ],
)
def test_what_is_none_of_google_benchmarks_results_is_told(runs, message):
    with pytest.raises(NoMeasurement, match=message):
        google(*runs)


def test_a_case_that_took_no_time_has_failed_and_not_the_others():
    one, other = google({**RUN, "real_time": 0.0}, {**RUN, "name": "C", "run_name": "C"})
    assert "did nothing that takes time" in one.failure
    assert other.numbers


def test_a_filter_that_nothing_matches_is_told_in_google_benchmarks_words():
    with pytest.raises(NoMeasurement, match=r"executed no case .*Failed to match any benchmarks"):
        harness_named("google-benchmark").read(
            LeftByHarness("", "Failed to match any benchmarks against regex: Nix\n", {"layoutrand-cases.json": ""})
        )


def test_criterion_has_a_value_for_each_sample():
    cases = read("criterion")
    assert list(cases) == ["fib 15", "total/100"]
    sample = json.loads(criterion_files()["criterion/total/100/new/sample.json"])
    wanted = [time / count for time, count in zip(sample["times"], sample["iters"], strict=True)]
    assert [value * 1e9 for value in cases["total/100"].numbers["time_s"].values] == pytest.approx(wanted)


def test_a_sample_of_criterion_without_its_names_is_told():
    files = {path: text for path, text in criterion_files().items() if not path.endswith("benchmark.json")}
    with pytest.raises(NoMeasurement, match=r"without .*benchmark\.json"):
        harness_named("criterion").read(LeftByHarness("", files=files))


def test_libtest_and_the_crate_bencher_print_the_same_line():
    cases = read("libtest")
    assert list(cases) == ["fib", "fib15", "total"]
    assert cases["fib"].numbers["time_s"].values == pytest.approx((17.09e-9,))
    (line,) = [line for line in text_of("bencher-0.1.5.txt").splitlines() if "fib15" in line]
    wanted = float(line.split("bench:")[1].split("ns/iter")[0].replace(",", ""))
    assert cases["fib15"].numbers["time_s"].values == pytest.approx((wanted * 1e-9,))


def test_a_bench_that_failed_is_a_failed_case_of_libtest():
    output = (
        "test a ... bench:       3,296 ns/iter (+/- 521)\ntest b ... FAILED\ntest c ... ignored\ntest b ... FAILED\n"
    )
    assert [(case.name, bool(case.numbers), case.failure) for case in libtest.cases_of(output)] == [
        ("a", True, ""),
        ("b", False, "libtest says FAILED"),
    ]


@pytest.mark.parametrize(
    "line", ["test x ... FAILED", "test x ... bench: 1.2.3 ns/iter", "test x ... ok", "test x ... bench: 0 ns/iter"]
)
def test_other_lines_of_libtest_are_no_cases(line):
    with pytest.raises(NoMeasurement):
        libtest.cases_of(line)


def test_go_test_has_a_value_for_each_count_and_what_else_a_benchmark_reports():
    cases = read("go-test")
    assert list(cases) == ["Ints/n=10", "Ints/n=100", "Named/with_blank_(x)", "Fast", "Logs"]
    one = cases["Ints/n=10"].numbers
    assert next(iter(one)) == "time_s"
    assert one["time_s"].values == pytest.approx((244.6e-9, 200.3e-9))
    assert (one["throughput"].unit, one["throughput"].values) == ("B/s", pytest.approx((327.10e6, 399.37e6)))
    assert cases["Named/with_blank_(x)"].numbers["things/op"].values == (3.0, 3.0)


def test_a_number_of_processors_that_not_all_names_of_go_have_is_of_the_name():
    line = "{} 100 5.0 ns/op\n".format
    assert [case.name for case in go_test.cases_of(line("BenchmarkA-8") + line("BenchmarkB-8"))] == ["A", "B"]
    assert [case.name for case in go_test.cases_of(line("BenchmarkA-1") + line("BenchmarkA-2"))] == ["A-1", "A-2"]
    assert [case.name for case in go_test.cases_of(line("BenchmarkA/n-10") + line("BenchmarkB"))] == ["A/n-10", "B"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("BenchmarkA-8 100 5.0", "without a unit"),
        ("BenchmarkA-8 100 five ns/op", "no number"),
        ("BenchmarkA-8 100 1e999 ns/op", "ns/op of A"),
        ("PASS", "no line of Go's benchmarks"),
    ],
)
def test_other_lines_of_go_are_no_cases(line, said):
    with pytest.raises(NoMeasurement, match=said):
        go_test.cases_of(line)


def test_a_benchmark_of_go_that_takes_no_time_has_failed_by_itself():
    bad, good = go_test.cases_of("BenchmarkA 100 0 ns/op\nBenchmarkB 100 4 ns/op\n")
    assert bad.failure == "ns/op is 0: the case did nothing that takes time"
    assert good.numbers["time_s"].values == (4e-9,)


@pytest.mark.parametrize("word", ["-test.bench=Ints", "--test.count=3", "-test.run=^$", "-test.bench"])
def test_options_of_go_that_are_keys_here_are_refused(word):
    assert word in harness_named("go-test").refusal(["{artefact}", "-test.benchtime=1x", word])
    assert not harness_named("go-test").refusal(["{artefact}", "-test.benchtime=1x", "-test.cpu=1", "bench"])


def test_divan_has_the_leaves_of_its_tree_by_their_path():
    cases = read("divan")
    assert list(cases) == [
        *("cases::one", "cases::sum::100", "cases::sum::200"),  # not "cases::never", which is ignored
        *("cases::deep::named::10 µs  ago", "cases::deep::named::a│b", "cases::deep::t::t=1", "cases::deep::t::t=16"),
        *("cases::deep::u::7::t=1", "cases::deep::u::7::t=16"),
    ]
    one = cases["cases::one"].numbers
    assert one["time_s"].values == pytest.approx((2.878e-9,))
    assert one["median_s"].values == pytest.approx((2.881e-9,))
    assert cases["cases::deep::named::a│b"].numbers["fastest_s"].values == pytest.approx((40.04e-9,))


def test_a_case_of_divan_is_read_where_its_name_is_longer_than_the_table_has_room_for():
    table = text_of("divan-0.1.21-threads.txt")  # of one benchmark: what threads are called is not reckoned with
    heading = table.index("fastest")
    assert table.splitlines()[-2].index("5.304 ns") > heading
    cases = {case.name: case.numbers["time_s"].values for case in divan.cases_of(table)}
    assert cases == {
        "cases::deep::u::7::t=1": pytest.approx((6.012e-9,)),
        "cases::deep::u::7::t=16": pytest.approx((6.561e-9,)),
    }


def test_a_crate_may_be_called_like_a_column_of_divans():
    table = text_of("divan-0.1.21-threads.txt").replace("cases      ", "fastest_way")
    assert {case.name for case in divan.cases_of(table)} == {
        "fastest_way::deep::u::7::t=1",
        "fastest_way::deep::u::7::t=16",
    }


def test_divan_gives_minutes_and_what_is_no_time_is_told():
    row = "a  fastest │ slowest │ median │ mean │ samples │ iters\n╰─ b  58.5 s │ 2 h │ 1.5 m │ %s │ 3 │ 3\n"
    (case,) = divan.cases_of(row % "1.25 m")
    assert (case.numbers["time_s"].values, case.numbers["median_s"].values) == ((75.0,), (90.0,))
    with pytest.raises(NoMeasurement, match=r"divan printed mean of a::b as '3 cows', which is no time"):
        divan.cases_of(row % "3 cows")
    with pytest.raises(NoMeasurement, match="'ha', which is no unit of time"):
        divan.cases_of(row % "3 ha")


def test_a_case_of_divan_may_have_blanks_and_signs_in_its_name():
    table = (
        "skew_heap               fastest │ slowest  │ median │ mean     │ samples │ iters\n"
        "╰─ BinaryHeap<[u64; 5]>         │          │        │          │         │\n"
        "   ╰─ 10 µs ago         222 ms  │ 238.2 ms │ 235 ms │ 231.8 ms │ 3       │ 3\n"
    )
    (case,) = divan.cases_of(table)
    assert case.name == "skew_heap::BinaryHeap<[u64; 5]>::10 µs ago"
    assert case.numbers["time_s"].values == pytest.approx((0.2318,))


def test_catch2_has_test_case_section_and_benchmark_in_its_names():
    cases = read("catch2")
    assert list(cases) == [
        "Fibonacci/fib 15",
        "Fibonacci/deep/fib 18",
        "Fibonacci/other/fib 16",
        "Sums/sum",
        "Broken/throws",
    ]
    assert cases["Broken/throws"].failure == "the case failed: no data"
    assert len(cases["Fibonacci/fib 15"].numbers["time_s"].values) == 2  # its test case is entered for each section
    assert cases["Fibonacci/deep/fib 18"].numbers["time_s"].values[0] == pytest.approx(2.7e-6, rel=0.9)


def test_version_3_of_catch2_has_no_groups():
    result = '<BenchmarkResults name="b"><mean value="2"/></BenchmarkResults>'
    text = f'<Catch2TestRun><TestCase name="T">{result}</TestCase></Catch2TestRun>'
    (case,) = catch2.cases_of(text)
    assert (case.name, case.numbers["time_s"].values) == ("T/b", (2e-9,))


def test_benchmarks_of_a_test_case_of_catch2_that_failed_are_failures():
    result = '<BenchmarkResults name="{}"><mean value="2"/></BenchmarkResults>'
    broken = '<Expression success="false"><Original>\n  1 ==\n 2\n</Original></Expression>'
    text = (
        f'<Catch2TestRun><TestCase name="T">{result.format("a")}<Section name="S">{result.format("b")}{broken}</Section>'
        f'<OverallResult success="false"/></TestCase><TestCase name="U">{result.format("c")}'
        '<OverallResult success="true"/></TestCase></Catch2TestRun>'
    )
    assert {case.name: case.failure for case in catch2.cases_of(text)} == {
        "U/c": "",
        "T/a": "the test case failed: 1 == 2 does not hold",
        "T/S/b": "the test case failed: 1 == 2 does not hold",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<Catch/>", "no BENCHMARK: version 2 needs"),
        ("<Catch><Group>", "was the program ended early"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><Catch/>', "declares a document type"),
        ('<Catch><TestCase name="T"><BenchmarkResults name="b"/></TestCase></Catch>', "no mean of T/b"),
        ("<Catch>" + "<Section>" * 200 + "</Section>" * 200 + "</Catch>", "nested too deeply"),
    ],
)
def test_a_report_of_catch2_without_numbers_is_told(text, message):
    with pytest.raises(NoMeasurement, match=message):
        catch2.cases_of(text)


def test_nanobench_has_seconds_of_one_unit_by_epoch():
    cases = read("nanobench")
    (result,) = json.loads(text_of("nanobench-4.6.0.json"))["results"]
    wanted = [epoch["elapsed"] / result["batch"] for epoch in result["measurements"]]
    assert list(cases) == ["numbers/sum"]
    assert cases["numbers/sum"].numbers["time_s"].values == pytest.approx(wanted)


def test_nanobench_may_print_its_document_as_well():
    text = text_of("nanobench-4.6.0.json")
    assert [case.name for case in harness_named("nanobench").read(LeftByHarness(text))] == ["numbers/sum"]
    with pytest.raises(NoMeasurement, match="no result"):
        nanobench.cases_of({"results": []})


def test_a_pattern_for_one_case_has_no_escape_that_posix_does_not_know():
    r"""Google Benchmark is compiled as standard C++, where libstdc++ says \] to be an 'Invalid escape'."""
    words = harness_named("google-benchmark").words_for('eval, "float" [x]{2}')
    assert words[-1] == r'--benchmark_filter=^eval, "float" \[x]\{2}$'


def doctest(*results, name="A"):
    cases = "".join(f'<TestCase name="{name}">{result}</TestCase>' for result in results)
    return doctest_times.cases_of(f"<doctest><TestSuite>{cases}</TestSuite></doctest>")


def test_doctest_has_the_time_of_each_test_case_that_was_executed():
    cases = read("doctest")
    assert list(cases) == ["sum of squares", 'a, b [x] * "q"', "templ<int>", "templ<double>"]
    assert cases["sum of squares"].numbers["time_s"].values == (0.008643,)
    assert harness_named("doctest").words_for('a, b [x] * "q"')[-1] == "--dt-test-case=a? b [x] ? ?q?"


@pytest.mark.parametrize(
    ("results", "failure"),
    [
        (['<OverallResultsAsserts test_case_success="false" failures="2"/>'], "the test case failed: 2 assertions"),
        (['<OverallResultsAsserts duration="0.000000"/>'], "it took less than a microsecond"),
        (['<OverallResultsAsserts duration="1"/>'] * 2, "2 test cases are called so"),
        ([""], "the test case did not end"),
    ],
)
def test_a_test_case_of_doctest_without_a_time_says_why(results, failure):
    (case,) = doctest(*results)
    assert not case.numbers
    assert case.failure.startswith(failure)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<doctest/>", "doctest executed no test case"),
        ("<Catch2><TestCase/></Catch2>", "begins with <Catch2>"),
        ('<doctest><TestCase name="A"><OverallResultsAsserts/></TestCase></doctest>', "has no duration of A"),
        ('<doctest><TestCase><OverallResultsAsserts duration="x"/></TestCase></doctest>', "which is no number"),
    ],
)
def test_what_is_no_report_of_doctest_is_told(text, problem):
    with pytest.raises(NoMeasurement, match=problem):
        doctest_times.cases_of(text)


def test_jmh_has_times_rates_and_the_means_of_histograms():
    cases = read("jmh")
    assert list(cases) == ["p.B.go,n=10", "p.B.rate", "p.B.sampled"]
    assert cases["p.B.go,n=10"].numbers["time_s"].values == (1.5e-6, 2.5e-6)
    rate = cases["p.B.rate"].numbers["throughput"]
    assert (rate.unit, rate.values) == ("ops/s", (4000.0, 5000.0))
    assert cases["p.B.sampled"].numbers["time_s"].values == (2.0,)


def test_one_method_of_jmh_in_two_modes_is_two_cases_and_two_forks_are_no_execution():
    twice = [{**JMH[0], "mode": mode} for mode in ("avgt", "ss")]
    assert [case.name for case in jmh_forks.cases_of(twice)] == ["p.B.go,n=10,avgt", "p.B.go,n=10,ss"]
    forks = {**JMH[0], "primaryMetric": {"scoreUnit": "us/op", "rawData": [[1.0], [2.0]]}}
    with pytest.raises(NoMeasurement, match="has 2 forks, and an execution is one"):
        jmh_forks.cases_of([forks])


def test_a_fork_of_jmh_that_lacks_an_option_of_the_command_measured_another_jvm():
    """``@Fork(jvmArgs = ...)`` takes the place of what the command's JVM has, and so of what a system or layout is."""
    argv = (
        "env",
        "-i",
        "/jdk/bin/java",
        "-XX:+UseSerialGC",
        "-cp",
        "not.jar",
        "-Dn=1",
        "-jar",
        "b.jar",
        "-Xnot",
        "B",
    )
    assert jmh_forks.inherited(argv) == ("-XX:+UseSerialGC", "-Dn=1")
    assert jmh_forks.inherited(("./bench", "-Xmx1g")) == ()
    forks = [
        {**JMH[0], "jvmArgs": ["-Dn=1", "-Xmx2g", "-XX:+UseSerialGC"]},
        {**JMH[1], "jvmArgs": ["-Xmx2g", "-Dn=1"]},
        JMH[2],
    ]
    whole, lacking, untold = harness_named("jmh").read(
        LeftByHarness("", files={"layoutrand-cases.json": json.dumps(forks)}, argv=argv)
    )
    assert whole.numbers
    assert not lacking.numbers
    assert lacking.failure.startswith(
        "its JVM was started without options that the command has, such as -XX:+UseSerialGC: "
    )
    assert not untold.numbers
    assert "do not tell which options" in untold.failure


@pytest.mark.parametrize(
    ("options", "beside"),
    [
        (["-Xmx1g"], "-Xmx2g"),
        (["-XX:+UseSerialGC"], "-XX:+UseZGC"),
        (["-XX:+Inline"], "-XX:-Inline"),
        (["-XX:Tier=1"], "-XX:Tier=2"),
        (["-Da=1"], "-Da=2"),
        (["-XX:HeapBaseMinAddress=0x300000000"], "-Xmx30g"),
        (["-Xshare:on", "-XX:SharedArchiveFile=x"], "-XX:+UseZGC"),
    ],
)
def test_a_fork_of_jmh_whose_options_undo_those_of_the_command_measured_something_else(options, beside):
    (case,) = jmh_forks.cases_of([{**JMH[0], "jvmArgs": [*options, beside]}], options)
    assert not case.numbers
    assert case.failure.startswith(f"its JVM was started with {beside} beside the command's options")


def test_what_a_fork_of_jmh_has_besides_may_be_anything_else():
    options = ["-Xmx1g", "-XX:+UseSerialGC", "-Da=1"]
    had = ["-Xms1g", "-Xss2m", "-XX:+UseNUMA", "-Db=1", "-ea", *options]
    (case,) = jmh_forks.cases_of([{**JMH[0], "jvmArgs": had}], options)
    assert case.numbers
    assert jmh_forks.inherited(["java", "-Xdiag", "-XshowSettings:vm", "-Xint", "B"]) == ("-Xint",)


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        (["-i", "3", "Sort"], ""),
        (["-jvmArgsAppend", "-Dx=1", "Sort"], ""),
        (["-f", "3"], "-f 3: JMH is told already"),
        (["-f3"], "-f3: JMH is told already"),
        (["--rf=csv"], "--rf=csv: JMH is told already"),
        (["-jvm", "/other/java"], "-jvm /other/java: which JVM is started"),
        (["-jvmArgs", "-Xmx1g"], "-jvmArgs -Xmx1g: which JVM is started"),
    ],
)
def test_what_would_not_go_with_what_jmh_is_told_is_refused(words, refused):
    said = harness_named("jmh").refusal(["{home}/bin/java", "-jar", "b.jar", *words])
    assert said.startswith(refused)
    assert bool(said) == bool(refused)


def summary(**changed):
    return {**json.loads(text_of("iai-callgrind-0.16.1.jsonl").splitlines()[0]), **changed}


def test_iai_callgrind_has_what_valgrind_counted_and_its_estimate_first():
    cases = read("iai-callgrind")
    assert list(cases) == ["counts::sorting::sorted::short", "counts::counting::primes"]
    numbers = cases["counts::sorting::sorted::short"].numbers
    assert next(iter(numbers)) == harness_named("iai-callgrind").main[0] == "estimated_cycles"
    counted = {name: quantity.values for name, quantity in numbers.items()}
    # As it printed them: Instructions 82, Estimated Cycles 216, and of 110 reads and writes 4 that missed the first level.
    assert counted["instructions"] == (82,)
    assert counted["estimated_cycles"] == (216,)
    assert counted["i1_misses"] == (3,)
    assert counted["d1_misses"] == (1,)
    assert "branch_mispredictions" not in counted  # which nobody asked Valgrind for
    assert read("gungraun") == cases


def test_a_case_of_iai_callgrind_that_executes_another_program_says_nothing_of_the_layout():
    case = iai_callgrind.case_of(summary(kind="BinaryBenchmark", benchmark_exe="/bin/true"))
    assert not case.numbers
    assert case.failure == "it executes /bin/true, which is no program of the layout"


def test_a_case_of_iai_callgrind_that_nobody_counted_is_told():
    case = iai_callgrind.case_of(summary(profiles=[{"summaries": {"total": {"summary": {"Dhat": {}}}}}]))
    assert (dict(case.numbers), case.failure) == ({}, "none of the tools that executed it counts instructions")


def test_counts_of_iai_callgrind_beside_those_of_an_earlier_execution_are_refused():
    both = {"Ir": {"metrics": {"Both": [{"Int": 82}, {"Int": 80}]}}}
    compared = summary(profiles=[{"summaries": {"total": {"summary": {"Callgrind": both}}}}])
    with pytest.raises(NoMeasurement, match=r"Ir of .* is compared with an earlier execution"):
        iai_callgrind.case_of(compared)
