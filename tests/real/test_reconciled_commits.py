"""Reconciled layouts of real commits: all that is unchanged has one address, and the ratio hardly varies with the seed.

The histories are cloned from where the projects have them, or from clones in the directory that
``LAYOUTRAND_TEST_HISTORIES`` names (``lua``, ``jq``, ``zstd``); without either the tests are skipped.
"""

from __future__ import annotations

import csv
import json
import math
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import variance

import pytest

from workshop import absent, require

pytestmark = [pytest.mark.slow, pytest.mark.hour]
SEEDS = 12
LUA = (
    "lapi lcode lctype ldebug ldo ldump lfunc lgc llex lmem lobject lopcodes lparser lstate lstring ltable ltm lundump "
    "lvm lzio lauxlib lbaselib ldblib liolib lmathlib loslib ltablib lstrlib lutf8lib loadlib lcorolib linit lua"
)
JQ = (
    "builtin bytecode compile execute jv jv_alloc jv_aux jv_dtoa jv_dtoa_tsd jv_file jv_parse jv_print jv_unicode linker "
    "locfile util lexer parser main jq_test"
)
HAVE = (
    "MEMMEM TIMEGM GMTIME_R LOCALTIME_R STRPTIME STRFTIME TM_TM_GMT_OFF PTHREAD_KEY_CREATE PTHREAD_ONCE ATEXIT ISATTY"
)
SCRIPT = """\
local function fib(n) if n < 2 then return n end return fib(n-1) + fib(n-2) end
local t = {}
for i = 1, 3000 do t[i] = tostring((i * 7919) % 3001) end
table.sort(t)
local n = 0
for w in table.concat(t, ","):gmatch("%d+") do n = n + tonumber(w) end
print(fib(17), n)
"""


@dataclass(frozen=True)
class Commit:
    """A commit of a project, how it is built there, and what is executed."""

    url: str
    commit: str
    toolchain: str
    commands: tuple[str, ...]
    command: tuple[str, ...]


PROJECTS = {
    "lua": Commit(
        "https://github.com/lua/lua",
        "3228a97c",
        "gcc",
        (
            f"for f in {LUA}; do $CC -O2 -std=c99 -DLUA_USE_LINUX '-Dluai_makeseed()=42u' -c $f.c || exit 1; done",
            "$CC -o lua -Wl,-E *.o -lm -ldl",
        ),
        ("{artefact}", "{project}/input"),
    ),
    "jq": Commit(
        "https://github.com/jqlang/jq",
        "22361cfb",
        "gcc-gold",
        (
            r"od -An -v -tx1 src/builtin.jq | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g' > src/builtin.inc",
            "echo '#define JQ_VERSION \"x\"' > src/version.h; echo '#define JQ_CONFIG \"x\"' > src/config_opts.inc",
            f"cd src; for f in {JQ}; do $CC -O2 -w -D_GNU_SOURCE -DIEEE_8087 {' '.join(f'-DHAVE_{name}' for name in HAVE.split())} -I. -I.. -c $f.c || exit 1; done; cd ..",
            "$CC -o jq src/*.o -lm -pthread",
        ),
        ("{artefact}", "-nc", "[range(300)] | map({a: (. % 7), b: tostring}) | group_by(.a) | map(length)"),
    ),
    "zstd": Commit(
        "https://github.com/facebook/zstd",
        "cae8d1329",
        "gcc-lld",
        (
            "for f in lib/common/*.c lib/compress/*.c lib/decompress/*.[cS] lib/dictBuilder/*.c programs/*.c; do "
            "$CC -O2 -DZSTD_NOTRACE -DBACKTRACE_ENABLE=0 -Ilib -Ilib/common -c $f -o $(echo $f | tr / _).o || exit 1; done",
            "$CC -o zstd *.o -pthread",
        ),
        ("{artefact}", "-6", "-q", "-c", "{project}/input"),
    ),
}


def history(name: str, folder: Path) -> Path:
    """A clone of the project in which the commit is."""
    kept = os.environ.get("LAYOUTRAND_TEST_HISTORIES")
    if kept:
        return Path(kept, name).resolve()
    done = subprocess.run(
        ["git", "clone", "-q", PROJECTS[name].url, folder], capture_output=True, timeout=900, stdin=subprocess.DEVNULL
    )
    if done.returncode != 0:
        absent(f"{PROJECTS[name].url} cannot be cloned; LAYOUTRAND_TEST_HISTORIES may name a directory with {name}")
    return folder


def measured(name: str, folder: Path, couple: str, repo: Path) -> tuple[dict[str, dict[int, float]], dict[str, object]]:
    """Simulated cycles by system and seed, and what `compare` says."""
    project = PROJECTS[name]
    folder.mkdir()
    (folder / "input").write_text(SCRIPT * 20 if name == "zstd" else SCRIPT)
    systems = "".join(
        f'[systems.{system}]\nrev = "{rev}"\ntoolchain = "{project.toolchain}"\n'
        for system, rev in (("base", f"{project.commit}~1"), ("head", project.commit))
    )
    (folder / "layoutrand.toml").write_text(
        f'[project]\nname = "{name}"\n[build]\nrepo = "{repo}"\ncommands = {json.dumps(project.commands)}\n'
        f'artefacts = ["{name}"]\nexclude = ["vendor/oniguruma"]\n[layout]\ncouple = "{couple}"\n{systems}'
        f'[[benchmarks]]\nname = "b"\ncommand = {json.dumps(project.command)}\nmetric = {{ cachegrind = true }}\n'
    )
    env = {**os.environ, "LAYOUTRAND_CACHE": str(folder.parent / "cache")}

    def ask(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "layoutrand", *arguments, "-C", folder], env=env, capture_output=True, text=True
        )
        assert done.returncode in (0, 4), done.stderr
        return done.stdout

    ask("run", "--seeds", str(SEEDS), "--no-controls", "-q")
    cycles: dict[str, dict[int, float]] = {"base": {}, "head": {}}
    for row in csv.DictReader(ask("export", "--format", "csv").splitlines()):
        if row["metric"] == "estimated_cycles":
            cycles[row["system"]][int(row["seed"])] = float(row["value"])
    return cycles, json.loads(ask("compare", "base", "head", "--json"))


@pytest.mark.parametrize("name", PROJECTS)
def test_what_a_commit_leaves_alone_stays_where_it_is(name: str, tmp_path: Path) -> None:
    """At least 95 % of what is unchanged; and a fifth of the variance that independent seeds have, or less."""
    require("valgrind", "valgrind")
    require({"gcc": "ld.bfd", "gcc-gold": "ld.gold"}.get(PROJECTS[name].toolchain, "ld.lld-19"), "binutils or lld")
    repo = history(name, tmp_path / "history")
    cycles, said = measured(name, tmp_path / "address", "address", repo)
    apart, _ = measured(name, tmp_path / "order", "order", repo)
    (found,) = said["evidence"]["coinciding"]
    assert found["n_layouts"] == SEEDS
    assert found["functions"] > 400
    assert found["functions_together"] >= 0.95 * found["functions"]
    assert found["variables_together"] >= 0.95 * found["variables"]
    logs = {which: {k: math.log(v) for k, v in of.items()} for which, of in apart.items()}
    independent = sum(variance(of.values()) for of in logs.values())
    together = variance(math.log(cycles["head"][k] / cycles["base"][k]) for k in cycles["base"])
    assert together <= independent / 5
