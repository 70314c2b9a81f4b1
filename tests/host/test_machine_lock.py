"""One measuring layoutrand per machine, whoever the users are and whatever lies in the place of the lock."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from layoutrand.errors import ResultsError
from layoutrand.host.machine_lock import machine_lock_path, only_one_measures

PROJECT = Path("/some/project")


def held(path, **changes):
    fields = {"project": PROJECT, "wait_s": 0, "on_wait": pytest.fail} | changes
    return only_one_measures(path, **fields)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "layoutrand.lock"


def test_the_second_is_told_who_measures_and_what_to_do(path):
    with held(path, project=Path("/first")):
        with pytest.raises(ResultsError) as caught, held(path):
            pytest.fail("two at once")
        for words in (f"process {os.getpid()} of ", "for /first", "--wait", "--share-machine"):
            assert words in str(caught.value)
    with held(path):
        pass


def test_the_second_waits_and_says_so_once(path):
    said, entered = [], threading.Event()

    def second():
        with held(path, wait_s=60, on_wait=said.append):
            entered.set()

    with held(path):
        thread = threading.Thread(target=second)
        thread.start()
        while not said:
            assert thread.is_alive()
        assert not entered.wait(1.5)
    thread.join()
    assert entered.is_set()
    assert len(said) == 1
    assert "waiting for it to finish" in said[0]


def test_an_exception_frees_it(path):
    with pytest.raises(KeyboardInterrupt), held(path):
        raise KeyboardInterrupt
    with held(path):
        pass


def test_the_lock_dies_with_its_process(path):
    script = (
        "import os, signal\nfrom pathlib import Path\nfrom layoutrand.host.machine_lock import only_one_measures\n"
        f"with only_one_measures(Path({str(path)!r}), project=Path('/killed'), wait_s=0, on_wait=print):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", script]).returncode == -signal.SIGKILL
    assert b"/killed" in path.read_bytes()
    with held(path):
        assert b"/some/project" in path.read_bytes()


def test_no_child_inherits_it(path):
    with held(path):
        child = subprocess.Popen(["/bin/sleep", "600"], close_fds=False)
    try:
        # Linux wakes who started a process just before it closes what the new program must not have.
        with held(path, wait_s=20, on_wait=lambda _: None):
            assert child.poll() is None
    finally:
        child.kill()
        child.wait()


def test_the_file_is_everybodys_whatever_the_umask(path):
    before = os.umask(0o077)
    try:
        with held(path):
            pass
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666
    assert os.listdir(path.parent) == [path.name]


def test_a_link_is_not_followed(path, tmp_path):
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "precious").chmod(0o666)
    path.symlink_to(tmp_path / "precious")
    with pytest.raises(ResultsError, match="symbolic links"), held(path):
        pass
    path.unlink()
    path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(ResultsError, match="symbolic links"), held(path):
        pass
    assert not (tmp_path / "nowhere").exists()
    assert (tmp_path / "precious").read_text() == "precious"


def test_nothing_is_written_into_a_file_that_is_not_everybodys(path, tmp_path):
    """Under another name it may be something precious (a hard link); the lock works all the same."""
    (tmp_path / "precious").write_text("precious")
    os.link(tmp_path / "precious", path)
    with held(path), pytest.raises(ResultsError, match="another layoutrand"), held(path):
        pass
    assert (tmp_path / "precious").read_text() == "precious"


@pytest.mark.parametrize("kind", ["directory", "fifo"])
def test_what_is_no_regular_file_is_refused_without_waiting(path, kind):
    path.mkdir() if kind == "directory" else os.mkfifo(path)
    with pytest.raises(ResultsError, match="belongs to"), held(path):
        pass


def test_a_note_of_somebody_else_is_shown_without_its_control_characters(path):
    path.write_bytes(b"\x1b[2Jboo\n\xff" + b"x" * 10_000)
    descriptor = os.open(path, os.O_RDONLY)
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with pytest.raises(ResultsError) as caught, held(path):
        pass
    os.close(descriptor)
    assert "?[2Jboo?" in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 1500


def test_a_lock_that_a_cleaner_removed_is_no_lock_any_more(path):
    """Whoever comes next makes a new one, and the two do not meet; but who waited on the old one sees the new one."""
    with held(path):
        path.unlink()
        with held(path):
            pass
        with held(path):
            assert path.exists()


def test_a_directory_that_is_not_there(tmp_path):
    with pytest.raises(ResultsError, match="--share-machine"), held(tmp_path / "absent" / "lock"):
        pass


def test_the_place_is_the_same_for_every_user(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.delenv("LAYOUTRAND_LOCK_DIR")
    assert machine_lock_path() in {Path("/run/lock/layoutrand.lock"), Path("/tmp/layoutrand.lock")}
    monkeypatch.setenv("LAYOUTRAND_LOCK_DIR", str(tmp_path))
    assert machine_lock_path() == tmp_path / "layoutrand.lock"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become other users")
def test_users_exclude_each_other():
    """In a sticky directory, where Linux protects files of others (fs.protected_regular)."""
    with tempfile.TemporaryDirectory(prefix="layoutrand-test-", dir="/tmp") as folder:
        Path(folder).chmod(0o1777)
        path = Path(folder) / "layoutrand.lock"
        script = f"""
import os, sys
from pathlib import Path
from layoutrand.errors import ResultsError
from layoutrand.host.machine_lock import only_one_measures
os.setuid(int(sys.argv[1]))
try:
    with only_one_measures(Path({str(path)!r}), project=Path("/p"), wait_s=0, on_wait=print):
        print("alone", flush=True)
        sys.stdin.read()
except ResultsError as error:
    print(error, flush=True)
"""
        both = []
        for user in ("65534", "12345"):
            process = subprocess.Popen(
                [sys.executable, "-c", script, user], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            both.append((process, process.stdout.readline()))
        with pytest.raises(ResultsError, match="of nobody"), held(path):
            pass
        for process, _ in both:
            process.communicate()
        assert both[0][1] == "alone\n"
        assert "of nobody, for /p" in both[1][1]
        with held(path):
            assert path.stat().st_uid == 65534
