"""Which recorded captures are those of the present configuration and source; what is not is never taken for it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from layoutrand.analysis.analysis_warnings import NewFiles, NotCompared, ShownThoughOld, SystemLeftOut
from layoutrand.build.present_parts import Difference, PresentSystem, built_in
from layoutrand.config.twice import first_of
from layoutrand.errors import AnalysisError
from layoutrand.model import BuiltFrom, Context, Execution
from layoutrand.warning import AnyWarning, plural


@dataclass(frozen=True)
class WantedCaptures:
    """Which of the recorded captures to take: those of the present, unless the user names some or wants any.

    ``captures`` are ids or their beginnings; ``any_source`` takes what was executed last, whatever there is now.
    ``look`` finds out what systems would be made from now; None where that is settled (just after a run).
    """

    captures: Sequence[str] = ()
    any_source: bool = False
    look: Callable[[Collection[str]], Mapping[str, PresentSystem]] | None = None


@dataclass(frozen=True)
class Recorded:
    """What a results file has: executions, what captures were made from, and which were executed last.

    ``made`` is what `made_from` found in contexts; ``is_of_here`` where this machine executed, and so built, them.
    ``prebuilt`` systems are told by their files.
    """

    executions: Sequence[Execution]
    made: Mapping[tuple[str, str], Sequence[BuiltFrom]]
    last: Mapping[str, str]
    is_of_here: bool
    prebuilt: Collection[str] = ()


def made_from(contexts: Iterable[Context]) -> dict[tuple[str, str], list[BuiltFrom]]:
    """(System, capture) -> what it was built from, once for every source that gave it, the latest first."""
    found: dict[tuple[str, str], list[BuiltFrom]] = {}
    for context in reversed(list(contexts)):
        for built in built_in(context):
            known = found.setdefault((first_of(built.system), built.capture), [])
            if built not in known:
                known.append(built)
    return found


def source_of(made: Mapping[tuple[str, str], Sequence[BuiltFrom]], system: str, capture: str) -> str:
    """The commit, or the digest of the files, of a capture, in words; empty where it was not recorded."""
    return next((each.words for each in made.get((first_of(system), capture), ()) if each.words), "")


def choose_captures(
    recorded: Recorded, wanted: WantedCaptures, named: Collection[str], warnings: list[AnyWarning]
) -> dict[str, str]:
    """System -> the capture whose results are the present ones; systems that have none are left out, with a warning.

    Raises `AnalysisError` where a system was ``named`` or none is left, or no capture begins as was asked for.
    """
    own: dict[str, dict[str, int]] = {}
    for execution in recorded.executions:
        counts = own.setdefault(execution.system, {})
        counts[execution.capture] = counts.get(execution.capture, 0) + 1
    chosen = {system: recorded.last[system] for system in own if system in recorded.last}
    chosen |= _asked_for(own, wanted.captures, recorded)
    unsettled = [
        name for name in own if name in recorded.prebuilt or any(_is_told(name, c, recorded) for c in own[name])
    ]
    present = {} if wanted.look is None or not unsettled else wanted.look(unsettled)
    stale: dict[str, list[str]] = {}
    for system, now in present.items():
        if wanted.any_source or _is_asked_for(own[system], wanted.captures):
            warnings += _shown_though_old(system, now, recorded, chosen.get(system))
            continue
        found, of_it = _present_capture(system, list(own[system]), now, recorded, chosen.get(system))
        warnings += of_it
        if found is None:
            stale[system] = _what_there_is(system, own[system], now, recorded)
        else:
            chosen[system] = found
    if stale and (set(stale) & set(named) or len(stale) == len(own)):
        apart = [each for name in stale for c in own[name] for each in _differences(name, c, present[name], recorded)]
        raise AnalysisError(_refusal(stale, present, has_new_files=any(each.has_new_files for each in apart)))
    warnings += [SystemLeftOut(sum(own[name].values()), name, stale[name][0].strip(" -")) for name in stale]
    return {system: capture for system, capture in chosen.items() if system not in stale} | dict.fromkeys(stale, "")


def _present_capture(
    system: str, captures: Sequence[str], now: PresentSystem, recorded: Recorded, last: str | None
) -> tuple[str | None, list[AnyWarning]]:
    """The capture that the present gives, None where none of these is it; nothing known keeps the last one."""
    in_turn = sorted(captures, key=lambda capture: capture != last)
    differences = [(capture, each) for capture in in_turn for each in _differences(system, capture, now, recorded)]
    differences.sort(key=lambda pair: not pair[1].is_of_mode)
    if now.capture in captures and not any(c == now.capture and not d.parts for c, d in differences):
        return now.capture, []
    for capture, difference in differences:
        if not difference.parts and not difference.papers:
            return capture, [NotCompared(now.unknown)] if now.unknown else []
    for capture, difference in differences:
        if not difference.parts:
            return capture, [NewFiles(difference.papers)]
    if differences or (now.capture is not None and not now.unknown):
        return None, []
    return last or in_turn[0], [NotCompared(now.unknown)] if now.unknown else []


def _parts(system: str, capture: str, recorded: Recorded) -> list[Mapping[str, str]]:
    """The parts of each source that gave the system this capture, where they were recorded."""
    return [built.made_from for built in recorded.made.get((first_of(system), capture), ()) if built.made_from]


def _differences(system: str, capture: str, now: PresentSystem, recorded: Recorded) -> list[Difference]:
    """From each source that gave the capture."""
    return [now.difference(each, is_of_here=recorded.is_of_here) for each in _parts(system, capture, recorded)]


def _shown_though_old(system: str, now: PresentSystem, recorded: Recorded, capture: str | None) -> list[AnyWarning]:
    if capture is None or capture == now.capture:
        return []
    found = _differences(system, capture, now, recorded)
    if not found or any(not each.parts for each in found):
        return []
    return [ShownThoughOld(system, source_of(recorded.made, system, capture), found[0].parts)]


def _asked_for(own: Mapping[str, Mapping[str, int]], asked: Sequence[str], recorded: Recorded) -> dict[str, str]:
    found: dict[str, str] = {}
    for prefix in asked:
        matching = {(system, capture) for system in own for capture in own[system] if capture.startswith(prefix)}
        if not prefix or not matching or len({capture for _, capture in matching}) > 1:
            lines = [
                f"--capture {prefix}: {'several captures begin so' if matching else 'no results of such a capture'}. "
                "There are:",
                *(
                    f"  - {system}: {capture[:12]}, {plural(n, 'execution')}{_of(recorded, system, capture)}"
                    for system in own
                    for capture, n in own[system].items()
                ),
            ]
            raise AnalysisError("\n".join(lines))
        found |= dict(matching)
    return found


def _is_asked_for(captures: Iterable[str], asked: Sequence[str]) -> bool:
    return any(capture.startswith(prefix) for capture in captures for prefix in asked)


def _is_told(system: str, capture: str, recorded: Recorded) -> bool:
    return bool(_parts(system, capture, recorded))


def _of(recorded: Recorded, system: str, capture: str) -> str:
    source = source_of(recorded.made, system, capture)
    return f", of {source}" if source else ""


def _what_there_is(system: str, counts: Mapping[str, int], now: PresentSystem, recorded: Recorded) -> list[str]:
    lines = []
    for capture, count in counts.items():
        found = _differences(system, capture, now, recorded)
        why = f": {'; '.join(found[0].parts)}" if found else ""
        lines.append(f"  - capture {capture[:12]}, {plural(count, 'execution')}{_of(recorded, system, capture)}{why}")
    return lines


def _refusal(stale: Mapping[str, Sequence[str]], present: Mapping[str, PresentSystem], *, has_new_files: bool) -> str:
    lines = []
    for system, there in stale.items():
        source = present[system].source
        is_now = f", which is {source} now" if source else ""
        lines += [f"no results of {system} as it is configured, or of its source{is_now}. There are:", *there]
    advice = (
        "`layoutrand run` executes what is there now. To see old results, name their --capture, or say --any-source "
        "for those that were executed last."
    )
    no_part = " New files that are no part of the program belong into build.exclude." if has_new_files else ""
    return "\n".join([*lines, advice + no_part])
