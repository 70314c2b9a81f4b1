"""Profiles of clang (``-fprofile-use=FILE``), which name static functions by their file, as the compiler was given it.

Builds as CMake's give it absolute paths.  Those of a copy are others, so static functions have no profile there, and
clang says nothing of it; of ``-fprofile-instr-use`` only the last part of the path counts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from layoutrand.capture.capture_warnings import ProfileOfOtherPaths
from layoutrand.capture.workspace import Workspace
from layoutrand.platform.regular_file import ANY, content_of_regular

_FILE: Final = re.compile(rb"(/[^\0-\x1f;:]{1,1000}\.(?:c|cc|cpp|cxx|c\+\+|C))[;:]")
"""The file of a static function; clang 14 ends it by a colon, clang 19 by a semicolon."""
_INDEXED: Final = b"\xfflprofi\x81"


def profiles_of_other_paths(space: Workspace, tree: Path) -> list[ProfileOfOtherPaths]:
    """A warning for each profile that compilations in the tree used, and that has files of it by paths elsewhere."""
    try:
        noted = space.profiles.read_bytes().split(b"\0")[:-1]
    except FileNotFoundError:
        return []
    pairs = dict.fromkeys(zip(noted[::2], noted[1::2], strict=True))
    paths = dict.fromkeys(os.path.normpath(os.path.join(os.fsdecode(cwd), os.fsdecode(name))) for cwd, name in pairs)
    found = [(path, tuple(sorted(set(_files_elsewhere(path, tree))))) for path in paths]
    return [ProfileOfOtherPaths(os.path.basename(path), files) for path, files in found if files]


def _files_elsewhere(path: str, tree: Path) -> Iterator[str]:
    """Files of the tree, relative to it, that the profile has by a path elsewhere."""
    try:
        data = content_of_regular(path, largest=ANY)
    except OSError:  # a directory, or gone since
        return
    own = f"{tree}/"
    for name in set(map(os.fsdecode, _FILE.findall(data))) if data.startswith(_INDEXED) else ():
        parts = name.split("/")
        ends = ("/".join(parts[begin:]) for begin in range(1, len(parts)))
        inside = next((end for end in ends if end and (tree / end).is_file()), "")
        if inside and own not in name:
            yield inside
