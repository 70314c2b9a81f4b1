"""Whether this machine has what benchmarks are measured with: asked before anything is built for them."""

from __future__ import annotations

from collections.abc import Sequence

from layoutrand.config.config import Config
from layoutrand.instruments.known import asked, instruments


def check_instruments(config: Config, benchmarks: Sequence[str]) -> None:
    """Raise `ToolNotFound` that names the package where these benchmarks (all where empty) need an absent program.

    Executions on nodes need it there, and nodes say so.
    """
    if config.remote is not None:
        return
    chosen = [benchmark for benchmark in config.benchmarks if not benchmarks or benchmark.name in benchmarks]
    needed = {each for benchmark in chosen for each in asked(benchmark.metric)}
    for each in instruments():
        if each in needed:
            each.find()
