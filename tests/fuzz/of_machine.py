"""What the operating system and its tools say: files of /proc and /sys, git, Slurm, a JVM; and the record of changes."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

from fuzz.target import Target, fixed, of_bytes, of_text
from layoutrand.capture.submodules import joined
from layoutrand.config.conditions import Conditions
from layoutrand.engines.slurm_tokens import TokenJournal
from layoutrand.engines.squeue import advice, parse_queue
from layoutrand.execute.memory_placement import is_static, read_records
from layoutrand.execute.text_pages import read_segments
from layoutrand.host import binfmt, facts
from layoutrand.host.huge_pages import huge_page_bytes, listed_huge, no_huge_pages
from layoutrand.host.instruction_tlb import told_by
from layoutrand.host.pinning import read_topology
from layoutrand.host.processors import foreign
from layoutrand.host.undo_record import find_record
from layoutrand.host.watch import HostWatch
from layoutrand.jvm.start import jvm_facts
from layoutrand.platform import git_command, proc_files
from layoutrand.platform.cpuid import cpuid
from layoutrand.platform.disk import is_cache, tail
from layoutrand.platform.foreign import read_text
from layoutrand.platform.packages import apt_command

PROC_STAT = "cpu  100 0 0 123456 99 0 0 3 0 0\ncpu0 60 0 0 123456 99 0 0 3 0 0\ncpu1 40 0 0 99 9 0 0 0 0 0\nctxt 4711\nbtime 1795295111\n"
PROCESS = "7 (a name) ) S 1 1 1 0 -1 4194560 0 0 0 0 100 0 3 0 20 0 1 0 555 0 0\n"
VMSTAT = "pswpin 5\npswpout 7\nnr_free_pages 1\n"
PRESSURE = "some avg10=0.00 avg60=0.00 avg300=0.00 total=123456\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n"
MEMINFO = "MemTotal: 8000 kB\nMemFree: 100 kB\nMemAvailable: 50 kB\nSwapTotal: 100 kB\nSwapFree: 50 kB\n"
ARM = (
    "processor : 0\nCPU implementer : 0x41\nCPU variant : 0x3\nCPU part : 0xd0c\nCPU revision : 1\n\nModel : A board\n"
)
CPUINFO = "processor\t: 0\nmodel name\t: A processor\nflags\t\t: fpu hypervisor\n"
SEVERAL = (
    PROC_STAT,
    PROCESS,
    VMSTAT,
    PRESSURE,
    MEMINFO,
    CPUINFO,
    ARM,
    "0-1\n",
    "1500000\n",
    "coretemp\n",
    "0.50 0.1 0.1 1/100 4711\n",
)
READ = (
    "proc/stat",
    "proc/1/stat",
    "proc/7/stat",
    "proc/vmstat",
    "proc/pressure/cpu",
    "proc/meminfo",
    "proc/cpuinfo",
    "proc/loadavg",
    "proc/sys/kernel/randomize_va_space",
    "proc/sys/kernel/random/boot_id",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/isolated",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq",
    "sys/devices/system/cpu/cpu0/cpufreq/stats/time_in_state",
    "sys/devices/system/cpu/cpu0/cpu_capacity",
    "sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
    "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count",
    "sys/devices/system/cpu/cpu0/acpi_cppc/highest_perf",
    "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq",
    "sys/devices/system/cpu/smt/active",
    "sys/class/hwmon/hwmon0/name",
    "sys/class/hwmon/hwmon0/temp1_input",
    "sys/class/power_supply/BAT/type",
    "sys/class/power_supply/BAT/status",
    "sys/devices/system/cpu/cpu0/cache/index0/level",
    "sys/devices/system/cpu/cpu0/cache/index0/type",
    "sys/devices/system/cpu/cpu0/cache/index0/number_of_sets",
    "dev/cpu/0/cpuid",
    "sys/devices/cpu_core/cpus",
    "sys/kernel/mm/transparent_hugepage/enabled",
    "sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
    "sys/devices/cpu_atom/cpus",
    "sys/firmware/devicetree/base/model",
    "sys/class/dmi/id/sys_vendor",
    "etc/os-release",
)
OS_RELEASE = 'ID=debian\nVERSION_CODENAME=bookworm\nPRETTY_NAME="Debian \\"12\\""\n'
UNDO = {
    "schema": "layoutrand/undo/1",
    "boot_id": "b",
    "pid": 4711,
    "started": 5,
    "keep": False,
    "changes": [{"path": "sys/devices/system/cpu/intel_pstate/no_turbo", "before": "0", "after": "1"}],
}
SQUEUE = "4711_1|PD|(Priority)|node\n4712|R|None|node1\n"
JVM_LOG = """\
Heap address: 0x0000000080000000, size: 2048 MB, Compressed Oops mode: 32-bit
java.lang.Object source: shared objects file
 klass: 0x0000000800001000 super: 0x0
"""


def _machine(data: bytes, place: Path) -> None:
    """A machine all of whose files hold the same."""
    for name in READ:
        file = place / "root" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    root = place / "root"
    facts.host_facts(root)
    facts.host_settings(root)
    facts.host_state(root)
    huge_page_bytes(root)
    no_huge_pages(root)
    read_topology(root / "sys/devices/system/cpu")
    watch = HostWatch(root, cpus=(0, 1))
    watch.state(watch.before(), (0,))
    watch.culprits()
    proc_files.process_stat(root / "proc", 7)
    apt_command(["ld.lld-19"], root)


def _undo(data: bytes, place: Path) -> None:
    file = place / "undo.json"
    file.write_bytes(data)
    file.chmod(0o644)
    found = find_record([file])
    if found is not None:
        found[1].is_orphaned()


def _token(data: bytes, place: Path) -> None:
    (place / "ab12").write_bytes(data)
    TokenJournal(place).jobs("ab")


def _queue(text: str) -> None:
    for queued in parse_queue(text).values():
        advice(queued)


def _foreign(data: bytes, place: Path) -> None:
    file = place / "file"
    file.write_bytes(data)
    read_text(str(file))


def _log(data: bytes, place: Path) -> None:
    file = place / "log"
    file.write_bytes(data)
    tail(file, 3)
    (place / "CACHEDIR.TAG").write_bytes(data)
    is_cache(place)


def _git_names(data: bytes) -> None:
    for name in git_command.names(data):
        joined("https://host/a/b.git", name)


def _given(name: str) -> bytes:
    return json.dumps(UNDO | {"pid": os.getpid(), "boot_id": name}).encode()


def _memory(data: bytes) -> None:
    for record in read_records(data):
        record.unproved(Conditions(heap_offset=4096, mmap_offset=4096, hugepages="text"))
        record.text.sizes()


def _handler(data: bytes, place: Path) -> None:
    folder = place / "proc/sys/fs/binfmt_misc"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "status").write_text("enabled\n")
    (folder / "one").write_bytes(data)
    binfmt.handler(OTHER, place)


def _cpuid(data: bytes, place: Path) -> None:
    file = place / "dev/cpu/0/cpuid"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    told_by(lambda leaf, subleaf: cpuid(leaf % 40, subleaf, root=place))


def _segments(data: bytes, place: Path) -> None:
    file = place / "program"
    file.write_bytes(data)
    if (found := read_segments(file)) is not None:
        found.obstacle(2 << 20)


def _static(data: bytes, place: Path) -> None:
    file = place / "program"
    file.write_bytes(data)
    is_static(file, is_started=True)


PROGRAM = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\2\0\x3e\0" + bytes(44)
OTHER = PROGRAM[:18] + b"\xb7\0" + PROGRAM[20:]
HANDLER = "enabled\ninterpreter /usr/bin/qemu\nflags: OC\noffset 0\nmagic 7f454c46\nmask ffffffff\n"
MAPS = b"55d0-55d1 rw-p 00000000 00:00 0    [heap]\n7f00-7f10 ---p 00000000 00:00 0\n7f10-7f20 r-xp 0 fe:00 5  /lib/a b.so\n"
MEMORY = (
    b"0555555600000-555555601000 r-xp 00200000 fe:00 7 /bin/a\n\0"
    + b"".join(b"%016x\0" % number for number in (7, 0x55D0, 0x65D0, 0x8000, 0x7000, 0x7F00, 0))
    + b"/bin/a\0"
    + MAPS
    + b"\0m555555600000-555555800000 r-xp 00000000 00:00 0\nhAnonHugePages:      2048 kB\n\0"
)
LEAVES = struct.pack("<4I", 24, *struct.unpack("<3I", b"GenuntelineI")) + struct.pack("<8I", 0, 0, 0, 0, 1, 0xB5, 0, 0)
SMAPS = "10000-20000 r-xp 00000000 00:00 0\nSize: 64 kB\nAnonHugePages:      2048 kB\n"
SEGMENTS = struct.pack("<16sH14xQ14xHH8x", b"\x7fELF\x02\x01\x01", 3, 64, 56, 2) + b"".join(
    struct.pack("<IIQQQQQQ", 1, rights, 0, at, at, 4096, 4096, 2 << 20) for rights, at in ((5, 2 << 20), (6, 4 << 20))
)

TARGETS = (
    Target("files of proc and sys", _machine, fixed(*SEVERAL, OS_RELEASE), cost=10, may_start=True),
    Target("undo record", _undo, lambda: (_given("x"),), "json", cost=2),
    Target("where memory was moved", of_bytes(_memory), fixed(MEMORY)),
    Target("a program that may be static", _static, fixed(PROGRAM), cost=2),
    Target("leaves of CPUID", _cpuid, fixed(LEAVES), cost=2),
    Target("segments of a program", _segments, fixed(SEGMENTS), cost=2),
    Target("mappings with huge pages", of_text(lambda text: listed_huge(text, 4096)), fixed(SMAPS)),
    Target("a program of another machine", of_bytes(lambda data: foreign(data, "riscv64")), fixed(PROGRAM, OTHER)),
    Target("handler of binfmt_misc", _handler, fixed(HANDLER), cost=2),
    Target("squeue", of_text(_queue), fixed(SQUEUE)),
    Target("token of a job", _token, fixed("4711\n"), cost=2),
    Target("JVM's log", of_text(lambda text: jvm_facts(text, "   bool StressLCM = true\n" + text)), fixed(JVM_LOG)),
    Target("names that git prints", of_bytes(_git_names), fixed("../x.git\0a b\0./c\0")),
    Target("file of others", _foreign, fixed("text\n"), cost=5),
    Target("log of a build", _log, fixed("a\nb\n")),
)
