"""The helper that lays out the links of `exec`: whatever happens to it, to its clients or to the build around it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from keptkit import words_of
from layoutrand.cache.store import Cache
from layoutrand.capture.workspace import end_abandoned_builds
from workshop import Workshop, alive, in_order, main_calling, many_functions, require

NAMES = [f"u_{k}" for k in range(8)]
SLEEP = f"31.{os.getpid()}"
"""Seconds that tell the slow linkers of this process from those of others."""


@pytest.fixture
def project(shop: Workshop) -> Workshop:
    """A program of two objects, and more programs that have a file of their own each."""
    require("make", "make")
    own = {f"q{k}.c": many_functions(3 + k % 4, prefix=f"q{k}_") for k in range(40)}
    shop.write_named(own)
    shop.write(main__c=main_calling("u_7"), u__c=many_functions(8, prefix="u_"))
    programs = [f"q{k}" for k in range(40)]
    rules = "".join(f"{name}: main.o u.o {name}.o\n\t$(CC) -o $@ $^ -lm\n" for name in programs)
    shop.write(
        Makefile="prog: main.o u.o\n\t$(CC) -o $@ $^\n%.o: %.c\n\t$(CC) -c $<\n"
        + rules
        + f"few: prog {' '.join(programs[:6])}\nall: prog {' '.join(programs)}\nclean:\n\trm -f *.o prog q? q??\n"
    )
    (shop.project / "layoutrand.toml").write_text(shop.toml(["make prog"]))
    return shop


def begin(shop: Workshop, script: str) -> subprocess.Popen[str]:
    """Start an exec of a shell script in the source directory, as the leader of a process group."""
    return subprocess.Popen(
        [sys.executable, "-m", "layoutrand", "exec", "--seed", "7", "--", "sh", "-c", f"set -e; cd src; {script}"],
        cwd=shop.project,
        env={**os.environ, "LAYOUTRAND_CACHE": str(shop.cache)},
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )


def execute(shop: Workshop, script: str) -> str:
    """Execute the script, which must succeed; what was said."""
    process = begin(shop, script)
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 0, stderr
    assert not list((shop.cache / "work").iterdir())
    return stderr


def wait_for(what: Callable[[], object]) -> None:
    """Wait until it is true."""
    deadline = time.monotonic() + 60
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def helpers(process: subprocess.Popen[str]) -> list[int]:
    """The helper, and its children."""
    below = psutil.Process(process.pid).children(recursive=True)
    found = [child for child in below if "relink-helper" in words_of(child)]
    return list(dict.fromkeys(each.pid for child in found for each in (child, *child.children(recursive=True))))


@pytest.mark.slow
@pytest.mark.parametrize("target", ["few", "all"])
def test_many_links_at_once_are_each_as_alone(project: Workshop, target: str) -> None:
    """What a link has learnt from others changes no byte: each program is the one of a build of nothing else."""
    built = project.built("make prog", seeds=[7]).path(7).read_bytes()
    execute(project, f"make -j8 {target}")
    names = ["prog", *(f"q{k}" for k in range(6 if target == "few" else 40))]
    together = {name: (project.source / name).read_bytes() for name in names}
    assert together["prog"] == built
    assert in_order(project.source / "q5", NAMES) != NAMES
    execute(project, "make clean; make -j2 *.o; make -j8 " + target)
    assert {name: (project.source / name).read_bytes() for name in names} == together
    for name in names[1 : 2 if target == "few" else 4]:
        execute(project, f"make clean; make {name}")
        assert (project.source / name).read_bytes() == together[name]


def test_a_helper_that_is_killed(gnu_project: Workshop) -> None:
    """The next link fails and says why; the program does not pass for finished."""
    go = gnu_project.project / "go"
    process = begin(gnu_project, f"touch '{go}.at'; while [ ! -e '{go}' ]; do sleep 0.02; done; make prog")
    wait_for(Path(f"{go}.at").exists)
    for pid in helpers(process):
        os.kill(pid, signal.SIGKILL)
    go.touch()
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "the layoutrand that started this build cannot be asked to lay out this link: " in stderr
    assert not (gnu_project.source / "prog").exists() or (gnu_project.source / "prog").stat().st_mtime < 1e9
    assert not list((gnu_project.cache / "work").iterdir())


def test_the_helper_ends_with_a_killed_layoutrand(gnu_project: Workshop) -> None:
    """After kill -9 of layoutrand alone the helper goes by itself."""
    marker = gnu_project.project / "at"
    process = begin(gnu_project, f"touch '{marker}'; exec sleep 30")
    wait_for(marker.exists)
    found = helpers(process)
    assert found
    process.kill()
    wait_for(lambda: not any(alive(pid) for pid in found))
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)


@pytest.fixture
def gnu_project(gnu: Workshop) -> Workshop:
    """A program of two objects."""
    require("make", "make")
    gnu.write(main__c=main_calling("u_7"), u__c=many_functions(8, prefix="u_"))
    gnu.write(Makefile="prog: main.o u.o\n\t$(CC) -o $@ $^\n%.o: %.c\n\t$(CC) -c $<\n")
    (gnu.project / "layoutrand.toml").write_text(gnu.toml(["make"]))
    return gnu


@pytest.fixture
def slow_layout(gnu_project: Workshop) -> Workshop:
    """The same with a linker that takes long over layouts, for as long as there is a file ``slow``."""
    linker = require("ld.bfd", "binutils")
    script = gnu_project.project / "ld.bfd"
    script.write_text(
        f"#!/bin/sh\ncase $* in *-dT*) if [ -e '{gnu_project.project}/slow' ]; then "
        f"echo $$ > '{gnu_project.project}/laying'; sleep {SLEEP}; fi ;; esac\nexec {linker} \"$@\"\n"
    )
    script.chmod(0o755)
    folder = gnu_project.project / "toolchains"
    folder.mkdir()
    (folder / "slow.toml").write_text(
        f'name = "slow"\ndescription = "a slow linker"\nextends = "gcc"\n[tools]\nld = ["{script}"]\n'
    )
    gnu_project.chosen = "toolchains/slow.toml"
    (gnu_project.project / "layoutrand.toml").write_text(gnu_project.toml(["make"]))
    (gnu_project.project / "slow").touch()
    return gnu_project


def sleepers() -> list[int]:
    """Linkers of these tests that are still at it."""
    return [p.pid for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] == ["sleep", SLEEP]]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["interrupt", "client killed", "helper killed", "layoutrand killed"])
def test_the_work_on_a_layout_ends(slow_layout: Workshop, how: str) -> None:
    """Whoever ends, nothing goes on or is left, and the same command gives the program."""
    source, laying = slow_layout.source, slow_layout.project / "laying"
    process = begin(slow_layout, "make")
    wait_for(lambda: laying.exists() and laying.read_text().strip())
    ours = helpers(process)
    if how == "interrupt":
        os.killpg(process.pid, signal.SIGINT)
    elif how == "client killed":
        tree = psutil.Process(process.pid).children(recursive=True)
        (client,) = [each for each in tree if any("helper_client.py" in word for word in words_of(each))]
        client.kill()
    elif how == "helper killed":
        os.kill(ours[0], signal.SIGKILL)
    else:
        process.kill()
    _, stderr = process.communicate(timeout=60)
    assert process.returncode != 0
    if how == "helper killed":
        assert "it ended before the link was laid out" in stderr
        os.kill(sleepers()[0], signal.SIGKILL) if sleepers() else None
    wait_for(lambda: not sleepers())
    wait_for(lambda: not any(alive(pid) for pid in ours if pid != ours[0] or how != "helper killed"))
    assert [path.name for path in source.iterdir() if path.name.startswith(".tmp-")] == []
    (slow_layout.project / "slow").unlink()
    if how == "layoutrand killed":  # the next build removes what it left
        assert end_abandoned_builds(Cache(slow_layout.cache)) == 0
    execute(slow_layout, "make")
    assert in_order(source / "prog", NAMES) != NAMES


@pytest.mark.parametrize(
    "line",
    [
        "$CC -o prog main.o u.o <&- >&- 2>&-",
        pytest.param("umask 077; $CC -o prog main.o u.o", marks=pytest.mark.slow),
        "ulimit -n 20; ulimit -f 100; $CC -o prog main.o u.o",
        pytest.param(
            "mkdir -p 'it is\n$HOME'; cd 'it is\n$HOME'; $CC -o ../prog ../main.o ../u.o", marks=pytest.mark.slow
        ),
    ],
)
def test_what_a_build_does_to_itself(gnu_project: Workshop, line: str) -> None:
    """Closed streams, masks, limits and odd directories of the build do not reach the layout."""
    execute(gnu_project, "$CC -c main.c u.c; $CC -o prog main.o u.o")
    wanted = (gnu_project.source / "prog").read_bytes()
    (gnu_project.source / "prog").unlink()
    execute(gnu_project, f"$CC -c main.c u.c; {line}")
    program = gnu_project.source / "prog"
    assert program.read_bytes() == wanted
    assert program.stat().st_mode & 0o777 == (0o700 if "umask" in line else 0o755)


@pytest.mark.slow
def test_below_fakeroot(gnu_project: Workshop) -> None:
    """The program is laid out, and belongs to whom fakeroot says that all new files belong to."""
    require("fakeroot", "fakeroot")
    execute(gnu_project, "$CC -c main.c u.c; $CC -o prog main.o u.o")
    wanted = (gnu_project.source / "prog").read_bytes()
    execute(gnu_project, "fakeroot sh -c '$CC -o prog main.o u.o; stat -c \"%u %a\" prog > stat'")
    assert (gnu_project.source / "prog").read_bytes() == wanted
    assert (gnu_project.source / "stat").read_text() == "0 755\n"


@pytest.mark.slow
def test_in_a_mount_namespace_of_its_own(gnu_project: Workshop) -> None:
    """Where the build sees other files than the helper, it lays out its links itself."""
    unshare = [require("unshare", "util-linux"), "--user", "--map-root-user", "--mount"]
    if subprocess.run([*unshare, "true"], capture_output=True).returncode != 0:
        pytest.skip("this kernel gives no user and mount namespaces to us")
    execute(gnu_project, "$CC -c main.c u.c; $CC -o prog main.o u.o")
    wanted = (gnu_project.source / "prog").read_bytes()
    hidden = gnu_project.source / "hidden"
    hidden.mkdir()
    inside = (
        f"mount -t tmpfs none {hidden}; cp *.o {hidden}; $CC -o {hidden}/prog {hidden}/*.o; cat {hidden}/prog > prog"
    )
    said = execute(gnu_project, f"{' '.join(unshare)} sh -ec '{inside}'")
    assert f"{gnu_project.source}/prog: layout 7, " in said  # where it was copied to, for what is hidden is gone
    assert in_order(gnu_project.source / "prog", NAMES) != NAMES
    assert len((gnu_project.source / "prog").read_bytes()) == len(wanted)
