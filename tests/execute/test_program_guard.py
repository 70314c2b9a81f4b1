"""An execution during which its program was changed does not count, and the cache is what it was."""

from __future__ import annotations

import os

import pytest

from fakes import shell_binaries
from faultkit import Project
from layoutrand.build.as_built import BuiltContents
from layoutrand.cache.contents import sha256_of
from layoutrand.errors import CacheError
from layoutrand.execute.measure import measure
from layoutrand.execute.program_guard import ProgramGuard
from layoutrand.platform.own_file import make_own


@pytest.fixture
def binaries(tmp_path):
    return shell_binaries(tmp_path / "cache", "exit 0", systems=("a",), layouts=(1, 2))


def executed(tmp_path, binaries, script, **changes):
    """What is recorded of a command that executes the artefact and then this script, in which it is $0."""
    (tmp_path / "project").mkdir()
    words = ["sh", "-c", f'"$0"; {script}', "{artefact}"]
    command = ", ".join(f"'''{word}'''" for word in words)
    project = Project(tmp_path / "project", f'[[benchmarks]]\nname = "b"\ncommand = [{command}]\n')
    project.run(binaries, **changes)
    return project.executions()


@pytest.mark.parametrize(
    ("script", "what"),
    [
        ('chmod u+w "$0"; printf X >> "$0"', "its size"),
        ('chmod u+w "$0"; printf X | dd of="$0" conv=notrunc', "its content, or when it was modified"),
        ('cp "$0" copy; mv -f copy "$0"', "it is another file"),
        ('rm -f "$0"', "it is gone"),
        ('chmod u+w "$0"', "its permissions"),
    ],
)
def test_an_execution_that_changes_its_program_is_a_recorded_failure(tmp_path, binaries, script, what):
    """Whoever is root, too; the next execution of the same or another binary is of what was built all the same."""
    before = [binary.path.read_bytes() for binary in binaries]
    recorded = executed(tmp_path, binaries, script)

    assert [(one.status, one.measurements) for one in recorded] == [("altered", ())] * 2
    assert all(f"bin/prog ({what})" in one.reason for one in recorded)
    assert [binary.path.read_bytes() for binary in binaries] == before


def test_a_link_to_the_program_changes_nothing_about_it(tmp_path, binaries):
    """As perf makes one, for its collection of what it has seen."""
    recorded = executed(tmp_path, binaries, 'ln "$0" kept')
    assert [one.status for one in recorded] == ["ok", "ok"]
    assert {one.conditions["program_file"] for one in recorded} <= {"copy", "reflink"}


def test_an_execution_that_reaches_the_cache_is_a_recorded_failure(tmp_path, binaries):
    """What came of it is of the program that was built, and nobody knows what else was reached."""
    kept = binaries[0].path

    def reaches_out(command):
        outcome = measure(command)
        kept.write_bytes(kept.read_bytes() + b"# more")
        return outcome

    (recorded,) = executed(tmp_path, binaries[:1], "true", executor=reaches_out)
    assert recorded.status == "altered"
    assert f"files of the cache were changed while it was executed: {kept} (its content)" in recorded.reason


def test_what_was_changed_between_two_executions_is_not_executed(tmp_path, binaries):
    """The files of the cache are looked at before each execution, not only before the first."""

    def spoils_the_others(command):
        for binary in binaries:
            if binary.path.read_bytes() != (command.cwd.parent / "bin/prog").read_bytes():
                binary.path.write_bytes(b"#!/bin/sh\nexit 0\n")
        return measure(command)

    with pytest.raises(CacheError, match="was changed since it was built"):
        executed(tmp_path, binaries, "true", executor=spoils_the_others)


def test_a_file_of_a_tree_that_is_written_to_replaced_or_gone_is_named(tmp_path):
    tree = tmp_path / "home"
    (tree / "lib").mkdir(parents=True)
    for name in ("as it was", "written", "replaced", "gone", "lib/modules"):
        (tree / name).write_text("x")
    (tree / "settings").symlink_to("as it was")
    guard = ProgramGuard({}, [tree], BuiltContents(), tmp_path)
    assert guard.alteration() is None

    (tree / "written").write_text("xx")
    (tmp_path / "other").write_text("x")
    (tmp_path / "other").rename(tree / "replaced")
    (tree / "gone").unlink()
    (tree / "new").write_text("a file that was not there is none of the program's")
    found = guard.alteration()
    assert sorted(found.files) == [
        ("home/gone", "it is gone"),
        ("home/replaced", "it is another file"),
        ("home/written", "its size"),
    ]
    assert not found.of_the_cache


def test_the_words_name_some_files_and_count_the_others(tmp_path):
    names = [tmp_path / f"f{number}" for number in range(5)]
    for name in names:
        name.touch()
    guard = ProgramGuard({}, names, BuiltContents(), tmp_path)
    for name in names:
        name.unlink()
    assert str(guard.alteration()).startswith(
        "files of the program were changed while it was executed: "
        "f0 (it is gone), f1 (it is gone), f2 (it is gone) and 2 more; "
    )


def test_a_content_is_read_again_when_the_file_is_another(tmp_path, binaries, monkeypatch):
    """Hundreds of megabytes are not read before each execution."""
    reads = []

    def counted(stored):
        reads.append(stored.path)
        return sha256_of(stored)

    monkeypatch.setattr("layoutrand.build.as_built.sha256_of", counted)
    known = BuiltContents()
    for _ in range(3):
        known.check(binaries)
    assert len(reads) == 2
    os.link(binaries[0].path, tmp_path / "a link of a backup")
    known.check(binaries)
    assert len(reads) == 3


def test_an_own_file_has_the_content_the_times_and_no_writers(tmp_path):
    source = tmp_path / "source"
    source.write_bytes(os.urandom(3 << 20) + b"end")
    source.chmod(0o750)
    os.utime(source, ns=(1, 2_000_000_001))
    target = tmp_path / "target"
    assert make_own(source, target) in {"copy", "reflink"}
    assert target.read_bytes() == source.read_bytes()
    assert target.stat().st_mtime_ns == 2_000_000_001
    assert target.stat().st_mode & 0o777 == 0o550
    assert not target.samefile(source)
