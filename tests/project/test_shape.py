"""The shape of the source: limits that keep it readable, checked instead of promised; each is one test."""

import ast
import re
import tomllib
from pathlib import Path

from sourcekit import SOURCE, TREES

ROOT = Path(__file__).resolve().parents[2]
EFFECTS = {
    "chmod", "exists", "glob", "is_dir", "is_file", "is_symlink", "iterdir", "listdir", "lstat", "mkdir", "open",
    "read_bytes", "read_text", "readlink", "rglob", "rmdir", "scandir", "stat", "symlink_to", "touch", "unlink",
    "write_bytes", "write_text",
}  # a table: a row for what belongs together  # fmt: skip
READ_THEIR_TEMPLATES = {"text/render.py", "report/html.py"}


def _lines(node):
    """Lines of a function without its docstring: in stats that is required to be long."""
    documented = ast.get_docstring(node) is not None
    return node.end_lineno - (node.body[0].end_lineno if documented else node.lineno) + 1


def _calls(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def _pure():
    """Modules that the import contract calls pure."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (names,) = [each["source_modules"] for each in contracts if each["name"].startswith("Pure")]
    for name in names:
        place = "/".join(name.split(".")[1:])
        found = [path for path in TREES if path == f"{place}.py" or path.startswith(f"{place}/")]
        assert found, name
        yield from found


def test_modules_stay_below_400_lines_and_functions_below_70():
    modules = {path for path in TREES if len((SOURCE / path).read_text().splitlines()) > 400}
    functions = {
        f"{path}: {node.name}"
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and _lines(node) > 70
    }
    assert (modules, functions) == (set(), set())


def test_nothing_is_unfinished_or_swallowed():
    """No reminder of unfinished work, no shell string, no print outside the cli, no bare except."""
    found = []
    for path, tree in TREES.items():
        found += [(path, word) for word in re.findall(r"\b(?:TODO|FIXME|XXX|HACK)\b", (SOURCE / path).read_text())]
        handlers = [node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)]
        found += [(path, "except:") for node in handlers if node.type is None]
        found += [(path, "print") for call in _calls(tree) if getattr(call.func, "id", "") == "print"]
        found += [(path, "shell=") for call in _calls(tree) for word in call.keywords if word.arg == "shell"]
    assert found == []


def test_pure_modules_touch_no_file():
    """What import contracts cannot see: methods of paths, and `open`."""
    found = []
    for path in set(_pure()) - READ_THEIR_TEMPLATES:
        named = {getattr(call.func, "attr", getattr(call.func, "id", "")) for call in _calls(TREES[path])}
        found += [(path, name) for name in named & EFFECTS]
    assert found == []


def test_templates_are_read_where_it_says():
    """So that the exceptions above are none too many."""
    for path in READ_THEIR_TEMPLATES:
        assert "read_text" in {getattr(call.func, "attr", "") for call in _calls(TREES[path])}


def test_the_formatter_lays_out_all_but_a_few_tables():
    """Each of them says why."""
    hands_off = re.compile(r"#\s*fmt: ?(?:skip|off)")
    sources = [path for top in (SOURCE, ROOT / "tests") for path in top.rglob("*.py") if ".sources" not in path.parts]
    lines = [line for path in sources for line in path.read_text().splitlines() if hands_off.search(line)]
    assert len(lines) <= 14
    assert [line for line in lines if not re.search(r"# a table: .+  # fmt[:] skip$", line)] == []


def test_no_name_stands_twice():
    """Of a module or of a public class: who searches for one finds it."""
    modules, classes = {}, {}
    for path, tree in TREES.items():
        if not path.endswith("__init__.py"):
            modules.setdefault(Path(path).stem, []).append(path)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes.setdefault(node.name, []).append(path)
    assert [places for places in modules.values() if len(places) > 1] == []
    assert {name: places for name, places in classes.items() if len(places) > 1} == {}
