"""Jobs of Slurm as futures, without Slurm: what becomes of each when its commands say this or that."""

import contextlib
import os
import pickle
import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from layoutrand.errors import ClusterError
from layoutrand.world import slurm_jobs
from layoutrand.world.slurm_jobs import SlurmJobs


@dataclass
class Paths:
    """Where a job of submitit's leaves what it makes."""

    result_pickle: Path
    stderr: Path


@dataclass
class Job:
    """A job that has ended when its result is there."""

    job_id: str
    paths: Paths

    def result(self):
        """What the function returned, or raise what it raised."""
        outcome, value = pickle.loads(self.paths.result_pickle.read_bytes())
        if outcome == "error":
            raise value
        return value


@dataclass
class Cluster:
    """A submitter with batches, and what squeue lists; ``arrays`` are the sizes of what was submitted at once."""

    folder: Path
    active: dict[str, str] = field(default_factory=dict)
    answers: bool = True
    arrays: list[int] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    submitted: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    @contextlib.contextmanager
    def batch(self):
        """As submitit's context that makes one array of what is submitted inside."""
        self.arrays.append(0)
        yield
        for _ in range(self.arrays[-1]):
            self.submitted.release()

    def submit(self, _fn, *_args):
        """One more job of the array, pending."""
        job_id = f"{len(self.arrays)}_{self.arrays[-1]}"
        self.arrays[-1] += 1
        job = Job(job_id, Paths(self.folder / f"{job_id}.pkl", self.folder / f"{job_id}.err"))
        self.jobs.append(job)
        self.active[job_id] = ""
        return job

    def leave(self, job, outcome, value):
        """The job ends with this."""
        beside = job.paths.result_pickle.with_suffix(".tmp")
        beside.write_bytes(pickle.dumps((outcome, value)))
        beside.rename(job.paths.result_pickle)
        self.active.pop(job.job_id, None)

    def command(self, argv):
        """What squeue and scancel say."""
        if argv[0] == "scancel":
            self.cancelled += argv[1:]
            return ""
        return "".join(f"{job}|{node}\n" for job, node in list(self.active.items())) if self.answers else None


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    made = Cluster(tmp_path)
    monkeypatch.setattr(slurm_jobs, "_command", made.command)
    return made


@pytest.fixture
def jobs(cluster):
    executor = SlurmJobs(cluster, poll_s=0.01, grace_s=0.05)
    yield executor
    executor.shutdown(wait=True, cancel_futures=True)


def submitted(cluster, jobs, count):
    """So many futures, once their jobs are in the queue."""
    futures = [jobs.submit(os.getpid) for _ in range(count)]
    for _ in futures:
        assert cluster.submitted.acquire(timeout=30)
    return futures


def test_a_result_is_the_futures(cluster, jobs):
    """And what the function raised is its error."""
    fine, wrong = submitted(cluster, jobs, 2)
    cluster.leave(cluster.jobs[0], "success", 42)
    cluster.leave(cluster.jobs[1], "error", ValueError("no"))
    assert fine.result(timeout=30) == 42
    with pytest.raises(ValueError, match="no"):
        wrong.result(timeout=30)


def test_a_job_that_is_gone_without_a_result_is_lost(cluster, jobs):
    """The error has its id, the node that it was last seen on, and the end of its log."""
    (future,) = submitted(cluster, jobs, 1)
    (job,) = cluster.jobs
    cluster.active[job.job_id] = "n7"
    job.paths.stderr.write_text("slurmstepd: error: Detected 1 oom_kill event\n")
    while not jobs._nodes:
        assert not future.done()
    del cluster.active[job.job_id]
    with pytest.raises(ClusterError, match=rf"done with job {job.job_id} on node n7.*\n.*oom_kill"):
        future.result(timeout=30)


def test_a_requeued_job_is_waited_for(cluster, jobs):
    """It is missing for a moment, and listed again."""
    (future,) = submitted(cluster, jobs, 1)
    (job,) = cluster.jobs
    del cluster.active[job.job_id]
    cluster.active[job.job_id] = ""
    cluster.leave(job, "success", 1)
    assert future.result(timeout=30) == 1


def test_a_controller_that_does_not_answer_loses_nothing(cluster, jobs):
    """As while slurmctld is restarted: results are taken all the same."""
    first, second = submitted(cluster, jobs, 2)
    cluster.answers = False
    cluster.active.clear()
    cluster.leave(cluster.jobs[1], "success", 2)
    assert second.result(timeout=30) == 2
    assert not first.done()
    cluster.active[cluster.jobs[0].job_id] = ""
    cluster.answers = True
    cluster.leave(cluster.jobs[0], "success", 1)
    assert first.result(timeout=30) == 1


def test_arrays_are_no_longer_than_slurm_takes(cluster, jobs):
    """2,500 jobs are three arrays or more, none longer than 1,000, and cancelled as arrays."""
    futures = submitted(cluster, jobs, 2500)
    assert sum(cluster.arrays) == 2500
    assert max(cluster.arrays) <= 1000
    jobs.shutdown(wait=True, cancel_futures=True)
    assert len(cluster.cancelled) == len(cluster.arrays)
    assert all(isinstance(future.exception(timeout=30), ClusterError) for future in futures)


def test_a_future_cancelled_before_it_is_submitted_is_no_job(cluster):
    """Nothing is sent for it."""
    jobs = SlurmJobs(cluster, poll_s=3600)
    assert jobs.submit(os.getpid).cancel()
    jobs.shutdown(wait=True)
    assert cluster.arrays == []


class Sbatch:
    """A submitter that refuses."""

    def batch(self):
        """As submitit's context that collects jobs."""
        raise RuntimeError("sbatch: error: invalid partition specified: nowhere")


def test_what_sbatch_refuses_is_every_waiting_futures_error():
    """With sbatch's words."""
    jobs = SlurmJobs(Sbatch(), poll_s=0.01)
    futures = [jobs.submit(print), jobs.submit(print)]
    for future in futures:
        with pytest.raises(ClusterError, match="sbatch took no jobs: sbatch: error: invalid partition"):
            future.result(timeout=30)
    jobs.shutdown()
    with pytest.raises(ClusterError, match="shut down"):
        jobs.submit(print)
