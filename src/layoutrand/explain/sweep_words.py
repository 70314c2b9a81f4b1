"""What `layoutrand sweep` found, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from layoutrand.explain.counted import Counted
from layoutrand.explain.mechanism_words import mechanism, not_known, short, unseen
from layoutrand.explain.sweep import Sweep
from layoutrand.instruments.known import simulated
from layoutrand.stats import DoseRun
from layoutrand.text.quantities import SECONDS, digits_of, number, percent

_LOOSE: Final = 5.0
"""Percent: where more is left open, it is said how less can be."""

_FINEST: Final = 9
"""Digits after the point of what repeats to the digit."""


def _mechanism(name: str, found: Sweep) -> str:
    return mechanism(name, found.caches)


def verdict(found: Sweep) -> str:
    """The first sentence: which offsets differ, and by how much; or that none does, and what is left room for."""
    response = found.response
    if not response.can_tell:
        return (
            f"cannot tell: {len(found.rounds)} complete rounds of {len(found.offsets)} offsets are too few for a "
            "difference to stand out from chance; a larger --rounds can"
        )
    if response.matters:
        return f"{run_in_words(found, response.largest)} ({level(found)})"
    if response.is_exact:
        return f"no offset of {found.name} differs: {found.sample.metric} is the same at all of them, to the digit"
    bound = 100 * math.expm1(response.bound)
    digits = digits_of(bound)
    more = "; a larger --rounds, or less noise, would show less" if bound > _LOOSE else ""
    return (
        f"nothing stands out: no offset of {found.name} differs from the others by more than "
        f"{math.ceil(bound * 10**digits) / 10**digits:.{digits}f} % ({found.sample.metric}; {level(found)}){more}"
    )


def level(found: Sweep) -> str:
    """How sure that is."""
    response = found.response
    if response.is_exact:
        return "values repeat to the digit, so nothing is left to chance"
    chance = percent(1 - response.confidence, 1 if (1 - response.confidence) < 0.01 else 0)
    return f"all offsets' intervals hold at once; where none matters, {chance} of sweeps say that one does"


def what_was_done(found: Sweep) -> str:
    """The experiment."""
    order, n = found.order, len(found.offsets)
    executions = n * len(found.rounds)
    return (
        f"{order.benchmark}, {order.system}, {found.sample.metric}: {found.name} ({found.size:,} bytes, aligned to "
        f"{found.align}) at {n} offsets modulo {order.offsets.period} in layout {order.base}, {executions} executions "
        f"in {len(found.rounds)} rounds"
    )


def what_lay_still(found: Sweep) -> str:
    """What the binaries' symbols prove."""
    still = found.binaries.stillness
    return (
        f"nothing else moves: {still.symbols:,} symbols and {still.sections} sections have the same addresses at every "
        f"offset; of the symbols of layout {found.order.base}, {still.as_in_base:,} lie where they lay, and "
        f"{still.pages_on:,} whole pages further on"
    )


def why(found: Sweep) -> str:
    """The cause, or why it cannot be told; "" where none was asked for."""
    if found.cause is None:
        return ""
    left = [each for each in found.cause.candidates if not each.out]
    if found.cause.mechanism is not None:
        (only,) = left
        assert only.fit is not None
        return (
            f"cause: {_mechanism(only.mechanism, found)}, which explains {percent(only.fit.share, 0)} of what offsets "
            "do; no other mechanism that was looked at is left"
        )
    if not left:
        tried = [(each.fit.share, each) for each in found.cause.candidates if each.fit is not None and each.fit.rises]
        if not tried:
            return "cause: cannot tell: what offsets do goes by none of the mechanisms that were looked at"
        share, closest = max(tried, key=lambda pair: pair[0])
        return (
            f"cause: cannot tell: none of the mechanisms that were looked at is enough; closest is "
            f"{_mechanism(closest.mechanism, found)} with {percent(share, 0)} of what offsets do, but {closest.out}"
        )
    if len(left) == 1 and left[0].fit is not None:
        return (
            f"cause: cannot tell: only {_mechanism(left[0].mechanism, found)} is left, and explains no more than "
            f"{percent(left[0].fit.share, 0)} of what offsets do; a larger --rounds helps"
        )
    names = " and ".join(_mechanism(each.mechanism, found) for each in left)
    return (
        f"cause: cannot tell between {names}: these offsets do not tell them apart; a smaller --step, a larger "
        "range of --offset or a larger --rounds may"
    )


def what_counters_say(found: Sweep) -> list[str]:
    """A sentence for each event that was counted; none where none was asked for."""
    if found.counters is None:
        return []
    said = [_of_event(each) for each in found.counters.counted]
    if found.counters.counted and found.counters.without:
        said.append(f"this processor, or its perf, counts nothing of {short(found.counters.without)}")
    return said


def _of_event(each: Counted) -> str:
    """``counters agree with line: ...``."""
    if not each.is_slow:
        return (
            f"counters say nothing of {short(each.mechanisms)}: executed again to count {each.event.word}, the offsets "
            "that are slow take no more cycles than the others beyond chance"
        )
    heard = {True: "agree with", False: "speak against", None: "are no answer to"}[each.agrees]
    more = "more" if each.more.centre >= 0 else "fewer"
    counts = f"{number(abs(each.more.centre), 3)} {more} {each.event.word} ({each.consequence.words})"
    cycles = f"{number(each.cycles.centre, 3)} cycles more"
    if each.agrees is False:
        cost = "a cycle" if each.event.at_most == 1 else f"{number(each.event.at_most)} cycles"
        part = max(0.0, each.part)
        cycles += (
            f", of which they are {percent(part, 1 if part < 0.01 else 0)} where each costs {cost}, and none costs more"
        )
    return f"counters {heard} {short(each.mechanisms)}: where it is slow there are {counts}, and {cycles}"


def no_counters(found: Sweep) -> str:
    """Why nothing was counted; "" where it was, or was not asked for."""
    absent = found.counters is not None and found.counters.absent
    return f"no counters were read: {absent}" if absent else ""


def what_it_does(found: Sweep) -> str:
    """What the mechanism does that was switched alone; "" where none was."""
    if found.switched is None:
        return ""
    does, switch = found.switched, found.switched.switch
    words, difference = _mechanism(switch.mechanism, found), does.difference
    places = f"{_count(len(switch.with_it))} with more of it and {_count(len(switch.without))} with less"
    same = f"{places}, and as much of every other mechanism that is looked at"
    if not does.alike:
        return (
            f"cannot tell what {words} does: offsets that meet as much of every mechanism that is looked at differ "
            f"among themselves, so something else does it, too ({places})"
        )
    if difference.low == difference.high == 0:
        return (
            f"no effect of {words} shows: switched alone it changes nothing of {found.sample.metric} of {found.name}, "
            f"to the digit ({same})"
        )
    if not does.matters:
        bound = 100 * math.expm1(max(abs(difference.low), abs(difference.high)))
        digits = digits_of(bound)
        return (
            f"no effect of {words} shows: switched alone it changes {found.sample.metric} of {found.name} by no more "
            f"than {math.ceil(bound * 10**digits) / 10**digits:.{digits}f} % ({percent(difference.confidence, 0)} "
            f"confidence; {same})"
        )
    ends = sorted(
        100 * math.expm1(sign * end)
        for sign in [math.copysign(1, difference.centre)]
        for end in (difference.low, difference.high)
    )
    size = 100 * math.expm1(abs(difference.centre))
    digits = digits_of((ends[1] - ends[0]) / 2) if ends[0] < ends[1] else exact_digits(difference.centre)
    sure = f"{percent(difference.confidence, 0)} interval {ends[0]:.{digits}f} … {ends[1]:.{digits}f}"
    interval = f" ({sure})" if ends[0] < ends[1] else ""
    more = _change(found, more=difference.centre > 0)
    once = "" if len(switch.with_it) > 1 else "; whether others like these two do the same was not seen"
    return (
        f"{words}, switched alone: {found.name} is {size:.{digits}f} % {more}{interval} with more of it ({same}{once})"
    )


def _count(number: int) -> str:
    return f"{number} offset{'' if number == 1 else 's'}"


def not_seen(found: Sweep) -> str:
    """Which mechanisms the metric has nothing of; "" where it has of all."""
    if found.cause is None or not found.cause.unseen:
        return ""
    return unseen(found.sample.metric, found.cause.unseen)


def not_looked_at(found: Sweep) -> str:
    """Which mechanisms were not looked at, since the machine does not tell what it takes; "" where all were."""
    asked = found.cause is not None and found.is_code and found.sample.instrument not in simulated()
    return not_known(found.caches) if asked else ""


def one_layout(found: Sweep) -> str:
    """What a sweep does not say."""
    if not found.is_code:
        return "this is the effect of the variable's place in one layout: `--base identity,1..9` looks at several"
    return (
        "this is the effect of the function's place in one layout: `layoutrand explain --confirm 15` looks at it with "
        "all else random"
    )


def run_in_words(found: Sweep, run: DoseRun) -> str:
    """``offset 32 … 47 of f: 33 % slower (24 … 42) than the others``."""
    inside, difference = run.doses, run.difference
    low, centre, high = difference.low, difference.centre, difference.high
    others = tuple(offset for offset in found.offsets if offset not in inside)
    more = _first(inside, found.offsets, run.period) is not None and (
        2 * len(inside) <= len(found.offsets) or _first(others, found.offsets, run.period) is None
    )
    if not more:
        inside, low, centre, high = others, -high, -centre, -low
    words = _change(found, more=more)
    sizes = sorted(abs(math.expm1(value)) for value in (low, high))
    digits = digits_of(50 * (sizes[1] - sizes[0])) if low < high else exact_digits(centre)
    where = offsets_in_words(inside, found.offsets, run.period, found.order.offsets.period)
    ends = " … ".join(percent(size, digits).removesuffix(" %") for size in sizes)
    interval = f" ({ends})" if low < high else ""
    return f"{where} of {found.name}: {percent(abs(math.expm1(centre)), digits)} {words}{interval} than the others"


def exact_digits(*differences: float) -> int:
    """Digits after the point of percents that nothing is left to chance in: 2, and more where all would be 0.00."""
    size = 100 * max(abs(math.expm1(each)) for each in differences)
    return max(2, digits_of(size, _FINEST)) if size else 2


def _change(found: Sweep, *, more: bool) -> str:
    if found.sample.unit in SECONDS:
        return "slower" if more else "faster"
    return f"{'more' if more else 'less'} {found.sample.metric}"


def offsets_in_words(inside: Sequence[int], offsets: Sequence[int], period: int, whole: int) -> str:
    """``offsets 32 … 63`` or ``offset 32``; modulo the period where that is smaller than the ``whole``.

    A run that goes around the end is said as it lies there: ``offsets 48 … 15``.
    """
    places = sorted({offset % period for offset in inside})
    every = sorted({offset % period for offset in offsets})
    modulo = f" modulo {period}" if period < whole else ""
    if len(places) == 1:
        return f"offset {places[0]}{modulo}"
    begin = _first(inside, offsets, period)
    assert begin is not None, "who asks has a run"
    start = every.index(begin)
    last = every[(start + len(places) - 1) % len(every)]
    return f"offsets {begin} … {last}{modulo}"


def _first(inside: Sequence[int], offsets: Sequence[int], period: int) -> int | None:
    """Where the offsets begin that lie side by side modulo the period; None where they do not."""
    places = {offset % period for offset in inside}
    every = sorted({offset % period for offset in offsets})
    around = len({(b - a) % period for a, b in zip(every, every[1:] + every[:1], strict=True)}) == 1
    begins = [
        place
        for number, place in enumerate(every)
        if place in places and (every[number - 1] not in places or (number == 0 and not around))
    ]
    return begins[0] if len(begins) == 1 else None
