"""What layoutrand has written into the source is no part of it, as long as it stays as it is."""

import os

import pytest

from layoutrand.capture import source
from layoutrand.capture.own_files import own_files, parse_written, remember_written


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    (folder / "figures" / "deep").mkdir(parents=True)
    for name in ("main.c", "report [1].html", "figures/a.svg", "figures/deep/b.svg"):
        (folder / name).write_text(name)
    return folder


def figures(project):
    return [project / "figures" / "a.svg", project / "figures" / "deep" / "b.svg"]


def listed(project, folder=None):
    where = folder or project
    return [name for name in source.listing(where, own_files(project, where)) if name != ".layoutrand"]


def test_files_and_whole_directories(project):
    remember_written(project, [project / "report [1].html", *figures(project)])
    assert listed(project) == ["main.c"]


def test_what_is_changed_is_somebodys_own_again(project):
    remember_written(project, [project / "report [1].html", *figures(project)])
    (project / "figures" / "a.svg").write_text("mine")
    assert listed(project) == ["figures", "main.c", "figures/a.svg"]


def test_what_lies_beside_in_a_directory_stays(project):
    remember_written(project, figures(project))
    (project / "figures" / "deep" / "mine.txt").write_text("mine")
    assert listed(project) == ["figures", "main.c", "report [1].html", "figures/deep", "figures/deep/mine.txt"]


def test_later_files_are_added_and_those_that_are_gone_forgotten(project):
    remember_written(project, [project / "report [1].html"])
    (project / "report [1].html").unlink()
    remember_written(project, [project / "figures" / "a.svg"])
    (project / "report [1].html").write_text("report [1].html")
    assert listed(project) == ["figures", "main.c", "report [1].html", "figures/deep", "figures/deep/b.svg"]


def test_a_source_beside_the_project_has_names_of_its_own(project):
    other = project.parent / "source"
    other.mkdir()
    (other / "out.csv").write_text("1")
    remember_written(project, [other / "out.csv"])
    assert listed(project, other) == []


def test_what_was_there_before_in_the_same_directory_stays(project):
    """Figures that are written among sources."""
    remember_written(project, [project / "figures" / "a.svg"])
    assert listed(project) == ["figures", "main.c", "report [1].html", "figures/deep", "figures/deep/b.svg"]


def test_a_link_is_no_file_that_was_written(project):
    remember_written(project, [project / "report [1].html"])
    os.rename(project / "report [1].html", project.parent / "moved")
    (project / "report [1].html").symlink_to(project.parent / "moved")
    assert "report [1].html" in listed(project)


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b"[" * 100_000, b"\xff", b'{"files":{"a":1},"schema":"layoutrand/written/1"}']
)
def test_a_damaged_record_leaves_files_in_the_source(project, data):
    with pytest.raises(ValueError):
        parse_written(data)
    remember_written(project, figures(project))
    (project / ".layoutrand" / "written.json").write_bytes(data)
    assert "figures/a.svg" in listed(project)
