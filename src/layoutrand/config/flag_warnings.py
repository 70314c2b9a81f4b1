"""That flags of a system in layoutrand.toml take the place of what a commit may change."""

from __future__ import annotations

from dataclasses import dataclass

from layoutrand.config.config import FLAGS_OF_SYSTEMS, Config
from layoutrand.warning import AnyWarning


@dataclass(frozen=True)
class FlagsThatWin(AnyWarning):
    """A system with flags of its own, of which commits are one program."""

    system: str
    flags: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"system {self.system} has flags ({', '.join(self.flags)}), which win over the build's own: what a commit "
            "changes of these may not show here; it does in a system without flags"
        )


def flags_that_win(config: Config, system: str) -> FlagsThatWin | None:
    """What is to be known beside commits that are one program: a makefile that went from -O2 to -O1 passed as that."""
    own = config.systems.get(system)
    given = () if own is None else tuple(key for key in FLAGS_OF_SYSTEMS if getattr(own, key))
    return FlagsThatWin(system, given) if given else None
