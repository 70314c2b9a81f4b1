"""What an experiment is: the parts of configuration, machine and protocol that its results must share.

Two results belong together when everything is equal that could make a difference beside the layout: the layout
policy, what is randomised at execution, the machine, the way executions are made (the protocol version), the capture,
and the benchmark with the content of its inputs.  This module turns each into a key; `execute` resumes by these keys
and `analyse` selects by them.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, get_args

from layoutrand.config.conditions import Drawn
from layoutrand.config.config import Benchmark, Config, as_dict
from layoutrand.config.redaction import redaction_of
from layoutrand.config.topology import format_cpus
from layoutrand.errors import ConfigError
from layoutrand.host.facts import host_facts, host_key
from layoutrand.instruments.instrument import Instrument
from layoutrand.instruments.known import asked, instruments, program_itself
from layoutrand.model import BuiltFrom, Context, Execution, Experiment, SlotKey
from layoutrand.platform.disk import digest_of_input, sha256_file
from layoutrand.platform.repository_addresses import without_credentials
from layoutrand.version import __version__

PROTOCOL: Final = 2
"""How an execution is made and measured; raised whenever a change could move results.

1: fixed path and fresh directories, clean environment, own session, wall time from before the start to the pidfd's
report of the end, stdin from a file.
2: the program is a new file for each execution, and no link to one that lives on from one execution to the next.
"""

_POOL: Final = "pool-"
_LAUNCHER: Final = "launcher "
_HUGEPAGES: Final = "hugepages-"

# Another limit or another name for nothing changes no measurement.
_NO_PART_OF_THE_DEFINITION: Final = {"timeout_s", "memory_limit", "output_limit", "process_limit", "label"}


def current_experiment(config: Config) -> Experiment:
    """The experiment that this configuration describes on this machine."""
    facts = host_facts()
    return Experiment(
        project=config.project.name,
        protocol=PROTOCOL,
        policy=_canonical(config.layout.facts()),
        randomise=_canonical([*sorted(config.run.randomise), *_unusual(config)]),
        host=host_key(facts),
        hostname=str(facts["hostname"]),
    )


def pool_experiment(config: Config, processor: Mapping[str, Any]) -> Experiment:
    """The experiment that this configuration describes on nodes with this `layoutrand.host.facts.processor`."""
    digest = hashlib.blake2b(_canonical(dict(processor)).encode(), digest_size=8).hexdigest()
    return replace(
        current_experiment(config),
        host=f"{_POOL}{digest}",
        hostname=f"nodes with {processor['cpu_model'] or processor['machine']} ({processor['cpus']} CPUs)",
    )


def is_pool(experiment: Experiment) -> bool:
    """Whether it was executed on nodes of a cluster."""
    return experiment.host.startswith(_POOL)


def is_of_here(experiment: Experiment, config: Config) -> bool:
    """Whether it was executed on this machine."""
    return not is_pool(experiment) and experiment.host == current_experiment(config).host


def same_question(one: Experiment, other: Experiment) -> bool:
    """Whether two experiments differ in their machine alone."""
    return replace(one, host="", hostname="") == replace(other, host="", hostname="")


def _unusual(config: Config) -> list[str]:
    """What else sets executions apart, where it is not as it is by default.

    The order is part of it because it decides what a drift of the machine does to the results: those of a schedule
    that confounds drift with systems must not slip in among those of one that does not.
    """
    run, order = config.run, config.order()
    unusual = [] if order == "blocks" else [f"order-{order}"]
    if run.aslr == "off":
        unusual.append("aslr-off")
    if run.hugepages != "system":
        unusual.append(f"{_HUGEPAGES}{run.hugepages}")
    if run.cpu != "any":
        unusual.append(f"cpu-{run.cpu if isinstance(run.cpu, str) else format_cpus(run.cpu)}")
    if run.priority is not None:
        unusual.append(f"priority{run.priority:+d}")
    if run.launcher:
        unusual.append(redaction_of(config, os.environ).text(f"{_LAUNCHER}{shlex.join(run.launcher)}"))
    return unusual


def on_huge_pages(experiment: Experiment) -> bool:
    """Whether text of its programs lay on huge pages."""
    return f"{_HUGEPAGES}text" in json.loads(experiment.randomise)


@dataclass(frozen=True)
class ExecutedHow:
    """What `Experiment.randomise` lists: what was drawn for each execution, what was set for all, and the launcher."""

    drawn: tuple[str, ...]
    settings: tuple[str, ...]
    launcher: str


def executed_how(randomise: object) -> ExecutedHow:
    """What is listed, by its kinds; without a launcher that is empty."""
    listed = [str(each) for each in randomise] if isinstance(randomise, list) else []
    launchers = [each for each in listed if each.startswith(_LAUNCHER)]
    return ExecutedHow(
        tuple(each for each in listed if each in get_args(Drawn)),
        tuple(each for each in listed if each not in get_args(Drawn) and each not in launchers),
        "".join(each.removeprefix(_LAUNCHER) for each in launchers),
    )


def current_context(
    config: Config,
    tools: Mapping[str, Mapping[str, str]] | None = None,
    captures: Mapping[str, str] | None = None,
    built: Sequence[BuiltFrom] = (),
) -> Context:
    """What to record beside the executions of this call; ``tools``, ``captures`` and ``built`` as in `Context`."""
    whole = as_dict(config)
    if config.build.repo is not None:
        whole["build"]["repo"] = without_credentials(config.build.repo)
    whole = redaction_of(config, os.environ).of_json(whole)
    used = {each for benchmark in config.benchmarks for each in asked(benchmark.metric)} | {program_itself()}
    return Context(
        version=__version__,
        config=whole,
        config_digest=_digest(whole),
        schedule_seed=config.run.schedule_seed,
        host_facts=host_facts(),
        tools=tools or {},
        instruments={each.name: each.described for each in instruments() if each in used},
        captures=captures or {},
        built=tuple(built),
    )


def instruments_of(benchmark: Benchmark) -> tuple[str, ...]:
    """The names of the instruments that a benchmark's metrics need, in the order in which a round lists them."""
    return tuple(each.name for each in asked(benchmark.metric))


def artefact_of(benchmark: Benchmark, config: Config) -> str:
    """The artefact that ``{artefact}`` stands for: the benchmark's own, else the first of the build."""
    return benchmark.artefact or config.build.artefacts[0]


def definitions(config: Config, benchmarks: list[Benchmark], project: Path) -> dict[tuple[str, str], str]:
    """(Benchmark, instrument) -> digest of all that makes it what it is, contents of its input files included.

    Raises `ConfigError` that lists every file that is missing or cannot be read.
    """
    problems: list[str] = []
    result: dict[tuple[str, str], str] = {}
    for benchmark in benchmarks:
        inputs = _digest_inputs(benchmark, config.benchmarks.index(benchmark), project, problems)
        for instrument in asked(benchmark.metric):
            result[benchmark.name, instrument.name] = _digest(_definition(benchmark, config, instrument) | inputs)
    if problems:
        raise ConfigError(str(project / "layoutrand.toml"), problems)
    return result


slot_values: Final[Callable[[Execution], tuple[Any, ...]]] = attrgetter(*SlotKey.__dataclass_fields__)
"""The values of the slot that an execution belongs to, which tell it from others in less time than a `SlotKey`."""


def slot_key(execution: Execution) -> SlotKey:
    """The slot that an execution belongs to."""
    return SlotKey(*slot_values(execution))


def _definition(benchmark: Benchmark, config: Config, instrument: Instrument) -> dict[str, Any]:
    """The fields that an execution with this instrument depends on.

    Switching another instrument on must not make the executions under this one repeat.
    """
    fields = {name: value for name, value in as_dict(benchmark).items() if name not in _NO_PART_OF_THE_DEFINITION}
    fields.pop("metric")
    for name in ("harness", "cases", "repetitions"):  # came later, too; what they say is in command and metric
        del fields[name]
    if not fields["merge_output"]:  # came later: digests of benchmarks without it stay what they were
        del fields["merge_output"]
    if not fields["expect_status"]:  # as did this
        del fields["expect_status"]
    fields["artefact"] = artefact_of(benchmark, config)
    if facts := benchmark.written_facts():
        fields["generated"] = facts
    return fields | {"instrument": instrument.definition(benchmark.metric)}


def _digest_inputs(benchmark: Benchmark, number: int, project: Path, problems: list[str]) -> dict[str, Any]:
    named = [("stdin", benchmark.stdin), ("expect_stdout", benchmark.expect_stdout)]
    named += [(f"files[{place}]", name) for place, name in enumerate(benchmark.files)]
    digests: dict[str, str] = {}
    for key, name in named:
        if name is None:
            continue
        where = f"benchmarks[{number}].{key}"
        path = project / name
        try:
            if path.is_dir() and not key.startswith("files"):
                problems.append(f"{where}: {path} is a directory, a file is needed (benchmark {benchmark.name!r})")
                continue
            digests[key] = digest_of_input(path) if key.startswith("files") else sha256_file(path)
        except OSError as error:
            problems.append(f"{where}: cannot read {path}: {error.strerror} (benchmark {benchmark.name!r})")
    names = [Path(name).name for name in benchmark.files]
    problems += [
        f"benchmarks[{number}].files: two files are called {name!r} and would overwrite each other in the working "
        f"directory (benchmark {benchmark.name!r})"
        for name in sorted({name for name in names if names.count(name) > 1})
    ]
    return {"inputs": digests}


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _digest(value: object) -> str:
    return hashlib.sha256(_canonical(value).encode()).hexdigest()
