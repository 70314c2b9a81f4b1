"""Whether this is a virtual machine: x86 says so among a CPU's features, others by their firmware's tables alone."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from layoutrand.platform.proc_files import text

_TREE: Final = "sys/firmware/devicetree/base"
_OF_TREES: Final = ("linux,dummy-virt", "riscv-virtio", "qemu,")
"""What qemu's machines for Arm and RISC-V are compatible with."""

_VENDORS: Final = (
    "QEMU",
    "KVM",
    "Amazon EC2",
    "Google",
    "VMware",
    "Xen",
    "innotek",
    "Parallels",
    "Alibaba Cloud",
    "Hetzner",
)
_PRODUCTS: Final = ("KVM Virtual Machine", "Virtual Machine", "Apple Virtualization", "OpenStack")
_BARE: Final = ".metal"
"""How Amazon's and others' instances end that are whole machines."""


def is_virtual(root: Path) -> bool:
    """False where nothing says so."""
    if " hypervisor" in (text(root / "proc/cpuinfo") or ""):
        return True
    if (root / _TREE / "hypervisor").exists() or any(
        name in (text(root / _TREE / "compatible") or "") for name in _OF_TREES
    ):
        return True
    vendor, product = (text(root / "sys/class/dmi/id" / name) or "" for name in ("sys_vendor", "product_name"))
    return (vendor.startswith(_VENDORS) or product.startswith(_PRODUCTS)) and _BARE not in product
