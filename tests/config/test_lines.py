"""Where a key stands in layoutrand.toml."""

import pytest

from layoutrand.config.lines import line_of, lines_of

TEXT = '''\
# a comment
[project]
name = "p"   # behind

[build]
commands = [
  "make # no comment",
  """
[not.a.header]
""",
]
env.CC = "gcc"
[systems.O2]
cflags = "-O2"
[systems."gcc-12.2"]
[[benchmarks]]
name = "a"
metric = { regex = "x", printed = [{ name = "n" }] }
[[benchmarks]]
name = "b"
[benchmarks.metric]
wall = true
[run.disturbance]
repeat = 1
'''


@pytest.mark.parametrize(
    ("path", "line"),
    {
        "project": 2,
        "project.name": 3,
        "build.commands": 6,
        "build.commands[1]": 6,
        "build.env.CC": 12,
        "systems.O2.cflags": 14,
        "systems.gcc-12.2": 15,
        "benchmarks[0].name": 17,
        "benchmarks[0].metric.printed[0].name": 18,
        "benchmarks[1]": 19,
        "benchmarks[1].name": 20,
        "benchmarks[1].metric.wall": 22,
        "run.disturbance.repeat": 24,
    }.items(),
)
def test_each_key_has_its_line(path, line):
    assert lines_of(TEXT)[path] == line


def test_a_problem_is_where_the_innermost_key_is_that_there_is():
    lines = lines_of(TEXT)

    assert line_of("benchmarks[1].nam: unknown key", lines) == 19
    assert line_of("benchmarks[0].metric.regex: needs exactly one group", lines) == 18
    assert line_of("systems.gcc-12.2.rev: needs build.repo", lines) == 15
    assert line_of("layout.factors: whatever", lines) is None
    assert line_of("projects: unknown key", lines) is None


def test_what_is_no_toml_has_no_lines():
    assert lines_of("a = [1\nb = 2\n") == {}
