"""Warnings about the noise of executions, from which layout has to be told: the kinds, and the words of each."""

from __future__ import annotations

from dataclasses import dataclass

from layoutrand.text.quantities import at_most
from layoutrand.warning import AnyWarning


@dataclass(frozen=True)
class NoNoise(AnyWarning):
    """Nothing shows what executions of one binary differ by; ``is_imported`` as of `Sample`."""

    is_imported: bool = False

    def __str__(self) -> str:
        ways = (
            "execute each twice, or stock beside them, and import that"
            if self.is_imported
            else "set run.executions = 2, or execute stock as a control"
        )
        return (
            "each binary was executed once and there are no repeated executions of stock, so layout cannot be told "
            f"from the noise of executions; {ways}"
        )

    def brief(self) -> str:
        """What was found."""
        return "each binary was executed once and nothing shows the noise of executions"


@dataclass(frozen=True)
class NoisyStock(AnyWarning):
    """Less variation between layouts than between executions of one."""

    def __str__(self) -> str:
        return (
            "the executions of stock and identity vary more than the layouts do, by more than chance explains: the "
            "noise was not the same for both, so what layout adds may be more than can be seen here"
        )

    def brief(self) -> str:
        """What was found."""
        return "executions of stock and identity vary more than the layouts do"


@dataclass(frozen=True)
class WithinNoise(AnyWarning):
    """Layouts differ no more than executions do; layout adds at most ``upper`` over the mean, where that is known."""

    upper: float | None

    def __str__(self) -> str:
        most = "" if self.upper is None or self.upper >= 1 else f", so layout may add up to {at_most(self.upper)} %"
        return f"layouts differ no more clearly than executions of one binary do{most}"


@dataclass(frozen=True)
class UntestedLayout(AnyWarning):
    """Statistics had a reason to refuse the test."""

    reason: str

    def __str__(self) -> str:
        return f"whether layout matters cannot be tested: {self.reason}"
