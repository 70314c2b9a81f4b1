"""Factors of a JDK that is taken as it is: what a seed means, the options that express it, and whether it took effect.

Nothing of the virtual machine's own code moves here; that takes a build of it.  What can be placed from outside:

- ``cds-order``: the metadata of the JDK's classes, in an archive (class data sharing) dumped from its list of classes
  in another order.  HotSpot lays the archive out by the addresses that names of classes happened to get, so the order
  of the list decides much of the order of the archive, not all of it;
- ``heap-base``: where the Java heap begins;
- ``jit-stress``: the seed by which the C2 compiler takes its free choices of scheduling.  It changes the generated
  code and not only where it lies, and therefore goes with no other factor.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from layoutrand.layout.keyed import keyed_order, keyed_uniform
from layoutrand.model import LayoutName

CDS_ORDER: Final = "cds-order"
HEAP_BASE: Final = "heap-base"
JIT_STRESS: Final = "jit-stress"
JDK_FACTORS: Final = (CDS_ORDER, HEAP_BASE, JIT_STRESS)

LOWEST_HEAP: Final = 8 << 30
HEAP_STEP: Final = 2 << 20
HEAP_PLACES: Final = 4096
"""From 8 to 16 GiB in steps of 2 MiB: compressed references have one form there, so code is the same."""

LARGEST_HEAP: Final = 16 << 30
"""With which each of these places is below the 32 GiB that this form reaches to."""

OLDEST: Final = 17
"""The first version whose memory can be placed from outside."""

LARGEST_ALIGNMENT: Final = 32 << 20
"""To which collectors align a heap at most (G1); others to 2 MiB."""

ZERO_BASED: Final = "Zero based"
"""What HotSpot calls that form, which it takes up to 32 GiB less the size of the heap."""

OWN_FILE: Final = "layout.jsa"
"""What an execution has beside the artefacts: the archive, or where none is needed a note of the options."""

_HEAP: Final = re.compile(r"-(?:Xmx|XX:MaxHeapSize=)(\d{1,15})([kmgtKMGT]?)$")
_HEAP_ITSELF: Final = re.compile(r"-XX:(HeapBaseMinAddress=|\+UseZGC$|-UseCompressed|ObjectAlignmentInBytes=|MaxRAM)")
_ARCHIVE_ITSELF: Final = re.compile(
    r"-Xshare:|--(limit-modules|patch-module|upgrade-module-path)\b|-XX:(SharedArchiveFile|AOT\w+)="
)
"""Options that say themselves what a factor places, or with which it cannot be placed."""

_FORM: Final = re.compile(
    r"^\s*\w+ (ObjectAlignmentInBytes|UseCompactObjectHeaders|UseCompressed(?:ClassPointers|Oops))\s+:?= (\S+)",
    re.MULTILINE,
)
"""What an archive of classes and the JVM that maps it must agree in; collector, heap and memory decide it, too."""

_UNLOCK: Final = "-XX:+UnlockDiagnosticVMOptions"
_IN_A_WORD: Final = re.compile(r"-(jar|m|-module|XX:Flags|XX:VMOptionsFile)(=|$)")
_WITH_VALUE: Final = frozenset(
    {
        *("-cp", "-classpath", "--class-path", "-p", "--module-path", "--upgrade-module-path"),
        *("--add-modules", "--limit-modules", "--add-exports", "--add-opens", "--add-reads", "--patch-module"),
        *("--enable-native-access", "--source"),
    }
)
"""Options whose value may be the next word (``java.c`` of the launcher: IsClassPathOption, IsModuleOption)."""


@dataclass(frozen=True)
class JvmFacts:
    """What a JVM said of itself.

    ``classes`` has the address of each class that came from the archive, ``heap_address`` is where the heap begins
    (None where it was not told) with the ``heap_mode`` of compressed references, and ``flags`` are values of options.
    """

    classes: Mapping[str, int] = field(default_factory=dict)
    heap_address: int | None = None
    heap_mode: str = ""
    flags: Mapping[str, str] = field(default_factory=dict)

    def digest(self) -> str:
        """SHA-256 of all of it."""
        facts = [sorted(self.classes.items()), self.heap_address, self.heap_mode, sorted(self.flags.items())]
        return hashlib.sha256(json.dumps(facts, separators=(",", ":")).encode()).hexdigest()


def factors_of_a_jdk(factors: Sequence[str]) -> tuple[str, ...]:
    """Those of the factors that are of a JDK, in a fixed order."""
    return tuple(factor for factor in JDK_FACTORS if factor in factors)


def possible_factors(version: int, options: Sequence[str], memory: int) -> tuple[str, ...]:
    """What a seed can place of a JVM of this version with these options, on a machine with so many bytes of memory.

    Raises nothing: what turns out not to be placed all the same is refused when it is proved.
    """
    if version < OLDEST:
        return ()
    said = [found for found in map(_HEAP.match, options) if found]
    # Where nobody says how large the heap may become, it is a quarter of the memory.
    heap = int(said[-1][1]) << 10 * " kmgt".index(said[-1][2].lower() or " ") if said else memory // 4
    factors = () if any(map(_ARCHIVE_ITSELF.match, options)) else (CDS_ORDER,)
    is_free = heap <= LARGEST_HEAP and not any(map(_HEAP_ITSELF.match, options))
    return (*factors, HEAP_BASE) if is_free else factors


def ordered_class_list(lines: Sequence[str], layout: LayoutName) -> list[str]:
    """A JDK's list of classes in the order of a layout; identity has the JDK's own.

    Comments stay in front.  Lines that build on others (``@lambda-proxy``, classes with a ``super:``) come last, in
    their own order.
    """
    comments = [line for line in lines if line.startswith("#")]
    bound = [line for line in lines if line.startswith("@") or " super:" in line]
    plain = [line for line in lines if line.strip() and not line.startswith(("#", "@")) and " super:" not in line]
    if isinstance(layout, int):
        plain = [plain[place] for place in keyed_order(layout, CDS_ORDER, [line.encode() for line in plain])]
    return [*comments, *plain, *bound]


def heap_base(layout: LayoutName) -> int:
    """Where the heap of a layout is to begin, in bytes; identity's at the lowest place.

    Seeds that are equal modulo `HEAP_PLACES` share a place, all others have places of their own.
    """
    return LOWEST_HEAP + HEAP_STEP * (_places()[layout % HEAP_PLACES] if isinstance(layout, int) else 0)


@functools.cache
def _places() -> tuple[int, ...]:
    return tuple(keyed_order(0, HEAP_BASE, [place.to_bytes(2, "big") for place in range(HEAP_PLACES)]))


def stress_seed(layout: LayoutName) -> int:
    """What the compiler is seeded with, 1 to 2^32 - 1; 0 for identity, which does without."""
    return 1 + keyed_uniform(layout, JIT_STRESS, b"", 2**32 - 1) if isinstance(layout, int) else 0


def options(factors: Sequence[str], layout: LayoutName, archive: str) -> tuple[str, ...]:
    """The words that have a JVM take this layout: as many, and each as long, whatever the seed.

    ``archive`` is where its archive of classes lies.
    """
    words = [_UNLOCK]
    if CDS_ORDER in factors:
        # Mapped where it was dumped for, or not started at all: never relocated at random, never done without.
        words += ["-XX:ArchiveRelocationMode=0", "-Xshare:on", f"-XX:SharedArchiveFile={archive}"]
    if HEAP_BASE in factors:
        words.append(f"-XX:HeapBaseMinAddress=0x{heap_base(layout):016x}")
    if JIT_STRESS in factors:
        sign = "+" if isinstance(layout, int) else "-"
        words += [f"-XX:{sign}StressLCM", f"-XX:{sign}StressGCM", f"-XX:StressSeed={stress_seed(layout):010d}"]
    return tuple(words)


def archive_form(printed: str) -> tuple[str, ...]:
    """The words that have a dump write what a JVM can map that printed this (PrintFlagsFinal)."""
    sign = {"true": "+", "false": "-"}
    return tuple(
        f"-XX:{sign[value]}{name}" if value in sign else f"-XX:{name}={value}" for name, value in _FORM.findall(printed)
    )


def log_options(log: str) -> tuple[str, ...]:
    """The words that have a JVM write what `layoutrand.jvm.start` reads: to the file ``log``, and its output."""
    return (f"-Xlog:gc+heap+coops=debug,class+load=debug:file={log}:none:filecount=0", "-XX:+PrintFlagsFinal")


def words_of_the_jvm(argv: Sequence[str], java: str) -> tuple[str, ...]:
    """What a command gives the JVM ``java`` before it says which program to execute; none where it starts another."""
    if java not in argv:
        return ()
    words: list[str] = []
    rest = iter(argv[list(argv).index(java) + 1 :])
    for word in rest:
        if not word.startswith("-") or _IN_A_WORD.match(word):
            break
        words.append(word)
        if word in _WITH_VALUE:
            words.append(next(rest, ""))
    return tuple(words)


def not_as_asked(factors: Sequence[str], layout: LayoutName, facts: JvmFacts) -> list[str]:
    """What a JVM with the options of the layout did otherwise, one sentence each with what to do."""
    wrong = []
    if CDS_ORDER in factors and not facts.classes:
        wrong.append(f"no class came from the archive dumped for {CDS_ORDER}; is there another -Xshare in the options?")
    if HEAP_BASE in factors:
        wrong += _heap_elsewhere(heap_base(layout), facts)
    if JIT_STRESS in factors and isinstance(layout, int):
        wanted = {"StressSeed": str(stress_seed(layout)), "StressLCM": "true", "StressGCM": "true"}
        wrong += [
            f"its {name} is {facts.flags.get(name, 'not known to it')} and not {value}, which {JIT_STRESS} asks for"
            for name, value in wanted.items()
            if facts.flags.get(name) != value
        ]
    return wrong


def _heap_elsewhere(wanted: int, facts: JvmFacts) -> list[str]:
    if facts.heap_address is None:
        return [
            f"it does not say where its heap begins, so {HEAP_BASE} cannot be verified; ZGC, and heaps of 32 GiB or "
            "more, have no compressed references and take no base: choose another collector, or a smaller -Xmx, or "
            f"leave {HEAP_BASE} out of layout.factors, for all systems"
        ]
    if not wanted <= facts.heap_address < wanted + LARGEST_ALIGNMENT:
        return [
            f"its heap begins at {facts.heap_address:#x} and not at {wanted:#x}; give a smaller heap (-Xmx), and no "
            "-XX:HeapBaseMinAddress of your own"
        ]
    if facts.heap_mode != ZERO_BASED:
        return [
            f"its compressed references are {facts.heap_mode!r} and not {ZERO_BASED!r}, so that its code would differ "
            "between layouts and not only its place; give a heap of at most 16 GiB (-Xmx16g)"
        ]
    return []


def moved_classes(first: JvmFacts, second: JvmFacts) -> int:
    """How many of the classes that two JVMs have in common lie at different addresses."""
    return sum(second.classes.get(name, address) != address for name, address in first.classes.items())
