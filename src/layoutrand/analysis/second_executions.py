"""What `run --twice` executed a second time, beside what it belongs to."""

from __future__ import annotations

from dataclasses import replace

from layoutrand.analysis.analysis_warnings import ExecutedAgain
from layoutrand.analysis.asked_results import Question
from layoutrand.analysis.present_captures import WantedCaptures
from layoutrand.analysis.selection import Selection, select
from layoutrand.config.doubled import with_second
from layoutrand.config.twice import second_of
from layoutrand.results.experiments import ResultsStore


def with_second_executions(selection: Selection, question: Question, store: ResultsStore) -> Selection:
    """The selection with what was executed of its systems a second time, from the same captures; itself where nothing.

    ``question`` is what the selection was chosen by.
    """
    captures = {execution.system: execution.capture for execution in selection.executions}
    known = {system for experiment, _ in store.experiments() for system in store.current_captures(experiment)}
    twice = [system for system in captures if second_of(system) in known]
    if not twice:
        return selection
    found = select(
        replace(
            question,
            config=with_second(question.config, twice),
            systems=[*captures, *map(second_of, twice)],
            captures={**captures, **{second_of(system): captures[system] for system in twice}},
            wanted=WantedCaptures(),
        ),
        store,
    )
    kinds = {ExecutedAgain, *(type(each) for each in found.warnings)}
    before = [each for each in selection.warnings if type(each) not in kinds]
    return replace(found, warnings=(*before, *found.warnings))
