"""Static functions that clang's profile has by another path than that of the copy."""

import subprocess

import pytest

from workshop import many_functions, require

SAID = "by another path than that of the copy that is built"
TRAINED = """\
static __attribute__((noinline)) int hot(int x) { return x % 7 ? x + 1 : x * 3; }
int main(void) { int i, s = 0; for (i = 0; i < 999; i++) s += hot(i); return s < 0; }
"""
SAME = "-mllvm -static-func-full-module-prefix=false"


def train(project, elsewhere, path, flags):
    """A profile of the project, whose compiler is given its file by the path; in the source, or elsewhere."""
    generate = "-fprofile-instr-generate" if "-instr-" in flags else "-fprofile-generate"
    same = SAME.split() if SAME in flags else []
    words = ["clang-19", "-O2", generate, *same, path.format(project.source), "-o", elsewhere / "p"]
    subprocess.run(words, cwd=project.source, check=True)
    subprocess.run([elsewhere / "p"], env={"LLVM_PROFILE_FILE": str(elsewhere / "raw")}, check=True)
    merged = project.source / "x.profdata"
    subprocess.run(["llvm-profdata-19", "merge", elsewhere / "raw", "-o", merged], check=True)


@pytest.mark.builds
@pytest.mark.parametrize(
    ("path", "flags", "mode", "told"),
    [
        ("{}/sub/main.c", "-fprofile-use=x.profdata", "relink", True),
        ("{}/sub/main.c", "-fprofile-use=x.profdata", "rebuild", True),
        ("sub/main.c", "-fprofile-use=x.profdata", "relink", False),
        ("{}/sub/main.c", f"-fprofile-use=x.profdata {SAME}", "relink", False),
        ("{}/sub/main.c", "-fprofile-instr-use=x.profdata", "relink", False),
        ("{}/sub/main.c", "-g", "relink", False),
    ],
)
def test_files_by_another_path_are_told(gnu, tmp_path, path, flags, mode, told):
    require("clang-19", "clang-19")
    require("llvm-profdata-19", "llvm-19")
    gnu.write_named({"sub/main.c": TRAINED, "sub/u.c": many_functions(4, prefix="u")})
    gnu.chosen = "clang-19"
    train(gnu, tmp_path, path, flags)
    given = path.format("$PWD")
    build = f"$CC -O2 {flags} -c {given} -o m.o && $CC -O2 -c sub/u.c -o u.o && $CC -o prog m.o u.o"
    made = gnu.built(build, seeds=[1], build={"mode": mode}).result
    lines = [str(note) for note in made.notes if SAID in str(note)]
    assert len(lines) == told
    assert all("x.profdata names static functions of 1 file (sub/main.c)" in line for line in lines)
