"""``[suite] kind = "dacapo"``: what a configuration comes to, and what is wrong with it; no Java."""

from __future__ import annotations

import json
import shutil

import pytest

from dacapokit import document, layoutrand, make_jar, make_jdk, write_project
from layoutrand.config.command import Places, arguments
from layoutrand.config.config import parse
from layoutrand.errors import ConfigError
from layoutrand.execute.experiment import definitions
from layoutrand.suites.dacapo_expansion import SCRATCH, generation_of
from layoutrand.suites.expand import expanded

SUITE = {"jar": "dacapo.jar", "benchmarks": ["fop", "pmd"], "iterations": 5}
MANIFEST = "Implementation-Version: 9.12-MR1\r\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A directory with a jar and a JDK, of which `load` makes a configuration."""
    monkeypatch.setenv("LAYOUTRAND_CACHE", str(tmp_path / "cache"))
    root = tmp_path / "project"
    root.mkdir()
    make_jar(root / "dacapo.jar", manifest=MANIFEST)
    make_jdk(root / "jdk")
    return root


def load(root, rest="", systems=None, **suite):
    keys = {key: value for key, value in (SUITE | suite).items() if value is not None}
    write_project(root, keys, systems or {"a": {"prebuilt": "jdk"}}, rest)
    return expanded(parse((root / "layoutrand.toml").read_text(), path="layoutrand.toml"), root)


def problems(root, rest="", systems=None, **suite):
    with pytest.raises(ConfigError) as caught:
        load(root, rest, systems, **suite)
    return caught.value.problems


def words(config, *, project="/p", home="/jdk", args=("-Xmx1g", "-Da=b c")):
    places = Places("/a", "/", project, "/root", "/t", home, args)
    return arguments(config.benchmarks[0].command, places)


def test_each_benchmark_is_one_jvm_with_the_options_of_its_release(project):
    config = load(project, java_options=["-ea", "{project}/x"], options=["-v"], threads=2, timeout_s=7.0)
    assert [benchmark.name for benchmark in config.benchmarks] == ["fop", "pmd"]
    assert words(config) == (
        "/jdk/bin/java",
        "-Xmx1g",
        "-Da=b c",
        "-ea",
        "/p/x",
        "-jar",
        "/p/dacapo.jar",
        "-s",
        "default",
        "-n",
        "5",
        "--scratch-directory",
        SCRATCH,
        "-t",
        "2",
        "-v",
        "fop",
    )
    assert {benchmark.timeout_s for benchmark in config.benchmarks} == {7.0}
    assert all(benchmark.merge_output for benchmark in config.benchmarks)
    assert config.build.artefacts == ["lib/server/libjvm.so"]


def test_the_release_of_2006_has_options_of_its_own(project):
    make_jar(project / "dacapo.jar", harness="2006")
    tail = ("/p/dacapo.jar", "-s", "small", "-n", "5", "-scratch", SCRATCH, "fop")
    assert words(load(project, size="small"))[-8:] == tail
    tail = ("small", "-converge", "-scratch", SCRATCH, "fop")
    assert words(load(project, size="small", iterations=None, converge=True))[-5:] == tail
    assert problems(project, threads=2) == ["suite.threads: DaCapo 2006 has no such option; leave it out"]


def test_converging_executions_have_no_number_of_iterations(project):
    config = load(project, iterations=None, converge=True)
    assert words(config)[-5:] == ("default", "-C", "--scratch-directory", SCRATCH, "fop")
    assert config.benchmarks[0].metric.suite.iterations is None
    assert config.benchmarks[0].metric.warmup == 0


def test_all_benchmarks_of_the_jar(project):
    make_jar(project / "dacapo.jar", manifest=MANIFEST, names=("xalan", "avrora", "lusearch-fix"))
    assert [b.name for b in load(project, benchmarks="all").benchmarks] == ["avrora", "lusearch-fix", "xalan"]


@pytest.mark.parametrize(("given", "warmup"), [(None, 4), (0, 0), (2, 2)])
def test_all_but_the_last_iteration_are_warmup_unless_said_otherwise(project, given, warmup):
    assert load(project, warmup=given).benchmarks[0].metric.warmup == warmup


@pytest.mark.parametrize(
    "name",
    [
        "da capo.jar",
        "a'b\".jar",
        "$HOME.jar",
        "{home}.jar",
        "{{home}}.jar",
        "{{{x}}}.jar",
        "é.jar",
        "-jar.jar",
        "`x`;#.jar",
    ],
)
@pytest.mark.parametrize("absolute", [False, True])
def test_any_path_of_a_jar_reaches_the_jvm_as_it_is(project, name, absolute):
    make_jar(project / name, manifest=MANIFEST)
    config = load(project, jar=str(project / name) if absolute else name)
    assert words(config, project=str(project))[3:5] == ("-jar", str(project / name))


def test_another_jar_or_other_data_is_another_benchmark(project):
    def digest(config):
        return definitions(config, [config.benchmarks[0]], project)["fop", "native"]

    first = digest(load(project))
    assert digest(load(project, warmup=1)) == first
    assert digest(load(project, timeout_s=1.0)) == first
    assert digest(load(project, benchmarks=["fop"])) == first
    make_jar(project / "dacapo.jar", manifest=MANIFEST, extra={"fop.class": "new"})
    second = digest(load(project))
    assert second != first
    assert digest(load(project, iterations=6)) not in {first, second}
    assert digest(load(project, size="small")) not in {first, second}


def test_a_benchmark_that_is_not_of_a_suite_has_the_definition_that_it_always_had(tmp_path):
    """Results that were recorded before there were suites stay valid."""
    config = parse(
        '[project]\nname = "p"\n[build]\ncommands = ["make"]\nartefacts = ["prog"]\n[systems.a]\n'
        '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n',
        path="layoutrand.toml",
    )
    merged = config.model_copy(update={"benchmarks": [config.benchmarks[0].model_copy(update={"merge_output": True})]})
    native = definitions(config, config.benchmarks, tmp_path)["b", "native"]
    assert native == "e6085a46de22038643fe2304d8bdac3f4b66038ae146db04dd3944ed76106a8d"
    assert definitions(merged, merged.benchmarks, tmp_path)["b", "native"] != native


@pytest.mark.parametrize(
    ("suite", "problem"),
    [
        ({"jar": None}, "suite.jar: this key is required"),
        ({"iterations": None}, "suite: iterations is required: how many each JVM makes (or converge = true)"),
        ({"iterations": 0}, "suite.iterations: must be greater than or equal to 1 (given: 0)"),
        ({"converge": True}, "suite: converge leaves the iterations to the harness, so iterations cannot go with it"),
        ({"warmup": 5}, "suite: warmup = 5 leaves nothing of 5 iterations"),
        ({"benchmarks": []}, "suite.benchmarks: must not be empty"),
        ({"benchmarks": "fop"}, "suite.benchmarks: must be an array of names, or \"all\" (given: 'fop')"),
        ({"benchmarks": ["fop", "fop"]}, "suite.benchmarks: 'fop' is listed twice"),
        ({"benchmarks": ["fop", "all"]}, "suite.benchmarks: 'all' stands alone"),
        ({"threads": 0}, "suite.threads: must be greater than or equal to 1 (given: 0)"),
        ({"options": ["-n", "3"]}, "suite.options: -n is set by suite.iterations"),
        ({"options": ["--size=small"]}, "suite.options: --size=small is set by suite.size"),
        ({"options": ["-converge"]}, "suite.options: -converge is set by suite.converge"),
        (
            {"options": ["--ignore-validation"]},
            "suite.options: --ignore-validation switches the validation off, without which an execution proves nothing",
        ),
        ({"options": ["-l"]}, "suite.options: -l has the harness print something and execute nothing"),
        ({"java_options": ["-jar"]}, "suite.java_options: -jar is put there by layoutrand"),
        ({"sise": "small"}, "suite.sise: unknown key; did you mean 'size'?"),
        ({"jar": "nosuch.jar"}, "suite.jar: cannot read {project}/nosuch.jar: No such file or directory"),
        ({"benchmarks": ["fob"]}, "suite.benchmarks[0]: the jar has no benchmark 'fob'; did you mean 'fop'?"),
        ({"benchmarks": ["fop", "zzz"]}, "suite.benchmarks[1]: the jar has no benchmark 'zzz'; there are fop, pmd"),
        (
            {"size": "huge"},
            "suite.size: no 'huge' in the jar: fop has small, default; pmd has small, default",
        ),
        ({"version": "9.12"}, None),
        (
            {"version": "8"},
            "suite.version: '8' is not known; there are 2006-10-MR2, 9.12-bach, 9.12-MR1, 23.11-chopin, ",
        ),
        (
            {"version": "23.11-chopin"},
            "suite.version: '23.11-chopin' is not the jar's, which is 9.12-MR1; leave it out, or give another jar",
        ),
        (
            {"options": ["{nope}"]},
            "suite.java_options, suite.options or suite.jar: {{nope}} in '{{nope}}' is not a placeholder; there are ",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_key(project, suite, problem):
    if problem is None:
        assert load(project, **suite).benchmarks
        return
    [found] = problems(project, **suite)
    assert found.startswith(problem.format(project=project))


def test_a_build_beside_jdks_that_are_there_is_to_be_left_out(project):
    """As where the suite took the place of the benchmarks that `init` wrote."""
    write_project(project, SUITE, {"a": {"prebuilt": "jdk"}}, '[build]\nartefacts = ["lib/server/libjvm.so"]')
    text = (project / "layoutrand.toml").read_text()
    with pytest.raises(ConfigError) as caught:
        parse(text, path="layoutrand.toml")
    assert [problem.partition("build: ")[2] for problem in caught.value.problems] == [
        "cannot go with [suite] dacapo where all systems are prebuilt, so nothing is built: leave out"
    ]
    with pytest.raises(ConfigError) as caught:
        parse(text + "[systems.b]\n", path="layoutrand.toml")
    assert any("build.image: this key is required" in problem for problem in caught.value.problems)


def test_an_unknown_kind_of_suite_is_told(project):
    write_project(project, SUITE, {"a": {"prebuilt": "jdk"}})
    text = (project / "layoutrand.toml").read_text()
    for kind, problem in (
        ('kind = "dacappo"', 'suite.kind: must be "spec-cpu" or "dacapo" (given: \'dacappo\')'),
        ("", "suite.kind: this key is required"),
    ):
        with pytest.raises(ConfigError) as caught:
            parse(text.replace('kind = "dacapo"', kind), path="layoutrand.toml")
        assert caught.value.problems == [problem]


@pytest.mark.parametrize("version", ["2006-10-MR2", "9.12-bach", "9.12-MR1", "23.11-chopin"])
def test_a_jar_that_tells_nothing_is_what_the_user_says(project, version):
    make_jar(project / "dacapo.jar", harness="", manifest="Implementation-Version: 1.0\r\n")
    [problem] = problems(project)
    assert problem.startswith("suite.jar: nothing in it tells which DaCapo it is; say by suite.version")
    scratch = {"2006": "-scratch"}.get(version[:4], "--scratch-directory")
    assert scratch in words(load(project, version=version))


def test_a_jar_without_benchmarks_is_refused(project):
    make_jar(project / "dacapo.jar", names=())
    assert problems(project) == ["suite.jar: there are no benchmarks in it (cnf/*.cnf); is it a DaCapo jar?"]


def test_2311_without_its_data_is_refused(project):
    make_jar(project / "dacapo.jar", manifest="Implementation-Version: 23.11-chopin\r\n")
    [problem] = problems(project)
    assert f"its data, which DaCapo 23.11 looks for in {project}/dacapo, is not there" in problem
    (project / "dacapo").mkdir()
    assert load(project).benchmarks


@pytest.mark.parametrize(
    ("version", "generation"),
    [
        ("2006-10-MR2", "2006"),
        ("2006-10", "2006"),
        ("9.12-bach", "9.12"),
        ("9.12", "9.12"),
        ("9.12-MR1", "9.12"),
        ("0.1.0", "9.12"),
        ("23.11-chopin", "23.11"),
        ("23.11-MR2-chopin", "23.11"),
        ("evaluation-git+8b7a2dc", "23.11"),
        ("", None),
        ("9.120", None),
        ("1.0", None),
    ],
)
def test_generation_of_a_version(version, generation):
    assert generation_of(version) == generation


def test_every_system_must_be_the_home_of_a_jdk(project):
    (project / "empty").mkdir()
    make_jdk(project / "no-java").joinpath("bin/java").unlink()
    make_jdk(project / "no-vm").joinpath("lib/server/libjvm.so").unlink()
    systems = {
        "a": {},
        "b": {"prebuilt": "nowhere"},
        "c": {"prebuilt": "empty"},
        "d": {"prebuilt": "no-java"},
        "e": {"prebuilt": "no-vm"},
    }
    assert problems(project, systems=systems) == [
        'systems.a: [suite] dacapo needs prebuilt = "DIRECTORY", the home of a JDK (or a [build.image])',
        f"systems.b.prebuilt: {project}/nowhere is not the home of a JDK: there is no such directory",
        f"systems.c.prebuilt: {project}/empty is not the home of a JDK: there is no program bin/java in it",
        f"systems.d.prebuilt: {project}/no-java is not the home of a JDK: there is no program bin/java in it",
        f"systems.e.prebuilt: {project}/no-vm is not the home of a JDK: there is no lib/server/libjvm.so in it",
    ]


def test_old_jdks_have_their_virtual_machine_elsewhere(project):
    make_jdk(project / "jdk8", library="jre/lib/amd64/server/libjvm.so")
    assert load(project, systems={"a": {"prebuilt": "jdk8"}}).build.artefacts == ["jre/lib/amd64/server/libjvm.so"]
    both = {"a": {"prebuilt": "jdk8"}, "b": {"prebuilt": "jdk"}}
    assert problems(project, systems=both) == [
        "systems: these JDKs do not have their virtual machine at the same place (a has jre/lib/amd64/server/libjvm.so, "
        "b has lib/server/libjvm.so)"
    ]


def test_a_suite_says_what_is_executed(project):
    table = "[[benchmarks]]\nname = 'b'\ncommand = ['x']"
    assert problems(project, table) == ["benchmarks: cannot go with [suite], which says what is executed"]
    assert any(problem.startswith("build: cannot go with") for problem in problems(project, "[build]\nrepo = 'x'"))


def test_warmup_can_be_chosen_for_a_benchmark_of_the_suite(project):
    assert load(project, "[[warmup]]\nbenchmark = 'fop'\niterations = 1\nsystem = 'a'").warmup[0].iterations == 1
    [problem] = problems(project, "[[warmup]]\nbenchmark = 'fob'\niterations = 1")
    assert problem == "warmup[0].benchmark: no benchmark called 'fob'; did you mean 'fop'?"


GOOD = """\
for word; do last=$word; done
title="===== DaCapo 9.12-MR1 $last"
echo "$title starting warmup 1 =====" >&2
echo "$title completed warmup 1 in 50 msec =====" >&2
echo "a line of the benchmark"
echo "$title starting =====" >&2
printf 'half a line '
echo "$title PASSED in ${MS:-40} msec =====" >&2
"""


def run(root, script, *, status=0, systems=None, rest="", **suite):
    make_jdk(root / "jdk", script)
    keys = {"benchmarks": ["fop"], "iterations": 2} | suite
    write_project(root, SUITE | keys, systems or {"a": {"prebuilt": "jdk"}}, rest)
    return document(root, "run", "--seeds", "2", "--share-machine", status=status)


def test_both_streams_are_one_in_the_order_in_which_they_were_written(project):
    summary = run(project, GOOD + "echo x >&2; exit 3", status=1)
    [failure, _] = summary["failures"]
    log = project / failure["log"]
    assert (log / "stderr").read_text() == ""
    title = "===== DaCapo 9.12-MR1 fop"
    assert (log / "stdout").read_text() == (
        f"{title} starting warmup 1 =====\n{title} completed warmup 1 in 50 msec =====\na line of the benchmark\n"
        f"{title} starting =====\nhalf a line {title} PASSED in 40 msec =====\nx\n"
    )


def test_the_jvm_gets_a_clean_environment_and_an_empty_directory(project, monkeypatch):
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xint")
    monkeypatch.setenv("_JAVA_OPTIONS", "-Xint")
    summary = run(project, "env | sort; ls -A; pwd; exit 1", status=1)
    [failure, _] = summary["failures"]
    *variables, where = (project / failure["log"] / "stdout").read_text().splitlines()
    assert {line.split("=")[0] for line in variables} <= {
        "HOME",
        "LANG",
        "PATH",
        "PWD",
        "TMPDIR",
        "_",
        "SHLVL",
        "OLDPWD",
    }
    assert where.endswith("/cwd")


def test_a_failure_is_recorded_with_system_benchmark_and_log(project):
    summary = run(project, "echo 'Unrecognized VM option X' >&2; exit 1", status=1)
    [failure, _] = summary["failures"]
    assert (failure["system"], failure["benchmark"], failure["status"]) == ("a", "fop", "exit")
    assert "Unrecognized VM option X; java refused an option" in failure["reason"]
    shown = layoutrand(project, "run", "--seeds", "2", "--share-machine")
    assert failure["log"] in shown.stdout + shown.stderr
    assert "Unrecognized VM option X" in shown.stdout + shown.stderr


def test_iterations_are_a_level_and_warmup_is_applied_when_read(project):
    run(project, GOOD)
    [row] = document(project, "analyse", "--metric", "iteration_s")["benchmarks"]
    assert (row["metric"], row["unit"], row["mean"], row["n_iterations"]) == ("iteration_s", "s", 0.04, 2)
    write_project(project, SUITE | {"benchmarks": ["fop"], "iterations": 2, "warmup": 0}, {"a": {"prebuilt": "jdk"}})
    assert document(project, "run", "--seeds", "2", "--share-machine")["executed"] == 0
    [row] = document(project, "analyse", "--metric", "iteration_s")["benchmarks"]
    assert (row["mean"], row["n_iterations"]) == (pytest.approx(0.045), 4)


def test_a_new_jar_makes_new_executions_and_the_old_ones_again_where_it_comes_back(project):
    assert run(project, GOOD)["executed"] == 2
    shutil.copy(project / "dacapo.jar", project / "kept.jar")
    make_jar(project / "dacapo.jar", manifest=MANIFEST, extra={"more": "x"})
    assert document(project, "run", "--seeds", "2", "--share-machine")["executed"] == 2
    shutil.copy(project / "kept.jar", project / "dacapo.jar")
    assert document(project, "run", "--seeds", "2", "--share-machine")["executed"] == 0


def test_writing_the_suggested_warmup_makes_an_entry_of_its_own(project):
    """A suite's benchmarks have no table in the file that a setting could stand in."""
    script = 'for word; do last=$word; done\nt="===== DaCapo $last"\ni=0\nwhile [ $i -lt 39 ]; do i=$((i+1))\n'
    script += 'ms=$((i < 4 ? 900 : 100 + (i * 7919 + $$) % 5))\necho "$t starting warmup ====="\n'
    script += 'echo "$t completed warmup in $ms msec ====="\ndone\necho "$t starting ====="\necho "$t PASSED in 102 msec ====="'
    run(project, script, iterations=40)
    done = layoutrand(project, "warmup", "--write")
    assert done.returncode == 0, done.stderr
    text = (project / "layoutrand.toml").read_text()
    assert "[[warmup]]" in text, done.stdout + done.stderr
    again = json.loads(layoutrand(project, "warmup", "--json").stdout)
    assert "suite.warmup" not in json.dumps(again)


@pytest.mark.slow
def test_commands_that_are_about_builds_say_that_there_is_none(project):
    write_project(project, SUITE, {"a": {"prebuilt": "jdk", "args": "-Xint"}})
    for words in (["inspect", "a", "1"], ["exec", "--seed", "1", "--", "true"]):
        done = layoutrand(project, *words)
        assert (done.returncode, "system a is prebuilt: nothing is linked for it" in done.stderr) == (2, True), (
            done.stderr
        )
    done = layoutrand(project, "build", "--explain")
    assert (done.returncode, "a: prebuilt, so there is nothing to build" in done.stdout + done.stderr) == (0, True)
    listed = layoutrand(project, "build", "--list-systems").stdout
    assert "-Xint" in listed
    assert "gcc" not in listed


NEWER = "Implementation-Version: 23.11-MR1-chopin\r\n"


def newer_jar(project, *names):
    make_jar(project / "dacapo.jar", manifest=NEWER, names=names)
    (project / "dacapo").mkdir()


def test_latencies_are_metrics_of_the_benchmarks_that_serve_requests(project):
    newer_jar(project, "fop", "lusearch")
    config = load(project, benchmarks="all", latency=["simple", "metered"])
    kept = {benchmark.name: [n.name for n in benchmark.metric.numbers().values()] for benchmark in config.benchmarks}
    assert kept["fop"] == ["iteration_s"]
    assert kept["lusearch"] == [
        "iteration_s",
        *("latency_p50_s", "latency_p99_s", "latency_p99.9_s"),
        *("metered_latency_p50_s", "metered_latency_p99_s", "metered_latency_p99.9_s"),
    ]


def test_what_an_execution_is_stays_what_it_was_where_none_of_it_is_asked_for(project):
    newer_jar(project, "fop", "lusearch")
    plain, asked = (load(project, benchmarks=["lusearch"], **keys) for keys in ({}, {"latency": ["simple"]}))
    facts = plain.benchmarks[0].metric.definition()["suite"]
    assert set(facts) == {"kind", "benchmark", "iterations", "harness"}
    assert asked.benchmarks[0].metric.definition()["suite"] == facts | {"latency": ["simple"]}


def test_latencies_that_nobody_prints_are_refused(project):
    [line] = problems(project, latency=["simple"])
    assert line == "suite.latency: DaCapo 9.12 prints no latencies of requests, 23.11 does; leave it out"
    newer_jar(project, "fop", "pmd")
    [line] = problems(project, latency=["simple"])
    assert line.startswith("suite.latency: none of the benchmarks serves requests; in DaCapo 23.11 cassandra, h2,")


def test_nanoseconds_are_refused_where_they_cannot_be_had(project, monkeypatch):
    [line] = problems(project, nanoseconds=True, options=["-c", "Mine"])
    assert "the harness takes one callback: nanoseconds needs it, and -c is in options" in line
    monkeypatch.setenv("PATH", str(project))
    [line] = problems(project, nanoseconds=True)
    assert line.startswith(
        "suite.nanoseconds: none of the JDKs has a compiler (bin/javac), and there is no javac in PATH"
    )
    make_jar(project / "dacapo.jar", harness="2006")
    [line] = problems(project, nanoseconds=True)
    assert line.startswith("suite.nanoseconds: DaCapo 2006 has callbacks of another kind")


def test_a_compiler_that_fails_says_why(project):
    compiler = project / "jdk/bin/javac"
    compiler.write_text("#!/bin/sh\necho 'error: no space' >&2\nexit 3\n")
    compiler.chmod(0o755)
    [line] = problems(project, nanoseconds=True)
    assert line.startswith("suite.nanoseconds: ")
    assert line.endswith("cannot compile the callback (exit status 3): error: no space")


@pytest.mark.parametrize(
    ("manifest", "start"),
    [
        ("9.12-bach", ("-cp", ".:/p/dacapo.jar", "Harness", "-c", "LayoutrandNanoseconds")),
        (
            "9.12-MR1-bach",
            ("-Ddacapo.callback.classpath=.", "-jar", "/p/dacapo.jar", "-c", "LayoutrandNanoseconds"),
        ),
    ],
)
def test_the_callback_is_given_as_each_release_takes_it(project, manifest, start):
    make_jar(project / "dacapo.jar", manifest=f"Implementation-Version: {manifest}\r\n")
    compiler = project / "jdk/bin/javac"
    folder = 'while [ "$1" != -d ]; do shift; done; echo class > "$2/LayoutrandNanoseconds.class"'
    compiler.write_text(f"#!/bin/sh\n{folder}\n")
    compiler.chmod(0o755)
    config = load(project, nanoseconds=True)
    assert words(config)[3 : 3 + len(start)] == start
    [file] = config.benchmarks[0].files
    assert (project / file).read_text() == "class\n"
    compiler.unlink()
    assert load(project, nanoseconds=True).benchmarks[0].files == [file]  # compiled once
