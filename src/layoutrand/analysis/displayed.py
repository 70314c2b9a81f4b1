"""A selection under the names that people read (`analysis/display_names.py`).

It is given its labels before it is analysed, so that tables, sentences, warnings and figures all have them.
"""

from __future__ import annotations

from dataclasses import replace

from layoutrand.analysis.analysis_warnings import ExecutedAgain
from layoutrand.analysis.display_names import DisplayNames
from layoutrand.analysis.selection import Selection
from layoutrand.warning import AnyWarning


def displayed(selection: Selection) -> Selection:
    """The same selection under the names that people read; itself where there are no labels."""
    names = selection.names
    if not names.systems and not names.benchmarks:
        return selection
    return replace(
        selection,
        samples=names.given_each(selection.samples),
        executions=names.given_each(selection.executions),
        failures=names.given_each(selection.failures),
        felt=names.given_each(selection.felt),
        build_failures=names.given_each(selection.build_failures),
        sources=names.given_each(selection.sources),
        warnings=tuple(_reworded(each, names) for each in selection.warnings),
        programs=replace(
            selection.programs,
            arguments={names.system(name): words for name, words in selection.programs.arguments.items()},
            told_by_file=frozenset(map(names.benchmark, selection.programs.told_by_file)),
            digests={
                (names.system(system), names.benchmark(benchmark)): layouts
                for (system, benchmark), layouts in selection.programs.digests.items()
            },
        ),
        made={names.system(name): words for name, words in selection.made.items()},
        tools={names.system(name): words for name, words in selection.tools.items()},
    )


def _reworded(warning: AnyWarning, names: DisplayNames) -> AnyWarning:
    """A warning that names what people read; one that tells a command keeps what that takes."""
    if isinstance(warning, ExecutedAgain):
        return warning
    return names.given(warning)
