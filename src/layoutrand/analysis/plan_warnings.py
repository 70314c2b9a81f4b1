"""Warnings of `plan`: what its numbers rest on, and how many layouts there are to be had."""

from __future__ import annotations

from dataclasses import dataclass

from layoutrand.model import LayoutName
from layoutrand.warning import AnyWarning


@dataclass(frozen=True)
class NoiseOfControls(AnyWarning):
    """A plan from binaries that were executed once."""

    controls: tuple[LayoutName, ...]

    def __str__(self) -> str:
        whose = " and ".join(map(str, self.controls))
        return f"the noise of executions is that of {whose}, since each binary was executed once"


@dataclass(frozen=True)
class FewDistinctLayouts(AnyWarning):
    """A plan of more layouts than the ``n_layouts`` that there are of a program."""

    n_layouts: int

    def __str__(self) -> str:
        return (
            f"{self.brief()}. More run.executions average noise; factors such as text-offset and padding in "
            "layout.factors make more layouts"
        )

    def brief(self) -> str:
        """What was found."""
        are = "1 distinct layout" if self.n_layouts == 1 else f"{self.n_layouts:,} distinct layouts"
        return f"the program has only {are}: further seeds repeat these, and `run` refuses them"
