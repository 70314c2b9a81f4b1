"""What the numbers of `analyse` and `compare` mean, in sentences that can be quoted."""

from __future__ import annotations

import math

from layoutrand.text.quantities import NO_BOUNDS, percent
from layoutrand.usecases.analyse import Analysis
from layoutrand.usecases.compare import BenchmarkRatio, Comparison


def of_analysis(analysis: Analysis) -> str:
    """What the numbers mean, in words."""
    means = [mean for _, mean in analysis.binary_means]
    name = f"{analysis.benchmark}, {analysis.system}, {analysis.metric}"
    if analysis.n_binaries == 1:
        return f"{name}: one layout alone, which says nothing of how layouts differ"
    if min(means) == max(means):
        return f"{name}: the same in all {len(means)} layouts"
    centre = analysis.mean.centre
    if centre == 0:
        return f"{name}: the mean over {len(means)} layouts is 0, so nothing can be given in percent of it"
    parts = [
        f"{name}: one binary could have shown anything from {100 * (min(means) / centre - 1):+.1f} "
        f"to {100 * (max(means) / centre - 1):+.1f} % of the mean over {len(means)} layouts"
    ]
    if analysis.layout is not None and analysis.layout.relative_sd is not None:
        noise = ""
        if analysis.stock is not None and analysis.stock.sd and analysis.stock.mean:
            noise = f", beside {percent(analysis.stock.sd / analysis.stock.mean)} between executions of one binary"
        parts.append(
            f"the standard deviation of layout alone is estimated at {percent(analysis.layout.relative_sd)}{noise}"
        )
    if analysis.stock is not None:
        shift = 100 * (analysis.stock.mean / centre - 1)
        parts.append(f"your own build lies at {shift:+.1f} %, above {analysis.stock.percentile:.0f} % of the layouts")
    return "; ".join(parts)


def of_ratio(result: Comparison, pair: BenchmarkRatio) -> str:
    """What the ratio of one benchmark says, in words."""
    if pair.ratio is None:
        return f"{pair.benchmark}: no ratio can be given"
    low, high = (100 * (bound - 1) for bound in (pair.ratio.low, pair.ratio.high))
    change = 100 * (pair.ratio.centre - 1)
    verb = "takes" if pair.better == "less" else "achieves"
    bounds = NO_BOUNDS if math.isinf(low) and math.isinf(high) else f"{low:+.2f} to {high:+.2f} %"
    return (
        f"{pair.benchmark}: {result.candidate} {verb} {change:+.2f} % {pair.metric} against {result.baseline} "
        f"({100 * result.confidence:g} % interval {bounds}, "
        f"{pair.n_baseline} and {pair.n_candidate} {pair.counted}): {pair.verdict}"
    )
