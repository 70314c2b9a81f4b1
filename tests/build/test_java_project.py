"""`init` of a command that starts Java: a file that is valid, in which executions find what the command named."""

from __future__ import annotations

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


@pytest.mark.parametrize(
    "option", ["-Xshare:off", "-XX:+UseZGC", "-XX:HeapBaseMinAddress=1g", "-XX:-UseCompressedOops"]
)
def test_what_places_its_memory_itself_has_one_layout(place, option):
    project, config = made(place, option, "-jar", "app-1.2.jar")
    assert (project.factors, config.in_one_layout()) == ((), {"jdk21"})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-version"], "which program is that?"),
        ([], "which program is that?"),
        (["-jar"], "-jar : there is no such file"),
        (["-jar", "absent.jar"], "-jar absent.jar: there is no such file; build it first"),
        (["-jar", "input.txt"], "input.txt is not a jar"),
    ],
)
def test_what_is_no_program_is_an_error(place, words, said):
    with pytest.raises(UsageError, match=said.replace("?", r"\?")):
        made(place, *words)


def test_what_is_no_jdk_is_an_error(place):
    for java, said in (("nothing/java", "there is no such program"), ("/bin/true", "is no home of a JDK")):
        with pytest.raises(UsageError, match=said):
            java_project([java, "-jar", "app-1.2.jar"], place, place, None)


def test_other_jdks_are_named_to_compare_with(place, monkeypatch):
    folder = place.parent / "jvm"
    make_jdk(folder / "another")
    (folder / "not one").mkdir()
    monkeypatch.setattr(module, "_JDKS", folder)
    project, config = made(place, "-jar", "app-1.2.jar")
    assert [each.home.name for each in project.others] == ["another"]
    assert f'# prebuilt = "{folder / "another"}"' in project.text()
    assert list(config.systems) == ["jdk21"]


@pytest.mark.parametrize(
    ("words", "left", "cases"),
    [
        (["java", "-jar", "b.jar"], ["java", "-jar", "b.jar"], ""),
        (["java", "-jar", "b.jar", "-foe=true", "-o", "x", "-i", "3", "A"], ["java", "-jar", "b.jar", "-i", "3"], "A"),
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
        (["init", "--force", "--", "mvn", "package", "--", java, "-jar", "x"], "there is no build to look at"),
    ):
        refused = layoutrand(place, *words)
        assert refused.returncode == 2
        assert said in refused.stderr


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
