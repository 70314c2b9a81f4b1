from __future__ import annotations

import contextlib
import dataclasses
import errno
import json
import os
import sqlite3
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes import EXECUTION
from layoutrand.errors import ResultsError
from layoutrand.model import BuildFailure, BuiltFrom, Context, Experiment, Node, SlotKey
from layoutrand.results.file import check_usable, exclusive_use, open_for_reading, open_for_writing, results_path
from layoutrand.results.row_values import CONTEXT_COLUMNS, context_of
from layoutrand.results.rows import EXECUTION_COLUMNS, built_text, to_column
from layoutrand.results.seals import seal_of

EXPERIMENT = Experiment(project="p", protocol=1, policy="{}", randomise="[]", host="h", hostname="host")
CONTEXT = Context(
    version="1",
    config={"a": [1]},
    config_digest="d",
    schedule_seed=2**64 - 1,
    host_facts={"k": None},
    instruments={},
    tools={"capture": {"linker": "GNU ld"}},
)


@pytest.fixture
def path(tmp_path):
    return results_path(tmp_path)


def record(path, *executions, experiment=EXPERIMENT):
    with open_for_writing(path) as store:
        ids = store.begin(experiment, CONTEXT)
        for execution in executions:
            store.record(ids, execution)


def test_what_is_recorded_is_read_back_to_the_bit(path):
    failed = dataclasses.replace(
        EXECUTION,
        layout="stock",
        status="signal",
        reason="killed \udcff",
        returncode=None,
        signal=11,
        env_size=None,
        measurements=(),
        log="logs/x",
        rusage={},
    )
    printed = dataclasses.replace(EXECUTION, output_sha256="0123456789abcdef" * 4)
    record(path, printed, failed)
    with open_for_reading(path) as store:
        one, two = store.executions(EXPERIMENT)
    assert one == printed
    assert two == dataclasses.replace(failed, reason=r"killed \udcff")


def test_latest_attempt_of_each_slot(path):
    again = dataclasses.replace(EXECUTION, attempt=2, status="exit")
    record(path, EXECUTION, again, dataclasses.replace(EXECUTION, layout="identity"))
    with open_for_reading(path) as store:
        latest = store.latest(EXPERIMENT)
    fields = {name: getattr(EXECUTION, name) for name in SlotKey.__dataclass_fields__}
    assert latest == {
        SlotKey(**fields): (2, "exit", 2, 1.25),
        SlotKey(**fields | {"layout": "identity"}): (1, "ok", 1, 1.25),
    }


def test_the_same_attempt_twice_is_refused_and_leaves_nothing_behind(path):
    record(path, EXECUTION)
    with pytest.raises(ResultsError, match="has attempt 1 of .* already"):
        record(path, EXECUTION)
    with open_for_reading(path) as store:
        assert store.executions(EXPERIMENT) == [EXECUTION]


def test_experiments_are_kept_apart(path):
    others = [
        dataclasses.replace(EXPERIMENT, **change)
        for change in ({"project": "q"}, {"protocol": 2}, {"policy": "{1}"}, {"randomise": "[1]"}, {"host": "g"})
    ]
    for experiment in (*others, EXPERIMENT):
        record(path, EXECUTION, experiment=experiment)
    with open_for_reading(path) as store:
        assert store.experiments() == [(experiment, 1) for experiment in (*others, EXPERIMENT)]
        assert all(len(store.executions(experiment)) == 1 for experiment in others)
        assert store.executions(dataclasses.replace(EXPERIMENT, project="unknown")) == []
        assert store.latest(dataclasses.replace(EXPERIMENT, project="unknown")) == {}


def test_a_renamed_host_is_the_same_host(path):
    record(path, EXECUTION)
    with open_for_reading(path) as store:
        assert store.executions(dataclasses.replace(EXPERIMENT, hostname="renamed")) == [EXECUTION]


def test_equal_calls_share_one_context(path):
    with open_for_writing(path) as store:
        assert store.begin(EXPERIMENT, CONTEXT) == store.begin(EXPERIMENT, CONTEXT)
        assert store.begin(EXPERIMENT, dataclasses.replace(CONTEXT, version="2")) == (1, 2)


def test_build_failures_are_those_of_the_last_call(path, tmp_path):
    failures = [
        BuildFailure("s", "art", 7, "bad \udcff", tmp_path / "log"),
        BuildFailure("s", "art", "stock", "e", None),
    ]
    with open_for_writing(path) as store:
        ids = store.begin(EXPERIMENT, CONTEXT)
        store.replace_build_failures(ids[0], {"s": "c"}, failures)
        found = store.build_failures(EXPERIMENT, {"s": "c"})
        assert sorted(found, key=lambda f: str(f.layout)) == [
            dataclasses.replace(failures[0], error=r"bad \udcff"),
            failures[1],
        ]
        assert store.build_failures(EXPERIMENT, {"s": "other capture"}) == []
        store.replace_build_failures(ids[0], {"s": "c"}, [])
        assert store.build_failures(EXPERIMENT, {"s": "c"}) == []


def test_reading_needs_a_file(path):
    with pytest.raises(ResultsError, match="layoutrand run"):
        open_for_reading(path)
    assert not path.parent.exists()


@pytest.mark.parametrize(
    "content", [b"hello world, this is no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 5000]
)
def test_not_a_database_is_refused_and_left_alone(path, content):
    path.parent.mkdir()
    path.write_bytes(content)
    for opened in (open_for_reading, open_for_writing):
        with pytest.raises(ResultsError, match=r"move it|Nothing was changed"):
            opened(path)
    assert path.read_bytes() == content


def test_anothers_database_is_refused_and_left_alone(path):
    path.parent.mkdir()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE t (x)")
    other.close()
    content = path.read_bytes()
    for opened in (open_for_reading, open_for_writing):
        with pytest.raises(ResultsError, match="not a results file of layoutrand"):
            opened(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(("version", "advice"), [(7, "newer layoutrand"), (2, "that wrote it"), (0, "that wrote it")])
def test_another_schema_version_is_refused(path, version, advice):
    record(path, EXECUTION)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    for opened in (open_for_reading, open_for_writing):
        with pytest.raises(ResultsError, match=rf"(?s)has schema version {version}, .*{advice}.*: mv "):
            opened(path)
    with pytest.raises(ResultsError, match=rf"mv {path} {path}.version-{version}$"):
        check_usable(path)


def older(path, version):
    """Make the file one of an earlier schema version."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE executions DROP COLUMN output_sha256")
        if version < 5:
            for table in ("experiments", "contexts", "executions", "build_failures", "nodes"):
                connection.execute(f"ALTER TABLE {table} DROP COLUMN seal")
            connection.execute("ALTER TABLE executions DROP COLUMN measured")
        if version < 4:
            connection.execute("ALTER TABLE contexts DROP COLUMN built")
        connection.execute(f"PRAGMA user_version = {version}")


@pytest.mark.parametrize("version", [3, 4])
def test_a_file_of_a_version_before_is_read_as_it_is_and_brought_up_to_date_when_written_to(path, version):
    record(path, EXECUTION)
    older(path, version)
    with open_for_reading(path) as store:
        assert store.executions(EXPERIMENT) == [EXECUTION]
        (before,) = store.contexts(EXPERIMENT)
        assert store.damaged == ()
    assert before.built == ()
    built = BuiltFrom("O2", "capture", commit="c" * 40, tree="t", committed_at=1e9, subject="Zähler", dirty=False)
    with open_for_writing(path) as store:
        assert store.sealed_now == 3  # experiment, context and execution
        store.begin(EXPERIMENT, dataclasses.replace(CONTEXT, built=(built,)))
        assert store.executions(EXPERIMENT) == [EXECUTION]
    with open_for_writing(path) as store:
        assert (store.sealed_now, store.damaged) == (0, ())
    with open_for_reading(path) as store:
        assert [context.built for context in store.contexts(EXPERIMENT)] == [(), (built,)]
        assert [e for e, _ in store.experiments()] == [EXPERIMENT] and store.damaged == ()


def test_what_executions_printed_is_unknown_in_a_file_of_the_version_before_whose_seals_stay(path):
    """No row is sealed anew: one that was damaged by then would look whole."""
    record(path, EXECUTION, dataclasses.replace(EXECUTION, repetition=1))
    older(path, 5)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        seals = connection.execute("SELECT seal FROM executions ORDER BY id").fetchall()
        connection.execute("UPDATE executions SET wall_s = 7.0 WHERE repetition = 1")
        connection.commit()
    with open_for_reading(path) as store:
        assert store.executions(EXPERIMENT) == [EXECUTION]
        assert [row.key for row in store.damaged] == ["id 2"]
    printed = dataclasses.replace(EXECUTION, repetition=2, output_sha256="a" * 64)
    with open_for_writing(path) as store:
        assert (store.sealed_now, store.is_updated) == (0, True)
        store.record(store.begin(EXPERIMENT, CONTEXT), printed)
    with open_for_writing(path) as store:
        assert not store.is_updated
        assert store.executions(EXPERIMENT) == [EXECUTION, printed]
        assert [row.key for row in store.damaged] == ["id 2"]
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT seal FROM executions ORDER BY id").fetchall()[:2] == seals


@pytest.mark.parametrize("printed", ["", "b" * 64])
def test_a_digest_of_what_was_printed_is_sealed(path, printed):
    record(path, dataclasses.replace(EXECUTION, output_sha256="a" * 64))
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE executions SET output_sha256 = ?", (printed,))
        connection.commit()
    with open_for_reading(path) as store:
        assert store.executions(EXPERIMENT) == []
        assert [row.key for row in store.damaged] == ["id 1"]


def test_the_seal_of_an_execution_is_that_of_the_version_before():
    """Pinned by what layoutrand wrote before there was a digest of what is printed."""
    row = (1, 1, 1, *(to_column(EXECUTION, column) for column in EXECUTION_COLUMNS), "measured")
    assert seal_of("executions", row) == "60f5d54cd87387cf449a928e6ac19ca7"


def test_a_node_is_kept_once_for_each_state_it_was_in(path):
    with open_for_writing(path) as store:
        experiment_id, _ = store.begin(EXPERIMENT, CONTEXT)
        slow, fast = (Node("n1", {"governor": name, "cpus": 4}) for name in ("powersave", "performance"))
        for node in (slow, slow, fast, Node("n0", {}), slow):
            store.record_node(experiment_id, node)
        assert store.nodes(EXPERIMENT) == [Node("n0", {}), slow, fast]


def test_the_captures_of_the_last_call_with_a_system_are_the_current_ones(path):
    calls = [{"a": "1", "b": "1"}, {"a": "2"}, {"a": "1", "b": "1"}, {"b": "3"}]
    with open_for_writing(path) as store:
        assert store.current_captures(EXPERIMENT) == {}
        for captures in calls:
            store.begin(EXPERIMENT, dataclasses.replace(CONTEXT, captures=captures))
        assert store.current_captures(EXPERIMENT) == {"a": "1", "b": "3"}
        assert len(store.contexts(EXPERIMENT)) == 3


def test_how_an_attempt_ended_is_known(path):
    with open_for_writing(path) as store:
        ids = store.begin(EXPERIMENT, CONTEXT)
        assert store.status(ids[0], EXECUTION) is None
        store.record(ids, dataclasses.replace(EXECUTION, status="lost"))
        assert store.status(ids[0], EXECUTION) == "lost"
        assert store.status(ids[0], dataclasses.replace(EXECUTION, attempt=2)) is None


def test_a_damaged_page_is_a_clear_error(path):
    record(path, *(dataclasses.replace(EXECUTION, repetition=k) for k in range(200)))
    content = bytearray(path.read_bytes())
    content[8192:] = b"\xff" * (len(content) - 8192)
    path.write_bytes(content)
    with pytest.raises(ResultsError, match="damaged"), open_for_reading(path) as store:
        store.executions(EXPERIMENT)


def test_a_full_disk_loses_nothing(path):
    with open_for_writing(path) as store:
        ids = store.begin(EXPERIMENT, CONTEXT)
        store.record(ids, EXECUTION)
        (pages,) = store._connection.execute("PRAGMA page_count").fetchone()
        store._connection.execute(f"PRAGMA max_page_count = {pages + 1}")
        with pytest.raises(ResultsError, match="The disk is full"):
            for k in range(1, 1000):
                store.record(ids, dataclasses.replace(EXECUTION, repetition=k, log="x" * 10_000))
        recorded = len(store.executions(EXPERIMENT))
    with open_for_reading(path) as store:
        assert len(store.executions(EXPERIMENT)) == recorded == k


def test_a_read_only_file_is_a_clear_error(path, monkeypatch):
    record(path, EXECUTION)
    with open_for_reading(path) as store:
        assert store.executions(EXPERIMENT) == [EXECUTION]
        with pytest.raises(ResultsError, match="check owner and permissions"):
            store.begin(EXPERIMENT, CONTEXT)


READING = """
import sys
from pathlib import Path
from layoutrand.results.file import open_for_reading
with open_for_reading(Path(sys.argv[1])) as store:
    for experiment, count in store.experiments():
        print(count, len(store.executions(experiment)), len(store.damaged))
"""


@pytest.mark.parametrize("full", [False, True], ids=["read-only", "full"])
@pytest.mark.parametrize("log", [False, True], ids=["whole", "with a log"])
def test_reading_where_nothing_can_be_written(path, tmp_path, full, log):
    """With what a killed layoutrand left in the log of changes, too."""
    record(path, EXECUTION)
    disk = tmp_path / "disk"
    disk.mkdir()
    kept = contextlib.ExitStack()
    if log:
        store = kept.enter_context(open_for_writing(path))
        store.record(store.begin(EXPERIMENT, CONTEXT), dataclasses.replace(EXECUTION, repetition=1))
    script = f"mount -t tmpfs -o size=1m none {disk} && cp {path} {disk} && " + (
        f"cp {path}-wal {disk} && " if log else ""
    )
    script += f"{{ cat /dev/zero > {disk}/filler; true; }}" if full else f"mount -o remount,ro {disk}"
    script += f" && {sys.executable} -c '{READING}' {disk}/{path.name}"
    with kept:
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, check=False)
    if "mount:" in done.stderr or "unshare:" in done.stderr:
        pytest.skip(f"no disk of one's own may be made here: {done.stderr}")
    expected = "2 2 0" if log else "1 1 0"
    assert done.stdout.strip() == expected, done.stderr


def test_results_where_nothing_can_be_created(tmp_path):
    (tmp_path / ".layoutrand").write_text("a file")
    with pytest.raises(ResultsError, match="cannot create"):
        open_for_writing(results_path(tmp_path))
    with pytest.raises(ResultsError, match="check owner and permissions"):
        open_for_writing(tmp_path)  # a directory
    with pytest.raises(ResultsError, match=r"cannot create .*results\.sqlite for the results: Not a directory"):
        check_usable(results_path(tmp_path))


def test_results_that_cannot_be_written_are_told_before_hours_go_into_more(path, monkeypatch):
    record(path, EXECUTION)
    check_usable(path)
    assert not list(path.parent.glob(".tmp-*")), "what it tried is gone"
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    with pytest.raises(ResultsError, match="cannot write .* for the results: Permission denied"):
        check_usable(path)


@pytest.mark.parametrize("name", ["a b", "it's", "100%41", "q?mode=ro#x", "new\nline", "ü"])
def test_strange_directory_names(tmp_path, name):
    path = results_path(tmp_path / name)
    record(path, EXECUTION)
    assert path.exists()
    with open_for_reading(path) as store:
        assert store.executions(EXPERIMENT) == [EXECUTION]


def test_two_processes_that_create_the_file_at_once(path):
    script = f"from pathlib import Path\nfrom layoutrand.results.file import *\nopen_for_writing(Path({str(path)!r})).close()"
    processes = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    record(path, EXECUTION)


def test_reading_while_another_writes(path):
    with open_for_writing(path) as writer:
        ids = writer.begin(EXPERIMENT, CONTEXT)
        with open_for_reading(path) as reader:
            for k in range(3):
                writer.record(ids, dataclasses.replace(EXECUTION, repetition=k))
                assert len(reader.executions(EXPERIMENT)) == k + 1


def test_an_interrupted_transaction_is_rolled_back(path):
    with open_for_writing(path) as store:
        ids = store.begin(EXPERIMENT, CONTEXT)
        with pytest.raises(KeyboardInterrupt), store._transaction() as sql:
            sql.execute("DELETE FROM contexts")
            raise KeyboardInterrupt
        store.record(ids, EXECUTION)
        assert store._connection.execute("SELECT count(*) FROM contexts").fetchone() == (1,)


def test_exclusive_use_says_who_has_it(path):
    open_for_writing(path).close()
    with exclusive_use(path, wait_s=0, on_wait=pytest.fail):
        with (
            pytest.raises(ResultsError, match=f"process {os.getpid()}"),
            exclusive_use(path, wait_s=0, on_wait=pytest.fail),
        ):
            pass
    with exclusive_use(path, wait_s=0, on_wait=pytest.fail):
        pass


def test_exclusive_use_holds_where_it_cannot_be_said_who_has_it(path, monkeypatch):
    """As on a full disk, or one that fails."""
    open_for_writing(path).close()

    def fails(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "pwrite", fails)
    with (
        exclusive_use(path, wait_s=0, on_wait=pytest.fail),
        pytest.raises(ResultsError, match="another layoutrand"),
        exclusive_use(path, wait_s=0, on_wait=pytest.fail),
    ):
        pass


def test_exclusive_use_waits_and_says_so_once(path):
    open_for_writing(path).close()
    said, entered = [], threading.Event()

    def second():
        with exclusive_use(path, wait_s=60, on_wait=said.append):
            entered.set()

    with exclusive_use(path, wait_s=0, on_wait=pytest.fail):
        thread = threading.Thread(target=second)
        thread.start()
        while not said:
            assert thread.is_alive()
        assert not entered.wait(0.5)
    thread.join()
    assert entered.is_set()
    assert len(said) == 1
    assert "waiting" in said[0]


def test_the_lock_dies_with_its_process(path):
    open_for_writing(path).close()
    script = (
        "import os, signal\nfrom pathlib import Path\nfrom layoutrand.results.file import exclusive_use\n"
        f"with exclusive_use(Path({str(path)!r}), wait_s=0, on_wait=print):\n    os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", script]).returncode == -9
    with exclusive_use(path, wait_s=0, on_wait=pytest.fail):
        pass


TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(
    st.lists(
        st.builds(
            BuiltFrom,
            system=TEXT,
            capture=TEXT,
            commit=TEXT,
            committed_at=st.none() | st.floats(allow_nan=False, allow_infinity=False),
            subject=TEXT,
            dirty=st.none() | st.booleans(),
            made_from=st.dictionaries(TEXT, TEXT),
        )
    ),
    st.dictionaries(TEXT, st.none() | st.integers() | TEXT),
)
def test_what_captures_were_built_from_is_read_back_also_from_a_newer_layoutrand(built, more):
    def read_back(text):
        row = {**dict.fromkeys(CONTEXT_COLUMNS, "{}"), "schedule_seed": "1", "built": text}
        return context_of([row[column] for column in CONTEXT_COLUMNS]).built

    text = built_text(built)
    assert read_back(text) == tuple(built)
    newer = [{**{f"new {name}": value for name, value in more.items()}, **row} for row in json.loads(text)]
    assert read_back(json.dumps(newer)) == tuple(built)
