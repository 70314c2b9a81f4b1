"""All layouts of one captured artefact: found in the cache, or made now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from layoutrand.build.artefact_task import ArtefactTask
from layoutrand.capture.companions import companions
from layoutrand.link.one_layout import meaningless, nothing_to_move
from layoutrand.model import Binary, BuildFailure, LayoutName
from layoutrand.warning import AnyWarning


def artefact_layouts(
    task: ArtefactTask, layouts: Sequence[LayoutName], found: Mapping[LayoutName, Binary]
) -> tuple[list[Binary | BuildFailure], list[AnyWarning]]:
    """Every layout of one artefact, ``found`` in the cache or made now; and what there is to say of these."""
    results: dict[LayoutName, Binary | BuildFailure] = dict(found)
    remarks: list[AnyWarning] = []
    for _ in found:
        task.setup.progress.advance()
    if missing := [layout for layout in layouts if layout not in results]:
        from layoutrand.build.making import make_layouts

        made, remarks = make_layouts(task, missing, found)
        results |= made
    return [results[layout] for layout in layouts], remarks


def refuse_immovable(
    tasks: Sequence[ArtefactTask], rows: Mapping[str, list[Binary | BuildFailure]]
) -> dict[str, list[Binary | BuildFailure]]:
    """A program with nothing to move has no layouts, unless it needs artefacts that have some.

    Nor has one whose modules link-time optimisation mixes, of factors for modules: also where layouts are in the cache
    that an earlier version wrote all the same.
    """
    needs = companions(rows)
    few = {
        task.link.artefact: meaningless(task.link, task.setup.config.layout.drawn)
        or ("" if needs[task.link.artefact] else nothing_to_move(task.link, task.setup.config.layout))
        for task in tasks
    }
    return {
        artefact: [
            BuildFailure(result.system, artefact, result.layout, reason, None)
            if isinstance(result, Binary) and isinstance(result.layout, int) and (reason := few.get(artefact, ""))
            else result
            for result in row
        ]
        for artefact, row in rows.items()
    }
