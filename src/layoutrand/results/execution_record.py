"""An execution as JSON values, to the bit, and back: how it travels from a node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from layoutrand.model import Execution, Measurement, SlotKey


def to_json(execution: Execution) -> dict[str, Any]:
    """The execution as JSON values."""
    values = dict(vars(execution))
    values["measurements"] = [[m.metric, m.unit, m.iteration, m.value, m.warmup] for m in execution.measurements]
    for name in ("rusage", "conditions", "host_state"):
        values[name] = dict(values[name])
    values["argv"], values["disturbances"] = list(execution.argv), list(execution.disturbances)
    return values


def from_json(values: Mapping[str, Any]) -> Execution:
    """The execution that `to_json` gave; raises `TypeError` or `KeyError` for anything else."""
    changed = {
        "argv": tuple(values["argv"]),
        "disturbances": tuple(values["disturbances"]),
        "measurements": tuple(Measurement(*row) for row in values["measurements"]),
    }
    return Execution(**{**values, **changed})


def slot_json(key: SlotKey) -> dict[str, Any]:
    """The slot as JSON values, for a name that follows from it."""
    return dict(vars(key))
