"""What a program is started with: its loader, the C library and the loader's cache, by content."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from layoutrand.host.start_files import CACHE, PRELOAD, StartFiles

LOADER, LIBC = "/lib64/ld-linux-x86-64.so.2", "/usr/lib/ours/libc.so.6"
PROGRAM = "int main(void) { return 0; }\n"


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """A program that is linked dynamically and one that is static, of this machine's compiler."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "p.c").write_text(PROGRAM)
    for name, flags in (("dynamic", []), ("static", ["-static"]), ("static-pie", ["-static-pie"])):
        subprocess.run(["gcc", *flags, "-o", folder / name, folder / "p.c"], check=True)
    return folder


@pytest.fixture
def root(tmp_path):
    """A machine with a loader behind a link, a libc beside it, and a cache."""
    for path, content in ((LIBC, "libc 1"), ("/usr/lib/ours/ld.so", "loader 1"), (CACHE, "cache 1")):
        file = tmp_path / path[1:]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    (tmp_path / "lib64").mkdir()
    (tmp_path / LOADER[1:]).symlink_to("../usr/lib/ours/ld.so")
    return tmp_path


def test_a_dynamic_program_is_started_with_loader_libc_and_cache(programs, root):
    found = StartFiles(root).read([programs / "dynamic"])
    assert set(found) == {LOADER, LIBC, CACHE}
    assert StartFiles(root).read([programs / "static"]) == StartFiles(root).read([programs / "static-pie"]) == {}
    assert StartFiles(root).read([programs / "static", programs / "dynamic"]) == found


def test_an_emulator_looks_for_them_in_a_directory_of_its_own_first(programs, root):
    for path, content in (("lib/libc.so.6", "libc 2"), ("lib/ld.so", "loader 2")):
        file = root / "sysroot" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    found = StartFiles(root).read([programs / "dynamic"], "/sysroot")
    assert set(found) == {LOADER, LIBC, CACHE}, "what is not there is the machine's"
    (root / "sysroot/lib64").mkdir()
    (root / "sysroot" / LOADER[1:]).symlink_to("../lib/ld.so")
    found = StartFiles(root).read([programs / "dynamic"], "/sysroot")
    assert set(found) == {f"/sysroot{LOADER}", "/sysroot/lib/libc.so.6", CACHE}


@pytest.mark.parametrize("path", [LIBC, "/usr/lib/ours/ld.so", CACHE, PRELOAD])
@pytest.mark.parametrize("how", ["in place", "replaced"])
def test_each_file_is_read_again_once_it_is_changed(programs, root, path, how):
    files = StartFiles(root)
    before = files.read([programs / "dynamic"])
    target = root / path[1:]
    times = target.stat() if target.exists() else None
    beside = target if how == "in place" else target.with_name("new")
    beside.write_text("cache 2" if path == CACHE else "libc 2")
    if times is not None:  # of equal size and time, as a package's files may be
        os.utime(beside, ns=(times.st_atime_ns, times.st_mtime_ns))
    os.replace(beside, target)
    after = files.read([programs / "dynamic"])
    changed = {name for name in after if before.get(name) != after[name]}
    assert changed == {LOADER if path.endswith("ld.so") else path}


def test_the_same_content_is_the_same_whenever_it_was_written(programs, root):
    files = StartFiles(root)
    before = files.read([programs / "dynamic"])
    (root / CACHE[1:]).write_text("cache 1")
    assert files.read([programs / "dynamic"]) == before


def test_a_cache_that_goes_is_a_change_and_a_loader_that_is_not_there_is_unknown(programs, root):
    before = StartFiles(root).read([programs / "dynamic"])
    (root / CACHE[1:]).unlink()
    after = StartFiles(root).read([programs / "dynamic"])
    assert after[CACHE] != before[CACHE]
    (root / LOADER[1:]).unlink()
    assert StartFiles(root).read([programs / "dynamic"]) is None
    assert StartFiles(root).read([programs / "absent"]) is None


def test_a_script_is_started_with_what_its_interpreter_is(programs, root, tmp_path):
    shutil.copy(programs / "dynamic", root / "usr/lib/ours/sh")
    script = tmp_path / "script"
    script.write_text("#!/usr/lib/ours/sh -e\n")
    assert StartFiles(root).read([script]) == StartFiles(root).read([programs / "dynamic"])
    script.write_text("#!\n")
    assert StartFiles(root).read([script]) is None
    script.write_text(f"#!{script.relative_to(root)}\n".replace("#!", "#!/"))
    assert StartFiles(root).read([script]) is None
    script.write_text("data\n")
    assert StartFiles(root).read([script]) == {}


@pytest.mark.parametrize("cut", [8, 40, 60, 100])
def test_a_damaged_program_is_unknown(programs, tmp_path, cut):
    (tmp_path / "cut").write_bytes((programs / "dynamic").read_bytes()[:cut])
    assert StartFiles().read([tmp_path / "cut"]) is None


IN_A_NAMESPACE = """
import json, sys
from pathlib import Path
from layoutrand.host.start_files import StartFiles
files = StartFiles()
print(json.dumps(files.read([Path(sys.argv[1])])))
"""


@pytest.mark.slow
def test_another_cache_of_this_machine_is_found(programs, tmp_path):
    """The real loader's, bind-mounted over its own in a mount namespace of a child."""
    other = tmp_path / "other"
    other.write_bytes(Path(CACHE).read_bytes() + b"\0" * 16)
    look = [sys.executable, "-c", IN_A_NAMESPACE, str(programs / "dynamic")]
    inside = [
        "unshare",
        "--mount",
        "sh",
        "-c",
        'mount --bind "$0" "$1" && shift && exec "$@"',
        str(other),
        CACHE,
        *look,
    ]
    try:
        found = subprocess.run(inside, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no mount namespace here: {error}")
    here = subprocess.run(look, capture_output=True, text=True, check=True).stdout
    one, two = json.loads(here), json.loads(found)
    assert {path for path in one if one[path] != two[path]} == {CACHE}
