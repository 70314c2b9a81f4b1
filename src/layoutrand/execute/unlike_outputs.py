"""Whether binaries print the same: by the digests of what executions printed, and never more than these tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from layoutrand.execute.output_warnings import SystemsPrintOther, UnlikeOutputs
from layoutrand.model import Execution, LayoutName

_Printed = dict[LayoutName, list[Execution]]


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
        outputs=_two_outputs([each for own in printed.values() for each in own], usual, is_there),
    )


def _two_outputs(executions: Sequence[Execution], usual: str, is_there: Callable[[str], bool]) -> tuple[str, ...]:
    """The files with what most printed and with something else, where both are there."""
    kept = [(each.output_sha256 == usual, f"{each.log}/stdout") for each in executions if each.log]
    usual_ones, others = ([file for same, file in kept if same is side and is_there(file)] for side in (True, False))
    return (usual_ones[0], others[0]) if usual_ones and others else ()


def _in_order(layout: LayoutName) -> tuple[bool, int | str]:
    return not isinstance(layout, int), layout


def systems_print_other(
    executions: Iterable[Execution], benchmark: str, instrument: str, systems: tuple[str, str]
) -> list[SystemsPrintOther]:
    """A warning where all executions of either system print the same, and not the same as the other's."""
    of = (benchmark, instrument, "ok")
    own = [each for each in executions if (each.benchmark, each.instrument, each.status) == of and each.output_sha256]
    old, new = ({each.output_sha256 for each in own if each.system == system} for system in systems)
    return [SystemsPrintOther(benchmark, *systems)] if len(old) == len(new) == 1 and old != new else []
