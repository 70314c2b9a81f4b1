"""Documentation that runs: the README's commands are executed, and every command and key is documented."""

import json
import os
import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import get_args

import pytest

from layoutrand.config import config, matrix
from layoutrand.config.schedule import Order
from layoutrand.engines.known.dask import Dask
from layoutrand.engines.known.slurm import Slurm
from layoutrand.interop import exports, table
from layoutrand.interop import formats as importable
from startkit import layoutrand

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
MAIN = """\
#include <stdio.h>
int square(int), cube(int);
int main(void) { printf("%d %d\\n", square(7), cube(3)); return 0; }
"""


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "myproject"
    folder.mkdir()
    (folder / "Makefile").write_text(
        "PROG = powers\npowers: main.o square.o cube.o\n\t$(CC) -o $@ $^\nclean:\n\trm -f *.o powers\n"
    )
    (folder / "main.c").write_text(MAIN)
    for name, value in (("square", "x * x"), ("cube", "x * x * x")):
        parts = "".join(f"int {name}{k}(int x) {{ return x + {k}; }}\n" for k in range(5))
        (folder / f"{name}.c").write_text(f"int {name}(int x) {{ return {value}; }}\n{parts}")
    return folder


@pytest.mark.slow
def test_the_commands_of_the_readme_work(project, tmp_path):
    """Every `$ layoutrand ...` line of the README succeeds, in order, on a small program."""
    blocks = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    commands = [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    env = {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path / "cache")}

    (tmp_path / "runs").mkdir()
    for number, name in enumerate(("gcc-1", "gcc-2", "clang-1", "clang-2")):  # as hyperfine writes them
        text = json.dumps(
            {"results": [{"command": "fib", "times": [1.5 + number, 1.25 + number], "exit_codes": [0, 0]}]}
        )
        (tmp_path / f"runs/{name}.json").write_text(text)

    results = {}
    for command in commands:
        words = shlex.split(command)
        assert words[0] == "layoutrand"
        done = layoutrand(*words[1:], cwd=tmp_path, env=env)
        results[command] = (done.returncode, done.stderr if done.returncode else "")

    assert len(commands) >= 6
    assert results == dict.fromkeys(commands, (0, ""))


def test_the_configuration_in_the_readme_is_valid():
    """The README's example configuration is accepted as it stands."""
    text = next(block for block in re.findall(r"```toml\n(.*?)```", README, re.DOTALL) if "[project]" in block)

    parsed = config.parse(text, path="README.md")

    assert parsed.project.name == tomllib.loads(text)["project"]["name"]


def test_the_dacapo_suite_in_the_readme_is_valid():
    """The README's DaCapo project is accepted as it stands, the jar aside."""
    text = next(block for block in re.findall(r"```toml\n(.*?)```", README, re.DOTALL) if 'kind = "dacapo"' in block)

    parsed = config.parse(text, path="README.md")

    assert parsed.suite.iterations == 10
    assert list(parsed.systems) == ["serial", "parallel"]


def test_the_spec_example_in_the_readme_is_valid():
    """Its installation aside, which is not here."""
    block = next(block for block in re.findall(r"```toml\n(.*?)```", README, re.DOTALL) if "spec-cpu" in block)

    parsed = config.parse(block, path="README.md")

    assert (parsed.suite.kind, parsed.suite.size, list(parsed.systems)) == ("spec-cpu", "ref", ["O2", "O3"])


def test_the_cluster_in_the_readme_is_valid():
    """The README's table for Slurm is accepted as it stands."""
    block = next(block for block in re.findall(r"```toml\n(.*?)```", README, re.DOTALL) if "[cluster]" in block)
    rest = '[project]\nname = "p"\n[build]\ncommands = ["make"]\nartefacts = ["p"]\n[systems.a]\n'

    parsed = config.parse(rest + block, path="README.md").cluster

    assert (parsed.kind, parsed.partition, parsed.minutes, parsed.at_once) == ("slurm", "batch", 60, 256)
    assert (parsed.chunk, parsed.cpus, parsed.retries) == (8, 1, 2)


def test_the_matrix_in_the_readme_is_the_systems_it_says():
    """The README's matrix expands to six systems, named as the text does."""
    block = next(block for block in re.findall(r"```toml\n(.*?)```", README, re.DOTALL) if "[matrix]" in block)
    rest = '[project]\nname = "p"\n[build]\nrepo = "r"\ncommands = ["make"]\nartefacts = ["p"]\n'

    systems = list(config.parse(rest + block, path="README.md").systems)

    assert len(systems) == 6
    assert f"six systems, `{systems[0]}` to `{systems[-1]}`" in README


def test_the_metric_in_the_readme_reads_the_numbers_that_it_says():
    """The README's example of printed numbers is valid, and has the direction and warm-up that the text gives it."""
    block = next(block for block in re.findall(r"```toml\n(.*?)```", README, re.DOTALL) if "p99" in block)
    rest = '[project]\nname = "p"\n[build]\ncommands = ["make"]\nartefacts = ["p"]\n[systems.a]\n'

    (benchmark,) = config.parse(rest + block, path="README.md").benchmarks

    metric = benchmark.metric
    numbers = {
        n.name: (n.unit, n.better, metric.warmup if n.warmup is None else n.warmup) for n in metric.numbers().values()
    }
    assert numbers == {"throughput": ("1/s", "more", 5), "p99": ("ms", "less", 0)}


def test_the_orders_in_the_readme_are_those_there_are():
    """One row for each."""
    table = README.split("## The order of executions")[1].split("\n## ")[0]

    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(get_args(Order))


def test_the_make_targets_of_the_readme_exist():
    """`make demo` and `make test` are targets."""
    for target in ("demo", "test"):
        assert f"make {target}" in README
        subprocess.run(["make", "-n", target], cwd=ROOT, check=True, capture_output=True)


def test_every_command_is_documented():
    """Each command of the program has a row in the README."""
    from layoutrand.cli import make_app

    names = {c.name or c.callback.__name__ for c in make_app().registered_commands if not c.hidden}
    names |= {group.name for group in make_app().registered_groups}

    rows = set(re.findall(r"^\| `layoutrand (\w+)", README, re.MULTILINE))
    assert rows == names


def test_every_format_and_column_of_other_harnesses_is_documented():
    """What can be imported and exported stands in the README's section about it."""
    section = README.split("## Numbers from another harness")[1].split("\n## ")[0]
    names = [*importable.FORMATS, *table.COLUMNS]

    assert [name for name in names if f"`{name}`" not in section] == []
    way_back = section.split("The other way, ")[1]
    assert [
        name for name in exports.FORMATS if f"--format {name} " not in way_back and name.upper() not in way_back
    ] == []


OF_THE_PROJECT = {
    "project": config.Project,
    "build": config.Build,
    "layout": config.LayoutPolicy,
    "systems": config.System,
    "benchmarks": config.Benchmark,
    "run": config.Run,
}
WITH_A_SECTION = {
    "metric": ("## Numbers that the program prints", config.Metric),
    "warmup": ("## Numbers that the program prints", config.ChosenWarmup),
    "run.disturbance": ("## Disturbances", config.Disturbance),
    "dacapo": ("## DaCapo", config.DacapoSuite),
    "spec-cpu": ("## SPEC CPU", config.SpecSuite),
    "slurm": ("## Beyond one machine", Slurm),
    "dask": ("## Beyond one machine", Dask),
}
BY_A_SUITE = {"suite"}
"""A key of ``metric`` that nobody writes: what the expansion of a suite adds."""


def written(text):
    """The keys that the TOML in a text sets, each with its table, such as ("build", "mode")."""
    for block in re.findall(r"```toml\n(.*?)```", text, re.DOTALL):
        table = ""
        for line in block.splitlines():
            if head := re.match(r"#? *\[+([\w.*-]+)\]+", line):
                table = head[1].split(".")[0] if head[1].startswith(("systems.", "benchmarks.")) else head[1]
            also = re.search(r"# (?:also|.*\bwith) (.*)", line)
            keys = re.findall(r"^#? *([\w-]+) *=", line) + re.findall(r"[\w-]+", also[1] if also else "")
            yield from ((table, key) for key in keys)
            for outer, inner in re.findall(r"([\w-]+) *= *\{(.*)\}", line):
                yield from ((outer, key) for key in re.findall(r"(?:^|,) *([\w-]+) *=", inner))


def spoken_of(text):
    """The keys in code font, each with its table: of `benchmarks.stdin`, `files` in one cell both are of benchmarks."""
    for cell in re.split(r"\||\n", text):
        table = None
        for span in re.findall(r"`([^`\n]+)`", cell):
            if dotted := re.match(r"([a-z]+)(?:\.\*)?\.(\w+)\b", span):
                table = dotted[1]
                yield table, dotted[2]
            elif table and re.fullmatch(r"\w+", span):
                yield table, span


@pytest.mark.parametrize("table", OF_THE_PROJECT)
def test_every_configuration_key_is_documented(table):
    """Each key stands in the README as its table's, in code: words of the text that are called alike do not count."""
    there = {*written(README), *spoken_of(README)}

    assert [key for key in OF_THE_PROJECT[table].model_fields if (table, key) not in there] == []


@pytest.mark.parametrize("table", WITH_A_SECTION)
def test_every_key_of_a_table_with_a_section_is_documented_there(table):
    """In code font, or in TOML; or anywhere as a key of that table."""
    title, model = WITH_A_SECTION[table]
    section = section_of(title)
    there = {key for _, key in written(section)}
    there |= {word for span in re.findall(r"`([^`\n]+)`", section) for word in re.findall(r"[\w-]+", span)}
    there |= {key for name, key in (*written(README), *spoken_of(README)) if name == table}
    keys = {field.alias or name for name, field in model.model_fields.items()}

    assert keys - there - BY_A_SUITE == set()


def test_every_key_of_a_matrix_is_documented():
    section = section_of("## Many systems")

    assert set(matrix.KEYS) - {key for table, key in written(section) if table == "matrix"} == set()


def section_of(title):
    parts = README.split(f"\n{title}")
    assert len(parts) == 2, title
    return parts[1].split("\n## ")[0]
