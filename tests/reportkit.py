"""Pages of reports, and results to make them of, for tests of what a browser and figures make of them."""

from __future__ import annotations

import dataclasses
import random

from experiments import measured, selected, write
from fakes import make_config
from layoutrand.report.whole_page import report
from layoutrand.results.file import open_for_reading, results_path

SVG = {"s": "http://www.w3.org/2000/svg"}


HOSTILE = "<script>alert('1')</script> \"a\" & b\n</title>\0\x1b[31m"


def table_of(names):
    return "".join(
        f"[[benchmarks]]\nname = \"{n}\"\ncommand = ['{{artefact}}', '<b>&x']\nmetric = {{wall = true}}\n"
        for n in names
    )


def noise(seed, n, executions=1, centre=1.0):
    draw = random.Random(seed)
    return {k: [[centre * draw.gauss(1, 0.02)] for _ in range(executions)] for k in range(1, n + 1)}


def recorded(project, *, systems=("a", "b"), names=("fib", "sort"), n=5, executions=1, stock=True, **changes):
    """A project with results, and its selection."""
    config = make_config(table_of(names), systems=systems)
    items = []
    for s, system in enumerate(systems):
        for b, name in enumerate(names):
            data = noise(31 * s + b, n, executions, centre=1 + 0.1 * s + b)
            if stock:
                data |= {"stock": [[1.05 + s + b], [1.06 + s + b]], "identity": [[1.02 + s + b]]}
            items += measured(config, project, system, name, data)
    items.sort(key=lambda item: (item.round, item.repetition))  # as a run has them, round after round
    items = [dataclasses.replace(item, started_at=1e9 + 7 * k, **changes) for k, item in enumerate(items)]
    write(config, project, items)
    return selected(config, project)


def contexts(project, selection):
    with open_for_reading(results_path(project)) as store:
        return store.contexts(selection.experiment)


def page_of(selection, *, baseline="a", known=()):
    return report(selection, known, baseline, confidence=0.95, threshold=0.01)
