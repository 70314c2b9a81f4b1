"""What all instruments have in common that have a plugin of qemu count."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from layoutrand.config.metric import Metric
from layoutrand.errors import FeatureUnsupported, NoMeasurement
from layoutrand.instruments import qemu_plugin
from layoutrand.instruments.instrument import EndedExecution, Instrument, InstrumentFiles
from layoutrand.model import Measurement

_PLUGIN: Final = "plugin.so"


class CountedByQemu(Instrument):
    """An instrument that has qemu load a plugin, which writes these ``counts``."""

    counted: ClassVar[tuple[str, ...]]
    """What it counts: one of the tuples of `layoutrand.instruments.qemu_plugin`."""

    simulated = True
    behind = "anything"

    @abstractmethod
    def values(self, counts: Mapping[str, int]) -> Mapping[str, float]:
        """Metric -> value, of the counts of all processes together."""

    def check(self, program: str, metrics: Sequence[Metric], qemu: str = "") -> None:
        """See `Instrument`; only qemu tells whether it loads the plugin."""
        del program, metrics
        if not qemu:
            raise FeatureUnsupported(
                f"a benchmark asks for {self.settings}, and no qemu executes the program: "
                'run.launcher = ["qemu-x86_64"] has it execute those of x86-64, and others those of other processors'
            )
        qemu_plugin.plugin_for(qemu, self.counted)

    def prepare(self, files: InstrumentFiles, qemu: str = "") -> None:
        """See `Starter`."""
        qemu_plugin.write_plugin(files.scratch / _PLUGIN, qemu, self.counted)

    def environment(self, metric: Metric, files: InstrumentFiles) -> dict[str, str]:
        """See `Instrument`; programs that the first one executes get it, too."""
        del metric
        return {qemu_plugin.VARIABLE: qemu_plugin.words_for(files.scratch / _PLUGIN, files.output / self.name)}

    def measurements(self, ended: EndedExecution) -> tuple[Measurement, ...]:
        """See `Instrument`."""
        text = ended.written(self.name)
        if text is None:
            raise NoMeasurement("qemu wrote no counts: the command did not start it")
        values = self.values(qemu_plugin.counted(text, self.counted))
        return tuple(Measurement(metric, "1", 0, float(value), warmup=False) for metric, value in values.items())
