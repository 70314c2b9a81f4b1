"""What executions print is recorded as a digest, and the first unlike outputs are kept."""

from __future__ import annotations

import hashlib
import os

import pytest

from executekit import Project
from fakes import make_config, shell_binaries
from layoutrand.execute.measure import measure
from layoutrand.instruments.program_output import without_numbers

ECHO = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def printing(project, texts, *, system="a"):
    """Programs that print a text, by layout."""
    folder = project.root / "printing"
    return [
        each
        for layout, text in texts.items()
        for each in shell_binaries(folder, f"printf '{text}'", systems=(system,), layouts=(layout,))
    ]


def digests(project, config):
    return {e.layout: e.output_sha256 for e in project.executions(config)}


def test_each_execution_has_the_digest_of_what_it_printed(project):
    config = make_config(ECHO, systems=("a",))
    project.run(config, printing(project, {1: "x\\n", 2: "", 3: "x\\ny"}), measure)
    assert digests(project, config) == {1: sha256("x\n"), 2: sha256(""), 3: sha256("x\ny")}


def test_a_failed_execution_has_it_as_well_but_what_was_never_started_has_none(project):
    (project.path / "out").write_text("x")
    config = make_config(ECHO + 'expect_stdout = "out"', systems=("a",))
    assert len(project.run(config, printing(project, {1: "x", 2: "y"}), measure).failures) == 1
    assert digests(project, config) == {1: sha256("x"), 2: sha256("y")}
    config = make_config(ECHO.replace("{artefact}", "no-such-program"), systems=("a",))
    project.run(config, printing(project, {3: "x"}), measure)
    assert digests(project, config)[3] == ""


def test_what_took_its_output_away_has_none_and_counts_all_the_same(project):
    config = make_config(ECHO, systems=("a",))
    binaries = shell_binaries(project.root / "c", "rm ../output/stdout", systems=("a",), layouts=(1,))
    assert project.run(config, binaries, measure).failures == ()
    assert digests(project, config) == {1: ""}


@pytest.mark.parametrize(
    ("found_by", "texts", "kept"),
    [
        ('regex = "took +([0-9.]+)"', ("took  9.5 s\\nsum 3\\n", "took 10.5 s\\nsum 3\\n"), "took s\nsum 3\n"),
        ('json = "/t"', ('{"t": 9.5, "sum": 3}', '{"t":10.5, "sum": 3}'), '{"t":, "sum": 3}'),
    ],
)
def test_numbers_that_are_measured_are_no_part_of_what_is_compared(project, found_by, texts, kept):
    config = make_config(f'{ECHO}metric = {{ {found_by}, name = "t", unit = "s" }}', systems=("a",))
    other = texts[0].replace("3", "4")
    project.run(config, printing(project, {1: texts[0], 2: texts[1], 3: other}), measure)
    assert digests(project, config) == {1: sha256(kept), 2: sha256(kept), 3: sha256(kept.replace("3", "4"))}


@pytest.mark.parametrize(
    ("output", "pointer", "lines", "rest"),
    [
        ('{"a": {"t": [1, -2.5e+3, 4]}, "b": [1]}', "/a/t", "all", '{"a": {"t": [,,]}, "b": [1]}'),
        ('{"t": 1, "s": "a \\" 7", "t": 22}', "/t", "all", '{"t": 1, "s": "a \\" 7", "t":}'),  # the last one counts
        ('{"n": 5, "t": 1.0}\n\n{"t": 2, "n": 6}\n', "/t", "all", '{"n": 5, "t":}\n\n{"t":, "n": 6}\n'),
        ("1.5\n2.5\n", "", "all", "\n\n"),
        ("run 1\n12\n[3]\n{5\n", "", "matching", "run 1\n12\n[]\n{5\n"),
        ('{"t": NaN, "u": -Infinity}', "/u", "all", '{"t": NaN, "u":}'),
        ('{"t": "7", "n": 7}', "/t", "all", '{"t": "7", "n": 7}'),
        ('{"n": 7}', "/t", "all", '{"n": 7}'),
        ("[" * 100_000, "/0", "all", "[" * 100_000),
        ('{"é\udcff": true, "t": 7}', "/t", "all", '{"é\udcff": true, "t":}'),
    ],
)
def test_what_is_left_without_numbers_of_json(output, pointer, lines, rest):
    data = output.encode("utf-8", "surrogateescape")
    assert without_numbers(data, [], [(pointer, lines)]) == rest.encode("utf-8", "surrogateescape")


@pytest.mark.parametrize(
    ("output", "patterns", "rest"),
    [
        (b"", ["(x)"], b""),
        (b"\xff1", ["([0-9])"], b"\xff"),
        (b"a 1 b 2", ["a ([0-9])", "b ([0-9])", "([0-9]) b"], b"a b"),
        (b"12", ["([0-9]+)", "([0-9])"], b""),
        (b"x y", ["x(1)?"], b"x y"),
    ],
)
def test_what_is_left_without_numbers(output, patterns, rest):
    assert without_numbers(output, patterns) == rest


def kept(project, config):
    """Layout -> the output that is kept of it."""
    return {e.layout: (project.path / e.log / "stdout").read_bytes() for e in project.executions(config) if e.log}


def test_the_first_of_each_output_is_kept_up_to_four_and_not_again(project):
    config = make_config(ECHO, systems=("a",))
    texts = {1: "x", 2: "x", 3: "y", 4: "", 5: "z", 6: "w", 7: "v"}
    project.run(config, printing(project, {seed: text for seed, text in texts.items() if seed < 4}), measure)
    first = kept(project, config)
    assert sorted(first.values()) == [b"x", b"y"]
    project.run(config, printing(project, texts), measure)
    after = kept(project, config)
    assert {seed: after[seed] for seed in first} == first
    assert len(set(after.values())) == len(after) == 4
    folder = project.path / ".layoutrand/logs/run/a/b"
    assert sorted(len(os.listdir(folder / name)) for name in os.listdir(folder)) == [1] * 4


def test_what_was_deleted_is_kept_again(project):
    config = make_config(ECHO, systems=("a",))
    project.run(config, printing(project, {1: "x"}), measure)
    for path, _, names in os.walk(project.path / ".layoutrand/logs", topdown=False):
        for name in names:
            os.unlink(os.path.join(path, name))
        os.rmdir(path)
    project.run(config, printing(project, {1: "x", 2: "x"}), measure)
    (record,) = [e for e in project.executions(config) if e.layout == 2]
    assert (project.path / record.log / "stdout").read_bytes() == b"x"


def test_large_outputs_and_those_that_a_reference_judges_are_not_kept(project):
    (project.path / "out").write_text("x")
    config = make_config(ECHO + 'expect_stdout = "out"', systems=("a",))
    project.run(config, printing(project, {1: "x"}), measure)
    assert kept(project, config) == {}
    config = make_config(ECHO, systems=("b",))
    script = "head -c 1048577 /dev/zero"
    project.run(config, shell_binaries(project.root / "c", script, systems=("b",), layouts=(1,)), measure)
    (execution,) = [e for e in project.executions(config) if e.system == "b"]
    assert (execution.log, len(execution.output_sha256)) == ("", 64)
