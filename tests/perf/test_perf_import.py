"""What it costs to import a table, beside a loop that reads its cells and adds up its numbers."""

from __future__ import annotations

import csv
import json
import os
import random
import time
from pathlib import Path

import pytest

from perfkit import cost_of

pytestmark = pytest.mark.perf

ROWS = int(os.environ.get("LAYOUTRAND_PERF_ROWS", "200000"))
PER_BINARY = 100
COMMAND = ("compare", "A", "B", "--json", "--import")
MOST = 15
"""Times the plain loop; it was 53 while names, units and flags were read of each row anew, 32 while each row was an
object, and is 6 to 8.
"""


def test_a_table_of_many_rows_beside_reading_it(tmp_path: Path) -> None:
    """Processor time, so that a machine with other work gives the same; without what starting the command takes."""
    path = tmp_path / "table.csv"
    chance = random.Random(1)
    with path.open("w", encoding="utf-8") as file:
        file.write("system,benchmark,seed,value\n")
        for number in range(ROWS):
            binary = number // PER_BINARY
            file.write(f"{'AB'[binary % 2]},b{binary // 2 % 10},{binary // 20},{1 + chance.random():.6f}\n")
    few = tmp_path / "few.csv"
    few.write_text("".join(path.read_text().splitlines(keepends=True)[:4001]))
    plain = min(_plainly(path) for _ in range(3))
    command, most_kb, _ = cost_of([*COMMAND, str(path)])
    start, least_kb, _ = cost_of([*COMMAND, str(few)])
    figure = {
        "perf": "compare --import",
        "rows": ROWS,
        "cpu_seconds": {"plain loop": round(plain, 2), "import": round(command, 2), "of 4,000 rows": round(start, 2)},
        "import without start / plain loop": round((command - start) / plain, 1),
        "bytes per row": round((most_kb - least_kb) * 1024 / ROWS),
    }
    print(json.dumps(figure, indent=2))
    assert command - start < MOST * plain


def _plainly(path: Path) -> float:
    begin = time.process_time()
    total = 0.0
    with path.open(encoding="utf-8", newline="") as file:
        for cells in csv.reader(file):
            if cells[3] != "value":
                total += float(cells[3])
    assert total > ROWS
    return time.process_time() - begin
