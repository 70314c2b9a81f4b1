"""Every reader of outside data, attacked: only our error tree leaves, in bounded time and room, and nothing is written
outside its place.

What once broke the rule lies in ``found``, a directory for each target, and is read again for ever.  A search that
finds something puts it there by itself.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.all_targets import TARGETS
from fuzz.confined import Broken, confined
from fuzz.mutations import SEVERAL, Change, changed
from fuzz.target import Target
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
    last = b""
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
        nonlocal last
        last = changed(samples[sample], changes, target.form)
        attack(target, last, place)

    try:
        attacked()
    except (Exception, Broken):
        kept = FOUND / target.name / hashlib.sha256(last).hexdigest()[:12]
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(last)
        raise


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
    """Some changes of each sample."""
    search(target, EXAMPLES, tmp_path)


@pytest.mark.slow
@pytest.mark.hour
@pytest.mark.parametrize("target", TARGETS, ids=NAMES)
def test_only_our_errors_leave_for_long(target: Target, tmp_path: Path) -> None:
    """Many."""
    search(target, MANY_EXAMPLES, tmp_path)


def test_every_name_is_of_one_target() -> None:
    """And what was found is of a target that there is."""
    assert len(set(NAMES)) == len(NAMES)
    assert [name for name in NAMES if "/" in name] == []
    assert {path.name for path in FOUND.iterdir() if path.is_dir()} <= set(NAMES)
