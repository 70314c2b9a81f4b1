"""Words of commands that name files of the project, which executions do not have in their fresh directories."""

from __future__ import annotations

import pytest

from layoutrand.cli import run
from layoutrand.cluster.inputs import missing_in_directory
from layoutrand.config.config import parse

HEAD = '[project]\nname = "p"\n[build]\nsource = "src"\ncommands = ["make"]\nartefacts = ["prog"]\n[systems.a]\n'


@pytest.fixture
def project(tmp_path):
    """A project, and a file beside it."""
    (tmp_path / "data.txt").write_text("")
    (tmp_path / "p").mkdir()
    return tmp_path / "p"


def said(tmp_path, command, more=""):
    for name in ("inputs/x", "top.txt", "sh", "run.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    words = ", ".join(f'"{word}"' for word in command)
    text = f'{HEAD}[[benchmarks]]\nname = "b"\ncommand = [{words}]\n{more}'
    (tmp_path / "layoutrand.toml").write_text(text)
    return missing_in_directory(parse(text, path="layoutrand.toml"), tmp_path)


@pytest.mark.parametrize(
    ("command", "mend"),
    [
        (["{artefact}", "inputs/x"], "write {project}/inputs/x,"),
        (["{artefact}", "./inputs/x"], "write {project}/inputs/x,"),
        (["{artefact}", "top.txt"], "write {project}/top.txt,"),
        (["{artefact}", "--file=inputs/x"], "write --file={project}/inputs/x,"),
        (["./run.sh", "{artefact}"], "write {project}/run.sh,"),
        (["run.sh", "{artefact}"], "write {project}/run.sh,"),
        (["run.sh", "{artefact}"], "write ./run.sh,"),
        (["{artefact}", "../data.txt"], "write {project}/../data.txt,"),
    ],
)
def test_a_word_that_names_a_file_of_the_project_is_told_with_what_to_write(project, command, mend):
    (sentence,) = said(project, command)
    assert sentence.startswith("benchmark 'b': each execution has a fresh working directory")
    assert mend in sentence
    assert "or list it in `files` and write " in sentence


@pytest.mark.parametrize(
    ("word", "lists", "copy"), [("inputs/x", ["inputs/x"], "x"), ("--file=./inputs/x", ["inputs/x"], "--file=x")]
)
def test_a_file_that_is_listed_already_is_called_by_the_name_of_its_copy(project, word, lists, copy):
    """It was told to be listed, which it is: copies have no directories."""
    (sentence,) = said(project, ["{artefact}", word], f"files = {lists}".replace("'", '"'))
    assert sentence.endswith(f", or write {copy}, as the copy that each execution has is called")


@pytest.mark.parametrize(
    ("command", "more"),
    [
        (["{artefact}", "{project}/inputs/x"], ""),
        (["{artefact}", "x"], 'files = ["inputs/x"]'),
        (["{artefact}", "top.txt"], 'files = ["top.txt"]'),
        (["{artefact}", "inputs/x"], 'files = ["inputs"]'),
        (["{artefact}", "inputs"], ""),
        (["{artefact}", "inputs/absent", "", "-", "--", "../p/top.txt", "-x=", "/etc/passwd"], ""),
        (["sh", "-c", "true"], ""),
        (["sh", "-c", "x" * 5000], ""),
    ],
)
def test_no_alarm_where_the_execution_has_the_file_or_it_is_none(tmp_path, command, more):
    assert said(tmp_path, command, more) == []


def test_it_is_told_when_the_configuration_is_read(tmp_path, capsys):
    said(tmp_path, ["{artefact}", "inputs/x"])
    assert run(["build", "--list-systems", "-C", str(tmp_path)]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("warning: ") and "write {project}/inputs/x" in line
