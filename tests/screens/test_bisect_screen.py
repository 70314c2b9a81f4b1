"""The screen of `bisect`: what was found, what it rests on, and what to do where there is no answer."""

import dataclasses
import os
from pathlib import Path

import pytest
from rich.cells import cell_len

from layoutrand.capture.commit_log import LoggedCommit
from layoutrand.history.bisect_words import bisect_cases_document, bisect_document
from layoutrand.history.bisecting import CaseSearch, CaseSearches, Decision, SearchAnswer, SearchState, what_is_lacking
from layoutrand.screens.bisect_screen import bisect_cases_screen, bisect_screen
from layoutrand.stats import Interval

KEPT = Path(__file__).parent / "answers"


def between(low, high):
    return Interval(centre=(low + high) / 2, low=low, high=high, confidence=0.99, method="anytime", warnings=())


def answered(ending="found"):
    line = tuple(LoggedCommit(f"{k:09x}{0:031x}", 1.7e9 + 86_400 * k, f"Change number {k}") for k in range(40))
    decided = Decision(line[20], "bad", 24, between(0.03, 0.04))
    state = SearchState(line, 18, 19, skipped={17: "no"}, same=(3, 4), decisions=(decided, decided), confidence=0.95)
    if ending in {"no step", "same program"}:
        begun = SearchState.begin(line, 0.95)
        whole = None if ending == "same program" else between(0.995, 1.004)
        return SearchAnswer(ending, (), whole, whole, begun, 16 if whole else 0, 0)
    if ending == "one of several":
        state = dataclasses.replace(state, good=15, skipped={16: "no", 17: "no", 18: "no"})
    suspects = line[16:20] if ending in {"one of several", "cannot tell"} else line[19:20]
    return SearchAnswer(ending, suspects, between(1.029, 1.045), between(1.031, 1.047), state, 214, 30)


def screen(answer, better="less", width=80):
    return text_of(bisect_screen(answer, better, "a", "work", 0.01, width))


def text_of(lines):
    return "".join("".join(text for text, _ in line).rstrip() + "\n" for line in lines)


def kept_or_written(name, text):
    path = KEPT / f"{name}.txt"
    if os.environ.get("LAYOUTRAND_ANSWERS") == "write":
        path.write_text(text)
    return path.read_text()


@pytest.mark.parametrize("ending", ["found", "one of several", "cannot tell", "no step", "same program"])
def test_transcripts(ending):
    text = screen(answered(ending))
    assert text == kept_or_written(f"bisect-{ending.replace(' ', '-')}-80", text)
    assert max(map(cell_len, text.splitlines())) <= 80
    assert len(text.splitlines()) <= 20


@pytest.mark.parametrize("ending", ["found", "one of several", "cannot tell", "no step", "same program"])
@pytest.mark.parametrize("subject", ["漢字" * 60, "Say what it is that was changed " * 5, ""])
def test_nothing_but_commands_is_wider_than_a_narrow_screen(ending, subject):
    answer = answered(ending)
    suspects = tuple(dataclasses.replace(each, subject=subject) for each in answer.suspects)
    lines = screen(dataclasses.replace(answer, suspects=suspects), width=60).splitlines()
    assert max(cell_len(line) for line in lines if not line.startswith("    layoutrand ")) <= 60
    assert not suspects or any(suspects[-1].day in line for line in lines) == (ending == "found")


def test_a_pair_that_is_left_open_is_named_beside_ends_that_are_told_to_differ():
    answer = answered("cannot tell")
    state = dataclasses.replace(answer.state, decisions=(*answer.state.decisions, Decision(None, "open", 200, None)))
    left = dataclasses.replace(answer, state=state, suspects=answer.state.line[19:20])
    text = " ".join(screen(left).split())
    pair = f"{state.line[18].short} and {state.line[19].short}"
    assert f"cannot tell whether {pair} differ, as the ends do after 200 rounds; 1 commit is left" in text
    assert "the ends differ by" in text and "whether the ends differ" not in text
    first = dataclasses.replace(left, state=dataclasses.replace(state, decisions=state.decisions[-1:]))
    assert "cannot tell whether the ends differ after 200 rounds" in " ".join(screen(first).split())


@pytest.mark.parametrize(
    ("ending", "n_rounds", "is_told"), [("no step", 8, True), ("no step", 30, False), ("found", 8, False)]
)
def test_what_so_few_layouts_may_have_missed_stands_beside_no_step(ending, n_rounds, is_told):
    """Where the later end has 15 % of slow layouts that the earlier has not, 8 have none of them in 27 of 100 cases."""
    answer = answered(ending)
    decided = Decision(None, "same", n_rounds, between(-0.004, 0.004))
    answer = dataclasses.replace(answer, state=dataclasses.replace(answer.state, decisions=(decided,)))
    told = f"≈ the same, of {n_rounds} layouts: a group of up to 31 % of all could have been missed"
    assert (told in " ".join(screen(answer).split())) == is_told


def test_a_budget_that_is_used_is_the_reason_and_what_helps_is_a_larger_one():
    """Where the last decision was made, it is no decision that lacks rounds."""
    late = dataclasses.replace(answered("cannot tell"), out_of_time=True)
    text = " ".join(screen(late).split())
    assert "the budget is used; 4 commits are left" in text and "with a larger --budget goes on from here" in text
    assert bisect_document(late, system="a", benchmark="work", metric="wall_s", threshold=0.01)["out_of_time"] is True
    line = late.state.line
    over = Decision(line[17], "open", 0, None, numberless=(line[17],))
    state = dataclasses.replace(late.state, decisions=(*late.state.decisions, over), numberless=(17,))
    assert "the budget is used; 4 commits are left" in screen(dataclasses.replace(late, state=state)), (
        "it is passed over"
    )


def test_of_what_more_is_better_a_rise_is_faster():
    assert "✗ 000000013  slower" in screen(answered())
    assert "✓ 000000013  faster" in screen(answered(), "more")


def test_of_counts_it_is_more_or_less_as_check_has_it():
    counted = dataclasses.replace(answered(), of_speed=False)
    assert "✗ 000000013  more  +3.7" in screen(counted) and "slower" not in screen(counted)
    fewer = dataclasses.replace(counted, ratio=between(0.96, 0.97))
    assert "✓ 000000013  less" in screen(fewer)


def test_where_commits_between_gave_no_number_it_is_told_how_to_tell_them_apart():
    several = answered("one of several")
    assert "--retry-failed" not in screen(several)
    text = " ".join(screen(passed_over("numbers", "layouts")).split())
    assert "those between could not be built or gave too few numbers" in text
    assert "Next: mend what fails and give --retry-failed, to tell these apart" in text


def passed_over(*lacking):
    """Of commits 16 to 19, that the first could not be built, and what the others' rounds are without."""
    several = answered("one of several")
    line, places = several.state.line, dict(enumerate(lacking, 17))
    over = [Decision(line[k], "open", 0, None, numberless=(line[k],), lacking=why) for k, why in places.items()]
    decisions = (*several.state.decisions, *over)
    state = dataclasses.replace(several.state, skipped={16: "no"}, numberless=tuple(places), decisions=decisions)
    return dataclasses.replace(several, state=state)


@pytest.mark.parametrize(
    ("lacking", "helps"),
    [
        (("binaries", "layouts"), "mend what fails and give the same command"),
        (("layouts", "layouts"), "add padding to layout.factors for more layouts"),
    ],
)
def test_nothing_is_executed_again_where_nothing_was_made_to_execute(lacking, helps):
    answer = passed_over(*lacking)
    assert f"Next: {helps}, to tell these apart" in " ".join(screen(answer).split())
    only = dataclasses.replace(answer.state.decisions[-1], numberless=(answer.state.line[answer.state.bad],))
    ended = dataclasses.replace(answer.state, decisions=(*answer.state.decisions, only))
    text = " ".join(screen(dataclasses.replace(answer, ending="cannot tell", state=ended)).split())
    assert "Next: add padding to layout.factors for more layouts, or name other ends" in text
    assert "has only one layout, whatever the seed" in text
    assert "--retry-failed" not in text


@pytest.mark.parametrize(
    ("given", "lost", "few", "lacking"),
    [
        ([1, 2], [3, 4, 5, 6, 7, 8], 2, "layouts"),
        ([1, 2], [3, 4, 5, 6, 7], 2, "numbers"),
        ([1, 2], [3, 4, 5, 6, 7, 8], 4, "layouts"),
        ([1, 2], [3, 4, 5, 6, 7, 8], 24, "binaries"),
        ([1, 2], [3, 4, 5, 6, 7, 8], None, "binaries"),
        ([], range(1, 9), 1, "layouts"),
        ([], range(1, 9), 2, "binaries"),
    ],
)
def test_what_rounds_without_a_number_are_without(given, lost, few, lacking):
    known = {} if few is None else {"c": few}
    found = what_is_lacking({"c": dict.fromkeys(given, 1.0)}, range(1, 9), {("c", seed) for seed in lost}, known)
    assert found == lacking


def test_one_commit_is_not_told_to_be_one_of_several():
    found = answered()
    pair = SearchState(found.state.line[:2], 0, 1, decisions=found.state.decisions[:1])
    alone = screen(dataclasses.replace(found, state=pair, suspects=found.state.line[1:2]))
    assert "work, a: is it this commit?" in alone and "which of" not in alone
    assert "ⓘ 214 executions now, 30 were there already" in alone
    three = dataclasses.replace(pair, line=found.state.line[:3])
    assert "ⓘ the commit between was measured; " in screen(dataclasses.replace(found, state=three))
    for changes, told in (
        ({"same": (1,)}, "is the same program as an end"),
        ({"skipped": {1: "no"}}, "could not be built"),
        ({}, "was not measured"),
    ):
        unmeasured = dataclasses.replace(three, decisions=found.state.decisions[:1], **changes)
        unmeasured = dataclasses.replace(
            unmeasured, decisions=(dataclasses.replace(unmeasured.decisions[0], commit=None),)
        )
        assert f"ⓘ the commit between {told}; " in screen(dataclasses.replace(found, state=unmeasured))


def test_of_a_merge_it_is_told_how_its_branch_is_searched():
    merge = dataclasses.replace(answered(), merged=("a" * 40, "b" * 40))
    assert "    layoutrand bisect aaaaaaaaa bbbbbbbbb --benchmark work --system a" in screen(merge).splitlines()
    assert "it is a merge; the branch that it merged is searched by" in screen(merge)
    assert "merge" not in screen(answered())


def test_other_steps_between_the_ends_are_told():
    text = screen(dataclasses.replace(answered(), whole=between(1.08, 1.09)))
    assert "there are more steps:" in " ".join(text.split())
    searches = [line.split() for line in text.splitlines() if "layoutrand bisect" in line]
    assert [words[2:] for words in searches] == [
        [good, bad, "--benchmark", "work", "--system", "a"]
        for good, bad in (("000000000", "000000012"), ("000000013", "000000027"))
    ]


def cases(*endings, one_sided=None):
    found = [CaseSearch(f"bench/{k}", "time_s", "less", answered(ending)) for k, ending in enumerate(endings)]
    return CaseSearches("bench", tuple(found), one_sided or {}, 32)


def test_cases_with_a_step_are_told_one_by_one_and_the_others_in_a_line():
    several = cases("no step", "found", "no step", one_sided={"bench/new": "bad"})
    text = text_of(bisect_cases_screen(several, "a", 0.01, 80))
    assert text == kept_or_written("bisect-cases-80", text)
    assert max(map(cell_len, text.splitlines())) <= 80
    assert "of 3 answers 0.15 may be wrong on average" in " ".join(text.split())
    assert several.is_told
    document = bisect_cases_document(several, system="a", confidence=0.95, threshold=0.01)
    assert [each["ending"] for each in document["cases"]] == ["no step", "found", "no step"]
    assert document["executed"] == 32 + 16 + 214 + 16
    assert document["one_sided"] == {"bench/new": "bad"}


def test_what_is_searched_by_is_named_where_it_is_no_time():
    """``more`` stood there without a word of what there is more."""
    counted = dataclasses.replace(answered(), of_speed=False)
    lines = bisect_screen(counted, "less", "a", "work", 0.01, 80, "estimated_cycles")
    assert "ⓘ work: judged by estimated_cycles, which is no time" in text_of(lines)
    assert "no time" not in text_of(bisect_screen(answered(), "less", "a", "work", 0.01, 80, "wall_s"))


def test_what_cases_are_searched_by_is_told_of_all_at_once():
    found = tuple(
        CaseSearch(name, metric, "less", dataclasses.replace(answered(ending), of_speed=metric == "time_s"))
        for name, metric, ending in (
            ("b/0", "instructions", "found"),
            ("b/1", "instructions", "no step"),
            ("b/2", "time_s", "found"),
        )
    )
    text = " ".join(text_of(bisect_cases_screen(CaseSearches("b", found, {}, 0), "a", 0.01, 80)).split())
    assert text.count("no time") == 1
    assert "b/0, b/1: judged by instructions, which is no time" in text


def test_what_so_few_layouts_may_have_missed_is_told_of_cases_too():
    def without_step(*counts):
        found = []
        for k, n_rounds in enumerate(counts):
            answer = answered("no step")
            decided = Decision(None, "same", n_rounds, between(-0.004, 0.004))
            state = dataclasses.replace(answer.state, decisions=(decided,))
            found.append(CaseSearch(f"b/{k}", "time_s", "less", dataclasses.replace(answer, state=state)))
        return " ".join(text_of(bisect_cases_screen(CaseSearches("b", tuple(found), {}, 0), "a", 0.01, 80)).split())

    text = without_step(16, 8)
    assert "b/0, b/1: no step, the same within 1 %" in text
    assert "the same, of 8 layouts: a group of up to 31 % of all could have been missed" in text
    assert "of 16 layouts" not in text
    assert "missed" not in without_step(30)


def test_one_case_that_nobody_can_tell_of_is_enough():
    assert not cases("found", "cannot tell").is_told


def test_without_any_case_that_is_what_is_told():
    nothing = cases()
    assert not nothing.is_told
    assert "no process of bench reported a case" in text_of(bisect_cases_screen(nothing, "a", 0.01, 80))


def test_a_commit_that_gives_numbers_of_few_rounds_only_is_told_with_how_many():
    """A program of two functions has two layouts, however many rounds are asked for."""
    begun = answered("cannot tell")
    last = Decision(None, "open", 2, between(-0.1, 0.1), numberless=(begun.state.line[18],), n_given=2)
    said = {
        "numbers": "cannot tell: only 2 rounds of 000000012 gave a number, and no further one does",
        "binaries": "cannot tell: only 2 layouts of 000000012 could be made, and no further one can",
        "layouts": "cannot tell: 000000012 has too few layouts: seeds gave 2, and further ones repeat these",
    }
    for lacking, words in said.items():
        decisions = (dataclasses.replace(last, lacking=lacking),)
        few = dataclasses.replace(begun, state=dataclasses.replace(begun.state, decisions=decisions))
        text = " ".join(screen(few).split())
        assert words in text
        assert "--most-seeds" not in text
        assert ("--retry-failed" in text) == (lacking == "numbers")
