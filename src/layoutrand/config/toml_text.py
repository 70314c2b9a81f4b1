"""TOML as text: a table, or what is wrong with it in words, whatever the text is."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any, Final

from layoutrand.config.problems import key_path
from layoutrand.errors import ConfigError

DEEPEST: Final = 64
"""Tables and arrays within each other: far more than any key of ours needs."""

_LARGEST: Final = 2**64
"""TOML asks for whole numbers of 64 bits."""


def parse_table(text: str, path: str) -> dict[str, Any]:
    """The table that the ``text`` of the file called ``path`` is.

    Raises `ConfigError` for what is no TOML, and for what no key can hold: a number of more than 64 bits, and tables
    too deep in each other.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(path, [f"not valid TOML: {error}"]) from error
    except ValueError as error:  # Python converts no more than some thousand digits
        raise ConfigError(path, ["not valid TOML: a number of thousands of digits"]) from error
    except RecursionError as error:
        raise ConfigError(path, ["not valid TOML: arrays or tables are nested too deeply"]) from error
    if problems := list(_unusable(table, ())):
        raise ConfigError(path, problems)
    return table


def _unusable(value: Any, location: tuple[int | str, ...]) -> Iterator[str]:
    if isinstance(value, int) and abs(value) > _LARGEST:
        yield f"{key_path(location)}: is a number of more than 64 bits"
    elif isinstance(value, dict | list) and len(location) >= DEEPEST:
        yield f"{key_path(location[:1])}: holds more than {DEEPEST} tables or arrays within each other"
        return
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, inner in parts:
        yield from _unusable(inner, (*location, part))
