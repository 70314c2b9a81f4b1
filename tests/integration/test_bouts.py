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

from clusterkit import BENCHMARK, Machines, Site
from layoutrand.analysis.selection import Question, select
from layoutrand.cache.store import Cache
from layoutrand.cluster import measuring_node, pools
from layoutrand.cluster.measuring import Nodes, execute_on_nodes
from layoutrand.cluster.returned import Shelf
from layoutrand.cluster.shared_directory import Staging
from layoutrand.cluster.task import Bout, Ended, read_record, record_key, record_of
from layoutrand.cluster.task_inputs import run_name
from layoutrand.engines.known.dask import Dask
from layoutrand.errors import AnalysisError, ClusterError, UsageError
from layoutrand.execute.execute import execute
from layoutrand.execute.experiment import slot_key
from layoutrand.execute.measure import measure
from layoutrand.execute.run_plan import RunRequest, make_plan
from layoutrand.host.facts import processor
from layoutrand.model import Execution
from layoutrand.results.file import open_for_reading, open_for_writing, results_path
from workshop import Workshop, main_calling, many_functions, require

Work = Callable[[Any], Any]


@pytest.fixture
def site(gnu: Workshop, tmp_path: Path) -> Site:
    """A small program."""
    gnu.write(main__c=main_calling("u3"), u__c=many_functions(9, prefix="u"))
    return Site(gnu, tmp_path / "site")


def slots(site: Site) -> set[tuple[Any, ...]]:
    """What tells executions apart; as many as there are."""
    rows = [(e.system, e.benchmark, e.layout, e.round, e.repetition, e.attempt) for e in site.executions()]
    assert len(set(rows)) == len(rows)
    return set(rows)


def test_every_round_is_executed_whole_on_one_node(site: Site) -> None:
    """Two systems, five seeds, controls beside them: recorded with their node; both of a pair follow each other."""
    config = site.config(systems={"a": {}, "b": {"cflags": "-O1"}})
    with Machines(site.folder) as nodes:
        summary = site.run(nodes, (1, 2, 3, 4, 5), config=config)
    assert (summary.total, summary.executed, summary.failures, summary.waiting) == (30, 30, (), 0)
    executions = site.executions()
    assert len(slots(site)) == len(executions) == len(site.done) == 30
    for seed in range(1, 6):
        own = sorted((e for e in executions if e.round == seed), key=lambda e: e.started_at)
        assert len({e.node for e in own}) == 1
        assert [e.order for e in own] == sorted(e.order for e in own)
        assert all(one.layout == other.layout for one, other in zip(own[::2], own[1::2], strict=True))
        assert {one.system for one in own[::2]} | {other.system for other in own[1::2]} == {"a", "b"}
    assert set(summary.nodes) == {e.node for e in executions} <= {"n1", "n2"}
    assert site.waiting() == []
    with open_for_reading(results_path(site.shop.project)) as store:
        (context,) = store.contexts(store.experiments()[0][0])
        assert store.current_captures(store.experiments()[0][0]) == {e.system: e.capture for e in executions}
    assert [made["linker"].split()[0] for made in context.tools.values()] == ["GNU", "GNU"]
    places = {e.node: e.conditions["workplace"] for e in executions}
    assert len({len(place) for place in places.values()}) == 1
    assert len(set(places.values())) == len(places)


@pytest.mark.slow
def test_further_executions_come_in_further_passes(site: Site) -> None:
    """The second of a binary is given out when the first of all others are."""
    config = site.config("[run]\nexecutions = 2\n" + BENCHMARK, measure="rounds = 2")
    with Machines(site.folder) as nodes:
        assert site.run(nodes, (1, 2, 3), config=config, controls=False).executed == 6
    dealt = [{slot.repetition for slot, _ in bout.slots} for bout in nodes.given]
    assert dealt == [{0}, {0}, {1}, {1}]


@pytest.mark.slow
def test_several_rounds_in_one_task(site: Site) -> None:
    """Where executions are short, a task is not worth one round."""
    with Machines(site.folder) as nodes:
        site.run(nodes, range(1, 8), config=site.config(measure="rounds = 3"))
    assert [len({slot.round for slot, _ in bout.slots}) for bout in nodes.given] == [3, 3, 1]
    assert len(slots(site)) == 21


@pytest.mark.slow
def test_what_was_executed_is_not_executed_again(site: Site) -> None:
    """A further call gives out what is new, and a call without anything new gives out nothing."""
    with Machines(site.folder) as nodes:
        site.run(nodes, (1, 2))
        again = site.run(nodes, (1, 2))
        assert (again.already, again.executed, len(nodes.given)) == (6, 0, 2)
        more = site.run(nodes, (1, 2, 3))
    assert (more.already, more.executed, len(nodes.given)) == (6, 3, 3)


def test_a_task_that_is_lost_is_given_out_again(site: Site) -> None:
    """And what it left before that is kept: nothing is executed twice."""
    lost: list[str] = []

    def meddle(_node: str, bout: Bout, work: Work) -> Any:
        if len(lost) < 2:
            lost.append(bout.token)
            work(_only(bout, 2))
            raise OSError("the node burned down")
        return work(bout)

    with Machines(site.folder, meddle=meddle) as nodes:
        summary = site.run(nodes)
    assert (summary.executed, summary.failures) == (9, ())
    assert {attempt for *_, attempt in slots(site)} == {1}
    assert sorted(bout.size for bout in nodes.given) == [1, 1, 3, 3, 3]
    told = site.told("(1 executions left): its task was lost: OSError: the node burned down; given out again")
    assert len(told) == 2


def _only(bout: Bout, count: int) -> Bout:
    return replace(bout, slots=bout.slots[:count])


@pytest.mark.slow
def test_what_is_lost_too_often_is_recorded_and_can_be_tried_again(site: Site) -> None:
    """As a failed execution of each slot, with the reason; others are not touched by it."""
    burning = True

    def meddle(_node: str, bout: Bout, work: Work) -> Any:
        if burning and 2 in {slot.round for slot, _ in bout.slots}:
            raise OSError("the node burned down")
        return work(bout)

    with Machines(site.folder, meddle=meddle) as nodes:
        summary = site.run(nodes)
        assert {(e.round, e.status) for e in summary.failures} == {(2, "lost")}
        assert len(summary.failures) == 3
        assert summary.failures[0].reason == "given out 3 times: its task was lost: OSError: the node burned down"
        assert len([bout for bout in nodes.given if bout.slots[0][0].round == 2]) == 3
        burning = False
        assert site.run(nodes).executed == 0
        again = site.run(nodes, retry_failed=True)
    assert (again.executed, again.failures) == (3, ())
    assert {attempt for *_, seed, _, attempt in slots(site) if seed == 2} == {1, 2}


@pytest.mark.slow
def test_a_node_that_always_gets_something_done_is_never_given_up(site: Site) -> None:
    """One execution per task, each task lost: more tasks than retries, and still nothing is recorded as lost."""

    def meddle(_node: str, bout: Bout, work: Work) -> Any:
        work(_only(bout, 1))
        raise OSError("preempted")

    with Machines(site.folder, meddle=meddle) as nodes:
        summary = site.run(nodes, range(1, 3), config=site.config(measure="rounds = 2"))
    assert (summary.executed, summary.failures) == (6, ())
    assert len(nodes.given) == 6


def test_a_worker_that_is_killed_takes_its_program_with_it(site: Site) -> None:
    """kill -9 of the worker while a program runs: the program ends, its round is executed whole on another node."""
    mark = site.folder / "mark"
    script = (
        f'echo $$ >> "{mark}.$LAYOUT_ROUND"; test -e "{mark}" && exec "$1"; '
        f': > "{mark}"; kill -9 $(sed -n "s/^PPid:[^0-9]*//p" /proc/$PPID/status); sleep 60'
    )
    words = json.dumps(["sh", "-c", script, "sh", "{artefact}"])
    config = site.config(f'[[benchmarks]]\nname = "b"\ncommand = {words}\n')
    site.folder.mkdir(parents=True, exist_ok=True)
    with Machines(site.folder) as nodes:
        summary = site.run(nodes, config=config)
    assert (summary.executed, summary.failures) == (9, ())
    pids = [int(line) for path in site.folder.glob("mark.*") for line in path.read_text().split()]
    assert len(pids) == 10
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
    assert len(site.told("BrokenProcessPool")) == 1


@pytest.mark.slow
def test_what_comes_home_twice_counts_once(site: Site) -> None:
    """The network was cut, the task given out again, and the first node finished all the same."""
    cut: list[Bout] = []

    def meddle(_node: str, bout: Bout, work: Work) -> Any:
        if not cut:
            cut.append(bout)
            raise OSError("cannot be reached")
        ended = work(bout)
        if bout.slots[0][0].round == cut[0].slots[0][0].round:
            shelf = site.shared / "executions"
            kept = {path: path.read_bytes() for path in shelf.glob("*/*")}
            late.append(kept)
        return ended

    late: list[dict[Path, bytes]] = []
    with Machines(site.folder, ("n1",), meddle=meddle) as nodes:
        site.run(nodes)
        before = slots(site)
        for path, data in late[0].items():
            path.write_bytes(data)
        again = site.run(nodes)
    assert (again.executed, again.already) == (0, 9)
    assert slots(site) == before
    assert site.waiting() == []


@pytest.mark.slow
def test_a_home_that_was_killed_finds_what_was_finished_meanwhile(site: Site) -> None:
    """Interrupted after the first execution; nodes go on; the next call takes their records before it deals."""
    stop = threading.Event()
    released = threading.Event()

    def meddle(_node: str, bout: Bout, work: Work) -> Any:
        ended = work(bout)
        stop.set()
        released.wait(60)
        return ended

    with Machines(site.folder, ("n1", "n2"), meddle=meddle) as nodes:
        request = site.request(site.config(), (1, 2, 3))
        with pytest.raises(ClusterError, match="interrupted while nodes were executing"):
            site.execute(nodes, request, stopped=stop.is_set)
        left = len(site.executions())
        assert 3 <= left <= 6
        released.set()
    with Machines(site.folder) as nodes:
        summary = site.run(nodes)
        given = sum(bout.size for bout in nodes.given)
    assert summary.already + summary.executed == 9
    assert given == 9 - summary.already
    assert len(slots(site)) == 9


@pytest.mark.slow
def test_a_requeued_task_goes_on_where_it_was(site: Site) -> None:
    """Slurm starts a job again on another node with the same words: what is on the shelf is not executed again."""

    def meddle(_node: str, bout: Bout, work: Work) -> Any:
        work(_only(bout, 2))
        return work(bout)

    with Machines(site.folder, meddle=meddle) as nodes:
        summary = site.run(nodes)
    assert summary.executed == 9
    assert len(slots(site)) == 9
    assert len(nodes.given) == 3
    assert site.told("came home twice") == []


@pytest.mark.slow
def test_a_listing_that_is_old_loses_nothing(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a directory on NFS: what a task has left is asked for by its name before it is given out again."""
    monkeypatch.setattr(Shelf, "names", lambda _shelf: [])
    with Machines(site.folder) as nodes:
        summary = site.run(nodes)
    assert (summary.executed, summary.failures, len(nodes.given)) == (9, (), 3)
    assert site.waiting() == []


def test_what_was_given_up_as_lost_and_comes_home_counts(site: Site) -> None:
    """Its node was cut off for longer than anybody waited: the execution is the attempt after the lost one, once."""
    kept: dict[Path, bytes] = {}

    def meddle(_node: str, bout: Bout, work: Work) -> Any:
        if bout.slots[0][0].round != 2:
            return work(bout)
        if not kept:
            away = site.folder / "away"
            work(replace(bout, staging=str(shutil.copytree(site.shared, away))))
            shelf = away / "executions"
            kept.update({site.shared / path.relative_to(away): path.read_bytes() for path in shelf.glob("*/*")})
        raise OSError("cannot be reached")

    with Machines(site.folder, ("n1",), meddle=meddle) as nodes:
        assert len(site.run(nodes, controls=False).failures) == 1
        for _ in range(2):
            for path, data in kept.items():
                path.write_bytes(data)
            again = site.run(nodes, controls=False)
            assert (again.executed, again.already, again.failures) == (0, 3, ())
    own = sorted((e.attempt, e.status) for e in site.executions() if e.round == 2)
    assert own == [(1, "lost"), (2, "ok")]
    assert site.waiting() == []


@pytest.mark.slow
def test_attempts_that_come_home_in_another_order(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two disturbed attempts the second says that it began first: its node's clock is slow."""
    there = threading.Event()
    names = Shelf.names
    monkeypatch.setattr(Shelf, "names", lambda shelf: names(shelf) if there.is_set() else [])

    def meddle(_node: str, bout: Bout, work: Work) -> Any:
        if len(nodes.given) > 1:
            return work(bout)
        work(bout)
        shelf = Shelf(site.shared, site.waiting()[0].parent.name)
        for path in site.waiting():  # more than one where it was disturbed indeed
            execution, facts, output = read_record(shelf.get(path.name) or {})
            shelf.drop(path.name)
        first = replace(execution, attempt=1, disturbances=("load",))
        second = replace(first, attempt=2, started_at=first.started_at - 1000)
        for attempt in (first, second):
            shelf.put(record_key(slot_key(attempt), attempt.attempt), record_of(attempt, facts, output))
        there.set()
        raise OSError("lost")

    config = site.config("[run.disturbance]\nrepeat = 2\n" + BENCHMARK)
    with Machines(site.folder, ("n1",), meddle=meddle) as nodes:
        summary = site.run(nodes, (1,), config=config, controls=False)
    assert (summary.executed, summary.repeated, len(nodes.given)) == (1, 2, 2)
    assert sorted(e.attempt for e in site.executions()) == [1, 2, 3]


def test_a_record_that_cannot_be_read_now_is_kept(site: Site) -> None:
    """A server that is away for a moment is no reason to delete a measurement."""
    shelf = Shelf(site.shared, _run_of(site.request(site.config(), (1,))))
    path = shelf.path("a" * 64)
    path.mkdir(parents=True)
    with Machines(site.folder) as nodes:
        assert site.run(nodes, (1,)).executed == 3
    assert len(site.told("Is a directory")) == 1
    assert path.exists()


@pytest.mark.slow
def test_a_damaged_record_is_executed_again(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is said, with the file."""
    there = threading.Event()
    names = Shelf.names
    monkeypatch.setattr(Shelf, "names", lambda shelf: names(shelf) if there.is_set() else [])

    def meddle(_node: str, bout: Bout, work: Work) -> Any:
        ended = work(bout)
        if len(nodes.given) == 1:
            path = next(iter(site.waiting()))
            path.write_bytes(path.read_bytes()[:-5])
        there.set()
        return ended

    with Machines(site.folder, ("n1",), meddle=meddle) as nodes:
        summary = site.run(nodes, (1,))
    assert summary.executed == 3
    assert len(site.told("is damaged, so what it records is executed again")) == 1


@pytest.mark.slow
def test_unlike_processors_are_not_mixed(site: Site) -> None:
    """The first node settles which; the others refuse, and where nobody is left that is an error with the reason."""
    request = site.request(site.config(), (1, 2))
    shelf = Shelf(site.shared, _run_of(request))
    shelf.agree("cpu", {"machine": "x86_64", "cpu_model": "Old CPU", "cpus": 4})
    with Machines(site.folder) as nodes, pytest.raises(ClusterError) as caught:
        site.execute(nodes, request)
    assert "no node can execute anything" in str(caught.value)
    assert "this experiment is executed on Old CPU (4 CPUs)" in str(caught.value)
    assert site.executions() == []


def _run_of(request: RunRequest) -> str:
    return run_name(make_plan(request, here=False))


@pytest.mark.slow
def test_a_processor_that_is_asked_for_by_name(site: Site) -> None:
    """Another is refused by its node."""
    with Machines(site.folder) as nodes, pytest.raises(ClusterError, match=r"and cluster.measure.cpu is 'Z80'"):
        site.run(nodes, config=site.config(measure='cpu = "Z80"'))


@pytest.mark.slow
def test_unlike_processors_are_mixed_if_they_are_to_be(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recorded apart all the same, and analysed together; without the word for it the analysis refuses."""
    config = site.config(measure="unlike_cpus = true")
    with Machines(site.folder, ("n1",)) as nodes:
        site.run(nodes, (1,), config=config)
    with Machines(site.folder, ("n2",)) as nodes, monkeypatch.context() as patch:
        patch.setattr(pools, "processor", lambda facts: {**processor(facts), "cpu_model": "Another"})
        site.run(nodes, (2,), config=config)
    with Machines(site.folder) as nodes:
        assert site.run(nodes, (1, 2), config=config).already == 6
    with open_for_reading(results_path(site.shop.project)) as store:
        assert len(store.experiments()) == 2
        selection = select(Question(config, site.shop.project, [], [], {}, None), store)
        assert selection.samples[0].n_binaries == 2
        assert {node.name for node in selection.nodes} == {"n1", "n2"}
        with pytest.raises(AnalysisError, match="unlike processors, which are not analysed together unless"):
            select(Question(site.config(), site.shop.project, [], [], {}, None), store)
        alone = select(Question(site.config(), site.shop.project, [], [], {}, selection.experiment.host), store)
        assert alone.samples[0].n_binaries == 1
    with Machines(site.folder) as nodes, pytest.raises(ClusterError, match="Name one with --host, or set unlike_cpus"):
        site.run(nodes, (1, 2, 3))


def test_the_output_of_a_failed_execution_comes_home(site: Site) -> None:
    """To where it would be if it had failed here."""
    words = json.dumps(["sh", "-c", "echo as it was; echo bad >&2; exit 3", "sh", "{artefact}"])
    with Machines(site.folder) as nodes:
        summary = site.run(nodes, (1,), config=site.config(f'[[benchmarks]]\nname = "b"\ncommand = {words}\n'))
    assert {e.status for e in summary.failures} == {"exit"}
    logs = [site.shop.project / e.log for e in summary.failures]
    assert len(set(logs)) == 3
    assert {(log / "stdout").read_text() for log in logs} == {"as it was\n"}
    assert {(log / "stderr").read_text() for log in logs} == {"bad\n"}


def test_inputs_travel_whatever_they_are_called(site: Site) -> None:
    """Standard input, expected output, files, directories with links, and what a word of the command names."""
    project = site.shop.project
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
    with Machines(site.folder) as nodes:
        summary = site.run(nodes, (1,), config=site.config(benchmark))
    assert [e.reason for e in summary.failures] == []
    assert summary.executed == 3


@pytest.mark.parametrize("word", ["{project}", "{project}/absent", "--path={project}"])
def test_a_word_that_nobody_can_tell_the_files_of_is_refused(site: Site, word: str) -> None:
    """Before anything is given out."""
    config = site.config(f'[[benchmarks]]\nname = "b"\ncommand = ["{{artefact}}", "{word}"]\n')
    with Machines(site.folder) as nodes, pytest.raises(UsageError, match="nobody can tell what"):
        site.run(nodes, (1,), config=config)
    assert nodes.given == []


@pytest.mark.slow
def test_an_input_outside_the_project_must_be_the_same_there(site: Site, tmp_path: Path) -> None:
    """It does not travel, and its content is compared."""
    data = tmp_path / "data"
    data.write_text("1")

    def meddle(_node: str, bout: Bout, work: Work) -> Any:
        data.write_text("2")
        return work(bout)

    config = site.config(f'[[benchmarks]]\nname = "b"\ncommand = ["{{artefact}}"]\nstdin = "{data}"\n')
    with (
        Machines(site.folder, meddle=meddle) as nodes,
        pytest.raises(ClusterError, match="named by an absolute path has another content on n"),
    ):
        site.run(nodes, (1,), config=config)


@pytest.mark.slow
def test_a_build_of_its_own_for_every_layout_travels_as_it_is(site: Site) -> None:
    """In rebuild mode there is no capture that a node could link from."""
    with Machines(site.folder) as nodes:
        summary = site.run(nodes, (1, 2), config=site.config(build={"mode": "rebuild"}))
    assert (summary.executed, summary.failures) == (6, ())
    assert all(len(bout.contents) == len(bout.binaries) for bout in nodes.given)


@pytest.mark.slow
def test_a_prebuilt_system_is_executed_in_every_round(site: Site) -> None:
    """Its directory is an input like others."""
    whole = site.shop.built("$CC -c *.c && $CC -o prog main.o u.o")
    given = site.shop.project / "given"
    given.mkdir()
    shutil.copy2(whole.result.binaries[0].path, given / "prog")
    config = site.config(systems={"sys": {}, "pre": {}})
    systems = {"sys": config.systems["sys"], "pre": config.systems["sys"].model_copy(update={"prebuilt": "given"})}
    with Machines(site.folder) as nodes:
        summary = site.run(nodes, (1, 2), config=config.model_copy(update={"systems": systems}))
    assert (summary.executed, summary.failures) == (8, ())


@pytest.mark.slow
def test_a_prebuilt_system_outside_the_project_must_be_the_same_there(site: Site, tmp_path: Path) -> None:
    """Its directory does not travel; with another file in it a node would measure what nobody asked for."""
    built = site.shop.built("$CC -c *.c && $CC -o prog main.o u.o")
    given = tmp_path / "given"
    given.mkdir()
    shutil.copy2(built.result.binaries[0].path, given / "prog")

    def meddle(_node: str, bout: Bout, work: Work) -> Any:
        (given / "prog").unlink(missing_ok=True)
        (given / "prog").write_text("another")
        return work(bout)

    config = site.config(systems={"pre": {}})
    systems = {"pre": config.systems["pre"].model_copy(update={"prebuilt": str(given)})}
    with (
        Machines(site.folder, meddle=meddle) as nodes,
        pytest.raises(ClusterError, match=r"systems.pre.prebuilt: .*/given/prog has another content on n"),
    ):
        site.run(nodes, (1, 2), config=config.model_copy(update={"systems": systems}))
    assert site.executions() == []


@pytest.mark.slow
def test_instruments_are_those_of_the_node(site: Site) -> None:
    """A simulation counts there what it counts here."""
    require("valgrind", "valgrind")
    benchmark = BENCHMARK + "metric = { wall = true, cachegrind = true }\n"
    with Machines(site.folder) as nodes:
        summary = site.run(nodes, (1, 2), config=site.config(benchmark))
    assert summary.failures == ()
    counted = [
        m.value
        for e in site.executions()
        if e.instrument == "cachegrind"
        for m in e.measurements
        if m.metric == "instructions"
    ]
    assert len(counted) == 6
    assert len({round(count, -3) for count in counted}) == 1


@pytest.mark.slow
def test_a_node_with_a_full_disk_says_so_and_another_one_does_it(site: Site) -> None:
    """No file there may grow beyond 4 KiB; its task is given out again, and nothing is recorded for it."""

    def meddle(node: str, bout: Bout, work: Work) -> Any:
        if node == "full" and not full.is_set():
            full.set()
            return _executed_with(bout, "ulimit -f 8")
        full.wait(60)
        return work(bout)

    full = threading.Event()
    with Machines(site.folder, ("full", "roomy"), meddle=meddle) as nodes:
        summary = site.run(nodes, (1, 2, 3))
    assert (summary.executed, summary.failures) == (9, ())
    assert site.told("node full cannot execute it: cannot write")
    assert site.told("File too large")


def _executed_with(bout: Bout, limit: str) -> Ended:
    """What a node says that has this limit of the shell's."""
    code = (
        "import pickle, sys; from layoutrand.cluster.measuring_node import execute_here; "
        "sys.stdout.buffer.write(pickle.dumps(execute_here(pickle.load(sys.stdin.buffer))))"
    )
    done = subprocess.run(
        ["sh", "-c", f'{limit}; trap "" XFSZ; exec "$@"', "sh", sys.executable, "-c", code],
        input=pickle.dumps(bout),
        capture_output=True,
        env={**os.environ, "LAYOUTRAND_NODE": "full"},
        timeout=60,
        check=True,
    )
    ended = pickle.loads(done.stdout)
    assert isinstance(ended, Ended)
    return ended


def test_what_the_system_refuses_is_no_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node without space for temporary files says so, and is avoided: it would be the first to be free again."""

    def full(*_words: Any, **_options: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/scratch/x")

    nothing: Any = None
    monkeypatch.setenv("LAYOUTRAND_NODE", "n7")
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    monkeypatch.setattr(measuring_node, "_execute", full)
    for ended in (measuring_node.execute_bout(nothing), measuring_node.execute_here(nothing)):
        assert ended.node == "n7"
        assert ended.refused.startswith("the system there says No space left on device: /scratch/x; see to its disks")


@pytest.mark.slow
def test_a_binary_that_was_damaged_on_its_node_is_fetched_again(site: Site) -> None:
    """Whatever wrote into it."""
    with Machines(site.folder, ("n1",)) as nodes:
        site.run(nodes, (1,))
        (stock,) = site.folder.glob("node cache/nodes/*/*/binaries/*")
        stock.write_bytes(b"damaged")
        summary = site.run(nodes, (1, 2))
    assert (summary.executed, summary.failures, summary.refusals) == (3, (), ())


def test_an_engine_that_is_gone_says_nothing_of_executions(site: Site) -> None:
    """Nothing is recorded as lost because nobody takes it any more; the next call goes on."""

    class Leaving(Machines):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            if len(self.given) == 2:
                raise RuntimeError("the scheduler is gone")
            return super().submit(fn, *args, **kwargs)

    with (
        Leaving(site.folder) as nodes,
        pytest.raises(ClusterError, match=r"RuntimeError: the scheduler is gone\. What"),
    ):
        site.run(nodes)
    assert "lost" not in {e.status for e in site.executions()}
    with Machines(site.folder) as nodes:
        summary = site.run(nodes)
    assert (summary.executed + summary.already, summary.failures) == (9, ())


@pytest.mark.slow
def test_a_loss_among_unlike_processors_ends_nothing(site: Site) -> None:
    """A round that is lost thrice while others are being executed for the first time is recorded beside them."""
    lost = threading.Event()

    def meddle(_node: str, bout: Bout, work: Work) -> Any:
        if bout.slots[0][0].round == 2:
            begun.wait(60)
            raise OSError("burned down")
        words = work(replace(bout, slots=bout.slots[:0]))
        begun.set()
        lost.wait(60)
        return work(bout) or words

    begun = threading.Event()

    def progress(done: Any) -> None:
        site.done.append(done)
        lost.set()

    request = site.request(site.config(measure="unlike_cpus = true"), (1, 2), controls=False)
    cluster = request.config.cluster
    assert isinstance(cluster, Dask)
    with (
        Machines(site.folder, meddle=meddle) as machines,
        open_for_writing(results_path(site.shop.project)) as store,
    ):
        nodes = Nodes(machines, Staging(site.shared), cluster, Cache(site.shop.cache), 2)
        summary = execute_on_nodes(request, store=store, nodes=nodes, progress=progress, say=site.said.append)
    assert (summary.executed, [e.status for e in summary.failures]) == (2, ["lost"])


@pytest.mark.slow
def test_a_node_with_another_version_or_linker_refuses(site: Site) -> None:
    """It would not make the same binaries."""

    def meddle(_node: str, bout: Bout, work: Work) -> Any:
        return work(replace(bout, version="0.0"))

    with Machines(site.folder, meddle=meddle) as nodes, pytest.raises(ClusterError, match=r"layoutrand is .* and 0.0"):
        site.run(nodes, (1,))


@pytest.mark.slow
def test_a_layout_that_comes_out_otherwise_is_never_executed(site: Site) -> None:
    """The node's linker is the same file and does something else: its libraries may differ."""

    def meddle(_node: str, bout: Bout, work: Work) -> Any:
        binaries = tuple(replace(b, sha256="0" * 64) if isinstance(b.layout, int) else b for b in bout.binaries)
        return work(replace(bout, binaries=binaries))

    with Machines(site.folder, meddle=meddle) as nodes, pytest.raises(ClusterError, match="has SHA-256 .* at home"):
        site.run(nodes, (1,), config=site.config())
    assert site.executions() == []


@pytest.mark.slow
def test_a_refusal_leaves_the_rest_to_be_executed(site: Site) -> None:
    """What no node could execute is not recorded as a failure of the program, but it is told and is waiting."""

    def meddle(_node: str, bout: Bout, work: Work) -> Any:
        if bout.slots[0][0].round == 2:
            return Ended("n1", "there is no valgrind")
        return work(bout)

    with Machines(site.folder, meddle=meddle) as nodes:
        summary = site.run(nodes)
    assert (summary.executed, summary.waiting, summary.failures) == (6, 3, ())
    assert summary.refusals == ("node n1 cannot execute it: there is no valgrind",)
    with Machines(site.folder) as nodes:
        assert site.run(nodes).executed == 3


@pytest.mark.slow
def test_two_projects_may_share_a_directory(site: Site, tmp_path: Path) -> None:
    """Neither takes the other's records."""
    copy = tmp_path / "copy"
    with Machines(site.folder) as nodes:
        site.run(nodes, (1, 2))
        shutil.copytree(site.shop.project, copy, ignore=shutil.ignore_patterns(".layoutrand"))
        other = Site(replace(site.shop, project=copy), site.folder)
        assert other.run(nodes, (1, 2)).executed == 6
    assert len(site.executions()) == len(other.executions()) == 6


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


def test_a_program_is_given_on_a_node_what_it_is_given_at_home(site: Site) -> None:
    """Environment, files, limits, signals, umask, CPUs, priority, session: nothing of the engine's worker."""
    config = site.config("[run]\nrandomise = []\n" + LOOK)
    request = site.request(config, (1,), controls=False)
    with open_for_writing(results_path(site.shop.project)) as store:
        execute(request, store=store, executor=measure, progress=site.done.append, say=site.said.append)
    seen = {"": looked(site, "")}
    with Machines(site.folder, ("n1",), PYTHONPATH="/x", LAYOUTRAND_WAIT="1", OMP_NUM_THREADS="1") as nodes:
        site.execute(nodes, request)
    seen["n1"] = looked(site, "n1")
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


def looked(site: Site, node: str) -> dict[str, list[str]]:
    """What each benchmark saw on the node, or at home."""
    own = [execution for execution in site.executions() if execution.node == node]
    texts = {e.benchmark: (site.shop.project / e.log / "stdout").read_text() for e in own}
    return {e.benchmark: _seen(e.benchmark, e, texts[e.benchmark], site.shop.project) for e in own}
