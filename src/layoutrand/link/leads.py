"""Where references lead: each must lead in every layout to the place that it leads to in identity.

What instructions and data are is compared byte by byte (`layoutrand.link.codecheck`), but not what relocations have
written into them.  That is read back here, as an address; the section that it lies in, and where in it, must be the
same in every layout.  Not looked at are references of sections that are not placed, and those of which one cannot say
where they lead: thread-local offsets, distances between two places, addresses that the dynamic linker fills in, and
what leads between sections.

A place at which something ends or begins is known by the symbol that is there, and not by its address alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.link.code_blocks import Blocks, changes
from layoutrand.link.codecheck import Masks, Placed
from layoutrand.objects import elf
from layoutrand.objects.known import processor, processors
from layoutrand.objects.processor import Processor
from layoutrand.objects.reading import WHOLE, Numbers, Readings, Relocations, Windows, place_in

_NOWHERE: Final = -1
_LOST: Final = np.iinfo(np.int64).min // 2
"""Where an output section lies that is not there."""

_INSTRUCTION: Final = 4
_ALIGNED: Final = 8
"""Bytes: how what linkers add is aligned, where it does not follow at once."""

_LONGEST: Final = 32
"""Bytes of what linkers put where a branch does not reach."""


def array_in(arrays: Any, name: str) -> NDArray[Any]:
    """One array of an .npz file; raises `ValueError` for what is none, which numpy gives as the bytes that it found."""
    found = arrays[name]
    if not isinstance(found, np.ndarray):
        raise ValueError(f"{name} is no array")  # noqa: TRY004 - of the file, not of the caller
    return found


@dataclass(frozen=True)
class Leads:
    """References of placed sections by ascending kind, and where each leads; all shape (n,) but the last two.

    The instruction lies ``offset`` bytes into its ``section`` (capture index), the second of two ``other`` bytes
    further on; ``kind`` and ``form`` are how it is read, and what else is read. It leads ``at`` bytes behind the
    beginning of the ``target``: a placed section or an output section that holds none, by number in this order, or -1
    where that cannot be told.
    ``outputs`` are the names of output sections, a line each, ``machine`` is the ELF file's.
    """

    section: NDArray[np.int32]
    offset: NDArray[np.int32]
    other: NDArray[np.int32]
    kind: NDArray[np.int16]
    form: NDArray[np.int32]
    target: NDArray[np.int32]
    at: Numbers
    outputs: NDArray[np.uint8]
    machine: NDArray[np.uint8]

    @cached_property
    def places(self) -> tuple[Numbers, Numbers, Numbers, Numbers, Numbers]:
        """Section, offset, kind, other and target as numpy indexes with them: many binaries are compared."""
        section, offset, kind, other, target = (
            each.astype(np.int64) for each in (self.section, self.offset, self.kind, self.other, self.target)
        )
        return section, offset, kind, other, target

    @cached_property
    def output_names(self) -> list[str]:
        """The names of output sections."""
        return self.outputs.tobytes().decode("utf-8", "surrogateescape").split("\n")

    @property
    def processor(self) -> Processor:
        """Whose instructions they are."""
        return processor(self.machine.tobytes().decode("ascii", "replace"), "the code that a capture keeps")

    def arrays(self) -> dict[str, Any]:
        """The arrays by name, as files have them."""
        return {f"lead_{field.name}": getattr(self, field.name) for field in fields(Leads)}

    @staticmethod
    def of_arrays(arrays: Any) -> Leads | None:
        """From what `arrays` gave; None where it is not there.

        Raises `ValueError` for other arrays than were written.
        """
        if "lead_section" not in arrays:
            return None
        found = Leads(**{field.name: array_in(arrays, f"lead_{field.name}") for field in fields(Leads)})
        columns = [getattr(found, field.name) for field in fields(Leads)]
        kinds = ["<i4", "<i4", "<i4", "<i2", "<i4", "<i4", "<i8", "|u1", "|u1"]
        if [column.dtype.str for column in columns] != kinds or len({column.shape for column in columns[:7]}) != 1:
            raise ValueError("other arrays than were written")
        return found


@dataclass(frozen=True)
class LearnedLeads:
    """What identity tells: the references, and rows of `Masks.relocations` that could not be read."""

    leads: Leads
    unread: NDArray[np.intp]


def learn(binary: elf.Elf, where: Placed, masks: Masks) -> LearnedLeads:
    """Read all references of identity."""
    of = processor(binary.machine, binary.name)
    relocations = masks.relocations
    place, address = _places(binary, where)
    image = Windows(binary.data)
    asked = of.readings(relocations, image, place[relocations.section] + relocations.offset)
    asked = _chosen(asked, np.argsort(asked.kind, kind="stable"))
    if binary.kind != "ET_EXEC":
        asked = _chosen(asked, ~np.isin(asked.kind, list(of.absolute)))
    section, offset = relocations.section[asked.row], relocations.offset[asked.row] + asked.shift
    value, bits, form, valid = _read(
        of, image, asked.kind, place[section] + offset, address[section] + offset, asked.other
    )
    value = _through(of, _Between(binary, where, masks.size), value, valid & (bits == WHOLE))
    whole, known = _whole(of, relocations, asked, value, bits, valid)
    addend = relocations.addend[asked.row]
    behind = np.isin(relocations.type[asked.row], list(of.from_behind))
    addend = np.where(relocations.merged[asked.row], np.where(behind, -4, 0), addend)
    targets = _Targets(binary, where, masks.size)
    row = asked.row
    target, at = targets.find(whole - addend, relocations.target[row], relocations.value[row])
    known &= target != _NOWHERE
    # That an instruction has one of its two forms is compared also where no one can say what place it is of.
    loose = ~known & valid & np.isin(relocations.type[row], list(of.loose))
    known, target = known | loose, np.where(loose, _NOWHERE, target)
    leads = Leads(
        section=section[known].astype(np.int32),
        offset=offset[known].astype(np.int32),
        other=asked.other[known].astype(np.int32),
        kind=asked.kind[known].astype(np.int16),
        form=form[known].astype(np.int32),
        target=target[known].astype(np.int32),
        at=(at + addend)[known],
        outputs=np.frombuffer("\n".join(targets.names).encode("utf-8", "surrogateescape"), np.uint8),
        machine=np.frombuffer(binary.machine.encode(), np.uint8),
    )
    covered = np.zeros(len(relocations), bool)
    covered[row[known]] = True
    other = known & (asked.other != 0)
    covered |= np.isin(relocations.place, place_in(section[other], (offset + asked.other)[other]))
    return LearnedLeads(leads, np.flatnonzero(~covered))


def first_astray(
    leads: Leads, binary: elf.Elf, where: Placed, size: Numbers, *, padded: bool = False
) -> tuple[int, int] | None:
    """Capture index and offset of the first reference that leads elsewhere than in identity; or None.

    Where the linker itself ``padded`` or shuffled the pieces of all output sections, only what leads to placed sections
    is compared: where else something lies is the linker's own choice.
    """
    if not len(leads.section):
        return None
    of = leads.processor
    place, address = _places(binary, where)
    section, offset, kind, other, target = leads.places
    value, bits, form, valid = _read(
        of, Windows(binary.data), kind, place[section] + offset, address[section] + offset, other
    )
    wanted = _bases(binary, where, leads.output_names)[target] + leads.at
    anywhere = target == _NOWHERE
    if padded:
        anywhere |= target >= len(where.address)
    right = valid & (form == leads.form) & (((value ^ wanted) & bits == 0) | anywhere)
    if not right.all():  # some branches may not reach as far as in identity
        whole = ~right & valid & (form == leads.form) & (bits == WHOLE)
        right |= whole & (_through(of, _Between(binary, where, size), value, whole) == wanted)
    wrong = np.flatnonzero(~right)
    return (int(section[wrong[0]]), int(offset[wrong[0]])) if len(wrong) else None


def undone(blocks: Blocks, binary: elf.Elf, where: Placed, size: Numbers) -> elf.Elf:
    """The file with instructions back in their places that a linker has moved out of the way, if it has any.

    Where a processor's erratum forbids an instruction at an address, linkers put a branch there, to a copy of the
    instruction that lies in no section, and behind it a branch back. What is no such branch stays as it is, and so
    differs from the ``blocks``, as a copy of another instruction does that is put back.
    """
    of = processors().get(binary.machine)
    if of is None or not of.adds_code:
        return binary
    begins, addresses = _places(binary, where)
    between = _Between(binary, where, size)
    data = bytearray(binary.data)
    for section, byte in changes(blocks, binary, where):
        offset = byte - byte % _INSTRUCTION
        place, address = int(begins[section]) + offset, int(addresses[section]) + offset
        copy = of.detour(binary.data[place : place + _INSTRUCTION], address)
        code = b"" if copy is None else between.code(copy)
        back = None if copy is None else of.detour(code[_INSTRUCTION : 2 * _INSTRUCTION], copy + _INSTRUCTION)
        if back != address + _INSTRUCTION:
            return binary
        data[place : place + _INSTRUCTION] = code[:_INSTRUCTION]
    return replace(binary, data=bytes(data)) if data != binary.data else binary


def ends_of_added_code(binary: elf.Elf, where: Placed, size: Numbers, end: int) -> Iterator[int]:
    """Where what the linker put behind a section by itself ends, piece by piece; the section ends at ``end``."""
    of = processors().get(binary.machine)
    if of is None or not of.adds_code:
        return
    between = _Between(binary, where, size)
    while True:
        aligned = -(-end // _ALIGNED) * _ALIGNED
        found = [behind for at in (end, aligned) if (behind := of.beside(between.code(at), at)) is not None]
        if not found or found[0] <= end:
            return
        end = found[0]
        yield end


class _Between:
    """Code of a binary that lies in no section of the objects: what the linker added."""

    def __init__(self, binary: elf.Elf, where: Placed, size: Numbers) -> None:
        by_address = np.argsort(where.address, kind="stable")
        self.binary = binary
        self.begin, self.end = where.address[by_address], (where.address + size)[by_address]
        flags = binary.sections["flags"]
        self.homes = np.flatnonzero(flags & elf.SHF_EXECINSTR != 0)

    def free(self, places: Numbers) -> NDArray[np.bool_]:
        """Which addresses lie in no section of an object."""
        if not len(self.begin):
            return np.ones(len(places), bool)
        before = np.searchsorted(self.begin, places, side="right") - 1
        return (before < 0) | (places >= self.end[np.maximum(before, 0)])

    def code(self, address: int) -> bytes:
        """Bytes from that address on; none where no code is, or that of an object."""
        if address < 0 or not self.free(np.array([address], np.int64))[0]:
            return b""
        for home in self.homes.tolist():
            row = self.binary.sections[home]
            begin = address - int(row["addr"])
            if 0 <= begin < int(row["size"]):
                return bytes(self.binary.view(home)[begin : begin + _LONGEST])
        return b""


def _chosen(asked: Readings, which: NDArray[np.bool_] | NDArray[np.intp]) -> Readings:
    return Readings(asked.row[which], asked.kind[which], asked.shift[which], asked.other[which])


def _places(binary: elf.Elf, where: Placed) -> tuple[Numbers, Numbers]:
    """Where each placed section begins in the file, and its address."""
    homes = binary.sections[where.output]
    return where.address - homes["addr"].astype(np.int64) + homes["offset"].astype(np.int64), where.address


def _read(
    of: Processor, image: Windows, kinds: Numbers, place: Numbers, address: Numbers, other: Numbers
) -> tuple[Numbers, Numbers, Numbers, NDArray[np.bool_]]:
    """Value, its bits, form, and whether it could be read at all, of each reference; those of a kind stand together."""
    value, bits, form = (np.zeros(len(kinds), np.int64) for _ in range(3))
    valid = np.zeros(len(kinds), bool)
    first = image.words(place)
    two = np.flatnonzero(other != 0)
    second = np.zeros(len(kinds), np.uint64)
    second[two] = image.words(place[two] + other[two])
    bounds = [0, *(np.flatnonzero(np.diff(kinds)) + 1).tolist(), len(kinds)] if len(kinds) else []
    for begin, end in pairwise(bounds):
        span = slice(begin, end)
        found = of.read(int(kinds[begin]), first[span], second[span], address[span], address[span] + other[span])
        value[span], bits[span], valid[span] = found.value, found.bits, found.valid
        if found.form is not None:
            form[span] = found.form
    return value, bits, form, valid


def _through(of: Processor, between: _Between, value: Numbers, whole: NDArray[np.bool_]) -> Numbers:
    """The values, ``whole`` ones that lead to what a linker put between replaced by where that leads."""
    if not of.adds_code:
        return value
    targets = np.unique(value[whole])
    found = {at: of.through(between.code(at), at) for at in targets[between.free(targets)].tolist()}
    reached = {at: final for at, final in found.items() if final is not None}
    return np.array([reached.get(at, at) for at in value.tolist()], np.int64) if reached else value


def _whole(
    of: Processor, relocations: Relocations, asked: Readings, value: Numbers, bits: Numbers, valid: NDArray[np.bool_]
) -> tuple[Numbers, NDArray[np.bool_]]:
    """The whole address of each reference, also of those that say a part, and whether it is known.

    Parts of one address are those of a group, to one symbol with one addend.
    """
    part = np.flatnonzero(valid & (bits != WHOLE))
    if not len(part):
        return value, valid
    types = relocations.type[asked.row]
    known_groups = {kind: of.group(kind) for kind in np.unique(types).tolist()}
    group = np.array([known_groups[kind] for kind in types.tolist()], np.int64)
    symbol, addend = relocations.symbol[asked.row], relocations.addend[asked.row]
    found: dict[tuple[int, int, int], dict[int, int]] = {}
    taking = np.flatnonzero(valid & (group != 0))
    rows = zip(*(each[taking].tolist() for each in (group, symbol, addend, bits, value)), strict=True)
    for group_, symbol_, addend_, bits_, value_ in rows:
        found.setdefault((group_, symbol_, addend_), {}).setdefault(bits_, value_)
    whole, known = value.copy(), valid.copy()
    for slot in part.tolist():
        parts = found[int(group[slot]), int(symbol[slot]), int(addend[slot])]
        if WHOLE in parts:
            address = parts[WHOLE]
        elif len(parts) > 1:
            address = sum(parts.values())
        else:
            known[slot] = False
            continue
        whole[slot] = address
        known[slot] = (address ^ int(value[slot])) & int(bits[slot]) == 0
    return whole, known


def _loaded(binary: elf.Elf) -> NDArray[np.intp]:
    """Numbers of the output sections that have addresses of their own."""
    flags = binary.sections["flags"]
    return np.flatnonzero((flags & elf.SHF_ALLOC != 0) & (flags & elf.SHF_TLS == 0))


class _Targets:
    """What lies where in identity."""

    def __init__(self, binary: elf.Elf, where: Placed, size: Numbers) -> None:
        sections = binary.sections
        self.outputs = _loaded(binary)
        self.names = [binary.section_names[index] for index in self.outputs.tolist()]
        begin = sections["addr"][self.outputs].astype(np.int64)
        self.begin, self.end = begin, begin + sections["size"][self.outputs].astype(np.int64)
        self.ends = self.end[self.end > self.begin]
        self.has_placed = np.isin(self.outputs, where.output)
        self.where, self.size = where, size
        self.by_address = np.argsort(where.address, kind="stable")

    def find(self, places: Numbers, own: Numbers, value: Numbers) -> tuple[Numbers, Numbers]:
        """Target and distance of each place; -1 where it cannot be told.

        ``own`` and ``value`` are the section that has the symbol, and the place in it. Where there is none, a place at
        which something begins or ends may be either, or that of something empty.
        """
        address, size = self.where.address, self.size
        target, at = np.full(len(places), _NOWHERE), np.zeros(len(places), np.int64)
        begins = address[self.by_address]
        holder = self.by_address[np.maximum(np.searchsorted(begins, places, side="right") - 1, 0)]
        inside = (places > address[holder]) & (places < address[holder] + size[holder])
        target[inside], at[inside] = holder[inside], (places - address[holder])[inside]
        output = self._outputs(places)
        rest = ~inside & (output != _NOWHERE) & ~self.has_placed[output] & ~np.isin(places, self.ends)
        target[rest], at[rest] = len(address) + output[rest], (places - self.begin[output])[rest]
        mine = (own >= 0) & (address[own] + value == places)
        target[mine], at[mine] = own[mine], value[mine]
        return target, at

    def _outputs(self, places: Numbers) -> Numbers:
        """Number of the output section that each place is in; -1 for none."""
        order = np.argsort(self.begin, kind="stable")
        found = order[np.maximum(np.searchsorted(self.begin[order], places, side="right") - 1, 0)]
        return np.where((places >= self.begin[found]) & (places < self.end[found]), found, _NOWHERE)


def _bases(binary: elf.Elf, where: Placed, names: Sequence[str]) -> Numbers:
    """The address of each target of `Leads`."""
    sections = binary.sections
    seen: Counter[str] = Counter()
    known: dict[tuple[str, int], int] = {}
    for index in _loaded(binary).tolist():
        name = binary.section_names[index]
        known[name, seen[name]] = index
        seen[name] += 1
    seen.clear()
    begin = np.full(len(names), _LOST)
    for number, name in enumerate(names):
        index_ = known.get((name, seen[name]))
        seen[name] += 1
        if index_ is not None:
            begin[number] = sections["addr"][index_].astype(np.int64)  # wraps, as all addresses here
    return np.concatenate([where.address, begin])
