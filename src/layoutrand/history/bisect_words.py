"""What a search for a commit found, in words and as JSON values."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from layoutrand.analysis.comparison_document import interval_json
from layoutrand.analysis.conclusion_words import reason_json, verdict_words
from layoutrand.analysis.layout_words import may_have_missed
from layoutrand.analysis.next_steps import USUAL_LAYOUTS
from layoutrand.analysis.verdict_marks import change_words
from layoutrand.capture.commit_log import LoggedCommit
from layoutrand.config.metric import Better
from layoutrand.history.bisecting import CaseSearches, Decision, Ending, Lacking, SearchAnswer, SearchState
from layoutrand.stats.robust import missed_share
from layoutrand.text.name_lists import first_names
from layoutrand.warning import plural

ENDINGS: Final[Mapping[Ending, str]] = {
    "found": "this commit",
    "one of several": "one of these commits",
    "same program": "both ends are the same program",
    "no step": "no step",
    "cannot tell": "cannot tell",
}


QUIET: Final[frozenset[Ending]] = frozenset(("no step", "same program"))
"""Endings of which one line tells all that there is."""

_MOST_NAMES: Final = 6


def direction(answer: SearchAnswer, better: Better) -> str:
    """Whether the step is "slower" or "faster", of counts "more" or "less", as `compare` has it, or else "differs"."""
    ratio = answer.ratio or answer.whole
    if ratio is None or ratio.centre == 1:
        return "differs"
    return verdict_words(
        "slower" if (ratio.centre > 1) == (better == "less") else "faster", 0, of_speed=answer.of_speed
    )


def answer_words(answer: SearchAnswer, threshold: float) -> str:
    """The answer in one sentence, without the commits."""
    n = len(answer.suspects)
    left = f"{plural(n, 'commit')} {'is' if n == 1 else 'are'} left"
    if answer.ending == "no step":
        return f"the ends are the same within {100 * threshold:g} %"
    if answer.ending == "same program":
        return "both ends are the same program, so nothing was executed"
    if answer.numberless:
        return f"cannot tell: {numberless_words(answer.numberless, answer.state.decisions[-1])}; {left}"
    if answer.ending == "cannot tell":
        last = answer.state.decisions[-1] if answer.state.decisions else None
        if answer.out_of_time and (last is None or last.outcome != "open" or last.numberless):  # a passed one
            return f"the budget is used; {left}"
        rounds = f" after {last.n_rounds} rounds" if last is not None else ""
        why = "".join(f" ({each.cause})" for each in answer.reasons)
        if last is not None and last.commit is not None:
            return f"cannot tell on which side {last.commit.short} lies{rounds}{why}; {left}"
        if len(answer.state.decisions) > 1:
            pair = " and ".join(answer.state.line[place].short for place in (answer.state.good, answer.state.bad))
            return f"cannot tell whether {pair} differ, as the ends do{rounds}{why}; {left}"
        return f"cannot tell whether the ends differ{rounds}{why}"
    if answer.ending == "one of several":
        between = range(answer.state.good + 1, answer.state.bad)
        failed = ["could not be built"] * any(place in answer.state.skipped for place in between)
        failed += ["gave too few numbers"] * any(place in answer.state.numberless for place in between)
        return f"one of {n} commits: those between {' or '.join(failed)}"
    return "found"


def numberless_words(commits: Sequence[LoggedCommit], decision: Decision) -> str:
    """That rounds of these commits have no number, but a few; each failure to link or execute was told before."""
    of, n_given = " or ".join(each.short for each in commits), decision.n_given
    have = f"{' and '.join(each.short for each in commits)} {'has' if len(commits) == 1 else 'have'}"
    match decision.lacking:
        case "layouts" if n_given:
            return f"{have} too few layouts: seeds gave {n_given}, and further ones repeat these"
        case "layouts":
            return f"{have} only one layout, whatever the seed"
        case "binaries" if n_given:
            return f"only {plural(n_given, 'layout')} of {of} could be made, and no further one can"
        case "binaries":
            return f"no layout of {of} could be made"
        case "numbers" if n_given:
            return f"only {plural(n_given, 'round')} of {of} gave a number, and no further one does"
        case "numbers":
            return f"no execution of {of} gave a number"


def _passed(state: SearchState, place: int) -> str:
    """Why a commit was passed over that could be built."""
    commit = state.line[place]
    return numberless_words([commit], next(each for each in state.decisions if each.numberless == (commit,)))


_HELPS: Final[Mapping[Lacking, str]] = {
    "numbers": "mend what fails and give --retry-failed",
    "binaries": "mend what fails and give the same command",
    "layouts": "add padding to layout.factors for more layouts",
}
"""Against rounds without a number; nothing that is executed again gives a program more layouts."""


def numberless_step(answer: SearchAnswer) -> str:
    """What to do where commits without numbers are why there is no answer, or none that is one commit; else nothing."""
    state = answer.state
    if answer.numberless:
        return f"{_HELPS[state.decisions[-1].lacking]}, or name other ends"
    left = [state.line[place] for place in state.numberless if state.good < place < state.bad]
    if answer.ending == "one of several" and left:
        why = {each.lacking for each in state.decisions if each.numberless and each.commit in left}
        return f"{next(words for lacking, words in _HELPS.items() if lacking in why)}, to tell these apart"
    return ""


def title(answer: SearchAnswer) -> str:
    """What was asked."""
    n = len(answer.state.line) - 1
    return f"which of {n:,} commits" if n > 1 else "is it this commit?"


def certainty(answer: SearchAnswer) -> str:
    """The stated error of the whole search."""
    share = f"{100 * (1 - answer.state.confidence):g} %"
    if has_more_steps(answer):
        return (
            f"At most {share} of such searches give a size that is wrong; of several steps they follow the larger part"
        )
    return f"If one commit made the step, at most {share} of such searches end at another; the size holds in any case"


def missed_words(answer: SearchAnswer) -> str:
    """How rare layouts may be of which "no step" says nothing, of fewer than are usual; else nothing."""
    n_rounds = _n_rounds(answer)
    if answer.ending != "no step" or not 0 < n_rounds < USUAL_LAYOUTS:
        return ""
    share = missed_share(n_rounds, confidence=answer.state.confidence)
    return may_have_missed("the same", n_rounds, share)


def _n_rounds(answer: SearchAnswer) -> int:
    return answer.state.decisions[-1].n_rounds if answer.state.decisions else 0


def bisect_command(good: str, bad: str, benchmark: str, system: str, metric: str = "") -> str:
    """The search between two commits, as it is typed in a project of several benchmarks and systems.

    ``metric`` is "" for the main one, which needs no name.
    """
    of_metric = ["--metric", metric] if metric else []
    return shlex.join(["layoutrand", "bisect", good, bad, "--benchmark", benchmark, "--system", system, *of_metric])


def has_more_steps(answer: SearchAnswer) -> bool:
    """Whether it is sure that other commits between the ends changed something as well."""
    pair, whole = answer.ratio, answer.whole
    if pair is None or whole is None or answer.ending not in {"found", "one of several"}:
        return False
    return not (pair.low <= whole.high and whole.low <= pair.high)


def rest_commands(answer: SearchAnswer, system: str, benchmark: str) -> list[str]:
    """The searches on both sides of what was found, where there are more steps."""
    if not has_more_steps(answer):
        return []
    state = answer.state
    first, before, after, last = (state.line[k].short for k in (0, state.good, state.bad, -1))
    sides = [(first, before)] * (state.good > 0) + [(after, last)] * (after != last)
    return [bisect_command(good, bad, benchmark, system, answer.asked_metric) for good, bad in sides]


def merge_command(answer: SearchAnswer, system: str, benchmark: str) -> str:
    """The search of the branch that the commit merged; "" where it is no merge."""
    if answer.merged is None:
        return ""
    good, bad = (LoggedCommit(each).short for each in answer.merged)
    return bisect_command(good, bad, benchmark, system, answer.asked_metric)


def cost_words(answer: SearchAnswer) -> str:
    """What it took."""
    between = len(answer.state.line) - 2
    told = _one_between(answer.state) if between == 1 else _of_several(answer.state, between)
    said = f"{told}; " if told else ""
    return f"{said}{plural(answer.executed, 'execution')} now, {answer.known:,} were there already"


def _one_between(state: SearchState) -> str:
    """What became of the only commit between the ends."""
    if state.same:
        return "the commit between is the same program as an end"
    if state.skipped:
        return "the commit between could not be built"
    if state.numberless:
        return "the commit between gave too few numbers"
    return f"the commit between was {'measured' if _measured(state) else 'not measured'}"


def _of_several(state: SearchState, between: int) -> str:
    """How many of the commits between the ends were measured, and why others were not; "" where there are none."""
    looked, parts = _measured(state), []
    if between:
        be = "was" if looked in (0, 1) else "were"
        parts.append(f"{looked or 'none'} of {plural(between, 'commit')} between {be} measured")
    if state.same:
        n = len(state.same)
        parts.append(f"{n} {'was' if n == 1 else 'were'} the same program as an end")
    if state.skipped:
        parts.append(f"{len(state.skipped)} could not be built")
    if state.numberless:
        parts.append(f"{len(state.numberless)} gave too few numbers")
    return ", ".join(parts)


def _measured(state: SearchState) -> int:
    return sum(decision.commit is not None for decision in state.decisions) - len(state.numberless)


def bisect_document(
    answer: SearchAnswer, *, system: str, benchmark: str, metric: str, threshold: float
) -> dict[str, Any]:
    """``layoutrand/bisect/1``."""
    state = answer.state
    return {
        "schema": "layoutrand/bisect/1",
        "system": system,
        "benchmark": benchmark,
        "metric": metric,
        "ending": answer.ending,
        "commits": [each.to_json() for each in answer.suspects],
        "ratio": None if answer.ratio is None else {"ratio": answer.ratio.centre, **interval_json(answer.ratio)},
        "ends": None if answer.whole is None else {"ratio": answer.whole.centre, **interval_json(answer.whole)},
        "good": state.line[state.good].commit,
        "bad": state.line[state.bad].commit,
        "confidence": state.confidence,
        "threshold": threshold,
        "decisions": [_decision_json(each) for each in state.decisions],
        "same_program": [state.line[place].commit for place in state.same],
        "skipped": [
            *({"commit": state.line[place].commit, "error": why} for place, why in state.skipped.items()),
            *({"commit": state.line[place].commit, "error": _passed(state, place)} for place in state.numberless),
        ],
        "more_steps": has_more_steps(answer),
        "merged": None if answer.merged is None else dict(zip(("good", "bad"), answer.merged, strict=True)),
        "n_commits": len(state.line),
        "executed": answer.executed,
        "already": answer.known,
        "out_of_time": answer.out_of_time,
        "reasons": [reason_json(each) for each in answer.reasons],
        "warnings": [
            *([] if answer.clock is None else [str(answer.clock)]),
            *([] if answer.flags is None else [str(answer.flags)]),
            *([numberless_words(answer.numberless, state.decisions[-1])] if answer.numberless else []),
        ],
    }


def bisect_cases_document(found: CaseSearches, *, system: str, confidence: float, threshold: float) -> dict[str, Any]:
    """``layoutrand/bisect-cases/1``: a document of ``layoutrand/bisect/1`` for each case."""
    return {
        "schema": "layoutrand/bisect-cases/1",
        "system": system,
        "benchmark": found.entry,
        "confidence": confidence,
        "threshold": threshold,
        "executed": found.first + sum(each.answer.executed for each in found.cases),
        "one_sided": dict(found.one_sided),
        "cases": [
            bisect_document(each.answer, system=system, benchmark=each.name, metric=each.metric, threshold=threshold)
            for each in found.cases
        ],
    }


def rest_of_cases(found: CaseSearches, threshold: float) -> list[str]:
    """The cases without a step, what so few layouts may have missed of these, and those that are not compared."""
    told = []
    for ending in ENDINGS:
        answers = [each.answer for each in found.cases if each.answer.ending == ending]
        names = [each.name for each in found.cases if each.answer.ending == ending]
        if ending in QUIET and names:
            words = f"no step, the same within {100 * threshold:g} %" if ending == "no step" else "one program"
            told.append(f"{first_names(names, _MOST_NAMES)}: {words}")
        if few := [each for each in answers if missed_words(each)]:  # of the fewest layouts the most is missed
            told.append(missed_words(min(few, key=_n_rounds)))
    for side in ("good", "bad"):
        names = [name for name, has in found.one_sided.items() if has == side]
        if names:
            told.append(f"{first_names(names, _MOST_NAMES)}: reported at the {side} end alone, so not looked for")
    return told or ([] if found.cases else [f"no process of {found.entry} reported a case"])


def certainty_of_cases(found: CaseSearches) -> str:
    """What it took, and what the confidence means where several cases are searched."""
    executed = found.first + sum(each.answer.executed for each in found.cases)
    text = f"{plural(executed, 'execution')} now, each of all cases"
    ended = [each.answer for each in found.cases if each.answer.ending not in {"cannot tell", "same program"}]
    if len(ended) < 2:
        return text
    wrong = len(ended) * (1 - ended[0].state.confidence)
    return f"{text}; each case is a search of its own: of {len(ended)} answers {wrong:.2g} may be wrong on average"


def _decision_json(decision: Decision) -> dict[str, Any]:
    return {
        "commit": None if decision.commit is None else decision.commit.commit,
        "outcome": decision.outcome,
        "n_rounds": decision.n_rounds,
        "log_difference": None if decision.interval is None else decision.interval.centre,
        **({} if decision.interval is None else interval_json(decision.interval)),
    }


def apart_words(n_rounds: int) -> str:
    """That so many rounds do not count in a decision."""
    return f"{plural(n_rounds, 'round')} left out: the commits were executed at different times"


def decision_words(decision: Decision, *, is_first: bool) -> str:
    """One decision in a line; what is no commit between is the two ends in the first, and the pair left in the last."""
    if decision.numberless:
        return numberless_words(decision.numberless, decision)
    of = ("the ends" if is_first else "the pair left") if decision.commit is None else decision.commit.short
    found = "" if decision.interval is None else f", {100 * math.expm1(decision.interval.centre):+.2f} %"
    from_what = "" if decision.interval is None or decision.commit is None else " from the good end"
    return f"{of}: {decision.outcome} after {decision.n_rounds} rounds{found}{from_what}"


def size_words(answer: SearchAnswer) -> str:
    """``+3.7 % (+2.9 … +4.5)`` of the pair that is left."""
    return " ".join(change_words(answer.ratio))
