"""What every way of building shares: where it happens, threads that can be interrupted, failures, and twins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from layoutrand.build.claims import NOT_COMPARABLE
from layoutrand.build.shared_failures import SharedFailures
from layoutrand.cache.store import Cache
from layoutrand.capture.companions import companions
from layoutrand.capture.origin import Origins, Say
from layoutrand.config.config import Config
from layoutrand.linkers.toolbox import Toolboxes
from layoutrand.model import Binary, BuildFailure, LayoutName
from layoutrand.platform.interrupts import prompt_interrupts
from layoutrand.platform.process import Runner, Turns

if TYPE_CHECKING:  # what links takes longer to import than a build in which everything is found
    from layoutrand.build.linking import Linking, Reference


@dataclass(frozen=True)
class BuildProgress:
    """How `build` reports while it works: ``say`` takes a line, ``advance`` is called after each layout.

    ``stock_begins`` is called before each build that is made for a stock binary.
    """

    say: Say
    advance: Callable[[], None]
    stock_begins: Callable[[], None] = lambda: None


class LinkingNodes(Protocol):
    """Other machines that link layouts of a build."""

    def link(
        self, linking: Linking, layouts: Sequence[LayoutName], reference: Reference, advance: Callable[[], None]
    ) -> dict[LayoutName, Binary | BuildFailure]:
        """Every layout's binary in this machine's cache, or why there is none; ``advance`` is called after each."""

    def stop(self) -> None:
        """Give nothing out any more and wait for nothing, from any thread."""


@dataclass(frozen=True)
class BuildSetup:
    """Where and with what everything is built; layouts are linked on ``nodes`` where there are some.

    ``failed`` is what builds failed for that others would fail for, too. ``turns`` are as many as the ``jobs`` of the
    whole call: builds and linkers that work at the same time share them.  ``recalls_failures``: what failed of a
    commit in an earlier call is not built again.
    """

    config: Config
    project: Path
    cache: Cache
    runner: Runner
    jobs: int
    progress: BuildProgress
    origins: Origins
    toolboxes: Toolboxes
    turns: Turns
    nodes: LinkingNodes | None = None
    failed: SharedFailures = field(default_factory=SharedFailures)
    recalls_failures: bool = False

    @classmethod
    def of(
        cls, config: Config, project: Path, cache: Cache, runner: Runner, progress: BuildProgress, *, jobs: int = 1
    ) -> BuildSetup:
        """Of one call: no source has been looked for yet."""
        origins = Origins(project, cache, progress.say)
        return cls(config, project, cache, runner, jobs, progress, origins, Toolboxes(project, runner), Turns(jobs))


@contextmanager
def threads(setup: BuildSetup, workers: int) -> Iterator[ThreadPoolExecutor]:
    """Threads whose builds end at once when the main thread is interrupted, instead of being waited for."""
    pool = ThreadPoolExecutor(workers)
    with prompt_interrupts():
        try:
            yield pool
        except BaseException:
            setup.runner.stop()
            setup.origins.stop()
            if setup.nodes is not None:
                setup.nodes.stop()
            pool.shutdown(cancel_futures=True)
            raise
        pool.shutdown()


def refuse_twins(rows: Mapping[str, Sequence[Binary | BuildFailure]]) -> dict[str, list[Binary | BuildFailure]]:
    """Two seeds with the same text are one binary, not two: the later is a failure, since it would count twice.

    ``rows`` has the results of each artefact. What an artefact needs is executed with it: so two layouts of a small
    program in front of a library are two where the library's are.
    """
    needs = companions(rows)
    text = {(r.artefact, r.layout): r.text_sha256 for row in rows.values() for r in row if isinstance(r, Binary)}
    return {artefact: _distinct(row, needs[artefact], text) for artefact, row in rows.items()}


def _distinct(
    row: Sequence[Binary | BuildFailure], needs: Sequence[str], text: Mapping[tuple[str, LayoutName], str]
) -> list[Binary | BuildFailure]:
    first: dict[tuple[str, ...], LayoutName] = {}
    kept: list[Binary | BuildFailure] = []
    for result in row:
        if isinstance(result, Binary) and isinstance(result.layout, int):
            whole = (result.text_sha256, *(text.get((other, result.layout), "") for other in needs))
            twin = first.setdefault(whole, result.layout)
            if twin != result.layout:
                result = BuildFailure(  # noqa: PLW2901 - the binary becomes a failure
                    result.system, result.artefact, result.layout, _twin(result, twin), None
                )
        kept.append(result)
    return kept


def _twin(binary: Binary, twin: LayoutName) -> str:
    proof = binary.verification
    if proof is not None and proof.post_processed == NOT_COMPARABLE:
        return (
            f"the same file as of seed {twin}, though the program linked inside the build has another layout: "
            f"{binary.artefact} does not contain that program, or a step after the link undoes its layout"
        )
    return (
        f"the same code in the same order as seed {twin}: {binary.artefact} has too few placeable sections for this "
        'many seeds; add "padding" to layout.factors, or take fewer seeds'
    )
