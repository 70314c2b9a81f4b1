"""One system at two commits: built, compared by content, its layouts linked as rounds need them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from layoutrand.build.build import SystemBuild
from layoutrand.build.build_setup import refuse_twins
from layoutrand.build.loaded_programs import loaded_program
from layoutrand.capture.function_changes import FunctionChanges, function_changes, named_readably
from layoutrand.check.question import CheckQuestion, CheckTools
from layoutrand.config.config import Config
from layoutrand.config.two_commits import BASE, HEAD, without_artefacts
from layoutrand.execute.run_plan import RunChoices, RunRequest
from layoutrand.execute.run_request import make_request
from layoutrand.linkers.known import linker
from layoutrand.model import STOCK, Binary, BuildFailure, LayoutName
from layoutrand.platform.disk import sha256_bytes
from layoutrand.results.file import check_usable

FOLDER: Final = "check"
"""Below a project's results: a results file for each pair of captures."""


@dataclass
class CommitPair:
    """The builds of one system at both commits; ``config`` has the systems `BASE` and `HEAD`."""

    question: CheckQuestion
    tools: CheckTools
    system: str
    config: Config
    builds: list[SystemBuild] = field(default_factory=list)
    linked: set[LayoutName] = field(default_factory=set)

    def capture(self) -> None:
        """Build both commits, but no layout of them."""
        self.builds = self.tools.build(self.system, self.config, self._first_layouts(), None)
        self.linked = set(self._first_layouts())

    def capture_of_both(self, judged: Collection[str]) -> list[str]:
        """The same, but of those artefacts alone that BASE makes, too, where HEAD adds some.

        The names of the benchmarks that execute what HEAD adds, which nothing of BASE can be compared with.  Where no
        other is ``judged`` all are built, and BASE fails.
        """
        self.capture()
        added: list[str] = []
        while absent := self._absent_at_base():
            config, dropped = without_artefacts(self.config, absent)
            if not set(judged).difference(added, dropped):
                break
            self.tools.say(
                f"{self.question.base.label} makes no {', '.join(absent)}, so commits are compared without it"
            )
            self.config, added = config, [*added, *dropped]
            self.capture()
        return added

    def _absent_at_base(self) -> list[str]:
        """Artefacts that HEAD's build made, and BASE's did not, which is all that it failed for."""
        base, head = self.builds
        if base.capture is not None or head.capture is None:
            return []
        absent = list(dict.fromkeys(each.absent for each in base.failures))
        return absent if all(absent) else []

    def _first_layouts(self) -> list[LayoutName]:
        """What there has to be to tell whether a build fails: in rebuild mode a build is one of a layout."""
        return [] if self.config.build.mode == "relink" else [1]

    @property
    def is_built(self) -> bool:
        """Whether there are captures of both, or in rebuild mode binaries."""
        if self.config.build.mode == "relink":
            return all(each.capture is not None for each in self.builds)
        return all(each.binaries for each in self.builds)

    @property
    def captures(self) -> tuple[str, str]:
        """Ids of both captures; "" where there is none."""
        found = [each.capture.id if each.capture else "" for each in self.builds]
        return found[0], found[1]

    @property
    def recorded(self) -> dict[str, str]:
        """What executions of both are recorded under, by system; {} where there are no captures."""
        return dict(self.request().built.captures) if all(self.captures) else {}

    @property
    def has_own_objects(self) -> bool:
        """Whether what is linked is in a form of the linker's own, such as Go's, so that only programs are compared."""
        captures = [each.capture for each in self.builds if each.capture is not None]
        return any(linker(link.linker).own_objects for capture in captures for link in capture.links)

    def changes(self) -> list[FunctionChanges] | None:
        """What differs, by content; None where builds leave no objects whose functions can be compared."""
        base, head = (each.capture for each in self.builds)
        if base is None or head is None or not (base.links and head.links) or self.config.build.mode != "relink":
            return None
        if self.has_own_objects:
            return None
        folders = self.tools.cache.capture_path(base.id), self.tools.cache.capture_path(head.id)
        return named_readably(function_changes(folders, (base, head)), self.tools.readable)

    def loads_the_same(self) -> bool:
        """Whether the binaries of one layout of both are the same in all that is loaded."""
        self.link([1])
        base, head = (loaded_program(build.binaries, 1) for build in self.builds)
        return bool(base) and base == head

    def link(self, layouts: Sequence[LayoutName]) -> None:
        """Make those of the layouts that there are not yet, of both commits."""
        missing = [layout for layout in layouts if layout not in self.linked]
        if not missing:
            return
        if STOCK in missing or self.config.build.mode != "relink" or self.config.layout.by_address:
            found = self.tools.build(self.system, self.config, missing, None)
        else:
            captures = {each.system: each.capture.id for each in self.builds if each.capture is not None}
            found = self.tools.build(self.system, self.config, missing, captures)
        self.builds = [_together(mine, more) for mine, more in zip(self.builds, found, strict=True)]
        self.linked |= set(missing)

    def request(self) -> RunRequest:
        """To execute what is linked."""
        seeds = sorted(layout for layout in self.linked if isinstance(layout, int))
        before = self.question.retry_before
        choices = RunChoices(
            benchmarks=self.question.entries,
            seeds=seeds,
            retry_failed=before is not None,
            retry_before=before or 0.0,
            wait_s=self.question.wait_s,
            share_machine=self.question.share_machine,
            is_round=True,
        )
        return make_request(self.config, self.question.project, self.builds, choices)

    def results_path(self) -> Path:
        """The results file of just these two programs: another call with them goes on there."""
        revisions = [self.config.systems[name].rev or "" for name in (BASE, HEAD)]
        known = self.captures if all(self.captures) else revisions
        digest = sha256_bytes("\0".join([self.system, *known]).encode())[:16]
        return self.question.project / ".layoutrand" / FOLDER / f"{digest}.sqlite"


def check_results_usable(project: Path) -> None:
    """Raise `ResultsError` where no check could record anything, before both commits are built."""
    check_usable(project / ".layoutrand" / FOLDER / "results.sqlite")  # each check's own is named by what is built


def recorded_checks(project: Path) -> list[Path]:
    """The results files of a project's checks."""
    return sorted((project / ".layoutrand" / FOLDER).glob("*.sqlite"))


def _together(mine: SystemBuild, more: SystemBuild) -> SystemBuild:
    """The same build with more layouts; notes that were told before are not told again.

    A layout that is one of before under another seed is a failure here, as it is where both are made at once.
    """
    rows: dict[str, list[Binary | BuildFailure]] = {}
    for binary in (*mine.binaries, *more.binaries):
        rows.setdefault(binary.artefact, []).append(binary)
    told = [each for row in refuse_twins(rows).values() for each in row]
    notes = tuple(note for note in more.notes if note not in mine.notes)
    return replace(
        mine,
        binaries=tuple(each for each in told if isinstance(each, Binary)),
        failures=(*mine.failures, *more.failures, *(each for each in told if isinstance(each, BuildFailure))),
        notes=(*mine.notes, *notes),
        jvms={**mine.jvms, **more.jvms},
        facts=mine.facts or more.facts,
        coupled=more.coupled or mine.coupled,
    )
