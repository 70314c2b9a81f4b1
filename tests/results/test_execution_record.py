"""An execution on its way: the same to the bit when it arrives, and nothing else is taken for one."""

from __future__ import annotations

import dataclasses
import json

import pytest

from fakes import EXECUTION
from layoutrand.cluster.measuring_task import read_record, record_key, record_of
from layoutrand.errors import BundleError
from layoutrand.execute.experiment import slot_key
from layoutrand.execute.workplace import keep_files
from layoutrand.results.rows import from_json, to_json

FAILED = dataclasses.replace(EXECUTION, status="exit", reason="r \udcff", returncode=3, log="l", node="n1")


def test_it_arrives_as_it_was():
    assert from_json(json.loads(json.dumps(to_json(FAILED)))) == FAILED
    record = json.loads(json.dumps(record_of(FAILED, {"cpus": 4}, {"stdout": b"\xff\0"})))
    assert read_record(record) == (FAILED, {"cpus": 4}, {"stdout": b"\xff\0"})


def test_its_name_follows_from_slot_and_attempt_alone():
    key = slot_key(FAILED)
    name = record_key(key, 1)
    assert record_key(slot_key(dataclasses.replace(FAILED, wall_s=9.0, node="n2", status="ok")), 1) == name
    assert record_key(key, 2) != name
    assert record_key(dataclasses.replace(key, repetition=1), 1) != name


@pytest.mark.parametrize("record", [{}, {"execution": {}}, {"execution": to_json(FAILED), "facts": {}}])
def test_anything_else_is_none(record):
    with pytest.raises((KeyError, TypeError, ValueError)):
        read_record(record)


def test_output_is_kept_where_logs_are(tmp_path):
    keep_files(tmp_path, ".layoutrand/logs/run/s/b/1", {"stdout": b"1", "old": b""})
    keep_files(tmp_path, ".layoutrand/logs/run/s/b/1", {"stdout": b"2"})
    folder = tmp_path / ".layoutrand/logs/run/s/b/1"
    assert [path.name for path in folder.iterdir()] == ["stdout"]
    assert (folder / "stdout").read_bytes() == b"2"


@pytest.mark.parametrize(
    ("log", "name"),
    [
        ("/etc/x", "f"),
        ("../x", "f"),
        (".layoutrand/logs/run/../../../x", "f"),
        (".layoutrand/logs/run", "f"),
        ("src", "f"),
        (".layoutrand/logs/run/s", "../f"),
        (".layoutrand/logs/run/s", "a/f"),
    ],
)
def test_output_is_kept_nowhere_else(tmp_path, log, name):
    with pytest.raises(BundleError, match="no place for logs"):
        keep_files(tmp_path, log, {name: b""})
    assert list(tmp_path.iterdir()) == []
