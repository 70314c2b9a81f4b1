"""Why a system is built again: what of it is another than when it was built last."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from layoutrand.build.build_setup import BuildSetup
from layoutrand.build.earlier_builds import Remembered, latest_build
from layoutrand.cache.difference import FileChanges, Part, compare, compare_files
from layoutrand.capture.build_order import BuildOrder
from layoutrand.platform.disk import readable
from layoutrand.warning import plural

_SOURCE: Final = ("source.digest", "source.commit")
_MOST_NAMES: Final = 3
_MOST_PARTS: Final = 2
_LONGEST: Final = 60
_DIGESTS: Final = (40, 64)
_WORDS: Final = {
    "source.in_place": "build.in_place",
    "source.profiles_of": "where gcc's profiles in the source were trained",
    "commands": "build.commands",
    "artefacts": "build.artefacts",
    "places_data": "data is to be placed (layout.factors)",
    "moves_objects": "objects are to be ordered (layout.factors)",
    "section_flags": "sections that compilers are to make (layout.factors)",
    "archives": "layout.archives",
    "profiles": "a profile, or an order of functions, that flags name by an absolute path",
    "version": "the form of what is kept of builds",
}
"""What users know a part of a key by, where that is not its name."""
_OF_SHELL: Final = ("inherited", "cargo")
_OF_FACTORS: Final = ("places_data", "moves_objects")


@dataclass(frozen=True)
class BuiltAgain:
    """What changed since the system's latest build; ``files`` are those of its source, None where not known.

    ``kept`` says why an earlier build that would do is not used, "" where there is none.
    """

    system: str
    parts: tuple[Part, ...]
    files: FileChanges | None
    kept: str = ""

    def __str__(self) -> str:
        others = [part for part in self.parts if part.name not in _SOURCE]
        told = [self._of_source()] if len(others) < len(self.parts) else []
        if any(part.name in _OF_FACTORS for part in others):  # these ask for the sections
            others = [part for part in others if part.name != "section_flags"]
        first = {part.name.split(".", 1)[0]: part for part in reversed(others)}  # another toolchain is one reason
        chosen = [part for part in others if part in first.values()][:_MOST_PARTS]
        told += [told_part(part) for part in chosen]
        if len(others) > len(chosen):
            told.append(f"and {plural(len(others) - len(chosen), 'more part')} of its key (--explain has them)")
        told += [self.kept] if self.kept else []
        return f"{self.system}: built again: {'; '.join(told)}"

    def _of_source(self) -> str:
        if self.files is None:
            return "its source is another"
        told = ", ".join(f"{change}: {names}" for change, names in told_files(self.files, _MOST_NAMES))
        return told or "the same files are another commit, which a build may read"


def why_again(setup: BuildSetup, order: BuildOrder, kept: str = "") -> BuiltAgain | None:
    """What is new in a build that has to be made; None where no earlier one is remembered, or all of it is the same.

    ``kept`` says why an earlier build that would do is not used.
    """
    system = order.recipe.system
    latest = latest_build(setup, system, order.recipe.variant)
    if latest is None:
        return BuiltAgain(system, (), None, kept) if kept else None
    parts = tuple(part for part in changed_parts(order, latest) if part.change != "same")
    return BuiltAgain(system, parts, changed_files(setup, order, latest), kept) if parts or kept else None


class TellsWhy:
    """Told that a build is made, tells the user why; and knows afterwards whether it was."""

    def __init__(self, setup: BuildSetup, order: BuildOrder) -> None:
        """For the build of that order."""
        self.is_built = False
        self._setup, self._order = setup, order

    def __call__(self, kept: str) -> None:
        """The build is made; ``kept`` says why an earlier one does not do, "" where there was none."""
        self.is_built = True
        if self._order.recipe.variant == "capture":
            reason = why_again(self._setup, self._order, kept)
            if reason is not None:
                self._setup.progress.say(str(reason))
            return
        self._setup.progress.stock_begins()
        if kept:  # what else is new is told of the capture
            self._setup.progress.say(f"{self._order.recipe.system}: its stock build is made again: {kept}")


def changed_parts(order: BuildOrder, latest: Remembered | None) -> list[Part]:
    """Every part of the order's key against that of the latest build."""
    now = json.loads(json.dumps(order.facts))  # as they are remembered: a tuple there is a list
    return compare(None if latest is None else latest.facts, now)


def changed_files(setup: BuildSetup, order: BuildOrder, latest: Remembered) -> FileChanges | None:
    """Files of the source that changed since, as far as it can be known."""
    was, now = latest.facts["source"], order.facts["source"]
    if was == now:
        return None
    if order.origin.contents is not None:
        return None if latest.contents is None else compare_files(latest.contents, order.origin.contents)
    if "commit" not in was:
        return None
    changes = setup.origins.mirrors.changes(order.origin.about["repo"], was["commit"], now["commit"])
    if changes is None:
        return None
    kinds = {kind: tuple(sorted(name for k, name in changes if k == kind)) for kind in "AD"}
    return FileChanges(kinds["A"], kinds["D"], tuple(sorted(name for kind, name in changes if kind not in "AD")))


def told_part(part: Part) -> str:
    """What became of one part of a key, in words."""
    where, _, variable = part.name.partition(".")
    name = f"{variable} of the environment" if where in _OF_SHELL else _WORDS.get(part.name, part.name)
    if part.change == "added":
        return f"{name}: now {_short(part.now)}, not there before"
    if part.change == "removed":
        return f"{name}: was {_short(part.was)}, not there now"
    return f"{name}: was {_short(part.was)}, now {_short(part.now)}"


def told_files(files: FileChanges, most: int) -> list[tuple[str, str]]:
    """What became of files, each with names of at most so many of them."""
    told = []
    for change in ("changed", "added", "removed"):
        names = getattr(files, change)
        if names:
            more = f" and {len(names) - most} more" if len(names) > most else ""
            told.append((change, f"{', '.join(readable(name) for name in names[:most])}{more}"))
    return told


def _short(value: Any) -> str:
    if isinstance(value, str) and len(value) in _DIGESTS and not set(value) - set("0123456789abcdef"):
        return value[:12]
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 4]} ..."
