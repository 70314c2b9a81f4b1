"""Programs that measure themselves while the time of their process is judged: told where measurements are printed."""

from __future__ import annotations

import dataclasses

import pytest

from executekit import Project
from experiments import selected
from fakes import EXECUTION, make_config, shell_binaries
from layoutrand.analysis.documents import run_document
from layoutrand.execute.measure import measure
from layoutrand.execute.output_warnings import MeasuresItself
from layoutrand.execute.own_measurements import measuring_themselves
from layoutrand.instruments.program_output import read_iterations
from layoutrand.screens.screen_parts import remark_lines

COMMAND = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'


def config_of(more=""):
    return make_config(COMMAND + more, systems=("a",))


def found(folder, outputs, more="", **changes):
    """What is told of executions that printed these, all of which are kept."""
    executions = []
    for n, text in enumerate(outputs):
        (folder / f"{n}").mkdir(exist_ok=True)
        (folder / f"{n}" / "stdout").write_text(text)
        one = dataclasses.replace(EXECUTION, benchmark="b", repetition=n, output_sha256=text, log=f"{n}", **changes)
        executions.append(one)
    told = measuring_themselves(executions, {"b": config_of(more).benchmarks[0]}, folder)
    return [(each.first, each.second) for each in told]


@pytest.mark.parametrize(
    ("outputs", "told"),
    [
        (["rate 586.8 MB/s\n", "rate 562.2 MB/s\n"], ("586.8 MB/s", "562.2 MB/s")),  # lz4
        (["/-x =-x, 586.8\r|-x, 9.5 1#\n", "/-x =-x, 562.2\r|-x, 9.5 1#\n"], ("586.8", "562.2")),  # with a spinner
        (["Fib-2  100 53 ns/op\n", "Fib-2  100 57 ns/op\n"], ("53 ns/op", "57 ns/op")),
        (["42 ops\nend\n", "41 ops\nend\n"], ("42 ops", "41 ops")),
        (["pid 4711\n", "pid 4712\n"], None),
        (["at 12:03:44.25\n", "at 12:03:45.75\n"], None),
        (["2026-11-28\n", "2026-11-29\n"], None),
        (["0x7f01.5\n", "0x7f02.5\n"], None),
        (["version 1.2.3\n", "version 1.2.4\n"], None),
        (["ran 1.5 s: yes\n", "ran 1.5 s: no\n"], None),
        (["took 1.5 s\n", "lasted 1.6 s\n"], None),  # no line has the same words
        (["took 1.5 s\n"], None),
        (["took 1.5 s\n", "took 1.5 s\n", "took 1.5 s\n", "took 1.6 s\n"], None),  # most print the same
    ],
)
def test_measurements_are_told_from_other_numbers(tmp_path, outputs, told):
    assert found(tmp_path, outputs) == ([] if told is None else [told])


@pytest.mark.parametrize(
    "metric",
    [
        'metric = { regex = "([0-9.]+) MB/s", name = "rate", unit = "MB/s" }\n',
        'metric = { wall = true, printed = [{ name = "rate", regex = "([0-9.]+) MB/s", unit = "MB/s" }] }\n',
        "metric = { cachegrind = true }\n",
    ],
)
def test_who_asks_for_a_number_or_counts_is_told_nothing(tmp_path, metric):
    outputs = ["rate 586.8 MB/s\n", "rate 562.2 MB/s\n"]
    assert found(tmp_path, outputs, "metric = { wall = true }\n") != []
    assert found(tmp_path, outputs, metric) == []


def test_nothing_is_told_of_failures_or_of_outputs_that_are_gone(tmp_path):
    outputs = ["rate 586.8 MB/s\n", "rate 562.2 MB/s\n"]
    assert found(tmp_path, outputs, status="exit") == []
    assert found(tmp_path, outputs) != []
    executions = [dataclasses.replace(EXECUTION, benchmark="b", output_sha256=each, log="gone") for each in "ab"]
    assert measuring_themselves(executions, {"b": config_of().benchmarks[0]}, tmp_path) == []


def test_run_and_analyse_tell_it_and_its_advice_ends_it(tmp_path):
    project = Project(tmp_path)
    script = 'echo "$((500 + $(date +%N | cut -c4-8 | sed "s/^0*//" ) % 400)).5 MB/s"'
    binaries = [
        each
        for layout in (1, 2, 3, "stock")
        for each in shell_binaries(tmp_path / "c", script, systems=("a",), layouts=(layout,))
    ]
    config = config_of()
    summary = project.run(config, binaries, measure)
    (told,) = summary.measuring_themselves
    assert isinstance(told, MeasuresItself)
    assert "prints other numbers in each execution" in str(told) and told.first != told.second
    assert run_document(summary)["measuring_themselves"] == [
        {"benchmark": "b", "metric": "wall_s", "printed": [told.first, told.second], "setting": told.setting}
    ]
    selection = selected(config, project.path)
    assert told in selection.warnings
    screen = " ".join(part for line in remark_lines(selection, [], 80) for part, _ in line)
    assert "if it runs for" in screen and "metric.regex judges these" in screen
    followed = config_of(told.setting + "\n")
    again = project.run(followed, binaries, measure)
    assert (again.executed, again.measuring_themselves) == (summary.executed, ())


@pytest.mark.parametrize(
    ("outputs", "regex", "unit", "better"),
    [
        (("184.9 Kops/s\n", "277.1 Kops/s\n"), r"([0-9.]+)\s*Kops/s\b", "Kops/s", "more"),
        (("a: 3 ms\nb: 9 ms\n", "a: 4 ms\nb: 9 ms\n"), r"a:\s*([0-9.]+)\s*ms\b", "ms", "less"),
        (("Fib 100 53 ns/op\n", "Fib 100 57 ns/op\n"), r"Fib\s*100\s*([0-9.]+)\s*ns/op\b", "ns/op", "less"),
        (("took 1.5\n", "took 1.6\n"), "", "", ""),  # of what?
        (("3 ms\n4 ms\n", "5 ms\n6 ms\n"), "", "", ""),  # which of both?
        (("1,234 ms\n", "1,235 ms\n"), "", "", ""),
    ],
)
def test_the_line_that_has_the_number_judged_does_so(tmp_path, outputs, regex, unit, better):
    executions = []
    for n, text in enumerate(outputs):
        (tmp_path / f"{n}").mkdir()
        (tmp_path / f"{n}" / "stdout").write_text(text)
        executions.append(dataclasses.replace(EXECUTION, benchmark="b", output_sha256=text, log=f"{n}"))
    (told,) = measuring_themselves(executions, {"b": config_of().benchmarks[0]}, tmp_path)
    if not regex:
        assert told.setting == ""
        assert "(metric.regex)" in str(told)
        return
    assert told.setting in str(told)
    metric = config_of(told.setting + "\n").benchmarks[0].metric
    assert (metric.regex, metric.unit, metric.better) == (regex, unit, better)
    first, second = (read_iterations(text.encode(), regex) for text in outputs)
    assert len(first) == len(second) == 1
    assert first != second
