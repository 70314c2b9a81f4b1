"""The conditions of executions: checked before the first one is made, then worked out for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from layoutrand.config import command as commands
from layoutrand.config.conditions import MAX_STACK_OFFSET, STACK_STEP, Conditions
from layoutrand.config.config import Benchmark, Config
from layoutrand.config.schedule import Slot
from layoutrand.config.topology import Placement
from layoutrand.errors import FeatureUnsupported, UsageError
from layoutrand.execute.memory_placement import (
    HEAP_OFFSET,
    MMAP_OFFSET,
    draw_heap_offset,
    draw_mmap_offset,
    page_bytes,
    wishes,
)
from layoutrand.host import pinning, stack
from layoutrand.instruments.known import starter, starters
from layoutrand.layout.keyed import keyed_uniform

STACK_OFFSET: Final = "stack-offset"
_LAUNCHERS: Final = frozenset({
    "bash", "catchsegv", "chroot", "chrt", "dash", "env", "ionice", "nice", "nohup", "numactl", "prlimit",
    "setarch", "setsid", "sh", "stdbuf", "strace", "sudo", "taskset", "time", "timeout", "unshare",
})  # a table: a row for what belongs together  # fmt: skip


def checked_placement(config: Config) -> Placement | None:
    """Where executions happen; raises `UsageError` or `FeatureUnsupported` where CPUs or priority cannot be had."""
    if config.run.priority is not None:
        pinning.check_priority(config.run.priority)
    return pinning.placement(config.run.cpu)


def check_stacks(config: Config, benchmarks: Iterable[Benchmark], artefacts: Mapping[str, Path], bin_: Path) -> None:
    """Raise where "stack-offset" is asked for and a program's stack cannot be moved, as far as that is known yet.

    ``artefacts`` maps each artefact to one binary of it, ``bin_`` is the directory where all will be placed.
    """
    if STACK_OFFSET not in config.run.randomise:
        return
    launchers = _LAUNCHERS | {each.program for each in starters() if each.program}
    for benchmark in benchmarks:
        word = benchmark.command[0]
        if Path(word).name in launchers and any("{artefact" in other for other in benchmark.command[1:]):
            raise UsageError(
                f'benchmark {benchmark.name!r}: run.randomise has "stack-offset", which would move the stack of '
                f"{word}, not that of the program that it starts; let the command begin with the program"
            )
        if problem := _obstacle(benchmark, config, artefacts, bin_):
            raise FeatureUnsupported(f"benchmark {benchmark.name!r}: {problem}")


def conditions_of(config: Config, placement: Placement | None, slot: Slot, benchmark: Benchmark) -> Conditions:
    """The conditions of one execution.

    The memory limit is meant for the program as it is, so a simulator, which needs several times as much, has none.
    """
    under = starter(slot.instrument)
    moved = STACK_OFFSET in config.run.randomise and not under.program  # which starts the benchmark's, stack and all
    wanted = () if under.simulated else wishes(config)  # a simulation counts what the preloaded object executes, too
    seed, identity = config.run.schedule_seed, slot.identity
    return Conditions(
        placement=placement,
        priority=config.run.priority,
        stack_offset=draw_stack_offset(seed, identity) if moved else None,
        heap_offset=draw_heap_offset(seed, identity) if HEAP_OFFSET in wanted else None,
        mmap_offset=draw_mmap_offset(seed, identity, page_bytes()) if MMAP_OFFSET in wanted else None,
        hugepages=None if under.simulated or config.run.hugepages == "system" else config.run.hugepages,
        memory_limit=None if under.simulated else benchmark.memory_limit,
        output_limit=benchmark.output_limit,
        process_limit=benchmark.process_limit,
    )


def draw_stack_offset(schedule_seed: int, slot_identity: bytes) -> int:
    """Bytes by which the stack of this slot begins lower, in every run of the schedule; a multiple of `STACK_STEP`."""
    steps = MAX_STACK_OFFSET // STACK_STEP
    return STACK_STEP * keyed_uniform(schedule_seed, "stack-offset", slot_identity, steps)


def _obstacle(benchmark: Benchmark, config: Config, artefacts: Mapping[str, Path], bin_: Path) -> str:
    """What stands in the way for a command's first word; "" also where only the execution itself will tell."""
    word = benchmark.command[0]
    if word == "{artefact}":
        name = benchmark.artefact or config.build.artefacts[0]
        return stack.too_long(str(bin_ / name)) or (stack.obstacle(str(artefacts[name])) if name in artefacts else "")
    if "{" in word or ("/" in word and not word.startswith("/")):
        return ""
    try:
        env = {"PATH": benchmark.env.get("PATH", commands.SYSTEM_PATH)}
        return stack.obstacle(stack.find(word, env, Path("/")))
    except OSError:  # it cannot be started, which each execution records
        return ""
