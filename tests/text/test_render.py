"""Generated files: the filters that make values safe, and the starting configuration."""

import tomllib

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutrand.build.first_build import Learned
from layoutrand.build.new_project import (
    FirstBenchmark,
    NewProject,
    benchmark_of,
    of_go_test,
    of_linked_cases,
    unreported_cases,
)
from layoutrand.build.program_choice import ChosenProgram
from layoutrand.capture.recognise import Way
from layoutrand.capture.source import left_out
from layoutrand.config.config import System
from layoutrand.text import render

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def filtered(name, value):
    """What one of the filters makes of a value."""
    return render._environment().filters[name](value)


@given(TEXT)
def test_toml_strings_are_read_back(text):
    """Whatever a name holds, the TOML file that is written has it again."""
    assert tomllib.loads(f"x = {filtered('toml', text)}") == {"x": text}


@given(TEXT)
def test_comments_are_one_line(text):
    """No value can end the comment it stands in."""
    assert not {"\n", "\r", "\v", "\f", "\x85", "\u2028"} & set(filtered("comment", text))


@pytest.mark.parametrize(
    ("value", "word"), [("", "''"), ("a", "a"), ("a b", "'a b'"), ("it's", "'it'\"'\"'s'"), (3, "3"), ("$x", "'$x'")]
)
def test_shell_words(value, word):
    """A value is one word, quoted only where it must be."""
    assert filtered("sh", value) == word


def test_a_variable_is_told_from_an_unset_one():
    """The word expands to NAME=value, or to NAME alone."""
    assert filtered("assignment", "LD_RUN_PATH") == '"LD_RUN_PATH${LD_RUN_PATH+=}${LD_RUN_PATH-}"'


@given(TEXT, st.lists(TEXT, min_size=1, max_size=3), st.lists(TEXT, min_size=1, max_size=3), TEXT)
def test_the_starting_configuration_is_toml_whatever_was_found(name, artefacts, commands, what):
    """Names of directories and programs with any character give a file that can be read."""
    learned = Learned("gcc", Way(tuple(commands)), (what,), ChosenProgram(tuple(artefacts), what, 0, (name,)), [])
    text = NewProject(name, what, learned, {"O2": System(cflags="-O2")}, FirstBenchmark("b", (what,), name)).rendered()
    table = tomllib.loads(text)

    assert (table["project"]["name"], table["build"]["artefacts"], table["build"]["commands"]) == (
        name,
        artefacts,
        commands,
    )
    assert (table["build"]["exclude"], table["benchmarks"][0]["command"]) == ([what], [what])


@pytest.mark.parametrize(
    ("harness", "offered"),
    [
        ("google-benchmark", '; cases = "a filter", repetitions = 10'),
        ("libtest", '; cases = "a filter"'),
        ("iai-callgrind", ""),
    ],
)
def test_a_harness_is_offered_what_it_can_be_asked_for(harness, offered):
    learned = Learned("gcc", Way(("make",)), ("a program",), ChosenProgram(("p",), "p", 0, ("p",)), [])
    benchmark = FirstBenchmark("b", ("x",), harness=harness)
    lines = NewProject("n", "a program", learned, {"O2": System()}, benchmark).rendered().splitlines()
    (line,) = [line for line in lines if line.startswith("harness = ")]
    assert line.endswith(f"# each of its cases is a benchmark{offered}")


def test_what_a_benchmark_reads_of_the_source_is_named_for_the_reader_to_leave_out(tmp_path):
    """Nobody knows whether the build reads it, too: it is said, and not done."""
    for name in ("big [1].yaml", "lib/a.txt", "left/out.txt", "in.txt", ".layoutrand/x"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path.parent / "outside.txt").touch()
    words = ("sh", "prog", "--set=big [1].yaml", "lib/", "left/out.txt", "../outside.txt", "./", ".layoutrand/x", "-v")
    benchmark = benchmark_of(words, 1, tmp_path, tmp_path, "in.txt")
    chosen = ChosenProgram(("prog",), "p", 0, ())
    learned = Learned("gcc", Way(("make",)), ("left",), chosen, ["function-order"])
    project = NewProject("n", "a makefile", learned, {"O2": System()}, benchmark)

    assert project.inputs == ("big [1].yaml", "lib", "in.txt")
    text = project.text()
    assert tomllib.loads(text)["build"]["exclude"] == ["left"]
    (hint,) = [line.split("leave it out: ")[1] for line in text.splitlines() if "leave it out: " in line]
    patterns = tomllib.loads(hint)["exclude"]
    assert [left_out(name, patterns) for name in ("big [1].yaml", "big 1.yaml", "lib/a.txt", "in.txt")] == [
        True,
        False,
        True,
        True,
    ]
    assert (
        "leave it out"
        not in NewProject("n", "a makefile", learned, {"O2": System()}, FirstBenchmark("b", ())).rendered()
    )


def test_an_unknown_template_is_an_error():
    """A template that does not ship cannot be rendered."""
    with pytest.raises((jinja2.TemplateNotFound, FileNotFoundError)):
        render.render("missing.j2")


@pytest.mark.parametrize(
    ("words", "harness", "cases"),
    [
        (("{artefact}", "--benchmark_filter=A/{{x}}"), "google-benchmark", "A/{x}"),
        (("{artefact}", "--benchmark_list_tests"), "", ""),
        (("python3", "{artefact}"), "", ""),  # whose words they are is not known
    ],
)
def test_cases_that_are_linked_in_are_executed_by_their_harness(words, harness, cases):
    found = of_linked_cases(FirstBenchmark("b", words), "google-benchmark")
    assert (found.harness, found.cases) == (harness, cases)
    assert of_linked_cases(FirstBenchmark("b", words), "") == FirstBenchmark("b", words)


def test_cases_that_the_program_does_not_report_as_it_is_are_not_its_benchmarks_and_that_is_said():
    """It repeats by the clock what it measures, so that a count of the whole process is none of its code."""
    own, other = FirstBenchmark("b", ("{artefact}",)), FirstBenchmark("b", ("python3", "{artefact}"))
    assert of_linked_cases(own, "nanobench") == own
    assert 'harness = "nanobench"' in unreported_cases(own, "nanobench")
    assert [unreported_cases(*each) for each in ((own, ""), (own, "catch2"), (other, "nanobench"))] == ["", "", ""]


@pytest.mark.parametrize(
    ("words", "left", "cases"),
    [
        ("-test.bench=Sum", "", "Sum"),
        ("-test.bench Sum -test.benchtime 100ms", "-test.benchtime 100ms", "Sum"),
        ("--test.bench . -test.run NONE -test.benchmem", "-test.benchmem", ""),
        ("-test.run=XXX -test.bench Sum/a", "", "Sum/a"),
    ],
)
def test_a_program_of_go_test_is_read_by_its_harness_however_its_options_are_written(words, left, cases):
    """``-test.bench Sum`` was measured as a whole, which takes as long as -test.benchtime says, whatever the code."""
    own = FirstBenchmark("b", ("{artefact}", *words.split()))
    found = of_go_test(own, ["go test -c -o b ."])
    assert (found.harness, found.command[1:], found.cases) == ("go-test", tuple(left.split()), cases)
    assert of_go_test(own, ["go build -o b ."]) == own


@pytest.mark.parametrize(
    "words", ["-test.run TestSome -test.bench Sum", "-test.bench Sum -test.count 3", "-test.bench"]
)
def test_a_program_of_go_test_that_is_to_do_more_is_left_as_it_is(words):
    own = FirstBenchmark("b", ("{artefact}", *words.split()))
    assert of_go_test(own, ["go test -c -o b ."]) == own


@pytest.mark.parametrize(("what", "end"), [("go test -c .", " go test -c .\n"), ("a makefile", " a makefile.\n")])
def test_the_first_sentence_of_a_new_project_ends_with_one_full_stop(what, end):
    learned = Learned("gcc", Way(("make",)), ("prog",), ChosenProgram(("prog",), "", 0, ("prog",)), [])
    project = NewProject("p", what, learned, {"O2": System(cflags="-O2")}, FirstBenchmark("prog", ("{artefact}",)))
    assert project.rendered().partition(" for")[2].startswith(end)
