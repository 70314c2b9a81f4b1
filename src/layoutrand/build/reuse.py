"""`layoutrand build --explain`: what a build would reuse, what it would make, and why. It builds nothing.

What there is to explain is taken from the facts that keys are made of, whatever these are, so a new one needs no line
here. The comparison is with the latest build of the same system that is remembered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

from layoutrand.build.binaries import binary_key, cached_binary
from layoutrand.build.build_setup import BuildSetup
from layoutrand.build.earlier_builds import Remembered, latest_build, recall_capture
from layoutrand.build.made_from import known_captures
from layoutrand.build.two_builds import find_order
from layoutrand.build.why_again import changed_files, changed_parts
from layoutrand.cache.capture_record import Capture
from layoutrand.cache.difference import FileChanges, Part, compare
from layoutrand.cache.keys import coupled_key, reference_key, stock_key
from layoutrand.capture.build_order import BuildOrder
from layoutrand.capture.build_put_back import find_kept
from layoutrand.errors import LayoutrandError
from layoutrand.model import STOCK, LayoutName
from layoutrand.platform.disk import readable

State = Literal["reused", "from a kept build", "to build", "error"]

_NO_CAPTURE_YET: Final = "the capture must be made first"
_AS_EARLIER: Final = ", and may come out as an earlier one"
"""What is added where there was one: a comment that changes builds anew and links the same."""


@dataclass(frozen=True)
class ReuseVerdict:
    """What becomes of one build of a system, and why.

    "from a kept build": what is asked for is not in the cache, but is had without building.

    ``parts`` compares the key's parts with those of ``compared_with``; ``files`` does so with the source's, None where
    they are not known or the same. ``shared_with`` are systems with the same key: they build once. ``error`` says why
    the key could not even be made.
    """

    state: State
    reason: str
    key: str
    capture: Capture | None
    compared_with: Remembered | None
    parts: tuple[Part, ...]
    files: FileChanges | None
    shared_with: tuple[str, ...]


@dataclass(frozen=True)
class Binaries:
    """How many of one artefact's layouts are in the cache; ``reason`` says why others are not, "" if all are."""

    artefact: str
    cached: tuple[LayoutName, ...]
    damaged: tuple[LayoutName, ...]
    missing: tuple[LayoutName, ...]
    reason: str


@dataclass(frozen=True)
class ReuseExplanation:
    """One system; ``stock`` is None where it was not asked for."""

    system: str
    capture: ReuseVerdict
    stock: ReuseVerdict | None
    binaries: tuple[Binaries, ...]


def explain_reuse(setup: BuildSetup, systems: Sequence[str], layouts: Sequence[LayoutName]) -> list[ReuseExplanation]:
    """What `build` would do with these arguments; an error of one system is its verdict and stops no other."""
    found = [_explain(setup, name, layouts) for name in systems]
    return [replace(one, capture=_with_twins(one, found)) for one in found]


def _with_twins(one: ReuseExplanation, every: Sequence[ReuseExplanation]) -> ReuseVerdict:
    twins = [o.system for o in every if o is not one and o.capture.key and o.capture.key == one.capture.key]
    return replace(one.capture, shared_with=tuple(twins))


def _explain(setup: BuildSetup, system: str, layouts: Sequence[LayoutName]) -> ReuseExplanation:
    try:
        order = find_order(setup, system, "capture")
        stock = find_order(setup, system, "stock") if STOCK in layouts else None
    except LayoutrandError as error:
        return ReuseExplanation(system, ReuseVerdict("error", str(error), "", None, None, (), None, ()), None, ())
    latest = latest_build(setup, system, "capture")
    verdict = _capture(setup, order, latest)
    return ReuseExplanation(
        system,
        verdict,
        None if stock is None else _stock(setup, stock, latest_build(setup, system, "stock")),
        tuple(_binaries(setup, verdict, latest, artefact, layouts) for artefact in setup.config.build.artefacts),
    )


def _capture(setup: BuildSetup, order: BuildOrder, latest: Remembered | None) -> ReuseVerdict:
    if setup.config.build.mode == "rebuild":  # there the capture is the record of the first build
        order = replace(order, key=reference_key(order.key))
    capture, recorded = recall_capture(setup.cache, order)
    damaged = setup.cache.damaged_files(capture) if capture else []
    verdict = _verdict(setup, order, latest)
    if capture is not None and not damaged:
        return replace(verdict, state="reused", reason=_why_reused(verdict), capture=capture)
    if damaged:
        verdict = replace(verdict, reason=f"it was captured, but is damaged on disk ({damaged[0]})")
    elif recorded in {"without its key", "of another key"}:
        verdict = replace(verdict, reason=f"what is recorded under its key is a record {recorded}")
    elif recorded == "whole":
        verdict = replace(verdict, reason="it was captured, but is no longer in the cache (evicted, or damaged)")
    return verdict if setup.config.build.mode == "rebuild" else _with_kept(setup, order, verdict)


def _stock(setup: BuildSetup, order: BuildOrder, latest: Remembered | None) -> ReuseVerdict:
    verdict = _verdict(setup, order, latest)
    states = {_state(setup, order.recipe.system, name, STOCK, stock_key(order.key, name)) for name in _artefacts(setup)}
    if states == {"cached"}:
        return replace(verdict, state="reused", reason=_why_reused(verdict))
    if "damaged" in states:
        verdict = replace(verdict, reason="its binary is damaged on disk")
    elif latest is not None and latest.key == order.key:
        verdict = replace(verdict, reason="it was built, but is no longer in the cache (evicted)")
    return _with_kept(setup, order, verdict)


def _with_kept(setup: BuildSetup, order: BuildOrder, verdict: ReuseVerdict) -> ReuseVerdict:
    """The verdict where an earlier build may be kept; or why that does not do."""
    whole, why = find_kept(order, setup.cache)
    if whole is not None:
        kept = f"the build of {whole.build.when} is kept, so no build is needed"
        reason = kept if verdict.compared_with is None else f"{verdict.reason}; {kept}"
        return replace(verdict, state="from a kept build", reason=reason)
    return replace(verdict, reason=f"{verdict.reason}; {why}") if why else verdict


def _artefacts(setup: BuildSetup) -> list[str]:
    return setup.config.build.artefacts


def _verdict(setup: BuildSetup, order: BuildOrder, latest: Remembered | None) -> ReuseVerdict:
    """That it must be built, with the reason so far as the key tells it."""
    parts = changed_parts(order, latest)
    differ = sum(part.change != "same" for part in parts)
    if latest is None:
        reason = "no earlier build of this system is remembered"
    elif differ:
        reason = f"{differ} of {len(parts)} parts of its key changed since the latest build of this system"
    else:
        reason = "nothing changed, but the record of its key is gone or damaged"
    files = None if latest is None else changed_files(setup, order, latest)
    return ReuseVerdict("to build", reason, order.key, None, latest, tuple(parts), files, ())


def _why_reused(verdict: ReuseVerdict) -> str:
    if verdict.compared_with is None or any(part.change != "same" for part in verdict.parts):
        return "an earlier build had exactly this key"
    return "nothing it depends on changed since the latest build of this system"


def _state(setup: BuildSetup, system: str, artefact: str, layout: LayoutName, key: str) -> str:
    if cached_binary(setup.cache, system, artefact, layout, key) is not None:
        return "cached"
    return "damaged" if setup.cache.has_entry(key) else "missing"


def _binaries(
    setup: BuildSetup, verdict: ReuseVerdict, latest: Remembered | None, artefact: str, layouts: Sequence[LayoutName]
) -> Binaries:
    wanted = [layout for layout in layouts if layout != STOCK]
    if verdict.capture is None:
        why = _NO_CAPTURE_YET + _AS_EARLIER * (verdict.compared_with is not None)
        return Binaries(artefact, (), (), tuple(wanted), why if wanted else "")
    capture, policy = verdict.capture, setup.config.layout
    together = known_captures(setup)
    if together is None:
        why = 'the captures of all systems must be built first (layout.couple = "address")'
        return Binaries(artefact, (), (), tuple(wanted), why if wanted else "")
    coupled = coupled_key(together, artefact, policy.facts()) if together else ""
    states = {
        layout: _state(
            setup, capture.system, artefact, layout, binary_key(capture.id, artefact, policy, layout, coupled)
        )
        for layout in wanted
    }
    by_state = {kind: tuple(k for k, state in states.items() if state == kind) for kind in set(states.values())}
    damaged, missing = by_state.get("damaged", ()), by_state.get("missing", ())
    reasons = ["content on disk differs from its record"] if damaged else []
    if missing:
        reasons.append(_why_missing(latest, policy.facts(), missing))
    return Binaries(artefact, by_state.get("cached", ()), damaged, missing, "; ".join(reasons))


def _why_missing(latest: Remembered | None, policy: Mapping[str, Any], missing: Sequence[LayoutName]) -> str:
    changed = [] if latest is None else [part for part in compare(latest.policy, policy) if part.change != "same"]
    if changed and any(isinstance(layout, int) for layout in missing):
        told = "; ".join(f"layout.{part.name} was {part.was}, is {part.now}" for part in changed)
        return f"the layout policy changed since the latest build of this system: {told}"
    return "never made from this capture, or evicted"


def reuse_document(explanations: Sequence[ReuseExplanation]) -> dict[str, Any]:
    """``layoutrand/explain/1``."""
    return {
        "schema": "layoutrand/explain/1",
        "systems": [
            {
                "system": one.system,
                "capture": _verdict_json(one.capture),
                "stock": None if one.stock is None else _verdict_json(one.stock),
                "binaries": [{**asdict(b), "asked": len(b.cached + b.damaged + b.missing)} for b in one.binaries],
            }
            for one in explanations
        ],
    }


def _verdict_json(verdict: ReuseVerdict) -> dict[str, Any]:
    latest = verdict.compared_with
    files = verdict.files
    return {
        "state": verdict.state,
        "reason": verdict.reason,
        "key": verdict.key,
        "capture": None if verdict.capture is None else verdict.capture.id,
        "source": None if verdict.capture is None else dict(verdict.capture.source),
        "compared_with": None
        if latest is None
        else {
            "key": latest.key,
            "at": latest.at,
            "directory": latest.directory,
            "source": dict(latest.source),
        },
        "parts": [asdict(part) for part in verdict.parts],
        "files": None
        if files is None
        else {change: [readable(name) for name in names] for change, names in asdict(files).items()},
        "shared_with": list(verdict.shared_with),
    }
