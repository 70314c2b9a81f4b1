"""What is recorded beside what is shown: counts of a simulated processor, where the table has times."""

from __future__ import annotations

from collections.abc import Iterable

from layoutrand.analysis.selection import Selection
from layoutrand.instruments.known import instruments, simulated


def simulated_beside(selection: Selection, shown: Iterable[tuple[str, str]]) -> str | None:
    """One sentence on the benchmarks that are shown by times or events alone and have simulated counts, too.

    ``shown`` are (benchmark, instrument) of the numbers in the tables.  None where there is nothing to be told.
    """
    names, metrics = _beside(selection, shown)
    if not names:
        return None
    others = f", and so does each of {', '.join(metrics[1:])}" if metrics[1:] else ""
    return (
        f"Simulated counts, which no other work disturbs, are recorded of {', '.join(names)} as well: --metric "
        f"{metrics[0]} shows them{others}."
    )


def metric_beside(selection: Selection, shown: Iterable[tuple[str, str]]) -> str:
    """The metric by which these are shown; nothing where there are none, as in `simulated_beside`."""
    return next(iter(_beside(selection, shown)[1]), "")


def _beside(selection: Selection, shown: Iterable[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """The benchmarks, and the metrics that they have as well, the one that sums up first."""
    shown_by: dict[str, set[str]] = {}
    for benchmark, instrument in shown:
        shown_by.setdefault(benchmark, set()).add(instrument)
    real = {benchmark for benchmark, own in shown_by.items() if not own & simulated()}
    counted = [s for s in selection.samples if s.instrument in simulated() and s.benchmark in real and s.binaries]
    first = {each.summing_up for each in instruments()}
    metrics = sorted({sample.metric for sample in counted}, key=lambda name: (name not in first, name))
    return list(dict.fromkeys(sample.benchmark for sample in counted)), metrics
