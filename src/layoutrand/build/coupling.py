"""Systems whose layouts are reconciled (``layout.couple = "address"``): what they agree on, found once and kept."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from layoutrand.build.coupled import coupled_facts
from layoutrand.cache import keys
from layoutrand.cache.capture_record import Capture
from layoutrand.cache.store import Cache
from layoutrand.config.layout_policy import LayoutPolicy
from layoutrand.errors import BuildFailed, FeatureUnsupported, LayoutrandError
from layoutrand.layout.reconciled import Adjustment, Pairs, Rules, Side, rooms
from layoutrand.link.code import Code
from layoutrand.link.linked import Linked
from layoutrand.link.reconcile import LinkedSide, Reconciliation, link_side, settle, verify_side
from layoutrand.linkers.toolbox import Tool
from layoutrand.model import LayoutName
from layoutrand.platform.process import Runner


@dataclass(frozen=True)
class CoupledSystem:
    """One of the systems: its capture, linker and what the key of its build has, or the error why there is none."""

    system: str
    capture: Capture | None
    ld: Tool | None
    error: LayoutrandError | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CoupledArtefact:
    """One artefact as the ``number``-th of the systems has it, among all of them.

    ``key`` names what they agree on: captures, artefact and policy.
    """

    artefact: str
    systems: tuple[CoupledSystem, ...]
    number: int
    policy: LayoutPolicy
    cache: Cache

    @property
    def key(self) -> str:
        """What the layouts of the artefact depend on besides its own capture."""
        captures = [each.capture.id if each.capture else "" for each in self.systems]
        return keys.coupled_key(captures, self.artefact, self.policy.facts())

    def link(
        self, layout: LayoutName, code: Code, *, runner: Runner, scratch: Path, threads: int
    ) -> tuple[Linked, Path]:
        """Link and verify one layout: what it gave, and where it is; raises as `settle` and `link_side` do."""
        of = self._agreed(runner)
        own = self._sides()[self.number]
        made = link_side(own, self.number, of, layout, runner=runner, scratch=scratch, threads=threads)
        return verify_side(own, self.number, of, made, code), made.output

    def _agreed(self, runner: Runner) -> Reconciliation:
        """What the systems agree on, found once per process, and kept in the cache."""
        with _agreeing:
            found = _agreements.get(self.key)
            if found is None:
                try:
                    found = self._recalled() or self._settled(runner)
                except LayoutrandError as error:  # as it will be for every other seed
                    found = error
                _agreements[self.key] = found
        if isinstance(found, LayoutrandError):
            raise found
        return found

    def _sides(self) -> list[LinkedSide]:
        sides = []
        for each in self.systems:
            if each.capture is None or each.ld is None:
                why = each.error or BuildFailed("it was not built")
                raise BuildFailed(
                    f"its layouts are those of {each.system} as well, of which there is no capture: {why}"
                )
            number = next(n for n, link in enumerate(each.capture.links) if link.artefact == self.artefact)
            base = self.cache.capture_path(each.capture.id) / str(number)
            sides.append(LinkedSide(each.system, each.capture.links[number], base, each.ld))
        return sides

    def _settled(self, runner: Runner) -> Reconciliation:
        sides = self._sides()
        if len(sides) < 2:
            raise FeatureUnsupported(
                'layout.couple = "address" is for two systems that are built, or more: what they share is to have the '
                "same addresses in all of them"
            )
        for each in self.systems:
            if each.capture is not None and (damaged := self.cache.damaged_files(each.capture)):
                raise BuildFailed(
                    f"the capture of {each.system} is damaged in the cache ({damaged[0]}): build it again"
                )
        with self.cache.scratch("reconcile") as scratch:
            found = settle(sides, self._rules(), runner, scratch)
        self.cache.remember(f"coupled-{self.key}", _record(found))
        return found

    def _recalled(self) -> Reconciliation | None:
        """What an earlier build settled; None where nothing is known."""
        record = self.cache.recall(f"coupled-{self.key}")
        if record is None:
            return None
        sides = tuple(Side(each.link.sections, each.link.identity, ()) for each in self._sides())
        pairs = Pairs(*(tuple(tuple(row) for row in record[name]) for name in ("unchanged", "changed")))
        rules = self._rules()
        return Reconciliation(
            sides=sides,
            pairs=pairs,
            room=rooms(sides, pairs, rules.padding),
            rules=rules,
            adjustments=tuple({of: Adjustment(**own) for of, own in side.items()} for side in record["adjustments"]),
            begins=record["begins"],
            apart=tuple(record["apart"]),
        )

    def _rules(self) -> Rules:
        policy = self.policy
        padding = policy.padding_bytes if "padding" in policy.drawn else 0
        return Rules(policy.drawn, policy.classes, padding)


@dataclass(frozen=True)
class CoupledSystems:
    """All systems of a configuration whose layouts are reconciled."""

    systems: tuple[CoupledSystem, ...]
    policy: LayoutPolicy
    cache: Cache

    def artefact(self, capture: Capture, artefact: str) -> CoupledArtefact:
        """An artefact as the system of that capture has it; the capture may have been built anew."""
        own = [replace(each, capture=capture) if each.system == capture.system else each for each in self.systems]
        number = [each.system for each in own].index(capture.system)
        return CoupledArtefact(artefact, tuple(own), number, self.policy, self.cache)

    def captures(self) -> tuple[str, ...]:
        """The captures of all systems."""
        return tuple(each.capture.id if each.capture else "" for each in self.systems)

    def facts_beside(self, name: str) -> dict[str, Any]:
        """What the binaries of a system depend on besides its own build, as `coupled_facts` has it."""
        return coupled_facts({each.system: each.facts for each in self.systems if each.system != name})


def _record(found: Reconciliation) -> Mapping[str, Any]:
    return {
        "unchanged": found.pairs.unchanged,
        "changed": found.pairs.changed,
        "adjustments": [{of: asdict(own) for of, own in side.items()} for side in found.adjustments],
        "begins": dict(found.begins),
        "apart": list(found.apart),
    }


_agreements: dict[str, Reconciliation | LayoutrandError] = {}
_agreeing = threading.Lock()
