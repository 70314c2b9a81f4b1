"""Fixtures of the end-to-end build tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from workshop import LINKERS, Workshop, require

# Where the linkers differ little, each runs with GNU ld in `make test` and with the others in `make slow`.
ALIKE = ("test_planted_faults", "test_planted_data_faults", "test_hostile_names", "test_reproducible")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each test that asks for a linker all of them in turn."""
    if "linker" in metafunc.fixturenames:
        fast = ("gnu",) if metafunc.module.__name__.rsplit(".", 1)[-1] in ALIKE else ("gnu", "lld-19")
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
