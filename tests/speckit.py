"""An installation of the stand-in for SPEC CPU, made for one test: tools, benchmarks with real C programs, workloads.

What stands in is in tests/standins/spec.  It speaks SPEC CPU's protocol, shares no code with it and is never to be
taken for it; the benchmarks are named as the real ones are and have nothing else in common with them.
"""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

from workshop import many_functions

STANDIN = Path(__file__).resolve().parent / "standins" / "spec"
FINGERPRINT = """
/* FNV-1a of the file that is executed, and the length of layoutrand's padding, appended to $STANDIN_FINGERPRINTS. */
static void fingerprint(const char *name) {
    const char *path = getenv("STANDIN_FINGERPRINTS");
    if (!path) return;
    unsigned long long hash = 14695981039346656037ull;
    FILE *self = fopen("/proc/self/exe", "rb"), *out = fopen(path, "a");
    for (int c; (c = getc(self)) != EOF;) hash = (hash ^ (unsigned char)c) * 1099511628211ull;
    const char *padding = getenv("LAYOUTRAND_PAD");
    fprintf(out, "%s %016llx %d\\n", name, hash, padding ? (int)strlen(padding) : -1);
    fclose(out); fclose(self);
}
static int fails(const char *how) {
    const char *wanted = getenv("STANDIN_FAIL");
    return wanted && !strcmp(wanted, how);
}
"""
MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int @LAST@(int);
@FINGERPRINT@
int main(int argc, char **argv) {
    int x = 0, sum = 0;
    FILE *in = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!in || fscanf(in, "%d", &x) != 1) return 7;
    fingerprint("@NAME@");
    if (fails("@NAME@:abort")) abort();
    if (fails("@NAME@:exit")) return 3;
    for (int k = 0; k < 2000; k++) sum ^= @LAST@(x + k);
#ifdef BREAK_@GUARD@
    this does not compile
#endif
    printf("checksum %d\\n", fails("@NAME@:miscompare") ? sum + 1 : sum);
    return 0;
}
"""


def program(name: str) -> dict[str, str]:
    """C sources of one executable: a main, and functions to move in two more files."""
    guard = name.split("_", maxsplit=1)[0].upper()
    main = MAIN.replace("@FINGERPRINT@", FINGERPRINT).replace("@NAME@", name).replace("@GUARD@", guard)
    first, second = many_functions(6, prefix=f"{name}_a"), many_functions(6, prefix=f"{name}_b")
    second = f"int {name}_a5(int);\n{second}int {name}_last(int x) {{ return {name}_a5(x) ^ {name}_b5(x + 9); }}\n"
    return {
        f"{name}_main.c": main.replace("@LAST@", f"{name}_last"),
        f"{name}_a.c": first,
        f"{name}_b.c": second,
    }


def checksum(x: int) -> int:
    """What the program prints for this input, worked out independently in Python."""

    def signed(value: int) -> int:
        return (value + 2**31) % 2**32 - 2**31

    def chain(value: int, k: int) -> int:  # as many_functions defines them
        if k == 0:
            return signed(value * 3)
        return signed(chain(signed(value + k), k - 1) ^ signed(value * (k * 7 + 1)))

    total = 0
    for k in range(2000):
        total ^= chain(x + k, 5) ^ chain(x + k + 9, 5)
    return total


# name -> executables (the first is the one that is timed), their names in Perl
BENCHMARKS = {
    2017: {"505.mcf_r": ["mcf_r"], "525.x264_r": ["x264_r", "ldecod_r"], "519.lbm_r": ["lbm_r"]},
    2026: {"705.mcf_r": ["mcf_r"], "725.x264_r": ["x264_r", "ldecod_r"]},
    2006: {"429.mcf": ["mcf"], "482.sphinx3": ["sphinx_livepretend"]},
}
SETS = {
    2017: {"intrate": ["505.mcf_r", "525.x264_r"], "fprate": ["519.lbm_r"]},
    2026: {"intrate": ["705.mcf_r", "725.x264_r"]},
    2006: {"int": ["429.mcf"], "fp": ["482.sphinx3"]},
}
SHRC = """# A stand-in for SPEC CPU's shrc.
if [ ! -f bin/@TOOL@ ]; then
    echo "You should source this file from the top-level directory of the suite." >&2
else
    SPEC=$(pwd -P)
    export SPEC
    PATH=$SPEC/bin:$PATH
    export PATH
fi
"""


def make_spec_root(folder: Path, version: int = 2017) -> Path:
    """A whole installation of the stand-in for that suite, in a new directory; its path."""
    root = folder / f"cpu{version}"
    tool = "runspec" if version == 2006 else "runcpu"
    harness = root / "bin" / "harness"
    harness.mkdir(parents=True)
    for name in ("configfile.py", "machinery.py", "reports.py"):
        (harness / name).write_text((STANDIN / name).read_text())
    _executable(root / "bin" / tool, (STANDIN / "harness.py").read_text().replace("@PYTHON@", sys.executable))
    _executable(root / "bin/specmake", '#!/bin/sh\nexec make "$@"\n')
    (root / "bin/.year").write_text(f"{version}\n")
    (root / "shrc").write_text(SHRC.replace("@TOOL@", tool))
    (root / "version.txt").write_text({2006: "1.2\n", 2017: "1.1.9\n", 2026: "1.0.1\n"}[version])
    (root / "config").mkdir()
    benchspec = root / "benchspec" / ("CPU2006" if version == 2006 else "CPU")
    for name, executables in BENCHMARKS[version].items():
        _benchmark(benchspec / name, executables, version)
    for name, members in SETS[version].items():
        listed = "\n".join(f"    {member}" for member in members)
        (benchspec / f"{name}.bset").write_text(
            f"# -*- perl -*-\n$name = '{name}';\n@benchmarks = qw(\n{listed}\n);\n1;\n"
        )
    return root


def _benchmark(folder: Path, executables: list[str], version: int) -> None:
    for part in ("Spec", "src", "data/all/input"):
        (folder / part).mkdir(parents=True)
    number, _, stem = folder.name.partition(".")
    main = executables[0]
    for name in executables:
        for file, text in program(name).items():
            (folder / "src" / file).write_text(text)
    others = "".join(f", '{name}'" for name in executables[1:])
    (folder / "Spec/object.pm").write_text(
        f"$benchnum  = '{number}';\n$benchname = '{stem}';\n$exename   = '{main}';\n$benchlang = 'C';\n"
        f"@base_exe  = ($exename{others});\n\nsub invoke {{ my ($me) = @_; }}\n1;\n"
    )
    sizes = {"test": 3, "train": 5, ("ref" if version == 2006 else "refrate"): 7}
    for size, x in sizes.items():
        for part in ("input", "output"):
            (folder / "data" / size / part).mkdir(parents=True)
        (folder / "data" / size / "input/inp.in").write_text(f"{x}\n")
        (folder / "data" / size / f"output/{main}.out").write_text(f"checksum {checksum(x)}\n")
    described = {
        "executables": [{"name": n, "sources": sorted(program(n))} for n in executables],
        "setup": [{"exe": n, "args": ["inp.in"], "stdout": f"{n}.out"} for n in executables[1:]],
        "commands": [{"exe": main, "args": ["inp.in"], "stdout": f"{main}.out"}],
        "compare": [f"{main}.out"],
    }
    (folder / "Spec/standin.json").write_text(json.dumps(described))


def _executable(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def fnv(path: Path) -> str:
    """The fingerprint of a file that the stand-in's programs record of themselves."""
    value = 14695981039346656037
    for byte in path.read_bytes():
        value = (value ^ byte) * 1099511628211 % 2**64
    return f"{value:016x}"
