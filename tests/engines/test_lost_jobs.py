"""Jobs of Slurm that came to nothing: their logs say why, before the paths and Python that submitit says."""

import pytest

from layoutrand.engines.lost_jobs import left_error, left_no_result

STEP = "slurmstepd-n1: error: *** JOB 27 ON n1 CANCELLED AT 2026-11-29T21:11:43"
SUBMITIT = """\
Job (task=0) failed during processing with trace:
----------------------
Traceback (most recent call last):
  File "/x/submission.py", line 55, in process_job
    result = delayed.result()
layoutrand.errors.ClusterError: the process that measures was killed by signal 9:
Traceback (most recent call last):
  File "/x/isolated.py", line 94, in __call__
KeyboardInterrupt

----------------------
You can check full logs with 'job.stderr(0)' and 'job.stdout(0)'or at paths:
  - /s/26_0/26_0_0_log.err
  - /s/26_0/26_0_0_log.out"""


@pytest.fixture
def log(tmp_path):
    return tmp_path / "26_0_0_log.err"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (f"{STEP} ***", "Slurm cancelled job 26_0 on node n1"),
        (
            f"{STEP} DUE TO TIME LIMIT ***",
            "Slurm cancelled job 26_0 on node n1 at its time limit (`minutes` in [cluster], or [cluster.measure] "
            "where it executes)",
        ),
        (
            f"{STEP} DUE TO PREEMPTION ***\n{STEP} DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***",
            "Slurm cancelled job 26_0 on node n1 for node failure, see slurmctld log for details",
        ),
        (
            "slurmstepd-n1: error: Detected 1 oom_kill event in StepId=27.batch. Some of the step tasks have been OOM Killed.",
            "Slurm killed job 26_0 on node n1 for want of memory (`mem` in sbatch gives it more)",
        ),
    ],
)
def test_what_slurm_did_comes_first(log, said, words):
    """However much the job itself says after it, while it ends."""
    log.write_text("submitit WARNING - Bypassing signal SIGCONT\n" + said + "\n" + "  File x\n" * 200)
    error = RuntimeError(SUBMITIT)
    told = left_error("job 26_0 on node n1", log, error)
    assert str(told).splitlines()[0] == f"{words}; its log is {log}"
    assert SUBMITIT in str(told) and told.__cause__ is error
    assert left_no_result("job 26_0 on node n1", log).startswith(f"{words}, and it left no result; the end of {log}:\n")


def test_otherwise_the_jobs_own_error_comes_first(log):
    """Its kind and words, not that there is a trace, nor a path behind it."""
    log.write_text("slurmstepd: error: something else\n")
    told = left_error("job 26_0", log, RuntimeError(SUBMITIT))
    assert str(told).splitlines()[0] == (
        "job 26_0 failed: layoutrand.errors.ClusterError: the process that measures was killed by signal 9; its log is "
        f"{log}"
    )


def test_an_error_of_which_nothing_is_known_stays_as_it_is(log):
    error = ValueError("no")
    assert left_error("job 26_0", log, error) is error
    assert left_no_result("job 26_0", log) == f"Slurm has done with job 26_0, and it left no result; {log} is empty"
