"""What a user should be told beside a result: the base of all warnings.

A warning is a frozen value: its class is its kind, its fields are its figures.  Each stage has one module of kinds,
in which each kind words itself; ``str()`` is the sentence.  Whoever groups, drops or rewords warnings looks at their
classes and fields, never into sentences (`tests/project/test_warnings.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import Field, dataclass, field
from threading import Lock
from typing import Any, ClassVar, Final, Self, dataclass_transform

_completing: Final = Lock()


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class AnyWarning(ABC):
    """One warning; a subclass is a kind, and equal ones say the same.

    A kind becomes a frozen dataclass when the first of it is made: there are some two hundred, of which a command tells
    few, and to make dataclasses of all would be a tenth of what starting an analysis takes.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    _is_by_name: ClassVar[bool]
    _is_complete: ClassVar[bool]

    def __init_subclass__(cls, *, kw_only: bool = False) -> None:
        """``kw_only`` is that of `dataclasses.dataclass`, for the fields of this class."""
        super().__init_subclass__()
        cls._is_by_name = kw_only
        cls._is_complete = False

    def __new__(cls, *_arguments: Any, **_named: Any) -> Self:
        """One of the kind, which is complete by then."""
        if not cls._is_complete:
            complete(cls)
        return super().__new__(cls)

    @abstractmethod
    def __str__(self) -> str:
        """The sentence, without a full stop."""

    @property
    def kind(self) -> Hashable:
        """What it has in common with those that may be told by one of them and a count."""
        return type(self)

    def brief(self) -> str:
        """What was found, without what it means or helps, for a screen that has one line for it."""
        return str(self)


def complete(kind: type[AnyWarning]) -> None:
    """Make the kind, and those that it is one of, dataclasses, unless they are."""
    with _completing:
        for each in reversed(kind.__mro__):
            if issubclass(each, AnyWarning) and each is not AnyWarning:
                if "__dataclass_fields__" not in vars(each):
                    dataclass(frozen=True, kw_only=each._is_by_name)(each)  # noqa: SLF001 - this module's own
                each._is_complete = True  # noqa: SLF001 - now: other threads may make one as soon as it is said


def sentences_of(warnings: Iterable[AnyWarning]) -> list[str]:
    """Warnings in words, as documents and pages hold them."""
    return [str(each) for each in warnings]
