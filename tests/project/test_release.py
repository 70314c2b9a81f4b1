"""What a release consists of, as far as it can be told without building one (`make release`, `make installs`)."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tests/tools"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CHANGELOG = """\
# Changelog

## Unreleased

- later

## [1.1.0] - 2026-02-01

### Added

- this

## 1.0.0

- that
"""


@pytest.fixture
def notes(tmp_path):
    """Call release_notes.py where CHANGELOG.md has this text."""

    def call(text, *words):
        tools = tmp_path / "tests/tools"
        tools.mkdir(parents=True, exist_ok=True)
        (tools / "release_notes.py").write_bytes((TOOLS / "release_notes.py").read_bytes())
        (tmp_path / "CHANGELOG.md").write_text(text)
        command = [sys.executable, str(tools / "release_notes.py"), *words]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    return call


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (["1.1.0"], "# layoutrand 1.1.0\n\n### Added\n\n- this\n"),
        (["1.0.0", "--draft"], "# layoutrand 1.0.0\n\n- that\n"),
        (["2.0.0", "--draft"], "# layoutrand 2.0.0 (draft)\n\n- later\n"),
    ],
)
def test_notes_are_the_section_of_the_version(notes, words, printed):
    assert notes(CHANGELOG, *words) == (0, printed, "")


def test_a_version_without_notes_is_no_release(notes):
    status, printed, said = notes(CHANGELOG, "2.0.0")
    assert (status, printed) == (1, "")
    assert 'no section "## 2.0.0"' in said


def test_the_version_stands_where_it_must():
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {PROJECT['version']}\n" in citation
    assert f'\n__version__ = "{PROJECT["version"]}"\n' in (ROOT / "src/layoutrand/version.py").read_text()
    assert f"\nlicense: {PROJECT['license']}\n" in citation
    for key in ("cff-version", "message", "title", "authors"):  # what the format demands
        assert re.search(rf"^{key}:", citation, re.MULTILINE), key


def test_every_python_that_is_named_is_tried():
    """The releases of `make installs` are those that its comment gives the Pythons of."""
    named = [line.rsplit(" ", 1)[1] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]
    script, makefile = (TOOLS / "installs.sh").read_text(), (ROOT / "Makefile").read_text()
    tried = dict(re.findall(r"(\w+) (?:has Python )?(3\.\d+)[,.]", script))
    assert sorted(tried.values()) == named
    assert re.search(r"^INSTALLS_ON \?= (.*)$", makefile, re.MULTILINE)[1].split() == list(tried)
    assert PROJECT["requires-python"] == f">={named[0]}"


def test_the_containerfile_says_nothing_that_is_not_tried():
    text = re.sub(r"\\\n", "", (ROOT / "Containerfile").read_text())
    instructions = {line.split()[0] for line in text.splitlines() if line.strip() and not line.startswith("#")}
    known = set(re.findall(r"^ {8}'([A-Z]+) ", (TOOLS / "containerfile.sh").read_text(), re.MULTILINE))
    assert instructions == known
    extras = re.search(r"/usr/src/layoutrand\[([\w,]+)\]", text)[1].split(",")
    assert set(extras) <= set(PROJECT["optional-dependencies"])


@pytest.mark.hour
@pytest.mark.slow
def test_the_wheel_is_installed_by_pip_pipx_and_uvx():
    """With the Python that executes this; `make installs` has the others."""
    command = [str(TOOLS / "installs.sh")]
    env = {**os.environ, "PYTHON": sys.executable}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for way in ("pip install: layoutrand", "pipx install: layoutrand", "uvx: layoutrand"):
        assert way in done.stdout
    assert "library: ['cannot tell', 'same']" in done.stdout
