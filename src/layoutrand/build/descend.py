"""What a build left of the links that were laid out inside it: each artefact, and the link that it comes from."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from layoutrand.build import apply, descent
from layoutrand.build.apply import LinkOutcome, Proof
from layoutrand.build.claims import NOT_COMPARABLE, STRONGEST_FIRST
from layoutrand.cache.capture_record import CapturedLink
from layoutrand.capture.build_order import InstrumentedBuild
from layoutrand.capture.built_artefact import artefact_of
from layoutrand.capture.which_link import NO_LINK_SEEN, other_names
from layoutrand.errors import LayoutNotApplied, NothingLinked
from layoutrand.link import codecheck
from layoutrand.link.code import Code
from layoutrand.linkers import linkline
from layoutrand.model import Section


@dataclass(frozen=True)
class FinishedBuild:
    """A build that succeeded, while its tree is still there, and what became of each of its links."""

    outcomes: list[LinkOutcome]
    made: InstrumentedBuild

    @property
    def tree(self) -> Path:
        """Where it was made."""
        return self.made.tree

    @property
    def log(self) -> Path:
        """What it printed."""
        return self.made.log

    @property
    def build_s(self) -> float:
        """The seconds that it took."""
        return self.made.build_s


@dataclass(frozen=True)
class Descendant:
    """An artefact that a build left, the link it comes from, and what is proved to be common to both."""

    artefact: str
    data: bytes
    outcome: LinkOutcome
    claim: str

    @property
    def proof(self) -> Proof:
        """Of the link."""
        assert self.outcome.proof is not None
        return self.outcome.proof


def descend(build: FinishedBuild, artefact: str) -> Descendant:
    """The artefact and the link it comes from: by its content, else by its name.

    Raises `CaptureFailed` or `LayoutNotApplied` if there is no such link, or if that link was not laid out.
    """
    outputs = [outcome.output for outcome in build.outcomes]
    data = artefact_of(build.tree, artefact, build.log, outputs, whatever=True)
    paths = {linkline.absolute(artefact, str(build.tree)), os.path.realpath(build.tree / artefact)}
    newest = build.outcomes[::-1]
    laid_out = [outcome for outcome in newest if outcome.proof is not None]
    claims = descent.common(data, [outcome.traces() for outcome in laid_out])
    proved = [pair for pair in zip(laid_out, claims, strict=True) if pair[1] != NOT_COMPARABLE]
    if proved:
        outcome, claim = min(proved, key=lambda p: (STRONGEST_FIRST.index(p[1]), p[0].output not in paths))
        return Descendant(artefact, data, outcome, claim)
    if not build.outcomes:
        raise NothingLinked(NO_LINK_SEEN, log=build.log)
    called = [outcome for outcome in newest if outcome.output in paths]
    called += [outcome for outcome in newest if _same_name(outcome.output, artefact)]
    if not called:
        raise LayoutNotApplied(
            f"nothing shows that {artefact} comes from a program that was laid out in this build: none of them has "
            f"its name, and it holds the code of none. The links were: "
            f"{apply.listed(build.outcomes, str(build.tree))}. Let the build link it under a name that begins alike",
            log=build.log,
        )
    if called[0].proof is None:
        raise LayoutNotApplied(f"its link was not laid out: {called[0].reason}", log=build.log)
    return Descendant(artefact, data, called[0], NOT_COMPARABLE)


def _same_name(output: str, artefact: str) -> bool:
    """Whether the file names are the same up to what steps of a build add: prog.elf and prog.bin, prog.tmp and prog."""
    name, wanted = os.path.basename(output), os.path.basename(artefact)
    return name in other_names(artefact) or name.split(".")[0] == wanted.split(".")[0]


def _called(section: Section) -> str:
    return f"{section.name} of {section.object} ({section.size} bytes)"


def difference(reference: CapturedLink, code: Path, outcome: LinkOutcome) -> str:
    """Where the program of a build differs from the reference's, whose ``code`` is in that file; for a message."""
    ours, theirs = outcome.link().sections, reference.sections
    for one, other in zip(ours, theirs, strict=False):
        if one != other:
            return f"its {_called(one)} stands where that has {_called(other)}"
    if len(ours) != len(theirs):
        return f"it has {len(ours)} placeable sections instead of {len(theirs)}"
    with (outcome.record / "code.npz").open("rb") as our_file, code.open("rb") as their_file:
        new, old = Code.load(our_file), Code.load(their_file)
    if new.content.shape == old.content.shape:
        where = codecheck.changed(old.content, new.content, old.fixed)
        if where is not None:
            section = ours[int(np.searchsorted(np.cumsum(old.stored), where, side="right"))]
            return f"{section.name} of {section.object} has other code"
    return "the same sections, in another order or with other symbols"
