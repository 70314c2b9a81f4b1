"""Nodes as JSON values: keys may be added, never renamed."""

from __future__ import annotations

from typing import Any

from layoutrand.analysis.blocking import SampleNodes
from layoutrand.analysis.node_table import NodeRow, NodeTable
from layoutrand.stats import Interval
from layoutrand.text.quantities import finite


def node_table_json(table: NodeTable | None) -> dict[str, Any] | None:
    """All nodes over all benchmarks; null where there were none."""
    if table is None:
        return None
    return {
        "p_value": table.p_value,
        "between_sd": table.between_sd,
        "counted": table.counted,
        "confidence": table.confidence,
        "nodes": [_row(row) for row in table.rows],
    }


def sample_nodes_json(nodes: SampleNodes | None) -> dict[str, Any] | None:
    """What nodes add to one metric; null for one machine.

    ``ratio`` is to the geometric mean of nodes; where values are not all above 0, ``difference`` from their mean.
    """
    if nodes is None:
        return None
    found = nodes.effects
    if found is None:
        return {"names": list(nodes.nodes), "adjustment": nodes.method, "degrees_lost": nodes.lost, "effects": []}
    name = "ratio" if found.scale == "log" else "difference"
    return {
        "names": list(nodes.nodes),
        "adjustment": nodes.method,
        "degrees_lost": nodes.lost,
        "p_value": found.p_value,
        "between_sd": found.between_sd,
        "share": found.share,
        "method": found.method,
        "effects": [
            {
                "node": str(node),
                name: effect.centre,
                **_bounds(effect),
                "n_executions": count,
                "p_value": p,
                "p_value_holm": holm,
            }
            for node, effect, count, p, holm in zip(
                found.blocks, found.effects, found.counts, found.p_values, nodes.holm, strict=True
            )
        ],
    }


def _row(row: NodeRow) -> dict[str, Any]:
    return {
        "node": row.name,
        "n_seeds": row.n_seeds,
        "n_executions": row.n_executions,
        "n_failed": row.n_failed,
        "effect": _ratio(row.effect),
        "against_others": _ratio(row.against_others),
        "p_value": row.p_value,
        "p_value_holm": row.holm,
        "stands_out": row.stands_out,
        "facts": dict(row.facts),
    }


def _ratio(interval: Interval | None) -> dict[str, Any] | None:
    return None if interval is None else {"ratio": interval.centre, **_bounds(interval)}


def _bounds(interval: Interval) -> dict[str, Any]:
    ends = [finite(end) for end in (interval.low, interval.high)]
    return {"interval": ends, "confidence": interval.confidence}
