"""Cases of harnesses that are named on the command line: told before anything is built, where results know better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from layoutrand.errors import UsageError

if TYPE_CHECKING:
    from layoutrand.cli.terminal import Terminal
    from layoutrand.config.config import Config


def known_benchmarks(config: Config, wanted: Sequence[str] | None) -> list[str]:
    """Those, and cases of harnesses; raises `UsageError` for a name that can be neither, before anything is built."""
    from layoutrand.config.config import choose
    from layoutrand.harnesses.case_names import entry_of

    names = [each.name for each in config.benchmarks]
    cased = [each.name for each in config.benchmarks if each.metric.by_case]
    unknown = [name for name in wanted or () if name in names or entry_of(name, cased) is None]
    choose("benchmark", unknown, names)  # whether there are such cases of a harness is known once they were executed
    return list(wanted or [])


def refuse_misspelt(
    names: Sequence[str], configs: Sequence[Config], directory: Path, commits: Mapping[str, str], terminal: Terminal
) -> None:
    """Raise `UsageError` for a case that one of the commits (-> label) is known not to have; warn where none is known.

    ``names`` are benchmarks and cases; ``configs`` declare them as ours and as those who execute the commits do.
    """
    from layoutrand.check.commit_pair import recorded_checks
    from layoutrand.harnesses.case_names import entry_of
    from layoutrand.library.reported_cases import reported_cases
    from layoutrand.results.file import results_path

    entries = [each.name for each in configs[0].benchmarks]
    cased = [each.name for each in configs[0].benchmarks if each.metric.by_case]
    for name in names:
        entry = None if name in entries else entry_of(name, cased)
        if entry is None:
            continue
        files = [results_path(directory), *recorded_checks(directory)]
        reported = reported_cases(files, configs, directory, entry)
        if refusal := reported.refusal(name, commits):
            raise UsageError(refusal)
        if doubt := reported.doubt(name):
            terminal.warn(doubt)
