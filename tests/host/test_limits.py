from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys

import pytest

from layoutrand.config.conditions import Conditions
from layoutrand.config.topology import Placement, parse_cpus
from layoutrand.execute.measure import Command, measure
from layoutrand.host.limits import inherited

MIB = 1 << 20
GIB = 1 << 30


@pytest.fixture
def executed(tmp_path):
    def execute(*argv, timeout_s=60, **conditions):
        return measure(
            Command(
                argv=argv,
                env={"PATH": "/usr/bin:/bin"},
                cwd=tmp_path,
                stdin=None,
                stdout=tmp_path / "o",
                stderr=tmp_path / "e",
                timeout_s=timeout_s,
                conditions=Conditions(**conditions),
            )
        )

    return execute


def python(script):
    return (sys.executable, "-I", "-S", "-c", script)


def sh(script):
    return ("/bin/sh", "-c", f"ulimit -c 0; {script}")


def test_memory_beyond_the_limit_is_refused(executed, tmp_path):
    script = "print('begun', flush=True); bytearray({} << 20)"
    # more than this process has itself: a lower one is set after the start, which this program does not wait for
    outcome = executed(*python(script.format(12_000)), memory_limit=6 * GIB)
    assert (outcome.status, outcome.returncode) == ("exit", 1)
    assert outcome.reason.startswith("exit status 1 (memory_limit = 6 GiB was in force")
    assert "MemoryError" in (tmp_path / "e").read_text()
    assert (tmp_path / "o").read_text() == "begun\n"
    assert executed(*python(script.format(100)), memory_limit=6 * GIB).status == "ok"


def test_a_memory_limit_below_what_layoutrand_needs_is_set_on_the_child(executed, tmp_path):
    """After its start; so this program gives us time before it looks."""
    script = "sleep 1; cat /proc/self/limits"
    assert executed(*sh(script), memory_limit=32 * MIB).status == "ok"
    assert f"Max data size             {32 * MIB} " in (tmp_path / "o").read_text()


def test_the_memory_limit_is_that_of_children_too(executed):
    # a limit below what this process has itself is set after the start, which a busy machine may delay for seconds
    waited = "while [ $(ulimit -d) = unlimited ]; do sleep 0.01; done"
    child = f"{waited}; {sys.executable} -I -S -c 'bytearray({{}} << 20)'"
    assert executed(*sh(f"{child.format(2000)} || exit 5"), memory_limit=1000 * MIB).returncode == 5
    assert executed(*sh(f"{child.format(100)} || exit 5"), memory_limit=1000 * MIB).status == "ok"


def test_output_beyond_the_limit_ends_the_program(executed, tmp_path):
    outcome = executed(*python("while True: print('x' * 1000)"), output_limit=MIB)
    # Python ignores SIGXFSZ and sees the error instead; either way it is the limit.
    assert outcome.status == "output-limit"
    assert "output_limit = 1 MiB" in outcome.reason
    assert (tmp_path / "o").stat().st_size == MIB


def test_a_file_of_its_own_counts_as_output(executed, tmp_path):
    outcome = executed("/bin/dd", "if=/dev/zero", "of=file", "bs=64k", "count=100", output_limit=MIB)
    assert (outcome.status, outcome.signal) == ("output-limit", signal.SIGXFSZ)
    assert (tmp_path / "file").stat().st_size == MIB


def test_lost_output_is_a_failure_also_where_the_program_does_not_mind(executed):
    outcome = executed(*sh("head -c 5000000 /dev/zero; exit 0"), output_limit=MIB)
    assert (outcome.status, outcome.returncode) == ("output-limit", 0)
    assert "the rest is lost" in outcome.reason


def test_less_output_than_the_limit_is_no_matter(executed, tmp_path):
    assert executed(*sh("head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2"), output_limit=MIB).status == "ok"
    assert (tmp_path / "e").stat().st_size == 1_000_000


def test_a_crash_under_limits_is_told_with_them(executed):
    outcome = executed(*sh("kill -SEGV $$"), memory_limit=200 * MIB)
    assert outcome.status == "signal"
    assert outcome.reason.startswith("killed by signal 11 (SIGSEGV) (memory_limit = 200 MiB was in force")


def test_the_child_has_cpus_and_priority_from_its_start(executed, tmp_path):
    cpu = max(os.sched_getaffinity(0))
    nice = min(19, os.getpriority(os.PRIO_PROCESS, 0) + 2)
    before = os.sched_getaffinity(0)
    outcome = executed(
        "/bin/sh",
        "-c",
        "grep Cpus_allowed_list /proc/self/status; nice",
        placement=Placement((cpu,), ()),
        priority=nice,
    )
    assert outcome.status == "ok"
    assert (tmp_path / "o").read_text().split() == ["Cpus_allowed_list:", str(cpu), str(nice)]
    assert os.sched_getaffinity(0) == before


def test_layoutrand_is_elsewhere_while_the_child_runs(executed, tmp_path):
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        pytest.skip("this process may use one CPU only")
    # The thread that starts the child is on its CPU, and ends; the program looks until it has.
    script = f"""
        while true; do
            masks=$(cat /proc/{os.getpid()}/task/*/status | grep Cpus_allowed_list | cut -f2)
            case " $(echo $masks) " in *" {allowed[-1]} "*) sleep 0.01;; *) break;; esac
        done
        echo $masks
    """
    assert executed(*sh(script), placement=Placement((allowed[-1],), ())).status == "ok"
    masks = (tmp_path / "o").read_text().split()
    assert masks
    assert all(allowed[-1] not in parse_cpus(mask) for mask in masks)


def test_ctrl_c_ends_a_pinned_child_and_layoutrand_comes_back(executed, tmp_path):
    before = os.sched_getaffinity(0)
    script = f"echo $$; kill -INT {os.getpid()}; exec sleep 600"
    with pytest.raises(KeyboardInterrupt):
        executed(*sh(script), placement=Placement((max(before),), ()), priority=19)
    assert not os.path.exists(f"/proc/{int((tmp_path / 'o').read_text())}")
    assert os.sched_getaffinity(0) == before


def test_a_timeout_is_a_timeout_whatever_the_limits(executed):
    outcome = executed("/bin/sleep", "600", timeout_s=0.2, output_limit=MIB, memory_limit=200 * MIB)
    assert outcome.status == "timeout"


def test_limits_hold_from_the_first_instruction_and_ours_are_put_back(executed, tmp_path):
    """Ours are lowered for the moment of the start: so the program finds them, however fast it is."""
    before = [resource.getrlimit(kind) for kind in (resource.RLIMIT_FSIZE, resource.RLIMIT_DATA)]
    limits = {"output_limit": MIB, "memory_limit": 1 << 40}
    with inherited(Conditions(**limits)) as owed:
        assert owed == {}
        assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == MIB
        assert resource.getrlimit(resource.RLIMIT_DATA)[0] == 1 << 40
    executed("/bin/cat", "/proc/self/limits", **limits)
    lines = (tmp_path / "o").read_text().splitlines()
    assert {line[:13]: line.split()[3] for line in lines if "Max file size" in line or "Max data size" in line} == {
        "Max file size": str(MIB),
        "Max data size": str(1 << 40),
    }
    assert [resource.getrlimit(kind) for kind in (resource.RLIMIT_FSIZE, resource.RLIMIT_DATA)] == before


def test_a_memory_limit_that_layoutrand_could_not_live_with_is_none_of_its_own():
    with inherited(Conditions(memory_limit=MIB)) as owed:
        assert owed == {resource.RLIMIT_DATA: MIB}
        assert resource.getrlimit(resource.RLIMIT_DATA)[0] != MIB
        assert bytearray(64 * MIB)


def test_limits_that_are_there_already_have_the_last_word(tmp_path):
    script = f"""
import resource, sys
from pathlib import Path
from layoutrand.config.conditions import Conditions
from layoutrand.execute.measure import Command, measure
resource.setrlimit(resource.RLIMIT_FSIZE, ({MIB}, {MIB}))
here = Path({str(tmp_path)!r})
outcome = measure(Command(argv=("/bin/cat", "/proc/self/limits"), env={{}}, cwd=here, stdin=None, stdout=here / "o",
                          stderr=here / "e", timeout_s=60, conditions=Conditions(output_limit={2 * MIB})))
assert outcome.status == "ok", outcome
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    assert f"Max file size             {MIB} " in (tmp_path / "o").read_text()
