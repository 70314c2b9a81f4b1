from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from layoutrand.config.topology import Placement
from layoutrand.errors import FeatureUnsupported, UsageError
from layoutrand.host import pinning

ALLOWED = sorted(os.sched_getaffinity(0))
two_cpus = pytest.mark.skipif(len(ALLOWED) < 2, reason="this process may use one CPU only")


@pytest.fixture(autouse=True)
def _nothing_changes():
    before = (os.sched_getaffinity(0), os.getpriority(os.PRIO_PROCESS, 0))
    yield
    assert (os.sched_getaffinity(0), os.getpriority(os.PRIO_PROCESS, 0)) == before


def tree(root: Path, cpus, **files):
    """A /sys/devices/system/cpu: ``files`` are those of the top, ``cpus`` maps a number to the files of that CPU."""
    for name, content in files.items():
        (root / name).write_text(f"{content}\n")
    for number, contents in cpus.items():
        for name, content in contents.items():
            path = root / f"cpu{number}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{content}\n")
    return root


def test_the_topology_is_read(tmp_path):
    root = tree(
        tmp_path,
        {
            0: {"topology/core_cpus_list": "0,2", "cpufreq/cpuinfo_max_freq": "5200000", "cpu_capacity": "1024"},
            1: {"topology/thread_siblings_list": "1", "cpufreq/cpuinfo_max_freq": "3900000", "cpu_capacity": "1024"},
            2: {"topology/core_cpus_list": "0,2", "cpufreq/cpuinfo_max_freq": "5200000", "cpu_capacity": "1024"},
        },
        online="0-3",
        isolated="",
    )
    topology = pinning.read_topology(root)
    assert topology.online == {0, 1, 2, 3}
    assert topology.allowed == set(ALLOWED)
    assert topology.siblings == {0: {0, 2}, 1: {1}, 2: {0, 2}}
    assert topology.speed == {0: 5200000, 1: 3900000, 2: 5200000}, "capacities that are all the same say nothing"


def test_capacities_that_differ_go_before_frequencies(tmp_path):
    cpus = {n: {"cpu_capacity": size, "cpufreq/cpuinfo_max_freq": 2000} for n, size in enumerate((1024, 446))}
    assert pinning.read_topology(tree(tmp_path, cpus, online="0-1")).speed == {0: 1024, 1: 446}


def test_isolated_cpus_count_where_a_process_may_be_moved_there(tmp_path):
    topology = pinning.read_topology(tree(tmp_path, {}, online="0-4095", isolated=f"{ALLOWED[0]},4095"))
    assert topology.isolated == {ALLOWED[0], 4095}
    assert topology.allowed == set(ALLOWED)


def test_a_machine_that_tells_nothing(tmp_path):
    topology = pinning.read_topology(tmp_path)
    assert (topology.online, topology.isolated, topology.siblings) == (set(ALLOWED), set(), {})
    assert topology.core(ALLOWED[0]) == {ALLOWED[0]}


def test_this_machine():
    chosen = pinning.placement("auto")
    assert set(chosen.cpus) <= set(ALLOWED) | pinning.read_topology().isolated
    assert len(chosen.cpus) == 1
    assert pinning.placement(ALLOWED) == Placement(tuple(ALLOWED), ())
    assert pinning.placement("any") is None
    with pytest.raises(UsageError, match="no CPU 100000"):
        pinning.placement([100_000])


def test_what_is_started_has_cpus_and_priority():
    def state():
        return os.sched_getaffinity(0), os.getpriority(os.PRIO_PROCESS, 0)

    nice = min(19, os.getpriority(os.PRIO_PROCESS, 0) + 3)
    assert pinning.start_under(Placement((ALLOWED[-1],), ()), nice, state) == ({ALLOWED[-1]}, nice)
    assert pinning.start_under(None, None, threading.get_ident) == threading.get_ident()


def test_what_the_start_raises_comes_through():
    def fail():
        raise FileNotFoundError(2, "gone")

    with pytest.raises(FileNotFoundError, match="gone"):
        pinning.start_under(None, 19, fail)


def test_a_cpu_that_has_gone_meanwhile():
    with pytest.raises(FeatureUnsupported, match="went offline"):
        pinning.start_under(Placement((1023,), ()), None, lambda: None)


@two_cpus
def test_layoutrand_keeps_off_and_comes_back():
    ready, finish, masks = threading.Barrier(2), threading.Event(), []

    def other():
        ready.wait()
        finish.wait()
        masks.append(os.sched_getaffinity(0))

    thread = threading.Thread(target=other)
    thread.start()
    ready.wait()
    with pinning.kept_off(frozenset({ALLOWED[0]})):
        assert os.sched_getaffinity(0) == set(ALLOWED[1:])
        assert os.sched_getaffinity(thread.native_id) == set(ALLOWED[1:])
        late = threading.Thread(target=finish.wait)
        late.start()
    assert os.sched_getaffinity(late.native_id) == set(ALLOWED), "a thread made meanwhile comes back too"
    finish.set()
    thread.join()
    late.join()
    assert masks == [set(ALLOWED)]


def test_layoutrand_stays_where_it_has_nowhere_else_to_go():
    with pinning.kept_off(frozenset(ALLOWED)):
        assert os.sched_getaffinity(0) == set(ALLOWED)


def test_a_priority_that_is_permitted():
    pinning.check_priority(19)


def test_a_priority_that_is_not_permitted(monkeypatch):
    def refuse(_which, _who, _priority):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "setpriority", refuse)
    with pytest.raises(FeatureUnsupported, match=r"run\.priority = -5: this user may not go below nice value .*sudo"):
        pinning.check_priority(-5)
