"""Failed executions on a `Display`: the first of each cause as it happens, and in the end how many more, and of what.

A program that is wrong is wrong in every layout: the second line that says so hides what else went wrong.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from layoutrand.instruments.program_output import without_last_words
from layoutrand.warning import plural

if TYPE_CHECKING:
    from layoutrand.analysis.display_names import DisplayNames
    from layoutrand.execute.run_progress import Summary
    from layoutrand.execute.run_warnings import CasesFailed
    from layoutrand.model import Execution, LayoutName
    from layoutrand.screens.display import Display
    from layoutrand.warning import AnyWarning

MOST_LINES: Final = 30
"""Lines about single failures, and about causes, where the reasons differ from one failure to the next."""

_MOST_NAMES: Final = 3
"""Names in a row, and warnings of one kind, that are told each."""

_NO_FILE: Final = re.compile(
    r"\b(no such file or directory|ENOENT|file not found|could ?n[o']t find .*file)\b", re.IGNORECASE
)
"""What programs say where a file is not there, in words of the C library, of Rust, Go, Python and others."""

_NO_LIBRARY: Final = "shared object file"
"""In what the dynamic linker says, which reads no files of the benchmark."""

_IN_COPY: Final = re.compile(r"/b[0-9a-f]{8}-\d{7}-\w{8}/src\b")
"""Where a build had its copy of the source (`layoutrand.capture.workspace`)."""

_Place = tuple[str, str, "LayoutName", str, int, int]


class Failures:
    """What one call says of failed executions; all of them are in its JSON document and in the results."""

    def __init__(self, names: DisplayNames | None = None) -> None:
        """Begin with nothing told; ``names`` are those that people read."""
        from layoutrand.analysis.display_names import DisplayNames

        self.names = names or DisplayNames()
        self._said: dict[str, _Place] = {}
        self._held_back = False
        self._cases: set[tuple[str, str]] = set()

    def happened(self, execution: Execution, page: Display) -> None:
        """One more failed; it is told, unless one of its cause was."""
        execution = self.names.given(execution)
        if self._tell(execution, page):
            return
        if not self._held_back:
            self._held_back = True
            page.fail("further failures like these are counted at the end")

    def conclude(self, failures: Sequence[Execution], page: Display) -> None:
        """All that failed: the first of each cause that was not told yet, then how many more, and of what."""
        from layoutrand.execute.cases import process_of, processes

        causes: dict[str, list[Execution]] = {}
        for execution in self.names.given_each(failures):
            self._tell(execution, page)
            causes.setdefault(_cause(execution), []).append(execution)
        # A process of a harness has failed once, however many cases it has.
        told = {
            cause: {process_of(each) for each in members if _place(each) == self._said.get(cause)}
            for cause, members in causes.items()
        }
        left = {
            cause: more
            for cause, members in causes.items()
            if (more := [each for each in members if process_of(each) not in told[cause]])
        }
        for cause, members in list(left.items())[:MOST_LINES]:
            page.fail(_several(members, causes[cause], more=cause in self._said))
        untold = list(left.values())[MOST_LINES:]
        if untold:
            count = plural(sum(map(processes, untold)), "more execution")
            page.fail(f"{count}, for {plural(len(untold), 'other reason')}; `layoutrand analyse --json` lists all")

    def of_cases(self, failed: Iterable[CasesFailed], page: Display) -> None:
        """Cases of harnesses without numbers, those of one entry and one reason once in the whole call."""
        for each in self.names.given_each(failed):
            if (each.benchmark, each.reason) not in self._cases:
                self._cases.add((each.benchmark, each.reason))
                page.fail(str(each))

    def _tell(self, execution: Execution, page: Display) -> bool:
        """Say it, unless enough was said; whether it has been said."""
        told = self._said.get(_cause(execution))
        if told is not None or len(self._said) >= MOST_LINES:
            return told == _place(execution)
        self._said[_cause(execution)] = _place(execution)
        page.fail(_sentence(execution))
        return True


def failed_executions(count: int) -> str:
    """How many executions are in no number."""
    return f"{'1 execution failed and is' if count == 1 else f'{count:,} executions failed and are'} not in the numbers"


def executed_again(summary: Summary, again: str) -> str:
    """What executes failed executions again, which without a change helps none that could never succeed."""
    left_out = sum(each.count for each in summary.not_executed)
    fruitless = {(each.system, each.benchmark, each.instrument) for each in summary.not_executed}
    failed = {(each.system, each.benchmark, each.instrument) for each in summary.failures}
    if failed <= fruitless or len(summary.failures) + left_out == summary.total > 1:
        statuses = {each.status for each in summary.failures}
        if statuses == {"no-measurement"}:  # which the program, its flags or the metric may be at fault for
            return f"mend what the reason names; then {again} executes failed ones again"
        again = f"then {again} executes failed ones again"
        where = _where_files_are([each.reason for each in summary.failures if each.status in {"exit", "signal"}])
        if where:
            return f"{where}; {again}"
        ends_so = statuses <= {"exit"}
        told = ", or name its status in expect_status if all is well" if ends_so else ""
        return f"mend the command in layoutrand.toml, or what it reads{told}; {again}"
    return f"{again} executes failed ones again"


def _where_files_are(reasons: Sequence[str]) -> str:
    """Where programs that found no file look for it, and where they can; "" where no reason is of that."""
    if any(_IN_COPY.search(each) for each in reasons):
        return (
            "its build wrote down the path of the source, which is a copy that is removed after the build: have it "
            "name the project's own directory, as by -DDATA_DIR=... in cflags"
        )
    if any(_NO_FILE.search(each) and _NO_LIBRARY not in each for each in reasons):
        return (
            'an execution begins in an empty directory: copy what it reads there by files = ["..."], or begin its '
            'command with "env", "-C", "{project}"'
        )
    return ""


def warn_folded(warnings: Iterable[AnyWarning], page: Display) -> None:
    """Each kind of warning once, with how many more there are of it; documents have all."""
    kinds: dict[Hashable, list[AnyWarning]] = {}
    for warning in _of_each_system(warnings):
        kinds.setdefault(warning.kind, []).append(warning)
    for members in kinds.values():
        if len(members) <= _MOST_NAMES:
            for each in members:
                page.warn(str(each))
        else:
            page.warn(f"{members[0]} (and {len(members) - 1} more like this; --json lists all)")


def _of_each_system(warnings: Iterable[AnyWarning]) -> list[AnyWarning]:
    """The warnings, each once; of links of several systems that have the same remark, one that names them."""
    from layoutrand.build.build_warnings import RecordedWarning

    told = list(dict.fromkeys(warnings))
    systems: dict[tuple[str, str], list[str]] = {}
    for each in told:
        if isinstance(each, RecordedWarning):
            systems.setdefault((each.artefact, each.recorded), []).append(each.system)
    named = {what: ", ".join(of) if len(of) <= _MOST_NAMES else f"{len(of)} systems" for what, of in systems.items()}
    return list(
        dict.fromkeys(
            replace(each, system=named[each.artefact, each.recorded]) if isinstance(each, RecordedWarning) else each
            for each in told
        )
    )


def _cause(execution: Execution) -> str:
    return without_last_words(execution.reason)


def _place(execution: Execution) -> _Place:
    """What tells it from others of its cause, but for attempts: of these the last one alone is told at the end."""
    where = execution.system, execution.benchmark, execution.layout, execution.instrument
    return (*where, execution.round, execution.repetition)


def _several(members: Sequence[Execution], whole: Sequence[Execution], *, more: bool) -> str:
    """Failures of one cause in a line, of a ``whole``; ``more`` where one of it was told by itself."""
    from layoutrand.execute.cases import processes

    first, count = members[0], processes(members)
    if len(members) == 1:
        return _sentence(first)
    start = f"{_places(members, whole)}: {count} {'more' if more else 'execution' if count == 1 else 'executions'}"
    return f"{start}: {_cause(first) if more else first.reason}"


def _places(members: Sequence[Execution], whole: Sequence[Execution]) -> str:
    """Systems, benchmarks, layouts; where the systems have not the same ones, which has which, unless that is long."""
    if len(set(_by_system(whole).values())) == 1:
        return f"{_names('system', (each.system for each in members))}, {_what_of(members)}"
    alike: dict[str, list[str]] = {}
    for system, what in _by_system(members).items():
        alike.setdefault(what, []).append(system)
    if len(alike) <= _MOST_NAMES:
        return "; ".join(f"{_names('system', systems)}, {what}" for what, systems in alike.items())
    return f"{_names('system', (each.system for each in members))}, {_what_of(members)}, not all of each"


def _by_system(members: Sequence[Execution]) -> dict[str, str]:
    """Of each system benchmarks and layouts."""
    systems = dict.fromkeys(each.system for each in members)
    return {name: _what_of([each for each in members if each.system == name]) for name in systems}


def _what_of(members: Sequence[Execution]) -> str:
    return f"{_names('benchmark', (each.benchmark for each in members))}, {_layouts(members)}"


def _names(what: str, names: Iterable[str]) -> str:
    known = list(dict.fromkeys(names))
    if len(known) == 1:
        return f"{what} {known[0]}"
    return f"{what}s {', '.join(known)}" if len(known) <= _MOST_NAMES else f"{len(known)} {what}s"


def _layouts(members: Sequence[Execution]) -> str:
    """``seeds 4..30, stock``."""
    from layoutrand.config.seeds import seeds_in_words

    seeds = [execution.layout for execution in members if isinstance(execution.layout, int)]
    names = dict.fromkeys(execution.layout for execution in members if not isinstance(execution.layout, int))
    return ", ".join([*([seeds_in_words(seeds)] if seeds else []), *names])


def _sentence(execution: Execution) -> str:
    from layoutrand.config.seeds import layout_in_words

    log = f"; output in {execution.log}" if execution.log else ""
    node = f", node {execution.node}" if execution.node else ""
    place = f"system {execution.system}, benchmark {execution.benchmark}, {layout_in_words(execution.layout)}{node}"
    return f"{place}: {execution.reason}{log}"
