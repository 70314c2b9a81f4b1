"""What varies: layout, executions and iterations, as parts of the variance of one measurement.

Where each binary was executed once, the variance over binaries is that of layout and of executions together.  Controls
show the latter; where there are none, both stay one part, and it is called so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, Literal

from layoutrand.analysis import layout_words
from layoutrand.analysis.analyse import Analysis, LevelVariance
from layoutrand.analysis.conclusion import LayoutConclusion
from layoutrand.stats import Interval
from layoutrand.text.quantities import finite

Part = Literal["layout", "execution", "iteration", "layout and execution"]

NAMES: Final[dict[Part, str]] = {
    "layout": "layout",
    "execution": "executions of one binary",
    "iteration": "within executions",
    "layout and execution": "layout and executions, not to be told apart",
}


@dataclass(frozen=True)
class VariationPart:
    """What one cause adds: its standard deviation over the mean with the interval, and its share of the variance.

    ``share`` is that of unbiased variances, None where all are 0; ``interval`` is None where it is not known.
    """

    part: Part
    relative_sd: float
    interval: Interval | None
    share: float | None


def what_varies(analysis: Analysis) -> tuple[VariationPart, ...]:
    """The parts, layout first; nothing where there are fewer than two binaries, or a mean of 0."""
    found = analysis.findings
    if found is None or analysis.one_layout or analysis.n_binaries < 2 or analysis.mean.centre == 0:
        return ()
    bounds = dict(zip((level.level for level in analysis.levels), found.relative_sds, strict=True))
    sds: list[tuple[Part, float, Interval | None]] = []
    layout, levels = found.layout, {level.level: level for level in analysis.levels}
    iteration = levels.get("iteration")
    if layout.spread is not None and layout.spread.relative_sd is not None:
        sds.append(("layout", layout.spread.relative_sd, layout.sd))
        execution = levels.get("execution")
        if execution is not None and execution.relative_sd is not None:
            sds.append(("execution", execution.relative_sd, bounds["execution"]))
        elif layout.noise_sd is not None:
            sds.append(("execution", _without_iterations(layout.noise_sd, iteration), None))
    elif levels["binary"].relative_sd is not None:
        sds.append(("layout and execution", levels["binary"].relative_sd, bounds["binary"]))
    if iteration is not None and iteration.relative_sd is not None:
        sds.append(("iteration", iteration.relative_sd, bounds["iteration"]))
    total = math.fsum(sd * sd for _, sd, _ in sds)
    return tuple(VariationPart(part, sd, interval, sd * sd / total if total else None) for part, sd, interval in sds)


def _without_iterations(noise_sd: float, iteration: LevelVariance | None) -> float:
    """Of executions of a control, what the iterations that they are means of do not add."""
    if iteration is None or iteration.relative_sd is None:
        return noise_sd
    return math.sqrt(max(noise_sd**2 - iteration.relative_sd**2 / iteration.count, 0.0))


def why_no_shares(analysis: Analysis, concluded: LayoutConclusion) -> str:
    """Why no part of the variance is called layout's, in words: there is no verdict that bears it out; else empty.

    Where layout and executions are one part nothing is said of layout, so that needs no verdict.
    """
    found = analysis.findings
    if found is None or concluded.verdict not in {"machine, not layout", "cannot tell"}:
        return ""
    if found.is_machine:
        return layout_words.INSTEAD
    if all(each.part != "layout" for each in what_varies(analysis)):
        return ""
    if found.layout.answer == "cannot tell":
        return layout_words.answer(found)
    return f"cannot tell: {layout_words.undecided(concluded)}"


def variation_json(analysis: Analysis) -> list[dict[str, Any]]:
    """The key ``what_varies``."""
    return [
        {
            "part": each.part,
            "relative_sd": each.relative_sd,
            "relative_sd_interval": None
            if each.interval is None
            else [finite(each.interval.low), finite(each.interval.high)],
            "share": each.share,
        }
        for each in what_varies(analysis)
    ]
