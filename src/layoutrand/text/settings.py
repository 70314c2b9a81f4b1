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
