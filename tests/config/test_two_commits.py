"""One system of a configuration as two commits of it."""

from __future__ import annotations

from layoutrand.config.config import parse
from layoutrand.config.two_commits import checkable, two_commits

TEXT = """
[project]
name = "p"
[build]
repo = "."
commands = ["make", "make check"]
artefacts = ["prog", "lib/x.so"]
exclude = ["*.o"]
[systems.main]
cflags = "-O2"
rev = "origin/main"
[systems.change]
cflags = "-O2"
rev = "HEAD"
[systems.O3]
cflags = "-O3"
[systems.built]
prebuilt = "/opt/x"
[[benchmarks]]
name = "b"
command = ["{artefact}"]
artefact = "lib/x.so"
metric = { regex = "(.*)" }
[[warmup]]
benchmark = "b"
iterations = 3
system = "O3"
[[warmup]]
benchmark = "b"
iterations = 2
system = "main"
[run]
executions = 2
"""


def of(system, inside):
    commits, labels = ("a" * 40, "b" * 40), ("main aaaaaaa", "HEAD bbbbbbb")
    return two_commits(parse(TEXT, path="x"), system, "/repository", commits, labels, inside)


def test_systems_that_differ_by_revision_alone_are_one_and_prebuilt_ones_are_none():
    chosen, left = checkable(parse(TEXT, path="x"))
    assert chosen == ["main", "O3"]
    assert set(left) == {"change", "built"}


def test_both_have_the_flags_of_the_system_and_a_commit_each():
    found = of("O3", "")
    assert {name: (each.rev, each.cflags) for name, each in found.systems.items()} == {
        "base": ("a" * 40, "-O3"),
        "head": ("b" * 40, "-O3"),
    }
    assert [each.label for each in found.systems.values()] == ["main aaaaaaa", "HEAD bbbbbbb"]
    assert (found.build.repo, found.build.rev) == ("/repository", None)
    assert found.build.commands == ["make", "make check"]
    assert (found.run.order, found.run.controls, found.run.executions) == ("pairs", ["stock"], 2)


def test_a_choice_of_warmup_holds_for_both_where_it_was_made_for_the_system():
    assert [(each.system, each.iterations) for each in of("O3", "").warmup] == [("base", 3), ("head", 3)]
    assert [(each.system, each.iterations) for each in of("main", "").warmup] == [("base", 2), ("head", 2)]


def test_below_the_top_of_a_repository_everything_is_where_the_source_is():
    found = of("O3", "sub dir/x")
    assert found.build.commands == ["cd 'sub dir/x'", "make", "make check"]
    assert found.build.artefacts == ["sub dir/x/prog", "sub dir/x/lib/x.so"]
    assert found.benchmarks[0].artefact == "sub dir/x/lib/x.so"
    assert found.build.exclude == ["*.o", "sub dir/x/*.o"]
