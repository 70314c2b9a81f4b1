"""What was learned of a program, so that its layouts are written without the linker, as it lies beside the capture.

::

    captures/<capture id>/<number>/learned-<format>.image    identity's file
    captures/<capture id>/<number>/learned-<format>.npz      what is changed in it for another order

Both are read through here: by who writes layouts, and by who reads a binary that is kept as its order.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from layoutrand.errors import NotPermuted
from layoutrand.platform.disk import cache_errors, sha256_bytes, write_atomically
from layoutrand.platform.regular_file import PROGRAM, content_of_regular

if TYPE_CHECKING:
    from layoutrand.permute.learned import LearnedTable

_IMAGE: Final = ".image"
_TABLE: Final = ".npz"
_NAME: Final = re.compile(r"[0-9]{1,9}/learned-[0-9]{1,9}\.image")


def image_path(capture: Path, number: int, form: int) -> Path:
    """Where the image is of what was learned of the ``number``-th link, in that format."""
    return capture / str(number) / f"learned-{form}{_IMAGE}"


def table_path(image: Path) -> Path:
    """Where the table lies beside the image."""
    return image.with_suffix(_TABLE)


def name_of_image(image: Path) -> tuple[str, str]:
    """The capture's id, and the image's path in the capture."""
    return image.parent.parent.name, f"{image.parent.name}/{image.name}"


def is_name_of_image(name: str) -> bool:
    """Whether it could be the path of an image in a capture."""
    return _NAME.fullmatch(name) is not None


def keep_learned(table: LearnedTable, image: Path) -> str:
    """Write both files, and give their digest; raises `CacheError`."""
    data = table.stored()
    with cache_errors("write", image):
        write_atomically(image, table.image)
        write_atomically(table_path(image), data)
    return learned_digest(data, table.image)


def read_learned(image: Path, digest: str) -> LearnedTable | None:
    """What was kept with that digest; None where it is not there, or another format's.

    Raises `NotPermuted` for what is not what was written.
    """
    from layoutrand.permute.learned import LearnedTable  # and numpy, which who finds whole files does without

    try:
        data, content = (content_of_regular(path, largest=PROGRAM) for path in (table_path(image), image))
    except FileNotFoundError:  # the capture was made again since
        return None
    except OSError as error:
        raise NotPermuted(f"what was learned of it is damaged ({error})") from error
    if learned_digest(data, content) != digest:
        raise NotPermuted("what was learned of it is damaged")
    return LearnedTable.of_stored(data, content)


def learned_digest(data: bytes, image: bytes) -> str:
    """The digest of both files' contents."""
    return sha256_bytes(sha256_bytes(data).encode(), sha256_bytes(image).encode())
