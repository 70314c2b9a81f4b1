"""Two commits in one word."""

import pytest

from layoutrand.cli.commit_range import both_ends, range_ends
from layoutrand.errors import UsageError


@pytest.mark.parametrize(
    ("words", "commits"),
    [
        (("v1.2..v1.3", None), ("v1.2", "v1.3")),
        (("HEAD~1..", None), ("HEAD~1", "HEAD")),
        (("v1.2", "v1.3"), ("v1.2", "v1.3")),
        (("v1.2", None), ("v1.2", None)),
        ((None, None), (None, None)),
    ],
)
def test_commits_are_named_in_one_word_or_two(words, commits):
    assert both_ends(*words) == commits


@pytest.mark.parametrize("word", ["v1.2...v1.3", "..v1.3", "v1.2"])
def test_what_is_no_range_is_told_how_it_is_written(word):
    with pytest.raises(UsageError, match=r"--run .*: write OLD\.\.NEW, such as v1\.0\.\.HEAD"):
        range_ends(word, "--run ")
