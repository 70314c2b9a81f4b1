"""What happens on a node that executes: inputs and binaries are fetched, the node is checked, rounds are executed.

`execute_task` is what an executor is given.  What is wrong with the node is an answer, so that the task can be given to
another one; what is wrong with an execution is recorded as it would be without nodes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from layoutrand.cache.node_inputs import place_of
from layoutrand.cache.store import Cache, default_root
from layoutrand.cluster.carried_inputs import restored
from layoutrand.cluster.installed import check_places
from layoutrand.cluster.linking_node import VERSION, linked_here
from layoutrand.cluster.measuring_task import (
    MeasuringAnswer,
    MeasuringTask,
    RunDescription,
    agreement_name,
    read_record,
    record_key,
    slot_keys,
)
from layoutrand.cluster.node_records import NodeRecords
from layoutrand.cluster.returned_records import ReturnedRecords
from layoutrand.cluster.shared_directory import SharedDirectory
from layoutrand.config.config import Config
from layoutrand.config.schedule import Slot
from layoutrand.errors import ClusterError, DamagedRecord, LayoutrandError
from layoutrand.execute import experiment as experiments
from layoutrand.execute.execute import execute
from layoutrand.execute.isolated import isolated
from layoutrand.execute.run_plan import NodeOfPool, RunRequest
from layoutrand.host.attempts import Attempts, is_to_be_repeated
from layoutrand.host.facts import host_facts, node_name, processor
from layoutrand.model import Binary, SlotKey
from layoutrand.platform import child
from layoutrand.platform.disk import cache_errors, canonical_json, sha256_bytes, sha256_file, write_atomically
from layoutrand.platform.own_file import take_write_permission

_CHILD: Final = "layoutrand.cluster.measuring_child"


def execute_task(task: MeasuringTask) -> MeasuringAnswer:
    """Execute the task in a process of its own; raises `ClusterError` where that dies."""
    try:
        ended = child.call(_CHILD, task)
    except OSError as error:
        return MeasuringAnswer(node_name(), _system_said(error))
    assert isinstance(ended, MeasuringAnswer)
    return ended


def execute_here(task: MeasuringTask) -> MeasuringAnswer:
    """Execute the task in this process."""
    node, notes = node_name(), list[str]()
    try:
        _execute(task, node, notes.append)
    except LayoutrandError as error:
        return MeasuringAnswer(node, str(error), tuple(notes))
    except OSError as error:  # no use trying here again, and another node may be able to
        return MeasuringAnswer(node, _system_said(error), tuple(notes))
    return MeasuringAnswer(node, "", tuple(notes))


def _system_said(error: OSError) -> str:
    """What the operating system refused, where nothing else was there to say so."""
    where = f": {os.fsdecode(error.filename)}" if isinstance(error.filename, str | bytes) else ""
    return f"the system there says {error.strerror or repr(error)}{where}; see to its disks, TMPDIR and limits"


def _execute(task: MeasuringTask, node: str, say: Callable[[str], None]) -> None:
    if task.version != VERSION:
        raise ClusterError(f"layoutrand is {VERSION} there and {task.version} here: install the same one on all nodes")
    shared = SharedDirectory(Path(task.shared))
    description = RunDescription.get(shared, *task.description)
    # Nothing is executed on a node of another kind than those that were first.
    facts = host_facts()
    assert description.config.remote is not None
    records = ReturnedRecords(shared.root, description.run, trust_group=description.config.remote.trust_group)
    place = NodeOfPool(node, _same_processor(description.config, records, facts, node))
    # What an earlier life of this task has left is not executed again.
    keys = slot_keys(description, task)
    attempts = {key: _with_returned(key, history, records) for key, (_, history) in zip(keys, task.slots, strict=True)}
    repeat = description.config.run.disturbance.repeat
    slots = [
        slot
        for key, (slot, before) in zip(keys, task.slots, strict=True)
        if attempts[key] == before or is_to_be_repeated(attempts[key], repeat=repeat)
    ]
    if not slots:
        return
    # The project's inputs and every binary of the task are here before anything is measured.
    cache = Cache(Path(os.path.expandvars(task.cache)) if task.cache else default_root())
    folder = place_of(cache.root, node, _inputs_digest(description))
    project = restored(description.inputs, shared, folder)
    _check_places(description, folder, node)
    binaries = [*_carried(task, shared, project), *_linked(task, description, cache, shared)]
    request = _request(description, project, binaries, slots, place)
    _check_definitions(request, description, node)
    with isolated(description.config.run.isolation) as executor:
        execute(
            request,
            store=NodeRecords(project, records, attempts, facts),
            executor=executor,
            progress=lambda _progress: None,
            say=say,
        )


def _same_processor(config: Config, records: ReturnedRecords, facts: Mapping[str, Any], node: str) -> Mapping[str, Any]:
    """The processor of this node, if it may execute; raises `ClusterError` if it may not."""
    assert config.remote is not None
    wish, own = config.remote.measure, processor(facts)
    if wish.cpu is not None and own["cpu_model"] != wish.cpu:
        raise ClusterError(f"the processor of {node} is {own['cpu_model']!r}, and cluster.measure.cpu is {wish.cpu!r}")
    if wish.unlike_cpus:
        records.agree(agreement_name(config), own)  # binds nobody, and tells the submitting machine that somebody began
        return own
    agreed = records.agree(agreement_name(config), own)
    if agreed != own:
        raise ClusterError(
            f"the processor of {node} is {_words(own)}, and this experiment is executed on {_words(agreed)}: ask for "
            "nodes of one kind (sbatch option constraint), name the processor of an experiment of its own with "
            "cluster.measure.cpu, or set cluster.measure.unlike_cpus = true to mix them"
        )
    return own


def _words(kind: Mapping[str, Any]) -> str:
    return f"{kind['cpu_model'] or kind['machine']} ({kind['cpus']} CPUs)"


def _with_returned(key: SlotKey, history: Attempts, records: ReturnedRecords) -> Attempts:
    """The attempts at a slot with those that wait to be recorded."""
    while True:
        name = record_key(key, history.made + 1)
        try:
            record = records.get(name)
        except DamagedRecord:
            records.drop(name)
            record = None
        if record is None:
            return history
        history = history.after(read_record(record)[0])


def _inputs_digest(description: RunDescription) -> str:
    return sha256_bytes(
        canonical_json([description.run, *(list(vars(entry).values()) for entry in description.inputs)])
    )


def _check_places(description: RunDescription, folder: Path, node: str) -> None:
    """What must be on the node already is looked at once for each kind of run, since it may take seconds."""
    name = sha256_bytes(canonical_json([list(vars(place).values()) for place in description.places]))[:16]
    mark = folder / f"checked-{name}"
    if not mark.exists():
        check_places(description.places, node)
        with cache_errors("write", mark):
            write_atomically(mark, b"")


def _carried(task: MeasuringTask, shared: SharedDirectory, project: Path) -> list[Binary]:
    """The binaries that travel as they are: stock, those that a build of their own made, and prebuilt ones."""
    found = []
    for binary in task.binaries:
        if binary.sha256 not in task.contents:
            continue
        path = project.parent / "binaries" / binary.sha256
        if not path.exists() or sha256_file(path) != binary.sha256:  # a program may write into its own file
            data, _ = shared.get(binary.sha256, task.contents[binary.sha256])
            with cache_errors("write", path):
                write_atomically(path, data, executable=True)
                take_write_permission(path)
        found.append(replace(binary, path=path, base=None))
    return found


def _linked(task: MeasuringTask, description: RunDescription, cache: Cache, shared: SharedDirectory) -> list[Binary]:
    """The binaries that this node links, each of which must be the submitting machine's to the byte."""
    own = [binary for binary in task.binaries if binary.sha256 not in task.contents]
    found = []
    for system in dict.fromkeys(binary.system for binary in own):
        bundle = description.bundles[system]
        wanted = [binary for binary in own if binary.system == system]
        found += linked_here(cache, shared, bundle.digest, bundle.ld, description.config.layout, wanted)
    return found


def _request(
    description: RunDescription, project: Path, binaries: Sequence[Binary], slots: Sequence[Slot], place: NodeOfPool
) -> RunRequest:
    return RunRequest(
        config=description.config,
        project=project,
        built=replace(description.built, binaries=binaries),
        choices=replace(description.choices, benchmarks=list(dict.fromkeys(slot.benchmark for slot in slots))),
        place=place,
        slots=slots,
        redaction=description.redaction.and_of(os.environ),
    )


def _check_definitions(request: RunRequest, description: RunDescription, node: str) -> None:
    """Inputs outside the project do not travel: the node must have what the submitting machine has."""
    chosen = [benchmark for benchmark in request.config.benchmarks if benchmark.name in request.choices.benchmarks]
    found = experiments.definitions(request.config, chosen, request.project)
    for (benchmark, instrument), digest in found.items():
        if digest != description.definitions[benchmark, instrument]:
            raise ClusterError(
                f"an input of benchmark {benchmark!r} that is named by an absolute path has another content on {node}; "
                "inputs within the project are carried to nodes"
            )
