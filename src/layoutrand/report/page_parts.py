"""What the report is made of before it is HTML: banners, lights, forests, a card for each benchmark, the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from layoutrand.text.document import Chapter, Figure

LightState = Literal["good", "doubtful", "bad", "unknown"]


@dataclass(frozen=True)
class VerdictChip:
    """A verdict in words, for people, and its key, by which rows and cards are filtered; ``detail`` is a tooltip."""

    key: str
    words: str
    detail: str = ""


@dataclass(frozen=True)
class Banner:
    """One question, and how many benchmarks have which answer."""

    question: str
    chips: Sequence[VerdictChip]


@dataclass(frozen=True)
class TrustLight:
    """One condition of trusting the numbers: whether it holds, why, and the anchor of what shows it."""

    name: str
    state: LightState
    sentence: str
    link: str


@dataclass(frozen=True)
class ForestRow:
    """One row of a forest: ``track`` is its drawing (SVG), ``order`` its place when sorted by effect, largest first.

    ``link`` is the anchor of its card, empty for what has none; ``remark`` says in a few words what to know of it.
    """

    name: str
    chip: VerdictChip
    change: str
    interval: str
    track: str
    order: float
    link: str = ""
    remark: str = ""


@dataclass(frozen=True)
class Forest:
    """Rows over one axis (SVG), the words at its two ends, what is drawn, and the same as a figure for papers.

    ``doubts`` is what casts doubt on its numbers, and ``systems`` are those shown, for the caption of that figure.
    """

    anchor: str
    title: str
    columns: Sequence[str]
    axis: str
    ends: tuple[str, str]
    rows: Sequence[ForestRow]
    caption: str
    figure: Figure | None = None
    doubts: str = ""
    systems: Sequence[str] = ()


@dataclass(frozen=True)
class BenchmarkCard:
    """One benchmark: verdicts, sentences, the figures that are shown and those that are folded away.

    ``absent`` says why figures are not there; ``shares`` are (system, bar as SVG, words): what varies, as one bar for
    each system.  ``systems`` are those that are shown.
    """

    anchor: str
    name: str
    order: float
    chips: Sequence[VerdictChip]
    sentences: Sequence[str]
    figures: Sequence[Figure]
    more: Sequence[Figure] = ()
    absent: Sequence[str] = ()
    shares: Sequence[tuple[str, str, str]] = ()
    systems: Sequence[str] = ()


@dataclass(frozen=True)
class Page:
    """The whole report; of ``sections`` those in ``unfolded`` are open from the start."""

    title: str
    subtitle: str
    banners: Sequence[Banner]
    lights: Sequence[TrustLight]
    findings: Sequence[str]
    forests: Sequence[Forest]
    alerts: Sequence[str]
    facts: Sequence[tuple[str, str]]
    cards: Sequence[BenchmarkCard]
    sections: Sequence[Chapter]
    unfolded: frozenset[str] = field(default_factory=frozenset)
    sources: Mapping[str, str] = field(default_factory=dict)
    """System -> of which commit or files it was built, where that is known, for captions of figures."""
    rests_on: str = ""
    """Seeds and versions of layoutrand, for captions, too."""
    doubts: Mapping[str, str] = field(default_factory=dict)
    """Benchmark -> what casts doubt on its numbers; "" -> the same of all, with names; none where nothing does."""
