"""Whether layout matters, in words: the answer, its size and how sure that is; and what holds whatever the shape."""

from __future__ import annotations

import math
from typing import Final

from layoutrand.analysis.conclusion import CANNOT_TELL, LayoutConclusion
from layoutrand.analysis.findings import Findings
from layoutrand.analysis.layout_part import PRACTICALLY_NONE, LayoutPart
from layoutrand.model import BinaryName
from layoutrand.stats import Interval
from layoutrand.text.quantities import at_most, digits_of, estimate, p_words, percents

MACHINE: Final = "cannot tell: machine"
"""In a table, in place of what seems to be of layouts where the machine changed its speed."""

INSTEAD: Final = (
    "machine, not layout: that the machine changed its speed is no small part of what layouts seem to differ by, so "
    "whether layout matters cannot be told"
)
"""The same in a sentence."""


NO_MORE: Final = "layouts differ by no more than executions of one"


def concluded_answer(found: Findings, concluded: LayoutConclusion) -> str:
    """The `answer`; where something took away what the numbers would say, what that is."""
    if concluded.verdict == CANNOT_TELL and found.layout.answer not in {None, CANNOT_TELL}:
        return f"cannot tell whether layout matters: {undecided(concluded)}"
    return answer(found)


def undecided(concluded: LayoutConclusion) -> str:
    """What there is no verdict for, in brief."""
    found = [each for reason in concluded.reasons if reason.effect == "undecides" for each in reason.warnings]
    return "; ".join(dict.fromkeys(each.brief() for each in found))


def answer(found: Findings) -> str:
    """``layout matters: ...``, with the standard deviation that it adds; nothing where there is one layout."""
    part = found.layout
    if part.answer is None:
        return ""
    drift = found.drift is not None and found.drift.is_found and (part.test is None or part.test.method != "rounds")
    what = "layout, or drift of the machine," if drift else "layout"
    p = [] if part.test is None else [p_words(part.test.p_value)]
    if part.answer == "matters":
        beside = [_beside(part.noise_sd, part.noise_of)] if part.noise_sd else []
        size = [f"a standard deviation of {_size(part.sd)}"] if part.sd is not None else []
        return _said(f"{what} matters", [", ".join([*size, *beside])] if size or beside else [], p)
    most = _most(part.upper)
    if part.answer == "practically none":
        if part.upper == 0:  # the numbers are the same, which is told in their place, or differ as those of one do
            return _said("layout matters practically not", [NO_MORE], p) if part.noise_sd else ""
        limit = f"{percents([PRACTICALLY_NONE], 1)[0]} %"
        return _said("layout matters practically not", [f"it adds at most {most}, which is below {limit}"], p)
    size = (
        [f"it may add {_up_to(part.upper)}"] if part.upper is not None else ["how much it may add is not known either"]
    )
    return _said(f"cannot tell whether {what} matters", size, p)


def _beside(noise_sd: float, of: tuple[BinaryName, ...]) -> str:
    """The noise; where layouts were executed once, whose it is, as nothing shows that theirs is the same."""
    noise = f"beside {percents([noise_sd])[0]} % between executions of"
    return f"{noise} {' and '.join(map(str, of))}, if those of all layouts are as noisy" if of else f"{noise} one"


def cell(found: Findings | None, concluded: LayoutConclusion) -> str:
    """The answer for a table: ``yes, 0.81 % [0.52, 1.24] (p = 0.003)``, ``no, below 0.02 %`` or ``up to 1.9 %``."""
    if found is None or found.layout.answer is None:
        return "-"
    if found.is_machine:
        return MACHINE
    if concluded.verdict == CANNOT_TELL != found.layout.answer:
        return f"cannot tell: {undecided(concluded)}"
    part = found.layout
    p = "" if part.test is None else f" ({p_words(part.test.p_value)})"
    if part.answer == "matters":
        return f"yes{'' if part.sd is None else f', {_size(part.sd)}'}{p}"
    most = _most(part.upper)
    if part.answer == "practically none":
        return f"practically not, below {most}{p}" if part.upper else "practically not"
    return f"cannot tell{'' if part.upper is None else f', {_up_to(part.upper)}'}{p}"


def whatever_the_shape(found: Findings, count: int, unit: str) -> list[str]:
    """What a sample of so many layouts can miss; and the median, where the mean says less of the layouts."""
    said = []
    median = found.median
    if median is not None and math.isfinite(median.half_width):
        why = _why(found)
        below, interval = estimate(median.centre, median.low, median.high, unit)
        said.append(
            f"as {why}, beside the mean: half of the layouts measure below {below} "
            f"({100 * median.confidence:g} % interval {interval}, whatever the distribution)"
        )
    if found.could_miss is not None and count > 1:
        said.append(f"{count} layouts: a group of up to {100 * found.could_miss:.2g} % could have been missed")
    return said


def may_have_missed(verdict: str, count: int, share: float) -> str:
    """How rare layouts may be of which a verdict on so many says nothing, as the verdict has none of them."""
    return f"{verdict}, of {count:,} layouts: a group of up to {100 * share:.2g} % of all could have been missed"


def _why(found: Findings) -> str:
    """What is unlike a bell-shaped sample."""
    shape = found.shape
    if found.is_machine:
        return "the machine changed its speed"
    if shape.has_several_peaks:
        return "the layouts fall into groups"
    if shape.outliers:
        return "some layouts lie far from the others"
    return f"the layouts have a long tail of {'large' if shape.skewness > 0 else 'small'} values"


def _most(upper: float | None) -> str:
    return "" if upper is None else f"{at_most(upper)} %"


def _up_to(upper: float) -> str:
    """``up to 1.9 %``; of so few layouts that they bound nothing, no figure that nobody could take for a size."""
    return f"up to {_most(upper)}" if upper < 1 else "100 % or more"


def _said(what: str, more: list[str], p: list[str]) -> str:
    return what + (f": {more[0]}" if more else "") + (f" ({p[0]})" if p else "")


def _size(sd: Interval) -> str:
    if math.isinf(sd.high):
        centre, low = percents([sd.centre, sd.low])
        return f"{centre} % [{low}, without bound]"
    centre, low, high = percents([sd.centre, sd.low, sd.high], digits_of(50 * (sd.high - sd.low)))
    return f"{centre} % [{low}, {high}]"


def size_of(part: LayoutPart) -> str:
    """The standard deviation of layout alone for a table; where nothing was found its upper bound alone."""
    if part.sd is not None:
        return _size(part.sd)
    if part.upper is None:
        return "-"
    return f"< {_most(part.upper)}" if part.upper else "0 %"  # counts that are the same in all layouts
