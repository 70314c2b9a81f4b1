"""Executions on nodes: every round whole on one node, recorded once whatever is lost on the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterkit import Machines, Site
from workshop import Workshop, main_calling, many_functions


@pytest.fixture
def site(gnu: Workshop, tmp_path: Path) -> Site:
    """A small program."""
    gnu.write(main__c=main_calling("u3"), u__c=many_functions(9, prefix="u"))
    return Site(gnu, tmp_path / "site")


def test_every_round_is_executed_whole_on_one_node(site: Site) -> None:
    """Two systems, three seeds, controls beside them: all recorded, with the node that executed them."""
    config = site.config(systems={"a": {}, "b": {"cflags": "-O1"}})
    with Machines(site.folder) as nodes:
        summary = site.run(nodes, config=config)
    assert (summary.total, summary.executed, summary.failures, summary.waiting) == (18, 18, (), 0)
    executions = site.executions()
    assert len(executions) == 18
    by_round = {seed: {e.node for e in executions if e.round == seed} for seed in (1, 2, 3)}
    assert all(len(names) == 1 for names in by_round.values())
    assert set().union(*by_round.values()) <= {"n1", "n2"}
    assert site.waiting() == []
    assert len(site.done) == 18
