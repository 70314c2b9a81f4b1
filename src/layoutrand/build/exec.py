"""`layoutrand exec`: any command with the wrappers in force, so that what it links comes out in a layout."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutrand.build import apply
from layoutrand.build.aftermath import Aftermath, look
from layoutrand.build.apply import LinkOutcome
from layoutrand.build.link_helper import relinking
from layoutrand.cache.keys import exec_key
from layoutrand.cache.store import Cache
from layoutrand.capture.build_environment import build_environment
from layoutrand.capture.collect import BuildPlace
from layoutrand.capture.ended_build import UnheardFlags, unheard_flags
from layoutrand.capture.records import read_records
from layoutrand.capture.workspace import Workspace, workspace
from layoutrand.capture.wrappers import write_wrappers
from layoutrand.config.build_recipe import Recipe
from layoutrand.config.config import Config
from layoutrand.errors import LayoutNotApplied, ToolNotFound, UsageError
from layoutrand.linkers import linkline
from layoutrand.linkers import toolbox as toolboxes
from layoutrand.linkers.known import linker
from layoutrand.model import STOCK, LayoutName
from layoutrand.platform.process import Runner

_MOST_LISTED = 12


@dataclass(frozen=True)
class Wish:
    """What is asked for: a layout, for outputs of the names in ``only`` (empty: all) but not those in ``excepted``."""

    layout: LayoutName
    only: tuple[str, ...] = ()
    excepted: tuple[str, ...] = ()


@dataclass(frozen=True)
class Wrapped:
    """What a wrapped command did: its exit status, and a line for each program laid out, left alone or failed.

    ``remarks`` are about what none of these lines is of.
    """

    status: int
    applied: tuple[str, ...]
    left: tuple[str, ...]
    failed: tuple[str, ...]
    remarks: tuple[str, ...]


def execute_wrapped(  # noqa: PLR0913 - the project, the command, where it happens, and what to do it with
    config: Config,
    system: str,
    project: Path,
    command: Sequence[str],
    wish: Wish,
    *,
    folder: Path,
    cache: Cache,
    runner: Runner,
) -> Wrapped:
    """Execute the command in ``folder`` with the wrappers in force and the layout applied to what it links.

    Objects of the project's source are placed. Raises `LayoutNotApplied` if the command succeeded but linked nothing
    to lay out (or nothing of a name in ``only``), since that would silently be the default layout, and `ToolNotFound`
    for a command that does not exist.
    """
    if wish.layout == STOCK:
        raise UsageError("stock is your own build without layoutrand: execute the command as it is")
    factors = tuple(config.layout.factors)
    around = toolboxes.Surroundings.of(config, system)
    toolbox = toolboxes.prepare(config.systems[system].toolchain, project, factors, runner, around)
    recipe = Recipe.of(config, system, "capture", toolbox.toolchain, factors, os.environ)
    tree = (project / config.build.source).resolve()  # the wrappers see physical paths
    key = exec_key(str(tree), system, wish.layout)
    with workspace(cache, key) as space:
        place = BuildPlace(str(tree), str(space.temporary), str(space.wrappers))
        order = apply.RelinkOrders(
            *(wish.layout, config.layout, wish.only, place, toolbox, wish.excepted),
            judged=False,
            ordered=recipe.options.ordered,
        )
        written = order.write(space.base / "order.json")
        maps = linker(toolbox.toolchain.link.linker).map is not None
        write_wrappers(space, recipe, toolbox, tree=tree, relink=written, leave_foreign=True, maps=maps)
        environment = build_environment(os.environ, space, recipe, toolbox)
        _refuse_no_command(command[0], environment["PATH"], folder)
        begun_ns = written.stat().st_mtime_ns  # of the clock that gives files their times
        with relinking(written):
            status = runner.run_attached(command, cwd=folder, env=environment)
        records = read_records(space.records)
        after = look(folder.resolve(), str(tree), begun_ns, records, apply.read_outcomes(space))
        unheard = unheard_flags(recipe, space) if records else None
        told = _Told(wish, str(tree), after, tuple(record.output() for record in records), _had_trials(space), unheard)
    if status == 0:
        told.refuse_nothing()
    return Wrapped(status, told.applied(), told.left(), told.failed(), told.remarks())


def _had_trials(space: Workspace) -> bool:
    """Whether the linker wrapper passed on a link for being a trial."""
    return (space.records / "trials").exists()


def _refuse_no_command(word: str, path: str, folder: Path) -> None:
    """Say what is wrong with a command that cannot be started, as far as that can be known beforehand."""
    if "/" in word:
        if (folder / word).is_dir():
            raise ToolNotFound(f"cannot start {word}: it is a directory")
        return
    if shutil.which(word, path=path) is not None:
        return
    hint = ""
    if len(parts := word.split()) > 1 and shutil.which(parts[0], path=path):
        hint = f": give its words one by one, as in -- {word}, or sh -c '{word}'"
    elif (folder / word).is_file():
        hint = f"; there is a file of that name here: ./{word}"
    elif word in {"cd", "export", "source", ".", "set", "ulimit", "umask", "eval"} or "=" in word:
        hint = ", but shells know such a word: sh -c '...' executes a line of shell"
    raise ToolNotFound(f"cannot start {word or 'a command with an empty name'}: not found on PATH{hint}")


@dataclass(frozen=True)
class _Told:
    """The command's links in words; ``outputs`` of all of them, also of those that were not to be laid out."""

    wish: Wish
    tree: str
    after: Aftermath
    outputs: tuple[str, ...]
    had_trials: bool
    unheard: UnheardFlags | None

    def applied(self) -> tuple[str, ...]:
        return tuple(_line(outcome, where, self.wish.layout) for outcome, where in self.after.present if outcome.proof)

    def left(self) -> tuple[str, ...]:
        return tuple(
            f"{where}: left as it was linked: {outcome.reason}"
            for outcome, where in self.after.present
            if outcome.status in ("immovable", "left alone") and not self._asked_in_vain(outcome)
        )

    def failed(self) -> tuple[str, ...]:
        lines = [
            f"{where}: layout {self.wish.layout} was not applied, it is as it was linked: {outcome.reason}"
            f"{self._elsewhere(where)} (--except NAME leaves a program alone)"
            for outcome, where in (*self.after.present, *((gone, gone.output) for gone in self.after.gone))
            if (outcome.status == "failed" and (outcome not in self.after.gone or self._named(outcome)))
            or self._asked_in_vain(outcome)
        ]
        if unseen := self._unseen():
            more = f" and {len(unseen) - _MOST_LISTED} more" if len(unseen) > _MOST_LISTED else ""
            lines.append(
                f"these were linked without the wrappers, so layout {self.wish.layout} was not applied to them: "
                f"{', '.join(unseen[:_MOST_LISTED])}{more}. Was a compiler or linker called by an absolute path, or "
                "with a linker of its own (-B, --ld-path)? Let the build use $CC, $CXX and $LD, or plain gcc, g++ and "
                "ld (--except NAME leaves a program alone)"
            )
        return tuple(lines)

    def remarks(self) -> tuple[str, ...]:
        unknown = [name for name in self.wish.excepted if not any(apply.named(path, name) for path in self.outputs)]
        lines = [f"--except {name}: nothing of that name was linked" for name in unknown]
        if not self.outputs and self.had_trials and not self._unseen():
            lines.append("only trials of a configure step were linked, which keep the layout that they have")
        if self.unheard is not None:
            compiled = "was it compiled earlier (make clean), or by a compiler that is neither $CC nor on PATH?"
            lines.append(str(self.unheard) if self.unheard.of_others else f"{self.unheard.in_brief}: {compiled}")
        if self.after.gone:
            count = len(self.after.gone)
            lines.append(
                f"{count} more link{'s' if count > 1 else ''} left nothing behind here "
                "(trials of a configure step, or programs moved elsewhere)"
            )
        return tuple(lines)

    def refuse_nothing(self) -> None:
        """Raise `LayoutNotApplied` where a command that succeeded gave no program the layout, and nothing says why."""
        wish, outcomes = self.wish, [outcome for outcome, _where in self.after.present]
        unseen = self._unseen()
        missing = [name for name in wish.only if not any(apply.named(p, name) for p in (*self.outputs, *unseen))]
        if missing:
            raise LayoutNotApplied(
                f"the command succeeded, but linked no {' and no '.join(missing)} through the wrappers, so layout "
                f"{wish.layout} was not applied to it. Is it up to date already (make clean), or linked under another "
                "name?"
            )
        if unseen:
            return
        if not self.outputs and not self.had_trials:
            raise LayoutNotApplied(
                f"the command succeeded, but linked no program through the wrappers, so layout {wish.layout} was "
                "applied to nothing. Is everything up to date already (make clean)? Does it call its compiler by an "
                "absolute path?"
            )
        if outcomes and all(outcome.status in ("immovable", "left alone") for outcome in outcomes):
            raise LayoutNotApplied(
                f"the command succeeded, but layout {wish.layout} was applied to nothing: "
                + "; ".join(f"{outcome.output}: {outcome.reason}" for outcome in outcomes)
            )

    def _unseen(self) -> list[str]:
        wish = self.wish
        return [path for path in self.after.unseen if apply.wanted(path, wish.only, wish.excepted)]

    def _named(self, outcome: LinkOutcome) -> bool:
        return any(apply.named(outcome.output, name) for name in self.wish.only)

    def _asked_in_vain(self, outcome: LinkOutcome) -> bool:
        """Whether a program that can have no layout is one of those that were named."""
        return outcome.status == "left alone" and self._named(outcome)

    def _elsewhere(self, where: str) -> str:
        if linkline.inside(os.path.realpath(where), self.tree) is not None:
            return ""
        return f". It lies outside the project, {self.tree}, of which objects are placed: -C names another"


def _line(outcome: LinkOutcome, where: str, layout: LayoutName) -> str:
    assert outcome.proof is not None
    proof = outcome.proof
    how = f"Kendall tau to identity {proof.tau:+.3f}"
    if isinstance(layout, int) and proof.tau == 1:
        how = "this seed's order is the one it has already"
    kept = proof.verification.n_sections - proof.movable
    # Told where it is most of the program, as where that is static: a handful of start files nobody misses.
    others = f", {kept} of start files and system libraries keep theirs" if kept > proof.movable else ""
    return f"{where}: layout {layout}, {proof.movable} sections placed as asked ({how}){others}, verified"
