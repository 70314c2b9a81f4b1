from __future__ import annotations

import hashlib
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from layoutrand.cache.delta import DeltaBase
from layoutrand.errors import CacheError, ResultsError
from layoutrand.execute.workplace import Workplace, end_leftovers
from layoutrand.model import Stored
from layoutrand.platform.disk import digest_of_input, sha256_file


@pytest.fixture
def binary(tmp_path):
    path = tmp_path / "cache" / "prog"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_every_execution_finds_the_same_empty_places(tmp_path, binary):
    (tmp_path / "data").write_text("d")
    place = Workplace(tmp_path / "work")
    first = place.prepare({"sub/prog": Stored(binary)}, [tmp_path / "data"])
    (first.cwd / "data").write_text("changed")
    (first.cwd / "left over").write_text("x")
    (first.tmp / "t").mkdir()
    first.stdout.write_text("x")
    second = place.prepare({"sub/prog": Stored(binary)}, [tmp_path / "data"])
    assert first == second
    assert sorted(os.listdir(second.cwd)) == ["data"]
    assert (second.cwd / "data").read_text() == "d"
    assert os.listdir(second.tmp) == os.listdir(second.stdout.parent) == []
    assert (tmp_path / "data").read_text() == "d"


@pytest.mark.parametrize("name", ["cwd", "bin", "tmp", "output"])
def test_what_a_program_put_in_place_of_a_directory_is_removed_and_nothing_behind_it(tmp_path, binary, name):
    """Files elsewhere that are called as those that were placed are not taken for them."""
    (tmp_path / "data").write_text("d")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    names = ["data", "prog", "stderr", "stdout"]
    for each in names:
        (elsewhere / each).write_text("mine")
    place = Workplace(tmp_path / "work")
    room = place.prepare({"prog": Stored(binary)}, [tmp_path / "data"])
    room.stdout.write_text("")
    room.stderr.write_text("")
    (room.bin.parent / name).rename(room.bin.parent / "away")
    (room.bin.parent / name).symlink_to(elsewhere)

    again = place.prepare({"prog": Stored(binary)}, [tmp_path / "data"])

    assert sorted(os.listdir(elsewhere)) == names
    assert sorted(os.listdir(again.bin.parent)) == ["bin", "cwd", "output", "tmp"]
    assert not (again.bin.parent / name).is_symlink()


@pytest.mark.parametrize("name", ["", "cwd", "bin", "tmp", "output"])
def test_only_a_directory_that_nobody_changed_is_used_again(tmp_path, binary, name):
    """One with other rights, or one that a program put in its place, is not; and then none is."""

    def numbers():
        return [(room.bin.parent / each).stat().st_ino for each in ("", "cwd", "bin", "tmp", "output")]

    place = Workplace(tmp_path / "work")
    room = place.prepare({"prog": Stored(binary)}, [])
    first = numbers()
    room.stdout.write_text("x")
    room.stderr.write_text("x")
    place.prepare({"prog": Stored(binary)}, [])
    assert numbers() == first

    room.stdout.write_text("x")
    room.stderr.write_text("x")
    before = stat.S_IMODE(room.tmp.stat().st_mode)
    (room.bin.parent / name).chmod(0o711)
    kept = [os.open(room.bin.parent / each, os.O_RDONLY) for each in ("", "cwd", "bin", "tmp", "output")]
    place.prepare({"prog": Stored(binary)}, [])  # while those are open nobody else has their numbers
    for descriptor in kept:
        os.close(descriptor)
    assert not set(numbers()) & set(first)
    assert stat.S_IMODE((room.bin.parent / name).stat().st_mode) == before


def test_the_binary_is_a_file_of_the_execution(tmp_path, binary):
    """A new one for each execution, that only root may write to, with the content and the times of the cache's."""
    place = Workplace(tmp_path / "work")
    first = place.prepare({"sub/prog": Stored(binary)}, []).bin / "sub/prog"
    with first.open("rb") as kept:  # so that its number is not given to the next
        second = place.prepare({"sub/prog": Stored(binary)}, []).bin / "sub/prog"
        inodes = {os.fstat(kept.fileno()).st_ino, second.stat().st_ino, binary.stat().st_ino}
    assert len(inodes) == 3
    assert second.read_bytes() == binary.read_bytes()
    assert second.stat().st_mtime_ns == binary.stat().st_mtime_ns
    assert stat.S_IMODE(second.stat().st_mode) == 0o555
    assert place.manner() in {"copy", "reflink"}


def test_what_is_kept_as_a_delta_is_a_copy_and_so_are_the_others_then(tmp_path, binary, monkeypatch):
    """Also where the file system makes clones: a run's programs are all made in one manner."""
    monkeypatch.setattr("layoutrand.platform.own_file._fill", lambda old, new: (new.write(old.read()), "reflink")[1])
    place = Workplace(tmp_path / "work")
    place.prepare({"prog": Stored(binary)}, [])
    assert place.manner() == "reflink"

    content = bytes(range(256)) * 20
    binary.write_bytes(content)
    delta = tmp_path / "cache" / "prog.zst"
    delta.write_bytes(DeltaBase(content).encode(content[100:] + content[:100]))
    delta.chmod(0o555)
    place = Workplace(tmp_path / "work", clone=False)
    room = place.prepare({"sub/prog": Stored(delta, binary), "lib": Stored(binary)}, [])
    assert place.manner() == "copy"
    assert (room.bin / "sub/prog").read_bytes() == content[100:] + content[:100]
    assert stat.S_IMODE((room.bin / "sub/prog").stat().st_mode) == 0o555


@pytest.mark.parametrize("lost", ["cache/prog.zst", "cache/prog"])
def test_a_delta_that_is_gone_or_damaged_is_told(tmp_path, binary, lost):
    content = bytes(range(256)) * 20
    binary.write_bytes(content)
    delta = tmp_path / "cache" / "prog.zst"
    delta.write_bytes(DeltaBase(content).encode(content[100:] + content[:100]))
    place, stored = Workplace(tmp_path / "work", clone=False), Stored(delta, binary)
    (tmp_path / lost).write_bytes(b"x" * 3000)
    with pytest.raises(CacheError, match=r"prog.zst: no delta against .*; `layoutrand build` mends it"):
        place.prepare({"prog": stored}, [])
    (tmp_path / lost).unlink()
    with pytest.raises(CacheError, match=f"{lost} is gone from the cache; `layoutrand build` links it again"):
        place.prepare({"prog": stored}, [])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to any file")
def test_nobody_may_write_to_a_binary(tmp_path, binary):
    placed = Workplace(tmp_path / "work").prepare({"prog": Stored(binary)}, []).bin / "prog"
    with pytest.raises(PermissionError):
        placed.open("ab")


def test_directories_are_copied_with_what_is_in_them(tmp_path, binary):
    (tmp_path / "data/inner").mkdir(parents=True)
    (tmp_path / "data/inner/f").write_text("f")
    (tmp_path / "data/link").symlink_to("inner/f")
    room = Workplace(tmp_path / "work").prepare({"prog": Stored(binary)}, [tmp_path / "data"])
    assert (room.cwd / "data/inner/f").read_text() == "f"
    assert (room.cwd / "data/link").is_symlink()


def test_unreadable_leftovers_are_removed_and_the_cache_keeps_its_mode(tmp_path, binary):
    binary.chmod(0o555)
    place = Workplace(tmp_path / "work")
    room = place.prepare({"prog": Stored(binary)}, [])
    (room.cwd / "a/b").mkdir(parents=True)
    (room.cwd / "a/b/c").write_text("x")
    (room.cwd / "a/b").chmod(0)
    (room.cwd / "a").chmod(0)
    place.clear()
    assert not (tmp_path / "work").exists()
    assert stat.S_IMODE(binary.stat().st_mode) == 0o555


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user; for others the test above says it")
def test_an_unprivileged_user_can_clear_too():
    with tempfile.TemporaryDirectory(prefix="layoutrand-test-", dir="/tmp") as folder:
        Path(folder).chmod(0o777)
        work = Path(folder) / "work"
        script = f"""
import os
from pathlib import Path
from layoutrand.execute.workplace import Workplace
os.setuid(65534)
place = Workplace(Path({str(work)!r}))
for _ in range(2):
    room = place.prepare({{}}, [])
    (room.cwd / "a/b").mkdir(parents=True)
    (room.cwd / "a/b/c").write_text("x")
    (room.cwd / "a/b").chmod(0)
    (room.cwd / "a").chmod(0)
place.clear()
"""
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert not work.exists()


def test_output_is_kept_by_moving_it(tmp_path, binary):
    place = Workplace(tmp_path / "work")
    for content in ("one", "two"):
        place.prepare({"prog": Stored(binary)}, []).stdout.write_text(content)
        place.keep_output(tmp_path / "logs/a")
        assert (tmp_path / "logs/a/stdout").read_text() == content
    assert place.written("stdout") is None
    assert place.all_written("std") == []


def test_what_was_printed_is_kept_alone_and_masked(tmp_path, binary):
    place = Workplace(tmp_path / "work")
    for content in ("one secret", "two"):
        sandbox = place.prepare({"prog": Stored(binary)}, [])
        sandbox.stdout.write_text(content)
        sandbox.stderr.write_text("message")
        place.keep_stdout(tmp_path / "logs/a", [(b"secret", b"<redacted>")])
        assert {p.name: p.read_text() for p in (tmp_path / "logs/a").iterdir()} == {
            "stdout": content.replace("secret", "<redacted>")
        }
    place.prepare({"prog": Stored(binary)}, [])
    assert not sandbox.stderr.exists()


def test_what_was_printed_is_read_once_and_digested_as_it_is(tmp_path, binary):
    place = Workplace(tmp_path / "work")
    for content in (b"one", b"two\xff"):
        place.prepare({"prog": Stored(binary)}, []).stdout.write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        assert place.stdout_sha256() == digest
        assert place.stdout() == content
        place.sandbox.stdout.unlink()
        assert (place.stdout(), place.stdout_sha256()) == (content, digest)


def test_a_binary_that_is_gone(tmp_path):
    with pytest.raises(CacheError, match="layoutrand build"):
        Workplace(tmp_path / "work").prepare({"prog": Stored(tmp_path / "absent")}, [])


def test_no_place_for_a_directory_is_a_clear_error(tmp_path):
    (tmp_path / "work").write_text("a file")
    with pytest.raises(ResultsError, match="cannot prepare an execution"):
        Workplace(tmp_path / "work").prepare({}, [])


def test_an_input_that_vanished_is_a_clear_error(tmp_path):
    with pytest.raises(ResultsError, match=r"vanished"):
        Workplace(tmp_path / "work").prepare({}, [tmp_path / "vanished"])


@pytest.mark.parametrize("how", ["program", "tmpdir"])
def test_processes_left_by_a_killed_layoutrand_are_ended_and_no_others(tmp_path, how):
    place = Workplace(tmp_path / "work")
    room = place.prepare({"sleep": Stored(Path("/bin/sleep"))}, [])
    bystander = subprocess.Popen(["/bin/sleep", "600"], cwd=room.cwd, env={"TMPDIR": "/elsewhere"})
    if how == "program":
        leftover = subprocess.Popen([room.bin / "sleep", "600"], env={})
    else:
        leftover = subprocess.Popen(["/bin/sleep", "600"], env={"TMPDIR": str(room.tmp)}, start_new_session=True)
    time.sleep(0.05)
    with bystander, leftover:
        assert end_leftovers(place.root) == 1
        assert leftover.wait(10) == -signal.SIGKILL
        assert bystander.poll() is None
        bystander.kill()
    assert end_leftovers(place.root) == 0


def test_digest_of_a_directory_is_of_names_and_contents(tmp_path):
    digests = []
    for name, content in (("a", "1"), ("a", "2"), ("b", "2")):
        folder = tmp_path / f"{name}{content}"
        (folder / "inner").mkdir(parents=True)
        (folder / "inner" / name).write_text(content)
        digests.append(digest_of_input(folder))
    assert len(set(digests)) == 3


def _directory(path):
    (path / "inner").mkdir(parents=True)
    (path / "inner/words").write_text("1")
    (path.parent / "beside").mkdir(exist_ok=True)
    (path.parent / "beside/far").write_text("1")
    (path / "behind").symlink_to("../beside")
    (path / "itself").symlink_to(".")
    (path / "nowhere").symlink_to("absent")
    return path


@pytest.mark.parametrize(
    "change",
    [
        lambda path: (path / "inner/words").write_text("2"),
        lambda path: (path / "inner/words").chmod(0o755),
        lambda path: (path / "inner/words").rename(path / "inner/other"),
        lambda path: (path / "empty").mkdir(),
        lambda path: (path.parent / "beside/far").write_text("2"),
        lambda path: (path.parent / "beside/far").chmod(0o755),
        lambda path: (path.parent / "beside/another").write_text(""),
        lambda path: [(path / "nowhere").unlink(), (path / "nowhere").symlink_to("also absent")],
    ],
    ids=["content", "executable", "name", "empty", "behind a link", "executable there", "new there", "what it says"],
)
def test_digest_of_a_directory_changes_with_what_can_be_read_in_it(tmp_path, change):
    folder = _directory(tmp_path / "folder")
    before = digest_of_input(folder)
    assert digest_of_input(_directory(tmp_path / "the same")) == before
    change(folder)
    assert digest_of_input(folder) != before


def test_digest_of_a_file_is_of_its_content_and_of_whether_it_may_be_executed(tmp_path):
    file = tmp_path / "file"
    file.write_text("1")
    before = digest_of_input(file)
    assert before == sha256_file(file)  # what was measured with files of earlier versions stays measured
    file.chmod(0o744)
    assert digest_of_input(file) != before
    file.chmod(0o640)
    assert digest_of_input(file) == before
