"""What `layoutrand explain --remedy` found, in words."""

from __future__ import annotations

import json
import math
from typing import Final

from layoutrand.analysis.analyse import Analysis
from layoutrand.analysis.layout_words import size_of
from layoutrand.config.seeds import format_seeds
from layoutrand.explain.treated import Treatment, Tried
from layoutrand.stats import Interval
from layoutrand.text.quantities import change, digits_of, p_words, signed

COLUMNS: Final = ("remedy", "layout adds", "mean", "code", "")

_AS_IT_IS: Final = "as it is"


def title(found: Treatment) -> str:
    """What the table is of."""
    return f"Each in {len(found.seeds)} new layouts (seeds {format_seeds(found.seeds)})"


def rows(found: Treatment) -> list[tuple[str, ...]]:
    """The system as it is, then each remedy: what layout adds, what the mean and the size of the code change by."""
    return [(_AS_IT_IS, layout_adds(found.before), "", "", ""), *(_row(each) for each in found.tried)]


def _row(tried: Tried) -> tuple[str, ...]:
    return (
        tried.candidate.remedy.name,
        "" if tried.after is None else layout_adds(tried.after),
        "" if tried.mean is None else mean_change(tried.mean),
        "" if tried.text_size is None else change(tried.text_size[1] / tried.text_size[0]),
        tried.verdict,
    )


def layout_adds(analysis: Analysis) -> str:
    """The standard deviation that layout adds, over the mean, with its interval."""
    return "-" if analysis.findings is None else size_of(analysis.findings.layout)


def mean_change(ratio: Interval) -> str:
    """How much the mean changes: ``+3.1 % [1.1, 5.1]``, no finer than the interval."""
    centre, low, high = (100 * (value - 1) for value in (ratio.centre, ratio.low, ratio.high))
    if not math.isfinite(low) or not math.isfinite(high):
        return f"{signed(centre, 0)} % (without bound)"
    digits = digits_of((high - low) / 2) if low < high else 1
    return f"{signed(centre, digits)} % [{signed(low, digits)}, {signed(high, digits)}]"


def conclusion(found: Treatment) -> str:
    """The first sentence: what to add to the build, or that nothing is recommended."""
    cure = found.recommended
    of = f"{found.before.benchmark}, {found.before.system}, {found.before.metric}"
    if cure is None:
        return f"{of}: nothing is recommended: {_why_nothing(found)}"
    assert cure.after is not None
    assert cure.spread_p is not None
    remedy = cure.candidate.remedy
    before, after = layout_adds(found.before), layout_adds(cure.after)
    verb = "cured by" if cure.spread_p <= 1 - found.confidence else "helped by"
    if cure.spread_p <= 1 - found.confidence:
        layout = f"layout adds {after} instead of {before} ({p_words(cure.spread_p)})"
    else:
        layout = f"layout adds {after}, as it is {before}, which may be chance ({p_words(cure.spread_p)})"
    mean = "" if cure.mean is None else f", the mean changes by {mean_change(cure.mean)}"
    mean += "" if cure.mean_p is None or cure.mean_p > 1 - found.confidence else f" ({p_words(cure.mean_p)})"
    size = "" if cure.text_size is None else f", {_code(*cure.text_size)}"
    return f"{of}: {verb} {remedy.flags}: {layout}{mean}{size}"


def _code(before: int, after: int) -> str:
    more = f"{abs(after / before - 1) * 100:.1f} % {'larger' if after > before else 'smaller'}"
    return f"the code is {more}" if after != before else "the code is no larger"


def _why_nothing(found: Treatment) -> str:
    judged = [each for each in found.tried if each.verdict in {"is slower", "spreads more", "no help shown"}]
    if not judged:
        return "none of what was tried could be judged"
    if all(each.verdict != "no help shown" for each in judged):
        return "all that could be judged makes the mean or what layout adds worse"
    more = "; more layouts (--remedy-layouts) would show a smaller difference"
    return f"with none of {_counted(found)} do layouts differ by less, or is the mean better, beyond chance{more}"


def _counted(found: Treatment) -> str:
    n = sum(each.spread_p is not None for each in found.tried)
    return "1 remedy" if n == 1 else f"{n} remedies"


def what_was_tried(found: Treatment) -> list[str]:
    """Each remedy's flags, what they do, and how often chance alone does what the table says of it."""
    said = []
    for each in found.tried:
        remedy = each.candidate.remedy
        sure = ""
        if each.spread_p is not None and each.mean_p is not None:
            sure = f"; by chance alone: spread {p_words(each.spread_p)}, mean {p_words(each.mean_p)}"
        said.append(f"{remedy.name}: {remedy.flags}, {remedy.does}{sure}")
    return said


def how_judged(found: Treatment) -> str:
    """When a remedy is said to help."""
    return (
        f"it helps where layouts differ by less or the mean is better, beyond chance (p at most "
        f"{1 - found.confidence:.2g}, adjusted for {_counted(found)}), and neither is worse; intervals are of "
        f"{100 * found.confidence:g} %; means are over layouts, of which your own build is one"
    )


def problems(found: Treatment) -> list[str]:
    """What could not be tried or judged, and why: one cause once."""
    flags: dict[str, list[str]] = {}
    for each in found.tried:
        if each.reason:
            flags.setdefault(each.reason, []).append(each.candidate.remedy.flags)
    return [f"{', '.join(several)}: {reason}" for reason, several in flags.items()]


def how_to_use(found: Treatment) -> tuple[str, str]:
    """Where it goes: into the user's own build, and into layoutrand.toml to go on measuring it; and what is added."""
    cure = found.recommended
    assert cure is not None
    flags = json.dumps(getattr(cure.candidate.system, cure.candidate.remedy.key), ensure_ascii=False)
    return (
        "add it to the flags of your build; to keep measuring both, add to layoutrand.toml, beside all else that "
        f"{found.system} has:",
        f'[systems."{cure.candidate.name}"]\n{cure.candidate.remedy.key} = {flags}',
    )
