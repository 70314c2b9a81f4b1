"""Settings of all tests: no deadlines for single examples, and the same examples in every run of CI.

Each worker has a lock of its own in place of the machine's, so that workers do not wait for each other.  What a shell
starts in the background ignores Ctrl-C, and behind nohup a hang-up, and so would all that is started here: tests that
interrupt would wait in vain.
"""

import hashlib
import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from workshop import require

settings.register_profile("layoutrand", deadline=None, derandomize=os.environ.get("CI") == "true")
settings.load_profile("layoutrand")
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


# Real programs and simulation studies, whose slow tests only `make slow` executes.
OF_AN_HOUR = (
    "tests/real/",
    "tests/stats/test_studies.py",
    "tests/analysis/test_aa_simulation.py",
    "tests/analysis/test_blocking_simulation.py",
    "tests/analysis/test_compare_simulation.py",
    "tests/analysis/test_false_alarms.py",
    "tests/analysis/test_suite.py",
)


# And those of them that CI executes all the same.
OF_CI = (
    "test_bzip2[GNU ld]",
    "test_one_command_answers[C++, CMake]",
    "test_one_command_answers[Rust, Cargo]",
    "test_from_nothing_to_a_verdict[C, makefile]",
    "test_a_build_that_strips_is_laid_out_in_the_build",
    "test_a_build_that_calls_clang_by_its_name",
)


MANY_CASES = 2
ONE_IN = 8
"""Of a slow test with more cases than so many, CI takes each eighth."""


def in_part(name, part):
    """Whether a test is in the part "K/N" of all: by its name alone, so that N parts are all tests, each once."""
    number, of = map(int, part.split("/"))
    if not 1 <= number <= of:
        raise pytest.UsageError(f"PART={part}: give K/N with K from 1 to N")
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest()) % of == number - 1


@pytest.hookimpl(tryfirst=True)  # before pytest looks at marks
def pytest_collection_modifyitems(config, items):
    if part := os.environ.get("LAYOUTRAND_TEST_PART"):
        others = [item for item in items if not in_part(item.nodeid, part)]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in set(others)]
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    cases = {}
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("hour") and item.name not in OF_CI:
            cases.setdefault((item.path, item.name.partition("[")[0]), []).append(item)
    for several in cases.values():
        for number, item in enumerate(several if len(several) > MANY_CASES else []):
            if number % ONE_IN:
                item.add_marker(pytest.mark.hour)
    for item in items:
        if (
            os.path.relpath(item.path, root).startswith(OF_AN_HOUR)
            and item.name not in OF_CI
            and item.get_closest_marker("slow")
        ):
            item.add_marker(pytest.mark.hour)
        if item.get_closest_marker("hour"):
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture
def valgrind():
    """For tests that execute programs under it."""
    require("valgrind", "valgrind")


@pytest.fixture
def other_file_system(tmp_path):
    """A directory that can be written, on another file system than tests' own; skips where there is none."""
    for folder in map(Path, ("/dev/shm", "/var/tmp", Path.home())):
        if os.access(folder, os.W_OK) and folder.stat().st_dev != tmp_path.stat().st_dev:
            return folder
    pytest.skip("no second file system here")


@pytest.fixture(scope="session", autouse=True)
def machine_lock(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAYOUTRAND_LOCK_DIR", str(tmp_path_factory.mktemp("machine")))
        yield
