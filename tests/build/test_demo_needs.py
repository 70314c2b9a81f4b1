"""What the demo needs is looked for before anything is built, and told in one line with the command that mends it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from layoutrand.build.demo import copy_example
from layoutrand.capture.source import copy
from layoutrand.cli import run
from layoutrand.errors import UsageError
from layoutrand.platform.packages import C_HEADERS, install
from layoutrand.text.build_output import lacks_c_library
from workshop import require


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A directory that alone is PATH, with every program of this machine but valgrind."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("gcc", "make"):
        require(name, name)
    for place in reversed(os.environ["PATH"].split(os.pathsep)):
        for program in Path(place).glob("*"):
            (folder / program.name).unlink(missing_ok=True)
            (folder / program.name).symlink_to(program)
    (folder / "valgrind").unlink(missing_ok=True)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("LAYOUTRAND_CACHE", str(tmp_path / "cache"))
    return folder


def without_c_library(path):
    """gcc as it is where libc6-dev is missing: no headers, no start files, no libc."""
    real = os.path.realpath(path / "gcc")
    (path / "gcc").unlink()
    (path / "gcc").write_text(f'#!{shutil.which("sh")}\nexec {real} --sysroot=/nonexistent "$@"\n')
    (path / "gcc").chmod(0o755)


def the_one_line(tmp_path, capsys):
    assert run(["demo", "-C", str(tmp_path / "demo"), "--seeds", "2"]) != 0
    (line,) = capsys.readouterr().err.splitlines()
    assert not (tmp_path / "demo").exists() and not (tmp_path / "cache").exists(), "nothing was begun"
    return line


def test_without_a_compiler(path, tmp_path, capsys):
    (path / "gcc").unlink()
    line = the_one_line(tmp_path, capsys)
    assert line.endswith(f"this machine lacks gcc: {install(['gcc', C_HEADERS])}")


def test_without_make(path, tmp_path, capsys):
    (path / "make").unlink()
    assert the_one_line(tmp_path, capsys).endswith(f"this machine lacks make: {install(['make'])}")


def test_without_anything(path, tmp_path, capsys):
    for name in ("gcc", "make"):
        (path / name).unlink()
    assert the_one_line(tmp_path, capsys).endswith(f"lacks gcc, make: {install(['gcc', C_HEADERS, 'make'])}")


def test_without_the_c_librarys_headers(path, tmp_path, capsys):
    without_c_library(path)
    assert the_one_line(tmp_path, capsys).endswith(f"this machine lacks {C_HEADERS}: {install([C_HEADERS])}")


def test_with_a_compiler_that_does_not_work(path, tmp_path, capsys):
    (path / "gcc").unlink()
    (path / "gcc").write_text(f"#!{shutil.which('sh')}\necho 'gcc: error: broken' >&2\nexit 1\n")
    (path / "gcc").chmod(0o755)
    assert the_one_line(tmp_path, capsys).endswith("gcc cannot make the smallest one: gcc: error: broken")


CONFIG = """\
[project]
name = "toy"
[build]
source = "src"
commands = ["echo built >> {marker}", "$CC -o toy main.c"]
artefacts = ["toy"]
[systems.O2]
[[benchmarks]]
name = "b"
command = ["{{artefact}}"]
metric = {{ cachegrind = true }}
[[benchmarks]]
name = "w"
command = ["{{artefact}}"]
"""


@pytest.fixture
def toy(tmp_path, monkeypatch):
    (tmp_path / "src").mkdir()
    (tmp_path / "src/main.c").write_text(
        "#include <stdio.h>\nint f(void) { return 1; }\nint main(void) { return f() - 1; }\n"
    )
    (tmp_path / "layoutrand.toml").write_text(CONFIG.format(marker=tmp_path / "built"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAYOUTRAND_LOCK_DIR", str(tmp_path))
    return tmp_path


def test_a_benchmark_that_needs_valgrind_is_refused_before_anything_is_built(toy, path, capsys):
    assert run(["run", "--seeds", "1"]) != 0
    (line,) = capsys.readouterr().err.splitlines()
    assert f"there is no valgrind in PATH: {install(['valgrind'])}" in line
    assert not (toy / "built").exists()


def test_a_build_for_it_is_made_with_a_warning(toy, path, capsys):
    assert run(["build", "--seeds", "1"]) == 0
    first = capsys.readouterr().err.splitlines()[0]
    assert first.startswith("warning: `layoutrand run` will need more than this: ")
    assert install(["valgrind"]) in first
    assert (toy / "built").exists()


def test_other_benchmarks_need_no_valgrind(toy, path, capsys):
    assert run(["run", "--seeds", "1", "--benchmark", "w"]) == 0


def test_a_build_without_the_c_librarys_headers_fails_in_one_line(toy, path, capsys):
    without_c_library(path)
    assert run(["build", "--seeds", "1"]) == 1
    said = capsys.readouterr().err
    failures = [line for line in said.splitlines() if line.startswith("failed: ")]
    assert failures and all(
        line.endswith(
            f"{C_HEADERS} and start files, which every program is built with, are missing: {install([C_HEADERS])}"
        )
        for line in failures
    ), said
    assert "fatal error" not in said


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        ("a.c:1:10: fatal error: stdio.h: No such file or directory", True),
        ("/usr/lib/gcc/x/12/include/stdint.h:9:16: fatal error: stdint.h: No such file or directory", True),
        ("a.c:1:10: fatal error: sys/types.h: No such file or directory", True),
        ("a.c:1:10: fatal error: 'stdio.h' file not found", True),
        ("/usr/bin/ld: cannot find Scrt1.o: No such file or directory", True),
        ("/usr/bin/ld: cannot find -lc: No such file or directory", True),
        ("ld.lld: error: cannot open crt1.o: No such file or directory", True),
        ("ld.lld: error: unable to find library -lc", True),
        ("a.c:1:10: fatal error: zlib.h: No such file or directory", False),
        ("a.c:1:10: fatal error: my/stdio.h: No such file or directory", False),
        ("/usr/bin/ld: cannot find -lcrypto: No such file or directory", False),
        ("/usr/bin/ld: cannot find -lmath: No such file or directory", False),
        ("checking for stdio.h... no", False),
    ],
)
def test_what_compilers_and_linkers_say_without_the_c_library(text, lacks):
    assert lacks_c_library(text) is lacks


def example_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_an_interrupted_copy_of_the_example_is_not_in_the_way(tmp_path, monkeypatch):
    """Whatever the moment of a kill: nothing of the example is where it belongs, or all of it is."""
    target = tmp_path / "demo"
    made = []

    def killed(source, whole, exclude):
        copy(source, whole, exclude)
        (whole / "Makefile").unlink()
        made.append(whole)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("layoutrand.build.demo.copy", killed)
        patched.setattr("layoutrand.build.demo.remove_tree", lambda path: None)  # as after kill -9
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                copy_example(target)
    assert made and not target.exists()
    copy_example(target)
    there = example_in(target)
    assert "Makefile" in there and "layoutrand.toml" in there


def test_the_example_in_an_empty_directory_where_we_are(tmp_path, monkeypatch):
    whole = tmp_path / "whole"
    copy_example(whole)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    (here / ".tmp-0123").mkdir()  # a killed copy's
    copy_example(Path())
    assert example_in(here) == sorted([".tmp-0123", *example_in(whole)])
    (here / "layoutrand.toml").unlink()
    with pytest.raises(UsageError, match="not empty"):
        copy_example(Path())
