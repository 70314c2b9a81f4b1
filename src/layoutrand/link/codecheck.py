"""Prove that a linked binary is the identity binary with its sections in the order asked for, and nothing else.

Facts read off the binary and never off what the linker was told:

1. the unique symbols stand in the order asked for (`placed_order`);
2. every section's bytes equal identity's outside the fields of its relocations, hence the same instructions,
   addresses aside (`changed`);
3. every function and variable has the same size and lies at the same offset of the same section (`symbol_rows`,
   `labels.same_symbols`);
4. every other loaded output section has the size it has in identity (`other_sizes`);
5. where gaps were asked for, each section lies exactly where they put it (`first_wrong_gap`).

No disassembler is needed, and nothing that a disassembler would gloss over is skipped: padding inside a section and
constants between functions are compared too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutrand.errors import FeatureUnsupported, LayoutNotApplied
from layoutrand.link.labels import own_labels
from layoutrand.objects import elf
from layoutrand.objects.known import processor
from layoutrand.objects.processor import Processor
from layoutrand.objects.reading import Relocations, joined
from layoutrand.objects.unique_names import DIGITS, SYMBOL_PREFIX

_GAP = 64
_AT_ONCE = 4000
_STRETCH = 1 << 18  # bytes: what fits into a cache is compared faster than all at once, and needs no memory
_DEPENDS_ON_ADDRESSES = frozenset(
    {
        ".relro_padding",  # lld fills up to a page boundary
        ".relr.dyn",  # packed by neighbourhood of the addresses
    }
)
UNPADDED = frozenset({".init_array", ".fini_array", ".preinit_array", ".ctors", ".dtors"})
"""Output sections of one word per constructor: their sizes are the same in whatever order their pieces come.

Other sizes may differ by the padding between pieces where the pieces of all output sections move.
"""
_DECIMAL = 10
_PREFIX, _TAIL = np.dtype(f"u{len(SYMBOL_PREFIX)}"), np.dtype(f"u{DIGITS + 1}")  # of a name; digits and a NUL


def placed_addresses(binary: elf.Elf) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Capture index, address and output section of every section that carries a unique symbol, each shape (n,)."""
    return marked(binary)[:3]


def marked(binary: elf.Elf) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.intp]]:
    """As `placed_addresses`, and the row of that symbol in the table."""
    table = binary.symbol_table
    if table is None:
        empty = np.empty(0, np.int64)
        return empty, empty, empty, np.empty(0, np.intp)
    text = np.frombuffer(binary.content(int(binary.sections[table]["link"])) + bytes(32), np.uint8)
    at = binary.symbols["name"].astype(np.int64)
    which = np.flatnonzero(_words(text, _PREFIX)[at] == np.frombuffer(SYMBOL_PREFIX.encode(), _PREFIX))
    tail = _words(text, _TAIL)[at[which] + _PREFIX.itemsize].view(np.uint8).reshape(-1, _TAIL.itemsize)
    ours = (tail[:, :DIGITS] - ord("0") < _DECIMAL).all(axis=1) & (tail[:, DIGITS] == 0)  # not its own ".lr.x"
    ours &= binary.symbol_sections[which] != elf.SHN_UNDEF  # mold keeps the names of discarded copies
    which, digits = which[ours], (tail[ours, :DIGITS] - ord("0")).astype(np.int64)
    return (
        digits @ 10 ** np.arange(DIGITS - 1, -1, -1),
        binary.symbols["value"][which].astype(np.int64),
        binary.symbol_sections[which].astype(np.int64),
        which,
    )


def _words(text: NDArray[np.uint8], kind: np.dtype[Any]) -> NDArray[Any]:
    """Those that begin at each byte, shape (bytes,) less what a word takes beyond one."""
    return np.ndarray((len(text) - kind.itemsize + 1,), kind, text, strides=(1,))


def placed_order(number: NDArray[np.int64], address: NDArray[np.int64]) -> NDArray[np.int64]:
    """Capture indices by ascending address."""
    return number[np.argsort(address, kind="stable")]


@dataclass(frozen=True)
class Masks:
    """Per section ``size`` in memory and ``stored`` in the file (less for bss), both shape (n,); masks over the bytes.

    ``fixed`` has the bits that no link may write differently from another link, ``input_fixed`` those that must even
    equal the input object's (relaxable opcodes excepted); ``content`` is the input's bytes.  These three are
    concatenated in capture order, shape (sum of stored,).  ``relocations`` are those of all the sections; ``functions``
    and ``variables`` count symbols without a size (`labels.own_labels`), both shape (n,).
    """

    size: NDArray[np.int64]
    stored: NDArray[np.int64]
    content: NDArray[np.uint8]
    fixed: NDArray[np.uint8]
    input_fixed: NDArray[np.uint8]
    relocations: Relocations
    functions: NDArray[np.int64]
    variables: NDArray[np.int64]

    @property
    def start(self) -> NDArray[np.int64]:
        """Where each section's bytes begin in the concatenated ones, shape (n,)."""
        begin: NDArray[np.int64] = np.cumsum(self.stored) - self.stored
        return begin


def masks(inputs: Sequence[tuple[elf.Elf, int, str]]) -> Masks:
    """Masks of the sections ``(object, section header index, name for messages)`` in capture order.

    Raises `FeatureUnsupported` for another machine's code and for relocations that are not known.
    """
    machines = {source.machine: where for source, _, where in reversed(inputs)}
    known = [processor(machine, where) for machine, where in machines.items()]
    if len(known) > 1:
        raise FeatureUnsupported(f"{' and '.join(machines.values())} are for different processors")
    # A few thousand at a time, which is nearly as fast as all at once and needs a fraction of the memory.
    size = np.array([int(source.sections["size"][index]) for source, index, _ in inputs], np.int64)
    stored = np.array([len(source.view(index)) for source, index, _ in inputs], np.int64)
    total = int(stored.sum())
    content, fixed, input_fixed = (np.empty(total, np.uint8) for _ in range(3))
    labels = (own_labels(inputs, kind) for kind in (elf.STT_FUNC, elf.STT_OBJECT))
    whole = Masks(size, stored, content, fixed, input_fixed, _relocations(inputs), *labels)
    done = 0
    for at in range(0, len(inputs), _AT_ONCE):
        content, fixed, input_fixed = _masks(known[0], inputs[at : at + _AT_ONCE])
        span = slice(done, done + len(content))
        whole.content[span], whole.fixed[span], whole.input_fixed[span] = content, fixed, input_fixed
        done = span.stop
    return whole


def fixed_again(masks: Masks, unread: NDArray[np.intp], machine: str) -> NDArray[np.uint8]:
    """The fixed bits, with those of instructions in one of several forms for relocations that are not read back."""
    of = processor(machine, "")
    fixed = masks.fixed
    if not of.loose:
        return fixed
    rest = masks.relocations.chosen(unread)
    for kind in sorted(of.loose):
        at = (masks.start[rest.section] + rest.offset)[rest.type == kind]
        for step, bits in enumerate(of.of_itself[kind]):
            fixed[at + step] |= ~np.uint8(bits)
    return fixed


def _relocations(inputs: Sequence[tuple[elf.Elf, int, str]]) -> Relocations:
    """The relocations of all sections, object by object."""
    held: dict[int, list[tuple[int, int]]] = {}
    objects: dict[int, elf.Elf] = {}
    for number, (source, header, _) in enumerate(inputs):
        objects[id(source)] = source
        held.setdefault(id(source), []).append((number, header))
    places: dict[int, NDArray[np.int64]] = {}
    for key, source in objects.items():
        places[key] = np.full(source.section_count + 1, -1, np.int64)
        numbers, headers = np.array(held[key], np.int64).T
        places[key][headers] = numbers
    defined = _definitions(objects, places)
    parts = []
    symbols = 0
    for key, source in objects.items():
        if len(source.symbols):
            numbers, headers = np.array(held[key], np.int64).T
            parts.append(_of_object(source, numbers, headers, places[key], defined, symbols))
        symbols += len(source.symbols)
    return joined(parts)


def _definitions(
    objects: Mapping[int, elf.Elf], places: Mapping[int, NDArray[np.int64]]
) -> dict[str, tuple[int, int] | None]:
    """In which section, and where in it, each name is that objects see of each other; None where several have it."""
    defined: dict[str, tuple[int, int] | None] = {}
    for key, source in objects.items():
        which = np.flatnonzero(source.symbols["info"] >> 4 != elf.STB_LOCAL)
        home = places[key][np.minimum(source.symbol_sections[which], source.section_count)]
        which, home = which[home >= 0], home[home >= 0]
        values = source.symbols["value"][which].tolist()
        for name, number, value in zip(source.symbol_names(which), home.tolist(), values, strict=True):
            defined[name] = None if name in defined else (number, value)
    return defined


def _of_object(
    source: elf.Elf,
    numbers: NDArray[np.int64],
    headers: NDArray[np.int64],
    places: NDArray[np.int64],
    defined: Mapping[str, tuple[int, int] | None],
    symbols: int,
) -> Relocations:
    """The relocations of the sections with these numbers and headers; ``symbols`` is how many other objects have."""
    table, counts = source.references_of(headers.tolist())
    symbol = elf.relocation_symbols(table)
    home = np.minimum(source.symbol_sections[symbol], source.section_count).astype(np.int64)
    info = source.symbols["info"][symbol]
    target, value = places[home], source.symbols["value"][symbol].astype(np.int64)
    abroad = np.flatnonzero((info >> 4 != elf.STB_LOCAL) & (target < 0))
    unique, back = np.unique(symbol[abroad], return_inverse=True)
    found = [defined.get(name) or (-1, 0) for name in source.symbol_names(unique)]
    elsewhere = np.array(found, np.int64).reshape(-1, 2)[back]
    target[abroad], value[abroad] = elsewhere[:, 0], elsewhere[:, 1]
    flags = np.append(source.sections["flags"], np.uint64(0))[home]
    return Relocations(
        section=np.repeat(numbers, counts),
        offset=table["offset"].astype(np.int64),
        type=elf.relocation_types(table),
        symbol=symbols + symbol,
        addend=table["addend"].astype(np.int64),
        target=target,
        value=value,
        merged=((info & 0xF) == elf.STT_SECTION) & (flags & elf.SHF_MERGE != 0),
    )


def _masks(
    of: Processor, inputs: Sequence[tuple[elf.Elf, int, str]]
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8]]:
    """Content and masks of a few sections."""
    contents = [np.frombuffer(source.view(index), np.uint8) for source, index, _ in inputs]
    tables = [source.relocation_bytes(index) for source, index, _ in inputs]
    stored = np.array([len(content) for content in contents], np.int64)
    # Side by side with gaps that no field reaches across, not one by one: a large program has 45,000 of them.
    begin = np.cumsum(stored + _GAP) - stored
    content = np.zeros(int(stored.sum()) + (len(stored) + 1) * _GAP, np.uint8)
    real = np.zeros(len(content), bool)
    for at, part in zip(begin.tolist(), contents, strict=True):
        content[at : at + len(part)] = part
        real[at : at + len(part)] = True
    merged = elf.one_table(tables)
    owner = np.repeat(np.arange(len(stored)), [len(table) // elf.RELA.itemsize for table in tables])
    if (merged["offset"] > stored[owner].astype(np.uint64)).any():
        _blame(of, inputs)
    merged["offset"] += begin[owner].astype(np.uint64)
    try:
        fields, relaxed = of.written(merged, content, where="")
    except FeatureUnsupported:
        _blame(of, inputs)
        raise
    return content[real], ~fields[real], ~relaxed[real]


def _blame(of: Processor, inputs: Sequence[tuple[elf.Elf, int, str]]) -> None:
    """Raise the error again with the name of the section that causes it."""
    for source, index, where in inputs:
        of.written(source.relocations(index), np.frombuffer(source.content(index), np.uint8), where=where)


@dataclass(frozen=True)
class Placed:
    """The sections of a capture as they lie in a binary, in capture order: address and output section, shape (n,)."""

    address: NDArray[np.int64]
    output: NDArray[np.int64]

    @cached_property
    def outputs(self) -> list[int]:
        """The output sections that hold placed ones, ascending."""
        found: list[int] = np.flatnonzero(np.bincount(self.output)).tolist()
        return found

    @cached_property
    def by_address(self) -> NDArray[np.intp]:
        """The sections by ascending address, shape (n,)."""
        return np.argsort(self.address, kind="stable")


Marks = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
"""What `placed_addresses` gives: capture index, address and output section of each mark."""


def of_capture(marks: Marks, count: int) -> Marks:
    """The marks of a capture's ``count`` sections, without those of fillers, whose numbers follow."""
    own = marks[0] < count
    return marks if own.all() else (marks[0][own], marks[1][own], marks[2][own])


def placed(binary: elf.Elf, marks: Marks, size: NDArray[np.int64]) -> Placed:
    """Where each section of a capture lies by its mark; ``size`` has the sections' sizes in memory.

    Raises `LayoutNotApplied` unless every section is there, once, and inside one output section.
    """
    number, address, output = marks
    if len(number) != len(size) or not np.array_equal(np.sort(number), np.arange(len(size))):
        found = len(np.unique(number))
        raise LayoutNotApplied(f"{len(size)} sections were to be placed, the binary has {found} of them")
    back = np.argsort(number)
    address, output = address[back], output[back]
    begin = binary.sections["addr"][output].astype(np.int64)
    end = begin + binary.sections["size"][output].astype(np.int64)
    outside = np.flatnonzero((address < begin) | (address + size > end))
    if len(outside):
        name = binary.section_names[int(output[outside[0]])]
        raise LayoutNotApplied(f"{len(outside)} sections lie outside their output section, the first outside {name}")
    return Placed(address, output)


def section_bytes(binary: elf.Elf, where: Placed, stored: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The sections' bytes as linked, concatenated in capture order; ``stored`` as in `Masks`."""
    sections = binary.sections[where.output]
    begin = where.address - sections["addr"].astype(np.int64) + sections["offset"].astype(np.int64)
    data = memoryview(binary.data)
    ends = begin + stored
    return np.frombuffer(b"".join([data[a:b] for a, b in zip(begin.tolist(), ends.tolist(), strict=True)]), np.uint8)


def changed(reference: NDArray[np.uint8], linked: NDArray[np.uint8], fixed: NDArray[np.uint8]) -> int | None:
    """The first position at which a fixed bit differs, or None; the three share one shape."""
    for begin in range(0, len(reference), _STRETCH):
        span = slice(begin, begin + _STRETCH)
        different = (reference[span] ^ linked[span]) & fixed[span]
        if different.any():
            return begin + int(np.argmax(different != 0))
    return None


def symbol_rows(binary: elf.Elf, where: Placed, size: NDArray[np.int64], kind: int = elf.STT_FUNC) -> NDArray[np.int64]:
    """Rows (section, offset in it, size), sorted, of the symbols of the kind inside placed sections; shape (m, 3)."""
    if not len(size):
        return np.empty((0, 3), np.int64)
    value, info = binary.symbols["value"], binary.symbols["info"]
    near = (value >= where.address.min()) & (value < (where.address + size).max())
    chosen = ((info & 0xF) == kind) & near
    symbols, home = binary.symbols[chosen], binary.symbol_sections[chosen]
    begins = where.address[where.by_address]
    value = symbols["value"].astype(np.int64)
    slot = np.searchsorted(begins, value, side="right") - 1
    inside = slot >= 0
    owner = where.by_address[np.maximum(slot, 0)]
    offset = value - where.address[owner]
    # What ends an output section, such as __TMC_END__ of .data, may have the address at which the next one begins.
    inside &= (offset < size[owner]) & (home == where.output[owner])
    rows = np.stack([owner, offset, symbols["size"].astype(np.int64)], axis=1)[inside]
    key = rows[:, 0] << 32 | rows[:, 1]  # offsets are less than 4 GiB, so one key does for two columns
    by_key = np.argsort(key)
    key = key[by_key]
    if (key[1:] == key[:-1]).any():  # several names of one place
        by_key = np.lexsort((rows[:, 2], rows[:, 0] << 32 | rows[:, 1]))
    ordered: NDArray[np.int64] = rows[by_key]
    return ordered


def closest(binary: elf.Elf, where: Placed, size: NDArray[np.int64], gaps: NDArray[np.int64]) -> NDArray[np.int64]:
    """The lowest address of each section after the one before it, or the start of its output section, and its gap.

    ``where``, ``size`` and ``gaps`` are in the order of addresses, shape (n,) like the result. Alignment may demand a
    higher address.
    """
    begin = binary.sections["addr"][where.output].astype(np.int64)
    begin[1:] = np.where(where.output[1:] == where.output[:-1], where.address[:-1] + size[:-1], begin[1:])
    return begin + gaps


def first_wrong_gap(address: NDArray[np.int64], lowest: NDArray[np.int64], align: NDArray[np.int64]) -> int | None:
    """The first slot whose section does not lie where its gap puts it, or None; all shape (n,), in slot order.

    A section lies at the ``lowest`` address (`closest`), rounded up to its alignment.
    """
    step = np.maximum(align, 1)
    wrong = np.flatnonzero(address != -(-lowest // step) * step)
    return int(wrong[0]) if len(wrong) else None


def wrong_sizes(sizes: Mapping[str, int], identity: Mapping[str, int], *, padded: bool) -> list[tuple[str, int]]:
    """Output sections with another size than in identity, as (name, size) from either; [] if there is none.

    Where the pieces of all sections move or are ``padded``, all must still be there, but only those `UNPADDED` are
    of the same size.
    """
    if not padded:
        return sorted(set(sizes.items()) ^ set(identity.items()))
    lost = [(name, {**sizes, **identity}[name]) for name in sizes.keys() ^ identity.keys()]
    return sorted(lost + [(name, sizes[name]) for name in UNPADDED & sizes.keys() if sizes[name] != identity.get(name)])


def other_sizes(binary: elf.Elf, outputs: Sequence[int]) -> dict[str, int]:
    """Size of every allocated output section but those that hold placed sections; equal names are added up."""
    sizes: dict[str, int] = {}
    for index in np.flatnonzero((binary.sections["flags"] & elf.SHF_ALLOC) != 0).tolist():
        name = binary.section_names[index]
        if index not in outputs and name not in _DEPENDS_ON_ADDRESSES:
            sizes[name] = sizes.get(name, 0) + int(binary.sections[index]["size"])
    return sizes
