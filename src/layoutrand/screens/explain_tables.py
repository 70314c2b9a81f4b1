"""What `explain` tells of suspects: the tables of `--full`, what became of them in new layouts, and of remedies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from layoutrand.screens.display import Screen
from layoutrand.screens.layout_tables import interval
from layoutrand.text.name_lists import first_names, joined_names
from layoutrand.text.quantities import percent

if TYPE_CHECKING:
    from layoutrand.explain.explain import Confirmed, Unexplained
    from layoutrand.explain.suspects import Explanation
    from layoutrand.explain.treated import Treatment

_SHOWN: Final = 10
"""Hot functions in the table."""

_NAMED: Final = 3
"""Benchmarks, systems and metrics of these for which one reason stands."""


def show_unexplained(found: Sequence[Unexplained], page: Screen) -> None:
    """Why these could not be looked at, each reason once."""
    benchmarks: dict[tuple[str, str, str], list[str]] = {}
    for each in found:
        benchmarks.setdefault((each.reason, each.system, each.metric), []).append(each.benchmark)
    systems: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for (reason, system, metric), names in benchmarks.items():
        systems.setdefault((reason, metric, tuple(names)), []).append(system)
    about: dict[str, list[str]] = {}
    for (reason, metric, of), named in systems.items():
        who = joined_names(named) if len(named) <= _NAMED else first_names(named, _NAMED)
        about.setdefault(reason, []).append(f"{first_names(of, _NAMED)}, {who}, {metric}")
    for reason, places in about.items():
        page.fail(f"{first_names(places, _NAMED, between='; ')}: {reason}")


def show_explanation(found: Explanation, page: Screen, *, hint: bool, is_tried: bool = False) -> None:
    """The answer; the suspects, if any, the hottest functions, and what was looked at.

    ``hint`` at --confirm; ``is_tried`` where new layouts have said already what to think of the suspects.
    """
    from layoutrand.explain import words

    page.sentence(words.answer(found, is_tried=is_tried))
    page.line()
    if found.suspects:
        _show_suspects(found, page, hint=hint)
        page.line()
    if found.hotness.functions:
        page.table(
            "Hot functions",
            ("function", "share of cost", "size"),
            [(f.name, percent(f.share, 1), f"{f.size:,} B") for f in found.hotness.functions[:_SHOWN]],
        )
        if len(found.hotness.functions) > _SHOWN:
            page.line(f"and {len(found.hotness.functions) - _SHOWN} more")
        page.line()
    page.sentence(words.looked_at(found))
    said = words.in_the_answer(found)
    for warning in found.warnings:
        if warning not in said:
            page.warn(f"{words.title(found)}: {warning}")


def _show_suspects(found: Explanation, page: Screen, *, hint: bool) -> None:
    from layoutrand.explain import words

    page.table(
        "Suspects: placements that go with worse layouts",
        ("suspect", "worse", "layouts", "worse / better", "interval", "explains", "adjusted p"),
        [
            (
                suspect.feature.words,
                words.worse_where(suspect.feature, suspect.split),
                f"{suspect.n_worse} / {suspect.n_better}",
                "-" if suspect.effect is None else f"{suspect.effect.centre:.4f}",
                "-" if suspect.effect is None else interval(suspect.effect),
                percent(suspect.share, 0),
                f"{suspect.p_value:.2g}",
            )
            for suspect in found.suspects
        ],
    )
    page.line()
    for suspect in found.suspects:
        if suspect.alike:
            alike = first_names(suspect.alike, 3, between="; ")
            page.sentence(f"with {suspect.feature.words} go also: {alike}")
    for suspect in found.suspects:
        if suspect.cause:
            page.sentence(words.cause_of(found, suspect))
        if command := words.next_step(suspect):
            page.line(command)
    unseen = [words.not_seen(found, suspect) for suspect in found.suspects]
    for text in dict.fromkeys([*unseen, words.not_looked_at(found)]):
        if text:
            page.sentence(text)
    if found.predicted is None or found.predicted > 0:  # that they predict nothing, the answer says
        page.sentence(words.predicted(found))
    page.sentence(
        "a suspect goes with worse layouts, which does not prove that it makes them worse; and what was chosen for "
        "being large is too large on average" + (": --confirm 15 looks at it in new layouts" if hint else "")
    )


def show_confirmations(found: Explanation, confirmed: Confirmed, page: Screen, *, in_full: bool) -> None:
    """What became of the suspects in new layouts: a sentence for each, and ``in_full`` a table, too."""
    from layoutrand.explain.words import of_confirmation, title

    for problem in confirmed.problems:
        page.fail(problem)
    made = confirmed.confirmations
    if not made:
        return
    for each in made:
        page.sentence(f"{title(found)}: {of_confirmation(found, each)}")
    page.line()
    if not in_full:
        return
    page.table(
        "Confirming experiment: new layouts, chosen by the suspect's placement alone",
        ("suspect", "layouts", "worse / better", "interval", "found before", "verdict"),
        [
            (
                each.groups.suspect.feature.words,
                f"{each.n_worse} / {each.n_better}",
                f"{each.effect.centre:.4f}",
                interval(each.effect),
                "-" if each.groups.suspect.effect is None else f"{each.groups.suspect.effect.centre:.4f}",
                each.verdict,
            )
            for each in made
        ],
    )
    page.line()


def show_treatment(found: Treatment, page: Screen, *, in_full: bool) -> None:
    """What to add to the build, or that nothing helps; then what each did, and ``in_full`` what each is, how judged."""
    from layoutrand.explain import remedy_words as words

    page.sentence(words.conclusion(found))
    if found.recommended is not None:
        for sentence, added in words.how_to_use(found):
            page.sentence(sentence)
            for line in added.splitlines():
                page.line(f"    {line}")
    page.line()
    page.table(words.title(found), words.COLUMNS, words.rows(found))
    page.line()
    for line in (*words.what_was_tried(found), words.how_judged(found)) if in_full else ():
        page.sentence(line)
    if line := words.of_the_machine(found):
        page.sentence(line)
    for problem in words.problems(found):
        page.fail(problem)
    page.line()
