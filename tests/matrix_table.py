"""The table of verified cells in docs/project/verified.md: read it, and write it anew.

A row is a program and a toolchain; a column is a factor. What stands in a cell is one of the `MARKS`.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from layoutrand.config.jdk import JDK_FACTORS
from layoutrand.config.layout_policy import Factor

PAGE = Path(__file__).resolve().parents[1] / "docs/project/verified.md"
BEGIN, END = "<!-- matrix:begin -->", "<!-- matrix:end -->"
FACTORS = tuple(factor for factor in get_args(Factor) if factor not in JDK_FACTORS)  # nothing is linked for those

VERIFIED, CANNOT, NOTHING, FAILED, UNKNOWN = "✓", "–", "∅", "✗", ""
MARKS = {
    VERIFIED: "verified",
    CANNOT: "cannot be done with this toolchain, and layoutrand says so",
    NOTHING: "the program has nothing that could move that way, and layoutrand says so",
    FAILED: "failed",
    UNKNOWN: "not tried",
}

Row = Mapping[str, str]
"""Factor -> mark."""


def known(text: str | None = None) -> dict[tuple[str, str], Row]:
    """The rows of the table in docs/project/verified.md (or in that text) by program and toolchain."""
    found = {}
    for line in _section(PAGE.read_text() if text is None else text).splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("| ") and len(cells) > 3:
            if cells[0] == "---":
                continue
            if cells[0] == "program":
                columns = cells[3:]
            else:
                found[cells[0], cells[1]] = dict(zip(columns, cells[3:], strict=True))
    return found


def _section(text: str) -> str:
    match = re.search(f"{BEGIN}\n(.*?){END}", text, re.DOTALL)
    return match[1] if match else ""


def rendered(
    rows: Mapping[tuple[str, str], Row], programs: Mapping[str, str], linkers: Mapping[str, str], notes: str
) -> str:
    """The table as Markdown: programs in their order, and of each the toolchains in theirs."""
    columns = [factor for factor in FACTORS if any(row.get(factor) for row in rows.values())]
    head = ["program", "toolchain", "linker", *columns]
    lines = [_line(head), _line(["---", "---", "---", *[":-:"] * len(columns)])]
    for program in programs:
        for toolchain, linker in linkers.items():
            row = rows.get((program, toolchain))
            if row is not None:
                lines.append(_line([program, toolchain, linker, *[row.get(factor, UNKNOWN) for factor in columns]]))
    used = {mark for row in rows.values() for mark in row.values()} - {UNKNOWN}
    legend = "; ".join(f"{mark} {meaning}" for mark, meaning in MARKS.items() if mark in used)
    described = "; ".join(f"{name}: {what}" for name, what in programs.items())
    return "\n".join([*lines, "", f"{legend}.", f"{described}.", notes, ""])


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def write(table: str) -> None:
    """Put the table where the page has its markers."""
    text = PAGE.read_text()
    assert BEGIN in text and END in text, f"{PAGE} has no {BEGIN} ... {END}"
    PAGE.write_text(re.sub(f"{BEGIN}\n.*?{END}", lambda _: f"{BEGIN}\n{table}{END}", text, flags=re.DOTALL))
