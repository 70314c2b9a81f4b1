"""A file that a command line names, and that is another than executions read: told, where it can be told."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import replace
from pathlib import Path

import pytest

from executekit import Project
from experiments import execution, selected, write
from fakes import EXECUTION, make_config, shell_binaries
from layoutrand.analysis import layout_words
from layoutrand.analysis.analyse import analyse
from layoutrand.analysis.conclusion import of_layouts
from layoutrand.analysis.documents import run_document
from layoutrand.analysis.sentences import of_analysis
from layoutrand.execute.measure import measure
from layoutrand.execute.named_inputs import changed_inputs
from layoutrand.execute.output_warnings import MixedInputs, UnlikeOutputs
from layoutrand.model import Measurement

COMMAND = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}", "{project}/in.txt"]\n'


def config_of(more=""):
    return make_config(COMMAND + more, systems=("a",))


def executed(argv, *starts, **changes):
    """Executions of a tenth of a second."""
    return [
        dataclasses.replace(EXECUTION, benchmark="b", argv=argv, started_at=start, wall_s=0.1, **changes)
        for start in starts
    ]


def file_of(folder, at, name="in.txt", content="text"):
    path = folder / name
    path.write_text(content)
    os.utime(path, (at, at))
    return path


def found(executions, folder, more=""):
    return changed_inputs(executions, {"b": config_of(more).benchmarks[0]}, folder)


@pytest.mark.parametrize(("at", "before"), [(50.0, None), (150.0, 1), (250.0, 2), (1000.0, 3)])
def test_executions_from_before_a_change_are_counted(tmp_path, at, before):
    argv = ("/bin/prog", str(file_of(tmp_path, at)))
    told = [
        (each.benchmark, each.file, each.before, each.of) for each in found(executed(argv, 100, 200, 300), tmp_path)
    ]
    assert told == ([] if before is None else [("b", "in.txt", before, 3)])


@pytest.mark.parametrize(
    "word",
    ["{}", "--in={}", "cat < {}", "sort '{}' | uniq; true", "x={} prog"],
)
def test_however_the_command_names_it(tmp_path, word):
    path = file_of(tmp_path, 150.0)
    (told,) = found(executed(("/bin/sh", "-c", word.format(path)), 100, 200), tmp_path)
    assert (told.file, told.before) == ("in.txt", 1)


def test_what_the_program_writes_itself_is_no_input(tmp_path):
    """Its time is that of an execution, or hardly later."""
    argv = ("/bin/prog", "-o", str(file_of(tmp_path, 300.5)))
    assert found(executed(argv, 100, 200, 300), tmp_path) == []


def test_what_is_known_by_its_content_is_not_told(tmp_path):
    argv = ("/bin/prog", str(file_of(tmp_path, 150.0)))
    assert found(executed(argv, 100, 200), tmp_path, 'files = ["in.txt"]\n') == []
    assert found(executed(argv, 100, 200), tmp_path, 'stdin = "in.txt"\n') == []
    program = file_of(tmp_path, 150.0, content="\x7fELF and more")
    assert found(executed(("/bin/prog", str(program)), 100, 200), tmp_path) == []
    assert found(executed(("/bin/prog", str(tmp_path)), 100, 200), tmp_path) == []
    assert found(executed(("/bin/prog", str(tmp_path / "absent")), 100, 200), tmp_path) == []


def test_the_time_of_a_file_says_nothing_of_nodes(tmp_path):
    argv = ("/bin/prog", str(file_of(tmp_path, 150.0)))
    assert found(executed(argv, 100, 200, node="n1"), tmp_path) == []


def test_run_tells_it_and_its_advice_has_it_measured_again(tmp_path):
    project = Project(tmp_path)
    binaries = [
        each
        for layout in (1, 2, "stock")
        for each in shell_binaries(tmp_path / "c", "cat $1", systems=("a",), layouts=(layout,))
    ]
    (project.path / "in.txt").write_text("one")
    assert project.run(config_of(), binaries, measure).changed_inputs == ()
    (project.path / "in.txt").write_text("two")
    later = max(os.stat(project.path / "in.txt").st_mtime + 60, 0)
    os.utime(project.path / "in.txt", (later, later))
    again = project.run(config_of(), binaries, measure)
    (told,) = again.changed_inputs
    assert (again.executed, told.file, told.before, told.of) == (0, "in.txt", 4, 4)
    assert 'files = ["in.txt"]' in str(told)
    assert run_document(again)["changed_inputs"] == [{"benchmark": "b", "file": "in.txt", "before": 4, "executions": 4}]
    followed = project.run(config_of('files = ["in.txt"]\n'), binaries, measure)
    assert (followed.executed, followed.changed_inputs) == (4, ())


def test_a_project_is_one_by_whatever_path(tmp_path, monkeypatch):
    """Commands are given the project as it is from where one stands, and through links."""
    argv = ("/bin/prog", str(file_of(tmp_path, 150.0)))
    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    for project in (Path(), tmp_path / "link"):
        (told,) = found(executed(argv, 100, 200), project)
        assert told.file == "in.txt"
        assert found(executed(argv, 100, 200), project, 'files = ["in.txt"]\n') == []


def test_what_was_measured_with_two_inputs_has_no_verdict(tmp_path):
    """Nor is it a wonder that layouts print something else then."""
    config = config_of()
    argv = ("/bin/prog", str(file_of(tmp_path, 250.0)))
    rows = [
        replace(
            execution(config, tmp_path, "a", "b", seed, argv=argv, output_sha256=64 * text),
            started_at=100.0 * seed + 10 * again,
            repetition=again,
            measurements=(Measurement("wall_s", "s", 0, value + 0.001 * again, warmup=False),),
        )
        for seed, text, value in ((1, "a", 1.0), (2, "a", 1.1), (3, "b", 2.0), (4, "a", 2.1), (5, "a", 2.2))
        for again in (0, 1)
    ]
    write(config, tmp_path, rows)
    selection = selected(config, tmp_path)
    (mixed,) = (each for each in selection.warnings if isinstance(each, MixedInputs))
    assert "layouts were measured with different inputs" in str(mixed)
    assert not any(isinstance(each, UnlikeOutputs) for each in selection.warnings)
    (analysis,) = analyse(selection, confidence=0.95, metrics=[]).analyses
    assert of_layouts(analysis).verdict == "layout matters"
    concluded = of_layouts(analysis, selection.warnings)
    assert (concluded.verdict, concluded.reasons[0].cause) == ("cannot tell", "unlike conditions")
    assert [each.kind for each in concluded.next][:1] == ["name the input"]
    sentence = of_analysis(analysis, selection.warnings)
    assert f"cannot tell whether layout matters: {mixed.brief()}" in sentence
    assert layout_words.cell(analysis.findings, concluded) == f"cannot tell: {mixed.brief()}"
    assert "standard deviation" not in sentence


def test_analyses_tell_it(tmp_path):
    config = config_of()
    argv = ("/bin/prog", str(file_of(tmp_path, 150.0)))
    rows = [execution(config, tmp_path, "a", "b", seed, started_at=100.0 * seed, argv=argv) for seed in (1, 2)]
    write(config, tmp_path, rows)
    told = [str(each) for each in selected(config, tmp_path).warnings]
    assert any("in.txt was changed after 1 of 2 executions" in each for each in told)
