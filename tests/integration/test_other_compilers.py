"""Compilers that have no wrapper: what works with their own flags, and what the error says to do."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import pytest

import startkit
from warningkit import said
from workshop import Workshop, require, whole

C = """
#include <stdio.h>
int f(int x) { return x * 3; }
int main(void) { return printf("%d\\n", f(4)) < 0; }
"""
D = """
extern (C) int printf(const char*, ...);
int f(int x) { return x * 3 + 1; }
int g(int x) { return x * 5 + 2; }
extern (C) int main() { int s; foreach (i; 0 .. 100) s += f(i) ^ g(i); printf("%d\\n", s); return 0; }
"""
GO = """
package main

import "fmt"

//go:noinline
func f(x int) int { return x*3 + 1 }
func main() { fmt.Println(f(4)) }
"""
ADA = """
with Ada.Text_IO;
procedure A is
   function F (X : Integer) return Integer is (X * 3 + 1);
   function G (X : Integer) return Integer is (X * 5 + 1);
begin
   Ada.Text_IO.Put_Line (Integer'Image (F (4) + G (5)));
end A;
"""
ML = """
let rec f n = if n < 2 then n else f (n - 1) + f (n - 2)
let g n = 3 * f n + 1
let () = Printf.printf "%d %d\\n" (f 12) (g 9)
"""
OTHERS = "".join(f"int unused{n}(int x) {{ return x * {n + 3} + 1; }}\n" for n in range(6))
COMPILERS = {
    "gdc": ("gdc", "a.d", D + OTHERS, "gdc -O2 FLAG -o prog a.d"),
    "gccgo": ("gccgo", "a.go", GO, "gccgo -O2 FLAG -o prog a.go"),
    "absolute path": ("gcc", "a.c", C + OTHERS, "/usr/bin/gcc FLAG -o prog a.c"),
    "OCaml": ("ocaml-nox", "a.ml", ML, "ocamlopt FLAG -o prog a.ml"),
}
FLAGS = {"OCaml": "-function-sections"}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPILERS)
def test_a_compiler_without_a_wrapper_needs_the_flag_and_is_told_so(gnu: Workshop, name: str) -> None:
    package, file, text, command = COMPILERS[name]
    require(command.split()[0], package)
    gnu.write_named({file: text})
    built = whole(
        gnu.build(
            command.replace("FLAG", FLAGS.get(name, "-ffunction-sections")), seeds=[1, 2, 3], system={"cflags": ""}
        )
    )
    assert len(built.seeded) == 3
    built.assert_all_print_as_stock()
    failed = gnu.build(command.replace("FLAG", ""), seeds=[1], system={"cflags": ""})
    assert {binary.layout for binary in failed.binaries} == {"stock"}
    assert "needs -ffunction-sections added to its flags" in failed.failures[0].error
    assert "OCAMLPARAM='_,function-sections=1'" in failed.failures[0].error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "flags", "expected"), [("D", "-O2", 1), ("D", "", 0), ("OCaml", "-O2", 1), ("OCaml", "", 0)]
)
def test_another_language_beside_c_is_told_to_have_no_flags_of_the_system(
    gnu: Workshop, language: str, flags: str, expected: int
) -> None:
    """-O2 against -O3 would compare the C alone, and nothing would say so."""
    package, file, text, command = COMPILERS["gdc" if language == "D" else language]
    require(command.split()[0], package)
    gnu.write_named({file: text, "pad.c": OTHERS})
    own = FLAGS.get(language, "-ffunction-sections")
    commands = f"gcc -O1 -c pad.c && {command.replace('FLAG', f'{own} pad.o')}"
    notes = said(gnu.built(commands, seeds=[1], system={"cflags": flags}).result.notes)
    told = f'of {language} were compiled without cflags = "-O2", which C and C++ alone are given'
    assert sum(told in sentence for sentence in notes) == expected


@pytest.mark.slow
def test_ada_by_its_three_steps(gnu: Workshop) -> None:
    require("gnatbind", "gnat")
    gnu.write_named({"a.adb": ADA})
    built = gnu.built("gcc -c -O2 a.adb && gnatbind a && gnatlink a -o prog --GCC=gcc", seeds=[1, 2, 3])
    assert set(built.outputs().values()) == {b" 39\n"}


@pytest.mark.parametrize("compiler", ["/usr/bin/gcc", "/usr/bin/clang"])
def test_a_build_past_the_wrappers_is_made_again_only_for_a_compiler_that_it_may_call(
    tmp_path: Path, compiler: str
) -> None:
    """What is compiled says by whom: gcc's work is not built a second time, so that clang's wrappers see it."""
    require(compiler, Path(compiler).name)
    (tmp_path / "b.c").write_text("int f(int x) { return x * 3; }\nint main(void) { return f(0); }\n")
    (tmp_path / "Makefile").write_text(f"b: b.c\n\t{compiler} -O2 -o b b.c\n")
    done = startkit.layoutrand("init", "--", "make", "--", "./b", cwd=tmp_path)
    assert done.returncode == 1
    assert ("it is built again for toolchain clang" in done.stderr) is ("clang" in compiler)
    assert "absolute path" in done.stderr


@pytest.mark.parametrize(("sources", "keys"), [("m.f90", "f"), ("m.f90 c.c", "cf"), ("main.c c.c", "c")])
def test_init_gives_flags_to_what_is_compiled(tmp_path: Path, sources: str, keys: str) -> None:
    """-O2 against -O3 of C alone would be the same program, or leave Fortran out of the comparison.

    Flags of C for Fortran alone would be told at each build.
    """
    require("gfortran", "gfortran")
    project = tmp_path / "p"
    project.mkdir()
    (project / "m.f90").write_text("program m\nprint *, 42\nend program\n")
    (project / "c.c").write_text("int two(void) { return 2; }\nint three(void) { return 3; }\n")
    (project / "main.c").write_text("int main(void) { return 0; }\n")
    objects = " ".join(name.split(".")[0] + ".o" for name in sources.split())
    rules = "%.o: %.f90\n\tgfortran -c $<\n%.o: %.c\n\tgcc -c $<\n"
    driver = "gfortran" if "f90" in sources else "gcc"
    (project / "Makefile").write_text(f"prog: {objects}\n\t{driver} -o $@ $^\n{rules}")
    env = {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path / "cache")}
    done = startkit.layoutrand("init", cwd=project, env=env)
    assert done.returncode == 0, done.stderr
    text = (project / "layoutrand.toml").read_text()
    assert re.findall(r"^(\w+)flags = ", text, re.MULTILINE) == [*keys] * 2


def test_flags_that_the_shell_exports_are_written_into_the_file_of_the_build_they_were_in(tmp_path: Path) -> None:
    """The next build, in a shell without them, is of the same program."""
    require("gcc", "gcc")
    project = tmp_path / "p"
    project.mkdir()
    (project / "a.c").write_text(
        OTHERS + '#include <stdio.h>\nint f(void) { return VALUE; }\nint main(void) { printf("%d\\n", f()); }\n'
    )
    (project / "Makefile").write_text("prog: a.c\n\tgcc $(CFLAGS) -o prog a.c\n")
    env = {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path / "cache")}
    env.pop("CFLAGS", None)
    done = startkit.layoutrand("init", cwd=project, env={**env, "CFLAGS": "-DVALUE=42"})
    assert done.returncode == 0, done.stderr
    assert "CFLAGS of this shell takes part in the build (build.env)" in done.stderr
    assert tomllib.loads((project / "layoutrand.toml").read_text())["build"]["env"] == {"CFLAGS": "-DVALUE=42"}
    built = startkit.layoutrand("build", "--seeds", "2", "--system", "O2", "--without-stock", cwd=project, env=env)
    assert built.returncode == 0, built.stderr
    assert "instrumented build" not in built.stderr


def test_why_the_likeliest_program_is_not_the_one_that_is_taken_is_told_each_time(tmp_path: Path) -> None:
    """dav1d's fuzzer was taken in place of dav1d, without a word on what is wrong with that."""
    require("gcc", "gcc")
    project = tmp_path / "toy"
    project.mkdir()
    (project / "main.c").write_text(OTHERS + "int main(void) { return 0; }\n")
    (project / "Makefile").write_text(
        "all: toy spare\nspare: main.c\n\t$(CC) -o $@ $<\n"
        "toy: main.c\n\t/usr/bin/gcc -c -o toy.o $<\n\t$(CC) -o $@ toy.o\n"
    )
    env = {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path / "cache")}
    for options in ([], ["--force"]):
        done = startkit.layoutrand("init", *options, cwd=project, env=env)
        assert done.returncode == 0, done.stderr
        assert "links spare with" in done.stdout
        assert "the likeliest program cannot be captured: toy: no object of it has function sections" in done.stderr


@pytest.mark.parametrize(("compiler", "expected"), [("clang", True), ("gcc", False)])
def test_a_compiler_that_the_shell_names_and_that_does_not_build_is_told(
    tmp_path: Path, compiler: str, expected: bool
) -> None:
    (tmp_path / "a.c").write_text(OTHERS + "int main(void) { return 0; }\n")
    (tmp_path / "Makefile").write_text("prog: a.c\n\t$(CC) -o prog a.c\n")
    env = {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path.parent / f"{tmp_path.name}-cache"), "CC": compiler}
    done = startkit.layoutrand("init", cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    assert ("CC=clang of this shell is not what builds" in done.stderr) is expected
