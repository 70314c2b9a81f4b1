"""What a build linked, as it is told to somebody who named something else."""

from layoutrand.capture.linked_files import likeliest_first
from layoutrand.text.name_lists import several_paths

MANY = ["src/chroot", *(f"src/prog{number}" for number in range(20)), "src/sort", "lib/libsort.so"]


def test_of_many_the_names_that_are_most_alike_come_first():
    """The one that was meant must not be behind "and 105 more"."""
    assert likeliest_first(MANY, "build/sortt")[0] == "src/sort"
    assert likeliest_first(MANY, "libsort.so.1")[0] == "lib/libsort.so"
    assert sorted(likeliest_first(MANY, "x")) == sorted(MANY)
    assert several_paths(likeliest_first(MANY, "sort")).startswith("src/sort, ")


def test_a_few_are_told_in_the_order_of_their_links():
    assert likeliest_first(["b", "a", "sort"], "sortt") == ["b", "a", "sort"]
