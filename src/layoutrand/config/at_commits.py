"""One system of layoutrand.toml as many: built from commits of its repository, each a system of its own; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from layoutrand.config.config import Config
from layoutrand.config.warmup_choices import ChosenWarmup

_AT: Final = " @"
"""No system that a user declares has a space in its name."""

_SHORT: Final = 12


def name_at(system: str, digest: str) -> str:
    """What the system is called at a commit, or at a capture, of this hash."""
    return f"{system}{_AT}{digest[:_SHORT]}"


def declared(name: str) -> str:
    """The name of the system as declared, which is its own unless it is one at a commit."""
    return name.partition(_AT)[0]


def at_commits(config: Config, wanted: Mapping[str, tuple[str, str]], url: str, inside: str) -> Config:
    """The configuration whose systems are those of ``wanted`` (name -> system as declared, commit) alone.

    ``inside`` is the directory of the source in the repository at ``url``, "" for all of it.  All else (commands,
    flags, benchmarks) is as it is declared now, but for layouts in which all systems have the same addresses: they
    would be others whenever another commit takes part.
    """
    build = {"repo": url, "rev": None, "source": inside or ".", "in_place": False}
    systems = {name: config.systems[of].model_copy(update={"rev": commit}) for name, (of, commit) in wanted.items()}
    return renamed(
        config.model_copy(
            update={
                "build": config.build.model_copy(update=build),
                "systems": systems,
                "layout": config.layout.model_copy(update={"couple": "order"}),
            }
        ),
        {name: of for name, (of, _) in wanted.items()},
    )


def renamed(config: Config, origin: Mapping[str, str]) -> Config:
    """The configuration in which choices of warm-up hold for the systems (name -> as declared) that they are about."""
    return config.model_copy(update={"warmup": [each for choice in config.warmup for each in _of_all(choice, origin)]})


def _of_all(choice: ChosenWarmup, origin: Mapping[str, str]) -> list[ChosenWarmup]:
    """A choice of warm-up as it holds at each commit of its system."""
    if choice.system is None:
        return [choice]
    return [choice.model_copy(update={"system": name}) for name, of in origin.items() if of == choice.system]
