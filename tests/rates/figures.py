"""What is read from the documents that the commands print, and when it is right."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rates.worlds import World

Document = Mapping[str, Any]
Kind = Literal["interval", "test", "at most", "promise", "share"]


@dataclass(frozen=True)
class Figure:
    """A rate that is counted: ``interval`` the share that holds the truth, ``test`` that of false alarms of a test.

    ``at most`` is a rate of wrong statements that only has to be small, ``promise`` one that has to be large, and
    ``share`` one that nothing is demanded of.
    """

    name: str
    title: str
    kind: Kind


BOUNDS: Mapping[Kind, tuple[float, float]] = {
    "interval": (0.93, 0.985),
    "test": (0.03, 0.07),
    "at most": (0.0, 0.07),
    "promise": (0.8, 1.0),
    "share": (0.0, 1.0),
}

FIGURES = {
    each.name: each
    for each in (
        Figure("mean", "`analyse`: interval of the mean holds it", "interval"),
        Figure("median", "`analyse`: interval of the median holds it", "interval"),
        Figure("layout sd", "`analyse`: interval of the layouts' standard deviation holds it", "interval"),
        Figure(
            "uncontrolled sd",
            "`analyse` of results without stock and identity: interval of the layouts' standard deviation holds it",
            "interval",
        ),
        Figure("layout found", "`analyse`: concludes that layout matters, where it does", "share"),
        Figure("layout wrongly", "`analyse`: concludes that layout matters, where all layouts are alike", "at most"),
        Figure(
            "layout alarm", "`analyse`: p of layouts that do not matter is .05 or less, where all are alike", "test"
        ),
        Figure(
            "no layout sd", "`analyse`: interval of that standard deviation holds 0, where all are alike", "interval"
        ),
        Figure("shift", "`analyse`: interval of layouts / stock holds it", "interval"),
        Figure("groups", "`analyse`: layouts fall into groups", "share"),
        Figure("drift", "`analyse`: the machine drifted", "share"),
        Figure("machine", "`analyse`: the machine changed", "share"),
        Figure("ratio", "`compare`: interval of the ratio holds it", "interval"),
        Figure("paired", "`compare`: interval of the ratio paired by seed holds it", "interval"),
        Figure("unpaired", "`compare`: interval of the ratio not paired holds it", "interval"),
        Figure("median ratio", "`compare`: interval of the median ratio holds it", "interval"),
        Figure("as built", "`compare`: interval of stock / stock holds it", "interval"),
        Figure("verdict at 0", "`compare --threshold 0`: faster or slower at true ratio 1", "test"),
        Figure("verdict at 1 %", "`compare`: faster or slower at true ratio 1, threshold 1 %", "at most"),
        Figure("same at 1.01", "`compare`: the same within 1 % at true ratio 1.01", "at most"),
        Figure("cannot tell at 1", "`compare`: cannot tell at true ratio 1, threshold 1 %", "share"),
        Figure("cannot tell at 1.03", "`compare`: cannot tell at true ratio 1.03, threshold 1 %", "share"),
        Figure("wrong way at 1.03", "`compare`: faster, or the same, at true ratio 1.03", "at most"),
        Figure("new pair", "`compare`: one more binary of each falls into the range that is given for it", "interval"),
        Figure("holm", "`compare --threshold 0`: any verdict beside the others (Holm), all true ratios 1", "at most"),
        Figure("suite ratio", "`compare`: interval of the suite's ratio holds it", "interval"),
        Figure("suite p", "`compare`: the suite's p-value is .05 or less at true ratio 1", "test"),
        Figure("suite bootstrap", "`compare`: the suite's bootstrap interval holds the ratio", "interval"),
        Figure("aa alarm", "`compare a a`, executed once: an alarm", "test"),
        Figure("aa twice", "`compare a a`, executed twice (`run --twice`): an alarm", "test"),
        Figure("aa true", "`compare --threshold 0` of two programs that are alike: an alarm", "test"),
        Figure(
            "aa floor", "`compare a a`: two programs that are alike are measured within the noise floor", "interval"
        ),
        Figure("aa half", "`compare a a`: the first half of the rounds differs from the second", "share"),
        Figure(
            "aa apart", "`compare` of two programs that are alike, executed one after the other: they differ", "share"
        ),
        Figure("plan kept", "`plan` followed: decided at true ratio 1, threshold 1 %", "promise"),
        Figure("plan kept at 1.02", "`plan` followed: decided at true ratio 1.02, threshold 1 %", "promise"),
        Figure("plan binaries", "`plan`: layouts that it asks for, mean", "share"),
        Figure("forecast kept", "`compare`'s forecast followed: decided at true ratio 1, threshold 1 %", "promise"),
        Figure("forecast binaries", "`compare`: layouts that it asks for, mean", "share"),
        Figure("forecast kept at 1.02", "`compare`'s forecast followed: decided at true ratio 1.02", "promise"),
        Figure("until", "`run --until-half-width 0.5%`: interval of the mean holds it when it stops", "interval"),
        Figure("until binaries", "`run --until-half-width 0.5%`: layouts when it stops, mean", "share"),
    )
}


@dataclass
class Count:
    """Of the sets of a cell: how many ``gave`` a number, in how many it was so, and how many ``told`` a doubt.

    ``by`` has the number of sets with each kind of doubt.
    """

    sets: int = 0
    gave: int = 0
    total: float = 0.0
    told: int = 0
    by: dict[str, int] = field(default_factory=dict)

    def add(self, value: float | bool | None, doubts: Iterable[str]) -> None:
        """One set; None where the document gives no such number."""
        kinds = tuple(dict.fromkeys(doubts))
        self.sets += 1
        self.told += bool(kinds)
        for kind in kinds:
            self.by[kind] = self.by.get(kind, 0) + 1
        if value is not None:
            self.gave += 1
            self.total += float(value)

    @property
    def rate(self) -> float | None:
        """The share, or the mean; None where no set gave one."""
        return self.total / self.gave if self.gave else None

    @property
    def told_share(self) -> float:
        """In what share of the sets the output says that something is wrong with the number."""
        return self.told / self.sets if self.sets else 0.0


@dataclass
class Tally:
    """All counts of a cell, and how often each warning was printed, with N for its numbers."""

    counts: dict[str, Count] = field(default_factory=dict)
    sentences: dict[str, int] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    def add(self, name: str, value: float | bool | None, doubts: Iterable[str] = ()) -> None:
        """One figure of one set, with what the document says against it."""
        assert name in FIGURES, name
        self.counts.setdefault(name, Count()).add(value, doubts)

    def heard(self, doubts: Iterable[str]) -> None:
        """Sentences of one set, each counted once."""
        for sentence in dict.fromkeys(doubts):
            self.sentences[sentence] = self.sentences.get(sentence, 0) + 1

    def merge(self, other: Tally) -> None:
        """Add another's counts."""
        for name, count in other.counts.items():
            own = self.counts.setdefault(name, Count())
            own.sets += count.sets
            own.gave += count.gave
            own.total += count.total
            own.told += count.told
            for kind, number in count.by.items():
                own.by[kind] = own.by.get(kind, 0) + number
        for sentence, number in other.sentences.items():
            self.sentences[sentence] = self.sentences.get(sentence, 0) + number
        self.errors += other.errors


def holds(interval: Any, truth: float) -> bool | None:
    """Whether an interval of a document holds the truth; null ends are infinite, and null is no interval."""
    if interval is None or (interval[0] is None and interval[1] is None):
        return None
    low, high = interval
    return bool((low is None or low <= truth) and (high is None or truth <= high))


_NUMBER = re.compile(r"(?<![\w])[-+]?\d[\d,.]*(?:e[-+]?\d+)?")
NO_DOUBT = (
    "are not in the sample",
    "the noise of executions is that of ",
    "the suite is not paired by seed",
    "doubt: failures",
    "doubt: beside the others",
)
"""Sentences that say how numbers were made, or stand beside all of them: no warning that they may be wrong."""


def kind_of(sentence: str) -> str:
    """A sentence without its numbers."""
    return _NUMBER.sub("N", sentence)


def doubts_of(*parts: Document) -> list[str]:
    """What documents, or parts of them, say against their numbers: the kinds of their warnings, and findings."""
    found: list[str] = []
    for part in parts:
        found += [kind_of(text) for text in part.get("warnings", ())]
        found += ["finding: the machine changed"] if (part.get("machine") or {}).get("changed") else []
        found += ["finding: drift"] if (part.get("drift") or {}).get("found") else []
        found += ["finding: groups"] if (part.get("modality") or {}).get("several_peaks") else []
        found += ["finding: far layouts"] if part.get("outliers") else []
        found += [f"doubt: {each['cause']}" for each in part.get("reasons", ()) if each["effect"] == "doubts"]
    return list(dict.fromkeys(found))


def against(doubts: Iterable[str]) -> list[str]:
    """Those that cast doubt on a number."""
    return [sentence for sentence in doubts if not any(part in sentence for part in NO_DOUBT)]


def may_be_missed(world: World, *parts: Document) -> list[str]:
    """Whether it is said that a group of layouts as large as that of this world could be missing."""
    shares = [part["could_miss"] for part in parts if part.get("could_miss") is not None]
    return ["a group could have been missed"] if world.rare is not None and max(shares, default=0) >= world.rare else []


def may_have_drifted(world: World, analysis: Document) -> list[str]:
    """Whether it is said that the run is too short to show what the machine of this world does."""
    is_said = analysis.get("short_run") is not None and world.machine != "still"
    return ["too few executions to show a drift"] if is_said else []


def layout_test(analysis: Document) -> bool | None:
    """Whether the test of layouts finds that they matter; None where there is none."""
    test = analysis.get("layout_test")
    return None if test is None else bool(test["p_value"] <= 0.05)


def within(interval: Any, values: Any) -> float | None:
    """The share of values that an interval of a document holds; None without one."""
    held = [holds(interval, value) for value in values.tolist()]
    return None if None in held else sum(map(bool, held)) / len(held)


def interval_of(document: Document, name: str) -> Any:
    """The interval under this key; None where there is none."""
    return (document.get(name) or {}).get("interval")
