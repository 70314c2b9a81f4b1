"""A task that executes: its rounds, what all tasks of a run have in common, and what comes back."""

from __future__ import annotations

import pickle
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from layoutrand.cluster.carried_inputs import InputEntry
from layoutrand.cluster.installed import InstalledPath
from layoutrand.cluster.shared_directory import SharedDirectory
from layoutrand.config.config import Config
from layoutrand.config.redaction import Redaction
from layoutrand.config.schedule import Slot
from layoutrand.execute.experiment import artefact_of
from layoutrand.execute.run_plan import BuiltSystems, RunChoices
from layoutrand.host.attempts import Attempts
from layoutrand.linkers.toolbox import Tool
from layoutrand.model import Binary, Execution, SlotKey
from layoutrand.platform.disk import canonical_json, sha256_bytes
from layoutrand.results.rows import from_json, slot_json, to_json


@dataclass(frozen=True)
class Bundled:
    """A capture in the shared directory: the SHA-256 of its manifest, and the linker that it was proved with."""

    digest: str
    ld: Tool


@dataclass(frozen=True)
class RunDescription:
    """What all tasks of a run have in common.

    ``run`` names the records of the run, ``inputs`` are the files of the project that benchmarks need, ``places``
    what must be on a node already, and ``definitions`` what benchmarks must be by content. ``bundles`` has the
    captures that nodes link from.  ``built`` has no binaries: each task names its own.  What ``redaction`` masks
    nodes are given, and do not record.
    """

    run: str
    config: Config
    inputs: tuple[InputEntry, ...]
    places: tuple[InstalledPath, ...]
    definitions: Mapping[tuple[str, str], str]
    bundles: Mapping[str, Bundled]
    built: BuiltSystems
    choices: RunChoices
    redaction: Redaction

    def put(self, shared: SharedDirectory) -> tuple[str, int]:
        """Put the description into the shared directory; its SHA-256 and size in bytes.

        With values that are to be in no record it is for this user's eyes alone, or the trusted group's.
        """
        data = pickle.dumps(self)
        digest = sha256_bytes(data)
        shared.put(digest, data, secret=bool(self.redaction))
        return digest, len(data)

    @classmethod
    def get(cls, shared: SharedDirectory, digest: str, size: int) -> RunDescription:
        """The description of that SHA-256, which whoever gave the task vouches for; raises `BundleError`."""
        data, _ = shared.get(digest, size)
        found = pickle.loads(data)  # noqa: S301 - its SHA-256 came with the task, which the engine had from the user
        assert isinstance(found, cls)
        return found


@dataclass(frozen=True)
class MeasuringTask:
    """Some rounds for one node.

    ``description`` is SHA-256 and size of the run's description in the directory ``shared``; ``cache`` is the node's
    cache or "".  ``slots`` are in the order of execution, each with the attempts made before.  Of ``binaries`` those in
    ``contents`` (SHA-256 -> size in bytes) travel, and the node links the others; ``path`` of either is that on the
    submitting machine.  ``token`` names the task for ever, so that a run that is started again finds it.
    """

    version: str
    shared: str
    cache: str
    description: tuple[str, int]
    slots: tuple[tuple[Slot, Attempts], ...]
    binaries: tuple[Binary, ...]
    contents: Mapping[str, int]
    token: str

    @property
    def size(self) -> int:
        """How many executions it asks for, at least."""
        return len(self.slots)


@dataclass(frozen=True)
class MeasuringAnswer:
    """How a task ended on a node; its executions are records in the shared directory.

    ``refused`` says why the node could not go on, or is ""; ``notes`` are for the user.
    """

    node: str
    refused: str
    notes: tuple[str, ...] = ()


def slot_keys(description: RunDescription, task: MeasuringTask) -> list[SlotKey]:
    """What the task's slots are called in the results."""
    artefacts = {
        benchmark.name: artefact_of(benchmark, description.config) for benchmark in description.config.benchmarks
    }
    digests = {(b.system, b.layout, b.artefact): b.sha256 for b in task.binaries}
    return [
        SlotKey(
            system=slot.system,
            benchmark=slot.benchmark,
            layout=slot.layout,
            instrument=slot.instrument,
            round=slot.round,
            repetition=slot.repetition,
            capture=description.built.captures[slot.system],
            definition=description.definitions[slot.benchmark, slot.instrument],
            binary_sha256=digests[slot.system, slot.layout, artefacts[slot.benchmark]],
        )
        for slot, _ in task.slots
    ]


def agreement_name(config: Config) -> str:
    """Under which name nodes agree on a processor: one for each that the configuration may name, and for any."""
    assert config.remote is not None
    cpu = config.remote.measure.cpu
    if config.remote.measure.unlike_cpus:
        return "any"
    return "cpu" if cpu is None else f"cpu-{sha256_bytes(cpu.encode())[:16]}"


def record_key(key: SlotKey, attempt: int) -> str:
    """Under which name the record of an execution travels."""
    return sha256_bytes(canonical_json({**slot_json(key), "attempt": attempt}))


def record_of(execution: Execution, facts: Mapping[str, Any], output: Mapping[str, bytes]) -> dict[str, Any]:
    """The record of one execution on a node with these facts; ``output`` is what a failed one left, by file name."""
    packed = {name: b64encode(data).decode() for name, data in output.items()}
    return {"execution": to_json(execution), "facts": dict(facts), "output": packed}


def read_record(record: Mapping[str, Any]) -> tuple[Execution, Mapping[str, Any], dict[str, bytes]]:
    """The execution, its node's facts, and its output; raises `KeyError`, `TypeError` or `ValueError` if not."""
    output = {name: b64decode(data) for name, data in record["output"].items()}
    return from_json(record["execution"]), record["facts"], output
