"""A program to change: its source as a git repository, its two projects (simulated and timed), and plain builds of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inert import more_programs, proof
from inert.changes import Change, SourceTree
from inert.more_programs import CINT, MORE
from inert.work import Workload

CINT_PROGRAMS = tuple(each["name"] for each in tomllib.loads((CINT / "programs.toml").read_text())["programs"])
PROGRAMS = (*CINT_PROGRAMS, *MORE)
SIZES = {"cycles": "tiny", "time": "test"}
"""Sizes of examples/cint: counts repeat to the digit, however short; time needs executions of some tenths of a second."""

_SAME_TIME = "find . -print0 | xargs -0 touch -h -d @1600000000"
"""A checkout gives files the times that it was made at, in any order, and make would take generated files for old."""
_WHO = {
    **{f"GIT_{who}_NAME": "inert" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "inert@localhost" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_DATE": "1600000000 +0000" for who in ("AUTHOR", "COMMITTER")},
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
}


class NotBuilt(Exception):
    """A build of a program failed; the message has the end of what it said."""


@dataclass(frozen=True)
class Program:
    """One program below the directory of the study."""

    name: str
    directory: Path

    @property
    def repository(self) -> Path:
        """The work tree of its repository: build.sh, and the source in a directory of the program's name."""
        return self.directory / "source"

    def project(self, metric: str) -> Path:
        """The project directory for ``cycles`` or ``time``."""
        return self.directory / metric

    def benchmark(self, metric: str) -> dict[str, Any]:
        """The program's benchmark in its layoutrand.toml."""
        found: dict[str, Any] = tomllib.loads((self.project(metric) / "layoutrand.toml").read_text())["benchmarks"][0]
        return found

    def workload(self, metric: str) -> Workload:
        """What is executed."""
        project, benchmark = self.project(metric), self.benchmark(metric)
        return Workload(
            arguments=tuple(benchmark["command"][1:]),
            files=tuple(project / file for file in benchmark.get("files", [])),
            stdin=project / benchmark["stdin"] if "stdin" in benchmark else None,
            expected=(project / benchmark["expect_stdout"]).read_bytes(),
        )

    def prepare(self, archives: Path, *, private_lists: bool) -> None:
        """Have the projects and the repository, unless they are there."""
        if (self.directory / "ready").exists():
            return
        shutil.rmtree(self.directory, ignore_errors=True)
        for metric, size in SIZES.items():
            if self.name in MORE:
                more_programs.prepare(self.name, self.project(metric), size, archives, private_lists=private_lists)
            else:
                _prepare_cint(self.name, self.project(metric), size, archives, private_lists=private_lists)
            _point_at_repository(self.project(metric) / "layoutrand.toml")
        shutil.copytree(self.project("cycles") / "src", self.repository, symlinks=True)
        for path in [*self.repository.rglob(".gitattributes"), *self.repository.rglob(".gitignore")]:
            path.unlink()
        self._git("init", "--quiet", "--initial-branch=base")
        self._git("add", "--all", "--force")
        self._git("commit", "--quiet", "--message", "As it is")
        if self.name in MORE:
            self.record()
        (self.directory / "ready").touch()

    def record(self) -> None:
        """Write the reference outputs, which every change has to give as well, by executing the base."""
        built = self.build("base", "-O2")
        for metric in SIZES:
            project, benchmark = self.project(metric), self.benchmark(metric)
            place = project / "record"
            place.mkdir()
            for file in benchmark.get("files", []):
                shutil.copy(project / file, place)
            given = (project / benchmark["stdin"]).read_bytes() if "stdin" in benchmark else b""
            command = [str(built), *benchmark["command"][1:]]
            done = subprocess.run(command, cwd=place, input=given, capture_output=True, check=True)
            (project / "reference").mkdir(exist_ok=True)
            (project / benchmark["expect_stdout"]).write_bytes(done.stdout)
            shutil.rmtree(place)

    def tree(self, stems: Sequence[str]) -> SourceTree:
        """The source of the base."""
        self._git("checkout", "--quiet", "--force", "base")
        self._git("clean", "--quiet", "--force", "-d", "-x")
        return SourceTree.of(self.repository, stems, self.name)

    def commit(self, name: str, change: Change) -> str:
        """A commit of the change on the base, on a branch of this name; the same change is the same commit."""
        self._git("checkout", "--quiet", "--force", "base")
        self._git("clean", "--quiet", "--force", "-d", "-x")
        change.apply(self.repository)
        self._git("checkout", "--quiet", "-B", f"change/{name}")
        self._git("add", "--all", "--force")
        self._git("commit", "--quiet", "--message", change.what)
        found = self._git("rev-parse", "HEAD")
        self._git("checkout", "--quiet", "--force", "base")
        return found.strip()

    def has(self, commit: str) -> bool:
        """Whether the commit is in this repository."""
        words = ["git", "cat-file", "-e", f"{commit}^{{commit}}"]
        return (
            subprocess.run(words, cwd=self.repository, env={**os.environ, **_WHO}, capture_output=True).returncode == 0
        )

    def build(self, commit: str, flags: str) -> Path:
        """Build a commit without layoutrand, always at the same path; the artefact.  Raises `NotBuilt`."""
        place = self.directory / "build"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        packed = subprocess.run(
            ["git", "archive", "--format=tar", commit], cwd=self.repository, capture_output=True, check=True
        )
        subprocess.run(["tar", "-x"], cwd=place, input=packed.stdout, check=True)
        subprocess.run(["sh", "-c", _SAME_TIME], cwd=place, check=True)
        done = subprocess.run(
            ["./build.sh", "1"],
            cwd=place,
            env={**_compilers(self.directory.parent), "CFLAGS": flags, "CXXFLAGS": flags},
            capture_output=True,
            text=True,
            errors="replace",
        )
        artefact = place / str(self.benchmark("cycles")["artefact"])
        if done.returncode != 0 or not artefact.exists():
            raise NotBuilt((done.stderr or done.stdout)[-600:])
        return artefact

    def revision(self, name: str) -> str:
        """The commit that a branch stands for."""
        return self._git("rev-parse", name).strip()

    def object_stems(self) -> list[str]:
        """Stems of the objects of what was built last."""
        return sorted({path.stem for path in proof.objects(self.directory / "build")})

    def kept(self, artefact: Path, name: str) -> Path:
        """A copy of a built program that the next build leaves alone."""
        place = self.directory / "built" / name
        place.parent.mkdir(exist_ok=True)
        shutil.copy(artefact, place)
        return place

    def _git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.repository, env={**os.environ, **_WHO}, capture_output=True, text=True, check=True
        )
        return done.stdout


def _compilers(directory: Path) -> dict[str, str]:
    """The environment of a plain build: the compilers through ccache where there is one, which gives the same objects."""
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "LC_ALL": "C"}
    if cached := through_ccache(directory):
        environment |= {"CC": str(_CCACHE / "gcc"), "CXX": str(_CCACHE / "g++"), **cached}
    return environment


_CCACHE = Path("/usr/lib/ccache")


def through_ccache(directory: Path) -> dict[str, str]:
    """Variables with which gcc and g++ are ccache, also behind layoutrand's wrappers; {} where there is none."""
    if not all((_CCACHE / name).exists() for name in ("gcc", "g++")):
        return {}
    return {"PATH": f"{_CCACHE}:{os.environ['PATH']}", "CCACHE_DIR": str(directory / "ccache")}


def _prepare_cint(name: str, target: Path, size: str, archives: Path, *, private_lists: bool) -> None:
    words = ["--programs", name, "--size", size, "--systems", "O2", "--archives", str(archives)]
    words += ["--metric", "cachegrind" if size == "tiny" else "wall"]
    words += ["--private-lists"] if private_lists else []
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, str(CINT / "prepare"), *words, str(target)], check=True, stdout=subprocess.DEVNULL)


def _point_at_repository(path: Path) -> None:
    """Have the project build commits of the program's repository."""
    text = path.read_text()
    commands = f'commands = ["{_SAME_TIME}", "./build.sh {{jobs}}"]'
    changed = text.replace(
        'source = "src"\ncommands = ["./build.sh {jobs}"]', f'repo = "../source"\nrev = "base"\n{commands}'
    )
    assert changed != text, path
    path.write_text(changed)
