"""Instructions that qemu executes for a program, counted by a plugin: the same in every execution, without valgrind.

Counted is each translated block with all its instructions when it begins, of all processes that qemu emulates: one that
is left in its middle, by a signal, counts as a whole.  What other programs execute beside them, such as a shell that
starts qemu, is not counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from layoutrand.config.metric import Metric
from layoutrand.errors import FeatureUnsupported, NoMeasurement
from layoutrand.instruments import qemu_plugin
from layoutrand.instruments.instrument import EndedExecution, Instrument, InstrumentFiles
from layoutrand.model import Measurement

INSTRUCTIONS: Final = "instructions"
_PLUGIN: Final = "instructions.so"
_RECORD: Final = "qemu"


class _Qemu(Instrument):
    name = "qemu"
    settings = 'metric.instruments = ["qemu"]'
    described = "instructions of translated blocks, by a plugin of qemu"
    simulated = True
    slowdown = 5  # a block's callback takes longer than many blocks: 2 to 4 times as long as qemu by itself
    behind = "anything"

    def metrics(self, metric: Metric) -> tuple[str, ...]:
        """See `Instrument`."""
        del metric
        return (INSTRUCTIONS,)

    def definition(self, metric: Metric) -> Any:
        """See `Instrument`."""
        del metric
        return [INSTRUCTIONS, "translated blocks"]

    def check(self, program: str, metrics: Sequence[Metric], qemu: str = "") -> None:
        """See `Instrument`; only qemu tells whether it loads the plugin."""
        del program, metrics
        if not qemu:
            raise FeatureUnsupported(
                f"a benchmark asks for {self.settings}, and no qemu executes the program: "
                'run.launcher = ["qemu-x86_64"] has it execute those of x86-64, and others those of other processors'
            )
        qemu_plugin.plugin_for(qemu)

    def prepare(self, files: InstrumentFiles, qemu: str = "") -> None:
        """See `Starter`."""
        qemu_plugin.write_plugin(files.scratch / _PLUGIN, qemu)

    def environment(self, metric: Metric, files: InstrumentFiles) -> dict[str, str]:
        """See `Instrument`; programs that the first one executes get it, too."""
        del metric
        return {qemu_plugin.VARIABLE: qemu_plugin.words_for(files.scratch / _PLUGIN, files.output / _RECORD)}

    def measurements(self, ended: EndedExecution) -> tuple[Measurement, ...]:
        """See `Instrument`."""
        text = ended.written(_RECORD)
        if text is None:
            raise NoMeasurement("qemu wrote no counts: the command did not start it")
        return (Measurement(INSTRUCTIONS, "1", 0, float(qemu_plugin.instructions(text)), warmup=False),)


INSTRUMENT: Final = _Qemu()
