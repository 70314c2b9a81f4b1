"""Profiles of gcc (``-fprofile-use=DIR``), whose names hold the path of the directory that was built.

In DIR gcc calls the profile of ``/src/a/b.o`` ``#src#a#b.gcda``, and where a copy of the source is built it looks for
the path of the copy.  Where there is none it compiles without, and only warns.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from layoutrand.capture.capture_warnings import MissingProfiles, Others
from layoutrand.linkers import linkline

_ENDING: Final = ".gcda"
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*[mK]")
_MISSING: Final = re.compile(r"([\w/#^.+~@:,-]+\.gcda)\b.*\[-W(?:error=)?missing-profile(?:\]|=)")
"""Its words are translated, the name of the option is not; without a file it is about a single function."""


def profiles_of(folder: Path, names: Iterable[str]) -> list[str]:
    """Those of the files whose names say that they are profiles of what was built in the folder."""
    begin = f"{_in_a_name(str(folder))}#"
    return [name for name in names if (last := os.path.basename(name)).startswith(begin) and last.endswith(_ENDING)]


def name_anew(tree: Path, folder: Path, profiles: Iterable[str]) -> None:
    """Give profiles of the folder, which the tree is a copy of, the names that they have in the tree, too."""
    was, now = _in_a_name(str(folder)), _in_a_name(str(tree))
    for name in profiles:
        where, last = os.path.split(name)
        again = tree / where / f"{now}{last.removeprefix(was)}"
        if not again.exists():
            again.hardlink_to(tree / name)


def missing_profiles(log: Path, tree: Path, *, is_copy: bool) -> list[MissingProfiles]:
    """The warning of profiles that gcc says in the log of a build in the tree that it did not find; none without."""
    missed: dict[str, str] = {}
    with log.open(encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            if "missing-profile" in line and (found := _MISSING.search(_COLOUR.sub("", line))):
                name, folder = _of_what(found[1], str(tree))
                missed.setdefault(name, folder)
    if not missed:
        return []
    folder = next(filter(None, missed.values()), "")
    return [MissingProfiles(tuple(sorted(missed)), folder, is_copy, _others(tree, folder))]


def _others(tree: Path, folder: str) -> Others:
    """What profiles there are of other objects; of a folder that is relative, anywhere in the tree."""
    where = folder if os.path.isabs(folder) else tree
    names = [name for _, _, files in os.walk(where) for name in files if name.endswith(_ENDING)]
    if not folder:
        return "of this path" if any("#" not in name for name in names) else "none"
    if any(name.startswith(f"{_in_a_name(str(tree))}#") for name in names):
        return "of this path"
    return "of another path" if any("#" in name for name in names) else "none"


def _of_what(path: str, tree: str) -> tuple[str, str]:
    """What a missing profile is of, by its name in the tree, and the directory in which gcc looks; "" beside it."""
    folder, last = os.path.split(path)
    own = f"{_in_a_name(tree)}#"
    if "#" not in last:
        return linkline.inside(path, tree) or path, ""
    name = last.removeprefix(own).replace("#", "/").replace("^", "..")
    return os.path.normpath(name), linkline.inside(folder, tree) or folder or "."


def _in_a_name(path: str) -> str:
    return path.replace("/", "#")
