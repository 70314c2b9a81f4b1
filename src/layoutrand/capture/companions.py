"""Which artefacts of a build need each other at run time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from layoutrand.cache.contents import content_of
from layoutrand.model import Binary, BuildFailure


def companions(rows: Mapping[str, Sequence[Binary | BuildFailure]]) -> dict[str, list[str]]:
    """For each artefact the others that it needs; ``rows`` has what became of the layouts of each."""
    if len(rows) < 2:
        return {artefact: [] for artefact in rows}
    from layoutrand.objects import dynamic  # which who has one program alone need not wait for

    parts = {}
    for artefact, row in rows.items():
        binary = next((result for result in row if isinstance(result, Binary)), None)
        parts[artefact] = dynamic.Dynamic() if binary is None else dynamic.read(content_of(binary.stored))
    return dynamic.companions(parts)
