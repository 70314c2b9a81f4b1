"""The link of identity: that the means of ordering are harmless, and the code that every layout is compared with."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from layoutrand.cache.capture_record import CapturedLink
from layoutrand.capture.collect import IngestSetup
from layoutrand.capture.side_by_side import both
from layoutrand.errors import CaptureFailed, CodeChanged, FeatureUnsupported
from layoutrand.layout.factors import LINK_ORDER
from layoutrand.layout.order import draw
from layoutrand.link import code_blocks, codecheck, moved_objects
from layoutrand.link.code import Code
from layoutrand.link.labels import without_strangers
from layoutrand.link.leads import learn, undone
from layoutrand.link.relink import link_layout, verify
from layoutrand.linkers import linkline
from layoutrand.model import IDENTITY, Layout
from layoutrand.objects import elf
from layoutrand.objects.kinds import PLAIN, is_code
from layoutrand.platform.disk import cache_errors, remove_tree, sha256_file
from layoutrand.text.name_lists import MOST_NAMED, first_names

NOT_LOADED_CODE = frozenset({".note.gnu.build-id"})
"""A hash of the whole file, symbol tables included."""


def prove_identity(
    setup: IngestSetup, link: CapturedLink, take: Callable[[], codecheck.Masks], *, as_built: bool = False
) -> tuple[CapturedLink, Code]:
    """Link identity, check it against the input objects, and keep its code as the reference for every seed.

    ``take`` makes the masks, beside the link where that may be, and keeps nothing of them: they are large, and not
    needed to the end. ``as_built``: all that is loaded must be the artefact's, which proves marks, names and order at
    once where no probe did.
    """
    base = setup.base
    factors = (LINK_ORDER,) if LINK_ORDER in setup.factors else ()
    layout = draw(link.sections, link.identity, name=IDENTITY, factors=factors, classes="")
    (binary, seconds), masks = both(setup.beside, partial(_link_identity, setup, link, layout), take)
    if as_built and first_difference(setup.built, binary.data, link.artefact):
        raise CaptureFailed(f"{link.artefact}: identity is not what the build linked")
    if as_built:
        number, _address, output = codecheck.placed_addresses(binary)
        refuse_spread(link.artefact, binary, [link.sections[n].kind for n in number.tolist()], output.tolist())
    if link.users_script or linkline.user_scripts(linkline.words(link.argv)):
        _prove_script(setup, link, layout, binary)
    if LINK_ORDER in setup.factors:
        code = moved_objects.reference(binary, masks)
    else:
        code = _identity_code(link, binary, masks)
    del masks
    with cache_errors("write", base):
        with (base / "code.npz").open("wb") as file:
            code.save(file)
        digest = sha256_file(base / "code.npz")
    outputs = sorted(set(codecheck.placed_addresses(binary)[2].tolist()))
    sizes = codecheck.other_sizes(binary, outputs)
    link = replace(link, other_sizes=sizes, code_sha256=digest)
    verify(binary, link, layout, code, seconds, ld_version=setup.toolbox.tools["ld"].version)
    return link, code


def refuse_spread(artefact: str, binary: elf.Elf, kinds: Sequence[str], outputs: Sequence[int]) -> None:
    """Sections that change places must share an output section, or there is no one order to put them into."""
    spread: dict[str, set[int]] = {}
    for kind, output in zip(kinds, outputs, strict=True):
        spread.setdefault(PLAIN if is_code(kind) else kind, set()).add(output)
    for name, places in spread.items():
        if len(places) > 1:
            names = first_names(sorted({binary.section_names[index] for index in places}), MOST_NAMED)
            what = "code" if name == PLAIN else f"data of kind .{name}"
            raise FeatureUnsupported(
                f"{artefact}: its {what} is spread over {len(places)} output sections ({names}), and only one can be "
                "ordered: link without -z keep-text-section-prefix and --unique, and if with a linker script of your "
                "own, let it take *(.text .text.*) into one output section, *(.data .data.*) and so on into others"
            )


def _link_identity(setup: IngestSetup, link: CapturedLink, layout: Layout) -> tuple[elf.Elf, float]:
    """The layout linked for the capture's own sake, and the seconds it took."""
    scratch = setup.base / "identity"
    with cache_errors("write", scratch):
        scratch.mkdir()
    ld = setup.toolbox.tools["ld"]
    binary, seconds, _output = link_layout(
        setup.runner, ld, link, setup.base, layout, scratch=scratch, threads=setup.threads
    )
    remove_tree(scratch)
    return binary, seconds


def _prove_script(setup: IngestSetup, link: CapturedLink, layout: Layout, identity: elf.Elf) -> None:
    """An order put into the build's own linker script must not change what is loaded while it is identity's.

    Data takes part only in that all of it is in the same output sections: it may stand between constants that the
    linker merges, which no order can name.
    """
    code = tuple(i for i in layout.order if is_code(link.sections[i].kind))
    plain = identity if code == layout.order else _link_identity(setup, link, replace(layout, order=code))[0]
    original = elf.read(setup.built, name=setup.artefact)
    before, after = (elf.loaded_content(binary, skip=NOT_LOADED_CODE) for binary in (original, plain))
    moved = [one[0] for one, other in zip(before, after, strict=False) if one != other]
    homes, new_homes = (_homes(binary) for binary in (plain, identity))
    if before != after or homes != new_homes:
        where = f"section {moved[0]} differs" if moved else "its output sections are others"
        raise CaptureFailed(
            f"{setup.artefact} is linked with a linker script of its own, into which no order can be put: already in "
            f"the build's own order of functions the program is not the one that the build links ({where}). Give the "
            "script one statement *(.text .text.*) for all code that may move"
        )


def _homes(binary: elf.Elf) -> set[tuple[int, str]]:
    """Capture index and output section of every placed section."""
    number, _address, output = codecheck.placed_addresses(binary)
    return {(n, binary.section_names[o]) for n, o in zip(number.tolist(), output.tolist(), strict=True)}


def _identity_code(link: CapturedLink, binary: elf.Elf, masks: codecheck.Masks) -> Code:
    """Identity's code, once it is known to be the objects'."""
    where = codecheck.placed(binary, codecheck.placed_addresses(binary), masks.size)
    binary = undone(code_blocks.cut(masks.stored, masks.content, masks.input_fixed), binary, where, masks.size)
    linked = codecheck.section_bytes(binary, where, masks.stored)
    wrong = codecheck.changed(masks.content, linked, masks.input_fixed)
    if wrong is not None:
        index = int(np.searchsorted(np.cumsum(masks.stored), wrong, side="right"))
        section = link.sections[index]
        what = f"{section.name} of {section.object}"
        raise CodeChanged(f"{link.artefact}: the linker rewrote {what} beyond its relocations")
    learned = learn(binary, where, masks)
    return Code(
        size=masks.size,
        stored=masks.stored,
        content=linked,
        fixed=codecheck.fixed_again(masks, learned.unread, binary.machine),
        functions=without_strangers(codecheck.symbol_rows(binary, where, masks.size), masks.functions),
        variables=without_strangers(codecheck.symbol_rows(binary, where, masks.size, elf.STT_OBJECT), masks.variables),
        leads=learned.leads,
    )


def first_difference(built: bytes, replayed: bytes, name: str) -> str:
    """The first loaded section in which two files differ, "" if none but the build id does."""
    if not elf.is_elf(built):
        return "the file"
    first, second = (elf.loaded_content(elf.read(data, name=name), skip=NOT_LOADED_CODE) for data in (built, replayed))
    if len(first) != len(second):
        return "the number of loaded sections"
    return next((f"section {a[0]}" for a, b in zip(first, second, strict=True) if a != b), "")


def same_but_for_numbers(built: bytes, replayed: bytes, numbered: re.Pattern[bytes] | None) -> bool:
    """Whether two files are equal, but for numbers in names of symbols (`Linker.numbered`)."""
    if built == replayed:
        return True
    if numbered is None or len(built) != len(replayed) or not (elf.is_elf(built) and elf.is_elf(replayed)):
        return False
    first, second = (_without_numbers(data, numbered) for data in (built, replayed))
    return first == second


def _without_numbers(data: bytes, numbered: re.Pattern[bytes]) -> bytes:
    """The file without those numbers in the names of its table of symbols, if it has one."""
    binary = elf.read(data, name="the program")
    if binary.symbol_table is None:
        return data
    names = binary.sections[int(binary.sections[binary.symbol_table]["link"])]
    begin = int(names["offset"])
    end = begin + int(names["size"])
    return data[:begin] + numbered.sub(b"", data[begin:end]) + data[end:]
