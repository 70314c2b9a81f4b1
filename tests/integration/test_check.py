"""`layoutrand check` on a repository: what differs by content, the verdict, and what needs no execution."""

from __future__ import annotations

import json
import os

import pytest

import gitkit
from startkit import layoutrand
from workshop import require

HELPERS = "".join(f"int helper{n}(int x) {{ return x * {n} + 1; }}\n" for n in range(6))
MAIN = """
#include <stdio.h>
int helper1(int), helper5(int);
static volatile int sink;
__attribute__((noinline)) int work(int n) { int s = 0; for (int k = 0; k < n; k++) s += helper1(k) ^ helper5(s); return s; }
int main(void) { sink = work(20000); puts("done"); return 0; }
"""
CONFIGURATION = """
[project]
name = "prog"
[build]
source = "src"
commands = ["make CFLAGS='-O1 -g' prog"]
artefacts = ["prog"]
[systems.O1]
[[benchmarks]]
name = "work"
command = ["{artefact}"]
metric = { cachegrind = true, primary = "instructions" }
"""


@pytest.fixture
def checked(tmp_path):
    """Checks a project below the top of its repository, whose last commit has these files changed."""
    require("valgrind", "valgrind")
    root = gitkit.make(
        tmp_path / "repository",
        {
            "project/src/helpers.c": HELPERS,
            "project/src/main.c": MAIN,
            "project/src/Makefile": "prog: main.o helpers.o\n\t$(CC) -o $@ $^\n",
            "project/layoutrand.toml": CONFIGURATION,
        },
    )

    def check(changes, *, commit=True, options=()):
        for name, (old, new) in changes.items():
            path = root / "project" / "src" / name
            path.write_text(path.read_text().replace(old, new))
        if commit:
            gitkit.commit(root)
        env = {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path / "cache")}
        done = layoutrand("check", *options, "--json", cwd=root / "project" / "src", env=env)
        return done.returncode, json.loads(done.stdout), done.stderr

    return check


def names(functions):
    return [each["name"] for each in functions]


@pytest.mark.slow
def test_a_slowdown_of_a_work_tree_is_told_with_its_function(checked):
    """Counts that no layout changes are settled after three; the same command executes nothing again."""
    status, found, said = checked(
        {"helpers.c": ("return x * 5 + 1", "return (x * 5 + 1) ^ (x >> 3)"), "main.c": ("20000", "20001")}, commit=False
    )
    (system,) = found["systems"]
    (row,) = system["benchmarks"]
    (changes,) = system["changes"]
    assert (status, row["conclusion"], row["n_layouts"], system["ending"]) == (3, "slower", 3, "decided"), said
    assert found["head"]["changed_files"] == 2
    assert sorted(names(changes["differ"])) == ["helper5", "main"]
    assert (changes["added"], changes["removed"], changes["data"]) == ([], [], [])
    assert row["ratio"] == pytest.approx(1 + row["as_built_change"], abs=0.001)
    assert checked({}, commit=False)[1]["systems"][0]["executed"] == 0


@pytest.mark.slow
def test_a_comment_changes_lines_and_no_program(checked):
    status, found, _said = checked({"helpers.c": ("int helper3", "/* moved down\n * by two lines */\nint helper3")})
    (system,) = found["systems"]
    assert (status, system["ending"], system["executed"]) == (0, "same program", 0)
    assert system["captures"][0] != system["captures"][1]
    assert system["benchmarks"][0]["conclusion"] == "same program"
    assert system["warnings"] == []  # that both share a capture is the answer


@pytest.mark.slow
def test_where_there_are_no_more_layouts_it_says_so_for_each_system(tmp_path):
    """Two functions have two orders: no number of layouts that there are not is promised."""
    main = "int half(int n) { return n / 2; }\nint sum(int n) { int s = 0; while (n) s += n-- ^ (s >> 1); return s; }\n"
    root = gitkit.make(
        tmp_path / "repository",
        {
            "main.c": f"{main}int main(void) {{ return sum(20000) == 7; }}\n",
            "layoutrand.toml": CONFIGURATION.replace('"src"', '"."')
            .replace("make CFLAGS='-O1 -g' prog", "cc -o prog main.c")
            .replace('metric = { cachegrind = true, primary = "instructions" }\n', "")
            + '[systems.O2]\ncflags = "-O2"\n',
        },
    )
    path = root / "main.c"
    path.write_text(path.read_text().replace("s >> 1", "s >> 3"))
    gitkit.commit(root)
    env = {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path / "cache")}
    done = layoutrand("check", "HEAD~1", "HEAD", "--budget", "1m", cwd=root, env=env)
    assert "O1: base: instrumented build" in done.stderr
    assert "built again" not in done.stderr, "the flags of O2 are no change of O1's"
    for system in ("O1", "O2"):
        assert f"failed: {system}: base, head (seed" in done.stderr
    assert 'add "padding" to layout.factors' in done.stderr
    assert "may tell" not in done.stdout

    path.write_text(path.read_text().replace("s >> 3", "s >> 5"))
    gitkit.commit(root)
    done = layoutrand("check", "HEAD~1", "HEAD", "--budget", "1s", "--system", "O1", cwd=root, env=env)
    assert "instrumented build" in done.stderr
    assert "built again" not in done.stderr, "another base is another commit, not one that has changed"


@pytest.mark.slow
def test_data_of_a_build_that_compiles_and_links_at_once_is_called_as_its_source(tmp_path):
    """Its objects have numbers for names, which are other ones behind a source that is new."""
    at_once = "make CFLAGS='-O1 -g' prog", "cc -O1 -o prog main.c [a-z]_*.c"
    root = gitkit.make(
        tmp_path / "repository",
        {
            "b_table.c": "int table[] = {1, 2, 3};\n",
            "c_words.c": 'const char *words[] = {"one", "two"};\n',
            "main.c": "extern int table[]; extern char *words[];\nint main(void) { return table[0] == words[0][0]; }\n",
            "layoutrand.toml": CONFIGURATION.replace('"src"', '"."')
            .replace(*at_once)
            .replace('metric = { cachegrind = true, primary = "instructions" }\n', ""),
        },
    )
    (root / "a_new.c").write_text("int added(void) { return 1; }\n")
    (root / "c_words.c").write_text('const char *words[] = {"one", "three"};\n')
    gitkit.commit(root)
    env = {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path / "cache")}
    done = layoutrand("check", "HEAD~1", "HEAD", "--budget", "1s", "--no-as-built", "--json", cwd=root, env=env)
    ((changes,),) = [system["changes"] for system in json.loads(done.stdout)["systems"]]
    assert (names(changes["added"]), changes["differ"], changes["data"]) == (["added"], [], ["c_words.c"])


@pytest.mark.slow
def test_a_build_that_fails_at_one_commit_is_a_failure_that_names_it(checked):
    status, found, said = checked({"main.c": ("int main", "int main main")})
    assert (status, found["systems"][0]["ending"]) == (1, "failures")
    assert "head" in said
    assert found["systems"][0]["benchmarks"][0]["conclusion"] == "cannot tell"
