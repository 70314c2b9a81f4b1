"""What a build of a package left behind: which executables and libraries, what layoutrand said of them, which tests.

Nothing here asks layoutrand: files are looked at with readelf, and its messages are read as a user would read them.
"""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

LAID_OUT, LEFT, FAILED = "laid out", "left", "failed"
_MESSAGES = (
    (
        LAID_OUT,
        re.compile(
            r"^(?:layoutrand: |failed: )?(?P<path>/.+?): layout \S+, (?P<reason>\d+ sections? placed as asked.*)$"
        ),
    ),
    (
        FAILED,
        re.compile(
            r"^(?:layoutrand: |failed: )?(?P<path>/.+?): layout \S+ was not applied, it is as it was linked: (?P<reason>.*)$"
        ),
    ),
    (LEFT, re.compile(r"^(?:layoutrand: |failed: )?(?P<path>/.+?)(?: is|:) left as it was linked: (?P<reason>.*)$")),
)
_UNSEEN = re.compile(
    r"these were linked without the wrappers, so layout \S+ was not applied to them: (?P<paths>/.*?)(?: and \d+ more)?\. Was a"
)
_COUNTS = (
    re.compile(r"^# (?:TOTAL|PASS|SKIP|XFAIL|FAIL|XPASS|ERROR): +\d+$"),  # automake
    re.compile(
        r"^# of (?:expected passes|unexpected failures|expected failures|unresolved testcases)\s+\d+$"
    ),  # DejaGnu
    re.compile(r"^\d+% tests passed, \d+ tests failed out of \d+$"),  # CTest
    re.compile(r"^(?:Ok|Expected Fail|Fail|Unexpected Pass|Skipped|Timeout): +\d+ *$"),  # Meson
    re.compile(r"^\[  (?:PASSED|FAILED)  \] \d+ tests?\.?$"),  # googletest
    re.compile(r"^Files=\d+, Tests=\d+(?=,)"),  # prove
)
_PASSED = re.compile(r"^(?:# PASS: +|# of expected passes\s+|Ok: +|\[  PASSED  \] )(\d+)|out of (\d+)$|Tests=(\d+)")
_TRIAL = re.compile(r"(?:^|/)(?:conftest|cmTC_|sanitycheckc)[^/]*$|/CMakeFiles/(?:.*\.bin|.*/CompilerId\w+/[^/]+)$")
_TEST_STEP = re.compile(
    r"^\s*(?:dh_auto_test|(?:debian/rules )?override_dh_auto_test|cd \S+ && make .*\b(?:check|test)\b"
    r"|(?:\S*/)?make\b.*\s(?:check|test|tests|testsuite)\b)"
)
_NEXT_STEP = re.compile(r"^\s*(?:dh_|create-stamp|debian/rules|fakeroot |rm -f debian/)")


@dataclass(frozen=True)
class Told:
    """What layoutrand said of one link: the file that it wrote, what became of it, and why."""

    path: str
    what: str
    reason: str


def told(log: str) -> list[Told]:
    """What the messages in a log say, each link once: a link made twice is told twice and stands here once."""
    found: dict[str, Told] = {}
    for line in log.splitlines():
        if match := _UNSEEN.search(line):
            found |= {path: Told(path, FAILED, "linked without the wrappers") for path in match["paths"].split(", ")}
            continue
        for what, pattern in _MESSAGES:
            match = pattern.match(line.strip())
            if match:
                found[match["path"]] = Told(match["path"], what, match["reason"])
                break
    return list(found.values())


def kind_of_reason(one: Told) -> str:
    """The reason without what is this link's own: names of files, numbers, the linker's output."""
    text = (
        re.sub(rf"(?<![\w/.-]){re.escape(os.path.basename(one.path))}(?![\w/-])", "NAME", one.reason)
        .split("; ")[0]
        .split("\n")[0]
    )
    text = re.sub(r"/[^\s,;:()]+", "PATH", text)
    text = re.sub(r"\b\d+\b", "N", text)
    return text[:160]


def counts_of_tests(log: str) -> list[str]:
    """The lines in which test suites say how many tests there were, in order."""
    lines = (line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", log).splitlines())
    return [match[0].strip() for line in lines for pattern in _COUNTS if (match := pattern.search(line))]


def passed(counts: Iterable[str]) -> int:
    """How many tests passed, over all suites that say so."""
    found = (_PASSED.search(line) for line in counts)
    return sum(int(next(group for group in match.groups() if group)) for match in found if match)


def has_tests(log: str) -> bool:
    """Whether a step of the build that is for tests did anything."""
    lines = log.splitlines()
    for number, line in enumerate(lines[:-1]):
        if _TEST_STEP.match(line) and not _NEXT_STEP.match(lines[number + 1]):
            return True
    return False


def elf_files(directory: Path) -> dict[str, str]:
    """Executables and shared objects below a directory, by path relative to it, with their build ids ("" for none).

    What holds debug information alone is left out.
    """
    names = [str(path.relative_to(directory)) for path in _regular(directory) if _is_linked(path)]
    found = {name: "" for name in names}
    for start in range(0, len(names), 200):
        command = [
            "readelf",
            "--wide",
            "--notes",
            "--file-header",
            *(f"./{name}" for name in names[start : start + 200]),
        ]
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, errors="replace")
        name = names[start]
        for line in done.stdout.splitlines():
            if line.startswith("File: "):
                name = line.removeprefix("File: ").removeprefix("./")
            elif match := re.search(r"\bBuild ID: ([0-9a-f]+)", line):
                found[name] = match[1]
    return found


def _regular(directory: Path) -> Iterator[Path]:
    for folder, _, names in os.walk(directory):
        for name in names:
            path = Path(folder, name)
            if path.is_file() and not path.is_symlink() and "usr/lib/debug/" not in str(path):
                yield path


def _is_linked(path: Path) -> bool:
    """Whether it is an ELF file of type EXEC or DYN."""
    try:
        with path.open("rb") as file:
            head = file.read(18)
    except PermissionError:
        return False
    order = "big" if head[5:6] == b"\2" else "little"
    return head[:4] == b"\x7fELF" and len(head) == 18 and int.from_bytes(head[16:18], order) in (2, 3)


def shipped(directory: Path) -> dict[str, str]:
    """Executables and shared objects in the Debian packages that lie in a directory, as `elf_files` gives them."""
    found: dict[str, str] = {}
    for package in sorted(directory.glob("*.*deb")):
        if "-dbgsym_" in package.name:
            continue
        with tempfile.TemporaryDirectory(prefix="packages-") as scratch:
            subprocess.run(["dpkg-deb", "--extract", str(package), scratch], check=True)
            subprocess.run(["chmod", "-R", "u+rX", scratch], check=True)
            name = package.name.partition("_")[0]
            found |= {f"{name}/{path}": build_id for path, build_id in elf_files(Path(scratch)).items()}
    return found


def not_told(files: Mapping[str, str], messages: Iterable[Told], built: Mapping[str, str]) -> list[str]:
    """Those of the files of which no message speaks.

    A file is known by its build id, which stripping and copying keep, as one of those below the build (``built``: path
    as in messages -> build id) that a message names; one without a build id, or made again since, by its name.  Trials of
    configure scripts are left out.
    """
    paths = {one.path for one in messages}
    ids = {built[path] for path in paths if built.get(path)}
    names = {_plain_name(path) for path in paths}
    return [
        path
        for path, build_id in files.items()
        if path not in paths and not is_trial(path) and build_id not in ids and _plain_name(path) not in names
    ]


def is_trial(path: str) -> bool:
    """Whether a file is what a configure script or CMake links to try its compiler."""
    return bool(_TRIAL.search(path))


def _plain_name(path: str) -> str:
    """The file's name without what libtool puts around it while it links one again for its final place."""
    return re.sub(r"^lt-|(?<=[\d.so])[TU]$", "", os.path.basename(path))
