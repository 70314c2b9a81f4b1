"""[suite] kind = "spec-cpu" from build to analysis, with a stand-in that speaks SPEC CPU's protocol.

It is not SPEC CPU: see tests/speckit.py.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sqlite3
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from speckit import fnv, make_spec_root
from startkit import layoutrand

SYSTEMS = {"O2": "-O2", "a-longer-name": "-O1"}


class Project:
    """A project with the stand-in beside it; every call is layoutrand's command line."""

    def __init__(self, folder: Path, version: int = 2017, **settings: Any) -> None:
        self.folder, self.version = folder, version
        self.root = make_spec_root(folder, version)
        self.project = folder / "project"
        self.project.mkdir()
        self.env = {**os.environ, "LAYOUTRAND_CACHE": str(folder / "cache")}
        self.write(**settings)

    def write(self, *, systems: Mapping[str, str] = SYSTEMS, more: str = "", **settings: Any) -> None:
        """layoutrand.toml; ``settings`` are keys of [suite], ``more`` is other tables."""
        names = {2017: ["505.mcf_r", "525"], 2006: ["int"], 2026: ["intrate"]}[self.version]
        table = {"kind": "spec-cpu", "root": str(self.root), "benchmarks": names, "size": "test", **settings}
        lines = ['[project]\nname = "p"', "[suite]", *(f"{key} = {_toml(value)}" for key, value in table.items())]
        lines += [f'[systems.{name}]\ncflags = "{flags}"' for name, flags in systems.items()]
        (self.project / "layoutrand.toml").write_text("\n".join([*lines, more, ""]))

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """One command."""
        return layoutrand(*arguments, "-C", self.project, env=self.env)

    def document(self, *arguments: str, status: int = 0) -> dict[str, Any]:
        """The JSON document of a command that ends with this status."""
        done = self.call(*arguments, "--json")
        assert done.returncode == status, done.stderr + done.stdout[-2000:]
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def failures(self, *benchmarks: str) -> list[dict[str, Any]]:
        """The failed executions of a run of one seed."""
        chosen = [word for name in benchmarks for word in ("--benchmark", name)]
        found: list[dict[str, Any]] = self.document("run", "--seeds", "1", "--no-controls", *chosen, status=1)[
            "failures"
        ]
        return found

    def executions(self) -> list[dict[str, Any]]:
        """All rows of the results."""
        with contextlib.closing(sqlite3.connect(self.project / ".layoutrand/results.sqlite")) as database:
            database.row_factory = sqlite3.Row
            return [dict(row) for row in database.execute("select * from executions")]


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    return json.dumps(value)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A project whose binaries are there: what an execution's environment is decides no build."""
    spec = Project(tmp_path_factory.mktemp("spec"), systems={"O2": "-O2"})
    spec.document("build", "--seeds", "1", "--no-controls")
    return spec


@contextlib.contextmanager
def changed(path: Path, old: str, new: str):
    """The file with other text, for a while."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    try:
        yield
    finally:
        path.write_text(text)


@pytest.mark.slow
def test_a_seed_is_executed_as_its_binary_and_measured(built, tmp_path):
    """Both benchmarks, all executables; only the time that SPEC reports is recorded."""
    prints = tmp_path / "fingerprints"
    built.write(
        systems={"O2": "-O2"}, env={"STANDIN_FINGERPRINTS": str(prints)}, more='[run]\nrandomise = ["env-size"]'
    )

    assert built.document("run", "--seeds", "1", "--no-controls")["failures"] == []

    binaries = built.document("build", "--seeds", "1", "--no-controls")["binaries"]
    expected = {(Path(b["artefact"]).name.split("_base")[0], fnv(Path(b["path"]))) for b in binaries}
    assert {tuple(line.split()[:2]) for line in prints.read_text().splitlines()} == expected
    padded = {int(line.split()[2]) for line in prints.read_text().splitlines()}
    assert padded == {row["env_size"] for row in built.executions()}  # it reaches the benchmark through SPEC's tools
    rows = built.document("analyse")["benchmarks"]
    assert {(row["benchmark"], row["metric"]) for row in rows} == {
        ("505.mcf_r", "reported_time_s"),
        ("525.x264_r", "reported_time_s"),
    }


@pytest.mark.slow
def test_every_seed_is_executed_as_its_own_binary_and_analysed(tmp_path):
    """2 systems x 3 seeds and the controls, two benchmarks, one of two executables; the programs say what they are."""
    prints = tmp_path / "fingerprints"
    spec = Project(tmp_path, env={"STANDIN_FINGERPRINTS": str(prints)})

    built = spec.document("build", "--seeds", "3")
    run = spec.document("run", "--seeds", "3")

    assert (built["failures"], run["failures"]) == ([], [])
    stems = {Path(b["artefact"]).name.split("_base")[0] for b in built["binaries"]}
    assert stems == {"mcf_r", "x264_r", "ldecod_r"}
    executed = [tuple(line.split()[:2]) for line in prints.read_text().splitlines()]
    files = {b["path"]: (Path(b["artefact"]).name.split("_base")[0], fnv(Path(b["path"]))) for b in built["binaries"]}
    seeded = {files[b["path"]] for b in built["binaries"] if isinstance(b["seed"], int)}
    assert len(seeded) == 2 * 3 * 3  # every seed of each executable and system is a file of its own
    assert set(executed) == set(files.values())
    per_binary = {entry: executed.count(entry) for entry in seeded}
    assert per_binary == dict.fromkeys(seeded, 1)

    rows = spec.document("analyse")["benchmarks"]
    assert {row["metric"] for row in rows} == {"reported_time_s"}  # and nothing of SPEC's tools themselves
    assert {(row["system"], row["benchmark"]) for row in rows} == {
        (s, b) for s in SYSTEMS for b in ("505.mcf_r", "525.x264_r")
    }
    for row in rows:
        assert (row["metric"], row["unit"], row["n_binaries"], row["n_executions"]) == ("reported_time_s", "s", 3, 3)
        assert 0 < row["mean"] < 5
    assert spec.document("compare", *SYSTEMS)["benchmarks"]

    argvs = {(row["benchmark"], row["argv"]) for row in spec.executions()}
    assert len(argvs) == 2  # no word differs between systems or seeds
    count = len(spec.executions())
    spec.document("run", "--seeds", "3")
    assert (count, len(spec.executions())) == (36, 36)  # all of it was there


@pytest.mark.slow
def test_nothing_of_the_suite_is_written_to(tmp_path):
    """Neither its config directory nor its benchmarks; a second call finds all of it in the cache."""
    spec = Project(tmp_path, systems={"O2": "-O2"}, benchmarks=["505.mcf_r"])
    before = {
        p: p.stat().st_mtime_ns for p in spec.root.rglob("*") if "__pycache__" not in p.parts and p.name != "harness"
    }

    spec.document("run", "--seeds", "1")

    after = {
        p: p.stat().st_mtime_ns for p in spec.root.rglob("*") if "__pycache__" not in p.parts and p.name != "harness"
    }
    assert after == before
    assert all(binary["cached"] for binary in spec.document("build", "--seeds", "1")["binaries"])


@pytest.mark.slow
def test_other_sources_of_the_suite_are_another_build(tmp_path):
    """What is compiled lies outside the build, and is part of its key."""
    spec = Project(tmp_path, systems={"O2": "-O2"}, benchmarks=["505.mcf_r"])
    first = {b["seed"]: b["sha256"] for b in spec.document("build", "--seeds", "1")["binaries"]}
    source = spec.root / "benchspec/CPU/505.mcf_r/src/mcf_r_a.c"
    source.write_text(source.read_text().replace("* 7", "* 8").replace("return x * 3", "return x * 5"))

    again = {b["seed"]: b["sha256"] for b in spec.document("build", "--seeds", "1")["binaries"]}

    assert not set(first.values()) & set(again.values())


@pytest.mark.parametrize(
    ("how", "status", "words"),
    [
        ("mcf_r:miscompare", "wrong-output", "miscompare of mcf_r.out; first: 0001:  checksum"),
        ("mcf_r:abort", "signal", "killed by signal 6"),
        ("mcf_r:exit", "exit", "exited with status 3"),
        ("ldecod_r:exit", "start", "the set-up of 525.x264_r failed, so there was nothing to run"),
    ],
    ids=["miscompare", "signal", "exit status", "set-up"],
)
def test_executions_that_fail_are_recorded_as_what_they_are(built, how, status, words):
    """With system, seed, benchmark, and the directory that has SPEC's log; the other benchmark is as it should be."""
    built.write(systems={"O2": "-O2"}, env={"STANDIN_FAIL": how})

    (failure,) = built.failures()

    benchmark = "525.x264_r" if "ldecod" in how else "505.mcf_r"
    assert (failure["system"], failure["benchmark"], failure["seed"], failure["status"]) == ("O2", benchmark, 1, status)
    assert words in failure["reason"]
    assert "log: CPU2017.001.log" in failure["reason"]
    assert (built.project / failure["log"] / "CPU2017.001.log").is_file()


def test_tools_that_are_killed_in_the_middle_are_told_with_their_last_step(built):
    """No raw results, and a log that stops."""
    built.write(systems={"O2": "-O2"}, env={"STANDIN_KILL": "1"})

    (failure,) = built.failures("505.mcf_r")

    assert failure["status"] == "signal"
    assert "(SIGKILL), the last step was 'Running 505.mcf_r test base layoutrand" in failure["reason"]


def test_tools_that_stop_at_once_are_quoted(built):
    """A label without a section, though layoutrand always writes one."""
    built.write(systems={"O2": "-O2"}, env={"NOTHING": "1"})

    with changed(built.root / "bin/harness/configfile.py", "self.used_labels.add(label)", "pass"):
        (failure,) = built.failures("505.mcf_r")

    assert failure["status"] == "start"
    assert "ERROR: The label 'layoutrand' defines no settings in the config file!" in failure["reason"]


def test_a_tool_that_executes_another_binary_is_found_out(built):
    """The run directory has the file that was executed."""
    built.write(systems={"O2": "-O2"}, env={"NOTHING": "2"})
    copy = "shutil.copy2(exe, folder / exe.name)"

    with changed(
        built.root / "bin/harness/machinery.py",
        copy,
        f"{copy}; (folder / exe.name).chmod(0o755); (folder / exe.name).open('ab').write(b'x')",
    ):
        (failure,) = built.failures("505.mcf_r")

    assert failure["status"] == "no-measurement"
    assert "mcf_r_base.layoutrand is not the binary of this layout: sha256" in failure["reason"]


def test_a_hash_in_the_results_that_is_another_binarys_is_found_out(built):
    """The build has shown that this suite's exehash is a SHA-256."""
    built.write(systems={"O2": "-O2"}, env={"STANDIN_EXEHASH": "salted"})

    (failure,) = built.failures("505.mcf_r")

    assert failure["status"] == "no-measurement"
    assert "in the raw results is of another binary than this layout's" in failure["reason"]


def test_an_execution_that_takes_too_long_is_ended(built):
    """suite.timeout_s is that of SPEC's tools with all that they do."""
    built.write(systems={"O2": "-O2"}, timeout_s=0.002)

    (failure,) = built.failures("505.mcf_r")

    assert failure["status"] == "timeout"


@pytest.mark.slow
def test_a_hash_of_executables_that_is_no_sha256_is_told_once(tmp_path):
    """And the executions are proved by the files alone."""
    spec = Project(
        tmp_path, systems={"O2": "-O2"}, benchmarks=["505.mcf_r"], more='[build]\nenv = {STANDIN_EXEHASH = "salted"}'
    )

    done = spec.call("build", "--seeds", "1")

    assert done.returncode == 0, done.stderr
    assert done.stderr.count("exehash of this suite is not the SHA-256 of the executable") == 1
    assert spec.document("run", "--seeds", "1")["failures"] == []


@pytest.mark.parametrize(
    ("flags", "change", "words"),
    [
        (
            "-O2 -DBREAK_MCF",
            None,
            ["system 'O2': SPEC CPU's tools did not build", "505.mcf_r cannot be built: ", "error: unknown type name"],
        ),
        (
            "-O2",
            ("benchspec/CPU/505.mcf_r/Spec/object.pm", "'mcf_r'", "'mcf'"),
            ["made mcf_r of 505.mcf_r where mcf was expected", '[suite.executables]\n  "505.mcf_r" = ["mcf_r"]'],
        ),
        ("-O2", ("shrc", "SPEC=", "SPECS="), ["the environment is not set", "did not set SPEC"]),
    ],
    ids=["compiler", "executables", "environment"],
)
def test_builds_that_fail_say_which_and_why(tmp_path, flags, change, words):
    """And the log of the failure holds SPEC's own."""
    spec = Project(tmp_path, systems={"O2": flags}, benchmarks=["505.mcf_r"])
    with changed(spec.root / change[0], *change[1:]) if change else contextlib.nullcontext():
        failures = spec.document("build", "--seeds", "1", "--no-controls", status=1)["failures"]

    assert failures
    for failure in failures:
        assert [word for word in words if word not in failure["error"]] == []
        assert "layoutrand: SPEC's" in Path(failure["log"]).read_text()


@pytest.mark.slow
def test_rebuild_mode_builds_each_layout_with_the_suites_tools(tmp_path):
    """Once for each layout; what is executed is what each build left."""
    prints = tmp_path / "fingerprints"
    spec = Project(
        tmp_path, systems={"O2": "-O2"}, env={"STANDIN_FINGERPRINTS": str(prints)}, more='[build]\nmode = "rebuild"'
    )

    built = spec.document("build", "--seeds", "2")
    spec.document("run", "--seeds", "2")

    assert built["failures"] == []
    files = {fnv(Path(b["path"])) for b in built["binaries"]}
    assert len(files) >= 3 * 3
    assert {line.split()[1] for line in prints.read_text().splitlines()} == files


@pytest.mark.slow
@pytest.mark.parametrize("version", [2006, 2026])
def test_other_versions_of_the_suite(tmp_path, version):
    """runspec of CPU2006, whose results have no hash of the executable; runcpu of CPU2026."""
    spec = Project(tmp_path, version, systems={"O2": "-O2"})

    document = spec.document("run", "--seeds", "2")

    assert document["failures"] == []
    names = {row["benchmark"] for row in spec.document("analyse")["benchmarks"]}
    assert names == ({"429.mcf"} if version == 2006 else {"705.mcf_r", "725.x264_r"})


@pytest.mark.slow
def test_the_users_own_config_is_used_and_left_alone(tmp_path):
    """Its label and flags are in force, its hashes are not, and SPEC's tools write into a copy."""
    config = tmp_path / "mine.cfg"
    config.write_text(
        "label = mine\nreportable = 1\ndefault:\nCC = gcc\nCC_VERSION_OPTION = -v\ndefault=base=mine:\nOPTIMIZE = -O1 -DMARK=4711\n__HASH__\n505.mcf_r=base=mine:\nopthash=1\nexehash=2\n"
    )
    text = config.read_text()
    spec = Project(tmp_path, systems={"O2": "-O2"}, benchmarks=["505.mcf_r"], config=str(config))

    built = spec.document("build", "--seeds", "1")
    assert spec.document("run", "--seeds", "1")["failures"] == []

    assert {Path(b["artefact"]).name for b in built["binaries"]} == {"mcf_r_base.mine"}
    assert config.read_text() == text
    logs = "".join(p.read_text("utf-8", "replace") for p in (tmp_path / "cache/logs").glob("build-*.log"))
    assert re.search(r'OPTIMIZE="-O1 -DMARK=4711"', logs)


def test_a_config_that_sets_ld_is_refused_before_anything_is_built(tmp_path):
    """With exit status 2 and all problems at once."""
    config = tmp_path / "mine.cfg"
    config.write_text("default:\nLD = ld.gold\nCC = /usr/bin/gcc\n")
    spec = Project(tmp_path, config=str(config), benchmarks=["505.mfc_r"])

    done = spec.call("build")

    assert done.returncode == 2
    for words in ("line 2: LD is set", "line 3: CC = /usr/bin/gcc calls /usr/bin/gcc", "did you mean '505.mcf_r'?"):
        assert words in done.stderr
