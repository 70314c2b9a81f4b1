"""What failed and was not built, as told beside an answer."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from experiments import execution
from fakes import make_config
from layoutrand.model import BuildFailure
from layoutrand.screens.layout_tables import show_selection_problems

CONFIG = make_config('[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n', systems=("O2",))


@pytest.mark.parametrize(
    ("layouts", "expected"),
    [
        (
            [3],
            [
                "1 execution failed and is not in the numbers",
                "system O2, benchmark b, seed 3: exit status 1; output in logs/3",
                "1 binary could not be built and is not in the numbers",
                "O2 (seed 3): ld failed",
            ],
        ),
        (
            [3, 4, 5],
            [
                "3 executions failed and are not in the numbers",
                "system O2, benchmark b, seed 3: exit status 1; output in logs/3",
                "system O2, benchmark b, seeds 4..5: 2 more: exit status 1",
                "3 binaries could not be built and are not in the numbers",
                "O2 (seeds 3..5): ld failed",
            ],
        ),
    ],
)
def test_one_and_several(tmp_path, layouts, expected):
    """One is told as one; each cause once, so that nothing has to be executed again to learn it."""
    told = []
    failed = [
        execution(CONFIG, tmp_path, "O2", "b", layout, status="exit", reason="exit status 1", log=f"logs/{layout}")
        for layout in layouts
    ]
    unbuilt = [BuildFailure("O2", "prog", layout, "ld failed", None) for layout in layouts]
    selection = SimpleNamespace(sources=(), failures=failed, build_failures=unbuilt)
    show_selection_problems(selection, (), SimpleNamespace(warn=told.append, fail=told.append))
    assert told == expected
