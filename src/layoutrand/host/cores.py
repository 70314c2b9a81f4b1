"""What kinds of cores a machine has: by /proc/cpuinfo, whose lines are other ones on each architecture.

On x86 they name the model; on Arm there are numbers of who designed a core and of what it is (those of MIDR_EL1, as the
Arm architecture and the kernel's arch/arm64/include/asm/cputype.h list them), for each CPU its own; on RISC-V there is
a name of the core.  What machine it is stands at the end there, or in the device tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import Any, Final

from layoutrand.config.topology import format_cpus, parse_cpus
from layoutrand.platform.proc_files import text
from layoutrand.text.digits import whole_number

_MOST_CPUS: Final = 1 << 16
_DESIGNERS: Final = {
    0x41: "Arm",
    0x42: "Broadcom",
    0x43: "Cavium",
    0x46: "Fujitsu",
    0x48: "HiSilicon",
    0x4E: "NVIDIA",
    0x50: "Applied Micro",
    0x51: "Qualcomm",
    0x61: "Apple",
    0x6D: "Microsoft",
    0x70: "Phytium",
    0xC0: "Ampere",
}
_PARTS: Final = {
    "Arm": {
        0xD03: "Cortex-A53",
        0xD04: "Cortex-A35",
        0xD05: "Cortex-A55",
        0xD07: "Cortex-A57",
        0xD08: "Cortex-A72",
        0xD09: "Cortex-A73",
        0xD0A: "Cortex-A75",
        0xD0B: "Cortex-A76",
        0xD0C: "Neoverse-N1",
        0xD0D: "Cortex-A77",
        0xD40: "Neoverse-V1",
        0xD41: "Cortex-A78",
        0xD42: "Cortex-A78AE",
        0xD44: "Cortex-X1",
        0xD46: "Cortex-A510",
        0xD47: "Cortex-A710",
        0xD48: "Cortex-X2",
        0xD49: "Neoverse-N2",
        0xD4A: "Neoverse-E1",
        0xD4B: "Cortex-A78C",
        0xD4D: "Cortex-A715",
        0xD4E: "Cortex-X3",
        0xD4F: "Neoverse-V2",
        0xD80: "Cortex-A520",
        0xD81: "Cortex-A720",
        0xD82: "Cortex-X4",
        0xD84: "Neoverse-V3",
        0xD85: "Cortex-X925",
        0xD87: "Cortex-A725",
        0xD8E: "Neoverse-N3",
    },
    "Apple": {
        0x022: "M1 Icestorm",
        0x023: "M1 Firestorm",
        0x024: "M1 Pro Icestorm",
        0x025: "M1 Pro Firestorm",
        0x028: "M1 Max Icestorm",
        0x029: "M1 Max Firestorm",
        0x032: "M2 Blizzard",
        0x033: "M2 Avalanche",
        0x034: "M2 Pro Blizzard",
        0x035: "M2 Pro Avalanche",
        0x038: "M2 Max Blizzard",
        0x039: "M2 Max Avalanche",
    },
    "Ampere": {0xAC3: "AmpereOne", 0xAC4: "AmpereOne A"},
    "Cavium": {0x0AF: "ThunderX2"},
    "Fujitsu": {0x001: "A64FX"},
    "HiSilicon": {0xD01: "TaiShan v110"},
    "Microsoft": {0xD49: "Cobalt 100"},
    "Qualcomm": {0x001: "Oryon"},
}
_LARGEST: Final = 0xFFFF
_SIGNATURE: Final = {"family": "cpu family", "model": "model", "stepping": "stepping"}
_HYBRID: Final = ("cpu_core", "cpu_atom")
"""Of x86, where cores of both kinds have one model name, what counts events of each kind."""


def kinds_of_cores(root: Path) -> dict[str, str]:
    """The kinds of cores and which CPUs are of each, as a list of the kernel; empty where nothing is told."""
    found: dict[str, set[int]] = {}
    for cpu, lines in _blocks(text(root / "proc/cpuinfo") or ""):
        found.setdefault(_kind(lines), set()).add(cpu)
    units = {unit: parse_cpus(text(root / "sys/devices" / unit / "cpus") or "") for unit in _HYBRID}
    if all(units.values()):
        found = {f"{kind} ({unit})": cpus & own for kind, cpus in found.items() for unit, own in units.items()}
    return {kind: format_cpus(frozenset(cpus)) for kind, cpus in found.items() if kind}


def model(root: Path) -> str | None:
    """The processor for people: what the machine is, where that is told, and its kinds of cores with their numbers."""
    content = text(root / "proc/cpuinfo") or ""
    kinds = {kind: parse_cpus(cpus) for kind, cpus in kinds_of_cores(root).items()}
    names = dict.fromkeys(reduce(str.removesuffix, [f" ({unit})" for unit in _HYBRID], kind) for kind in kinds)
    words = next(iter(names), "")
    if len(names) > 1:
        words = " + ".join(f"{len(cpus)} {kind}" for kind, cpus in kinds.items())
    board = "" if "model name" in content else _board(root, content)
    return f"{board}: {words}" if board and words else board or words or None


def signature(root: Path) -> dict[str, Any] | None:
    """Vendor, family, model and stepping of an x86 processor, by which makers list errata; None of others."""
    for _, lines in _blocks(text(root / "proc/cpuinfo") or ""):
        numbers = {name: whole_number(lines.get(key, ""), _LARGEST) for name, key in _SIGNATURE.items()}
        if lines.get("vendor_id") and None not in numbers.values():
            return {"vendor": lines["vendor_id"], **numbers}
        return None
    return None


def _board(root: Path, content: str) -> str:
    for line in content.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "Model":
            return value.strip()
    return (text(root / "sys/firmware/devicetree/base/model") or "").strip("\0 ")


def _blocks(content: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Each CPU with its lines."""
    for block in content.split("\n\n"):
        lines = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in block.splitlines())}
        cpu = whole_number(lines.get("processor", ""), _MOST_CPUS)
        if cpu is not None:
            yield cpu, lines


def _kind(lines: Mapping[str, str]) -> str:
    """What one CPU is: a name, or who designed it and what it is."""
    named = next((lines[key] for key in ("model name", "uarch", "cpu") if lines.get(key)), "")
    if named or "CPU part" not in lines:
        return named
    numbers = [_number(lines.get(f"CPU {key}", "")) for key in ("implementer", "part", "variant", "revision")]
    if any(number < 0 for number in numbers):
        return ""
    designer, part, variant, revision = numbers
    who = _DESIGNERS.get(designer, f"designer {designer:#x}")
    return f"{who} {_PARTS.get(who, {}).get(part, f'part {part:#x}')} r{variant}p{revision}"


def _number(digits: str) -> int:
    """A decimal or, with 0x before it, a hexadecimal number; -1 for anything else."""
    try:
        number = int(digits, 16 if digits.startswith("0x") else 10)
    except ValueError:
        return -1
    return number if number <= _LARGEST else -1
