"""`layoutrand explain`: which functions' placement goes with the slow layouts.

The placement of the hot functions in every measured binary (`layoutrand.explain.features`) is held against what was
measured of it (`layoutrand.stats.screening`).  What comes out are suspects: that something goes with slow layouts does
not prove that it makes them slow, and a difference that was chosen for being large is too large on average.  Both are
what the confirming experiment is for (`layoutrand.explain.confirming`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.analysis.analyse import measurements
from layoutrand.analysis.blocking import freed
from layoutrand.analysis.next_steps import ENOUGH_TO_EXPLAIN
from layoutrand.analysis.sample import Sample
from layoutrand.build.binaries import kept_addresses
from layoutrand.build.claims import AS_LINKED
from layoutrand.cache.capture_record import CapturedLink
from layoutrand.cache.contents import content_of
from layoutrand.cache.store import Cache
from layoutrand.config.metric import Better
from layoutrand.errors import AnalysisError, FeatureUnsupported
from layoutrand.explain.caches import USUAL, CodeCaches
from layoutrand.explain.data_use import STORE_LOAD, DataUse, by_pairs
from layoutrand.explain.explain_warnings import FewLayouts, NoCalls, NothingDiffers
from layoutrand.explain.features import Feature, all_features, design, features
from layoutrand.explain.hot_branches import with_branches
from layoutrand.explain.hotness import (
    Hotness,
    HotPair,
    cost_elsewhere,
    function_names,
    hot_functions,
    mangled_of,
    renamed,
    symbol_of,
)
from layoutrand.explain.mechanisms import counts_in_layouts, together
from layoutrand.explain.suspect_cause import SuspectCause, suspect_cause
from layoutrand.instruments.profile import Profile
from layoutrand.link import codecheck
from layoutrand.link.program_places import addresses_by_name
from layoutrand.linkers.known import linker
from layoutrand.model import Binary
from layoutrand.objects import elf
from layoutrand.objects.kinds import is_code
from layoutrand.stats import (
    FactorSplit,
    Interval,
    Screening,
    cross_validated_share,
    detectable_share,
    explained_share,
    fitted_values,
    ratio_interval,
    screen_features,
    split_factor,
)
from layoutrand.stats.levels import nested
from layoutrand.stats.screening import FEWEST
from layoutrand.warning import AnyWarning

POWER: Final = 0.8

PERMUTATIONS: Final = 2999

PAIRS: Final = 10
"""So many pairs of variables are looked at at most."""

SIDE: Final = 3
"""Layouts that each side of a suspect needs, for a difference between them."""


@dataclass(frozen=True)
class Subject:
    """One benchmark of one system: what was measured of it, and where its code lies.

    ``binaries`` maps each seed to the binary that was measured, ``identity`` is the one that was profiled, ``caches``
    are those of the machine that measured.  ``use`` is how variables are used, where these are placed, too.  ``others``
    and ``program`` are as in `CostOutside`.
    """

    sample: Sample
    artefact: str
    link: CapturedLink
    identity: Binary
    binaries: Mapping[int, Binary]
    caches: CodeCaches = USUAL
    use: DataUse | None = None
    others: tuple[str, ...] = ()
    program: str = ""


@dataclass(frozen=True)
class Suspect:
    """A feature of the placement that goes with slow layouts.

    ``p_value`` is adjusted for all features; ``share`` is the part of the variance between binaries that it explains
    beyond the suspects before it.  ``split`` says which placements are the worse ones and ``effect`` is worse / better,
    with what the suspects before it explain taken out; None where too few layouts lie on one side.  ``n_worse`` and
    ``n_better`` count them.  ``alike`` names features that stand out by themselves and go with this one.  ``cause`` is
    what may be wrong with its place, and ``sweep`` the words of a command that says more, none where there is none.
    """

    feature: Feature
    p_value: float
    share: float
    split: FactorSplit | None
    effect: Interval | None
    n_worse: int
    n_better: int
    alike: tuple[str, ...]
    cause: SuspectCause | None = None
    sweep: tuple[str, ...] = ()


@dataclass(frozen=True)
class Explanation:
    """What was looked at, and the suspects, if any.

    ``means`` are those of the binaries and ``starts`` the addresses of what is hot in them, as `hot_starts` has them.
    ``relative_sd`` is the standard deviation over the binaries' means by their mean.  ``predicted`` is the part of
    their variance that the whole procedure predicts of binaries it has not seen.  ``detectable`` is the part that a
    feature must explain to be found with a chance of 80 %, and ``detectable_ratio`` the ratio between its worse and
    better half that this comes to.  ``closest`` is what came closest where nothing (more) was found, with its adjusted
    p-value.
    """

    subject: Subject
    profiled: str
    hotness: Hotness
    seeds: tuple[int, ...]
    means: tuple[float, ...]
    starts: tuple[tuple[int, ...], ...]
    relative_sd: float
    n_features: int
    level: float
    suspects: tuple[Suspect, ...]
    predicted: float | None
    detectable: float
    detectable_ratio: float
    closest: tuple[str, float] | None
    warnings: tuple[AnyWarning, ...]


def explain(
    subject: Subject,
    profile: Profile,
    profiled: str,
    cache: Cache,
    *,
    most_functions: int,
    level: float,
    readable: Callable[[Sequence[str]], Mapping[str, str]],
) -> Explanation:
    """Look for suspects; ``profiled`` says in words what the profile counted, ``level`` is the chance of a false alarm.

    ``readable`` maps symbols to what their programming language calls them.

    Raises `AnalysisError` for too few binaries or means that are not above 0, and `FeatureUnsupported` for binaries
    whose sections cannot be found.
    """
    seeds, means = enough_means(subject)
    sign = 1 if subject.sample.better == "less" else -1
    response = np.log(means) * sign  # large is bad
    address = addresses(cache, subject.identity, subject.link)
    hotness = hot_functions(profile, subject.link.sections, address, most=most_functions)
    file = elf.read(content_of(subject.identity.stored), name=str(subject.identity.path))
    hotness = replace(with_branches(hotness, file, address), caches=subject.caches)
    names = _names(subject.link, [function.section for function in hotness.functions], readable)
    hotness = renamed(hotness, [names[function.section] for function in hotness.functions])
    if subject.use is not None:
        hotness = replace(hotness, pairs=_hot_pairs(subject.use, subject.link, readable))
    starts = hot_starts(cache, subject.link, hotness, [subject.binaries[seed] for seed in seeds])
    found = features(hotness, starts)
    sd = float(means.std(ddof=1) / means.mean())
    nothing = Explanation(
        subject=subject,
        profiled=profiled,
        hotness=hotness,
        seeds=seeds,
        means=tuple(means.tolist()),
        starts=tuple(map(tuple, starts.tolist())),
        relative_sd=sd,
        n_features=len(found),
        level=level,
        suspects=(),
        predicted=None,
        detectable=1.0,
        detectable_ratio=math.inf,
        closest=None,
        warnings=tuple(_warnings(subject, seeds, hotness, profiled_by_samples=not profile.calls)),
    )
    if sd == 0 or not found:
        return _nothing(nothing)
    designs = [design(feature) for feature in found]
    priority = [0 if feature.functions else 1 for feature in found]
    many, fewer = max(PERMUTATIONS, round(10 / level)), max(PERMUTATIONS // 6, round(2 / level))
    result = screen_features(designs, response, priority=priority, level=level, n_permutations=many)
    predicted = None
    if len(seeds) * 0.9 >= FEWEST:  # what is left when a tenth is put aside
        predicted = cross_validated_share(designs, response, priority=priority, level=level, n_permutations=fewer)
    share = detectable_share(len(seeds), result.critical, power=POWER)
    ratio = math.exp(2 * float(response.std(ddof=1)) * math.sqrt(share))
    suspects = suspects_of(found, result, response, sign, level)
    return replace(
        nothing,
        suspects=with_causes(suspects, hotness, starts, response, subject.sample.instrument, level),
        predicted=predicted,
        detectable=share,
        detectable_ratio=ratio,
        closest=_closest(found, result),
    )


def _hot_pairs(
    use: DataUse, link: CapturedLink, readable: Callable[[Sequence[str]], Mapping[str, str]]
) -> tuple[HotPair, ...]:
    found = by_pairs(use, most=PAIRS)
    names = _names(link, [section for stored, loaded, _ in found for section in (stored, loaded)], readable)
    return tuple(HotPair(names[stored], names[loaded], (stored, loaded), pairs) for stored, loaded, pairs in found)


def _names(
    link: CapturedLink, wanted: Sequence[int], readable: Callable[[Sequence[str]], Mapping[str, str]]
) -> dict[int, str]:
    """What sections are called, the ``wanted`` ones among them, so that no other one is called the same."""
    known = readable(mangled_of([link.sections[number] for number in dict.fromkeys(wanted)]))
    placed = [each for each in link.sections if is_code(each.kind) or symbol_of(each) or each.index in wanted]
    return dict(zip((each.index for each in placed), function_names(placed, known), strict=True))


def enough_means(subject: Subject) -> tuple[tuple[int, ...], NDArray[np.float64]]:
    """As `means_of`, of the subject; raises `AnalysisError`, too, where they are too few to look for suspects."""
    seeds, means = means_of(subject.sample, subject.binaries)
    if len(seeds) < FEWEST:
        raise AnalysisError(
            f"{len(seeds)} measured {'binary' if len(seeds) == 1 else 'binaries'}; to look for suspects takes at least "
            f"{FEWEST}, and {ENOUGH_TO_EXPLAIN} or more to find anything but the grossest: `layoutrand run --seeds 60`"
        )
    return seeds, means


def means_of(sample: Sample, seeds: Mapping[int, object]) -> tuple[tuple[int, ...], NDArray[np.float64]]:
    """Those seeds that were measured, and the means of their binaries, which must be above 0 (`AnalysisError`).

    What nodes add is taken out, as no address in a binary explains it.
    """
    sample = freed(sample).sample
    data = measurements(sample)
    names = [name for name, _ in sample.binaries]
    means = nested(data, name=sample.metric).top_means if names else np.empty(0)
    kept = [(name, mean) for name, mean in zip(names, means.tolist(), strict=True) if name in seeds]
    if any(mean <= 0 for _, mean in kept):
        raise AnalysisError(
            f"some binaries' means of {sample.metric} are not above 0, and ratios are looked at; --metric names another"
        )
    return tuple(int(name) for name, _ in kept), np.array([mean for _, mean in kept])


def addresses(cache: Cache, binary: Binary, link: CapturedLink) -> NDArray[np.int64]:
    """Where each section of the capture lies in the binary, shape (sections,); -1 for one that is not in it."""
    proof = binary.verification
    kept = None
    if proof is not None and proof.post_processed != AS_LINKED:
        kept = kept_addresses(cache, binary)
    where = np.full(len(link.sections), -1, np.int64)
    if kept is not None:
        where[: len(kept)] = kept
        return where
    file = elf.read(content_of(binary.stored), name=str(binary.path))
    if linker(link.linker).own_objects:
        return addresses_by_name(file, [section.name for section in link.sections])
    number, address, _ = codecheck.placed_addresses(file)
    own = number < where.size  # further ones are of fillers, which are no sections of the program
    where[number[own]] = address[own]
    return where


def hot_starts(cache: Cache, link: CapturedLink, hotness: Hotness, binaries: Sequence[Binary]) -> NDArray[np.int64]:
    """The address of each of `Hotness.sections` in each binary, shape (binaries, sections)."""
    wanted = hotness.sections
    starts = np.array([addresses(cache, binary, link)[wanted] for binary in binaries], np.int64)
    if (starts < 0).any():
        row, column = np.argwhere(starts < 0)[0].tolist()
        raise FeatureUnsupported(
            f"{hotness.called(wanted[column])} is hot, but cannot be found in layout {binaries[row].layout} of "
            f"{binaries[row].artefact}: the layouts of this project do not keep its section"
        )
    return starts


def suspects_of(
    found: Sequence[Feature], result: Screening, response: NDArray[np.float64], sign: int, level: float
) -> tuple[Suspect, ...]:
    """What the screening of the features ``found`` took, each with its effect.

    ``response`` is the logarithm of the binaries' means times ``sign``, so that large is bad.
    """
    chosen = [found[step.index] for step in result.steps]
    standing_out = [f for f, p in zip(found, result.p_values.tolist(), strict=True) if p <= level and f not in chosen]
    curves = [fitted_values(design(feature), response) for feature in chosen]
    alike: dict[str, list[str]] = {feature.name: [] for feature in chosen}
    for other in standing_out:
        near = max(range(len(chosen)), key=lambda number: explained_share(design(other), curves[number]))
        alike[chosen[near].name].append(other.words)
    suspects = []
    for number, (feature, step) in enumerate(zip(chosen, result.steps, strict=True)):
        # Without what the suspects before it explain: their difference would hide its own.
        beyond = response
        if number:
            before = np.concatenate([design(other) for other in chosen[:number]], axis=1)
            beyond = response - fitted_values(before, response) + response.mean()
        division = split_factor(feature.values, beyond, scale=feature.scale, period=float(feature.period), fewest=SIDE)
        worse = np.array([division is not None and division.side(value) is True for value in feature.values.tolist()])
        effect = None
        if division is not None:
            means = np.exp(sign * beyond)
            sides = means[~worse].tolist(), means[worse].tolist()
            effect = ratio_interval(*sides, confidence=1 - level, method="log-t")
        suspect = Suspect(
            feature=feature,
            p_value=step.p_value,
            share=step.share,
            split=division,
            effect=effect,
            n_worse=int(worse.sum()),
            n_better=int((~worse).sum()),
            alike=tuple(alike[feature.name]),
        )
        suspects.append(suspect)
    return tuple(suspects)


def with_causes(
    suspects: Sequence[Suspect],
    hotness: Hotness,
    starts: NDArray[np.int64],
    response: NDArray[np.float64],
    instrument: str,
    level: float,
) -> tuple[Suspect, ...]:
    """The suspects with what may be wrong with their places; ``response`` is as for `suspects_of`."""
    names = [function.name for function in hotness.functions]
    if not suspects:
        return ()
    everything, counted = all_features(hotness, starts), counts_in_layouts(hotness, starts)
    made = []
    for suspect in suspects:
        if suspect.feature.kind == STORE_LOAD:  # the feature is the mechanism
            made.append(suspect)
            continue
        own = set(suspect.feature.functions)
        apart = [design(s.feature) for s in suspects if own.isdisjoint(s.feature.functions) and s is not suspect]
        beyond = response - fitted_values(np.concatenate(apart, axis=1), response) if apart else response
        met = together([each for name, each in zip(names, counted, strict=True) if name in own or not own])
        others = [
            f for f in everything if f.functions and own.issuperset(f.functions) and f.name != suspect.feature.name
        ]
        found = suspect_cause(met, beyond, suspect.feature, others, instrument, level=level, beside=bool(apart))
        made.append(replace(suspect, cause=found))
    return tuple(made)


def _closest(found: Sequence[Feature], result: Screening) -> tuple[str, float] | None:
    if result.steps:
        return None
    best = int(np.argmin(result.p_values))
    return found[best].words, float(result.p_values[best])


def _warnings(
    subject: Subject, seeds: Sequence[int], hotness: Hotness, *, profiled_by_samples: bool
) -> list[AnyWarning]:
    found: list[AnyWarning] = [FewLayouts(len(seeds), ENOUGH_TO_EXPLAIN)] if len(seeds) < ENOUGH_TO_EXPLAIN else []
    found += [NoCalls()] if profiled_by_samples else []
    return [*found, *cost_elsewhere(hotness, subject.artefact, subject.others, subject.program)]


def _nothing(explanation: Explanation) -> Explanation:
    """No two binaries differ in what was measured, or in where their hot functions lie, or none of these is hot."""
    if explanation.relative_sd and not explanation.hotness.functions:
        return explanation
    metric = explanation.subject.sample.metric if explanation.relative_sd == 0 else None
    return replace(explanation, warnings=(NothingDiffers(metric), *explanation.warnings))


def is_worse(effect: Interval, better: Better) -> bool:
    """Whether the whole interval of worse / better says what its name says."""
    return effect.low > 1 if better == "less" else effect.high < 1
