"""Dates of commits, which anybody may have written."""

from __future__ import annotations

import pytest

from gitkit import git, make
from layoutrand.capture.commit_log import CommitLog


@pytest.mark.parametrize(
    ("moment", "day"), [("1700000000", "2023-11-14"), ("253402300799", "9999-12-31"), ("99999999999999", "")]
)
def test_a_date_that_no_calendar_has_is_none(tmp_path, moment, day):
    root = make(tmp_path / "repository", {"f": "1"})
    text = git("cat-file", "commit", "HEAD", cwd=root).replace("1700000000", moment)
    (tmp_path / "text").write_text(text + "\n")
    commit = git("hash-object", "-t", "commit", "-w", tmp_path / "text", cwd=root)
    (found,) = CommitLog(root, "it").described([commit]).values()
    assert (found.commit, found.day) == (commit, day)
