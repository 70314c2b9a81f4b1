"""What squeue prints: jobs by id, and which of them may wait for ever."""

import pytest

from layoutrand.engines.squeue import Queued, advice, parse_queue


def test_jobs_by_id():
    """Array elements by their own id; reasons may have commas and blanks; what is no row is passed over."""
    listed = (
        "12_0|R|n[1-2]|None\n12_1|PD||(launch failed requeued held)\n13|PD||ReqNodeNotAvail, UnavailableNodes:n1\n"
        "slurm_load_jobs error: something\n\n"
    )
    assert parse_queue(listed) == {
        "12_0": Queued("R", "n[1-2]", "None"),
        "12_1": Queued("PD", "", "(launch failed requeued held)"),
        "13": Queued("PD", "", "ReqNodeNotAvail, UnavailableNodes:n1"),
    }
    assert parse_queue("") == {}


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("BadConstraints", "sinfo -Nl"),
        ("PartitionTimeLimit", "fewer minutes"),
        ("ReqNodeNotAvail, UnavailableNodes:n1", "sinfo -R"),
        ("JobHeldUser", "scontrol release"),
        ("(launch failed requeued held)", "scontrol release"),
        ("launch_failed_requeued_held", "scontrol release"),
        ("AssocMaxJobsLimit", "a limit of your account or qos"),
        ("AssocGrpCpuLimit", "a limit of your account or qos"),
        ("QOSMaxJobsPerUserLimit", "a limit of your account or qos"),
        ("QOSGrpNodeLimit", "a limit of your account or qos"),
        ("QOSNotAllowed", "does not allow the qos"),
        ("InvalidAccount", "change [cluster] account"),
    ],
)
def test_what_may_last_for_ever_comes_with_what_to_do(reason, words):
    """Only for a job that waits."""
    assert words in advice(Queued("PD", "", reason))
    assert advice(Queued("R", "n1", reason)) is None


@pytest.mark.parametrize(
    "reason", ["None", "Resources", "Priority", "JobArrayTaskLimit", "BeginTime", "Dependency", ""]
)
def test_waiting_for_ones_turn_is_nothing_to_tell(reason):
    """It passes by itself."""
    assert advice(Queued("PD", "", reason)) is None
