"""One layout of a captured link: link it, and prove that it is what was asked for."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from layoutrand.core import codecheck, elf, ldscript
from layoutrand.core.capture import ROOT, CapturedLink
from layoutrand.core.distance import kendall_tau
from layoutrand.errors import CodeChanged, LayoutNotApplied, LinkFailed
from layoutrand.model import Layout, Verification
from layoutrand.world.disk import sha256_bytes
from layoutrand.world.process import Completed, Runner


@dataclass(frozen=True)
class Code:
    """Identity's code, against which every layout is compared.

    ``size`` per section; ``content`` and ``fixed`` (bytes no link may change) concatenated in capture order;
    ``functions`` the rows of `codecheck.functions`.
    """

    size: NDArray[np.int64]
    content: NDArray[np.uint8]
    fixed: NDArray[np.bool_]
    functions: NDArray[np.int64]

    def dump(self) -> bytes:
        """As the bytes of an .npz file."""
        buffer = io.BytesIO()
        np.savez(buffer, size=self.size, content=self.content, fixed=self.fixed, functions=self.functions)
        return buffer.getvalue()

    @staticmethod
    def load(path: Path) -> Code:
        """From an .npz file."""
        with np.load(path, allow_pickle=False) as arrays:
            return Code(arrays["size"], arrays["content"], arrays["fixed"], arrays["functions"])


@dataclass(frozen=True)
class Linked:
    """What one verified link gave; ``data`` is the whole file."""

    data: bytes
    sha256: str
    text_sha256: str
    link_s: float
    verification: Verification


def run_linker(  # noqa: PLR0913 - the parts of one command
    runner: Runner, ld: Path, arguments: tuple[str, ...] | list[str], *, root: Path, cwd: str,
    environment: Mapping[str, str], output: Path, extra: list[str],
) -> Completed:  # fmt: skip
    """Execute a captured link line with ``root`` put in place of its marker."""
    argv = [str(ld), *(word.replace(ROOT, str(root)) for word in arguments), *extra, "-o", str(output)]
    env = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", **environment}
    return runner.run(argv, cwd=root / cwd, env=env)


def link_layout(  # noqa: PLR0913 - the parts of one link
    runner: Runner, ld: Path, link: CapturedLink, base: Path, layout: Layout, *, scratch: Path, folder: Path
) -> tuple[elf.Elf, float]:
    """Link the layout into ``folder``, under the name the build linked it with (version definitions contain it).

    Gives the binary and the seconds it took. ``base`` is the artefact's directory in the capture; order files go to
    ``scratch``. Raises `LinkFailed` with the linker's words.
    """
    output = folder / link.output
    if link.linker == "gnu":
        order_file = scratch / "layout.ld"
        order_file.write_text(ldscript.ordered_script(link.script, layout.order))
        extra = ["-T", str(order_file)]
    else:
        order_file = scratch / "layout.order"
        order_file.write_text(ldscript.symbol_order(layout.order))
        extra = [f"--symbol-ordering-file={order_file}"]
    begin = time.perf_counter()
    done = run_linker(
        runner, ld, link.argv, root=base / "edited", cwd=link.cwd, environment=link.environment, output=output,
        extra=extra,
    )  # fmt: skip
    seconds = time.perf_counter() - begin
    if done.returncode != 0:
        log = scratch / "link.log"
        log.write_text(done.text())
        last = done.text().strip().splitlines()[-1:] or ["it said nothing"]
        raise LinkFailed(f"{ld} exited with status {done.returncode}: {last[0]}", log=log)
    return elf.read(output.read_bytes(), name=str(output)), seconds


def verify(binary: elf.Elf, link: CapturedLink, layout: Layout, code: Code, seconds: float) -> Linked:
    """Check the binary against the layout asked for and against identity's code.

    Raises `LayoutNotApplied` or `CodeChanged`, naming the first section that is wrong.
    """
    number, address, section = codecheck.placed_addresses(binary)
    achieved = codecheck.placed_order(number, address)
    wanted = np.array(layout.order, np.int64)
    _check_order(link, achieved, wanted)
    output = int(section[0])
    linked = codecheck.section_bytes(binary, number, address, code.size, output)
    _check_code(link, code, linked)
    rows = codecheck.functions(binary, number, address, code.size)
    if rows.shape != code.functions.shape or not np.array_equal(rows, code.functions):
        raise CodeChanged("the functions' sizes or places inside their sections differ from identity's")
    sizes = codecheck.other_sizes(binary, output)
    if sizes != dict(link.other_sizes):
        names = sorted(set(sizes.items()) ^ set(link.other_sizes.items()))
        raise CodeChanged(f"output sections besides the code have another size than in identity: {names[:4]}")
    text = binary.content(output)
    return Linked(
        data=binary.data,
        sha256=sha256_bytes(binary.data),
        text_sha256=sha256_bytes(text),
        link_s=seconds,
        verification=Verification(
            n_sections=len(wanted), n_functions=len(rows), tau_identity=kendall_tau(link.identity, achieved),
            tau_request=kendall_tau(wanted, achieved), text_size=len(text),
        ),
    )  # fmt: skip


def _check_order(link: CapturedLink, achieved: NDArray[np.int64], wanted: NDArray[np.int64]) -> None:
    if np.array_equal(achieved, wanted):
        return
    if len(achieved) != len(wanted):
        raise LayoutNotApplied(f"{len(wanted)} sections were to be placed, the binary has {len(achieved)} of them")
    slot = int(np.flatnonzero(achieved != wanted)[0])
    tau = kendall_tau(wanted, achieved)
    raise LayoutNotApplied(
        f"slot {slot} holds {_describe(link, int(achieved[slot]))} instead of {_describe(link, int(wanted[slot]))}; "
        f"{int((achieved != wanted).sum())} of {len(wanted)} slots are wrong (Kendall tau to the request {tau:.4f})"
    )


def _check_code(link: CapturedLink, code: Code, linked: NDArray[np.uint8]) -> None:
    where = codecheck.changed(code.content, linked, code.fixed)
    if where is not None:
        ends = np.cumsum(code.size)
        index = int(np.searchsorted(ends, where, side="right"))
        offset = where - int(ends[index] - code.size[index])
        raise CodeChanged(f"{_describe(link, index)} differs from identity at byte {offset}, addresses aside")


def _describe(link: CapturedLink, index: int) -> str:
    section = link.sections[index]
    return f"{section.name} of {section.object}"
