"""Every warning that a result can carry, in one place.

A warning is a sentence on the result, never an exception and never printed here.  It says what is doubtful and
the count that would cure it.
"""

from __future__ import annotations

FEWEST_BINARIES = 5
"""Below this many top-level repetitions a variance, and so an interval, can hardly be estimated (ISMM section 11)."""

FEWEST_FOR_BOOTSTRAP = 20
"""Below this many top-level repetitions the percentile bootstrap covers clearly less than it promises."""


FEWEST_FOR_VARIANCE = 20
"""Below this many top-level repetitions bootstrap intervals of variances are clearly too narrow."""

FEWEST_ITERATIONS = 20
"""Below this many iterations autocorrelations are mostly noise."""

FEWEST_EXECUTIONS = 3
"""The papers look at the warm-up of this many executions."""


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
        (
            f"{plural(count)}{what} hardly support an interval: "
            f"{FEWEST_BINARIES - count} more would make {FEWEST_BINARIES}, the fewest that do"
        ),
    )


def few_for_percentile(count: int, what: str = "") -> tuple[str, ...]:
    """Percentile-type bootstrap with too few top-level repetitions."""
    if not 1 < count < FEWEST_FOR_BOOTSTRAP:
        return ()
    return (
        (
            f"percentile bootstrap intervals are too narrow with {plural(count)}{what}: "
            f"{FEWEST_FOR_BOOTSTRAP - count} more would make {FEWEST_FOR_BOOTSTRAP}, or choose a method based on t"
        ),
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


def unbounded_harmonic(count: int) -> str:
    """A harmonic mean whose reciprocal may be 0."""
    return (
        "the mean of the reciprocals does not differ significantly from zero, so the harmonic mean has no upper bound; "
        f"several times the {plural(count)} would bound it"
    )


def not_separable(level: int) -> str:
    """A level that was not repeated."""
    return (
        f"level {level} was not repeated, so its variance is part of level {level + 1}'s; "
        f"at least 2 repetitions at level {level} would separate them"
    )


def few_for_variance(count: int) -> tuple[str, ...]:
    """Bootstrap of variances with too few binaries."""
    if count >= FEWEST_FOR_VARIANCE:
        return ()
    return (
        (
            f"bootstrap intervals of variances are too narrow with {plural(count)}: "
            f"{FEWEST_FOR_VARIANCE - count} more would make {FEWEST_FOR_VARIANCE}"
        ),
    )


def one_sided_replicates() -> str:
    """BCa cannot correct a bias it cannot see."""
    return (
        "all replicates lie on one side of the estimate, so BCa cannot correct the bias and plain percentiles are "
        f"given; at least {FEWEST_BINARIES} binaries usually cure this"
    )


def unstudentised(share: float) -> str:
    """Replicates without spread made a bootstrap-t bound infinite."""
    return (
        f"{share:.1%} of the replicates drew the same binary every time and have no standard error, so a bootstrap-t "
        f"bound is infinite; {FEWEST_BINARIES} binaries make such replicates rare enough"
    )


def denominator_crosses_zero(crossed: int, n_resamples: int) -> str:
    """A bootstrap ratio whose denominator changes sign."""
    return (
        f"the baseline's mean reaches or crosses 0 in {crossed} of {n_resamples} replicates, so the ratio has no "
        "bounds; measure a quantity that cannot be 0, or many times more binaries"
    )


def left_out(missing: list[str], total: int, who: str) -> str:
    """Benchmarks that only one system has."""
    return (
        f"{len(missing)} of {total} benchmarks left out because only the {who} has them: {', '.join(missing)}; "
        "run them on the other system too"
    )


def coarse_p_value(smallest: float, needed: str) -> tuple[str, ...]:
    """A test that cannot reject at 5 % whatever the data."""
    if smallest <= 0.05:
        return ()
    return (f"with so few scores p cannot fall below {min(smallest, 1.0):.2g}; {needed} would let it fall below 0.05",)


def equal_ratios() -> str:
    """A t test over benchmarks without spread."""
    return "all benchmarks changed by exactly the same ratio; more binaries would show whether by chance"


def no_forecast(count: int) -> str:
    """No forecast from an interval without bounds."""
    return (
        f"an interval without bounds from {plural(count)} allows no forecast; measure {FEWEST_BINARIES} or more first"
    )


def too_close(ratio: float, edge: float, limit: int) -> str:
    """A ratio on the edge of the threshold."""
    return f"the ratio {ratio:.4g} is too close to {edge:.4g} for {limit} binaries to decide; a larger threshold would"


def idle_top(level: int) -> str:
    """Binaries that do not differ."""
    return (
        f"binaries do not differ measurably (T^2 of level {level} is not above 0): more executions of "
        f"{FEWEST_BINARIES} binaries would tell as much as more binaries, if building is expensive"
    )


def beyond_budget(wanted: float, binaries: int, *, budget: float, reached: float) -> str:
    """A budget that does not reach the wanted precision."""
    return (
        f"a relative half-width of {wanted:.3g} needs {binaries} binaries; the budget of {budget:.4g} reaches "
        f"{reached:.3g}"
    )


def unplanned_level(level: int) -> str:
    """A level without repetitions in the first experiment."""
    return (
        f"level {level} was not repeated in these data, so the plan repeats it once; at least 2 repetitions of it in "
        "a first experiment would show whether more are worth their cost"
    )


def few_seeds(count: int) -> str:
    """Too few pairs for the interval of a correlation."""
    if count > 3:
        return "one system does not vary, so there is no correlation; more seeds will not cure this"
    return f"{count} seeds say nothing about a correlation: {4 - count} more would give an interval"


def few_iterations(count: int) -> tuple[str, ...]:
    """A series too short to show dependence."""
    if count >= FEWEST_ITERATIONS:
        return ()
    return (
        (
            f"{count} iterations say little about dependence: {FEWEST_ITERATIONS - count} more would make "
            f"{FEWEST_ITERATIONS}; the papers look at 300"
        ),
    )


def few_executions(count: int) -> tuple[str, ...]:
    """Warm-up seen on too few executions."""
    if count >= FEWEST_EXECUTIONS:
        return ()
    return (f"{plural(count, 'execution')} seen: {FEWEST_EXECUTIONS - count} more would make {FEWEST_EXECUTIONS}",)


def no_variation_in_time() -> str:
    """A series without variation."""
    return (
        "all iterations take exactly the same time; check that the timer is fine enough, more iterations will not "
        "cure this"
    )


def confirm_warmup() -> str:
    """A suggested warm-up is never silent."""
    return (
        "a suggestion only: confirm it on the run-sequence plots of at least "
        f"{FEWEST_EXECUTIONS} executions before using it"
    )


def never_independent(count: int) -> str:
    """No independent state."""
    return (
        f"no independent state within {count} iterations: take the same iteration from each execution and repeat "
        "executions, or look at more iterations (the papers look at 300)"
    )


def still_wide(count: int, width: float, *, wanted: float) -> str:
    """A sample that stopped growing before its interval was narrow."""
    start = f"with {count} measurements the interval is {width:.4g} wide instead of {wanted:.4g}"
    if width == float("inf"):
        return f"{start}; more than {count} measurements are needed to bound it"
    return f"{start}; about {round(count * (width / wanted) ** 2)} measurements would do"
