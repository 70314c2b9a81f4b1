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
    assert log.merged(log.resolve("HEAD")) == (begin, last)
    assert log.merged(beside) is None
    assert log.merged(log.resolve("HEAD~2^")) is None, "it has no parent at all"
    assert log.first_parents(begin, last)[-1] == last, "or the advice cannot be followed"


def test_what_is_no_search_from_one_commit_to_another_is_not_advised(tmp_path):
    root = make(tmp_path / "r", {"f": "1"})
    git("checkout", "-q", "--orphan", "other", cwd=root)
    commit(root, {"g": "1"})
    git("checkout", "-q", "main", cwd=root)
    git("merge", "-q", "--allow-unrelated-histories", "--no-ff", "other", cwd=root)
    assert CommitLog(root, "r").merged(git("rev-parse", "HEAD", cwd=root)) is None
    for name in "ab":
        git("checkout", "-q", "-b", name, "main", cwd=root)
        commit(root, {name: "1"})
    git("checkout", "-q", "main", cwd=root)
    git("merge", "-q", "--no-ff", "a", "b", cwd=root)
    assert CommitLog(root, "r").merged(git("rev-parse", "HEAD", cwd=root)) is None
