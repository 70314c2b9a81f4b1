"""An installation of SPEC CPU as it lies on disk, and which of it [suite] means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from layoutrand.config.config import parse
from layoutrand.config.spec_settings import SpecSuite, chosen_benchmarks, executables_of, members_of
from layoutrand.errors import ConfigError
from layoutrand.suites.expand import expanded
from layoutrand.suites.spec_root import digests_of, of_the_user, read_root, text_files
from speckit import make_spec_root


def suite(**changes: Any) -> SpecSuite:
    return SpecSuite.model_validate({"kind": "spec-cpu", "root": "r", "benchmarks": ["505.mcf_r"], **changes})


@pytest.mark.parametrize(
    ("version", "tool", "folder", "number", "said"),
    [
        (2006, "runspec", "benchspec/CPU2006", "429.mcf", "1.2"),
        (2017, "runcpu", "benchspec/CPU", "505.mcf_r", "1.1.9"),
        (2026, "runcpu", "benchspec/CPU", "705.mcf_r", "1.0.1"),
    ],
)
def test_an_installation_is_recognised(tmp_path, version, tool, folder, number, said):
    """Its tool, year and version; what it holds."""
    facts = read_root(make_spec_root(tmp_path, version), "layoutrand.toml")

    assert (facts.tool, facts.year, facts.folder, facts.version) == (tool, version, folder, said)
    assert number in facts.benchmarks
    assert all(facts.sets.values())


def test_a_home_that_there_is_not_is_a_clear_error(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    assert of_the_user("~/cpu2017", "suite.root", "x") == Path("/home/me/cpu2017")
    with pytest.raises(ConfigError, match=r"suite.root: ~nobodyhere/cpu2017 cannot be found, .* no user 'nobodyhere'"):
        of_the_user("~nobodyhere/cpu2017", "suite.root", "x")


@pytest.mark.parametrize("key", ["root", "config"])
def test_a_home_that_there_is_not_in_a_configuration(tmp_path, key):
    root = make_spec_root(tmp_path, 2017)
    keys = {"root": str(root)} | {key: "~nobodyhere/x"}
    text = "".join(f"{name} = {value!r}\n" for name, value in keys.items())
    config = parse(
        f"[project]\nname = 'p'\n[systems.a]\n[suite]\nkind = 'spec-cpu'\nbenchmarks = ['505.mcf_r']\n{text}", path="t"
    )
    with pytest.raises(ConfigError, match=rf"suite\.{key}: ~nobodyhere/x cannot be found"):
        expanded(config, tmp_path)


def test_executables_are_read_off_the_description():
    """x264 has two; their names are in Perl."""
    text = "# $exename = 'no';\n$benchnum  = '525';\nour $exename = \"x264_r\";\n@base_exe = ($exename, 'ldecod_r', \"imagevalidate_$benchnum\");\n"

    assert executables_of(text, "525.x264_r") == ("x264_r", "ldecod_r", "imagevalidate_525")
    assert executables_of("$exename = 'cpugcc_r';\n", "502.gcc_r") == ("cpugcc_r",)
    assert executables_of("@base_exe = qw(Xalan);", "483.xalancbmk") == ("Xalan",)
    assert executables_of("", "505.mcf_r") == ("mcf_r",)
    assert executables_of("@base_exe = (map { exe($_) } @all);", "505.mcf_r") == ("mcf_r",)


def test_sets_are_read():
    """Names in any form of Perl list, comments aside."""
    assert members_of("@benchmarks = qw( 500.perlbench_r\n 502.gcc_r ); # 503.bwaves_r\n") == (
        "500.perlbench_r",
        "502.gcc_r",
    )
    assert members_of("@int = ('400.perlbench', '401.bzip2');\n") == ("400.perlbench", "401.bzip2")


def test_benchmarks_are_meant_by_name_number_stem_or_set(tmp_path):
    """Each once, in the order of the file."""
    facts = read_root(make_spec_root(tmp_path), "layoutrand.toml")

    chosen, problems = chosen_benchmarks(suite(benchmarks=["lbm_r", "505", "intrate"]), facts)

    assert problems == []
    assert [b.name for b in chosen] == ["519.lbm_r", "505.mcf_r", "525.x264_r"]
    assert chosen[2].executables == ("x264_r", "ldecod_r")


def test_the_users_names_of_executables_win(tmp_path):
    """As the build says what they must be."""
    facts = read_root(make_spec_root(tmp_path), "layoutrand.toml")

    chosen, problems = chosen_benchmarks(suite(executables={"505.mcf_r": ["mcf", "help"]}), facts)

    assert ([b.executables for b in chosen], problems) == ([("mcf", "help")], [])


def test_what_is_unknown_is_told_with_a_suggestion(tmp_path):
    """Benchmarks, sets, executables of a benchmark that is not chosen; all at once."""
    facts = read_root(make_spec_root(tmp_path), "layoutrand.toml")

    _, problems = chosen_benchmarks(
        suite(benchmarks=["505.mfc_r", "intrat", "519"], executables={"519.lbm": ["x"]}), facts
    )

    assert [problem.split(";")[1] for problem in problems[:2]] == [
        " did you mean '505.mcf_r'?",
        " did you mean 'intrate'?",
    ]
    assert "suite.benchmarks[0]" in problems[0]
    assert "sets: fprate, intrate" in problems[0]
    assert problems[2] == "suite.executables.\"519.lbm\": no such benchmark is chosen; did you mean '519.lbm_r'?"


def test_a_set_with_a_benchmark_that_is_not_installed_is_an_error(tmp_path):
    """It would be silently smaller otherwise."""
    root = make_spec_root(tmp_path)
    (root / "benchspec/CPU/intrate.bset").write_text("@benchmarks = qw(505.mcf_r 500.perlbench_r 999.specrand_ir);\n")

    _, problems = chosen_benchmarks(suite(benchmarks=["intrate"]), read_root(root, "layoutrand.toml"))

    assert problems == ["suite.benchmarks[0]: of the set 'intrate', 500.perlbench_r is not installed"]


def test_a_set_that_cannot_be_read_is_an_error(tmp_path):
    """Of a list that a program makes nothing is known."""
    root = make_spec_root(tmp_path)
    (root / "benchspec/CPU/all.bset").write_text("@benchmarks = sort keys %::all;\n")

    _, problems = chosen_benchmarks(suite(benchmarks=["all"]), read_root(root, "layoutrand.toml"))

    assert problems == ["suite.benchmarks[0]: the set 'all' lists no benchmark; name those that are meant"]


def test_the_wording_of_generated_files_is_no_part_of_a_benchmark(tmp_path):
    """Comments may change with a new layoutrand, and results stay what they are."""
    from layoutrand.execute.experiment import definitions

    make_spec_root(tmp_path)
    made = config(tmp_path)
    first = made.benchmarks[0]
    texts = first.generated

    def digest(**changes: str) -> str:
        benchmark = first.model_copy(update={"generated": {**texts, **changes}})
        known = made.model_copy(update={"benchmarks": [benchmark]})
        return definitions(known, [benchmark], tmp_path)[first.name, "native"]

    config_text = texts["layoutrand.cfg"]
    assert digest(**{"layoutrand.cfg": f"# another word\n\n{config_text}"}) == digest()
    assert digest(**{"layoutrand.cfg": config_text.replace("iterations = 1", "iterations = 2")}) != digest()


def absent(root: Path) -> Path:
    return root / "nothing"


def empty(root: Path) -> Path:
    (root / "empty").mkdir()
    return root / "empty"


def without(part: str) -> Any:
    def damage(folder: Path) -> Path:
        root = make_spec_root(folder)
        (root / part).rename(folder / "gone")
        return root

    return damage


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (absent, "is not a directory; it must be where SPEC CPU is installed"),
        (empty, "has neither bin/runcpu (SPEC CPU2017, CPU2026) nor bin/runspec (CPU2006)"),
        (without("shrc"), "has no shrc, which sets the suite's environment up"),
        (without("benchspec"), "has no benchspec/CPU; is SPEC CPU installed completely?"),
    ],
    ids=["absent", "empty", "without shrc", "without benchmarks"],
)
def test_an_incomplete_installation_is_refused(tmp_path, make, words):
    """By the key that names it."""
    with pytest.raises(ConfigError) as raised:
        read_root(make(tmp_path), "layoutrand.toml")

    assert f"suite.root: {tmp_path}" in str(raised.value)
    assert words in str(raised.value)


TOML = """\
[project]
name = "p"
[suite]
kind = "spec-cpu"
root = "cpu2017"
benchmarks = ["intrate"]
size = "test"
[systems.a]
"""


def config(folder: Path, text: str = TOML) -> Any:
    return expanded(parse(text, path="layoutrand.toml"), folder)


def problems(folder: Path, text: str = TOML) -> list[str]:
    with pytest.raises(ConfigError) as raised:
        config(folder, text)
    return raised.value.problems


def test_a_suite_becomes_a_build_and_benchmarks(tmp_path):
    """One artefact for each executable; each benchmark needs its own alone."""
    make_spec_root(tmp_path)

    made = config(tmp_path)

    exe = "benchspec/CPU/{}/exe/{}_base.layoutrand".format
    mcf, x264, ldecod = exe("505.mcf_r", "mcf_r"), exe("525.x264_r", "x264_r"), exe("525.x264_r", "ldecod_r")
    assert made.build.artefacts == [mcf, x264, ldecod]
    assert [(b.name, b.artefact, b.artefacts) for b in made.benchmarks] == [
        ("505.mcf_r", mcf, [mcf]),
        ("525.x264_r", x264, [x264, ldecod]),
    ]
    script = made.benchmarks[0].generated["layoutrand-spec.sh"]
    for word in ("--nobuild", "--noreportable", "--iterations=1", "--size=test", "--action=validate", "--copies=1"):
        assert word in script.split()
    assert (
        "refrate" not in config(tmp_path, TOML.replace('"test"', '"ref"')).benchmarks[0].generated["layoutrand-spec.sh"]
    )


def test_an_expanded_suite_is_recorded_and_compared_like_any_configuration(tmp_path):
    """Two readings of one file are equal; another size is another benchmark, another time limit is not."""
    from layoutrand.config.config import as_dict
    from layoutrand.execute.experiment import definitions

    make_spec_root(tmp_path)

    def digests(text: str = TOML) -> dict[Any, str]:
        made = config(tmp_path, text)
        assert as_dict(made)["suite"]["root"] == "cpu2017"
        return definitions(made, made.benchmarks, tmp_path)

    assert digests() == digests()
    assert digests() == digests(TOML.replace("[systems", "timeout_s = 7.0\n[systems"))
    assert digests().keys() == digests(TOML.replace('"test"', '"train"')).keys()
    assert not set(digests().values()) & set(digests(TOML.replace('"test"', '"train"')).values())


def test_the_suites_build_is_spec_cpus(tmp_path):
    """Keys of [build] that would go nowhere are errors; mode, env and timeout_s are not."""
    make_spec_root(tmp_path)
    usable = '[build]\nmode = "rebuild"\nenv = {A = "b"}\ntimeout_s = 5.0\n'

    assert [line.split(":")[0] for line in problems(tmp_path, TOML + '[build]\ncommands = ["make"]\n')] == [
        "build.commands"
    ]
    assert [line.split(":")[0] for line in problems(tmp_path, TOML + '[build]\nexclude = ["x"]\n')] == ["build.exclude"]
    assert [line.split(":")[0] for line in problems(tmp_path, TOML + 'args = "-x"\n')] == ["systems.a.args"]
    made = config(tmp_path, TOML + usable)
    assert (made.build.mode, made.build.env, made.build.timeout_s) == ("rebuild", {"A": "b"}, 5.0)


def test_a_stack_offset_would_not_reach_the_benchmark(tmp_path):
    """So it cannot be asked for."""
    make_spec_root(tmp_path)

    assert (
        "stack-offset moves the stack of the program"
        in problems(tmp_path, TOML + '[run]\nrandomise = ["stack-offset"]\n')[0]
    )


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ('benchmarks = ["50 5"]', "suite.benchmarks"),
        ('size = "refrate"', "suite.size"),
        ('label = "a b"', "suite.label"),
        ("copies = 0", "suite.copies"),
        ('root = ""', "suite.root"),
        ('siez = "test"', "suite.siez"),
        ('env = {"A B" = "c"}', "suite.env"),
    ],
)
def test_wrong_settings_are_found_without_the_suite(line, key):
    """Each by its key path."""
    text = "".join(f"{given}\n" for given in TOML.splitlines() if given.split(" =")[0] != line.split(" =")[0])
    text = text.replace('kind = "spec-cpu"', f'kind = "spec-cpu"\n{line}')

    with pytest.raises(ConfigError) as raised:
        parse(text, path="layoutrand.toml")
    assert key in str(raised.value)


def test_what_an_execution_left_is_found(tmp_path):
    """Logs, raw results and miscompares as text; the digests of a binary and of its copies."""
    exe = "benchspec/CPU/505.mcf_r/exe/mcf_r_base.l"
    run = "benchspec/CPU/505.mcf_r/run/run_base_test_l.0000"
    files = {
        "result/CPU2017.001.log": "a",
        "result/CPU2017.001.intrate.test.rsf": "b\xff",
        "result/x.csv": "c",
        f"{run}/i.out.mis": "d",
        exe: "e",
        f"{run}/mcf_r_base.l": "e",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "latin-1")

    assert text_files(tmp_path) == {
        "result/CPU2017.001.log": "a",
        "result/CPU2017.001.intrate.test.rsf": "b\\xff",
        f"{run}/i.out.mis": "d",
    }
    digests = digests_of(tmp_path, [exe])
    assert list(digests) == [exe, f"{run}/mcf_r_base.l"]
    assert len(set(digests.values())) == 1
