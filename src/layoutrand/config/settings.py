"""Change one setting in the text of layoutrand.toml, and nothing else: comments, order and layout stay."""

from __future__ import annotations

from typing import Any

import tomlkit
from tomlkit.items import Array


def with_executions(text: str, executions: int) -> str:
    """The text with ``run.executions`` set."""
    document = tomlkit.parse(text)
    run = document.get("run")
    if run is None:
        run = tomlkit.table()
        document["run"] = run
    run["executions"] = executions
    return tomlkit.dumps(document)


def with_warmup(text: str, benchmark: str, warmup: int, *, printed: str | None) -> str:
    """The text with ``warmup`` set in the metric of this benchmark, or in its number called ``printed``.

    A metric must be there, which reads the number that has iterations; where ``harness`` reads it, it is added.
    """
    document = tomlkit.parse(text)
    (entry,) = (each for each in document["benchmarks"] if each["name"] == benchmark)
    if "metric" not in entry and "harness" in entry:
        entry["metric"] = tomlkit.inline_table()
    metric = entry["metric"]
    if printed is not None:
        (metric,) = (number for number in metric["printed"] if number["name"] == printed)
    metric["warmup"] = warmup
    return tomlkit.dumps(document)


def with_chosen_warmup(text: str, benchmark: str, iterations: int, *, host: str | None, system: str | None) -> str:
    """The text with an entry of ``[[warmup]]`` for exactly these: the one that is there changed, or else a new one."""
    document = tomlkit.parse(text)
    keys = {"benchmark": benchmark, "host": host, "system": system}
    entries: Any = document.get("warmup")
    same = [entry for entry in entries or () if {key: entry.get(key) for key in keys} == keys]
    if same:
        same[0]["iterations"] = iterations
        return tomlkit.dumps(document)
    new = tomlkit.inline_table() if isinstance(entries, Array) else tomlkit.table()
    new.update({key: value for key, value in keys.items() if value is not None} | {"iterations": iterations})
    if entries is None:
        document.append("warmup", tomlkit.aot())
        entries = document["warmup"]
    entries.append(new)
    return tomlkit.dumps(document)
