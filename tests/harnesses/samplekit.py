"""What real programs left, by harness.

google-benchmark (1.7.1), catch2 (2.13.10), doctest (2.4.9), criterion (0.3.6) and bencher (0.1.5) of Debian 12, libtest of rustc 1.95, Go
1.27, nanobench 4.6.0 and divan 0.1.21 of Debian's forky, and iai-callgrind 0.16.1 wrote theirs on a machine of ours;
gungraun's form is the same.  jmh's is put together by hand
after the form that `layoutrand.interop.jmh` reads: it could not be executed here.
"""

from __future__ import annotations

import json
from pathlib import Path

from layoutrand.harnesses.harness import LeftByHarness

SAMPLES = Path(__file__).parent / "samples"

JMH = [
    {
        "benchmark": "p.B.go",
        "mode": "avgt",
        "forks": 1,
        "params": {"n": "10"},
        "primaryMetric": {"scoreUnit": "us/op", "rawData": [[1.5, 2.5]]},
    },
    {
        "benchmark": "p.B.rate",
        "mode": "thrpt",
        "forks": 1,
        "primaryMetric": {"scoreUnit": "ops/ms", "rawData": [[4.0, 5.0]]},
    },
    {
        "benchmark": "p.B.sampled",
        "mode": "sample",
        "forks": 1,
        "primaryMetric": {"scoreUnit": "s/op", "rawDataHistogram": [[[[1.0, 3], [5.0, 1]]]]},
    },
]


def text_of(name: str) -> str:
    return (SAMPLES / name).read_text(encoding="utf-8")


def criterion_files() -> dict[str, str]:
    folder = SAMPLES / "criterion-0.3.6"
    return {f"criterion/{path.relative_to(folder)}": path.read_text() for path in sorted(folder.rglob("*.json"))}


def left(harness: str) -> LeftByHarness:
    """What a process of that harness left."""
    return {
        "catch2": lambda: LeftByHarness("", files={"layoutrand-cases.xml": text_of("catch2-2.13.10.xml")}),
        "criterion": lambda: LeftByHarness("", files=criterion_files()),
        "divan": lambda: LeftByHarness(text_of("divan-0.1.21.txt")),
        "google-benchmark": lambda: LeftByHarness(
            "", files={"layoutrand-cases.json": text_of("google-benchmark-1.7.1.json")}
        ),
        "doctest": lambda: LeftByHarness("", files={"layoutrand-cases.xml": text_of("doctest-2.4.9.xml")}),
        "go-test": lambda: LeftByHarness(text_of("go-test-1.27.txt")),
        "gungraun": lambda: LeftByHarness(text_of("iai-callgrind-0.16.1.jsonl")),
        "iai-callgrind": lambda: LeftByHarness(text_of("iai-callgrind-0.16.1.jsonl")),
        "jmh": lambda: LeftByHarness("", files={"layoutrand-cases.json": json.dumps(JMH)}),
        "libtest": lambda: LeftByHarness(text_of("libtest-1.95.txt") + text_of("bencher-0.1.5.txt")),
        "nanobench": lambda: LeftByHarness("", files={"bench.json": text_of("nanobench-4.6.0.json")}),
    }[harness]()
