"""What nodes need before they can execute anything is put into the shared directory, and tasks are made of slots."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from layoutrand.build.as_built import check_as_built
from layoutrand.cache.contents import content_of
from layoutrand.cache.store import Cache
from layoutrand.capture.origin import Say
from layoutrand.cluster.bundle import export_capture
from layoutrand.cluster.carried_inputs import described, send
from layoutrand.cluster.inputs import inputs_of
from layoutrand.cluster.installed import places_of
from layoutrand.cluster.linking_node import VERSION
from layoutrand.cluster.measuring_task import Bundled, MeasuringTask, RunDescription
from layoutrand.cluster.rounds import slots_by_task
from layoutrand.cluster.shared_directory import SharedDirectory
from layoutrand.config.config import as_dict
from layoutrand.config.schedule import Slot
from layoutrand.engines.engine import Remote
from layoutrand.execute import experiment as experiments
from layoutrand.execute.run_plan import RunPlan
from layoutrand.execute.run_progress import Known
from layoutrand.host.attempts import Attempts
from layoutrand.linkers.toolbox import Tool
from layoutrand.model import STOCK, Binary
from layoutrand.platform.disk import cache_errors, canonical_json, sha256_bytes
from layoutrand.results.file import project_id

RUN_DIGITS: Final = 32
"""With how many digits the name of a run begins each of its tokens."""


def run_name(plan: RunPlan) -> str:
    """What tells this project's experiment from all others that use the same shared directory."""
    question = replace(experiments.current_experiment(plan.request.config), host="", hostname="")
    place = os.fsencode(plan.request.project.resolve()).hex()
    own = [place, os.getuid(), project_id(plan.request.project)]
    return sha256_bytes(canonical_json([*own, *vars(question).values()]))[:RUN_DIGITS]


@dataclass(frozen=True)
class SentDescription:
    """A description that is in the shared directory."""

    shared: SharedDirectory
    cache: str
    description: tuple[str, int]
    name: str
    run: str
    bundled: frozenset[str]
    sizes: Mapping[str, int]

    def tasks(self, plan: RunPlan, pending: Sequence[Slot], known: Known, settings: Remote) -> Iterator[MeasuringTask]:
        """The pending slots for nodes to take, in the order in which they are given out."""
        run, repeat = plan.request.config.run, plan.request.config.run.disturbance.repeat
        due = set(pending)
        for slots in slots_by_task(plan.slots, schedule_seed=run.schedule_seed, rounds=settings.measure.rounds):
            wanted = [slot for slot in slots if slot in due]
            if not wanted:
                continue
            binaries = {
                (binary.system, binary.layout, binary.artefact): binary
                for slot in wanted
                for binary in plan.placed(slot).values()
            }
            yield MeasuringTask(
                version=VERSION,
                shared=str(self.shared.root),
                cache=self.cache,
                description=self.description,
                slots=tuple(
                    (slot, known.attempts.get(plan.key(slot), Attempts()).begun(repeat=repeat)) for slot in wanted
                ),
                binaries=tuple(binaries.values()),
                contents={b.sha256: self.sizes[b.sha256] for b in binaries.values() if _travels(b, self.bundled)},
                token=self.run + self._name_of(slots),
            )

    def _name_of(self, slots: Sequence[Slot]) -> str:
        rounds = sorted({(slot.round, slot.repetition) for slot in slots})
        return sha256_bytes(canonical_json([self.name, rounds]))[:RUN_DIGITS]


def send_description(
    plan: RunPlan,
    pending: Sequence[Slot],
    *,
    shared: SharedDirectory,
    cache: Cache,
    jobs: int,
    node_cache: str,
    say: Say,
) -> SentDescription:
    """Put inputs, captures, binaries that travel and the description into the shared directory.

    Raises `UsageError` for what cannot travel, `BundleError` or `CacheError` where it cannot be read or written.
    """
    request, built = plan.request, plan.request.built
    inputs = described(request.project, inputs_of(request.config, list(plan.benchmarks.values()), request.project))
    moved = send(inputs, request.project, shared, jobs=jobs)
    bundles = {}
    for system, capture in built.linked.items():
        exported = export_capture(cache, capture, shared, jobs=jobs)
        ld = capture.tools["ld"]
        bundles[system] = Bundled(exported.digest, Tool(Path(ld["path"]), ld["version"], ld["sha256"]))
        moved += exported.travelled.moved
    sizes, stored = _send_binaries(plan, pending, frozenset(bundles), shared)
    description = RunDescription(
        run=run_name(plan),
        config=request.config,
        inputs=inputs,
        places=places_of(request.config, request.project, list(built.captures)),
        definitions=plan.definitions,
        bundles=bundles,
        built=replace(built, binaries=(), failures=(), linked={}, tools={}),
        choices=request.choices,
        redaction=request.redaction,
    )
    say(f"{(moved + stored) / 1e6:.1f} MB of inputs, captures and binaries were written to {shared.root}")
    return SentDescription(
        shared=shared,
        cache=node_cache,
        description=description.put(shared),
        name=_name(description),
        run=description.run,
        bundled=frozenset(bundles),
        sizes=sizes,
    )


def _name(description: RunDescription) -> str:
    """What tells this run from others; its pickle is not the same bytes twice, because sets have no order."""
    facts = [
        VERSION,
        as_dict(description.config),
        [list(vars(each).values()) for each in (*description.inputs, *description.places)],
        sorted([*key, value] for key, value in description.definitions.items()),
        sorted((system, bundled.digest, bundled.ld.sha256) for system, bundled in description.bundles.items()),
        sorted(description.built.captures.items()),
        sorted(description.built.origins.items()),
    ]
    return sha256_bytes(canonical_json(facts))


def _travels(binary: Binary, bundled: frozenset[str]) -> bool:
    """Whether nodes get the binary as it is: no capture tells them how to link it."""
    return binary.layout == STOCK or binary.system not in bundled


def _send_binaries(
    plan: RunPlan, pending: Sequence[Slot], bundled: frozenset[str], shared: SharedDirectory
) -> tuple[dict[str, int], int]:
    """Sizes of the binaries that travel, by SHA-256, and how many bytes were written for them."""
    sizes: dict[str, int] = {}
    stored = 0
    for name in dict.fromkeys((slot.system, slot.layout) for slot in pending):
        for binary in plan.binaries[name].values():
            if _travels(binary, bundled) and binary.sha256 not in sizes:
                check_as_built([binary])
                with cache_errors("read", binary.path):
                    data = content_of(binary.stored)
                sizes[binary.sha256] = len(data)
                stored += shared.put(binary.sha256, data)
    return sizes, stored
