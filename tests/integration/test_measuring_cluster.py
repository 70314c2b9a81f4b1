"""Executions on nodes: every round whole on one node, recorded once whatever is lost on the way."""

from __future__ import annotations

import errno
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clusterkit import BENCHMARK, ClusterProject, Machines
from layoutrand.analysis.aa import compare_halves
from layoutrand.analysis.asked_results import Question
from layoutrand.analysis.second_executions import with_second_executions
from layoutrand.analysis.selection import select
from layoutrand.build.build import all_layouts
from layoutrand.build.divided import divided
from layoutrand.cache.store import Cache
from layoutrand.cluster import measuring_node, node_experiments
from layoutrand.cluster.measuring import MeasuringCluster, execute_on_nodes
from layoutrand.cluster.measuring_task import MeasuringAnswer, MeasuringTask, read_record, record_key, record_of
from layoutrand.cluster.returned_records import ReturnedRecords
from layoutrand.cluster.shared_directory import SharedDirectory
from layoutrand.cluster.task_inputs import run_name
from layoutrand.config.doubled import with_second
from layoutrand.config.twice import second_seed
from layoutrand.engines.known.dask import Dask
from layoutrand.errors import AnalysisError, ClusterError, UsageError
from layoutrand.execute.execute import execute
from layoutrand.execute.experiment import slot_key
from layoutrand.execute.measure import measure
from layoutrand.execute.run_plan import RunChoices, RunRequest, make_plan
from layoutrand.execute.run_request import make_request
from layoutrand.host.facts import processor
from layoutrand.model import Execution
from layoutrand.results.file import open_for_reading, open_for_writing, results_path
from workshop import Workshop, main_calling, many_functions, require

Work = Callable[[Any], Any]


@pytest.fixture
def cluster_project(gnu: Workshop, tmp_path: Path) -> ClusterProject:
    """A small program."""
    gnu.write(main__c=main_calling("u3"), u__c=many_functions(9, prefix="u"))
    return ClusterProject(gnu, tmp_path / "site")


def slots(cluster_project: ClusterProject) -> set[tuple[Any, ...]]:
    """What tells executions apart; as many as there are."""
    rows = [(e.system, e.benchmark, e.layout, e.round, e.repetition, e.attempt) for e in cluster_project.executions()]
    assert len(set(rows)) == len(rows)
    return set(rows)


@pytest.mark.hour
@pytest.mark.slow
def test_every_round_is_executed_whole_on_one_node(cluster_project: ClusterProject) -> None:
    """Two systems, five seeds, controls beside them: recorded with their node; both of a pair follow each other."""
    config = cluster_project.config(systems={"a": {}, "b": {"cflags": "-O1"}})
    with Machines(cluster_project.folder) as nodes:
        summary = cluster_project.run(nodes, (1, 2, 3, 4, 5), config=config)
    assert (summary.total, summary.executed, summary.failures, summary.waiting) == (30, 30, (), 0)
    executions = cluster_project.executions()
    assert len(slots(cluster_project)) == len(executions) == len(cluster_project.done) == 30
    for seed in range(1, 6):
        own = sorted((e for e in executions if e.round == seed), key=lambda e: e.started_at)
        assert len({e.node for e in own}) == 1
        assert [e.order for e in own] == sorted(e.order for e in own)
        assert all(one.layout == other.layout for one, other in zip(own[::2], own[1::2], strict=True))
        assert {one.system for one in own[::2]} | {other.system for other in own[1::2]} == {"a", "b"}
    assert set(summary.nodes) == {e.node for e in executions} <= {"n1", "n2"}
    assert cluster_project.waiting() == []
    with open_for_reading(results_path(cluster_project.shop.project)) as store:
        (context,) = store.contexts(store.experiments()[0][0])
        assert store.current_captures(store.experiments()[0][0]) == {e.system: e.capture for e in executions}
    assert [made["linker"].split()[0] for made in context.tools.values()] == ["GNU", "GNU"]
    places = {e.node: e.conditions["workplace"] for e in executions}
    assert len({len(place) for place in places.values()}) == 1
    assert len(set(places.values())) == len(places)


@pytest.mark.hour
def test_a_system_that_is_executed_twice_is_in_its_rounds_on_their_nodes(cluster_project: ClusterProject) -> None:
    """Both on one node, in layouts of their own; `compare a a` finds these as what was executed twice."""
    config = cluster_project.config(systems={"a": {}})
    seeds = [1, 2, 3, 4]
    layouts = all_layouts([*seeds, *map(second_seed, seeds)], controls=False)
    results = divided(cluster_project.shop.build_all(config, layouts=layouts), seeds)
    request = make_request(
        with_second(config, ["a"]), cluster_project.shop.project, results, RunChoices(seeds=seeds, twice=True)
    )
    with Machines(cluster_project.folder) as nodes:
        summary = cluster_project.execute(nodes, request)
    assert (summary.total, summary.executed, summary.failures) == (8, 8, ())
    for seed in seeds:
        own = [e for e in cluster_project.executions() if e.round == seed]
        assert {(e.system, e.layout) for e in own} == {("a", seed), ("a again", second_seed(seed))}
        assert len({e.node for e in own}) == 1
    question = Question(config, cluster_project.shop.project, [], [], {}, None)
    with open_for_reading(results_path(cluster_project.shop.project)) as store:
        found = with_second_executions(select(question, store), question, store)
    halves = compare_halves(found, "a", confidence=0.95, threshold=0.01, metric=None)
    assert (halves.sides, halves.noise[0].n_each) == ("executed twice", 4)


@pytest.mark.hour
@pytest.mark.slow
def test_further_executions_come_in_further_passes(cluster_project: ClusterProject) -> None:
    """The second of a binary is given out when the first of all others are."""
    config = cluster_project.config("[run]\nexecutions = 2\n" + BENCHMARK, measure="rounds = 2")
    with Machines(cluster_project.folder) as nodes:
        assert cluster_project.run(nodes, (1, 2, 3), config=config, controls=False).executed == 6
    given = [{slot.repetition for slot, _ in task.slots} for task in nodes.given]
    assert given == [{0}, {0}, {1}, {1}]


@pytest.mark.hour
@pytest.mark.slow
def test_several_rounds_in_one_task(cluster_project: ClusterProject) -> None:
    """Where executions are short, a task is not worth one round."""
    with Machines(cluster_project.folder) as nodes:
        cluster_project.run(nodes, range(1, 8), config=cluster_project.config(measure="rounds = 3"))
    assert [len({slot.round for slot, _ in task.slots}) for task in nodes.given] == [3, 3, 1]
    assert len(slots(cluster_project)) == 21


@pytest.mark.slow
def test_what_was_executed_is_not_executed_again(cluster_project: ClusterProject) -> None:
    """A further call gives out what is new, and a call without anything new gives out nothing."""
    with Machines(cluster_project.folder) as nodes:
        cluster_project.run(nodes, (1, 2))
        again = cluster_project.run(nodes, (1, 2))
        assert (again.already, again.executed, len(nodes.given)) == (6, 0, 2)
        more = cluster_project.run(nodes, (1, 2, 3))
    assert (more.already, more.executed, len(nodes.given)) == (6, 3, 3)


@pytest.mark.slow
def test_a_task_that_is_lost_is_given_out_again(cluster_project: ClusterProject) -> None:
    """And what it left before that is kept: nothing is executed twice."""
    lost: list[str] = []

    def meddle(_node: str, task: MeasuringTask, work: Work) -> Any:
        if len(lost) < 2:
            lost.append(task.token)
            work(_only(task, 2))
            raise OSError("the node burned down")
        return work(task)

    with Machines(cluster_project.folder, meddle=meddle) as nodes:
        summary = cluster_project.run(nodes)
    assert (summary.executed, summary.failures) == (9, ())
    assert {attempt for *_, attempt in slots(cluster_project)} == {1}
    assert sorted(task.size for task in nodes.given) == [1, 1, 3, 3, 3]
    told = cluster_project.told("(1 execution left): its task was lost: OSError: the node burned down; given out again")
    assert len(told) == 2


def _only(task: MeasuringTask, count: int) -> MeasuringTask:
    return replace(task, slots=task.slots[:count])


@pytest.mark.hour
@pytest.mark.slow
def test_what_is_lost_too_often_is_recorded_and_can_be_tried_again(cluster_project: ClusterProject) -> None:
    """As a failed execution of each slot, with the reason; others are not touched by it."""
    burning = True

    def meddle(_node: str, task: MeasuringTask, work: Work) -> Any:
        if burning and 2 in {slot.round for slot, _ in task.slots}:
            raise OSError("the node burned down")
        return work(task)

    with Machines(cluster_project.folder, meddle=meddle) as nodes:
        summary = cluster_project.run(nodes)
        assert {(e.round, e.status) for e in summary.failures} == {(2, "lost")}
        assert len(summary.failures) == 3
        assert summary.failures[0].reason == "given out 3 times: its task was lost: OSError: the node burned down"
        assert len([task for task in nodes.given if task.slots[0][0].round == 2]) == 3
        burning = False
        assert cluster_project.run(nodes).executed == 0
        again = cluster_project.run(nodes, retry_failed=True)
    assert (again.executed, again.failures) == (3, ())
    assert {attempt for *_, seed, _, attempt in slots(cluster_project) if seed == 2} == {1, 2}


@pytest.mark.slow
@pytest.mark.hour
def test_a_node_that_always_gets_something_done_is_never_given_up(cluster_project: ClusterProject) -> None:
    """One execution per task, each task lost: more tasks than retries, and still nothing is recorded as lost."""

    def meddle(_node: str, task: MeasuringTask, work: Work) -> Any:
        work(_only(task, 1))
        raise OSError("preempted")

    with Machines(cluster_project.folder, meddle=meddle) as nodes:
        summary = cluster_project.run(nodes, range(1, 3), config=cluster_project.config(measure="rounds = 2"))
    assert (summary.executed, summary.failures) == (6, ())
    assert len(nodes.given) == 6


@pytest.mark.slow
def test_a_worker_that_is_killed_takes_its_program_with_it(cluster_project: ClusterProject) -> None:
    """kill -9 of the worker while a program runs: the program ends, its round is executed whole on another node."""
    mark = cluster_project.folder / "mark"
    script = (
        f'echo $$ >> "{mark}.$LAYOUT_ROUND"; test -e "{mark}" && exec "$1"; '
        f': > "{mark}"; above=$PPID; for each in measuring lower upper; do '
        'above=$(sed -n "s/^PPid:[^0-9]*//p" /proc/$above/status); done; kill -9 $above; sleep 60'
    )
    words = json.dumps(["sh", "-c", script, "sh", "{artefact}"])
    config = cluster_project.config(
        f'[run]\nisolation = "process-group"\n[[benchmarks]]\nname = "b"\ncommand = {words}\n'
    )  # in a control group another process stands between
    cluster_project.folder.mkdir(parents=True, exist_ok=True)
    with Machines(cluster_project.folder) as nodes:
        summary = cluster_project.run(nodes, config=config)
    assert (summary.executed, summary.failures) == (9, ())
    pids = [int(line) for path in cluster_project.folder.glob("mark.*") for line in path.read_text().split()]
    assert len(pids) == 10
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
    assert len(cluster_project.told("BrokenProcessPool")) == 1


@pytest.mark.hour
@pytest.mark.slow
def test_what_arrives_twice_counts_once(cluster_project: ClusterProject) -> None:
    """The network was cut, the task given out again, and the first node finished all the same."""
    cut: list[MeasuringTask] = []

    def meddle(_node: str, task: MeasuringTask, work: Work) -> Any:
        if not cut:
            cut.append(task)
            raise OSError("cannot be reached")
        ended = work(task)
        if task.slots[0][0].round == cut[0].slots[0][0].round:
            records = cluster_project.shared / "executions"
            kept = {path: path.read_bytes() for path in records.glob("*/*")}
            late.append(kept)
        return ended

    late: list[dict[Path, bytes]] = []
    with Machines(cluster_project.folder, ("n1",), meddle=meddle) as nodes:
        cluster_project.run(nodes)
        before = slots(cluster_project)
        for path, data in late[0].items():
            path.write_bytes(data)
        again = cluster_project.run(nodes)
    assert (again.executed, again.already) == (0, 9)
    assert slots(cluster_project) == before
    assert cluster_project.waiting() == []


@pytest.mark.hour
@pytest.mark.slow
def test_a_run_that_was_killed_finds_what_was_finished_meanwhile(cluster_project: ClusterProject) -> None:
    """Interrupted after the first execution; nodes go on; the next call takes their records before it gives any out."""
    stop = threading.Event()
    released = threading.Event()

    def meddle(_node: str, task: MeasuringTask, work: Work) -> Any:
        ended = work(task)
        stop.set()
        released.wait(60)
        return ended

    with Machines(cluster_project.folder, ("n1", "n2"), meddle=meddle) as nodes:
        request = cluster_project.request(cluster_project.config(), (1, 2, 3))
        with pytest.raises(ClusterError, match="interrupted while nodes were executing"):
            cluster_project.execute(nodes, request, stopped=stop.is_set)
        left = len(cluster_project.executions())
        assert 3 <= left <= 6
        released.set()
    with Machines(cluster_project.folder) as nodes:
        summary = cluster_project.run(nodes)
        given = sum(task.size for task in nodes.given)
    assert summary.already + summary.executed == 9
    assert given == 9 - summary.already
    assert len(slots(cluster_project)) == 9


@pytest.mark.hour
@pytest.mark.slow
def test_a_requeued_task_goes_on_where_it_was(cluster_project: ClusterProject) -> None:
    """Slurm starts a job again on another node with the same words: what was left is not executed again."""

    def meddle(_node: str, task: MeasuringTask, work: Work) -> Any:
        work(_only(task, 2))
        return work(task)

    with Machines(cluster_project.folder, meddle=meddle) as nodes:
        summary = cluster_project.run(nodes)
    assert summary.executed == 9
    assert len(slots(cluster_project)) == 9
    assert len(nodes.given) == 3
    assert cluster_project.told("arrived twice") == []


@pytest.mark.hour
@pytest.mark.slow
def test_a_listing_that_is_old_loses_nothing(cluster_project: ClusterProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a directory on NFS: what a task has left is asked for by its name before it is given out again."""
    monkeypatch.setattr(ReturnedRecords, "names", lambda _records: [])
    with Machines(cluster_project.folder) as nodes:
        summary = cluster_project.run(nodes)
    assert [line for line in cluster_project.told("given out again") if "did not arrive" in line] == []
    assert (summary.executed, summary.failures) == (9, ())
    assert cluster_project.waiting() == []


@pytest.mark.hour
@pytest.mark.slow
def test_what_was_given_up_as_lost_and_arrives_counts(cluster_project: ClusterProject) -> None:
    """Its node was cut off for longer than anybody waited: the execution is the attempt after the lost one, once."""
    kept: dict[Path, bytes] = {}

    def meddle(_node: str, task: MeasuringTask, work: Work) -> Any:
        if task.slots[0][0].round != 2:
            return work(task)
        if not kept:
            away = cluster_project.folder / "away"
            work(replace(task, shared=str(shutil.copytree(cluster_project.shared, away))))
            records = away / "executions"
            kept.update(
                {cluster_project.shared / path.relative_to(away): path.read_bytes() for path in records.glob("*/*")}
            )
        raise OSError("cannot be reached")

    with Machines(cluster_project.folder, ("n1",), meddle=meddle) as nodes:
        assert len(cluster_project.run(nodes, controls=False).failures) == 1
        for _ in range(2):
            for path, data in kept.items():
                path.write_bytes(data)
            again = cluster_project.run(nodes, controls=False)
            assert (again.executed, again.already, again.failures) == (0, 3, ())
    own = sorted((e.attempt, e.status) for e in cluster_project.executions() if e.round == 2)
    assert own == [(1, "lost"), (2, "ok")]
    assert cluster_project.waiting() == []


@pytest.mark.hour
@pytest.mark.slow
def test_attempts_that_arrive_in_another_order(
    cluster_project: ClusterProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two disturbed attempts the second says that it began first: its node's clock is slow."""
    there = threading.Event()
    names = ReturnedRecords.names
    monkeypatch.setattr(ReturnedRecords, "names", lambda records: names(records) if there.is_set() else [])

    def meddle(_node: str, task: MeasuringTask, work: Work) -> Any:
        if len(nodes.given) > 1:
            return work(task)
        work(task)
        records = ReturnedRecords(cluster_project.shared, cluster_project.waiting()[0].parent.name)
        for path in cluster_project.waiting():  # more than one where it was disturbed indeed
            execution, facts, output = read_record(records.get(path.name) or {})
            records.drop(path.name)
        first = replace(execution, attempt=1, disturbances=("load",))
        second = replace(first, attempt=2, started_at=first.started_at - 1000)
        for attempt in (first, second):
            records.put(record_key(slot_key(attempt), attempt.attempt), record_of(attempt, facts, output))
        there.set()
        raise OSError("lost")

    config = cluster_project.config("[run.disturbance]\nrepeat = 2\n" + BENCHMARK)
    with Machines(cluster_project.folder, ("n1",), meddle=meddle) as nodes:
        summary = cluster_project.run(nodes, (1,), config=config, controls=False)
    assert (summary.executed, summary.repeated, len(nodes.given)) == (1, 2, 2)
    assert sorted(e.attempt for e in cluster_project.executions()) == [1, 2, 3]


@pytest.mark.slow
def test_a_record_that_cannot_be_read_now_is_kept(cluster_project: ClusterProject) -> None:
    """A server that is away for a moment is no reason to delete a measurement."""
    records = ReturnedRecords(cluster_project.shared, _run_of(cluster_project.request(cluster_project.config(), (1,))))
    path = records.path("a" * 64)
    path.mkdir(parents=True)
    with Machines(cluster_project.folder) as nodes:
        assert cluster_project.run(nodes, (1,)).executed == 3
    assert len(cluster_project.told("Is a directory")) == 1
    assert path.exists()


@pytest.mark.slow
def test_a_damaged_record_is_executed_again(cluster_project: ClusterProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is said, with the file."""
    there = threading.Event()
    names = ReturnedRecords.names
    monkeypatch.setattr(ReturnedRecords, "names", lambda records: names(records) if there.is_set() else [])

    def meddle(_node: str, task: MeasuringTask, work: Work) -> Any:
        ended = work(task)
        if len(nodes.given) == 1:
            path = next(iter(cluster_project.waiting()))
            path.write_bytes(path.read_bytes()[:-5])
        there.set()
        return ended

    with Machines(cluster_project.folder, ("n1",), meddle=meddle) as nodes:
        summary = cluster_project.run(nodes, (1,))
    assert summary.executed == 3
    assert len(cluster_project.told("is damaged, so what it records is executed again")) == 1


@pytest.mark.slow
def test_unlike_processors_are_not_mixed(cluster_project: ClusterProject) -> None:
    """The first node settles which; the others refuse, and where nobody is left that is an error with the reason."""
    request = cluster_project.request(cluster_project.config(), (1, 2))
    records = ReturnedRecords(cluster_project.shared, _run_of(request))
    records.agree("cpu", {"machine": "x86_64", "cpu_model": "Old CPU", "cpus": 4})
    with Machines(cluster_project.folder) as nodes, pytest.raises(ClusterError) as caught:
        cluster_project.execute(nodes, request)
    assert "no node can execute anything" in str(caught.value)
    assert "this experiment is executed on Old CPU (4 CPUs)" in str(caught.value)
    assert cluster_project.executions() == []


def _run_of(request: RunRequest) -> str:
    return run_name(make_plan(request, here=False))


@pytest.mark.hour
def test_a_processor_that_is_asked_for_by_name(cluster_project: ClusterProject) -> None:
    """Another is refused by its node."""
    with (
        Machines(cluster_project.folder) as nodes,
        pytest.raises(ClusterError, match=r"and cluster.measure.cpu is 'Z80'"),
    ):
        cluster_project.run(nodes, config=cluster_project.config(measure='cpu = "Z80"'))


@pytest.mark.hour
@pytest.mark.slow
def test_unlike_processors_are_mixed_if_they_are_to_be(
    cluster_project: ClusterProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recorded apart all the same, and analysed together; without the word for it the analysis refuses."""
    config = cluster_project.config(measure="unlike_cpus = true")
    with Machines(cluster_project.folder, ("n1",)) as nodes:
        cluster_project.run(nodes, (1,), config=config)
    with Machines(cluster_project.folder, ("n2",)) as nodes, monkeypatch.context() as patch:
        patch.setattr(node_experiments, "processor", lambda facts: {**processor(facts), "cpu_model": "Another"})
        cluster_project.run(nodes, (2,), config=config)
    with Machines(cluster_project.folder) as nodes:
        assert cluster_project.run(nodes, (1, 2), config=config).already == 6
    with open_for_reading(results_path(cluster_project.shop.project)) as store:
        assert len(store.experiments()) == 2
        selection = select(Question(config, cluster_project.shop.project, [], [], {}, None), store)
        assert selection.samples[0].n_binaries == 2
        assert {node.name for node in selection.nodes} == {"n1", "n2"}
        with pytest.raises(AnalysisError, match="unlike processors, which are not analysed together unless"):
            select(Question(cluster_project.config(), cluster_project.shop.project, [], [], {}, None), store)
        alone = select(
            Question(cluster_project.config(), cluster_project.shop.project, [], [], {}, selection.experiment.host),
            store,
        )
        assert alone.samples[0].n_binaries == 1
    with (
        Machines(cluster_project.folder) as nodes,
        pytest.raises(ClusterError, match="Name one with --host, or set unlike_cpus"),
    ):
        cluster_project.run(nodes, (1, 2, 3))


@pytest.mark.slow
def test_the_output_of_a_failed_execution_comes_back(cluster_project: ClusterProject) -> None:
    """To where it would be if it had failed here."""
    words = json.dumps(["sh", "-c", "echo as it was; echo bad >&2; exit 3", "sh", "{artefact}"])
    with Machines(cluster_project.folder) as nodes:
        summary = cluster_project.run(
            nodes, (1,), config=cluster_project.config(f'[[benchmarks]]\nname = "b"\ncommand = {words}\n')
        )
    assert {e.status for e in summary.failures} == {"exit"}
    logs = [cluster_project.shop.project / e.log for e in summary.failures]
    assert len(set(logs)) == 3
    assert {(log / "stdout").read_text() for log in logs} == {"as it was\n"}
    assert {(log / "stderr").read_text() for log in logs} == {"bad\n"}


@pytest.mark.slow
def test_inputs_travel_whatever_they_are_called(cluster_project: ClusterProject) -> None:
    """Standard input, expected output, files, directories with links, and what a word of the command names."""
    project = cluster_project.shop.project
    name = "in $put 'x'\nq"
    inner = project / name / "d\udcff"
    inner.parent.mkdir()
    inner.mkdir()
    (inner / "a").write_text("A")
    (inner / "empty").mkdir()
    (inner / "link").symlink_to("a")
    (project.parent / "above").write_text("B")
    (project / "stdin").write_text("S")
    (project / "want").write_text("SABC")
    (project / "named c").write_text("C")
    script = 'cat; cd "$1"/d*; test -d empty && cat link; cat ../../above "$2"'
    words = json.dumps(["sh", "-c", script, "sh", name, "{project}/named c"])
    benchmark = (
        f'[[benchmarks]]\nname = "b"\ncommand = {words}\nstdin = "stdin"\nexpect_stdout = "want"\n'
        f"files = {json.dumps([name, '../above'])}\n"
    )
    with Machines(cluster_project.folder) as nodes:
        summary = cluster_project.run(nodes, (1,), config=cluster_project.config(benchmark))
    assert [e.reason for e in summary.failures] == []
    assert summary.executed == 3


@pytest.mark.parametrize("word", ["{project}", "{project}/absent", "--path={project}"])
def test_a_word_that_nobody_can_tell_the_files_of_is_refused(cluster_project: ClusterProject, word: str) -> None:
    """Before anything is given out."""
    config = cluster_project.config(f'[[benchmarks]]\nname = "b"\ncommand = ["{{artefact}}", "{word}"]\n')
    with Machines(cluster_project.folder) as nodes, pytest.raises(UsageError, match="nobody can tell what"):
        cluster_project.run(nodes, (1,), config=config)
    assert nodes.given == []


@pytest.mark.slow
def test_an_input_outside_the_project_must_be_the_same_there(cluster_project: ClusterProject, tmp_path: Path) -> None:
    """It does not travel, and its content is compared."""
    data = tmp_path / "data"
    data.write_text("1")

    def meddle(_node: str, task: MeasuringTask, work: Work) -> Any:
        data.write_text("2")
        return work(task)

    config = cluster_project.config(f'[[benchmarks]]\nname = "b"\ncommand = ["{{artefact}}"]\nstdin = "{data}"\n')
    with (
        Machines(cluster_project.folder, meddle=meddle) as nodes,
        pytest.raises(ClusterError, match="named by an absolute path has another content on n"),
    ):
        cluster_project.run(nodes, (1,), config=config)


@pytest.mark.slow
def test_a_build_of_its_own_for_every_layout_travels_as_it_is(cluster_project: ClusterProject) -> None:
    """In rebuild mode there is no capture that a node could link from."""
    with Machines(cluster_project.folder) as nodes:
        summary = cluster_project.run(nodes, (1, 2), config=cluster_project.config(build={"mode": "rebuild"}))
    assert (summary.executed, summary.failures) == (6, ())
    assert all(len(task.contents) == len(task.binaries) for task in nodes.given)


@pytest.mark.slow
def test_a_prebuilt_system_is_executed_in_every_round(cluster_project: ClusterProject) -> None:
    """Its directory is an input like others."""
    whole = cluster_project.shop.built("$CC -c *.c && $CC -o prog main.o u.o")
    given = cluster_project.shop.project / "given"
    given.mkdir()
    shutil.copy2(whole.result.binaries[0].path, given / "prog")
    config = cluster_project.config(systems={"sys": {}, "pre": {}})
    systems = {"sys": config.systems["sys"], "pre": config.systems["sys"].model_copy(update={"prebuilt": "given"})}
    with Machines(cluster_project.folder) as nodes:
        summary = cluster_project.run(nodes, (1, 2), config=config.model_copy(update={"systems": systems}))
    assert (summary.executed, summary.failures) == (8, ())


@pytest.mark.hour
@pytest.mark.slow
def test_a_prebuilt_system_outside_the_project_must_be_the_same_there(
    cluster_project: ClusterProject, tmp_path: Path
) -> None:
    """Its directory does not travel; with another file in it a node would measure what nobody asked for."""
    built = cluster_project.shop.built("$CC -c *.c && $CC -o prog main.o u.o")
    given = tmp_path / "given"
    given.mkdir()
    shutil.copy2(built.result.binaries[0].path, given / "prog")

    def meddle(_node: str, task: MeasuringTask, work: Work) -> Any:
        (given / "prog").unlink(missing_ok=True)
        (given / "prog").write_text("another")
        return work(task)

    config = cluster_project.config(systems={"pre": {}})
    systems = {"pre": config.systems["pre"].model_copy(update={"prebuilt": str(given)})}
    with (
        Machines(cluster_project.folder, meddle=meddle) as nodes,
        pytest.raises(ClusterError, match=r"systems.pre.prebuilt: .*/given/prog has another content on n"),
    ):
        cluster_project.run(nodes, (1, 2), config=config.model_copy(update={"systems": systems}))
    assert cluster_project.executions() == []


@pytest.mark.slow
def test_instruments_are_those_of_the_node(cluster_project: ClusterProject) -> None:
    """A simulation counts there what it counts here."""
    require("valgrind", "valgrind")
    benchmark = BENCHMARK + "metric = { wall = true, cachegrind = true }\n"
    with Machines(cluster_project.folder) as nodes:
        summary = cluster_project.run(nodes, (1, 2), config=cluster_project.config(benchmark))
    assert summary.failures == ()
    counted = [
        m.value
        for e in cluster_project.executions()
        if e.instrument == "cachegrind"
        for m in e.measurements
        if m.metric == "instructions"
    ]
    assert len(counted) == 6
    assert len({round(count, -3) for count in counted}) == 1


@pytest.mark.slow
def test_a_node_with_a_full_disk_says_so_and_another_one_does_it(cluster_project: ClusterProject) -> None:
    """No file there may grow beyond 4 KiB; its task is given out again, and nothing is recorded for it."""

    def meddle(node: str, task: MeasuringTask, work: Work) -> Any:
        if node == "full" and not full.is_set():
            full.set()
            return _executed_with(task, "ulimit -f 8")
        full.wait(60)
        return work(task)

    full = threading.Event()
    with Machines(cluster_project.folder, ("full", "roomy"), meddle=meddle) as nodes:
        summary = cluster_project.run(nodes, (1, 2, 3))
    assert (summary.executed, summary.failures) == (9, ())
    assert cluster_project.told("node full cannot execute it: cannot write")
    assert cluster_project.told("File too large")


def _executed_with(task: MeasuringTask, limit: str) -> MeasuringAnswer:
    """What a node says that has this limit of the shell's."""
    code = (
        "import pickle, sys; from layoutrand.cluster.measuring_node import execute_here; "
        "sys.stdout.buffer.write(pickle.dumps(execute_here(pickle.load(sys.stdin.buffer))))"
    )
    done = subprocess.run(
        ["sh", "-c", f'{limit}; trap "" XFSZ; exec "$@"', "sh", sys.executable, "-c", code],
        input=pickle.dumps(task),
        capture_output=True,
        env={**os.environ, "LAYOUTRAND_NODE": "full"},
        timeout=60,
        check=True,
    )
    ended = pickle.loads(done.stdout)
    assert isinstance(ended, MeasuringAnswer)
    return ended


def test_what_the_system_refuses_is_no_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node without space for temporary files says so, and is avoided: it would be the first to be free again."""

    def full(*_words: Any, **_options: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/scratch/x")

    nothing: Any = None
    monkeypatch.setenv("LAYOUTRAND_NODE", "n7")
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    monkeypatch.setattr(measuring_node, "_execute", full)
    for ended in (measuring_node.execute_task(nothing), measuring_node.execute_here(nothing)):
        assert ended.node == "n7"
        assert ended.refused.startswith("the system there says No space left on device: /scratch/x; see to its disks")


@pytest.mark.hour
@pytest.mark.slow
def test_a_binary_that_was_damaged_on_its_node_is_fetched_again(cluster_project: ClusterProject) -> None:
    """Whatever wrote into it."""
    with Machines(cluster_project.folder, ("n1",)) as nodes:
        cluster_project.run(nodes, (1,))
        (stock,) = cluster_project.folder.glob("node cache/nodes/*/*/binaries/*")
        stock.write_bytes(b"damaged")
        summary = cluster_project.run(nodes, (1, 2))
    assert (summary.executed, summary.failures, summary.refusals) == (3, (), ())


@pytest.mark.slow
def test_an_engine_that_is_gone_says_nothing_of_executions(cluster_project: ClusterProject) -> None:
    """Nothing is recorded as lost because nobody takes it any more; the next call goes on."""

    class Leaving(Machines):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            if len(self.given) == 2:
                raise RuntimeError("the scheduler is gone")
            return super().submit(fn, *args, **kwargs)

    with (
        Leaving(cluster_project.folder) as nodes,
        pytest.raises(ClusterError, match=r"RuntimeError: the scheduler is gone\. What"),
    ):
        cluster_project.run(nodes)
    assert "lost" not in {e.status for e in cluster_project.executions()}
    with Machines(cluster_project.folder) as nodes:
        summary = cluster_project.run(nodes)
    assert (summary.executed + summary.already, summary.failures) == (9, ())


@pytest.mark.hour
@pytest.mark.slow
def test_a_loss_among_unlike_processors_ends_nothing(cluster_project: ClusterProject) -> None:
    """A round that is lost thrice while others are being executed for the first time is recorded beside them."""
    lost = threading.Event()

    def meddle(_node: str, task: MeasuringTask, work: Work) -> Any:
        if task.slots[0][0].round == 2:
            begun.wait(60)
            raise OSError("burned down")
        words = work(replace(task, slots=task.slots[:0]))
        begun.set()
        lost.wait(60)
        return work(task) or words

    begun = threading.Event()

    def progress(done: Any) -> None:
        cluster_project.done.append(done)
        lost.set()

    request = cluster_project.request(cluster_project.config(measure="unlike_cpus = true"), (1, 2), controls=False)
    cluster = request.config.cluster
    assert isinstance(cluster, Dask)
    with (
        Machines(cluster_project.folder, meddle=meddle) as machines,
        open_for_writing(results_path(cluster_project.shop.project)) as store,
    ):
        nodes = MeasuringCluster(
            machines, SharedDirectory(cluster_project.shared), cluster, Cache(cluster_project.shop.cache), 2
        )
        summary = execute_on_nodes(
            request, store=store, cluster=nodes, progress=progress, say=cluster_project.said.append
        )
    assert (summary.executed, [e.status for e in summary.failures]) == (2, ["lost"])


@pytest.mark.slow
def test_a_node_with_another_version_or_linker_refuses(cluster_project: ClusterProject) -> None:
    """It would not make the same binaries."""

    def meddle(_node: str, task: MeasuringTask, work: Work) -> Any:
        return work(replace(task, version="0.0"))

    with (
        Machines(cluster_project.folder, meddle=meddle) as nodes,
        pytest.raises(ClusterError, match=r"layoutrand is .* and 0.0"),
    ):
        cluster_project.run(nodes, (1,))


@pytest.mark.slow
def test_a_layout_that_comes_out_otherwise_is_never_executed(cluster_project: ClusterProject) -> None:
    """The node's linker is the same file and does something else: its libraries may differ."""

    def meddle(_node: str, task: MeasuringTask, work: Work) -> Any:
        binaries = tuple(replace(b, sha256="0" * 64) if isinstance(b.layout, int) else b for b in task.binaries)
        return work(replace(task, binaries=binaries))

    with (
        Machines(cluster_project.folder, meddle=meddle) as nodes,
        pytest.raises(ClusterError, match="has SHA-256 .* here"),
    ):
        cluster_project.run(nodes, (1,), config=cluster_project.config())
    assert cluster_project.executions() == []


@pytest.mark.hour
def test_a_refusal_leaves_the_rest_to_be_executed(cluster_project: ClusterProject) -> None:
    """What no node could execute is not recorded as a failure of the program, but it is told and is waiting."""

    def meddle(_node: str, task: MeasuringTask, work: Work) -> Any:
        if task.slots[0][0].round == 2:
            return MeasuringAnswer("n1", "there is no valgrind")
        return work(task)

    with Machines(cluster_project.folder, meddle=meddle) as nodes:
        summary = cluster_project.run(nodes)
    assert (summary.executed, summary.waiting, summary.failures) == (6, 3, ())
    assert summary.refusals == ("node n1 cannot execute it: there is no valgrind",)
    with Machines(cluster_project.folder) as nodes:
        assert cluster_project.run(nodes).executed == 3


@pytest.mark.hour
@pytest.mark.slow
def test_two_projects_may_share_a_directory(cluster_project: ClusterProject, tmp_path: Path) -> None:
    """Neither takes the other's records."""
    copy = tmp_path / "copy"
    with Machines(cluster_project.folder) as nodes:
        cluster_project.run(nodes, (1, 2))
        shutil.copytree(cluster_project.shop.project, copy, ignore=shutil.ignore_patterns(".layoutrand"))
        other = ClusterProject(replace(cluster_project.shop, project=copy), cluster_project.folder)
        assert other.run(nodes, (1, 2)).executed == 6
    assert len(cluster_project.executions()) == len(other.executions()) == 6


LOOK = """
[[benchmarks]]
name = "kernel"
command = ["cat", "/proc/self/status", "/proc/self/limits", "/proc/self/environ", "/proc/self/oom_score_adj", "/absent"]
[[benchmarks]]
name = "files"
command = ["ls", "-l", "/proc/self/fd", "/absent"]
[[benchmarks]]
name = "session"
command = ["cat", "/proc/self/stat", "/absent"]
"""


def _seen(benchmark: str, execution: Execution, text: str, project: Path) -> list[str]:
    """What the program saw, without what is never the same twice; its place is called P."""
    place = str(execution.conditions.get("workplace", project.resolve() / ".layoutrand" / "work"))
    text = text.replace(place, "P")
    if benchmark == "kernel":
        varying = re.compile(
            r"(Ng|Tg|P|PP|NSp|NStg|NSpg|NSs)i?d:|Vm|Rss|Hugetlb|FDSize|SigQ|(non)?voluntary|Mems|Seccomp_f"
        )
        return [line for line in re.split(r"[\n\0]", text) if not varying.match(line)]
    if benchmark == "files":
        return [re.sub(r"/proc/\d+/", "/proc/N/", line.partition(":")[2][3:]) for line in text.splitlines()[1:]]
    pid, fields = text.split()[0], text.rpartition(")")[2].split()
    # Group, session, terminal, its group, priority, nice value, signal at the end, and the scheduler's two.
    return [{pid: "own"}.get(fields[number], fields[number]) for number in (2, 3, 4, 5, 15, 16, 35, 37, 38)]


@pytest.mark.slow
def test_a_program_is_given_on_a_node_what_it_is_given_here(cluster_project: ClusterProject) -> None:
    """Environment, files, limits, signals, umask, CPUs, priority, session: nothing of the engine's worker."""
    config = cluster_project.config("[run]\nrandomise = []\n" + LOOK)
    request = cluster_project.request(config, (1,), controls=False)
    with open_for_writing(results_path(cluster_project.shop.project)) as store:
        execute(
            request,
            store=store,
            executor=measure,
            progress=cluster_project.done.append,
            say=cluster_project.said.append,
        )
    seen = {"": looked(cluster_project, "")}
    with Machines(cluster_project.folder, ("n1",), PYTHONPATH="/x", LAYOUTRAND_WAIT="1", OMP_NUM_THREADS="1") as nodes:
        cluster_project.execute(nodes, request)
    seen["n1"] = looked(cluster_project, "n1")
    assert len(seen["n1"]["kernel"]) > 40
    assert len(seen["n1"]["files"]) == 5
    assert seen["n1"]["session"][:3] == ["own", "own", "0"]
    assert {line.partition("=")[0] for line in seen["n1"]["kernel"] if "=" in line} == {
        "PATH",
        "HOME",
        "LANG",
        "TMPDIR",
    }
    for benchmark, lines in seen[""].items():
        assert set(seen["n1"][benchmark]) ^ set(lines) == set()
    assert seen["n1"] == seen[""]


def looked(cluster_project: ClusterProject, node: str) -> dict[str, list[str]]:
    """What each benchmark saw on the node, or on this machine."""
    own = [execution for execution in cluster_project.executions() if execution.node == node]
    texts = {e.benchmark: (cluster_project.shop.project / e.log / "stdout").read_text() for e in own}
    return {e.benchmark: _seen(e.benchmark, e, texts[e.benchmark], cluster_project.shop.project) for e in own}
