"""Which sweep says more of a suspect: a function of it, at offsets that tell the mechanisms apart that are left."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from layoutrand.explain.data_use import ALIAS, STORE_LOAD
from layoutrand.explain.mechanisms import STRIDE, repeats_within
from layoutrand.explain.offsets import LINE
from layoutrand.explain.suspects import Explanation, Suspect
from layoutrand.linkers.known import linker

_STEPS: Final = 16
"""So many offsets of more than a line."""

_MANY: Final = 64
"""Of what branch predictors repeat within: entries are small."""


def with_sweeps(found: Explanation, benchmark: str, project: Path) -> Explanation:
    """The same, with a command for each suspect; ``benchmark`` is what commands call the one that was measured.

    None where no function can be moved alone.  ``project`` is where the configuration is, from here.
    """
    if linker(found.subject.link.linker).own_objects:
        return found
    return replace(
        found, suspects=tuple(replace(s, sweep=_sweep(found, s, benchmark, project)) for s in found.suspects)
    )


def _sweep(found: Explanation, suspect: Suspect, benchmark: str, project: Path) -> tuple[str, ...]:
    if suspect.feature.kind == STORE_LOAD:
        return _of_variable(found, suspect, benchmark, project)
    names = suspect.feature.functions or tuple(f.name for f in found.hotness.functions[:1])
    hot = next(f for f in found.hotness.functions if f.name == names[0])
    align = max(1, found.subject.link.sections[hot.section].align)
    candidates = () if suspect.cause is None else suspect.cause.candidates
    left = [each.mechanism for each in candidates if not each.out]
    words = _words(found, hot.name, benchmark, project)
    if left == ["aliasing"]:  # of equally far offsets hardly one may meet any
        return (*words, "--switch", "aliasing")
    periods = [repeats_within(name, found.hotness.caches) for name in left] or [suspect.feature.period]
    within = max(LINE, *periods, 2 * align)
    if within > LINE:
        step = max(within // (_MANY if within == STRIDE else _STEPS), align)
        words += ("--offset", f"0..{within - 1}", "--step", str(step))
    return (*words, "--cause")


def _of_variable(found: Explanation, suspect: Suspect, benchmark: str, project: Path) -> tuple[str, ...]:
    """That of the one of both that can be put to more places."""
    pair = next(p for p in found.hotness.pairs if (p.stored, p.loaded) == suspect.feature.functions)
    aligned = [max(1, found.subject.link.sections[section].align) for section in pair.sections]
    name, align = min(zip((pair.loaded, pair.stored), reversed(aligned), strict=True), key=lambda each: each[1])
    if 2 * align > ALIAS:
        return ()
    words = _words(found, name, benchmark, project)
    return (*words, "--offset", f"0..{ALIAS - 1}", "--step", str(max(ALIAS // _MANY, align)), "--cause")


def _words(found: Explanation, function: str, benchmark: str, project: Path) -> tuple[str, ...]:
    sample = found.subject.sample
    metric = () if sample.is_primary else ("--metric", sample.metric)
    where = () if project == Path() else ("-C", str(project))
    return ("layoutrand", "sweep", function, "--system", sample.system, "--benchmark", benchmark, *metric, *where)
