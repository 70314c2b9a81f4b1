"""Whether binaries print the same: by the digests of what executions printed, and never more than these tell."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from layoutrand.execute.output_warnings import SystemsPrintOther, UnlikeOutputs
from layoutrand.model import Execution, LayoutName

_Printed = dict[LayoutName, list[Execution]]
Printed = Mapping[tuple[str, str, str], Counter[str]]
"""(System, benchmark, instrument) -> how many executions printed what, by digest."""

_STEPS: Final = 500
"""In which the probability of an output is gone through."""


def outputs_of(executions: Iterable[Execution], project: Path) -> list[UnlikeOutputs]:
    """As `unlike_outputs`, of executions of the project in this directory; outputs that are still kept are named."""
    return unlike_outputs(executions, lambda file: (project / file).is_file())


def unlike_outputs(executions: Iterable[Execution], is_there: Callable[[str], bool]) -> list[UnlikeOutputs]:
    """One warning for each system and benchmark of which a minority of binaries prints something else.

    Nothing is said where any binary does not print the same each time, where no output is that of more than half of
    the binaries, or where it is not known what was printed.  Failed executions do not count.  ``is_there`` says whether
    a file of the project is.
    """
    groups: dict[tuple[str, str], dict[str, _Printed]] = {}
    for each in executions:
        if each.status == "ok" and each.output_sha256:
            by_instrument = groups.setdefault((each.system, each.benchmark), {})
            by_instrument.setdefault(each.instrument, {}).setdefault(each.layout, []).append(each)
    found = []
    for by_instrument in groups.values():
        # Under another instrument it is the same program: what one of them shows is told once.
        found += [told for printed in by_instrument.values() for told in _of_one(printed, is_there)][:1]
    return found


def _of_one(printed: _Printed, is_there: Callable[[str], bool]) -> Iterator[UnlikeOutputs]:
    outputs = {layout: {each.output_sha256 for each in own} for layout, own in printed.items()}
    if any(len(own) > 1 for own in outputs.values()):
        return
    ((usual, n_alike),) = Counter(digest for (digest,) in outputs.values()).most_common(1)
    if 2 * n_alike <= len(outputs) or n_alike == len(outputs):
        return
    others = sorted((layout for layout, own in outputs.items() if usual not in own), key=_in_order)
    first = next(iter(printed.values()))[0]
    yield UnlikeOutputs(
        system=first.system,
        benchmark=first.benchmark,
        layouts=tuple(layout for layout in others if len(printed[layout]) == 1),
        repeated=tuple(layout for layout in others if len(printed[layout]) > 1),
        n_alike=n_alike,
        by_chance=by_chance([len(own) for own in printed.values()]),
        outputs=_two_outputs([each for own in printed.values() for each in own], usual, is_there),
    )


def _two_outputs(executions: Sequence[Execution], usual: str, is_there: Callable[[str], bool]) -> tuple[str, ...]:
    """The files with what most printed and with something else, where both are there."""
    kept = [(each.output_sha256 == usual, f"{each.log}/stdout") for each in executions if each.log]
    usual_ones, others = ([file for same, file in kept if same is side and is_there(file)] for side in (True, False))
    return (usual_ones[0], others[0]) if usual_ones and others else ()


def _in_order(layout: LayoutName) -> tuple[bool, int | str]:
    return not isinstance(layout, int), layout


def by_chance(executions: Sequence[int]) -> float:
    """At most how probable it is that binaries agree with themselves and not with each other, though chance decides.

    Of a program that prints one of two things at random, with the probability that is worst; ``executions`` are those
    of each binary.  Binaries that were executed once agree with themselves in any case, so they do not count.
    """
    repeated = [each for each in executions if each > 1]
    if len(repeated) < 2:
        return 1.0
    chances = (step / (2 * _STEPS) for step in range(1, _STEPS + 1))
    return max(
        math.prod(one**n + (1 - one) ** n for n in repeated) - one ** sum(repeated) - (1 - one) ** sum(repeated)
        for one in chances
    )


def printed_by(executions: Iterable[Execution]) -> Printed:
    """What executions that went well printed, as far as that is known."""
    found: dict[tuple[str, str, str], Counter[str]] = {}
    for each in executions:
        if each.status == "ok" and each.output_sha256:
            found.setdefault((each.system, each.benchmark, each.instrument), Counter())[each.output_sha256] += 1
    return found


def systems_print_other(
    printed: Printed, benchmark: str, instrument: str, systems: tuple[str, str]
) -> list[SystemsPrintOther]:
    """A warning where all executions of either system print the same, and not the same as the other's.

    Of one execution nobody knows whether the next prints the same.
    """
    old, new = (printed.get((system, benchmark, instrument), Counter()) for system in systems)
    is_each_alike = len(old) == len(new) == 1 and min(old.total(), new.total()) > 1
    return [SystemsPrintOther(benchmark, *systems)] if is_each_alike and old.keys() != new.keys() else []
