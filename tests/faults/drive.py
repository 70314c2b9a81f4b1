"""Disturb every command by every fault, and print how often: `make faults`."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import sys
import tempfile
import traceback
from pathlib import Path

from faults.campaign import Counts, Ground, ground
from faults.disturbing import FAULTS
from faults.table import CASES

DEAR = ("kill -9", "signal")
KILLED = ("run", "build", "run", "build more", "exec", "bundle import", "cache gc", "bundle export", "cache pack")
"""What is killed and interrupted most: commands that write, in turn with all others."""


def jobs_of(kills: int, signals: int, mutations: int, others: int = 1) -> list[tuple[str, str]]:
    """(Fault, command) or ("mutation", place), each as often as it is asked for; ``others`` of each other fault."""
    names = [name for name, case in CASES.items() if not case.needs or shutil.which(case.needs)]
    wanted = [
        ("kill -9", (KILLED[k // 2 % len(KILLED)] if k % 2 else names[k // 2 % len(names)])) for k in range(kills)
    ]
    wanted += [
        ("signal", (KILLED[k // 2 % len(KILLED)] if k % 2 else names[k // 2 % len(names)])) for k in range(signals)
    ]
    wanted += [(fault, name) for fault in FAULTS if fault not in DEAR for name in names * others]
    wanted += [("mutation", ("cache", "staging", "results")[k % 3]) for k in range(mutations)]
    return wanted


def work(own: Ground, wanted: list[tuple[str, str]]) -> tuple[Counts, list[str]]:
    """Do them; how often what was done, and what was found."""
    counts, found = Counts(), []
    for fault, name in wanted:
        try:
            if fault == "mutation":
                own.mutate(name, counts)
            else:
                own.disturb(name, fault, counts)
        except Exception:
            found.append(f"{fault}: {name}\n{traceback.format_exc(limit=3)}")
    return counts, found


def _worker(arguments: tuple[int, list[tuple[str, str]], str]) -> tuple[Counts, list[str]]:
    seed, wanted, folder = arguments
    with tempfile.TemporaryDirectory(dir=folder) as name:
        os.environ["LAYOUTRAND_LOCK_DIR"] = name  # workers do not wait for each other to measure
        with ground(Path(name), seed) as own:
            return work(own, wanted)


def main() -> int:
    """The command line of `make faults`."""
    parser = argparse.ArgumentParser()
    for option, default in (
        ("--kills", 500),
        ("--signals", 300),
        ("--mutations", 2000),
        ("--others", 1),
        ("--jobs", 2),
        ("--seed", 1),
    ):
        parser.add_argument(option, type=int, default=default)
    given = parser.parse_args()
    for name, case in CASES.items():
        if case.needs and not shutil.which(case.needs):
            sys.stderr.write(f"left out, for want of {case.needs}: {name}\n")
    wanted = jobs_of(given.kills, given.signals, given.mutations, given.others)
    counts, found = Counts(), []
    with tempfile.TemporaryDirectory() as folder, multiprocessing.get_context("spawn").Pool(given.jobs) as pool:
        parts = [(given.seed + k, wanted[k :: given.jobs], folder) for k in range(given.jobs)]
        for own, problems in pool.imap_unordered(_worker, parts):
            counts.done += own.done
            counts.disturbed += own.disturbed
            found += problems
    sys.stdout.write(f"{counts.table()}\n")
    for problem in found:
        sys.stdout.write(f"\n{problem}")
    sys.stdout.write(f"\n{sum(counts.done.values())} faults and mutations, {len(found)} problems\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
