"""The index of known pitfalls: every row is there, and the tests it names exist."""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
ROWS = dict(re.findall(r"^\| (\d+) \| [^|]+ \| ([^|]+) \|$", (TESTS / "PITFALLS.md").read_text(), re.MULTILINE))
CATALOGUE = range(1, 34)


def defined(path):
    """Names of a module's test functions."""
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}


def test_every_pitfall_has_a_row():
    """The numbers of the catalogue are those of the table."""
    assert list(map(int, ROWS)) == list(CATALOGUE)


@pytest.mark.parametrize("number", ROWS)
def test_the_tests_named_exist(number):
    """Each test in the row is a function of its module."""
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", ROWS[number])

    assert named
    assert [f"{file}::{name}" for file, name in named if name not in defined(TESTS / file)] == []
