"""Misses of simulated caches, by a plugin of qemu: what layout does to programs that valgrind does not execute here.

The caches are those that valgrind simulates here (`layoutrand.instruments.simulated_caches`), with the addresses of the
emulated program.  A block's lines are fetched when it begins; threads have first-level caches of their own, and share
the last level.  Branches are not predicted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from layoutrand.config.metric import Metric
from layoutrand.instruments.emulated import CountedByQemu
from layoutrand.instruments.qemu_plugin import CACHES
from layoutrand.instruments.simulated_caches import D1, ESTIMATED_CYCLES, I1, LL, estimated_cycles


class _QemuCaches(CountedByQemu):
    name = "qemu-caches"
    settings = 'metric.instruments = ["qemu-caches"]'
    described = f"caches (I1 {I1.words()}, D1 {D1.words()}, LL {LL.words()}) simulated by a plugin of qemu"
    counted = CACHES
    slowdown = 20  # each access takes a callback: 5 times as long as under qemu by itself, or more
    summing_up = ESTIMATED_CYCLES

    def metrics(self, metric: Metric) -> tuple[str, ...]:
        """See `Instrument`."""
        del metric
        return ESTIMATED_CYCLES, *CACHES

    def definition(self, metric: Metric) -> Any:
        """See `Instrument`."""
        del metric
        return [self.described]

    def values(self, counts: Mapping[str, int]) -> Mapping[str, float]:
        """See `CountedByQemu`."""
        first, last = counts["i1_misses"] + counts["d1_misses"], counts["ll_i_misses"] + counts["ll_d_misses"]
        return {ESTIMATED_CYCLES: estimated_cycles(counts["instructions"], first, last), **counts}


INSTRUMENT: Final = _QemuCaches()
