"""A build that fails in a clone without its submodules."""

import pytest

import gitkit
from layoutrand.cli import run

TEXT = """\
[project]
name = "fake"
[build]
source = "clone"
commands = ["cat deps/lib/a.h"]
artefacts = ["prog"]
[systems.O2]
[[benchmarks]]
name = "b"
command = ["{artefact}"]
"""


@pytest.fixture(autouse=True)
def cloned_without(tmp_path, monkeypatch):
    """A repository with a submodule, in main, and its clone without, in clone."""
    monkeypatch.setenv("LAYOUTRAND_CACHE", str(tmp_path / "cache"))
    gitkit.make(tmp_path / "lib", {"a.h": "1"})
    gitkit.make(tmp_path / "main", {"b.c": "1"})
    gitkit.git("submodule", "add", "-q", tmp_path / "lib", "deps/lib", cwd=tmp_path / "main")
    gitkit.commit(tmp_path / "main")
    gitkit.git("clone", "-q", "main", "clone", cwd=tmp_path)


def test_what_gets_submodules_is_told_where_the_build_fails_for_want_of_them(tmp_path, capsys):
    (tmp_path / "layoutrand.toml").write_text(TEXT)
    advice = f"git -C {tmp_path / 'clone'} submodule update --init --recursive"
    assert run(["build", "--seeds", "1", "-C", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "The source has a submodule without any file: deps/lib. If the build needs it:" in said
    assert said.count(advice) == 1
    gitkit.git("submodule", "update", "-q", "--init", "--recursive", cwd=tmp_path / "clone")
    assert run(["build", "--seeds", "1", "-C", str(tmp_path)]) == 1  # nothing is linked: that is another error
    assert "a submodule without any file" not in capsys.readouterr().err


def test_what_a_build_goes_without_is_told_where_it_links_nothing(tmp_path, capsys):
    """CMake warns of a submodule that is missing, leaves the program out and succeeds."""
    warning = "CMake Warning at CMakeLists.txt:9 (message):\n  deps/lib submodule missing.\n"
    assert run(["init", "-C", str(tmp_path / "clone"), "--", f"echo '{warning}'"]) == 1
    said = capsys.readouterr().err
    told = "    CMake Warning at CMakeLists.txt:9 (message):\n      deps/lib submodule missing.\nThe source has a submodule"
    assert said.count(f"The build says:\n{told} without any file: deps/lib. If the build needs it:") == 1
    assert run(["init", "-C", str(tmp_path / "main"), "--", "true"]) == 1
    said = capsys.readouterr().err
    assert "linked no program" in said
    assert "The build says" not in said
    assert "without any file" not in said


def test_what_a_build_goes_without_is_told_where_its_artefact_is_not_linked(tmp_path, capsys):
    """`build` of a project told that there is no artefact alone, and asked whether its name is right."""
    warning = "CMake Warning at CMakeLists.txt:9 (message):\n  deps/lib submodule missing.\n"
    text = TEXT.replace("cat deps/lib/a.h", "echo '" + warning.replace("\n", "\\n") + "'")
    (tmp_path / "layoutrand.toml").write_text(text)
    assert run(["build", "--seeds", "1", "-C", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    told = "    CMake Warning at CMakeLists.txt:9 (message):\n      deps/lib submodule missing.\nThe source has a submodule"
    question = "made no prog; is build.artefacts right?"
    assert said.count(f"{question}\nThe build says:\n{told} without any file: deps/lib.") == 1
