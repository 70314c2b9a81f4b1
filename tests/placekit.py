"""Projects of programs whose measurement is a matter of their places alone, whatever the machine does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

from conflictkit import CONFIG, caller

# Noise of the programs of tests: from 0 to 1, another number in each execution, and the same ones whenever the test runs. So what
# is said at a stated rate is not said otherwise on one day of twenty.
DRAWN = """\
#include <stdio.h>
static inline __attribute__((always_inline)) double drawn(void) {
  FILE *executions = fopen(EXECUTIONS, "a");
  fputc('.', executions);
  unsigned long long bits = ftell(executions) * 0x9E3779B97F4A7C15u;
  fclose(executions);
  bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9u;
  bits = (bits ^ bits >> 27) * 0x94D049BB133111EBu;
  return (bits ^ bits >> 31) / 18446744073709551616.;
}
"""

# Its time, which it prints, is that of a place: of where `work` begins in its line, or of which line that is.
PROGRAM = """\
#include <stdint.h>
volatile unsigned sink;
%(others)s
__attribute__((noinline)) void work(void) { for (int k = 0; k < 20000; k++) sink += k; }
int main(void) {
  work();
  printf("place %%.6f\\n", 1 + 0.01 * drawn() + ((uintptr_t) work & %(mask)d ? %(slower)s : 0));
  return 0;
}
"""
METRIC = "{ printed = [{ name = \"place\", regex = 'place ([0-9.]+)' }] }"
Call = Callable[..., CompletedProcess[str]]


def functions(count: int) -> str:
    """So many functions, each of another size."""
    return "\n".join(
        f'__attribute__((noinline, used)) void f{k}(void) {{ __asm__ volatile (".fill {16 + 23 * k}, 1, 0x90"); }}'
        for k in range(count)
    )


def counting(program: str, folder: Path) -> str:
    """The text of a program that calls ``drawn``, whose executions are counted in that folder."""
    executions = json.dumps(str(folder / "executions"))
    return f"#define EXECUTIONS {executions}\n{DRAWN}{program}"


def project_of(folder: Path, program: str, more: str = "", toolchain: str = "gcc") -> Call:
    """A project in ``folder`` with this program, which prints its metric; what calls the command line on it."""
    project = folder / "project"
    (project / "src").mkdir(parents=True, exist_ok=True)
    (project / "src" / "Makefile").write_text("prog: prog.c\n\t$(CC) $(CFLAGS) -o $@ prog.c\n")
    (project / "src" / "prog.c").write_text(counting(program, folder))
    text = CONFIG.replace('"gcc"', f'"{toolchain}"') % METRIC
    (project / "layoutrand.toml").write_text(text + more)
    return caller(project, folder / "cache")


def apart(folder: Path) -> None:
    """The same program of two files in that project's source, which are compiled one by one."""
    source = folder / "project" / "src"
    program = (source / "prog.c").read_text()
    work = next(line for line in program.splitlines(keepends=True) if " void work(void) {" in line)
    (source / "lib").mkdir()
    (source / "lib" / "work.c").write_text(f"extern volatile unsigned sink;\n{work}")
    (source / "prog.c").write_text(program.replace(work, "void work(void);\n"))
    (source / "Makefile").write_text(
        "prog: prog.o lib/work.o\n\t$(CC) $(CFLAGS) -o $@ $^\n%.o: %.c\n\t$(CC) $(CFLAGS) -c -o $@ $<\n"
    )


def slower_by_place(mask: int, slower: float) -> str:
    """A program that is slower where the address of its function has a bit of the mask."""
    return PROGRAM % {"others": functions(24), "mask": mask, "slower": slower}
