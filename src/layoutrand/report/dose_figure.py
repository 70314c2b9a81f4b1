"""The figure of a sweep: what was measured, against the offset that a function lay at."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from layoutrand.report import plot, style
from layoutrand.report.plot import Plot, Series

WIDTH_MM = 120.0


def dose_plot(title: str, x_label: str, offsets: Sequence[int], changes: Sequence[Sequence[float]]) -> Plot:
    """``changes`` has for each round the change at each offset from the mean over all of them, in percent."""
    points = [(float(offset), value) for row in changes for offset, value in zip(offsets, row, strict=True)]
    means = [fmean(column) for column in zip(*changes, strict=True)]
    return Plot(
        title=title,
        description=f"{len(changes)} rounds of {len(offsets)} offsets; a point is an execution.",
        x_label=x_label,
        y_label="change from the mean of the round, in percent",
        series=[
            Series("executions", 0, "points", points),
            Series("mean", 1, "line", [(float(offset), mean) for offset, mean in zip(offsets, means, strict=True)]),
        ],
        horizontals=[0.0],
        counts_x=True,
    )


def dose_figure(figure: Plot) -> str:
    """It as SVG in a file of its own."""
    return style.standalone(plot.draw(figure), WIDTH_MM)
