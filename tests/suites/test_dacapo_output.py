"""What DaCapo's harnesses print: every version's lines, every way to fail, and nothing taken for an iteration that is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutrand.config.readings import DacapoReading
from layoutrand.suites.dacapo_messages import explanation
from layoutrand.suites.dacapo_output import judge
from layoutrand.suites.suite import HarnessOutput, Verdict

SAMPLES = Path(__file__).parents[3] / "shared/samples/dacapo"
needs_samples = pytest.mark.skipif(
    not SAMPLES.is_dir(), reason=f"real output is not part of the repository ({SAMPLES})"
)


def reading(benchmark="fop", iterations=3):
    return DacapoReading(kind="dacapo", benchmark=benchmark, iterations=iterations)


def read(text, benchmark="fop", iterations=3, *, returncode=0) -> Verdict:
    status, reason = ("ok", "") if returncode == 0 else ("exit", f"exit status {returncode}")
    return judge(reading(benchmark, iterations), HarnessOutput(status, reason, returncode, text, "", {}))


def lines(version="9.12", benchmark="fop", times=(829, 336, 221), *, numbered=True, before="", after=""):
    """The output of a good execution of a harness that calls itself ``version`` ("" for 2006)."""
    title = f"===== DaCapo {version + ' ' if version else ''}{benchmark}"
    result = []
    for place, ms in enumerate(times[:-1], 1):
        number = f" {place}" if numbered else ""
        result += [f"{title} starting warmup{number} =====", before]
        result += [f"{title} completed warmup{number} in {ms} msec =====", after]
    result += [f"{title} starting =====", before, f"{title} PASSED in {times[-1]} msec =====", after]
    return [line + "\n" for line in result if line]


VERSIONS = [
    ("", False),
    ("9.12", True),
    ("9.12-MR1", True),
    ("9.12-D3S-20180206", True),
    ("0.1.0-SNAPSHOT", True),
    ("23.9-RC3-chopin", True),
    ("23.11-chopin", True),
    ("23.11-MR2-chopin", True),
    ("evaluation-git+8b7a2dc", True),
    ("head-runknown", True),
    ("unknown", True),
]
LATENCY = (
    "===== DaCapo processed 200000 requests in 4935 msec, 40526 requests per second =====\n"
    "===== DaCapo tail latency, simple: 50% 138 usec, 99.9% 1737 usec, max 52697 usec, measured over 200000 events =====\n"
    "===== DaCapo simple tail latency: 50% 602 usec, max 89408 usec, measured over 100000 events ====="
)


@pytest.mark.parametrize(("version", "numbered"), VERSIONS)
def test_every_iteration_is_a_number_in_seconds(version, numbered):
    assert read("".join(lines(version, numbered=numbered))) == Verdict("ok", "", (0.829, 0.336, 0.221))


@pytest.mark.parametrize(("version", "numbered"), VERSIONS)
def test_a_single_iteration_has_no_warmup(version, numbered):
    assert read("".join(lines(version, times=(70,), numbered=numbered)), iterations=1) == Verdict("ok", "", (0.07,))


def test_the_benchmarks_own_output_and_the_latency_lines_are_no_iterations():
    text = "".join(lines("23.11-MR2-chopin", before="100%\nNormal completion in 12 msec", after=LATENCY))
    assert read(text).values == (0.829, 0.336, 0.221)


def test_a_line_of_the_harness_counts_also_where_the_benchmark_left_its_own_line_unfinished():
    text = "".join(lines()).replace("===== DaCapo 9.12 fop PASSED", "100% done ===== DaCapo 9.12 fop PASSED")
    assert read(text).values == (0.829, 0.336, 0.221)


@pytest.mark.parametrize("digits", ["9" * 400, "9" * 5000, str(10**12 + 1)])
@pytest.mark.parametrize("what", ["PASSED in {}", "completed warmup 1 in {}", "completed warmup {} in 829"])
def test_one_garbled_line_fails_its_execution(digits, what):
    """And nothing else: it was the end of the whole run."""
    line = f"===== DaCapo 9.12 fop {what.format(digits)} msec ====="
    place = 5 if "PASSED" in what else 1
    text = lines()
    text[place] = line + "\n"
    verdict = read("".join(text))
    assert (verdict.status, verdict.values) == ("no-measurement", ())
    assert verdict.reason.startswith("the harness printed a number that is none: '===== DaCapo 9.12 fop ")
    assert len(verdict.reason) < 300
    assert read("".join(text), returncode=3).status == "exit"


def test_lines_on_either_stream_are_read_where_they_were_not_merged():
    ended = HarnessOutput("ok", "", 0, "a banner\n", "".join(lines()), {})
    assert judge(reading(), ended).values == (0.829, 0.336, 0.221)


def test_carriage_returns_do_not_matter():
    assert read("".join(lines()).replace("\n", "\r\n")).values == (0.829, 0.336, 0.221)


@pytest.mark.parametrize(("version", "numbered"), VERSIONS)
@pytest.mark.parametrize("missing", range(6))
def test_without_any_one_of_its_lines_an_output_does_not_count(version, numbered, missing):
    text = lines(version, numbered=numbered)
    del text[missing]
    verdict = read("".join(text))
    assert (verdict.status, verdict.values) == ("no-measurement", ())
    assert "missing or out of order" in verdict.reason or "incomplete" in verdict.reason


@pytest.mark.parametrize("doubled", range(6))
def test_with_any_one_of_its_lines_twice_an_output_does_not_count(doubled):
    text = lines()
    text.insert(doubled, text[doubled])
    assert read("".join(text)).status == "no-measurement"


@pytest.mark.parametrize(("first", "second"), [(a, b) for a in range(6) for b in range(a)])
def test_with_any_two_lines_exchanged_an_output_does_not_count(first, second):
    text = lines()
    text[first], text[second] = text[second], text[first]
    assert read("".join(text)).status == "no-measurement"


@given(st.integers(0, 400))
def test_cut_anywhere_before_its_last_line_is_whole_an_output_does_not_count(cut):
    text = "".join(lines())
    verdict = read(text[: min(cut, len(text) - len("=\n"))])
    assert (verdict.status, verdict.values) == ("no-measurement", ())


@given(st.text())
def test_no_text_at_all_is_an_execution(text):
    assert read(text).status == "no-measurement"


@pytest.mark.parametrize("returncode", [1, 9, 254, 255])
def test_a_good_output_does_not_count_where_the_harness_failed_afterwards(returncode):
    verdict = read("".join(lines()), returncode=returncode)
    assert (verdict.status, verdict.values) == ("exit", ())
    assert f"exit status {returncode} after iteration 3 of 3" in verdict.reason


@pytest.mark.parametrize(
    ("iterations", "reason"),
    [
        (2, "expected the start of the measured iteration, got '===== DaCapo 9.12 fop starting warmup 2 ====='"),
        (4, "expected the start of warm-up 3, got '===== DaCapo 9.12 fop starting ====='"),
    ],
)
def test_more_or_fewer_iterations_than_were_asked_for_do_not_count(iterations, reason):
    verdict = read("".join(lines()), iterations=iterations)
    assert (verdict.status, verdict.reason.endswith(reason)) == ("no-measurement", True), verdict.reason


def test_what_follows_the_measured_iteration_is_told():
    text = "".join([*lines(), lines()[-2]])
    assert read(text).reason == (
        "the harness went on after the 3 iterations that were asked for: '===== DaCapo 9.12 fop starting ====='"
    )


def test_numbers_of_warmups_must_be_those_that_they_should_be():
    text = "".join(lines()).replace("warmup 2", "warmup 3")
    assert read(text).reason == (
        "a line of the harness is missing or out of order: expected the start of warm-up 2, got "
        "'===== DaCapo 9.12 fop starting warmup 3 ====='"
    )


def test_an_output_of_two_harnesses_does_not_count():
    text = "".join(lines()).replace("9.12 fop PASSED", "9.12-MR1 fop PASSED")
    assert read(text).reason == "the output is of several harnesses (versions 9.12, 9.12-MR1)"


def test_the_output_of_another_benchmark_does_not_count():
    verdict = read("".join(lines(benchmark="pmd")))
    assert verdict.status == "wrong-output"
    assert (
        verdict.reason == "'fop' was to be executed, and the output has '===== DaCapo 9.12 pmd starting warmup 1 ====='"
    )


DIGEST = "Digest validation failed for stdout.log, expecting 0x87d959 found 0x82bdbc"


@pytest.mark.parametrize("returncode", [254, 0])
def test_failed_validation_does_not_count_even_where_it_was_ignored(returncode):
    text = f"""\
===== DaCapo 23.9-RC3-chopin xalan starting warmup 1 =====
{DIGEST}
===== DaCapo 23.9-RC3-chopin xalan FAILED warmup =====
===== DaCapo 23.9-RC3-chopin xalan starting =====
===== DaCapo 23.9-RC3-chopin xalan PASSED in 200 msec =====
Validation FAILED for xalan default
"""
    verdict = read(text, "xalan", 2, returncode=returncode)
    assert verdict.status == "wrong-output"
    assert f"validation failed in 1 of 2 iterations (exit status {returncode}): {DIGEST}; " in verdict.reason


def test_a_warning_in_the_validated_error_stream_is_suggested():
    text = f"===== DaCapo 9.12 fop starting =====\n{DIGEST.replace('stdout', 'stderr')}\n===== DaCapo 9.12 fop FAILED =====\n"
    assert "a warning of the JVM or of an agent fails it, too" in read(text, iterations=1, returncode=254).reason


def converging(count, *, ending):
    text = lines(times=[900 - place for place in range(count)])
    text.insert(4, "Variation 6.38% achieved after 3 iterations, target = 3.00%\n")
    return "".join(text[:-2] if ending == "failed" else text) + (
        "Benchmark failed to converge.\n" if ending == "failed" else ""
    )


@pytest.mark.parametrize("count", [2, 4, 11])
def test_of_an_execution_that_converges_only_the_measured_iteration_is_a_number(count):
    assert read(converging(count, ending="passed"), iterations=None) == Verdict("ok", "", ((901 - count) / 1000,))


def test_an_execution_that_did_not_converge_does_not_count_though_it_ended_well():
    verdict = read(converging(7, ending="failed"), iterations=None)
    assert verdict.status == "no-measurement"
    assert verdict.reason.startswith("the benchmark did not converge within 6 iterations")


@pytest.mark.parametrize("missing", range(8))
def test_without_any_one_of_its_lines_a_converged_output_does_not_count(missing):
    text = lines(times=(9, 8, 7, 6))
    del text[missing]
    assert read("".join(text), iterations=None).status == "no-measurement"


BEGUN = "===== DaCapo 9.12 fop starting warmup 1 =====\n"


@pytest.mark.parametrize(
    ("returncode", "text", "reason"),
    [
        (
            9,
            "Unknown benchmark: fopp",
            "exit status 9 before the first iteration: Unknown benchmark: fopp; `java -jar JAR -l`",
        ),
        (20, "Unknown benchmark: fopp", "exit status 20 before the first iteration: Unknown benchmark: fopp; "),
        (
            255,
            'No such size: "vast" for benchmark fop',
            'No such size: "vast" for benchmark fop; choose another suite.size',
        ),
        (0, "No configuration size, vast, for benchmark fop.", "; choose another suite.size"),
        (
            0,
            "The specified number of threads (99) is outside the range [1,8]",
            "; choose suite.threads within that range",
        ),
        (0, "Can only set the thread factor for per_cpu configurable benchmarks", "; leave -k out of suite.options"),
        (
            2,
            "java.lang.ClassNotFoundException: Cb\nCould not find callback class Cb",
            "-Ddacapo.callback.classpath=DIR",
        ),
        (3, "Cb is not an instance of Callback", "-Ddacapo.callback.classpath=DIR"),
        (4, "Command line exception: Unrecognized option: -converge", "correct suite.options or suite.version"),
        (255, "ERROR: The following file used by size 'default' could not be found: x.zip", "unpack the whole release"),
        (255, "ERROR: failed to find external data for size default", "unpack the whole release"),
        (
            1,
            "Unrecognized VM option 'UseFooGC'\nError: Could not create the Java Virtual Machine.",
            "java refused an option",
        ),
        (
            1,
            "Error: VM option 'UseEpsilonGC' is experimental and must be enabled via -XX:+Unlock",
            "-XX:+UnlockExperimental",
        ),
        (1, "Error: Unable to access jarfile x.jar", "check suite.jar"),
        (
            255,
            BEGUN + "java.io.FileNotFoundException: ./scratch/fop/x.pdf (No such file or directory)",
            "exit status 255 in iteration 1 of 3: java.io.FileNotFoundException: ./scratch/fop/x.pdf (No such file or "
            "directory); a file in the scratch directory is gone",
        ),
        (
            1,
            BEGUN + 'Exception in thread "main" java.lang.reflect.InaccessibleObjectException: Unable to make field x '
            'accessible: module java.base does not "opens java.util.concurrent" to unnamed module @1b2c3d',
            'suite.java_options = ["--add-opens=java.base/java.util.concurrent=ALL-UNNAMED"] lets it in',
        ),
        (1, BEGUN + "Caused by: java.lang.ClassNotFoundException: javax.xml.bind.JAXBContext", "needs JDK 8"),
        (255, BEGUN + "java.lang.OutOfMemoryError: Java heap space", "-Xmx in systems.*.args"),
        (
            255,
            BEGUN + "java.lang.RuntimeException: no file\n\tat a.b(C.java:1)",
            "iteration 1 of 3: java.lang.RuntimeException: no file",
        ),
        (255, BEGUN, "exit status 255 in iteration 1 of 3: the harness gives no reason; -v"),
        (0, "", "nothing was executed, or another program was"),
        (0, "usage: java -jar dacapo.jar", "nothing was executed, or another program was"),
    ],
)
def test_every_way_to_fail_is_told_with_what_to_do(returncode, text, reason):
    verdict = read(text, returncode=returncode)
    assert verdict.status == ("exit" if returncode else "no-measurement")
    assert reason in verdict.reason


@pytest.mark.parametrize("status", ["timeout", "signal", "output-limit", "memory-limit"])
def test_how_far_it_had_come_is_told_of_an_execution_that_was_ended(status):
    ended = HarnessOutput(status, "so it was", None, "".join(lines()[:3]), "", {})
    assert judge(reading(), ended) == Verdict(status, "so it was; it happened in iteration 2 of 3", ())


def test_an_execution_that_never_began_is_told_as_it_is():
    assert judge(reading(), HarnessOutput("start", "cannot start it", None, "", "", {})) == Verdict(
        "start", "cannot start it", ()
    )


@needs_samples
@pytest.mark.parametrize(
    ("name", "benchmark", "iterations", "seconds"),
    [
        ("avrora_small_n3", "avrora", 3, (2.322, 1.496, 1.959)),
        ("d2006_antlr_small_n3", "antlr", 3, (0.443, 0.18, 0.155)),
        ("d2006_fop_small", "fop", 2, (0.612, 0.12)),
        ("d2006_hsqldb_small", "hsqldb", 2, (0.601, 0.424)),
        ("d2006_lusearch_small", "lusearch", 2, (2.348, 1.158)),
    ],
)
def test_real_output_that_counts(name, benchmark, iterations, seconds):
    assert sample(name, benchmark, iterations) == Verdict("ok", "", seconds)


@needs_samples
@pytest.mark.parametrize(
    ("name", "benchmark", "iterations", "status", "reason"),
    [
        ("avrora_badsize", "avrora", 2, "exit", 'exit status 255 before the first iteration: No such size: "nosuch"'),
        ("avrora_unknown", "nosuchbench", 2, "exit", "exit status 9 before the first iteration: Unknown benchmark"),
        (
            "avrora_validation_fail",
            "avrora",
            2,
            "wrong-output",
            "validation failed in 2 of 2 iterations (exit status 254)",
        ),
        ("avrora_converge_small", "avrora", None, "no-measurement", "did not converge within 6 iterations"),
        (
            "d2006_pmd_small",
            "pmd",
            2,
            "exit",
            "in iteration 1 of 2: java.lang.RuntimeException: File Token.java doesn't",
        ),
        ("d2006_two", "antlr", 1, "wrong-output", "hsqldb"),
    ],
)
def test_real_output_that_does_not_count(name, benchmark, iterations, status, reason):
    verdict = sample(name, benchmark, iterations)
    assert verdict.status == status
    assert reason in verdict.reason


def sample(name, benchmark, iterations):
    stem = SAMPLES / name
    output = stem.with_suffix(".stderr").read_text() + stem.with_suffix(".stdout").read_text()
    return read(output, benchmark, iterations, returncode=int(stem.with_suffix(".rc").read_text()))


@needs_samples
def test_real_console_texts_of_all_versions():
    def text(name):
        return (SAMPLES / name).read_text()

    old, new = text("real_2006_and_9.12_fop_n5.txt").split("===== DaCapo 9.12", 1)
    assert read(old, "fop", 5).values == (1.016, 0.778, 0.756, 0.75, 0.752)
    assert read("===== DaCapo 9.12" + new, "fop", 5).values == (0.829, 0.336, 0.308, 0.24, 0.221)
    assert read(text("real_9.12-MR1_avrora_n3.txt"), "avrora", 3).values == (3.42, 2.536, 2.502)
    assert read(text("real_23.11-MR2_cassandra.txt"), "cassandra", 3).values == (7.858, 6.446, 6.122)
    assert read(text("real_23.9-RC3_h2_n3.txt"), "h2", 3).values == (6.878, 4.718, 4.509)
    cut = read(text("real_23.11_pmd_n5_head.txt"), "pmd", 5)
    assert cut.reason == "the output is incomplete: it ends before the end of the measured iteration, of 5 iterations"


def test_the_last_cause_is_the_reason():
    text = (
        "java.lang.reflect.InvocationTargetException\n\tat a.B.c(B.java:1)\n"
        "Caused by: org.dacapo.X: wrapped\nCaused by: java.io.IOException: disk full\n"
    )
    assert explanation(text) == "Caused by: java.io.IOException: disk full"
    assert explanation("java.lang.IllegalStateException: no\n") == "java.lang.IllegalStateException: no"


def wanting(text, iterations=3, **asked):
    asked_for = DacapoReading(kind="dacapo", benchmark="fop", iterations=iterations, **asked)
    return judge(asked_for, HarnessOutput("ok", "", 0, text, "", {}))


def test_nanoseconds_that_the_callback_prints_are_those_of_the_iterations():
    told = iter((828_999_001, 336_000_002, 221_123_456))
    text = "".join(
        line + (f"===== layoutrand: iteration took {next(told)} nsec =====\n" if " in " in line else "")
        for line in lines()
    )
    assert wanting(text, nanoseconds=True).values == (0.828999001, 0.336000002, 0.221123456)
    assert wanting(text).values == (0.829, 0.336, 0.221)
    cut_off = wanting(text.replace("221123456", ""), nanoseconds=True)
    assert (cut_off.status, cut_off.reason.split(";")[0]) == (
        "no-measurement",
        "the callback that takes nanoseconds told of 2 iterations, the harness of 3",
    )


def test_latencies_of_requests_are_read_in_the_forms_of_all_releases():
    newer = (
        "===== DaCapo tail latency, simple: 50% 138 usec, 90% 402 usec, 99% 865 usec, 99.9% 1737 usec, 99.99% 41341"
        " usec, max 52697 usec, measured over 200000 events =====\n"
        "===== DaCapo tail latency, metered 100ms smoothing: 50% 1 usec, 99% 2 usec, 99.9% 3 usec, max 4 usec, measured"
        " over 200000 events =====\n"
        "===== DaCapo tail latency, metered full smoothing: 50% 5 usec, 99% 6 usec, 99.9% 7 usec, max 8 usec, measured"
        " over 200000 events ====="
    )
    older = newer.replace("tail latency, simple", "simple tail latency").replace(
        "tail latency, metered full smoothing", "metered tail latency"
    )
    for printed in (newer, older):
        read_of = wanting("".join(lines(after=printed)), latency=["simple", "metered"])
        assert read_of.further == {
            "latency_p50_s": (0.000138,) * 3,
            "latency_p99_s": (0.000865,) * 3,
            "latency_p99.9_s": (0.001737,) * 3,
            "metered_latency_p50_s": (0.000005,) * 3,
            "metered_latency_p99_s": (0.000006,) * 3,
            "metered_latency_p99.9_s": (0.000007,) * 3,
        }
        converged = wanting("".join(lines(after=printed)), iterations=None, latency=["simple"])
        assert (converged.values, converged.further["latency_p50_s"]) == ((0.221,), (0.000138,))


def test_an_iteration_without_latencies_has_no_measurement():
    verdict = wanting("".join(lines()) + LATENCY.splitlines()[1] + "\n", latency=["simple"])
    assert verdict.status == "no-measurement"
    assert verdict.reason.startswith("suite.latency: the harness printed latency_p50_s of 1 iterations, and made 3;")


@needs_samples
def test_latencies_in_real_output():
    text = (SAMPLES / "real_23.9-RC3_h2_n3.txt").read_text()
    verdict = judge(
        DacapoReading(kind="dacapo", benchmark="h2", iterations=3, latency=["simple", "metered"]),
        HarnessOutput("ok", "", 0, text, "", {}),
    )
    assert verdict.further["latency_p99_s"] == (0.018979, 0.013867, 0.013813)
    assert verdict.further["metered_latency_p50_s"] == (0.792915, 0.106652, 0.000665)
