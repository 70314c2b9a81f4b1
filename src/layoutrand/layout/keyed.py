"""Keyed hashes: the only source of order and chance in layouts and schedules.

Things are ordered by sorting on ``keyed_hash(seed, stream, identity)`` and never by a generator's shuffle: there is
no state, no library whose next release may draw differently, and adding one item leaves the relative order of the
others alone.  The construction is pinned by golden values in the tests; changing it would change every binary that
anyone ever cited, so it carries a version and a new version would stand beside it, not replace it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from layoutrand.errors import UsageError
from layoutrand.model import MAX_SEED

if TYPE_CHECKING:  # which commands that draw no order need not wait for
    import numpy as np
    from numpy.typing import NDArray

_VERSION = b"layoutrand/1"
DIGEST_SIZE = 16


def keyed_hash(seed: int, stream: str, identity: bytes) -> bytes:
    """16 bytes that depend on the seed (0 ... 2^64-1), the stream's name and the identity alone.

    The seed and stream form the key of BLAKE2b, so that seeds 1, 2, 3 give unrelated orders and two streams of one
    seed (function order, schedule) are independent.
    """
    return _keyed(seed, stream, identity).digest()


def keyed_uniform(seed: int, stream: str, identity: bytes, below: int) -> int:
    """An integer in 0 ... below-1; the 128-bit hash makes the modulo bias smaller than 2^-64 for below < 2^64."""
    return int.from_bytes(keyed_hash(seed, stream, identity), "big") % below


def keyed_order(seed: int, stream: str, identities: Iterable[bytes]) -> list[int]:
    """Indices of the identities in the order of their keyed hashes; equal identities keep their relative order."""
    order: list[int] = keyed_permutation(seed, stream, identities).tolist()
    return order


def keyed_permutation(seed: int, stream: str, identities: Iterable[bytes]) -> NDArray[np.intp]:
    """As `keyed_order`, shape (n,)."""
    import numpy as np

    prefix = _keyed(seed, stream, b"")
    hashes = []
    for identity in identities:
        hasher = prefix.copy()
        hasher.update(identity)
        hashes.append(hasher.digest())
    halves = np.frombuffer(b"".join(hashes), ">u8").reshape(-1, DIGEST_SIZE // 8)
    first = halves[:, 0].astype(np.uint64)
    order = np.argsort(first)
    first = first[order]
    if (first[1:] == first[:-1]).any():
        order = np.lexsort(halves.T[::-1])  # stable, as sorting the digests would be
    return order


def _keyed(seed: int, stream: str, identity: bytes) -> hashlib.blake2b:
    if not 0 <= seed <= MAX_SEED:
        raise UsageError(f"seed {seed} is outside 0 ... 2^64-1")
    key = seed.to_bytes(8, "big") + hashlib.blake2b(stream.encode(), digest_size=16).digest()
    return hashlib.blake2b(identity, digest_size=DIGEST_SIZE, key=key, person=_VERSION)
