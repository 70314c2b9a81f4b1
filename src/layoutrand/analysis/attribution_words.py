"""What is said of an attribution: the answer in a sentence, and the cells of its rows."""

from __future__ import annotations

import math

from layoutrand.analysis.attribution import Attribution, FactorPart
from layoutrand.stats import Interval
from layoutrand.text.name_lists import joined_names
from layoutrand.text.quantities import at_most, two_digits

_ALL = 100


def answer(found: Attribution) -> str:
    """The answer first, in a sentence."""
    missing = [part.factor for part in found.parts if part.verdict == "not executed"]
    if missing:
        return f"cannot tell: {joined_names(missing)} {'was' if len(missing) == 1 else 'were'} not executed alone"
    shown = [part.factor for part in found.parts if part.verdict in {"most of it", "matters"}]
    alone = f"; alone {joined_names(shown)} {'does' if len(shown) == 1 else 'do'}" if shown else ""
    if found.whole.findings is not None and found.whole.findings.layout.answer == "practically none":
        return f"with all factors drawn layout makes practically no difference{alone}"
    if not found.is_judged:
        return f"cannot tell: it is not known that layout matters with all factors drawn{alone}"
    if (most := found.most) is not None and most.share is not None:
        return f"{most.factor} makes at least {math.floor(100 * most.share[0])} % of what layout adds (its variance)"
    if not shown:
        return "no factor alone is known to matter: they do together, or there are too few layouts"
    return f"{joined_names(shown)} {'matters' if len(shown) == 1 else 'matter'}; which makes most of it cannot be told"


def cells(part: FactorPart) -> tuple[str, str, str, str]:
    """Factor, what it adds, its share of the variance, and the verdict."""
    return part.factor, sd_words(part.sd), share_words(part), part.verdict


def sd_words(sd: Interval | None) -> str:
    """``4.2 % [3.1, 5.9]``, or what it is at most."""
    if sd is None or not math.isfinite(sd.high):
        return "cannot tell"
    if sd.low <= 0:
        return f"at most {at_most(sd.high)} %" if sd.high > 0 else "nothing"
    low, centre, high = (two_digits(end).removesuffix(" %") for end in (sd.low, sd.centre, sd.high))
    return f"{centre} % [{low}, {high}]"


def share_words(part: FactorPart) -> str:
    """``60 to 85 %``; one end alone where the other says nothing."""
    if part.share is None:
        return "cannot tell"
    low, high = math.floor(100 * part.share[0]), math.ceil(100 * part.share[1])
    if low <= 0:
        return f"at most {high} %" if high < _ALL else "cannot tell"
    return f"at least {low} %" if high >= _ALL else f"{low} to {high} %"
