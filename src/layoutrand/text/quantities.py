"""Numbers as people read them: with units, in percent, with a sensible count of digits."""

from __future__ import annotations

from typing import Final

NO_BOUNDS: Final = "without bounds"


def number(value: float, digits: int = 4) -> str:
    """A number with a sensible count of significant digits."""
    if value != value:  # noqa: PLR0124 - NaN is the one value that differs from itself
        return "-"
    return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"


def percent(value: float | None, digits: int = 2) -> str:
    """A fraction in percent, or a dash for what is not known."""
    return "-" if value is None else f"{100 * value:.{digits}f} %"


def quantity(value: float, unit: str) -> str:
    """A value with its unit; times scaled to s, ms or µs, bytes to MiB, counts left alone."""
    if unit == "s":
        for factor, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
            if abs(value) >= factor or name == "µs":
                return f"{value / factor:.4g} {name}"
    if unit == "B":
        return f"{value / 2**20:.4g} MiB"
    return number(value, 6) if unit in ("", "1") else f"{number(value, 6)} {unit}"
