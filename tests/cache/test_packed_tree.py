"""A tree in two files, and out of them again."""

import json
import os
import socket
import stat
import tarfile
from dataclasses import replace

import pytest

from buildkit import run
from layoutrand.cache.packed_tree import PackedPath, PackedTree, TooMuch, is_whole, pack, parse_tree, unpack
from layoutrand.platform.disk import remove_tree, sha256_bytes
from overwrite import overwrite

OBJECT = bytes(range(256)) * 40


@pytest.fixture
def tree(tmp_path):
    """A directory such as builds leave."""
    base = tmp_path / "base"
    (base / "src/deep/er").mkdir(parents=True)
    (base / "src/a.o").write_bytes(OBJECT)
    (base / "src/deep/same as a.o").write_bytes(OBJECT)
    (base / "src/empty").touch()
    (base / "src" / os.fsdecode(b"caf\xe9")).write_bytes(b"latin")
    (base / "src/run").write_text("#!/bin/sh\n")
    (base / "src/run").chmod(0o751)
    os.link(base / "src/a.o", base / "src/hard")
    (base / "src/to a").symlink_to("a.o")
    (base / "src/to nothing").symlink_to("/not/there")
    (base / "src/to deep").symlink_to("deep")
    os.utime(base / "src/a.o", ns=(1, 1_234_567_890_123_456_789))
    os.utime(base / "src/empty", ns=(-5, -5_000_000_001))
    (base / "rec").mkdir()
    run("tar", "--create", "--file", base / "rec/inputs.tar", "-C", base / "src", "a.o", "empty", "run")
    (base / "src/deep").chmod(0o555)
    yield base
    remove_tree(base)


def packed(base, folder, *, is_wanted=lambda _: True, most=1 << 30, beside=None):
    return pack(base, beside or {}, folder / "contents", is_wanted=is_wanted, most=most)


def described(base):
    """All that can be told of a tree."""
    found = {}
    for folder, below, names in os.walk(base):
        for name in (*below, *names):
            path = os.path.join(folder, name)
            info = os.lstat(path)
            content = None
            if stat.S_ISREG(info.st_mode):
                with open(path, "rb") as file:
                    content = file.read()
            when = None if stat.S_ISLNK(info.st_mode) else info.st_mtime_ns
            target = os.readlink(path) if stat.S_ISLNK(info.st_mode) else None
            found[os.path.relpath(path, base)] = (info.st_mode, when, content, target)
    return found


def test_all_comes_out_as_it_went_in(tree, tmp_path):
    """Contents, permissions, times to the nanosecond, links of both kinds, names that are no text."""
    found = parse_tree(packed(tree, tmp_path).to_json())
    out = tmp_path / "out"
    out.mkdir()
    unpack(found, tmp_path / "contents", out)

    assert described(out) == described(tree)
    assert len(described(out)) == 14
    assert (out / "src/hard").samefile(out / "src/a.o")
    assert not (out / "src/hard").samefile(out / "src/deep/same as a.o")
    remove_tree(out)


def test_equal_contents_take_room_once_also_within_a_tar_archive(tree, tmp_path):
    found = packed(tree, tmp_path)
    record = next(each for each in found.paths if each.path == "rec/inputs.tar")

    sizes = [size for _, size in found.contents]
    assert sizes.count(len(OBJECT)) == 1
    assert (tmp_path / "contents").stat().st_size == found.size() == sum(sizes)
    assert found.size() < len(OBJECT) + (tree / "rec/inputs.tar").stat().st_size - len(OBJECT) + 100
    assert len(record.pieces) > 3
    with tarfile.open(tree / "rec/inputs.tar") as archive:
        assert len(archive.getmembers()) == 3


def test_a_damaged_tar_archive_is_a_file_as_any_other(tree, tmp_path):
    data = (tree / "rec/inputs.tar").read_bytes()
    for length in (100, 600, len(OBJECT)):
        (tree / "rec/inputs.tar").write_bytes(data[:length])
        found = packed(tree, tmp_path)
        out = tmp_path / f"out{length}"
        out.mkdir()
        unpack(found, tmp_path / "contents", out)
        assert (out / "rec/inputs.tar").read_bytes() == data[:length]
        (tmp_path / "contents").unlink()


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.REGTYPE])
@pytest.mark.parametrize("size", [1 << 62, 1 << 80, -1024], ids=["huge", "more than there can be", "negative"])
def test_a_tar_archive_that_says_any_size_is_a_file_as_any_other(tmp_path, kind, size):
    """Those of the user's own, such as what an archiver is tested with, are not even looked into."""
    header = tarfile.TarInfo("x")
    header.type = kind
    data = bytearray(header.tobuf(tarfile.GNU_FORMAT))
    data[124:136] = (b"\x80" if size > 0 else b"\xff") + (size % (1 << 88)).to_bytes(11, "big")
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data)
    for name in ("src/test.tar", "rec/inputs.tar"):
        (tmp_path / "base" / name).parent.mkdir(parents=True)
        (tmp_path / "base" / name).write_bytes(bytes(data) + bytes(1024))
    found = packed(tmp_path / "base", tmp_path)
    (tmp_path / "out").mkdir()
    unpack(found, tmp_path / "contents", tmp_path / "out")
    assert described(tmp_path / "out") == described(tmp_path / "base")


def test_pipes_and_sockets_are_left_alone(tree, tmp_path):
    os.mkfifo(tree / "src/pipe")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(tree / "src/socket"))
        found = packed(tree, tmp_path)
    assert not {"src/pipe", "src/socket"} & {each.path for each in found.paths}


def test_what_is_not_wanted_is_there_by_name(tree, tmp_path):
    found = packed(tree, tmp_path, is_wanted=lambda path: path == "src/run", beside={"log": tree / "src/empty"})
    out = tmp_path / "out"
    out.mkdir()
    unpack(found, tmp_path / "contents", out)

    assert found.left_out() == {
        "src/a.o",
        "src/hard",
        "src/empty",
        "src/deep/same as a.o",
        os.fsdecode(b"src/caf\xe9"),
        "rec/inputs.tar",
    }
    assert {name for name, what in described(out).items() if stat.S_ISREG(what[0])} == {"src/run", "log"}
    remove_tree(out)


@pytest.mark.parametrize("most", [0, 10, len(OBJECT)])
def test_more_than_may_be_is_refused(tree, tmp_path, most):
    with pytest.raises(TooMuch):
        packed(tree, tmp_path, most=most)


def test_a_large_file_is_given_up_before_it_is_copied_whole(tmp_path):
    (tmp_path / "base").mkdir()
    with (tmp_path / "base/holes").open("wb") as file:
        file.truncate(1 << 36)
    with pytest.raises(TooMuch):
        packed(tmp_path / "base", tmp_path, most=1000)
    assert (tmp_path / "contents").stat().st_size < 1 << 24


@pytest.mark.parametrize("place", [0, 5000, -1])
def test_damage_is_found_and_nothing_is_taken_for_whole(tree, tmp_path, place):
    found = packed(tree, tmp_path)
    contents = tmp_path / "contents"
    assert is_whole(found, contents)
    data = bytearray(contents.read_bytes())
    data[place] ^= 1
    overwrite(contents, bytes(data))
    (tmp_path / "out").mkdir()

    assert not is_whole(found, contents)
    with pytest.raises(ValueError, match="damaged"):
        unpack(found, contents, tmp_path / "out")
    remove_tree(tmp_path / "out")


@pytest.mark.parametrize("change", [lambda data: data + b"x", lambda data: data[:-1], lambda _: b""])
def test_more_or_less_than_there_was_is_damage(tree, tmp_path, change):
    found = packed(tree, tmp_path)
    overwrite(tmp_path / "contents", change((tmp_path / "contents").read_bytes()))
    assert not is_whole(found, tmp_path / "contents")


PLAIN = PackedTree(
    (PackedPath("directory", "d", 0o755, 1), PackedPath("file", "d/f", 0o644, 1, (0,))), ((sha256_bytes(b"x"), 1),)
)
HOSTILE = {
    "above": {"path": "../f"},
    "absolute": {"path": "/f"},
    "in between": {"path": "d/../../f"},
    "nul": {"path": "d/a\0b"},
    "no folder": {"path": "e/f"},
    "itself": {"path": "."},
    "twice": {"path": "d"},
    "other kind": {"kind": "device"},
    "content that is not there": {"pieces": (1,)},
    "content before the first": {"pieces": (-1,)},
    "same as nothing": {"kind": "same", "other": "d/g"},
    "same as a directory": {"kind": "same", "other": "d"},
    "time": {"at_ns": 1 << 70},
    "mode": {"mode": "x"},
}


@pytest.mark.parametrize("changes", HOSTILE.values(), ids=HOSTILE)
def test_a_path_that_was_never_packed_is_refused(changes):
    assert parse_tree(PLAIN.to_json()) == PLAIN
    hostile = replace(PLAIN, paths=(PLAIN.paths[0], replace(PLAIN.paths[1], **changes)))
    with pytest.raises(ValueError):
        parse_tree(hostile.to_json())


def test_nothing_is_written_through_a_link(tmp_path):
    """A link that leads out of the tree is made when all else is there; nothing can be below it."""
    (tmp_path / "outside").mkdir()
    link = PackedPath("link", "d/l", other=str(tmp_path / "outside"))
    below = PackedPath("file", "d/l/f", 0o644, 1, (0,))
    with pytest.raises(ValueError, match="leads nowhere"):
        parse_tree(replace(PLAIN, paths=(*PLAIN.paths, link, below)).to_json())


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"paths": 1, "contents": []}', b"[" * 100_000, b'"x"'])
def test_what_is_no_tree_is_refused(data):
    with pytest.raises(ValueError):
        parse_tree(data)


def test_the_user_who_sets_no_permissions_of_others_gets_none(tree, tmp_path):
    """What a set-user-id bit would be for is no part of a link."""
    (tree / "src/run").chmod(0o4755)
    found = parse_tree(packed(tree, tmp_path).to_json())
    assert next(each.mode for each in found.paths if each.path == "src/run") == 0o755
    assert json.loads(found.to_json())["paths"]
