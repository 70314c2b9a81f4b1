"""Records as they are stored: sealed against damage, and bound to the key that they are stored under.

A seal says that a record is whole, and nothing of where it belongs: of two whole records that change places each is
still whole.  So what a key gave is stored with the key, and with what the key is a digest of.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from layoutrand.platform.disk import sha256_bytes

_SCHEMA: Final = "layoutrand/key/1"
RecordState = Literal["none", "damaged", "without its key", "of another key", "whole"]
"""What there is under a key.  Records without their keys are those of the layoutrands before there was `_SCHEMA`."""


@dataclass(frozen=True)
class KeyRecord:
    """What a ``key`` gave: the ``value``, for which ``system``, and the ``facts`` of which the key is a digest.

    System and facts are empty where the key is of something else than a build.
    """

    key: str
    value: Mapping[str, Any]
    system: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    def stored(self) -> bytes:
        """The record as it is stored."""
        return sealed({"schema": _SCHEMA, **vars(self)})


def key_record(data: bytes, key: str) -> tuple[KeyRecord | None, RecordState]:
    """The record that is stored under the key, None for one that is not the key's, and what it is then."""
    try:
        table = unsealed(data)
    except ValueError:
        return None, "damaged"
    if table.pop("schema", None) != _SCHEMA:
        return None, "without its key"
    try:
        found = KeyRecord(**table)
    except TypeError:
        return None, "damaged"
    return (found, "whole") if found.key == key else (None, "of another key")


_SEAL_SIZE = len('{"seal":"') + 64 + len('",')


def _seal_of(body: bytes) -> bytes:
    return f'{{"seal":"{sha256_bytes(body)}",'.encode()


def sealed(value: Mapping[str, Any]) -> bytes:
    """JSON as it is stored, compact, with a first key "seal" that holds the SHA-256 of what follows it."""
    body = json.dumps(value, separators=(",", ":"), sort_keys=True).encode() + b"\n"
    return _seal_of(body[1:]) + body[1:]


def unsealed(data: bytes) -> dict[str, Any]:
    """The value of a sealed record without its seal; raises ValueError if one does not fit the other."""
    body = data[_SEAL_SIZE:]
    if data[:_SEAL_SIZE] != _seal_of(body):
        raise ValueError("the record is damaged")
    value: dict[str, Any] = json.loads(b"{" + body)
    return value
