"""Fixtures of the end-to-end build tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from workshop import LINKERS, Workshop, require


@pytest.fixture(params=["gnu", "lld-19", pytest.param("lld-14", marks=pytest.mark.slow)])
def linker(request: pytest.FixtureRequest) -> str:
    """Each linker in turn."""
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
