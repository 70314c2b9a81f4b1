"""When processes make layouts sooner than threads: where these wait for the interpreter, and there is memory."""

from __future__ import annotations

import pytest

from layoutrand.build import making_processes
from layoutrand.build.making_processes import LayoutCost, processes_worth


@pytest.fixture(autouse=True)
def _memory(monkeypatch: pytest.MonkeyPatch) -> None:
    free(monkeypatch, 1 << 50)


def free(monkeypatch: pytest.MonkeyPatch, memory: int | None) -> None:
    monkeypatch.setattr(making_processes, "told_by_psutil", lambda _root, _ask: memory)


@pytest.mark.parametrize(
    ("layouts", "process_s", "linker_s", "jobs", "expected"),
    [
        (10_000, 0.1, 0.0, 1, 0),  # one at a time
        (50, 0.1, 0.0, 8, 0),
        (70, 0.1, 0.0, 8, 8),
        (20, 0.01, 0.0, 8, 0),  # done before a process has started
        (60, 0.1, 0.0, 2, 0),  # 3.75 s by threads, 3 s by processes and their start
        (100, 0.1, 0.0, 2, 2),
        (100, 0.1, 0.0, 4, 0),
        (1_000, 0.05, 1.0, 8, 0),  # linkers take all cores already
        (1_000, 0.05, 0.1, 32, 32),
    ],
)
def test_by_what_the_first_took(layouts: int, process_s: float, linker_s: float, jobs: int, expected: int) -> None:
    """The median, since the first of all has the program learned, too."""
    costs = [LayoutCost(60.0, 60.0), *[LayoutCost(process_s, linker_s)] * 2]
    assert processes_worth(layouts, costs, jobs) == expected


def test_little_known() -> None:
    """Where hardly any could be made."""
    assert processes_worth(1_000, [], 8) == 0
    assert processes_worth(1_000, [LayoutCost(1.0, 0.0)] * 2, 8) == 0


def test_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes as much as this one; unknown memory is no limit."""
    costs = [LayoutCost(1.0, 0.0)] * 3
    own = 1024 * making_processes.resource.getrusage(making_processes.resource.RUSAGE_SELF).ru_maxrss
    free(monkeypatch, own * 11)
    assert processes_worth(1_000, costs, 8) == 5
    free(monkeypatch, own * 7)  # three are no more than what threads do
    assert processes_worth(1_000, costs, 8) == 0
    free(monkeypatch, None)
    assert processes_worth(1_000, costs, 8) == 8
