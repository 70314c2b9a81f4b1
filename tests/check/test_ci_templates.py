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
        given = {
            name: inputs()[re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", text)[1]]
            for name, text in step.get("env", {}).items()
        }
        done.append(started(step["run"], root, {**env, **given}))

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
