"""A first build, of which nothing is known but its command: what it links, and with which linker.

The build is the one that captures, made before its artefacts are known: it is kept, and the next build of the system
finds it in the cache.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from layoutrand.build.build_setup import BuildProgress, BuildSetup
from layoutrand.build.earlier_builds import remember_build
from layoutrand.build.linked_cases import harness_of
from layoutrand.build.program_choice import Chooser, ChosenProgram
from layoutrand.build.two_builds import find_order
from layoutrand.build.unseen_files import UnseenFiles, unseen_files
from layoutrand.cache.keys import learned_name
from layoutrand.cache.store import Cache
from layoutrand.capture.build_order import BuildOrder, InstrumentedBuild, make_order
from layoutrand.capture.cargo_messages import cargo_executables
from layoutrand.capture.ended_build import keep
from layoutrand.capture.go_records import NOTHING_LINKED, build_records
from layoutrand.capture.instrumented_build import obtained
from layoutrand.capture.linked_files import (
    LinkedFile,
    linked_files,
)
from layoutrand.capture.origin import Say
from layoutrand.capture.recognise import Recognised, Way, is_configured, safe_name
from layoutrand.capture.side_by_side import nothing_beside, something_beside
from layoutrand.config.config import Build, Config, Project, System
from layoutrand.config.layout_policy import Factor, LayoutPolicy
from layoutrand.errors import (
    BuildError,
    BuildFailed,
    FlagsUnheard,
    NotCompiledHere,
    NothingLinked,
    OtherMachine,
    WorkedOnAfterLink,
)
from layoutrand.host.processors import emulator_words
from layoutrand.linkers import toolbox as toolboxes
from layoutrand.linkers.known import linker
from layoutrand.linkers.toolbox import Toolbox
from layoutrand.objects.elf import words_of
from layoutrand.platform.process import Runner

_FIRST: Final = ("gcc", "clang")
"""Toolchains whose wrappers a build is tried with."""

_RUST: Final = "rust"
"""The toolchain for builds by Cargo."""

_CROSS: Final = re.compile(r"""(?:--host[= ]|\bCROSS_COMPILE=)['"]?(?:[^\s'"]*/)?(\w+)-""")
"""How autotools and makefiles in the manner of Linux's are told which machine to build for: by a name such as
``aarch64-linux-gnu``, of which the first part is the processor."""

_VERSIONED: Final = re.compile(r"-\d+$")
_VERSION: Final = 7  # of what is remembered; another version's is as good as none


@dataclass(frozen=True)
class FirstSystem:
    """The system to build first: its name, its flags and variables, and the toolchain where somebody chose one."""

    name: str
    options: System
    toolchain: str | None = None


@dataclass(frozen=True)
class Learned:
    """What a first build taught: toolchain, commands, what is not copied, what was chosen, what can be randomised.

    ``mode`` is "rebuild" where the build works on the program after its link; ``launcher`` are the words of
    ``run.launcher`` that have the program executed here, () where this machine does it itself; ``harness`` is the one
    that the program's cases are linked with, "" where none is seen; ``has_fortran`` says whether Fortran was compiled,
    whose flags are its own, and ``takes_flags`` whether anything was that a system's cflags or fflags can reach.
    ``instead_of`` is what is likelier than what was chosen, and why it cannot be captured; "" for the likeliest itself.
    """

    toolchain: str
    way: Way
    exclude: tuple[str, ...]
    chosen: ChosenProgram
    factors: Sequence[Factor]
    mode: Literal["relink", "rebuild"] = "relink"
    launcher: tuple[str, ...] = ()
    harness: str = ""
    has_fortran: bool = False
    takes_flags: bool = True
    instead_of: str = ""


@dataclass(frozen=True)
class FirstBuild:
    """Making the build of a directory, to learn what it links; ``jobs`` processes at once, ``say`` tells of it."""

    project: Path
    found: Recognised
    system: FirstSystem
    choose: Chooser
    cache: Cache
    runner: Runner
    jobs: int
    say: Say

    def learn(self) -> Learned:
        """Build until something is linked, and capture what was chosen; what was learned before is used again.

        Raises `BuildFailed` for a build that fails, `NothingLinked` for one that links nothing, and `CaptureFailed`
        where what was asked for was not linked, or cannot be captured; all say what was linked instead.
        """
        name = ""
        nothing: list[BuildError] = []
        past_us: list[BuildError] = []
        foreign: OtherMachine | None = None
        todo = deque(self._toolchains())
        while todo:
            toolchain = todo.popleft()
            if past_us:
                self.say(f"nothing was compiled through the wrappers: it is built again for toolchain {toolchain}")
            for number, way in enumerate(self.found.ways):
                order = find_order(self._setup(toolchain, way, ()), self.system.name, "capture")
                if not name:
                    name = learned_name(order.key, self.choose.wish())
                    if (known := self._remembered(name)) is not None:
                        return known
                try:
                    made = self._attempt(toolchain, way, order)
                except BuildError as error:
                    is_fortran = isinstance(error, FlagsUnheard) and error.is_fortran
                    if is_fortran or (not past_us and not isinstance(error, NotCompiledHere)):
                        raise
                    past_us.append(error)
                    todo = deque(other for other in todo if _could_be(other, error))
                    break  # another way would not be seen either
                if isinstance(made, Learned):
                    if made.instead_of:  # which is told each time, and may be mended by another compiler or layoutrand
                        self.say(f"the likeliest program cannot be captured: {made.instead_of}")
                    else:
                        self._remember(name, made, number)
                    return made
                if made.other_machine:
                    todo = deque(self._cross(made.machine) if foreign is None else ())
                    foreign = foreign or OtherMachine(made.other_machine)
                    if not todo:
                        raise foreign
                    self.say(f"the build is for {made.machine}: it is made again for toolchain {todo[0]}")
                    break
                if self.found.toolchain == "go":
                    raise NothingLinked(NOTHING_LINKED, log=made.log)
                (past_us if made.is_past_us else nothing).append(made.error())
                if made.is_past_us:
                    break
            if not past_us and foreign is None:
                break
        raise (past_us or nothing)[0]

    def _toolchains(self) -> list[str]:
        """With which to try; clang's wrappers are for a build that calls clang by its name."""
        if self.system.toolchain is not None:
            return [self.system.toolchain]
        if self.found.toolchain:
            return [self.found.toolchain]
        asked = machine_asked_for([command for way in self.found.ways for command in way.commands])
        if asked and (cross := self._cross(asked)):
            # Its configure would take the compiler that it is given for the one of that machine.
            self.say(f"the build asks for {asked}: it is made with toolchain {cross[0]}")
            return cross
        first = (_RUST, *_FIRST) if self.found.is_rust else _FIRST
        usable = [name for name in first if not toolboxes.missing(toolboxes.load(name, self.project))]
        return usable or [_FIRST[0]]  # whose absence is then told

    def _cross(self, machine: str) -> list[str]:
        """Toolchains that are here for a build whose programs are for another ``machine``, in words."""
        if self.system.toolchain is not None or self.found.toolchain or self.found.is_rust:
            return []
        shipped = [toolboxes.load(name, self.project) for name in toolboxes.shipped()]
        fitting = [each for each in shipped if each.machine is not None and words_of(each.machine) == machine]
        usable = [each.name for each in fitting if not toolboxes.missing(each)]
        return sorted(usable, key=lambda name: not name.startswith(_FIRST[0]))

    def _setup(self, toolchain: str, way: Way, artefacts: Sequence[str]) -> BuildSetup:
        # A file must name artefacts; here they may not be known yet.
        build = Build(commands=list(way.commands), exclude=list(self.found.exclude), env=dict(way.env))
        if artefacts:
            build = build.model_copy(update={"artefacts": list(artefacts)})
        config = Config(
            project=Project(name=safe_name(self.project)),
            build=build,
            layout=LayoutPolicy(factors=factors_for(toolchain, self.project)),
            systems={self.system.name: self.system.options.model_copy(update={"toolchain": toolchain})},
        )
        progress = BuildProgress(self.say, lambda: None)
        return BuildSetup.of(config, self.project, self.cache, self.runner, progress, jobs=self.jobs)

    @contextmanager
    def _made(self, order: BuildOrder) -> Iterator[InstrumentedBuild]:
        try:
            with obtained(
                order,
                self.cache,
                self.runner,
                jobs=self.jobs,
                say=self.say,
                building=self._tell_again,
                asked=learned_name(order.key, self.choose.wish()),
            ) as made:
                yield made
        except BuildFailed as error:
            configured = [each for each in self.found.exclude if is_configured(self.project / each)]
            if not configured:
                raise
            raise BuildFailed(
                f"{error.message}\nThe copy was made without {', '.join(configured)}, where CMake or "
                "Meson built before, with this directory's name in it: give the command that configures, too",
                log=error.log,
                cause=error.cause,
            ) from error

    def _tell_again(self, why: str) -> None:
        if why:
            self.say(f"{self.system.name}: built again: {why}")

    def _attempt(self, toolchain: str, way: Way, order: BuildOrder) -> Learned | UnseenFiles:
        """One build; again with the toolchain of the linker that it turns out to use."""
        with self._made(order) as made:
            linked = _linked(made)
            unseen = unseen_files(order, made, linked)
            if not linked or (unseen.other_machine and self._cross(unseen.machine)):
                return unseen  # what is linked for this machine makes the rest
            if unseen.other_machine and unseen.machine != words_of(os.uname().machine):
                self.say(unseen.other_machine)
            first = next(self.choose.choices(made.tree, linked))
            right = self._toolchain_of(toolchain, order.toolbox, first.linker)
            if right == toolchain:
                return self._kept(right, way, order, made, linked)
        self.say(f"the build links with {os.path.basename(first.linker)}, so it is made again for toolchain {right}")
        order = find_order(self._setup(right, way, ()), self.system.name, "capture")
        with self._made(order) as made:
            linked = _linked(made)
            if not linked:
                return unseen_files(order, made, linked)
            return self._kept(right, way, order, made, linked)

    def _toolchain_of(self, toolchain: str, toolbox: Toolbox, used: str) -> str:
        """The toolchain with the same compiler whose linker the build has used; the same where there is none."""
        if self.system.toolchain is not None or self.found.toolchain:
            return toolchain
        if toolchain == _RUST:
            if os.path.realpath(toolbox.tools["ld"].path) == os.path.realpath(used):
                return toolchain
            toolchain = _FIRST[0]  # the build itself chooses another than Cargo is configured to use
        alike = ""
        for name in (toolchain, *(name for name in toolboxes.shipped() if name.startswith(f"{toolchain}-"))):
            candidate = toolboxes.load(name, self.project)
            if candidate.compile.flags or candidate.machine is not None or toolboxes.missing(candidate):
                continue  # link-time optimisation, or another machine, is for the build to choose
            if os.path.realpath(toolboxes.find(candidate, self.runner).tools["ld"].path) == os.path.realpath(used):
                return name
            if _VERSIONED.sub("", os.path.basename(used)) == linker(candidate.link.linker).program:
                alike = alike or name  # another version of it
        return alike or toolchain

    def _kept(
        self, toolchain: str, way: Way, order: BuildOrder, made: InstrumentedBuild, linked: Sequence[LinkedFile]
    ) -> Learned:
        """Capture the first choice that can be; the first error where none can."""
        first: BuildError | None = None
        likeliest = ""
        for chosen in self.choose.choices(made.tree, linked):
            learned = Learned(
                toolchain,
                way,
                self.found.exclude,
                chosen,
                factors_for(toolchain, self.project),
                launcher=self._launcher(toolchain),
                harness=harness_of(made.tree / chosen.artefacts[0]) if chosen.is_program else "",
                has_fortran="fc" in made.space.compiled_by(),
                takes_flags=made.space.compiled.exists(),
            )
            setup = self._setup(toolchain, way, chosen.artefacts)
            recipe = replace(order.recipe, build=setup.config.build)
            mine = make_order(recipe, order.origin, order.toolbox, order.tools)
            beside = something_beside if self.jobs > 1 else nothing_beside
            try:
                # Without the lock of the capture: others hold it while they wait for the build that we have put back.
                keep(mine, made, self.cache, self.runner, beside=beside, say=self.say)
                remember_build(setup, mine)
            except WorkedOnAfterLink:
                learned = replace(learned, mode="rebuild")
            except BuildError as error:
                first, likeliest = first or error, likeliest or chosen.artefacts[0]
                continue
            if first is None:
                return learned
            return replace(learned, instead_of=f"{likeliest}: {first.cause.removeprefix(f'{likeliest}: ')}")
        assert first is not None  # there was something to choose
        raise first

    def _remembered(self, name: str) -> Learned | None:
        """What an earlier call learned of the same source and command."""
        found = self.cache.recall(name)
        if found is None or found.get("version") != _VERSION or found["way"] >= len(self.found.ways):
            return None
        chosen = ChosenProgram(
            tuple(found["artefacts"]),
            found["linker"],
            found["place"],
            tuple(found["others"]),
            found["is_program"],
            found["why"],
            tuple(found["libraries"]),
        )
        way = self.found.ways[found["way"]]
        return Learned(
            found["toolchain"],
            way,
            self.found.exclude,
            chosen,
            found["factors"],
            found["mode"],
            self._launcher(found["toolchain"]),
            found["harness"],
            found["has_fortran"],
            found["takes_flags"],
        )

    def _launcher(self, toolchain: str) -> tuple[str, ...]:
        return emulator_words(toolboxes.builds_for(toolboxes.load(toolchain, self.project)))

    def _remember(self, name: str, learned: Learned, way: int) -> None:
        chosen = learned.chosen
        self.cache.remember(
            name,
            {
                "version": _VERSION,
                "toolchain": learned.toolchain,
                "way": way,
                "artefacts": list(chosen.artefacts),
                "linker": chosen.linker,
                "place": chosen.place,
                "others": list(chosen.others),
                "is_program": chosen.is_program,
                "why": chosen.why,
                "libraries": list(chosen.libraries),
                "factors": list(learned.factors),
                "mode": learned.mode,
                "harness": learned.harness,
                "has_fortran": learned.has_fortran,
                "takes_flags": learned.takes_flags,
            },
        )


def machine_asked_for(commands: Sequence[str]) -> str:
    """The other processor that the commands say they build for, in words where it is known; "" for none."""
    here = words_of(os.uname().machine)
    asked = (words_of(each) for command in commands for each in _CROSS.findall(command))
    return next((words for words in asked if words and words != here), "")


def _could_be(toolchain: str, error: BuildError) -> bool:
    """Whether a build past the wrappers may call a toolchain's compiler, by what is found in what was compiled."""
    told = error.compilers.lower() if isinstance(error, NotCompiledHere) else ""
    return not told or toolchain in told


def _linked(made: InstrumentedBuild) -> list[LinkedFile]:
    """What the build linked, by the paths that Cargo gives it where it is Cargo's."""
    records = made.space.records
    return linked_files(build_records(records, made.tree), made.tree, cargo_executables(records))


def factors_for(toolchain: str, project: Path) -> list[Factor]:
    """What is randomised with a toolchain by default: the functions, or what its linker can do in place of that."""
    able = toolboxes.load(toolchain, project).link.factors
    wanted: Sequence[Factor] = ("function-order", "linker-shuffle")
    return next(([factor] for factor in wanted if factor in able), able[:1])
