"""What doctor finds on machines that are directories, each problem with what mends it."""

from __future__ import annotations

import json

import pytest

from fakehost import BOOT, CPUS, FakeHost
from layoutrand.cli import limits_met
from layoutrand.cli.doctor_checks import diagnose, doctor_document
from layoutrand.config.disturbance import MEND
from layoutrand.host.facts import host_facts, host_settings
from layoutrand.host.host_problems import host_problems
from layoutrand.host.tuning import Tuning
from layoutrand.platform.process import SubprocessRunner
from workshop import require


@pytest.fixture
def host(tmp_path):
    return FakeHost(tmp_path / "root")


def problems(host, state=None, **facts):
    """Problems of a machine of two CPUs as its files tell it; ``facts`` replaces facts."""
    known = host_facts(host.root) | {"cpus": 2, "cpus_allowed": 2} | facts
    return list(host_problems(known, host_settings(host.root), state or {}))


def the_problem(host, words, state=None, **facts):
    """The one problem with these words in it."""
    (found,) = [problem for problem in problems(host, state, **facts) if words in problem.what]
    return found


def virtual(host):
    host.write("proc/cpuinfo", "model name : X\nflags : fpu hypervisor")


def test_a_good_machine_has_no_problems(host):
    host.cpufreq(governor="performance")
    host.write(f"{CPUS}/intel_pstate/no_turbo", 1)
    host.write("proc/sys/kernel/randomize_va_space", 2)
    host.write("proc/meminfo", "MemTotal: 1000 kB\nSwapTotal: 500 kB\nSwapFree: 500 kB")
    host.write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never")
    host.write("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc")
    host.write(f"{CPUS}/smt/active", 0)
    assert problems(host) == []


def test_a_machine_that_tells_nothing_has_a_note_at_most(host):
    assert [problem.severity for problem in problems(host)] == ["note"]


@pytest.mark.parametrize(
    ("path", "content", "severity", "words", "mend"),
    [
        (f"{CPUS}/cpu0/cpufreq/scaling_governor", "schedutil", "warning", "governor is schedutil", "scaling_governor"),
        (
            f"{CPUS}/intel_pstate/no_turbo",
            0,
            "note",
            "turbo is on",
            "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate",
        ),
        (
            "proc/sys/kernel/randomize_va_space",
            0,
            "warning",
            "randomisation is off",
            "echo 2 | sudo tee /proc/sys/kernel/ran",
        ),
        ("proc/sys/kernel/randomize_va_space", 1, "warning", "on in part only", "randomize_va_space"),
        (f"{CPUS}/smt/active", 1, "note", "SMT is on", "smt/control"),
        ("proc/meminfo", "SwapTotal: 9000 kB\nSwapFree: 904 kB", "warning", "7 MiB of memory are swapped", "swapoff"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise", "note", "huge pages", "echo madvise"),
        (
            "sys/devices/system/clocksource/clocksource0/current_clocksource",
            "hpet",
            "warning",
            "clock is hpet",
            "echo tsc",
        ),
        ("proc/stat", "cpu 900 0 90 5 5 0 0 10 0 0", "warning", "took 1.0 % of the CPU time", "bare metal"),
    ],
)
def test_each_problem_is_found_with_what_mends_it(host, path, content, severity, words, mend):
    assert not [problem for problem in problems(host) if words in problem.what]
    host.write(path, content)
    found = the_problem(host, words)
    assert found.severity == severity
    assert mend in found.mend


def test_boost_of_amd_has_a_command_of_its_own(host):
    host.write(f"{CPUS}/cpufreq/boost", 1)
    host.write(f"{CPUS}/cpu0/cpufreq/scaling_driver", "acpi-cpufreq")
    assert "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost" in the_problem(host, "turbo").mend


def test_every_governor_counts_and_not_that_of_the_first_cpu(host):
    host.cpufreq(governor="performance")
    host.write(f"{CPUS}/cpu1/cpufreq/scaling_governor", "powersave")
    assert "powersave" in the_problem(host, "governor").what


def test_counters_matter_where_there_are_some(host):
    host.write("proc/sys/kernel/perf_event_paranoid", 4)
    host.write("proc/sys/kernel/nmi_watchdog", 1)
    assert not [problem for problem in problems(host) if "counter" in problem.what]
    host.write("sys/bus/event_source/devices/cpu/type", 4)
    assert "perf_event_paranoid is 4" in the_problem(host, "closed to ordinary users").what
    assert "nmi_watchdog" in the_problem(host, "NMI watchdog").mend


def test_a_battery_limits_the_clock(host):
    host.write("sys/class/power_supply/BAT0/type", "Battery")
    host.write("sys/class/power_supply/BAT0/status", "Discharging")
    host.write("sys/class/power_supply/AC/type", "Mains")
    host.write("sys/class/power_supply/AC/online", 0)
    assert the_problem(host, "runs on battery").mend == "plug it in"
    host.write("sys/class/power_supply/AC/online", 1)
    assert not [problem for problem in problems(host) if "battery" in problem.what]


def test_isolated_cpus_are_suggested_where_there_are_cpus_enough(host):
    assert not [problem for problem in problems(host) if "isolated" in problem.what]
    assert "isolcpus=7 nohz_full=7" in the_problem(host, "no CPU is isolated", cpus=8).mend
    host.write(f"{CPUS}/isolated", "6-7")
    assert not [problem for problem in problems(host, cpus=8) if "isolated" in problem.what]


def test_who_is_busy_is_named(host):
    state = {
        "window_s": 0.3,
        "other_cpu_s": 0.3,
        "processes": [{"name": "cc1", "pid": 77, "cpu_s": 0.29}],
        "load1": 9.0,
    }
    found = the_problem(host, "other processes used 0.30 s of CPU time, 100 % of a CPU (cc1 0.29 s)", state)
    assert found.mend.startswith("wait until other work has ended") and "`ps -fp 77`" in found.mend
    host.write("run/systemd/system/.keep", "")
    found = the_problem(host, "other processes used", state)
    assert "`systemctl status 77`" in found.mend, "asked only where systemd has started the machine"
    assert not [problem for problem in problems(host, state) if "the load is" in problem.what], "one cause is told once"
    assert the_problem(host, "the load is 9.0 on 2 cores", {"load1": 9.0}).severity == "warning"


@pytest.mark.parametrize("name", ["dpkg", "cc1", "postgres"])
def test_nothing_is_to_be_killed_or_paused(host, name):
    """Whatever is paused holds its locks: of a package manager, the whole system's."""
    state = {"window_s": 0.3, "other_cpu_s": 0.3, "processes": [{"name": name, "pid": 77, "cpu_s": 0.29}], "load1": 9.0}
    said = [problem.mend for problem in problems(host, state)] + list(MEND.values())
    assert not [mend for mend in said if "kill" in mend or "pause" in mend]


def test_steal_in_a_virtual_machine(host):
    virtual(host)
    assert the_problem(host, "a virtual machine").severity == "note"
    state = {"window_s": 0.3, "steal_s": 0.1}
    assert the_problem(host, "the hypervisor took 0.10 s", state).severity == "warning"


def test_the_worst_stands_first(host):
    host.write(f"{CPUS}/smt/active", 1)
    host.write("proc/sys/kernel/randomize_va_space", 0)
    severities = [problem.severity for problem in problems(host)]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)
    assert len(set(severities)) > 1


IMMUNE = "; metric = { cachegrind = true } is immune"
PROJECT = """\
[project]
name = "p"
[build]
commands = ["make"]
artefacts = ["b"]
[systems.base]
"""
CASED, PLAIN = (f'[[benchmarks]]\nname = "{name}"\ncommand = ["{{artefact}}"]\n' for name in ("cased", "plain"))
JDK = """\
[project]
name = "p"
[build]
artefacts = ["bin/java"]
[systems.jdk]
prebuilt = "/jdk"
[[benchmarks]]
name = "java"
command = ["{home}/bin/java", "-jar", "app.jar"]
"""
DACAPO = """\
[project]
name = "p"
[suite]
kind = "dacapo"
jar = "dacapo.jar"
benchmarks = ["fop"]
iterations = 1
[systems.jdk]
prebuilt = "jdk"
"""


@pytest.mark.parametrize(
    ("text", "immune", "absent"),
    [
        (None, True, "no metric = { cachegrind = true }"),
        ("no TOML", True, "no metric = { cachegrind = true }"),
        (PROJECT, True, "no metric = { cachegrind = true }"),
        (PROJECT + PLAIN, True, "no metric = { cachegrind = true }"),
        (f'{PROJECT}{CASED}harness = "libtest"\n{PLAIN}', True, "no metric = { cachegrind = true }"),
        (f'{PROJECT}{CASED}harness = "libtest"\n', False, None),
        (f'{PROJECT}{CASED}harness = "gungraun"\n', False, 'harness = "gungraun" starts it'),
        (DACAPO, False, None),
        (JDK, False, None),
        (JDK + PLAIN, True, "no metric = { cachegrind = true }"),
    ],
)
def test_simulated_counts_are_advised_where_a_benchmark_may_have_them(
    host, tmp_path, monkeypatch, text, immune, absent
):
    """A harness measures its cases itself, and ``metric.cachegrind`` beside it is refused; a JVM's counts are as its
    threads happened to run."""
    virtual(host)
    monkeypatch.setenv("PATH", str(tmp_path / "no programs"))
    if text is not None:
        (tmp_path / "layoutrand.toml").write_text(text)
    found = diagnose(tmp_path, SubprocessRunner(), tuning=Tuning(host.root, [tmp_path / "undo.json"]), root=host.root)
    (told,) = [problem for problem in found.problems if "neighbours" in problem.what]
    assert ("metric = { cachegrind = true } is immune" in f"{told.what} {told.mend}") is immune
    lacking = [problem.what for problem in found.problems if problem.what.startswith("valgrind")]
    assert lacking == ([] if absent is None else [f"valgrind is absent: {absent}"])


def looked(host, tmp_path, text=None):
    if text is not None:
        (tmp_path / "layoutrand.toml").write_text(text)
    return diagnose(tmp_path, SubprocessRunner(), tuning=Tuning(host.root, [tmp_path / "undo.json"]), root=host.root)


@pytest.fixture
def no_programs(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "no programs"))


def of_toolchains(found):
    return [(each.severity, each.what) for each in found.problems if "toolchain" in each.what]


def test_a_toolchain_that_the_project_needs_is_an_error_and_no_other_is_told(host, tmp_path, no_programs):
    systems = '[systems.small]\ntoolchain = "clang-19"\n[systems.o3]\ntoolchain = "gcc"\n'
    found = looked(host, tmp_path, PROJECT + systems)
    needed, versioned = of_toolchains(found)
    assert found.asked == {"clang-19", "gcc"}
    assert needed == (
        "error",
        "toolchain gcc, which base, o3 are built with, is not usable: gcc, ld.bfd, ar not found on PATH",
    )
    assert versioned[0] == "error"
    assert versioned[1].startswith("toolchain clang-19, which small is built with, is not usable: clang-19")
    assert "gcc" in next(each.mend for each in found.problems if "toolchain gcc" in each.what)


def test_what_is_prebuilt_needs_no_toolchain(host, tmp_path, no_programs):
    assert not of_toolchains(looked(host, tmp_path, DACAPO))


def test_without_a_project_one_toolchain_is_enough(host, tmp_path, no_programs, monkeypatch):
    (told,) = of_toolchains(found := looked(host, tmp_path))
    assert found.asked is None
    assert told == ("error", "no toolchain is usable; of gcc: gcc, ld.bfd, ar not found on PATH")
    monkeypatch.undo()
    require("gcc", "gcc")
    assert not of_toolchains(looked(host, tmp_path))


@pytest.mark.parametrize("may", [True, False])
def test_what_helps_where_the_hypervisor_takes_time_may_be_another_machine_alone(host, may):
    host.write("proc/stat", "cpu 900 0 90 5 5 0 0 10 0 0")
    every = host_problems(host_facts(host.root), host_settings(host.root), {}, may_simulate=may)
    (found,) = [each for each in every if "hypervisor" in each.what]
    assert found.mend == f"measure while they are quiet, or on bare metal{IMMUNE if may else ''}"


def test_a_machine_without_proc_is_not_ready(host, tmp_path, no_programs, monkeypatch):
    """No program can be watched there: `run` ends with the same words."""
    monkeypatch.setattr(limits_met, "_PROC", tmp_path / "absent")
    tuning = Tuning(host.root, [tmp_path / "undo.json"])
    found = diagnose(tmp_path, SubprocessRunner(), tuning=tuning, root=host.root)
    told = [(each.severity, each.mend) for each in found.problems if each.what.startswith("there is no /proc here")]
    assert told == [("error", "mount -t proc proc /proc")]


@pytest.mark.slow
def test_the_document_has_what_it_always_had_and_more(host, tmp_path):
    host.cpu_times(5, 5)
    found = diagnose(tmp_path, SubprocessRunner(), tuning=Tuning(host.root, [tmp_path / "undo.json"]), root=host.root)
    document = json.loads(json.dumps(doctor_document(found)))
    assert document["schema"] == "layoutrand/doctor/1"
    assert set(document) >= {"toolchains", "instruments", "host", "state", "problems", "settings", "changed"}
    assert document["changed"] is None
    assert document["state"]["other_cpu_s"] == 0
    assert set(document["problems"][0]) == {"severity", "what", "mend"}


@pytest.mark.slow
def test_settings_that_layoutrand_has_changed_are_told(host, tmp_path):
    host.cpufreq()
    host.write(BOOT, "boot-1")
    tuning = Tuning(host.root, [tmp_path / "undo.json"])
    tuning.apply(tuning.offer().changes, keep=True)
    found = diagnose(tmp_path, SubprocessRunner(), tuning=tuning, root=host.root)
    (problem,) = [problem for problem in found.problems if "doctor --tune" in problem.what]
    assert problem.mend == "sudo layoutrand doctor --undo"
    assert found.changed is not None
    assert {change["after"] for change in found.changed["changes"]} == {"performance", "1"}
    (tmp_path / "undo.json").write_text("damaged")
    found = diagnose(tmp_path, SubprocessRunner(), tuning=tuning, root=host.root)
    assert [problem.severity for problem in found.problems if "undo record" in problem.what] == ["error"]
