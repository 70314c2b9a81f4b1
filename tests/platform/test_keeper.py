"""What a killed layoutrand started ends with it, and nothing else about it is different with the processes above."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid

import psutil
import pytest

from keptkit import is_at_work, keepers, kill_all, marked, wait_until

KEPT = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from layoutrand.platform.keeper import keep
keep()
"""
TREE = f"{KEPT}subprocess.Popen(['bash', '-c', *sys.argv[1:]], start_new_session=True)\ntime.sleep(600)\n"
SLOW_GROUP = f"""
import os, time
own_group = os.setpgid
os.setpgid = lambda *of: (time.sleep(0.5), own_group(*of))  # as on a machine that is busy
{TREE}"""
# Each begins so many processes that have the mark "$0" among their arguments, beside the shell that reads it.
SLEEP = 'exec -a "$0" sleep 600'
TREES = {
    "children": (2, f"({SLEEP}) & {SLEEP}"),
    "a session of its own": (1, f"setsid bash -c '{SLEEP}' \"$0\" & wait"),
    "a daemon": (1, f"(setsid bash -c '({SLEEP}) & exit' \"$0\" &)"),
    "without an environment": (1, f"(cd / && setsid env -i bash -c '{SLEEP}' \"$0\" </dev/null >/dev/null 2>&1 &)"),
    "deaf": (1, f"trap '' TERM HUP INT; {SLEEP}"),
    "stopped": (1, f"({SLEEP}) & kill -STOP $!; wait"),
    "that goes on starting others": (
        3,
        "for k in 1 2 3; do bash -c 'while :; do sleep 0.01; done' \"$0\" & done; wait",
    ),
}
WHO = ("upper", "lower", "worker", "group")


@pytest.fixture
def mark():
    name = uuid.uuid4().hex
    yield name
    for pid in marked(name):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def kill(who, process):
    if who == "group":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        os.kill(keepers(process.pid)[WHO.index(who)], signal.SIGKILL)


def begin(tree, mark):
    count, script = TREES[tree]
    process = subprocess.Popen([sys.executable, "-c", TREE, script, mark], process_group=0)
    assert wait_until(lambda: len(begun(mark, script)) >= count), marked(mark)
    return process


def begun(mark, script):
    """What the shell that reads the script has begun: not itself, nor the processes of Python above it."""
    found = []
    for pid in marked(mark):
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            if script not in process.cmdline() or process.status() == psutil.STATUS_STOPPED:
                found.append(pid)
    return found


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("tree", TREES)
def test_whoever_is_killed_all_of_the_tree_ends(tree, who, mark):
    process = begin(tree, mark)
    three = keepers(process.pid)
    kill(who, process)
    assert process.wait(30) == -signal.SIGKILL
    assert wait_until(lambda: not marked(mark))
    assert wait_until(lambda: not any(map(is_at_work, three)))


@pytest.mark.slow
@pytest.mark.parametrize("who", ["lower", "worker"])
def test_whoever_is_killed_at_once_is_not_stood_in_for(who, mark):
    """Before the worker has said who it is, too: the process that was started does not become the worker then."""
    for _ in range(20):
        process = subprocess.Popen([sys.executable, "-c", TREE, TREES["children"][1], mark], process_group=0)
        kill(who, process)
        assert process.wait(30) == -signal.SIGKILL
        assert wait_until(lambda: not marked(mark))


def test_a_kill_of_the_group_as_soon_as_anything_is_started_leaves_nothing(mark):
    count, script = TREES["children"]
    process = subprocess.Popen([sys.executable, "-c", SLOW_GROUP, script, mark], process_group=0)
    assert wait_until(lambda: len(begun(mark, script)) >= count)
    kill("group", process)
    assert process.wait(30) == -signal.SIGKILL
    assert wait_until(lambda: not marked(mark))


def test_after_a_kill_of_all_three_at_once_nobody_is_left_to_end_it(mark):
    """Which the next command does: that is no promise, but what its tests rest on."""
    process = begin("a session of its own", mark)
    kill_all(process)
    assert process.wait(30) == -signal.SIGKILL
    time.sleep(0.2)
    assert marked(mark)


@pytest.mark.parametrize("end", ["sys.exit(7)", "sys.exit(0)", "os.kill(os.getpid(), signal.SIGSEGV)", "os._exit(130)"])
def test_it_ends_as_the_worker_ends(end):
    script = f"import resource\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0)){KEPT}print('said', flush=True)\n{end}"
    plain = script.replace("\nkeep()", "")
    kept, alone = (subprocess.run([sys.executable, "-c", each], capture_output=True) for each in (script, plain))
    assert (kept.returncode, kept.stdout, kept.stderr) == (alone.returncode, alone.stdout, alone.stderr)


def test_what_a_worker_leaves_that_ends_by_itself_goes_on(mark):
    """Such as the server of a build system, which the next build asks again."""
    script = f"{KEPT}subprocess.run(['bash', '-c', *sys.argv[1:]])\n"
    subprocess.run([sys.executable, "-c", script, TREES["a daemon"][1], mark], check=True)
    assert wait_until(lambda: marked(mark))
    time.sleep(0.2)
    assert marked(mark)


COUNT = f"""{KEPT}
counts = dict.fromkeys((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), 0)
def count(number, frame):
    counts[number] += 1
for number in counts:
    signal.signal(number, count)
print('ready', flush=True)
sys.stdin.readline()
print(*counts.values(), os.getpgrp(), flush=True)
"""


def test_what_is_sent_to_the_process_that_was_started_reaches_the_worker_once():
    process = subprocess.Popen([sys.executable, "-c", COUNT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        process.send_signal(number)
        time.sleep(0.05)
    said, _ = process.communicate("\n", timeout=30)
    assert said == f"1 1 1 {os.getpgrp()}\n"


def test_a_group_outside_the_pid_namespace_is_kept():
    """As in a system entered by `unshare`: it has the number 0, and a Ctrl-C there is sent to it alone."""
    words = ["unshare", "--user", "--map-root-user", "--pid", "--fork", sys.executable, "-c", COUNT]
    if shutil.which("unshare") is None or subprocess.run([*words[:5], "true"], capture_output=True).returncode != 0:
        pytest.skip("no PID namespace can be made here")
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    said, _ = process.communicate("\n", timeout=30)
    assert said == "0 0 0 0\n"


def test_a_signal_that_comes_at_once_is_not_lost():
    """Before there is a worker, or before it is in its group."""
    for _ in range(20):
        process = subprocess.Popen(
            [sys.executable, "-c", f"{KEPT}time.sleep(600)", "x"], stderr=subprocess.DEVNULL, process_group=0
        )
        # From here on signals are blocked or passed on; before, they do what they do to any Python.
        wait_until(lambda pid=process.pid: "ctypes" in _mapped(pid) or not is_at_work(pid))
        os.killpg(process.pid, signal.SIGTERM)
        assert process.wait(30) == -signal.SIGTERM


def _mapped(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/maps") as file:
        return file.read()
    return ""


def test_it_holds_no_stream_of_the_worker():
    """Who reads them is not kept waiting by a process that only waits."""
    script = f"{KEPT}os.close(1)\ntime.sleep(600)\n"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout.read() == b""
        process.kill()
