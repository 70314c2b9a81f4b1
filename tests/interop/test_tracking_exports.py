"""Exports for services that follow commits, each against the form that its reader wants."""

from __future__ import annotations

import json
import math

import fastjsonschema
import pytest

from experiments import measured, selected, write
from fakes import make_config
from layoutrand.errors import AnalysisError
from layoutrand.interop.export import export
from layoutrand.model import Measurement

CONFIG = make_config(
    '[[benchmarks]]\nname = "fib"\ncommand = ["{artefact}"]\n'
    '[[benchmarks]]\nname = "sort"\ncommand = ["{artefact}"]\nmetric = {regex = "(x)", name = "Items_per_go", unit = "1"}\n'
)
NUMBER = {"type": "number"}
BENCHER = {
    "type": "object",
    "minProperties": 1,
    "additionalProperties": {
        "type": "object",
        "minProperties": 1,
        "propertyNames": {"pattern": "^[a-z0-9]+(-[a-z0-9]+)*$", "maxLength": 64},
        "additionalProperties": {
            "type": "object",
            "required": ["value"],
            "additionalProperties": False,
            "properties": {"value": NUMBER, "lower_value": NUMBER, "upper_value": NUMBER},
        },
    },
}
TIMES = ("min_ns", "max_ns", "mean_ns", "stdev_ns", "q1_ns", "median_ns", "q3_ns", "total_time")
COUNTS = ("rounds", "iqr_outlier_rounds", "stdev_outlier_rounds", "iter_per_round", "warmup_iters")
CODSPEED = {
    "type": "object",
    "required": ["creator", "instrument", "benchmarks"],
    "properties": {
        "creator": {"type": "object", "required": ["name", "version", "pid"]},
        "instrument": {"type": "object", "required": ["type"], "properties": {"type": {"const": "walltime"}}},
        "benchmarks": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["name", "uri", "config", "stats"],
                "properties": {
                    "stats": {
                        "type": "object",
                        "required": [*TIMES, *COUNTS],
                        "additionalProperties": False,
                        "properties": {name: NUMBER for name in TIMES} | {name: {"type": "integer"} for name in COUNTS},
                    }
                },
            },
        },
    },
}


@pytest.fixture
def selection(tmp_path):
    rows = []
    for system in ("a", "b"):
        data = {k: [[0.25 + k / 1000]] for k in range(1, 6)} | {"stock": [[0.3], [0.5]]}
        rows += measured(CONFIG, tmp_path, system, "fib", data)
        rows += measured(
            CONFIG, tmp_path, system, "sort", {k: [[100.0 + k]] for k in range(1, 4)}, metric="Items_per_go", unit="1"
        )
    write(CONFIG, tmp_path, rows)
    return lambda *systems: selected(CONFIG, tmp_path, systems=list(systems))


def test_bencher(selection):
    document = json.loads(export(selection(), "bencher", []).text)
    fastjsonschema.validate(BENCHER, document)
    assert sorted(document) == ["fib (a)", "fib (b)", "sort (a)", "sort (b)"]
    latency = document["fib (a)"]["latency"]
    assert latency["value"] == pytest.approx(253e6)
    assert latency["lower_value"] < latency["value"] < latency["upper_value"]
    assert document["fib (a)"]["latency-as-built"] == {"value": pytest.approx(400e6)}
    assert document["sort (a)"]["items-per-go"]["value"] == 102
    assert list(json.loads(export(selection("a"), "bencher", []).text)) == ["fib", "sort"]


def test_a_mean_without_bounds_has_no_limits(tmp_path):
    write(CONFIG, tmp_path, measured(CONFIG, tmp_path, "a", "fib", {1: [[0.5]]}))
    (own,) = json.loads(export(selected(CONFIG, tmp_path), "bencher", []).text).values()
    assert own == {"latency": {"value": 5e8}}


def test_codspeed(selection):
    found = export(selection(), "codspeed", [])
    document = json.loads(found.text)
    fastjsonschema.validate(CODSPEED, document)
    assert [each["name"] for each in document["benchmarks"]] == ["fib[a]", "fib[b]"]
    stats = document["benchmarks"][0]["stats"]
    assert (stats["rounds"], stats["min_ns"], stats["median_ns"]) == (5, pytest.approx(251e6), pytest.approx(253e6))
    assert stats["total_time"] == pytest.approx(1.265)
    assert "not in it: Items_per_go" in " ".join(map(str, found.warnings))
    assert all(math.isfinite(value) for value in stats.values())


def test_nothing_to_export(tmp_path):
    rows = measured(CONFIG, tmp_path, "a", "sort", {1: [[1.0]]}, metric="Items_per_go", unit="1")
    write(CONFIG, tmp_path, rows)
    with pytest.raises(AnalysisError, match="times alone"):
        export(selected(CONFIG, tmp_path), "codspeed", [])
    assert isinstance(rows[0].measurements[0], Measurement)
