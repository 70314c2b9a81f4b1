"""Linking the layouts of one captured artefact in one cache: the same steps here and on a node."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from layoutrand.build.binaries import as_failure, store_linked
from layoutrand.build.coupling import CoupledArtefact
from layoutrand.build.permuting import Permuting
from layoutrand.cache import keys
from layoutrand.cache.capture_record import Capture, CapturedLink
from layoutrand.cache.storage_record import WHOLE_FILE, KeptAs, file_name
from layoutrand.cache.store import Cache
from layoutrand.config.build_recipe import binary_facts
from layoutrand.config.layout_policy import LayoutPolicy
from layoutrand.errors import BuildError, CaptureFailed, FeatureUnsupported, LayoutrandError
from layoutrand.layout.factors import LINK_ORDER
from layoutrand.link.by_symbols import ProgramCode
from layoutrand.link.code import Code
from layoutrand.link.linked import Linked
from layoutrand.link.lto_division import require_factors
from layoutrand.link.one_layout import nothing_to_move
from layoutrand.link.relink import link_layout, verify
from layoutrand.linkers.known import linker
from layoutrand.linkers.toolbox import Tool
from layoutrand.model import IDENTITY, Binary, BuildFailure, Layout, LayoutName, Storage
from layoutrand.objects import elf
from layoutrand.platform.disk import cache_errors, remove_tree
from layoutrand.platform.own_file import write_program
from layoutrand.platform.process import Runner


@dataclass(frozen=True)
class Reference:
    """A layout that the submitting machine has linked, and the SHA-256 that it has there."""

    layout: LayoutName
    sha256: str


@dataclass(frozen=True)
class Linking:
    """One artefact of a capture, the ``number``-th, and what linking it takes; ``jobs`` links happen at once.

    ``coupled`` is given where its layouts are reconciled with those of other systems, ``against`` where they are kept
    as deltas against the whole file there.  What is written without the linker may be kept as its order instead.
    """

    cache: Cache
    runner: Runner
    jobs: int
    policy: LayoutPolicy
    ld: Tool
    capture: Capture
    number: int
    coupled: CoupledArtefact | None = None
    permuting: Permuting | None = None
    against: Path | None = None

    @property
    def link(self) -> CapturedLink:
        """The captured link."""
        return self.capture.links[self.number]

    @property
    def base(self) -> Path:
        """The artefact's directory in the capture."""
        return self.cache.capture_path(self.capture.id) / str(self.number)

    def key(self, layout: LayoutName) -> str:
        """The key of one binary in the cache."""
        return keys.binary_key(self.facts(layout))

    def facts(self, layout: LayoutName) -> dict[str, Any]:
        """What that key is a digest of."""
        coupled = self.coupled.key if self.coupled else ""
        return binary_facts(self.capture.id, self.link.artefact, self.policy, layout, coupled)

    def make(self, layout: LayoutName, own_scratch: Callable[[], Path]) -> Binary | BuildFailure:
        """Link, verify and store one layout in the thread's own scratch; an error becomes a record that names it."""
        try:
            scratch = own_scratch()
            with cache_errors("use", scratch):
                try:
                    linked = self._link(layout, scratch)
                except BuildError as error:
                    return self.failure(layout, self._kept(error, layout))
                return store_linked(
                    self.cache,
                    scratch / "entry",
                    linked,
                    system=self.capture.system,
                    facts=self.facts(layout),
                    kept=self.kept_as(linked.engine),
                )
        except LayoutrandError as error:
            return self.failure(layout, error)

    def kept_as(self, engine: str) -> KeptAs:
        """How the cache keeps a layout that the engine has made."""
        if self._writes_orders and self.permuting is not None and engine == "permute":
            return KeptAs("order", self.permuting.image)
        return WHOLE_FILE if self.against is None else KeptAs("delta", self.against)

    @property
    def _writes_orders(self) -> bool:
        return self.policy.storage == "order"

    def prove(self, layout: LayoutName, data: bytes, link_s: float) -> Linked:
        """The file ``data``, proved to be this layout, which was linked elsewhere in ``link_s`` seconds.

        Raises `LayoutNotApplied`, `CodeChanged` or `FeatureUnsupported` for what it is not.
        """
        name = f"layout {layout} of {self.link.artefact}"
        try:
            wanted, code = self.drawn(layout), self.code()
            return verify(elf.read(data, name=name), self.link, wanted, code, link_s, ld_version=self.ld.version)
        except (ValueError, IndexError, OverflowError) as error:
            raise FeatureUnsupported(f"{name} is a damaged ELF file: {error}") from error

    @cached_property
    def few(self) -> str:
        """Why there is nothing to move, or ""."""
        return nothing_to_move(self.link, self.policy)

    def failure(self, layout: LayoutName, error: LayoutrandError) -> BuildFailure:
        """The record of an error that left a layout without a binary."""
        return as_failure(self.capture.system, self.link.artefact, layout, error)

    def log(self, layout: LayoutName) -> Path:
        """Where the log of a failed link is kept."""
        name = os.path.basename(self.link.artefact)
        return self.cache.logs() / f"link-{self.capture.system}-{name}-{layout}-{self.capture.id[:12]}.log"

    def _link(self, layout: LayoutName, scratch: Path) -> Linked:
        if layout != IDENTITY and len(self.capture.links) == 1 and (reason := self.few):
            raise CaptureFailed(reason)
        threads = max(1, len(os.sched_getaffinity(0)) // self.jobs) if self.jobs > 1 else 0
        if self.coupled is not None and layout != IDENTITY:
            linked, output = self.coupled.link(
                layout, self.code(), runner=self.runner, scratch=scratch, threads=threads
            )
            self.keep(output, scratch)
            return linked
        wanted = self.drawn(layout)
        if self.permuting is not None and layout != IDENTITY and (done := self._written(wanted, scratch, threads)):
            return done
        binary, seconds, output = self._linked(self.link, wanted, scratch, threads)
        self.keep(output, scratch)
        return verify(binary, self.link, wanted, self.code(), seconds, ld_version=self.ld.version)

    def _linked(self, link: CapturedLink, layout: Layout, scratch: Path, threads: int) -> tuple[elf.Elf, float, Path]:
        return link_layout(self.runner, self.ld, link, self.base, layout, scratch=scratch, threads=threads)

    def _written(self, layout: Layout, scratch: Path, threads: int) -> Linked | None:
        """The layout written without the linker, and proved as a link is; None where it has to be linked."""
        assert self.permuting is not None
        require_factors(self.link.lto, layout.factors, self.link.artefact)  # one captured for others may be reused
        made = self.permuting.write(
            layout, lambda link, wanted, place: self._linked(link, wanted, place, threads), scratch
        )
        if made is None:
            return None
        if made.again:
            self.permuting.compare(made, self._linked(self.link, layout, scratch, threads)[0])
        output = scratch / "written"
        with cache_errors("write", output):
            output.unlink(missing_ok=True)
            write_program(output, self.permuting.order(layout) if self._writes_orders else made.data)
        self.keep(output, scratch, storage="order" if self._writes_orders else "whole")
        binary = elf.read(made.data, name=str(output))
        proved = verify(binary, self.link, layout, self.code(), made.seconds, ld_version=self.ld.version)
        return replace(proved, engine="permute")

    def drawn(self, layout: LayoutName) -> Layout:
        """The order that the layout has, seed or identity."""
        return self.policy.draw(self.link.sections, self.link.identity, layout)

    def keep(self, output: Path, scratch: Path, *, storage: Storage = "whole") -> None:
        """Put the linked file, or what is kept in its place, where it is stored from."""
        entry = scratch / "entry"
        with cache_errors("make", entry):
            if entry.exists():  # of a layout that failed
                remove_tree(entry)
            entry.mkdir()
            os.rename(output, entry / file_name(os.path.basename(self.link.artefact), storage))

    def code(self) -> Code:
        """Identity's code, read once per process: every seed of a capture is compared with the same arrays."""
        whole = LINK_ORDER in self.policy.drawn
        key = (self.link.code_sha256, whole)
        with _reading:  # one thread reads it, the others wait for that
            if key not in _codes:
                with (self.base / "code.npz").open("rb") as file:
                    own = linker(self.link.linker).own_objects
                    code = ProgramCode.load(file) if own else Code.load(file)
                _codes[key] = code if whole or own else code.compact()
            return _codes[key]

    def _kept(self, error: BuildError, layout: LayoutName) -> BuildError:
        """The error with its log moved to where it stays."""
        if error.log is None:
            return error
        log = self.log(layout)
        log.write_bytes(error.log.read_bytes())
        return type(error)(error.message, log=log)


_codes: dict[tuple[str, bool], Code] = {}
_reading = threading.Lock()
