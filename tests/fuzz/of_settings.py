"""What users write: layoutrand.toml, toolchain files, and the words of the command line."""

from __future__ import annotations

import contextlib
import io
import os
import random
import signal
import sys
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace

from experiments import measured, write
from fakes import make_config
from fuzz.target import Target, fixed, of_text
from layoutrand.cli import appearance, run
from layoutrand.cli.completing import benchmarks, systems
from layoutrand.cli.sharing import parse_age
from layoutrand.config import toolchain
from layoutrand.config.config import parse
from layoutrand.config.lines import line_of, lines_of
from layoutrand.config.seeds import parse_layout, parse_seeds
from layoutrand.config.settings import with_chosen_warmup, with_executions, with_warmup
from layoutrand.config.topology import parse_cpus
from layoutrand.errors import ConfigError
from layoutrand.linkers import known, toolbox
from layoutrand.platform.process import SubprocessRunner
from layoutrand.stats.statistic import parse_statistic
from layoutrand.text.shares import share
from layoutrand.text.sizes import size_of

ROOT = Path(__file__).resolve().parents[2]
OWN = """\
[project]
name = "own"
[build]
source = "src"
commands = ["make -j{jobs}", "$CC -o x x.c"]
artefacts = ["prog", "lib.so"]
env = { A = "b" }
exclude = ["*.md"]
[layout]
factors = ["function-order"]
[systems.O2]
cflags = "-O2"
[systems.O3]
toolchain = "gcc-lld"
cflags = "-O3"
[matrix]
flags = { Os = "-Os", lto = { cflags = "-flto" } }
[[benchmarks]]
name = "b"
command = ["{artefact}", "5", "{project}/x"]
stdin = "in"
env = { A = "b" }
timeout_s = 60
memory_limit = "2GiB"
metric = { regex = "^t: (.*)$", unit = "s", warmup = 1 }
[[benchmarks]]
name = "c"
command = ["{artefact}"]
metric = { counters = ["instructions:u"] }
[[warmup]]
benchmark = "b"
iterations = 3
[run]
executions = 2
cpu = 0
randomise = ["env-size"]
[cluster]
kind = "slurm"
shared = "/nfs"
"""
SUITE = """\
[project]
name = "suite"
[suite]
kind = "dacapo"
jar = "dacapo-23.11.jar"
benchmarks = ["fop", "h2"]
iterations = 5
[systems.a]
[run]
executions = 1
"""
TOOLCHAIN = """\
name = "mine"
description = "a compiler of mine"
extends = "gcc"
[tools]
cc = ["gcc-12", "gcc"]
ld = ["ld.bfd"]
[compile]
flags = ["-O1"]
"""
SHIPPED = (ROOT / "toolchains/gcc.toml").read_text()
PROJECT = """\
[project]
name = "fake"
[build]
commands = ["x"]
artefacts = ["prog"]
[systems.a]
[systems.b]
[[benchmarks]]
name = "b"
command = ["{artefact}"]
"""
LINES = (
    "analyse --json --metric wall_s --confidence 0.9",
    "analyse --system a --benchmark b --csv",
    "compare a b --confidence 0.99 --threshold 1% --json",
    "compare a b --markdown",
    "plan --half-width 1% --threshold 2% --json",
    "export --format csv",
    "export --format json",
    "inspect a 1 --with 2 --limit 5",
    "cache gc --max-size 5G",
    "staging gc --older-than 30d --shared shared",
    "warmup --benchmark b",
    "report -o out.html",
    "figures -o out --width 8 --dpi 100",
    "help build",
)
"""Command lines that execute nothing of the user's, and last no longer for larger numbers."""


def _layoutrand_toml(text: str) -> None:
    """The file, and where its problems stand."""
    try:
        config = parse(text, path="layoutrand.toml")
    except ConfigError as error:
        lines = lines_of(text)
        for problem in error.problems:
            line_of(problem, lines)
        raise
    for name in config.systems:
        config.systems[name].model_dump(mode="json", by_alias=True)


def _changed_toml(text: str) -> None:
    """A setting that is written into a file that was read."""
    parse(text, path="layoutrand.toml")
    with_executions(text, 3)
    with_chosen_warmup(text, "b", 3, host=None, system="O2")


def _warmup_toml(text: str) -> None:
    config = parse(text, path="layoutrand.toml")
    for benchmark in config.benchmarks:
        if benchmark.name == "b" and benchmark.metric.regex is not None:
            with_warmup(text, "b", 3, printed=None)


def _toolchain(data: bytes, place: Path) -> None:
    (place / "mine.toml").write_bytes(data)
    toolbox.load("./mine.toml", place)


def _toolchain_text(text: str) -> None:
    toolchain.parse(text, path="mine.toml", parent=lambda _: SHIPPED, linkers=known.names())


def _completed(data: bytes, place: Path) -> None:
    """What a shell asks for while a line is typed."""
    (place / "layoutrand.toml").write_bytes(data)
    line = SimpleNamespace(params={"directory": place})
    systems(line, "a")
    benchmarks(line, "b")


def _project(place: Path) -> None:
    """Results to ask for, made once in each place."""
    if (place / "layoutrand.toml").exists():
        return
    chance = random.Random(3)
    config = make_config('[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n')
    rows = {k: [[10 + chance.gauss(0, 0.1)]] for k in range(1, 6)}
    controls = {name: [[10 + chance.gauss(0, 0.1)] for _ in range(5)] for name in ("stock", "identity")}
    (place / "layoutrand.toml").write_text(PROJECT)
    write(config, place, [each for name in "ab" for each in measured(config, place, name, "b", rows | controls)])


@contextlib.contextmanager
def _own_process():  # type: ignore[no-untyped-def] # a generator of nothing
    """What a command changes in its process, given back."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    look, listeners, environment = appearance.appearance(), list(SubprocessRunner.listeners), dict(os.environ)
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (io.TextIOWrapper(io.BytesIO(), "utf-8", errors="strict") for _ in range(2))
    try:
        yield
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        sys.stdout, sys.stderr = streams
        SubprocessRunner.listeners[:] = listeners
        appearance.choose(look)
        os.environ.clear()
        os.environ.update(environment)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _command_line(data: bytes, place: Path) -> None:
    """One of `LINES` with other words behind the command."""
    first, *words = [os.fsdecode(word) for word in data.split(b" ")]
    if first not in {line.split(" ", 1)[0] for line in LINES} or any("\0" in word for word in words):
        return  # another command, or a word that no process can be given
    if any(part.endswith(("..", "=")) or part == "/" for word in words for part in Path(word).parts):
        return  # whoever writes into another directory means it
    _project(place)
    with contextlib.chdir(place), _own_process():
        os.environ["LAYOUTRAND_CACHE"] = str(place / "cache")
        run([first, *words])


@cache
def lines() -> tuple[bytes, ...]:
    """The command lines as bytes."""
    return tuple(line.encode() for line in LINES)


TARGETS = (
    Target(
        "layoutrand.toml",
        of_text(_layoutrand_toml),
        lambda: (
            OWN.partition("[matrix]")[0].encode(),
            OWN.encode(),
            SUITE.encode(),
            (ROOT / "examples/quickstart/layoutrand.toml").read_bytes(),
        ),
        "toml",
        cost=3,
    ),
    Target("layoutrand.toml, changed", of_text(_changed_toml), fixed(OWN), "toml", cost=5),
    Target("layoutrand.toml, warm-up", of_text(_warmup_toml), fixed(OWN), "toml", cost=5),
    Target("layoutrand.toml, completed", _completed, fixed(OWN), "toml", cost=3),
    Target("toolchain file", _toolchain, fixed(TOOLCHAIN), "toml", cost=2),
    Target("toolchain text", of_text(_toolchain_text), fixed(TOOLCHAIN), "toml"),
    Target("--seeds", of_text(parse_seeds), fixed("30", "5..12", "1,7,9..11")),
    Target("layout", of_text(parse_layout), fixed("7", "stock")),
    Target("--max-size", of_text(partial(size_of, of="--max-size")), fixed("500M", "1.5G", "7")),
    Target("--older-than", of_text(parse_age), fixed("30d", "1.5h")),
    Target("share", of_text(lambda text: share(text, "--x")), fixed("1%", "0.01")),
    Target("list of CPUs", of_text(parse_cpus), fixed("0-3,8\n")),
    Target("statistic", of_text(parse_statistic), fixed("mean", "median", "p95")),
    Target("command line", _command_line, lines, cost=20, may_start=True),
)
