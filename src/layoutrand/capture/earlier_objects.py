"""What a build where the source is linked of an earlier one: objects that were there before it began.

They have the flags of whichever system was built there before, and nothing of them tells: their functions have sections
as those that this build compiles.  A copy of the source has no such objects but those that lie in the source.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from layoutrand.capture.records import LinkRecord
from layoutrand.capture.workspace import Workspace
from layoutrand.linkers import linkline

_OF_OBJECTS: Final = (".o", ".a")


def earlier_objects(records: Sequence[LinkRecord], space: Workspace, tree: Path) -> tuple[str, ...]:
    """Objects and archives in the tree that recorded links name and that are older than the wrappers of this build."""
    begun = max(each.lstat().st_mtime_ns for each in space.wrappers.iterdir())
    named = {
        record.absolute(word.text)
        for record in records
        for word in record.words()
        if word.kind == "input" and word.text.endswith(_OF_OBJECTS)
    }
    inside = {path: linkline.inside(path, str(tree)) for path in sorted(named)}
    return tuple(where for path, where in inside.items() if where is not None and _is_before(path, begun))


def _is_before(path: str, at_ns: int) -> bool:
    try:
        return os.stat(path).st_mtime_ns < at_ns
    except OSError:  # a build may remove what it has linked
        return False
