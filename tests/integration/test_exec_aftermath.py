"""`layoutrand exec`: what is said at the end, of programs that were linked past the wrappers, moved, or are none."""

from __future__ import annotations

import errno
import json
import os
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from execkit import MAKEFILE, NAMES, direct
from layoutrand.build import apply
from layoutrand.capture.collect import BuildPlace
from layoutrand.capture.link_memory import LinkMemory
from layoutrand.config.layout_policy import LayoutPolicy
from layoutrand.errors import (
    AnalysisError,
    CacheError,
    CaptureFailed,
    HostError,
    LayoutrandError,
    ToolNotFound,
    UsageError,
)
from layoutrand.linkers import toolbox as toolboxes
from layoutrand.linkers.trials import is_of_a_trial, is_trial
from layoutrand.platform.process import SubprocessRunner
from workshop import Workshop, in_order, main_calling, many_functions, require
from wrapkit import dumped, linker_script

TINY = "int main(void) { return 0; }\n"
PAST = "$(readlink -f /usr/bin/gcc) -B/usr/bin/"
"""A compiler that finds no wrapper of a linker."""


@pytest.fixture
def bare(gnu: Workshop) -> Workshop:
    """A program with a Makefile, and no layoutrand.toml; it is built in the source directory."""
    require("make", "make")
    gnu.write(main__c=main_calling("u_7"), u__c=many_functions(8, prefix="u_"), Makefile=MAKEFILE, tiny__c=TINY)
    return gnu


def sh(shop: Workshop, script: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Execute a shell script in the source directory with seed 7."""
    return direct(shop, "sh", "-c", "set -e; " + script, options=("--seed", "7", *options), folder=shop.source)


def lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What layoutrand said, the paths of the source left out."""
    return done.stderr.splitlines()


@pytest.mark.slow
def test_without_a_file(bare: Workshop) -> None:
    """The defaults are said, and the layout is that of a project with a file whose source is the directory."""
    done = direct(bare, "make", folder=bare.source)
    assert done.returncode == 0, done.stderr
    assert lines(done)[0] == f"no layoutrand.toml in {bare.source}: toolchain gcc, function-order"
    moved = (bare.source / "prog").read_bytes()
    assert in_order(bare.source / "prog", NAMES) != NAMES
    (bare.project / "layoutrand.toml").write_text(bare.toml(["make"], system={"cflags": ""}))
    made = direct(bare, "make", "-B", options=("--seed", "7", "-C", ".."), folder=bare.source)
    assert made.returncode == 0, made.stderr
    assert (bare.source / "prog").read_bytes() == moved
    both = direct(
        bare,
        "make",
        "-B",
        options=("--seed", "7", "--toolchain", "gcc", "--factors", "function-order"),
        folder=bare.source,
    )
    assert "layoutrand.toml" not in both.stderr


@pytest.mark.slow
def test_the_command_runs_where_it_is_given(bare: Workshop) -> None:
    """-C names the project; the command's directory is the caller's."""
    done = direct(bare, "pwd", "-P", options=("--seed", "7", "-C", str(bare.source)), folder=bare.project)
    assert done.stdout == f"{bare.project.resolve()}\n"
    made = direct(bare, "make", "-C", "src", options=("--seed", "7", "-C", "src"), folder=bare.project)
    assert made.returncode == 0, made.stderr
    assert in_order(bare.source / "prog", NAMES) != NAMES


def test_a_program_outside_the_project(bare: Workshop, tmp_path: Path) -> None:
    """Its objects are not placed, and what is wrong is said."""
    (tmp_path / "elsewhere").mkdir()
    done = direct(bare, "make", "-C", str(bare.source), folder=tmp_path / "elsewhere")
    assert done.returncode == 1
    assert f"It lies outside the project, {tmp_path.resolve()}/elsewhere" in done.stderr
    assert "-C names another" in done.stderr


@pytest.mark.slow
def test_options_that_contradict_the_file(bare: Workshop) -> None:
    """They win, and that is said; equal ones are not."""
    (bare.source / "layoutrand.toml").write_text(
        bare.toml(["make"], layout={"factors": ["function-order"]}).replace('"src"', '"."')
    )
    done = sh(bare, "make", "--factors", "function-order-in-module")
    assert done.returncode == 0, done.stderr
    assert lines(done)[0] == (
        "--factors function-order-in-module instead of function-order, which layout.factors has in the file"
    )
    assert in_order(bare.source / "prog", NAMES) != NAMES
    assert "instead of" not in sh(bare, "make -B", "--factors", "function-order", "--toolchain", "gcc").stderr
    refused = sh(bare, "make -B", "--toolchain", "gccc")
    assert (refused.returncode, "no toolchain called 'gccc'" in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--factors", "function-ordr"), "no factor called 'function-ordr'"),
        (("--factors", "function-order,module-order"), "function-order already orders all functions"),
        (("--system", "x"), "--system x: there is no layoutrand.toml in "),
        (("-C", "nowhere"), "-C nowhere: no such directory"),
    ],
)
def test_options_that_make_no_sense(bare: Workshop, options: tuple[str, ...], said: str) -> None:
    """An error of usage, before anything happens."""
    done = sh(bare, "touch happened", *options)
    assert done.returncode == 2
    assert said in done.stderr
    assert not (bare.source / "happened").exists()


def test_except(bare: Workshop) -> None:
    """What is excepted keeps the linker's order; a name that nothing has is said."""
    done = sh(bare, "make; $CC -o other main.o u.o", "--except", "other", "--except", "prgo")
    assert done.returncode == 0, done.stderr
    assert in_order(bare.source / "other", NAMES) == NAMES
    assert in_order(bare.source / "prog", NAMES) != NAMES
    assert f"{bare.source}/other" not in done.stderr
    assert "--except prgo: nothing of that name was linked" in done.stderr


@pytest.mark.slow
def test_a_link_past_the_wrappers(bare: Workshop) -> None:
    """It is named and the status is 1, unless --only or --except leave it out."""
    script = f"make; {PAST} -o past main.o u.o; {PAST} -shared -nostdlib -o past.so.1 u.o"
    done = sh(bare, script)
    assert done.returncode == 1
    [line] = [line for line in lines(done) if "without the wrappers" in line]
    assert f"layout 7 was not applied to them: {bare.source}/past, {bare.source}/past.so.1. " in line
    assert sh(bare, "make -B; " + script, "--only", "prog").returncode == 0
    excepted = sh(bare, "make -B; " + script, "--except", "past", "--except", "past.so.1")
    assert excepted.returncode == 0, excepted.stderr
    assert "without the wrappers" not in excepted.stderr
    alone = sh(bare, f"touch main.o; {PAST} -o past main.o u.o")
    assert alone.returncode == 1
    assert "without the wrappers" in alone.stderr


def test_a_linker_that_the_build_names(bare: Workshop, tmp_path: Path) -> None:
    """The link succeeds as it does without layoutrand, and is named at the end."""
    (tmp_path / "own").mkdir()
    shutil.copy(os.path.realpath(require("ld.bfd", "binutils")), tmp_path / "own/ld")
    done = sh(bare, f"make; $CC -B{tmp_path}/own -o past main.o u.o && ./past")
    assert done.returncode == 1
    assert f"{bare.source}/past" in next(line for line in lines(done) if "without the wrappers" in line)
    assert f"{bare.source}/prog: layout 7" in done.stderr


@pytest.mark.slow
def test_what_is_no_link_past_the_wrappers(bare: Workshop) -> None:
    """Copies, stripped and installed files, debug files, objects, links, and what was there before are nobody's link."""
    sh(bare, f"{PAST} -c main.c u.c; {PAST} -o before main.o u.o; rm main.o u.o")
    script = (
        "make; mkdir -p dest/bin .git; cp prog copy; ln prog hard; ln -s prog soft; "
        "install -s prog dest/bin/renamed; strip -o stripped prog; objcopy --only-keep-debug prog prog.debug; "
        "objcopy --strip-debug prog objcopied; ld -r -o joined.o main.o u.o; cp before again; "
        "cp /bin/true mine; cp before .git/hidden; touch main.c; mv prog moved"
    )
    done = sh(bare, script)
    assert done.returncode == 0, done.stderr
    assert len(lines(done)) == 2, done.stderr
    place = lines(done)[1].split(":")[0]
    assert in_order(Path(place), NAMES) != NAMES or Path(place).name in ("renamed", "stripped")


def test_a_program_that_was_moved_after_its_link(bare: Workshop) -> None:
    """It is named where it is, also where several were linked under one name."""
    done = sh(bare, "$CC -c *.c; $CC main.o u.o; mv a.out one; $CC -Wl,-rpath,/nowhere main.o u.o; mv a.out two")
    assert done.returncode == 0, done.stderr
    assert [line.split(":")[0] for line in lines(done)[1:]] == [f"{bare.source}/one", f"{bare.source}/two"]
    assert in_order(bare.source / "one", NAMES) == in_order(bare.source / "two", NAMES) != NAMES


@pytest.mark.slow
def test_trials_are_not_spoken_of(bare: Workshop) -> None:
    """Those of the usual tools are linked as they are, others are gone at the end; a real a.out is laid out."""
    places = ["CMakeFiles/CMakeScratch/T-1", "CMakeFiles/3.25.1/CompilerIdC", "meson-private", "config.tests/x"]
    script = f'for d in {" ".join(places)}; do mkdir -p $d; (cd $d; $CC ../../*/tiny.c ../../../tiny.c 2>/dev/null || $CC "$OLDPWD/tiny.c"); done; '
    script += "$CC -o ztest1 tiny.c; rm ztest1; $CC -o try tiny.c -DX; ./try; rm try; $CC main.c u.c"
    done = sh(bare, script)
    assert done.returncode == 0, done.stderr
    said = lines(done)[1:]
    assert said[0].startswith(f"{bare.source}/a.out: layout 7, ")
    assert said[1:] == [
        "2 more links left nothing behind here (trials of a configure step, or programs moved elsewhere)"
    ]
    assert all((bare.source / place / "a.out").exists() for place in places)


def test_a_configure_step_alone(bare: Workshop) -> None:
    """It links trials alone, which is no failure."""
    done = sh(bare, "$CC -o conftest tiny.c; rm conftest")
    assert done.returncode == 0, done.stderr
    assert lines(done)[1:] == ["only trials of a configure step were linked, which keep the layout that they have"]


@pytest.mark.parametrize(
    ("path", "trial"),
    [
        ("/b/conftest", True),
        ("/b/sub/conftest.exe", True),
        ("/b/conftest1", True),
        ("/b/conftests", False),
        ("/b/CMakeFiles/CMakeTmp/x", True),
        ("/b/CMakeFiles/CMakeScratch/TryCompile-1/cmTC_ab", True),
        ("/b/CMakeFiles/3.25.1/CompilerIdCXX/a.out", True),
        ("/b/CMakeFiles/CompilerIdC/a.out", True),
        ("/b/CMakeFiles/CMakeRelink.dir/prog", False),
        ("/b/meson-private/tmpx/output.exe", True),
        ("/b/meson-private/sanitycheckc.exe", True),
        ("/b/output.exe", False),
        ("/b/a.out", False),
        ("/b/try", False),
        ("/b/config.tests/x/x", True),
        ("/config.tests/b/x", True),
        ("/b/conftest.d/prog", False),
    ],
)
def test_the_wrapper_and_the_end_know_the_same_trials(tmp_path: Path, path: str, trial: bool) -> None:
    """The rules in shell and those in Python agree, for absolute and relative names."""
    tree = tmp_path / "src"
    script = linker_script(tmp_path)
    inside = f"{tree}{path.removeprefix('/b')}" if path.startswith("/b/") else path
    assert is_trial(inside, str(tree)) == trial
    assert (dumped(script, "-o", inside, "a.o", what="mode") == "pass") == trial
    assert is_of_a_trial(f"{tree}/CMakeFiles/feature_tests.bin", str(tree))


def test_where_the_build_lies_makes_no_trial_of_it(tmp_path: Path) -> None:
    """A source tree may be in a directory of any name."""
    tree = "/home/x/meson-private/proj"
    assert not is_trial(f"{tree}/prog", tree)
    assert is_trial(f"{tree}/meson-private/x", tree)


@pytest.mark.parametrize("driver", ["c99", pytest.param("c89", marks=pytest.mark.slow)])
def test_posix_names_of_the_compiler(bare: Workshop, driver: str) -> None:
    """Debian's are scripts that call gcc, whose wrapper adds nothing a second time."""
    require(driver, "gcc")
    (bare.source / "layoutrand.toml").write_text(
        bare.toml(["make"], system={"ldflags": "extra.o"}).replace('"src"', '"."')
    )
    bare.write(extra__c="int extra(void) { return 3; }\n")
    done = sh(bare, f"$CC -c extra.c; {driver} -c main.c u.c; {driver} -o one main.o u.o; {driver} -o two main.c u.c")
    assert done.returncode == 0, done.stderr  # extra.o twice on a line would define its function twice
    for name in ("one", "two"):
        assert in_order(bare.source / name, NAMES) != NAMES


@pytest.mark.slow
def test_programs_of_32_bits(bare: Workshop) -> None:
    """They are left alone with a line, and that is no failure unless they were asked for."""
    require("as", "binutils")
    bare.write(small__S=' .text\n .globl _start\n_start: ret\n .section .note.GNU-stack,""\n')
    script = "make; as --32 -o small.o small.S; ld -m elf_i386 -o small small.o; as --x32 -o x.o small.S; ld -m elf32_x86_64 -o x x.o"
    done = sh(bare, script)
    assert done.returncode == 0, done.stderr
    reason = "left as it was linked: it is a 32-bit program (-m32, -mx32), and only those of 64 bits can be laid out"
    for name in ("small", "x"):
        assert lines(done).count(f"{bare.source}/{name}: {reason}") == 1
    asked = sh(bare, script.replace("make", "make -B"), "--only", "small")
    assert asked.returncode == 1
    assert f"layout 7 was applied to nothing: {bare.source}/small: it is a 32-bit program" in asked.stderr
    beside = sh(bare, script.replace("make", "make -B"), "--only", "small", "--only", "prog")
    assert beside.returncode == 1
    assert f"{bare.source}/small: layout 7 was not applied, it is as it was linked: it is a 32-bit" in beside.stderr


def test_an_output_that_is_no_elf_file(bare: Workshop) -> None:
    """A converted output has one line, and is no failure."""
    done = sh(bare, "make; ld --oformat binary -e 0 -o raw u.o")
    assert done.returncode == 0, done.stderr
    assert f"{bare.source}/raw: left as it was linked: it is not an ELF file" in lines(done)


@pytest.mark.slow
def test_nothing_is_printed_during_the_build_and_each_failure_once(bare: Workshop) -> None:
    """A test suite that compares what its compiler says must not see layoutrand."""
    require("ld.gold", "binutils")
    script = (
        "make; $CC -fuse-ld=gold -o gold main.o u.o 2> said; $CC -o tiny tiny.c 2>> said; "
        "$CC -Wl,--build-id=uuid -o uuid main.o u.o 2>> said; wc -c < said; ./gold > /dev/null"
    )
    done = sh(bare, script)
    assert done.returncode == 1
    assert done.stdout.split()[-1] == "0"
    for name in ("gold", "uuid"):
        assert sum(f"{bare.source}/{name}: layout 7 was not applied" in line for line in lines(done)) == 1
    assert done.stderr.count("was linked by") == 1


@pytest.fixture
def recorded(tmp_path: Path) -> tuple[Path, Path, Path]:
    """One link that was recorded: the record, an order, and what was linked."""
    record, output = tmp_path / "rec" / "1", tmp_path / "prog"
    record.mkdir(parents=True)
    shutil.copy(require("true", "coreutils"), output)
    contents = {
        "linker": "/usr/bin/ld",
        "argv": "-o\0prog\0a.o\0",
        "cwd": f"{tmp_path}\n",
        "environment": "",
        "complete": "",
    }
    for name, text in contents.items():
        (record / name).write_text(text)
    place = BuildPlace(str(tmp_path), str(tmp_path), str(tmp_path))
    toolbox = toolboxes.prepare("gcc", tmp_path, ["function-order"], SubprocessRunner())
    order = apply.RelinkOrders(7, LayoutPolicy(), (), place, toolbox).write(tmp_path / "order.json")
    return record, order, output


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("planted"),
        struct.error("planted"),
        CaptureFailed("planted"),
        UsageError("planted"),
        FileNotFoundError(errno.ENOENT, "planted"),
        AnalysisError("planted"),
        HostError("planted"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_leaves_the_link_as_it_was(
    recorded: tuple[Path, Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    error: Exception,
) -> None:
    """Whatever goes wrong, the link has succeeded: the reason is recorded, and nothing printed."""
    record, order, output = recorded
    before = output.read_bytes()
    monkeypatch.setattr(apply, "ingest", fails(error))
    apply.relink_recorded(record, apply.RelinkOrders.read(order), SubprocessRunner(), LinkMemory(), os.replace)
    outcome = json.loads((record / "outcome.json").read_bytes())
    assert outcome["status"] == "failed"
    assert "planted" in outcome["reason"]
    assert ("please report it" in outcome["reason"]) == (not isinstance(error, LayoutrandError))
    assert output.read_bytes() == before
    assert output.stat().st_mtime > 1_000_000_000
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "error",
    [CacheError("planted"), ToolNotFound("planted"), OSError(errno.ENOSPC, "planted"), MemoryError()],
    ids=["cache", "tool", "full disk", "memory"],
)
def test_a_lack_of_resources_is_an_error(
    recorded: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Every further link would fail too, so the build ends."""
    record, order, _output = recorded
    monkeypatch.setattr(apply, "ingest", fails(error))
    with pytest.raises(type(error)):
        apply.relink_recorded(record, apply.RelinkOrders.read(order), SubprocessRunner(), LinkMemory(), os.replace)
    assert not (record / "outcome.json").exists()


def fails(error: Exception) -> Callable[..., None]:
    """A function that raises the error."""

    def fail(*_arguments: object, **_named: object) -> None:
        raise error

    return fail
