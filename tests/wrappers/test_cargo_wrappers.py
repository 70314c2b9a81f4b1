"""What the wrappers of cargo and rustc add, keep, and leave alone."""

import subprocess

import pytest

from layoutrand.text import render
from wrapkit import SHELLS, cargo_script, rustc_script, write_script

ECHO = "#!/bin/sh\nfor word do printf '[%s]' \"$word\"; done\n"
JSON = "[--message-format=json-render-diagnostics]"


def words(text):
    return "".join(f"[{word}]" for word in text.split())


def said(script, *line, shell="dash"):
    done = subprocess.run([*SHELLS.get(shell, ["sh"]), script, *line], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture
def real(tmp_path):
    return write_script(tmp_path / "real" / "program", ECHO)


@pytest.mark.parametrize("shell", SHELLS)
def test_features_stand_before_what_is_for_another_program(tmp_path, real, shell):
    script = cargo_script(tmp_path, real=real, messages=tmp_path / "cargo", features="a,b")

    line = ("run", "--release", "--", "--features", "mine", "--")
    assert said(script, *line, shell=shell) == words("run --release --features a,b -- --features mine --")
    assert said(script, "+stable", "--config", "build", "metadata", shell=shell) == words(
        "+stable --config build metadata"
    )


def test_a_build_says_in_json_what_it_made_and_that_is_kept(tmp_path, real):
    script = cargo_script(tmp_path, real=real, messages=tmp_path / "cargo")

    assert said(script, "-Z", "x", "build", "--release") == ""
    assert said(script, "bench", "--no-run") == ""
    assert {path.read_text() for path in tmp_path.glob("cargo.*")} == {
        f"{words('-Z x build --release')}{JSON}",
        f"{words('bench --no-run')}{JSON}",
    }


@pytest.mark.parametrize(
    "line",
    ["test", "run -- --no-run", "bench x", "build --message-format=json", "build --help", "--version", "fmt", "check"],
)
def test_what_prints_for_others_is_left_alone(tmp_path, real, line):
    script = cargo_script(tmp_path, real=real, messages=tmp_path / "cargo")

    assert said(script, *line.split()) == words(line)
    assert list(tmp_path.glob("cargo.*")) == []


def test_cargo_has_heard_of_features_only_where_it_builds(tmp_path, real):
    script = cargo_script(tmp_path, real=real, messages=tmp_path / "cargo", heard=str(tmp_path / "heard"))

    said(script, "metadata")
    assert not (tmp_path / "heard").exists()
    said(script, "test")
    assert (tmp_path / "heard").exists()


@pytest.mark.parametrize("shell", SHELLS)
def test_flags_of_rust_stand_last(tmp_path, real, shell):
    script = rustc_script(tmp_path, flags=["-C", "target-cpu=x y"], heard=str(tmp_path / "heard"))

    assert said(script, real, "-vV", shell=shell) == "[-vV][-C][target-cpu=x y]"
    assert said(script, real, "-", "--crate-name", "___", shell=shell).startswith("[-]")
    assert not (tmp_path / "heard").exists()
    assert said(script, real, "--crate-name", "a", shell=shell) == "[--crate-name][a][-C][target-cpu=x y]"
    assert (tmp_path / "heard").exists()


def test_another_wrapper_of_rustc_is_given_the_compiler_too(tmp_path, real):
    script = rustc_script(tmp_path, real=real, flags=["-O"])

    assert said(script, "rustc", "--crate-name", "a") == "[rustc][--crate-name][a][-O]"


def test_a_compiler_without_a_directory_is_looked_up(tmp_path, real, monkeypatch):
    monkeypatch.setenv("PATH", f"{real.parent}:/usr/bin:/bin")

    assert said(rustc_script(tmp_path, flags=["-O"]), "program", "-vV") == "[-vV][-O]"


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (["-vV"], []),
        (["--crate-name", "___", "-O"], []),
        (["--crate-name", "a"], ["compiled"]),
        (["--crate-name", "a", "-C", "opt-level=0"], ["compiled"]),
        (["--crate-name", "a", "-C", "opt-level=3"], ["compiled", "optimised"]),
        (["--crate-name", "a", "-Copt-level=s"], ["compiled", "optimised"]),
        (["--crate-name", "a", "-O", "src/lib.rs"], ["compiled", "optimised"]),
    ],
)
def test_what_rustc_compiles_and_whether_it_is_optimised_is_noted(tmp_path, real, words, left):
    marks = tmp_path / "marks"
    marks.mkdir()
    script = rustc_script(tmp_path, levels=render.Levels(str(marks / "compiled"), str(marks / "optimised")))
    assert said(script, real, *words) == "".join(f"[{word}]" for word in words)
    assert sorted(each.name for each in marks.iterdir()) == left


def test_what_the_system_says_of_optimising_counts_as_asked_for(tmp_path, real):
    levels = render.Levels(str(tmp_path / "compiled"), str(tmp_path / "optimised"), is_given=True)
    script = rustc_script(tmp_path / "w", levels=levels)
    said(script, real, "-vV")
    assert not (tmp_path / "optimised").exists()
    said(script, real, "--crate-name", "a")
    assert (tmp_path / "compiled").exists() and (tmp_path / "optimised").exists()
