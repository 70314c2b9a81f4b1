"""Results of another commit, capture or configuration are never shown as those of the present."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys

import pytest

from gitkit import commit, git
from layoutrand import LayoutrandError, load
from layoutrand.results.file import open_for_reading, results_path
from startkit import layoutrand
from warningkit import unwrapped

CONFIG = """\
[project]
name = "toy"
[build]
{source}
commands = ["$CC -o toy main.c part.c"]
artefacts = ["toy"]
[systems.old]
cflags = "-O1"
[systems.new]
cflags = "{flags}"
[[benchmarks]]
name = "count"
command = ["{{artefact}}", "5"]
metric = {{ regex = "total ([0-9]+)", name = "total", unit = "1" }}
"""
MAIN = """\
#include <stdio.h>
int f1(int), f2(int), f3(int), f4(int), f5(int), f6(int), f7(int), f8(int);
int main(void) { printf("total %d\\n", f1(1) + f2(1) + f3(1) + f4(1) + f5(1) + f6(1) + f7(1) + f8(1) + MORE); }
"""
PART = "\n".join(f"int f{k}(int x) {{ return x * {k}; }}" for k in range(1, 9))


class Project:
    """A small program with two systems, in a directory or a repository."""

    def __init__(self, root, cache):
        self.root, self.source = root, root / "src"
        self.source.mkdir(parents=True)
        self.env = {**os.environ, "LAYOUTRAND_CACHE": str(cache)}
        self.configure()
        self.write(MORE=0)

    def configure(self, flags="-O2", source='source = "src"'):
        (self.root / "layoutrand.toml").write_text(CONFIG.format(flags=flags, source=source))

    def write(self, **definitions):
        (self.source / "main.c").write_text(MAIN.replace("MORE", str(definitions["MORE"])))
        (self.source / "part.c").write_text(PART)

    def commit(self):
        git("init", "-q", cwd=self.source)
        return commit(self.source)

    def __call__(self, *arguments, status=0, directory=None):
        done = layoutrand(*arguments, cwd=directory or self.root, env=self.env)
        assert done.returncode == status, done.stdout + done.stderr
        return done

    def run(self, seeds=4):
        self("run", "--seeds", str(seeds), "--share-machine", "--no-controls")

    def mean(self, *arguments, system="new"):
        document = json.loads(self("analyse", "--json", *arguments).stdout)
        return {row["system"]: row["mean"] for row in document["benchmarks"] if row["primary"]}.get(system)


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / "toy", tmp_path / "cache")


@pytest.mark.slow
def test_a_new_commit_has_no_results_yet(project, tmp_path):
    project.configure(source='repo = "src"\nrev = "HEAD"')
    first = project.commit()
    project.run()
    assert f"commit {first[:7]}" in project("compare", "old", "new").stdout.splitlines()[0]
    assert f"commit {first[:12]}" in unwrapped(project("compare", "old", "new", "--full").stdout)
    project.write(MORE=9)
    second = project.commit()

    refused = project("compare", "old", "new", status=1)
    assert refused.stdout == ""
    assert f"the commit was {first[:12]}, is {second[:12]}" in refused.stderr
    assert "4 executions, of commit" in refused.stderr
    assert "`layoutrand run`" in refused.stderr
    assert project("report", status=1).stdout == ""

    old = project("compare", "old", "new", "--any-source")
    assert f"commit {first[:7]}" in old.stdout
    assert "these results are not of what is configured now" in old.stdout
    assert "are not of what is configured now" in project("compare", "old", "new", "--any-source", "--full").stderr
    document = json.loads(project("compare", "old", "new", "--any-source", "--json").stdout)
    assert [each["source"].split()[1] for each in document["evidence"]["systems"]] == [first[:12]] * 2
    assert "old results" in [each["cause"] for each in document["benchmarks"][0]["reasons"]]
    project("report", "--any-source", "-o", str(tmp_path / "r.html"))
    assert f"commit {first[:12]}" in (tmp_path / "r.html").read_text()
    assert f"commit {first[:12]}" in project("compare", "old", "new", "--any-source", "--markdown").stdout
    (row, *_) = csv.DictReader(io.StringIO(project("compare", "old", "new", "--any-source", "--csv").stdout))
    assert all(row[f"{side}_source"].startswith(f"commit {first[:12]} of ") for side in ("baseline", "candidate"))
    (row, *_) = csv.DictReader(io.StringIO(project("analyse", "--any-source", "--csv").stdout))
    assert row["source"].startswith(f"commit {first[:12]} of ")

    project.run()
    assert project.mean() == 45.0
    assert f"commit {second[:7]}" in project("analyse").stdout


@pytest.mark.slow
def test_a_configuration_that_is_restored_has_its_own_results_and_not_those_executed_last(project):
    project.run(seeds=4)
    project.configure(flags="-O2 -fno-omit-frame-pointer")
    project.run(seeds=2)
    assert (
        json.loads(project("compare", "old", "new", "--json").stdout)["benchmarks"][0]["candidate"]["n_binaries"] == 2
    )

    project.configure()
    (row,) = json.loads(project("compare", "old", "new", "--json").stdout)["benchmarks"]
    assert row["candidate"]["n_binaries"] == 4

    project.configure(flags="-O3 -fno-inline")
    refused = project("compare", "old", "new", status=1)
    assert "flags.cflags was '-O2', is '-O3 -fno-inline'" in refused.stderr
    shown = project("analyse")  # the other system has results that are its own
    assert "left out: new: 6 executions of what is not configured, or not the source" in shown.stdout
    assert "old" in shown.stdout


@pytest.mark.slow
def test_a_changed_file_refuses_and_papers_beside_the_program_are_told(project):
    project.run()
    (project.source / "numbers.json").write_text("{}")
    assert "numbers.json in the source changed since these results were" in project("compare", "old", "new").stdout
    shown = project("compare", "old", "new", "--full")
    assert "numbers.json: in the source, and new or changed" in shown.stderr

    (project.source / "part.c").write_text(PART + "/* another */\n")
    refused = project("compare", "old", "new", status=1)
    assert "changed: part.c" in refused.stderr
    project.run()  # a build finds that the capture is what it was, and nothing is executed again
    assert project.mean() == 36.0


@pytest.mark.slow
def test_what_is_printed_into_the_source_is_no_reason_to_refuse(project):
    """A file that a shell makes for a command is none of the program, until somebody else writes into it, too."""
    project.run()
    with (project.source / "table").open("w") as printed:
        subprocess.run(
            [sys.executable, "-m", "layoutrand", "compare", "old", "new"],
            cwd=project.root,
            env=project.env,
            stdout=printed,
            check=True,
        )
    assert "new against old" in (project.source / "table").read_text()
    project("compare", "old", "new")

    with (project.source / "table").open("a") as file:
        file.write("by somebody\n")
    refused = project("compare", "old", "new", status=1)
    assert "(new: table)" in refused.stderr
    assert "New files that are no part of the program belong into build.exclude." in refused.stderr
    config = project.root / "layoutrand.toml"
    config.write_text(config.read_text().replace("[systems.old]", 'exclude = ["table"]\n[systems.old]'))
    project("compare", "old", "new")


@pytest.mark.slow
def test_a_capture_is_shown_by_its_id(project):
    project.run()
    first = json.loads(project("analyse", "--json").stdout)["evidence"]["systems"]
    ids = {row["system"]: row["capture"] for row in first}
    project.write(MORE=7)
    project.run(seeds=3)
    assert project.mean() == 43.0
    assert project.mean("--capture", ids["new"][:12]) == 36.0
    unknown = project("analyse", "--capture", "ffff", status=1)
    assert "no results of such a capture" in unknown.stderr
    assert ids["new"][:12] in unknown.stderr


@pytest.mark.slow
def test_results_without_their_sources_are_shown_and_it_is_told_what_was_not_compared(project, tmp_path):
    project.run()
    copied = tmp_path / "elsewhere"
    shutil.copytree(project.root, copied)
    shutil.rmtree(copied / "src")
    shown = project("compare", "old", "new", directory=copied)
    assert "not seen whole whether these results are of the present" in shown.stdout
    assert "files " in shown.stdout


def test_systems_whose_flags_make_no_difference_are_one_program(project):
    project.configure(flags="-O1 -DNOTHING")
    project.run()
    document = json.loads(project("compare", "old", "new", "--json", "--fail-if", "undecided").stdout)
    (row,) = document["benchmarks"]
    assert (row["conclusion"], row["verdict"]) == ("same program", "same program")


@pytest.mark.slow
def test_of_one_program_each_system_remembers_its_own_flags_and_commit(project):
    made = project.commit()
    project.configure("-O1 -DNOTHING")
    project.run()
    project.configure("-O1 -DOTHER")
    failed = project("compare", "old", "new", status=1)
    assert "flags.cflags was '-O1 -DNOTHING', is '-O1 -DOTHER'" in " ".join(failed.stderr.split())
    assert "old as it is configured" not in " ".join(failed.stderr.split())
    with open_for_reading(results_path(project.root)) as store:
        (experiment,) = [each for each, _ in store.experiments()]
        built = {each.system: each for context in store.contexts(experiment) for each in context.built}
    assert built["old"].capture == built["new"].capture
    tree = git("rev-parse", f"{made}^{{tree}}", cwd=project.source)
    assert {(each.commit, each.tree, each.dirty) for each in built.values()} == {(made, tree, False)}
    assert {each.made_from["flags"].split('"cflags":"')[1].split('"')[0] for each in built.values()} == {
        "-O1",
        "-O1 -DNOTHING",
    }


@pytest.mark.slow
def test_a_program_is_refused_old_results_as_the_commands_are(project, monkeypatch):
    monkeypatch.setenv("LAYOUTRAND_CACHE", project.env["LAYOUTRAND_CACHE"])
    project.run()
    results = load(project.root)
    assert results.compare()["count"].verdict == "same"
    project.write(MORE=9)
    refused = project("compare", "old", "new", status=1)
    with pytest.raises(LayoutrandError) as of_program:
        load(project.root).compare("old", "new")
    assert str(of_program.value) in refused.stderr
    assert load(project.root, any_source=True).systems == ("old", "new")
