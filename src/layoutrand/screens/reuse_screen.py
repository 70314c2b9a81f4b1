"""What `build --explain` shows of a system, on any `Display`."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from layoutrand.screens.display import Display

if TYPE_CHECKING:
    from layoutrand.build.reuse import Binaries, ReuseExplanation, ReuseVerdict

_MOST_FILES = 12


def show_reuse(one: ReuseExplanation, page: Display) -> None:
    """What a build of one system would use again, and why not the rest."""
    if one.capture.state == "error":
        page.fail(f"{one.system}: {one.capture.reason}")
        return
    _show_verdict(f"{one.system}: capture", one.capture, page)
    if one.stock is not None:
        _show_verdict(f"{one.system}: stock build", one.stock, page, known=one.capture)
    for binaries in one.binaries:
        page.line(f"{one.system}: {_counted(binaries)}")
    page.line()


def _show_verdict(what: str, verdict: ReuseVerdict, page: Display, *, known: ReuseVerdict | None = None) -> None:
    """One verdict with the parts of its key; those that ``known`` has shown already are not shown again."""
    from layoutrand.build.why_again import told_files, told_part
    from layoutrand.cache.difference import unchanged

    latest = verdict.compared_with
    when = "" if latest is None else f" ({_when(latest.at)}, {latest.directory})"
    page.line(f"{what}: {verdict.state}: {verdict.reason}{when}")
    if verdict.shared_with:
        page.line(f"    shared with {', '.join(verdict.shared_with)}: equal keys, so it is built once")
    shown = set() if known is None else {told_part(part) for part in known.parts}
    new = [part for part in verdict.parts if part.change != "same" and told_part(part) not in shown]
    for part in new if latest is not None else ():
        page.line(f"    {told_part(part)}")
        if part.name in ("source.digest", "source.commit") and verdict.files is not None:
            for change, names in told_files(verdict.files, _MOST_FILES):
                page.line(f"        {change}: {names}")
    same = unchanged(list(verdict.parts))
    if same and known is None:
        page.line(f"    same: {', '.join(same)}")


def _counted(binaries: Binaries) -> str:
    asked = len(binaries.cached) + len(binaries.damaged) + len(binaries.missing)
    parts = [f"{len(binaries.cached)} of {asked} layouts are cached"]
    parts += [f"{len(names)} {kind}" for kind in ("damaged", "missing") if (names := getattr(binaries, kind))]
    return f"{binaries.artefact}: {', '.join(parts)}" + (f" ({binaries.reason})" if binaries.reason else "")


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")
