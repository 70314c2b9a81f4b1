"""Fixtures of the end-to-end build tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from workshop import LINKERS, Workshop, require

# Every case with GNU ld in `make test` or where it builds again and again, and with the others in `make merge`; lld there too where linkers differ most.
DIFFERENT = (
    "test_alignment",
    "test_factor_hazards",
    "test_identical_code_folding",
    "test_code_in_several_output_sections",
)

OF_EVERY_CHANGE = frozenset(
    f"test_{name}.py"
    for name in (
        "alignment",
        "another_instrument",
        "another_linker",
        "attribute",
        "block_order",
        "build_errors",
        "measuring_cluster",
        "old_results",
        "planted_data_faults",
        "planted_faults",
        "privacy",
        "reconciled",
        "where_the_source_is",
    )
)
"""What stays in `make test`: that a wrong layout is found, what is said of builds that fail, and one of each interface.

All else here builds programs again and again, which takes four of five parts of the time.
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave all else to `make merge`."""
    for item in items:
        if item.path.parent == Path(__file__).parent and item.path.name not in OF_EVERY_CHANGE:
            item.add_marker(pytest.mark.builds)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each test that asks for a linker all of them in turn."""
    if "linker" in metafunc.fixturenames:
        names = {metafunc.module.__name__.rsplit(".", 1)[-1], metafunc.function.__name__}
        fast = ("gnu", "lld-19") if names & set(DIFFERENT) else ("gnu",)
        rows = [pytest.param(name, marks=() if name in fast else (pytest.mark.slow,)) for name in LINKERS]
        metafunc.parametrize("linker", rows, indirect=True)


@pytest.fixture
def linker(request: pytest.FixtureRequest) -> str:
    """One of the linkers; skips where it is absent."""
    name: str = request.param
    require(LINKERS[name], name if name != "gnu" else "binutils")
    require("g++", "g++")
    return name


@pytest.fixture
def shop(tmp_path: Path, linker: str) -> Workshop:
    """A project built with each linker in turn."""
    return Workshop(tmp_path / "project", tmp_path / "cache", linker)


@pytest.fixture
def gnu(tmp_path: Path) -> Workshop:
    """A project built with GNU ld only, where the linker makes no difference."""
    return Workshop(tmp_path / "project", tmp_path / "cache")
