"""What was executed, what disturbed it and what failed, on any `Display`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from layoutrand.screens.display import Display
from layoutrand.screens.failing import Failures, executed_again, warn_folded
from layoutrand.warning import plural

if TYPE_CHECKING:
    from layoutrand.config.disturbance import Disturbed
    from layoutrand.execute.run_progress import Summary


def run_message(summary: Summary) -> str:
    """What was executed, in a sentence."""
    failed = f", {len(summary.failures)} failed" if summary.failures else ""
    unbuilt = f", {summary.unbuilt} have no binary" if summary.unbuilt else ""
    count = "1 node" if len(summary.nodes) == 1 else f"{len(summary.nodes)} nodes"
    nodes = f" on {count} ({', '.join(summary.nodes)})" if summary.nodes else ""
    left_out = sum(each.count for each in summary.not_executed)
    not_executed = f", {left_out} not executed" if left_out else ""
    waiting = f", {summary.waiting} no node could execute" if summary.waiting else ""
    missing = f"{failed}{unbuilt}{not_executed}{waiting}"
    return (
        f"{plural(summary.executed, 'execution')} now{nodes}, {summary.already} were there already{missing}; "
        f"results in {summary.results}"
    )


def warn_disturbed(disturbed: Sequence[Disturbed], page: Display) -> None:
    """What disturbed executions, and what each such thing means."""
    from layoutrand.config.disturbance import explanations, summed

    rows = dict.fromkeys(row.line() for row in summed(disturbed).values())
    for line in (*rows, *explanations(disturbed)):
        page.warn(line)


def show_run(
    summary: Summary, page: Display, told: Failures | None = None, *, again: str = "`layoutrand run --retry-failed`"
) -> None:
    """What was executed; ``told`` knows which failures were shown before, ``again`` is what executes those again."""
    told = Failures() if told is None else told
    page.line(run_message(summary))
    if summary.repeated:
        page.line(f"{summary.repeated} more were made because executions were disturbed; all are recorded")
    warn_disturbed(told.names.given_each(summary.disturbed), page)
    warn_folded(told.names.given_each(summary.too_short), page)
    seen = (*summary.unlike_outputs, *summary.changed_inputs, *summary.measuring_themselves)
    warn_folded(told.names.given_each(seen), page)
    for refusal in summary.refusals:
        page.fail(refusal)
    if not summary.total:
        page.fail("nothing to execute: no layout has a binary")
    told.conclude(summary.failures, page)
    warn_folded(told.names.given_each(summary.not_executed), page)
    told.of_cases(summary.failed_cases, page)
    if summary.failures:
        page.line(executed_again(summary, again))
