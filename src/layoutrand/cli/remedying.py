"""`layoutrand explain --remedy`: what is tried, what it did, and what to add to the build."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from layoutrand.cli.running import run_message
from layoutrand.cli.terminal import Display, Terminal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from layoutrand.analysis.display_names import DisplayNames
    from layoutrand.config.config import Config
    from layoutrand.execute.run_progress import RunProgress
    from layoutrand.explain.explain import ExplainSetup
    from layoutrand.explain.suspects import Explanation
    from layoutrand.explain.treated import RemedyOrder, Treatment


@dataclass(frozen=True)
class Remedying:
    """How remedies are tried: ``setup`` makes what is needed of a configuration."""

    config: Config
    project: Path
    order: RemedyOrder
    names: DisplayNames
    setup: Callable[[Config], ExplainSetup]


def remedy(explanation: Explanation, how: Remedying, terminal: Terminal) -> Treatment:
    """Try the remedies that there are for the system, and say what was executed for it.

    Raises `LayoutrandError` where none can be tried.
    """
    from layoutrand.cli.progress import show_progress
    from layoutrand.config.disturbance import explanations
    from layoutrand.execute.isolated import isolated
    from layoutrand.explain.remedies import remedies_of
    from layoutrand.explain.remedy import treat, with_remedies
    from layoutrand.linkers.toolbox import declared

    system = explanation.subject.sample.system
    toolchain = declared(how.config.systems[system].toolchain, how.project)
    config, candidates = with_remedies(how.config, system, remedies_of(toolchain))
    setup = how.setup(config)
    terminal.say(
        f"trying {len(candidates)} remedies of {system}: new layouts from seed {how.order.first} on, "
        f"{how.order.layouts} of each"
    )
    with (
        isolated(config.run.isolation) as executor,
        show_progress(terminal, how.order.confidence, how.names) as update,
    ):
        measuring = replace(setup, profiling=replace(setup.profiling, executor=executor))

        def advance(progress: RunProgress) -> None:
            update(progress)
            execution = progress.execution
            if execution.status != "ok":
                terminal.fail(f"{execution.system}, layout {execution.layout}: {execution.reason}")

        made = treat(explanation, measuring, candidates, how.order, advance)
    terminal.say(run_message(made.summary))
    for line in (*(row.line() for row in made.summary.disturbed), *explanations(made.summary.disturbed)):
        terminal.warn(line)
    return made


def show_treatment(found: Treatment, page: Display) -> None:
    """The recommendation, then what everything that was tried did."""
    from layoutrand.explain import remedy_words as words

    page.line()
    page.line(words.conclusion(found))
    if found.recommended is not None:
        page.line(words.how_to_use(found))
    page.line()
    page.table(words.TITLE, words.COLUMNS, words.rows(found))
    page.line()
    page.line(words.what_was_done(found))
    for problem in words.problems(found):
        page.fail(problem)
