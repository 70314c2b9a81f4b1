"""Layouts of a JDK that is taken as it is: an archive of classes, or options alone, for each seed, and what they do."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from layoutrand.build.binaries import as_failure, cached_binary, store_file
from layoutrand.build.build_setup import BuildSetup, refuse_twins, threads
from layoutrand.cache.keys import jdk_layout_key, jvm_key
from layoutrand.config import jdk
from layoutrand.config.jdk import CDS_ORDER, JvmFacts
from layoutrand.errors import BuildError, BuildFailed, LayoutrandError
from layoutrand.jvm.start import form_of_archives, observed, run_java
from layoutrand.layout.distance import kendall_tau
from layoutrand.model import IDENTITY, STOCK, Binary, BuildFailure, LayoutName, Verification
from layoutrand.platform.disk import cache_errors, sha256_file


@dataclass(frozen=True)
class JdkLayouts:
    """The layouts of one system, and what a JVM in each said of itself: nothing for those that failed."""

    results: tuple[Binary | BuildFailure, ...]
    facts: Mapping[LayoutName, JvmFacts]


def make_jdk_layouts(setup: BuildSetup, system: str, layouts: Sequence[LayoutName]) -> JdkLayouts:
    """Make what is missing of the layouts of a JDK, each seen in a JVM with the system's own options."""
    artefact = setup.config.build.artefacts[0]
    wanted = [layout for layout in layouts if layout != STOCK]
    try:
        maker = _Maker.of(setup, system, artefact)
        identity = maker.make(IDENTITY)  # what all others are compared with
    except LayoutrandError as error:
        return JdkLayouts(tuple(as_failure(system, artefact, layout, error) for layout in wanted), {})
    with threads(setup, setup.jobs) as pool:
        made = dict(zip(wanted, pool.map(partial(maker.attempt, identity), wanted), strict=True))
    found: dict[LayoutName, JvmFacts] = {layout: seen.facts for layout, seen in made.items() if isinstance(seen, _Seen)}
    row = [seen.binary if isinstance(seen, _Seen) else seen for seen in made.values()]
    return JdkLayouts(tuple(refuse_twins({artefact: row})[artefact]), found)


@dataclass(frozen=True)
class _Seen:
    binary: Binary
    facts: JvmFacts


@dataclass(frozen=True)
class _Maker:
    """Makes layouts of one JDK; ``identity_key`` tells it from all others, as HotSpot itself tells archives apart.

    ``form`` is what its archives are dumped with, where a JVM with the system's own options could not map the usual.
    """

    setup: BuildSetup
    system: str
    artefact: str
    home: Path
    identity_key: tuple[Any, ...]
    form: tuple[str, ...]

    @classmethod
    def of(cls, setup: BuildSetup, system: str, artefact: str) -> _Maker:
        home = (setup.project / str(setup.config.systems[system].prebuilt)).resolve()
        try:
            modules = (home / "lib/modules").stat()
            parts = (sha256_file(home / artefact), sha256_file(home / "lib/classlist"))
        except OSError as error:
            raise BuildError(
                f"system {system}: {error.filename}: {error.strerror}; layout.factors {', '.join(jdk.JDK_FACTORS)} "
                "are of a JDK from version 17 on, whose home systems.*.prebuilt must be"
            ) from error
        form: tuple[str, ...] = ()
        if CDS_ORDER in setup.config.layout.drawn:
            own = shlex.split(setup.config.systems[system].args)
            with setup.cache.scratch("jvm") as scratch:
                form = form_of_archives(setup.runner, home, own, scratch, system)
        return cls(setup, system, artefact, home, (*parts, modules.st_size, modules.st_mtime_ns), form)

    @property
    def factors(self) -> tuple[str, ...]:
        return jdk.factors_of_a_jdk(self.setup.config.layout.drawn)

    def attempt(self, identity: _Seen, layout: LayoutName) -> _Seen | BuildFailure:
        """One layout; an error becomes a record that names it."""
        try:
            seen = identity if layout == IDENTITY else self.make(layout)
        except LayoutrandError as error:
            return as_failure(self.system, self.artefact, layout, error)
        finally:
            self.setup.progress.advance()
        return replace(seen, binary=self._proved(seen, identity))

    def make(self, layout: LayoutName) -> _Seen:
        """The layout's file, from the cache or made now, and what a JVM with it says of itself."""
        made = CDS_ORDER in self.factors
        key = jdk_layout_key(self.identity_key, self.factors, self.form, layout)
        cache = self.setup.cache
        with cache.lock(f"jdk-{key[:32]}"), cache_errors("use", cache.root):
            binary = cached_binary(cache, self.system, jdk.OWN_FILE, layout, key)
            if binary is None:
                begin = time.monotonic()
                data = self._archive(layout) if made else " ".join(jdk.options(self.factors, layout, "")).encode()
                binary = store_file(
                    cache, self.system, jdk.OWN_FILE, layout, key, data, made_s=time.monotonic() - begin
                )
        return _Seen(replace(binary, artefact=self.artefact), self._facts(binary))

    def _archive(self, layout: LayoutName) -> bytes:
        """A class archive dumped from the list of classes in the layout's order."""
        with self.setup.cache.scratch("jdk") as scratch:
            lines = (self.home / "lib/classlist").read_text("utf-8").splitlines()
            (scratch / "classes").write_text("\n".join([*jdk.ordered_class_list(lines, layout), ""]), "utf-8")
            words = [
                "-XX:+UnlockDiagnosticVMOptions",
                "-XX:ArchiveRelocationMode=0",
                *(("-XX:+UnlockExperimentalVMOptions", *self.form) if self.form else ()),
                "-Xshare:dump",
                f"-XX:SharedClassListFile={scratch / 'classes'}",
                f"-XX:SharedArchiveFile={scratch / jdk.OWN_FILE}",
            ]
            log = self.setup.cache.logs() / f"cds-{self.system}-{layout}.log"
            log.unlink(missing_ok=True)
            status = run_java(self.setup.runner, self.home, words, scratch, log)
            if status != 0 or not (scratch / jdk.OWN_FILE).is_file():
                raise BuildFailed(
                    f"system {self.system}, layout {layout}: java -Xshare:dump ended with status {status} and "
                    "made no archive of classes",
                    log=log,
                )
            return (scratch / jdk.OWN_FILE).read_bytes()

    def _facts(self, binary: Binary) -> JvmFacts:
        """What a JVM says with the layout's options and then the system's own, which must not undo them."""
        own = shlex.split(self.setup.config.systems[self.system].args)
        words = [*jdk.options(self.factors, binary.layout, str(binary.path)), *own]
        cache = self.setup.cache
        key = jvm_key(self.identity_key, self.factors, binary.sha256, own)
        if known := cache.recall(key):
            return JvmFacts(**known)
        with cache.scratch("jvm") as scratch:
            facts = observed(self.setup.runner, self.home, words, scratch, self.factors, binary, self.system)
        cache.remember(key, asdict(facts))
        return facts

    def _proved(self, seen: _Seen, identity: _Seen) -> Binary:
        """The binary with what was seen of it: the order of the classes that it has in common with identity."""
        here, there = seen.facts.classes, identity.facts.classes
        names = sorted(here.keys() & there.keys())
        place = {name: number for number, name in enumerate(names)}
        tau = kendall_tau(
            [place[name] for name in sorted(names, key=there.__getitem__)],
            [place[name] for name in sorted(names, key=here.__getitem__)],
        )
        proof = Verification(
            n_sections=len(here),
            n_functions=0,
            tau_identity=tau,
            tau_request=1.0,
            text_size=seen.binary.path.stat().st_size,
        )
        return replace(seen.binary, text_sha256=seen.facts.digest(), verification=proof)
