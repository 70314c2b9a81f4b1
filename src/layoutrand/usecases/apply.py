"""The seed applied inside the user's own build, link by link.

The linker wrapper lets each link happen as asked, then hands its record to `relink_recorded`, which captures that one
link, links it in the layout of the seed, verifies it like any other binary, and puts it where the first one was.
Same capture, same order, same checks as by relinking: so the same seed gives the same layout.

A link that cannot be laid out is left as it was and noted, and the build goes on: it may be a configure script's trial,
whose success decides what is built.  Whoever started the build judges afterwards by the `Outcome` of each link.
What a link writes besides its output (a map) stays that of the link as asked.
"""

from __future__ import annotations

import io
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from layoutrand.core import capture as captures
from layoutrand.core import codecheck, descent, elf
from layoutrand.core.capture import Capture, CapturedLink
from layoutrand.core.code import Code
from layoutrand.core.config import LayoutPolicy, as_dict
from layoutrand.core.order import draw
from layoutrand.core.toolchain import Toolchain
from layoutrand.errors import BuildError, FeatureUnsupported
from layoutrand.model import LayoutName, Verification
from layoutrand.usecases.collect import Bench, Place
from layoutrand.usecases.ingest import ingest
from layoutrand.usecases.relink import Linked, link_layout, verify
from layoutrand.world.disk import canonical_json, sha256_bytes, write_atomically
from layoutrand.world.process import Runner
from layoutrand.world.records import Record, read_record, read_records
from layoutrand.world.toolbox import Tool, Toolbox
from layoutrand.world.workspace import Workspace

MIN_SECTIONS: Final = 2

Status = Literal["laid out", "immovable", "failed"]


@dataclass(frozen=True)
class Order:
    """What every link of one build is to become.

    ``only`` names the outputs to lay out, by their paths or the ends of these; empty for all.
    """

    layout: LayoutName
    policy: LayoutPolicy
    only: tuple[str, ...]
    place: Place
    toolbox: Toolbox

    def wants(self, output: str) -> bool:
        """Whether the link that writes this file is to be laid out."""
        return not self.only or any(named(output, name) for name in self.only)

    def write(self, path: Path) -> Path:
        """Put the order where `relink_recorded` finds it."""
        values = {
            "layout": self.layout, "policy": as_dict(self.policy),
            "only": list(self.only), "place": vars(self.place),
            "toolchain": self.toolbox.toolchain.model_dump(mode="json"), "tools": self.toolbox.facts(),
        }  # fmt: skip
        write_atomically(path, canonical_json(values))
        return path

    @staticmethod
    def read(path: Path) -> Order:
        """The order that `write` wrote."""
        values = json.loads(path.read_bytes())
        tools = {
            role: Tool(Path(facts["path"]), facts["version"], facts["sha256"])
            for role, facts in values["tools"].items()
        }
        return Order(
            layout=values["layout"], policy=LayoutPolicy.model_validate(values["policy"]),
            only=tuple(values["only"]), place=Place(**values["place"]),
            toolbox=Toolbox(Toolchain.model_validate(values["toolchain"]), tools),
        )  # fmt: skip


@dataclass(frozen=True)
class Proof:
    """What was verified of a link that was laid out, and what is kept to recognise its output later.

    ``program`` is the digest of all that must be equal in every layout of one program; ``addresses`` are those of the
    placed sections in capture order.
    """

    sha256: str
    text_sha256: str
    link_s: float
    verification: Verification
    program: str
    addresses: tuple[int, ...]
    loaded: tuple[tuple[str, int, int, str], ...]


@dataclass(frozen=True)
class Outcome:
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


def named(output: str, name: str) -> bool:
    """Whether ``name`` is the path ``output`` or its last parts."""
    return output == name or output.endswith("/" + name.removeprefix("./"))


def relink_recorded(record_path: Path, order_path: Path, runner: Runner) -> None:
    """Lay out one recorded link in place, or leave it and note why.

    Raises what is no property of the link: a full disk, a missing tool. The user's build then fails with it.
    """
    order = Order.read(order_path)
    record = read_record(record_path)
    output = Path(record.output())
    if not output.is_file():  # -o /dev/null
        return
    if not order.wants(str(output)):
        os.utime(output)  # the wrapper made it look old, so that nobody takes a link that was cut short for finished
        return
    os.utime(output, (1, 1))
    try:
        reason, proof = _lay_out(record, order, output, runner)
        status: Status = "laid out" if proof else "immovable"
    except (BuildError, FeatureUnsupported) as error:
        reason, proof, status = getattr(error, "message", str(error)), None, "failed"
    if proof is None:
        os.utime(output)
        sys.stderr.write(f"layoutrand: {output} is left as it was linked: {reason}\n")
    outcome = {"output": str(output), "status": status, "reason": reason, "proof": proof and asdict(proof)}
    write_atomically(record_path / "outcome.json", canonical_json(outcome))


def _lay_out(record: Record, order: Order, output: Path, runner: Runner) -> tuple[str, Proof | None]:
    """Replace the output by the same link in the layout asked for; or why there is nothing to lay out in it."""
    built = output.read_bytes()
    if not elf.is_elf(built):
        return "it is not an ELF file", None
    with tempfile.TemporaryDirectory(prefix="layoutrand-", dir=order.place.temporary) as scratch:
        base = Path(scratch)
        bench = Bench(output.name, built, order.place, base, order.toolbox, runner, tuple(order.policy.factors))
        link = ingest(record, bench)
        if link.movable() < MIN_SECTIONS:
            return f"it has {link.movable()} placeable section, so there is only one layout", None
        policy = order.policy
        layout = draw(
            link.sections, link.identity, name=order.layout, factors=tuple(policy.factors), classes=policy.classes,
            padding=policy.padding_bytes,
        )  # fmt: skip
        binary, seconds, _output = link_layout(runner, order.toolbox.tools["ld"], link, base, layout, scratch=base)
        dumped = (base / "code.npz").read_bytes()
        code = Code.load(io.BytesIO(dumped))
        linked = verify(binary, link, layout, code, seconds)
    traces = descent.traces(binary)
    _keep(record.path, link, dumped, traces.code, order.toolbox)
    target = Path(os.path.realpath(output))  # the linker writes through a symbolic link
    mode = target.stat().st_mode
    write_atomically(target, linked.data)
    target.chmod(mode)
    return "", _proof(linked, link, code, binary, traces)


def _proof(linked: Linked, link: CapturedLink, code: Code, binary: elf.Elf, traces: descent.Traces) -> Proof:
    number, address, _output = codecheck.placed_addresses(binary)
    return Proof(
        sha256=linked.sha256, text_sha256=linked.text_sha256, link_s=linked.link_s, verification=linked.verification,
        program=program_digest(link, code),
        addresses=tuple(address[np.argsort(number)].tolist()), loaded=traces.loaded,
    )  # fmt: skip


def _keep(folder: Path, link: CapturedLink, code: bytes, text: bytes, toolbox: Toolbox) -> None:
    """Keep with the record what the judgement after the build may need."""
    alone = Capture(
        id="", system="", toolchain=toolbox.toolchain.name, separates_classes=toolbox.toolchain.link.separates_classes,
        tools=toolbox.facts(), source={}, build_s=0.0, n_links=1, links=(link,),
    )  # fmt: skip
    for name, data in (("link.json", canonical_json(captures.to_json(alone))), ("code.npz", code), ("code.bin", text)):
        write_atomically(folder / name, data)


def program_digest(link: CapturedLink, code: Code) -> str:
    """What builds of one program must share: its sections, their identity order, and their code, addresses aside."""
    arrays = {**code.arrays(), "content": np.where(code.fixed, code.content, 0).astype(np.uint8)}
    facts = {
        "sections": [list(vars(section).values()) for section in link.sections],
        "identity": list(link.identity),
        "code": {name: sha256_bytes(np.ascontiguousarray(array).tobytes()) for name, array in arrays.items()},
    }
    return sha256_bytes(canonical_json(facts))


def read_outcomes(space: Workspace) -> list[Outcome]:
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
        found.append(Outcome(values["output"], values["status"], values["reason"], proof, record.path))
    return found


def listed(outcomes: Sequence[Outcome], tree: str) -> str:
    """The outcomes for a message: each output relative to the tree, with what became of it."""
    rows = [f"{os.path.relpath(each.output, tree)} ({each.reason or each.status})" for each in outcomes[:6]]
    return "; ".join(rows) + (f"; and {len(outcomes) - 6} more" if len(outcomes) > 6 else "")
