"""`make packages`: how its table comes about from logs, files and results."""

import subprocess

import pytest

from packages import drive, evidence, table
from workshop import require

LOG = """\
layoutrand: /b/src/tiny is left as it was linked: it has 1 placeable section, so there is only one layout
/b/src/.libs/libz.so.1.2: layout 7, 120 sections placed as asked (Kendall tau to identity +0.1), verified
/b/src/tiny: left as it was linked: it has 1 placeable section, so there is only one layout
failed: /b/src/other: layout 7 was not applied, it is as it was linked: other was linked by /usr/bin/ld.gold (--only NAME)
gcc -o /b/src/x: layout of things
failed: these were linked without the wrappers, so layout 7 was not applied to them: /b/p, /b/q and 3 more. Was a compiler
"""


def test_what_messages_say():
    """Each link once, whether it was told at once, at the end, or both."""
    assert [(one.path, one.what) for one in evidence.told(LOG)] == [
        ("/b/src/tiny", "left"),
        ("/b/src/.libs/libz.so.1.2", "laid out"),
        ("/b/src/other", "failed"),
        ("/b/p", "failed"),
        ("/b/q", "failed"),
    ]


def test_reasons_of_one_kind():
    """Names, paths and numbers do not make reasons different ones."""
    kinds = {
        evidence.kind_of_reason(evidence.Told(f"/b/{name}", "left", f"{name} has {number} of /x/{name}.o; and more"))
        for name, number in (("a", 1), ("other", 20))
    }
    assert kinds == {"NAME has N of PATH"}


def test_counts_of_tests():
    """The lines that say how many tests there were, without times, of all harnesses."""
    log = "# TOTAL: 3\n# PASS:  3\n\x1b[32m100% tests passed, 0 tests failed out of 7\x1b[0m\nOk:                 4   \nFiles=2, Tests=9,  1 wallclock secs\nok 3\n"
    counts = evidence.counts_of_tests(log)
    assert len(counts) == 5
    assert evidence.passed(counts) == 3 + 7 + 4 + 9
    assert "wallclock" not in "".join(counts)


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("   dh_auto_test\n\tmake -j1 check\n# PASS: 3\n", True),
        ("   dh_auto_test\n   dh_prep\n", False),
        ("make[1]: x\nmake -C tests check\nok\n", True),
        ("gcc -c test.c\n", False),
    ],
)
def test_whether_there_are_tests(log, expected):
    """A step for tests that does nothing is no test."""
    assert evidence.has_tests(log) is expected


def test_files_that_no_message_names(tmp_path):
    """A file is known by its path, by the build id of one that is told, or by its name; others are not told."""
    require("readelf", "binutils")
    require("gcc", "gcc")
    (tmp_path / "x.c").write_text("int main(void) { return 0; }\n")
    for name, flags in (("told", ["-O2"]), ("silent", ["-O0", "-g"])):
        subprocess.run(["gcc", *flags, "-Wl,--build-id=sha1", "-o", name, "x.c"], cwd=tmp_path, check=True)
    subprocess.run(["gcc", "-c", "x.c"], cwd=tmp_path, check=True)  # no program
    subprocess.run(["strip", "-o", "copied", "told"], cwd=tmp_path, check=True)
    subprocess.run(["strip", "-o", "stripped-silent", "silent"], cwd=tmp_path, check=True)

    files = evidence.elf_files(tmp_path)

    assert set(files) == {"told", "silent", "copied", "stripped-silent"}
    assert files["copied"] == files["told"] != files["silent"]
    built = {f"/b/{name}": files[name] for name in ("told", "silent")}
    messages = [evidence.Told("/b/told", "left", ""), evidence.Told("/b/libx.so.1T", "left", "")]
    shipped = {"p/copied": files["copied"], "p/stripped-silent": files["stripped-silent"], "p/libx.so.1": "", "p/y": ""}
    assert evidence.not_told(shipped, messages, built) == ["p/stripped-silent", "p/y"]
    assert evidence.not_told(
        {
            "b/conftest": "",
            "b/CMakeFiles/x/CMakeDetermineCompilerABI_C.bin": "",
            "b/CMakeFiles/3.1/CompilerIdC/a.out": "",
            "b/my": "",
        },
        [],
        {},
    ) == ["b/my"]


def _result(*, built=True, counts=("# PASS: 3",), links=("laid out",), not_told=()):
    one = {
        "version": "1-1",
        "built": True,
        "status": 0,
        "has_tests": True,
        "counts": ["# PASS: 3"],
        "cpu_s": 10.0,
        "wall_s": 20.0,
        "commit": "abc",
    }
    wrapped = {
        **one,
        "built": built,
        "status": 0 if built else 2,
        "counts": list(counts),
        "cpu_s": 15.0,
        "links": [{"path": f"/b/{n}", "what": what, "reason": "why"} for n, what in enumerate(links)],
        "shipped": {"p/a": "1", "p/b": "2"},
        "not_told": list(not_told),
        "built_not_told": [],
        "shipped_not_laid_out": ["p/b"],
    }
    return {"plain": one, "wrapped": wrapped}


PACKAGES = drive.listed("# list\na | make |\nb | CMake | lto\nc | none |\nd | none |\n")


def test_the_table():
    """A row for each package that builds as it is; the summary is computed from the rows; what is wrong is bold."""
    results = {
        "a": _result(),
        "b": _result(built=False, counts=(), links=("failed", "left", "laid out"), not_told=["p/b"]),
        "c": {"plain": {"built": False, "wall_s": 1.0}},
        "d": {"ended": "stopped"},
    }
    text = table.document(PACKAGES, {"trixie": results}, "Notes.")

    assert "| a | 1-1 | make | yes | pass (3) | 1 | 1 | 0 | 0 | 1 of 2 | 0 | 10 | 15 | 1.50 | abc |" in text
    assert (
        "| b | 1-1 | CMake, LTO | **no** (2) | ? | 3 | 1 | 1 | **1** | 1 of 2 | **1** | 10 | 15 | 1.50 | abc |" in text
    )
    assert "**trixie: 1 of 2 packages build under `layoutrand exec`.** 1 of them executed tests" in text
    assert "2 of the packages were built without layoutrand as well: tests came out the same in 1;" in text
    assert "Of 4 links 2 were laid out, 1 left alone and 1 failed" in text
    assert "of 4 executables and libraries in the packages 2 are laid out. Of 1 files that these builds linked" in text
    assert "Without a result: c (does not build as it is), d (stopped)." in text
    assert "- 1 × why" in text


def test_tests_that_came_out_otherwise():
    """Fewer tests than without layoutrand, or none, is told."""
    assert table.tests_of(_result(counts=["# PASS: 2"])) == "**2 instead of 3**"
    fewer = _result()
    fewer["wrapped"]["has_tests"] = False
    assert table.tests_of(fewer) == "**not executed**"


def test_the_list():
    """Every package once, of at least 60, each with what it is."""
    packages = drive.listed((drive.HERE / "list").read_text())
    assert len({one.name for one in packages}) == len(packages) >= 60
    assert all(one.kind and set(one.options) <= {"lto"} for one in packages)


def test_a_build_that_takes_too_long(tmp_path):
    """It is ended and said to be too long; an ordinary one has its status and processor time."""
    assert drive.timed(["sleep", "60"], tmp_path / "log", 0.2)[0] == "too long"
    status, wall, cpu = drive.timed(["sh", "-c", "echo x; exit 3"], tmp_path / "log", 60)
    assert (status, (tmp_path / "log").read_text()) == (3, "x\n")
    assert 0 <= cpu and 0 < wall < 60
