"""Every warning that a result can carry, in one place.

A warning is a sentence on the result, never an exception and never printed here.  It says what is doubtful and
the count that would cure it.
"""

from __future__ import annotations

FEWEST_BINARIES = 5
"""Below this many top-level repetitions a variance, and so an interval, can hardly be estimated (ISMM section 11)."""

FEWEST_FOR_BOOTSTRAP = 20
"""Below this many top-level repetitions the percentile bootstrap covers clearly less than it promises."""


def plural(count: int, noun: str = "binary") -> str:
    """``1 binary``, ``3 binaries``, ``2 executions``."""
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun[:-1] + 'ies' if noun.endswith('y') else noun + 's'}"


def one_binary(what: str = "") -> str:
    """One binary: no interval at all."""
    return (
        f"1 binary{what} cannot show how much binaries differ, so the interval has no bounds; "
        f"at least 1 more is needed, and {FEWEST_BINARIES - 1} more for a usable interval"
    )


def few_binaries(count: int, what: str = "") -> tuple[str, ...]:
    """Fewer top-level repetitions than support an interval."""
    if not 1 < count < FEWEST_BINARIES:
        return ()
    return (
        f"{plural(count)}{what} hardly support an interval: "
        f"{FEWEST_BINARIES - count} more would make {FEWEST_BINARIES}, the fewest that do",
    )


def few_for_percentile(count: int, what: str = "") -> tuple[str, ...]:
    """Percentile-type bootstrap with too few top-level repetitions."""
    if not 1 < count < FEWEST_FOR_BOOTSTRAP:
        return ()
    return (
        f"percentile bootstrap intervals are too narrow with {plural(count)}{what}: "
        f"{FEWEST_FOR_BOOTSTRAP - count} more would make {FEWEST_FOR_BOOTSTRAP}, or choose a method based on t",
    )


def no_variation(what: str = "") -> str:
    """All binaries measured exactly the same."""
    return (
        f"all binaries{what} have exactly the same mean, so the interval has no width; "
        "check that the metric can vary and that the timer is fine enough, more binaries will not cure this"
    )


def unbounded_ratio(count: int, needed: int | None) -> str:
    """A Fieller interval without bounds."""
    cure = (
        f"about {needed - count} more binaries ({needed} in all) would bound it"
        if needed is not None
        else "no number of binaries within reach would bound it"
    )
    return (
        "the baseline's mean does not differ significantly from zero at this confidence, "
        f"so the ratio has no bounds (Fieller); {cure}"
    )


def not_separable(level: int) -> str:
    """A level that was not repeated."""
    return (
        f"level {level} was not repeated, so its variance is part of level {level + 1}'s; "
        f"at least 2 repetitions at level {level} would separate them"
    )
