"""Why a system is built again, in words that a user of layoutrand.toml knows."""

from __future__ import annotations

import pytest

from layoutrand.build.why_again import BuiltAgain
from layoutrand.cache.difference import FileChanges, Part

FILES = FileChanges((), (), ("src/lapi.c",))


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ([Part("artefacts", "changed", ["a"], ["b"])], 'build.artefacts: was ["a"], now ["b"]'),
        ([Part("source.in_place", "changed", False, True)], "build.in_place: was false, now true"),
        (
            [Part("inherited.OCAMLPARAM", "removed", "_,g=1", None)],
            'OCAMLPARAM of the environment: was "_,g=1", not there now',
        ),
        ([Part("env.LC_ALL", "added", None, "C")], 'env.LC_ALL: now "C", not there before'),
        (
            [
                Part("places_data", "changed", False, True),
                Part("section_flags", "changed", ["-ffunction-sections"], ["-fdata-sections"]),
            ],
            "data is to be placed (layout.factors): was false, now true",
        ),
        (
            [
                Part("section_flags", "changed", ["-ffunction-sections"], []),
                Part("source.digest", "changed", "a" * 64, "b" * 64),
            ],
            "changed: src/lapi.c; sections that compilers are to make (layout.factors): "
            'was ["-ffunction-sections"], now []',
        ),
        (
            [Part(f"tools.{tool}.version", "changed", "1", "2") for tool in ("cc", "cxx")]
            + [Part("commands", "changed", ["make"], ["make -j2"]), Part("flags.cflags", "removed", "-O2", None)],
            'tools.cc.version: was "1", now "2"; build.commands: was ["make"], now ["make -j2"]; and 2 more parts of '
            "its key (--explain has them)",
        ),
    ],
)
def test_what_changed_is_named_as_users_write_it(parts, told):
    assert str(BuiltAgain("O2", tuple(parts), FILES)) == f"O2: built again: {told}"


def test_the_same_files_as_another_commit_are_a_reason():
    """After `git commit` of what was checked as the work tree; it was "built again: " and nothing."""
    parts = (Part("source.commit", "changed", "a" * 40, "b" * 40),)
    told = str(BuiltAgain("head", parts, FileChanges((), (), ())))
    assert told == "head: built again: the same files are another commit, which a build may read"
