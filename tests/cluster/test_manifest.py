"""Manifests of bundles: what comes back is what was written, and what must not be followed is refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutrand.cluster.manifest import BundledFile, Manifest, parse_manifest, to_table
from layoutrand.errors import BundleError

A, B = "a" * 64, "b" * 64


def message(files, **changes):
    """The error that a manifest with these rows gives."""
    table = {"schema": "layoutrand/bundle/1", "capture": A, "files": files, **changes}
    with pytest.raises(BundleError) as caught:
        parse_manifest(json.dumps(table).encode(), where="M")
    return str(caught.value)


@given(st.lists(st.tuples(st.text("abc.", min_size=1), st.integers(0, 8 << 30), st.integers(0, 0o777)), max_size=6))
def test_a_manifest_comes_back(rows):
    """Names, sizes and modes of any kind."""
    files = tuple(
        BundledFile(f"{number}/x{name}", f"{number:064x}", size, mode) for number, (name, size, mode) in enumerate(rows)
    )
    manifest = Manifest(A, files)
    assert parse_manifest(json.dumps(to_table(manifest)).encode(), where="M") == manifest


def test_names_that_are_no_text_come_back():
    """A file name is bytes; those that are not UTF-8 stand as lone surrogates."""
    manifest = Manifest(A, (BundledFile("0/root/\udcff.o", B, 1, 0o644),))
    assert parse_manifest(json.dumps(to_table(manifest)).encode(), where="M") == manifest


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", "a/./b", "a//b", "a/", ".", "..", "./a", "a/.."])
def test_paths_that_leave_the_directory_are_refused(path):
    """Or that are not in the one form that a path has."""
    assert message([[path, B, 1, 0o644]]) == f"M: {path!r} is not a path below the capture's directory"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (["", B, 1, 0o644], "cannot be the name of a file"),
        (["a\0b", B, 1, 0o644], "cannot be the name of a file"),
        ([7, B, 1, 0o644], "cannot be the name of a file"),
        (["\ud800", B, 1, 0o644], "cannot be the name of a file"),
        (["x" * 256, B, 1, 0o644], "cannot be the name of a file"),
        (["x/" * 2048 + "x", B, 1, 0o644], "cannot be the name of a file"),
        (["a", "../../x", 1, 0o644], "for its SHA-256"),
        (["a", None, 1, 0o644], "for its SHA-256"),
        (["a", B.upper(), 1, 0o644], "for its SHA-256"),
        (["a", B, -1, 0o644], "for its size"),
        (["a", B, 1.0, 0o644], "for its size"),
        (["a", B, True, 0o644], "for its size"),
        (["a", B, 1 << 70, 0o644], "for its size"),
        (["a", B, (8 << 30) + 1, 0o644], "for its size"),
        (["a", B, 1, 0o4755], "for its permissions"),
        (["a", B, 1, "rwx"], "for its permissions"),
    ],
)
def test_rows_that_make_no_sense_are_refused(row, words):
    """Each with what is wrong, in a line that can be read whatever stands in the row."""
    said = message([row])
    assert words in said
    assert len(said) < 250


def test_files_that_contradict_each_other_are_refused():
    """One path twice, a file that is a directory too, one content with two sizes."""
    assert "lists a path twice" in message([["a", A, 1, 0o644], ["a", B, 1, 0o644]])
    assert "'a' is both a file and a directory" in message([["a", A, 1, 0o644], ["a/b/c", B, 1, 0o644]])
    assert "has two sizes" in message([["a", A, 1, 0o644], ["b", A, 2, 0o644]])


@pytest.mark.parametrize(
    "data", [b"", b"\xff", b"[]", b"{}", b'{"schema":"layoutrand/bundle/1","capture":"a","files":[[1]]}', b"7"]
)
def test_something_else_is_no_manifest(data):
    """Not JSON, or other JSON."""
    with pytest.raises(BundleError, match="M is not the manifest of a bundle"):
        parse_manifest(data, where="M")


def test_another_schema_or_id_is_refused():
    """Of a later layoutrand, or made up."""
    assert "schema 'layoutrand/bundle/2', this layoutrand reads" in message([], schema="layoutrand/bundle/2")
    assert "is not the id of a capture" in message([], capture="../x")
