"""The shape of the source: limits that keep it readable, checked instead of promised."""

import ast
import re
from pathlib import Path

import pytest

import layoutrand

SOURCE = Path(layoutrand.__file__).parent
MODULES = sorted(path for path in SOURCE.rglob("*.py") if "quickstart" not in path.parts)


def _ids(path):
    return str(path.relative_to(SOURCE))


def _lines(node):
    """Lines of a function without its docstring: in stats that is required to be long."""
    documented = ast.get_docstring(node) is not None
    return node.end_lineno - (node.body[0].end_lineno if documented else node.lineno) + 1


@pytest.mark.parametrize("path", MODULES, ids=_ids)
def test_modules_stay_below_400_lines_and_functions_below_70(path):
    """A module is at most 400 lines long, a function at most 70."""
    text = path.read_text()
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    long = [f"{node.name} ({_lines(node)})" for node in functions if _lines(node) > 70]

    assert len(text.splitlines()) <= 400
    assert long == []


@pytest.mark.parametrize("path", MODULES, ids=_ids)
def test_nothing_is_unfinished_or_swallowed(path):
    """No reminder of unfinished work, no shell string, no print outside the cli, no bare except."""
    text = path.read_text()
    tree = ast.parse(text)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    handlers = [node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)]

    assert not re.search(r"\b(TODO|FIXME|XXX|HACK)\b", text)
    assert not [node for node in handlers if node.type is None]
    assert not [call for call in calls if getattr(call.func, "id", "") == "print"]
    assert not [k for call in calls for k in call.keywords if k.arg == "shell"]
