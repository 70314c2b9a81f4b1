"""One layout of a captured link: link it, and prove that it is what was asked for."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from layoutrand.cache.capture_record import ROOT, CapturedLink
from layoutrand.errors import CodeChanged, FeatureUnsupported, LayoutNotApplied, LinkFailed, LinkStopped
from layoutrand.layout.distance import kendall_tau
from layoutrand.layout.factors import LINK_ORDER, LINKER_SHUFFLE
from layoutrand.link import by_symbols, codecheck
from layoutrand.link.by_symbols import ProgramCode
from layoutrand.link.code import Code
from layoutrand.link.code_blocks import first_change
from layoutrand.link.labels import same_symbols
from layoutrand.link.leads import ends_of_added_code, first_astray, undone
from layoutrand.link.linked import Linked
from layoutrand.link.lto_division import require_factors
from layoutrand.link.moved_objects import verify_moved
from layoutrand.link.program_places import Program
from layoutrand.linkers import link_order
from layoutrand.linkers.known import linker
from layoutrand.linkers.toolbox import Tool
from layoutrand.model import IDENTITY, Layout, Section, Verification
from layoutrand.objects import elf
from layoutrand.objects.fillers import filler, filler_object, fits, roots
from layoutrand.objects.kinds import FAMILIES, PLAIN, family
from layoutrand.objects.known import processor
from layoutrand.platform.disk import cache_errors, sha256_bytes
from layoutrand.platform.ending import STOPPING
from layoutrand.platform.process import Completed, Runner
from layoutrand.text.telling_line import of_build, of_program


def run_linker(
    runner: Runner, ld: Path, line: Sequence[str], *, cwd: Path, environment: Mapping[str, str]
) -> Completed:
    """Execute the linker in ``cwd`` with the words of the ``line``; raises `LinkStopped` where a signal stops it."""
    env = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", **environment}
    done = runner.run([str(ld), *line], cwd=cwd, env=env)
    if -done.returncode in STOPPING:
        raise LinkStopped(f"{ld} was stopped by {signal.Signals(-done.returncode).name}")
    return done


def link_captured(
    runner: Runner,
    ld: Path,
    link: CapturedLink,
    *,
    root: Path,
    folder: Path,
    extra: Sequence[str] = (),
    replay: bool = False,
) -> tuple[Completed, Path]:
    """Execute a captured link line on the files under ``root``; the output goes into ``folder``.

    It is linked under the name that the build used, since linkers put that name into version definitions; and that is
    why the link happens in ``folder`` unless its words are relative to a directory of the capture.
    """
    arguments = [word.replace(ROOT, str(root)) for word in (link.replay_argv if replay else link.argv)]
    output = folder / link.output
    with cache_errors("write", folder):
        output.parent.mkdir(parents=True, exist_ok=True)
        output.unlink(missing_ok=True)  # of a link that failed
        (root / link.cwd).mkdir(parents=True, exist_ok=True)
    done = run_linker(
        runner,
        ld,
        linker(link.linker).line(arguments, extra, str(output) if link.cwd else link.output),
        cwd=root / link.cwd if link.cwd else folder,
        environment={**link.environment, "TMPDIR": str(folder)},  # what a linker plugin leaves goes with the folder
    )
    return done, output


def link_layout(
    runner: Runner, ld: Tool, link: CapturedLink, base: Path, layout: Layout, *, scratch: Path, threads: int = 0
) -> tuple[elf.Elf, float, Path]:
    """Link the layout in ``scratch``: the binary, the seconds that the linker took, and where it is.

    ``base`` is the artefact's directory in the capture; ``threads`` limits the linker's (0: it chooses). Raises
    `LinkFailed` with the linker's words, and `FeatureUnsupported` for a layout that the linker cannot be asked for.
    """
    if isinstance(layout.name, int):
        require_factors(link.lto, layout.factors, link.artefact)
    means = linker(link.linker)
    if means.fills(ld.version, layout):
        link, layout = _filled(link, layout, scratch)
    asked = means.request(ld.version, link.script, link.sections, layout, users_script=link.users_script)
    if LINK_ORDER in layout.factors and isinstance(layout.name, int):
        link = replace(link, argv=link_order.move(link.argv, tuple(link.moves.values()), layout.name).argv)
    order_file = scratch / "layout"
    with cache_errors("write", order_file):
        order_file.unlink(missing_ok=True)  # a file written over, some file systems bring to the disk at once
        order_file.write_text(asked.text, "utf-8", "surrogateescape")
    extra = asked.argv(str(order_file)) + (means.thread_limit(link.argv, threads) if threads else [])
    done, output = link_captured(runner, ld.path, link, root=base / "edited", folder=scratch / "output", extra=extra)
    if done.returncode != 0:
        log = scratch / "link.log"
        log.write_text(done.text())
        said = of_build(done.text()) or of_program(done.text()) or "it said nothing"
        raise LinkFailed(f"{ld.path} exited with status {done.returncode}: {said}", log=log)
    return elf.read(output.read_bytes(), name=str(output)), done.seconds, output


def _filled(link: CapturedLink, layout: Layout, scratch: Path) -> tuple[CapturedLink, Layout]:
    """The link with an object more, a section of which stands in the order for each gap."""
    order: list[int] = []
    fillers: list[Section] = []
    for index, gap in zip(layout.order, layout.gaps, strict=True):
        if gap:
            fillers.append(filler(len(link.sections) + len(fillers), link.sections[index].kind, gap))
            order.append(fillers[-1].index)
        order.append(index)
    return with_fillers(link, fillers, scratch), replace(layout, order=tuple(order), gaps=())


def with_fillers(link: CapturedLink, fillers: Sequence[Section], scratch: Path) -> CapturedLink:
    """The link with an object more, which is written to ``scratch`` and has these sections.

    Raises `FeatureUnsupported` where they are too many for an object.
    """
    if not fits(len(fillers)):
        raise FeatureUnsupported(f"{link.artefact}: {len(fillers):,} gaps are more than an object file has room for")
    path = scratch / "fillers.o"
    with cache_errors("write", path):
        path.unlink(missing_ok=True)
        path.write_bytes(filler_object(fillers, processor(link.machine, link.artefact), link.machine_flags))
    sections = (*link.sections, *fillers)
    return replace(
        link, sections=sections, argv=(*link.argv, str(path), *(f"--undefined={name}" for name in roots(fillers)))
    )


def verify(
    binary: elf.Elf, link: CapturedLink, layout: Layout, code: Code, seconds: float, *, ld_version: str
) -> Linked:
    """Check the binary against the layout asked for and against identity's code.

    ``ld_version`` is what the linker says of itself.  Raises `LayoutNotApplied` or `CodeChanged`, naming the first
    section that is wrong.
    """
    if isinstance(code, ProgramCode):
        proof = by_symbols.verify(binary, link, layout, code)
        return _linked(binary, proof, [Program(binary).text], seconds)
    if LINK_ORDER in layout.factors:
        outputs = codecheck.placed_addresses(binary)[2].tolist()
        return _linked(binary, verify_moved(binary, link, layout, code), outputs, seconds)
    where = codecheck.placed(
        binary, codecheck.of_capture(codecheck.placed_addresses(binary), len(code.size)), code.size
    )
    achieved = where.by_address
    own_shuffle = LINKER_SHUFFLE in layout.factors and layout.name != IDENTITY
    wanted = achieved if own_shuffle else layout.numbers
    if own_shuffle and np.array_equal(achieved, link.identity_numbers):
        raise LayoutNotApplied(f"{link.linker} was asked to shuffle, but left every section where it was")
    _check_order(link, achieved, wanted)
    own_gaps, filled = (ask(ld_version, layout) for ask in (linker(link.linker).pads, linker(link.linker).fills))
    _check_gaps(link, layout, binary, where, code, own_gaps=own_gaps, filled=filled)
    _check_code(link, code, binary, where, padded=own_shuffle or own_gaps)
    rows = codecheck.symbol_rows(binary, where, code.size)
    if not same_symbols(code.functions, rows):
        raise CodeChanged("the functions' sizes or places inside their sections differ from identity's")
    if not same_symbols(code.variables, codecheck.symbol_rows(binary, where, code.size, elf.STT_OBJECT)):
        raise CodeChanged("the variables' sizes or places inside their sections differ from identity's")
    padded = own_shuffle or own_gaps
    wrong = codecheck.wrong_sizes(codecheck.other_sizes(binary, where.outputs), link.other_sizes, padded=padded)
    if wrong:
        raise CodeChanged(f"output sections besides the placed ones have another size than in identity: {wrong[:4]}")
    proof = Verification(
        n_sections=len(wanted),
        n_functions=len(code.functions),
        tau_identity=kendall_tau(link.identity_numbers, achieved),
        tau_request=1.0,  # the orders are equal, or this line would not be reached
        text_size=sum(int(binary.sections["size"][output]) for output in where.outputs),
    )
    return _linked(binary, proof, where.outputs, seconds)


def _linked(binary: elf.Elf, proof: Verification, outputs: Sequence[int], seconds: float) -> Linked:
    """The verified binary; its text hash covers every output section that holds placed ones."""
    text = [binary.view(output) for output in sorted(set(outputs))]
    return Linked(binary.data, sha256_bytes(binary.data), sha256_bytes(*text), seconds, proof)


def _check_order(link: CapturedLink, achieved: NDArray[np.int64], wanted: NDArray[np.int64]) -> None:
    if np.array_equal(achieved, wanted):
        return
    slot = int(np.flatnonzero(achieved != wanted)[0])
    tau = kendall_tau(wanted, achieved)
    raise LayoutNotApplied(
        f"slot {slot} holds {_describe(link, int(achieved[slot]))} instead of {_describe(link, int(wanted[slot]))}; "
        f"{int((achieved != wanted).sum())} of {len(wanted)} slots are wrong (Kendall tau to the request {tau:.4f})"
    )


def _check_gaps(
    link: CapturedLink,
    layout: Layout,
    binary: elf.Elf,
    where: codecheck.Placed,
    code: Code,
    *,
    own_gaps: bool,
    filled: bool,
) -> None:
    if not layout.gaps:
        return
    order = layout.numbers
    align = np.array([link.sections[i].align for i in layout.order], np.int64)
    gaps = np.array(layout.gaps, np.int64) * (not own_gaps)
    address = where.address[order]
    placed = codecheck.Placed(address, where.output[order])
    lowest = codecheck.closest(binary, placed, code.size[order], gaps)
    if link.users_script or filled:  # what script or linker places by itself may come before a family's first section
        families = np.array([FAMILIES.index(family(link.sections[i].kind)) for i in layout.order], np.int64)
        first = np.diff(placed.output * len(FAMILIES) + families, prepend=-1) != 0
        first &= link.users_script | (families != FAMILIES.index(PLAIN))  # but not before code, where gaps are
        lowest[first] = address[first]
    slot = codecheck.first_wrong_gap(address, lowest, align)
    while slot is not None and not own_gaps:  # what the linker puts behind a section by itself is no gap of ours
        ends = ends_of_added_code(binary, where, code.size, int(lowest[slot] - gaps[slot]))
        behind = [end for end in ends if end <= address[slot]]
        if not behind:
            break
        lowest[slot] = behind[-1] + gaps[slot]
        slot = codecheck.first_wrong_gap(address, lowest, align)
    if own_gaps:  # how much is the linker's choice: that it padded at all can be seen
        if slot is None:
            raise LayoutNotApplied(f"{link.linker} was asked to pad, but left no gap before any function")
    elif slot is not None:
        raise LayoutNotApplied(
            f"the gap of {layout.gaps[slot]} bytes before {_describe(link, layout.order[slot])} (slot {slot}) is not "
            "what the binary has"
        )


def _check_code(link: CapturedLink, code: Code, binary: elf.Elf, where: codecheck.Placed, *, padded: bool) -> None:
    binary = undone(code.blocks, binary, where, code.size)
    change = first_change(code.blocks, binary, where)
    if change is not None:
        index, offset = change
        raise CodeChanged(f"{_describe(link, index)} differs from identity at byte {offset}, addresses aside")
    astray = first_astray(code.leads, binary, where, code.size, padded=padded) if code.leads else None
    if astray is not None:
        index, offset = astray
        raise CodeChanged(f"{_describe(link, index)} refers at byte {offset} to another place than in identity")


def _describe(link: CapturedLink, index: int) -> str:
    section = link.sections[index]
    return f"{section.name} of {section.object}"
