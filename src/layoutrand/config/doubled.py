"""The configuration of `run --twice`, in which systems are there twice (`config/twice.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from layoutrand.config.config import Config
from layoutrand.config.twice import second_of, second_seed


def with_second(config: Config, systems: Iterable[str]) -> Config:
    """The configuration in which these systems are there twice, the second of each after all others."""
    again = {second_of(name): config.systems[name] for name in systems}
    return config.model_copy(update={"systems": {**config.systems, **again}})


def seeds_of_both(seeds: Sequence[int]) -> list[int]:
    """These seeds, and behind them those of the layouts that the second systems execute in their rounds."""
    return list(dict.fromkeys([*seeds, *map(second_seed, seeds)]))
