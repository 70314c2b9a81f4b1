"""`layoutrand exec`: the user's own command with a layout applied to what it links, seen from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from workshop import Workshop, alive, in_order, main_calling, many_functions, output, require

NAMES = [f"u_{k}" for k in range(8)]
MAKEFILE = "all: prog\n%.o: %.c\n\t$(CC) -c $<\nprog: main.o u.o\n\t$(CC) -o $@ $^\nclean:\n\trm -f *.o prog\n"


@pytest.fixture
def project(gnu: Workshop) -> Workshop:
    """A program with a Makefile and a layoutrand.toml."""
    require("make", "make")
    gnu.write(main__c=main_calling("u_7"), u__c=many_functions(8, prefix="u_"), Makefile=MAKEFILE)
    (gnu.project / "layoutrand.toml").write_text(gnu.toml(["make"]))
    return gnu


def arguments(shop: Workshop, *words: str, options: tuple[str, ...] = ()) -> list[str]:
    """The command line of an exec with seed 7 in the source directory."""
    start = [sys.executable, "-m", "layoutrand", "exec", "--seed", "7", "-C", str(shop.project), *options]
    return [*start, "--", "sh", "-c", 'cd src && exec "$0" "$@"', *words]


def environment(shop: Workshop) -> dict[str, str]:
    """Where it keeps its work."""
    return {**os.environ, "LAYOUTRAND_CACHE": str(shop.cache)}


def execute(shop: Workshop, *words: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Execute the command."""
    return subprocess.run(
        arguments(shop, *words, options=options),
        env=environment(shop),
        capture_output=True,
        text=True,
        errors="replace",
    )


def shell(shop: Workshop, script: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Execute a shell script."""
    return execute(shop, "sh", "-c", "set -e; " + script, options=options)


def test_make_gives_the_layout_of_build(project: Workshop) -> None:
    """The program that `exec -- make` leaves has the order of `build`."""
    built = project.built("make", seeds=[7])
    done = execute(project, "make", "-j2")
    assert done.returncode == 0, done.stderr
    assert (project.source / "prog").read_bytes() == built.path(7).read_bytes()
    assert not list((project.cache / "work").iterdir())


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
    for only in ("one", "bin/one", str(project.source / "bin/one")):
        done = shell(project, script, "--only", only)
        assert done.returncode == 0, done.stderr
        assert "two" not in done.stderr
        assert in_order(project.source / "bin/one", NAMES) == laid_out
        assert in_order(project.source / "two", NAMES) == NAMES


def test_only_names_what_is_never_linked(project: Workshop) -> None:
    """A misspelt --only is an error, since the layout would silently be applied to nothing."""
    done = shell(project, "make", "--only", "prgo")
    assert done.returncode == 1
    assert "linked no prgo through the wrappers, so layout 7 was not applied to it" in done.stderr


@pytest.mark.parametrize("status", [0, 3, 77])
def test_the_exit_status_is_the_commands(project: Workshop, status: int) -> None:
    """The command decides, also after a link."""
    assert shell(project, f"make; exit {status}").returncode == status


def test_a_command_killed_by_a_signal(project: Workshop) -> None:
    """As a shell reports it."""
    assert shell(project, "kill -9 $$").returncode == 128 + 9


def test_a_command_that_does_not_exist(project: Workshop) -> None:
    """One clear message."""
    done = subprocess.run(
        [sys.executable, "-m", "layoutrand", "exec", "--seed", "7", "-C", str(project.project), "--", "/no/such"],
        env=environment(project), capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1
    assert "cannot start /no/such: No such file or directory" in done.stderr


def test_a_link_that_cannot_be_laid_out(project: Workshop) -> None:
    """The command goes on and the other program is laid out; the status is 1, and the way round is named."""
    require("ld.gold", "binutils")
    script = "$CC -c *.c; $CC -fuse-ld=gold -o other main.o u.o; $CC -o prog main.o u.o"
    done = shell(project, script)
    assert done.returncode == 1
    assert (
        f"{project.source}/other: layout 7 was not applied, it is as it was linked: other was linked by" in done.stderr
    )
    assert "--only NAME leaves other programs alone" in done.stderr
    assert f"{project.source}/prog: layout 7, " in done.stderr
    assert shell(project, script, "--only", "prog").returncode == 0


def test_a_program_with_nothing_to_move(project: Workshop) -> None:
    """A tiny program is left as it is and said so; alone it is an error."""
    project.write(tiny__c="int main(void) { return 0; }\n")
    done = shell(project, "$CC -o tiny tiny.c; make")
    assert done.returncode == 0, done.stderr
    assert "tiny: left as it was linked: it has 1 placeable section, so there is only one layout" in done.stderr
    alone = shell(project, "$CC -o tiny tiny.c")
    assert alone.returncode == 1
    assert "layout 7 was applied to nothing" in alone.stderr


@pytest.mark.parametrize("name", ["a b", "new\nline", "it's $HOME `id`", "-x", "caf\udce9", "*?[x]", "a:b;c", "é😀"])
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


@pytest.mark.slow
def test_make_killed_between_link_and_layout(project: Workshop) -> None:
    """A program that was linked but not laid out when everything was killed is made again, not taken for finished."""
    laid_out = project.built("make", seeds=[7]).path(7).read_bytes()
    program = project.source / "prog"
    seen = set()
    for delay in (0.0, 0.1, 0.2, 0.3, 0.45, 0.6):
        execute(project, "make", "clean")
        process = subprocess.Popen(
            arguments(project, "make"), env=environment(project), start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_polite_end(project: Workshop, number: signal.Signals) -> None:
    """The command is asked to end and does so in its own way; nothing runs on, no work is left."""
    marker = project.project / "pid"
    process = subprocess.Popen(
        arguments(project, "bash", "-c", f"trap 'echo ended > \"{marker}.end\"; exit 5' {number.name[3:]}; echo $$ > '{marker}'; sleep 60 & wait"),
        env=environment(project), stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 30
    while not marker.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)
    process.send_signal(number)
    assert process.wait(10) == 5
    assert Path(f"{marker}.end").exists()
    assert not alive(int(marker.read_text()))
    assert not list((project.cache / "work").iterdir())
    os.killpg(process.pid, signal.SIGKILL)  # the sleep


def test_ctrl_c_is_left_to_make(project: Workshop) -> None:
    """As at a terminal, SIGINT goes to all: make deletes what is not finished, and the next call makes it."""
    (project.source / "Makefile").write_text(
        MAKEFILE.replace("\t$(CC) -o $@ $^\n", "\t$(CC) -o $@ $^\n\ttouch linked; sleep 30\n")
    )
    process = subprocess.Popen(
        arguments(project, "make"), env=environment(project), start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 30
    while not (project.source / "linked").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=10)
    assert process.returncode in (2, 130)
    assert "Traceback" not in stderr
    assert not (project.source / "prog").exists()
    assert not list((project.cache / "work").iterdir())


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
