"""Which commands are disturbed, out of which state, and how their outcome is told; and those that are not, and why."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from subprocess import CompletedProcess
from typing import Any, Literal

from faults.experiment import Experiment, digest

State = Literal["sources", "built", "recorded", "many", "changed"]
SEEDS = 3
MANY = 16
"""Layouts of one system: enough to look for suspects in, and to predict others from."""


@dataclass(frozen=True)
class Case:
    """A command line, the state that it begins in, what it comes to where nothing disturbs it, and a program it needs."""

    words: tuple[str, ...]
    state: State
    outcome: Callable[[Experiment, CompletedProcess[str]], Any]
    needs: str = ""


def _nothing(experiment: Experiment, done: CompletedProcess[str]) -> Any:
    """For a command whose output has the hour in it."""
    del experiment
    return done.returncode


def _printed(experiment: Experiment, done: CompletedProcess[str]) -> Any:
    del experiment
    return done.stdout


def _hashes(experiment: Experiment, done: CompletedProcess[str]) -> Any:
    del experiment
    return sorted((b["system"], str(b["seed"]), b["sha256"]) for b in json.loads(done.stdout)["binaries"])


def _executions(experiment: Experiment, done: CompletedProcess[str]) -> Any:
    """Each slot once, whoever executed it."""
    document = json.loads(done.stdout)
    assert document["failures"] == [], document["failures"]
    recorded = experiment.recorded(experiment.root.parent / "copy")
    counted = (len(recorded), document["executions"])
    assert counted == (experiment.slots, experiment.slots), f"(recorded, told) {counted}"
    return sorted(recorded)


def _file(name: str) -> Callable[[Experiment, CompletedProcess[str]], Any]:
    return lambda experiment, _: digest(experiment.root / name)


def _there(name: str) -> Callable[[Experiment, CompletedProcess[str]], Any]:
    """For a file that has the hour in it."""
    return lambda experiment, _: (experiment.root / name).exists()


def _different_functions(experiment: Experiment, done: CompletedProcess[str]) -> Any:
    """What `check` finds in both systems; how long it executes is the machine's affair."""
    del experiment
    systems = json.loads(done.stdout)["systems"]
    return [(each["system"], [row["name"] for row in each["changes"][0]["differ"]]) for each in systems]


def _swept(experiment: Experiment, done: CompletedProcess[str]) -> Any:
    del experiment
    return [(each["offset"], each["sha256"], len(each["values"])) for each in json.loads(done.stdout)["offsets"]]


def _explained(experiment: Experiment, done: CompletedProcess[str]) -> Any:
    del experiment
    (row,) = json.loads(done.stdout)["benchmarks"]
    return row["n_binaries"], sorted(function["name"] for function in row["functions"])


def _predicted(experiment: Experiment, done: CompletedProcess[str]) -> Any:
    del experiment
    return [(each["system"], each.get("problem")) for each in json.loads(done.stdout)["predictions"]]


def _tried(experiment: Experiment, done: CompletedProcess[str]) -> Any:
    del experiment
    return [(each["system"], each["benchmark"], each["n_binaries"]) for each in json.loads(done.stdout)["benchmarks"]]


CASES = {
    "build": Case(("build", "--seeds", str(SEEDS), "--json"), "sources", _hashes),
    "build more": Case(("build", "--seeds", str(SEEDS + 2), "--json"), "built", _hashes),
    "run": Case(("run", "--seeds", str(SEEDS), "--wait", "0", "--json"), "built", _executions),
    "exec": Case(("exec", "--seed", "1", "--", "gcc", "src/main.c", "src/part.c", "-o", "y"), "sources", _file("y")),
    "init": Case(("init", "--force", "-C", "src"), "sources", _file("src/layoutrand.toml")),
    "analyse": Case(("analyse", "--json"), "recorded", _printed),
    "compare": Case(("compare", "O1", "O2", "--json"), "recorded", _printed),
    "plan": Case(("plan", "--json"), "recorded", _printed),
    "history": Case(("history", "--json"), "recorded", _printed),
    "check": Case(("check", "HEAD", "--budget", "2s", "--fail-if", "none", "--json"), "changed", _different_functions),
    "sweep": Case(("sweep", "spread", "--system", "O1", "--rounds", "2", "--json"), "built", _swept),
    "explain": Case(("explain", "--system", "O1", "--json"), "many", _explained, "valgrind"),
    "predict": Case(("predict", "--system", "O1", "--layouts", "100", "--json"), "many", _predicted, "valgrind"),
    "try": Case(("try", "--seeds", "2", "--json", "-C", "src", "--", "make", "--", "./prog"), "sources", _tried),
    "report": Case(("report", "-o", "report.html"), "recorded", _there("report.html")),
    "figures": Case(("figures", "-o", "figures"), "recorded", _there("figures")),
    "export": Case(("export", "--format", "csv", "-o", "export.csv"), "recorded", _file("export.csv")),
    "results verify": Case(("results", "verify"), "recorded", _printed),
    "inspect": Case(("inspect", "O1", "1", "--json"), "built", _printed),
    "cache ls": Case(("cache", "ls"), "built", _nothing),
    "cache verify": Case(("cache", "verify"), "built", _printed),
    "cache gc": Case(("cache", "gc", "--max-size", "1G"), "built", _nothing),
    "cache pack": Case(("cache", "pack"), "built", _nothing),
    "bundle export": Case(("bundle", "export", "O1", "bundle"), "built", _nothing),
    "bundle import": Case(("bundle", "import", "bundle"), "built", _nothing),
    "staging ls": Case(("staging", "ls", "--shared", "bundle"), "built", _nothing),
    "staging gc": Case(("staging", "gc", "--older-than", "30d", "--shared", "bundle"), "built", _nothing),
    "doctor": Case(("doctor",), "sources", lambda *_: None),
    "simulate": Case(("simulate", "--help"), "sources", _printed),
    "help": Case(("help", "build"), "sources", _printed),
}
"""By the command and, where it has several, its part."""

LEFT_OUT = {
    "demo": "what try does, on the built-in example",
    "bisect": "build and run of commits, which tests/integration/test_over_commits.py stops and resumes",
    "warmup": "reads results as analyse does",
    "analyze": "analyse by another name",
    "relink-record": "called by linker wrappers, within build",
    "relink-helper": "called by linker wrappers, within build",
}
"""Commands that have no case, and why not."""
