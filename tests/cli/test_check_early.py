"""What `check` says before it builds anything."""

import gitkit
from layoutrand.cli import run

TEXT = """\
[project]
name = "fake"
[build]
source = "src"
commands = ["touch {ran}"]
artefacts = ["prog"]
[systems.O2]
[[benchmarks]]
name = "b"
command = ["{{artefact}}"]
"""


def test_a_place_that_takes_no_results_is_told_before_both_commits_are_built(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("LAYOUTRAND_CACHE", str(tmp_path / "cache"))
    root, ran = tmp_path / "repository", tmp_path / "ran"
    gitkit.make(root)
    (root / "layoutrand.toml").write_text(TEXT.format(ran=ran))
    for number in range(2):
        gitkit.commit(root, {"src/a.c": f"// {number}"}, "A change")
    (root / ".layoutrand").write_text("a file where a directory would be")
    assert run(["check", "HEAD~1", "-C", str(root)]) == 1
    said = capsys.readouterr().err
    assert "cannot create" in said
    assert ".layoutrand/check/results.sqlite for the results: Not a directory" in " ".join(said.split())
    assert not ran.exists()
    (root / ".layoutrand").unlink()
    assert run(["check", "HEAD~1", "-C", str(root)]) == 1
    assert ran.exists(), "this is what would have been built"
