from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from layoutrand.platform import notify as module
from layoutrand.platform.notify import notify


def test_the_shell_executes_it_with_the_facts(tmp_path):
    assert notify(f'cd {tmp_path} && printf "%s" "$FACT" | tr a b > out', {"FACT": "a'a $x"}) == ""
    assert (tmp_path / "out").read_text() == "b'b $x"


def test_its_failure_is_told():
    assert notify("exit 7", {}) == "it ended with status 7"
    assert "127" in notify("no-such-program-here 2> /dev/null", {})
    assert "null byte" in notify("a\0b", {})


def test_it_does_not_take_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LONGEST_S", 0.3)
    told = notify(f"sleep 600 & echo $! > {tmp_path / 'pid'}; wait", {})
    assert "did not end within 0.3 s" in told
    assert _gone(int((tmp_path / "pid").read_text()))


def test_an_interrupt_ends_it(tmp_path):
    script = (
        "from layoutrand.platform.notify import notify\n"
        f"notify('sleep 0.5; echo $$ > {tmp_path}/pid.tmp; mv {tmp_path}/pid.tmp {tmp_path}/pid; sleep 600', {{}})"
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
            if not Path(f"/proc/{pid}/cmdline").read_bytes():  # ended, and nobody has asked how
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    return False
