"""Numbers that a program prints, from the source to the verdict, as a user meets them."""

import json
import os
import re

import pytest

import startkit
from warningkit import unwrapped

CONFIG = """\
[project]
name = "toy"
[build]
source = "src"
commands = ["$CC -o toy main.c"]
artefacts = ["toy"]
[systems.old]
cflags = "-DRATE=1000"
[systems.new]
cflags = "-DRATE=1500"
[[benchmarks]]
name = "serve"
command = ["{artefact}"]
metric = { json = "/rate", json_lines = "matching", name = "throughput", unit = "1/s", better = "more" }
[run]
controls = ["stock"]
"""
MAIN = """\
#include <stdio.h>
static unsigned state = 12345;
int noise(void) { state = state * 1103515245u + 12345u; return (int)(state >> 16) % 11; }
int rate(int k) { return (k < 6 ? RATE / 2 : RATE) + noise(); }
int ready(void) { return puts("ready"); }
int line(int k) { return printf("{\\"iteration\\": %d, \\"rate\\": %d}\\n", k, rate(k)); }
int finish(void) { return puts("{\\"done\\": true}"); }
int main(void) {
    ready();
    for (int k = 0; k < 60; k++) line(k);
    finish();
    return 0;
}
"""


@pytest.fixture
def layoutrand(tmp_path):
    root = tmp_path / "toy"
    (root / "src").mkdir(parents=True)
    (root / "src" / "main.c").write_text(MAIN)
    (root / "layoutrand.toml").write_text(CONFIG)
    env = {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path / "cache")}

    def call(*arguments, status=0, more=None):
        done = startkit.layoutrand(*arguments, cwd=root, env={**env, **(more or {})})
        assert done.returncode == status, done.stderr
        return done

    call.root = root
    return call


@pytest.mark.slow
def test_from_json_lines_to_a_verdict_with_warm_up_left_out_afterwards(layoutrand):
    ran = json.loads(layoutrand("run", "--seeds", "3", "--json", "--share-machine").stdout)
    assert ran["failures"] == []
    assert ran["executed"] == 12

    document = json.loads(layoutrand("warmup", "--write", "--json").stdout)
    assert [(b["system"], b["suggested"]) for b in document["benchmarks"]] == [("old", 6), ("new", 6)]
    assert 'better = "more", warmup = 6' in (layoutrand.root / "layoutrand.toml").read_text()
    assert "<svg" in (layoutrand.root / ".layoutrand" / "warmup" / "serve.svg").read_text()

    again = json.loads(layoutrand("run", "--seeds", "3", "--json", "--share-machine").stdout)
    assert (again["executed"], again["already"]) == (0, 12)

    analysed = json.loads(layoutrand("analyse", "--json").stdout)
    assert {
        (b["system"], b["metric"], b["unit"], b["n_iterations"]) for b in analysed["benchmarks"] if b["primary"]
    } == {
        ("old", "throughput", "1/s", 3 * 54),
        ("new", "throughput", "1/s", 3 * 54),
    }

    compared = layoutrand("compare", "old", "new", "--full", "--fail-if", "slower")
    assert re.search(r"new reaches \d+(\.\d+)? % more throughput than old", unwrapped(compared.stdout))
    assert "faster" in compared.stdout
    layoutrand("compare", "new", "old", "--fail-if", "slower", status=3)


@pytest.mark.slow
def test_results_are_shown_in_a_locale_without_their_characters_too(layoutrand):
    layoutrand("run", "--seeds", "2", "--share-machine")
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}
    shown = layoutrand("warmup", "--plots", more=plain).stdout
    assert re.search(r"serve, old, throughput: [_.~=+*#-]{40} \(iterations look independent from number 6 on; ", shown)
    assert "run sequence: throughput [1/s]" in shown
    assert shown.isascii()
    assert re.search(
        r" interval +\? ", layoutrand("analyse", "--full", more=plain).stdout
    )  # plus-minus has no replacement


@pytest.mark.slow
def test_another_order_is_found_where_the_file_says_it(layoutrand):
    arguments = ("run", "--seeds", "2", "--order", "interleaved", "--share-machine")
    ran = layoutrand(*arguments, "--json")
    assert json.loads(ran.stdout)["executed"] == 8
    assert 'set order = "interleaved" under [run]' in ran.stderr
    assert 'randomise ["order-interleaved"]' in layoutrand("analyse", status=1).stderr

    toml = layoutrand.root / "layoutrand.toml"
    toml.write_text(toml.read_text() + 'order = "interleaved"\n')
    analysed = json.loads(layoutrand("analyse", "--json").stdout)
    assert {b["n_executions"] for b in analysed["benchmarks"]} == {2}
    assert json.loads(layoutrand(*arguments, "--json").stdout)["already"] == 8


@pytest.mark.slow
def test_what_the_program_did_not_print_is_a_failure_with_its_reason(layoutrand):
    toml = layoutrand.root / "layoutrand.toml"
    toml.write_text(CONFIG.replace('json_lines = "matching", ', ""))
    done = layoutrand("run", "--seeds", "2", "--share-machine", status=1)
    assert (
        "metric.json = '/rate': the standard output is not one JSON document, and line 1 is none either" in done.stderr
    )
    assert "'ready'" in done.stderr
