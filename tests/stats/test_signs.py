"""Signs of whole rounds: all ways where they are few, else random ones that do not depend on how many at once."""

import numpy as np
import pytest

from layoutrand.stats.signs import turned
from layoutrand.stats.streams import Stream


def rows(size, count, at_once):
    parts = list(turned(size, count, Stream(3, "signs"), at_once))
    assert all(len(part) <= at_once for part in parts)
    return np.concatenate(parts)


@pytest.mark.parametrize(("size", "count", "n"), [(2, 9, 1), (6, 31, 31), (6, 999, 31), (6, 30, 30), (70, 200, 200)])
@pytest.mark.parametrize("at_once", [1, 7, 1000])
def test_ways_are_listed_or_drawn(size, count, n, at_once):
    found = rows(size, count, at_once)
    assert found.shape == (n, size)
    assert set(np.unique(found)) == {-1.0, 1.0}
    assert np.array_equal(found, rows(size, count, 64))
    if 2 ** (size - 1) - 1 <= count:  # each once, none as they are, none with all turned
        own = {tuple(row) for row in found}
        assert len(own | {tuple(-row) for row in found}) == 2 * n
        assert (1.0,) * size not in own


def test_random_signs_are_as_often_one_as_the_other():
    assert abs(rows(70, 2000, 64).mean()) < 0.01
