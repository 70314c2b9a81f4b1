"""Rebuild mode stopped half-way or begun twice: nothing finished is lost, nothing runs on, nothing is done twice."""

from __future__ import annotations

import signal
import subprocess
import time

import psutil
import pytest

from keptkit import words_of
from layoutrand.cache.linked_check import verify
from layoutrand.cache.store import Cache
from workshop import Workshop, ended, finish, hashes, main_calling, many_functions, start

BUILD = "for f in *.c; do sleep 0.05; $CC -c $f; done; $CC -o prog *.o; strip prog"


@pytest.fixture
def project(gnu: Workshop) -> Workshop:
    """A program that is stripped after its link, with its layoutrand.toml."""
    gnu.write_named({f"u{k}.c": many_functions(5, prefix=f"u{k}_") for k in range(2)})
    gnu.write(main__c=main_calling("u0_4", "u1_4"))
    (gnu.project / "layoutrand.toml").write_text(gnu.toml([BUILD], build={"mode": "rebuild"}))
    return gnu


def below(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Every process that this one has started, at this moment."""
    try:
        return psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


@pytest.mark.slow
def test_two_processes_do_nothing_twice(project: Workshop) -> None:
    """Of two calls begun together each gets all binaries; every layout is built once."""
    both = [start(project, "--seeds", "3"), start(project, "--seeds", "3")]
    documents = [finish(process) for process in both]
    assert hashes(documents[0]) == hashes(documents[1])
    made = [b["seed"] for document in documents for b in document["binaries"] if not b["cached"]]
    assert sorted(map(str, made)) == ["1", "2", "3", "identity", "stock"]
    assert verify(Cache(project.cache)) == []
    assert not list((project.cache / "work").iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("moments", [1, pytest.param(25, marks=pytest.mark.hour)])
def test_killed_at_any_point(project: Workshop, moments: int) -> None:
    """After kill -9 at several moments the same call completes, with the bytes of an undisturbed one."""
    undisturbed = Workshop(project.project, project.cache.parent / "undisturbed")
    begin = time.monotonic()
    wanted = hashes(finish(start(undisturbed, "--seeds", "3")))
    whole = time.monotonic() - begin
    for moment in range(moments):
        process = start(project, "--seeds", "3")
        time.sleep(whole * (moment + 1) / (moments + 1))
        started = below(process)
        process.kill()
        process.communicate()
        for child in started:
            try:
                child.kill()
            except psutil.NoSuchProcess:
                pass
    assert hashes(finish(start(project, "--seeds", "3"))) == wanted
    assert verify(Cache(project.cache)) == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.hour)])
def test_an_interrupt_ends_everything(project: Workshop, number: signal.Signals) -> None:
    """Builds of layouts end at once, with all their processes; what is finished stays."""
    marker = project.project / "slow"
    text = project.toml([BUILD, f"! [ -e '{marker}' ] || sleep 300"], build={"mode": "rebuild"})
    (project.project / "layoutrand.toml").write_text(text)
    finish(start(project, "--seeds", "1"))
    marker.touch()
    process = start(project, "--seeds", "4", "-j", "2")
    deadline = time.monotonic() + 60
    while not any(words_of(child) == ["sleep", "300"] for child in below(process)) and time.monotonic() < deadline:
        time.sleep(0.05)
    pids = [child.pid for child in below(process)]
    assert pids
    process.send_signal(number)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted; everything finished is kept" in stderr
    assert "Traceback" not in stderr
    assert ended(*pids)
    assert not list((project.cache / "work").iterdir())
    marker.unlink()
    document = finish(start(project, "--seeds", "4"))
    assert {b["seed"] for b in document["binaries"] if b["cached"]} >= {"stock", "identity", 1}
