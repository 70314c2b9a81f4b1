"""What `inspect` says of a layout that there is no binary of."""

from __future__ import annotations

import pytest

from layoutrand.cli import run
from workshop import require

CONFIG = """\
[project]
name = "p"
[build]
source = "."
commands = ["gcc -o b a.c"]
artefacts = ["b"]
[systems.O2]
"""


@pytest.mark.builds
def test_a_build_that_fails_is_told_with_its_system_and_its_log_once(tmp_path, monkeypatch, capsys):
    require("gcc", "gcc")
    root = tmp_path / "p"
    root.mkdir()
    (root / "layoutrand.toml").write_text(CONFIG)
    (root / "a.c").write_text("int main(void) { return 0 }\n")
    monkeypatch.setenv("LAYOUTRAND_CACHE", str(tmp_path / "cache"))

    assert run(["inspect", "O2", "1", "-C", str(root)]) == 1

    said = capsys.readouterr().err
    assert said.startswith("layoutrand: system O2, layout 1: the build exited with status 1; it says:\n")
    assert said.count("Full log: ") == 1
