"""What `inspect` says of orders that nobody asked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import startkit
from workshop import Workshop, many_functions, programs_of


@pytest.mark.parametrize(
    ("factor", "toolchain", "told"),
    [
        ("linker-shuffle", "gcc-mold", "in the order that was verified: with linker-shuffle the linker decides it ("),
        ("function-order", "gcc", "in exactly the order asked for (function-order; classes keep)"),
    ],
)
def test_only_what_was_asked_for_is_called_so(tmp_path: Path, factor: str, toolchain: str, told: str) -> None:
    """A linker that shuffles by itself is asked for no order, and for no classes."""
    programs_of(toolchain)
    project = Workshop(tmp_path / "project", tmp_path / "cache")
    project.write(main__c="int main(void) { return 0; }\n", filler__c=many_functions(9))
    text = project.toml(
        ["$CC -O2 -o prog main.c filler.c"], layout={"factors": [factor]}, system={"toolchain": toolchain}
    )
    (project.project / "layoutrand.toml").write_text(text)
    env = {**os.environ, "LAYOUTRAND_CACHE": str(project.cache)}
    done = startkit.layoutrand("build", "--seeds", "1", "--without-stock", cwd=project.project, env=env)
    assert done.returncode == 0, done.stderr

    def first(layout: str) -> str:
        said = startkit.layoutrand("inspect", "sys", layout, cwd=project.project, env=env)
        assert said.returncode == 0, said.stderr
        return " ".join(said.stdout.partition("\n\n")[0].split())

    assert told in first("1")
    assert ("classes" in first("1")) == (factor == "function-order")
    assert "in exactly the order asked for" in first("identity")
    assert " 1 keep " not in first("1")
