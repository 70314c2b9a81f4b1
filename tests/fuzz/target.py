"""What is attacked: a reader of outside data, samples that it takes, and how to change them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Form = Literal["bytes", "text", "json", "toml"]
Read = Callable[[bytes, Path], object]


@dataclass(frozen=True)
class Target:
    """A way into layoutrand for data that others wrote.

    ``read`` hands the bytes to the product; the directory is its own, and empty before the first example.
    ``samples`` are bytes that are taken without an error.  ``form`` says which changes go deeper than single bytes.
    ``cost`` divides the number of examples, for a reader that takes so many milliseconds.
    """

    name: str
    read: Read
    samples: Callable[[], tuple[bytes, ...]]
    form: Form = "text"
    cost: int = 1
    may_start: bool = False
    """Whether it may start programs, such as a compiler that is asked for its version."""

    also: tuple[type[BaseException], ...] = ()
    """What may leave beside the error tree, because it is the library's whose command line this is."""


def of_text(read: Callable[[str], object]) -> Read:
    """A reader that is given text: what is no UTF-8 arrives in the way that layoutrand decodes."""
    return lambda data, _: read(data.decode("utf-8", "surrogateescape"))


def of_bytes(read: Callable[[bytes], object]) -> Read:
    """A reader that touches no file."""
    return lambda data, _: read(data)


def fixed(*samples: str | bytes) -> Callable[[], tuple[bytes, ...]]:
    """Samples that are there already."""
    found = tuple(
        sample.encode("utf-8", "surrogateescape") if isinstance(sample, str) else sample for sample in samples
    )
    return lambda: found


def tree_of(data: bytes) -> Any:
    """What the changed JSON says; data that is none is another target's."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
