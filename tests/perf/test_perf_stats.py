"""Speed of `layoutrand.stats`: ratios of two times measured alternately in the same run, and peak memory.

Each test prints one JSON line and appends it to the file named by LAYOUTRAND_PERF_OUT, if set.  What is asserted
are ratios and bytes; times are printed beside their target.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from layoutrand import stats
from perfkit import report

pytestmark = pytest.mark.perf


def record(row: dict[str, object]) -> None:
    """Report a row of figures with the version of numpy that they depend on."""
    report({**row, "numpy": np.__version__})


def alternately(ours: Callable[[], object], theirs: Callable[[], object], *, times: int) -> tuple[float, float]:
    """Shortest time [s] of each of two calls, run in turns so that a busy machine hits both."""
    shortest = [float("inf"), float("inf")]
    for _ in range(times):
        for which, call in enumerate((ours, theirs)):
            start = time.perf_counter()
            call()
            shortest[which] = min(shortest[which], time.perf_counter() - start)
    return shortest[0], shortest[1]


def test_rrr_bootstrap_of_a_ratio_costs_little_more_than_drawing_the_indices():
    rng = np.random.default_rng(1)
    a, b = rng.normal(100, 2, (2, 30, 20, 40))
    n_indices = 2 * 30 * (1 + 20 + 20 * 40)  # per replicate: binaries, executions, measurements of both systems
    n_resamples = 10_000

    def draw() -> None:
        for _ in range(100):
            rng.integers(0, 40, size=n_indices * n_resamples // 100)

    ours, theirs = alternately(
        lambda: stats.ratio_interval(a, b, method="bootstrap", n_resamples=n_resamples), draw, times=3
    )
    tracemalloc.start()
    stats.ratio_interval(a, b, method="bootstrap", n_resamples=n_resamples)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    record(
        {
            "perf": "RRR bootstrap of a ratio, 2 x (30, 20, 40), 10000 replicates",
            "seconds": round(ours, 3),
            "rng.integers for as many indices": round(theirs, 3),
            "ratio": round(ours / theirs, 2),
            "target": "<= 2",
            "peak_mib": round(peak / 2**20, 1),
        }
    )
    assert ours / theirs <= 2
    assert peak < 2**30


def test_bootstrap_against_a_plain_python_loop():
    data = np.random.default_rng(2).normal(100, 2, (30, 10))
    lists = data.tolist()
    looped = 100

    def loop() -> None:
        for _ in range(looped):
            values = []
            for _ in range(30):
                binary = lists[random.randrange(30)]
                values += [binary[random.randrange(10)] for _ in range(10)]
            sum(values) / len(values)

    ours, theirs = alternately(lambda: stats.mean_interval(data, method="bootstrap", n_resamples=10_000), loop, times=5)
    theirs *= 10_000 / looped

    record(
        {
            "perf": "bootstrap of a mean, (30, 10), 10000 replicates",
            "seconds": round(ours, 4),
            "plain Python": round(theirs, 2),
            "ratio": round(theirs / ours),
            "target": ">= 50",
        }
    )
    assert theirs / ours >= 50


def test_randomization_test_of_a_suite():
    rng = np.random.default_rng(3)
    a, b = ({f"b{i:02}": rng.normal(20, 0.3, 5) for i in range(13)} for _ in range(2))
    pools = np.array([np.concatenate([a[name], b[name]]) for name in a])

    def permute() -> None:
        for _ in range(20):  # 500 assignments at a time
            assigned = rng.permuted(np.broadcast_to(pools, (500, 13, 10)), axis=2)
            logs = np.log(assigned[..., 5:].mean(axis=2) / assigned[..., :5].mean(axis=2)).mean(axis=1)
            (logs >= 0).sum()

    ours, theirs = alternately(lambda: stats.randomization_test(a, b, n_resamples=10_000), permute, times=7)

    record(
        {
            "perf": "randomization test, 13 benchmarks x 5 scores, M = 10000",
            "seconds": round(ours, 4),
            "target_seconds": 0.05,
            "numpy permuted": round(theirs, 4),
            "ratio": round(theirs / ours, 1),
            "paper, M = 500": 0.41,
        }
    )
    assert ours < theirs


def test_coverage_study():
    model = stats.HierarchicalModel(mean=100.0, sds=(1.0, 0.5, 2.0), layout="normal")
    start = time.perf_counter()
    rows = stats.coverage_study(
        model,
        n_binaries=(10,),
        lower_counts=(3, 5),
        methods=("fieller", "log-t", "bootstrap", "bca", "bootstrap-t"),
        n_datasets=2000,
        n_resamples=1000,
    )
    seconds = time.perf_counter() - start

    record(
        {
            "perf": "coverage study, 2000 data sets of 2 x (10, 3, 5) x 5 methods, 1000 replicates",
            "seconds": round(seconds, 1),
            "target": "minutes",
            "coverage": {row.method: row.coverage.rate for row in rows},
        }
    )
    assert len(rows) == 5


def test_import_is_little_more_than_numpy():
    def run(program: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, "-c", program], check=True)

    ours, theirs = alternately(run("import layoutrand.stats"), run("import numpy"), times=7)

    record(
        {
            "perf": "import layoutrand.stats",
            "seconds": round(ours, 3),
            "import numpy": round(theirs, 3),
            "ratio": round(ours / theirs, 2),
        }
    )
    assert ours / theirs < 3
