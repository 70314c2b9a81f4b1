"""A build whose commands have ended: what is wrong with it, and the capture that is taken of it.

What is read here takes the numerical library, whose import need not be waited for before a build begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from layoutrand.cache.capture_record import Capture, CapturedLink, identity_facts
from layoutrand.cache.keys import captured_id
from layoutrand.cache.store import Cache
from layoutrand.capture.build_order import BuildOrder, InstrumentedBuild
from layoutrand.capture.built_artefact import artefact_of
from layoutrand.capture.capture_warnings import (
    EarlierObjects,
    FlagsUnused,
    FortranWithout,
    LanguageWithout,
    Unoptimised,
)
from layoutrand.capture.cargo_messages import cargo_executables
from layoutrand.capture.collect import BuildPlace, IngestSetup
from layoutrand.capture.earlier_objects import earlier_objects
from layoutrand.capture.failed_build import LINES, failed_build, left_out_by_build
from layoutrand.capture.go_records import build_records
from layoutrand.capture.libraries import unlisted_libraries
from layoutrand.capture.linked_files import (
    compilers_of_files,
    first_bytes,
    give_names,
    linked_files,
    of_another_machine,
)
from layoutrand.capture.moved_profiles import missing_profiles
from layoutrand.capture.origin import Say
from layoutrand.capture.profile_paths import profiles_of_other_paths
from layoutrand.capture.records import read_records
from layoutrand.capture.side_by_side import Beside
from layoutrand.capture.which_link import captured_link
from layoutrand.capture.workspace import Workspace
from layoutrand.config.build_recipe import DRIVERS, Driver, Recipe
from layoutrand.errors import BuildFailed, CaptureFailed, FlagsUnheard, OtherMachine
from layoutrand.linkers.compiling import what_stops
from layoutrand.model import Section
from layoutrand.platform.disk import cache_errors, tail, write_atomically
from layoutrand.platform.packages import C_HEADERS, install
from layoutrand.platform.process import Runner
from layoutrand.text.build_output import lacks_c_library
from layoutrand.text.toml_words import toml_string
from layoutrand.warning import AnyWarning, sentences_of

_UNHEARD: Mapping[str, str] = {
    "compiler": "no compiler of C, C++ or Fortran through the wrappers: does the build use $CC or gcc from PATH, and "
    "not its compiler by an absolute path or by distcc, and is the source tree clean (make clean; with build.in_place "
    "as the first of build.commands)? rustc has rustflags, profile and features",
    "rustc": "no rustc: the build does not call it through cargo",
    "cargo": "no cargo: the build does not call it by that name with build, rustc, run, test or bench",
}
"""Whom flags did not reach, by kind (`Recipe.given_flags`)."""

_LANGUAGES: Mapping[Driver, tuple[str, str]] = {
    "cc": ("C", "cflags"),
    "cxx": ("C++", "cxxflags"),
    "fc": ("Fortran", "fflags"),
}
"""What a driver is for, and whose flags it is given."""

_WITHOUT_WRAPPER: Final[Mapping[str, re.Pattern[str]]] = {
    "D": re.compile(r"\.text\.(?:\w+\.)?_D(?:\d+[A-Za-z_]|main$)"),
    "OCaml": re.compile(r"\.text\.caml\."),
}
"""Names of sections of functions that compilers without a wrapper make, by their language."""


def refuse_failed(order: BuildOrder, made: InstrumentedBuild, runner: Runner, status: int, what: str) -> None:
    """Raise what a build failed for, whose commands ended with ``status``; ``what`` is what people call it."""
    name = f"system {order.recipe.system!r}"
    if order.tools is not None:  # whatever the status: SPEC's tools may fail with 0
        order.tools.check(order.recipe.system, made.tree, made.log, status)
    if status != 0:
        _check_c_library(order, runner, made.log)
        raise failed_build(f"{name}: {what}", status, made.log, made.space, folder_of(order))


def folder_of(order: BuildOrder) -> Path | None:
    """The directory that is built, None for a commit of a repository."""
    return None if order.origin.contents is None else order.origin.home


def artefacts_of(order: BuildOrder, made: InstrumentedBuild) -> dict[str, bytes]:
    """The content of each artefact of a build, by its name; raises `WrongArtefact` for one that is not there."""
    tree, log, build = made.tree, made.log, order.recipe.build
    outputs = [record.output() for record in build_records(made.space.records, tree)]
    whatever = build.mode == "rebuild"
    left_out = partial(left_out_by_build, log, made.space, folder_of(order))
    return {
        artefact: artefact_of(tree, artefact, log, outputs, whatever=whatever, left_out=left_out)
        for artefact in build.artefacts
    }


def keep(
    order: BuildOrder, made: InstrumentedBuild, cache: Cache, runner: Runner, *, beside: Beside, say: Say
) -> Capture:
    """Capture every artefact's link of a build that has just been made, prove each, and put it into the cache.

    ``beside`` tells whether two things may happen at once.
    Raises `CaptureFailed` for an artefact that was not linked, or whose link cannot be captured.
    """
    space, tree, log = made.space, made.tree, made.log
    give_names(order.recipe.build.artefacts, cargo_executables(space.records), tree)  # a first build knew none
    records = build_records(space.records, tree)
    outputs = [record.output() for record in records]
    place = BuildPlace(str(tree), str(space.temporary), str(space.wrappers))
    links = []
    with cache.scratch("capture") as scratch:
        for number, artefact in enumerate(order.recipe.build.artefacts):
            say(f"{order.recipe.system}: capturing the link of {artefact}")
            left_out = partial(left_out_by_build, log, space, folder_of(order))
            data = artefact_of(tree, artefact, log, outputs, records=records, left_out=left_out)
            base = scratch / str(number)
            recipe = order.recipe
            setup = IngestSetup(
                *(artefact, data, place, base, order.toolbox, runner, recipe.factors),
                archives=recipe.archives,
                ordered=recipe.options.ordered,
                beside=beside,
            )
            link = captured_link(records, setup, f"system {order.recipe.system!r}: ", log)
            absent = unlisted_libraries(link, data, setup.base / "root", order.recipe.build.artefacts, tree)
            links.append(replace(link, warnings=(*link.warnings, *sentences_of(absent))))
        given = order.recipe.given_flags().get("compiler", "")
        of_build = [
            *warnings_of_build(order, made),
            *linked_of_earlier(order, made),
            *(languages_without(given, [each for link in links for each in link.sections]) if given else ()),
        ]
        links[0] = replace(links[0], warnings=(*links[0].warnings, *sentences_of(of_build)))
        _refuse_nothing_kept(order, links, log)
        learned = suite_facts(order, tree, say)
        result = _finish(order, links, made.build_s, len(records), learned)
        with cache_errors("write", scratch):
            write_atomically(scratch / "build.log", log.read_bytes())
        cache.commit_capture(scratch, result)
    known = {
        "capture": result.id,
        "build_s": result.build_s,
        "n_links": result.n_links,
        "warnings": {link.artefact: link.warnings for link in result.links},
    }
    cache.remember(
        order.key,
        {**known, **({"learned": learned} if learned else {})},
        system=order.recipe.system,
        facts=order.facts,
    )
    return result


def warnings_of_build(order: BuildOrder, made: InstrumentedBuild) -> list[AnyWarning]:
    """What there is to say of how the program was compiled."""
    return [
        *([Unoptimised()] if made.space.is_unoptimised() else []),
        *_of_other_languages(order.recipe, made.space.compiled_by()),
        *missing_profiles(made.log, made.tree, is_copy=order.origin.in_place is None),
        *profiles_of_other_paths(made.space, made.tree),
    ]


def _of_other_languages(recipe: Recipe, compiled: frozenset[Driver]) -> Iterator[AnyWarning]:
    """That flags are for a compiler that compiled nothing, or Fortran was compiled without any."""
    given = recipe.flags_of_drivers()
    for flags in _unheard(recipe, compiled):
        yield FlagsUnused(flags, " or ".join(_LANGUAGES[driver][0] for driver in DRIVERS if driver in given[flags]))
    if "fc" in compiled and not recipe.own_flags("fc"):
        yield FortranWithout(", ".join(given))


def _unheard(recipe: Recipe, compiled: frozenset[Driver]) -> list[str]:
    """Flags of compilers for which nothing was compiled."""
    return [flags for flags, drivers in recipe.flags_of_drivers().items() if not drivers & compiled]


def languages_without(given: str, sections: Sequence[Section]) -> Iterator[LanguageWithout]:
    """Of each language without a wrapper of its own that some sections are of, that flags did not reach it.

    Told by the names of what moves: compilers of D and OCaml leave nothing else in all of their objects.
    """
    for language, pattern in _WITHOUT_WRAPPER.items():
        count = sum(not each.pinned and pattern.match(each.name) is not None for each in sections)
        if count:
            yield LanguageWithout(language, count, given)


def linked_of_earlier(order: BuildOrder, made: InstrumentedBuild) -> list[EarlierObjects]:
    """The warning of a build in the source's own tree that links what an earlier one left there; none of others."""
    if order.origin.in_place is None:
        return []
    found = earlier_objects(read_records(made.space.records), made.space, made.tree)
    return [EarlierObjects(found)] if found else []


def _refuse_nothing_kept(order: BuildOrder, links: Sequence[CapturedLink], log: Path) -> None:
    """Raise `CaptureFailed` where functions are to be kept in order, and the build puts none in one."""
    if order.recipe.options.ordered == "keep" and all(link.ordered == "move" for link in links):
        raise CaptureFailed(
            f"system {order.recipe.system!r}: no artefact is linked with a --symbol-ordering-file that names one of "
            'its functions, so ordered = "keep" has none to keep',
            log=log,
        )


def check(order: BuildOrder, made: InstrumentedBuild) -> None:
    """Raise what is wrong with a build that has succeeded; and give cargo's programs the names of artefacts."""
    space, tree, log = made.space, made.tree, made.log
    give_names(order.recipe.build.artefacts, cargo_executables(space.records), tree)
    _refuse_machine(order, tree)  # first: whatever else is wrong, there is no way for it
    _refuse_unheard(order, space, tree, log)


def _refuse_machine(order: BuildOrder, tree: Path) -> None:
    """Raise `OtherMachine` for an artefact that is for another machine than the toolchain builds for."""
    for artefact in order.recipe.build.artefacts:
        if why := of_another_machine(artefact, first_bytes(tree / artefact), order.toolbox.toolchain):
            raise OtherMachine(why)


def _refuse_unheard(order: BuildOrder, space: Workspace, tree: Path, log: Path) -> None:
    """Raise `FlagsUnheard` for flags that nothing of the build was given, or they would be measured as if it was."""
    if (said := unheard_flags(order.recipe, space)) is None or not (links := read_records(space.records)):
        return
    cause = f"{said}. This would be the program without: leave them out, or give what the build can take"
    raise FlagsUnheard(
        f"system {order.recipe.system!r}: {cause}",
        log=log,
        cause=cause,
        unheard=said.in_brief,
        is_fortran=said.of_others == {"fc"},
        compilers=compilers_of_files(tree / each.path for each in linked_files(links, tree)),
    )


@dataclass(frozen=True)
class UnheardFlags:
    """Flags of a system, whom they reached in a build, and of which other compilers all of it is."""

    flags: str
    reached: str
    of_others: frozenset[Driver]

    def __str__(self) -> str:
        return f"{self.flags} reached {self.reached}"

    @property
    def in_brief(self) -> str:
        """The same without why that may be."""
        return f"{self.flags} reached {self.reached.partition(':')[0]}"


def unheard_flags(recipe: Recipe, space: Workspace) -> UnheardFlags | None:
    """The first flags that nothing of a build was given which has ended."""
    compiled, given = space.compiled_by(), recipe.given_flags()
    heard = {"compiler": _unheard(recipe, compiled) != list(recipe.flags_of_drivers())}
    unheard = {
        flags: _UNHEARD[kind] for kind, flags in given.items() if not heard.get(kind, space.heard(kind).exists())
    }
    for path, flags in recipe.options.file_flags.items():
        if not space.heard_of(path).exists():
            of_file = f"file_flags = {{ {toml_string(path)} = {toml_string(flags)} }}"
            unheard[of_file] = (
                "no compilation: is the file called so from the source, and compiled through the wrappers (and not "
                "named in a response file)?"
            )
    if not unheard:
        return None
    flags, reached = next(iter(unheard.items()))
    of_others = compiled if flags == given.get("compiler") else frozenset()
    if of_others:
        languages, keys = zip(*(_LANGUAGES[driver] for driver in DRIVERS if driver in of_others), strict=True)
        what = "compiler, whose flags are" if len(keys) == 1 else "compilers, whose flags are"
        reached = f"no compilation: all was done by the {' and '.join(languages)} {what} {' and '.join(keys)}"
    return UnheardFlags(flags, reached, of_others)


def _check_c_library(order: BuildOrder, runner: Runner, log: Path) -> None:
    """Raise `BuildFailed` in one line where the build failed for want of the C library, as any program would."""
    if lacks_c_library(tail(log, LINES)) and lacks_c_library(what_stops(order.toolbox.tools["cc"].path, runner)):
        raise BuildFailed(
            f"system {order.recipe.system!r}: {C_HEADERS} and start files, which every program is built with, are "
            f"missing: {install([C_HEADERS])}",
            log=log,
        )


def suite_facts(order: BuildOrder, tree: Path, say: Say) -> dict[str, str]:
    """What was learned of the suite whose tools built the tree."""
    if order.tools is None:
        return {}
    learned = order.tools.exehash(tree)
    if learned == "other":
        say(
            f"{order.recipe.system}: exehash of this suite is not the SHA-256 of the executable, so executions are "
            "checked by the digest of the file that was executed alone"
        )
    return {"exehash": learned}


def _finish(
    order: BuildOrder, links: list[CapturedLink], build_s: float, n_links: int, learned: Mapping[str, str]
) -> Capture:
    facts = order.toolbox.facts()
    return Capture(
        id=captured_id(identity_facts(links, facts)),
        system=order.recipe.system,
        toolchain=order.toolbox.toolchain.name,
        separates_classes=order.toolbox.toolchain.link.separates_classes,
        tools=facts,
        source={**order.origin.record(), **learned},
        build_s=build_s,
        n_links=n_links,
        links=tuple(links),
    )
