"""What a user should be told beside a result: the base of all warnings.

A warning is a frozen value: its class is its kind, its fields are its figures.  Each stage has one module of kinds,
in which each kind words itself; ``str()`` is the sentence.  Whoever groups, drops or rewords warnings looks at their
classes and fields, never into sentences (`tests/project/test_warnings.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class AnyWarning(ABC):
    """One warning; a subclass is a kind, and equal ones say the same."""

    @abstractmethod
    def __str__(self) -> str:
        """The sentence, without a full stop."""

    @property
    def kind(self) -> Hashable:
        """What it has in common with those that may be told by one of them and a count."""
        return type(self)

    def beside_name(self) -> str:
        """The sentence for a place that has named what it is about: without the benchmark that it may begin with."""
        benchmark = getattr(self, "benchmark", "")
        return str(self).removeprefix(f"{benchmark}: ") if benchmark else str(self)

    def brief(self) -> str:
        """What was found, without what it means or helps, for a screen that has one line for it and names the rest."""
        return self.beside_name()


def sentences_of(warnings: Iterable[AnyWarning]) -> list[str]:
    """Warnings in words, as documents and pages hold them."""
    return [str(each) for each in warnings]


def plural(count: int, noun: str = "binary") -> str:
    """``1 binary``, ``3 binaries``, ``2,000 executions``."""
    return f"1 {noun}" if count == 1 else f"{count:,} {several(noun)}"


def several(noun: str) -> str:
    """``binaries``, ``executions``."""
    return noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
