"""The index of known pitfalls: every row is there, and the tests it names exist."""

import ast
import functools
import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
ROWS = dict(re.findall(r"^\| (\d+) \| [^|]+ \| ([^|]+) \|$", (TESTS / "PITFALLS.md").read_text(), re.MULTILINE))
CATALOGUE = range(1, 34)


@functools.cache
def defined(path):
    """Names of a module's test functions."""
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}


def test_every_pitfall_has_a_row():
    """The numbers of the catalogue are those of the table."""
    assert list(map(int, ROWS)) == list(CATALOGUE)


def test_the_tests_named_exist():
    """Each test in a row is a function of its module, and no row is without one."""
    named = {number: re.findall(r"`([\w/]+\.py)::(\w+)`", row) for number, row in ROWS.items()}

    assert [number for number, tests in named.items() if not tests] == []
    assert [each for tests in named.values() for each in tests if each[1] not in defined(TESTS / each[0])] == []
