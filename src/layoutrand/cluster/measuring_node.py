"""What happens on a node that executes: inputs and binaries are fetched, the node is checked, rounds are executed.

`execute_bout` is what an executor is given.  What is wrong with the node is an answer, so that the bout can be given to
another one; what is wrong with an execution is recorded as it would be at home.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from layoutrand.cache.node_inputs import place_of
from layoutrand.cache.store import Cache, default_root
from layoutrand.cluster.bout_records import TravellingRecords
from layoutrand.cluster.carried_inputs import restored
from layoutrand.cluster.installed import check_places
from layoutrand.cluster.linking_node import VERSION, linked_here
from layoutrand.cluster.returned import Shelf
from layoutrand.cluster.shared_directory import Staging
from layoutrand.cluster.task import Bout, Ended, Orders, pool_name, read_record, record_key, slot_keys
from layoutrand.config.config import Config
from layoutrand.config.schedule import Slot
from layoutrand.errors import ClusterError, DamagedRecord, LayoutrandError
from layoutrand.execute import experiment as experiments
from layoutrand.execute.execute import execute
from layoutrand.execute.measure import measure
from layoutrand.execute.run_plan import NodeOfPool, RunRequest
from layoutrand.host.attempts import Attempts, is_to_be_repeated
from layoutrand.host.facts import host_facts, node_name, processor
from layoutrand.model import Binary, SlotKey
from layoutrand.platform import child
from layoutrand.platform.disk import cache_errors, canonical_json, sha256_bytes, sha256_file, write_atomically

_CHILD: Final = "layoutrand.cluster.bout_child"


def execute_bout(bout: Bout) -> Ended:
    """Execute the bout in a process of its own; raises `ClusterError` where that dies."""
    try:
        ended = child.call(_CHILD, bout)
    except OSError as error:
        return Ended(node_name(), _system_said(error))
    assert isinstance(ended, Ended)
    return ended


def execute_here(bout: Bout) -> Ended:
    """Execute the bout in this process."""
    node, notes = node_name(), list[str]()
    try:
        _execute(bout, node, notes.append)
    except LayoutrandError as error:
        return Ended(node, str(error), tuple(notes))
    except OSError as error:  # no use trying here again, and another node may be able to
        return Ended(node, _system_said(error), tuple(notes))
    return Ended(node, "", tuple(notes))


def _system_said(error: OSError) -> str:
    """What the operating system refused, where nothing else was there to say so."""
    where = f": {os.fsdecode(error.filename)}" if isinstance(error.filename, str | bytes) else ""
    return f"the system there says {error.strerror or repr(error)}{where}; see to its disks, TMPDIR and limits"


def _execute(bout: Bout, node: str, say: Callable[[str], None]) -> None:
    if bout.version != VERSION:
        raise ClusterError(f"layoutrand is {VERSION} there and {bout.version} here: install the same one on all nodes")
    staging = Staging(Path(bout.staging))
    orders = Orders.get(staging, *bout.orders)
    # Nothing is executed on a node of another kind than those that were first.
    facts = host_facts()
    shelf = Shelf(staging.root, orders.run)
    place = NodeOfPool(node, _same_processor(orders.config, shelf, facts, node))
    # What an earlier life of this bout has left on the shelf is not executed again.
    keys = slot_keys(orders, bout)
    attempts = {key: _with_shelved(key, history, shelf) for key, (_, history) in zip(keys, bout.slots, strict=True)}
    repeat = orders.config.run.disturbance.repeat
    slots = [
        slot
        for key, (slot, before) in zip(keys, bout.slots, strict=True)
        if attempts[key] == before or is_to_be_repeated(attempts[key], repeat=repeat)
    ]
    if not slots:
        return
    # The project's inputs and every binary of the bout are here before anything is measured.
    cache = Cache(Path(os.path.expandvars(bout.cache)) if bout.cache else default_root())
    folder = place_of(cache.root, node, _inputs_digest(orders))
    project = restored(orders.inputs, staging, folder)
    _check_places(orders, folder, node)
    binaries = [*_carried(bout, staging, project), *_linked(bout, orders, cache, staging)]
    request = _request(orders, project, binaries, slots, place)
    _check_definitions(request, orders, node)
    execute(
        request,
        store=TravellingRecords(project, shelf, attempts, facts),
        executor=measure,
        progress=lambda _progress: None,
        say=say,
    )


def _same_processor(config: Config, shelf: Shelf, facts: Mapping[str, Any], node: str) -> Mapping[str, Any]:
    """The processor of this node, if it may execute; raises `ClusterError` if it may not."""
    assert config.remote is not None
    wish, own = config.remote.measure, processor(facts)
    if wish.cpu is not None and own["cpu_model"] != wish.cpu:
        raise ClusterError(f"the processor of {node} is {own['cpu_model']!r}, and cluster.measure.cpu is {wish.cpu!r}")
    if wish.unlike_cpus:
        shelf.agree(pool_name(config), own)  # binds nobody, and tells the home that somebody began
        return own
    agreed = shelf.agree(pool_name(config), own)
    if agreed != own:
        raise ClusterError(
            f"the processor of {node} is {_words(own)}, and this experiment is executed on {_words(agreed)}: ask for "
            "nodes of one kind (sbatch option constraint), name the processor of a pool of its own with "
            "cluster.measure.cpu, or set cluster.measure.unlike_cpus = true to mix them"
        )
    return own


def _words(kind: Mapping[str, Any]) -> str:
    return f"{kind['cpu_model'] or kind['machine']} ({kind['cpus']} CPUs)"


def _with_shelved(key: SlotKey, history: Attempts, shelf: Shelf) -> Attempts:
    """The attempts at a slot with those that wait to be taken home."""
    while True:
        name = record_key(key, history.made + 1)
        try:
            record = shelf.get(name)
        except DamagedRecord:
            shelf.drop(name)
            record = None
        if record is None:
            return history
        history = history.after(read_record(record)[0])


def _inputs_digest(orders: Orders) -> str:
    return sha256_bytes(canonical_json([orders.run, *(list(vars(entry).values()) for entry in orders.inputs)]))


def _check_places(orders: Orders, folder: Path, node: str) -> None:
    """What must be on the node already is looked at once for each kind of orders, since it may take seconds."""
    name = sha256_bytes(canonical_json([list(vars(place).values()) for place in orders.places]))[:16]
    mark = folder / f"checked-{name}"
    if not mark.exists():
        check_places(orders.places, node)
        with cache_errors("write", mark):
            write_atomically(mark, b"")


def _carried(bout: Bout, staging: Staging, project: Path) -> list[Binary]:
    """The binaries that travel as they are: stock, those that a build of their own made, and prebuilt ones."""
    found = []
    for binary in bout.binaries:
        if binary.sha256 not in bout.contents:
            continue
        path = project.parent / "binaries" / binary.sha256
        if not path.exists() or sha256_file(path) != binary.sha256:  # a program may write into its own file
            data, _ = staging.get(binary.sha256, bout.contents[binary.sha256])
            with cache_errors("write", path):
                write_atomically(path, data, executable=True)
        found.append(replace(binary, path=path))
    return found


def _linked(bout: Bout, orders: Orders, cache: Cache, staging: Staging) -> list[Binary]:
    """The binaries that this node links, each of which must be the home's to the byte."""
    own = [binary for binary in bout.binaries if binary.sha256 not in bout.contents]
    found = []
    for system in dict.fromkeys(binary.system for binary in own):
        bundle = orders.bundles[system]
        wanted = [binary for binary in own if binary.system == system]
        found += linked_here(cache, staging, bundle.digest, bundle.ld, orders.config.layout, wanted)
    return found


def _request(
    orders: Orders, project: Path, binaries: Sequence[Binary], slots: Sequence[Slot], place: NodeOfPool
) -> RunRequest:
    return RunRequest(
        config=orders.config,
        project=project,
        built=replace(orders.built, binaries=binaries),
        choices=replace(orders.choices, benchmarks=list(dict.fromkeys(slot.benchmark for slot in slots))),
        place=place,
        slots=slots,
    )


def _check_definitions(request: RunRequest, orders: Orders, node: str) -> None:
    """Inputs outside the project do not travel: what the node has must be what the home has."""
    chosen = [benchmark for benchmark in request.config.benchmarks if benchmark.name in request.choices.benchmarks]
    found = experiments.definitions(request.config, chosen, request.project)
    for (benchmark, instrument), digest in found.items():
        if digest != orders.definitions[benchmark, instrument]:
            raise ClusterError(
                f"an input of benchmark {benchmark!r} that is named by an absolute path has another content on {node}; "
                "inputs within the project are carried to nodes"
            )
