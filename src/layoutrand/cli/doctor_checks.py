"""`layoutrand doctor`: what this machine can do, and what stands in the way of good measurements."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from layoutrand.cache.store import Cache, default_root
from layoutrand.cli.limits_met import MOUNT_PROC, NO_PROC, lacks_proc
from layoutrand.config.conditions import CONTROL_GROUP, PROCESS_GROUP
from layoutrand.config.config import System, parse
from layoutrand.config.toolchain import Toolchain, factors_of_version, version_number
from layoutrand.errors import HostError, StoreError, UsageError
from layoutrand.harnesses.known import harnesses
from layoutrand.host.facts import host_facts, host_settings, host_state
from layoutrand.host.host_problems import HostProblem, host_problems
from layoutrand.host.huge_pages import no_huge_pages
from layoutrand.host.tune import changes_document, standing
from layoutrand.host.tuning import UNDO, Tuning
from layoutrand.host.watch import HostWatch
from layoutrand.instruments.known import instruments, starters
from layoutrand.library.project_directory import CONFIG_NAME
from layoutrand.linkers import toolbox
from layoutrand.linkers.known import linker
from layoutrand.platform.control_groups import LIMITS, NoPlace, Place, find_place, how_to_be_given_one
from layoutrand.platform.packages import install
from layoutrand.platform.process import Runner
from layoutrand.platform.regular_file import WRITTEN_BY_HAND, text_of_regular

LOOK_S: Final = 0.3
"""How long doctor looks at what the machine is doing."""


@dataclass(frozen=True)
class Ability:
    """One toolchain: whether it is usable here, and with which programs; else ``detail`` says what is missing.

    ``versions`` are the names under which it is to be had with each version of its compiler that is installed,
    ``missing`` the programs that there are not; ``is_cross`` where it is for another processor.
    """

    toolchain: str
    usable: bool
    factors: tuple[str, ...]
    detail: str
    versions: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    is_cross: bool = False

    @property
    def lack(self) -> str:
        """Why it is not usable."""
        return f"{', '.join(self.missing)} not found on PATH" if self.missing else self.detail

    @property
    def mend(self) -> str:
        """What makes it usable."""
        return install(self.missing) if self.missing else "choose another toolchain in layoutrand.toml"


@dataclass(frozen=True)
class Diagnosis:
    """What doctor found; ``without_huge_pages`` is why programs get none and what mends it, empty where they do.

    ``asked`` are the toolchains that the project is built with; None where no project is known.
    """

    abilities: tuple[Ability, ...]
    instruments: dict[str, str | None]
    facts: dict[str, Any]
    settings: dict[str, Any]
    state: dict[str, Any]
    changed: dict[str, Any] | None
    problems: tuple[HostProblem, ...]
    isolation: Place | NoPlace
    linkers: tuple[str, ...] = ()
    without_huge_pages: tuple[str, str] = ("", "")
    asked: frozenset[str] | None = None


def diagnose(project: Path, runner: Runner, *, tuning: Tuning | None = None, root: Path = Path("/")) -> Diagnosis:
    """Look at toolchains, instruments, the cache and the machine (below ``root``); nothing is changed."""
    tuning = tuning or Tuning(root)
    chains = [toolbox.declared(name, project) for name in toolbox.shipped()]
    abilities = tuple(_ability(chain, project, runner) for chain in chains)
    programs = {each.program: shutil.which(each.program) for each in starters() if each.program}
    facts, settings, state = host_facts(root), host_settings(root), _look(root)
    linkers = toolbox.installed_linkers(chains)
    asked = _Asked.by(project)
    needed = _needed(asked, abilities, project, runner)
    problems = [*needed, *_instrument_problems(programs, asked), *_cache_problems(), *_proc_problems()]
    changed, left = _changed(tuning)
    isolation = find_place(root)
    of_host = host_problems(facts, settings, state, may_simulate=asked.may_simulate)
    problems += [*left, *of_host, *_isolation_problems(isolation)]
    return Diagnosis(
        abilities,
        programs,
        facts,
        settings,
        state,
        changed,
        tuple(problems),
        isolation,
        tuple(linkers),
        no_huge_pages(root),
        None if asked.toolchains is None else frozenset(asked.toolchains),
    )


def _look(root: Path) -> dict[str, Any]:
    """The state of the machine now, and what it did within a moment."""
    watch = HostWatch(root)
    before = watch.before()
    time.sleep(LOOK_S)
    return host_state(root) | watch.state(before) | watch.culprits()


def _changed(tuning: Tuning) -> tuple[dict[str, Any] | None, list[HostProblem]]:
    """Settings that layoutrand has changed, and whether someone has to do something about them."""
    try:
        found = standing(tuning)
    except HostError as error:
        return None, [HostProblem("error", str(error), "see there")]
    if found is None:
        return None, []
    record, what = found
    return changes_document(record, what), [HostProblem("warning" if record.is_orphaned() else "note", what, UNDO)]


def _ability(chain: Toolchain, project: Path, runner: Runner) -> Ability:
    versions = tuple(toolbox.installed_versions(chain))
    try:
        chain = toolbox.load(chain.name, project)
        tools = toolbox.find(chain, runner).tools
        ld = tools["ld"].version
        refused = linker(chain.link.linker).refusal(version_number(ld), ld)
    except HostError as error:
        refused = str(error)
    is_cross = chain.machine is not None
    if refused:
        missing = tuple(toolbox.missing(chain))
        return Ability(
            chain.name, usable=False, factors=(), detail=refused, versions=versions, missing=missing, is_cross=is_cross
        )
    detail = f"{tools['cc'].version}; {tools['ld'].version}"
    factors = factors_of_version(chain, ld)
    return Ability(chain.name, usable=True, factors=factors, detail=detail, versions=versions, is_cross=is_cross)


def _needed(asked: _Asked, abilities: Sequence[Ability], project: Path, runner: Runner) -> Iterator[HostProblem]:
    """What keeps systems of the project from being built, or without a project programs at all.

    Toolchains that nobody asks for are no problem: the screen names them.
    """
    known = {ability.toolchain: ability for ability in abilities}
    for name, systems in (asked.toolchains or {}).items():
        try:
            found = known.get(name) or _ability(toolbox.declared(name, project), project, runner)
        except UsageError:  # no such toolchain: a mistake in the file, which other commands tell
            continue
        if not found.usable:
            built = f"{', '.join(systems)} {'is' if len(systems) == 1 else 'are'} built with"
            yield HostProblem("error", f"toolchain {name}, which {built}, is not usable: {found.lack}", found.mend)
    if asked.toolchains is None and not any(ability.usable for ability in abilities):
        first = known[System().toolchain]
        yield HostProblem("error", f"no toolchain is usable; of {first.toolchain}: {first.lack}", first.mend)


@dataclass(frozen=True)
class _Asked:
    """Whether a benchmark of the project may have the processor simulated, which harnesses and toolchains it has.

    ``toolchains`` have the systems that are built with each; None where no project is known.
    """

    may_simulate: bool = True
    harnesses: frozenset[str] = frozenset()
    toolchains: Mapping[str, Sequence[str]] | None = None

    @classmethod
    def by(cls, project: Path) -> _Asked:
        """As its configuration says; of one that is not there or is wrong, which other commands tell, nothing."""
        path = project / CONFIG_NAME
        try:
            config = parse(text_of_regular(path, largest=WRITTEN_BY_HAND), path=str(path))
        except (OSError, UnicodeDecodeError, UsageError):
            return cls()
        is_open = config.suite is None and (
            not config.benchmarks or any(each.may_simulate for each in config.benchmarks)
        )
        toolchains: dict[str, list[str]] = {}
        for name, system in config.systems.items():
            if system.prebuilt is None:
                toolchains.setdefault(system.toolchain, []).append(name)
        asked = frozenset(each.harness for each in config.benchmarks if each.harness is not None)
        return cls(is_open, asked, toolchains)


def _instrument_problems(programs: dict[str, str | None], asked: _Asked) -> list[HostProblem]:
    found = []
    for each in instruments():
        if not each.missed or not each.program or programs[each.program] is not None:
            continue
        starting = [one.name for one in harnesses() if one.name in asked.harnesses and each.program in one.starts]
        if starting or asked.may_simulate or not each.simulated:
            missed = f'harness = "{starting[0]}" starts it' if starting else each.missed
            found.append(HostProblem("note", f"{each.program} is absent: {missed}", each.how_to_install()))
    return found


def isolation_in_words(found: Place | NoPlace) -> str:
    """What holds an execution together here, as ``run.isolation`` calls it, and what that can limit."""
    if isinstance(found, NoPlace):
        return PROCESS_GROUP
    return f"{CONTROL_GROUP}, which limits {' and '.join(found.limits) or 'nothing'}"


def huge_pages_in_words(found: Diagnosis) -> str:
    """Whether text can be had on huge pages here; of programs that are linked for it alone."""
    why, mend = found.without_huge_pages
    return f"no: {why} (mend: {mend})" if why else "yes, of programs that are linked for it"


def _isolation_problems(found: Place | NoPlace) -> list[HostProblem]:
    if isinstance(found, NoPlace):
        return [
            HostProblem("note", f"executions have no control group, and no limits as a whole: {found.why}", found.mend)
        ]
    if missing := [limit for limit in LIMITS if limit not in found.limits]:
        return [
            HostProblem(
                "note",
                f"control groups in {found.directory} cannot limit {' and '.join(missing)}: the controllers are not "
                "there, or others are in this group as well",
                how_to_be_given_one(),
            )
        ]
    return []


def _proc_problems() -> list[HostProblem]:
    return [HostProblem("error", NO_PROC, MOUNT_PROC)] if lacks_proc() else []


def _cache_problems() -> list[HostProblem]:
    root = default_root()
    try:
        cache = Cache(root)
        with cache.scratch("doctor") as scratch:
            (scratch / "probe").write_bytes(b"x")
    except (StoreError, OSError) as error:
        return [
            HostProblem("error", f"the cache cannot be used: {error}", "export LAYOUTRAND_CACHE=/a/writable/directory")
        ]
    free = shutil.disk_usage(root).free
    if free < 2 << 30:
        return [
            HostProblem("warning", f"only {free >> 20} MiB are free in {root}", "layoutrand cache gc --max-size 1G")
        ]
    return []


def doctor_document(found: Diagnosis) -> dict[str, Any]:
    """``layoutrand/doctor/1``."""
    return {
        "schema": "layoutrand/doctor/1",
        "toolchains": [vars(ability) for ability in found.abilities],
        "linkers": list(found.linkers),
        "instruments": found.instruments,
        "host": found.facts,
        "settings": found.settings,
        "state": found.state,
        "changed": found.changed,
        "problems": [vars(problem) for problem in found.problems],
        "isolation": _isolation_document(found.isolation),
        "text_on_huge_pages": {"possible": not found.without_huge_pages[0], "why": found.without_huge_pages[0]},
    }


def _isolation_document(found: Place | NoPlace) -> dict[str, Any]:
    if isinstance(found, NoPlace):
        return {"kind": PROCESS_GROUP, "why": found.why, "limits": []}
    return {"kind": CONTROL_GROUP, "why": "", "limits": list(found.limits)}
