"""Names in a sentence."""

import pytest

from layoutrand.text.name_lists import (
    MOST_NAMED,
    first_names,
    fitting_names,
    joined_names,
    several_files,
    several_paths,
)

NAMES = ("a", "b", "c", "d", "e")


@pytest.mark.parametrize(
    ("count", "first", "fitting"),
    [
        (0, "", ""),
        (1, "a", "a"),
        (2, "a, b", "a, b"),
        (3, "a, b and 1 more", "a, b, c"),
        (4, "a, b and 2 more", "a, b and 2 more"),
        (5, "a, b and 3 more", "a, b and 3 more"),
    ],
)
def test_of_many_the_first_are_named_and_the_others_counted(count, first, fitting):
    assert first_names(NAMES[:count], 2) == first
    assert fitting_names(NAMES[:count], 3) == fitting
    assert fitting_names(NAMES[:count], 3, between="; ") == fitting.replace(", ", "; ")


def test_one_name_is_enough_to_say_how_many_there_are():
    assert first_names(NAMES, 1) == "a and 4 more"
    assert first_names(["x"] * 2001, 1) == "x and 2,000 more"


@pytest.mark.parametrize(("count", "text"), [(1, "a"), (2, "a and b"), (3, "a, b and c")])
def test_all_are_joined(count, text):
    assert joined_names(NAMES[:count]) == text


def test_paths_are_named_up_to_a_dozen():
    paths = [f"p{number}" for number in range(MOST_NAMED + 2)]
    assert several_paths(paths[:MOST_NAMED]) == ", ".join(paths[:MOST_NAMED])
    assert several_paths(paths) == ", ".join(paths[:MOST_NAMED]) + " and 2 more"


@pytest.mark.parametrize(
    ("count", "text"), [(1, "a"), (3, "a, b, c"), (4, "a ... d (4 files)"), (5, "a ... e (5 files)")]
)
def test_of_many_files_the_first_and_the_last_are_named(count, text):
    assert several_files(NAMES[:count]) == text
