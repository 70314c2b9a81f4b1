"""What failed and was not built, as counted beside an answer."""

from types import SimpleNamespace

import pytest

from layoutrand.cli.terminal_tables import show_selection_problems


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (
            1,
            [
                "1 execution failed and is not in the numbers; `layoutrand run` lists it",
                "1 binary could not be built and is not in the numbers",
            ],
        ),
        (
            2,
            [
                "2 executions failed and are not in the numbers; `layoutrand run` lists them",
                "2 binaries could not be built and are not in the numbers",
            ],
        ),
    ],
)
def test_one_and_several(count, expected):
    """One is told as one."""
    told = []
    selection = SimpleNamespace(sources=(), failures=[None] * count, build_failures=[None] * count)
    show_selection_problems(selection, (), SimpleNamespace(warn=told.append))
    assert told == expected
