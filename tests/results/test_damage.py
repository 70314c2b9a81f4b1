"""Results files that something else has written to: what is damaged is named, and the rest is used."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes import EXECUTION
from layoutrand.errors import ResultsError
from layoutrand.host.attempts import DAMAGED, is_due
from layoutrand.model import BuildFailure, Context, Experiment, Node
from layoutrand.results.file import open_for_reading, open_for_writing, results_path
from layoutrand.results.seals import SEALED, seal_rows
from layoutrand.results.verification import verify

EXPERIMENT = Experiment(project="p", protocol=1, policy="{}", randomise="[]", host="h", hostname="host")
CONTEXT = Context(
    version="1",
    config={"a": [1]},
    config_digest="d",
    schedule_seed=1,
    host_facts={},
    instruments={},
    captures={"s": "c"},
)
TABLES = ("experiments", "contexts", "executions", "build_failures", "nodes")
ROWS = 12


def executions(count=ROWS):
    return [dataclasses.replace(EXECUTION, repetition=k, argv=("a",), layout=k + 1) for k in range(count)]


@pytest.fixture
def path(tmp_path):
    """A results file with a row in each table."""
    path = results_path(tmp_path)
    with open_for_writing(path) as store:
        ids = store.begin(EXPERIMENT, CONTEXT)
        for execution in executions():
            store.record(ids, execution)
        store.record_node(ids[0], Node("n", {"memory_bytes": 1}))
        store.replace_build_failures(ids[0], {"s": "c"}, [BuildFailure("s", "art", 7, "bad", None)])
    return path


def change(path, statement, *values, sealed=False):
    """What another program does to the file; ``sealed`` if it knows how rows are sealed."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(statement, values)
        if sealed:
            connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
            for table in SEALED:
                seal_rows(connection, table)


def everything(path):
    """What the file says to all who read it, and what of it is damaged."""
    with open_for_reading(path) as store:
        found = (
            [experiment for experiment, _ in store.experiments()],
            store.executions(EXPERIMENT),
            store.contexts(EXPERIMENT),
            store.current_captures(EXPERIMENT),
            store.nodes(EXPERIMENT),
            store.build_failures(EXPERIMENT, {"s": "c"}),
            store.latest(EXPERIMENT),
        )
        return found, store.damaged


def test_what_is_as_it_was_recorded_is_not_damaged(path):
    assert everything(path)[1] == ()
    found = verify(path)
    assert (found.damaged, found.sealed) == ((), True)
    assert found.rows == {
        "experiments": 1,
        "contexts": 1,
        "executions": ROWS,
        "measurements": 2 * ROWS,
        "build_failures": 1,
        "nodes": 1,
    }


def test_a_changed_execution_is_left_out_and_executed_anew(path):
    change(path, "UPDATE executions SET wall_s = wall_s + 1 WHERE id = 3")
    (_, kept, *_, latest), damaged = everything(path)
    assert kept == [each for each in executions() if each.repetition != 2]
    (row,) = damaged
    assert str(row) == (
        "executions, id 3 (s, b, layout 3, round 18446744073709551615, attempt 1): its content is not what was recorded "
        "(its checksum does not fit)"
    )
    (lost,) = [attempts for key, attempts in latest.items() if key.repetition == 2]
    assert (lost.made, lost.status) == (1, DAMAGED)
    assert is_due(lost, repeat=0, retry_failed=False)
    with open_for_writing(path) as store:
        store.record(store.begin(EXPERIMENT, CONTEXT), dataclasses.replace(executions()[2], attempt=2))
        (again,) = [attempts for key, attempts in store.latest(EXPERIMENT).items() if key.repetition == 2]
    assert (again.made, again.status) == (2, "ok")
    (_, kept, *_), damaged = everything(path)
    assert (len(kept), damaged) == (ROWS, ()), "nothing is lost with it any more"
    assert [row.key for row in verify(path).damaged] == ["id 3"]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE measurements SET value = 0.5 WHERE execution_id = 3 AND iteration = 1",
        "UPDATE measurements SET warmup = 0 WHERE execution_id = 3",
        "DELETE FROM measurements WHERE execution_id = 3 AND iteration = 0",
        "INSERT INTO measurements VALUES (3, 'more', 's', 0, 1.0, 0)",
    ],
)
def test_measurements_are_those_that_were_recorded(path, statement):
    """One that is gone is missed, too."""
    change(path, statement)
    (_, kept, *_, latest), damaged = everything(path)
    assert [each.repetition for each in kept] == [k for k in range(ROWS) if k != 2]
    assert [row.key for row in damaged] == ["id 3"]
    assert "measurements are not those" in damaged[0].reason
    assert [attempts.status for key, attempts in latest.items() if key.repetition == 2] == [DAMAGED]
    assert [row.key for row in verify(path).damaged] == ["id 3"]


@pytest.mark.parametrize(
    ("table", "statement", "place"),
    [
        ("experiments", "UPDATE experiments SET hostname = 'other'", 0),
        ("contexts", 'UPDATE contexts SET captures = \'{"s": "d"}\'', 2),
        ("nodes", "UPDATE nodes SET facts = '{}'", 4),
        ("build_failures", "UPDATE build_failures SET error = 'fine'", 5),
    ],
)
def test_a_changed_row_of_any_table_is_named_and_made_whole_by_what_writes_it_again(path, table, statement, place):
    change(path, statement)
    found, damaged = everything(path)
    assert (len(found[place]), [row.table for row in damaged]) == (0, [table])
    assert [row.table for row in verify(path).damaged] == [table]
    with open_for_writing(path) as store:
        ids = store.begin(EXPERIMENT, CONTEXT)
        store.record_node(ids[0], Node("n", {"memory_bytes": 1}))
        store.replace_build_failures(ids[0], {"s": "c"}, [BuildFailure("s", "art", 7, "bad", None)])
    found, damaged = everything(path)
    assert (len(found[place]), damaged) == (1, ())


def test_sealing_one_row_says_nothing_of_its_neighbours(path):
    """What is recorded later must not make good what was damaged before."""
    change(
        path,
        "INSERT INTO build_failures SELECT experiment_id, 't', 'c', artefact, layout, error, log, seal "
        "FROM build_failures",
    )
    with open_for_writing(path) as store:
        ids = store.begin(EXPERIMENT, CONTEXT)
        store.replace_build_failures(ids[0], {"s": "c"}, [BuildFailure("s", "art", 7, "bad", None)])
        assert store.build_failures(EXPERIMENT, {"t": "c"}) == []
        assert len(store.damaged) == 1


def test_strange_rows_among_others_are_named_each_with_its_reason(path):
    """Rows are read many at once: that some say what no layoutrand writes takes nothing from the others."""
    change(path, "UPDATE executions SET rusage = '[]' WHERE id = 3", sealed=True)
    change(path, "UPDATE executions SET layout = 'x' WHERE id = 7", sealed=True)
    change(path, "UPDATE measurements SET unit = x'ff' WHERE execution_id = 9", sealed=True)
    with open_for_reading(path) as store:
        left = {each.repetition + 1 for each in store.executions(EXPERIMENT)}
        assert left == set(range(1, ROWS + 1)) - {3, 7, 9}
        assert [(each.key, each.reason) for each in store.damaged] == [
            ("id 3", "rusage is JSON of another shape than is recorded"),
            ("id 7", "layout is no seed"),
            ("id 9", "measurements: metric and unit are text, warmup is 0 or 1"),
        ]


HOSTILE = (
    None,
    "",
    "x",
    b"\xff",
    -1,
    0.5,
    10**18,
    "9" * 5000,
    "[[1]]",
    "{}",
    '{"a": 1}',
    "null",
    "[1e999]",
    "[" * 5000,
)
JSON = (
    '{"cpus": 1}',
    '{"cpus": ["x"]}',
    '{"governor": []}',
    '{"start_files": [1]}',
    '{"program_file": []}',
    "[1, 2]",
    '{"memory_bytes": "x"}',
    '{"build": {"commands": 1}}',
    '[{"capture": 1}]',
    "[{}]",
    '{"a": {"b": NaN}}',
)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(data=st.data())
@pytest.mark.parametrize("sealed", [False, True], ids=["unsealed", "sealed"])
def test_hostile_values_are_left_out_or_an_error_of_ours(tmp_path_factory, sealed, data):
    """Of any column, and also where somebody sealed them: nothing but what is damaged is lost."""
    path = results_path(tmp_path_factory.mktemp("hostile"))
    with open_for_writing(path) as store:
        ids = store.begin(EXPERIMENT, CONTEXT)
        for execution in executions(3):
            store.record(ids, execution)
        store.record_node(ids[0], Node("n", {"memory_bytes": 1}))
        store.replace_build_failures(ids[0], {"s": "c"}, [BuildFailure("s", "art", 7, "bad", None)])
    table = data.draw(st.sampled_from([*TABLES, "measurements"]))
    columns = SEALED.get(table, ("metric", "unit", "iteration", "value", "warmup"))
    column = data.draw(st.sampled_from([name for name in columns if name not in ("id", "measured", "execution_id")]))
    value = data.draw(st.sampled_from([*HOSTILE, *JSON]))
    key = "id = 2" if table == "executions" else "execution_id = 2" if table == "measurements" else "1"
    try:
        change(path, f"UPDATE {table} SET {column} = ? WHERE {key}", value, sealed=sealed)
    except sqlite3.IntegrityError:
        return  # a value that the table itself refuses
    try:
        found, _ = everything(path)
        verify(path)
    except ResultsError:
        return
    if table in ("executions", "measurements"):
        assert {each.repetition for each in found[1]} >= {0, 2}


def test_text_that_is_no_utf_8_damages_its_own_row_alone(path):
    change(path, "UPDATE executions SET reason = CAST(x'ff41' AS TEXT) WHERE id = 3")
    (_, kept, *_), damaged = everything(path)
    assert (len(kept), [row.key for row in damaged]) == (ROWS - 1, ["id 3"])
    change(path, "UPDATE executions SET reason = CAST(x'ff41' AS TEXT) WHERE id = 3", sealed=True)
    assert [row.reason for row in everything(path)[1]] == ["reason is no text in UTF-8"]


def test_rows_on_pages_that_can_be_read_are_used_and_nothing_is_recorded_any_more(tmp_path):
    path = results_path(tmp_path)
    many = [dataclasses.replace(each, log="x" * 300) for each in executions(200)]
    with open_for_writing(path) as store:
        ids = store.begin(EXPERIMENT, CONTEXT)
        for execution in many:
            store.record(ids, execution)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        pages = [
            row[0]
            for row in connection.execute("SELECT pageno FROM dbstat WHERE name = 'executions' AND pagetype = 'leaf'")
        ]
    content = bytearray(path.read_bytes())
    for page in pages[3:5]:
        content[size * (page - 1) : size * page] = os.urandom(size)
    path.write_bytes(content)
    with open_for_reading(path) as store:
        kept = store.executions(EXPERIMENT)
        assert store.experiments()[0][0] == EXPERIMENT
        lost = [row for row in store.damaged if row.table == "executions"]
    assert all(each in many for each in kept)
    assert 0 < len(lost) < 40
    assert len(kept) + len(lost) == len(many)
    assert all("cannot be read" in row.reason for row in lost)
    assert any(row.table == "pages of the file" for row in verify(path).damaged)
    with pytest.raises(ResultsError, match=r"(?s)is damaged .*nothing is recorded in it any more.*results verify"):
        open_for_writing(path)


def test_measurements_of_nothing_are_found_by_verify(path):
    change(path, "DELETE FROM executions WHERE id = 3")
    assert [str(row) for row in verify(path).damaged] == ["measurements, of execution 3: there is no such execution"]


def test_a_file_of_the_version_before_is_verified_without_seals(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for table in TABLES:
            connection.execute(f"ALTER TABLE {table} DROP COLUMN seal")
        connection.execute("ALTER TABLE executions DROP COLUMN measured")
        connection.execute("ALTER TABLE executions DROP COLUMN output_sha256")
        connection.execute("UPDATE executions SET rusage = '[]' WHERE id = 3")
        connection.execute("PRAGMA user_version = 4")
        connection.commit()
    found = verify(path)
    assert (found.sealed, [row.reason for row in found.damaged]) == (
        False,
        ["rusage is JSON of another shape than is recorded"],
    )


@pytest.mark.parametrize("stands", ["pipe", "device"])
def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path, stands):
    path = results_path(tmp_path)
    path.parent.mkdir()
    if stands == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    for opened in (open_for_reading, open_for_writing):
        with pytest.raises(ResultsError, match="is no ordinary file"):
            opened(path)


def test_a_large_file_is_looked_through_once_for_each_change(tmp_path, monkeypatch):
    """What was found in order is remembered beside it; another content of the same size is looked through again."""
    path = results_path(tmp_path)
    with open_for_writing(path) as store:
        ids = store.begin(EXPERIMENT, CONTEXT)
        store.record(ids, dataclasses.replace(EXECUTION, argv=("x" * (6 << 20),)))
    open_for_reading(path).close()
    beside = path.with_name("results.sqlite.checked")
    known = beside.read_bytes()
    open_for_reading(path).close()
    assert beside.read_bytes() == known
    times = path.stat()
    content = bytearray(path.read_bytes())
    content[4096 * 3 : 4096 * 4] = b"\xff" * 4096
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns + 1))
    with open_for_reading(path) as store:
        assert store.damaged
    assert beside.read_bytes() == known
    assert json.loads(known)


def test_a_schema_that_is_no_text_is_damage(path):
    """SQLite quotes it in its message, which Python then cannot read."""
    content = path.read_bytes()
    place = content.index(b"tablenodesnodes") + len(b"table")
    broken = content[:place] + b"\xe9" + content[place + 1 :]
    path.write_bytes(broken.replace(b"CREATE TABLE nodes", b"CRYATE TABLE nodes"))
    for opened in (open_for_reading, open_for_writing, verify):
        with pytest.raises(ResultsError, match=r"(?s)described by what is no text.*The file is damaged"):
            opened(path)


def test_what_is_no_text_comes_amid_rows_that_are_read_at_once(path):
    """Rows before it, with it and behind it: many are fetched together, and the reading of all of them changes there."""
    with open_for_writing(path) as store:
        ids = store.begin(EXPERIMENT, CONTEXT)
        for place in range(ROWS, 700):
            store.record(ids, dataclasses.replace(executions()[0], repetition=place))
    whole = everything(path)[0][1]
    for damaged in (300, 301, 600):
        change(path, "UPDATE executions SET reason = CAST(x'ff' AS TEXT) WHERE id = ?", damaged)
    (_, kept, *_), rows = everything(path)
    assert [row.key for row in rows] == ["id 300", "id 301", "id 600"]
    assert kept == [each for place, each in enumerate(whole, 1) if place not in {300, 301, 600}]
    assert len(kept) == 697
