"""Every command, disturbed: it ends in a way of its own, nothing is lost or doubled, and afterwards it does what it does.

`make faults` does the same many times and prints how often (`drive.py`).
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from faults.campaign import USES, Counts, Ground, ground, is_expected
from faults.disturbing import FAULTS, catches, ignore_none
from faults.drive import jobs_of, work
from faults.table import CASES, LEFT_OUT
from layoutrand.cli import make_app
from workshop import require

PORTION = 5
FAST = ("build more", "run", "bundle import", "cache gc", "analyse", "report")
"""Those of `make test`; the others are slow."""


@pytest.fixture(scope="module")
def disturbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """One project for all faults of a worker."""
    require("gcc", "gcc")
    with ground(tmp_path_factory.mktemp("faults"), seed=20260000 + os.getpid()) as made:
        yield made


def test_every_command_is_disturbed_or_has_a_reason() -> None:
    """A command that is added needs a line in the table."""
    known = {command.name for command in make_app().registered_commands}
    known |= {group.name for group in make_app().registered_groups}
    disturbed = {name.split()[0] for name in CASES}
    assert disturbed | set(LEFT_OUT) == known
    assert disturbed & set(LEFT_OUT) == set()


@pytest.mark.slow
@pytest.mark.xdist_group("faults")
@pytest.mark.parametrize("number", range(len(FAST)))
def test_a_fault_of_each_kind(disturbed: Ground, number: int) -> None:
    """Some commands, each under some of the faults."""
    counts = Counts()
    faults = list(FAULTS)
    for fault in {faults[number % len(faults)], faults[(number + 4) % len(faults)]}:
        disturbed.disturb(FAST[number], fault, counts)
    assert sum(counts.done.values()) == 2


@pytest.mark.slow
@pytest.mark.xdist_group("faults")
@pytest.mark.parametrize("where", USES)
def test_some_changes_of_what_is_kept(disturbed: Ground, where: str) -> None:
    """One file of it is another than it was: never another binary, never a traceback."""
    counts = Counts()
    for _ in range(PORTION):
        disturbed.mutate(where, counts)
    assert counts.done[f"mutation: {where}"] == PORTION


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.hour
def test_all_of_it(disturbed: Ground) -> None:
    """As much as `make faults`."""
    counts, found = work(disturbed, jobs_of(500, 300, 2000))
    assert found == [], counts.table()


def test_counts_are_told() -> None:
    """Each fault with how often it met a command at work."""
    counts = Counts()
    counts.add("kill -9: run", disturbed=True)
    counts.add("kill -9: run", disturbed=False)
    assert counts.table().splitlines()[1].split() == ["kill", "-9:", "run", "2", "1"]


def test_a_signal_is_sent_to_who_has_a_handler() -> None:
    """So that none is counted against a command whose interpreter has not begun with it."""
    waits = "trap : TERM; echo there; read line"
    piped = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(["/bin/sh", "-c", waits], text=True, **piped) as process:  # type: ignore[call-overload]
        assert process.stdout.readline() == "there\n"
        assert catches(process.pid, signal.SIGTERM)
        assert not catches(process.pid, signal.SIGHUP)
        process.communicate("go\n")
    assert not catches(process.pid, signal.SIGTERM)


@pytest.mark.parametrize(
    ("what", "status", "expected"),
    [
        ("signal: build", 130, True),
        ("signal: build", 143, False),
        ("signal: build", -signal.SIGTERM, False),
        ("signal: exec", 128 + signal.SIGHUP, True),
        ("signal: exec", -signal.SIGHUP, False),
        ("kill -9: build", -signal.SIGKILL, True),
        ("EIO: exec", 128 + signal.SIGHUP, False),
    ],
)
def test_how_a_command_may_end(what: str, status: int, expected: bool) -> None:
    """By a status of its own; `exec` by that of its command, which a signal is handed to."""
    assert is_expected(what, status) == expected


def test_a_disturbed_command_ignores_no_signal() -> None:
    """Signals to a command that ignores them, as all do that a background job starts, would count and disturb nothing."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with subprocess.Popen(
            ["/bin/sh", "-c", "kill -HUP $$; exit 3"],
            preexec_fn=ignore_none,  # noqa: PLW1509 - it sets dispositions alone
        ) as process:
            assert process.wait() == -signal.SIGHUP
    finally:
        signal.signal(signal.SIGHUP, before)
