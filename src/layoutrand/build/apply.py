"""The seed applied inside the user's own build, link by link.

The linker wrapper lets each link happen as asked, then hands its record to `relink_recorded`, which captures that one
link, links it in the layout of the seed, verifies it like any other binary, and puts it where the first one was.
Same capture, same order, same checks as by relinking: so the same seed gives the same layout.

A link that cannot be laid out is left as it was and noted, and the build goes on: it may be a configure script's trial,
whose success decides what is built.  Nothing is printed, since builds compare what their tools say.  Whoever started
the build judges afterwards by the `LinkOutcome` of each link.
What a link writes besides its output (a map) stays that of the link as asked.
"""

from __future__ import annotations

import errno
import json
import os
import tempfile
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from layoutrand.build import descent
from layoutrand.cache import capture_record as captures
from layoutrand.cache.capture_record import Capture, CapturedLink
from layoutrand.capture.collect import BuildPlace, IngestSetup
from layoutrand.capture.ingest import ingest
from layoutrand.capture.link_memory import LinkMemory
from layoutrand.capture.records import LinkRecord, read_record, read_records
from layoutrand.capture.workspace import Workspace
from layoutrand.config.config import as_dict
from layoutrand.config.layout_policy import LayoutPolicy, Ordered
from layoutrand.config.toolchain import Toolchain
from layoutrand.errors import FeatureUnsupported, LayoutrandError, StoreError, ToolNotFound
from layoutrand.layout.distance import kendall_tau
from layoutrand.layout.factors import LINK_ORDER, LINKER_SHUFFLE
from layoutrand.link import codecheck
from layoutrand.link.code import Code
from layoutrand.link.one_layout import only_one_layout
from layoutrand.link.relink import link_layout, verify
from layoutrand.linkers.toolbox import Tool, Toolbox
from layoutrand.linkers.trials import is_trial
from layoutrand.model import Layout, LayoutName, Verification
from layoutrand.objects import elf
from layoutrand.platform.disk import canonical_json, sha256_bytes, write_atomically
from layoutrand.platform.process import Runner
from layoutrand.platform.regular_file import PROGRAM, content_of_regular

Status = Literal["laid out", "immovable", "left alone", "failed"]
"""Of a link: it has the layout; it has one layout only; it is nothing that could have another; or why it has none."""

_ELFCLASS32 = b"\x01"
_ET_REL = b"\x01\x00"
_RESOURCES = frozenset(
    {
        errno.ENOSPC,
        errno.EDQUOT,
        errno.ENOMEM,
        errno.EMFILE,
        errno.ENFILE,
        errno.EIO,
        errno.EROFS,
    }
)


@dataclass(frozen=True)
class RelinkOrders:
    """What every link of one build is to become.

    ``only`` names the outputs to lay out, by their paths or the ends of these; empty for all. Those that ``excepted``
    names are left alone. ``judged`` tells whether what the build leaves is compared with its links afterwards: then
    what that takes is kept of each.
    """

    layout: LayoutName
    policy: LayoutPolicy
    only: tuple[str, ...]
    place: BuildPlace
    toolbox: Toolbox
    excepted: tuple[str, ...] = ()
    judged: bool = True
    ordered: Ordered = "move"

    def wants(self, output: str) -> bool:
        """Whether the link that writes this file is to be laid out."""
        return wanted(output, self.only, self.excepted)

    def write(self, path: Path) -> Path:
        """Put the order where `relink_recorded` finds it."""
        values = {
            "layout": self.layout,
            "policy": as_dict(self.policy),
            "only": list(self.only),
            "excepted": list(self.excepted),
            "place": vars(self.place),
            "judged": self.judged,
            "ordered": self.ordered,
            "toolchain": self.toolbox.toolchain.model_dump(mode="json"),
            "tools": self.toolbox.facts(),
        }
        write_atomically(path, canonical_json(values))
        return path

    @staticmethod
    def read(path: Path) -> RelinkOrders:
        """The order that `write` wrote."""
        values = json.loads(path.read_bytes())
        tools = {
            role: Tool(Path(facts["path"]), facts["version"], facts["sha256"])
            for role, facts in values["tools"].items()
        }
        return RelinkOrders(
            layout=values["layout"],
            policy=LayoutPolicy.model_validate(values["policy"]),
            only=tuple(values["only"]),
            place=BuildPlace(**values["place"]),
            toolbox=Toolbox(Toolchain.model_validate(values["toolchain"]), tools),
            excepted=tuple(values["excepted"]),
            judged=values["judged"],
            ordered=values["ordered"],
        )


@dataclass(frozen=True)
class Proof:
    """What was verified of a link that was laid out, and what is kept to recognise its output later, if it is judged.

    ``movable`` sections may change places, and ``tau`` is Kendall's between their order and identity's; of all
    sections, those of start files and system libraries among them, ``verification`` tells. ``program`` is the digest of
    all that must be equal in every layout of one program; ``addresses`` are those of the placed sections in capture
    order.
    """

    sha256: str
    text_sha256: str
    link_s: float
    verification: Verification
    movable: int
    tau: float
    program: str = ""
    addresses: tuple[int, ...] = ()
    loaded: tuple[tuple[str, int, int, str], ...] = ()


@dataclass(frozen=True)
class LinkOutcome:
    """What became of one recorded link; ``reason`` says why it was not laid out, ``proof`` what it is if it was."""

    output: str
    status: Status
    reason: str
    proof: Proof | None
    record: Path

    def traces(self) -> descent.Traces:
        """What the output of a link that was laid out is known by."""
        assert self.proof is not None
        return descent.Traces(self.proof.sha256, self.proof.loaded, (self.record / "code.bin").read_bytes())

    def link(self) -> CapturedLink:
        """The captured link, its sections and identity order; the files are gone."""
        table = json.loads((self.record / "link.json").read_bytes())
        return captures.from_json(table, where=str(self.record)).links[0]

    def code(self) -> bytes:
        """Identity's code as `Code.dump` writes it."""
        return (self.record / "code.npz").read_bytes()


def wanted(output: str, only: Sequence[str], excepted: Sequence[str]) -> bool:
    """Whether an output is one of ``only`` (empty: any) and none of ``excepted``."""
    asked = not only or any(named(output, name) for name in only)
    return asked and not any(named(output, name) for name in excepted)


def named(output: str, name: str) -> bool:
    """Whether ``name`` is the path ``output`` or its last parts."""
    return output == name or output.endswith("/" + name.removeprefix("./"))


Put = Callable[[Path, Path], object]
"""Renames a file to where another was."""


def relink_recorded(record_path: Path, order: RelinkOrders, runner: Runner, memory: LinkMemory, put: Put) -> None:
    """Lay out one recorded link in place, or leave it and note why.

    ``memory`` is of the build; ``put`` brings the result into its place. Raises what is no property of the link: a full
    disk, a missing tool. The user's build then fails with it.
    """
    record = read_record(record_path)
    try:
        _relink(record, order, runner, memory, put)
    finally:
        record.forget_map()


def _relink(record: LinkRecord, order: RelinkOrders, runner: Runner, memory: LinkMemory, put: Put) -> None:
    output = Path(record.output())
    if not output.is_file():  # -o /dev/null
        return
    if not order.wants(str(output)) or is_trial(str(output), order.place.tree):
        os.utime(output)  # the wrapper made it look old, so that nobody takes a link that was cut short for finished
        _mark(record, output)
        return
    os.utime(output, (1, 1))
    status, reason, proof = _judged(record, order, output, runner, memory, put)
    if proof is None:
        os.utime(output)
    _mark(record, output)
    outcome = {"output": str(output), "status": status, "reason": reason, "proof": proof and asdict(proof)}
    write_atomically(record.path / "outcome.json", canonical_json(outcome))


def _judged(
    record: LinkRecord, order: RelinkOrders, output: Path, runner: Runner, memory: LinkMemory, put: Put
) -> tuple[Status, str, Proof | None]:
    """Lay out the link if that can be done: what became of it, why it was not laid out, and the proof if it was.

    Also a defect of layoutrand is no more than a reason here: the link itself is done, and the build goes on.
    """
    built = content_of_regular(output, largest=PROGRAM)
    if reason := by_nature(built):
        return "left alone", reason, None
    try:
        reason, proof = _lay_out(record, order, output, built, runner, memory, put)
    except (StoreError, ToolNotFound):
        raise
    except LayoutrandError as error:
        return "failed", getattr(error, "message", str(error)), None
    except Exception as error:
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in _RESOURCES):
            raise
        return "failed", f"an error in layoutrand itself, please report it:\n{traceback.format_exc().strip()}", None
    return "laid out" if proof else "immovable", reason, proof


def by_nature(built: bytes) -> str:
    """Why a file that was linked can have no layout of ours, whatever it holds; or ""."""
    if not elf.is_elf(built):
        return "it is not an ELF file"
    if built[4:5] == _ELFCLASS32:
        return "it is a 32-bit program (-m32, -mx32), and only those of 64 bits can be laid out"
    if built[16:18] == _ET_REL:
        return "it is an object file, which is placed when a program is linked of it"
    return ""


def _mark(record: LinkRecord, output: Path) -> None:
    """Keep with the record by what descendants of its output, which is final now, are known."""
    try:
        marks = descent.marks(elf.read(output.read_bytes(), name=str(output)))
    except FeatureUnsupported:  # nothing that could descend from it is looked for
        return
    (record.path / "marks.json").write_bytes(canonical_json(asdict(marks)))


def _lay_out(
    record: LinkRecord, order: RelinkOrders, output: Path, built: bytes, runner: Runner, memory: LinkMemory, put: Put
) -> tuple[str, Proof | None]:
    """Replace the output by the same link in the layout asked for; or why there is nothing to lay out in it."""
    with tempfile.TemporaryDirectory(prefix="layoutrand-", dir=order.place.temporary) as scratch:
        base = Path(scratch)
        setup = IngestSetup(
            output.name,
            built,
            order.place,
            base,
            order.toolbox,
            runner,
            tuple(order.policy.factors),
            memory,
            kept=order.judged,
            archives=order.policy.archives,
            ordered=order.ordered,
        )
        link, code = ingest(record, setup)
        policy = order.policy
        if reason := only_one_layout(link, factors=policy.drawn, classes=policy.classes, whole=policy.in_blocks):
            return f"it has {reason}", None
        layout = policy.draw(link.sections, link.identity, order.layout)
        ld = order.toolbox.tools["ld"]
        binary, seconds, _output = link_layout(runner, ld, link, base, layout, scratch=base, threads=setup.threads)
        linked = verify(binary, link, layout, code, seconds, ld_version=ld.version)
        dumped = (base / "code.npz").read_bytes() if order.judged else b""
    target = Path(os.path.realpath(output))  # the linker writes through a symbolic link
    tau = _tau_of_movable(link, layout, linked.verification)
    proof = Proof(linked.sha256, linked.text_sha256, linked.link_s, linked.verification, link.movable(), tau)
    if order.judged:
        traces = descent.traces(binary)
        _keep(record.path, link, dumped, traces.code, order.toolbox)
        number, address, _outputs = codecheck.placed_addresses(binary)
        proof = replace(
            proof,
            program=program_digest(link, code),
            addresses=tuple(address[np.argsort(number)].tolist()),
            loaded=traces.loaded,
        )
    write_atomically(target, linked.data, mode=target.stat().st_mode, put=put)
    return "", proof


def _tau_of_movable(link: CapturedLink, layout: Layout, verification: Verification) -> float:
    if link.movable() == len(link.sections) or {LINK_ORDER, LINKER_SHUFFLE} & set(layout.factors):
        return verification.tau_identity
    first, second = ([i for i in order if not link.sections[i].pinned] for order in (link.identity, layout.order))
    return kendall_tau(first, second)


def _keep(folder: Path, link: CapturedLink, code: bytes, text: bytes, toolbox: Toolbox) -> None:
    """Keep with the record what the judgement after the build may need."""
    alone = Capture(
        id="",
        system="",
        toolchain=toolbox.toolchain.name,
        separates_classes=toolbox.toolchain.link.separates_classes,
        tools=toolbox.facts(),
        source={},
        build_s=0.0,
        n_links=1,
        links=(link,),
    )
    for name, data in (("link.json", canonical_json(captures.to_json(alone))), ("code.npz", code), ("code.bin", text)):
        write_atomically(folder / name, data)


def program_digest(link: CapturedLink, code: Code) -> str:
    """What builds of one program must share: its sections, their identity order, and their code, addresses aside."""
    fixed = code.fixed == 0xFF if code.whole_bytes() else code.fixed  # as digests of x86-64 have ever been made
    arrays = {**code.arrays(), "content": code.content & code.fixed, "fixed": fixed}
    facts = {
        "sections": [list(vars(section).values()) for section in link.sections],
        "identity": list(link.identity),
        "code": {name: sha256_bytes(np.ascontiguousarray(array).tobytes()) for name, array in arrays.items()},
    }
    return sha256_bytes(canonical_json(facts))


def read_outcomes(space: Workspace) -> list[LinkOutcome]:
    """What became of every link of a build that was to be laid out, oldest first."""
    found = []
    for record in read_records(space.records):
        try:
            values: dict[str, Any] = json.loads((record.path / "outcome.json").read_bytes())
        except FileNotFoundError:  # not among those asked for, or the build was stopped
            continue
        proof = values["proof"]
        if proof is not None:
            loaded = tuple((name, address, size, digest) for name, address, size, digest in proof["loaded"])
            verification = Verification(**proof["verification"])
            addresses = tuple(proof["addresses"])
            proof = Proof(**{**proof, "loaded": loaded, "verification": verification, "addresses": addresses})
        found.append(LinkOutcome(values["output"], values["status"], values["reason"], proof, record.path))
    return found


def listed(outcomes: Sequence[LinkOutcome], tree: str) -> str:
    """The outcomes for a message: each output relative to the tree, with what became of it."""
    rows = [f"{os.path.relpath(each.output, tree)} ({each.reason or each.status})" for each in outcomes[:6]]
    return "; ".join(rows) + (f"; and {len(outcomes) - 6} more" if len(outcomes) > 6 else "")
