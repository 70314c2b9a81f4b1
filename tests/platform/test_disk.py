"""Small file operations: whole or not at all, and errors that say what may help."""

import errno
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutrand.errors import CacheError
from layoutrand.platform.disk import (
    CACHE_TAG,
    cache_errors,
    canonical_json,
    is_cache,
    link_or_copy,
    make_folder,
    new_folder,
    remove_tree,
    sha256_bytes,
    sha256_file,
    tail,
    write_atomically,
)

SOURCE = Path(__file__).parents[2] / "src"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda part: st.lists(part) | st.dictionaries(st.text(), part),
    max_leaves=10,
)


def test_hashes_of_bytes_and_files_agree(tmp_path):
    """A file's hash is that of its content, whatever its size."""
    for content in (b"", b"abc", os.urandom(3_000_000)):
        (tmp_path / "file").write_bytes(content)

        assert sha256_file(tmp_path / "file") == sha256_bytes(content)


def test_hash_of_abc():
    """SHA-256 in hexadecimal, as FIPS 180 gives it."""
    assert sha256_bytes(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.mark.slow
@given(st.dictionaries(st.text(), JSON))
def test_equal_values_have_equal_json(value):
    """The order in which a dictionary was filled does not matter."""
    assert canonical_json(dict(reversed(value.items()))) == canonical_json(value)


def test_canonical_json_is_ascii_without_blanks():
    """Keys are sorted, and names that are not UTF-8 can be written."""
    assert canonical_json({"b": [1, None], "a": "é\udcff"}) == b'{"a":"\\u00e9\\udcff","b":[1,null]}'


def test_an_os_error_becomes_a_cache_error_that_helps(tmp_path):
    """The message says what was being done, where, why it failed and what may help."""
    with (
        pytest.raises(CacheError, match=r"cannot write .*missing/file: No such file or directory\. .*LAYOUTRAND_CACHE"),
        cache_errors("write", tmp_path),
    ):
        (tmp_path / "missing" / "file").write_text("x")


@pytest.mark.parametrize(("inside", "helps"), [(".layoutrand/schema.json", False), (".layoutrand/cache/work/x", True)])
def test_another_cache_is_no_advice_for_what_lies_in_a_project(tmp_path, inside, helps):
    """Unless the cache was put there."""
    (tmp_path / ".layoutrand" / "cache").mkdir(parents=True)
    (tmp_path / ".layoutrand" / "cache" / "CACHEDIR.TAG").write_bytes(CACHE_TAG)
    with pytest.raises(CacheError, match="give the same command again") as caught, cache_errors("write", tmp_path):
        raise OSError(28, "No space left on device", str(tmp_path / inside))
    assert ("LAYOUTRAND_CACHE" in str(caught.value)) is helps


@pytest.mark.parametrize(("executable", "mode"), [(False, 0o644), (True, 0o755)])
def test_an_atomic_write_replaces_the_file(tmp_path, executable, mode):
    """Content and mode are those asked for, missing directories are made, and nothing else is left there."""
    target = tmp_path / "deep" / "file"
    write_atomically(target, b"old")
    write_atomically(target, b"new", executable=executable)

    assert target.read_bytes() == b"new"
    assert target.stat().st_mode & 0o777 == mode
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize(("umask", "mode", "program"), [(0o077, 0o600, 0o700), (0o002, 0o664, 0o775)])
def test_an_atomic_write_respects_the_umask(tmp_path, umask, mode, program):
    """Unless less is asked for, or exactly the permissions of another file."""
    before = os.umask(umask)
    try:
        write_atomically(tmp_path / "file", b"x")
        write_atomically(tmp_path / "program", b"x", executable=True)
        write_atomically(tmp_path / "less", b"x", at_most=0o644)
        write_atomically(tmp_path / "same", b"x", mode=0o100754)
        new_folder(tmp_path).rename(tmp_path / "folder")
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {"file": mode, "program": program, "less": mode & 0o644, "same": 0o754, "folder": program}


def test_git_leaves_out_what_a_project_has_of_ours(tmp_path):
    """From when its directory is made: who takes the file away, or made the directory, has reasons."""
    write_atomically(tmp_path / "project" / ".layoutrand" / "logs" / "log", b"x")
    ignored = tmp_path / "project" / ".layoutrand" / ".gitignore"
    assert ignored.read_text() == "*\n"
    ignored.unlink()
    make_folder(ignored.parent / "work")
    (tmp_path / "other" / ".layoutrand").mkdir(parents=True)
    write_atomically(tmp_path / "other" / ".layoutrand" / "report.html", b"x")
    assert not list(tmp_path.rglob(".gitignore"))


def test_a_failed_atomic_write_leaves_the_old_file(tmp_path):
    """When the file cannot be put in place, the old one stays and no temporary one is left."""
    (tmp_path / "target" / "in the way").mkdir(parents=True)

    with pytest.raises(OSError, match="directory"):
        write_atomically(tmp_path / "target", b"new")
    assert list(tmp_path.iterdir()) == [tmp_path / "target"]


def test_readers_see_old_or_new_and_never_half(tmp_path):
    """While one thread writes again and again, another always reads a whole file."""
    target = tmp_path / "file"
    write_atomically(target, b"a" * 10_000)
    seen = set()
    stop = threading.Event()

    def read():
        while not stop.is_set():
            seen.add(target.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(200):
        write_atomically(target, (b"a" if number % 2 else b"b") * 10_000)
    stop.set()
    reader.join()

    assert seen <= {b"a" * 10_000, b"b" * 10_000}


def test_a_link_is_made_where_possible(tmp_path):
    """On one file system the target is the same file."""
    (tmp_path / "a").write_bytes(b"x")
    link_or_copy(tmp_path / "a", tmp_path / "b")

    assert (tmp_path / "a").samefile(tmp_path / "b")


def test_a_copy_is_made_where_a_link_is_impossible(tmp_path, other_file_system):
    """Across file systems content, mode and times are copied."""
    (tmp_path / "a").write_bytes(b"x")
    (tmp_path / "a").chmod(0o751)
    os.utime(tmp_path / "a", (1000, 2000))
    with tempfile.TemporaryDirectory(dir=other_file_system) as folder:
        link_or_copy(tmp_path / "a", Path(folder, "b"))
        copied = Path(folder, "b")

        assert (copied.read_bytes(), copied.stat().st_mode & 0o777, copied.stat().st_mtime) == (b"x", 0o751, 2000)


def test_a_tree_is_removed(tmp_path):
    """Directories, files, links and dangling links go; what links point to stays."""
    (tmp_path / "keep").write_text("x")
    (tmp_path / "tree" / "sub").mkdir(parents=True)
    (tmp_path / "tree" / "sub" / "soft").symlink_to(tmp_path / "keep")
    (tmp_path / "tree" / "dangling").symlink_to("nowhere")
    os.link(tmp_path / "keep", tmp_path / "tree" / "hard")
    remove_tree(tmp_path / "tree")

    assert list(tmp_path.iterdir()) == [tmp_path / "keep"]


def test_a_tree_that_is_not_there_is_no_error(tmp_path):
    """There is nothing to remove."""
    remove_tree(tmp_path / "missing")

    assert list(tmp_path.iterdir()) == []


UNWRITABLE = """
import os, sys
from pathlib import Path
from layoutrand.platform.disk import remove_tree
root = Path(sys.argv[1])
(root / "tree" / "a" / "b").mkdir(parents=True)
(root / "tree" / "a" / "b" / "file").write_text("x")
(root / "kept").write_text("x")
(root / "kept").chmod(0o444)
os.link(root / "kept", root / "tree" / "a" / "hard")
os.symlink("/", root / "tree" / "a" / "soft")
(root / "tree" / "a" / "b").chmod(0)
(root / "tree" / "a").chmod(0o500)
(root / "tree").chmod(0o100)
remove_tree(root / "tree")
print(sorted(os.listdir(root)), oct((root / "kept").stat().st_mode & 0o777))
"""


def test_an_ordinary_user_removes_what_a_build_made_unwritable():
    """Unreadable and unwritable directories go too, and files linked from elsewhere keep their mode."""
    folder = Path(tempfile.mkdtemp(prefix="layoutrand-test-"))
    folder.chmod(0o777)
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin") if os.geteuid() == 0 else sys.executable
    as_nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    try:
        if subprocess.run([python or "none", "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]).returncode:
            pytest.skip("no Python that an ordinary user may start")
        done = subprocess.run(
            [python, "-c", UNWRITABLE, folder],
            env={"PYTHONPATH": str(SOURCE)},
            cwd="/",
            capture_output=True,
            text=True,
            **as_nobody,
        )

        assert (done.stdout, done.stderr) == ("['kept'] 0o444\n", "")
    finally:
        shutil.rmtree(folder)


def test_two_processes_may_remove_one_tree(tmp_path):
    """Deleting at the same time is an error for neither."""
    for number in range(400):
        (tmp_path / "tree" / f"{number % 20}").mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / f"{number % 20}" / f"{number}").write_text("x")
    failures = []

    def remove():
        try:
            remove_tree(tmp_path / "tree")
        except OSError as error:
            failures.append(error)

    threads = [threading.Thread(target=remove) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert not (tmp_path / "tree").exists()


@pytest.mark.parametrize(
    ("content", "lines", "expected"),
    [
        ("", 3, ""),
        ("a\nb\n", 3, "a\nb"),
        ("a\nb\nc\nd\n", 2, "c\nd"),
        ("a\nb\nc", 2, "b\nc"),
        ("x" * 5000 + "\nlast\n", 1, "last"),
    ],
)
def test_tail(tmp_path, content, lines, expected):
    """The last lines of a log, with or without a newline at its end."""
    (tmp_path / "log").write_text(content)

    assert tail(tmp_path / "log", lines) == expected


def test_tail_of_a_long_log(tmp_path):
    """Of a log of any length only the end is read."""
    (tmp_path / "log").write_text("".join(f"line {number}\n" for number in range(100_000)))

    assert tail(tmp_path / "log", 3) == "line 99997\nline 99998\nline 99999"


def test_tail_of_what_is_no_text_or_not_there(tmp_path):
    """Undecodable bytes are shown escaped, and no log is an empty one."""
    (tmp_path / "log").write_bytes(b"caf\xe9\n")

    assert (tail(tmp_path / "log", 5), tail(tmp_path / "missing", 5)) == ("caf\\xe9", "")


def test_our_caches_are_known_by_their_tag(tmp_path):
    """Another program's cache is not taken for ours."""
    for name, text in (("ours", CACHE_TAG), ("other", b"Signature: 8a477f597d28d172789f06886806bc55\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "CACHEDIR.TAG").write_bytes(text)

    assert [is_cache(tmp_path / name) for name in ("ours", "other", "missing")] == [True, False, False]


@pytest.mark.parametrize(
    ("number", "limit"),
    [(errno.EMFILE, "open files of a process (`ulimit -n`)"), (errno.EFBIG, "how large a file may be (`ulimit -f`)")],
)
def test_what_no_space_and_no_permission_mends_is_a_limit(tmp_path, number, limit):
    """Another directory is no advice for it, either."""
    with pytest.raises(CacheError) as caught, cache_errors("write", tmp_path):
        raise OSError(number, os.strerror(number), str(tmp_path / "x"))
    assert str(caught.value).endswith(
        f"Nothing finished is lost: raise the limit of {limit} and give the same command again"
    )
