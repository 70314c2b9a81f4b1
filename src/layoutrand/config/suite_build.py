"""What a suite's adapter makes beyond what a user can write: a build and benchmarks with files of their own.

They are ordinary in every other way, so what comes after them need not know of suites.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from layoutrand.config.config import Benchmark, Build, GeneratedSource


class SuiteBuild(Build):
    """A build by a suite's own tools: its source are the generated ``files`` (path -> text).

    ``outside`` are directories and files of the installation whose contents decide what is built: their digests are
    part of the build's key, their places are not.  ``suffix`` is what the suite puts behind the name of an executable.
    """

    files: dict[str, str]
    outside: list[str]
    suffix: str

    def generated(self) -> GeneratedSource:
        """See `Build.generated`."""
        return GeneratedSource(self.files, self.outside)

    def expected(self) -> dict[str, list[str]]:
        """Directory of executables -> names of the executables that belong there, without the suffix."""
        found: dict[str, list[str]] = {}
        for path in map(PurePosixPath, self.artefacts):
            found.setdefault(str(path.parent), []).append(path.name.removesuffix(self.suffix))
        return found


class SuiteBenchmark(Benchmark):
    """A benchmark that is executed by a suite's own tools.

    ``artefacts`` are those that it needs, of the many that the build makes; ``generated`` files (name -> text) are
    written anew into the working directory of each execution.
    """

    artefacts: list[str]
    generated: dict[str, str]

    def needs(self, build: Build) -> list[str]:
        """See `Benchmark.needs`."""
        del build
        return self.artefacts

    def written_anew(self) -> dict[str, str]:
        """See `Benchmark.written_anew`."""
        return self.generated

    def written_facts(self) -> dict[str, list[str]]:
        """The generated files without comments and empty lines, which may be worded otherwise one day."""
        return {
            name: [line for line in text.split("\n") if _says_something(line)] for name, text in self.generated.items()
        }


def _says_something(line: str) -> bool:
    bare = line.strip()
    return bool(bare) and not bare.startswith("#")
