"""The contract that every harness keeps; what each one reads exactly is in `test_readers.py`."""

from __future__ import annotations

import re

import pytest

from harnesses.samplekit import left
from layoutrand.config.readings import HarnessReading
from layoutrand.errors import FeatureUnsupported, NoMeasurement
from layoutrand.harnesses.harness import LeftByHarness, UnsupportedByHarness, exactly
from layoutrand.harnesses.known import harness_in, harness_named, harnesses

WITHOUT = {
    ("doctest", "repetitions"),
    ("gungraun", "repetitions"),
    ("iai-callgrind", "cases"),
    ("iai-callgrind", "repetitions"),
    ("libtest", "repetitions"),
    ("nanobench", "cases"),
    ("nanobench", "repetitions"),
}
"""What has no option."""


@pytest.fixture(params=harnesses(), ids=lambda each: each.name)
def harness(request):
    return request.param


def test_it_is_found_by_its_name(harness):
    assert harness_named(harness.name) is harness
    assert harness.described


def test_a_name_that_is_none_is_told_with_the_nearest():
    with pytest.raises(FeatureUnsupported, match=r"no harness is called 'google-bench'; there are .*criterion"):
        harness_named("google-bench")


def test_a_program_that_left_nothing_has_measured_nothing(harness):
    for nothing in (LeftByHarness(""), LeftByHarness("ok\n", "ok\n", dict.fromkeys(left(harness.name).files, ""))):
        with pytest.raises(NoMeasurement) as raised:
            harness.read(nothing)
        assert str(raised.value)


def test_what_a_program_left_are_cases_with_numbers_above_0(harness):
    cases = harness.read(left(harness.name))
    assert len({case.name for case in cases}) == len(cases) >= 1
    for case in cases:
        assert bool(case.numbers) != bool(case.failure)
        for place, quantity in enumerate(case.numbers.values()):
            assert quantity.values
            assert min(quantity.values) > 0 or (place > 0 and min(quantity.values) == 0)  # such as nothing allocated


def test_one_case_is_asked_for_or_it_says_that_it_cannot(harness):
    cannot = {
        "nanobench": "no case can be executed by itself",
        "iai-callgrind": "executes some case under Valgrind",
        "gungraun": "executes some case under Valgrind",
    }
    if harness.name in cannot:
        with pytest.raises(UnsupportedByHarness, match=cannot[harness.name]):
            harness.words_for("some case")
        return
    assert any("some case" in word for word in harness.words_for("some case"))


def test_which_cases_a_process_executed_is_read_off_what_it_left(harness):
    if harness.name == "criterion":  # which leaves nothing but words where it analyses nothing
        said = "Benchmarking some case: Profiling for 5.0000 s\nBenchmarking some case: Complete (Analysis Disabled)\n"
        assert harness.executed(LeftByHarness(said)) == {"some case"}
        return
    assert harness.executed(left(harness.name)) == {case.name for case in harness.read(left(harness.name))}


@pytest.mark.parametrize("text", ["Sort<int>/16", "a+b (c) [d] {e}|f", "^x$", r"a\b", "*?.", "copy 4 KiB"])
def test_a_pattern_for_a_text_matches_it_alone(text):
    assert re.search(exactly(text), text)
    assert not re.search(exactly(text), f"{text}x")
    assert not re.search(exactly(text), f"x{text}")


def test_its_words_ask_for_the_cases_or_it_says_that_it_cannot(harness):
    plain = harness.words(HarnessReading(harness=harness.name))
    for given, word in (({"cases": "some case"}, "some case"), ({"repetitions": 7}, "7")):
        if (harness.name, *given) in WITHOUT:
            with pytest.raises(UnsupportedByHarness, match=f"^{next(iter(given))}: "):
                harness.words(HarnessReading(harness=harness.name, **given))
            continue
        chosen = harness.words(HarnessReading(harness=harness.name, **given))
        assert chosen != plain
        assert any(each.endswith(word) for each in chosen)


def test_a_harness_that_executes_nothing_here_says_what_to_do():
    with pytest.raises(FeatureUnsupported, match=r"^iai starts each .*metric = \{ cachegrind = true \}"):
        harness_named("iai")


@pytest.mark.parametrize(
    ("program", "name"),
    [
        (b"\x7fELF\0benchmark_out_format\0", "google-benchmark"),
        (b"\x7fELF\0libbenchmark.so.1\0", "google-benchmark"),
        (b"\x7fELF\0_ZN5Catch9Benchmark9Benchmark3runINSt6chrono3_V212steady_clockEEEvv\0", "catch2"),
        (b"\x7fELF\0_ZN5Catch7Session3runEv\0--benchmark-samples\0", ""),  # tests alone
        (b"\x7fELF\0_ZN6ankerl9nanobench5Bench3endEv\0", "nanobench"),
        (b"\x7fELF\0_ZN6ankerl15unordered_dense3mapE\0", ""),
        (b"\x7fELF\0benchmark\0", ""),
    ],
)
def test_a_program_tells_the_harness_that_is_linked_into_it(program, name):
    assert harness_in(program) == name


@pytest.mark.parametrize(
    ("name", "words", "chosen"),
    [
        ("google-benchmark", ["{artefact}", "--benchmark_filter=A|B", "x"], (["{artefact}", "x"], "A|B")),
        ("google-benchmark", ["{artefact}", "--benchmark_filter=all"], (["{artefact}"], "")),
        ("google-benchmark", ["{artefact}", "--benchmark_min_time=1"], (["{artefact}", "--benchmark_min_time=1"], "")),
        ("google-benchmark", ["{artefact}", "--benchmark_list_tests"], None),
        ("google-benchmark", ["{artefact}", "--benchmark_format=csv"], None),
        ("catch2", ["{artefact}", "a case"], (["{artefact}", "a case"], "")),
        ("catch2", ["{artefact}", "--list-tests"], None),
        ("catch2", ["{artefact}", "-r", "compact"], None),
    ],
)
def test_a_command_for_people_becomes_one_that_is_read_or_stays(name, words, chosen):
    assert harness_named(name).chosen_by(words) == chosen
