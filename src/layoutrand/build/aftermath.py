"""What a wrapped command left: where the outputs of its links are now, and programs that no wrapper saw the link of.

Only contents tell: a program is moved, copied, stripped and installed under other names after its link.  What a file
and the link it comes from have in common is its build id or its code (`build.descent.Marks`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from layoutrand.build import descent
from layoutrand.build.apply import LinkOutcome
from layoutrand.build.descent import Marks
from layoutrand.build.programs import installed, programs_in
from layoutrand.capture.records import LinkRecord
from layoutrand.errors import FeatureUnsupported
from layoutrand.linkers.trials import is_of_a_trial
from layoutrand.objects import elf
from layoutrand.platform.regular_file import PROGRAM, content_of_regular

_LIBRARIES: Final = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")


@dataclass(frozen=True)
class Aftermath:
    """What there is when the command has ended.

    ``present`` are outcomes with the path where the output is now; ``gone`` those of which nothing is left where it
    was linked, nor below the directory of the command.  ``unseen`` are programs made meanwhile that come from no
    recorded link, nor from a file that was there before.
    """

    present: tuple[tuple[LinkOutcome, str], ...]
    gone: tuple[LinkOutcome, ...]
    unseen: tuple[str, ...]


def look(
    folder: Path, tree: str, since_ns: int, records: Sequence[LinkRecord], outcomes: Sequence[LinkOutcome]
) -> Aftermath:
    """Look at what a command left below ``folder``; ``tree`` is the build's, ``outcomes`` those of the ``records``."""
    new, old = programs_in(folder, since_ns)
    news = {path: _marks(path) for path in new if not is_of_a_trial(str(path), tree)}
    known = _Known()
    for record in records:
        known.add(_recorded(record.path))
    at = {os.path.realpath(record.output()) for record in records}
    strange = [path for path, marks in news.items() if os.path.realpath(path) not in at and not known.has(marks)]
    present, gone = _found(outcomes, news)
    return Aftermath(present, gone, tuple(str(path) for path in _made(strange, news, old)))


def _found(
    outcomes: Sequence[LinkOutcome], news: dict[Path, Marks]
) -> tuple[tuple[tuple[LinkOutcome, str], ...], tuple[LinkOutcome, ...]]:
    """Where each output is now: at its place, unless a later link wrote there, or where its descendants are."""
    taken: set[str] = set()
    present: list[tuple[LinkOutcome, str]] = []
    gone: list[LinkOutcome] = []
    for outcome in reversed(outcomes):
        place = os.path.realpath(outcome.output)
        if place not in taken and os.path.isfile(place):
            taken.add(place)
            present.append((outcome, outcome.output))
            continue
        own = _recorded(outcome.record)
        where = next((path for path, its in news.items() if str(path) not in taken and _same_link(own, its)), None)
        if where is None:
            gone.append(outcome)
        else:
            taken.add(str(where))
            present.append((outcome, str(where)))
    return tuple(reversed(present)), tuple(reversed(gone))


def _made(strange: Sequence[Path], news: dict[Path, Marks], old: Sequence[Path]) -> list[Path]:
    """Those of the strange programs that hold code, and are no copies of what was there before or of the system's."""
    left = [path for path in strange if news[path].code]
    sources: list[Callable[[], Iterable[Path]]] = [lambda: old, lambda: installed(_sizes(left), _folders())]
    for source in sources:
        if left:
            known = _Known()
            for path in source():
                known.add(_marks(path))
            left = [path for path in left if not known.has(news[path])]
    return left


def _sizes(paths: Iterable[Path]) -> list[int]:
    return [path.stat().st_size for path in paths]


def _folders() -> list[Path]:
    """Where the system has its programs and libraries."""
    named = [Path(folder) for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if folder]
    libraries = [Path(folder) for folder in _LIBRARIES]
    return [*named, *libraries, *Path("/usr/lib").glob("*-linux-gnu*")]


@dataclass
class _Known:
    """Marks of files that something may descend from."""

    build_ids: set[str] = field(default_factory=set)
    codes: set[str] = field(default_factory=set)

    def add(self, marks: Marks) -> None:
        self.build_ids |= {marks.build_id} - {""}
        self.codes |= {marks.code} - {""}

    def has(self, marks: Marks) -> bool:
        return marks.build_id in self.build_ids or marks.code in self.codes


def _same_link(first: Marks, second: Marks) -> bool:
    """Whether two files come from one link: by their build ids where both have one, since small programs share code."""
    if first.build_id and second.build_id:
        return first.build_id == second.build_id
    return first.code == second.code != ""


def _recorded(folder: Path) -> Marks:
    try:
        return Marks(**json.loads((folder / "marks.json").read_bytes()))
    except FileNotFoundError:  # the link failed, or wrote nothing that could be known again
        return Marks("", "")


def _marks(path: Path) -> Marks:
    try:
        return descent.marks(elf.read(content_of_regular(path, largest=PROGRAM), name=str(path)))
    except (OSError, FeatureUnsupported):
        return Marks("", "")
