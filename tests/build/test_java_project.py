"""`init` of a command that starts Java: a file that is valid, in which executions find what the command named."""

from __future__ import annotations

import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from dacapokit import layoutrand, make_jdk
from layoutrand.build import java_project as module
from layoutrand.build.java_project import java_project
from layoutrand.config.config import parse
from layoutrand.errors import UsageError
from layoutrand.harnesses.known import harness_named
from workshop import require

RELEASE = 'IMPLEMENTOR="Maker"\nJAVA_VERSION="21.0.1"\nJAVA_RUNTIME_VERSION="21.0.1+12"\n'


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A project with a JDK beside it, two jars of which one is JMH's, and classes."""
    monkeypatch.setattr(module, "_JDKS", tmp_path / "no JDKs")
    home = make_jdk(tmp_path / "jdk")
    (home / "release").write_text(RELEASE)
    project = tmp_path / "shapes"
    (project / "target/classes").mkdir(parents=True)
    for name, entry in (("target/benchmarks.jar", "META-INF/BenchmarkList"), ("app-1.2.jar", "A.class")):
        with zipfile.ZipFile(project / name, "w") as jar:
            jar.writestr(entry, "")
    (project / "input.txt").write_text("")
    return project


def made(place, *words, folder=""):
    command = [str(place.parent / "jdk/bin/java"), *words]
    project = java_project(command, place, place / folder, None)
    return project, parse(project.text(), path="layoutrand.toml")


def test_a_jar_of_jmh_has_a_benchmark_for_each_case(place):
    line = "-XX:+UseSerialGC -Da=b -jar target/benchmarks.jar -f 3 -wi 1 Sort -rf=csv Map"
    project, config = made(place, *line.split())
    (benchmark,) = config.benchmarks
    assert list(benchmark.command) == [
        *("{home}/bin/java", "{args}", "-jar", "{project}/target/benchmarks.jar", "-wi", "1")
    ]
    assert (benchmark.metric.suite.harness, benchmark.metric.suite.cases) == ("jmh", "Sort|Map")
    system = config.systems["jdk21"]
    assert (system.prebuilt, system.args) == (str(place.parent / "jdk"), "-XX:+UseSerialGC -Da=b")
    assert list(config.layout.factors) == ["cds-order", "heap-base"]
    assert project.jdk.words == "JDK 21.0.1+12 of Maker"


def test_a_program_is_measured_as_a_whole_and_finds_its_files(place):
    project, config = made(place, "-cp", "target/classes:/usr/share/java/x.jar", "p.Main", "input.txt", "{seed}")
    (benchmark,) = config.benchmarks
    assert list(benchmark.command) == [
        *("{home}/bin/java", "{args}", "-cp", "{project}/target/classes:/usr/share/java/x.jar", "p.Main"),
        *("{project}/input.txt", "{{seed}}"),
    ]
    assert (benchmark.name, benchmark.metric.suite, config.systems["jdk21"].args) == ("Main", None, "")
    assert project.benchmark.harness == ""
    within, _ = made(place, "-jar", "benchmarks.jar", folder="target")
    assert within.benchmark.command[3] == "{project}/target/benchmarks.jar"


@pytest.mark.parametrize("options", [("-XX:+UseZGC", "-Xshare:off"), ("-Xmx40g", "-XX:AOTCache=app.aot")])
def test_what_places_its_memory_itself_has_one_layout(place, options):
    project, config = made(place, *options, "-jar", "app-1.2.jar")
    assert (project.factors, config.in_one_layout()) == ((), {"jdk21"})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-version"], "which program is that?"),
        ([], "which program is that?"),
        (["-jar"], "java -jar: which program is that?"),
        (["@options", "-jar", "app-1.2.jar"], "@options: write the words that this file holds"),
        (["-jar", "x" * 300], ": there is no such file; build it first"),
        (["-jar", "absent.jar"], "-jar absent.jar: there is no such file; build it first"),
        (["-jar", "input.txt"], "input.txt is not a jar"),
    ],
)
def test_what_is_no_program_is_an_error(place, words, said):
    with pytest.raises(UsageError, match=said.replace("?", r"\?")):
        made(place, *words)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("dacapo/TestHarness.class", True),
        ("org/dacapo/harness/TestHarness.class", True),
        ("harness/org/dacapo/harness/TestHarness.class", True),
        ("org/dacapoless/Main.class", False),
    ],
)
def test_of_a_jar_of_dacapo_a_suite_is_advised(place, entry, said):
    with zipfile.ZipFile(place / "dacapo.jar", "w") as jar:
        jar.writestr(entry, "")
    done = layoutrand(place, "init", "--", str(place.parent / "jdk/bin/java"), "-jar", "dacapo.jar", "fop", "-n", "5")
    assert done.returncode == 0, done.stderr
    assert ('[suite] with kind = "dacapo"' in done.stdout) is said


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("true", "--", "java", "-cp", ".", "Main"), "java -cp . Main"),
        (("mvn", "package"), "java -jar target/benchmarks.jar"),
        (("true",), ""),
    ],
)
def test_a_build_of_java_that_links_nothing_is_not_asked_for_a_program_to_link(place, monkeypatch, words, named):
    require("gcc", "gcc")
    tools = place.parent / "tools"
    tools.mkdir()
    (tools / "mvn").symlink_to(shutil.which("true"))
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    done = layoutrand(place, "init", "--", *words)
    assert done.returncode == 1
    assert "linked no program" in done.stderr
    hint = f"Of Java nothing is linked: once it is built, layoutrand init -- {named}\n"
    assert hint in done.stderr if named else "Of Java" not in done.stderr


def test_what_is_no_jdk_is_an_error(place):
    for java, said in (("nothing/java", "there is no such program"), ("/bin/true", "there is no lib/server/libjvm.so")):
        with pytest.raises(UsageError, match=said):
            java_project([java, "-jar", "app-1.2.jar"], place, place, None)


def test_other_jdks_are_named_to_compare_with(place, monkeypatch):
    folder = place.parent / "jvm"
    make_jdk(folder / "another")
    (folder / "not one").mkdir()
    monkeypatch.setattr(module, "_JDKS", folder)
    project, config = made(place, "-jar", "app-1.2.jar")
    assert project.others == (), "it does not say that it is of a version whose layouts differ"
    for name in ("another", "third"):
        (make_jdk(folder / name) / "release").write_text(RELEASE)
    project, config = made(place, "-jar", "app-1.2.jar")
    assert [(name, each.home.name) for name, each in project.others] == [("other", "another"), ("other2", "third")]
    assert f'# prebuilt = "{folder / "another"}"' in project.text()
    assert "[systems.other2] " in project.text()
    assert list(config.systems) == ["jdk21"]


@pytest.mark.parametrize(
    ("words", "left", "cases"),
    [
        (["java", "-jar", "b.jar"], ["java", "-jar", "b.jar"], ""),
        (["java", "-jar", "b.jar", "-foe=true", "-o", "x", "-i", "3", "A"], ["java", "-jar", "b.jar", "-i", "3"], "A"),
        (
            ["java", "-jar", "b.jar", "-f0", "--f", "3", "-i3", "A", "-prof"],
            ["java", "-jar", "b.jar", "-i3", "-prof"],
            "A",
        ),
        (["java", "org.openjdk.jmh.Main", "-p", "n=1", "A", "B"], ["java", "org.openjdk.jmh.Main", "-p", "n=1"], "A|B"),
    ],
)
def test_what_a_command_asks_of_jmh(words, left, cases):
    assert harness_named("jmh").chosen_by(words) == (left, cases)


@pytest.mark.parametrize("option", ["-l", "-lp", "-lrf", "-lprof", "-h"])
def test_a_command_that_wants_a_list_of_jmh_wants_no_times(option):
    assert harness_named("jmh").chosen_by(["java", "-jar", "b.jar", option]) is None


def test_init_says_what_it_wrote_and_what_to_type_instead(place):
    java = str(place.parent / "jdk/bin/java")
    done = layoutrand(place, "init", "--", java, "-jar", "target/benchmarks.jar")
    assert done.returncode == 0, done.stderr
    assert "JDK 21.0.1+12 of Maker is the system jdk21" in done.stdout
    assert 'harness = "jmh"' in done.stdout
    for words, said in (
        (["try", "--", java, "-jar", "app-1.2.jar"], "of Java nothing is built, so there is nothing to try"),
        (["init", "--force", "--toolchain", "gcc", "--", java, "-jar", "app-1.2.jar"], "of Java nothing is built"),
        (["init", "--force", "--", java, "-jar", "app-1.2.jar", os.fsdecode(b"\xff")], "is no UTF-8"),
    ):
        refused = layoutrand(place, *words)
        assert refused.returncode == 2
        assert said in refused.stderr
        assert "Traceback" not in refused.stderr


@pytest.mark.parametrize(
    ("words", "name", "program"),
    [
        (["-jar", "app-1.2.jar", "--", "-x"], "app-1.2", ["-jar", "{project}/app-1.2.jar", "--", "-x"]),
        (["-cp", "target/classes", "p.Main"], "Main", ["-cp", "{project}/target/classes", "p.Main"]),
        (["p.Main"], "Main", ["-cp", "{project}", "p.Main"]),
        (["-cp", ":app-1.2.jar", "input"], "input", ["-cp", "{project}:{project}/app-1.2.jar", "input"]),
        (["-m", "mod/p.Main", "x"], "Main", ["-m", "mod/p.Main", "x"]),
        (["--module=mod/p.Main"], "Main", ["--module=mod/p.Main"]),
        (["--source", "17", "Main.java"], "Main", ["{project}/Main.java"]),
        (
            ["-javaagent:app-1.2.jar=x", "-Dc=input.txt", "-Dd=e", "-jar", "app-1.2.jar"],
            "app-1.2",
            ["-javaagent:{project}/app-1.2.jar=x", "-Dc={project}/input.txt", "-jar", "{project}/app-1.2.jar"],
        ),
        (["-jar", "target/benchmarks.jar", "Sort"], "benchmarks", ["-jar", "{project}/target/benchmarks.jar"]),
    ],
)
def test_how_programs_are_named_and_found(place, monkeypatch, words, name, program):
    monkeypatch.delenv("CLASSPATH", raising=False)
    for file in ("Main.java", "Sort", "p.Main"):
        (place / file).write_text("")
    (place / "p.Main").unlink()
    project, _ = made(place, *words)
    assert project.benchmark.name == name
    assert list(project.benchmark.command[2:]) == program
    if "Sort" in words:
        assert project.benchmark.cases == "Sort"


def test_the_class_path_of_the_shell_and_a_directory_by_another_name(place, monkeypatch):
    monkeypatch.setenv("CLASSPATH", "target/classes")
    assert list(made(place, "Main")[0].benchmark.command[2:]) == ["-cp", "{project}/target/classes", "Main"]
    link = place.parent / "link"
    link.symlink_to(place)
    java = str(place.parent / "jdk/bin/java")
    found = java_project([java, "-cp", "target/classes", "Main"], link, place, None)
    assert found.benchmark.command[3] == "{project}/target/classes"


@pytest.mark.parametrize(
    ("option", "factors"),
    [
        ("-Xmx16g", ("cds-order", "heap-base")),
        ("-Xmx17g", ("cds-order",)),
        ("-XX:MaxHeapSize=20000m", ("cds-order",)),
        ("--limit-modules=java.base", ("heap-base",)),
        ("-Xshare:auto", ("heap-base",)),
        ("-XX:+UseZGC", ("cds-order",)),
        ("-XX:-UseCompressedOops", ("cds-order",)),
        ("-XX:ObjectAlignmentInBytes=16", ("cds-order",)),
        ("-XX:+UseCompactObjectHeaders", ("cds-order", "heap-base")),
        ("-XX:SharedArchiveFile=own.jsa", ("heap-base",)),
        ("-XX:AOTCache=app.aot", ("heap-base",)),
    ],
)
def test_what_cannot_be_placed_is_no_factor(place, option, factors):
    options = [option] if option.startswith(("-Xmx", "-XX:Max")) else [option, "-Xmx1g"]
    assert made(place, *options, "-jar", "app-1.2.jar")[0].factors == factors


@pytest.mark.slow
def test_a_program_of_a_real_jdk_is_executed_in_its_layouts(tmp_path):
    require("javac", "openjdk-17-jdk-headless")
    require("java", "openjdk-17-jdk-headless")
    (tmp_path / "Main.java").write_text(
        "class Main { public static void main(String[] a) { System.out.println(a.length); } }"
    )
    subprocess.run([shutil.which("javac"), "-d", "classes", "Main.java"], cwd=tmp_path, check=True)
    assert layoutrand(tmp_path, "init", "--", "java", "-Xmx64m", "-cp", "classes", "Main", "x").returncode == 0
    done = layoutrand(tmp_path, "run", "--seeds", "1..2", "--share-machine")
    assert "6 executions now, 0 were there already" in done.stdout, (
        done.stderr
    )  # two layouts, and both controls in two rounds
    assert Path(tmp_path / ".layoutrand/results.sqlite").is_file()
