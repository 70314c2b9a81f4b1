"""How much of what systems share lies at the same address in all of them: from their binaries' proofs, and in words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from layoutrand.config.twice import is_second
from layoutrand.model import Binary, Coincidence
from layoutrand.platform.disk import canonical_json

RECORD: Final = "coincidence"
"""Under which a context keeps it, among what a capture was made with."""

QUESTION: Final = (
    'the layouts are reconciled (layout.couple = "address"): this is the change itself, with the displacement of its '
    'neighbours taken out; layout.couple = "order" shows the change as a user will see it'
)
"""What results of reconciled layouts answer, and what they do not."""


@dataclass(frozen=True)
class CoincidingSystems:
    """Of one artefact, the least over ``n_layouts`` layouts; what is unchanged has equal contents in all ``systems``.

    Functions and variables are ``together`` if each of the systems' binaries has them at the address agreed on, and so
    all at the same one; of ``changed`` functions that is said of where they begin.
    """

    artefact: str
    systems: tuple[str, ...]
    n_layouts: int
    functions: int
    functions_together: int
    variables: int
    variables_together: int
    changed: int
    changed_together: int

    def __str__(self) -> str:
        variables = f" and {_of(self.variables_together, self.variables)} unchanged variables" if self.variables else ""
        changed = (
            f"; {_of(self.changed_together, self.changed)} changed functions begin at the same address"
            if self.changed
            else ""
        )
        functions = f"{_of(self.functions_together, self.functions)} unchanged functions{variables}"
        return f"{self.artefact}: {functions} lie at the same address {self._where()}{self._layouts()}{changed}"

    def _where(self) -> str:
        if len(self.systems) == 1:
            return f"in {self.systems[0]} and in the systems that it is reconciled with"
        return "in both" if len(self.systems) == 2 else f"in all {len(self.systems)} systems"

    def _layouts(self) -> str:
        if self.n_layouts == 1:
            return ""
        return f", in each of {self.n_layouts} layouts{'' if self._whole else ' at the least'}"

    @property
    def _whole(self) -> bool:
        pairs = ((self.functions_together, self.functions), (self.variables_together, self.variables))
        return all(one == other for one, other in pairs) and self.changed_together == self.changed


def coinciding_systems(binaries: Iterable[Binary]) -> list[CoincidingSystems]:
    """Of each artefact, from those layouts that all of its systems have; none without reconciled layouts."""
    found: dict[str, dict[str, dict[int, Coincidence]]] = {}
    for binary in binaries:
        proof = None if is_second(binary.system) else binary.verification  # whose layouts are of other seeds
        if isinstance(binary.layout, int) and proof and (own := proof.coincidence):
            found.setdefault(binary.artefact, {}).setdefault(binary.system, {})[binary.layout] = own
    return [_of_artefact(artefact, systems) for artefact, systems in found.items() if _common(systems)]


def record_of_coincidence(found: Sequence[CoincidingSystems]) -> dict[str, str]:
    """What is recorded of it beside executions; nothing where there is nothing."""
    return {RECORD: canonical_json([asdict(each) for each in found]).decode()} if found else {}


def recorded_coincidence(made: Iterable[Mapping[str, str]]) -> list[CoincidingSystems]:
    """What `record_of_coincidence` recorded: of each artefact the least, of as many systems as were built together."""
    found: dict[str, CoincidingSystems] = {}
    for each in made:
        for row in json.loads(each.get(RECORD, "[]")):
            own = CoincidingSystems(**{**row, "systems": tuple(row["systems"])})
            known = found.get(own.artefact)
            if known is None or len(own.systems) > len(known.systems):
                found[own.artefact] = own
            elif known.systems == own.systems:
                found[own.artefact] = _least([known, own], n_layouts=max(known.n_layouts, own.n_layouts))
    return list(found.values())


def _common(systems: Mapping[str, Mapping[int, Coincidence]]) -> list[int]:
    first, *others = systems.values()
    return sorted(layout for layout in first if all(layout in other for other in others))


def _of_artefact(artefact: str, systems: Mapping[str, Mapping[int, Coincidence]]) -> CoincidingSystems:
    rows = []
    for layout in _common(systems):
        proofs = [own[layout] for own in systems.values()]
        one = proofs[0]
        functions = {at for proof in proofs for at in proof.functions_elsewhere}
        variables = {at for proof in proofs for at in proof.variables_elsewhere}
        changed = {at for proof in proofs for at in proof.changed_elsewhere}
        rows.append(
            CoincidingSystems(
                artefact=artefact,
                systems=tuple(systems),
                n_layouts=1,
                functions=one.functions,
                functions_together=one.functions - len(functions),
                variables=one.variables,
                variables_together=one.variables - len(variables),
                changed=one.changed,
                changed_together=one.changed - len(changed),
            )
        )
    return _least(rows, n_layouts=len(rows))


def _least(rows: Sequence[CoincidingSystems], *, n_layouts: int) -> CoincidingSystems:
    first = rows[0]
    return CoincidingSystems(
        artefact=first.artefact,
        systems=first.systems,
        n_layouts=n_layouts,
        functions=first.functions,
        functions_together=min(row.functions_together for row in rows),
        variables=first.variables,
        variables_together=min(row.variables_together for row in rows),
        changed=first.changed,
        changed_together=min(row.changed_together for row in rows),
    )


def _of(some: int, all_: int) -> str:
    return f"{some:,} of {all_:,}"
