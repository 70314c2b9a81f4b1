"""Binaries that print something else than most: named where that can be told, and nothing said where it cannot."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from executekit import Project
from fakes import EXECUTION, make_config, shell_binaries
from layoutrand.analysis.documents import run_document
from layoutrand.execute.measure import measure
from layoutrand.execute.output_warnings import UnlikeOutputs
from layoutrand.execute.unlike_outputs import by_chance, printed_by, systems_print_other, unlike_outputs


def printed(outputs, **changes):
    """Executions by what they print: layout -> one letter for each."""
    return [
        dataclasses.replace(EXECUTION, layout=layout, repetition=k, output_sha256=letter.strip(), **changes)
        for layout, letters in outputs.items()
        for k, letter in enumerate(letters)
    ]


def found(executions, *, there=lambda _file: True):
    return unlike_outputs(executions, there)


def test_those_that_print_something_else_are_named_with_how_sure_that_is():
    outputs = {1: "a", 2: "aa", 3: "b", 4: "a", 7: "cc", "stock": 9 * "a", "identity": 9 * "b"}
    (told,) = found(printed(outputs))
    assert (told.system, told.benchmark) == ("s", "b")
    assert (told.layouts, told.repeated, told.n_alike) == ((3,), (7, "identity"), 4)
    assert told.all_layouts == (3, 7, "identity")
    assert told.brief() == ("seeds 3, 7 and identity of s print something else than its other 4 binaries, which agree")
    assert "seed 7 and identity: executed more than once and the same each time, so it is the binary" in str(told)
    assert "seed 3: executed once, so whether it is the layout or chance cannot be told; run.executions = 3" in str(
        told
    )


@pytest.mark.parametrize(
    ("outputs", "words", "others"),
    [
        ({1: "a", 2: "a", 3: "b"}, "executed once", "executed more than once"),
        ({1: "aaa", 2: "aaa", 3: "bbb", 4: "aaa"}, "so it is the binary and no chance", "executed once"),
        ({1: "a", 2: "a", 3: "bb"}, "which may still be chance", "no chance"),
        ({1: "aa", 2: "aa", 3: "bb"}, "which may still be chance", "no chance"),
    ],
)
def test_chance_is_excluded_by_as_many_executions_as_it_takes(outputs, words, others):
    (told,) = found(printed(outputs))
    assert "seed 3 of s prints something else" in str(told)
    assert words in str(told) and others not in str(told)


@pytest.mark.parametrize("counts", [[2, 2, 2], [3] * 4, [1, 1, 1, 2, 5, 5], [2] * 30])
def test_chance_is_as_rare_as_it_is_said_to_be(counts):
    """Simulated, at the worst of some probabilities: how often all agree with themselves, and not with each other."""
    rng, sets = np.random.default_rng(5), 40_000
    shares = []
    for one in (0.03, 0.1, 0.25, 0.5):
        shown = [rng.binomial(n, one, sets) / n for n in counts if n > 1]
        alone = np.all([(each == 0) | (each == 1) for each in shown], axis=0)
        shares.append(float((alone & (np.ptp(shown, axis=0) > 0)).mean()))
    bound = by_chance(counts)
    assert max(shares) <= bound + 4 * (bound / sets) ** 0.5
    assert max(shares) > bound / 3


@pytest.mark.parametrize(
    "outputs",
    [
        {},
        {1: "aa", 2: "a", 3: "a"},
        {1: "a", 2: "a", 3: "b", "stock": "ab"},  # it does not print the same each time
        {1: "a", 2: "a", 3: "a", 4: "cd"},
        {1: "a", 2: "b"},
        {1: "a", 2: "a", 3: "b", 4: "b"},  # half is not most
        {1: "a", 2: "b", 3: "c", 4: "d"},
        {1: " ", 2: " ", 3: "a", 4: " "},  # of an earlier layoutrand
    ],
)
def test_nothing_is_said_where_nothing_can_be(outputs):
    assert found(printed(outputs)) == []


def test_failed_executions_systems_and_benchmarks_are_kept_apart():
    agreed = printed({k: "a" for k in range(5)})
    assert found([*agreed, *printed({9: "b"}, status="wrong-output")]) == []
    assert found([*agreed, *printed({9: "b"}, system="t"), *printed({8: "c"}, benchmark="c")]) == []
    assert found([*agreed, *printed({9: "b"}, instrument="cachegrind")]) == []
    assert len(found([*agreed, *printed({9: "b"}), *printed({1: "a", 2: "a", 3: "b"}, benchmark="c")])) == 2


def test_what_is_seen_under_two_instruments_is_told_once_and_under_one_of_them_at_all():
    outputs = {1: "a", 2: "a", 3: "b"}
    assert len(found([*printed(outputs), *printed(outputs, instrument="cachegrind")])) == 1
    changing = printed({1: "a", 2: "b", 3: "cd"})
    assert len(found([*changing, *printed(outputs, instrument="cachegrind")])) == 1


def test_two_outputs_are_named_that_are_there():
    one, two, three, four = printed({1: "a", 2: "a", 3: "b", 4: "a"})
    executions = [one, dataclasses.replace(two, log="2"), dataclasses.replace(three, log="3"), four]
    (told,) = found(executions)
    assert told.outputs == ("2/stdout", "3/stdout")
    assert str(told).endswith(". diff 2/stdout 3/stdout")
    for lost in ("2/stdout", "3/stdout"):
        (told,) = found(executions, there=lambda file, lost=lost: file != lost)
        assert told.outputs == () and "diff" not in str(told)


def test_of_many_the_first_are_named():
    told = UnlikeOutputs("s", "b", tuple(range(1, 21)), (), 30)
    assert "seeds 1, 2, 3, 4, 5, 6 and 14 more of s print" in told.brief()


@pytest.mark.parametrize(
    ("old", "new", "differ"),
    [
        ({1: "a", 2: "a"}, {1: "b", 2: "b"}, True),
        ({1: "a", 2: "a"}, {1: "a", 2: "a"}, False),
        ({1: "a", 2: "c"}, {1: "b", 2: "b"}, False),
        ({1: " "}, {1: "b"}, False),
        ({}, {1: "b"}, False),
        ({1: "a", 2: "a"}, {1: "b"}, False),  # the next execution may print something else
    ],
)
def test_two_systems_of_which_each_prints_the_same_and_not_the_same(old, new, differ):
    executions = [*printed(old, system="A"), *printed(new, system="B"), *printed({1: "z"}, system="B", status="exit")]
    told = systems_print_other(printed_by(executions), "b", "native", ("A", "B"))
    assert [str(each).partition(",")[0] for each in told] == ["b: A and B do not print the same"] * differ
    assert systems_print_other(printed_by(executions), "other", "native", ("A", "B")) == []


def test_run_ends_with_it_until_the_outputs_are_deleted(tmp_path):
    project = Project(tmp_path)
    benchmark = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'
    binaries = [
        each
        for layout in (1, 2, 3, 4, "stock")
        for each in shell_binaries(
            tmp_path / "c", f"echo {'odd' if layout == 3 else 'usual'}", systems=("a",), layouts=(layout,)
        )
    ]
    summary = project.run(make_config(benchmark, systems=("a",)), binaries, measure)
    (told,) = summary.unlike_outputs
    assert (told.layouts, told.repeated, told.n_alike) == ((3,), (), 4)
    assert [(project.path / file).read_text() for file in told.outputs] == ["usual\n", "odd\n"]
    assert run_document(summary)["unlike_outputs"] == [
        {
            "system": "a",
            "benchmark": "b",
            "layouts": ["3"],
            "n_alike": 4,
            "may_be_chance": True,
            "outputs": list(told.outputs),
        }
    ]
    (project.path / told.outputs[0]).unlink()
    config = make_config(benchmark, systems=("a",), run="executions = 3")
    (told,) = project.run(config, binaries, measure).unlike_outputs
    assert (told.layouts, told.repeated, told.outputs) == ((), (3,), ())
