"""What tells programs from each other beside the files that are executed: words of their own, files beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from layoutrand.config.config import Benchmark, Config
from layoutrand.model import BinaryName

Digests = Mapping[tuple[str, str], Mapping[BinaryName, str]]
_HOME: Final = "{home}"


@dataclass(frozen=True)
class Programs:
    """Of a configuration: the words that each system gives its programs, and what a file alone is all of.

    ``told_by_file`` names benchmarks that execute one artefact, which needs no other and nothing of a directory of its
    system: two such files that are the same are one program.  ``digests`` say of imported results (system, benchmark
    -> layout) which program each layout is, "" where a file does not.
    """

    arguments: Mapping[str, str] = field(default_factory=dict)
    told_by_file: frozenset[str] = frozenset()
    digests: Digests = field(default_factory=dict)


def programs(config: Config, benchmarks: Sequence[Benchmark]) -> Programs:
    """What the configuration says of these benchmarks."""
    return Programs(
        arguments={name: system.args for name, system in config.systems.items()},
        told_by_file=frozenset(
            each.name
            for each in benchmarks
            if len(each.needs(config.build)) == 1 and not any(_HOME in word for word in each.command)
        ),
    )
