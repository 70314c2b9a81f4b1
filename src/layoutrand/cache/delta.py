"""A content as a delta against another one, the base: Zstandard with the base as a prefix of what is compressed.

This is what ``zstd --patch-from`` does, and ``zstd -d --patch-from=BASE FILE.zst`` undoes it.  Layouts of one program
have the same functions in other places, far from where the base has them, with other addresses in them: so matches
begin at 16 bytes and reach as far as the two contents are long ("long distance matching").  With more work (levels
above 2) deltas are hardly smaller; with less (1) those of small programs are much larger, and made no sooner.

The library is that of Python from 3.14 on, before that the same one as a package.  Others for Python hand a base over
as a dictionary, in which Zstandard looks for no matches over long distances: deltas are four times as large then.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

from layoutrand.errors import ToolNotFound

_LEVEL: Final = 2
_SHORTEST_MATCH: Final = 16
_WINDOW: Final = range(10, 32)
"""Logarithms of how far back Zstandard can look on machines of 64 bits."""
_PIECE: Final = 1 << 16
"""Bytes decoded at once: for larger pieces the system is asked for new memory each time, which takes longer."""
_WORTH: Final = 0.9
"""What is not smaller than this part of a whole content is no gain."""
_GROWTH: Final = 4
_SPARE: Final = 1 << 20
"""A content is at most so many times as long as its base, and so many bytes: no delta takes memory without end."""


def zstandard() -> Any:
    """The module that compresses; raises `ToolNotFound` where it is not installed."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return import_module(name)
        except ImportError:
            continue
    own = "compression.zstd, which this Python was built without"
    missing = own if sys.version_info >= (3, 14) else "a library: pip install 'layoutrand[delta]'"
    raise ToolNotFound(f"layouts that are kept as deltas need {missing}")


class DeltaBase:
    """A content that others are deltas against; any number of threads may use it."""

    def __init__(self, content: bytes) -> None:
        """Take in the content; raises `ToolNotFound` without the library."""
        self._zstd = zstandard()
        self.size = len(content)
        # A content of fewer than eight bytes is no dictionary: nothing is a delta against that.
        self._prefix = self._zstd.ZstdDict(content, is_raw=True).as_prefix if self.size >= 8 else None
        self._longest = _GROWTH * self.size + _SPARE

    def encode(self, content: bytes) -> bytes | None:
        """The content as a delta; None where that gains nothing, or it is too long for one."""
        window = self._window(len(content))
        if self._prefix is None or len(content) > self._longest or window not in _WINDOW:
            return None
        parameter = self._zstd.CompressionParameter
        options = {
            parameter.compression_level: _LEVEL,
            parameter.window_log: window,
            parameter.enable_long_distance_matching: 1,
            parameter.ldm_min_match: _SHORTEST_MATCH,
            parameter.checksum_flag: 1,
        }
        delta: bytes = self._zstd.compress(content, options=options, zstd_dict=self._prefix)
        return delta if len(delta) < _WORTH * len(content) else None

    def decode(self, delta: bytes) -> Iterator[bytes]:
        """The content that the delta is of, in pieces; raises `ValueError` for one that is damaged or of another base.

        That may be noticed as late as after the last piece, and a delta against another base of this length by its
        checksum alone, which is no proof: see that the content is what it should be.
        """
        if self._prefix is None:
            raise ValueError("nothing is a delta against a content of a few bytes")
        try:
            yield from self._decoded(delta)
        except self._zstd.ZstdError as error:
            raise ValueError(str(error)) from error

    def _decoded(self, delta: bytes) -> Iterator[bytes]:
        zstd = self._zstd
        size = zstd.get_frame_info(delta).decompressed_size
        if size is None or size > self._longest:
            raise ValueError(f"its content is said to have {size} bytes, and the base has {self.size}")
        window = min(self._window(size), _WINDOW[-1])
        reader = zstd.ZstdDecompressor(self._prefix, {zstd.DecompressionParameter.window_log_max: window})
        left = size
        while not reader.eof and (piece := reader.decompress(delta, max_length=_PIECE)):
            delta = b""
            left -= len(piece)
            yield piece
        if not reader.eof or reader.unused_data or left:
            raise ValueError("it does not end where its content does")

    def _window(self, size: int) -> int:
        """The logarithm of a window over the base and a content of so many bytes."""
        return max(_WINDOW[0], (self.size + size).bit_length())
