"""What `run` says of failures: one of each cause, and how many more; never a page of one sentence."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from experiments import execution
from fakes import make_config
from layoutrand.analysis.display_names import DisplayNames
from layoutrand.build.build_warnings import RecordedWarning
from layoutrand.cache.store import Cache
from layoutrand.capture.workspace import workspace
from layoutrand.config.execution_warnings import TooShort
from layoutrand.execute.run_progress import Summary
from layoutrand.execute.run_warnings import CasesFailed, NotExecuted
from layoutrand.model import BuildFailure
from layoutrand.screens.build_screen import show_failures
from layoutrand.screens.failing import MOST_LINES, Failures, executed_again, warn_folded

CONFIG = make_config('[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n', systems=("a", "c"))
WRONG = "its output is not the reference output"


@dataclass
class Lines:
    """A page of which failures alone are looked at."""

    said: list[str] = field(default_factory=list)

    def fail(self, text):
        self.said.append(text)

    warn = fail


@pytest.fixture
def failed(tmp_path):
    def make(layout, system="a", reason=WRONG, **changes):
        fields = {"status": "wrong-output", "reason": reason, "log": f"log-{layout}"} | changes
        return execution(CONFIG, tmp_path, system, "b", layout, **fields)

    return make


def test_identical_failures_are_told_once_and_then_counted(failed):
    page, told = Lines(), Failures()
    several = [failed(layout) for layout in (*range(1, 31), "stock", "identity")]
    several += [failed(layout, "c") for layout in range(1, 31)]
    for each in several:
        told.happened(each, page)
    assert page.said == [
        f"system a, benchmark b, seed 1: {WRONG}; output in log-1",
        "further failures like these are counted at the end",
    ]
    page.said.clear()
    told.conclude(several, page)
    which = "system a, benchmark b, seeds 2..30, stock, identity; system c, benchmark b, seeds 1..30"
    assert page.said == [f"{which}: 61 more: {WRONG}"]


def test_failures_have_the_labels_that_people_read(failed):
    page, told = Lines(), Failures(DisplayNames({"a": "GCC 12"}, {"b": "a long sum"}))
    several = [failed(1), failed(2)]
    told.happened(several[0], page)
    told.conclude(several, page)
    assert page.said == [
        f"system GCC 12, benchmark a long sum, seed 1: {WRONG}; output in log-1",
        f"system GCC 12, benchmark a long sum, seed 2: {WRONG}; output in log-2",
    ]


def test_the_node_of_a_failure_is_named(failed):
    page = Lines()
    Failures().happened(failed(1, node="n7"), page)
    assert page.said == [f"system a, benchmark b, seed 1, node n7: {WRONG}; output in log-1"]


def test_failures_of_earlier_calls_are_told_alike_at_the_end(failed):
    page = Lines()
    Failures().conclude(
        [*(failed(k) for k in range(1, 6)), failed(1, "c"), failed(2, reason="killed by SIGSEGV")], page
    )
    assert page.said == [
        f"system a, benchmark b, seed 1: {WRONG}; output in log-1",
        "system a, benchmark b, seed 2: killed by SIGSEGV; output in log-2",
        f"system a, benchmark b, seeds 2..5; system c, benchmark b, seed 1: 5 more: {WRONG}",
    ]


def test_what_was_told_while_it_ran_is_not_told_again(failed):
    page, told = Lines(), Failures()
    told.happened(failed("stock"), page)
    told.conclude([failed("stock", attempt=2, started_at=5.0)], page)
    assert page.said == [f"system a, benchmark b, stock: {WRONG}; output in log-stock"]


def test_a_process_has_failed_once_however_many_cases_it_has(failed):
    page, told = Lines(), Failures()
    several = [replace(failed(k, started_at=float(k)), benchmark=f"b/{case}") for k in range(1, 5) for case in "xyz"]
    told.conclude(several, page)
    assert page.said == [
        f"system a, benchmark b/x, seed 1: {WRONG}; output in log-1",
        f"system a, benchmarks b/x, b/y, b/z, seeds 2..4: 3 more: {WRONG}",
    ]
    page.said.clear()
    Failures().conclude(several[:3], page)
    assert page.said == [f"system a, benchmark b/x, seed 1: {WRONG}; output in log-1"]


def test_a_single_further_failure(failed):
    page, told = Lines(), Failures()
    told.conclude([failed(1), failed(2)], page)
    assert page.said[-1] == f"system a, benchmark b, seed 2: {WRONG}; output in log-2"


def test_many_different_reasons_end_too(failed):
    """As of a program that prints addresses: no two failures are alike, and none is left uncounted."""
    page, told = Lines(), Failures()
    several = [failed(k, reason=f"at {k:#x}") for k in range(1, 101)]
    for each in several:
        told.happened(each, page)
    assert len(page.said) == MOST_LINES + 1
    page.said.clear()
    told.conclude(several, page)
    assert len(page.said) == MOST_LINES + 1
    assert page.said[0] == "system a, benchmark b, seed 31: at 0x1f; output in log-31"
    assert page.said[-1] == "40 more executions, for 40 other reasons; `layoutrand analyse --json` lists all"
    told.conclude(several[: 2 * MOST_LINES + 1], page)
    assert page.said[-1] == "1 more execution, for 1 other reason; `layoutrand analyse --json` lists all"


def test_warnings_of_one_kind_are_told_once_where_they_are_many():
    few = [TooShort(f"b{k}", 0.002) for k in range(3)]
    page = Lines()
    warn_folded([*few, *few], page)
    assert page.said == [str(each) for each in few]
    page = Lines()
    warn_folded([TooShort(f"b{k}", 0.002) for k in range(12)], page)
    assert page.said == [f"{few[0]} (and 11 more like this; --json lists all)"]


def test_what_was_recorded_of_the_links_of_several_systems_is_told_once():
    page = Lines()
    alike = [RecordedWarning(system, "prog", "3 objects move whole") for system in ("O2", "O3")]
    warn_folded([alike[0], RecordedWarning("O2", "lib", "no names"), alike[1]], page)
    assert page.said == ["O2, O3: prog: 3 objects move whole", "O2: lib: no names"]
    page = Lines()
    warn_folded([replace(alike[0], system=f"s{k}") for k in range(12)], page)
    assert page.said == ["12 systems: prog: 3 objects move whole"]


@pytest.mark.parametrize(
    ("failures", "left_out", "total", "is_hopeless"),
    [
        ([("a", 1), ("a", 2), ("c", 1), ("c", 2)], [], 4, True),
        ([("a", 1), ("a", 2), ("c", 1)], [], 4, False),
        ([("a", 1), ("a", 2)], [NotExecuted("a", "b", "native", 7, 2, WRONG)], 18, True),
        ([("a", 1), ("a", 2), ("c", 1)], [NotExecuted("a", "b", "native", 7, 2, WRONG)], 18, False),
        ([("a", 1)], [], 1, False),
    ],
)
def test_what_never_succeeded_has_to_be_mended_before_it_is_executed_again(
    failed, tmp_path, failures, left_out, total, is_hopeless
):
    summary = Summary(
        total=total,
        already=0,
        executed=len(failures),
        unbuilt=0,
        failures=tuple(failed(layout, system) for system, layout in failures),
        build_failures=(),
        results=tmp_path,
        not_executed=tuple(left_out),
    )
    words = executed_again(summary, "`layoutrand run --retry-failed`")
    assert words.endswith("`layoutrand run --retry-failed` executes failed ones again")
    assert words.startswith("mend the command in layoutrand.toml, or what it reads; then ") == is_hopeless


@pytest.mark.parametrize(("status", "told"), [("exit", True), ("signal", False)])
def test_that_a_status_may_mean_success_is_told_of_what_always_ended_with_one(failed, tmp_path, status, told):
    """A SAT solver ends with 10 or 20, and nobody thinks of a key for that who was not told."""
    failures = tuple(replace(failed(layout), status=status) for layout in (1, 2))
    words = executed_again(
        Summary(2, 0, 2, 0, failures, build_failures=(), results=tmp_path), "`layoutrand run --retry-failed`"
    )
    assert ("expect_status" in words) is told


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ('panicked at b.rs:8: Os { code: 2, kind: NotFound, message: "No such file or directory" }', '"env", "-C"'),
        ("open testdata/x: no such file or directory", 'files = ["..."]'),
        ("I could not find or load any data file with extension .txt in directory {copy}/data/.", "-DDATA_DIR="),
        ("cannot open {copy}/data/a.txt: No such file or directory", "a copy that is removed after the build"),
        ("usage: prog FILE", "expect_status"),
        ("libz.so.1: cannot open shared object file: No such file or directory", "expect_status"),
    ],
)
def test_what_finds_no_file_is_told_where_it_is_executed(failed, tmp_path, said, advice):
    """Of a benchmark that reads its inputs by their paths in the package, as `cargo bench` starts it there."""
    with workspace(Cache(tmp_path / "cache"), "0123456789abcdef") as space:
        reason = f"exit status 1; its output says: {said.replace('{copy}', str(space.tree))}"
    failures = tuple(failed(layout, status="exit", reason=reason) for layout in (1, 2))
    words = executed_again(Summary(2, 0, 2, 0, failures, build_failures=(), results=tmp_path), "`layoutrand run`")
    assert advice in words
    assert words.endswith("; then `layoutrand run` executes failed ones again")


def test_where_there_is_no_number_the_reason_says_what_to_mend(failed, tmp_path):
    """No command helps where valgrind reads no debugging information of the program."""
    failures = tuple(replace(failed(layout), status="no-measurement") for layout in (1, 2))
    words = executed_again(Summary(2, 0, 2, 0, failures, build_failures=(), results=tmp_path), "`layoutrand run`")
    assert words == "mend what the reason names; then `layoutrand run` executes failed ones again"


@pytest.mark.parametrize(
    ("layouts", "which"),
    [
        ({"a": [1, 2], "c": [1, 2]}, "systems a, c, benchmark b, seeds 1..2: 3 more"),
        ({name: [1, 2] for name in "acde"}, "4 systems, benchmark b, seeds 1..2: 7 more"),
        ({"a": [1], "c": [1], "d": [2]}, "system c, benchmark b, seed 1; system d, benchmark b, seed 2: 2 more"),
        (
            {name: [1, k] for k, name in enumerate("acde", 2)},
            "4 systems, benchmark b, seeds 1..5, not all of each: 7 more",
        ),
    ],
)
def test_which_system_failed_in_which_layout(failed, layouts, which):
    page, told = Lines(), Failures()
    told.conclude([failed(k, system) for system, own in layouts.items() for k in own], page)
    assert page.said[1:] == [f"{which}: {WRONG}"]


def test_which_system_could_not_be_built_in_which_layout():
    def said(layouts):
        page = Lines()
        show_failures([BuildFailure(*each, "no", None) for each in layouts], page)
        return page.said

    alike = [(system, "prog", layout) for system in ("O2", "O3") for layout in (1, "identity", 2, "stock")]
    assert said(alike) == ["O2, O3 (stock, identity, seeds 1..2): no"]
    assert said(alike[:-1]) == ["O2 (stock, identity, seeds 1..2), O3 (identity, seeds 1..2): no"]
    assert said([*alike[:4], ("O3", "lib", 1)]) == ["O2 prog (stock, identity, seeds 1..2), O3 lib (seed 1): no"]
    both = [(system, artefact, 1) for system in ("O2", "O3") for artefact in ("prog", "lib", "mod")]
    assert said(both) == ["O2, O3: prog, lib, mod (seed 1): no"]
    assert said(both[:-1]) == ["O2 prog, O2 lib, O2 mod, O3 prog, O3 lib (seed 1): no"]
    assert said([("O2", "prog", 1), ("O3", "lib", 1)]) == ["O2 prog, O3 lib (seed 1): no"]


def test_a_single_seed_without_a_binary_is_no_range():
    page = Lines()
    show_failures([BuildFailure("a", "prog", 5, "it cannot be linked", None)], page)
    assert page.said == ["a (seed 5): it cannot be linked"]


def test_cases_without_numbers_are_told_once_for_each_entry_and_reason():
    page, told = Lines(), Failures(DisplayNames(benchmarks={"b": "the sorts"}))
    one = CasesFailed("b", ("Sort/16",), 1, "no data")
    several = CasesFailed("b", ("Sort/16", "Sort/32", "Sort/64"), 1200, "another JVM")
    for _ in range(2):
        told.of_cases([one, several], page)
    assert page.said == [
        "the sorts: Sort/16 has no numbers in 1 execution: no data",
        "the sorts: Sort/16 and 2 more cases have no numbers in 1,200 executions: another JVM",
    ]
