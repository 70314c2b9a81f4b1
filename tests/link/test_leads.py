"""References lead in every layout where they lead in identity; and mutated binaries are told, on each processor."""

from __future__ import annotations

import io
import random
from dataclasses import replace

import numpy as np
import pytest

from buildkit import EMULATION, Relinker, compiled, cross_compiled, cross_linker
from layoutrand.errors import CacheError
from layoutrand.link.code import Code
from layoutrand.link.leads import Leads
from layoutrand.objects.known import processors
from proofkit import Proof, patched

FIRST = """
extern int table[8]; extern double weights[4]; int zeros[300]; static int own[4] = {4, 3, 2, 1};
extern int outside(int), other(int);
static int helper(int x) { return table[x & 7] + own[x & 3]; }
int first(int x) { return helper(x) * 3 + table[1] + zeros[x & 255]; }
int second(int x) { return x > 2 ? first(x - 1) : outside(x) + own[2]; }
double third(double x) { return x * weights[1] + weights[3]; }
int fourth(int x) { zeros[x] = x; if (x == 3) return other(x); return second(x) + first(x) + (int)third(x); }
const char *name(int x) { return x ? "one string" : "another one"; }
int (*chosen(int x))(int) { return x ? first : outside; }
int fifth(int x) {
  switch (x) { case 0: return first(1); case 1: return second(2); case 2: return outside(3); case 3: return other(1);
  case 4: return own[1]; case 5: return fourth(2); default: return table[0]; } }
void _start(void) { fourth(fifth(2) + chosen(1)(2) + name(1)[0]); for (;;); }
"""
SECOND = """
int table[8] = {1, 2, 3, 4, 5, 6, 7, 8}; double weights[4] = {1.5, 2.5, 3.5, 4.5};
static int helper(int x) { return x * 7 - table[2]; }
int outside(int x) { return helper(x) - table[0]; }
int other(int x) { return outside(x + 1) * table[3]; }
"""
PROGRAMS = [
    ("x86_64", "bfd", "-fPIE"),
    ("x86_64", "bfd", "-fno-pie"),
    ("x86_64", "lld", "-fPIE"),
    ("x86_64", "gold", "-fPIE"),
    ("aarch64", "lld", "-fPIE"),
    ("aarch64", "bfd", "-fPIE"),
    ("aarch64", "bfd", "-fno-pie"),
    ("aarch64", "gold", "-fno-pie"),
    ("riscv64", "bfd", "-fPIE"),
    ("riscv64", "bfd", "-fno-pie"),
    ("riscv64", "lld", "-fPIE"),
]
FAST = {machine: next(each for each in PROGRAMS if each[0] == machine) for machine in ("x86_64", "aarch64", "riscv64")}
CASES = [
    pytest.param(
        each, id="-".join(each).replace("--f", "-"), marks=() if each in FAST.values() else (pytest.mark.slow,)
    )
    for each in PROGRAMS
]


def linked(folder, machine, kind, model, *, data=True):
    """The program above, ready to be linked in any order."""
    flags = ["-fno-inline", "-fdata-sections", "-fno-section-anchors", model]
    make = compiled if machine == "x86_64" else lambda *args: cross_compiled(machine, *args)
    if machine == "x86_64":
        flags.remove("-fno-section-anchors")
    objects = [make(folder, "a.c", FIRST, *flags), make(folder, "b.c", SECOND, *flags)]
    options = ["-e", "_start", *(["-pie"] if model == "-fPIE" else [])]
    if machine == "x86_64":
        return Relinker(kind, folder / "link", objects, *options, data=data)
    options += ["-m", EMULATION[machine], *(["--no-relax"] if machine == "riscv64" else [])]
    return Relinker(kind, folder / "link", objects, *options, data=data, program=cross_linker(machine, kind))


@pytest.fixture(scope="module", params=CASES)
def proof(request, tmp_path_factory):
    """The program of one processor, linker and model, and its proof."""
    return Proof(linked(tmp_path_factory.mktemp("leads"), *request.param))


def by_kind(program, seed):
    """A drawn order in which sections stay among those of their kind, as linkers keep them."""
    kinds = [candidate.section.kind for candidate in program.chosen]
    generator = random.Random(seed)
    places = {kind: [n for n, own in enumerate(kinds) if own == kind] for kind in dict.fromkeys(kinds)}
    identity = list(range(len(kinds)))
    order = identity.copy()
    for of_kind in places.values():
        moved = of_kind.copy()
        generator.shuffle(moved)
        for slot, index in zip(of_kind, moved, strict=True):
            order[slot] = index
    return order


@pytest.mark.parametrize("seed", range(4))
def test_references_of_a_layout_lead_where_they_led(proof, seed):
    """Most of the relocations are read, and nothing is wrong with any layout."""
    binary = proof.program.link(by_kind(proof.program, seed))
    assert proof.wrong(binary, proof.order(binary)) is None
    assert len(proof.leads.section) > 0.5 * len(proof.masks.relocations)
    assert (proof.leads.target >= 0).sum() > 25


def test_a_reference_led_elsewhere_is_told(proof):
    """Each bit of each field that is compared: another value of it is another place."""
    binary = proof.program.link(by_kind(proof.program, 1))
    order = proof.order(binary)
    relocations = proof.masks.relocations
    known = set(zip(proof.leads.section.tolist(), proof.leads.offset.tolist(), strict=True))
    of = processors()[binary.machine]
    told = tried = 0
    for row in range(len(relocations)):
        section, offset = int(relocations.section[row]), int(relocations.offset[row])
        target = proof.leads.target[
            (proof.leads.section == section) & (proof.leads.offset == offset) & (proof.leads.target >= 0)
        ]
        if (section, offset) not in known or not len(target):
            continue
        for step, bits in enumerate(of.fields[int(relocations.type[row])]):
            at = proof.place(binary, section, offset + step)
            for bit in (1 << n for n in range(8) if bits >> n & 1):
                tried += 1
                told += proof.wrong(patched(binary, {at: bytes([binary.data[at] ^ bit])}), order) is not None
    assert tried > 500
    assert told == tried


MUTANTS = 360  # of each of three or four programs of a processor: a thousand


def test_no_mutated_binary_is_accepted(proof):
    """Flipped bits of opcodes, calls of another function, exchanged sections, a section's bytes moved by an instruction."""
    binary = proof.program.link(by_kind(proof.program, 2))
    order = proof.order(binary)
    generator = random.Random(5)
    starts = proof.masks.start
    fixed = np.flatnonzero(proof.fixed)
    reads = np.flatnonzero(proof.leads.target >= 0)
    code = [n for n, each in enumerate(proof.program.chosen) if each.section.kind == "text" and each.section.size >= 12]
    accepted = []
    for number in range(MUTANTS):
        kind = number % 4
        if kind == 0:  # an opcode
            at = int(generator.choice(fixed))
            section = int(np.searchsorted(starts, at, side="right")) - 1
            bits = [1 << n for n in range(8) if int(proof.fixed[at]) >> n & 1]
            place = proof.place(binary, section, at - int(starts[section]))
            mutant = patched(binary, {place: bytes([binary.data[place] ^ generator.choice(bits)])})
        elif kind == 1:  # a field with another one's bytes
            one, two = (
                proof.place(binary, int(proof.leads.section[n]), int(proof.leads.offset[n]))
                for n in (generator.choice(reads), generator.choice(reads))
            )
            mutant = patched(binary, {one: binary.data[two : two + 4]})
        elif kind == 2:  # two sections with their bytes exchanged
            one, two = generator.sample(code, 2)
            size = int(min(proof.masks.stored[one], proof.masks.stored[two]))
            first, second = (proof.place(binary, each, 0) for each in (one, two))
            mutant = patched(
                binary,
                {first: binary.data[second : second + size], second: binary.data[first : first + size]},
            )
        else:  # a section's bytes four further on
            section = generator.choice(code)
            size = int(proof.masks.stored[section])
            place = proof.place(binary, section, 0)
            mutant = patched(binary, {place + 4: binary.data[place : place + size - 4]})
        if mutant.data != binary.data and proof.wrong(mutant, order) is None:
            accepted.append((kind, number))
    assert accepted == []


def code_of(proof):
    """A capture's code, references with it."""
    nothing = np.empty((0, 3), np.int64)
    masks = proof.masks
    return Code(masks.size, masks.stored, proof.content, proof.fixed, nothing, nothing, leads=proof.leads)


def test_what_is_kept_is_what_was_learned(proof):
    """Also bits that are fixed in part, and a capture of a version that knew no references."""
    code = code_of(proof)
    for each in (code, replace(code, leads=None)):
        file = io.BytesIO()
        each.save(file)
        file.seek(0)
        again = Code.load(file)
        assert np.array_equal(again.fixed, code.fixed)
        assert (again.leads is None) == (each.leads is None)
    assert again.leads is None
    file = io.BytesIO()
    code.save(file)
    file.seek(0)
    kept = Code.load(file).leads
    assert all(np.array_equal(kept.arrays()[name], value) for name, value in proof.leads.arrays().items())


@pytest.mark.parametrize("column", ["target", "machine", "kind"])
def test_damaged_references_are_one_error(proof, column):
    """A column of another length, or of another kind."""
    leads = proof.leads
    value = getattr(leads, column)
    broken = replace(leads, **{column: value.astype(np.float64) if column == "machine" else value[:-1]})
    file = io.BytesIO()
    replace(code_of(proof), leads=broken).save(file)
    file.seek(0)
    with pytest.raises(CacheError, match="is damaged"):
        Code.load(file)


def test_no_arrays_are_no_references():
    assert Leads.of_arrays({}) is None
