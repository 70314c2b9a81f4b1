"""A project's own results that a question is about: of which machine, captures and source."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from layoutrand.errors import CacheError, HostError, UsageError

if TYPE_CHECKING:
    from layoutrand.analysis.asked_results import Question
    from layoutrand.analysis.selection import Selection
    from layoutrand.build.present_parts import PresentSystem
    from layoutrand.config.config import Config
    from layoutrand.results.experiments import ResultsStore


@dataclass(frozen=True)
class Which:
    """Which results, where there are several of a system: of a machine, of captures, of whatever source.

    ``is_settled`` where all was built just now, so nothing need be compared with the present.
    """

    host: str | None = None
    captures: Sequence[str] = ()
    any_source: bool = False
    is_settled: bool = False


def load_selection(
    config: Config, directory: Path, systems: Sequence[str], benchmarks: Sequence[str], which: Which
) -> Selection:
    """The results that belong to the question; raises `UsageError` where there are none at all."""
    return load_with_second(config, directory, systems, benchmarks, which)[0]


def load_with_second(
    config: Config, directory: Path, systems: Sequence[str], benchmarks: Sequence[str], which: Which
) -> tuple[Selection, Selection]:
    """The same, and again with what `run --twice` executed a second time, which are systems of their own."""
    from layoutrand.results.file import open_for_reading

    with open_for_reading(existing_results(directory)) as store:
        return select_with_second(store, question_of(config, directory, systems, benchmarks, which))


def existing_results(directory: Path) -> Path:
    """The project's results file; raises `UsageError` where there is none."""
    from layoutrand.results.file import results_path

    path = results_path(directory)
    if not path.exists():
        raise UsageError(f"there are no results in {path}; `layoutrand run` makes them")
    return path


def question_of(
    config: Config, directory: Path, systems: Sequence[str], benchmarks: Sequence[str], which: Which
) -> Question:
    """What is asked of the results; what systems would be made from now is looked at when it is answered."""
    from layoutrand.analysis.asked_results import Question
    from layoutrand.analysis.present_captures import WantedCaptures

    look = None if which.is_settled else partial(_look, config, directory)
    return Question(
        config=config,
        project=directory,
        systems=systems,
        benchmarks=benchmarks,
        captures={},
        host=which.host,
        wanted=WantedCaptures(which.captures, which.any_source, look),
    )


def select_with_second(store: ResultsStore, question: Question) -> tuple[Selection, Selection]:
    """The selection that answers, and again with what was executed a second time."""
    from layoutrand.analysis.second_executions import with_second_executions
    from layoutrand.analysis.selection import select

    found = select(question, store)
    return found, with_second_executions(found, question, store)


def _look(config: Config, directory: Path, systems: Collection[str]) -> Mapping[str, PresentSystem]:
    """What the systems would be made from now; says nothing and builds nothing."""
    from layoutrand.build.build_setup import BuildProgress, BuildSetup
    from layoutrand.build.made_from import present_systems
    from layoutrand.build.present_parts import PresentSystem
    from layoutrand.cache.store import Cache, default_root
    from layoutrand.execute.images import image_of
    from layoutrand.platform.process import SubprocessRunner

    try:
        progress = BuildProgress(say=lambda _: None, advance=lambda: None)
        setup = BuildSetup.of(config, directory, Cache(default_root()), SubprocessRunner(), progress)
    except CacheError as error:  # a home that cannot be written to, on a machine that results were copied to
        return {name: PresentSystem({}, "", (str(error).splitlines()[0],)) for name in systems}
    image: str | None = None
    with suppress(HostError):
        image = image_of(config, directory)
    return present_systems(setup, systems, image)


def distinct_layouts(config: Config, selection: Selection) -> dict[str, int]:
    """How many layouts the program of each system can have, where these are few and its capture is here.

    None are known on a machine that results were copied to, and that has no cache.
    """
    captures = {(each.system, each.capture) for each in selection.executions if each.capture}
    few = layouts_of_captures(config, {capture for _, capture in captures})
    counts: dict[str, list[int | None]] = {}
    for system, capture in captures:
        counts.setdefault(system, []).append(few.get(capture))
    known = {system: [each for each in own if each is not None] for system, own in counts.items()}
    return {system: max(own) for system, own in known.items() if len(own) == len(counts[system])}


def layouts_of_captures(config: Config, captures: Collection[str]) -> dict[str, int]:
    """How many layouts these programs can have, of those of which that are few and which are in the cache."""
    from layoutrand.cache.store import Cache, default_root
    from layoutrand.link.one_layout import layouts_of

    try:
        cache = Cache(default_root())
    except CacheError:
        return {}
    found = {name: cache.load_capture(name) for name in captures}
    counts = {name: layouts_of(each.links, config.layout) for name, each in found.items() if each is not None}
    return {name: count for name, count in counts.items() if count is not None}
