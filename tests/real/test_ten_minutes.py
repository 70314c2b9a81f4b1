"""A stranger's first ten minutes: from a source nobody has looked at to an answer, commands counted, nothing edited."""

import json
import os
import re
import shutil
import subprocess
import sys
from textwrap import dedent

import pytest

from workshop import many_functions, require

MOST_COMMANDS = 4
MAIN = """
    #include <stdio.h>
    #include <stdlib.h>
    int f39(int);
    int main(int argc, char **argv) {
        int sum = 0;
        for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 1000); i++) sum ^= f39(i);
        printf("%d\\n", sum);
        return 0;
    }
"""
CXX = """
    #include <iostream>
    #include <string>
    #include <vector>
    extern "C" int f39(int);
    template <class T> T folded(const std::vector<T> &all) { T s{}; for (const T &x : all) s ^= x; return s; }
    int main(int argc, char **argv) {
        std::vector<int> found;
        for (int i = 0; i < (argc > 1 ? std::stoi(argv[1]) : 1000); i++) found.push_back(f39(i));
        std::cout << folded(found) << "\\n";
    }
"""
RUST = "".join(
    f"#[inline(never)] fn f{n}(x: u64) -> u64 {{ x.wrapping_mul({2 * n + 3}).rotate_left({n + 1}) ^ {7 * n} }}\n"
    for n in range(20)
) + (
    "fn main() {\n    let n: u64 = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(1000);\n"
    "    let mut x = 1u64;\n    for i in 0..n {\n        x ^= i;\n"
    + "".join(f"        x = f{n}(x);\n" for n in range(20))
    + '    }\n    println!("{x}");\n}\n'
)
PROJECTS = {
    "C, makefile": (
        {
            "main.c": MAIN,
            "parts.c": many_functions(40),
            "Makefile": "crunch: main.o parts.o\n\t$(CC) -o $@ $^\nclean:\n\trm -f *.o crunch\n",
        },
        ["make"],
        "./crunch",
        ["make"],
    ),
    "C++, CMake": (
        {
            "main.cpp": CXX,
            "lib/parts.c": many_functions(40),
            "CMakeLists.txt": "cmake_minimum_required(VERSION 3.13)\nproject(crunch LANGUAGES C CXX)\n"
            "add_library(parts SHARED lib/parts.c)\nadd_executable(crunch main.cpp)\n"
            "target_link_libraries(crunch PRIVATE parts)\n",
        },
        ["cmake -B out && cmake --build out"],
        "out/crunch",
        ["cmake"],
    ),
    "Rust, Cargo": (
        {"src/main.rs": RUST, "Cargo.toml": '[package]\nname = "crunch"\nversion = "0.1.0"\nedition = "2021"\n'},
        ["cargo", "build", "--release"],
        "target/release/crunch",
        ["cargo"],
    ),
}


class Stranger:
    """Types commands in a new directory, and counts them."""

    def __init__(self, folder, files):
        self.folder = folder / "crunch"
        self.env = {**os.environ, "LAYOUTRAND_CACHE": str(folder / "cache")}
        self.typed = 0
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text))

    def types(self, *words):
        self.typed += 1
        command = [sys.executable, "-m", "layoutrand", *words]
        done = subprocess.run(command, cwd=self.folder, env=self.env, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(params=PROJECTS)
def case(request, tmp_path):
    files, build, program, tools = PROJECTS[request.param]
    for tool in tools:
        require(tool, tool)
    return Stranger(tmp_path, files), build, program


@pytest.mark.slow
def test_one_command_answers(case):
    """How much does layout matter?  Without a file; what is then written measures nothing anew."""
    stranger, build, program = case

    said = stranger.types("try", "--seeds", "5", "--no-simulate", "--", *build, "--", program, "20000")
    stranger.types("try", "--write")
    rows = json.loads(stranger.types("analyse", "--json"))["benchmarks"]

    assert stranger.typed <= MOST_COMMANDS
    assert said.startswith("How much does code layout matter?")
    assert re.search(r"^  \S crunch ", said, re.MULTILINE), said
    assert [row["n_binaries"] for row in rows if row["primary"]] == [5]


@pytest.mark.slow
def test_from_nothing_to_a_verdict(case):
    """Is -O3 faster than -O2?  init finds the build by itself, and what it writes builds at the first try."""
    stranger, _, _ = case

    stranger.types("init")
    stranger.types("run", "--seeds", "5")
    verdict = stranger.types("compare")

    assert stranger.typed <= MOST_COMMANDS
    assert verdict.startswith("O3 against O2")
    assert any(words in verdict for words in ("faster", "slower", "same within", "cannot tell", "same program"))


@pytest.mark.slow
def test_what_is_built_already_is_built_anew(tmp_path):
    """Objects of an earlier build have no function sections, and a program that is there is not linked."""
    require("make", "make")
    stranger = Stranger(tmp_path, PROJECTS["C, makefile"][0])
    subprocess.run(["make", "-s"], cwd=stranger.folder, check=True)

    said = stranger.types("init")

    assert "links crunch" in said
    assert "make clean" in (stranger.folder / "layoutrand.toml").read_text()


@pytest.mark.slow
def test_a_build_that_strips_is_laid_out_in_the_build(tmp_path):
    require("make", "make")
    files = {**PROJECTS["C, makefile"][0]}
    files["Makefile"] = files["Makefile"].replace("$^\n", "$^\n\tstrip $@\n", 1)
    stranger = Stranger(tmp_path, files)

    stranger.types("init")
    stranger.types("build", "--seeds", "2", "--system", "O2")

    assert 'mode = "rebuild"' in (stranger.folder / "layoutrand.toml").read_text()


@pytest.mark.slow
def test_a_build_that_calls_clang_by_its_name(tmp_path):
    """gcc's wrappers do not see it, so it is made again with clang's."""
    if shutil.which("clang") is None and shutil.which("clang-19") is None:
        require("clang", "clang")
    compiler = "clang" if shutil.which("clang") else "clang-19"
    files = {**PROJECTS["C, makefile"][0]}
    files["Makefile"] = f"CC = {compiler}\n" + files["Makefile"]
    stranger = Stranger(tmp_path, files)

    assert "with toolchain clang" in stranger.types("init")
