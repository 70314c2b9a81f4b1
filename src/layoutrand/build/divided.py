"""What was built of a system that is executed twice, as what was built of two."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from layoutrand.build.build import SystemBuild
from layoutrand.config.twice import second_of, second_seed
from layoutrand.model import LayoutName


def divided(results: Sequence[SystemBuild], seeds: Sequence[int]) -> list[SystemBuild]:
    """Each system with the layouts of these seeds, then each again with those of their second seeds.

    Both have the controls, which are the same files.
    """
    again = {second_seed(seed) for seed in seeds}
    firsts = [_part(result, result.system, set(seeds)) for result in results]
    return [*firsts, *(replace(_part(result, second_of(result.system), again), notes=()) for result in results)]


def _part(result: SystemBuild, system: str, seeds: Collection[int]) -> SystemBuild:
    def is_own(layout: LayoutName) -> bool:
        return not isinstance(layout, int) or layout in seeds

    return replace(
        result,
        system=system,
        binaries=tuple(replace(each, system=system) for each in result.binaries if is_own(each.layout)),
        failures=tuple(replace(each, system=system) for each in result.failures if is_own(each.layout)),
        jvms={layout: facts for layout, facts in result.jvms.items() if is_own(layout)},
    )
