"""JSON documents as flat tables: the same numbers under joined names, one row for each benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from layoutrand.text import csv_cells
from layoutrand.text.csv_cells import cell

_BOUNDS: Final = ("low", "high")
_PAIRS: Final = frozenset({"interval", "relative_sd_interval", "layout_relative_sd_interval", "measured_range"})


def flat(record: Mapping[str, Any], skip: Sequence[str] = ()) -> dict[str, Any]:
    """One row: nested keys joined by ``_``; intervals as ``_low`` and ``_high``; levels under their names.

    Lists of sentences become one cell, joined by ``; ``; outliers are counted, and named in a cell of their own.
    ``skip`` are keys to leave out.
    """
    row: dict[str, Any] = {}
    for key, value in record.items():
        if key in skip:
            continue
        if isinstance(value, Mapping):
            row |= {f"{key}_{inner}": cell for inner, cell in flat(value).items()}
        elif key in _PAIRS:
            row |= {f"{key}_{end}": None if value is None else value[place] for place, end in enumerate(_BOUNDS)}
        elif key == "levels":
            for level in value:
                name = level["level"]
                row |= {f"{name}_{inner}": cell for inner, cell in flat(level, ["level"]).items()}
        elif key == "what_varies":
            for each in value:
                name = f"varies_{each['part'].replace(' ', '_')}"
                row |= {f"{name}_{inner}": cell for inner, cell in flat(each, ["part"]).items()}
        elif key == "outliers":
            row |= {"outliers": len(value), "outlier_seeds": "; ".join(str(each["seed"]) for each in value)}
        elif isinstance(value, Sequence) and not isinstance(value, str):
            row[key] = "; ".join(map(_words, value))
        else:
            row[key] = value
    return row


def _words(value: Any) -> str:
    if isinstance(value, Mapping):  # a node: what it is called is enough to find it
        return str(next(iter(value.values())))
    return str(value)


def _sources(document: Mapping[str, Any]) -> dict[str, str]:
    """System -> the commit, or the digest of the files, that it was built from, where that is recorded."""
    evidence = document.get("evidence") or {"systems": []}
    return {row["system"]: row["source"] for row in evidence["systems"] if row["source"]}


def to_csv(rows: Sequence[Mapping[str, Any]], *, raw: bool = False) -> str:
    """RFC 4180 with line feeds alone; columns in the order of their appearance; empty for what is not known.

    Numbers have all their digits, truth is ``true`` or ``false``; ``raw`` as in `layoutrand.text.csv_cells`.
    """
    every = dict.fromkeys(key for row in rows for key in row)
    known = {key for row in rows for key, value in row.items() if value is not None}
    # What is not known of one row may be several columns of another.
    columns = [key for key in every if key in known or not any(other.startswith(f"{key}_") for other in every)]
    header = [cell(column, raw=raw) for column in columns]
    return csv_cells.table([header, *([_cell(row.get(column), raw=raw) for column in columns] for row in rows)])


def _cell(value: Any, *, raw: bool) -> str:
    return str(value).lower() if isinstance(value, bool) else cell(value, raw=raw)


def analysis_rows(document: Mapping[str, Any], *, every: bool) -> list[dict[str, Any]]:
    """Of ``layoutrand/analyse/1``: main metrics, or every metric; without the means of each binary."""
    shown = [row for row in document["benchmarks"] if every or row["primary"]]
    made = _sources(document)
    return [
        {**flat(row, ["binaries", *(["nodes"] if row["nodes"] is None else [])]), "source": made.get(row["system"])}
        for row in shown
    ]


def comparison_rows(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Of ``layoutrand/compare/1``: one row for each benchmark and one for each suite, told apart by ``row``."""
    rows: list[dict[str, Any]] = []
    for part in document.get("comparisons", [document]):
        names = {"baseline_system": part["baseline"], "candidate_system": part["candidate"]}
        made = _sources(part)
        of = {f"{side}_source": made.get(part[side]) for side in ("baseline", "candidate")}
        rows += [{"row": "benchmark", **names, **flat(each), **of} for each in part["benchmarks"]]
        if part["suite"] is not None:
            rows.append({"row": "suite", **names, **flat(part["suite"]), **of})
    return rows
