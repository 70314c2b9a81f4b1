"""What is remembered of builds of commits that failed, and when it is told in place of another build."""

from types import SimpleNamespace

import pytest

from layoutrand.build import failed_commits
from layoutrand.build.failed_commits import forget_failed, note_failed, refuse_failed
from layoutrand.cache.store import Cache
from layoutrand.errors import BuildFailed, CaptureFailed, NothingLinked, OtherMachine, ToolNotFound, WrongArtefact

COMMIT = {"commit": "a" * 40}


def failed(status, **said):
    error = BuildFailed("system 'a @c': the capture build exited", cause="the build exited", **said)
    error.status = status
    return error


def made(tmp_path, *, recalls=True, facts=COMMIT, key="k" * 64):
    order = SimpleNamespace(origin=SimpleNamespace(facts=facts), key=key)
    return SimpleNamespace(cache=Cache(tmp_path / "cache"), recalls_failures=recalls), order


@pytest.mark.parametrize(
    "error",
    [failed(1), NothingLinked("no link"), WrongArtefact("no prog", cause="none"), OtherMachine("prog is for AArch64")],
)
def test_a_commit_fails_again_for_what_it_failed_for(tmp_path, error):
    setup, order = made(tmp_path)
    refuse_failed(setup, order)
    note_failed(setup, order, error)
    with pytest.raises(type(error)) as told:
        refuse_failed(setup, order)
    message = str(told.value)
    assert message.startswith(str(error)) and "--retry-failed builds it again" in message
    if not isinstance(error, OtherMachine):
        assert told.value.cause.startswith(error.cause) and "--retry-failed builds it again" in told.value.cause
    assert type(told.value) is type(error)
    refuse_failed(*made(tmp_path, recalls=False))
    refuse_failed(*made(tmp_path, key="l" * 64))
    forget_failed(setup, order)
    forget_failed(setup, order)
    refuse_failed(setup, order)


@pytest.mark.parametrize("error", [failed(None), CaptureFailed("no replay"), ToolNotFound("no gcc")])
def test_what_may_succeed_next_time_is_not_remembered(tmp_path, error):
    setup, order = made(tmp_path)
    note_failed(setup, order, error)
    refuse_failed(setup, order)


def test_nor_is_that_of_a_directory_or_of_another_layoutrand(tmp_path, monkeypatch):
    directory = made(tmp_path, facts={"digest": "d"})
    note_failed(*directory, failed(1))
    refuse_failed(*directory)
    refuse_failed(*made(tmp_path))
    note_failed(*made(tmp_path), failed(1))
    monkeypatch.setattr(failed_commits, "__version__", "another")
    refuse_failed(*made(tmp_path))


def test_the_log_is_named_as_long_as_it_is_there(tmp_path):
    log = tmp_path / "build.log"
    log.write_text("")
    note_failed(*made(tmp_path), failed(1, log=log))
    with pytest.raises(BuildFailed, match="Full log: "):
        refuse_failed(*made(tmp_path))
    log.unlink()
    with pytest.raises(BuildFailed) as told:
        refuse_failed(*made(tmp_path))
    assert "Full log" not in str(told.value)
