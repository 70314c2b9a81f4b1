"""Executions started with another loader, C library or loader's cache: left out, or an error of design, and told."""

from __future__ import annotations

import dataclasses

import pytest

from experiments import measured, selected, write
from fakes import make_config
from layoutrand.analysis.analyse import analyse
from layoutrand.analysis.compare import compare
from layoutrand.analysis.conclusion import of_layouts, of_pair
from layoutrand.analysis.start_warnings import OtherStartFiles, StartFilesByNode, UnlikeCache, UnlikeCode
from layoutrand.execute import experiment
from layoutrand.host.start_files import CACHE
from layoutrand.model import Measurement

LOADER, LIBC = "/lib64/ld-linux-x86-64.so.2", "/usr/lib/libc.so.6"
OLD = {LOADER: "loader 1", LIBC: "libc 1", CACHE: "cache 1"}
UPGRADED = {LOADER: "loader 2", LIBC: "libc 2", CACHE: "cache 2"}
RELINKED = {**OLD, CACHE: "cache 2"}
SEEDS = 18


def selection_of(tmp_path, state, *, instrument="native", node=lambda _: "", faster=0.9, step=0):
    """Two systems, ``b`` faster, whose executions were started as ``state`` says of (system, seed); None: not known.

    From seed 10 on a simulator counts ``step`` more.
    """
    metric = "{ wall = true, cachegrind = true, primary = 'PRIMARY' }".replace(
        "PRIMARY", "estimated_cycles" if instrument == "cachegrind" else "wall_s"
    )
    config = make_config(f'[[benchmarks]]\nname = "x"\ncommand = ["{{artefact}}"]\nmetric = {metric}\n', systems="ab")
    definition = experiment.definitions(config, config.benchmarks, tmp_path)["x", instrument]
    rows = []
    for system, size in (("a", 10_000), ("b", faster * 10_000)):
        data = {seed: [[size + 7 * seed % 18]] for seed in range(1, SEEDS + 1)}
        data["stock"] = [[size + 3 + n % 2] for n in range(1, SEEDS + 1)]
        for row in measured(config, tmp_path, system, "x", data):
            seed = row.round if row.layout != "stock" else row.round + 1
            found = state(system, seed)
            values = row.measurements
            if instrument == "cachegrind":
                more = step * (seed >= 10)
                values = tuple(
                    Measurement("estimated_cycles", "1", 0, each.value + more, warmup=False) for each in values
                )
            rows.append(
                dataclasses.replace(
                    row,
                    round=seed,
                    instrument=instrument,
                    definition=definition,
                    measurements=values,
                    started_at=float(seed),
                    node=node(seed),
                    host_state={} if found is None else {"start_files": found},
                )
            )
    write(config, tmp_path, rows, **({"host": "pool-1"} if node(1) else {}))
    return selected(config, tmp_path, **({"host": "pool-1"} if node(1) else {}))


def of_kind(selection, *kinds):
    return [each for each in selection.warnings if isinstance(each, kinds)]


ALL = (OtherStartFiles, StartFilesByNode, UnlikeCache, UnlikeCode)


def since(seed, state=UPGRADED):
    """All systems were started so from that seed on."""
    return lambda _, number: state if number >= seed else OLD


@pytest.mark.parametrize("state", [since(99), lambda *_: None, lambda _, seed: OLD if seed % 2 else None])
def test_nothing_is_told_where_all_is_alike_or_not_known(tmp_path, state):
    selection = selection_of(tmp_path, state)
    assert of_kind(selection, *ALL) == []
    assert len(selection.executions) == 4 * SEEDS


@pytest.mark.parametrize("upgraded_at", [2, 7, 13, 18])
def test_a_few_executions_with_another_libc_are_left_out_and_told(tmp_path, upgraded_at):
    selection = selection_of(tmp_path, since(upgraded_at))
    fewer = min(upgraded_at - 1, SEEDS - upgraded_at + 1)
    (told,) = of_kind(selection, *ALL)
    assert told == OtherStartFiles(4 * fewer, "x", (LOADER, LIBC))
    assert str(told) == (
        f"x: left out {4 * fewer} executions of another ld-linux-x86-64.so.2 and libc.so.6 than most had, since it was "
        "changed while this was measured"
    )
    assert {sample.n_binaries for sample in selection.samples} == {SEEDS - fewer}
    assert len({str(each.host_state["start_files"]) for each in selection.executions}) == 1
    ratio = compare(selection, "a", "b", confidence=0.95, threshold=0.01, metric=None)
    assert of_pair(ratio, ratio.benchmarks[0]).verdict == "faster"


def test_as_many_of_each_are_an_error_of_design_without_a_verdict(tmp_path):
    selection = selection_of(tmp_path, since(10))
    assert len(selection.executions) == 4 * SEEDS
    assert {each.of for each in of_kind(selection, UnlikeCode)} == {("a",), ("b",)}
    report = analyse(selection, confidence=0.95, metrics=[])
    for each in report.analyses:
        concluded = of_layouts(each, report.warnings)
        assert (concluded.verdict, concluded.reasons[0].cause) == ("cannot tell", "design")
    ratio = compare(selection, "a", "b", confidence=0.95, threshold=0.01, metric=None)
    concluded = of_pair(ratio, ratio.benchmarks[0])
    assert concluded.verdict == "cannot tell"
    assert concluded.reasons[0].cause == "design"
    assert [step.kind for step in concluded.next] == ["more layouts"]


def test_more_layouts_with_the_new_libc_bring_the_verdict_back(tmp_path):
    """What the warning advises: as many again, and what was half is a third at most, and left out."""
    assert of_kind(selection_of(tmp_path, since(7)), UnlikeCode) == []


def test_two_systems_of_which_each_has_its_own_libc_are_not_compared(tmp_path):
    selection = selection_of(tmp_path, lambda system, _: UPGRADED if system == "b" else OLD)
    (told,) = of_kind(selection, *ALL)
    assert told == UnlikeCode("x", "native", ("a", "b"), (LOADER, LIBC))
    ratio = compare(selection, "a", "b", confidence=0.95, threshold=0.01, metric=None)
    assert of_pair(ratio, ratio.benchmarks[0]).verdict == "cannot tell"
    report = analyse(selection, confidence=0.95, metrics=[])
    assert all("design" not in [each.cause for each in of_layouts(a, report.warnings).reasons] for a in report.analyses)


def test_systems_with_loaders_of_other_names_differ_by_intent(tmp_path):
    musl = {"/lib/ld-musl-x86_64.so.1": "musl"}
    selection = selection_of(tmp_path, lambda system, _: {"a": musl, "b": {}}[system])
    assert of_kind(selection, *ALL) == []


def test_the_cache_matters_for_counts_alone(tmp_path):
    (tmp_path / "t").mkdir()
    assert of_kind(selection_of(tmp_path / "t", since(10, RELINKED)), *ALL) == []
    (tmp_path / "c").mkdir()
    selection = selection_of(tmp_path / "c", since(14, RELINKED), instrument="cachegrind")
    (told,) = of_kind(selection, *ALL)
    assert told == OtherStartFiles(4 * 5, "x", (CACHE,))


def test_a_cache_that_changed_half_way_casts_doubt_on_counts_and_takes_no_verdict_away(tmp_path):
    selection = selection_of(tmp_path, since(10, RELINKED), instrument="cachegrind")
    assert {each.of for each in of_kind(selection, UnlikeCache)} == {("a",), ("b",)}
    ratio = compare(selection, "a", "b", confidence=0.95, threshold=0.01, metric=None)
    concluded = of_pair(ratio, ratio.benchmarks[0])
    assert concluded.verdict == "faster"
    assert ("design", "doubts") in [(each.cause, each.effect) for each in concluded.reasons]


def test_groups_that_the_cache_may_have_made_are_not_those_of_layouts(tmp_path):
    """Measured: 567,043 instructions with one cache, 566,991 with another, and "the layouts fall into groups"."""
    for name, state, groups in (("alike", since(99), True), ("unlike", since(10, RELINKED), False)):
        (tmp_path / name).mkdir()
        selection = selection_of(tmp_path / name, state, instrument="cachegrind", step=500)
        report = analyse(selection, confidence=0.95, metrics=[])
        (found,) = [each.findings for each in report.analyses if each.system == "a"]
        assert found.shape.dip_p_value < 0.05
        assert (found.shape.has_several_peaks, found.median is not None and not found.shape.is_odd) == (groups, False)


def test_nodes_are_looked_at_one_by_one(tmp_path):
    def state(_, seed):
        return UPGRADED if seed > 9 else OLD

    selection = selection_of(tmp_path, state, node=lambda seed: "n2" if seed > 9 else "n1")
    assert of_kind(selection, *ALL) == [StartFilesByNode("x", (LOADER, LIBC))]
    assert len(selection.executions) == 4 * SEEDS
