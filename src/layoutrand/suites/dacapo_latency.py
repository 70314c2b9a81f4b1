"""Latencies of requests, which DaCapo 23.11 prints after each iteration of a benchmark that serves requests.

Each line has quantiles over the requests of one iteration, in whole microseconds: of the time that a request took
(simple), and of the time since it would have come had requests come at a steady pace (metered), which has a queue's
waiting in it.  From 23.11-MR1 on metering is done twice; the one over the whole iteration is meant by "metered", as in
the releases before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from layoutrand.config.readings import QUANTILES, LatencyKind, latency_metric
from layoutrand.errors import NoMeasurement
from layoutrand.text.digits import whole_number

REQUEST_BENCHMARKS: Final = frozenset(
    {"cassandra", "h2", "jme", "kafka", "lusearch", "spring", "tomcat", "tradebeans", "tradesoap"}
)
"""Those of 23.11 that serve requests (jme: frames)."""

_LINE: Final = re.compile(
    r"===== DaCapo (?:tail latency, (?P<kind>[a-z0-9 ]+)|(?P<older>[a-z0-9 ]+) tail latency): "
    r"(?P<quantiles>.*), measured over \d+ events =====\s*$",
    re.ASCII,
)
_QUANTILE: Final = re.compile(r"(?:^|, )(\d+(?:\.\d+)?%) (\d+) usec", re.ASCII)
_KINDS: Final[dict[str, LatencyKind]] = {
    "simple": "simple",
    "metered": "metered",
    "metered full smoothing": "metered",
}
_MOST: Final = 10**15
"""Microseconds: thirty years."""


def of_requests(text: str, kinds: Sequence[LatencyKind], iterations: int) -> dict[str, tuple[float, ...]]:
    """Seconds of each quantile in each iteration, by metric, of the kinds that are wanted.

    Raises `NoMeasurement` where an iteration has none.
    """
    found: dict[str, list[float]] = {latency_metric(kind, quantile): [] for kind in kinds for quantile in QUANTILES}
    for line in text.splitlines():
        match = _LINE.search(line)
        kind = None if match is None else _KINDS.get((match["kind"] or match["older"]).strip())
        if match is None or kind is None or kind not in kinds:
            continue
        printed = dict(_QUANTILE.findall(match["quantiles"]))
        for quantile in QUANTILES:
            microseconds = whole_number(printed.get(quantile, ""), _MOST)
            if microseconds is not None:
                found[latency_metric(kind, quantile)].append(microseconds / 1e6)
    for name, values in found.items():
        if len(values) != iterations:
            raise NoMeasurement(
                f"suite.latency: the harness printed {name} of {len(values)} iterations, and made {iterations}; only "
                "benchmarks of DaCapo 23.11 that serve requests print it"
            )
    return {name: tuple(values) for name, values in found.items()}
