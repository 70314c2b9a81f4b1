"""Jobs of Slurm as futures, without Slurm: what becomes of each when its commands say this or that."""

import contextlib
import os
import pickle
import stat
import threading
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

import pytest

from layoutrand.engines import slurm_jobs as slurm
from layoutrand.engines.slurm_jobs import SlurmJobs
from layoutrand.engines.slurm_tokens import TokenJournal
from layoutrand.errors import BundleError, ClusterError


@dataclass
class Paths:
    """Where a job of submitit's leaves what it makes."""

    result_pickle: Path
    stderr: Path


@dataclass
class Submission:
    """What a job was asked for."""

    args: tuple


@dataclass
class Job:
    """A job that has ended when its result is there."""

    job_id: str
    paths: Paths
    args: tuple = ()

    def submission(self):
        """As submitit unpickles it."""
        return Submission(self.args)

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
    states: dict[str, tuple[str, str]] = field(default_factory=dict)
    parameters: dict = field(default_factory=dict)
    updates: list[list[str]] = field(default_factory=list)
    nodes: tuple[str, ...] = ("n1", "n2", "n3", "n4", "n7")
    submitted: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    @contextlib.contextmanager
    def batch(self):
        """As submitit's context that makes one array of what is submitted inside."""
        self.arrays.append(0)
        yield
        for _ in range(self.arrays[-1]):
            self.submitted.release()

    def job_class(self, folder, job_id):
        """As submitit finds a job by its number."""
        (job,) = [job for job in self.jobs if job.job_id == job_id and folder == self.folder]
        return job

    def update_parameters(self, **parameters):
        """As submitit's."""
        self.parameters |= parameters

    def submit(self, _fn, *args):
        """One more job of the array, pending."""
        job_id = f"{len(self.arrays)}_{self.arrays[-1]}"
        self.arrays[-1] += 1
        job = Job(job_id, Paths(self.folder / f"{job_id}.pkl", self.folder / f"{job_id}.err"), args)
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
        """What squeue, scancel and scontrol say."""
        if argv[0] == "scancel":
            self.cancelled += argv[1:]
            return ""
        if argv[0] == "sinfo":
            return "\n".join(self.nodes)
        if argv[:2] == ["scontrol", "show"]:
            return argv[-1].replace("n[3-4]", "n3\nn4").replace(",", "\n")
        if argv[0] == "scontrol":
            self.updates.append(argv[2:])
            return ""
        return "".join(self.row(job, node) for job, node in list(self.active.items())) if self.answers else None

    def row(self, job, node):
        """A line of squeue: running where there is a node."""
        state, reason = self.states.get(job, ("R" if node else "PD", "None"))
        return f"{job}|{state}|{node}|{reason}\n"


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    made = Cluster(tmp_path)
    monkeypatch.setattr(slurm, "_command", made.command)
    return made


@pytest.fixture
def jobs(cluster):
    executor = another(cluster)
    yield executor
    executor.shutdown(wait=True, cancel_futures=True)


def another(cluster, **options):
    """What submits to the cluster; the second is one that is started again."""
    return SlurmJobs(cluster, TokenJournal(cluster.folder / "tokens"), poll_s=0.01, grace_s=0.05, **options)


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


def test_the_error_of_a_job_that_slurm_ended_says_so(cluster, jobs):
    """A job that has time to say that it failed says how it was interrupted, and not by whom."""
    (future,) = submitted(cluster, jobs, 1)
    (job,) = cluster.jobs
    job.paths.stderr.write_text("slurmstepd-n7: error: *** JOB 1 ON n7 CANCELLED AT 2026-11-29T21:11:43 ***\n")
    cluster.leave(job, "error", RuntimeError("interrupted"))
    with pytest.raises(
        ClusterError, match=f"^Slurm cancelled job {job.job_id}; its log is {job.paths.stderr}\ninterrupted"
    ):
        future.result(timeout=30)


def test_a_job_that_is_gone_without_a_result_is_lost(cluster, jobs):
    """The error has its id, the node that it was last seen on, and the end of its log."""
    (future,) = submitted(cluster, jobs, 1)
    (job,) = cluster.jobs
    cluster.active[job.job_id] = "n7"
    job.paths.stderr.write_text("slurmstepd: error: Detected 1 oom_kill event\n")
    while not jobs._nodes:
        assert not future.done()
    del cluster.active[job.job_id]
    with pytest.raises(ClusterError, match=rf"killed job {job.job_id} on node n7 for want.*no result.*\n.*oom_kill"):
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


def test_a_shared_directory_that_is_away_for_a_moment_loses_nothing(cluster, jobs, monkeypatch):
    """As NFS says of a file handle that has become stale."""
    (future,) = submitted(cluster, jobs, 1)
    exists, stale = Path.exists, threading.Semaphore(3)

    def asked(path):
        if stale.acquire(blocking=False):
            raise OSError(116, "Stale file handle")
        return exists(path)

    jobs._grace_s = 30
    monkeypatch.setattr(Path, "exists", asked)
    cluster.leave(cluster.jobs[0], "success", 1)
    assert future.result(timeout=30) == 1
    assert not stale.acquire(blocking=False)


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
    jobs = SlurmJobs(cluster, TokenJournal(cluster.folder), poll_s=3600)
    assert jobs.submit(os.getpid).cancel()
    jobs.shutdown(wait=True)
    assert cluster.arrays == []


class Sbatch:
    """A submitter that refuses."""

    def batch(self):
        """As submitit's context that collects jobs."""
        raise RuntimeError("sbatch: error: invalid partition specified: nowhere")


def test_what_sbatch_refuses_is_every_waiting_futures_error(tmp_path):
    """With sbatch's words."""
    jobs = SlurmJobs(Sbatch(), TokenJournal(tmp_path), poll_s=0.01)
    futures = [jobs.submit(print), jobs.submit(print)]
    for future in futures:
        with pytest.raises(ClusterError, match="sbatch took no jobs: sbatch: error: invalid partition"):
            future.result(timeout=30)
    jobs.shutdown()
    with pytest.raises(ClusterError, match="shut down"):
        jobs.submit(print)


@dataclass(frozen=True)
class Payload:
    """What is asked for under a token."""

    token: str


def asked(cluster, jobs, token):
    """A future with a token, once its job is in the queue."""
    future = jobs.submit(os.getpid, Payload(token))
    assert cluster.submitted.acquire(timeout=30)
    return future


def tokens(cluster):
    """The jobs that are noted, by token."""
    return {path.name: path.read_text().strip() for path in (cluster.folder / "tokens").glob("[0-9a-f]*")}


def noted(cluster, jobs, *names):
    """Jobs for these tokens, once they are noted: the lock is held until then."""
    for token in names:
        asked(cluster, jobs, token)
    with jobs._lock:
        return tokens(cluster)


def left(cluster, *names):
    """The same, by a run that is killed then."""
    submitter = another(cluster)
    found = noted(cluster, submitter, *names)
    with submitter._lock:
        submitter._jobs.clear()
        submitter._closed = True
    submitter._wake.set()
    submitter._thread.join()
    return found


def test_a_run_started_again_follows_the_job_of_the_token(cluster):
    """One job for both, and what it leaves is the second's; then nothing is noted any more."""
    assert set(left(cluster, "ab12")) == {"ab12"}
    again = another(cluster)
    future = again.submit(os.getpid, Payload("ab12"))
    cluster.leave(cluster.jobs[0], "success", 7)
    assert future.result(timeout=30) == 7
    again.shutdown(wait=True)
    assert len(cluster.jobs) == 1
    assert tokens(cluster) == {}


def test_a_job_that_was_not_noted_is_found_in_the_queue(cluster):
    """The run was killed between the submission and the note; also to be cancelled."""
    left(cluster, "ab12", "ab13", "cd01")
    for path in (cluster.folder / "tokens").iterdir():
        path.unlink()
    cluster.active["77_0"] = "n1"  # of another directory
    again = another(cluster)
    future = again.submit(os.getpid, Payload("ab12"))
    assert again.forget_others("ab", {"ab12"}) == 1
    assert cluster.cancelled == ["2_0"]
    cluster.leave(cluster.jobs[0], "error", ValueError("x"))
    with pytest.raises(ValueError, match="x"):
        future.result(timeout=30)
    anew = asked(cluster, again, "ab12")
    cluster.leave(cluster.jobs[-1], "success", 5)
    assert anew.result(timeout=30) == 5
    again.shutdown(wait=True)
    assert len(cluster.jobs) == 4


def test_a_result_left_while_nobody_looked_is_taken(cluster):
    """The job is not in the queue any more when the run is started again."""
    left(cluster, "ab12")
    cluster.leave(cluster.jobs[0], "success", 7)
    again = another(cluster)
    assert again.submit(os.getpid, Payload("ab12")).result(timeout=30) == 7
    again.shutdown(wait=True)
    assert len(cluster.jobs) == 1


@pytest.mark.parametrize("whose", ["result", "directory"])
def test_nothing_is_unpickled_that_others_may_have_left(cluster, jobs, monkeypatch, whose):
    """Whoever knows the next job's number may be first to make its directory."""
    is_theirs = {"result": stat.S_ISREG, "directory": stat.S_ISDIR}[whose]
    (future,) = submitted(cluster, jobs, 1)
    monkeypatch.setattr(
        slurm, "foreign", lambda found, group: "it belongs to user eve" if is_theirs(found.st_mode) else ""
    )
    cluster.leave(cluster.jobs[0], "success", 7)
    with pytest.raises(ClusterError, match=r"is not taken: it belongs to user eve. Delete it"):
        future.result(timeout=30)


def test_a_job_that_others_may_have_submitted_is_not_followed(cluster, monkeypatch):
    """What it was asked for is unpickled to be compared."""
    left(cluster, "ab12")
    monkeypatch.setattr(slurm, "foreign", lambda _found, group: "it belongs to user eve")
    again = another(cluster)
    asked(cluster, again, "ab12")
    assert len(cluster.jobs) == 2
    again.shutdown(wait=False, cancel_futures=True)


def test_a_job_that_came_to_nothing_meanwhile_is_submitted_anew(cluster):
    """It is neither in the queue nor has it left anything; that is no attempt of the new run's."""
    left(cluster, "ab12")
    cluster.active.clear()
    again = another(cluster)
    future = asked(cluster, again, "ab12")
    cluster.leave(cluster.jobs[1], "success", 8)
    assert future.result(timeout=30) == 8
    again.shutdown(wait=True)


def test_a_followed_job_that_is_lost_is_the_futures_error(cluster):
    """Once it was seen in the queue it is like any other; submitted again, it is another job."""
    left(cluster, "ab12")
    again = another(cluster)
    future = again.submit(os.getpid, Payload("ab12"))
    with again._lock:
        (entry,) = again._jobs
    while not entry.seen:
        assert not future.done()
    cluster.active.clear()
    with pytest.raises(ClusterError, match="left no result"):
        future.result(timeout=30)
    future = asked(cluster, again, "ab12")
    cluster.leave(cluster.jobs[1], "success", 9)
    assert future.result(timeout=30) == 9
    again.shutdown(wait=True)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"1_0; rm", b"999_1"])
def test_a_note_that_leads_nowhere_is_none(cluster, jobs, content):
    """Empty, damaged, or of a job whose files are gone."""
    (cluster.folder / "tokens").mkdir()
    (cluster.folder / "tokens" / "ab12").write_bytes(content)
    future = asked(cluster, jobs, "ab12")
    cluster.leave(cluster.jobs[0], "success", 3)
    assert future.result(timeout=30) == 3


def test_a_number_that_slurm_has_given_to_another_job_is_not_followed(cluster):
    """What was asked for there has another token."""
    left(cluster, "ab12")
    os.rename(cluster.folder / "tokens" / "ab12", cluster.folder / "tokens" / "cd34")
    again = another(cluster)
    future = asked(cluster, again, "cd34")
    cluster.leave(cluster.jobs[1], "success", 4)
    assert future.result(timeout=30) == 4
    again.shutdown(wait=True)


def test_a_token_is_no_path(cluster, jobs):
    """Before anything is submitted."""
    with pytest.raises(ValueError, match="hexadecimal"):
        jobs.submit(os.getpid, Payload("../x"))
    assert cluster.jobs == []


def test_a_clean_end_cancels_and_forgets(cluster, jobs):
    """Nothing is left for the next to follow."""
    noted(cluster, jobs, "ab12", "ab13")
    jobs.shutdown(wait=True, cancel_futures=True)
    assert cluster.cancelled == ["1", "2"]
    assert tokens(cluster) == {}


def test_only_the_followed_job_of_an_earlier_array_is_cancelled(cluster):
    """Its neighbours may be another's."""
    left(cluster, "ab12")
    again = another(cluster)
    again.submit(os.getpid, Payload("ab12"))
    again.shutdown(wait=True, cancel_futures=True)
    assert cluster.cancelled == ["1_0"]


def test_a_cancelled_futures_job_is_cancelled(cluster, jobs):
    """Also its token is forgotten."""
    future = asked(cluster, jobs, "ab12")
    assert future.cancel()
    jobs.shutdown(wait=True)
    assert cluster.cancelled == ["1_0"]
    assert tokens(cluster) == {}


def test_jobs_that_nobody_wants_any_more(cluster):
    """Those of the prefix are cancelled and forgotten; others are somebody else's."""
    ids = left(cluster, "aa01", "aa02", "bb01")
    again = another(cluster)
    assert again.forget_others("aa", {"aa01"}) == 1
    assert cluster.cancelled == [ids["aa02"]]
    assert set(tokens(cluster)) == {"aa01", "bb01"}
    assert again.forget_others("cc", ()) == 0
    again.shutdown(wait=True)


def test_a_node_is_avoided_by_what_waits_and_what_is_submitted_later(cluster):
    """Beside those that the user excludes; what runs there is left alone."""
    cluster.parameters = {"additional_parameters": {"mem": "1G", "exclude": "n[3-4]"}}
    jobs = another(cluster, exclude="n[3-4]")
    submitted(cluster, jobs, 1)
    submitted(cluster, jobs, 1)
    running, waiting = cluster.jobs
    cluster.active[running.job_id] = "n7"
    assert jobs.avoid("n7")
    assert jobs.avoid("n7")
    assert cluster.updates == [[f"JobId={waiting.job_id}", "ExcNodeList=n[3-4],n7"]]
    assert cluster.parameters["additional_parameters"] == {"mem": "1G", "exclude": "n[3-4],n7"}
    assert not jobs.avoid("login1")
    assert jobs.avoid("n1")
    assert not jobs.avoid("n2")  # the last
    assert cluster.parameters["additional_parameters"]["exclude"] == "n[3-4],n7,n1"
    jobs.shutdown(cancel_futures=True)


def test_a_job_that_waits_for_ever_is_told_of_once(cluster):
    """With its number, the reason and what to do; one that waits for its turn is not."""
    said = SimpleQueue()
    jobs = another(cluster, say=said.put)
    cluster.states = {
        "1_0": ("PD", "PartitionTimeLimit"),
        "2_0": ("PD", "Priority"),
        "3_0": ("PD", "PartitionTimeLimit"),
    }
    futures = [submitted(cluster, jobs, 1)[0] for _ in range(3)]
    first = said.get(timeout=30)
    assert first.startswith("Slurm does not start job 1_0")
    assert "(PartitionTimeLimit): the partition allows less time: give fewer minutes" in first
    for job in cluster.jobs:
        cluster.leave(job, "success", 1)
    assert [future.result(timeout=30) for future in futures] == [1, 1, 1]
    jobs.shutdown(wait=True)
    assert said.empty()


def test_a_note_that_cannot_be_written_loses_no_job(cluster):
    """It goes on, and the user hears that it would not be found again."""
    said = SimpleQueue()
    jobs = SlurmJobs(cluster, Unwritable(cluster.folder), say=said.put, poll_s=0.01, grace_s=0.05)
    future = asked(cluster, jobs, "ab12")
    cluster.leave(cluster.jobs[0], "success", 1)
    assert future.result(timeout=30) == 1
    assert "would not be found by a layoutrand that is started again: full" in said.get(timeout=30)
    jobs.shutdown(wait=True)


class Unwritable(TokenJournal):
    """A journal on a full disk."""

    def note(self, token, job):
        """Nothing can be noted."""
        raise BundleError("full")
