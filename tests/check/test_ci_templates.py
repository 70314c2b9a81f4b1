"""The action for GitHub and the template for GitLab: their scripts, executed in a clean directory and environment."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml

import gitkit
import layoutrand
from workshop import require

TEMPLATES = Path(__file__).resolve().parents[2] / "templates" / "ci"
SOURCE = Path(layoutrand.__file__).parents[1]
PROGRAM = "\n".join(f"int helper{n}(int x) {{ return x * {n} + 1; }}" for n in range(8))
MAIN = """
int helper1(int), helper5(int);
static volatile int sink;
int work(int n) { int s = 0; for (int k = 0; k < n; k++) s += helper1(k) ^ helper5(s); return s; }
int main(void) { sink = work(COUNT); return 0; }
"""
CONFIGURATION = """
[project]
name = "prog"
[build]
commands = ["gcc -O1 -o prog main.c helpers.c"]
artefacts = ["prog"]
[systems.O1]
[[benchmarks]]
name = "work"
command = ["{artefact}"]
metric = { cachegrind = true }
"""


def steps():
    return yaml.safe_load((TEMPLATES / "github" / "action.yml").read_text())["runs"]["steps"]


def inputs():
    found = yaml.safe_load((TEMPLATES / "github" / "action.yml").read_text())["inputs"]
    return {name: str(each["default"]) for name, each in found.items()}


def given(step, **of_event):
    """What a step has in its environment: the defaults of the inputs, and of the event what is given."""
    found = {}
    for name, text in step.get("env", {}).items():
        asked = re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", text)
        found[name] = inputs()[asked[1]] if asked else of_event.get(name, "")
    return found


@pytest.fixture
def project(tmp_path):
    """Two commits, the second of which does 3 % more work; layoutrand on a PATH of its own, and nothing else set."""
    require("valgrind", "valgrind")
    root = gitkit.make(tmp_path / "src", {"helpers.c": PROGRAM, "layoutrand.toml": CONFIGURATION})
    gitkit.commit(root, {"main.c": MAIN.replace("COUNT", "20000")})
    gitkit.commit(root, {"main.c": MAIN.replace("COUNT", "20600")})
    own = tmp_path / "bin"
    own.mkdir()
    command = own / "layoutrand"
    command.write_text(f'#!/bin/sh\nPYTHONPATH={SOURCE} exec {sys.executable} -m layoutrand "$@"\n')
    command.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    return root, {"PATH": f"{own}:/usr/bin:/bin", "HOME": str(home), "RUNNER_TEMP": str(tmp_path)}


def started(script, root, env):
    return subprocess.run(["bash", "-c", script], cwd=root, env=env, capture_output=True, text=True)


@pytest.mark.slow
def test_the_steps_of_the_action_tell_a_slowdown(project, tmp_path):
    root, env = project
    files = {name: tmp_path / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_PATH")}
    for path in files.values():
        path.write_text("")
    env |= {name: str(path) for name, path in files.items()}
    done = []
    for step in steps():
        if "run" not in step:
            continue
        done.append(started(step["run"], root, {**env, **given(step)}))

    assert [each.returncode for each in done] == [0, 0, 3], [each.stderr for each in done]
    assert re.search(r"^::error file=layoutrand.toml,line=\d+,title=work%3A more::\+\d", done[-1].stdout, re.MULTILINE)
    assert files["GITHUB_STEP_SUMMARY"].read_text().startswith("### ✗ 1 takes more")
    outputs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
    assert Path(outputs["comment"]).read_text() in files["GITHUB_STEP_SUMMARY"].read_text()
    assert outputs["key"].startswith(outputs["prefix"])
    assert os.path.isdir(outputs["cache"])
    assert os.path.isdir(outputs["results"])


@pytest.mark.parametrize("branches", ["--single-branch", "--no-single-branch"])
def test_a_pull_request_without_its_history_is_told_what_to_fetch(tmp_path, branches):
    """git says little where the branch is not there, and nothing where it is and has no common commit."""
    upstream = gitkit.make(tmp_path / "upstream", {"a.c": "int a;\n"})
    gitkit.commit(upstream, {"a.c": "int a = 1;\n"})
    gitkit.git("checkout", "-q", "-b", "topic", "HEAD~1", cwd=upstream)
    gitkit.commit(upstream, {"a.c": "int a = 2;\n"})
    root = tmp_path / "clone"
    gitkit.git("clone", "-q", "--depth=1", branches, "--branch=topic", upstream.as_uri(), str(root), cwd=tmp_path)
    (script,) = [step["run"] for step in steps() if step.get("id") == "check"]
    env = {"PATH": "/usr/bin:/bin", "RUNNER_TEMP": str(tmp_path), "GITHUB_OUTPUT": str(tmp_path / "output")}
    done = started(script, root, {**env, "IN": ".", "BASE": "", "HEAD_COMMIT": "HEAD", "GITHUB_BASE_REF": "main"})
    assert done.returncode == 2, done.stderr
    assert done.stdout.startswith("::error title=layoutrand check::where HEAD left origin/main is not known here")
    assert "fetch-depth: 0" in done.stdout


def on_github(root, env, **event):
    """The step that checks, as of a push of what is checked out."""
    (step,) = [each for each in steps() if each.get("id") == "check"]
    of_push = {"GITHUB_SHA": gitkit.head(root), "GITHUB_OUTPUT": str(root.parent / "output")}
    return started(step["run"], root, {**env, **of_push, **given(step, **event)})


def on_gitlab(root, env, *, BEFORE="0" * 40, DEFAULT_BRANCH="", **others):
    job = yaml.safe_load((TEMPLATES / "gitlab.yml").read_text())[".layoutrand-check"]
    of_push = {"CI_COMMIT_BEFORE_SHA": BEFORE, "CI_DEFAULT_BRANCH": DEFAULT_BRANCH, "CI_PROJECT_DIR": str(root)}
    return started(job["script"][0], root, {**env, **job["variables"], **of_push, **others})


def told(tmp_path):
    """The environment of a job whose layoutrand says what it was asked to compare, and does nothing."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "layoutrand"
    command.write_text('#!/bin/sh\necho "compared: $2 $3"\n')
    command.chmod(0o755)
    return {"PATH": f"{command.parent}:/usr/bin:/bin", "RUNNER_TEMP": str(tmp_path), "HOME": str(tmp_path)}


@pytest.fixture(params=[on_github, on_gitlab])
def compared(request, tmp_path):
    """Execute the check of a clone with a layoutrand that says what it was asked; (BASE, what was said beside)."""
    env = told(tmp_path)

    def of(root, **event):
        done = request.param(root, env, **event)
        assert done.returncode == 0, done.stderr
        *said, last = done.stdout.splitlines()
        base, head = last.removeprefix("compared: ").split()
        assert head == "HEAD"
        return base, " ".join([*said, done.stderr])

    return of


@pytest.fixture
def upstream(tmp_path):
    """A repository whose commits are to be pushed; git gives commits that no branch has any more, as GitHub does."""
    root = gitkit.make(tmp_path / "upstream", {"a.c": "int a;\n"})
    gitkit.git("config", "uploadpack.allowAnySHA1InWant", "true", cwd=root)
    return root


def clone(upstream, *how):
    root = upstream.parent / "clone"
    gitkit.git("clone", "-q", *how, upstream.as_uri(), str(root), cwd=upstream)
    return root


@pytest.mark.parametrize("how", [(), ("--depth=1",)])
def test_a_push_of_several_commits_is_compared_with_what_the_branch_was_before_it(compared, upstream, how):
    """``HEAD^`` has all of them but the last, and a shallow clone has not even that."""
    before = gitkit.head(upstream)
    for value in range(3):
        gitkit.commit(upstream, {"a.c": f"int a = {value};\n"})
    root = clone(upstream, *how)
    assert compared(root, BEFORE=before, DEFAULT_BRANCH="main")[0] == before
    gitkit.git("cat-file", "-e", f"{before}^{{commit}}", cwd=root)


def test_a_forced_push_is_compared_with_what_no_branch_has_any_more(compared, upstream):
    before = gitkit.commit(upstream, {"a.c": "int a = 1;\n"})
    gitkit.git("reset", "-q", "--hard", "HEAD~1", cwd=upstream)
    gitkit.commit(upstream, {"a.c": "int a = 2;\n"})
    root = clone(upstream)
    assert compared(root, BEFORE=before, DEFAULT_BRANCH="main") == (before, "")
    gitkit.git("cat-file", "-e", f"{before}^{{commit}}", cwd=root)


def test_where_it_cannot_be_fetched_it_is_told_what_is_compared_instead(compared, upstream):
    root = clone(upstream)
    gitkit.commit(root, {"a.c": "int a = 1;\n"})
    base, said = compared(root, BEFORE="1" * 40, DEFAULT_BRANCH="main")
    assert base == gitkit.git("rev-parse", "origin/main", cwd=root)
    assert f"{'1' * 40}, where the branch was before the push, cannot be fetched: compared with {base} instead" in said


@pytest.mark.parametrize("before", ["0" * 40, ""])
def test_a_new_branch_is_compared_with_where_it_left_the_default_one(compared, upstream, before):
    left = gitkit.head(upstream)
    gitkit.git("checkout", "-q", "-b", "topic", cwd=upstream)
    for value in range(2):
        gitkit.commit(upstream, {"a.c": f"int a = {value};\n"})
    root = clone(upstream, "--branch=topic")
    assert compared(root, BEFORE=before, DEFAULT_BRANCH="main") == (left, "")


@pytest.mark.parametrize("default", ["main", ""])
def test_what_is_no_push_on_the_default_branch_is_compared_with_the_commit_before(compared, upstream, default):
    gitkit.commit(upstream, {"a.c": "int a = 1;\n"})
    assert compared(clone(upstream), DEFAULT_BRANCH=default) == ("HEAD^", "")


def test_what_was_pushed_says_nothing_of_another_commit(tmp_path, upstream):
    """An action may be given a head, or check out another commit than the one that it was started for."""
    before = gitkit.head(upstream)
    for value in range(2):
        gitkit.commit(upstream, {"a.c": f"int a = {value};\n"})
    root = clone(upstream)
    env = told(tmp_path)
    (step,) = [each for each in steps() if each.get("id") == "check"]
    event = {**given(step, BEFORE=before, DEFAULT_BRANCH="main"), "HEAD_COMMIT": "HEAD~1"}
    of_push = {"GITHUB_SHA": gitkit.head(root), "GITHUB_OUTPUT": str(tmp_path / "output")}
    assert started(step["run"], root, {**env, **event, **of_push}).stdout == "compared: HEAD~1^ HEAD~1\n"


@pytest.mark.parametrize(
    ("given_by_gitlab", "base"),
    [
        ({"CI_MERGE_REQUEST_DIFF_BASE_SHA": "d1ff", "CI_MERGE_REQUEST_TARGET_BRANCH_SHA": "7a59e7"}, "7a59e7"),
        ({"CI_MERGE_REQUEST_DIFF_BASE_SHA": "d1ff", "CI_MERGE_REQUEST_TARGET_BRANCH_SHA": ""}, "d1ff"),
    ],
)
def test_a_merge_request_is_compared_with_what_its_commits_are_on(tmp_path, upstream, given_by_gitlab, base):
    """Merged results have the target branch as it is now: what others merged into it since is no part of the request."""
    done = on_gitlab(upstream, told(tmp_path), **given_by_gitlab)
    assert done.stdout == f"compared: {base} HEAD\n", done.stderr


@pytest.mark.slow
def test_what_was_fetched_of_a_shallow_clone_is_checked(project, tmp_path):
    """layoutrand builds commits that no branch has, in clones without history, too."""
    upstream, env = project
    gitkit.git("config", "uploadpack.allowAnySHA1InWant", "true", cwd=upstream)
    before = gitkit.git("rev-parse", "HEAD~1", cwd=upstream)
    gitkit.commit(upstream, {"README": "more\n"})
    root = clone(upstream, "--depth=1")
    done = on_github(root, env, BEFORE=before, DEFAULT_BRANCH="main")
    assert done.returncode == 3, done.stderr
    assert "### ✗ 1 takes more" in done.stdout


@pytest.mark.slow
def test_the_script_of_the_template_leaves_what_gitlab_reads(project):
    root, env = project
    job = yaml.safe_load((TEMPLATES / "gitlab.yml").read_text())[".layoutrand-check"]
    variables = {name: text.replace("$CI_PROJECT_DIR", str(root)) for name, text in job["variables"].items()}
    (script,) = job["script"]
    done = started(script, root, {**env, **variables, "CI_PROJECT_DIR": str(root)})

    assert done.returncode == 3, done.stderr
    (entry,) = json.loads((root / job["artifacts"]["reports"]["codequality"]).read_text())
    assert entry["severity"] == "major"
    suite = ET.parse(root / job["artifacts"]["reports"]["junit"]).getroot().find("testsuite")
    assert suite.get("failures") == "1"
    assert (root / job["artifacts"]["paths"][0]).read_text().startswith("### ✗ 1 takes more")


def test_every_script_of_the_templates_passes_shellcheck():
    shellcheck = require("shellcheck", "shellcheck")
    (script,) = yaml.safe_load((TEMPLATES / "gitlab.yml").read_text())[".layoutrand-check"]["script"]
    for text in [script, *(step["run"] for step in steps() if "run" in step)]:
        done = subprocess.run([shellcheck, "-s", "bash", "-"], input=text, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
