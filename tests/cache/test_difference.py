"""Facts compared part by part."""

import pytest

from layoutrand.cache.difference import FileChanges, Part, compare, compare_files, unchanged

WAS = {
    "version": 1,
    "source": {"digest": "a", "in_place": False},
    "commands": ["make"],
    "env": {"A": "1", "B": "2"},
    "tools": {"cc": {"path": "/gcc", "sha256": "x"}, "fc": {"path": "/f"}},
    "empty": {},
}
NOW = {
    "version": 1,
    "source": {"digest": "b", "in_place": False},
    "commands": ["make", "-B"],
    "env": {"B": "2", "C": "3"},
    "tools": {"cc": {"path": "/gcc", "sha256": "y"}},
    "new": {"thing": None},
    "empty": {},
}


def test_every_part_is_told():
    """Tables are taken apart to any depth, lists are values, and what is gone comes last."""
    assert compare(WAS, NOW) == [
        Part("version", "same", 1, 1),
        Part("source.digest", "changed", "a", "b"),
        Part("source.in_place", "same", False, False),
        Part("commands", "changed", ["make"], ["make", "-B"]),
        Part("env.B", "same", "2", "2"),
        Part("env.C", "added", None, "3"),
        Part("tools.cc.path", "same", "/gcc", "/gcc"),
        Part("tools.cc.sha256", "changed", "x", "y"),
        Part("new.thing", "added", None, None),
        Part("env.A", "removed", "1", None),
        Part("tools.fc.path", "removed", "/f", None),
    ]


def test_with_nothing_to_compare_all_is_new():
    """Without an earlier build every part is added."""
    assert {part.change for part in compare(None, NOW)} == {"added"}
    assert compare({}, {}) == []


@pytest.mark.parametrize(("was", "now"), [({"a": {"b": 1}}, {"a": 1}), ({"a": 1}, {"a": {"b": 1}})])
def test_a_table_in_place_of_a_value(was, now):
    """Both are told: one is gone, the other is new."""
    assert sorted(part.change for part in compare(was, now)) == ["added", "removed"]


def test_what_is_the_same_is_told_in_short():
    """A table none of whose parts changed is one word."""
    assert unchanged(compare(WAS, NOW)) == ["version", "source.in_place", "env.B", "tools.cc.path"]
    assert unchanged(compare(WAS, WAS)) == ["version", "source", "commands", "env", "tools"]


def test_files():
    """New, gone and different files by name."""
    was = {"same": "1", "b": "1", "a": "1", "gone": "1"}
    now = {"same": "1", "b": "2", "a": "2", "new": "1"}

    assert compare_files(was, now) == FileChanges(("new",), ("gone",), ("a", "b"))
