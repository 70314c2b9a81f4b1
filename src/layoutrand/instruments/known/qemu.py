"""Instructions that qemu executes for a program, counted by a plugin: the same in every execution, without valgrind.

Counted is each translated block with all its instructions when it begins, of all processes that qemu emulates: one that
is left in its middle, by a signal, counts as a whole.  What other programs execute beside them, such as a shell that
starts qemu, is not counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from layoutrand.config.metric import Metric
from layoutrand.instruments.emulated import CountedByQemu
from layoutrand.instruments.qemu_plugin import INSTRUCTIONS


class _Qemu(CountedByQemu):
    name = "qemu"
    settings = 'metric.instruments = ["qemu"]'
    described = "instructions of translated blocks, by a plugin of qemu"
    counted = INSTRUCTIONS
    slowdown = 5  # a block's callback takes longer than many blocks: 2 to 4 times as long as qemu by itself

    def metrics(self, metric: Metric) -> tuple[str, ...]:
        """See `Instrument`."""
        del metric
        return INSTRUCTIONS

    def definition(self, metric: Metric) -> Any:
        """See `Instrument`."""
        del metric
        return [*INSTRUCTIONS, "translated blocks"]

    def values(self, counts: Mapping[str, int]) -> Mapping[str, float]:
        """See `CountedByQemu`."""
        return counts


INSTRUMENT: Final = _Qemu()
