from __future__ import annotations

import numpy as np
import pytest

from layoutrand.explain.features import Feature, all_features, design, features, pairs, values_of
from layoutrand.explain.hotness import HotFunction, Hotness


def function(name, hot=(0,), size=64, hottest=(0,)):
    return HotFunction(section=0, name=name, share=0.1, size=size, hot=tuple(hot), hottest=tuple(hottest))


def values(found, name):
    return next(feature.values.tolist() for feature in found if feature.name == name)


TWO = Hotness((function("f", range(0, 1024, 4)), function("g", [0, 100, 200])), {(0, 1): 5})
STARTS = np.array([[4096 + 48, 4096 + 512], [0x10000, 0x10000 + 4096 * 3], [0x20FF0, 0x20000], [64, 64 + 16384 * 2]])


def test_where_a_function_starts():
    found = all_features(TWO, STARTS)

    assert values(found, "line:f") == [48, 0, 48, 0]
    assert values(found, "page:f") == [48, 0, 0xFF0, 64]
    assert values(found, "stride:f") == [(4096 + 48) % 16384, 0, 0x20FF0 % 16384, 64]
    assert values(found, "pages:f") == [1, 1, 2, 1]


def test_a_loop_on_one_line_or_on_two():
    """As libquantum's: 23 bytes from offset 0x90 on lie across two lines only from 32."""
    loop = Hotness((function("f", range(0, 200, 4), 202, (0x90, 0x94, 0x97, 0x99, 0x9C, 0x9F, 0xA2, 0xA5)),), {})

    assert values(all_features(loop, np.array([[0], [16], [32], [48], [64]])), "loop:f") == [1, 1, 2, 1, 1]


def test_two_functions():
    found = all_features(TWO, STARTS)

    assert values(found, "distance:f:g") == pytest.approx(np.log2([465, 12289, 0xFF1, 32769]).tolist())
    assert values(found, "offset:f:g") == [464, 12288, (-0xFF0) % 16384, 0]
    # f: 1024 bytes, g: lines 0, 1 and 3 from its start, so that line 2 is in nobody's way
    assert values(found, "sets:f:g") == [3, 3, 3, 3]
    assert values(found, "near:f:g") == [1, 0, 1, 0]


def test_sets_are_shared_only_where_hot_lines_meet():
    apart = np.array([[0, 1024], [0, 4096 - 64], [0, 960], [0, 8 * 4096 + 1024 - 256]])

    assert values(all_features(TWO, apart), "sets:f:g") == [0, 2, 1, 3]


def test_all_functions_together():
    big = Hotness((function("b", range(0, 8 * 4096, 16)), function("c", range(0, 128, 16))), {})
    found = all_features(big, np.array([[0, 32768], [0, 32768 + 4096 - 64]]))

    assert values(found, "overfull") == [18, 18]  # two sets of nine lines each
    assert values(found, "all pages") == [9, 10]


def test_which_pairs_are_looked_at():
    many = Hotness(tuple(function(f"f{k}") for k in range(10)), {(9, 7): 5, (9, 8): 9, (9, 0): 7, (7, 9): 1})

    found = pairs(many)
    assert found[:2] == [(7, 9), (9, 8)]  # the two hottest callees of each, a pair once
    assert (9, 0) in found
    assert {(a, b) for a, b in found if max(a, b) < 6} == {(a, b) for a in range(6) for b in range(a + 1, 6)}
    assert len(found) == 15 + 3


def test_what_hardly_differs_is_not_looked_at():
    starts = np.zeros((10, 2), np.int64)
    starts[:, 1] = 4096 * np.arange(10) * 8
    starts[:2, 0] = 32  # 2 of 10 differ
    names = {feature.name for feature in features(TWO, starts)}

    assert "line:f" not in names
    assert "distance:f:g" in names
    assert "page:g" not in names


def test_the_same_features_in_other_layouts():
    wanted = [feature for feature in all_features(TWO, STARTS) if feature.name in ("line:g", "sets:f:g")]
    found = values_of(wanted, TWO, np.array([[0, 16]]))

    assert {name: row.tolist() for name, row in found.items()} == {"line:g": [16], "sets:f:g": [3]}


def test_columns_of_each_scale():
    classes = Feature("line", ("f",), "classes", 64, np.array([0, 0, 0, 0, 16, 16, 16, 48.0]))
    circle = Feature("page", ("f",), "circle", 4096, np.array([0, 1024, 2048.0]))
    number = Feature("pages", ("f",), "number", 0, np.array([1, 2.0]))

    assert design(classes).sum(axis=0).tolist() == [5, 3, 0]  # the one at 48 counts with the largest class
    assert design(circle) == pytest.approx(np.array([[1, 0], [0, 1], [-1, 0]]))
    assert design(number).tolist() == [[1], [2]]


def test_words_for_people():
    words = {feature.name: feature.words for feature in all_features(TWO, STARTS)}

    assert words["line:f"] == "start of f within its 64-byte line"
    assert words["sets:f:g"] == "L1I sets shared by f and g"
    assert words["overfull"] == "hot lines in L1I sets with more of them than ways"
    assert len(words) == 2 * 5 + 4 + 2
