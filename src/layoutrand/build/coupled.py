"""Which systems have reconciled layouts (``layout.couple = "address"``), and what their records say of each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from layoutrand.cache import keys
from layoutrand.config.config import Config
from layoutrand.errors import FeatureUnsupported

_TOLD: Final = ("source", "commands", "artefacts", "env", "flags")
"""Of a system's build, what is another program, whatever the machine is that it is built on."""


def coupled_names(config: Config) -> list[str]:
    """The systems whose layouts are reconciled: all that are built, where that is asked for."""
    return (
        [name for name, system in config.systems.items() if system.prebuilt is None] if config.layout.by_address else []
    )


def require_captures(config: Config) -> None:
    """Raise `FeatureUnsupported` where layouts are to be reconciled, and the mode makes no captures."""
    if config.layout.by_address and config.build.mode != "relink":
        raise FeatureUnsupported(
            'layout.couple = "address" needs a capture of each system, to be linked at the same addresses: build.mode '
            'must be "relink"'
        )


def coupled_facts(others: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """For the record of a system's results: what the ``others``, by name, were built from."""
    return {
        "coupled_with": {
            name: keys.build_key({part: facts.get(part) for part in _TOLD}) for name, facts in others.items()
        }
    }
