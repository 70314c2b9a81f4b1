"""Every reader of outside data, attacked: only our error tree leaves, in bounded time and room, and nothing is written
outside its place.

What once broke the rule lies in ``found``, a directory for each target, and is read again for ever.  A search that
finds something puts it there by itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.all_targets import TARGETS
from fuzz.confined import Broken, confined
from fuzz.mutations import MOST_CHANGES, SEVERAL, Change, changed
from fuzz.target import Target, fixed, of_text
from layoutrand.errors import LayoutrandError

FOUND = Path(__file__).with_name("found")
EXAMPLES = 200
MANY_EXAMPLES = 100_000
NAMES = [target.name for target in TARGETS]


def found_of(target: Target) -> list[Path]:
    """What once broke the rule."""
    return sorted((FOUND / target.name).glob("*"))


def attack(target: Target, data: bytes, place: Path) -> None:
    """Read it by the rule."""
    with confined(place, may_start=target.may_start), contextlib.suppress(LayoutrandError, *target.also):
        target.read(data, place)


def search(target: Target, examples: int, place: Path) -> None:
    """Attack with changed samples; the smallest that breaks the rule is kept."""
    samples = target.samples()

    @settings(
        report_multiple_bugs=False,
        max_examples=max(1, examples // target.cost),
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.integers(0, len(samples) - 1), SEVERAL)
    def attacked(sample: int, changes: list[Change]) -> None:
        last[:] = [changed(samples[sample], changes, target.form)]
        attack(target, last[0], place)

    last = [b""]
    try:
        attacked()
    except (Exception, Broken):
        keep(target, last[0])
        raise


def long_search(target: Target, examples: int, place: Path) -> None:
    """The same by the thousand: drawing and remembering each example would cost `search` ten times what readers cost.

    The changes are drawn from the target's name, so they are the same everywhere; what breaks the rule is kept with as
    few of them as break it.
    """
    samples = target.samples()
    draw = random.Random(target.name)
    for _ in range(max(1, examples // target.cost)):
        sample = samples[draw.randrange(len(samples))]
        changes = [
            (draw.getrandbits(32), draw.getrandbits(32), draw.getrandbits(32))
            for _ in range(draw.randint(1, MOST_CHANGES))
        ]
        try:
            attack(target, changed(sample, changes, target.form), place)
        except (Exception, Broken):
            keep(target, changed(sample, fewest(target, sample, changes, place), target.form))
            raise


def fewest(target: Target, sample: bytes, changes: list[Change], place: Path) -> list[Change]:
    """The changes without those that are not needed to break the rule."""
    for one in list(changes):
        rest = [change for change in changes if change is not one]
        try:
            attack(target, changed(sample, rest, target.form), place)
        except (Exception, Broken):
            changes = rest
    return changes


def keep(target: Target, data: bytes) -> None:
    """For ever."""
    kept = FOUND / target.name / hashlib.sha256(data).hexdigest()[:12]
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(data)


@pytest.mark.parametrize("target", TARGETS, ids=NAMES)
def test_what_is_valid_is_read(target: Target, tmp_path: Path) -> None:
    """So that the changes are of something that is understood; and what was found once is refused in our words."""
    for sample in target.samples():
        with confined(tmp_path, may_start=target.may_start):
            target.read(sample, tmp_path)
    for path in found_of(target):
        attack(target, path.read_bytes(), tmp_path)


@pytest.mark.parametrize("target", TARGETS, ids=NAMES)
def test_only_our_errors_leave(target: Target, tmp_path: Path) -> None:
    """Some changes, the same each time."""
    long_search(target, EXAMPLES, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS, ids=NAMES)
def test_only_our_errors_leave_whatever_is_drawn(target: Target, tmp_path: Path) -> None:
    """Some changes, others each time."""
    search(target, EXAMPLES, tmp_path)


@pytest.mark.slow
@pytest.mark.hour
@pytest.mark.parametrize("target", TARGETS, ids=NAMES)
def test_only_our_errors_leave_for_long(target: Target, tmp_path: Path) -> None:
    """Many."""
    long_search(target, MANY_EXAMPLES, tmp_path)


def test_every_name_is_of_one_target() -> None:
    """And what was found is of a target that there is."""
    assert len(set(NAMES)) == len(NAMES)
    assert [name for name in NAMES if "/" in name] == []
    assert {path.name for path in FOUND.iterdir() if path.is_dir()} <= set(NAMES)


def _chokes_on_nul(text: str) -> None:
    if "\0" in text:
        raise KeyError("planted")


PLANTED = Target("planted", of_text(_chokes_on_nul), fixed("one two three"), "bytes")


@pytest.mark.parametrize("way", [search, long_search])
def test_what_breaks_the_rule_is_found_and_kept(
    way: Callable[[Target, int, Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a search which finds nothing says something."""
    monkeypatch.setattr(sys.modules[__name__], "FOUND", tmp_path)

    with pytest.raises(KeyError, match="planted"):
        way(PLANTED, 5_000, tmp_path)

    [kept] = found_of(PLANTED)
    assert b"\0" in kept.read_bytes()


def test_changes_that_are_not_needed_are_left_out(tmp_path: Path) -> None:
    """Of three the one that puts a NUL there is kept."""
    double, nul, flip = (3, 0, 0), (4, 0, 1), (0, 2, 0)

    assert changed(b"one", [nul], "bytes") == b"\0one"
    assert fewest(PLANTED, b"one", [double, nul, flip], tmp_path) == [nul]
