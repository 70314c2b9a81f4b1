"""What is no record of an execution is dropped, and said, whoever sealed it."""

from __future__ import annotations

import pytest

from experiments import execution
from layoutrand.cluster.measuring_task import record_key, record_of
from layoutrand.cluster.returned_executions import take_record
from layoutrand.cluster.returned_records import ReturnedRecords
from layoutrand.config.config import parse
from layoutrand.execute.experiment import slot_key

TOML = """
[project]
name = "p"
[build]
commands = ["make"]
artefacts = ["prog"]
[systems.O2]
toolchain = "gcc"
[[benchmarks]]
name = "b"
command = ["{artefact}"]
"""
FACTS = {"machine": "x86_64", "cpu_model": "cpu", "cpus": 2}


@pytest.fixture
def one(tmp_path):
    """An execution as a node records it."""
    return execution(parse(TOML, path="layoutrand.toml"), tmp_path, "O2", "b", 7)


@pytest.fixture
def records(tmp_path):
    return ReturnedRecords(tmp_path / "shared", "run")


def test_a_record_is_taken(records, one):
    key = record_key(slot_key(one), one.attempt)
    records.put(key, record_of(one, FACTS, {}))
    said: list[str] = []
    found = take_record(records, key, said.append)
    assert found is not None
    assert (found.execution, found.facts, said) == (one, FACTS, [])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("status", 5),
        ("wall_s", "long"),
        ("wall_s", True),
        ("started_at", None),
        ("order", 2**63),
        ("returncode", "0"),
        ("env_size", 1.5),
        ("log", ["x"]),
        ("argv", [1]),
        ("rusage", {"utime": "much"}),
        ("rusage", []),
        ("conditions", "none"),
        ("disturbances", [None]),
        ("measurements", [["wall", "s", 0, "1.5", False]]),
        ("measurements", [["wall", "s", 0, 1.5, 0]]),
        ("measurements", [["wall", "s"]]),
        ("started_at", 10**400),
        ("output_sha256", None),
        ("output_sha256", "A" * 64),
        ("unknown", 1),
    ],
)
def test_a_record_with_a_value_that_no_execution_has_is_dropped(records, one, field, value):
    key = record_key(slot_key(one), one.attempt)
    record = record_of(one, FACTS, {})
    records.put(key, {**record, "execution": {**record["execution"], field: value}})
    said: list[str] = []
    assert take_record(records, key, said.append) is None
    assert f"{records.path(key)} is no record of an execution: " in said[0]
    assert records.names() == []


@pytest.mark.parametrize(
    "record", [[], {}, {"execution": 1}, {"execution": {}, "facts": {}, "output": {"x": "%"}}, None]
)
def test_what_is_no_record_at_all_is_dropped(records, record):
    records.put("key", record)
    said: list[str] = []
    assert take_record(records, "key", said.append) is None
    assert said[0].startswith(str(records.path("key")))
    assert "executed again" in said[0]
    assert records.names() == []


def test_a_record_that_others_may_write_is_not_taken(records, one):
    key = record_key(slot_key(one), one.attempt)
    records.put(key, record_of(one, FACTS, {}))
    records.path(key).chmod(0o646)
    said: list[str] = []
    assert take_record(records, key, said.append) is None
    assert "is not taken (everybody may write to it), so what it records is executed again" in said[0]
    assert records.names() == []
