"""What it costs to import a table, beside a loop that reads its cells and adds up its numbers."""

from __future__ import annotations

import csv
import json
import os
import random
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from perfkit import cost_of

pytestmark = pytest.mark.perf

ROWS = int(os.environ.get("LAYOUTRAND_PERF_ROWS", "200000"))
PER_BINARY = 100
COMMAND = ("compare", "A", "B", "--json", "--import")
MOST = 15
"""Times the plain loop; it was 53 while names, units and flags were read of each row anew, 32 while each row was an
object, 6 to 8 while each question to a sample flattened it anew, and is 4 to 6.
"""


@pytest.mark.parametrize("kind", ["executions", "iterations"])
def test_a_table_of_many_rows_beside_reading_it(tmp_path: Path, kind: str) -> None:
    """Processor time, so that a machine with other work gives the same; without what starting the command takes."""
    path, few = tmp_path / "table.csv", tmp_path / "few.csv"
    lines = (_executions if kind == "executions" else _iterations)(random.Random(1))
    with path.open("w", encoding="utf-8") as file:
        file.writelines(lines)
    with path.open(encoding="utf-8") as whole, few.open("w", encoding="utf-8") as part:
        part.writelines(islice(whole, 4001))
    plain = min(_plainly(path) for _ in range(3))
    command, most_kb, _ = cost_of([*COMMAND, str(path)])
    start, least_kb, _ = cost_of([*COMMAND, str(few)])
    figure = {
        "perf": f"compare --import, {kind}",
        "rows": ROWS,
        "cpu_seconds": {"plain loop": round(plain, 2), "import": round(command, 2), "of 4,000 rows": round(start, 2)},
        "import without start / plain loop": round((command - start) / plain, 1),
        "memory MB": round(most_kb / 1024),
        "bytes per row": round((most_kb - least_kb) * 1024 / ROWS),
    }
    print(json.dumps(figure, indent=2))
    assert command - start < MOST * plain


def _executions(chance: random.Random) -> Iterator[str]:
    """100 executions of each binary, 10 benchmarks, two systems."""
    yield "system,benchmark,seed,value\n"
    for number in range(ROWS):
        binary = number // PER_BINARY
        yield f"{'AB'[binary % 2]},b{binary // 2 % 10},{binary // 20},{1 + chance.random():.6f}\n"


def _iterations(chance: random.Random) -> Iterator[str]:
    """50 iterations of one execution of each binary, of which 5 are warm-up; 10 benchmarks, two systems."""
    yield "system,benchmark,seed,value,execution,iteration,unit,warmup\n"
    for number in range(ROWS):
        binary, iteration = divmod(number, 50)
        place = f"{'AB'[binary % 2]},b{binary // 2 % 10},{binary // 20}"
        yield f"{place},{1 + chance.random():.6f},0,{iteration},s,{int(iteration < 5)}\n"


def _plainly(path: Path) -> float:
    begin = time.process_time()
    total = 0.0
    with path.open(encoding="utf-8", newline="") as file:
        for cells in csv.reader(file):
            if cells[3] != "value":
                total += float(cells[3])
    assert total > ROWS
    return time.process_time() - begin
