"""What is looked at of a layout: where its hot functions lie, as numbers that can be compared with how fast it is.

Of each hot function:

- *line*: its start within a cache line, and so within the 32- and 16-byte blocks that code is fetched and decoded in;
- *page*: its start within a page, which decides its sets in many first-level instruction caches;
- *stride*: its start modulo 16 KiB, as tables of branch predictors are indexed by low bits of addresses;
- *loop*: how many lines its hottest instructions lie on, as a rule an inner loop: a small one is faster on one line;
- *pages*: how many pages its hot part lies on;
- *jcc*, *fetch*, *aliasing*: what `layoutrand.explain.mechanisms` counts, where the function's branches are known, and
  *itlb* where the processor's TLB is;

Of each hot function with its hottest callees, and of the hottest functions with each other:

- *distance*: the logarithm (base 2) of the distance between their starts;
- *sets*: how many sets of the instruction cache hold hot lines of both;
- *near*: whether hot code of both lies on one page;
- *offset*: the distance modulo 16 KiB, as branches at such distances share entries of predictor tables.

Of pairs of variables, where these are placed, too, and one is loaded often shortly after a store to the other:

- *store-load*: how many of these loads and stores overlap modulo 4 KiB, which some processors let wait.

Of all of them together: *all pages*, how many pages hold hot code, and *overfull*, how many hot lines lie in sets with
more of them than ways.  Lines, pages, sets and ways are those of the machine (`layoutrand.explain.caches`).  "Hot" are
the instructions that are executed often (`layoutrand.explain.hotness`), not whole functions.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from layoutrand.explain.caches import CodeCaches
from layoutrand.explain.data_use import STORE_LOAD
from layoutrand.explain.hotness import Hotness
from layoutrand.explain.mechanisms import BLOCK, STRIDE, counts_in_layouts

CALLEES: Final = 2
"""Of each hot function so many of its hottest callees are looked at."""

HOTTEST: Final = 6
"""So many of the hottest functions are looked at with each other."""

FEWEST: Final = 3
"""A feature is looked at where at least so many layouts differ from the most frequent value."""

Scale = Literal["classes", "circle", "number"]
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Feature:
    """One thing to look at, with its value in every layout, shape (layouts,).

    ``scale`` says what the values are: ``classes`` (equal or not), ``circle`` (modulo ``period``), ``number``.
    ``functions`` are the hot functions (or the two variables) it is about, none for what is about all of them.
    """

    kind: str
    functions: tuple[str, ...]
    scale: Scale
    period: int
    values: Values

    @property
    def name(self) -> str:
        """What tells it from the others."""
        return ":".join((self.kind, *self.functions))

    @property
    def words(self) -> str:
        """What it is, for people."""
        return _WORDS[self.kind].format(*self.functions, bytes=self.period, kib=self.period >> 10)


_WORDS: Final = {
    "line": "start of {0} within its {bytes}-byte line",
    "page": "start of {0} within its {kib} KiB page",
    "stride": "start of {0} modulo 16 KiB",
    "loop": "lines under the hottest instructions of {0}",
    "pages": "pages that the hot part of {0} lies on",
    "jcc": "hottest branches of {0} that cross or end at a multiple of 32 bytes",
    "fetch": "16-byte blocks under the hottest instructions of {0}",
    "aliasing": "hot branches of {0} in 16-byte blocks modulo 16 KiB that hold hot ones of others",
    "itlb": "hot pages of {0} in sets of the instruction TLB with more of them than ways",
    "distance": "distance between {0} and {1}",
    "sets": "L1I sets shared by {0} and {1}",
    "near": "hot code of {0} and {1} on one page",
    "offset": "distance from {0} to {1} modulo 16 KiB",
    STORE_LOAD: "percent of loads of {1} that alias stores to {0} (4 KiB)",
    "all pages": "pages that hold hot code",
    "overfull": "hot lines in L1I sets with more of them than ways",
}


def pairs(hotness: Hotness) -> list[tuple[int, int]]:
    """Which hot functions are looked at together, as positions: caller and callee, else the hotter one first."""
    found: dict[frozenset[int], tuple[int, int]] = {}
    for caller in range(len(hotness.functions)):
        calls = {pair[1]: count for pair, count in hotness.calls.items() if pair[0] == caller}
        for callee in sorted(calls, key=lambda position: (-calls[position], position))[:CALLEES]:
            found.setdefault(frozenset((caller, callee)), (caller, callee))
    for pair in itertools.combinations(range(min(HOTTEST, len(hotness.functions))), 2):
        found.setdefault(frozenset(pair), pair)
    return list(found.values())


def features(hotness: Hotness, starts: NDArray[np.int64]) -> list[Feature]:
    """Every feature that differs enough between layouts.

    ``starts`` has the address of each of `Hotness.sections` in each layout, shape (layouts, sections).
    """
    everything = all_features(hotness, starts)
    return [feature for feature in everything if _differs(feature.values)]


def all_features(hotness: Hotness, starts: NDArray[np.int64]) -> list[Feature]:
    """As `features`, also those that hardly differ."""
    names = [function.name for function in hotness.functions]
    of_pairs = starts[:, len(names) :].reshape(len(starts), -1, 2)
    starts = starts[:, : len(names)]
    hot = [np.array(function.hot, np.int64) for function in hotness.functions]
    hottest = [np.array(function.hottest, np.int64) for function in hotness.functions]
    line, page = hotness.caches.line, hotness.caches.page
    lines = [[np.unique((row[f] + hot[f]) // line) for f in range(len(names))] for row in starts]
    on_pages = [[np.unique(of_one * line // page) for of_one in row] for row in lines]
    in_sets = [[np.unique(of_one % hotness.caches.sets) for of_one in row] for row in lines]
    found = []
    is_counted = hotness.caches.itlb is not None or any(each.branches for each in hotness.functions)
    counted = counts_in_layouts(hotness, starts) if is_counted else ()
    for f, name in enumerate(names):
        start = starts[:, f]
        found += [
            Feature("line", (name,), "classes", line, (start % line).astype(float)),
            Feature("page", (name,), "circle", page, (start % page).astype(float)),
            Feature("stride", (name,), "circle", STRIDE, (start % STRIDE).astype(float)),
            Feature("loop", (name,), "number", 0, _counts([np.unique((at + hottest[f]) // line) for at in start])),
            Feature("pages", (name,), "number", 0, np.array([float(len(row[f])) for row in on_pages])),
        ]
        if hotness.functions[f].branches:
            met = counted[f]
            found += [
                Feature(kind, (name,), "number", 0, met[kind]) for kind in ("jcc", "fetch", "aliasing") if kind in met
            ]
        if hotness.caches.itlb is not None:
            found.append(Feature("itlb", (name,), "number", 0, counted[f]["itlb"]))
    for f, g in pairs(hotness):
        both = (names[f], names[g])
        distance = starts[:, g] - starts[:, f]
        found += [
            Feature("distance", both, "number", 0, np.log2(np.abs(distance) + 1.0)),
            Feature("sets", both, "number", 0, _common(in_sets, f, g)),
            Feature("near", both, "number", 0, np.minimum(_common(on_pages, f, g), 1.0)),
            Feature("offset", both, "circle", STRIDE, (distance % STRIDE).astype(float)),
        ]
    found += [
        Feature(STORE_LOAD, (pair.stored, pair.loaded), "number", 0, pair.met(*of_pairs[:, number].T))
        for number, pair in enumerate(hotness.pairs)
    ]
    if names:
        everywhere = [np.unique(np.concatenate(row)) for row in lines]
        found += [
            Feature("all pages", (), "number", 0, _counts([np.unique(row * line // page) for row in everywhere])),
            Feature("overfull", (), "number", 0, np.array([_overfull(row, hotness.caches) for row in everywhere])),
        ]
    return found


def table_of(hotness: Hotness, starts: NDArray[np.int64]) -> tuple[Values, Values]:
    """All features of each layout as columns to regress on, shape (layouts, columns), and how much to expect of each.

    That is the root of the share of the cost that its functions have, the less hot one's of two: where a function that
    is hardly executed lies can hardly matter.  Shape (columns,).
    """
    share = {function.name: max(function.share, 0.0) for function in hotness.functions}
    whole = sum(share.values()) or 1.0
    columns, weights = [], []
    for feature in all_features(hotness, starts):
        columns.append(_smooth(feature))
        weight = min((share[name] / whole for name in feature.functions), default=1.0)
        weights += [weight**0.5] * columns[-1].shape[1]
    return np.concatenate(columns, axis=1), np.array(weights)


def _smooth(feature: Feature) -> Values:
    """As `design`, but of places within a line their 16-byte block and their angle: without alignment they are many."""
    if feature.scale != "classes":
        return design(feature)
    block = replace(feature, values=feature.values // BLOCK)
    circle = replace(feature, scale="circle")
    return np.concatenate([design(block), design(circle)], axis=1)


def values_of(wanted: Sequence[Feature], hotness: Hotness, starts: NDArray[np.int64]) -> dict[str, Values]:
    """The same features in other layouts, by name."""
    known: Mapping[str, Feature] = {feature.name: feature for feature in all_features(hotness, starts)}
    return {feature.name: known[feature.name].values for feature in wanted}


def design(feature: Feature) -> Values:
    """The feature as columns to regress on, shape (layouts, columns): dummies, cosine and sine, or itself."""
    if feature.scale == "classes":
        known, place, counts = np.unique(feature.values, return_inverse=True, return_counts=True)
        # One layout of a class of its own would be fitted whatever it measured: it counts with the largest class.
        place = np.where(counts[place] < FEWEST, int(np.argmax(counts)), place)
        return np.asarray(place[:, None] == np.arange(len(known))[None, :], np.float64)
    if feature.scale == "circle":
        angle = 2 * np.pi * feature.values / feature.period
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return feature.values[:, None]


def _differs(values: Values) -> bool:
    _, counts = np.unique(values, return_counts=True)
    return len(values) - int(counts.max()) >= FEWEST


def _common(sets: Sequence[Sequence[NDArray[np.int64]]], f: int, g: int) -> Values:
    return np.array([float(len(np.intersect1d(row[f], row[g], assume_unique=True))) for row in sets])


def _counts(sets: Sequence[NDArray[np.int64]]) -> Values:
    return np.array([float(len(row)) for row in sets])


def _overfull(lines: NDArray[np.int64], caches: CodeCaches) -> float:
    held = np.bincount(lines % caches.sets, minlength=caches.sets)
    return float(held[held > caches.ways].sum())
