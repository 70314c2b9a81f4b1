"""What `execute` is asked to do, and the plan that follows from it: every check that needs no process."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from layoutrand.cache.capture_record import Capture
from layoutrand.cache.contents import is_there
from layoutrand.capture.libraries import search_path
from layoutrand.config.config import Benchmark, Config, choose
from layoutrand.config.jdk import OWN_FILE, JvmFacts, factors_of_a_jdk, options
from layoutrand.config.redaction import NOTHING_REDACTED, Redaction
from layoutrand.config.schedule import Design, Slot, schedule
from layoutrand.config.topology import Placement
from layoutrand.config.twice import is_second
from layoutrand.config.warmup_choices import InForce
from layoutrand.errors import UsageError
from layoutrand.execute import experiment as experiments
from layoutrand.execute.iterations import warmups_of
from layoutrand.execute.launching import Launching, checked_launching
from layoutrand.execute.memory_placement import check_memory
from layoutrand.execute.text_pages import check_text_pages
from layoutrand.execute.working_conditions import check_stacks, checked_placement
from layoutrand.execute.workplace import Workplace, read_input
from layoutrand.harnesses.case_names import entry_of
from layoutrand.instruments.known import instruments, simulated
from layoutrand.model import STOCK, Binary, BuildFailure, BuiltFrom, Execution, Experiment, LayoutName, SlotKey


@dataclass(frozen=True)
class NodeOfPool:
    """A node of a cluster, by name, and its `layoutrand.host.facts.processor`, which all nodes of its pool have."""

    node: str
    processor: Mapping[str, Any]


@dataclass(frozen=True)
class RunChoices:
    """What the user chose for one call.

    ``benchmarks`` are names, empty for all. ``seeds`` are those asked for: prebuilt systems have no binary of a seed,
    and take part in its round all the same. ``wait_s`` is how long to wait for another layoutrand that executes here
    or, unless ``share_machine``, that measures on this machine. ``controls``: stock and identity are built, too;
    ``tune``: the machine is set for measuring; ``twice``: each system is executed a second time, as another one;
    ``give_up``: what fails from the first execution on is not executed to the end; ``by_capture``: systems are at
    commits, of which those of one program are executed as one. ``retry_failed``: what failed is executed again, if it
    began before ``retry_before`` (seconds since 1970): a call that executes several times tries each once.
    ``is_round``: the call is a round of many, so what it costs by itself is not told.  ``instruments`` are the names of
    those that are used, of all that benchmarks ask for; empty for all.
    """

    benchmarks: Sequence[str] = ()
    seeds: Sequence[int] = ()
    controls: bool = True
    retry_failed: bool = False
    retry_before: float = math.inf
    wait_s: float = 3600
    share_machine: bool = False
    tune: bool = False
    twice: bool = False
    by_capture: bool = False
    give_up: bool = False
    is_round: bool = False
    instruments: Sequence[str] = ()

    @property
    def recalls_failures(self) -> bool:
        """Whether commits whose builds failed earlier are not built again."""
        return self.by_capture and not self.retry_failed


@dataclass(frozen=True)
class BuiltSystems:
    """What there is to execute.

    A control is executed where ``run.controls`` lists it and a binary (or failure) of it is given. ``captures`` maps
    each system to the id of its capture, ``origins`` tells apart the systems whose images differ (see
    `layoutrand.build.prebuilt.origin_of`). ``exehash_is_sha256`` names the systems whose suite is known to record the
    SHA-256 of executables. ``jvms`` has what a JVM said of itself in each layout of a JDK that is taken as it is.
    ``linked`` are the captures whose layouts a node of a cluster can link for itself, ``tools`` what all binaries were
    made with and ``built`` what of each system's capture was built from, as in `Context`.
    """

    binaries: Sequence[Binary]
    captures: Mapping[str, str]
    failures: Sequence[BuildFailure] = ()
    origins: Mapping[str, str] = field(default_factory=dict)
    exehash_is_sha256: frozenset[str] = frozenset()
    jvms: Mapping[tuple[str, LayoutName], JvmFacts] = field(default_factory=dict)
    linked: Mapping[str, Capture] = field(default_factory=dict)
    tools: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    built: Sequence[BuiltFrom] = ()


@dataclass(frozen=True)
class RunRequest:
    """What to execute: of the project in directory ``project``, what was ``built``, as the user chose.

    On a node of a cluster ``place`` says which it is, and ``slots`` are those that it is asked for (None: all that the
    schedule asks for).  What ``redaction`` masks is in no record.
    """

    config: Config
    project: Path
    built: BuiltSystems
    choices: RunChoices = field(default_factory=RunChoices)
    place: NodeOfPool | None = None
    slots: Sequence[Slot] | None = None
    redaction: Redaction = NOTHING_REDACTED

    @cached_property
    def folder(self) -> Path:
        """The project's directory as an absolute path without symbolic links."""
        return self.project.resolve()

    def experiment(self) -> Experiment:
        """The experiment that executions here belong to."""
        if self.place is None:
            return experiments.current_experiment(self.config)
        return experiments.pool_experiment(self.config, self.place.processor)

    def marked(self, execution: Execution, workplace: Path) -> Execution:
        """The execution as it is recorded: with what is to be known of where it was made, without what is masked."""
        if self.redaction:
            execution = replace(
                execution,
                reason=self.redaction.text(execution.reason),
                argv=tuple(self.redaction.text(word) for word in execution.argv),
                conditions=self.redaction.of_json(execution.conditions),
                host_state=self.redaction.of_json(execution.host_state),
            )
        if self.choices.share_machine:
            execution = replace(execution, conditions={**execution.conditions, "machine": "shared"})
        if self.place is None:
            return execution
        conditions = {**execution.conditions, "workplace": str(workplace)}
        return replace(execution, node=self.place.node, conditions=conditions)


@dataclass(frozen=True)
class RunPlan:
    """The request, resolved: every slot that has a binary, and what is needed to execute it.

    ``programs`` has the absolute path of each instrument's program, by the instrument's name; ``libraries`` are the
    directories of artefacts that other artefacts need, relative to where all are placed; ``hostname`` is the name of
    this machine; ``launching`` is what stands before programs here.
    """

    request: RunRequest
    slots: tuple[Slot, ...]
    unbuilt: int
    binaries: Mapping[tuple[str, LayoutName], Mapping[str, Binary]]
    benchmarks: Mapping[str, Benchmark]
    definitions: Mapping[tuple[str, str], str]
    references: Mapping[str, bytes]
    programs: Mapping[str, str]
    placement: Placement | None
    libraries: tuple[str, ...]
    hostname: str
    launching: Launching = field(default_factory=Launching)

    @property
    def systems(self) -> list[str]:
        """Those that are executed, in the order of the configuration; the others are compared with the first."""
        executed = {slot.system for slot in self.slots}
        return [name for name in self.request.config.systems if name in executed]

    def binary(self, slot: Slot) -> Binary:
        """The binary that the slot's ``{artefact}`` is."""
        benchmark = self.benchmarks[slot.benchmark]
        return self.binaries[slot.system, slot.layout][experiments.artefact_of(benchmark, self.request.config)]

    def placed(self, slot: Slot) -> dict[str, Binary]:
        """The binaries that the slot's execution is given, by artefact."""
        needed = self.benchmarks[slot.benchmark].needs(self.request.config.build)
        return {artefact: self.binaries[slot.system, slot.layout][artefact] for artefact in needed}

    def files(self, slot: Slot) -> dict[str, Binary]:
        """What the slot's execution finds beside its working directory: its artefacts, or what a JDK's layout has."""
        if self.jdk_factors(slot):
            return {OWN_FILE: self.binary(slot)}
        return {binary.artefact: binary for binary in self.placed(slot).values()}

    def jdk_factors(self, slot: Slot) -> tuple[str, ...]:
        """The factors that options of a JDK express in this slot; none for stock."""
        return () if slot.layout == STOCK else factors_of_a_jdk(self.request.config.layout.drawn)

    def args(self, slot: Slot, own_file: str) -> tuple[str, ...]:
        """What the word ``{args}`` of a command stands for; ``own_file`` is where the file of a JDK's layout lies."""
        factors = self.jdk_factors(slot)
        layout = options(factors, slot.layout, own_file) if factors else ()
        words = self.request.config.systems[slot.system].args
        return (*layout, *(shlex.split(words) if words else ()))

    def warmups(self, slot: Slot) -> dict[str, InForce]:
        """Metric -> iterations that are warm-up by now, for what the slot's program prints."""
        return warmups_of(self.request.config, self.benchmarks[slot.benchmark], slot.system, self.hostname)

    def key(self, slot: Slot) -> SlotKey:
        """What the slot is called in the results."""
        return SlotKey(
            system=slot.system,
            benchmark=slot.benchmark,
            definition=self.definitions[slot.benchmark, slot.instrument],
            capture=self.request.built.captures[slot.system],
            layout=slot.layout,
            binary_sha256=self.binary(slot).sha256,
            instrument=slot.instrument,
            round=slot.round,
            repetition=slot.repetition,
        )


def make_plan(request: RunRequest, *, here: bool = True) -> RunPlan:
    """Resolve the request; raises `UsageError`, `ConfigError` or `HostError`, and executes nothing of the project.

    ``here`` is False where other machines execute it, which then check for themselves what only they can know.
    """
    benchmarks = _chosen(request.config, request.choices.benchmarks)
    definitions = experiments.definitions(request.config, list(benchmarks.values()), request.project)
    binaries: dict[tuple[str, LayoutName], dict[str, Binary]] = {}
    for binary in request.built.binaries:
        binaries.setdefault((binary.system, binary.layout), {})[binary.artefact] = binary
    # An execution needs all its artefacts in its layout: a program with one library of another layout is no layout.
    needed = {name: set(benchmark.needs(request.config.build)) for name, benchmark in benchmarks.items()}
    slots = schedule(_design(request, benchmarks)) if request.slots is None else request.slots
    startable = tuple(
        slot for slot in slots if needed[slot.benchmark] <= binaries.get((slot.system, slot.layout), {}).keys()
    )
    if not startable and not request.built.failures:  # failures are recorded and told like any other
        raise UsageError("nothing to execute: no seed has a binary; build some with `layoutrand build --seeds 30`")
    launching = Launching()
    if here:
        launching = checked_launching(request.config, benchmarks.values(), request.built.binaries, request.folder)
        # For what all layouts of a program have in common, a file that is whole does.
        artefacts = {binary.artefact: binary.base or binary.path for binary in request.built.binaries}
        check_memory(request.config, benchmarks.values(), artefacts, request.folder)
        check_text_pages(request.config, benchmarks.values(), request.built.binaries)
        check_stacks(
            request.config,
            benchmarks.values(),
            artefacts,
            Workplace(request.folder / ".layoutrand" / "work").sandbox.bin,
        )
    return RunPlan(
        request=request,
        slots=startable,
        unbuilt=len(slots) - len(startable),
        binaries=binaries,
        benchmarks=benchmarks,
        definitions=definitions,
        references={
            name: read_input(request.project / benchmark.expect_stdout)
            for name, benchmark in benchmarks.items()
            if benchmark.expect_stdout is not None
        },
        programs=_programs(benchmarks, startable, launching) if here else {},
        placement=checked_placement(request.config) if here else None,
        libraries=search_path(_one_layout_each(startable, binaries)) if here else (),
        hostname=request.experiment().hostname,
        launching=launching,
    )


def _programs(benchmarks: Mapping[str, Benchmark], slots: Iterable[Slot], launching: Launching) -> dict[str, str]:
    """The program of each instrument that the slots ask for, which measures here what they ask it for."""
    used = dict.fromkeys((slot.instrument, slot.benchmark) for slot in slots)
    found = {}
    for each in instruments():
        if metrics := [benchmarks[benchmark].metric for name, benchmark in used if name == each.name]:
            launching.check(each)
            found[each.name] = each.find()
            each.check(found[each.name], metrics, launching.qemu)
    return found


def _one_layout_each(
    slots: Iterable[Slot], binaries: Mapping[tuple[str, LayoutName], Mapping[str, Binary]]
) -> Iterable[Mapping[str, Binary]]:
    """The binaries of each system in one layout whose files are all there: all its layouts need the same libraries."""
    chosen: dict[str, Mapping[str, Binary]] = {}
    for slot in slots:
        artefacts = binaries[slot.system, slot.layout]
        if slot.system not in chosen and all(is_there(binary.stored) for binary in artefacts.values()):
            chosen[slot.system] = artefacts
    return chosen.values()


def _design(request: RunRequest, benchmarks: Mapping[str, Benchmark]) -> Design:
    asked: list[Binary | BuildFailure] = [*request.built.binaries, *request.built.failures]
    layouts = {item.layout for item in asked if not is_second(item.system)}
    systems = {item.system for item in asked}
    run = request.config.run
    return Design(
        systems=tuple(name for name in request.config.systems if name in systems),
        benchmarks=tuple((name, _instruments(request, benchmark)) for name, benchmark in benchmarks.items()),
        seeds=tuple(sorted({*(layout for layout in layouts if isinstance(layout, int)), *request.choices.seeds})),
        controls=tuple(control for control in run.controls if control in layouts),
        repetitions=run.executions,
        schedule_seed=run.schedule_seed,
        order=request.config.order(),
        fixed=request.config.in_one_layout(),
        simulated=simulated(),
    )


def _instruments(request: RunRequest, benchmark: Benchmark) -> tuple[str, ...]:
    chosen = request.choices.instruments
    return tuple(each for each in experiments.instruments_of(benchmark) if not chosen or each in chosen)


def _chosen(config: Config, names: Sequence[str]) -> dict[str, Benchmark]:
    known = {benchmark.name: benchmark for benchmark in config.benchmarks}
    if not known:
        raise UsageError("there is nothing to execute: layoutrand.toml has no [[benchmarks]]")
    cased = [each.name for each in config.benchmarks if each.metric.by_case]
    for name in names:
        if name not in known and (entry := entry_of(name, cased)) is not None:
            raise UsageError(
                f"{name} is a case of {entry}, whose cases are executed by one process: name that, or choose cases by "
                "its `cases`"
            )
    return {name: known[name] for name in choose("benchmark", list(names), list(known))}
