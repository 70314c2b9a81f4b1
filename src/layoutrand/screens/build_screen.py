"""What was built, and what could not be, on any `Display`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from layoutrand.errors import with_log, without_log
from layoutrand.screens.display import Display
from layoutrand.screens.failing import warn_folded
from layoutrand.text.name_lists import several_paths
from layoutrand.warning import plural

if TYPE_CHECKING:
    from layoutrand.build.build import SystemBuild
    from layoutrand.build.build_warnings import LinkedAllTheSame
    from layoutrand.model import BuildFailure, LayoutName


def show_build(results: Sequence[SystemBuild], page: Display) -> None:
    """What was built, as a table, what of it lies at the same addresses, then notes and failures."""
    from layoutrand.build.coincidence import coinciding_systems

    rows = []
    for result in results:
        linked = [binary for binary in result.binaries if not binary.cached]
        capture = result.capture
        rows.append(
            (
                result.system,
                "-" if capture is None else f"{sum(link.movable() for link in capture.links):,}",
                str(len(result.binaries)),
                str(len(linked)),
                str(len(result.binaries) - len(linked)),
                _verified(result),
                str(len(result.failures)),
                "-" if capture is None else f"{capture.build_s:.1f} s",
            )
        )
    columns = ("system", "placeable sections", "binaries", "made now", "cached", "verified", "failed", "build once")
    page.table("Binaries", columns, rows)
    if text := _of_artefacts(results):
        page.line(text)
    written = sum(binary.engine == "permute" for result in results for binary in result.binaries)
    if written:
        page.line(f"{written} of them written without a linker, and verified as linked ones are")
    for line in _unwritten(each for result in results for each in result.unwritten if each not in result.notes):
        page.line(line)
    for coinciding in coinciding_systems(binary for result in results for binary in result.binaries):
        page.line(str(coinciding))
    warn_folded((note for result in results for note in result.notes), page)
    show_failures([failure for result in results for failure in result.failures], page)


def _of_artefacts(results: Sequence[SystemBuild]) -> str:
    """How binaries of several artefacts are counted; "" where there is one."""
    artefacts = list(dict.fromkeys(binary.artefact for result in results for binary in result.binaries))
    if len(artefacts) < 2:
        return ""
    named = f"{len(artefacts)} artefacts ({several_paths(artefacts)})"
    counts = {(len(each.binaries), len({one.layout for one in each.binaries})) for each in results if each.binaries}
    n_binaries, n_layouts = next(iter(counts))
    text = f"each layout of a system is a binary of each of its artefacts: {named}"
    if len(counts) == 1 and n_binaries == len(artefacts) * n_layouts:
        text = f"{n_binaries:,} binaries of a system: {named}, each in {plural(n_layouts, 'layout')}"
    still = [artefact for artefact in artefacts if _is_the_same_in_all(artefact, results)]
    be = "is" if len(still) == 1 else "are"
    return f"{text}; {several_paths(still)} {be} the same for every seed" if still else text


def _is_the_same_in_all(artefact: str, results: Sequence[SystemBuild]) -> bool:
    """Whether all seeds have one file of it, in each system: nothing in it could move, only in the others."""
    files = [
        [each.sha256 for each in result.binaries if each.artefact == artefact and isinstance(each.layout, int)]
        for result in results
    ]
    return any(len(own) > 1 for own in files) and all(len(set(own)) < 2 for own in files)


def _unwritten(linked: Iterable[LinkedAllTheSame]) -> Iterator[str]:
    """Each reason once for which layouts were linked."""
    reasons: dict[str, list[LinkedAllTheSame]] = {}
    for each in linked:
        reasons.setdefault(each.reason, []).append(each)
    for reason, members in reasons.items():
        if len(members) == 1:
            yield str(members[0])
        else:
            what = f"{sum(each.linked for each in members):,} layouts of {len(members)} programs"
            yield f"{what} were linked, and not written without the linker: {reason}"


def _verified(result: SystemBuild) -> str:
    """``6 + stock``: stock is the user's own build, which there is nothing to verify against."""
    from layoutrand.model import STOCK

    count = sum(binary.verification is not None for binary in result.binaries)
    stock = len(result.binaries) - count
    if not stock:
        return str(count)
    return f"{count} + {STOCK}" if stock == 1 else f"{count} + {stock} {STOCK}"


def show_failures(failures: Sequence[BuildFailure], page: Display) -> None:
    """Failures: each cause once, with all systems and layouts that it concerns, and the log of the first."""
    causes: dict[str, list[BuildFailure]] = {}
    for failure in failures:
        causes.setdefault(failure.cause or without_log(failure.error, failure.log), []).append(failure)
    several = len({failure.artefact for failure in failures}) > 1
    for cause, members in causes.items():
        page.fail(with_log(f"{_concerned(members, artefacts=several)}: {cause}", members[0].log))


def _concerned(members: Sequence[BuildFailure], *, artefacts: bool) -> str:
    """``old, new (stock, identity, seeds 1..4)``; where they are not the same, ``old (stock), new (seeds 1..4)``."""
    layouts: dict[tuple[str, str], list[LayoutName]] = {}
    for each in members:
        layouts.setdefault((each.system, each.artefact if artefacts else ""), []).append(each.layout)
    alike: dict[str, list[tuple[str, str]]] = {}
    for what, own in layouts.items():
        alike.setdefault(_listed(own), []).append(what)
    return ", ".join(f"{_whats(whats)} ({listed})" for listed, whats in alike.items())


def _listed(layouts: Sequence[LayoutName]) -> str:
    from layoutrand.config.seeds import seeds_in_words

    seeds = [layout for layout in layouts if isinstance(layout, int)]
    names = sorted({layout for layout in layouts if not isinstance(layout, int)}, reverse=True)  # stock, identity
    return ", ".join([*names, *([seeds_in_words(seeds)] if seeds else [])])


def _whats(whats: Sequence[tuple[str, str]]) -> str:
    """``old prog, new lib``; where each of several artefacts failed in each system, ``old, new: prog, lib``.

    That is what one failed build of many artefacts leaves, whose pairs would hide what it says.
    """
    systems, artefacts = (list(dict.fromkeys(each[at] for each in whats)) for at in (0, 1))
    if len(artefacts) > 1 and len(whats) == len(systems) * len(artefacts):
        return f"{', '.join(systems)}: {several_paths(artefacts)}"
    return ", ".join(" ".join(filter(None, each)) for each in whats)
