"""The stand-in jars behave as the releases of DaCapo do: options, lines, streams, exit statuses."""

import re
import subprocess
import zipfile

import pytest

from standins.dacapo import RELEASES, VERSIONS, benchmarks, java, run_jar, standin_jar
from workshop import require

LATER = tuple(version for version in VERSIONS if version != "2006-10-MR2")
DIFFERENT = tuple(version for version in VERSIONS if version != "23.11-MR2-chopin")  # which differs by its name only
LINE = re.compile(r"^===== DaCapo .* =====$", re.MULTILINE)
TIME = re.compile(r"in \d+ msec")

pytestmark = pytest.mark.slow


@pytest.fixture(params=DIFFERENT)
def version(request):
    return request.param


@pytest.fixture
def jar(tmp_path_factory, version):
    return standin_jar(tmp_path_factory, version)


def _streams(version, done):
    """Stream of the lines, and the other one."""
    return (done.stdout, done.stderr) if RELEASES[version].results == "stdout" else (done.stderr, done.stdout)


def _lines(version, *words):
    """Expected lines: a version in front where the release has one."""
    word = RELEASES[version].word
    return [f"===== DaCapo {word + ' ' if word else ''}{text} =====" for text in words]


def _said(text):
    return [TIME.sub("in N msec", line) for line in LINE.findall(text)]


@pytest.mark.parametrize("version", VERSIONS)
def test_warmups_are_numbered_but_in_2006_and_the_last_iteration_passes(version, jar, tmp_path):
    done = run_jar(jar, "-n", "3", "ok", cwd=tmp_path)
    first, second = ("", "") if version == "2006-10-MR2" else (" 1", " 2")

    lines, others = _streams(version, done)

    assert done.returncode == 0
    assert LINE.findall(others) == []
    assert _said(lines) == _lines(
        version,
        f"ok starting warmup{first}",
        f"ok completed warmup{first} in N msec",
        f"ok starting warmup{second}",
        f"ok completed warmup{second} in N msec",
        "ok starting",
        "ok PASSED in N msec",
    )


def test_output_of_a_benchmark_is_on_both_streams_between_the_lines(version, jar, tmp_path):
    done = run_jar(jar, "chatty", cwd=tmp_path)

    assert done.returncode == 0
    assert "Running on grammar one.g\n" in done.stdout
    assert "Parser Generator   Version 0\n" in done.stderr
    assert re.search(r"PASSED in \d+ msec", done.stdout + done.stderr)


@pytest.mark.parametrize(
    ("name", "words", "status"),
    [
        ("fails", (), 254),
        ("throws", (), 255),
        ("errs", (), 1),
        ("exits", (), 0),
        ("halts", (), 255),
        ("crashes", (), -9),
        ("cut", (), 0),
    ],
)
def test_no_iteration_passes_where_a_benchmark_fails(version, jar, tmp_path, name, words, status):
    done = run_jar(jar, *words, name, cwd=tmp_path)

    assert done.returncode == status
    assert "PASSED" not in done.stdout + done.stderr
    assert f" {name} starting =====" in done.stdout + done.stderr


def test_one_failed_warmup_fails_the_run_though_the_last_iteration_passes(version, jar, tmp_path):
    done = run_jar(jar, "-n", "3", "warmfail", cwd=tmp_path)

    assert done.returncode == 254
    assert " warmfail FAILED warmup =====" in done.stdout + done.stderr
    assert re.search(r" warmfail PASSED in \d+ msec =====", done.stdout + done.stderr)
    assert "Digest validation failed for stdout.log, expecting 0x" in done.stderr
    assert done.stderr.endswith("Validation FAILED for warmfail default\n")


def test_wrong_output_is_forgiven_where_that_was_asked_for(version, jar, tmp_path):
    ignore, no = (
        ("-ignoreValidation", "-noValidation")
        if version == "2006-10-MR2"
        else ("--ignore-validation", "--no-validation")
    )

    ignored = run_jar(jar, ignore, "fails", cwd=tmp_path)
    unchecked = run_jar(jar, no, "fails", cwd=tmp_path)

    assert ignored.returncode == 0
    assert " fails FAILED =====" in ignored.stdout + ignored.stderr
    assert unchecked.returncode == 0
    assert " fails PASSED in " in unchecked.stdout + unchecked.stderr


@pytest.mark.parametrize("name", ["throwslate", "exitslate"])
def test_what_fails_later_has_completed_a_warmup_before(version, jar, tmp_path, name):
    done = run_jar(jar, "-n", "3", name, cwd=tmp_path)

    assert done.returncode == (255 if name == "throwslate" else 0)
    assert (done.stdout + done.stderr).count(" completed warmup ") == 1
    assert "PASSED" not in done.stdout + done.stderr


def test_a_hanging_benchmark_has_to_be_killed(version, jar, tmp_path):
    with subprocess.Popen(
        [java(), "-jar", jar, "hangs"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        first = process.stdout.readline()
        still_there = process.poll() is None
        process.kill()

    assert first == _lines(version, "hangs starting")[0] + "\n"
    assert still_there


def test_convergence_that_is_not_reached_ends_with_0_and_without_a_result(version, jar, tmp_path):
    if version == "2006-10-MR2":
        words = ["-converge", "-max_iterations", "3", "-variance", "-1"]
    else:
        words = ["-C", "--max-iterations", "3", "--variance", "-1"]

    done = run_jar(jar, *words, "ok", cwd=tmp_path)

    assert done.returncode == 0
    assert "Benchmark failed to converge.\n" in done.stderr
    assert "PASSED" not in done.stdout + done.stderr
    assert (done.stdout + done.stderr).count(" completed warmup ") == 3


def test_convergence_that_is_reached_adds_an_iteration_that_counts(version, jar, tmp_path):
    if version == "2006-10-MR2":
        words = ["-converge", "-window", "2", "-variance", "1000"]
    else:
        words = ["--converge", "--window=2", "--variance=1000"]

    done = run_jar(jar, *words, "ok", cwd=tmp_path)

    assert done.returncode == 0
    assert (done.stdout + done.stderr).count(" completed warmup ") == 2
    assert (done.stdout + done.stderr).count(" PASSED in ") == 1


def test_the_scratch_directory_is_emptied_first(version, jar, tmp_path):
    scratch = tmp_path / "own"
    scratch.mkdir()
    (scratch / "left").write_text("by another run")
    option = "-scratch" if version == "2006-10-MR2" else "--scratch-directory"

    run_jar(jar, option, str(scratch), "ok", cwd=tmp_path)

    assert not (scratch / "left").exists()
    assert (scratch / "stdout.log").read_text() == "done\n"
    assert not (tmp_path / "scratch").exists()


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["nosuch"], 9, "Unknown benchmark: nosuch\n"),
        ([], 10, None),
        (["--nosuch", "ok"], 4, "Command line exception: Unrecognized option: --nosuch\n"),
        (["-n"], 4, "Command line exception: Missing argument for option: n\n"),
        (["-s", "nosuch", "ok"], 255, 'No such size: "nosuch" for benchmark ok\n'),
        (["-c", "Nosuch", "ok"], 2, None),
        (["-c", "java.lang.String", "ok"], 3, "java.lang.String is not an instance of Callback\n"),
        (["-t", "5", "threads"], 0, "The specified number of threads (5) is outside the range [1,4]\n"),
        (["-k", "2", "ok"], 0, "Can only set the thread factor for per_cpu configurable benchmarks\n"),
        (["-h"], 0, None),
    ],
)
@pytest.mark.parametrize("version", ["9.12-bach", "9.12-MR1", "23.11-MR1-chopin"])
def test_mistakes_since_2009_have_these_statuses_and_run_nothing(version, jar, tmp_path, words, status, message):
    done = run_jar(jar, *words, cwd=tmp_path)

    assert done.returncode == status
    assert "=====" not in done.stdout + done.stderr
    assert message is None or done.stderr == message


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["nosuch"], 20),
        ([], 0),
        (["-nosuch", "ok"], 1),
        (["--no-validation", "ok"], 1),
        (["-n"], 14),
        (["-n", "3"], 19),
        (["-n", "x", "ok"], 18),
        (["-s", "nosuch", "ok"], 255),
        (["-c", "Nosuch", "ok"], 12),
        (["-c", "java.lang.String", "ok"], 13),
        (["ok", "-n", "2"], 20),
    ],
)
@pytest.mark.parametrize("version", ["2006-10-MR2"])
def test_mistakes_in_2006_have_these_statuses(version, jar, tmp_path, words, status):
    done = run_jar(jar, *words, cwd=tmp_path)

    assert done.returncode == status
    assert ("NullPointerException" in done.stderr) == ("-s" in words)


@pytest.mark.parametrize("version", LATER)
def test_the_jar_lists_its_benchmarks_and_holds_a_file_for_each(version, jar, tmp_path):
    folder = RELEASES[version].cnf

    done = run_jar(jar, "-l", cwd=tmp_path)

    names = {name for name in zipfile.ZipFile(jar).namelist() if name.endswith(".cnf")}
    assert done.stdout.split() == sorted(benchmarks(version))
    assert names == {f"{folder}{name}.cnf" for name in benchmarks(version)}


@pytest.mark.parametrize("version", [version for version in LATER if RELEASES[version].newer])
def test_lines_about_requests_and_a_missing_file_came_with_23_11(version, jar, tmp_path):
    requests = run_jar(jar, "-n", "2", "requests", cwd=tmp_path)
    missing = run_jar(jar, "missing", cwd=tmp_path)

    lines, _ = _streams(version, requests)
    assert requests.returncode == 0
    assert lines.count("===== DaCapo processed 200000 requests in 4935 msec, 40526 requests per second =====") == 2
    assert missing.returncode == 255
    assert missing.stderr.startswith("ERROR: The following file used by size 'default' could not be found: ")


CALLBACKS = {
    "2006-10-MR2": "public class Told extends dacapo.Callback { public void stop() { super.stop(); SAY } }",
    "9.12-bach": "public class Told extends org.dacapo.harness.Callback {"
    " public Told(org.dacapo.harness.CommandLineArgs args) { super(args); } public void stop() { super.stop(); SAY } }",
    "": "public class Told extends org.dacapo.harness.Callback {"
    " public Told(org.dacapo.harness.CommandLineArgs args) { super(args); }"
    " public void stop(long duration) { super.stop(duration); SAY } }",
}


def _compiled_callback(version, jar, folder):
    source = folder / "Told.java"
    text = CALLBACKS.get(version, CALLBACKS[""])
    source.write_text(text.replace("SAY", 'System.err.println("told");'))
    classes = folder / "unpacked"
    with zipfile.ZipFile(jar) as packed:
        packed.extractall(classes)
    path = classes / RELEASES[version].classes
    subprocess.run([require("javac", "openjdk-17-jdk-headless"), "-cp", path, "-d", folder, source], check=True)


def test_a_callback_is_found_where_the_release_looks_for_it(version, jar, tmp_path):
    _compiled_callback(version, jar, tmp_path)

    by_path = subprocess.run(
        [java(), "-cp", f"{tmp_path}:{jar}", "Harness", "-c", "Told", "ok"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    by_property = subprocess.run(
        [java(), f"-Ddacapo.callback.classpath={tmp_path}", "-jar", jar, "-c", "Told", "ok"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )

    paths = {"9.12-MR1": 1}  # its own class loader does not see the callback's superclass there
    properties = {"2006-10-MR2": 12, "9.12-bach": 2}
    assert by_path.returncode == paths.get(version, 0)
    assert by_property.returncode == properties.get(version, 0)
    assert ("told" in by_path.stderr) == (version not in paths)
    assert ("told" in by_property.stderr) == (version not in properties)
