"""Verify a binary whose objects changed places on the link line: what must not change, and what may.

The capture of such a link marks every section of every object, also copies of COMDAT functions that the user's order
of objects discards, since another order may choose them.  The reference is the objects' own bytes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from layoutrand.cache.capture_record import CapturedLink
from layoutrand.errors import CodeChanged, FeatureUnsupported
from layoutrand.layout.distance import kendall_tau, relative_order
from layoutrand.link import code_blocks, codecheck
from layoutrand.link.code import Code
from layoutrand.link.labels import same_symbols, without_strangers
from layoutrand.link.leads import undone
from layoutrand.linkers import link_order
from layoutrand.linkers.known import linker
from layoutrand.model import IDENTITY, Layout, Verification
from layoutrand.objects import elf


def reference(binary: elf.Elf, masks: codecheck.Masks) -> Code:
    """What every order is compared with: the objects' bytes, and identity's functions and variables."""
    found, where = _found(binary, masks.size)
    return Code(
        size=masks.size,
        stored=masks.stored,
        content=masks.content,
        fixed=masks.input_fixed,
        functions=without_strangers(_rows(binary, found, where, masks.size, elf.STT_FUNC), masks.functions),
        variables=without_strangers(_rows(binary, found, where, masks.size, elf.STT_OBJECT), masks.variables),
    )


def verify_moved(binary: elf.Elf, link: CapturedLink, layout: Layout, code: Code) -> Verification:
    """Check the binary against its objects, and its order against that of the objects on the link line.

    Raises `LayoutNotApplied` or `CodeChanged`.
    """
    found, where = _found(binary, code.size)
    achieved = found[np.argsort(where.address, kind="stable")].tolist()
    link_order.check_presence(link.sections, link.identity, achieved)
    if isinstance(layout.name, int):
        moved = link_order.move(link.argv, tuple(link.moves.values()), layout.name)
        owners = [link.moves.get(section.object, "") for section in link.sections]
        link_order.check_order(link.sections, owners, achieved, moved, by_class=linker(link.linker).renames)
    _check_bytes(link, code, found, binary, where)
    for kind, rows in ((elf.STT_FUNC, code.functions), (elf.STT_OBJECT, code.variables)):
        _check_rows(rows, _rows(binary, found, where, code.size, kind), found, link.identity)
    sizes = codecheck.other_sizes(binary, where.outputs)
    wrong = [name for name in sorted(codecheck.UNPADDED) if sizes.get(name) != link.other_sizes.get(name)]
    if wrong and layout.name != IDENTITY:
        raise CodeChanged(f"{', '.join(wrong)} has another size than in identity: a constructor is lost or new")
    first, second = relative_order(link.identity, achieved)
    functions = _rows(binary, found, where, code.size, elf.STT_FUNC)
    return Verification(
        n_sections=len(found),
        n_functions=len(functions),
        tau_identity=kendall_tau(first, second),
        tau_request=1.0,
        text_size=sum(int(binary.sections["size"][output]) for output in where.outputs),
    )


def _found(binary: elf.Elf, size: NDArray[np.int64]) -> tuple[NDArray[np.int64], codecheck.Placed]:
    """Capture indices of the sections that are there, ascending, and where they lie."""
    number, address, output = codecheck.placed_addresses(binary)
    by_number = np.argsort(number, kind="stable")
    number, address, output = number[by_number], address[by_number], output[by_number]
    if len(np.unique(address)) != len(address):
        raise FeatureUnsupported("link-order cannot be verified where the linker folds identical code (--icf)")
    marks = (np.arange(len(number)), address, output)
    return number, codecheck.placed(binary, marks, size[number])


def _rows(
    binary: elf.Elf, found: NDArray[np.int64], where: codecheck.Placed, size: NDArray[np.int64], kind: int
) -> NDArray[np.int64]:
    """Rows of `codecheck.symbol_rows` with capture indices."""
    rows = codecheck.symbol_rows(binary, where, size[found], kind)
    rows[:, 0] = found[rows[:, 0]]
    return rows


def _check_rows(
    before: NDArray[np.int64], after: NDArray[np.int64], found: NDArray[np.int64], identity: tuple[int, ...]
) -> None:
    """The functions of sections that both have are the same; other copies were compared with their object already."""
    shared = np.intersect1d(found, np.array(identity, np.int64))
    first, second = (rows[np.isin(rows[:, 0], shared)] for rows in (before, after))
    if not same_symbols(first, second):
        raise CodeChanged("the functions' sizes or places inside their sections differ from identity's")


def _check_bytes(
    link: CapturedLink, code: Code, found: NDArray[np.int64], binary: elf.Elf, where: codecheck.Placed
) -> None:
    """The sections' bytes are the objects', once what the linker moved out of the way is back in its place."""
    ends = np.cumsum(code.stored)
    spans = [slice(int(ends[i] - code.stored[i]), int(ends[i])) for i in found.tolist()]
    content = np.concatenate([code.content[span] for span in spans])
    fixed = np.concatenate([code.fixed[span] for span in spans])
    stored = code.stored[found]
    binary = undone(code_blocks.cut(stored, content, fixed), binary, where, code.size[found])
    wrong = codecheck.changed(content, codecheck.section_bytes(binary, where, stored), fixed)
    if wrong is not None:
        index = int(found[np.searchsorted(np.cumsum(stored), wrong, side="right")])
        section = link.sections[index]
        raise CodeChanged(f"{section.name} of {section.object} differs from its object, addresses aside")
