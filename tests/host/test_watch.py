"""The readings around an execution, on machines that are directories."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from fakehost import CPUS, FakeHost
from layoutrand.host.processes import Processes
from layoutrand.host.watch import SCAN_EVERY_S, HostWatch


class Time:
    """A clock and a CPU clock that stand where they are put."""

    now_s = 100.0
    own_s = 7.0


@pytest.fixture
def host(tmp_path):
    return FakeHost(tmp_path / "root")


def watched(host, **options):
    return HostWatch(host.root, now_s=lambda: Time.now_s, own_cpu_s=lambda: Time.own_s, cpus=(0, 1), **options)


def between(host, then, *, window_s=2.0, own_s=0.0, cpus=None, monkeypatch=None):
    """The state when ``then`` happens to the host between two readings."""
    watch = watched(host)
    before = watch.before(cpus)
    then()
    clock = (Time.now_s, Time.own_s)
    Time.now_s, Time.own_s = clock[0] + window_s, clock[1] + own_s
    try:
        return watch.state(before, cpus)
    finally:
        Time.now_s, Time.own_s = clock


def test_a_machine_that_tells_nothing_is_no_error(host):
    assert between(host, lambda: None) == {"window_s": 2.0, "own_cpu_s": 0.0}


@pytest.mark.parametrize("content", ["cpu", "cpu x x x x x x x x x x", "ctxt\n\n", "9" * 5000, "-1", "some total=x"])
def test_a_machine_that_tells_nonsense_is_no_error(host, content):
    """As containers do that make such files themselves: it tells nothing then."""
    for name in ("stat", "loadavg", "vmstat", "pressure/cpu"):
        host.write(f"proc/{name}", content)
    host.write(f"{CPUS}/cpu0/cpufreq/stats/time_in_state", content)

    assert between(host, lambda: None) == {"window_s": 2.0, "own_cpu_s": 0.0}


def test_cpu_time_of_others_is_all_but_ours(host):
    host.cpu_times(10, 20, steal_s=1, switches=1000)
    state = between(host, lambda: host.cpu_times(11.9, 20.5, steal_s=1.25, switches=1234), own_s=1.8)
    assert state["own_cpu_s"] == 1.8
    assert state["other_cpu_s"] == pytest.approx(0.6)
    assert state["steal_s"] == 0.25
    assert state["context_switches"] == 234


def test_sampling_never_makes_it_negative(host):
    host.cpu_times(10)
    assert between(host, lambda: host.cpu_times(10.9), own_s=1.0)["other_cpu_s"] == 0


def test_swap_and_pressure(host):
    def write(pages, stall_us):
        host.write("proc/vmstat", f"nr_free_pages 5\npswpin {pages}\npswpout {2 * pages}\npgfault 1")
        host.write("proc/pressure/cpu", f"some avg10=1.00 avg60=2.00 avg300=3.00 total={stall_us}\nfull total=0")
        host.write("proc/pressure/io", f"some avg10=1.00 avg60=2.00 avg300=3.00 total={3 * stall_us}")

    write(10, 1_000_000)
    state = between(host, lambda: write(12, 1_500_000))
    assert (state["swap_in_pages"], state["swap_out_pages"]) == (2, 4)
    assert (state["cpu_pressure_s"], state["io_pressure_s"]) == (0.5, 1.5)
    assert "memory_pressure_s" not in state


def test_throttling_counts_each_package_once(host):
    def write(core0, core1, package, ms):
        for cpu, core in ((0, core0), (1, core1)):
            place = f"{CPUS}/cpu{cpu}"
            host.write(f"{place}/topology/physical_package_id", 0)
            host.write(f"{place}/thermal_throttle/core_throttle_count", core)
            host.write(f"{place}/thermal_throttle/package_throttle_count", package)
            host.write(f"{place}/thermal_throttle/core_throttle_total_time_ms", ms)

    write(1, 2, 30, 5)
    state = between(host, lambda: write(2, 2, 32, 9))
    assert (state["throttle_events"], state["throttle_ms"]) == (1 + 2, 2 * 4)


def test_the_frequency_is_the_mean_over_the_time_spent_at_each(host):
    def write(slow, fast):
        for cpu in (0, 1):
            host.write(f"{CPUS}/cpu{cpu}/cpufreq/stats/time_in_state", f"1000000 {slow * (cpu + 1)}\n3000000 {fast}")

    host.cpu_times(1, 1)
    write(10, 10)

    def then():
        host.cpu_times(2, 1)
        write(20, 40)

    # CPU 0 did the work, or is the one that the program was pinned to: 10 units at 1 GHz and 30 at 3 GHz.
    assert between(host, then)["frequency_hz"] == 2.5e9


def test_without_that_it_is_what_the_busiest_cpus_report_afterwards(host):
    host.cpufreq()
    host.cpu_times(1, 1)

    def then():
        host.cpu_times(1.01, 2)
        host.write(f"{CPUS}/cpu1/cpufreq/scaling_cur_freq", 3_500_000)

    assert between(host, then)["frequency_hz"] == 3.5e9
    assert between(host, lambda: None, cpus=(0,))["frequency_hz"] == 2e9
    assert "frequency_hz" not in between(host, lambda: None), "nobody knows which CPU so short a program used"


def test_settings_are_recorded_and_their_changes(host):
    host.cpufreq(governor="performance")
    host.write("proc/loadavg", "0.50 0.40 0.30 1/99 4711")
    host.write("sys/class/hwmon/hwmon0/name", "nvme")
    host.write("sys/class/hwmon/hwmon0/temp1_input", 99000)
    host.write("sys/class/hwmon/hwmon1/name", "coretemp")
    host.write("sys/class/hwmon/hwmon1/temp1_input", 41000)

    def then():
        host.write(f"{CPUS}/cpu0/cpufreq/scaling_governor", "powersave")
        host.write(f"{CPUS}/intel_pstate/no_turbo", 1)
        host.write("sys/class/hwmon/hwmon1/temp1_input", 45500)

    state = between(host, then)
    assert (state["governor"], state["governor_after"]) == ("performance", "powersave")
    assert (state["turbo"], state["turbo_after"]) == (True, False)
    assert (state["temperature_c"], state["temperature_c_after"]) == (41, 45.5)
    assert state["load1"] == 0.5
    assert not {name for name in between(host, lambda: None) if name.endswith("_after")}


def test_a_thermal_zone_serves_where_there_is_no_sensor(host):
    host.write("sys/class/thermal/thermal_zone0/type", "acpitz")
    host.write("sys/class/thermal/thermal_zone0/temp", 20000)
    host.write("sys/class/thermal/thermal_zone1/type", "x86_pkg_temp")
    host.write("sys/class/thermal/thermal_zone1/temp", 50000)
    assert between(host, lambda: None)["temperature_c"] == 50


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("proc/stat", "cpu  1 2"),
        ("proc/stat", ""),
        ("proc/vmstat", "pswpin"),
        ("proc/vmstat", "pswpin x"),
        ("proc/pressure/cpu", "some avg10"),
        (f"{CPUS}/cpu0/cpufreq/stats/time_in_state", "freq 0 1"),
        (f"{CPUS}/cpu0/cpufreq/scaling_cur_freq", "<unsupported>"),
        ("proc/loadavg", ""),
        (f"{CPUS}/cpu0/thermal_throttle/core_throttle_count", ""),
        ("proc/77/stat", "77 (x"),
    ],
)
def test_odd_contents_are_no_error(host, path, content):
    host.write(path, content)
    json.dumps(between(host, lambda: None, cpus=(0,)))


def test_culprits_are_those_who_used_the_cpus_since_the_last_look(host):
    now = [0.0]
    processes = Processes(host.root, lambda: now[0], own=50)
    host.process(50, "layoutrand", 10)
    host.process(60, "idle (sd) x", 5)
    host.process(70, "cc1", 1)
    assert processes.look() == []
    now[0] = 3.0
    host.process(50, "layoutrand", 19)
    host.process(70, "cc1", 1.5)
    host.process(80, "new", 2)
    assert processes.age_s() == 3.0
    assert processes.look() == [{"name": "new", "pid": 80, "cpu_s": 2.0}, {"name": "cc1", "pid": 70, "cpu_s": 0.5}]
    assert processes.look() == []


def test_a_process_of_ours_that_measures_is_no_culprit(host):
    processes = Processes(host.root, lambda: 0.0, own=50)
    for pid, name in ((60, "measuring"), (70, "cc1")):
        host.process(pid, name, 1)
    processes.look()
    for pid, name in ((60, "measuring"), (70, "cc1")):
        host.process(pid, name, 3)
    assert [each["pid"] for each in processes.look(60)] == [70]


def test_what_a_finished_process_used_is_found_with_its_parent(host):
    processes = Processes(host.root, lambda: 0.0, own=50)
    host.process(70, "make", 0)
    host.process(71, "cc1", 4, parent=70)
    processes.look()
    host.end_process(71)
    host.process(70, "make", 0, waited_s=4.5)
    assert processes.look() == [{"name": "make", "pid": 70, "cpu_s": 0.5}]


def test_what_it_used_before_is_not_taken_for_new_however_far_up_it_goes(host):
    processes = Processes(host.root, lambda: 0.0, own=50)
    host.process(70, "bash", 0)
    host.process(71, "make", 0.5, parent=70, waited_s=1)
    host.process(72, "cc1", 30, parent=71)
    processes.look()
    host.end_process(72)
    host.end_process(71)
    host.process(70, "bash", 0, waited_s=31.75)
    assert processes.look() == [{"name": "bash", "pid": 70, "cpu_s": 0.25}]


def test_a_number_that_is_given_again_is_another_process(host):
    processes = Processes(host.root, lambda: 0.0, own=50)
    host.process(70, "old", 4, started=1)
    processes.look()
    host.process(70, "new", 1, started=2)
    assert processes.look() == [{"name": "new", "pid": 70, "cpu_s": 1.0}]


def test_processes_are_looked_through_now_and_then_only(host, monkeypatch):
    monkeypatch.setattr(Time, "now_s", 0.0)
    watch = watched(host)
    host.process(70, "cc1", 1)
    watch.before()
    host.process(70, "cc1", 2)
    monkeypatch.setattr(Time, "now_s", SCAN_EVERY_S)
    watch.before()
    host.process(70, "cc1", 4)
    assert watch.culprits() == {
        "processes": [{"name": "cc1", "pid": 70, "cpu_s": 3.0}],
        "processes_window_s": SCAN_EVERY_S,
    }
    assert watch.culprits() == {}


def test_a_process_that_burns_time_beside_ours_is_seen(host, monkeypatch):
    """A real one: until it is waited for, nothing it uses counts as ours."""
    monkeypatch.setattr("layoutrand.host.watch.SCAN_EVERY_S", 1e9)  # or a slow machine looks again in between
    watch = HostWatch()
    burn = "import time\nwhile time.process_time() < 0.5: pass\nprint('done', flush=True)\ninput()"
    before = watch.before()
    with subprocess.Popen([sys.executable, "-c", burn], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        after = watch.before()
        state = watch.state(before)
        found = watch.culprits()
    if before.busy_s is None or after.busy_s == before.busy_s:
        pytest.skip("this system's /proc/stat does not count CPU time")
    assert state["other_cpu_s"] >= 0.1
    assert process.pid in {culprit["pid"] for culprit in found["processes"]} or len(found["processes"]) == 3


def test_this_machine_can_be_read(host):
    """Whatever machine this is: its files are read and what a child burns is known to be ours."""
    watch = HostWatch()
    before = watch.before()
    burn = "import time\nwhile time.process_time() < 0.2: pass"
    subprocess.run([sys.executable, "-c", burn], check=True)
    state = watch.state(before)
    assert json.loads(json.dumps(state)) == state
    assert state["own_cpu_s"] >= 0.2
    assert state["window_s"] >= 0.2
    watch.culprits()
    assert os.getpid() not in {process["pid"] for process in watch.culprits().get("processes", ())}
