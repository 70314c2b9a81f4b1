"""`check` of benchmarks whose harness reports several cases out of one process; builds and executions are made up."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from checkkit import Made
from layoutrand.check.check_document import check_document
from layoutrand.check.ci_formats import github_annotations, junit
from layoutrand.check.comment import comment
from layoutrand.cli.checking import exit_status
from layoutrand.errors import UsageError
from layoutrand.stats.running_ratio import FEWEST_ROUNDS

CASED = '[[benchmarks]]\nname = "bench"\nharness = "libtest"\ncommand = ["{artefact}"]\n'


def cases(**ratios):
    """What the harness prints of each case: its ratio of head over base, and how far layouts are apart."""

    def printed(made, system, layout):
        lines = []
        for name, (ratio, sd) in ratios.items():
            chance = random.Random(f"{name} {layout}")
            time = 1000 * chance.gauss(1, 0.02)
            if system == "head":
                time *= ratio * chance.gauss(1, sd)
            if (system, name) not in made.lacking:
                lines.append(f"print test {name} ... bench: {time:.6f} ns/iter (+/- 1)")
        return "\n".join(lines)

    return printed


class Cased(Made):
    """With these cases; ``lacking`` are (commit, case) that there are not."""

    def __init__(self, root, *, lacking=(), **ratios):
        super().__init__(root, benchmarks=CASED, script=cases(**ratios))
        self.lacking = set(lacking)


def only(answer):
    (system,) = answer.systems
    return system


def verdicts(answer):
    return {each.quantity.benchmark: each.concluded.verdict for _, each in answer.benchmarks}


SLOW, SAME, LATE = (1.03, 0.004), (1.001, 0.004), (1.03, 0.02)


@pytest.mark.slow
def test_each_case_has_a_verdict_and_each_process_counts_once(tmp_path):
    """The one that is open decides for how long the process is executed; the others' verdicts rest on all of it."""
    made = Cased(tmp_path, slow=SLOW, same=SAME, late=LATE)
    answer = made.check()
    assert verdicts(answer) == {"bench/slow": "slower", "bench/same": "same", "bench/late": "slower"}
    (rounds,) = {each.n_rounds for each in only(answer).benchmarks}
    assert len(made.executor.commands) == only(answer).executed == 2 * rounds + 2 * FEWEST_ROUNDS
    assert {each.quantity.metric for each in only(answer).benchmarks} == {"time_s"}
    assert made.check().systems[0].executed == 0, "all is recorded, and nothing is open"


@pytest.mark.slow
def test_only_the_cases_that_are_named_keep_a_process_going(tmp_path):
    made = Cased(tmp_path, slow=SLOW, same=SAME, late=LATE)
    answer = made.check(benchmarks=["bench/slow", "bench/same"])
    assert verdicts(answer) == {"bench/slow": "slower", "bench/same": "same"}
    assert only(made.check()).executed > 0, "the case that was not named is open"


@pytest.mark.slow
def test_the_budget_ends_it_and_the_same_call_goes_on(tmp_path):
    numbers = {"slow": SLOW, "late": LATE}
    made = Cased(tmp_path, **numbers)
    first = made.check(budget_s=12.0)
    assert only(first).ending == "budget"
    assert verdicts(first)["bench/late"] == "cannot tell"
    second = made.check()
    (whole := tmp_path / "whole").mkdir()
    at_once = Cased(whole, **numbers).check()
    assert [(each.n_rounds, each.pair.ratio) for each in only(second).benchmarks] == [
        (each.n_rounds, each.pair.ratio) for each in only(at_once).benchmarks
    ]
    assert only(first).executed + only(second).executed == only(at_once).executed


@pytest.mark.parametrize(("side", "label"), [("head", "main"), ("base", "HEAD")])
def test_a_case_of_one_commit_alone_is_told_and_is_no_failure(tmp_path, side, label):
    made = Cased(tmp_path, lacking=[(side, "new")], slow=SLOW, new=SAME)
    answer = made.check()
    assert verdicts(answer) == {"bench/slow": "slower"}
    assert (only(answer).ending, only(answer).failures) == ("decided", ())
    assert f"bench/new: there at {label}" in comment(answer)
    assert check_document(answer)["systems"][0]["one_sided"] == {"bench/new": "base" if side == "head" else "head"}


def test_reports_for_ci_have_a_case_of_one_commit_alone(tmp_path):
    """One that was renamed is judged nowhere: a gate that is silent about it would let a slowdown pass unseen."""
    answer = Cased(tmp_path, lacking=[("head", "old"), ("base", "new")], old=SAME, new=SAME, same=SAME).check()
    suite = ET.fromstring(junit(answer, [])).find("testsuite")
    told = {case.get("name"): [each.get("message") for each in case.findall("skipped")] for case in suite}
    base, head = answer.question.base.label, answer.question.head.label
    assert told["bench/old"] == [f"there at {base} alone, so not compared"]
    assert told["bench/new"] == [f"there at {head} alone, so not compared"]
    assert (suite.get("tests"), suite.get("skipped")) == ("3", "2")
    annotations = "\n".join(github_annotations(answer, [], {}, ""))
    assert f"::notice title=layoutrand check O2::bench/old: there at {base} alone, so not compared" in annotations


def test_a_case_that_was_named_and_is_in_one_commit_alone_is_a_failure(tmp_path):
    made = Cased(tmp_path, lacking=[("head", "new")], slow=SLOW, new=SAME)
    answer = made.check(benchmarks=["bench/new"])
    assert verdicts(answer) == {"bench/new": "cannot tell"}
    assert answer.has_failed
    assert {each.benchmark for each in only(answer).failures} == {"bench/new"}
    assert "did not report this case" in junit(answer, [])


def test_where_no_case_is_in_both_there_is_nothing_to_judge(tmp_path):
    answer = Cased(tmp_path, lacking=[("head", "old"), ("base", "new")], old=SAME, new=SAME).check()
    assert verdicts(answer) == {}
    assert dict(only(answer).one_sided) == {"bench/old": "base", "bench/new": "head"}
    assert check_document(answer)["systems"][0]["apart"] == ["bench"]
    assert exit_status(answer, []) == 1, "a gate that compared nothing must not pass"
    for told in (comment(answer), "\n".join(github_annotations(answer, [], {}, ""))):
        assert "bench: nothing was compared, as no case is at both commits" in told
    suite = ET.fromstring(junit(answer, [])).find("testsuite")
    assert "nothing was compared" in ET.tostring(suite).decode()


def test_a_verdict_on_one_entry_does_not_hide_that_another_was_not_compared(tmp_path):
    answer = Cased(tmp_path, slow=SLOW).check()
    assert exit_status(answer, []) == 0
    (system,) = answer.systems
    answer = replace(answer, systems=(replace(system, apart=("other",)),))
    assert exit_status(answer, []) == 1
    assert exit_status(answer, ["slower"]) == 3
    assert "other: nothing was compared" in comment(answer)


def test_a_process_that_fails_has_failed_and_is_called_as_its_entry(tmp_path):
    made = Made(tmp_path, benchmarks=CASED, script="exit 3")
    answer = made.check()
    assert verdicts(answer) == {"bench": "cannot tell"}
    assert answer.has_failed


def test_a_case_of_another_name_is_told_with_those_that_there_are(tmp_path):
    made = Cased(tmp_path, slow=SLOW, same=SAME)
    with pytest.raises(UsageError, match="no case that is called 'bench/slw'; there are bench/same, bench/slow; did"):
        made.check(benchmarks=["bench/slw"])


def test_a_metric_that_no_case_has_is_told_with_those_that_there_are(tmp_path):
    made = Cased(tmp_path, slow=SLOW)
    assert verdicts(made.check(metric="time_s")) == {"bench/slow": "slower"}
    with pytest.raises(UsageError, match="no case of bench has it; there are time_s"):
        made.check(metric="cpu_time_s")


def test_one_program_is_told_of_the_entry(tmp_path):
    made = Made(tmp_path, benchmarks=CASED, same=True)
    assert verdicts(made.check()) == {"bench": "same program"}
