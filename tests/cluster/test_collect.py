"""What is in a shared directory, and what of it may go."""

import json
import os
import time
from pathlib import Path

import pytest

from layoutrand.cluster import manifest
from layoutrand.cluster.manifest import BundledFile, Manifest
from layoutrand.cluster.returned_records import ReturnedRecords
from layoutrand.cluster.shared_directory import SharedDirectory
from layoutrand.cluster.unneeded import DAY_S, collect, inventory
from layoutrand.errors import BundleError
from layoutrand.platform.disk import canonical_json, sha256_bytes

NOW = time.time()
MONTH_S = 30 * DAY_S


def bundled(shared, *contents, system="a"):
    """A bundle of these contents and a record; the manifest's digest."""
    record = json.dumps({"system": system}).encode()
    files = []
    for number, data in enumerate([*contents, record]):
        digest = sha256_bytes(data)
        shared.put(digest, data)
        files.append(BundledFile(manifest.RECORD if data is record else str(number), digest, len(data), 0o644))
    return shared.put_manifest(canonical_json(manifest.to_table(Manifest("c" * 64, tuple(files)))))


def aged(root, seconds, below="."):
    """Everything there was used so long ago."""
    for path in (root / below).rglob("*"):
        os.utime(path, (NOW - seconds, NOW - seconds))


def gc(root, *, older_s=MONTH_S, active=frozenset(), dry_run=False):
    """Collect; the kinds and names of what went."""
    deleted, left = collect(root, older_s=older_s, now=NOW, active={"slurm": active}, dry_run=dry_run)
    return sorted((entry.kind, entry.name) for entry in deleted), left


@pytest.fixture
def shared(tmp_path):
    return SharedDirectory(tmp_path / "shared")


def contents(shared):
    """Digests of the contents that are there."""
    return {path.name for path in (shared.root / "objects").glob("*/*")}


def test_a_bundle_goes_with_what_it_alone_refers_to(shared):
    """Another's contents stay, and so does the record that both share."""
    old = bundled(shared, b"old", b"both")
    aged(shared.root, 2 * MONTH_S)
    new = bundled(shared, b"both", b"new")
    deleted, left = gc(shared.root)
    assert deleted == [("bundle", old), ("content", sha256_bytes(b"old"))]
    assert [entry.name for entry in left.of("bundle")] == [new]
    assert contents(shared) == {sha256_bytes(data) for data in (b"both", b"new", b'{"system": "a"}')}
    assert left.problems == []


def test_a_dry_run_says_the_same_and_deletes_nothing(shared):
    """Contents of a bundle that would go would go, too."""
    bundled(shared, b"old")
    aged(shared.root, 2 * MONTH_S)
    before = sorted(shared.root.rglob("*"))
    would, _ = gc(shared.root, dry_run=True)
    assert sorted(shared.root.rglob("*")) == before
    did, left = gc(shared.root)
    assert did == would
    assert [kind for kind, _ in did] == ["bundle", "content", "content"]
    assert left.entries == []


def test_a_bundle_that_was_fetched_of_late_is_kept(shared):
    """Its manifest was read to be used; to list it is no use."""
    used, listed = bundled(shared, b"1"), bundled(shared, b"2")
    aged(shared.root, 2 * MONTH_S)
    shared.manifest(used)
    assert {entry.label.split()[0] for entry in inventory(shared.root).of("bundle")} == {"a"}
    deleted, _ = gc(shared.root)
    assert ("bundle", listed) in deleted
    assert ("bundle", used) not in deleted


def test_what_an_export_has_begun_with_is_kept(shared):
    """Contents come before the manifest: written just now, or old and found there."""
    bundled(shared, b"old")
    aged(shared.root, 2 * MONTH_S)
    digest, fresh = sha256_bytes(b"old"), sha256_bytes(b"fresh")
    assert shared.put(digest, b"old") == 0
    shared.put(fresh, b"fresh")
    gc(shared.root)
    assert contents(shared) == {digest, fresh}


def test_nothing_younger_than_a_day_goes_whatever_is_asked_for(shared):
    """A task may be about to use it."""
    digest = bundled(shared, b"x")
    shared.put_result("ab" * 32, {"sha256": sha256_bytes(b"y")}, b"y")
    aged(shared.root, DAY_S - 60)
    assert gc(shared.root, older_s=0)[0] == []
    aged(shared.root, DAY_S + 60)
    assert [kind for kind, _ in gc(shared.root, older_s=0)[0]] == ["bundle", "content", "content", "result"]
    assert not shared.manifest_path(digest).exists()


def test_measurements_are_never_deleted(shared):
    """They cannot be made again."""
    records = ReturnedRecords(shared.root, "f" * 64)
    records.put("e" * 64, {"a": 1})
    records.agree("cpu", {"cpus": 4})
    aged(shared.root, 100 * MONTH_S)
    deleted, left = gc(shared.root)
    assert deleted == []
    assert [entry.name for entry in left.of("record")] == ["e" * 64]
    assert [entry.name for entry in left.of("agreement")] == [f"{'f' * 64}-cpu.json"]


def job(root, number):
    """Files of a job, as submitit leaves them."""
    folder = root / "slurm" / number
    folder.mkdir(parents=True)
    for name in ("submitted.pkl", "0_result.pkl", "0_log.err"):
        (folder / f"{number}_{name}").write_text("x")


def test_job_files_go_once_slurm_has_done_with_the_job(shared):
    """An array's own go when all its jobs have; what is noted of a job goes with it."""
    for number in ("7", "7_0", "7_1", "9", "12_0"):
        job(shared.root, number)
    (shared.root / "slurm" / "tokens").mkdir()
    (shared.root / "slurm" / "tokens" / "ab").write_text("7_1\n")
    (shared.root / "slurm" / "tokens" / "cd").write_text("12_0\n")
    aged(shared.root, 2 * MONTH_S)
    deleted, _ = gc(shared.root, active={"7_1", "13"})
    assert deleted == [("job", "12_0"), ("job", "7_0"), ("job", "9"), ("token", "cd")]
    assert sorted(os.listdir(shared.root / "slurm")) == ["7", "7_1", "tokens"]


def test_job_files_stay_where_slurm_does_not_answer(shared):
    """And it is said of each."""
    job(shared.root, "7")
    aged(shared.root, 2 * MONTH_S)
    deleted, left = gc(shared.root, active=None)
    assert deleted == []
    assert left.problems == [(shared.root / "slurm" / "7", "Slurm does not say whether the job is done")]


def test_a_job_that_has_written_of_late_is_kept(shared):
    """Whatever the age of its other files."""
    job(shared.root, "7")
    aged(shared.root, 2 * MONTH_S)
    (shared.root / "slurm" / "7" / "7_0_log.err").write_text("still there")
    assert gc(shared.root)[0] == []


def test_scratch_files_of_killed_writers(shared):
    """They go after a day, wherever they are."""
    digest = bundled(shared, b"x")
    places = [shared.object_path(sha256_bytes(b"x")).parent, shared.manifest_path(digest).parent]
    for place in places:
        (place / ".tmp-abc").write_text("half")
    (shared.root / "slurm").mkdir()
    (shared.root / "slurm" / f"{'0' * 32}.pkl").write_text("never submitted")
    aged(shared.root, DAY_S + 60)
    deleted, _ = gc(shared.root)
    assert deleted == [("scratch", ".tmp-abc"), ("scratch", ".tmp-abc"), ("scratch", f"{'0' * 32}.pkl")]


@pytest.mark.parametrize(
    "name",
    [
        "precious",
        "objects/precious",
        "objects/ab/precious",
        "bundles/../x",
        "slurm/7x/a",
        "results/ab/cd",
        "slurm/notes",
        "bundles/" + "a" * 64,
        "objects/ab/" + "cd" * 32,
        "objects/AB/" + "AB" * 32,
        "a\nb",
        "-rf",
        "x\udcff",
    ],
)
def test_names_that_are_not_ours_are_left_alone(shared, name):
    """They are listed."""
    path = Path(os.path.normpath(shared.root / name))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    aged(shared.root, 2 * MONTH_S)
    deleted, left = gc(shared.root)
    assert deleted == []
    assert [entry.path for entry in left.of("unknown")] == [path]


def test_symbolic_links_lead_nowhere(shared, tmp_path):
    """Neither a file's nor a directory's."""
    (tmp_path / "elsewhere").mkdir()
    precious = tmp_path / "elsewhere" / (64 * "a")
    precious.write_text("x")
    bundled(shared, b"x")
    (shared.root / "objects" / "aa").symlink_to(tmp_path / "elsewhere")
    (shared.root / "bundles" / f"{'b' * 64}.json").symlink_to(precious)
    os.utime(precious, (0, 0))
    deleted, left = gc(shared.root)
    assert deleted == []
    assert len(left.of("unknown")) == 2
    assert precious.read_text() == "x"


def test_a_damaged_manifest_keeps_nothing_alive(shared):
    """Nobody can import it; it is told, and goes when it is old."""
    digest = bundled(shared, b"x")
    aged(shared.root, 2 * MONTH_S)
    shared.manifest_path(digest).write_text("{}")
    deleted, left = gc(shared.root)
    assert [kind for kind, _ in deleted] == ["content", "content"]
    assert [entry.label for entry in left.of("bundle")] == ["damaged"]
    assert "is damaged" in left.problems[0][1]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may do everything")
def test_another_users_files_are_left_and_named(shared):
    """For a manifest that cannot be read all contents stay."""
    kept, old = bundled(shared, b"x"), bundled(shared, b"y")
    aged(shared.root, 2 * MONTH_S)
    path = shared.manifest_path(kept)
    os.utime(path)
    path.chmod(0)
    shared.manifest_path(old).parent.chmod(0o500)
    try:
        deleted, left = gc(shared.root)
    finally:
        shared.manifest_path(old).parent.chmod(0o700)
    assert deleted == []
    assert {path for path, _ in left.problems} == {path, shared.manifest_path(old)}


def test_what_cannot_be_deleted_is_named_and_the_rest_goes(shared, monkeypatch):
    """As with a directory of another user's."""
    first, second = bundled(shared, b"x"), bundled(shared, b"y")
    aged(shared.root, 2 * MONTH_S)
    unlink = Path.unlink

    def refused(path, *, missing_ok=False):
        if path == shared.manifest_path(first):
            raise PermissionError(13, "Permission denied", str(path))
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", refused)
    deleted, left = gc(shared.root)
    assert deleted == [("bundle", second), ("content", sha256_bytes(b"y"))]
    assert left.problems == [(shared.manifest_path(first), "Permission denied")]


def test_another_that_is_quicker_is_no_error(shared, monkeypatch):
    """Two collect at a time."""
    bundled(shared, b"x")
    aged(shared.root, 2 * MONTH_S)
    unlink = Path.unlink

    def twice(path, *, missing_ok=False):
        unlink(path)
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", twice)
    assert [kind for kind, _ in gc(shared.root)[0]] == ["bundle", "content", "content"]


def test_a_bundle_on_a_disk_that_cannot_be_written_can_be_read(shared, monkeypatch):
    """Its use cannot be noted, and nobody can delete it."""
    digest = bundled(shared, b"x")
    aged(shared.root, MONTH_S)

    def refused(*_args):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "utime", refused)
    assert sha256_bytes(shared.manifest(digest)) == digest


def test_another_users_content_that_is_old_is_written_anew(shared, monkeypatch):
    """As its owner may collect it before the manifest is there."""
    data = b"x" * 1000
    shared.put(sha256_bytes(data), data)
    aged(shared.root, MONTH_S)

    def refused(path, *_args):
        raise PermissionError(1, "Operation not permitted", str(path))

    monkeypatch.setattr(os, "utime", refused)
    assert shared.put(sha256_bytes(data), data) > 0
    assert time.time() - shared.object_path(sha256_bytes(data)).stat().st_mtime < DAY_S
    assert shared.put(sha256_bytes(data), data) == 0


def test_no_directory_is_an_error(tmp_path):
    """Rather than an empty list."""
    with pytest.raises(BundleError, match="cannot read .*nowhere"):
        inventory(tmp_path / "nowhere")
