"""An instrument that layoutrand does not come with: one module, which a benchmark names, and nothing else is touched."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from workshop import many_functions, require

MODULE = '''
"""Counts the lines that the program writes as messages, which it does where VERBOSE is set."""

from layoutrand.errors import NoMeasurement
from layoutrand.instruments.instrument import Instrument
from layoutrand.model import Measurement


class Messages(Instrument):
    name = "messages"
    settings = "metric.instruments"
    described = "lines on standard error"

    def metrics(self, metric):
        return "lines", "bytes"

    def definition(self, metric):
        return "1"

    def environment(self, metric, files):
        return {"VERBOSE": "1"}

    def measurements(self, ended):
        said = ended.messages()
        if not said:
            raise NoMeasurement("the program wrote no messages")
        lines = Measurement("lines", "1", 0, float(said.count(b"\\n")), warmup=False)
        return lines, Measurement("bytes", "B", 0, float(len(said)), warmup=False)


INSTRUMENT = Messages()
'''
MAIN = """
#include <stdio.h>
#include <stdlib.h>
int u0(int), u8(int);
int main(int argc, char **argv) {
  int lines = (char *)u0 < (char *)u8 ? 3 : 5;
  for (int k = 0; getenv("VERBOSE") && k < lines; k++) fprintf(stderr, "line %d\\n", u8(k));
  puts("done");
  return 0;
}
"""
CONFIG = """
[project]
name = "another"
[build]
source = "src"
commands = ["make prog"]
artefacts = ["prog"]
[systems.O1]
toolchain = "gcc"
cflags = "-O1"
[systems.O2]
toolchain = "gcc"
cflags = "-O2"
[[benchmarks]]
name = "talking"
command = ["{artefact}"]
metric = { instruments = ["messages"]%s }
"""
WITH_ANOTHER = """\
import sys
from layoutrand.instruments import known
known.__path__.append(sys.argv.pop(1))
from layoutrand.cli import run
sys.exit(run(sys.argv[1:]))
"""


@pytest.fixture
def layoutrand(tmp_path):
    """The command line where the module is among those of known instruments."""
    require("gcc", "gcc")
    (tmp_path / "instruments").mkdir()
    (tmp_path / "instruments" / "messages.py").write_text(MODULE)
    source = tmp_path / "project" / "src"
    source.mkdir(parents=True)
    (source / "Makefile").write_text("prog: prog.c u.c\n\t$(CC) $(CFLAGS) -o $@ prog.c u.c\n")
    (source / "prog.c").write_text(MAIN)
    (source / "u.c").write_text(many_functions(9, prefix="u"))
    (source.parent / "layoutrand.toml").write_text(CONFIG % "")

    def call(*arguments, status=0):
        done = subprocess.run(
            [sys.executable, "-c", WITH_ANOTHER, tmp_path / "instruments", *arguments, "-C", source.parent],
            env={**os.environ, "LAYOUTRAND_CACHE": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
        )
        assert done.returncode == status, done.stderr
        return done

    return call


@pytest.mark.slow
def test_an_instrument_is_added_by_a_module(layoutrand, tmp_path):
    """Executed, stored, analysed, compared, reported and exported like those that come with it."""
    project = tmp_path / "project"
    run = json.loads(layoutrand("run", "--seeds", "8", "--share-machine", "-q", "--json").stdout)
    assert (run["executed"], run["failures"]) == (2 * (8 + 8 * 2), [])

    rows = json.loads(layoutrand("analyse", "--all", "--json").stdout)["benchmarks"]
    assert {(row["instrument"], row["metric"], row["unit"], row["primary"]) for row in rows} == {
        ("messages", "lines", "1", True),
        ("messages", "bytes", "B", False),
    }
    assert {row["n_binaries"] for row in rows} == {8}
    counted = {value["mean"] for row in rows if row["metric"] == "lines" for value in row["binaries"]}
    assert counted == {3.0, 5.0}

    assert "lines" in layoutrand("compare", "O1", "O2", "--full").stdout
    layoutrand("report", "--output", str(project / "report.html"))
    page = (project / "report.html").read_text()
    assert "lines on standard error" in page
    exported = layoutrand("export", "--format", "csv").stdout
    assert "messages" in exported

    again = json.loads(layoutrand("run", "--seeds", "8", "--share-machine", "-q", "--json").stdout)
    assert again["executed"] == 0


@pytest.mark.hour
def test_what_it_measures_can_be_the_primary_metric(layoutrand, tmp_path):
    toml = tmp_path / "project" / "layoutrand.toml"
    toml.write_text(CONFIG % ', primary = "bytes"')
    layoutrand("run", "--seeds", "2", "--system", "O1", "--no-controls", "--share-machine", "-q")
    rows = json.loads(layoutrand("analyse", "--json").stdout)["benchmarks"]
    assert [row["metric"] for row in rows if row["primary"]] == ["bytes"]

    toml.write_text(CONFIG % ', primary = "words"')
    assert "metric.primary = 'words' is not measured; there are lines, bytes" in layoutrand("run", status=2).stderr


def test_without_the_module_its_name_is_none(layoutrand, tmp_path):
    """With what is known, before anything is built."""
    (tmp_path / "instruments" / "messages.py").unlink()
    said = " ".join(layoutrand("run", status=2).stderr.split())
    assert "benchmarks[0].metric.instruments: no instrument is called 'messages'" in said
    assert "there are native, cachegrind, perf" in said
    assert not (tmp_path / "cache").exists()
