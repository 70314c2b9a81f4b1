"""What a mechanism makes more of in the processor, and which events of ``perf`` count that.

Names are those of the tables that perf brings for each processor (Linux, ``tools/perf/pmu-events``, compared in
November 2026 with those of Skylake, Alder Lake, Granite Rapids and Zen 1 to 5), so a name that a processor does not
have is one that perf cannot count there.  Each event has what one of it costs at most, in cycles: a front end delivers
4 operations a cycle or more, so an empty slot is a quarter of one at most; of the others it is twice and more what
Fog, "The microarchitecture of Intel, AMD and VIA CPUs", has for the slowest of these processors.  That is an upper
bound on purpose: what is ruled out by it would be ruled out by any smaller one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

CYCLES: Final = "cycles:u"


@dataclass(frozen=True)
class Event:
    """``name`` as perf has it, in user mode, and the cycles that one costs at most."""

    name: str
    at_most: float

    @property
    def word(self) -> str:
        """Its name for people."""
        return self.name.removesuffix(":u")


@dataclass(frozen=True)
class Consequence:
    """What a mechanism makes more of, in ``words``, and the ``events`` that count it, the best first."""

    words: str
    events: tuple[Event, ...]


_FRONT_END: Final = Consequence(
    "places for operations that the front end leaves empty",
    (
        Event("idq_uops_not_delivered.core:u", 1 / 4),  # Intel, Sandy Bridge to Sapphire Rapids
        Event("idq_bubbles.core:u", 1 / 6),  # Intel, later ones
        Event("de_no_dispatch_per_slot.no_ops_from_frontend:u", 1 / 6),  # AMD, Zen 4 and later
        Event("de_dis_uop_queue_empty_di0:u", 1),  # AMD, Zen 1 to 3; counts cycles
        Event("stall_frontend:u", 1),  # Arm; counts cycles
    ),
)
_DECODED: Final = Consequence(
    "operations that are decoded anew instead of taken from the cache of decoded ones",
    (Event("idq.mite_uops:u", 2),),  # Intel alone has the erratum
)
_CACHE: Final = Consequence(
    "misses of the first instruction cache",
    (
        Event("frontend_retired.l1i_miss:u", 60),  # Intel, Skylake and later
        Event("ic_tag_hit_miss.instruction_cache_miss:u", 60),  # AMD, Zen 3 and later
        Event("l1i_cache_refill:u", 60),  # Arm
        Event("L1-icache-load-misses:u", 60),  # what the kernel takes for it elsewhere
    ),
)
_TLB: Final = Consequence(
    "misses of the first instruction TLB",
    (
        Event("itlb_misses.stlb_hit:u", 30),  # Intel
        Event("bp_l1_tlb_miss_l2_tlb_hit:u", 30),  # AMD, Zen 2 and later
        Event("bp_l1_tlb_miss_l2_hit:u", 30),  # AMD, Zen 1
        Event("l1i_tlb_refill:u", 60),  # Arm
    ),
)
_BRANCHES: Final = Consequence("branches that were foreseen wrongly", (Event("branch-misses:u", 40),))
_ALIASED: Final = Consequence(
    "loads that wait for a store to another address",
    (
        Event("ld_blocks_partial.address_alias:u", 40),  # Intel
        Event("ls_bad_status2.stli_other:u", 60),  # AMD
    ),
)
_SPLIT: Final = Consequence(
    "loads that cross the end of a line",
    (
        Event("mem_inst_retired.split_loads:u", 40),  # Intel, Skylake and later
        Event("ls_misal_loads.ma64:u", 40),  # AMD, Zen 3 and later
        Event("ls_misal_accesses:u", 40),  # AMD, Zen 1 and 2
        Event("unaligned_ld_spec:u", 40),  # Arm
    ),
)
_DATA_CACHE: Final = Consequence(
    "misses of the first data cache",
    (
        Event("mem_load_retired.l1_miss:u", 400),  # Intel, Skylake and later; as far as memory
        Event("L1-dcache-load-misses:u", 400),  # what the kernel takes for it elsewhere
    ),
)
_DATA_TLB: Final = Consequence("misses of the first data TLB", (Event("dTLB-load-misses:u", 400),))

CONSEQUENCES: Final = {
    "line": _FRONT_END,
    "window": _FRONT_END,
    "jcc": _DECODED,
    "fetch": _FRONT_END,
    "page": _FRONT_END,
    "sets": _CACHE,
    "itlb": _TLB,
    "aliasing": _BRANCHES,
    "data-split": _SPLIT,
    "data-line": _DATA_CACHE,
    "data-page": _DATA_TLB,
    "data-sets": _DATA_CACHE,
    "store-load": _ALIASED,
}
"""By mechanism."""
