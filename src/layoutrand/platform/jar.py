"""Jars, which are Zip archives, opened so that whatever they are ends in one of our errors."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from layoutrand.errors import LayoutrandError
from layoutrand.platform.regular_file import ANY, open_regular

_DAMAGED: Final = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, ValueError, IndexError)
"""What `zipfile` raises for tables and contents that are not what they should be."""


@contextmanager
def opened_jar(jar: Path, refused: Callable[[str], LayoutrandError]) -> Iterator[zipfile.ZipFile]:
    """The jar, to be read; ``refused`` makes the error for one that is none, is damaged, or cannot be read."""
    try:
        with open_regular(jar, largest=ANY) as file, zipfile.ZipFile(file) as opened:
            yield opened
    except _DAMAGED as error:
        raise refused(f"{jar} is not a jar ({error}); was it downloaded whole?") from error
    except (OSError, RuntimeError, NotImplementedError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or error
        raise refused(f"cannot read {jar}: {why}") from error
