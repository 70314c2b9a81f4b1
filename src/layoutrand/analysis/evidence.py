"""What numbers rest on: seeds, counts, layout policy, failures and what was left out.  Every result states it."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from layoutrand.analysis.analysis_warnings import LeftOutExecutions
from layoutrand.analysis.sample import ROUND
from layoutrand.analysis.selection import Selection
from layoutrand.build.coincidence import QUESTION, CoincidingSystems
from layoutrand.config.seeds import format_seeds
from layoutrand.execute.cases import processes
from layoutrand.execute.experiment import executed_how
from layoutrand.model import IDENTITY, STOCK, BinaryName, Execution
from layoutrand.warning import plural, sentences_of

_WITH_SEEDS: Final = frozenset({"csv", "layoutrand"})
"""The formats in which `export` writes seeds."""


@dataclass(frozen=True)
class SystemEvidence:
    """Of one system: its seeds as the command line takes them, and how much of it there is.

    ``others`` names what has no seed: imported binaries, or rounds of a prebuilt system, which has ``one_layout``.
    ``source`` is the commit or the digest of the files that it was built from, or which JDK it is, in words.
    ``n_of_controls`` of the executions are of stock and identity.  ``tools`` are the compilers and the linker.
    """

    system: str
    seeds: str
    n_seeds: int
    others: tuple[str, ...]
    n_executions: int
    n_failed: int
    n_unbuilt: int
    capture: str | None
    one_layout: bool = False
    n_of_controls: int = 0
    source: str = ""
    tools: str = ""


@dataclass(frozen=True)
class Evidence:
    """Of a selection; ``policy`` and what follows it are None for imported results, which do not tell.

    ``nodes`` are those of a cluster that executed it, none where it was executed here; ``coinciding`` says what lies at
    the same addresses where layouts are reconciled; ``formats`` are those of the files that were imported, and
    ``at_home`` is as in `Selection`.
    """

    systems: tuple[SystemEvidence, ...]
    left_out: tuple[LeftOutExecutions, ...]
    project: str | None
    host: str | None
    policy: dict[str, Any] | None
    randomise: Any
    protocol: int | None
    nodes: tuple[str, ...] = ()
    coinciding: tuple[CoincidingSystems, ...] = ()
    formats: tuple[str, ...] = ()
    at_home: bool = True

    @property
    def of_others(self) -> bool:
        """Whether results were imported of which no project here can execute more.

        They are of binaries with names, in formats that layoutrand does not export, or there is no project.
        """
        is_foreign = not _WITH_SEEDS.issuperset(self.formats)
        return self.host is None and (is_foreign or not self.at_home or any(row.others for row in self.systems))


def evidence(selection: Selection, systems: Collection[str] = ()) -> Evidence:
    """What a selection consists of, of these systems or all; counts are of all its executions, controls included."""
    names = dict.fromkeys(sample.system for sample in selection.samples)
    names |= dict.fromkeys(e.system for e in selection.failures)
    rows = tuple(_of_system(selection, name) for name in names if not systems or name in systems)
    experiment = selection.experiment
    own = not selection.sources
    return Evidence(
        systems=rows,
        left_out=selection.left_out,
        project=experiment.project if own else None,
        host=experiment.hostname if own else None,
        policy=json.loads(experiment.policy) if own else None,
        randomise=json.loads(experiment.randomise) if own else None,
        protocol=experiment.protocol if own else None,
        nodes=tuple(sorted({e.node for e in selection.executions if e.node and (not systems or e.system in systems)})),
        coinciding=selection.coinciding,
        formats=tuple(dict.fromkeys(source.format for source in selection.sources)),
        at_home=selection.at_home,
    )


def _of_system(selection: Selection, name: str) -> SystemEvidence:
    binaries = dict.fromkeys(
        binary for sample in selection.samples if sample.system == name for binary, _ in sample.binaries
    )
    seeds = [binary for binary in binaries if isinstance(binary, int)]
    executions = [e for e in selection.executions if e.system == name]
    failed = [e for e in selection.failures if e.system == name]
    counted = (processes(executions), _of_controls(selection, name, executions))
    n_executions, n_of_controls = counted if executions else _imported(selection, name, failed)
    return SystemEvidence(
        system=name,
        seeds=format_seeds(seeds) if seeds else "",
        n_seeds=len(seeds),
        others=tuple(str(binary) for binary in binaries if not isinstance(binary, int)),
        n_executions=n_executions,
        n_failed=processes(failed),
        n_unbuilt=len([f for f in selection.build_failures if f.system == name]),
        capture=executions[-1].capture if executions else None,
        one_layout=any(sample.one_layout for sample in selection.samples if sample.system == name),
        source=selection.made.get(name, ""),
        n_of_controls=n_of_controls,
        tools=selection.tools.get(name, ""),
    )


def _of_controls(selection: Selection, name: str, executions: Sequence[Execution]) -> int:
    """Executions of stock and identity beside the layouts; a system of one layout has none that are only controls."""
    samples = [sample for sample in selection.samples if sample.system == name]
    if any(sample.one_layout for sample in samples):
        return 0
    return processes([execution for execution in executions if execution.layout in {STOCK, IDENTITY}])


def _imported(selection: Selection, name: str, failed: Sequence[Execution]) -> tuple[int, int]:
    """Executions of an imported system, and those of controls: what was measured, and what ``failed``.

    Of what was measured the most that any one metric has, for each benchmark.
    """
    most: dict[str, tuple[int, int]] = {}
    for sample in selection.samples:
        if sample.system == name:
            of_controls = sum(map(len, sample.controls.values()))
            count = (sample.n_executions + of_controls, of_controls)
            most[sample.benchmark] = max(most.get(sample.benchmark, count), count)
    measured, of_controls = (sum(counts) for counts in zip((0, 0), *most.values(), strict=True))
    return measured + processes(failed), of_controls + _of_controls(selection, name, failed)


def seed_words(binaries: Sequence[BinaryName]) -> str:
    """Seeds as ranges, then names, or rounds of what has one layout alone; how many there are of each kind."""
    seeds = [binary for binary in binaries if isinstance(binary, int)]
    names = [str(binary) for binary in binaries if not isinstance(binary, int)]
    rounds = round_words(names)
    if rounds:
        numbers = f"{format_seeds(seeds)} ({len(seeds)}); " if seeds else ""
        return f"{numbers}{rounds} of one layout ({len(names)})"
    return f"{', '.join([*([format_seeds(seeds)] if seeds else []), *names]) or 'none'} ({len(binaries)})"


def round_words(names: Sequence[str]) -> str:
    """``rounds 1..6``, where all of these are names of executions of one layout; else nothing."""
    found = [ROUND.fullmatch(name) for name in names]
    numbers = sorted({int(match[1]) for match in found if match})
    if not numbers or not all(found):
        return ""
    return f"round {numbers[0]}" if len(numbers) == 1 else f"rounds {format_seeds(numbers)}"


def node_words(nodes: Sequence[str]) -> str:
    """Nodes by name; of many the first and the last, and how many."""
    return ", ".join(nodes) if len(nodes) <= 6 else f"{nodes[0]}, {nodes[1]} ... {nodes[-1]} ({len(nodes)})"


def policy_words(policy: dict[str, Any]) -> str:
    """A layout policy for people: ``function-order; classes keep``."""
    factors = policy.get("factors")
    parts = [", ".join(map(str, factors))] if isinstance(factors, list) else []
    parts += [
        f"{key} {', '.join(map(str, value)) if isinstance(value, list) else value}"
        for key, value in policy.items()
        if key != "factors" or not parts
    ]
    return "; ".join(parts)


def sentences(of: Evidence) -> list[str]:
    """The evidence in words, one sentence for each system and one for what they share."""
    lines = []
    for row in of.systems:
        names = f"seeds {row.seeds} ({row.n_seeds})" if row.n_seeds else "no seeds"
        if row.one_layout:
            names = f"in one layout, {round_words(row.others)}"
        elif row.others:
            names = f"{len(row.others)} without a seed" if not row.n_seeds else f"{names}, {len(row.others)} without"
        failed = f"{row.n_failed} failed" if row.n_failed else "none failed"
        of_controls = f" ({row.n_of_controls:,} of them of controls)" if row.n_of_controls else ""
        unbuilt = f", {plural(row.n_unbuilt)} not built" if row.n_unbuilt else ""
        source = f"; {row.source}" if row.source else ""
        lines.append(
            f"{row.system}: {names}, {plural(row.n_executions, 'execution')}{of_controls}, {failed}{unbuilt}{source}"
        )
    lines += _built_with(of)
    if of.policy is not None:
        how = executed_how(of.randomise)
        drawn = how.drawn if isinstance(of.randomise, list) else of.randomise
        randomised = f"randomised per execution: {_words(drawn)}"
        if how.settings:
            randomised += f"; settings of all executions: {_words(how.settings)}"
        has_layouts = not of.systems or not all(row.one_layout for row in of.systems)
        lines.append(f"layout policy: {policy_words(of.policy)}; {randomised}" if has_layouts else randomised)
        where = f"nodes {node_words(of.nodes)} ({of.host})" if of.nodes else f"host {of.host}"
        where += f", under {how.launcher}" if how.launcher else ""
        lines.append(f"{where}, project {of.project}; left out: {left_out_words(of)}")
    elif of.left_out:
        lines.append(f"left out: {left_out_words(of)}")
    return lines + reconciled_words(of)


def _built_with(of: Evidence) -> list[str]:
    """Which systems each set of compilers and linker built; without their names where it is all of them."""
    built: dict[str, list[str]] = {}
    for row in of.systems:
        built.setdefault(row.tools, []).append(row.system)
    if len(built) == 1:
        return [f"built with {tools}" for tools in built if tools]
    return [f"{', '.join(systems)}: built with {tools}" for tools, systems in built.items() if tools]


def reconciled_words(of: Evidence) -> list[str]:
    """Where layouts are reconciled, how much lies at the same addresses, and which question that answers."""
    if of.policy is None or of.policy.get("couple") != "address":
        return []
    return [*map(str, of.coinciding), QUESTION]


def left_out_words(of: Evidence) -> str:
    """What was left out, for a place that says so already."""
    return "; ".join(each.briefly() for each in of.left_out) or "nothing"


def _words(randomise: Any) -> str:
    if isinstance(randomise, list | tuple):
        return ", ".join(map(str, randomise)) or "nothing"
    if isinstance(randomise, dict):
        return "; ".join(f"{key} {_words(value)}" for key, value in randomise.items()) or "nothing"
    return str(randomise)


def evidence_json(of: Evidence) -> dict[str, Any]:
    """As JSON values; null for what imported results do not tell."""
    return {
        "project": of.project,
        "host": of.host,
        "layout_policy": of.policy,
        "randomise": of.randomise,
        "protocol": of.protocol,
        "systems": [
            {
                "system": row.system,
                "seeds": row.seeds,
                "n_seeds": row.n_seeds,
                "others": list(row.others),
                "n_executions": row.n_executions,
                "n_of_controls": row.n_of_controls,
                "n_failed": row.n_failed,
                "n_unbuilt": row.n_unbuilt,
                "capture": row.capture,
                "one_layout": row.one_layout,
                "source": row.source or None,
                "built_with": row.tools or None,
            }
            for row in of.systems
        ],
        "left_out": sentences_of(of.left_out),
        "nodes": list(of.nodes),
        "coinciding": [asdict(each) for each in of.coinciding],
    }
