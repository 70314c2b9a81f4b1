"""The changes of the study: which there are, how each is drawn and proved inert, or planted and calibrated."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inert import proof, work
from inert.changes import INERT, PLANTED, Change, Draws, Executed, SourceTree, draw, hot_places, plant
from inert.programs import PROGRAMS, NotBuilt, Program, through_ccache

SEED = 26
INERT_EACH = 15
PLANTED_EACH = 10
"""15 programs: 225 inert changes and 150 planted ones, more than are promised, since not every program has a place."""

TARGETS = (0.01, 0.02, 0.05)
TOLERANCE = 0.0015
MOST_DRAWS = 12
MOST_CORRECTIONS = 4
TRUTH_SEEDS = "1001..1020"
"""Layouts that the true effect of a planted change is measured in; `check` takes seeds from 1 on, which are others."""

TIMED_INERT, TIMED_PLANTED = 26, 14
FLAGS = "-O2"
_LEAST_TURNS = 20
"""A loop of fewer is more its entry and its exit than its turns."""


@dataclass(frozen=True)
class Slot:
    """A place in the corpus: the program, the kind that is tried first, a number, and the planted effect (0 for none)."""

    program: str
    kind: str
    number: int
    target: float = 0.0

    @property
    def name(self) -> str:
        """The slot's name, which files and branches are called by."""
        return f"{self.program}-{'planted' if self.target else 'inert'}-{self.number:02}"


def slots() -> list[Slot]:
    """All places of the corpus."""
    found = []
    for place, program in enumerate(PROGRAMS):
        found += [Slot(program, INERT[number % len(INERT)], number) for number in range(INERT_EACH)]
        found += [
            Slot(program, PLANTED, number, TARGETS[(place + number) % len(TARGETS)]) for number in range(PLANTED_EACH)
        ]
    return found


def timed(every: Sequence[Slot], none: Collection[str] = ()) -> list[Slot]:
    """Those that are also judged by time: 26 inert and 14 planted, evenly over programs and kinds.

    ``none`` are the slots that are known to have no place.
    """
    there = [slot for slot in every if slot.name not in none]
    inert, planted = [s for s in there if not s.target], [s for s in there if s.target]
    return [
        *(inert[place * len(inert) // TIMED_INERT] for place in range(TIMED_INERT)),
        *(planted[place * len(planted) // TIMED_PLANTED] for place in range(TIMED_PLANTED)),
    ]


@dataclass
class Base:
    """What is known of a program before any change."""

    program: Program
    executed: Executed
    contents: proof.Contents
    loaded: list[tuple[str, int, int, bytes]]
    tree: SourceTree
    counts: work.Counts

    @classmethod
    def of(cls, program: Program) -> Base:
        """Build the base for the proof and as it is, and execute both once."""
        workload = program.workload("cycles")
        built = program.build("base", f"{FLAGS} {proof.FLAGS}")
        executed = work.executed(built, workload)
        contents, stems = proof.contents(program.directory / "build"), program.object_stems()
        loaded = proof.loaded(built)
        stock = program.kept(program.build("base", FLAGS), "base")
        return cls(program, executed, contents, loaded, program.tree(stems), work.counts(stock, workload))


@dataclass
class Made:
    """A change that was made: its commit, what it is, and how many draws were thrown away for which reason."""

    slot: Slot
    kind: str
    what: str
    commit: str
    discarded: Counter[str] = field(default_factory=Counter)
    facts: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """As it is kept."""
        return {
            "name": self.slot.name,
            "program": self.slot.program,
            "kind": self.kind,
            "wanted_kind": self.slot.kind,
            "target": self.slot.target,
            "what": self.what,
            "commit": self.commit,
            "discarded": dict(self.discarded),
            **self.facts,
        }


def make_inert(slot: Slot, base: Base, taken: set[str]) -> Made:
    """Draw until a change is proved to be inert; the next kinds are tried where a kind has no place in this program.

    ``taken`` are the commits of other slots: the same change is not counted twice.
    """
    discarded: Counter[str] = Counter()
    first = INERT.index(slot.kind)
    for kind in (*INERT[first:], *INERT[:first]):
        for attempt in range(MOST_DRAWS):
            change = draw(base.tree, kind, base.executed, Draws(SEED, slot.program, kind, slot.number, attempt))
            if change is None:
                break
            commit = base.program.commit(slot.name, change)
            if commit in taken:
                continue
            why = not_inert(base, change, commit)
            if not why:
                return Made(slot, kind, change.what, commit, discarded, {"attempt": attempt})
            discarded[f"{kind}: {why}"] += 1
    return Made(slot, slot.kind, "", "", discarded)


def not_inert(base: Base, change: Change, commit: str) -> str:
    """Why a change is thrown away; "" for one that is proved to be inert."""
    try:
        built = base.program.build(commit, f"{FLAGS} {proof.FLAGS}")
    except NotBuilt:
        return "does not compile"
    head = proof.contents(base.program.directory / "build")
    if proof.difference(change.kind, base.contents, head, base.executed):
        return "other code"
    if proof.loaded(built) == base.loaded:
        return "nothing moves"
    try:
        executed = work.executed(built, base.program.workload("cycles"))
    except work.Failed:
        return "another output"
    return "other work" if proof.work_differs(base.executed, executed) else ""


def make_planted(slot: Slot, base: Base, taken: set[str]) -> Made:
    """Plant a loop and correct its turns until the effect, over layouts, is the one that is wanted.

    ``taken`` are the commits of other slots: the same change is not counted twice.
    """
    discarded: Counter[str] = Counter()
    most_calls = slot.target * base.counts.cycles / (2 * _LEAST_TURNS)
    places = hot_places(base.tree, base.executed, most_calls)
    draws = Draws(SEED, slot.program, PLANTED, slot.number)
    for _ in range(min(MOST_DRAWS, len(places))):
        file, function, calls = places.pop(draws.below(min(len(places), 8)))
        found = _calibrated(
            slot, base, lambda turns, f=file, g=function: plant(base.tree, f, g, turns), calls, discarded, taken
        )
        if found is not None:
            return found
    return Made(slot, PLANTED, "", "", discarded)


def _calibrated(
    slot: Slot,
    base: Base,
    planted: Callable[[int], Change],
    calls: int,
    discarded: Counter[str],
    taken: set[str],
) -> Made | None:
    """The change with as many turns as give the effect; None, and the reason counted, where none do."""
    turns = max(1, round(slot.target * base.counts.cycles / (2 * calls)))
    trail = []
    for _ in range(MOST_CORRECTIONS):
        change = planted(turns)
        commit = base.program.commit(slot.name, change)
        if commit in taken:
            return None
        try:
            built = base.program.build(commit, FLAGS)
            counts = work.counts(built, base.program.workload("cycles"))
        except NotBuilt:
            discarded["planted: does not compile"] += 1
            return None
        except work.Failed:
            discarded["planted: another output"] += 1
            return None
        added = (counts.instructions - base.counts.instructions) / base.counts.cycles
        if not trail and abs(added - slot.target) > TOLERANCE / 2 and added > 0:
            # the compiler may have inlined the function, or made copies of it: callgrind then counts fewer calls
            trail.append({"turns": turns, "added_instructions": added, "effect": None})
            turns = max(1, round(turns * slot.target / added))
            continue
        truth = true_effect(base.program, "cycles", commit, slot.name)
        trail.append({"turns": turns, "added_instructions": added, **truth})
        if abs(truth["effect"] - slot.target) <= TOLERANCE:
            facts = {"truth": truth, "trail": trail, "function": change.function, "calls": calls, "turns": turns}
            facts["file"] = next(iter(change.texts))
            return Made(slot, PLANTED, change.what, commit, discarded, facts)
        if added <= 0:
            break
        turns = max(1, round(turns * (1 + (slot.target - truth["effect"]) / added)))
    discarded["planted: not to be calibrated"] += 1
    return None


def again(slot: Slot, base: Base, made: Mapping[str, Any]) -> str:
    """The commit of a change that was made elsewhere, in this program's repository; raises `LookupError` for another."""
    if slot.target:
        [(file, function)] = [
            (name, function)
            for name, function, calls in hot_places(base.tree, base.executed, base.counts.cycles)
            if (name, function.name, calls) == (made["file"], made["function"], made["calls"])
        ]
        change: Change | None = plant(base.tree, file, function, made["turns"])
    else:
        draws = Draws(SEED, slot.program, made["kind"], slot.number, made["attempt"])
        change = draw(base.tree, made["kind"], base.executed, draws)
    commit = base.program.commit(slot.name, change) if change is not None else "none"
    if commit != made["commit"]:
        raise LookupError(f"{slot.name}: the change is commit {commit} here and {made['commit']} where it was made")
    return commit


def true_effect(program: Program, metric: str, commit: str, name: str) -> dict[str, Any]:
    """The effect of a commit over layouts that no judge sees: the mean ratio less 1, its interval, the executions."""
    project = program.directory / f"truth-{metric}"
    text = (program.project(metric) / "layoutrand.toml").read_text()
    head = text.index("[systems.")
    end = text.index("[[benchmarks]]")
    systems = "".join(
        f'[systems.{system}]\ntoolchain = "gcc"\ncflags = "-O2"\nrev = "{rev}"\n\n'
        for system, rev in (("base", program.revision("base")), (_system(name, commit), commit))
    )
    project.mkdir(exist_ok=True)
    (project / "layoutrand.toml").write_text(text[:head] + systems + text[end:])
    for entry in ("inputs", "reference", "src"):
        if (program.project(metric) / entry).exists() and not (project / entry).exists():
            (project / entry).symlink_to(Path("..") / metric / entry)
    told = ["--seeds", TRUTH_SEEDS, "-C", str(project)]
    alone = ["--share-machine"] if metric == "cycles" else []
    layoutrand(program, "build", *told, "--jobs", "1")
    layoutrand(program, "run", *told, *alone, "--retry-failed")  # what a signal ended is no result of the change
    document = layoutrand(program, "compare", "base", _system(name, commit), "-C", str(project), "--json")
    row = document["benchmarks"][0]
    low, high = row["interval"]
    return {"effect": row["ratio"] - 1, "interval": [low - 1, high - 1], "layouts": 20}


def _system(name: str, commit: str) -> str:
    return f"{name.rpartition('-')[2]}-{commit[:10]}"


class NoAnswer(Exception):
    """A command of layoutrand ended without a document."""


def layoutrand(program: Program, *words: str) -> dict[str, Any]:
    """Execute a command; the document that it prints, {} for one that prints none.  Raises `NoAnswer`."""
    done = subprocess.run(
        [sys.executable, "-m", "layoutrand", *words],
        env={
            **os.environ,
            **through_ccache(program.directory.parent),
            "LAYOUTRAND_CACHE": str(program.directory / "cache"),
        },
        capture_output=True,
        text=True,
        errors="replace",
    )
    if "--json" in words:
        try:
            found: dict[str, Any] = json.loads(done.stdout)
        except ValueError as error:
            raise NoAnswer(f"{' '.join(words)}: status {done.returncode}: {done.stderr[-600:]}") from error
        return found
    if done.returncode != 0:
        raise NoAnswer(f"{' '.join(words)}: status {done.returncode}: {done.stderr[-600:]}")
    return {}
