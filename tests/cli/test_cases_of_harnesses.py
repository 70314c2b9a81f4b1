"""Names of benchmarks and of cases of harnesses, as commands take them before anything is executed."""

from __future__ import annotations

import dataclasses

import pytest

import gitkit
from fakes import EXECUTION
from layoutrand.cli import run
from layoutrand.config.config import parse
from layoutrand.execute import experiment as experiments
from layoutrand.harnesses.case_names import metric_of
from layoutrand.harnesses.command_words import with_harness_words
from layoutrand.model import BuiltFrom, Context, Experiment, Measurement
from layoutrand.results.file import open_for_writing
from workshop import require

CONFIG = """\
[project]
name = "p"
[build]
commands = ["make"]
artefacts = ["b"]
[systems.base]
toolchain = "gcc"
[[benchmarks]]
name = "all"
harness = "google-benchmark"
command = ["{artefact}"]
"""


@pytest.fixture
def said(tmp_path, capsys):
    """Writes a project, runs a command that must be refused, and gives what it said in one line."""

    def refused(config, *words):
        (tmp_path / "layoutrand.toml").write_text(config)
        assert run([*words, "-C", str(tmp_path)]) == 2
        return " ".join(capsys.readouterr().err.split())

    return refused


@pytest.mark.parametrize("command", [["bisect", "HEAD"], ["check"]])
@pytest.mark.parametrize("name", ["all", "all/BM_Copy"])
def test_an_entry_and_a_case_are_taken(said, command, name):
    """They get as far as looking for the commits, of which this directory has none."""
    require("git", "git")
    assert "repository" in said(CONFIG, *command, "--benchmark", name)


@pytest.mark.parametrize("command", [["bisect", "HEAD"], ["check"]])
def test_a_name_that_is_none_is_told_as_ever(said, command):
    """It begins like the entry's, and is no case of it."""
    assert "no benchmark called 'allowed'" in said(CONFIG, *command, "--benchmark", "allowed")


EXPERIMENT = Experiment(project="p", protocol=1, policy="{}", randomise="[]", host="h", hostname="host")
RESULTS, CHECK = ".layoutrand/results.sqlite", ".layoutrand/check/0123.sqlite"


@pytest.fixture
def history(tmp_path, monkeypatch):
    """A project of two commits, neither of which can be built; where it is, and both."""
    monkeypatch.setenv("LAYOUTRAND_CACHE", str(tmp_path / "cache"))
    root = gitkit.make(tmp_path / "p")
    files = {"layoutrand.toml": CONFIG.replace('"make"', '"false"'), ".gitignore": ".layoutrand"}
    return root, [gitkit.commit(root, {**files, "README": text}, text) for text in ("one", "two")]


def record(root, name, commit, *cases, dirty=False, config=CONFIG):
    """One execution of a build of that commit that reported these cases, in this file of results."""
    declared = with_harness_words(parse(config.replace('"make"', '"false"'), path=""), "")
    (definition,) = set(experiments.definitions(declared, list(declared.benchmarks), root).values())
    built = (BuiltFrom("base", EXECUTION.capture, commit=commit, dirty=dirty),)
    context = Context("1", {}, "d", 1, {}, {}, built=built)
    numbers = tuple(Measurement(metric_of(case, "time_s"), "s", 0, 1.0, warmup=False) for case in cases)
    mine = dataclasses.replace(EXECUTION, benchmark="all", definition=definition, measurements=numbers)
    with open_for_writing(root / name) as store:
        store.record(store.begin(EXPERIMENT, context), mine)


def called(root, capsys, command, case):
    """The exit status of one of both commands for that case, and what it says in one line."""
    words = {"bisect": ["bisect", "HEAD~1", "HEAD"], "check": ["check", "HEAD~1", "HEAD"]}[command]
    status = run([*words, "--benchmark", f"all/{case}", "--quiet", "--share-machine", "-C", str(root)])
    return status, " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("command", ["bisect", "check"])
@pytest.mark.parametrize(("name", "end"), [(RESULTS, 0), (RESULTS, 1), (CHECK, 1)])
def test_a_case_that_a_commit_is_known_not_to_have_is_told_before_anything_is_built(
    history, capsys, command, name, end
):
    """Both commits were built and executed first."""
    root, commits = history
    record(root, name, commits[end], "BM_Copy", "BM_Sort")
    status, said = called(root, capsys, command, "BM_Copi")
    assert status == 2
    assert "all has no case that is called 'all/BM_Copi' at " in said
    assert commits[end][:7] in said
    assert said.endswith("; there are all/BM_Copy, all/BM_Sort; did you mean 'all/BM_Copy'?")
    status, said = called(root, capsys, command, "BM_Copy")
    assert status == 1 and "exited with status 1" in said and "is called" not in said, "it goes on to build"


@pytest.mark.parametrize("command", ["bisect", "check"])
@pytest.mark.parametrize(("commit", "dirty"), [("f" * 40, False), ("", None), (1, True)])
def test_a_case_that_may_be_new_is_doubted_and_looked_for(history, capsys, command, commit, dirty):
    """What was executed was built of another commit, of none, or of a changed one."""
    root, commits = history
    record(root, RESULTS, commits[1] if commit == 1 else commit, "BM_Copy", dirty=dirty)
    status, said = called(root, capsys, command, "BM_Copi")
    told = "all has reported no case that is called 'all/BM_Copi' so far, and whether these commits have it is known"
    assert said.startswith(
        f"warning: {told} when they were executed; there are all/BM_Copy; did you mean 'all/BM_Copy'?"
    )
    assert status == 1 and "exited with status 1" in said


@pytest.mark.parametrize("command", ["bisect", "check"])
def test_what_was_executed_with_other_words_says_nothing_of_cases(history, capsys, command):
    root, commits = history
    record(root, RESULTS, commits[1], "BM_Copy", config=CONFIG + 'cases = "Copy"\n')
    status, said = called(root, capsys, command, "BM_Sort")
    assert status == 1 and "BM_Sort" not in said
