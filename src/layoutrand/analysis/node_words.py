"""What is said of nodes: sentences that can be quoted, and the rows of their table."""

from __future__ import annotations

import math

from layoutrand.analysis.node_table import NodeRow, NodeTable
from layoutrand.stats import Interval
from layoutrand.text.document import Chapter, Table
from layoutrand.text.quantities import NO_BOUNDS, NO_LOWER_BOUND, changes, has_no_lower_bound, percent, telling

MOST_SENTENCES = 8
"""Of more nodes that stand out the table says enough."""

MOST_FACTS = 3
"""Columns of facts on the terminal; JSON and the report have all."""


def sentences(table: NodeTable) -> list[str]:
    """Whether nodes differ, then one sentence for each that stands out beside the others."""
    if table.p_value is None or table.between_sd is None:
        return [f"{len(table.rows)} nodes, which cannot be compared: nothing was executed on several of them"]
    number = f"{len(table.rows)} nodes"
    said = "p < 0.0001" if table.p_value < 0.0001 else f"p = {table.p_value:.2g}"
    if table.p_value > 1 - table.confidence:
        lines = [f"{number}: no sign that they differ ({said})"]
    else:
        lines = [
            f"{number} that differ ({said}), by a standard deviation of {percent(table.between_sd)}; "
            "taken out of what layout is said to add"
        ]
    odd = [row for row in table.rows if row.stands_out]
    lines += [_of_row(row, table) for row in odd[:MOST_SENTENCES]]
    if len(odd) > MOST_SENTENCES:
        lines.append(f"{len(odd) - MOST_SENTENCES} more nodes stand out; the table has them")
    return lines


def columns(table: NodeTable, *, most: int | None = None) -> tuple[str, ...]:
    """Heads of the table; ``most`` facts, or all."""
    facts = tuple(table.rows[0].facts)[:most]
    return ("node", "seeds", "executions", "failed", "effect", "interval", "p, Holm", "stands out", *facts)


def cells(row: NodeRow, *, most: int | None = None) -> tuple[str, ...]:
    """One row under `columns`."""
    effect = row.effect
    holm = "-" if row.holm is None else "< 0.0001" if row.holm < 0.0001 else f"{row.holm:.2g}"
    return (
        row.name,
        str(row.n_seeds),
        str(row.n_executions),
        str(row.n_failed) if row.n_failed else "-",
        "-" if effect is None else f"{changes([effect.centre])[0]} %",
        "-" if effect is None else _bounds(effect),
        holm,
        "yes" if row.stands_out else "-",
        *tuple(row.facts.values())[:most],
    )


def title(table: NodeTable) -> str:
    """Of the table."""
    what = "slower" if table.is_speed else "more"
    return (
        f"Nodes: how much {what} than their geometric mean, over all benchmarks, {100 * table.confidence:g} % interval "
        f"from {table.counted}"
    )


def section(table: NodeTable) -> Chapter:
    """Of the report."""
    how = (
        "Executions were assigned to these nodes; both systems of a seed are executed on one node. Node is a blocking "
        "factor: what a node adds to everything is taken out of variances, intervals, tests and figures of single "
        "systems, and cancels in ratios by seed. Intervals are of these nodes, not of others."
    )
    said = [f"{sentence}." for sentence in sentences(table)]
    rows = [cells(row) for row in table.rows]
    return Chapter("nodes", "Nodes", [how], said, tables=[Table(title(table), columns(table), rows)])


def _of_row(row: NodeRow, table: NodeTable) -> str:
    one = row.against_others
    assert one is not None
    words = ("slower", "faster") if table.is_speed else ("higher", "lower")
    word = words[0] if one.centre > 1 else words[1]
    near, far = sorted((abs(100 * (one.low - 1)), abs(100 * (one.high - 1))))
    digits = telling([100 * (one.centre - 1), near, far])
    return (
        f"node {row.name} is {abs(100 * (one.centre - 1)):.{digits}f} % {word} than the others "
        f"({100 * table.confidence:g} % interval {near:.{digits}f} to {far:.{digits}f} %); "
        f"it executed {row.n_seeds} of {table.n_seeds} seeds; taken out of the layout variance"
    )


def _bounds(interval: Interval) -> str:
    if not math.isfinite(interval.high):
        return NO_BOUNDS
    if has_no_lower_bound(interval.centre, interval.low):
        return f"up to {changes([interval.high])[0]} %, {NO_LOWER_BOUND}"
    return f"{' to '.join(changes([interval.low, interval.high]))} %"
