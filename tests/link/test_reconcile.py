"""How stretches come to begin at one address: against linkers that round, and that fill up to a page's end."""

from __future__ import annotations

import pytest

from layoutrand.layout.reconciled import Adjustment
from layoutrand.link.reconcile import _Adjusting

PAGE = 4096
NAMES = ("text", "rodata", "local", "relro", "data")
SIZES = {"text": 10_000, "rodata": 3_000, "local": 96, "relro": 600, "data": 200}


def forward(own, adjusted):
    """A linker that puts one thing behind the other, and begins segments on pages; ``own`` stands before each."""
    at, begins = 0, {}
    for name in NAMES:
        at += own.get(name, 0)
        at = -(-at // PAGE) * PAGE if name in ("rodata", "local") else -(-at // 16) * 16
        begins[name] = at + adjusted[name].head
        at = begins[name] + SIZES[name] + adjusted[name].tail
    return begins


def to_the_pages_end(own, adjusted):
    """The same, but relro ends where a page does, with ``own`` of "data" behind it (GNU ld)."""
    begins = forward({**own, "data": 0}, adjusted)
    behind = own.get("data", 0)
    relro, local = (SIZES[name] + adjusted[name].tail for name in ("relro", "local"))
    whole = local + adjusted["relro"].head + relro + behind
    end = -(-(begins["local"] + whole) // PAGE) * PAGE
    begins["relro"] = (end - behind - relro) // 16 * 16
    begins["local"] = (begins["relro"] - adjusted["relro"].head - local) // 16 * 16
    begins["data"] = end + adjusted["data"].head
    return begins


def settled(place, owns):
    """Rounds until nothing is left to try: how many, and where everything begins on each side."""
    adjusting = _Adjusting([dict.fromkeys(NAMES, Adjustment()) for _ in owns])
    for number in range(40):
        begins = [place(own, adjusted) for own, adjusted in zip(owns, adjusting.adjustments, strict=True)]
        if not adjusting.step(begins):
            return number, begins, adjusting.adjustments
    raise AssertionError("it does not come to an end")


@pytest.mark.parametrize("place", [forward, to_the_pages_end])
@pytest.mark.parametrize(
    "owns",
    [
        [{}, {}],
        [{"text": 16}, {}],
        [{"text": 16, "data": 32}, {"text": 4080, "rodata": 32}],
        [{"rodata": 1200}, {}],  # one reaches the next page
        [{"data": 64}, {"data": 16}, {"text": 48}],
        [{"data": 3600}, {"data": 16}],
    ],
    ids=str,
)
def test_every_stretch_begins_at_one_address(place, owns):
    number, begins, adjustments = settled(place, owns)
    assert all(own == begins[0] for own in begins), begins
    assert number <= 12
    if owns[0] == owns[-1]:
        assert number == 0
    assert all(each.head >= 0 and each.tail >= 0 for own in adjustments for each in own.values())


def test_what_is_too_far_apart_is_left_there():
    """A program at fixed addresses beside one that is not: nobody wants megabytes of nothing in a file."""

    def far(own, adjusted):
        return {name: at + own["base"] for name, at in forward({}, adjusted).items()}

    _, begins, adjustments = settled(far, [{"base": 0}, {"base": 0x400000}])
    assert begins[0]["text"] != begins[1]["text"]
    assert all(each == Adjustment() for own in adjustments for each in own.values())


def test_what_nothing_moves_is_given_up():
    def fixed(own, _adjusted):
        return dict.fromkeys(NAMES, own["at"])

    number, begins, _ = settled(fixed, [{"at": 16}, {"at": 32}])
    assert begins[0] != begins[1]
    assert number < 40
