"""Tests' own temporary directory (tests/tools/in_memory.sh)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "tools/in_memory.sh"
NOBODY = 65534


def executed(command: str) -> subprocess.CompletedProcess[str]:
    """The script with a shell's command, by somebody who is not root."""
    env = {name: value for name, value in os.environ.items() if name not in ("TMPDIR", "PYTEST_ADDOPTS")}
    words = ["bash", "-s", "--", "sh", "-c", command]
    user = NOBODY if os.geteuid() == 0 else None
    return subprocess.run(
        words, input=SCRIPT.read_text(), capture_output=True, text=True, env=env, user=user, check=False, cwd="/"
    )


def test_what_passed_tests_leave_is_removed_also_where_nobody_may_write() -> None:
    """Else all of them passed and `make test` failed."""
    done = executed(
        '[ -z "$TMPDIR" ] || { mkdir "$TMPDIR/a"; touch "$TMPDIR/a/b"; chmod 0 "$TMPDIR/a"; }; echo "$TMPDIR"'
    )
    assert done.returncode == 0, done.stderr
    folder = done.stdout.strip()
    assert not folder or not Path(folder).exists()


def test_what_failed_tests_leave_is_kept_and_said() -> None:
    """And their status is the script's."""
    done = executed('echo "$TMPDIR"; exit 1')
    assert done.returncode == 1
    if folder := done.stdout.strip():
        assert folder in done.stderr
        Path(folder).rmdir()
