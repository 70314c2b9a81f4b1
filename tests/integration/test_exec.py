"""`layoutrand exec`: the user's own command with a layout applied to what it links, seen from outside."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from execkit import MAKEFILE, NAMES, direct, environment
from speeds import first_fast
from startkit import layoutrand
from workshop import Workshop, ended, in_order, main_calling, many_functions, output, require

START = (sys.executable, "-m", "layoutrand")


@pytest.fixture
def project(gnu: Workshop) -> Workshop:
    """A program with a Makefile and a layoutrand.toml."""
    require("make", "make")
    gnu.write(main__c=main_calling("u_7"), u__c=many_functions(8, prefix="u_"), Makefile=MAKEFILE)
    (gnu.project / "layoutrand.toml").write_text(gnu.toml(["make"]))
    return gnu


def arguments(shop: Workshop, *words: str, options: tuple[str, ...] = ()) -> list[str]:
    """The words of an exec with seed 7 in the source directory."""
    start = ["exec", "--seed", "7", "-C", str(shop.project), *options]
    return [*start, "--", "sh", "-c", 'cd src && exec "$0" "$@"', *words]


def execute(shop: Workshop, *words: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Execute the command."""
    words = tuple(arguments(shop, *words, options=options))
    return layoutrand(*words, env=environment(shop), cwd=shop.project, errors="replace")


def shell(shop: Workshop, script: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Execute a shell script."""
    return execute(shop, "sh", "-c", "set -e; " + script, options=options)


@pytest.mark.slow
def test_make_gives_the_layout_of_build(project: Workshop) -> None:
    """The program that `exec -- make` leaves has the order of `build`."""
    built = project.built("make", seeds=[7])
    done = execute(project, "make", "-j2")
    assert done.returncode == 0, done.stderr
    assert (project.source / "prog").read_bytes() == built.path(7).read_bytes()
    assert not list((project.cache / "work").iterdir())


@pytest.mark.slow
def test_only_what_can_move_is_counted(project: Workshop) -> None:
    """A static program is full of sections of the C library, which keep their place: they are told apart."""
    done = shell(project, "$CC -c *.c; $CC -static -o prog main.o u.o")
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "placed as asked" in line]
    found = re.search(r"layout 7, 9 sections placed as asked \(Kendall tau to identity ([-+][0-9.]+)\), (\d+) of", line)
    assert found, line
    assert abs(float(found[1])) < 0.9  # of 423 sections with 9 that move it would be +1.000
    assert int(found[2]) > 100


@pytest.mark.slow
def test_several_programs_and_only(project: Workshop) -> None:
    """Every program is laid out, each with a line of its own; --only leaves the others as they are linked."""
    script = "$CC -c *.c; mkdir -p bin; $CC -o bin/one main.o u.o & $CC -o two main.o u.o; wait"
    done = shell(project, script)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if "placed as asked" in line]
    assert sorted(line.split(":")[0] for line in lines) == [
        str(project.source / "bin/one"),
        str(project.source / "two"),
    ]
    laid_out = in_order(project.source / "two", NAMES)
    assert in_order(project.source / "bin/one", NAMES) == laid_out
    for only in ("one", str(project.source / "bin/one")):
        done = shell(project, script, "--only", only)
        assert done.returncode == 0, done.stderr
        assert "two" not in done.stderr
        assert in_order(project.source / "bin/one", NAMES) == laid_out
        assert in_order(project.source / "two", NAMES) == NAMES


def test_flags_that_reached_no_compiler_are_told(project: Workshop) -> None:
    """`build` refuses them; here the program is the user's own, and nothing said that it was compiled without."""
    told = 'cflags = "-O1" reached no compiler of C, C++ or Fortran through the wrappers: was it compiled earlier'
    (project.project / "layoutrand.toml").write_text(project.toml(["make"], system={"cflags": "-O1"}))
    first = shell(project, "make")
    again = shell(project, "rm prog; make")
    assert (first.returncode, again.returncode) == (0, 0), first.stderr + again.stderr
    assert [told in done.stderr for done in (first, again)] == [False, True]
    (project.project / "layoutrand.toml").write_text(project.toml(["make"], system={"cflags": "", "fflags": "-O1"}))
    other = shell(project, "make clean; make")
    assert 'fflags = "-O1" reached no compilation: all was done by the C compiler, whose flags are' in other.stderr


def test_only_names_what_is_never_linked(project: Workshop) -> None:
    """A misspelt --only is an error, since the layout would silently be applied to nothing."""
    done = shell(project, "make", "--only", "prgo")
    assert done.returncode == 1
    assert "linked no prgo through the wrappers, so layout 7 was not applied to it" in done.stderr


@pytest.mark.parametrize("status", first_fast(1, [3, 0, 77]))
def test_the_exit_status_is_the_commands(project: Workshop, status: int) -> None:
    """The command decides, also after a link."""
    assert shell(project, f"make; exit {status}").returncode == status


def test_a_command_killed_by_a_signal(project: Workshop) -> None:
    """As a shell reports it."""
    assert shell(project, "kill -9 $$").returncode == 128 + 9


def test_a_command_that_does_not_exist(project: Workshop) -> None:
    """One clear message."""
    words = ("exec", "--seed", "7", "-C", project.project, "--", "/no/such")
    done = layoutrand(*words, env=environment(project))
    assert done.returncode == 1
    assert "cannot start /no/such: No such file or directory" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no-such-word"], "cannot start no-such-word: not found on PATH\n"),
        (["make -j2"], "cannot start make -j2: not found on PATH: give its words one by one, as in -- make -j2, or sh"),
        (["configure"], "cannot start configure: not found on PATH; there is a file of that name here: ./configure"),
        (["./src"], "cannot start ./src: it is a directory"),
        (["cd", "src"], "cannot start cd: not found on PATH, but shells know such a word: sh -c"),
        (["CC=gcc", "make"], "cannot start CC=gcc: not found on PATH, but shells know such a word: sh -c"),
        ([""], "cannot start a command with an empty name: not found on PATH\n"),
        (["./configure"], "cannot start ./configure: Permission denied"),
    ],
)
def test_a_command_that_cannot_be_started(project: Workshop, words: list[str], said: str) -> None:
    """The message says what to write instead."""
    (project.project / "configure").write_text("#!/bin/sh\n")
    done = direct(project, *words)
    assert done.returncode == 1
    assert done.stderr.startswith("layoutrand: " + said)


@pytest.mark.slow
def test_a_link_that_cannot_be_laid_out(project: Workshop) -> None:
    """The command goes on and the other program is laid out; the status is 1, and the way round is named."""
    require("ld.gold", "binutils")
    script = "$CC -c *.c; $CC -fuse-ld=gold -o other main.o u.o; $CC -o prog main.o u.o"
    done = shell(project, script)
    assert done.returncode == 1
    assert (
        f"{project.source}/other: layout 7 was not applied, it is as it was linked: other was linked by" in done.stderr
    )
    assert "--except NAME leaves a program alone" in done.stderr
    assert f"{project.source}/prog: layout 7, " in done.stderr
    assert shell(project, script, "--only", "prog").returncode == 0


@pytest.mark.slow
def test_a_program_with_nothing_to_move(project: Workshop) -> None:
    """A tiny program is left as it is and said so; alone it is an error."""
    project.write(tiny__c="int main(void) { return 0; }\n")
    done = shell(project, "$CC -o tiny tiny.c; make")
    assert done.returncode == 0, done.stderr
    assert "tiny: left as it was linked: it has 1 placeable section: there is only one layout" in done.stderr
    alone = shell(project, "$CC -o tiny tiny.c")
    assert alone.returncode == 1
    assert "layout 7 was applied to nothing" in alone.stderr


SMALL = "int g(int x) { return x * 3; }\nint main(int c, char **v) { return g(c) - 3; }\n"


@pytest.mark.slow
def test_a_program_of_which_no_two_sections_may_change_places(project: Workshop) -> None:
    """A function and main, which is of a class of its own: one layout, said alike by exec, build and rebuild mode."""
    project.write(small__c=SMALL)
    script = "$CC -fno-inline -o small small.c; make"
    reason = (
        "it has 2 placeable sections, of which no two may change places (function-order, each class by itself): "
        "there is only one layout"
    )
    done = shell(project, script)
    assert done.returncode == 0, done.stderr
    assert f"{project.source}/small: left as it was linked: {reason}\n" in done.stderr
    left = (project.source / "small").read_bytes()
    assert left == as_left(project, "$CC -fno-inline -o small small.c", "small")
    for mode in ("relink", "rebuild"):
        built = project.build(
            "$CC -fno-inline -o small small.c", seeds=[1, 2], artefacts=["small"], build={"mode": mode}
        )
        assert {1, 2} <= {failure.layout for failure in built.failures}
        assert all(reason.removeprefix("it has ") in failure.error for failure in built.failures), built.failures


def as_left(shop: Workshop, script: str, name: str) -> bytes:
    """What the script links when everything is left alone: the link as it is without layoutrand's last step."""
    done = shell(shop, f"{script}; make -B", "--only", "prog")
    assert done.returncode == 0, done.stderr
    return (shop.source / name).read_bytes()


@pytest.mark.slow
def test_a_seed_whose_order_is_the_one_there_is(project: Workshop) -> None:
    """Two functions have two orders, and a seed may draw the first: that is said, and nothing of a tau."""
    project.write(
        two__c="int g(int x) { return x * 3; }\nint h(int x) { return g(x) + x; }\n"
        "int main(int c, char **v) { return h(c) - 4; }\n"
    )
    said = set()
    for seed in range(1, 9):
        words = (
            "exec",
            "--seed",
            seed,
            "-C",
            project.project,
            "--",
            "sh",
            "-c",
            "cd src && $CC -fno-inline -o two two.c",
        )
        done = layoutrand(*words, cwd=project.project, env=environment(project))
        assert done.returncode == 0, done.stderr
        line = next(line for line in done.stderr.splitlines() if "/two: layout" in line)
        moved = in_order(project.source / "two", ["g", "h"]) == ["h", "g"]
        assert ("this seed's order is the one it has already" in line) == (not moved)
        assert ("Kendall tau" in line) == moved
        said.add(moved)
        if said == {True, False}:
            break
    assert said == {True, False}


ASSEMBLER = ' .text\n .globl s\ns: movl %edi,%eax\nlocal: jmp 1f\n1: ret\n .section .note.GNU-stack,""\n'


@pytest.mark.slow
@pytest.mark.parametrize("options", ["", "-g", "-flto"])
def test_an_assembler_file_compiled_and_linked_in_one_step(project: Workshop, options: str) -> None:
    """The linker writes the name of the driver's temporary object into the symbol table, another name each time."""
    project.write(sl__S=ASSEMBLER, main__c=main_calling("u_7", "s"))
    command = f"$CC {options} -o one main.c u.c sl.S"
    done = shell(project, command)
    assert done.returncode == 0, done.stderr
    first = (project.source / "one").read_bytes()
    assert in_order(project.source / "one", NAMES) != NAMES
    assert shell(project, command).returncode == 0
    assert (project.source / "one").read_bytes() == first
    for mode in ("relink", "rebuild"):
        built = project.built(command, seeds=[7], artefacts=["one"], build={"mode": mode})
        assert built.path(7).read_bytes() == first


@pytest.mark.parametrize(
    "name", first_fast(2, ["it's $HOME `id`", "new\nline", "a b", "-x", "caf\udce9", "*?[x]", "a:b;c", "é😀"])
)
def test_hostile_names_of_outputs(project: Workshop, name: str) -> None:
    """The program is laid out whatever it is called."""
    target = project.source / name
    done = execute(project, "sh", "-c", '$CC -c main.c u.c && exec $CC -o "./$1" main.o u.o', "sh", name)
    assert done.returncode == 0, done.stderr
    assert in_order(target, NAMES) != NAMES
    assert output(target)


def _linked(program: Path) -> bool:
    """Whether the linker is done with it, but layoutrand is not: until then it looks old."""
    return program.exists() and program.stat().st_mtime < 1_000_000_000


@pytest.mark.hour
@pytest.mark.slow
def test_make_killed_between_link_and_layout(project: Workshop) -> None:
    """A program that was linked but not laid out when everything was killed is made again, not taken for finished."""
    laid_out = project.built("make", seeds=[7]).path(7).read_bytes()
    program = project.source / "prog"
    seen = set()
    for delay in (0.0, 0.1, 0.2, 0.3, 0.45, 0.6):
        execute(project, "make", "clean")
        process = subprocess.Popen(
            [*START, *arguments(project, "make")],
            env=environment(project),
            cwd=project.project,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 30
        while not _linked(program) and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(delay)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        seen.add(program.read_bytes() == laid_out)
        again = execute(project, "make")
        if again.returncode != 0:  # it was finished in time
            assert "Is everything up to date already" in again.stderr
        assert program.read_bytes() == laid_out
    assert False in seen


@pytest.mark.slow
@pytest.mark.parametrize("number", first_fast(1, [signal.SIGTERM, signal.SIGHUP]))
def test_a_polite_end(project: Workshop, number: signal.Signals) -> None:
    """The command is asked to end and does so in its own way; nothing runs on, no work is left."""
    marker = project.project / "pid"
    process = subprocess.Popen(
        [
            *START,
            *arguments(
                project,
                "bash",
                "-c",
                f"trap 'echo ended > \"{marker}.end\"; exit 5' {number.name[3:]}; echo $$ > '{marker}'; sleep 60 & wait",
            ),
        ],
        env=environment(project),
        cwd=project.project,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 30
    while not marker.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)
    process.send_signal(number)
    assert process.wait(10) == 5
    assert Path(f"{marker}.end").exists()
    assert ended(int(marker.read_text()))
    assert not list((project.cache / "work").iterdir())
    os.killpg(process.pid, signal.SIGKILL)  # the sleep


@pytest.mark.slow
def test_ctrl_c_is_left_to_make(project: Workshop) -> None:
    """As at a terminal, SIGINT goes to all: make deletes what is not finished."""
    # One process, since a dash that is just about to become the last command of its line forgets a SIGINT.
    (project.source / "slow.py").write_text(
        "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_DFL)\nopen('linked', 'w')\ntime.sleep(30)\n"
    )
    (project.source / "Makefile").write_text(
        MAKEFILE.replace("\t$(CC) -o $@ $^\n", f"\t$(CC) -o $@ $^\n\texec '{sys.executable}' slow.py\n")
    )
    process = subprocess.Popen(
        [*START, *arguments(project, "make")],
        env=environment(project),
        cwd=project.project,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 30
    while not (project.source / "linked").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=25)
    assert process.returncode in (2, 130)
    assert "Traceback" not in stderr
    assert not (project.source / "prog").exists()
    assert not list((project.cache / "work").iterdir())


@pytest.mark.slow
def test_a_configure_step(project: Workshop) -> None:
    """Trials under the usual names are not laid out, others fail no more often than without layoutrand."""
    configure = (
        "echo 'int main(void) { return 0; }' > conftest.c; $CC -o conftest conftest.c; echo main > CONFIG; "
        "cp conftest.c try.c; $CC -o try try.c && echo try >> CONFIG; "
        "! $CC -o try2 try.c -lno_such_library 2>/dev/null || echo odd >> CONFIG; make"
    )
    done = shell(project, configure)
    assert done.returncode == 0, done.stderr
    assert (project.source / "CONFIG").read_text() == "main\ntry\n"
    assert "conftest" not in done.stderr


@pytest.mark.slow
def test_parallel_make(project: Workshop) -> None:
    """Many links at once do not disturb each other."""
    programs = " ".join(f"p{k}" for k in range(6))
    rule = f"all: {programs}\n%.o: %.c\n\t$(CC) -c $<\n" + "".join(
        f"p{k}: main.o u.o\n\t$(CC) -o $@ $^\n" for k in range(6)
    )
    (project.source / "Makefile").write_text(rule)
    done = execute(project, "make", "-j6")
    assert done.returncode == 0, done.stderr
    contents = {(project.source / f"p{k}").read_bytes() for k in range(6)}
    assert len(contents) == 1
    assert in_order(project.source / "p0", NAMES) != NAMES
