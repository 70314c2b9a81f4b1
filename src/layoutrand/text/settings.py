"""Change one setting in the text of layoutrand.toml, and nothing else: comments, order and layout stay."""

from __future__ import annotations

import tomlkit


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

    Both must be there: only a metric that reads a number has any iterations.
    """
    document = tomlkit.parse(text)
    (entry,) = (each for each in document["benchmarks"] if each["name"] == benchmark)
    metric = entry["metric"]
    if printed is not None:
        (metric,) = (number for number in metric["printed"] if number["name"] == printed)
    metric["warmup"] = warmup
    return tomlkit.dumps(document)
