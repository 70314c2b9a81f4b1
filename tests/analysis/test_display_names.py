"""Labels: people read them wherever a name would stand; documents keep the names, and say the labels."""

from __future__ import annotations

import pytest

from experiments import measured, selected, write
from layoutrand.analysis.analysis_warnings import ExecutedAgain, NothingExecuted, PrebuiltSystems
from layoutrand.analysis.compare import compare
from layoutrand.analysis.conclusion import of_pair
from layoutrand.analysis.display_names import DisplayNames
from layoutrand.analysis.displayed import _reworded, displayed
from layoutrand.analysis.documents import comparisons_document
from layoutrand.analysis.sentences import of_comparison, of_ratio
from layoutrand.config.config import parse
from layoutrand.config.doubled import with_second
from layoutrand.errors import ConfigError
from layoutrand.execute.experiment import definitions
from layoutrand.report.html import render
from layoutrand.report.whole_page import report
from reportkit import contexts, noise

TEXT = """[project]
name = "p"
[build]
commands = ["make"]
artefacts = ["prog"]
[systems.a]
{a}
[systems.b]
{b}
[[benchmarks]]
name = "fib"
{fib}
command = ["{{artefact}}"]
"""
LABELLED = {"a": 'label = "Plain"', "b": 'label = "Tuned & fast"', "fib": 'label = "Fibonacci numbers"'}


def config_of(**labels):
    return parse(TEXT.format(**{"a": "", "b": "", "fib": "", **labels}), path="layoutrand.toml")


def recorded(project, config):
    rows = [
        row
        for k, system in enumerate("ab")
        for row in measured(config, project, system, "fib", noise(k, 6, centre=1 + k / 10) | {"stock": [[1.0], [1.1]]})
    ]
    write(config, project, rows)
    return selected(config, project)


def test_people_read_labels_and_programs_names(tmp_path):
    selection = recorded(tmp_path, config_of(**LABELLED))
    plain = compare(selection, "a", "b", confidence=0.95, threshold=0.01, metric=None)
    shown = compare(displayed(selection), "Plain", "Tuned & fast", confidence=0.95, threshold=0.01, metric=None)

    assert of_comparison(shown).startswith("Tuned & fast against Plain: ")
    assert of_ratio(shown, shown.benchmarks[0]).startswith("Fibonacci numbers: slower: Tuned & fast takes ")
    assert [each.ratio for each in shown.benchmarks] == [each.ratio for each in plain.benchmarks]
    assert of_pair(shown, shown.benchmarks[0]).verdict == of_pair(plain, plain.benchmarks[0]).verdict
    document = comparisons_document([plain])
    assert (document["baseline"], document["candidate"]) == ("a", "b")
    assert document["benchmarks"][0]["benchmark"] == "fib"
    assert document["labels"] == {
        "systems": {"a": "Plain", "b": "Tuned & fast"},
        "benchmarks": {"fib": "Fibonacci numbers"},
    }


def test_the_report_has_labels_and_commands_that_can_be_typed(tmp_path):
    selection = recorded(tmp_path, config_of(**LABELLED))
    page = report(displayed(selection), contexts(tmp_path, selection), "Plain", confidence=0.95, threshold=0.01)

    assert page.banners[0].question == "Tuned & fast against Plain"
    assert [card.name for card in page.cards] == ["Fibonacci numbers"]
    (again,) = [section for section in page.sections if section.anchor == "again"]
    assert any("--baseline a " in line for line in again.commands)
    (host,) = [section for section in page.sections if section.anchor == "host"]
    rows = {row[0] for table in host.tables for row in table.rows}
    assert {"Plain (a)", "Tuned & fast (b)", "Fibonacci numbers (fib)"} <= rows
    assert "Tuned &amp; fast" in render(page)


def test_warnings_have_labels_but_for_those_that_tell_a_command():
    names = DisplayNames.of(with_second(config_of(**LABELLED), ["a"]))

    assert names.systems["a again"] == "Plain again"

    assert _reworded(NothingExecuted("a", "fib"), names) == NothingExecuted("Plain", "Fibonacci numbers")
    assert _reworded(PrebuiltSystems(("a", "b")), names) == PrebuiltSystems(("Plain", "Tuned & fast"))
    assert _reworded(ExecutedAgain(3, "a"), names) == ExecutedAgain(3, "a")


def test_without_labels_nothing_changes_and_a_label_repeats_no_execution(tmp_path):
    config = config_of()
    selection = recorded(tmp_path, config)
    assert displayed(selection) is selection
    labelled = config_of(**LABELLED)
    assert definitions(labelled, labelled.benchmarks, tmp_path) == definitions(config, config.benchmarks, tmp_path)
    assert len(selected(labelled, tmp_path).executions) == len(selection.executions)


@pytest.mark.parametrize(
    ("labels", "problem"),
    [
        ({"a": 'label = "same"', "b": 'label = "same"'}, "systems.b.label: 'same' is what a is shown as"),
        ({"a": 'label = "b"'}, "systems.a.label: 'b' is the name of another"),
        ({"b": 'label = "a"'}, "systems.b.label: 'a' is what a is shown as"),
        ({"a": 'label = "x\\ny"'}, "must be one line of text"),
        ({"fib": 'label = ""'}, "benchmarks[0].label"),
    ],
)
def test_labels_that_would_mislead_are_refused(labels, problem):
    with pytest.raises(ConfigError) as caught:
        config_of(**labels)
    assert problem in str(caught.value)


def test_a_label_goes_with_a_prebuilt_system():
    config = config_of(a='prebuilt = "x"\nlabel = "Old"')
    assert config.systems["a"].label == "Old"
