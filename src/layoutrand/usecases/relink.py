"""One layout of a captured link: link it, and prove that it is what was asked for."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from layoutrand.core import codecheck, elf, ldscript
from layoutrand.core.capture import ROOT, CapturedLink
from layoutrand.core.distance import kendall_tau
from layoutrand.errors import CodeChanged, LayoutNotApplied, LinkFailed
from layoutrand.model import Layout, Verification
from layoutrand.world.disk import cache_errors, sha256_bytes
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
    runner: Runner, ld: Path, arguments: Sequence[str], *, cwd: Path, environment: Mapping[str, str], output: str
) -> Completed:  # fmt: skip
    """Execute the linker in ``cwd``."""
    env = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", **environment}
    return runner.run([str(ld), *arguments, "-o", output], cwd=cwd, env=env)


def link_captured(  # noqa: PLR0913 - the parts of one link
    runner: Runner, ld: Path, link: CapturedLink, *, root: Path, folder: Path, extra: Sequence[str] = (),
    replay: bool = False,
) -> tuple[Completed, Path]:  # fmt: skip
    """Execute a captured link line on the files under ``root``; the output goes into ``folder``.

    It is linked under the name that the build used, since linkers put that name into version definitions; and that is
    why the link happens in ``folder`` unless its words are relative to a directory of the capture.
    """
    arguments = [word.replace(ROOT, str(root)) for word in (link.replay_argv if replay else link.argv)]
    output = folder / link.output
    with cache_errors("write", folder):
        output.parent.mkdir(parents=True, exist_ok=True)
        (root / link.cwd).mkdir(parents=True, exist_ok=True)
    done = run_linker(
        runner, ld, [*arguments, *extra], cwd=root / link.cwd if link.cwd else folder, environment=link.environment,
        output=str(output) if link.cwd else link.output,
    )  # fmt: skip
    return done, output


def link_layout(  # noqa: PLR0913 - the parts of one link
    runner: Runner, ld: Path, link: CapturedLink, base: Path, layout: Layout, *, scratch: Path
) -> tuple[elf.Elf, float, Path]:
    """Link the layout in ``scratch``: the binary, the seconds it took, and where it is.

    ``base`` is the artefact's directory in the capture. Raises `LinkFailed` with the linker's words.
    """
    if link.linker == "gnu":
        order_file = scratch / "layout.ld"
        text = ldscript.ordered_script(link.script, layout.order)
        extra = ["-T", str(order_file)]
    else:
        order_file = scratch / "layout.order"
        text = ldscript.symbol_order(layout.order)
        extra = [f"--symbol-ordering-file={order_file}"]
    with cache_errors("write", order_file):
        order_file.write_text(text)
    begin = time.perf_counter()
    done, output = link_captured(runner, ld, link, root=base / "edited", folder=scratch / "output", extra=extra)
    seconds = time.perf_counter() - begin
    if done.returncode != 0:
        log = scratch / "link.log"
        log.write_text(done.text())
        last = done.text().strip().splitlines()[-1:] or ["it said nothing"]
        raise LinkFailed(f"{ld} exited with status {done.returncode}: {last[0]}", log=log)
    return elf.read(output.read_bytes(), name=str(output)), seconds, output


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
