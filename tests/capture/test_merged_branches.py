"""Of a merge: where the branch that it merged began, and its last commit, so that it can be searched."""

from gitkit import commit, git, make
from layoutrand.capture.commit_log import CommitLog


def test_where_a_merged_branch_began_and_ended(tmp_path):
    root = make(tmp_path / "r", {"f": "1"})
    begin = commit(root, {"f": "2"})
    git("checkout", "-q", "-b", "topic", cwd=root)
    commit(root, {"g": "1"})
    last = commit(root, {"g": "2"})
    git("checkout", "-q", "main", cwd=root)
    beside = commit(root, {"h": "1"})
    git("merge", "-q", "--no-ff", "topic", cwd=root)
    log = CommitLog(root, "r")
    merge = log.resolve("HEAD")
    assert log.merged(merge, beside) == (begin, last)
    assert log.merged(beside, begin) is None
    assert log.first_parents(begin, last)[-1] == last, "or the advice cannot be followed"
    # On a line that begins on the side branch the merge brings what the other one has.
    assert log.first_parents(last, merge) == [last, merge]
    assert log.merged(merge, last) == (begin, beside)
    assert log.merged(merge, begin) is None, "it is none of those that were merged"


def test_what_is_no_search_from_one_commit_to_another_is_not_advised(tmp_path):
    root = make(tmp_path / "r", {"f": "1"})
    git("checkout", "-q", "--orphan", "other", cwd=root)
    commit(root, {"g": "1"})
    git("checkout", "-q", "main", cwd=root)
    git("merge", "-q", "--allow-unrelated-histories", "--no-ff", "other", cwd=root)
    log = CommitLog(root, "r")
    assert log.merged(log.resolve("HEAD"), log.resolve("HEAD^")) is None
    for name in "ab":
        git("checkout", "-q", "-b", name, "main", cwd=root)
        commit(root, {name: "1"})
    git("checkout", "-q", "main", cwd=root)
    git("merge", "-q", "--no-ff", "a", "b", cwd=root)
    assert log.merged(log.resolve("HEAD"), log.resolve("HEAD^")) is None
