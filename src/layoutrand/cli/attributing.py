"""`layoutrand run --attribute` and `layoutrand analyse --attribute`: each factor of the layout by itself."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from layoutrand.cli.options import ProjectPart
from layoutrand.cli.terminal import Terminal
from layoutrand.errors import UsageError
from layoutrand.library.recorded import Which, existing_results, load_selection
from layoutrand.screens.failing import failed_executions
from layoutrand.screens.layout_tables import show_selection_problems
from layoutrand.text.quantities import percent

if TYPE_CHECKING:
    from layoutrand.analysis.attribution import Attribution
    from layoutrand.analysis.selection import Selection
    from layoutrand.config.config import Config
    from layoutrand.config.layout_policy import LayoutPolicy


def each_factor(part: ProjectPart) -> Iterator[tuple[str, ProjectPart]]:
    """Every factor of ``layout.factors``, and the project with that factor alone; raises `UsageError` for one alone."""
    for factor, config in _alone(part.config).items():
        yield factor, replace(part, config=config)


def _alone(config: Config) -> dict[str, Config]:
    policies = config.layout.each_alone()
    if not policies:
        raise UsageError(
            f"--attribute compares factors of the layout, and {', '.join(config.layout.drawn)} is all that "
            'layout.factors draws; add some, as in factors = ["function-order", "data-order", "text-offset"]'
        )
    return {factor: _with_draws_of_its_own(config, factor, policy) for factor, policy in policies.items()}


def _with_draws_of_its_own(config: Config, factor: str, policy: LayoutPolicy) -> Config:
    """Environment sizes and offsets are drawn anew: of one seed they would be the same in all, and go along."""
    from layoutrand.layout.keyed import keyed_uniform

    own = keyed_uniform(config.run.schedule_seed, "attribute", factor.encode(), 2**64)
    run = config.run.model_copy(update={"schedule_seed": own})
    return config.model_copy(update={"layout": policy, "run": run})


def show_attribution(
    part: ProjectPart, which: Which, *, metrics: Sequence[str], confidence: float, terminal: Terminal
) -> None:
    """How much of what layout adds each factor adds, of what ``which`` chooses among the results."""
    from layoutrand.analysis.attribution import attribute, attribution_json
    from layoutrand.analysis.displayed import displayed

    directory, systems, benchmarks = part.directory, part.systems, part.benchmarks
    alone = _alone(part.config)
    whole = load_selection(part.config, directory, systems, benchmarks, which)
    recorded = _recorded(directory, alone)
    found: dict[str, Selection | None] = {
        factor: load_selection(each, directory, systems, benchmarks, which) if factor in recorded else None
        for factor, each in alone.items()
    }
    if not terminal.json:
        whole = displayed(whole)
        found = {factor: None if each is None else displayed(each) for factor, each in found.items()}
    attributions = attribute(whole, found, confidence=confidence, metrics=metrics)
    if terminal.json:
        rows = [attribution_json(each) for each in attributions]
        terminal.document({"schema": "layoutrand/attribution/1", "attributions": rows})
        return
    for each in attributions:
        _show(each, len(attributions) > 1, terminal)
    for factor, selection in found.items():
        if selection is not None and selection.failures:
            terminal.warn(f"{factor} alone: {failed_executions(len(selection.failures))}")
    show_selection_problems(whole, list(whole.warnings), terminal)
    if any(part.verdict == "not executed" for each in attributions for part in each.parts):
        words = ["layoutrand", "run", "--attribute", *(word for name in systems for word in ("--system", name))]
        terminal.line(f"Next: {shlex.join(words)}")


def _recorded(directory: Path, alone: dict[str, Config]) -> set[str]:
    """The factors that were executed alone, on whatever machine."""
    from layoutrand.execute.experiment import current_experiment, same_question
    from layoutrand.results.file import open_for_reading

    with open_for_reading(existing_results(directory)) as store:
        there = [experiment for experiment, count in store.experiments() if count]
    return {
        factor
        for factor, config in alone.items()
        if any(same_question(each, current_experiment(config.here())) for each in there)
    }


def _show(found: Attribution, is_one_of_several: bool, terminal: Terminal) -> None:
    from layoutrand.analysis.attribution_words import answer, cells, sd_words

    whole = found.whole
    terminal.sentence(f"{whole.system}, {whole.benchmark}: {answer(found)}")
    rows = [("all together", sd_words(found.whole_sd), "", "")]
    sure = percent(found.confidence, 0)
    terminal.table(
        f"{whole.metric}, {whole.n_binaries} layouts; intervals {sure}, shares together as well",
        ("drawn", "layout adds", "of the variance", "verdict"),
        [*rows, *(cells(part) for part in found.parts)],
    )
    if is_one_of_several:
        terminal.line()
