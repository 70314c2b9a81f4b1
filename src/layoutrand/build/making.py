"""Layouts of one captured artefact that are not in the cache: linked or written, here or by nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from layoutrand.build.artefact_task import ArtefactTask
from layoutrand.build.build_setup import BuildSetup, LinkingNodes, threads
from layoutrand.build.build_warnings import LearnedAgain, LinkedAllTheSame
from layoutrand.build.linking import Linking, Reference
from layoutrand.build.making_processes import MadeAtOnce
from layoutrand.build.permuting import PAYS_FROM, Permuting
from layoutrand.model import IDENTITY, Binary, BuildFailure, LayoutName
from layoutrand.platform.process import InTurn
from layoutrand.warning import AnyWarning


def make_layouts(
    task: ArtefactTask, missing: Sequence[LayoutName], found: Mapping[LayoutName, Binary]
) -> tuple[dict[LayoutName, Binary | BuildFailure], list[AnyWarning]]:
    """The missing layouts, and what there is to say of them; ``found`` are those that need not be made."""
    setup = task.setup
    jobs, policy = setup.jobs, setup.config.layout
    # One thread more than linkers, so that none of these waits while layouts are drawn and binaries verified; builds
    # that are made meanwhile take turns, too.
    runner = InTurn(setup.runner, setup.turns)
    linking = Linking(
        *(setup.cache, runner, jobs, policy, task.ld, task.capture, task.number),
        coupled=task.coupled,
        permuting=_permuting(task, sum(isinstance(layout, int) for layout in missing)),
    )
    made: dict[LayoutName, Binary | BuildFailure] = {}
    workers = jobs + (jobs > 1)
    with setup.cache.thread_scratch("link") as own_scratch, threads(setup, workers) as pool:
        if policy.storage == "delta":
            made, base = _made_for_base(task, linking, missing, found, own_scratch)
            linking = replace(linking, against=base)
        left = [layout for layout in missing if layout not in made]
        if setup.nodes is not None:
            known = {**found, **{layout: each for layout, each in made.items() if isinstance(each, Binary)}}
            made |= _on_nodes(setup, linking, setup.nodes, left, known, own_scratch)
        else:
            at_once = MadeAtOnce(linking, left, jobs=jobs, turns=setup.turns, progress=setup.progress)
            made |= at_once.make(pool, workers, own_scratch)
    made = {layout: made[layout] for layout in missing}
    return made, _remarks_on_writing(setup, linking, list(made.values()))


def _made_for_base(
    task: ArtefactTask,
    linking: Linking,
    missing: Sequence[LayoutName],
    found: Mapping[LayoutName, Binary],
    own_scratch: Callable[[], Path],
) -> tuple[dict[LayoutName, Binary | BuildFailure], Path | None]:
    """What had to be made to have a whole file for the others to be deltas against, and that file.

    That is identity's, or, where identity is neither in the cache nor asked for, that of any layout: one that is there,
    or else the first that can be made.
    """
    identity = found if IDENTITY in found else task.cached([IDENTITY])[0]
    present = [*(each for each in identity.values() if each.layout == IDENTITY), *found.values()]
    if IDENTITY not in missing and (whole := next((each for each in present if each.base is None), None)):
        return {}, whole.path
    made: dict[LayoutName, Binary | BuildFailure] = {}
    for layout in sorted(missing, key=lambda layout: layout != IDENTITY):
        made[layout] = result = _make(task.setup, linking, layout, own_scratch)
        if isinstance(result, Binary):
            return made, result.path
    return made, None


def _make(
    setup: BuildSetup, linking: Linking, layout: LayoutName, own_scratch: Callable[[], Path]
) -> Binary | BuildFailure:
    """Link, verify and store one layout in the thread's own scratch; an error becomes a record that names it."""
    try:
        return linking.make(layout, own_scratch)
    finally:
        setup.progress.advance()


def _on_nodes(
    setup: BuildSetup,
    linking: Linking,
    nodes: LinkingNodes,
    missing: Sequence[LayoutName],
    found: Mapping[LayoutName, Binary],
    own_scratch: Callable[[], Path],
) -> dict[LayoutName, Binary | BuildFailure]:
    """The missing layouts, linked by nodes: all but the first that can be, which is linked here for them to repeat."""
    results: dict[LayoutName, Binary | BuildFailure] = dict(found)
    for layout in missing:
        if not linking.few and any(isinstance(result, Binary) for result in results.values()):
            break
        results[layout] = _make(setup, linking, layout, own_scratch)
    left = [layout for layout in missing if layout not in results]
    first = next((result for result in results.values() if isinstance(result, Binary)), None)
    if left and first is not None:
        reference = Reference(first.layout, first.sha256)
        results |= nodes.link(linking, left, reference, setup.progress.advance)
    return {layout: results[layout] for layout in missing}


def _permuting(task: ArtefactTask, layouts: int) -> Permuting | None:
    """What writes so many layouts without the linker, where it need not make them."""
    policy = task.setup.config.layout
    here = policy.engine != "link" and task.setup.nodes is None
    return Permuting(task.setup.cache, task.capture, task.number, policy, task.ld, layouts) if here else None


def _remarks_on_writing(setup: BuildSetup, linking: Linking, row: Sequence[Binary | BuildFailure]) -> list[AnyWarning]:
    """What there is to say where layouts were to be written without the linker."""
    engine, permuting = setup.config.layout.engine, linking.permuting
    as_orders = setup.config.layout.storage == "order"
    names = linking.capture.system, linking.link.artefact
    remarks: list[AnyWarning] = [LearnedAgain(*names)] if permuting is not None and permuting.lost else []
    seeds = [each for each in row if isinstance(each, Binary) and isinstance(each.layout, int) and not each.cached]
    linked = sum(binary.engine == "link" for binary in seeds)
    reason = "nodes of a cluster make them" if permuting is None else permuting.refused
    few = permuting is None or not reason or linked < PAYS_FROM
    chosen = engine == "link" or (engine == "auto" and few and not as_orders)
    reason += "; they are kept as files" if as_orders else ""
    return [*remarks, LinkedAllTheSame(*names, reason, linked)] if linked and not chosen else remarks
