"""Machines of other architectures, as directories of /proc and /sys: written by hand from what people recorded of such."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fakehost import CPUS, FakeHost

TREE = "sys/firmware/devicetree/base"
UNITS = "sys/bus/event_source/devices"


def arm(*cores: tuple[int, int, int, int], end: str = "") -> str:
    """/proc/cpuinfo of arm64: (designer, part, variant, revision) of each CPU."""
    blocks = [
        f"processor\t: {number}\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 cpuid\n"
        f"CPU implementer\t: {designer:#x}\nCPU architecture: 8\nCPU variant\t: {variant:#x}\nCPU part\t: {part:#05x}\n"
        f"CPU revision\t: {revision}\n"
        for number, (designer, part, variant, revision) in enumerate(cores)
    ]
    return "\n".join([*blocks, end]) if end else "\n".join(blocks)


def cpus(host: FakeHost, count: int, **files: object) -> None:
    """So many CPUs of one thread each, with these files of each; a function is given the CPU's number."""
    host.write(f"{CPUS}/online", f"0-{count - 1}")
    host.write(f"{CPUS}/isolated", "")
    host.write(f"{CPUS}/smt/active", 0)
    for number in range(count):
        host.write(f"{CPUS}/cpu{number}/topology/core_cpus_list", number)
        for name, value in files.items():
            told = value(number) if callable(value) else value
            host.write(f"{CPUS}/cpu{number}/{name.replace('__', '/')}", told)


def code_cache(host: FakeHost, cpu: int, **files: object) -> None:
    """The first-level caches of one CPU, the one for data first."""
    for index, kind in enumerate(("Data", "Instruction")):
        place = f"{CPUS}/cpu{cpu}/cache/index{index}"
        host.write(f"{place}/level", 1)
        host.write(f"{place}/type", kind)
        for name, value in files.items():
            host.write(f"{place}/{name}", value)


def graviton2(root: Path) -> FakeHost:
    """Amazon EC2 m6g.xlarge: no driver for frequencies, firmware with SMBIOS."""
    host = FakeHost(root)
    host.write("proc/cpuinfo", arm(*[(0x41, 0xD0C, 3, 1)] * 4))
    cpus(host, 4)
    code_cache(host, 0, coherency_line_size=64, number_of_sets=256, ways_of_associativity=4, size="64K")
    host.write("sys/class/dmi/id/sys_vendor", "Amazon EC2")
    host.write("sys/class/dmi/id/product_name", "m6g.xlarge")
    host.write(f"{UNITS}/armv8_pmuv3_0/cpus", "0-3")
    return host


def altra(root: Path) -> FakeHost:
    """An Ampere Altra server with 80 cores, by itself; counters of the mesh beside those of cores."""
    host = FakeHost(root)
    host.write("proc/cpuinfo", arm(*[(0x41, 0xD0C, 3, 1)] * 80))
    cpus(host, 80, cpufreq__cpuinfo_max_freq=3_000_000, cpufreq__scaling_governor="schedutil")
    code_cache(host, 0, coherency_line_size=64, number_of_sets=256, ways_of_associativity=4, size="64K")
    host.write(f"{CPUS}/cpu0/cpufreq/scaling_driver", "cppc_cpufreq")
    host.write("sys/class/dmi/id/sys_vendor", "GIGABYTE")
    host.write("sys/class/dmi/id/product_name", "R272-P30-JG")
    host.write(f"{UNITS}/armv8_pmuv3_0/cpus", "0-79")
    host.write(f"{UNITS}/arm_cmn_0/cpumask", "0")
    return host


def apple_m1(root: Path) -> FakeHost:
    """A Mac mini under Asahi Linux: two kinds of cores with a PMU each, a device tree, pages of 16 KiB."""
    host = FakeHost(root)
    host.write("proc/cpuinfo", arm(*[(0x61, 0x022, 1, 1)] * 4, *[(0x61, 0x023, 1, 1)] * 4))
    cpus(
        host,
        8,
        cpu_capacity=lambda cpu: 459 if cpu < 4 else 1024,
        cpufreq__cpuinfo_max_freq=lambda cpu: 2_064_000 if cpu < 4 else 3_204_000,
        cpufreq__scaling_governor="schedutil",
    )
    code_cache(host, 4, size="192K")
    host.write(f"{CPUS}/cpu0/cpufreq/scaling_driver", "apple-cpufreq")
    host.write(f"{CPUS}/cpufreq/boost", 1)
    host.write(f"{TREE}/model", "Apple Mac mini (M1, 2020)\0")
    host.write(f"{TREE}/compatible", "apple,j274\0apple,t8103\0apple,arm-platform\0")
    host.write(f"{UNITS}/apple_icestorm_pmu/cpus", "0-3")
    host.write(f"{UNITS}/apple_firestorm_pmu/cpus", "4-7")
    host.write("sys/class/hwmon/hwmon0/name", "macsmc_hwmon")
    return host


def raspberry_pi4(root: Path) -> FakeHost:
    """A Raspberry Pi 4: what board it is stands at the end of /proc/cpuinfo."""
    host = FakeHost(root)
    end = "Revision\t: c03115\nSerial\t\t: 10000000deadbeef\nModel\t\t: Raspberry Pi 4 Model B Rev 1.5"
    host.write("proc/cpuinfo", arm(*[(0x41, 0xD08, 0, 3)] * 4, end=end))
    cpus(
        host,
        4,
        cpu_capacity=1024,
        cpufreq__cpuinfo_max_freq=1_800_000,
        cpufreq__scaling_governor="ondemand",
        cpufreq__stats__time_in_state="600000 900\n1800000 100",
    )
    code_cache(host, 0, coherency_line_size=64, number_of_sets=256, ways_of_associativity=3, size="48K")
    host.write(f"{CPUS}/cpu0/cpufreq/scaling_driver", "cpufreq-dt")
    host.write(f"{TREE}/model", "Raspberry Pi 4 Model B Rev 1.5\0")
    host.write(f"{UNITS}/armv8_cortex_a72/cpus", "0-3")
    host.write("sys/class/thermal/thermal_zone0/type", "cpu-thermal")
    host.write("sys/class/thermal/thermal_zone0/temp", 48_200)
    return host


def visionfive2(root: Path) -> FakeHost:
    """A StarFive VisionFive 2: RISC-V, whose harts are numbered otherwise than CPUs."""
    host = FakeHost(root)
    blocks = [
        f"processor\t: {cpu}\nhart\t\t: {cpu + 1}\nisa\t\t: rv64imafdc_zicntr_zicsr_zifencei_zihpm_zba_zbb\n"
        "mmu\t\t: sv39\nuarch\t\t: sifive,u74-mc\nmvendorid\t: 0x489\nmarchid\t\t: 0x8000000000000007\n"
        "mimpid\t\t: 0x4210427\n"
        for cpu in range(4)
    ]
    host.write("proc/cpuinfo", "\n".join(blocks))
    cpus(host, 4, cpufreq__cpuinfo_max_freq=1_500_000, cpufreq__scaling_governor="performance")
    code_cache(host, 0, coherency_line_size=64, number_of_sets=64, ways_of_associativity=8, size="32K")
    host.write(f"{CPUS}/cpu0/cpufreq/scaling_driver", "cpufreq-dt")
    host.write(f"{TREE}/model", "StarFive VisionFive 2 v1.3B\0")
    host.write(f"{UNITS}/cpu/type", 4)
    host.write("sys/class/hwmon/hwmon0/name", "sfctemp")
    host.write("sys/class/hwmon/hwmon0/temp1_input", 55_000)
    return host


def rk3399(root: Path) -> FakeHost:
    """A board with the slow cores first, as most of them, and zones of temperature by cluster."""
    host = FakeHost(root)
    host.write("proc/cpuinfo", arm(*[(0x41, 0xD03, 0, 4)] * 4, *[(0x41, 0xD08, 0, 2)] * 2))
    cpus(host, 6, cpu_capacity=lambda cpu: 485 if cpu < 4 else 1024, cpufreq__scaling_governor="schedutil")
    host.write(f"{TREE}/model", "Pine64 RockPro64 v2.1\0")
    host.write(f"{UNITS}/armv8_cortex_a53/cpus", "0-3")
    host.write(f"{UNITS}/armv8_cortex_a72/cpus", "4-5")
    host.write("sys/class/thermal/thermal_zone0/type", "gpu-thermal")
    host.write("sys/class/thermal/thermal_zone0/temp", 40_000)
    host.write("sys/class/thermal/thermal_zone1/type", "cpu-thermal")
    host.write("sys/class/thermal/thermal_zone1/temp", 45_000)
    return host


def qemu_virt(root: Path) -> FakeHost:
    """A virtual machine for Arm by qemu, with a device tree."""
    host = FakeHost(root)
    host.write("proc/cpuinfo", arm(*[(0x41, 0xD07, 1, 0)] * 2))
    cpus(host, 2)
    host.write(f"{TREE}/compatible", "linux,dummy-virt\0")
    host.write(f"{UNITS}/armv8_pmuv3/cpus", "0-1")
    return host


def hybrid_x86(root: Path) -> FakeHost:
    """An x86 processor with two kinds of cores, which have one model name."""
    host = FakeHost(root)
    lines = "model name\t: 12th Gen Intel(R) Core(TM) i5-12600K\nflags\t\t: fpu vme"
    host.write("proc/cpuinfo", "\n".join(f"processor\t: {cpu}\n{lines}\n" for cpu in range(6)))
    cpus(host, 6, cpufreq__cpuinfo_max_freq=lambda cpu: 4_900_000 if cpu < 4 else 3_600_000)
    code_cache(host, 0, coherency_line_size=64, number_of_sets=64, ways_of_associativity=8, size="32K")
    host.write("sys/devices/cpu_core/cpus", "0-3")
    host.write("sys/devices/cpu_atom/cpus", "4-5")
    host.write(f"{UNITS}/cpu_core/cpus", "0-3")
    host.write(f"{UNITS}/cpu_atom/cpus", "4-5")
    host.write(f"{UNITS}/uncore_imc_0/cpumask", "0")
    return host


Machine = Callable[[Path], FakeHost]
MACHINES: dict[str, Machine] = {
    made.__name__: made
    for made in (graviton2, altra, apple_m1, raspberry_pi4, visionfive2, rk3399, qemu_virt, hybrid_x86)
}
