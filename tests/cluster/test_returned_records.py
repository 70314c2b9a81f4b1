"""Records that nodes return: whole or not at all, and one agreement however many propose."""

from __future__ import annotations

import errno
import os
import threading
import zlib

import pytest

from layoutrand.cluster.returned_records import ReturnedRecords
from layoutrand.errors import BundleError, DamagedRecord, ResultsError
from layoutrand.platform.disk import sha256_bytes
from layoutrand.results.file import project_id


@pytest.fixture
def records(tmp_path):
    return ReturnedRecords(tmp_path / "a shared 'place'", "run")


def test_a_record_comes_back_as_it_was(records):
    record = {"value": 0.1 + 0.2, "text": "\udcff \n '", "list": [None, True, 5e-324]}
    records.put("k1", record)
    assert records.names() == ["k1"]
    assert records.get("k1") == record
    records.put("k1", {"again": 1})
    assert records.get("k1") == {"again": 1}
    records.drop("k1")
    records.drop("k1")
    assert records.get("k1") is None
    assert records.names() == []


def test_an_empty_directory_has_nothing(records):
    assert records.names() == []
    assert records.get("k") is None
    assert records.agreed("cpu") is None


def test_what_a_killed_writer_left_is_no_record(records):
    records.put("k1", {})
    records.path(".tmp-abc").write_bytes(b"half")
    assert records.names() == ["k1"]


@pytest.mark.parametrize("harm", [lambda data: data[:-1], lambda data: b"", lambda data: data[:70] + b"x" + data[71:]])
def test_a_damaged_record_is_named(records, harm):
    records.put("k1", {"value": list(range(100))})
    path = records.path("k1")
    path.write_bytes(harm(path.read_bytes()))
    with pytest.raises(DamagedRecord, match=r"/run/k1 is damaged, so what it records is executed again"):
        records.get("k1")


@pytest.mark.parametrize("packed", [b"not packed", zlib.compress(b"{"), zlib.compress(b"[" * 200_000)])
def test_a_sealed_record_that_is_none_is_named(records, packed):
    records.put("k1", {})
    records.path("k1").write_bytes(sha256_bytes(packed).encode() + b"\n" + packed)
    with pytest.raises(DamagedRecord, match="k1 is damaged"):
        records.get("k1")


def test_a_record_that_cannot_be_read_is_not_damaged(records):
    records.path("k1").mkdir(parents=True)
    with pytest.raises(BundleError, match="cannot read .*/k1: Is a directory") as caught:
        records.get("k1")
    assert not isinstance(caught.value, DamagedRecord)


def test_runs_do_not_see_each_other(tmp_path):
    one, other = ReturnedRecords(tmp_path, "one"), ReturnedRecords(tmp_path, "other")
    one.put("k", {})
    one.agree("cpu", {"a": 1})
    assert other.names() == []
    assert other.agreed("cpu") is None


@pytest.mark.parametrize("links", [True, False])
def test_all_agree_on_the_first_proposal(records, monkeypatch, links):
    """Also where the file system has no hard links."""

    def refuse(*_paths):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    if not links:
        monkeypatch.setattr(os, "link", refuse)
    found = []
    start = threading.Barrier(8)

    def propose(number):
        start.wait()
        found.append(records.agree("cpu", {"cpu": number}))

    threads = [threading.Thread(target=propose, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all(each == found[0] for each in found)
    assert records.agreed("cpu") == found[0]
    assert records.agreed("other") is None
    assert len(os.listdir(records.path("").parent.parent / "processors")) == 1


def test_a_damaged_agreement_says_what_to_do(records, tmp_path):
    records.agree("cpu", {})
    (path,) = (tmp_path / "a shared 'place'" / "processors").iterdir()
    path.write_text("{")
    with pytest.raises(BundleError, match="is damaged: .*Delete it and give the same command again"):
        records.agreed("cpu")


def test_a_directory_that_cannot_be_written_is_a_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(
        BundleError, match=r"cannot write .*/file/executions.*: Not a directory. Nothing finished is lost"
    ):
        ReturnedRecords(tmp_path / "file", "run").put("k", {})
    assert os.listdir(tmp_path) == ["file"]


def test_a_project_has_a_word_of_its_own(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    word = project_id(one)
    assert len(word) == 32
    assert project_id(one) == word != project_id(other)
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultsError, match=r"cannot keep .*/file/.layoutrand/id: .*check owner"):
        project_id(tmp_path / "file")
