"""Errata of processors that make code slower by where it lies, and which processors have them.

Intel, "Mitigations for Jump Conditional Code Erratum" (white paper 341810-001, November 2019), has the list of affected
processors, which is taken here as OpenJDK's source quotes it (`VM_Version::compute_has_intel_jcc_erratum`), compared in
part with dotnet/runtime #13795: the paper itself was not to be had.  The erratum is SKX102 in the specification update
of the first Xeon Scalable family (336065), and has other numbers in those of its kin.

Since a microcode update the cache of decoded instructions leaves out code with a jump that crosses, or ends at, a
multiple of 32 bytes.  Whether a machine has the update is not looked at: its times tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_JCC: Final = {
    0x4E: (3,),  # Skylake U, Y
    0x55: (4, 7),  # Skylake Server, D, W, X; Cascade Lake
    0x5E: (3,),  # Skylake H, S
    0x8E: (9, 10, 11, 12),  # Kaby Lake U, Y, Amber Lake Y, Coffee Lake U, Whiskey Lake U, Comet Lake U
    0x9E: (9, 10, 11, 13),  # Kaby Lake G, H, S, X, E3 v6; Coffee Lake H, S, E
    0xA6: (0,),  # Comet Lake U
    0xAE: (10,),  # Kaby Lake Refresh U
}
"""Model -> steppings, of Intel's family 6."""


def has_jcc_erratum(host_facts: Mapping[str, Any]) -> bool:
    """Whether the machine with these facts is one of Intel's list; False, too, where nothing is known of it."""
    told = host_facts.get("cpu_signature")
    if not isinstance(told, Mapping) or told.get("vendor") != "GenuineIntel" or told.get("family") != 6:
        return False
    model = told.get("model")
    return type(model) is int and told.get("stepping") in _JCC.get(model, ())
