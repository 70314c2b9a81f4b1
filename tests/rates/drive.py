"""Simulate what the commands print, and write the table of how often it is true: `make rates`.

Each cell of the table is a study of one world at one size (`studies.py`); its sets are drawn from keyed streams, so the
same sets give the same table.  Cells are kept, one JSON file each, so that a run that is stopped goes on where it was;
a cell of other code or of fewer sets is simulated anew.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rates import recorded, table
from rates.figures import Tally
from rates.studies import Cell, cells, cost, counted
from rates.worlds import WORLDS, draw

CHECKOUT = Path(__file__).resolve().parents[2]
PAGE = CHECKOUT / "docs" / "rates.md"
OPENING = Path(__file__).with_name("opening.md")
CHUNK = 25
"""Sets that a worker simulates at a time: the first chunk of each cell is kept apart, for a test to repeat."""

DEARER = 0.25
"""The share of the sets that a cell gets which costs more than `DEAR`."""
DEAR = 400.0


def sets_of(cell: Cell, sets: int) -> int:
    """How many sets a cell gets."""
    return max(CHUNK, round(sets * DEARER)) if cost(cell) > DEAR else sets


def code() -> str:
    """A digest of what the figures depend on: the sources of the product, and those of the simulation."""
    digest = hashlib.sha256()
    files = sorted((CHECKOUT / "src" / "layoutrand").rglob("*.py"))
    files += [Path(__file__).with_name(f"{name}.py") for name in ("worlds", "recorded", "figures", "studies")]
    for path in files:
        if "cli" not in path.parts and "report" not in path.parts:
            digest.update(f"{path.relative_to(CHECKOUT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def commit() -> str:
    """The commit of this checkout, with a plus where files are not as in it."""
    words = ["git", "-C", str(CHECKOUT)]
    name = subprocess.run([*words, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    changed = subprocess.run(
        [*words, "status", "--porcelain", "--untracked-files=no", "src"], capture_output=True, text=True, check=True
    )
    return name + ("+" if changed.stdout.strip() else "")


def as_json(cell: Cell, tally: Tally, first: Tally, seconds: float, *, now: tuple[str, str]) -> dict[str, Any]:
    """A cell as it is kept."""
    return {
        "study": cell.study,
        "world": cell.world,
        "size": asdict(cell.size),
        "counts": {name: asdict(count) for name, count in tally.counts.items()},
        "first": {name: asdict(count) for name, count in first.counts.items()},
        "sentences": dict(sorted(tally.sentences.items(), key=lambda item: (-item[1], item[0]))[:12]),
        "errors": tally.errors[:5],
        "n_errors": len(tally.errors),
        "seconds": round(seconds, 1),
        "code": now[0],
        "commit": now[1],
    }


def sets_in(document: dict[str, Any]) -> int:
    """How many sets a kept cell has."""
    counts = document["counts"].values()
    return max((count["sets"] for count in counts), default=0) + document["n_errors"]


def _chunk(task: tuple[Cell, int, int]) -> tuple[str, int, Tally, float]:
    cell, first, last = task
    started = time.process_time()
    tally = counted(cell, first, last)
    return cell.name, first, tally, time.process_time() - started


def _alone() -> None:
    """In a worker: end when told to, which the command line, once used, has other ways of."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def simulated(wanted: Sequence[Cell], directory: Path, sets: int, jobs: int, *, is_kept: bool) -> None:
    """Simulate cells that are not in the directory as the code is now; with ``is_kept`` whatever code made them."""
    now = code(), commit()
    todo = []
    for cell in wanted:
        path = directory / f"{cell.name}.json"
        known = json.loads(path.read_text()) if path.exists() else None
        if known is None or sets_in(known) < sets_of(cell, sets) or not (is_kept or known["code"] == now[0]):
            todo.append(cell)
    todo.sort(key=lambda cell: -cost(cell) * sets_of(cell, sets))
    tasks = [
        (cell, first, min(first + CHUNK, sets_of(cell, sets)))
        for cell in todo
        for first in range(0, sets_of(cell, sets), CHUNK)
    ]
    parts: dict[str, dict[int, tuple[Tally, float]]] = {cell.name: {} for cell in todo}
    by_name = {cell.name: cell for cell in todo}
    print(f"{len(todo)} of {len(wanted)} cells to simulate, {sets} sets each, {jobs} at once", file=sys.stderr)
    done, started = 0, time.monotonic()
    with multiprocessing.get_context("fork").Pool(jobs, initializer=_alone) as pool:
        for name, first, tally, seconds in pool.imap_unordered(_chunk, tasks):
            own = parts[name]
            own[first] = tally, seconds
            cell = by_name[name]
            if len(own) * CHUNK < sets_of(cell, sets):
                continue
            whole = Tally()
            for place in sorted(own):
                whole.merge(own[place][0])
            document = as_json(cell, whole, own[0][0], sum(part[1] for part in own.values()), now=now)
            _written(directory / f"{name}.json", json.dumps(document, indent=1) + "\n")
            done += 1
            parts[name] = {}
            print(f"{done}/{len(todo)} {name}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)


def _written(path: Path, text: str) -> None:
    """Whole or not at all, so that a run that is stopped leaves no half of a cell."""
    part = path.with_suffix(".part")
    part.write_text(text)
    part.replace(path)


def differences(cell: Cell, number: int) -> Iterator[str]:
    """Where what the commands print of a set of this cell is not what the simulation reads: none, if all is well."""
    drawn = draw(WORLDS[cell.world], cell.size, ("cli", number))
    rows = recorded.executions_of(drawn.plan, drawn.seconds, drawn.failed, cell.size.benchmarks)
    n_benchmarks = cell.size.benchmarks
    of_both, of_one = (recorded.selection_of(rows, n_benchmarks, systems) for systems in ((), ("a",)))
    pairs = [
        (("compare", "a", "b"), recorded.compared(of_both, 0.01)),
        (("compare", "a", "b", "--threshold", "0%"), recorded.compared(of_both, 0.0)),
        (("analyse", "--system", "a"), recorded.analysed(of_one)),
        (("plan", "--system", "a"), recorded.planned_from(of_one, 0.01)),
    ]
    if cell.size.layouts >= 10:
        pairs.append((("compare", "a", "a"), recorded.compared_with_itself(of_one, 0.01)))
    with tempfile.TemporaryDirectory(prefix="rates-") as place:
        recorded.in_a_file(Path(place), rows, n_benchmarks)
        for words, document in pairs:
            printed = recorded.through_cli(Path(place), *words)
            if printed != recorded.as_printed(document):
                keys = [key for key in document if printed.get(key) != recorded.as_printed(document)[key]]
                yield f"{cell.name}, {' '.join(words)}: {', '.join(keys)}"


def main() -> int:
    """Simulate, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--directory", type=Path, required=True, help="where cells are kept")
    parser.add_argument("--sets", type=int, default=1000, help="simulated experiments of each cell")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", default="", help="cells whose name this regular expression finds")
    parser.add_argument("--keep", action="store_true", help="cells of other code stay as they are")
    parser.add_argument("--page", action="store_true", help="write docs/rates.md")
    parser.add_argument("--through-cli", type=int, default=0, help="cells that are also printed by the real commands")
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    every = cells()
    wanted = [cell for cell in every if re.search(options.only, cell.name)]
    for cell in wanted[:: max(1, len(wanted) // options.through_cli)] if options.through_cli else ():
        for text in differences(cell, 0):
            print(f"the command prints something else: {text}", file=sys.stderr)
            return 1
    simulated(wanted, options.directory, options.sets, options.jobs, is_kept=options.keep)
    found = table.read(options.directory, every)
    if options.page:
        PAGE.write_text(table.page(found, OPENING.read_text()))
    print(table.summary(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
