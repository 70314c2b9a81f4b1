"""Which files a program has in its memory while it runs."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

from layoutrand.platform.loaded import loaded_files

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


def test_a_file_that_is_mapped_is_found_under_its_name_alone(tmp_path):
    python = Path(sys.executable).resolve()
    words = [str(python), "-S", "-c", "import time; print('said'); time.sleep(0.3); raise SystemExit(7)"]

    found = loaded_files(words, ENVIRONMENT, tmp_path, python.name, timeout_s=60)

    assert found.files == {(str(python), python.stat().st_ino)}
    assert (found.returncode, found.output) == (7, "said\n")
    assert not loaded_files(words, ENVIRONMENT, tmp_path, "another", timeout_s=60).files


def test_one_that_does_not_end_is_ended_with_what_it_started(tmp_path):
    words = ["/bin/sh", "-c", "sleep 600 & echo $!; wait"]

    found = loaded_files(words, ENVIRONMENT, tmp_path, "x", timeout_s=0.3)

    assert found.returncode is None
    assert _gone(int(found.output))


def test_an_interrupt_ends_it(tmp_path):
    """It has a session of its own, so that nobody else's Ctrl-C reaches it."""
    script = (
        "from pathlib import Path\n"
        "from layoutrand.platform.loaded import loaded_files\n"
        f"words = ['/bin/sh', '-c', 'echo $$ > {tmp_path}/pid.tmp; mv {tmp_path}/pid.tmp {tmp_path}/pid; sleep 600']\n"
        f"loaded_files(words, {ENVIRONMENT}, Path('{tmp_path}'), 'x', timeout_s=600)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL) as process:
        while not (tmp_path / "pid").exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
    assert _gone(int((tmp_path / "pid").read_text()))


def _gone(pid):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            if not Path(f"/proc/{pid}/cmdline").read_bytes():
                return True
        except OSError:
            return not psutil.pid_exists(pid)
        time.sleep(0.01)
    return False
