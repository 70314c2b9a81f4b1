"""`layoutrand build --mode rebuild`: the user's own build once per layout, the layout applied inside it at each link.

For builds whose artefact is not what the linker wrote: stripped, converted, packed, signed.  What the whole build
leaves is the binary.  Three things are proved of it: the link inside the build has the layout asked for, as in every
mode (`apply`); the program is that of identity, which is built first (`apply.program_digest`); and the artefact
descends from that link, as far as `build.descent` can tell.  How far is recorded.

Builds happen as many at a time as there are jobs, and jobs left over go into each build's own -j.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from layoutrand.build import apply
from layoutrand.build.binaries import as_failure, binary_key, cached_binary, kept_addresses, store_linked
from layoutrand.build.build_setup import BuildSetup, refuse_twins, threads
from layoutrand.build.build_warnings import (
    CHANGED_CLAIMS,
    BinaryMadeAgain,
    ChangedAfterLink,
    OrderedAfterLink,
    RecordedWarning,
    ReferenceBuiltAgain,
    undone_by_step,
)
from layoutrand.build.claims import NOT_COMPARABLE
from layoutrand.build.descend import Descendant, FinishedBuild, descend, difference
from layoutrand.build.earlier_builds import remember_build
from layoutrand.build.link_helper import relinking
from layoutrand.build.order_after import FixedPairs, Placing, fixed_pairs, placing
from layoutrand.cache.capture_record import Capture, CapturedLink
from layoutrand.cache.contents import content_of
from layoutrand.cache.keys import rebuilt_id, reference_key
from layoutrand.cache.store import Cache
from layoutrand.capture.build_order import BuildOrder
from layoutrand.capture.collect import BuildPlace
from layoutrand.capture.ended_build import suite_facts, warnings_of_build
from layoutrand.capture.instrumented_build import built
from layoutrand.capture.libraries import unlisted_libraries
from layoutrand.capture.workspace import Workspace
from layoutrand.config.build_recipe import binary_facts
from layoutrand.errors import BuildError, CodeChanged, LayoutNotApplied, LayoutrandError, without_log
from layoutrand.link.linked import Linked
from layoutrand.linkers import linkline
from layoutrand.model import IDENTITY, Binary, BuildFailure, LayoutName
from layoutrand.platform.disk import cache_errors, sha256_bytes, write_atomically
from layoutrand.warning import AnyWarning, sentences_of

Results = dict[str, Binary | BuildFailure]
"""By artefact."""


@dataclass(frozen=True)
class Rebuilt:
    """What became of the layouts of one system; ``capture`` holds the reference's links, without their files."""

    capture: Capture | None
    cached: bool
    results: list[Binary | BuildFailure]
    notes: list[AnyWarning]
    facts: Mapping[str, Any] = field(default_factory=dict)


def rebuild(setup: BuildSetup, system: str, find: Callable[[], BuildOrder], layouts: Sequence[LayoutName]) -> Rebuilt:
    """Every layout of one system, from the cache or built now; ``find`` gives the instrumented build's order."""
    artefacts = setup.config.build.artefacts
    notes: list[AnyWarning] = []
    try:
        job = _Job(setup, system, find())
        with setup.cache.lock(f"capture-{job.key[:32]}"), cache_errors("use", setup.cache.root):
            reference, made = job.reference(notes, wanted=IDENTITY in layouts)
    except LayoutrandError as error:
        failed = [as_failure(system, artefact, layout, error) for artefact in artefacts for layout in layouts]
        return Rebuilt(None, False, list(failed), notes)
    if reference is not None:
        remember_build(setup, job.order)
    cached = not made
    rest = [layout for layout in layouts if layout not in made]
    if reference is None:
        made |= {layout: job.given_up(layout, made[IDENTITY]) for layout in rest}
    else:
        made |= job.others(reference, rest, notes)
        notes += [RecordedWarning(system, link.artefact, text) for link in reference.links for text in link.warnings]
    results: list[Binary | BuildFailure] = []
    every = refuse_twins({artefact: [made[layout][artefact] for layout in layouts] for artefact in artefacts})
    for artefact, rows in every.items():
        notes += _remarks(system, artefact, rows)
        pairs = (
            None if reference is None else _ordered_after(setup.cache, reference.links[artefacts.index(artefact)], rows)
        )
        if pairs is not None and pairs.is_whole:
            results += [_undone(row, pairs.n_layouts) for row in rows]
            continue
        if pairs is not None:
            notes.append(OrderedAfterLink(system, artefact, pairs.n_layouts, pairs.fixed, pairs.total))
        results += rows
    return Rebuilt(reference, cached, results, notes, job.order.facts)


@dataclass(frozen=True)
class _Job:
    """All layouts of one system."""

    setup: BuildSetup
    system: str
    order: BuildOrder

    @property
    def key(self) -> str:
        """What the reference is remembered by."""
        return reference_key(self.order.key)

    @property
    def artefacts(self) -> list[str]:
        """What each build is to leave."""
        return self.order.recipe.build.artefacts

    def reference(self, notes: list[AnyWarning], *, wanted: bool) -> tuple[Capture | None, dict[LayoutName, Results]]:
        """What every build is compared with (None if it failed), and identity's binaries if it had to be built now.

        ``wanted`` tells whether identity was asked for, too.
        """
        cache = self.setup.cache
        known, recorded = cache.look_up(self.key)
        found = cache.load_capture(known["capture"]) if known else None
        if found is not None and not cache.damaged_files(found):
            return replace(found, system=self.system), {}
        if recorded != "none":
            notes.append(ReferenceBuiltAgain(self.system, recorded))
        try:
            with self._building(IDENTITY, ()) as build:
                children = [descend(build, artefact) for artefact in self.artefacts]
                capture = self._recorded(build, children)
                results: Results = {child.artefact: self._stored(capture, child, IDENTITY) for child in children}
        except LayoutrandError as error:
            return None, {IDENTITY: self._failed(IDENTITY, error)}
        finally:
            if wanted:
                self._advance()
        cache.remember(self.key, {"capture": capture.id}, system=self.system, facts=self.order.facts)
        return capture, {IDENTITY: results}

    def given_up(self, layout: LayoutName, identity: Results) -> Results:
        """Failures of a layout that is not built, because there is no ``identity`` to compare it with."""
        self._advance()
        return {
            artefact: BuildFailure(
                self.system,
                artefact,
                layout,
                "not built, since identity, with which every layout is compared, failed: "
                + without_log(failure.error, failure.log),  # which whoever tells of it adds
                failure.log,
                failure.cause,
            )
            for artefact, failure in identity.items()
            if isinstance(failure, BuildFailure)
        }

    def others(
        self, reference: Capture, layouts: Sequence[LayoutName], notes: list[AnyWarning]
    ) -> dict[LayoutName, Results]:
        """The layouts, from the cache or built now, as many at a time as there are jobs (in place one at a time)."""
        made = {layout: self._cached(reference, layout) for layout in layouts}
        missing = [layout for layout, found in made.items() if len(found) < len(self.artefacts)]
        for _ in range(len(layouts) - len(missing)):
            self._advance()
        notes += [
            BinaryMadeAgain(self.system, artefact, layout, "built")
            for layout in missing
            for artefact in self.artefacts
            if artefact not in made[layout] and self.setup.cache.has_entry(self._key(reference, artefact, layout))
        ]
        at_once = 1 if self.order.recipe.build.in_place else max(1, min(self.setup.jobs, len(missing)))
        share = replace(self, setup=replace(self.setup, jobs=max(1, self.setup.jobs // at_once)))
        with threads(self.setup, at_once) as pool:
            built_now = pool.map(lambda layout: share._make(reference, layout), missing)
            return made | dict(zip(missing, built_now, strict=True))

    def _make(self, reference: Capture, layout: LayoutName) -> Results:
        """One build, unless another process has just done it; errors become records."""
        try:
            with self.setup.cache.lock(f"rebuild-{reference.id[:24]}-{layout}"):
                found = self._cached(reference, layout)
                if len(found) == len(self.artefacts):
                    return found
                outputs = reference.source["outputs"]
                made = self._make_only(reference, layout, outputs) if outputs else None
                # Where nothing was linked under the reference's names, the build makes up others each time.
                return made or self._make_only(reference, layout, ()) or {}
        except LayoutrandError as error:
            return self._failed(layout, error)
        finally:
            self._advance()

    def _make_only(self, reference: Capture, layout: LayoutName, only: Sequence[str]) -> Results | None:
        """One build; None if nothing was linked under the names in ``only``."""
        with self._building(layout, only) as build:
            if only and not build.outcomes:
                return None
            return {artefact: self._made(reference, build, artefact, layout) for artefact in self.artefacts}

    @contextmanager
    def _building(self, layout: LayoutName, only: Sequence[str]) -> Iterator[FinishedBuild]:
        """A build in which the layout is applied to links that write ``only`` (paths in the tree; empty for all)."""
        setup, toolbox = self.setup, self.order.toolbox

        @contextmanager
        def laid_out(space: Workspace, tree: Path) -> Iterator[Path]:
            place = BuildPlace(str(tree), str(space.temporary), str(space.wrappers))
            wanted = tuple(linkline.absolute(name, str(tree)) for name in only)
            orders = apply.RelinkOrders(
                layout, setup.config.layout, wanted, place, toolbox, ordered=self.order.recipe.options.ordered
            )
            written = orders.write(space.base / "order.json")
            with relinking(written):
                yield written

        with built(
            self.order,
            setup.cache,
            setup.runner,
            jobs=setup.jobs,
            say=setup.progress.say,
            layout=layout,
            relinking=laid_out,
        ) as made:
            yield FinishedBuild(apply.read_outcomes(made.space), made)

    def _made(
        self, reference: Capture, build: FinishedBuild, artefact: str, layout: LayoutName
    ) -> Binary | BuildFailure:
        try:
            child = descend(build, artefact)
            self._check_program(reference, child, build.log)
            self._check_difference(reference, child, build.log)
            return self._stored(reference, child, layout)
        except BuildError as error:
            return as_failure(self.system, artefact, layout, error)

    def _check_program(self, reference: Capture, child: Descendant, log: Path) -> None:
        number = self.artefacts.index(child.artefact)
        if child.proof.program != reference.source["programs"][number]:
            code = self.setup.cache.capture_path(reference.id) / str(number) / "code.npz"
            what = difference(reference.links[number], code, child.outcome)
            raise CodeChanged(
                f"this build made another program than identity's: {what}. Is the build reproducible (no time of day, "
                "random number or path of the build in its code)?",
                log=log,
            )

    def _check_difference(self, reference: Capture, child: Descendant, log: Path) -> None:
        """An artefact in which the code cannot be found must at least be another file than identity's."""
        identity = reference.source["files"][self.artefacts.index(child.artefact)]
        if child.claim == NOT_COMPARABLE and sha256_bytes(child.data) == identity:
            raise LayoutNotApplied(
                f"the same file as identity's, though the program linked inside the build has another layout: "
                f"{child.artefact} does not contain that program, or a step after the link undoes its layout",
                log=log,
            )

    def _recorded(self, build: FinishedBuild, children: Sequence[Descendant]) -> Capture:
        """Identity's build as a capture, so that everything downstream finds what it finds in one."""
        outputs = [linkline.inside(child.outcome.output, str(build.tree)) for child in children]
        programs = [child.proof.program for child in children]
        links = [
            replace(self._warned(build, child), artefact=child.artefact, files={}, edited={}, members=())
            for child in children
        ]
        of_build = sentences_of(warnings_of_build(self.order, build.made))
        links[0] = replace(links[0], warnings=(*links[0].warnings, *of_build))
        facts = self.order.toolbox.facts()
        capture = Capture(
            id=rebuilt_id(self.order.key, programs),
            system=self.system,
            toolchain=self.order.toolbox.toolchain.name,
            separates_classes=self.order.toolbox.toolchain.link.separates_classes,
            tools=facts,
            source={
                **self.order.origin.record(),
                "mode": "rebuild",
                **suite_facts(self.order, build.tree, self.setup.progress.say),
                "programs": programs,
                "files": [sha256_bytes(child.data) for child in children],
                "outputs": outputs if all(outputs) else [],
            },
            build_s=build.build_s,
            n_links=len(build.outcomes),
            links=tuple(links),
        )
        cache = self.setup.cache
        with cache.scratch("capture") as scratch:
            with cache_errors("write", scratch):
                write_atomically(scratch / "build.log", build.log.read_bytes())
                for number, child in enumerate(children):
                    write_atomically(scratch / str(number) / "code.npz", child.outcome.code())
            cache.commit_capture(scratch, capture)
        return capture

    def _warned(self, build: FinishedBuild, child: Descendant) -> CapturedLink:
        """The artefact's link, with a warning for each library of the build that it needs and that is no artefact."""
        link = child.outcome.link()
        with self.setup.cache.scratch("tree") as view:  # where captured files of the build are in their places
            (view / "_build").symlink_to(build.tree)
            present = {name: digest for name, digest in link.files.items() if (view / name).is_file()}
            absent = unlisted_libraries(replace(link, files=present), child.data, view, self.artefacts, build.tree)
        return replace(link, warnings=(*link.warnings, *sentences_of(absent)))

    def _stored(self, reference: Capture, child: Descendant, layout: LayoutName) -> Binary:
        cache, proof = self.setup.cache, child.proof
        digest = sha256_bytes(child.data)
        linked = Linked(
            data=child.data,
            sha256=digest,
            # Of a file in which the code cannot be found only the whole can tell two layouts apart.
            text_sha256=digest if child.claim == NOT_COMPARABLE else proof.text_sha256,
            link_s=proof.link_s,
            verification=replace(proof.verification, post_processed=child.claim),
        )
        with cache.scratch("rebuilt") as scratch:
            entry = scratch / "entry"
            with cache_errors("write", entry):
                write_atomically(entry / os.path.basename(child.artefact), child.data, executable=True)
            return store_linked(
                cache,
                entry,
                linked,
                system=self.system,
                facts=binary_facts(reference.id, child.artefact, self.setup.config.layout, layout),
                beside={"addresses": proof.addresses},
            )

    def _key(self, reference: Capture, artefact: str, layout: LayoutName) -> str:
        return binary_key(reference.id, artefact, self.setup.config.layout, layout)

    def _cached(self, reference: Capture, layout: LayoutName) -> Results:
        """Those artefacts of the layout that are in the cache, whole."""
        found: Results = {}
        for artefact in self.artefacts:
            key = self._key(reference, artefact, layout)
            binary = cached_binary(self.setup.cache, self.system, artefact, layout, key)
            if binary is not None:
                found[artefact] = binary
        return found

    def _failed(self, layout: LayoutName, error: LayoutrandError) -> Results:
        return {artefact: as_failure(self.system, artefact, layout, error) for artefact in self.artefacts}

    def _advance(self) -> None:
        for _ in self.artefacts:
            self.setup.progress.advance()


def _remarks(system: str, artefact: str, rows: Sequence[Binary | BuildFailure]) -> list[ChangedAfterLink]:
    """What is proved of artefacts that are not the linker's own files, once for each claim."""
    claims: dict[str, int] = {}
    for row in rows:
        if isinstance(row, Binary) and row.verification is not None:
            claim = row.verification.post_processed
            claims[claim] = claims.get(claim, 0) + 1
    return [
        ChangedAfterLink(system, artefact, count, claim) for claim, count in claims.items() if claim in CHANGED_CLAIMS
    ]


def _ordered_after(cache: Cache, link: CapturedLink, rows: Sequence[Binary | BuildFailure]) -> FixedPairs | None:
    """What a step behind the link ordered by itself, where it wrote the code anew and the marks tell its order."""
    movable = frozenset(number for number, section in enumerate(link.sections) if not section.pinned)

    def placings() -> Iterator[Placing]:
        for row in rows:
            if isinstance(row, Binary) and row.verification and row.verification.post_processed == NOT_COMPARABLE:
                addresses = kept_addresses(cache, row)
                found = placing(content_of(row.stored), addresses, movable) if addresses else None
                if found is not None:
                    yield found

    return fixed_pairs(placings())


def _undone(row: Binary | BuildFailure, n_layouts: int) -> Binary | BuildFailure:
    """A layout of which nothing is left: identity's order is that of its file."""
    if isinstance(row, BuildFailure) or row.layout == IDENTITY:
        return row
    return as_failure(row.system, row.artefact, row.layout, LayoutNotApplied(undone_by_step(row.artefact, n_layouts)))
