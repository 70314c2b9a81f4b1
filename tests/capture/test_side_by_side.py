"""Two things at once, or one after the other."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import pytest

from layoutrand.capture.side_by_side import both, nothing_beside, something_beside


def test_both_go_on_at_once_where_they_may():
    here = threading.Barrier(2, timeout=60)  # neither passes alone
    assert both(something_beside, lambda: (here.wait(), "first")[1], lambda: (here.wait(), "other")[1]) == (
        "first",
        "other",
    )


def test_one_comes_after_the_other_where_they_may_not():
    done = []
    assert both(nothing_beside, lambda: done.append("first"), lambda: done.append("other")) == (None, None)
    assert done == ["first", "other"]


def fails(message):
    raise ValueError(message)


@pytest.mark.parametrize("beside", [nothing_beside, something_beside])
def test_what_is_wrong_with_the_first_is_told_first(beside):
    with pytest.raises(ValueError, match="first"):
        both(beside, lambda: fails("first"), lambda: fails("other"))
    with pytest.raises(ValueError, match="other"):
        both(beside, lambda: None, lambda: fails("other"))


def interrupted():
    raise KeyboardInterrupt


@pytest.mark.parametrize("beside", [nothing_beside, something_beside])
def test_an_interrupt_is_not_told_as_what_it_made_fail(beside):
    """Ctrl-C stops the linker of the first, too."""
    with pytest.raises(KeyboardInterrupt):
        both(beside, lambda: fails("first") if beside is something_beside else None, interrupted)


def test_it_is_asked_each_time_and_what_was_taken_is_given_back():
    log = []

    @contextmanager
    def beside():
        log.append("taken")
        try:
            yield len(log) == 1
        finally:
            log.append("given back")

    with pytest.raises(ValueError, match="first"):
        both(beside, lambda: fails("first"), lambda: None)
    both(beside, lambda: None, lambda: None)
    assert log == ["taken", "given back"] * 2
