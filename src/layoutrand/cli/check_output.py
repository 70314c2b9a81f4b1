"""How `layoutrand check` answers: a screen, tables in full, or one of the formats of CI systems."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from layoutrand.cli.options import leave_out_of_source
from layoutrand.cli.terminal import Terminal, terminal_width
from layoutrand.errors import UsageError
from layoutrand.screens.check_screen import check_screen, show_full
from layoutrand.text.strict_json import json_text

if TYPE_CHECKING:
    from layoutrand.analysis.conclusion import Verdict
    from layoutrand.check.question import CheckAnswer
    from layoutrand.screens.failing import Failures

FORMATS: Final = ("text", "github", "gitlab", "junit", "markdown", "json")
SUMMARY: Final = "GITHUB_STEP_SUMMARY"
"""The variable that names the file which a step of GitHub Actions shows beside its log."""


@dataclass(frozen=True)
class CheckOutput:
    """What was asked for: the format on standard output, (format, file) of what is written, and whether in full.

    ``failing`` are the verdicts that fail.
    """

    format: str
    files: Sequence[tuple[str, Path]]
    full: bool
    failing: Collection[Verdict]

    @classmethod
    def of(cls, format_name: str, outputs: Sequence[str], *, full: bool, failing: Collection[Verdict]) -> CheckOutput:
        """As the options have it; raises `UsageError`."""
        _known(format_name, FORMATS, "--format")
        files = []
        for text in outputs:
            name, separator, path = text.partition("=")
            if not separator or not path:
                raise UsageError(f"--output {text}: write FORMAT=FILE, such as junit=check.xml")
            _known(name, FORMATS[1:], "--output")
            files.append((name, Path(path)))
        return cls(format_name, tuple(files), full, failing)

    @property
    def is_document(self) -> bool:
        """Whether standard output is for a program."""
        return self.format != "text"

    def show(self, answer: CheckAnswer, terminal: Terminal, told: Failures) -> None:
        """Print the answer, and write it into the files; ``told`` are failures that were told meanwhile."""
        show_failed(answer, terminal, told)
        for name, path in self.files:
            _write(path, self._document(answer, name))
        leave_out_of_source(answer.question.config, answer.question.project, [path for _, path in self.files], terminal)
        if self.format == "github":
            self._to_github(answer)
        elif self.format != "text":
            sys.stdout.write(self._document(answer, self.format))
        elif self.full:
            show_full(answer, terminal)
        else:
            terminal.screen(check_screen(answer, terminal_width()))

    def _document(self, answer: CheckAnswer, name: str) -> str:
        from layoutrand.check.check_document import check_document
        from layoutrand.check.ci_formats import github_annotations, gitlab_code_quality, junit
        from layoutrand.check.comment import comment

        match name:
            case "json":
                return json_text(check_document(answer))
            case "github":
                return "".join(f"{line}\n" for line in github_annotations(answer, self.failing, *_places(answer)))
            case "gitlab":
                return json_text(gitlab_code_quality(answer, self.failing, *_places(answer)))
            case "junit":
                return junit(answer, self.failing)
            case _:
                return comment(answer)

    def _to_github(self, answer: CheckAnswer) -> None:
        """Annotations, and the comment: appended to the summary of the step where there is one, else behind them."""
        annotations, text = (self._document(answer, name) for name in ("github", "markdown"))
        sys.stdout.write(annotations)
        summary = os.environ.get(SUMMARY)
        if not summary:
            sys.stdout.write(text)
            return
        with _writable(Path(summary)), Path(summary).open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")


def _known(name: str, formats: Sequence[str], option: str) -> None:
    if name not in formats:
        raise UsageError(f"{option} {name}: there are {', '.join(formats)}")


def _write(path: Path, text: str) -> None:
    from layoutrand.platform.foreign import write_text

    write_text(path, text)


@contextmanager
def _writable(path: Path) -> Iterator[None]:
    """A place where a file is written: what stands in the way is told with its name."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def _places(answer: CheckAnswer) -> tuple[Mapping[str, int], str]:
    """Benchmark -> line of layoutrand.toml, and the directory of that file in its repository."""
    from layoutrand.capture.checked_commits import source_repository
    from layoutrand.config.lines import lines_of
    from layoutrand.library.project_directory import CONFIG_NAME

    project = answer.question.project.resolve()
    found = lines_of((project / CONFIG_NAME).read_text("utf-8"))
    names = [each.name for each in answer.question.config.benchmarks]
    of_entries = {name: found.get(f"benchmarks[{number}]", 1) for number, name in enumerate(names)}
    judged = [each.quantity for _, each in answer.benchmarks]
    lines = of_entries | {each.benchmark: of_entries.get(each.executed, 1) for each in judged}
    try:
        return lines, source_repository(project, ".", None).inside
    except UsageError:  # the configuration lies outside of the repository that it builds
        return lines, ""


def show_failed(answer: CheckAnswer, page: Terminal, told: Failures) -> None:
    """What could not be built or executed, what was left out, and what builds remarked."""
    from layoutrand.screens.build_screen import show_failures
    from layoutrand.screens.failing import warn_folded

    for name, why in answer.not_checked.items():
        page.say(f"system {name} is left out: it {why}")
    for system in answer.systems:
        display = page.about(system.system) if len(answer.systems) > 1 else page
        show_failures(system.build_failures, display)
        warn_folded(system.notes, display)
    told.conclude([each for system in answer.systems for each in system.failures], page)
