"""Numbers as people read them: with units, in percent, with a sensible count of digits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

NO_BOUNDS: Final = "without bounds"
NO_LOWER_BOUND: Final = "no lower bound"
"""Of a ratio whose interval reaches 0: Fieller's goes on below, where no quotient of times lies."""

_TENFOLD: Final = (0.1, 10.0)
"""Ends of an interval of a ratio between which figures would say no more than that hardly anything is known."""

MINUS: Final = "\N{MINUS SIGN}"
SECONDS: Final[Mapping[str, float]] = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
}
"""Units of time, in seconds; micro is written with either of two characters."""

MOST_DIGITS: Final = 4
"""After the point, of a change in percent: finer ones are not worth telling."""

_OF_RATIO: Final = MOST_DIGITS + 2
"""The same of a ratio, of which a percent is a hundredth."""

_SMALLEST: Final = -4
"""Power of ten below which a number is written with its exponent, as Python's ``g`` has it."""

_LARGEST: Final = 15
"""The same above, where a floating-point number has no more digits."""

_LEAST: Final = -307
"""Power of ten below which floating-point numbers lose their digits, and a power of ten may be 0."""

_STEPS: Final = 20
"""Of a distribution's range: finer ones are not worth telling."""

_MOST_SIGNIFICANT: Final = 9
"""Digits of a value, however narrow its interval is."""

_TWO_DIGITS: Final = 3.55
"""Below it the first digit of an uncertainty alone would say too little of it."""

_NOTHING: Final = 1e-10
"""In percent: what rounding leaves of a ratio of two means that are equal."""

_ROUNDING: Final = 1e-12
"""Of a ratio of two means of equal values: no difference."""


_FINE: Final = 0.0995
"""In percent: below it two decimals have one digit or none that says something."""

_LEAST_DECIMALS: Final = 12


def number(value: float, digits: int = 4) -> str:
    """A number with a sensible count of significant digits."""
    if value != value:  # noqa: PLR0124 - NaN is the one value that differs from itself
        return "-"
    return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:,.{digits}g}"


def duration(seconds: float) -> str:
    """Seconds for people: 12 ms, 3.4 s, 3 min 20 s, 2 h 5 min, 3 days."""
    if math.isinf(seconds):
        return "for ever"
    if seconds < 59.5:
        return f"{1000 * seconds:.3g} ms" if seconds < 0.9995 else f"{seconds:.3g} s"
    units = (("days", 86_400), ("h", 3600), ("min", 60), ("s", 1))
    first = next(place for place, (_, size) in enumerate(units) if seconds >= (2 * size if place == 0 else size - 0.5))
    (large, size), (small, part) = units[first : first + 2]
    count, rest = divmod(round(seconds), size)
    return f"{count} {large} {rest // part} {small}" if rest >= part else f"{count} {large}"


def ago(seconds: float) -> str:
    """How long ago something was: ``35 min ago``, ``5 h ago``, ``3 d ago``."""
    if seconds < -60:  # a clock was set back since; or another machine's goes before
        return "in future"
    minutes = max(0.0, seconds / 60)
    if minutes < 120:
        return f"{minutes:.0f} min ago"
    return f"{minutes / 60:.0f} h ago" if minutes < 48 * 60 else f"{minutes / 1440:.0f} d ago"


def finite(value: float | None) -> float | None:
    """A number as JSON can have it, which knows no infinity and no NaN: None for these, and for what is not known."""
    return value if value is not None and math.isfinite(value) else None


def percent(value: float | None, digits: int = 2) -> str:
    """A fraction in percent, or a dash for what is not known."""
    return "-" if value is None else f"{100 * value:z.{digits}f} %"


def fine_percent(value: float | None, *ends: float) -> str:
    """A fraction in percent with two decimals, ``0.54 %``, or two digits of what is below 0.1 %: ``0.0023 %``.

    ``ends`` are those of its interval, to as many decimals: ``0.0023 % [0.0018, 0.0031]``.
    """
    if value is None:
        return "-"
    largest = max((abs(100 * each) for each in (value, *ends) if math.isfinite(each)), default=0.0)
    digits = 2 if largest == 0 or largest >= _FINE else min(_LEAST_DECIMALS, 1 - math.floor(math.log10(largest)))
    said = percent(value, digits)
    if not ends:
        return said
    low, high = (f"{100 * end:.{digits}f}" if math.isfinite(end) else "without bound" for end in ends)
    return f"{said} [{low}, {high}]"


def two_digits(share: float) -> str:
    """How wide something is, in percent with two significant digits: ``14 %``, ``2.7 %``, ``0.0023 %``."""
    _, _, power = f"{100 * share:.1e}".partition("e")
    return percent(share, max(0, 1 - int(power)) if share else 0)


def telling(values: Sequence[float], digits: int = 1, most: int = MOST_DIGITS) -> int:
    """How many digits after the point, ``digits`` to ``most``, tell different values apart, and each from 0."""
    different = set(values)
    for count in range(digits, most):
        said = {round(value, count) for value in different}
        if len(said) == len(different) and all(round(value, count) for value in different if value):
            return count
    return most


def telling_side(values: Sequence[float], digits: int = 1, most: int = MOST_DIGITS) -> int:
    """As `telling`, of the ends of an interval, which may be behind a verdict.

    More than ``most`` where all lie on one side of 0: these are a difference, which is never told as none.
    """
    smallest = min(map(abs, values))
    if smallest <= _NOTHING or round(smallest, most) or not (min(values) > 0 or max(values) < 0):
        return telling(values, digits, most)
    return math.ceil(-math.log10(smallest))


def digits_of(half_width: float, most: int = MOST_DIGITS) -> int:
    """Digits after the point that an uncertainty of this size leaves a value: those of its first digit or two.

    Two of what begins with 1 to 3.5, one of what begins with more, as the Particle Data Group rounds; ``most`` at most,
    and all of these where there is no uncertainty.
    """
    if not math.isfinite(half_width):
        return 0
    if half_width <= 0:
        return most
    return min(most, max(0, _place(half_width)))


def ratio_words(centre: float, low: float, high: float) -> tuple[str, str]:
    """A ratio and its interval, ``0.979`` and ``[0.972, 0.986]``: no finer than the interval bears out.

    Finer only where an end would else be told as 1, or as the other end.
    """
    if math.isinf(low) or math.isinf(high):
        return f"{centre:.2f}", NO_BOUNDS
    if has_no_lower_bound(centre, low):
        digits = max(2, digits_of((high - centre) / 2, _OF_RATIO))
        return f"{centre:.{digits}f}", f"up to {high:.{digits}f}, {NO_LOWER_BOUND}"
    if spans_tenfold(low, high):
        return f"{centre:.2f}", "[≤ 0.1, ≥ 10]"
    digits = max(2, digits_of((high - low) / 2, _OF_RATIO)) if low < high else MOST_DIGITS
    digits = telling_side([low - 1, high - 1], digits, _OF_RATIO)
    return f"{centre:.{digits}f}", f"[{low:.{digits}f}, {high:.{digits}f}]"


def spans_tenfold(low: float, high: float) -> bool:
    """Whether the interval of a ratio holds all from a tenth to ten times: where it ends tells nobody anything."""
    return low <= _TENFOLD[0] and high >= _TENFOLD[1]


def has_no_lower_bound(centre: float, low: float) -> bool:
    """Whether an interval around a positive ratio says nothing of how small it may be."""
    return low <= 0 < centre


def signed(value: float, digits: int) -> str:
    """``+1.2`` or ``0.0``: with a sign but for what rounds to nothing, and a true minus."""
    text = f"{value:+.{digits}f}" if round(value, digits) else f"{0:.{digits}f}"
    return text.replace("-", MINUS)


def change(ratio: float, digits: int = 1) -> str:
    """How far a ratio lies from 1, as ``+2.1 %``."""
    return f"{changes([ratio], digits)[0]} %"


def changes(ratios: Sequence[float], digits: int = 1) -> list[str]:
    """How far each ratio lies from 1, in percent, as ``+2.1``, all with as many digits as tell them apart.

    What is too small to be told is ``0.0000`` without a sign, no difference at all ``0.0``.
    """
    values = [0.0 if math.isclose(ratio, 1, rel_tol=_ROUNDING) else 100 * (ratio - 1) for ratio in ratios]
    digits = telling(values, digits)
    return [f"{value:+.{digits}f}" if round(value, digits) else f"{0:.{digits}f}" for value in values]


def quantity(value: float, unit: str) -> str:
    """A value with its unit; times scaled to s, ms, µs or ns, bytes to MiB, counts left alone."""
    factor, name, digits = _scale(value, unit)
    return f"{number(value / factor, digits)} {name}".rstrip()


def estimate(centre: float, low: float, high: float, unit: str) -> tuple[str, str]:
    """A value and the interval around it, ``14.5 ms`` and ``[13.5, 15.6] ms``: no finer than the interval bears out.

    All three in one unit and to one decimal place, tens or hundreds where that is what is known.  No time is negative:
    an interval that reaches below 0 says nothing of how short it may be.
    """
    is_below_zero = unit in SECONDS and has_no_lower_bound(centre, low)
    if (math.isinf(low) or is_below_zero) and math.isinf(high):
        return quantity(centre, unit), NO_BOUNDS
    if is_below_zero:
        (middle, most), name = _to_one_place((centre, high), high - centre, unit)
        return f"{middle} {name}", f"up to {most} {name}, {NO_LOWER_BOUND}"
    said, name = _to_one_place((centre, low, high), (high - low) / 2, unit)
    return f"{said[0]} {name}".rstrip(), f"[{said[1]}, {said[2]}] {name}".rstrip()


def alike(values: Sequence[float], unit: str) -> list[str]:
    """Values of one distribution, all in one unit and to the decimal place that tells the steps between them."""
    steps = [(max(values) - min(values)) / _STEPS, *(abs(value) / 2 for value in values if value)]
    said, name = _to_one_place(values, min(steps), unit)
    return [f"{value} {name}".rstrip() for value in said]


def in_a_column(values: Sequence[float], unit: str) -> list[str]:
    """Values that stand beside each other, all in one unit, and to the decimal place that `quantity` gives the finest.

    So 127 ms beside 126.7 ms is 127.0 ms, as a table of numbers that were measured equally well has it.
    """
    factor, name, digits = _scale(max((abs(value) for value in values), default=0.0), unit)
    said = [number(value / factor, digits) for value in values]
    if not any("e" in each for each in said):
        finest = max((len(each.partition(".")[2]) for each in said), default=0)
        said = [f"{value / factor:,.{finest}f}" for value in values]
    return [f"{each} {name}".rstrip() for each in said]


def _to_one_place(values: Sequence[float], uncertainty: float, unit: str) -> tuple[list[str], str]:
    """The values as this uncertainty leaves them, by the unit of the largest, and that unit."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    factor, name, digits = _scale(largest, unit)
    uncertainty, largest = uncertainty / factor, largest / factor
    if not 0 < uncertainty < math.inf:
        return [number(value / factor, digits) for value in values], name
    place = min(_place(uncertainty), _MOST_SIGNIFICANT - 1 - math.floor(math.log10(largest)))
    return [_to_place(value / factor, place, largest) for value in values], name


def _place(uncertainty: float) -> int:
    """The last decimal place that an uncertainty leaves a value, -2 for hundreds, by the rule of `digits_of`."""
    exponent = max(math.floor(math.log10(uncertainty)), _LEAST)
    return (uncertainty / 10.0**exponent < _TWO_DIGITS) - exponent


def _to_place(value: float, place: int, largest: float) -> str:
    """The value with so many digits after the point, or rounded to tens and hundreds before it."""
    if not math.isfinite(value):
        return number(value)
    if not 10.0**_SMALLEST <= largest < 10.0**_LARGEST:
        return f"{value:.{max(0, place + math.floor(math.log10(largest)))}e}"
    rounded = round(value, place)
    return f"{rounded or 0.0:,.{max(0, place)}f}"


def _scale(value: float, unit: str) -> tuple[float, str, int]:
    """What to divide by, the unit that makes of it, and how many significant digits such a value is told with."""
    if unit == "s":
        for factor, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")):
            if abs(value) >= factor or name == "ns" or not value:
                return factor, name, 4
    if unit == "B":
        return 2.0**20, "MiB", 4
    return 1.0, "" if unit == "1" else unit, 6


_SMALLEST_P: Final = 0.0001
"""Below it a p-value is as good as any other."""


def p_value(value: float) -> str:
    """A p-value for people: no more digits than it deserves."""
    return f"< {_SMALLEST_P:g}" if value < _SMALLEST_P else f"{value:.2g}"


def p_words(value: float) -> str:
    """``p = 0.012`` or ``p < 0.0001``."""
    return f"p {'' if value < _SMALLEST_P else '= '}{p_value(value)}"


def at_most(value: float) -> str:
    """An upper bound in percent without the sign: two digits of it, rounded up, so that it stays one."""
    if value <= 0 or not math.isfinite(value):
        return f"{100 * value:g}"
    places = 1 - math.floor(math.log10(100 * value))
    rounded = math.ceil(round(100 * value * 10.0**places, 6)) / 10.0**places
    return f"{rounded:,.{max(0, places)}f}"


def percents(values: Sequence[float], digits: int = 2) -> list[str]:
    """Fractions in percent without the sign, all with as many digits as tell them apart, and each from 0."""
    digits = telling([100 * value for value in values], digits)
    return [f"{100 * value:.{digits}f}" for value in values]
