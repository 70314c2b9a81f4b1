"""Nobody outside `layoutrand.instruments` asks which instrument it is, or which metric: each says what it is like.

Only `config/metric.py`, which declares the keys that ask for them, and `model.py`, which declares names, know better.
"""

from __future__ import annotations

import ast
import functools

import pytest

from layoutrand.config.metric import Metric
from layoutrand.instruments import known
from layoutrand.model import RUSAGE_METRICS, WALL_METRIC
from sourcekit import SOURCE, TREES

DECLARE_NAMES = {"config/metric.py", "model.py"}
KEYS = {"wall", "cachegrind", "counters", "instruments"}
NAMES = {
    *(each.name for each in known.starters()),
    *(each.program for each in known.starters() if each.program),
    *(each.option for each in known.profilers()),
    *(name for each in known.instruments() for name in each.metrics(Metric(wall=True, counters=["instructions"]))),
    *RUSAGE_METRICS,
}
OF_COLLECTIONS = {"get", "index", "count", "issuperset", "issubset", "isdisjoint"}


def constants(tree):
    """Names of a module's constants that stand for a name in `NAMES`, or for several."""
    found = set()
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and told(node.value, set()):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


@functools.cache
def told_everywhere():
    """Those that other modules may import."""
    return {name for tree in TREES.values() for name in constants(tree) if not name.startswith("_")}


def told(node, tainted):
    """Whether an expression is such a name, one of the constants, or a collection with one."""
    if isinstance(node, ast.Constant):
        return node.value in NAMES if isinstance(node.value, str) else False
    if isinstance(node, ast.Name | ast.Attribute):
        return (node.id if isinstance(node, ast.Name) else node.attr) in tainted
    if isinstance(node, ast.Set | ast.Tuple | ast.List):
        return any(told(each, tainted) for each in node.elts)
    if isinstance(node, ast.Dict):
        return any(told(each, tainted) for each in node.keys)
    if isinstance(node, ast.Starred):
        return told(node.value, tainted)
    if isinstance(node, ast.BinOp):
        return told(node.left, tainted) or told(node.right, tainted)
    if isinstance(node, ast.Call):
        return getattr(node.func, "id", "") in {"frozenset", "set", "tuple"} and any(
            told(argument, tainted) for argument in node.args
        )
    return False


def asks(node, tainted):
    """Whether this node alone asks which instrument, or which metric, it is."""
    if isinstance(node, ast.Compare):
        return any(told(each, tainted) for each in (node.left, *node.comparators))
    if isinstance(node, ast.MatchValue):
        return told(node.value, tainted)
    if isinstance(node, ast.Dict):
        return any(isinstance(key, ast.Constant) and told(key, tainted) for key in node.keys)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in OF_COLLECTIONS:
        return told(node.func.value, tainted)
    if isinstance(node, ast.Attribute) and node.attr in KEYS:
        of = node.value
        return (getattr(of, "id", "") or getattr(of, "attr", "")).endswith("metric")
    return isinstance(node, ast.ImportFrom) and imports_one(node)


def imports_one(node):
    modules = {module.stem for module in (SOURCE / "instruments" / "known").glob("[a-z]*.py")}
    inside = (node.module or "").startswith("layoutrand.instruments.known.")
    return inside or (node.module == "layoutrand.instruments.known" and bool(modules & {a.name for a in node.names}))


def found_in(tree):
    tainted = told_everywhere() | constants(tree)
    return [ast.unparse(node) for node in ast.walk(tree) if asks(node, tainted)]


@pytest.mark.slow
def test_nobody_outside_asks_for_names():
    found = {
        path: places
        for path, tree in TREES.items()
        if not path.startswith("instruments/") and (places := found_in(tree))
    }
    assert {path: places for path, places in found.items() if path not in DECLARE_NAMES} == {}
    assert found.keys() == DECLARE_NAMES  # each of the exceptions is needed


@pytest.mark.parametrize(
    "text",
    [
        "slot.instrument == 'native'",
        "name != 'perf-record'",
        "sample.metric in ('wall_s', 'x')",
        "pair.metric == WALL_METRIC",
        "name in RUSAGE_METRICS",
        "name in {*RUSAGE_METRICS}",
        "name in frozenset({'cachegrind'})",
        "frozenset({'callgrind'}).issuperset(names)",
        "{'native': 1}[name]",
        "['wall_s', 'x'].count(metric)",
        "_REAL = 'native'\nname == _REAL",
        "profiler.kind == 'callgrind'",
        "benchmark.metric.cachegrind",
        "metric.counters",
        "from layoutrand.instruments.known.perf import INSTRUMENT",
        "from layoutrand.instruments.known import native",
        "match name:\n  case 'estimated_cycles': pass",
    ],
)
def test_what_asks_is_found(text):
    assert found_in(ast.parse(text))


@pytest.mark.parametrize(
    "text",
    ["name in simulated()", "a.instrument == b.instrument", "capture.records.get('O2')", "self.counters.items()"],
)
def test_what_asks_for_nothing_is_not(text):
    assert not found_in(ast.parse(text))


def test_the_names_are_those_of_all_instruments():
    assert {"native", "perf", "cachegrind", "callgrind", "perf-record", WALL_METRIC, "estimated_cycles"} <= NAMES
    assert {"WALL_METRIC", "RUSAGE_METRICS"} <= told_everywhere()
