"""Tasks given out, lost, refused and given out again, without any node."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, replace

import pytest

from layoutrand.cluster.task_distributor import TaskDistributor, TaskProblem
from layoutrand.engines.engine import TaskExecutor
from layoutrand.errors import ClusterError


@dataclass(frozen=True)
class Work:
    """Some numbers."""

    numbers: tuple[int, ...]

    @property
    def size(self):
        return len(self.numbers)


class Answers(TaskExecutor):
    """Does what the function says for the n-th task, at once; ``avoids`` are names that it can leave out."""

    def __init__(self, answer, avoids=()):
        self.given, self.avoided = [], []
        self._answer, self._avoids = answer, avoids

    def submit(self, fn, /, *args, **kwargs):
        (work,) = args
        self.given.append(work.numbers)
        future = Future()
        try:
            future.set_result(self._answer(len(self.given), work))
        except (OSError, ClusterError) as error:
            future.set_exception(error)
        return future

    def avoid(self, node):
        self.avoided.append(node)
        return node in self._avoids


class Owner:
    """Wants numbers; an answer is those that were done, or the name of the node that refuses."""

    def __init__(self):
        self.done, self.said, self.failures = set(), [], []

    def poll(self):
        pass

    def answered(self, answer):
        if isinstance(answer, str):
            return TaskProblem(f"{answer} refuses", "", answer)
        self.done |= set(answer)
        return None

    def left(self, payload):
        waiting = tuple(number for number in payload.numbers if number not in self.done)
        return replace(payload, numbers=waiting) if waiting else None

    def again(self, payload, problem):
        self.said.append((payload.numbers, problem.words))

    def failed(self, payload, attempts, problem):
        self.failures.append((payload.numbers, attempts, problem.words))


def distributed(answer, *, tasks=((1, 2), (3, 4)), retries=2, avoids=(), stopped=lambda: False):
    owner, executor = Owner(), Answers(answer, avoids)
    distributor = TaskDistributor(executor, abs, owner, retries=retries, stopped=stopped, doing="counting")
    distributor.distribute([Work(numbers) for numbers in tasks])
    return owner, executor


def test_everything_is_done_once():
    owner, executor = distributed(lambda _n, work: work.numbers)
    assert owner.done == {1, 2, 3, 4}
    assert executor.given == [(1, 2), (3, 4)]
    assert (owner.said, owner.failures) == ([], [])


def test_what_is_lost_is_given_out_as_often_as_it_may_be():
    def answer(_n, work):
        if 1 in work.numbers:
            raise OSError("gone")
        return work.numbers

    owner, executor = distributed(answer)
    assert executor.given.count((1, 2)) == 3
    assert owner.failures == [((1, 2), 3, "its task was lost: OSError: gone")]
    assert owner.done == {3, 4}


def test_what_an_executor_says_in_words_has_no_name_of_pythons_before_it():
    def answer(_n, _work):
        raise ClusterError("Slurm cancelled job 7; its log is x\nTraceback")

    owner, _ = distributed(answer, tasks=[(1,)], retries=0)
    assert owner.failures == [((1,), 1, "its task was lost: Slurm cancelled job 7; its log is x\nTraceback")]


def test_what_was_done_is_not_asked_for_again_and_begins_the_count_anew():
    def answer(_n, work):
        return work.numbers[:1]

    owner, executor = distributed(answer, tasks=[tuple(range(10))], retries=0)
    assert [len(numbers) for numbers in executor.given] == list(range(10, 0, -1))
    assert owner.failures == []
    assert owner.said[0] == (tuple(range(1, 10)), "its task ended, and what it made did not arrive")


def test_a_node_that_refuses_is_avoided_and_its_refusals_do_not_count():
    def answer(n, work):
        return f"n{n}" if n <= 4 else work.numbers

    owner, executor = distributed(answer, tasks=[(1,)], retries=0, avoids=("n1", "n2", "n3", "n4"))
    assert executor.avoided == ["n1", "n2", "n3", "n4"]
    assert owner.done == {1}
    assert owner.failures == []


def test_a_node_that_refuses_the_same_twice_was_not_avoided():
    owner, executor = distributed(lambda _n, _work: "n1", tasks=[(1,)], retries=2, avoids=("n1",))
    assert executor.avoided == ["n1"]
    assert len(executor.given) == 4
    assert owner.failures == [((1,), 3, "n1 refuses")]


def test_where_nothing_can_be_avoided_refusals_count():
    owner, executor = distributed(lambda _n, _work: "n1", tasks=[(1,)], retries=1)
    assert len(executor.given) == 2
    assert owner.failures == [((1,), 2, "n1 refuses")]


def test_an_executor_that_takes_nothing_any_more():
    class Broken(Answers):
        def submit(self, fn, /, *args, **kwargs):
            raise RuntimeError("shut down")

    owner = Owner()
    TaskDistributor(Broken(None), abs, owner, retries=5, stopped=lambda: False, doing="x").distribute([Work((1,))])
    assert owner.failures == [((1,), 1, "the executor takes nothing any more: RuntimeError: shut down")]


def test_a_cancelled_task_is_given_out_again():
    class Cancels(Answers):
        def submit(self, fn, /, *args, **kwargs):
            future = super().submit(fn, *args, **kwargs)
            if len(self.given) == 1:
                future = Future()
                future.cancel()
                future.set_running_or_notify_cancel()
            return future

    owner = Owner()
    TaskDistributor(
        Cancels(lambda _n, work: work.numbers), abs, owner, retries=1, stopped=lambda: False, doing="x"
    ).distribute([Work((1,))])
    assert owner.done == {1}
    assert owner.said == [((1,), "its task was cancelled")]


def test_stopping_cancels_what_is_out():
    class Never(Answers):
        def submit(self, fn, /, *args, **kwargs):
            self.given.append(Future())
            return self.given[-1]

    executor = Never(None)
    with pytest.raises(ClusterError, match="interrupted while nodes were counting"):
        TaskDistributor(executor, abs, Owner(), retries=1, stopped=lambda: True, doing="counting").distribute(
            [Work((1,)), Work((2,))]
        )
    assert all(future.cancelled() for future in executor.given)


@pytest.mark.parametrize(
    ("words", "brief"),
    [
        ("gone", "gone"),
        ("", ""),
        ("it failed: because\nof\nthis", "it failed: because"),
        ("it failed with trace:\n  File x\nOSError: full\n\n", "it failed with trace: OSError: full"),
    ],
)
def test_a_problem_in_one_line(words, brief):
    assert TaskProblem(words).brief == brief
