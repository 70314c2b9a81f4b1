"""examples/jvm-suite: the harness keeps DaCapo's protocol, and every workload computes what its reference says."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from standins.dacapo import java, run_jar
from workshop import absent, require

SUITE = Path(__file__).parents[2] / "examples/jvm-suite"
NAMES = sorted(path.stem for path in (SUITE / "cnf").glob("*.cnf"))


@pytest.fixture(scope="module")
def jar(tmp_path_factory):
    """The suite's jar; skips where packages are missing (fails under CI)."""
    require("javac", "openjdk-17-jdk-headless")
    checked = subprocess.run([SUITE / "setup.sh"], capture_output=True, text=True)
    if checked.returncode != 0:
        absent(checked.stderr.strip())
    path = tmp_path_factory.mktemp("jvm-suite") / "jvm-suite.jar"
    subprocess.run([SUITE / "build.sh", path], check=True)
    return path


def _run(jar, *words, cwd, memory="512m"):
    command = [java(), f"-Xmx{memory}", "-XX:+UseSerialGC", "-jar", str(jar), *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True)


@pytest.mark.slow
def test_there_are_more_than_six_workloads_and_the_jar_lists_them(jar, tmp_path):
    done = run_jar(jar, "-l", cwd=tmp_path)

    assert len(NAMES) >= 6
    assert done.stdout.split() == NAMES


def _validates(jar, name, size, cwd):
    done = _run(jar, "-n", "2", "-s", size, name, cwd=cwd)

    lines = [re.sub(r"\d+ msec", "N msec", line) for line in done.stderr.splitlines()]
    before = f"===== DaCapo jvm-suite-1 {name}"
    assert lines == [
        f"{before} starting warmup 1 =====",
        f"{before} completed warmup 1 in N msec =====",
        f"{before} starting =====",
        f"{before} PASSED in N msec =====",
    ]
    assert done.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_each_workload_computes_the_reference_of_the_small_size_twice(jar, tmp_path, name):
    _validates(jar, name, "small", tmp_path)


@pytest.mark.hour
@pytest.mark.parametrize("size", ["default", "large"])
@pytest.mark.parametrize("name", NAMES)
def test_each_workload_computes_the_reference_of_the_other_sizes(jar, tmp_path, name, size):
    _validates(jar, name, size, tmp_path)


@pytest.mark.slow
def test_another_reference_is_not_matched(jar, tmp_path):
    """The comparison is real: with another digest the run fails, unless that is to be ignored."""
    text = (SUITE / "cnf/xalan.cnf").read_text()
    assert "stdout digest 0x" in text
    (tmp_path / "xalan.cnf").write_text(re.sub(r"stdout digest 0x\w{8}", "stdout digest 0x00000000", text))

    wrong = _run(jar, "--config", "xalan.cnf", "-s", "small", "xalan", cwd=tmp_path)
    ignored = _run(jar, "--config", "xalan.cnf", "--ignore-validation", "-s", "small", "xalan", cwd=tmp_path)
    unchecked = _run(jar, "--config", "xalan.cnf", "--no-digest-output", "-s", "small", "xalan", cwd=tmp_path)

    assert wrong.returncode == 254
    assert "Digest validation failed for stdout.log, expecting 0x00000000" in wrong.stderr
    assert wrong.stderr.endswith("Validation FAILED for xalan small\n")
    assert ignored.returncode == 0
    assert " xalan FAILED =====" in ignored.stderr
    assert unchecked.returncode == 0
    assert " xalan PASSED in " in unchecked.stderr


@pytest.mark.hour
def test_searching_gives_the_same_with_one_thread_and_with_three_and_refuses_a_hundred(jar, tmp_path):
    one = _run(jar, "-t", "1", "-s", "small", "lusearch", cwd=tmp_path)
    three = _run(jar, "-t", "3", "-s", "small", "lusearch", cwd=tmp_path)
    hundred = _run(jar, "-t", "100", "-s", "small", "lusearch", cwd=tmp_path)

    assert (one.returncode, three.returncode, hundred.returncode) == (0, 0, 0)
    assert " lusearch PASSED in " in one.stderr
    assert " 3 threads used to drive the workload" in three.stdout
    assert " lusearch PASSED in " in three.stderr
    assert hundred.stderr == "The specified number of threads (100) is outside the range [1,16]\n"


@pytest.mark.slow
def test_a_missing_jar_is_an_error_that_names_the_package(jar, tmp_path):
    text = (SUITE / "cnf/jts.cnf").read_text()
    assert '"jts-core.jar"' in text
    (tmp_path / "jts.cnf").write_text(text.replace('"jts-core.jar"', '"jts-core.jar", "nosuch.jar"'))

    done = _run(jar, "--config", "jts.cnf", "jts", cwd=tmp_path)

    assert done.returncode == 255
    assert done.stderr.startswith("ERROR: there is no /usr/share/java/nosuch.jar, which jts needs: apt-get install ")


def test_setup_names_the_command_that_installs_what_is_missing(tmp_path):
    shutil.copy(SUITE / "setup.sh", tmp_path)
    (tmp_path / "packages").write_text("# package jar\nlibnosuch-java nosuch.jar\nlibother-java other.jar\n")

    done = subprocess.run([tmp_path / "setup.sh"], capture_output=True, text=True)

    assert done.returncode == 1
    assert "apt-get install --yes --no-install-recommends libnosuch-java libother-java" in done.stderr


def test_every_jar_of_a_workload_is_in_the_list_of_packages():
    listed = {line.split()[1] for line in (SUITE / "packages").read_text().splitlines() if not line.startswith("#")}
    used = set()
    for path in (SUITE / "cnf").glob("*.cnf"):
        used |= set(re.findall(r'"([\w.-]+\.jar)"', path.read_text()))

    assert used == listed


def test_the_scripts_pass_shellcheck():
    subprocess.run([require("shellcheck", "shellcheck"), SUITE / "setup.sh", SUITE / "build.sh"], check=True)
