"""`run.order`: what is executed when, and which results belong together."""

from __future__ import annotations

import pytest

from executekit import Project
from experiments import measured, selected, write
from fakes import FakeExecutor, make_config
from layoutrand.analysis.compare import compare
from layoutrand.cli import options
from layoutrand.cli.terminal import Terminal
from layoutrand.config.config import parse
from layoutrand.errors import AnalysisError, ConfigError, UsageError
from layoutrand.execute.experiment import current_experiment
from warningkit import said

WALL = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'


def config_of(order=None, run=""):
    return make_config(WALL, run=run if order is None else f'order = "{order}"\n{run}')


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


EXECUTED = {
    "interleaved": ["a1", "b1", "astock", "bstock", "a2", "b2", "astock", "bstock"],
    "sequential": ["a1", "astock", "a2", "astock", "b1", "bstock", "b2", "bstock"],
}


@pytest.mark.parametrize(("order", "expected"), EXECUTED.items())
def test_the_order_is_that_of_the_executions(project, order, expected):
    config, executor = config_of(order), FakeExecutor()
    project.run(config, project.binaries(systems=("a", "b"), layouts=(1, 2, "stock")), executor)
    executions = project.executions(config)
    assert [f"{e.system}{e.layout}" for e in executions] == expected
    assert [e.order for e in executions] == list(range(8))
    assert len(executor.commands) == 8


def test_an_interrupted_schedule_of_any_order_goes_on_where_it_stopped(project):
    for order in ("blocks", "interleaved", "random", "sequential"):
        config, binaries = config_of(order), project.binaries(systems=("a", "b"), layouts=(1, 2, "stock"))
        with pytest.raises(KeyboardInterrupt):
            project.run(config, binaries, FakeExecutor(interrupt_at=3))
        summary = project.run(config, binaries)
        assert (summary.already, summary.executed) == (3, 5)
        assert [e.order for e in project.executions(config)] == list(range(8))


def test_each_order_is_an_experiment_of_its_own(project):
    binaries = project.binaries(systems=("a", "b"), layouts=(1, 2, "stock"))
    for order in (None, "random", "sequential"):
        assert project.run(config_of(order), binaries).executed == 8
    assert project.run(config_of("blocks"), binaries).executed == 0
    assert {e.order for e in selected(config_of("random"), project.path).executions} == set(range(8))
    with pytest.raises(AnalysisError, match=r'randomise \["order-interleaved"\](?s:.*)randomise \["order-random"\]'):
        selected(config_of("interleaved"), project.path)


@pytest.mark.parametrize(
    ("run", "randomise"),
    [
        ("", "[]"),
        ('order = "blocks"', "[]"),
        ('randomise = ["env-size"]\naslr = "off"', '["env-size","aslr-off"]'),
        ('order = "random"\naslr = "off"', '["order-random","aslr-off"]'),
    ],
)
def test_what_the_experiment_is_called_changes_with_other_orders_only(run, randomise):
    """Pinned: with blocks it is what it was before there were other orders."""
    assert current_experiment(config_of(run=run)).randomise == randomise


@pytest.mark.parametrize(("order", "is_told"), [("blocks", False), ("random", False), ("sequential", True)])
def test_a_comparison_says_that_a_sequential_order_confounds_systems_with_drift(tmp_path, order, is_told):
    config = config_of(order)
    rows = [row for system in "ab" for row in measured(config, tmp_path, system, "b", {1: [[1.0]], 2: [[1.1]]})]
    write(config, tmp_path, rows)
    result = compare(selected(config, tmp_path), "a", "b", confidence=0.95, threshold=0.01, metric=None)
    assert any("looks like a difference between systems" in warning for warning in said(result.warnings)) == is_told
    alone = selected(config, tmp_path, systems=["a"])
    assert not any("looks like a difference between systems" in warning for warning in said(alone.warnings))


def test_an_unknown_order_is_an_error():
    with pytest.raises(ConfigError) as caught:
        parse(
            '[project]\nname = "p"\n[build]\ncommands = ["make"]\nartefacts = ["x"]\n[systems.a]\n[run]\norder = "abab"',
            path="x",
        )
    assert caught.value.problems == [
        "run.order: must be 'blocks', 'pairs', 'interleaved', 'random' or 'sequential' (given: 'abab')"
    ]


def test_the_option_wins_over_the_file_and_says_where_its_results_are_found(capsys):
    terminal, config = Terminal(json=False, quiet=False), config_of("random")
    assert options.in_order(config, None, terminal) is config
    assert options.in_order(config, "random", terminal) is config
    assert capsys.readouterr().err == ""
    assert options.in_order(config, "sequential", terminal) == config_of("sequential")
    assert 'set order = "sequential" under [run] in layoutrand.toml' in capsys.readouterr().err
    with pytest.raises(UsageError, match="no order called 'sequental'.*did you mean 'sequential'"):
        options.in_order(config, "sequental", terminal)
