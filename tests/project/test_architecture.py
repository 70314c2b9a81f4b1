"""ARCHITECTURE.md: what it says of floors and files is so."""

import ast
import re
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import layoutrand

SOURCE = Path(layoutrand.__file__).parent
ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text()
FLOORS = TEXT[TEXT.index("## The floors") : TEXT.index("## Three walks")]


def enforced():
    """The floors that import-linter enforces, from the top."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = [each["layers"] for each in contracts if each["type"] == "layers"]
    return [name for layer in layers for name in layer.split(" | ")]


def test_the_table_has_every_floor_from_the_ground_up():
    rows = re.findall(r"^\| `(\w+)` \|", FLOORS, re.MULTILINE)
    assert sorted(rows) == sorted(enforced())
    # Neighbours of one floor may stand in any order.
    ground = {"errors", "warning", "stats", "model"}
    top = {"report", "interop", "explain", "check"}
    assert [row for row in rows if row not in ground | top] == [
        name for name in reversed(enforced()) if name not in ground | top
    ]


def test_the_picture_has_every_floor():
    """Names stand in the first 35 columns, what they are behind."""
    named = {word for line in re.findall(r"^ {4}\S.*$", FLOORS, re.MULTILINE) for word in line[4:39].split()}
    assert named == set(enforced())


def test_the_package_names_every_floor_from_the_ground_up():
    """Each in its place among those that import it and that it imports."""
    text = layoutrand.__doc__[
        layoutrand.__doc__.index("The packages are") : layoutrand.__doc__.index("says what is where")
    ]
    named = re.findall(r"``(\w+)``", text)
    assert sorted(named) == sorted(enforced())
    place = {name: number for number, name in enumerate(named)}
    graph = imports()
    floors = {
        (of.split(".")[1], each.split(".")[1])
        for of, found in graph.items()
        if "." in of
        for each in found
        if "." in each
    }
    assert [pair for pair in sorted(floors) if place.get(pair[0], 99) < place.get(pair[1], -1)] == []


def imports():
    """Module -> those of this package that it imports: in functions, and for types alone, too."""
    modules = {
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for path in SOURCE.rglob("*.py")
    }
    found = {}
    for name, path in modules.items():
        nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
        named = {(node.module or "", each.name) for node in nodes for each in node.names}
        asked = {f"{of}.{what}" if f"{of}.{what}" in modules else of for of, what in named}
        found[name] = sorted(asked & set(modules))
    return found


def test_no_module_needs_one_that_needs_it():
    """What can be read in no order has to be read at once; and what imports in a circle works in one order alone."""
    graph = imports()
    assert sum(map(len, graph.values())) > 3000
    TopologicalSorter(graph).prepare()  # raises CycleError, which names them


def test_every_file_that_it_names_is_there():
    named = set(re.findall(r"`([\w./*-]+\.(?:py|j2|sh|md|toml)|[\w-]+(?:/[\w-]+)*/)`", TEXT))
    assert len(named) > 80
    missing = [name for name in named if not any([*SOURCE.glob(name.rstrip("/")), *ROOT.glob(name.rstrip("/"))])]
    assert missing == []


def test_recipes_name_files():
    recipes = TEXT[TEXT.index("## How to add") : TEXT.index("## From source to binary")]
    for name in ("linker", "engine", "factor", "importer", "suite", "instrument", "sentence", "warning"):
        recipe = re.search(rf"^- \*\*an? {name}\*\*:((?:.|\n(?!-|\n))*)", recipes, re.MULTILINE)
        assert recipe is not None, name
        assert re.findall(r"`[\w/]+\.py`|`[\w/]+/`", recipe[1]), name
