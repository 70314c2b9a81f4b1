"""Many layouts of one artefact are made by processes: the same files, and nothing lost where one of them dies."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from keptkit import wait_until
from layoutrand.build import making_processes
from layoutrand.build.build_warnings import LinkedAllTheSame
from layoutrand.errors import BuildFailed
from layoutrand.platform.standing_child import StandingChild
from signalkit import LAYOUTRAND
from workshop import Built, Workshop, main_calling, many_functions

SEEDS = range(1, 31)
ENGINE = {"engine": "permute"}
COMMANDS = "for f in *.c; do $CC -c $f || exit 1; done; $CC -o prog *.o"


class Counted(StandingChild):
    """A process that is remembered."""

    started: list[Counted]

    def __init__(self, module: str) -> None:
        super().__init__(module)
        self.started.append(self)


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Counted]]:
    """Have them make what is left after the first, however little it is; those that were started."""
    monkeypatch.setattr(making_processes, "_WORTH_S", -1e9)
    Counted.started = []
    monkeypatch.setattr(making_processes, "StandingChild", Counted)
    yield Counted.started
    assert not [child.pid for child in Counted.started if psutil.pid_exists(child.pid)]


def made(shop: Workshop, **layout: Any) -> Built:
    return shop.built(COMMANDS, seeds=SEEDS, controls=False, layout=layout)


@pytest.mark.parametrize("layout", [ENGINE, {"engine": "link"}, {"storage": "order"}])
def test_the_same_files_as_from_threads(
    gnu: Workshop, processes: list[Counted], monkeypatch: pytest.MonkeyPatch, layout: dict[str, Any]
) -> None:
    """Whatever makes them, and however they are kept."""
    gnu.write(prog__c=many_functions(30), main__c=main_calling("f29"))
    by_processes = made(gnu, **layout)
    assert len(processes) == 2
    monkeypatch.undo()
    by_threads = made(Workshop(gnu.project, gnu.cache.with_name("threads"), gnu.linker), **layout)
    assert len(Counted.started) == 2
    facts = [
        [(each.layout, each.sha256, each.text_sha256, each.engine, each.verification) for each in built.result.binaries]
        for built in (by_processes, by_threads)
    ]
    assert facts[0] == facts[1]
    assert len(facts[0]) == len(SEEDS)
    assert by_processes.result.notes == by_threads.result.notes
    assert not list((gnu.cache / "work").iterdir())


def test_deltas(gnu: Workshop, processes: list[Counted]) -> None:
    """They are against the file that the asking process has made."""
    gnu.write(prog__c=many_functions(30), main__c=main_calling("f29"))
    binaries = made(gnu, storage="delta").result.binaries
    assert processes
    assert len({each.base for each in binaries}) == 2  # the whole file, and what all others are kept against
    assert len({each.sha256 for each in binaries}) == len(SEEDS)


def test_one_that_is_killed(gnu: Workshop, processes: list[Counted], monkeypatch: pytest.MonkeyPatch) -> None:
    """What it had to make fails with the signal; all else is made, and the next call makes what is left."""
    gnu.write(prog__c=many_functions(30), main__c=main_calling("f29"))

    class Killed(Counted):
        def ask(self, *words: Any) -> Any:
            if self is self.started[0]:
                os.kill(self.pid, signal.SIGKILL)
            return super().ask(*words)

    monkeypatch.setattr(making_processes, "StandingChild", Killed)
    result = gnu.build(COMMANDS, seeds=SEEDS, controls=False, layout=ENGINE)
    lost = [failure.layout for failure in result.failures]
    assert 0 < len(lost) <= 8
    assert {failure.error for failure in result.failures} == {
        "a process of layoutrand that makes layouts was killed by signal 9; the same command makes them"
    }
    assert {each.layout for each in result.binaries} == set(SEEDS) - set(lost)
    again = made(gnu, **ENGINE).result.binaries
    assert {each.layout for each in again if not each.cached} == set(lost)


def test_writing_that_is_wrong(gnu: Workshop, processes: list[Counted], monkeypatch: pytest.MonkeyPatch) -> None:
    """Once one of them says so, nothing more is written: the linker makes what is left, and that is told."""
    gnu.write(prog__c=many_functions(30), main__c=main_calling("f29"))

    class Refusing(Counted):
        def ask(self, *words: Any) -> Any:
            answer = super().ask(*words)
            return making_processes._Answer(answer.made, "it differed")

    monkeypatch.setattr(making_processes, "StandingChild", Refusing)
    built = made(gnu, **ENGINE)
    engines = [each.engine for each in built.result.binaries]
    assert 3 < engines.count("permute") < len(SEEDS)
    [told] = [note for note in built.result.notes if isinstance(note, LinkedAllTheSame)]
    assert (told.reason, told.linked) == ("it differed", engines.count("link"))


def test_none_that_can_be_started(gnu: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads make all of them, and that is told."""
    gnu.write(prog__c=many_functions(30), main__c=main_calling("f29"))

    def refused(_module: str) -> None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(making_processes, "_WORTH_S", -1e9)
    monkeypatch.setattr(making_processes, "StandingChild", refused)
    assert {each.engine for each in made(gnu, **ENGINE).result.binaries} == {"permute"}
    told = "no process can be started (Resource temporarily unavailable), so threads make all layouts"
    assert gnu.said.count(told) == 1


def test_an_error_of_one_is_the_builds(
    gnu: Workshop, processes: list[Counted], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a thread has it; the others end."""
    gnu.write(prog__c=many_functions(30), main__c=main_calling("f29"))

    class Astray(Counted):
        def ask(self, question: Any, *words: Any) -> Any:
            return super().ask(replace(question, place=replace(question.place, capture="0" * 64)), *words)

    monkeypatch.setattr(making_processes, "StandingChild", Astray)
    with pytest.raises(BuildFailed, match="capture 000000000000 of sys has vanished"):
        made(gnu, **ENGINE)


def test_an_interrupt_ends_them(gnu: Workshop) -> None:
    """At once, with nothing left of them; what was finished is kept."""
    gnu.write(prog__c=many_functions(30), main__c=main_calling("f29"))
    made(gnu, **ENGINE)
    (gnu.project / "layoutrand.toml").write_text(gnu.toml([COMMANDS], layout=ENGINE))
    command = [sys.executable, "-c", LAYOUTRAND, "build", "--no-controls", "--seeds", "1..50000"]
    env = {**os.environ, "LAYOUTRAND_CACHE": str(gnu.cache)}
    build = subprocess.Popen(
        command, cwd=gnu.project, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
    )
    wait_until(lambda: len(making(build.pid)) == len(os.sched_getaffinity(0)) and len(entries(gnu.cache)) > 200)
    os.killpg(build.pid, signal.SIGINT)
    _, said = build.communicate(timeout=60)
    assert build.returncode == 130
    assert "everything finished is kept" in said
    assert "Traceback" not in said
    assert not making(os.getpid())
    assert not list((gnu.cache / "work").iterdir())


def making(above: int) -> list[int]:
    """Those below a process."""
    found = []
    for each in psutil.Process(above).children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has ended
            found += [each.pid] if making_processes.__name__ in each.cmdline() else []
    return found


def entries(cache: Path) -> list[Path]:
    """The binaries in a cache."""
    return list((cache / "binaries").iterdir())
