"""The contract that every engine keeps; what each one does with its own nodes is tested beside this.

Behind an engine stands something simple here (`enginekit`); with Slurm and Dask themselves the same is tried in
`tests/integration/test_slurm.py` and `tests/integration/test_dask.py`.
"""

from __future__ import annotations

import ast
import pickle
import sys
from pathlib import Path
from typing import get_args

import pytest

import layoutrand
from enginekit import NODE, TABLES, behind, waits
from layoutrand.cluster.open import opened
from layoutrand.cluster.unneeded import inventory
from layoutrand.config.cluster import HERE, tables
from layoutrand.config.config import as_dict, parse
from layoutrand.engines.engine import Measure, Remote
from layoutrand.engines.known import engine as known
from layoutrand.engines.known import names
from layoutrand.errors import ClusterError, ConfigError
from layoutrand.host.facts import node_name

SOURCE = Path(layoutrand.__file__).parent
MINIMAL = '[project]\nname = "p"\n[build]\ncommands = ["make"]\nartefacts = ["prog"]\n[systems.a]\n'


@pytest.fixture(params=names())
def engine(request):
    return known(request.param)


def config_of(engine, more=""):
    table = f'[cluster]\nkind = "{engine.name}"\nshared = "s"\n{TABLES[engine.name]}{more}'
    return parse(MINIMAL + table, path="layoutrand.toml")


@pytest.fixture
def opening(engine, tmp_path, monkeypatch):
    """What opens the engine, with a node behind it."""
    behind(engine.name, tmp_path, monkeypatch)
    return lambda purpose="link": opened(config_of(engine).remote, tmp_path / "shared", purpose)


def test_it_is_known_by_its_name(engine):
    assert known(engine.name) is engine
    assert engine.title.lower() == engine.name
    assert tables()[engine.name] is engine.table
    assert HERE not in names()


def test_its_table_is_of_its_own_kind(engine):
    assert issubclass(engine.table, Remote)
    assert get_args(engine.table.model_fields["kind"].annotation) == (engine.name,)
    assert issubclass(engine.table.model_fields["measure"].annotation, Measure)


def test_its_settings_survive_a_journey_and_are_recorded(engine):
    config = config_of(engine, "chunk = 3\n[cluster.measure]\nrounds = 2\n")
    assert pickle.loads(pickle.dumps(config)) == config
    assert isinstance(config.remote, engine.table)
    recorded = as_dict(config)["cluster"]
    assert set(recorded) == set(engine.table.model_fields)
    assert (recorded["kind"], recorded["chunk"], recorded["measure"]["rounds"]) == (engine.name, 3, 2)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("chnk = 3", "cluster.chnk: unknown key; did you mean 'chunk'?"),
        ("chunk = 0", "cluster.chunk: must be greater than or equal to 1 (given: 0)"),
        ("[cluster.measure]\nround = 1", "cluster.measure.round: unknown key; did you mean 'rounds'?"),
    ],
)
def test_what_is_wrong_in_its_table_is_named_by_key(engine, more, words):
    with pytest.raises(ConfigError) as caught:
        config_of(engine, more)
    (problem,) = caught.value.problems
    assert problem.startswith(words)


def test_a_kind_that_is_none_is_told_with_those_that_are():
    with pytest.raises(ConfigError, match='must be "local" or "dask" or "slurm" .given: \'pbs\''):
        parse(f'{MINIMAL}[cluster]\nkind = "pbs"\n', path="layoutrand.toml")


@pytest.mark.parametrize("purpose", ["link", "measure"])
def test_functions_are_executed_and_their_errors_come_back(opening, purpose):
    with opening(purpose) as executor:
        futures = [executor.submit(divmod, 7, number) for number in (2, 0)]
        assert futures[0].result(timeout=30) == (3, 1)
        with pytest.raises(ZeroDivisionError):
            futures[1].result(timeout=30)


def test_the_only_node_is_not_avoided(opening):
    """Or tasks would wait for ever."""
    with opening() as executor:
        assert executor.avoid(NODE) is False
        assert executor.submit(divmod, 7, 2).result(timeout=30) == (3, 1)


def test_where_nothing_was_left_nothing_is_forgotten(opening):
    with opening() as executor:
        assert executor.forget_others("ab", []) == 0


def test_at_the_end_nothing_is_on_its_way(opening):
    with opening() as executor:
        future = executor.submit(waits)
    assert future.cancelled() or isinstance(future.exception(timeout=30), ClusterError)
    with pytest.raises(ClusterError, match="is being shut down"):
        executor.submit(divmod, 7, 2)


def test_it_writes_into_its_own_directory_and_knows_what_it_left(engine, opening, tmp_path):
    (tmp_path / "shared").mkdir()
    with opening() as executor:
        executor.submit(divmod, 7, 2).result(timeout=30)
    found = inventory(tmp_path / "shared")
    assert found.of("unknown") == []
    assert {entry.engine for entry in found.entries} <= {engine.name}
    assert {path.name for path in (tmp_path / "shared").iterdir()} <= {engine.name}


def test_without_its_package_it_names_the_extra(engine, tmp_path, monkeypatch):
    for package in ("distributed", "submitit"):
        monkeypatch.setitem(sys.modules, package, None)
    with (
        pytest.raises(ClusterError, match=rf'"layoutrand\[{engine.name}\]", or give --executor local'),
        opened(config_of(engine).remote, tmp_path),
    ):
        pass


def test_a_node_has_the_name_that_the_engine_gives_it(engine, monkeypatch):
    """Unless the user gives it one."""
    monkeypatch.delenv("LAYOUTRAND_NODE", raising=False)
    before = node_name()
    monkeypatch.setenv(engine.node_variable or "NONE", "rack3")
    assert node_name() == ("rack3" if engine.node_variable else before)
    monkeypatch.setenv("LAYOUTRAND_NODE", "mine")
    assert node_name() == "mine"


def test_whose_programs_are_not_there_does_not_answer_for_jobs(engine, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert engine.active_jobs() == (None if "job" in engine.left else frozenset())


def asks(tree, kinds):
    """Expressions that ask which engine it is: comparisons with a name, its table in isinstance or imported."""
    tables_of = {known(name).table.__name__ for name in names()}
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare | ast.Match | ast.Dict):
            yield from (
                inner.value
                for inner in ast.walk(node)
                if isinstance(inner, ast.Constant) and isinstance(inner.value, str) and inner.value in kinds
            )
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("layoutrand.engines.known."):
            yield node.module
        if isinstance(node, ast.Name) and node.id in tables_of:
            yield node.id


QUESTIONS = [
    'if settings.kind == "slurm":\n    pass',
    'if settings.kind in {"slurm", "pbs"}:\n    pass',
    'how = {"dask": 1}[settings.kind]',
    "if isinstance(settings, Slurm):\n    pass",
    "from layoutrand.engines.known.slurm import sbatch_options",
    'match settings.kind:\n    case "dask":\n        pass',
    'if config.cluster.kind != "local":\n    pass',
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_would_be_found(question):
    assert list(asks(ast.parse(question), {*names(), HERE}))


@pytest.mark.slow
def test_nobody_asks_which_engine_it_is():
    """But its own modules, whose names begin with its own; whether there is one at all says `Config.remote`."""
    found = {
        (str(path.relative_to(SOURCE)), what)
        for path in SOURCE.rglob("*.py")
        if not (path.is_relative_to(SOURCE / "engines") and path.name.startswith(tuple(names())))
        for what in asks(ast.parse(path.read_text()), {*names(), HERE})
    }
    assert found == set()
