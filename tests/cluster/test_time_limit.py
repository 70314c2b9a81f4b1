"""What cannot be done within the time that a job has is told before it is given out."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from experiments import execution
from fakes import make_config
from layoutrand.cluster.measuring import over_limit
from layoutrand.config.schedule import Slot
from layoutrand.execute.live import Live

CONFIG = make_config('[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n', systems=("a",))


def tasks(*rounds):
    """Tasks of so many rounds, each of two executions."""
    return [
        SimpleNamespace(slots=[(Slot("a", "b", k, "native", k, again, 0), None) for k in range(n) for again in (0, 1)])
        for n in rounds
    ]


def live_of(tmp_path, seconds):
    known = [] if seconds is None else [execution(CONFIG, tmp_path, "a", "b", 9, wall_s=seconds)]
    return Live({each.name: each for each in CONFIG.benchmarks}, known, [])


@pytest.mark.parametrize(
    ("seconds", "limit_s", "rounds", "told"),
    [
        (3600, 4 * 3600, (3, 1), "1 of 2 tasks take longer than the 4 h that a job has (about 6 h)"),
        (5 * 3600, 4 * 3600, (1,), "an execution takes about 5 h, and a job has 4 h: it will be ended"),
        (3600, 4 * 3600, (2, 1), ""),
        (3600, None, (30,), ""),
        (None, 60, (30,), ""),
    ],
)
def test_tasks_that_take_longer_than_a_job_has(tmp_path, seconds, limit_s, rounds, told):
    said = over_limit(live_of(tmp_path, seconds), tasks(*rounds), limit_s)
    assert said.startswith(told) if told else not said
    assert ("more minutes under [cluster.measure]" in said) == bool(told)
    assert ("fewer rounds to a task" in said) == ("tasks" in told)


def test_only_slurm_ends_jobs_by_the_clock():
    text = '[cluster]\nkind = "{}"\nshared = "s"\n{}'
    slurm = make_config(text.format("slurm", "measure = { minutes = 9 }\n")).cluster
    dask = make_config(text.format("dask", 'scheduler = "tcp://x:1"\n')).cluster
    assert (slurm.measuring_limit_s, dask.measuring_limit_s) == (540.0, None)
