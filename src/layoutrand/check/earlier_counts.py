"""Counts of a simulated processor that checks of other commits have recorded: the baseline is not counted again.

They repeat to the digit, whenever they are made, as long as the binary, the benchmark, the machine, the settings and
what starts programs (`layoutrand.host.start_files`) are the same.  Times are not taken: what makes rounds comparable is
that both commits are executed next to each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from layoutrand.config.config import Config
from layoutrand.errors import ResultsError
from layoutrand.execute import experiment as experiments
from layoutrand.host.start_files import StartFiles
from layoutrand.instruments.known import simulated
from layoutrand.model import Execution, SlotKey
from layoutrand.results.file import open_for_reading, open_for_writing

MOST_FILES: Final = 50
"""The newest of the other checks."""


def take_earlier_counts(
    config: Config, project: Path, results: Path, captures: Mapping[str, str], root: Path = Path("/")
) -> int:
    """Copy what other files beside ``results`` have of these captures (system -> id) into it; how many executions.

    Of what was started with another loader's cache or C library than there is below ``root`` nothing is taken: the
    other commit is counted with those of today, and what they add would be taken for the change.

    Raises `ResultsError` where ``results`` cannot be written; other files that cannot be read are passed over.
    """
    if not results.parent.is_dir() or not any(config.benchmarks):
        return 0
    definitions = set(experiments.definitions(config, list(config.benchmarks), project).values())
    experiment = experiments.current_experiment(config)
    systems = {capture: system for system, capture in captures.items()}
    found: dict[SlotKey, Execution] = {}
    today = StartFiles(root)
    others = [path for path in results.parent.glob("*.sqlite") if path != results]
    for path in sorted(others, key=lambda each: each.stat().st_mtime, reverse=True)[:MOST_FILES]:
        try:
            with open_for_reading(path) as store:
                recorded = store.executions(experiment)
        except ResultsError:
            continue
        for each in recorded:
            is_asked = each.capture in systems and each.definition in definitions
            if (
                is_asked
                and each.status == "ok"
                and each.instrument in simulated()
                and today.are_there(each.host_state.get("start_files") or {})
            ):
                mine = replace(each, system=systems[each.capture])
                found.setdefault(experiments.slot_key(mine), mine)
    if not found:
        return 0
    with open_for_writing(results) as store:
        ids = store.begin(experiment, experiments.current_context(config))
        known = store.latest(experiment)
        new = [each for key, each in found.items() if key not in known]
        for each in new:
            store.record(ids, each)
    return len(new)
