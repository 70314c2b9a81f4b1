"""The project's inputs, carried by content."""

from __future__ import annotations

import os

import pytest

from layoutrand.cache.node_inputs import is_used, lock_beside, place_of, replicas
from layoutrand.cache.store import Cache
from layoutrand.cache.upkeep import collect, entries
from layoutrand.cluster.carried_inputs import InputEntry, depth, described, restored, send, shortened
from layoutrand.cluster.shared_directory import SharedDirectory
from layoutrand.errors import BundleError
from layoutrand.results.file import exclusive_use


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "home" / "a project"
    (folder / "dir/sub").mkdir(parents=True)
    (folder / "dir/sub/$x 'y'\n").write_text("odd")
    (folder / "dir/empty").mkdir()
    (folder / "dir/link").symlink_to("sub")
    (folder / "dir/lost").symlink_to("nowhere")
    (folder / "tool").write_text("#!/bin/sh\n")
    (folder / "tool").chmod(0o755)
    (tmp_path / "above").write_text("up")
    return folder


def carried(project, tmp_path, names):
    shared = SharedDirectory(tmp_path / "shared")
    entries = described(project, names)
    send(entries, project, shared)
    return restored(entries, shared, tmp_path / "node" / "x")


def test_files_directories_and_links_are_what_they_were(project, tmp_path):
    made = carried(project, tmp_path, ["dir", "tool", "./tool", "dir/sub"])
    assert (made / "dir/sub/$x 'y'\n").read_text() == "odd"
    assert os.listdir(made / "dir/empty") == []
    assert os.readlink(made / "dir/link") == "sub"
    assert os.readlink(made / "dir/lost") == "nowhere"
    assert (made / "tool").stat().st_mode & 0o777 == 0o755


def test_a_name_that_is_a_link_to_a_directory_is_carried_as_the_directory(project, tmp_path):
    """As without nodes, where an execution gets a copy of it; nothing is ever written to where the link leads."""
    data = tmp_path / "data set"
    data.mkdir()
    (data / "x").write_text("X")
    (data / "x").chmod(0o444)
    before = (data / "x").stat().st_mtime_ns
    (project / "here").symlink_to(data)
    made = carried(project, tmp_path, ["here", "here/x"])
    assert not (made / "here").is_symlink()
    assert (made / "here/x").read_text() == "X"
    assert (data / "x").stat().st_mtime_ns == before


def test_nothing_is_made_through_a_link(project, tmp_path):
    with pytest.raises(BundleError, match=r"(?s)dir/link/.* lies behind the symbolic link .*/dir/link, which is"):
        described(project, ["dir", "dir/link/$x 'y'\n"])


def test_what_lies_above_the_project_lies_above_its_replica(project, tmp_path):
    made = carried(project, tmp_path, ["../../above", "tool"])
    assert (made / "../../above").read_text() == "up"
    assert (made / "tool").exists()
    assert not (tmp_path / "node" / "above").exists()


def test_how_far_names_lead_above():
    assert depth([]) == 0
    assert depth([InputEntry("a/b", 0)]) == 0
    assert depth([InputEntry("../a", 0), InputEntry("../../b/c", 0), InputEntry("x", 0)]) == 2


def test_it_is_made_once(project, tmp_path):
    made = carried(project, tmp_path, ["tool"])
    (made / "tool").write_text("changed")
    assert carried(project, tmp_path, ["tool"]) == made
    assert (made / "tool").read_text() == "changed"
    assert [path.name for path in (tmp_path / "node").iterdir()] == ["x"]


def test_a_directory_that_may_not_be_written_is_carried(project, tmp_path):
    (project / "dir/sub").chmod(0o555)
    try:
        made = carried(project, tmp_path, ["dir"])
        assert (made / "dir/sub").stat().st_mode & 0o777 == 0o555
        assert (made / "dir/sub/$x 'y'\n").read_text() == "odd"
    finally:
        (project / "dir/sub").chmod(0o755)


def test_equal_contents_are_sent_once(project, tmp_path):
    (project / "copy").write_text("#!/bin/sh\n")
    shared = SharedDirectory(tmp_path / "shared")
    entries = described(project, ["tool", "copy"])
    assert send(entries, project, shared) > 0
    assert len(list((tmp_path / "shared/objects").glob("*/*"))) == 1
    assert send(entries, project, shared) == 0


def test_what_is_no_file_cannot_be_carried(project):
    os.mkfifo(project / "dir/pipe")
    with pytest.raises(BundleError, match=r"dir/pipe is neither a file nor a directory"):
        described(project, ["dir"])


def test_what_is_not_there_is_named(project):
    with pytest.raises(BundleError, match=r"cannot read .*/absent: No such file"):
        described(project, ["absent"])


def test_a_file_that_changes_meanwhile_is_not_sent(project, tmp_path):
    entries = described(project, ["tool"])
    (project / "tool").write_text("changed")
    with pytest.raises(BundleError, match="tool is changed while it is carried to nodes"):
        send(entries, project, SharedDirectory(tmp_path / "shared"))


def test_a_content_that_is_missing_leaves_nothing_half(project, tmp_path):
    entries = described(project, ["tool", "dir"])
    with pytest.raises(BundleError, match="cannot read"):
        restored(entries, SharedDirectory(tmp_path / "shared"), tmp_path / "node" / "x")
    assert list((tmp_path / "node").iterdir()) == []


def test_both_ends_of_a_long_file_travel(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"b" * 50 + b"m" * 100 + b"e" * 50)
    assert shortened(path, 200) == path.read_bytes()
    assert shortened(path, 100) == b"b" * 50 + b"\n[layoutrand: 100 bytes stayed on the node]\n" + b"e" * 50


def test_places_of_nodes_have_one_length_and_are_never_shared(tmp_path):
    places = [place_of(tmp_path, node, "a" * 64) for node in ("n1", "node-with-a-long-name", "n\udcff")]
    assert len(set(places)) == 3
    assert len({len(str(place)) for place in places}) == 1


def test_replicas_are_evicted_from_the_cache_unless_they_are_used(project, tmp_path):
    cache = Cache(tmp_path / "cache")
    shared = SharedDirectory(tmp_path / "shared")
    inputs = described(project, ["tool", "../../above"])
    send(inputs, project, shared)
    folders = [place_of(cache.root, node, "a" * 64) for node in ("n1", "n2")]
    projects = [restored(inputs, shared, folder) for folder in folders]
    assert replicas(cache.root) == sorted(folders)
    assert [entry.kind for entry in entries(cache)] == ["inputs", "inputs"]
    with exclusive_use(lock_beside(projects[0]), wait_s=0, on_wait=print):
        assert [is_used(folder) for folder in folders] == [True, False]
        assert [entry.path for entry in collect(cache, 0).evicted] == [folders[1]]
    assert not is_used(folders[0])
    assert [entry.path for entry in collect(cache, 0).evicted] == [folders[0]]
