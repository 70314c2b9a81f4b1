"""One execution of a system's identity binary under something that looks at it: what decides it, and where it is."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from layoutrand.config.schedule import Slot
from layoutrand.errors import FeatureUnsupported, ResultsError
from layoutrand.execute.execution_setup import ExecutionSetup, make_sandbox, program_command
from layoutrand.execute.measure import Command
from layoutrand.execute.run_plan import RunPlan, RunRequest, make_plan
from layoutrand.execute.workplace import Sandbox, Workplace, end_leftovers
from layoutrand.instruments.instrument import Starter
from layoutrand.model import IDENTITY, Binary
from layoutrand.platform.disk import canonical_json, sha256_bytes
from layoutrand.results.file import exclusive_use, results_path

_FOLDER: Final = Path(".layoutrand") / "explain"


@dataclass(frozen=True)
class LookingPlace:
    """Where it happens, and the ``names`` under which the artefact may be executed there."""

    workplace: Workplace
    sandbox: Sandbox
    names: tuple[str, ...]
    plain: Command

    def command(self, prefix: Sequence[str], under: Starter) -> Command:
        """What starts the program with these words before its own; what looks at it needs files and time."""
        return replace(
            self.plain,
            argv=(*prefix, *self.plain.argv),
            timeout_s=self.plain.timeout_s * under.slowdown,
            aslr=True,
            conditions=replace(self.plain.conditions, output_limit=None, process_limit=None),
        )


@dataclass(frozen=True)
class IdentityRun:
    """What is executed, and in which project."""

    plan: RunPlan
    slot: Slot
    project: Path

    @classmethod
    def of(cls, request: RunRequest, system: str, benchmark: str, under: Starter) -> IdentityRun:
        """The run of one system on one benchmark; raises what `make_plan` raises, and `FeatureUnsupported`.

        ``request`` has that binary and those of everything that is executed with it.
        """
        run = request.config.run.model_copy(update={"controls": [IDENTITY], "executions": 1})
        plan = make_plan(
            replace(
                request,
                config=request.config.model_copy(update={"run": run}),
                choices=replace(request.choices, benchmarks=[benchmark], seeds=[1]),
            )
        )
        plan.launching.check(under)
        reading = plan.benchmarks[benchmark].metric.suite
        if reading is not None and reading.by_tools:
            raise FeatureUnsupported(
                f"{benchmark} is executed by its suite's own tools, from a copy that they make, so it cannot be "
                "profiled here; give its program and inputs as a benchmark of its own"
            )
        slot = Slot(system, benchmark, IDENTITY, under.name, round=1, repetition=0, order=0)
        return cls(plan, slot, request.project.resolve())

    @property
    def binary(self) -> Binary:
        """The artefact's."""
        return self.plan.binary(self.slot)

    def kept(self, kind: str, how: Sequence[Any]) -> Path:
        """Where what was seen is kept for the next time; ``how`` it was looked at, as JSON values."""
        placed = sorted((artefact, binary.sha256) for artefact, binary in self.plan.placed(self.slot).items())
        definition = sorted(
            digest
            for (benchmark, _instrument), digest in self.plan.definitions.items()
            if benchmark == self.slot.benchmark
        )
        what = [placed, definition, self.plan.request.built.captures[self.slot.system], *how]
        return self.project / _FOLDER / f"{kind}-{sha256_bytes(canonical_json(what))[:32]}.json"

    @contextlib.contextmanager
    def place(self, say: Callable[[str], None]) -> Iterator[LookingPlace]:
        """Where it is executed, alone on the project's results; cleared in the end.  Raises `ResultsError`."""
        wait_s = self.plan.request.choices.wait_s
        with exclusive_use(ready_results(self.project), wait_s=wait_s, on_wait=say), contextlib.ExitStack() as cleanup:
            workplace = Workplace(self.project / ".layoutrand" / "work")
            end_leftovers(workplace.root)
            cleanup.callback(workplace.clear)
            sandbox = make_sandbox(self.plan, self.slot, ExecutionSetup.of(self.plan.request, workplace, say))
            image = self.plan.request.config.build.image
            inside = () if image is None else (str(sandbox.home / image.path),)
            names = (str(sandbox.bin / self.binary.artefact), *inside)
            yield LookingPlace(workplace, sandbox, names, program_command(self.plan, self.slot, sandbox, None))


def ready_results(project: Path) -> Path:
    """Where the project's results are, in a directory that is there by now; raises `ResultsError`."""
    path = results_path(project)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultsError(f"cannot create {path.parent}: {error.strerror}; check owner and permissions") from error
    return path
