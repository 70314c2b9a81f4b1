"""What HotSpot logs of its heap and of the classes that it loads, and what it says of its options."""

from __future__ import annotations

import re
from typing import Final

from layoutrand.config.jdk import JvmFacts

_HEAP: Final = re.compile(r"^Heap address: (0x[0-9a-f]+), size: .*?Compressed Oops mode: ([^,]+)", re.MULTILINE)
_LOADED: Final = re.compile(r"^(\S+) source: shared objects file(?: \(top\))?\n klass: (0x[0-9a-f]+)", re.MULTILINE)
_FLAG: Final = re.compile(r"^\s*\w+ (StressLCM|StressGCM|StressSeed)\s+:?= (\S+)", re.MULTILINE)


def jvm_facts(log: str, printed: str) -> JvmFacts:
    """Read the file of ``-Xlog:gc+heap+coops=debug,class+load=debug`` without decorations, and PrintFlagsFinal."""
    heap = _HEAP.search(log)
    return JvmFacts(
        classes={name: int(address, 16) for name, address in _LOADED.findall(log)},
        heap_address=int(heap[1], 16) if heap else None,
        heap_mode=heap[2].strip() if heap else "",
        flags=dict(_FLAG.findall(printed)),
    )
