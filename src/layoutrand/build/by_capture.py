"""Systems at commits under the names of their captures: commits that are one program are one system, executed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from layoutrand.build.build import SystemBuild
from layoutrand.config.at_commits import declared, name_at, renamed
from layoutrand.config.config import Config


def by_capture(config: Config, results: Sequence[SystemBuild]) -> tuple[Config, list[SystemBuild]]:
    """What was built of systems at commits, as systems at captures; what could not be built is left out.

    So what was executed of a program is found again whichever of its commits is asked for.  Of several commits of one
    program the first brings the binaries, and the others only what they were built from.
    """
    kept: list[SystemBuild] = []
    for result in results:
        if result.capture is None:
            continue
        name = name_at(declared(result.system), result.capture.id)
        is_known = any(other.system == name for other in kept)
        kept.append(
            replace(
                result,
                system=name,
                binaries=() if is_known else tuple(replace(each, system=name) for each in result.binaries),
                failures=() if is_known else tuple(replace(each, system=name) for each in result.failures),
                notes=(),
            )
        )
    systems = {each.system: config.systems[_at(results, each)] for each in kept}
    warmed = {name: declared(name) for name in systems}
    return renamed(config.model_copy(update={"systems": systems}), warmed), kept


def called_by_commits(results: Sequence[SystemBuild]) -> dict[str, str]:
    """Name at a capture -> name at the first commit that was built as that, which is what people know."""
    found: dict[str, str] = {}
    for result in results:
        if result.capture is not None:
            found.setdefault(name_at(declared(result.system), result.capture.id), result.system)
    return found


def _at(results: Sequence[SystemBuild], kept: SystemBuild) -> str:
    """The system at a commit that this capture was first built as."""
    assert kept.capture is not None
    ours = (declared(kept.system), kept.capture.id)
    return next(r.system for r in results if r.capture and (declared(r.system), r.capture.id) == ours)
