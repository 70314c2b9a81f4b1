"""``[suite] kind = "dacapo"`` from the file to the comparison, with real JVMs and a jar that stands in for DaCapo's."""

from __future__ import annotations

import csv
import io
import shutil
from pathlib import Path

import pytest

from dacapokit import document, layoutrand, write_project
from speeds import first_fast
from standins.dacapo import VERSIONS, standin_jar
from workshop import absent, require

NEWEST = "23.11-MR1-chopin"
QUICK = ["-Xmx64m", "-XX:TieredStopAtLevel=1"]


def releases(*versions):
    """The newest of them in every run of the tests, the others in the slow one."""
    return [version if version == NEWEST else pytest.param(version, marks=pytest.mark.slow) for version in versions]


@pytest.fixture(scope="session")
def jdk():
    """The home of the JDK that ``java`` belongs to."""
    home = Path(require("java", "openjdk-17-jdk-headless")).resolve().parents[1]
    if not (home / "lib/server/libjvm.so").exists():
        absent(f"{home} is not the home of a JDK")
    return home


@pytest.fixture
def project(tmp_path, tmp_path_factory, monkeypatch, jdk):
    """Writes a project that executes the stand-in of some release with two sets of JVM options."""
    monkeypatch.setenv("LAYOUTRAND_CACHE", str(tmp_path / "cache"))

    def write(version, benchmarks, *, systems=("serial",), rest="", jar="jars/x.jar", **suite):
        root = tmp_path / "project"
        target = root / jar
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(standin_jar(tmp_path_factory, version), target)
        Path(str(target).replace(".jar", "")).mkdir(exist_ok=True)  # where 23.11 has its data
        keys = {"jar": jar, "benchmarks": benchmarks, "size": "small", "iterations": 3, "java_options": QUICK} | suite
        options = {"serial": "-XX:+UseSerialGC", "parallel": "-XX:+UseParallelGC"}
        tables = {name: {"prebuilt": str(jdk), "args": options[name]} for name in systems}
        return write_project(root, {k: v for k, v in keys.items() if v is not None}, tables, rest)

    return write


def run(root, *, seeds=1, status=0):
    return document(root, "run", "--seeds", str(seeds), "--share-machine", status=status)


def failed(root, benchmark, **how):
    """The one failure of one execution of one benchmark: status, reason, and what was written."""
    [failure] = run(root, status=1, **how)["failures"]
    assert (failure["system"], failure["benchmark"]) == ("serial", benchmark)
    return failure["status"], failure["reason"], (root / failure["log"] / "stdout").read_text()


@pytest.mark.slow
def test_two_sets_of_jvm_options_are_run_analysed_and_compared(project):
    root = project("9.12-MR1", ["ok", "chatty"], systems=("serial", "parallel"), iterations=4)
    summary = run(root, seeds=3)
    assert (summary["executed"], summary["failures"]) == (12, [])
    rows = document(root, "analyse", "--metric", "iteration_s")["benchmarks"]
    assert {(row["benchmark"], row["system"]) for row in rows} == {
        (benchmark, system) for benchmark in ("ok", "chatty") for system in ("serial", "parallel")
    }
    assert {(row["n_executions"], row["n_iterations"], row["unit"]) for row in rows} == {(3, 3, "s")}
    assert all(0 < row["mean"] < 10 for row in rows)
    compared = document(root, "compare", "serial", "parallel")
    assert [row["benchmark"] for row in compared["benchmarks"]] == ["ok", "chatty"]
    assert recorded(root) == {"ok": 4, "chatty": 4}
    assert run(root, seeds=3)["executed"] == 0


@pytest.mark.slow
def test_fewer_iterations_as_warmup_need_no_new_execution(project):
    root = project("9.12-MR1", ["sized"], iterations=4)
    run(root, seeds=2)
    text = (root / "layoutrand.toml").read_text()
    (root / "layoutrand.toml").write_text(text.replace("iterations = 4", "iterations = 4\nwarmup = 1"))
    assert run(root, seeds=2)["executed"] == 0
    [row] = document(root, "analyse", "--metric", "iteration_s")["benchmarks"]
    assert (row["n_executions"], row["n_iterations"]) == (2, 6)


@pytest.mark.slow
@pytest.mark.parametrize("version", releases(*VERSIONS))
def test_every_release_is_executed_and_read(project, version):
    """That requests and latencies are no iterations, too."""
    names = ["ok", "chatty", "requests"] if version.startswith("23") else ["ok", "chatty"]
    root = project(version, names)
    summary = run(root)
    assert (summary["executed"], summary["failures"]) == (len(names), [])
    assert recorded(root) == {name: 3 for name in names}


@pytest.mark.slow
@pytest.mark.parametrize("version", releases("2006-10-MR2", "23.11-MR1-chopin"))
def test_a_single_iteration(project, version):
    root = project(version, ["ok"], iterations=1)
    assert run(root)["failures"] == []
    assert recorded(root) == {"ok": 1}


@pytest.mark.slow
@pytest.mark.parametrize("version", releases("2006-10-MR2", "9.12-MR1", "23.11-MR1-chopin"))
def test_iterations_until_they_converge(project, version):
    old = version.startswith("2006")
    variance, most = ("-variance", "-max_iterations") if old else ("--variance", "--max-iterations")
    root = project(version, ["sized"], iterations=None, converge=True, options=[variance, "1000", most, "9"])
    assert run(root)["failures"] == []
    [row] = document(root, "analyse", "--metric", "iteration_s")["benchmarks"]
    assert row["n_iterations"] == 1
    # No more iterations than it takes to look for convergence: it never converges, however equal they are.
    root = project(version, ["sized"], iterations=None, converge=True, options=[most, "3"])
    status, reason, output = failed(root, "sized")
    assert status == "no-measurement"
    assert "did not converge within" in reason
    assert "Benchmark failed to converge." in output


def recorded(root):
    """Benchmark -> how many iterations of an execution were recorded, warm-up included."""
    return {row["benchmark"]: row["n_iterations"] for row in document(root, "warmup")["benchmarks"]}


VALIDATION = "DaCapo's validation failed in "


FAILURES = {
    "warmfail": ("wrong-output", VALIDATION + "1 of 3 iterations (exit status 254): Digest validation failed for "),
    "fails": ("wrong-output", VALIDATION + "3 of 3 iterations (exit status 254): Digest validation failed for "),
    "throws": ("exit", "exit status 255 in iteration 1 of 3: "),
    "throwslate": ("exit", "exit status 255 in iteration 2 of 3: "),
    "errs": ("exit", "exit status 1 in iteration 1 of 3: "),
    "exits": ("no-measurement", "the output is incomplete: it ends before the end of warm-up"),
    "exitslate": ("no-measurement", "the output is incomplete: it ends before the end of "),
    "halts": ("exit", "exit status 255 in iteration 1 of 3: the harness gives no reason"),
    "crashes": ("signal", "killed by signal 9 (SIGKILL); it happened in iteration 1 of 3"),
    "cut": ("no-measurement", "the output is incomplete: it ends before the end of "),
}


@pytest.mark.slow
@pytest.mark.parametrize("version", releases("2006-10-MR2", "9.12-MR1", "23.11-MR1-chopin"))
def test_every_failure_is_recorded_with_its_reason_and_costs_no_other_benchmark(project, version):
    root = project(version, ["ok", *FAILURES, "chatty"])
    summary = run(root, status=1)
    found = {failure["benchmark"]: failure for failure in summary["failures"]}
    assert (summary["executed"], len(found)) == (12, len(summary["failures"]))
    assert {name: (f["system"], f["status"], FAILURES[name][1] in f["reason"]) for name, f in found.items()} == {
        name: ("serial", status, True) for name, (status, _) in FAILURES.items()
    }
    for name, failure in found.items():
        assert f"{name} starting" in (root / failure["log"] / "stdout").read_text()
    rows = document(root, "analyse", "--metric", "iteration_s")["benchmarks"]
    assert [row["benchmark"] for row in rows] == ["ok", "chatty"]


@pytest.mark.slow
def test_a_benchmark_that_hangs_is_ended_and_told_how_far_it_came(project):
    status, reason, output = failed(project("9.12-MR1", ["hangs"], timeout_s=3), "hangs")
    assert status == "timeout"
    assert reason.endswith("so it was killed; it happened in iteration 1 of 3")
    assert "hangs starting warmup 1" in output


@pytest.mark.slow
def test_too_many_threads_execute_nothing_and_are_a_failure(project):
    assert run(project("9.12-MR1", ["threads"], threads=2))["failures"] == []
    status, reason, _ = failed(project("9.12-MR1", ["threads"], threads=64), "threads")
    assert status == "no-measurement"
    assert "The specified number of threads (64) is outside the range [1,4]; choose suite.threads" in reason


@pytest.mark.slow
def test_missing_data_of_2311_is_told(project):
    status, reason, _ = failed(project("23.11-MR1-chopin", ["missing"]), "missing")
    assert status == "exit"
    assert "ERROR: " in reason
    assert "unpack the whole release" in reason


@pytest.mark.slow
@pytest.mark.parametrize(
    ("suite", "reason"),
    [
        ({"java_options": ["-XX:+NoSuchOption"]}, "java refused an option"),
        ({"options": ["--no-such-option"]}, "correct suite.options or suite.version"),
        ({"options": ["-c", "NoSuchCallback"]}, "-Ddacapo.callback.classpath=DIR"),
    ],
)
def test_options_that_are_refused_are_told(project, suite, reason):
    status, found, _ = failed(project("9.12-MR1", ["ok"], **suite), "ok")
    assert status == "exit"
    assert reason in found


@pytest.mark.parametrize(
    ("version", "jar"),
    first_fast(
        1,
        [
            ("9.12-MR1", "$HOME/`x`/{home};#.jar"),
            ("9.12-MR1", "da capo/a b.jar"),
            ("23.11-MR1-chopin", 'it\'s "quoted"/x.jar'),
            ("23.11-MR1-chopin", "é/ü %41+.jar"),
        ],
    ),
)
def test_any_path_of_a_jar_will_do(project, version, jar):
    assert run(project(version, ["ok"], jar=jar))["failures"] == []


@pytest.mark.hour
@pytest.mark.slow
@pytest.mark.parametrize("version", releases(*(version for version in VERSIONS if not version.startswith("2006"))))
def test_a_callback_takes_nanoseconds(project, version):
    root = project(version, ["ok"], nanoseconds=True, warmup=0)
    assert run(root)["failures"] == []
    values = seconds_of(root, "iteration_s")
    assert len(values) == 3
    assert any(value * 1000 != round(value * 1000) for value in values)  # no whole milliseconds
    assert all(value >= 0.002 for value in values)  # as long as it sleeps at least
    assert run(root)["executed"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("version", releases("23.11-chopin", "23.11-MR1-chopin"))
def test_latencies_of_requests_are_metrics(project, version):
    root = project(version, ["lusearch", "ok"], latency=["simple", "metered"], warmup=0)
    assert run(root)["failures"] == []
    assert seconds_of(root, "latency_p50_s") == [0.0001, 0.0002, 0.0003]
    assert seconds_of(root, "latency_p99_s") == pytest.approx([0.0003, 0.0006, 0.0009])
    assert seconds_of(root, "metered_latency_p99.9_s") == pytest.approx([0.0008, 0.0016, 0.0024])
    [row] = document(root, "analyse", "--metric", "latency_p99.9_s")["benchmarks"]
    assert (row["benchmark"], row["unit"], row["n_iterations"]) == ("lusearch", "s", 3)
    assert row["mean"] == pytest.approx(0.0008)


@pytest.mark.slow
def test_nanoseconds_of_a_callback_and_of_latencies_in_one_jvm(project):
    root = project(NEWEST, ["lusearch"], latency=["simple"], nanoseconds=True)
    assert run(root)["failures"] == []
    assert seconds_of(root, "latency_p50_s") == [0.0001, 0.0002, 0.0003]
    assert len(seconds_of(root, "iteration_s")) == 3
    [system] = document(root, "analyse")["evidence"]["systems"]
    assert f"harness {NEWEST} (x.jar, content " in system["source"]  # behind the JDK, where that says what it is


def seconds_of(root, metric):
    """What was measured, iteration by iteration, of the only benchmark that has this metric."""
    exported = layoutrand(root, "export", "--format", "csv", "--metric", metric)
    assert exported.returncode == 0, exported.stderr
    rows = csv.DictReader(io.StringIO(exported.stdout))
    return [float(row["value"]) for row in rows if row["metric"] == metric]
