"""What CI systems are given: annotations, code quality, JUnit, a comment; and the screen."""

from __future__ import annotations

import io
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from rich.cells import cell_len

from checkkit import TWO, Made
from layoutrand.analysis.next_steps import STEPS
from layoutrand.analysis.reasons import Reason
from layoutrand.capture.function_changes import ChangedFunction, FunctionChanges, named_readably
from layoutrand.check.check_document import check_document
from layoutrand.check.check_words import change_sentence, ending_sentence, of_artefact, size_words
from layoutrand.check.ci_formats import github_annotations, gitlab_code_quality, junit
from layoutrand.check.comment import comment, reproduce
from layoutrand.check.question import CheckAnswer, Quantity
from layoutrand.cli.check_output import CheckOutput
from layoutrand.cli.checking import exit_status
from layoutrand.cli.terminal import Terminal
from layoutrand.config.disturbance import Disturbed
from layoutrand.config.execution_warnings import DisturbedExecutions
from layoutrand.errors import UsageError
from layoutrand.screens.charts import plain
from layoutrand.screens.check_screen import check_screen
from layoutrand.screens.failing import Failures

LINES = {"work": 7, "start": 11}
LATER = STEPS["quiet machine"]


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """By name, made once: slower, same though the own builds differ, cannot tell, one program, failed."""
    made = {
        "slower": {"ratio": 1.03, "own": 1.08},
        "same": {"ratio": 1.0, "own": 1.04},
        "open": {"ratio": 1.0, "sd": 0.03},
        "one program": {"same": True},
        "failed": {"script": "exit 3"},
    }
    found = {}
    for name, settings in made.items():
        project = Made(tmp_path_factory.mktemp("check"), benchmarks=TWO, **settings)
        found[name] = project.check(most_layouts=10)
    return found


def test_exit_status_is_by_what_fails(answers):
    def status(name, *failing):
        return exit_status(answers[name], failing)

    assert (status("slower", "slower"), status("slower"), status("slower", "faster")) == (3, 0, 0)
    assert (status("open", "slower"), status("open", "slower", "cannot tell")) == (0, 4)
    assert status("same", "slower", "cannot tell") == status("one program", "slower", "cannot tell") == 0
    assert status("failed", "slower") == 1


def test_annotations_name_the_benchmark_where_it_is_configured(answers):
    told = github_annotations(answers["slower"], ["slower"], LINES, "sub")
    assert [line.split("::")[1].split(" ")[0] for line in told] == ["error", "error", "notice"]
    assert told[0].startswith("::error file=sub/layoutrand.toml,line=7,title=work%3A slower::+")
    assert "as built +8.0 %25" in told[0]
    assert "\n" not in "".join(told)


def test_a_verdict_that_does_not_fail_is_no_error(answers):
    told = github_annotations(answers["slower"], [], LINES, "")
    assert [line.split("::")[1].split(" ")[0] for line in told] == ["warning", "warning", "notice"]
    assert [line[:8] for line in github_annotations(answers["same"], ["slower"], LINES, "")] == ["::notice"]
    assert github_annotations(answers["failed"], [], LINES, "")[0].startswith("::error title=layoutrand check O2::")


def test_code_quality_has_what_gitlab_asks_for(answers):
    entries = gitlab_code_quality(answers["slower"], ["slower"], LINES, "")
    assert {entry["severity"] for entry in entries} == {"major"}
    assert len({entry["fingerprint"] for entry in entries}) == len(entries) == 2
    assert entries[0]["location"] == {"path": "layoutrand.toml", "lines": {"begin": 7}}
    assert all(set(e) == {"description", "check_name", "fingerprint", "severity", "location"} for e in entries)
    assert gitlab_code_quality(answers["same"], ["slower"], LINES, "") == []
    json.dumps(entries)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("slower", (2, 2, 0, 0)),
        ("same", (2, 0, 0, 0)),
        ("open", (2, 0, 0, 2)),
        ("one program", (2, 0, 0, 0)),
        ("failed", (2, 0, 2, 0)),
    ],
)
def test_junit_counts_what_it_holds(answers, name, expected):
    suite = ET.fromstring(junit(answers[name], ["slower"])).find("testsuite")
    kinds = ("failure", "error", "skipped")
    assert tuple(int(suite.get(key)) for key in ("tests", "failures", "errors", "skipped")) == expected
    assert tuple(len(suite.findall(f"testcase/{kind}")) for kind in kinds) == expected[1:]


def test_a_comment_begins_with_the_verdict_and_folds_the_rest(answers):
    text = comment(answers["slower"])
    assert text.startswith("### ✗ 2 slower\n\nmain aaaaaaa → HEAD bbbbbbb")
    assert re.search(r"^\| ✗ \| work \| slower \| \+3\.\d % \| .* \| \+8\.0 % \| \d+ \|$", text, re.MULTILINE)
    assert text.count("<details>") == text.count("</details>") >= 1
    assert f"layoutrand check {'a' * 40} {'b' * 40} --threshold=1%" in text
    same = comment(answers["same"])
    assert same.startswith("### ≈ 2 same")
    assert "2 unchanged" in same


def test_the_command_that_checks_again_has_what_was_asked(tmp_path):
    answer = Made(tmp_path, same=True).check(benchmarks=("work",), threshold=0.02, confidence=0.99)
    words = reproduce(answer).split()
    assert words[:4] == ["layoutrand", "check", "a" * 40, "b" * 40]
    assert {"--threshold=2%", "--confidence=0.99", "--system=O2", "--benchmark=work"} <= set(words)


@pytest.mark.parametrize("width", [80, 120])
def test_the_screen_fits(answers, width):
    for name, answer in answers.items():
        lines = ["".join(text for text, _ in plain(line)) for line in check_screen(answer, width)]
        assert len(lines) <= 20, name
        assert max(map(cell_len, lines)) <= width, name
    said = "\n".join("".join(text for text, _ in line) for line in check_screen(answers["same"], width))
    assert "≈ work" in said
    assert "Your own two builds alone would have said +4" in said


def renamed(answer, name):
    """The answer, its first benchmark called so."""
    system = answer.systems[0]
    first, *rest = system.benchmarks
    pair = replace(first.pair, benchmark=name)
    found = replace(first, pair=pair, quantity=replace(first.quantity, benchmark=name))
    return replace(answer, systems=(replace(system, benchmarks=(found, *rest)),))


@pytest.mark.parametrize(
    ("name", "below"),
    [("BM_Copy/1024/threads:4 real_time", 0), ("BM_Copy<std::string>/with_many_cases/1024/threads:4", 1)],
)
def test_why_a_benchmark_is_open_is_said_however_long_its_name_is(answers, name, below):
    """A row that has no room for it has it below, and none is wider than the screen."""
    shown = ["".join(text for text, _ in line) for line in check_screen(renamed(answers["open"], name), 80)]
    row = next(k for k, line in enumerate(shown) if name in line) + below
    assert "cannot tell" in shown[row]
    assert shown[row + 1].strip().startswith("10 layouts, ")
    assert max(map(cell_len, shown)) <= 80


def test_a_reason_names_its_benchmark_once(answers):
    """Some reasons begin with the name, some do not."""
    row = Disturbed("work", 20, 20, {"busy": 20}, {"base": 10, "head": 10}, {})
    reason = Reason("disturbed", "doubts", (DisturbedExecutions(row, is_repeated=False),))
    system = answers["open"].systems[0]
    first, *rest = system.benchmarks
    told = replace(first, concluded=replace(first.concluded, reasons=(*first.concluded.reasons, reason)))
    text = comment(replace(answers["open"], systems=(replace(system, benchmarks=(told, *rest)),)))
    assert "- work: 20 of 20 executions were disturbed" in text
    assert "work: work:" not in text


def test_what_decides_comes_before_what_makes_a_verdict_surer(answers):
    """Two steps are named, and those of a verdict that is there are not the ones to begin with."""
    system = answers["open"].systems[0]
    first, second = system.benchmarks
    settled = replace(first.concluded, verdict="same", reasons=(), next=(STEPS["same work"], STEPS["repeatable"]))
    both = (replace(first, concluded=settled), replace(second, concluded=replace(second.concluded, next=(LATER,))))
    answer = replace(answers["open"], systems=(replace(system, benchmarks=both),))
    shown = " ".join("".join(text for text, _ in line) for line in check_screen(answer, 200))
    assert f"Next: {LATER.briefly} · {STEPS['same work'].briefly}" in shown


def test_what_differs_is_said_in_the_words_of_programs():
    def function(name, before, after):
        return ChangedFunction(name, before, after)

    found = FunctionChanges(
        "prog",
        (function("parse_line", 100, 140), function("emit", 50, 60), function("main", 10, 10)),
        (function("fresh", None, 8),),
        (),
        40,
        (),
    )
    assert of_artefact(found) == "3 functions differ (parse_line, emit, main), 1 added"
    assert (
        of_artefact(FunctionChanges("prog", (), (), (), 1, ("a.o",))) == "no function differs, data of 1 object differs"
    )
    one = FunctionChanges("prog", (), (function("fresh", None, 8),), (), 1, ())
    assert of_artefact(one) == "1 function added (fresh)"


def test_one_program_says_why(answers):
    assert change_sentence(answers["one program"].systems[0]).startswith("same program")
    assert isinstance(answers["one program"], CheckAnswer)


@pytest.mark.parametrize(
    ("name", "outputs"), [("xml", []), ("text", ["junit"]), ("text", ["text=x"]), ("text", ["=x"])]
)
def test_unknown_formats_are_refused(name, outputs):
    with pytest.raises(UsageError):
        CheckOutput.of(name, outputs, full=False, failing=())


def test_a_file_that_is_a_device_is_written_to_and_not_replaced(answers, tmp_path, monkeypatch):
    """As root a `--output junit=/dev/stdout` would put a file where all programs look for the device."""
    nowhere = tmp_path / "nowhere"
    nowhere.symlink_to("/dev/null")
    monkeypatch.setattr("sys.stdout", io.StringIO())
    output = CheckOutput.of("text", [f"junit={nowhere}", f"junit={tmp_path / 'made.xml'}"], full=False, failing=())
    output.show(answers["one program"], Terminal(json=False, quiet=True), Failures())
    assert nowhere.is_symlink() and nowhere.is_char_device()
    assert ET.parse(tmp_path / "made.xml").getroot().tag


def test_functions_of_cxx_are_told_by_the_names_of_its_source():
    """The JSON keeps the symbols, which others look up."""
    asked = []

    def readable(symbols):
        asked.append(symbols)
        return {"_ZN1a1bEv": "a::b"}

    change = ChangedFunction("_ZN1a1bEv", 10, 12)
    differ = (change, ChangedFunction("main", 1, 2), ChangedFunction("_Zodd", 3, 4))
    (found,) = named_readably([FunctionChanges("prog", differ, (change,), (), 0, ())], readable)
    assert asked == [["_ZN1a1bEv", "_Zodd"]]
    assert of_artefact(found) == "3 functions differ (a::b, main, _Zodd), 1 added"
    assert size_words(found.added[0]) == "a::b 10 → 12 bytes"
    assert [each.name for each in found.differ] == ["_ZN1a1bEv", "main", "_Zodd"]


def test_an_error_of_junit_says_at_which_commit_it_is(answers):
    """What it holds names a side, *base* or *head*, which nobody has asked for."""
    answer = answers["failed"]
    (system,) = answer.systems
    error = ET.fromstring(junit(answer, ["slower"])).find(".//error")
    assert error.get("message") == ending_sentence(system, answer.question)
    assert answer.question.head.label in error.get("message")


def test_what_failed_is_called_so_in_every_form(answers):
    """JUnit had errors where the comment said that nobody could tell, as of too few layouts."""
    answer = answers["failed"]
    assert comment(answer).startswith("### ⚠ 2 failed\n")
    assert "| ⚠ | work | failed |" in comment(answer)
    shown = ["".join(text for text, _ in line).split() for line in check_screen(answer, 80)]
    assert ["⚠", "work", "failed"] in [line[:3] for line in shown]
    entries = gitlab_code_quality(answer, [], LINES, "")
    assert {(each["severity"], each["check_name"]) for each in entries} == {("major", "layoutrand/failed")}
    told = github_annotations(answer, [], LINES, "")
    assert [line.split("::")[1].split(" ")[0] for line in told] == ["error", "error", "error", "notice"]
    assert told[-1].partition("check::")[2].startswith("⚠ 2 failed; ")
    (system,) = check_document(answer)["systems"]  # whose words programs know
    told_so = {(each["conclusion"], each["ratio"]) for each in system["benchmarks"]}
    assert (system["ending"], told_so) == ("failures", {("cannot tell", None)})


def test_why_it_failed_is_no_annotation_beyond_those_that_are_shown(answers):
    (system,) = answers["failed"].systems
    many = replace(answers["failed"], systems=(replace(system, benchmarks=system.benchmarks * 10),))
    assert "executions of main aaaaaaa and HEAD bbbbbbb fail" in github_annotations(many, [], LINES, "")[0]


def test_benchmarks_that_have_no_row_are_counted_as_failed_too(answers):
    (system,) = answers["failed"].systems
    rows = [
        replace(each, quantity=Quantity(f"b{k}", "wall", "wall_s")) for k in range(10) for each in system.benchmarks[:1]
    ]
    many = replace(answers["failed"], systems=(replace(system, benchmarks=tuple(rows)),))
    assert any("and 3 failed" in "".join(text for text, _ in line) for line in check_screen(many, 80))


def test_an_entry_of_which_nothing_was_compared_is_in_the_headline(answers):
    """It is an error of JUnit, and what makes the status 1."""
    (system,) = answers["same"].systems
    apart = replace(answers["same"], systems=(replace(system, apart=("bench",)),))
    assert comment(apart).startswith("### ⚠ 1 failed · ≈ 2 same\n")
