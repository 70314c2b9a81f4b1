"""Building and executing commits: what `history --run` and `bisect` have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from layoutrand.cli.options import ProjectPart
from layoutrand.errors import UsageError

if TYPE_CHECKING:
    from layoutrand.build.build import SystemBuild
    from layoutrand.capture.checked_commits import SourceRepository
    from layoutrand.capture.commit_log import CommitLog
    from layoutrand.cli.terminal import Terminal
    from layoutrand.config.config import Config
    from layoutrand.execute.run_plan import RunChoices
    from layoutrand.execute.run_progress import Summary
    from layoutrand.model import BuildFailure
    from layoutrand.screens.failing import Failures


@dataclass(frozen=True)
class ProjectCommits:
    """The commits of a project's source, in its repository or in the mirror of that."""

    part: ProjectPart
    terminal: Terminal
    _told: set[str] = field(default_factory=set)  # causes of layouts that have no binary

    @cached_property
    def home(self) -> SourceRepository:
        """Where the source is kept; raises `UsageError` where that is no repository."""
        from layoutrand.capture.checked_commits import source_repository

        build = self.part.config.build
        if build.generated() is not None:
            raise UsageError("the source is generated for a suite, so there are no commits of it")
        return source_repository(self.part.directory.resolve(), build.source, build.repo)

    def log(self, *, fetch: bool) -> CommitLog:
        """The commits, those of a repository elsewhere brought up to date where ``fetch``."""
        from layoutrand.cache.store import Cache, default_root
        from layoutrand.capture.commit_log import CommitLog
        from layoutrand.capture.repository import Mirrors

        cache = Cache(default_root())
        return CommitLog.of(self.home, Mirrors(cache.root / "repos", cache.lock, self.terminal.say), fetch=fetch)

    def execute(
        self, commits: Sequence[str], choices: RunChoices, told: Failures | None = None
    ) -> tuple[Summary, dict[tuple[str, str], SystemBuild]]:
        """Build each system at each commit and execute all in the same rounds; what was built, by system and commit.

        Why layouts could not be made is told, each cause once.
        """
        from layoutrand.cli.running import build_and_execute

        part, wanted = self._at(commits)
        summary, results = build_and_execute(part, replace(choices, by_capture=True), self.terminal, told=told)
        built = {wanted[result.system]: result for result in results}
        self._tell(lost_layouts(built))
        return summary, built

    def _tell(self, lost: Sequence[BuildFailure]) -> None:
        from layoutrand.screens.build_screen import show_failures

        show_failures([each for each in lost if (each.cause or each.error) not in self._told], self.terminal)
        self._told.update(each.cause or each.error for each in lost)

    def build(self, commits: Sequence[str], *, retry_failed: bool) -> dict[tuple[str, str], SystemBuild]:
        """Build each system at each commit, in the layout as it was linked; by system and commit.

        What failed to build earlier is built again where ``retry_failed``.  Raises `ToolNotFound` before anything is
        built where what executes them is not there.
        """
        from layoutrand.cli.building import build_with_progress
        from layoutrand.host.launcher import find_launcher
        from layoutrand.instruments.asked_for import check_programs
        from layoutrand.model import IDENTITY

        part, wanted = self._at(commits)
        check_programs(part.config, part.benchmarks)
        if part.config.remote is None:  # nodes look for theirs
            find_launcher(part.config.run.launcher, part.directory)
        results = build_with_progress(part, [IDENTITY], self.terminal, recalls_failures=not retry_failed)
        return {wanted[result.system]: result for result in results}

    def _at(self, commits: Sequence[str]) -> tuple[ProjectPart, dict[str, tuple[str, str]]]:
        """The project with its systems at commits in place of its own, and name -> system, commit."""
        from layoutrand.config.at_commits import at_commits, name_at

        wanted = {name_at(system, commit): (system, commit) for system in self.part.systems for commit in commits}
        config = at_commits(self.part.config, wanted, self.home.url, self.home.inside)
        return replace(self.part, config=config, systems=list(wanted)), wanted


def systems_with_commits(config: Config, systems: Sequence[str], terminal: Terminal) -> list[str]:
    """The systems that can be built of any commit; of those that differ in their revision alone, the first."""
    chosen: list[str] = []
    for name in systems:
        own = config.systems[name]
        if own.prebuilt is not None:
            terminal.warn(f"system {name} is left out: it is prebuilt, so there are no commits of it")
            continue
        bare = own.model_copy(update={"rev": None, "label": None})
        twin = next(
            (each for each in chosen if config.systems[each].model_copy(update={"rev": None, "label": None}) == bare),
            None,
        )
        if twin is not None:
            terminal.warn(f"system {name} is left out: it differs from {twin} in its revision alone")
        else:
            chosen.append(name)
    if not chosen:
        raise UsageError("no system is built here, so there are no commits to build")
    return chosen


def unbuilt(results: Mapping[tuple[str, str], SystemBuild]) -> dict[str, str]:
    """Commit -> why it could not be built, where it could not."""
    found: dict[str, str] = {}
    for (_, commit), result in results.items():
        if result.capture is None:
            found[commit] = next((each.cause or each.error for each in result.failures), "it could not be built")
    return found


def lost_layouts(results: Mapping[tuple[str, str], SystemBuild]) -> list[BuildFailure]:
    """Layouts without a binary of commits that could be built, of each program once."""
    programs: dict[tuple[str, str], SystemBuild] = {}
    for (system, _), result in results.items():
        if result.capture is not None:
            programs.setdefault((system, result.capture.id), result)
    return [failure for program in programs.values() for failure in program.failures]
