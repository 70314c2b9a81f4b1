"""Systems that nothing is built for: their directory is taken as it is, and ``{args}`` tells them apart."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import startkit
from layoutrand.cli import run
from layoutrand.config.command import Places, arguments
from layoutrand.config.config import parse
from layoutrand.config.schedule import Design, schedule
from layoutrand.errors import ConfigError, UsageError
from layoutrand.platform.packages import install
from layoutrand.results.file import open_for_reading, results_path
from warningkit import unwrapped
from workshop import require

CONFIG = """\
[project]
name = "p"
[build]
artefacts = ["prog"]
[systems.old]
prebuilt = "old home"
args = "--fast 'two words'"
[systems.new]
prebuilt = "new"
[[benchmarks]]
name = "b"
command = ["{artefact}", "{args}", "in {home}"]
metric = { regex = '([\\d.]+) ms', name = "t", unit = "ms" }
"""
SCRIPT = '#!/bin/sh\nfor word; do printf "<%s>\\n" "$word"; done > "$OUT_NAME"\necho NUMBER ms\n'


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("LAYOUTRAND_CACHE", str(tmp_path / "cache"))
    root = tmp_path / "project"
    for folder, number in (("old home", "30.000045"), ("new", "20.00003")):
        (root / folder).mkdir(parents=True)
        script = SCRIPT.replace("NUMBER", number).replace("$OUT_NAME", f"{root}/said-{folder}")
        (root / folder / "prog").write_text(script)
    (root / "layoutrand.toml").write_text(CONFIG)
    return root


def layoutrand(root, *arguments):
    return startkit.layoutrand(*arguments, cwd=root)


def document(root, *arguments):
    done = layoutrand(root, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_prebuilt_system_is_executed_once_a_round_and_is_a_sample_of_one_binary(project):
    summary = document(project, "run", "--seeds", "3", "--share-machine")
    assert (summary["executions"], summary["failures"]) == (6, [])
    rows = {a["system"]: a for a in document(project, "analyse", "--metric", "t")["benchmarks"]}
    assert {name: (a["n_binaries"], a["n_executions"], a["mean"]) for name, a in rows.items()} == {
        "old": (1, 3, 30.000045),
        "new": (1, 3, 20.00003),
    }
    assert (project / "said-old home").read_text() == f"<--fast>\n<two words>\n<in {project}/old home>\n"
    assert (project / "said-new").read_text() == f"<in {project}/new>\n"


def test_the_tables_of_one_layout_are_about_executions(project):
    document(project, "run", "--seeds", "3", "--share-machine")
    done = layoutrand(project, "analyse", "--metric", "t", "--full")
    assert done.returncode == 0, done.stderr
    assert "Mean over executions of one layout, " in done.stdout
    assert "Executions of one layout that stand out (all are in the numbers)" in done.stdout
    assert "layouts that stand out" not in done.stdout
    assert " 0.00 %" in done.stdout
    assert "[0.00, 0.00]" not in done.stdout, "that would say that the deviation is known"


def test_compare_says_that_one_binary_each_says_nothing_of_layouts(project):
    document(project, "run", "--seeds", "4", "--share-machine")
    done = layoutrand(project, "compare", "old", "new", "--full")
    assert done.returncode == 0, done.stderr
    sentence = "new takes 33.3333 % less t than old (1.50 x as fast, 95 % interval without width, 4 executions each, round by round)"
    assert sentence in unwrapped(done.stdout)
    assert "old, new: prebuilt, in one layout: intervals cover executions of these files" in done.stderr
    assert "4 executions of the baseline hardly support an interval" in done.stderr
    assert "4 / 4 executions" in done.stdout
    assert "\nold: in one layout, rounds 1..4, 4 executions, none failed\n" in done.stdout
    assert "without a seed" not in done.stdout
    assert "layout policy" not in done.stdout, "there is none"
    assert "\nrandomised per execution: " in done.stdout


@pytest.mark.slow
def test_other_files_or_other_args_are_another_system(project):
    document(project, "run", "--seeds", "2", "--share-machine")
    (project / "layoutrand.toml").write_text(CONFIG.replace("--fast", "--slow"))
    assert document(project, "run", "--seeds", "2", "--share-machine")["already"] == 2, "new is what it was"
    (project / "new/prog").write_text((project / "new/prog").read_text() + "# changed\n")
    assert document(project, "run", "--seeds", "2", "--share-machine")["already"] == 2, "old is what it was"


def test_a_missing_artefact_is_a_failure_that_says_where_it_was_sought(project):
    (project / "new/prog").unlink()
    done = layoutrand(project, "run", "--seeds", "1", "--share-machine")
    assert done.returncode == 1
    assert "systems.new.prebuilt must be the directory in which the artefacts lie" in " ".join(done.stderr.split())


def test_prebuilt_and_built_systems_take_turns_in_every_order():
    for order in ("blocks", "interleaved", "random", "sequential"):
        slots = schedule(
            Design(
                ("built", "fixed"),
                (("b", ("native", "cachegrind")),),
                (7, 8, 9),
                ("identity",),
                1,
                1,
                order,
                frozenset({"fixed"}),
                frozenset({"cachegrind"}),
            )
        )
        of = {(s.system, s.instrument, s.layout, s.round) for s in slots}
        assert len(of) == len(slots)
        assert {x for x in of if x[0] == "fixed"} == {
            *(("fixed", "native", "stock", r) for r in (7, 8, 9)),
            *(("fixed", "cachegrind", "stock", r) for r in (7, 8)),
        }
        assert {x[2] for x in of if x[0] == "built"} == {7, 8, 9, "identity"}


def test_args_are_words_and_home_is_the_directory():
    places = Places("/x/prog", "/x", "/p", "/root", "/tmp", prebuilt="/jdk", args=("-a", "b c"))
    assert arguments(["{home}/bin/java", "{args}", "{{args}}", "{{home}}"], places) == (
        "/jdk/bin/java",
        "-a",
        "b c",
        "{args}",
        "{home}",
    )


BUILT = CONFIG.replace('prebuilt = "old home"\n', "")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (BUILT, "build.commands: this key is required"),
        (
            CONFIG.replace("[build]\nartefacts", "[build]\ncommands = []\nartefacts"),
            "build.commands: must not be empty",
        ),
        (CONFIG.replace('[build]\nartefacts = ["prog"]\n', ""), "build: this key is required"),
        (
            CONFIG.replace('prebuilt = "new"', 'prebuilt = "new"\ncflags = "-O2"'),
            "systems.new: is prebuilt, so nothing is built with cflags",
        ),
        (
            CONFIG.replace('"{args}", ', ""),
            "systems.old.args: no benchmark's command has the word {args}, so they would go nowhere",
        ),
        (
            CONFIG.replace('"{args}"', '"x{args}"'),
            "benchmarks[0].command: {args} in 'x{args}' must be a word of its own: it stands for all words of systems.*.args",
        ),
        (
            CONFIG.replace("--fast 'two", "--fast two"),
            "systems.old.args: cannot be split into words as a shell does: no closing quotation",
        ),
        (
            BUILT.replace("[build]", '[build]\ncommands = ["make"]'),
            "systems.old: a command has {home}, the directory of a prebuilt system or of build.image, and this has neither",
        ),
    ],
)
def test_what_cannot_be_meant_is_an_error(text, problem):
    with pytest.raises(ConfigError) as caught:
        parse(text, path="layoutrand.toml")
    assert any(line.startswith(problem) for line in caught.value.problems), caught.value.problems


def test_the_demo_ends_with_the_paths_of_its_reports(project, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LAYOUTRAND_LOCK_DIR", str(tmp_path))
    monkeypatch.setattr("layoutrand.build.demo.copy_example", lambda directory: None)

    assert run(["demo", "-C", str(project), "--seeds", "3"]) == 0

    lines = capsys.readouterr().out.splitlines()
    begin = lines.index("What was seen:")
    assert [line[:2] for line in lines[begin + 1 : begin + 4]] == ["- "] * 3
    assert lines[begin + 4].startswith("Now your program: ")
    end = [line.partition(": ") for line in lines[-2:]]
    assert [words for words, _, _ in end] == ["Report", "As a page"]
    text, page = (Path(path).read_text("utf-8") for _, _, path in end)
    assert text.startswith("# p: how much does layout matter?")
    assert "p: performance over layouts" in page


SIMULATED = '[[benchmarks]]\nname = "simulated"\ncommand = ["{artefact}"]\nmetric = { cachegrind = true }\n'


def test_the_demo_measures_by_what_there_is(project, tmp_path, monkeypatch, capsys):
    """Without valgrind what is simulated is left out, in one line, and in the commands that are shown."""
    (project / "layoutrand.toml").write_text(f"{CONFIG}{SIMULATED}")
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name, *a, **k: None if name == "valgrind" else which(name, *a, **k))
    monkeypatch.setenv("LAYOUTRAND_LOCK_DIR", str(tmp_path))
    monkeypatch.setattr("layoutrand.build.demo.copy_example", lambda directory: None)

    assert run(["demo", "-C", str(project), "--seeds", "3"]) == 0

    lines = capsys.readouterr().out.splitlines()
    (said,) = [line for line in lines if "valgrind" in line]
    assert said.startswith(
        f"There is no valgrind ({install(['valgrind'])}), so nothing is simulated: simulated is left"
    )
    commands = [line for line in lines if line.startswith("$ ")]
    assert len(commands) == 3 and all(" --benchmark b " in command for command in commands)


def test_with_valgrind_the_demo_executes_all_of_it(project, tmp_path, monkeypatch, capsys):
    require("valgrind", "valgrind")
    (project / "layoutrand.toml").write_text(f"{CONFIG}{SIMULATED}")
    asked = []

    def build_and_execute(_part, choices, _terminal, **_options):
        asked.append(list(choices.benchmarks))
        raise UsageError("that is all")

    monkeypatch.setattr("layoutrand.cli.running.build_and_execute", build_and_execute)
    monkeypatch.setattr("layoutrand.build.demo.copy_example", lambda directory: None)
    assert run(["demo", "-C", str(project), "--seeds", "3"]) == 2
    assert asked == [[]]  # which stands for all
    assert "no valgrind" not in capsys.readouterr().out


def test_a_jdk_is_told_by_its_release_file(project):
    """Anything with bin/java in it is one."""
    (project / "old home/bin").mkdir()
    (project / "old home/bin/java").write_text("#!/bin/sh\n")
    (project / "old home/bin/java").chmod(0o755)
    (project / "old home/release").write_text(
        'IMPLEMENTOR="Eclipse Adoptium"\nIMPLEMENTOR_VERSION="Temurin-25.0.3+9"\nJAVA_RUNTIME_VERSION="25.0.3+9"\n'
    )
    document(project, "run", "--seeds", "2", "--share-machine")
    rows = {row["system"]: row for row in document(project, "analyse")["evidence"]["systems"]}
    assert rows["old"]["source"] == "JDK 25.0.3+9 of Eclipse Adoptium (Temurin-25.0.3+9)"
    assert rows["new"]["source"] is None


ANSWER = """\
openjdk version "17.0.9" 2023-10-17
OpenJDK Runtime Environment Temurin-17.0.9+9 (build 17.0.9+9)
OpenJDK 64-Bit Server VM Temurin-17.0.9+9 (build 17.0.9+9, mixed mode, sharing)
"""


@pytest.mark.slow
def test_what_java_says_is_recorded_and_shown_where_release_says_otherwise_or_nothing(project):
    home = project / "old home"
    (home / "bin").mkdir()

    def source(release, script):
        (home / "bin/java").write_text(f"#!/bin/sh\n{script}\n")
        (home / "bin/java").chmod(0o755)
        (home / "release").write_text(release)
        document(project, "run", "--system", "old", "--seeds", "1", "--share-machine")
        rows = {row["system"]: row for row in document(project, "analyse", "--system", "old")["evidence"]["systems"]}
        with open_for_reading(results_path(project)) as store:
            *_, built = [each for e, _ in store.experiments() for c in store.contexts(e) for each in c.built]
        return rows["old"]["source"], built.made_from.get("java -version")

    says, whole = f"cat >&2 <<'END'\nPicked up JAVA_TOOL_OPTIONS: -Xint\n{ANSWER}END", ANSWER.rstrip("\n")
    joined = "; ".join(whole.splitlines())
    alike = 'IMPLEMENTOR="Eclipse Adoptium"\nJAVA_RUNTIME_VERSION="17.0.9+9"\n'
    assert source(alike, says) == ("JDK 17.0.9+9 of Eclipse Adoptium", whole)
    assert source(alike.replace("+9", "+11"), says) == (
        f"JDK 17.0.9+11 of Eclipse Adoptium, but java -version says {joined}",
        whole,
    )
    assert source("", says) == (f"java -version: {joined}", whole)
    failed = "no answer, exit status 3: no such option"
    assert source("", "echo no such option; exit 3") == (f"java -version: {failed}", failed)


@pytest.mark.slow
def test_jdks_with_the_same_virtual_machine_are_two_systems_where_release_says_so(project):
    """What the machine itself holds is told by its digest: naming it changes nothing for results that there are."""
    home = project / "old home"
    (home / "bin").mkdir()
    (home / "bin/java").write_text("#!/bin/sh\n")
    (home / "bin/java").chmod(0o755)
    (home / "prog").write_text((home / "prog").read_text() + "# 17.0.9+9 of Debian\n")

    def already(vendor, version):
        (home / "release").write_text(f'IMPLEMENTOR="{vendor}"\nJAVA_RUNTIME_VERSION="{version}"\n')
        said = document(project, "run", "--system", "old", "--seeds", "2", "--share-machine")["already"]
        rows = {row["system"]: row for row in document(project, "analyse", "--system", "old")["evidence"]["systems"]}
        assert rows["old"]["source"] == f"JDK {version} of {vendor}"
        return said

    document(project, "run", "--system", "old", "--seeds", "2", "--share-machine")  # before it had such a file
    assert already("Debian", "17.0.9+9") == 2
    assert already("Somebody", "17.0.9+9") == 0
    assert already("Somebody", "17.0.9+10") == 0
    assert already("Somebody", "17.0.9+9") == 2
    [row] = document(project, "analyse", "--system", "old", "--metric", "t")["benchmarks"]
    assert row["n_executions"] == 2
