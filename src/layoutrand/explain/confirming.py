"""The confirming experiment of `layoutrand explain`: new layouts, chosen by nothing but where a suspect lies.

Candidates are ordinary layouts of seeds that took no part in finding the suspect, one after the other.  After its link
it is known where the suspect lies, and the first so many with a worse and the first so many with a better placement are
kept.  So within each group everything else is as random as in any layout.  They are executed in random order, recorded
in a file of their own, since seeds chosen like this are a biased sample of layouts, and then compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from layoutrand.analysis.asked_results import Question
from layoutrand.analysis.sample import Sample
from layoutrand.analysis.selection import select
from layoutrand.build.build import SystemBuild
from layoutrand.config.config import Config
from layoutrand.config.metric import Better
from layoutrand.errors import AnalysisError, UsageError
from layoutrand.explain.features import values_of
from layoutrand.explain.suspects import Explanation, Suspect, is_worse, means_of
from layoutrand.model import MAX_SEED, Binary
from layoutrand.results.file import open_for_reading
from layoutrand.stats import Interval, ratio_interval

Verdict = Literal["confirmed", "not confirmed", "undecided"]

RESULTS_NAME: Final = "explain.sqlite"
CANDIDATES: Final = 40
"""So many candidates are linked at most for each layout of a group."""

FEWEST: Final = 3


@dataclass(frozen=True)
class Groups:
    """The seeds chosen for one suspect, with its worse and its better placement; ``tried`` candidates were linked."""

    suspect: Suspect
    worse: tuple[int, ...]
    better: tuple[int, ...]
    tried: int


@dataclass(frozen=True)
class Confirmation:
    """What became of one suspect: worse / better in new layouts, and the verdict; ``missing`` seeds have no number."""

    groups: Groups
    effect: Interval
    verdict: Verdict
    n_worse: int
    n_better: int
    missing: int


def results_path(project: Path) -> Path:
    """Where the executions of confirming experiments are recorded."""
    return project / ".layoutrand" / RESULTS_NAME


def in_random_order(config: Config) -> Config:
    """The configuration for executing chosen seeds: no controls, and no order that knows of groups."""
    run = config.run.model_copy(update={"order": "random", "controls": []})
    return config.model_copy(update={"run": run})


def first_seed(known: Sequence[int], asked: int | None) -> int:
    """The first candidate: the one asked for, else the one after all that are recorded; raises `UsageError`."""
    if asked is None:
        return max(known, default=0) + 1
    if asked <= max(known, default=-1):
        raise UsageError(
            f"--first-seed {asked}: the suspects were found with seeds up to {max(known)}, and only others can confirm "
            "them"
        )
    return asked


def choose_groups(
    explanation: Explanation,
    suspects: Sequence[Suspect],
    count: int,
    first: int,
    build: Callable[[Sequence[int]], SystemBuild],
    locate: Callable[[Sequence[Binary]], NDArray[np.int64]],
) -> tuple[list[Groups], list[str]]:
    """``count`` seeds on each side of each suspect, from ``first`` on; and why there are none for some suspects.

    ``build`` links candidates, ``locate`` finds their hot functions, shape (binaries, functions).  A placement may be
    so rare that not enough are found among 40 candidates for each wanted: that suspect cannot be confirmed.
    """
    subject = explanation.subject
    sides: list[tuple[list[int], list[int]]] = [([], []) for _ in suspects]
    tried = 0
    while any(len(side) < count for pair in sides for side in pair):
        batch = range(first + tried, min(first + tried + max(2 * count, 8), MAX_SEED + 1))
        if tried >= CANDIDATES * count or not batch:
            break
        made = {binary.layout: binary for binary in build(batch).binaries if binary.artefact == subject.artefact}
        known = [seed for seed in batch if seed in made]
        tried += len(batch)
        if not known:
            continue
        marked = _marks(explanation, suspects, locate([made[seed] for seed in known]))
        for (worse, better), marks in zip(sides, marked, strict=True):
            for seed, mark in zip(known, marks, strict=True):
                side = worse if mark else better
                if mark is not None and len(side) < count:
                    side.append(seed)
    found = [Groups(s, tuple(w), tuple(b), tried) for s, (w, b) in zip(suspects, sides, strict=True)]
    rare = [group for group in found if min(len(group.worse), len(group.better)) < count]
    return [group for group in found if group not in rare], [_too_rare(group, count) for group in rare]


def _marks(explanation: Explanation, suspects: Sequence[Suspect], starts: NDArray[np.int64]) -> list[list[bool | None]]:
    """For each suspect and layout whether it lies where it is worse; None where it lies as in no layout before."""
    values = values_of([suspect.feature for suspect in suspects], explanation.hotness, starts)
    return [
        [suspect.split.side(value) if suspect.split else None for value in values[suspect.feature.name].tolist()]
        for suspect in suspects
    ]


def _too_rare(groups: Groups, count: int) -> str:
    return (
        f"{groups.suspect.feature.words}: among {groups.tried} candidates are {len(groups.worse)} layouts with the "
        f"worse placement and {len(groups.better)} with the better, and {count} of each were to be found; a smaller "
        "--confirm needs fewer"
    )


def conclude(
    explanation: Explanation,
    groups: Sequence[Groups],
    config: Config,
    project: Path,
    captures: Mapping[str, str],
    *,
    confidence: float,
) -> tuple[list[Confirmation], list[str]]:
    """Compare the groups; and why some cannot be compared.  ``config`` is that of `in_random_order`, and
    ``captures`` has that of the system which was executed, as the file may have others, executed later.

    With several suspects each interval has the confidence that lets all of them hold at once (Bonferroni).  Raises
    `AnalysisError` where no execution succeeded.
    """
    sample = explanation.subject.sample
    question = Question(config, project, [sample.system], [sample.benchmark], captures, None)
    with open_for_reading(results_path(project)) as store:
        selection = select(question, store)
    found = next((s for s in selection.samples if (s.metric, s.instrument) == (sample.metric, sample.instrument)), None)
    if found is None:
        raise AnalysisError(f"no execution of the confirming experiment measured {sample.metric}")
    single = 1 - (1 - confidence) / len(groups)
    made = [conclude_group(group, found, single) for group in groups]
    return [each for each in made if isinstance(each, Confirmation)], [each for each in made if isinstance(each, str)]


def conclude_group(groups: Groups, sample: Sample, confidence: float) -> Confirmation | str:
    """Compare the two groups of one suspect, with an interval of this confidence; or why they cannot be."""
    _, worse = means_of(sample, dict.fromkeys(groups.worse))
    _, better = means_of(sample, dict.fromkeys(groups.better))
    if min(len(worse), len(better)) < FEWEST:
        return (
            f"{groups.suspect.feature.words}: {len(worse)} layouts with the worse and {len(better)} with the better "
            f"placement were measured; at least {FEWEST} of each are needed"
        )
    effect = ratio_interval(better.tolist(), worse.tolist(), confidence=confidence, method="log-t")
    wanted = len(groups.worse) + len(groups.better)
    return Confirmation(
        groups,
        effect,
        verdict(effect, groups.suspect.effect, sample.better),
        len(worse),
        len(better),
        wanted - len(worse) - len(better),
    )


def verdict(effect: Interval, found: Interval | None, better: Better) -> Verdict:
    """Confirmed if the whole interval says worse; not confirmed if it leaves no room for half of what was found."""
    if is_worse(effect, better):
        return "confirmed"
    half = 1.0 if found is None else (1 + found.centre) / 2
    excluded = effect.high < half if better == "less" else effect.low > half
    return "not confirmed" if excluded else "undecided"
