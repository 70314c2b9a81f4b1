"""How what a system's binaries were made from differs from the present; `made_from.py` finds out what that is.

Apart from it, since whoever reads results needs this, and nothing of what builds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Final

from layoutrand.cache.difference import compare, compare_files
from layoutrand.model import BuiltFrom, Context
from layoutrand.platform.disk import readable
from layoutrand.text.name_lists import first_names

_RECORD: Final = "made_from"
"""Under which contexts kept it before they had it by system, among what a capture was made with."""

_NO_PART: Final = frozenset({"variant", "inherited", "mode"})
"""Parts that may be others at any time, as variables of a shell are, or `--mode`: they decide only between results."""

_OF_THIS_MACHINE: Final = frozenset({"toolchain", "tools", "section_flags"})
"""Parts that results of another machine need not share with what would be built here."""

_PAPERS: Final = frozenset(
    {".csv", ".html", ".json", ".log", ".md", ".out", ".pdf", ".png", ".rst", ".svg", ".tex", ".txt"}
)  # what layoutrand writes where it is told to, and what people write about a program
_MOST_NAMED: Final = 4
_SHORT: Final = 240
_NAMED_COMMIT: Final = re.compile("commit ([0-9a-f]{7,})")
_DIGEST: Final = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class Difference:
    """How what was recorded differs from the present: ``parts`` in words, and ``papers``, files that no build reads.

    Of these it is only thought: they are of kinds such as ``.md`` or ``.json``.  ``is_of_mode`` where build.mode is the
    same, ``has_new_files`` where some are in the source that were not.
    """

    parts: tuple[str, ...]
    papers: tuple[str, ...]
    is_of_mode: bool = True
    has_new_files: bool = False


@dataclass(frozen=True)
class PresentSystem:
    """What a system would be made from now.

    ``parts`` are canonical JSON or its SHA-256, without those that cannot be told, of which ``unknown`` says why.
    ``capture`` is what results of it are recorded under, where that is known without building, and ``source`` the
    commit or the digest of the files, in words.
    """

    parts: Mapping[str, str]
    source: str
    unknown: tuple[str, ...] = ()
    capture: str | None = None
    contents: Mapping[str, str] | None = field(default=None, repr=False)
    earlier: Callable[[str], Mapping[str, str] | None] = field(default=lambda _: None, repr=False)

    def difference(self, recorded: Mapping[str, str], *, is_of_here: bool) -> Difference:
        """What differs, of the parts that both have; of another machine but those that machines share."""
        left_out = _NO_PART if is_of_here else _NO_PART | _OF_THIS_MACHINE
        parts: list[str] = []
        papers: tuple[str, ...] = ()
        is_more = False
        for name, value in self.parts.items():
            if name in left_out or recorded.get(name, value) == value:
                continue
            if name == "source":
                words, papers, is_more = self._of_source(recorded[name], value)
                parts += words
            else:
                parts += _in_words(name, recorded[name], value)
        mode = self.parts.get("mode")
        return Difference(tuple(parts), papers, recorded.get("mode", mode) == mode, is_more)

    def _of_source(self, was: str, now: str) -> tuple[list[str], tuple[str, ...], bool]:
        before, after = _parsed(was), _parsed(now)
        if "commit" in before and "commit" in after and before["commit"] != after["commit"]:
            return [f"the commit was {before['commit'][:12]}, is {after['commit'][:12]}"], (), False
        earlier = self.earlier(str(before.get("digest")))
        if earlier is None or self.contents is None:
            return ["the source was another"], (), False
        found = compare_files(earlier, self.contents)
        names = [*found.changed, *found.added, *found.removed]
        if names and all(PurePosixPath(name).suffix.lower() in _PAPERS for name in names):
            return [], tuple(map(readable, names)), bool(found.added)
        kinds = (("changed", found.changed), ("new", found.added), ("removed", found.removed))
        told = [(what, first_names([*map(readable, files)], _MOST_NAMED)) for what, files in kinds if files]
        said = "; ".join(f"{what}: {listed}" for what, listed in told)
        words = f"files of the source are others ({said})" if said else "the source was another"
        return [words], (), bool(found.added)


def built_in(context: Context) -> list[BuiltFrom]:
    """What a context says its captures were built from, however old it is."""
    if context.built:
        return list(context.built)
    return [
        _as_recorded_before(system, capture, context.tools[capture])
        for system, capture in context.captures.items()
        if capture in context.tools
    ]


def _as_recorded_before(system: str, capture: str, made: Mapping[str, str]) -> BuiltFrom:
    """As a layoutrand recorded it that kept it by capture; of a directory with the beginning of its commit."""
    words, parts = made.get("source", ""), dict(_parsed(made.get(_RECORD, "{}")))
    source = _parsed(parts.get("source", "{}"))
    named = _NAMED_COMMIT.search(words)
    return BuiltFrom(
        system=system,
        capture=capture,
        commit=source.get("commit") or (named[1] if named else ""),
        dirty=words.endswith("with changes") if named else None,
        digest=source.get("digest") or "",
        words=words,
        made_from=parts,
    )


def _parsed(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:  # a digest
        return {}
    return found if isinstance(found, dict) else {}


def _in_words(name: str, was: str, now: str) -> list[str]:
    """What changed in one part; the values where these are short."""
    before, after = _parsed(was), _parsed(now)
    if not (before and after):
        short = len(was) + len(now) < _SHORT and not (_DIGEST.fullmatch(was) or _DIGEST.fullmatch(now))
        return [f"{name} was {was}, is {now}" if short else f"{name} was another"]
    changed = [part for part in compare(before, after) if part.change != "same"]
    said = [f"{name}.{part.name} was {part.was!r}, is {part.now!r}" for part in changed]
    return said if sum(map(len, said)) < _SHORT else [f"{name}.{part.name} was another" for part in changed]
