"""What is read of machines that are not like the one these tests are executed on."""

from __future__ import annotations

import os
import platform

import pytest

from fakehost import CPUS, FakeHost
from layoutrand.config.topology import fastest, place
from layoutrand.explain.caches import caches_of
from layoutrand.host import facts
from layoutrand.host.errata import has_jcc_erratum
from layoutrand.host.host_problems import host_problems
from layoutrand.host.pinning import read_topology
from layoutrand.host.tuning import Tuning
from layoutrand.host.watch import HostWatch
from machines import MACHINES, arm

MODELS = {
    "graviton2": "Arm Neoverse-N1 r3p1",
    "altra": "Arm Neoverse-N1 r3p1",
    "apple_m1": "Apple Mac mini (M1, 2020): 4 Apple M1 Icestorm r1p1 + 4 Apple M1 Firestorm r1p1",
    "raspberry_pi4": "Raspberry Pi 4 Model B Rev 1.5: Arm Cortex-A72 r0p3",
    "visionfive2": "StarFive VisionFive 2 v1.3B: sifive,u74-mc",
    "rk3399": "Pine64 RockPro64 v2.1: 4 Arm Cortex-A53 r0p4 + 2 Arm Cortex-A72 r0p2",
    "qemu_virt": "Arm Cortex-A57 r1p0",
    "hybrid_x86": "12th Gen Intel(R) Core(TM) i5-12600K",
}
VIRTUAL = {"graviton2", "qemu_virt"}
UNITS = {
    "graviton2": ["armv8_pmuv3_0"],
    "altra": ["armv8_pmuv3_0"],
    "apple_m1": ["apple_firestorm_pmu", "apple_icestorm_pmu"],
    "raspberry_pi4": ["armv8_cortex_a72"],
    "visionfive2": ["cpu"],
    "rk3399": ["armv8_cortex_a53", "armv8_cortex_a72"],
    "qemu_virt": ["armv8_pmuv3"],
    "hybrid_x86": ["cpu_atom", "cpu_core"],
}
PINNED = {"apple_m1": 7, "rk3399": 5, "hybrid_x86": 3, "raspberry_pi4": 3, "altra": 79}
CACHES = {
    "graviton2": {"line_bytes": 64, "sets": 256, "ways": 4},
    "apple_m1": None,
    "raspberry_pi4": {"line_bytes": 64, "sets": 256, "ways": 3},
    "visionfive2": {"line_bytes": 64, "sets": 64, "ways": 8},
    "hybrid_x86": {"line_bytes": 64, "sets": 64, "ways": 8},
    "qemu_virt": None,
}
DEGREES = {"raspberry_pi4": 48.2, "visionfive2": 55.0, "rk3399": 45.0}


@pytest.fixture(params=MACHINES)
def machine(request, tmp_path):
    return request.param, MACHINES[request.param](tmp_path / "root")


def test_the_processor_has_a_name(machine):
    name, host = machine
    assert facts.host_facts(host.root)["cpu_model"] == MODELS[name]


def test_kinds_of_cores_with_their_cpus(machine):
    name, host = machine
    told = facts.host_facts(host.root)["cores"]
    assert len(told) == (2 if name in {"apple_m1", "rk3399", "hybrid_x86"} else 1)
    if name == "apple_m1":
        assert told == ["Apple M1 Icestorm r1p1: CPU 0-3", "Apple M1 Firestorm r1p1: CPU 4-7"]
    if name == "hybrid_x86":
        model = MODELS[name]
        assert told == [f"{model} (cpu_core): CPU 0-3", f"{model} (cpu_atom): CPU 4-5"]


def test_virtual_machines_are_known(machine):
    name, host = machine
    assert facts.host_settings(host.root)["virtual"] == (name in VIRTUAL)


def test_an_instance_that_is_a_whole_machine_is_none(tmp_path):
    host = MACHINES["graviton2"](tmp_path)
    host.write("sys/class/dmi/id/product_name", "m6g.metal")
    assert not facts.host_settings(tmp_path)["virtual"]


def test_counters_of_cores_are_found_by_whatever_name(machine):
    name, host = machine
    assert facts.counting_units(host.root) == UNITS[name]
    assert facts.host_settings(host.root)["hardware_counters"]


def test_a_core_of_the_fastest_kind_is_chosen(machine, monkeypatch):
    name, host = machine
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(80)) if name == "altra" else set(range(8)))
    topology = read_topology(host.root / CPUS)
    chosen = place("auto", topology)
    if name in PINNED:
        assert chosen.cpus == (PINNED[name],)
    assert topology.speed.get(chosen.cpus[0]) == topology.speed.get(fastest(topology))


def test_the_cache_of_instructions_is_that_of_the_fastest_kind(machine):
    name, host = machine
    told = facts.host_facts(host.root)
    if name in CACHES:
        assert told["l1i"] == CACHES[name]
    assert told["page_bytes"] == os.sysconf("SC_PAGESIZE")


def test_the_temperature_is_that_of_the_processor(machine):
    name, host = machine
    host.write("proc/stat", "cpu 1 0 0 5 0 0 0 0 0 0\ncpu0 1 0 0 5 0 0 0 0 0 0")
    watch = HostWatch(host.root, cpus=(0,))
    assert watch.state(watch.before()).get("temperature_c") == DEGREES.get(name)


def test_what_doctor_says_of_them(machine):
    name, host = machine
    problems = list(host_problems(facts.host_facts(host.root), facts.host_settings(host.root), {}))
    whats = [problem.what for problem in problems]
    assert any("the cores are of 2 kinds (" in what for what in whats) == (name in {"apple_m1", "rk3399", "hybrid_x86"})
    assert any("governor is schedutil" in what for what in whats) == (name in {"altra", "apple_m1", "rk3399"})
    assert any("a virtual machine" in what for what in whats) == (name in VIRTUAL)
    for problem in problems:
        if name == "apple_m1" and "turbo is on" in problem.what:
            assert "cpufreq/boost" in problem.mend
            assert "intel_pstate" not in problem.mend


def test_where_each_frequency_has_a_switch_of_its_own(tmp_path):
    host = FakeHost(tmp_path / "root")
    for policy in (0, 4):
        host.write(f"{CPUS}/cpufreq/policy{policy}/boost", 1)
    host.write(f"{CPUS}/cpu0/cpufreq/scaling_driver", "cppc_cpufreq")
    assert facts.turbo(host.root) is True
    told = facts.host_facts(host.root) | {"cpu_model": "x"}
    (problem,) = [p for p in host_problems(told, facts.host_settings(host.root), {}) if "turbo" in p.what]
    assert "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/policy*/boost" in problem.mend
    offered = {change.path for change in Tuning(host.root, [tmp_path / "undo"]).offer().changes}
    assert offered == {f"{CPUS}/cpufreq/policy{policy}/boost" for policy in (0, 4)}
    host.write(f"{CPUS}/cpufreq/boost", 1)
    offered = {change.path for change in Tuning(host.root, [tmp_path / "undo"]).offer().changes}
    assert offered == {f"{CPUS}/cpufreq/boost"}, "one switch for all is changed once"
    host.write(f"{CPUS}/cpufreq/policy0/boost", 0)
    host.write(f"{CPUS}/cpufreq/policy4/boost", 0)
    host.write(f"{CPUS}/cpufreq/boost", 0)
    assert facts.turbo(host.root) is False


@pytest.mark.parametrize(
    ("machine_name", "clock"), [("x86_64", "tsc"), ("aarch64", "arch_sys_counter"), ("sparc64", "ONE_OF_")]
)
def test_the_clock_that_is_advised_is_one_of_the_machine(machine_name, clock):
    (problem,) = [
        p
        for p in host_problems({"clocksource": "jiffies", "machine": machine_name}, {}, {})
        if "the clock is" in p.what
    ]
    assert problem.mend.startswith(f"echo {clock}")


@pytest.mark.parametrize(
    ("text", "model"),
    [
        (arm((0x41, 0xFFF, 0, 0)), "Arm part 0xfff r0p0"),
        (arm((0x99, 0x123, 2, 7)), "designer 0x99 part 0x123 r2p7"),
        (
            "processor\t: 0\ncpu\t\t: POWER9, altivec supported\nrevision\t: 2.2\n\ntimebase\t: 512000000\n",
            "POWER9, altivec supported",
        ),
        ("processor : 0\nCPU part : junk\nCPU implementer : -5\n", platform.processor() or None),
    ],
)
def test_names_of_what_is_not_in_the_table(tmp_path, text, model):
    FakeHost(tmp_path).write("proc/cpuinfo", text)
    assert facts.host_facts(tmp_path)["cpu_model"] == model


INTEL = {
    "cpu_signature": {"vendor": "GenuineIntel", "family": 6, "model": 0x55, "stepping": 7},
}


def test_makers_numbers_of_a_processor(machine, tmp_path):
    name, host = machine
    told = facts.host_facts(host.root)["cpu_signature"]
    assert told is None or name == "hybrid_x86"
    own = FakeHost(tmp_path / "own")
    lines = "processor: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: X\nstepping\t: 7\n"
    own.write("proc/cpuinfo", lines)
    assert facts.host_facts(own.root)["cpu_signature"] == INTEL["cpu_signature"]
    own.write("proc/cpuinfo", lines.replace("85", "many"))
    assert facts.host_facts(own.root)["cpu_signature"] is None


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, True),
        ({"stepping": 4}, True),
        ({"stepping": 11}, False),  # Cooper Lake
        ({"model": 0x4E, "stepping": 3}, True),
        ({"model": 0x8E, "stepping": 12}, True),
        ({"model": 0x9E, "stepping": 12}, False),  # no such one in the list
        ({"model": 0x6A, "stepping": 6}, False),  # Ice Lake Server
        ({"model": 0xA5, "stepping": 2}, False),
        ({"vendor": "AuthenticAMD"}, False),
        ({"family": 25}, False),
        ({"model": None}, False),
        ({"model": [85]}, False),
        ({"stepping": "7"}, False),
    ],
)
def test_the_erratum_is_that_of_listed_processors(changed, expected):
    told = {"cpu_signature": {**INTEL["cpu_signature"], **changed}}
    assert has_jcc_erratum(told) is expected
    assert caches_of(told, "native", "EM_X86_64").jcc is expected
    assert not caches_of(told, "cachegrind", "EM_X86_64").jcc
    assert not caches_of(told, "native", "EM_AARCH64").jcc  # which an emulator executes


def test_of_what_is_not_told_no_erratum_is_known():
    for told in ({}, {"cpu_signature": None}, {"cpu_signature": ["GenuineIntel", 6]}, {"cpu_signature": {}}):
        assert not has_jcc_erratum(told)
