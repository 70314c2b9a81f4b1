"""Real processes.  Nothing here asserts how long anything takes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from layoutrand.errors import FeatureUnsupported
from layoutrand.execute import measure as measuring
from layoutrand.execute.measure import Command, measure
from layoutrand.host.persona import ADDR_NO_RANDOMIZE
from layoutrand.model import RUSAGE_METRICS
from layoutrand.platform.interrupts import noted_interrupts
from layoutrand.platform.orphans import children


@pytest.fixture
def command(tmp_path):
    (tmp_path / "cwd").mkdir()

    def make(*argv, **changes):
        base = Command(
            argv=argv,
            env={"PATH": "/usr/bin:/bin"},
            cwd=tmp_path / "cwd",
            stdin=None,
            stdout=tmp_path / "stdout",
            stderr=tmp_path / "stderr",
            timeout_s=60,
        )
        return replace(base, **changes)

    return make


def sh(script):
    return ("/bin/sh", "-c", script)


def exists(pid):
    """Whether a process runs; a zombie that nobody reaps, as in a container without init, does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def gone(pid):
    deadline = time.monotonic() + 20
    while exists(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not exists(pid)


def test_success(command, tmp_path):
    before = time.time()
    outcome = measure(command(*sh("echo out; echo err >&2")))
    assert (outcome.status, outcome.reason, outcome.returncode, outcome.signal) == ("ok", "", 0, None)
    assert before <= outcome.started_at <= time.time()
    assert outcome.wall_s > 0
    assert set(RUSAGE_METRICS) - set(outcome.rusage) <= {"max_rss_bytes"}
    assert all(type(value) is float for value in outcome.rusage.values())
    assert (tmp_path / "stdout").read_text() == "out\n"
    assert (tmp_path / "stderr").read_text() == "err\n"


def test_merged_output_has_both_streams_in_the_order_in_which_they_were_written(command, tmp_path):
    script = "i=0; while [ $i -lt 200 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done"
    assert measure(command(*sh(script), merge_output=True)).status == "ok"
    expected = "".join(f"out {place}\nerr {place}\n" for place in range(200))
    assert (tmp_path / "stdout").read_text() == expected
    assert (tmp_path / "stderr").read_text() == ""


def test_environment_is_exactly_the_given_one_and_cwd_is_set(command, tmp_path):
    measure(command("/usr/bin/env", env={"A": "1", "B": "x y'$\n"}))
    assert (tmp_path / "stdout").read_bytes() == b"A=1\nB=x y'$\n\n"
    measure(command("/bin/pwd"))
    assert (tmp_path / "stdout").read_text() == f"{tmp_path / 'cwd'}\n"


def test_no_descriptor_is_inherited(command, tmp_path):
    reading, writing = os.pipe()
    os.set_inheritable(reading, True)
    measure(command("/bin/ls", "/proc/self/fd"))
    os.close(reading)
    os.close(writing)
    assert (tmp_path / "stdout").read_text().split() == ["0", "1", "2", "3"]  # 3 is the directory that ls reads


def test_own_session_and_default_signals(command, tmp_path):
    """Python ignores SIGPIPE; a program that inherited that would behave otherwise than in a shell."""
    measure(command(*sh("grep SigBlk /proc/self/status; grep SigIgn /proc/self/status; echo $(ps -o sid= -p $$) $$")))
    blocked, ignored, session = (tmp_path / "stdout").read_text().splitlines()
    assert int(blocked.split()[1], 16) == 0
    assert not int(ignored.split()[1], 16) & (1 << (signal.SIGPIPE - 1))
    assert len(set(session.split())) == 1


def test_stdin_is_the_file_or_empty(command, tmp_path):
    (tmp_path / "in").write_bytes(b"\xff\x00bytes")
    measure(command("/bin/cat", stdin=tmp_path / "in"))
    assert (tmp_path / "stdout").read_bytes() == b"\xff\x00bytes"
    measure(command("/bin/cat"))
    assert (tmp_path / "stdout").read_bytes() == b""


@pytest.mark.parametrize("code", [1, 2, 127, 255])
def test_exit_status(command, code):
    outcome = measure(command(*sh(f"exit {code}")))
    assert (outcome.status, outcome.returncode, outcome.signal) == ("exit", code, None)
    assert outcome.reason == f"exit status {code}"


@pytest.mark.parametrize(
    ("code", "status", "reason"), [(10, "ok", ""), (0, "exit", "exit status 0, not 10 (expect_status)")]
)
def test_an_exit_status_that_is_expected_is_the_only_one_that_is_well(command, code, status, reason):
    """A SAT solver ends with 10 where it found a model, and with 0 where it ran out of time."""
    outcome = measure(command(*sh(f"exit {code}"), expect_status=10))
    assert (outcome.status, outcome.reason, outcome.returncode) == (status, reason, code)


def test_a_signal_is_a_failure_whatever_status_is_expected(command):
    outcome = measure(command(*sh("kill -SEGV $$"), expect_status=139))
    assert (outcome.status, outcome.signal) == ("signal", signal.SIGSEGV)
    assert outcome.rusage


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGABRT, signal.SIGINT, signal.SIGRTMIN + 1])
def test_killed_by_signal(command, number):
    outcome = measure(command(*sh(f"ulimit -c 0; kill -{int(number)} $$")))
    assert (outcome.status, outcome.returncode, outcome.signal) == ("signal", None, number)
    assert str(int(number)) in outcome.reason


def test_signal_has_its_name_in_the_reason(command):
    assert measure(command(*sh("ulimit -c 0; kill -SEGV $$"))).reason == "killed by signal 11 (SIGSEGV)"


def test_timeout(command):
    outcome = measure(command("/bin/sleep", "600", timeout_s=0.05))
    assert (outcome.status, outcome.signal) == ("timeout", signal.SIGTERM)
    assert "0.05 s" in outcome.reason
    assert outcome.wall_s >= 0.05
    assert not exists(outcome.pid)


def test_timeout_of_a_program_that_ignores_term(command):
    outcome = measure(command(*sh("trap '' TERM; while :; do sleep 0.01; done"), timeout_s=0.5), grace_s=0.2)
    assert (outcome.status, outcome.signal) == ("timeout", signal.SIGKILL)


def test_timeout_of_a_program_that_ends_well_after_term(command, tmp_path):
    outcome = measure(command(*sh("trap 'echo saved; exit 0' TERM; while :; do sleep 0.01; done"), timeout_s=1))
    assert (outcome.status, outcome.returncode) == ("timeout", 0)
    assert (tmp_path / "stdout").read_text() == "saved\n"


def test_grandchildren_that_ignore_term_die_too(command, tmp_path):
    script = "(trap '' TERM INT HUP; echo $$ > /dev/null; exec sleep 600) & echo $!; exec sleep 600"
    outcome = measure(command(*sh(script), timeout_s=1), grace_s=0.2)
    assert outcome.status == "timeout"
    assert gone(int((tmp_path / "stdout").read_text()))


def test_what_a_successful_program_leaves_running_dies_with_it(command, tmp_path):
    outcome = measure(command(*sh("sleep 600 & echo $!; exit 0")))
    assert outcome.status == "ok"
    assert gone(int((tmp_path / "stdout").read_text()))


def test_what_leaves_the_session_dies_with_the_program_too(command, tmp_path):
    """A daemon has no group in common with the program; it is found as an orphan, and so is what it starts."""
    script = "setsid sh -c 'echo $$ > a; sleep 600 & echo $! > b; wait' & while [ ! -s b ]; do :; done"

    assert measure(command(*sh(script))).status == "ok"

    daemons = [int((tmp_path / "cwd" / name).read_text()) for name in ("a", "b")]
    assert not any(exists(pid) for pid in daemons)


def test_other_children_of_ours_live_on(command):
    """Only what the execution added is ended."""
    bystander = subprocess.Popen(["/bin/sleep", "600"])
    try:
        assert measure(command("/bin/true")).status == "ok"
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


@pytest.mark.parametrize("aslr", [True, False])
def test_aslr_is_switched_off_for_the_child_alone(command, aslr):
    """The child's personality says so, that of this process never does."""
    made = command("/bin/cat", "/proc/self/personality", aslr=aslr)

    assert measure(made).status == "ok"
    assert bool(int(made.stdout.read_text(), 16) & ADDR_NO_RANDOMIZE) is not aslr
    assert not int(Path("/proc/self/personality").read_text(), 16) & ADDR_NO_RANDOMIZE


def test_huge_output_does_not_block(command, tmp_path):
    outcome = measure(command(*sh("head -c 50000000 /dev/zero; head -c 5000000 /dev/zero >&2")))
    assert outcome.status == "ok"
    assert (tmp_path / "stdout").stat().st_size == 50_000_000
    assert (tmp_path / "stderr").stat().st_size == 5_000_000


def test_output_that_is_not_utf8(command, tmp_path):
    measure(command("/usr/bin/printf", r"\377\376\000"))
    assert (tmp_path / "stdout").read_bytes() == b"\xff\xfe\x00"


@pytest.mark.parametrize(
    "name", ["a b", "it's", 'qu"ote', "$HOME", "new\nline", "per%cent", "-dash", "\udcff\udcfe", "ü"]
)
def test_strange_names(command, tmp_path, name):
    program = tmp_path / name
    program.write_text('#!/bin/sh\nprintf "%s|" "$0" "$@"\n')
    program.chmod(0o755)
    outcome = measure(command(str(program), name, "*", "", "~"))
    assert outcome.status == "ok"
    words = [os.fsencode(word) for word in (str(program), name, "*", "", "~")]
    assert (tmp_path / "stdout").read_bytes() == b"|".join([*words, b""])


def test_cannot_be_started_no_such_file(command, tmp_path):
    outcome = measure(command(str(tmp_path / "absent")))
    assert (outcome.status, outcome.pid, outcome.wall_s, outcome.rusage) == ("start", 0, 0.0, {})
    assert "absent': no such file" in outcome.reason


def test_cannot_be_started_not_in_path(command):
    outcome = measure(command("no-such-program-here"))
    assert outcome.status == "start"
    assert "PATH=/usr/bin:/bin" in outcome.reason


@pytest.mark.parametrize(
    ("content", "mode", "message"),
    [
        ("#!/bin/sh\n", 0o644, "Permission denied"),
        ("\x7fELFnonsense", 0o755, "Exec format error"),
        ("#!/no/such/interpreter\n", 0o755, "interpreter"),
    ],
)
def test_cannot_be_started_for_other_reasons(command, tmp_path, content, mode, message):
    program = tmp_path / "program"
    program.write_text(content)
    program.chmod(mode)
    outcome = measure(command(str(program)))
    assert outcome.status == "start"
    assert message in outcome.reason


def test_cannot_be_started_with_a_nul(command):
    outcome = measure(command("/bin/echo", "a\0b"))
    assert (outcome.status, "null byte" in outcome.reason) == ("start", True)


def test_path_is_the_given_one(command, tmp_path):
    tool = tmp_path / "cwd" / "tool"
    tool.write_text("#!/bin/sh\necho found\n")
    tool.chmod(0o755)
    outcome = measure(command("tool", env={"PATH": str(tmp_path / "cwd")}))
    assert outcome.status == "ok"


def test_memory_that_cannot_be_known_is_left_out(command):
    """Linux reports at least the parent's peak; so small programs have no figure, and big ones have."""
    small = measure(command("/bin/true")).rusage
    assert "max_rss_bytes" not in small
    assert small["minor_faults"] > 0
    peak = next(int(x.split()[1]) for x in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in x) * 1024
    script = f"bytearray({peak} + (50 << 20))"
    big = measure(command(sys.executable, "-I", "-S", "-c", script)).rusage
    assert peak + (50 << 20) < big["max_rss_bytes"] < peak + (100 << 20)


def test_user_time_is_the_childs(command):
    busy = measure(command(*sh("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"))).rusage
    assert busy["user_s"] > 0


def test_in_a_thread(command):
    outcomes = []
    thread = threading.Thread(target=lambda: outcomes.append(measure(command("/bin/echo", "x"))))
    thread.start()
    thread.join()
    assert outcomes[0].status == "ok"


def test_a_signal_that_is_not_for_stopping_ends_no_wait(command):
    seen = []
    before = signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
    try:
        outcome = measure(command(*sh(f"kill -USR1 {os.getpid()}; sleep 0.1; kill -USR1 {os.getpid()}; sleep 0.1")))
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert outcome.status == "ok"
    assert len(seen) == 2


def test_ctrl_c_kills_the_group_and_raises(command, tmp_path):
    script = f"(trap '' INT TERM; exec sleep 600) & echo $$ $!; kill -INT {os.getpid()}; exec sleep 600"
    with pytest.raises(KeyboardInterrupt):
        measure(command(*sh(script)), grace_s=0.2)
    assert all(gone(int(pid)) for pid in (tmp_path / "stdout").read_text().split())


def test_handlers_and_descriptors_are_as_before(command):
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    measure(command("/bin/true"))  # imports and caches of the first call
    descriptors = os.listdir("/proc/self/fd")
    for argv in (("/bin/true",), ("/absent",), sh("kill -9 $$")):
        measure(command(*argv))
    measure(command("/bin/sleep", "60", timeout_s=0.01))
    assert len(os.listdir("/proc/self/fd")) == len(descriptors)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == handlers
    assert signal.set_wakeup_fd(-1) == -1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_when_layoutrand_is_told_to_stop_its_child_goes_first(tmp_path, number):
    script = f"""
import sys
from pathlib import Path
from layoutrand.execute.measure import Command, measure
here = Path({str(tmp_path)!r})
print("ready", flush=True)
measure(Command(argv=("/bin/sh", "-c", "echo $$ > pid; mv pid done; exec sleep 600"), env={{"PATH": "/bin:/usr/bin"}},
        cwd=here, stdin=None, stdout=here / "o", stderr=here / "e", timeout_s=600))
"""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with process:
        while not (tmp_path / "done").exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        process.wait(20)
    # For SIGINT Python ends with KeyboardInterrupt, which it turns into a death by SIGINT.
    assert process.returncode == -number
    assert gone(int((tmp_path / "done").read_text()))


def test_a_kernel_without_pidfd_is_told_and_leaves_no_child(command, tmp_path, monkeypatch):
    def absent(_pid):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", absent)
    before = set(children())  # what other tests in this process have left
    with pytest.raises(FeatureUnsupported, match=r"Linux 5\.3"):
        measure(command(*sh("echo $$; exec sleep 600")))
    assert set(children()) <= before


def test_missing_input_is_an_error_of_ours(command, tmp_path):
    with pytest.raises(FileNotFoundError):
        measure(command("/bin/cat", stdin=tmp_path / "absent"))


@pytest.mark.parametrize("ending", ["kill -TERM $$", "exit 143"])
def test_a_stop_that_reaches_the_child_first_is_no_failure_of_the_program(command, monkeypatch, ending):
    """As when Slurm ends a job: all its processes are signalled, one after another."""
    monkeypatch.setattr("layoutrand.execute.measure.SAME_STOP_S", 60.0)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    read, write = os.pipe()
    outcomes = []

    def after_the_child():
        os.read(read, 1)  # the child has ended and been reaped
        time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGTERM)

    real = measuring.stopped_as_well
    monkeypatch.setattr(
        "layoutrand.execute.measure.stopped_as_well", lambda *ended: bool(os.write(write, b".")) and real(*ended)
    )
    thread = threading.Thread(target=after_the_child)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt), noted_interrupts():  # as the caller that records has it
            outcomes.append(measure(command(*sh(ending))))
    finally:
        thread.join()
        os.close(read)
        os.close(write)
        signal.signal(signal.SIGTERM, before)
    assert outcomes == []


def test_a_program_that_ends_by_a_stopping_signal_of_its_own_has_failed(command, monkeypatch):
    monkeypatch.setattr("layoutrand.execute.measure.SAME_STOP_S", 0.01)
    outcome = measure(command(*sh("kill -TERM $$")))
    assert (outcome.status, outcome.signal) == ("signal", signal.SIGTERM)
