"""The wrapper of gcc's lto-wrapper: beneath a recorded link it keeps what was made, elsewhere it does nothing."""

import shutil

import pytest

from buildkit import run
from layoutrand.text import render
from workshop import require
from wrapkit import NASTY, SHELLS, dumped, start, write_script


def wrapper(folder, real):
    """A generated wrapper of the program ``real``."""
    tools = {name: shutil.which(name) for name in ("cat", "cp", "mkdir", "rm")}
    text = render.lto_wrapper(name="lto-wrapper", real=str(real), system="sys", toolchain="gcc", **tools)
    return write_script(folder / "lto-wrapper", text)


def generator(folder, text):
    """What stands for the real lto-wrapper."""
    return write_script(folder / "real one", f"#!/bin/sh\n{text}\n")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("word", NASTY.values(), ids=NASTY.keys())
def test_arguments_arrive_as_they_are(tmp_path, shell, word):
    """What lto-wrapper gets is what the plugin said, byte for byte."""
    assert dumped(wrapper(tmp_path, "/usr/bin/env"), b"@" + word, word, shell=shell) == [b"@" + word, word]


@pytest.mark.parametrize("shell", SHELLS)
def test_objects_are_kept_in_the_order_of_the_answer(tmp_path, shell):
    """The answer passes through, and the objects survive their deletion by the plugin."""
    for name in ("z.ltrans0.o", "a b.o", "it's $HOME.o"):
        (tmp_path / name).write_text(name)
    real = generator(
        tmp_path, f'cd \'{tmp_path}\' && printf \'%s\\n\' "$PWD/z.ltrans0.o" "$PWD/a b.o" "$PWD/it\'s \\$HOME.o"'
    )
    record = tmp_path / "rec 1"
    (record / "lto").mkdir(parents=True)
    (record / "lto" / "00007.o").write_text("of a linker that started itself again")
    env = {"LAYOUTRAND_LTO_RECORD": str(record), "COLLECT_GCC_OPTIONS": "'-flto' '-flto-partition=1to1'"}
    done = start(wrapper(tmp_path, real), "@args", shell=shell, env=env)
    kept = record / "lto"

    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().splitlines() == [f"{tmp_path}/{n}" for n in ("z.ltrans0.o", "a b.o", "it's $HOME.o")]
    assert {path.name: path.read_text() for path in kept.glob("*.o")} == {
        "00000.o": "z.ltrans0.o",
        "00001.o": "a b.o",
        "00002.o": "it's $HOME.o",
    }
    assert (kept / "list").read_bytes() == done.stdout
    assert (kept / "options").read_text() == "'-flto' '-flto-partition=1to1'"


def test_outside_a_recorded_link_nothing_is_kept(tmp_path):
    """Then the wrapper becomes lto-wrapper."""
    real = generator(tmp_path, 'printf "%s\\n" "$@"; exit 3')
    done = start(wrapper(tmp_path, real), "@args", "b", env={"LAYOUTRAND_LTO_RECORD": ""})

    assert (done.returncode, done.stdout) == (3, b"@args\nb\n")


def test_a_failure_is_the_generators_own(tmp_path):
    """Its status and its words pass through."""
    real = generator(tmp_path, "echo broken >&2; exit 4")
    done = start(wrapper(tmp_path, real), "@args", env={"LAYOUTRAND_LTO_RECORD": str(tmp_path)})

    assert (done.returncode, done.stdout, done.stderr) == (4, b"", b"broken\n")


def test_an_object_that_cannot_be_kept_stops_the_link(tmp_path):
    """A capture that lacks an object must not look whole."""
    real = generator(tmp_path, "echo /nonexistent.o")
    done = start(wrapper(tmp_path, real), "@args", env={"LAYOUTRAND_LTO_RECORD": str(tmp_path)})

    assert done.returncode == 127
    assert b"cannot keep what link-time optimisation made" in done.stderr


def test_the_script_is_clean(tmp_path):
    """shellcheck has nothing to say."""
    run(require("shellcheck", "shellcheck"), wrapper(tmp_path, "/usr/lib/gcc/lto-wrapper"))
