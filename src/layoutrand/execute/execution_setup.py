"""What one execution is given: a fresh sandbox, its command with the instrument in front, its environment."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from layoutrand.build.as_built import BuiltContents
from layoutrand.config import command as commands
from layoutrand.config.jdk import OWN_FILE
from layoutrand.config.schedule import Slot
from layoutrand.execute.images import Images
from layoutrand.execute.measure import Command
from layoutrand.execute.memory_placement import MemoryPlacement
from layoutrand.execute.program_guard import ProgramGuard
from layoutrand.execute.run_plan import RunPlan, RunRequest
from layoutrand.execute.working_conditions import conditions_of
from layoutrand.execute.workplace import Sandbox, Workplace
from layoutrand.instruments.known import instrument, reads_output
from layoutrand.jvm.proof import JdkProofs
from layoutrand.platform.disk import write_files

_LAUNCHER_OF_A_JDK: Final = "bin/java"


@dataclass(frozen=True)
class ExecutionSetup:
    """Where executions happen, their images, the proofs of JDKs in their layouts, what is known of binaries, and what
    moves memory.
    """

    workplace: Workplace
    images: Images
    jdks: JdkProofs
    as_built: BuiltContents
    memory: MemoryPlacement

    @classmethod
    def of(cls, request: RunRequest, workplace: Workplace, say: Callable[[str], None]) -> ExecutionSetup:
        """That of one call: nothing is made or proved yet."""
        images = Images(request.config, request.project, request.built.origins, say)
        proofs = JdkProofs(request.config, request.project, request.built.jvms)
        return cls(workplace, images, proofs, BuiltContents(), MemoryPlacement(workplace.root))


def under_instrument(plan: RunPlan, slot: Slot, sandbox: Sandbox, plain: Command) -> Command:
    """What starts the slot's program, of which ``plain`` is the `program_command`, under its instrument."""
    metric, under = plan.benchmarks[slot.benchmark].metric, instrument(slot.instrument)
    under.prepare(sandbox.instrument, plan.launching.qemu)
    return replace(
        plain,
        argv=under.prefix(plan.programs[slot.instrument], metric, sandbox.instrument) + plain.argv,
        env={**plain.env, **under.environment(metric, sandbox.instrument)},
        timeout_s=plain.timeout_s * under.slowdown,
    )


def program_command(plan: RunPlan, slot: Slot, sandbox: Sandbox, padding: int | None) -> Command:
    """What starts the slot's program by itself; ``padding`` is the size of an environment variable, None for none."""
    benchmark = plan.benchmarks[slot.benchmark]
    places = _places(plan, slot, sandbox)
    argv = commands.arguments(benchmark.command, places)
    return Command(
        argv=argv,
        env=_loader(plan, sandbox) | commands.environment(benchmark.env, places, padding),
        cwd=sandbox.cwd,
        stdin=None if benchmark.stdin is None else plan.request.project / benchmark.stdin,
        stdout=sandbox.stdout,
        stderr=sandbox.stderr,
        timeout_s=benchmark.timeout_s,
        aslr=plan.request.config.run.aslr == "on",
        merge_output=benchmark.merge_output and reads_output(slot.instrument),  # the others have messages of their own
        expect_status=benchmark.expect_status,
        conditions=conditions_of(plan.request.config, plan.placement, slot, benchmark),
    )


def programs_of(plan: RunPlan, slot: Slot, sandbox: Sandbox, plain: Command) -> tuple[Path, ...]:
    """What the slot's `program_command` starts, and the artefacts that it may start."""
    first = plain.argv[0]
    found = shutil.which(first, path=plain.env.get("PATH", "")) if "/" not in first else sandbox.cwd / first
    placed = [sandbox.bin / artefact for artefact in plan.placed(slot)]
    # Most commands begin with the artefact, which is looked at once then.
    return tuple(dict.fromkeys([*([Path(found)] if found else []), *(path for path in placed if path.exists())]))


def started_artefact(plan: RunPlan, slot: Slot, sandbox: Sandbox) -> Path | None:
    """The artefact that the slot's command names, None where it names none."""
    named = any("{artefact}" in word for word in plan.benchmarks[slot.benchmark].command)
    return sandbox.bin / plan.binary(slot).artefact if named else None


def make_sandbox(plan: RunPlan, slot: Slot, setup: ExecutionSetup) -> Sandbox:
    """A new sandbox for one execution, with the image of its layout where there is one.

    Raises `CacheError` for a binary that is not what was built.
    """
    artefacts, benchmark = plan.placed(slot), plan.benchmarks[slot.benchmark]
    setup.as_built.check(plan.files(slot).values())
    files = [plan.request.project / name for name in benchmark.files]
    while True:
        sandbox = setup.workplace.prepare({name: binary.stored for name, binary in plan.files(slot).items()}, files)
        if written := benchmark.written_anew():
            write_files(sandbox.cwd, written)
        if plan.request.config.build.image is None and not plan.jdk_factors(slot):
            return sandbox
        places = _places(plan, slot, sandbox)
        plain = _loader(plan, sandbox) | commands.environment({}, places, None)
        if setup.images.furnish(sandbox, slot.system, artefacts, setup.workplace, plain):
            continue
        if not setup.jdks.prove(slot, plan.binary(slot), commands.arguments(benchmark.command, places), sandbox.cwd):
            return sandbox


def guard_of(plan: RunPlan, slot: Slot, sandbox: Sandbox, setup: ExecutionSetup) -> ProgramGuard:
    """What watches over the files of the slot's execution, which is about to begin in the sandbox.

    Of an image, and of a JDK that is taken as it is, that is every file; of another prebuilt system, its artefacts.
    """
    base = sandbox.bin.parent
    own = {sandbox.bin / name: binary for name, binary in plan.files(slot).items()}
    own |= setup.images.placed(sandbox, plan.placed(slot))
    folder = _home(plan, slot, sandbox)
    if not folder:
        return ProgramGuard(own, [], setup.as_built, base)
    home = Path(folder)
    whole = home == sandbox.home or (home / _LAUNCHER_OF_A_JDK).exists()
    trees = [home] if whole else [home / artefact for artefact in plan.request.config.build.artefacts]
    return ProgramGuard(own, trees, setup.as_built, base)


def _places(plan: RunPlan, slot: Slot, sandbox: Sandbox) -> commands.Places:
    artefact = sandbox.bin / plan.binary(slot).artefact
    return commands.Places(
        artefact=str(artefact),
        artefact_dir=str(artefact.parent),
        project=str(plan.request.folder),
        home=_users_home(),
        tmp=str(sandbox.tmp),
        prebuilt=_home(plan, slot, sandbox),
        args=plan.args(slot, str(sandbox.bin / OWN_FILE)),
        launcher=plan.launching.words,
    )


def _users_home() -> str:
    """Of a user of a container who has none it is the root, as container engines have it."""
    home = os.path.expanduser("~")
    return "/" if home == "~" else home


def _home(plan: RunPlan, slot: Slot, sandbox: Sandbox) -> str:
    if plan.request.config.build.image is not None:
        return str(sandbox.home)
    folder = plan.request.config.systems[slot.system].prebuilt
    return "" if folder is None else str((plan.request.project / folder).resolve())


def _loader(plan: RunPlan, sandbox: Sandbox) -> dict[str, str]:
    """How the dynamic linker finds artefacts that others need: the build's tree, where they were linked, is gone."""
    folders = [str(sandbox.bin / folder) for folder in plan.libraries]
    return {"LD_LIBRARY_PATH": ":".join(folders)} if folders else {}
