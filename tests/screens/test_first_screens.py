"""The first screens of `compare` and `analyse`: transcripts at 80 and 120 columns, and what holds for every one.

``LAYOUTRAND_ANSWERS=write`` writes the transcripts anew.
"""

import json
import os
import random
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.cells import cell_len

import layoutrand
from experiments import execution, measured, write
from fakes import make_config
from layoutrand.analysis.analysis_warnings import NoShift
from layoutrand.analysis.node_warnings import ControlElsewhere
from layoutrand.cli import analysis, run
from layoutrand.config.config import parse
from layoutrand.config.disturbance import Disturbed
from layoutrand.config.execution_warnings import DisturbedExecutions, disturbed_together
from layoutrand.model import Measurement
from layoutrand.screens.charts import SCREEN_LINES
from layoutrand.screens.layout_screen import bounded
from layoutrand.screens.layout_tables import all_warnings

KEPT = Path(__file__).parent / "answers"
HEAD = '[project]\nname = "fake"\n[build]\ncommands = ["x"]\nartefacts = ["prog"]\n[systems.O2]\n[systems.O3]\n'


def table_of(names):
    return "".join(f'[[benchmarks]]\nname = "{name}"\ncommand = ["{{artefact}}"]\n' for name in names)


def spread(chance, mean, sd=0.01, n=30):
    """Layouts that differ by so much of the mean, with noise of a tenth of that; stock and identity in every round."""
    rows = {k: [[mean * (1 + chance.gauss(0, sd) + chance.gauss(0, sd / 10))]] for k in range(1, n + 1)}
    controls = {name: [[mean * (1 + chance.gauss(0, sd / 10))] for _ in range(n)] for name in ("stock", "identity")}
    return rows | controls


def recorded(root, ratios, *, sd=0.01, n=30, failed=0):
    """Two systems, and of each benchmark how much the candidate takes of the baseline."""
    chance = random.Random(11)
    config = make_config(table_of(ratios), systems=("O2", "O3"))
    (root / "layoutrand.toml").write_text(HEAD + table_of(ratios))
    rows = []
    for name, ratio in ratios.items():
        for system, factor in (("O2", 1.0), ("O3", ratio)):
            rows += measured(config, root, system, name, spread(chance, 10.0 * factor, sd, n))
    rows += [
        execution(config, root, "O3", next(iter(ratios)), 900 + k, status="crashed", reason="signal 11 (SIGSEGV)")
        for k in range(failed)
    ]
    write(config, root, rows)


def alternating(root):
    """A machine that goes from 72 to 107 ms and back while both systems take turns."""
    chance = random.Random(5)
    config = make_config(table_of(["compile"]), systems=("O2", "O3"))
    (root / "layoutrand.toml").write_text(HEAD + table_of(["compile"]))
    rows = []
    for seed in range(1, 31):
        own = [(system, layout) for system in ("O2", "O3") for layout in (seed, "stock", "identity")]
        chance.shuffle(own)
        for system, layout in own:
            value = (0.107 if len(rows) % 60 in range(25, 50) else 0.072) * chance.gauss(1, 0.02)
            rows.append(
                execution(
                    config,
                    root,
                    system,
                    "compile",
                    layout,
                    round=seed,
                    started_at=1e9 + len(rows),
                    measurements=(Measurement("wall_s", "s", 0, value, warmup=False),),
                )
            )
    write(config, root, rows)


SITUATIONS = {
    "clear": lambda root: recorded(root, {"parse": 0.88, "emit": 1.05, "sort": 1.0}, sd=0.004),
    "cannot tell": lambda root: recorded(root, {"parse": 1.012}, sd=0.04, n=6),
    "many": lambda root: recorded(root, {f"benchmark-{k:02}": 1 + 0.02 * (k % 4 == 0) for k in range(20)}, sd=0.003),
    "failures": lambda root: recorded(root, {"parse": 0.97, "a-benchmark-with-a-name-that-is-long": 1.0}, failed=7),
    "machine": alternating,
    "one layout": lambda root: recorded(root, {"parse": 1.05}, n=1),
}
COMMANDS = {"compare": ["compare", "O2", "O3"], "analyse": ["analyse"], "itself": ["compare", "O2", "O2"]}


@pytest.fixture(scope="module")
def projects(tmp_path_factory):
    """Each situation is recorded once."""
    made = {}

    def of(situation):
        if situation not in made:
            made[situation] = tmp_path_factory.mktemp("answer")
            SITUATIONS[situation](made[situation])
        return made[situation]

    return of


@pytest.fixture
def screen(projects, monkeypatch, capsys):
    def shown(situation, command, width):
        monkeypatch.chdir(projects(situation))
        monkeypatch.setattr(analysis, "terminal_width", lambda: width)
        assert run(COMMANDS[command]) == 0
        captured = capsys.readouterr()
        assert captured.err == ""
        return captured.out

    return shown


@pytest.fixture
def rows(projects, monkeypatch, capsys):
    def of(situation, command):
        monkeypatch.chdir(projects(situation))
        assert run([*COMMANDS[command], "--json"]) == 0
        return json.loads(capsys.readouterr().out)["benchmarks"]

    return of


def kept_or_written(name, text):
    """The transcript that is kept; with ``LAYOUTRAND_ANSWERS=write`` it is written."""
    path = KEPT / f"{name.replace(' ', '-')}.txt"
    if os.environ.get("LAYOUTRAND_ANSWERS") == "write":
        path.write_text(text)
    return path.read_text()


@pytest.mark.parametrize(
    ("situation", "command"),
    [(s, c) for s in SITUATIONS for c in COMMANDS if (s, c) != ("one layout", "itself")],  # one has no two sides
)
def test_transcripts(screen, situation, command):
    for width in (80, 120):
        text = screen(situation, command, width)
        lines = text.splitlines()
        assert text == kept_or_written(f"{situation}-{command}-{width}", text)
        assert max(map(cell_len, lines)) <= width
        assert len(lines) <= (24 if command == "itself" else 20) + (8 if situation == "many" else 0)
        assert not any(line != line.rstrip() for line in lines)
        assert next(place for place, line in enumerate(lines) if line[2:3] in set("✓✗≈?=●⚠")) <= 3  # the first verdict
        assert "Details: --full" in lines[-1]


@pytest.mark.parametrize("situation", [*SITUATIONS, "far apart"])
def test_nothing_is_wider_than_a_narrow_screen(tmp_path, monkeypatch, capsys, situation):
    """Of layouts far apart the interval is long: numbers stood beyond the edge."""
    make = SITUATIONS.get(situation, lambda root: recorded(root, {"parse": 1.0, "emit": 20.0}, sd=0.3, n=2))
    make(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(analysis, "terminal_width", lambda: 60)
    for command in (["compare", "O2", "O3"], ["analyse"]):
        assert run(command) == 0
        lines = capsys.readouterr().out.splitlines()
        assert not [line for line in lines if cell_len(line) > 60]
        if (situation, command[0]) == ("far apart", "compare"):
            assert any(line.startswith("    (−90 or less … +900 or more)") for line in lines)


@pytest.mark.parametrize("situation", ["clear", "machine"])
def test_every_benchmark_has_the_verdict_that_the_document_has(screen, rows, situation):
    text = screen(situation, "compare", 80)
    found = rows(situation, "compare")
    for row in found:
        (line,) = [line for line in text.splitlines() if line[4:].startswith(row["benchmark"]) and "(" in line]
        assert row["conclusion"] in line
    wanted = {"clear": {"faster", "slower", "same"}, "machine": {"cannot tell"}}
    assert {row["conclusion"] for row in found} == wanted[situation]


def test_a_screen_without_colours_or_characters_says_the_same(screen, monkeypatch):
    text = screen("clear", "compare", 80)
    monkeypatch.setattr("layoutrand.cli.terminal.can_draw", lambda: False)
    plain = screen("clear", "compare", 80)

    assert plain.isascii()
    assert "\x1b" not in text
    for word in ("faster", "slower", "same within 1 %", "Details: --full"):
        assert (word in plain, word in text) == (True, True)


@pytest.mark.parametrize(("n_systems", "n_benchmarks", "is_drawn"), [(3, 1, True), (3, 3, False), (4, 8, False)])
def test_several_comparisons_fit_into_a_screen(tmp_path, monkeypatch, capsys, n_systems, n_benchmarks, is_drawn):
    names, systems = [f"b{k}" for k in range(n_benchmarks)], [f"s{k}" for k in range(n_systems)]
    config = make_config(table_of(names), systems=systems)
    tables = "".join(f"[systems.{name}]\n" for name in systems)
    (tmp_path / "layoutrand.toml").write_text(HEAD.split("[systems", 1)[0] + tables + table_of(names))
    chance = random.Random(3)
    rows = [
        row
        for number, system in enumerate(systems)
        for name in names
        for row in measured(config, tmp_path, system, name, spread(chance, 10.0 * (1 + 0.1 * number), n=5))
    ]
    write(config, tmp_path, rows)
    monkeypatch.chdir(tmp_path)
    assert run(["compare", *systems]) == 0
    lines = capsys.readouterr().out.rstrip("\n").split("\n")
    assert len(lines) <= SCREEN_LINES
    assert any("├" in line for line in lines) == is_drawn
    for name in systems[1:]:
        assert any(line.startswith(f"{name} against s0") for line in lines)
    assert lines[-1].endswith("Details: --full")


def test_explain_is_named_only_where_it_can_be_called(tmp_path, monkeypatch, capsys):
    """For results of others there is no program to look at; the own build is beyond their layouts all the same."""
    config = make_config(table_of(["parse"]), systems=("O2",))
    (tmp_path / "layoutrand.toml").write_text(HEAD.partition("[systems.O3]")[0] + table_of(["parse"]))
    values = spread(random.Random(3), 10.0) | {"stock": [[9.5 + k / 1000] for k in range(30)]}
    write(config, tmp_path, measured(config, tmp_path, "O2", "parse", values))
    monkeypatch.chdir(tmp_path)
    lines = []
    for words in (["analyse"], ["export", "--format", "json"], ["analyse", "--import", "out.json"]):
        assert run(words) == 0
        said = capsys.readouterr().out
        (tmp_path / "out.json").write_text(said)
        lines.append(" ".join(said.split()))
    assert "your own build beats every layout" in lines[0]
    assert "Next: layoutrand explain Details: --full" in lines[0]
    assert "where all code is laid out anew." in lines[0]
    assert "your own build beats every layout" in lines[2]
    assert "layoutrand explain" not in lines[2]


@pytest.mark.parametrize(
    ("sd", "n", "is_named"),
    [(0.02, 30, True), (0.02, 15, False), (0.00001, 30, False)],  # 15 are too few to tell functions apart
)
def test_whose_place_it_is_is_asked_where_layout_matters(tmp_path, monkeypatch, capsys, sd, n, is_named):
    config = make_config(table_of(["parse"]), systems=("O2",))
    rows = measured(config, tmp_path, "O2", "parse", spread(random.Random(3), 10.0, sd, n))
    write(config, tmp_path, rows)
    text = HEAD.partition("[systems.O3]")[0] + table_of(["parse"])
    (tmp_path / "layoutrand.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert run(["analyse"]) == 0
    assert ("layoutrand explain" in capsys.readouterr().out) == is_named
    assert run(["analyse", "--any-source"]) == 0  # which the command would have to be given, too
    assert "layoutrand explain" not in capsys.readouterr().out


def test_nothing_is_explained_of_what_is_prebuilt():
    text = HEAD + '[systems.jdk]\nprebuilt = "jdk"\n' + table_of(["parse"])
    config, selection = parse(text, path="layoutrand.toml"), SimpleNamespace(names=SimpleNamespace(system=str.upper))
    assert analysis.explainable(config, selection) == {"O2", "O3"}
    assert analysis.explainable(None, selection) == set()


def test_more_layouts_are_imported_where_no_project_is_that_could_execute_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    drawn = random.Random(3)
    rows = [
        f"{system},x,{seed},{drawn.gauss(mean, 0.02)}" for system, mean in (("A", 1), ("B", 1.01)) for seed in range(8)
    ]
    (tmp_path / "in.csv").write_text("\n".join(["system,benchmark,seed,value", *rows]))
    lines, steps = [], []
    for is_there in (False, True):
        if is_there:
            (tmp_path / "layoutrand.toml").write_text("")
        assert run(["compare", "A", "B", "--import", "in.csv"]) == 0
        lines += [line for line in capsys.readouterr().out.splitlines() if "Next: " in line]
        assert run(["compare", "A", "B", "--import", "in.csv", "--json"]) == 0
        (row,) = json.loads(capsys.readouterr().out)["benchmarks"]
        steps.append(row["next"][0])
        assert (row["conclusion"], row["verdict"]) == ("cannot tell", "undecided")
    assert re.search(r"Next: import [0-9]+ binaries of each system  ", lines[0])
    assert re.search(r"Next: layoutrand run --seeds [0-9]+  ", lines[1])
    # Documents and the library say what the screen says.
    assert steps[0]["command"] is None and re.fullmatch(r"import [0-9]+ binaries of each system", steps[0]["sentence"])
    assert steps[1]["command"].startswith("layoutrand run --seeds ")
    (tmp_path / "layoutrand.toml").unlink()
    (row,) = layoutrand.load_files("in.csv").compare("A", "B")
    assert [(row.conclusion.next[0].command, row.conclusion.next[0].sentence)] == [("", steps[0]["sentence"])]


def test_why_a_control_has_no_shift_is_told_under_the_tables():
    told = NoShift("stock", "no variation"), ControlElsewhere("identity")
    stock, identity = (SimpleNamespace(warnings=(each,)) for each in told)
    assert all_warnings(SimpleNamespace(warnings=(), stock=stock, identity=identity)) == list(told)
    assert all_warnings(SimpleNamespace(warnings=told[:1], stock=None, identity=identity)) == list(told)


def test_a_bound_of_what_layout_adds_stays_one_and_is_that_of_the_sentences():
    assert [bounded(upper) for upper in (0.0, 0.0123, 0.2711, 8.26)] == [
        "none",
        "below 1.3 %",
        "below 28 %",
        "cannot tell",
    ]


def test_executions_of_one_layout_are_counted_and_their_noise_is_shown(tmp_path, monkeypatch, capsys):
    text = '[project]\nname = "p"\n[build]\nartefacts = ["prog"]\n[systems.old]\nprebuilt = "old"\n'
    (tmp_path / "layoutrand.toml").write_text(text + table_of(["parse"]))
    config = parse(text + table_of(["parse"]), path="layoutrand.toml")
    write(config, tmp_path, measured(config, tmp_path, "old", "parse", {"stock": [[k] for k in (0.99, 1.0, 1.01)]}))
    monkeypatch.chdir(tmp_path)
    assert run(["analyse"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert "old: 3 executions" in shown[0]
    assert shown[3].split() == ["=", "parse", "-", "±1.0", "%", "-", "-"]
    assert "  = one layout alone, which says nothing of how layouts differ" in shown


def test_what_disturbed_the_cases_of_one_harness_is_told_once():
    counts = (60, 60, {"busy": 60}, {"a": 60}, {})
    cases = [DisturbedExecutions(Disturbed(name, *counts), is_repeated=False) for name in ("h/1", "h/2", "h/3")]
    other = DisturbedExecutions(Disturbed("other", 60, 2, {"busy": 2}, {"a": 2}, {}), is_repeated=False)
    told = [str(each) for each in disturbed_together([*cases, other, *cases])]
    assert [each.partition(":")[0] for each in told] == ["h/1, h/2 and 1 more", "other"]
    assert disturbed_together([other]) == [other]


@pytest.mark.parametrize(("n_layouts", "group"), [(10, "26 %"), (29, "9.8 %"), (30, None)])
def test_of_few_layouts_that_are_the_same_it_is_said_what_may_be_missing(
    tmp_path, monkeypatch, capsys, n_layouts, group
):
    """A tenth of one system's layouts may be 30 % slower: of 10 layouts none of these is there in one case of three."""
    monkeypatch.chdir(tmp_path)
    drawn = random.Random(3)
    rows = [f"{name},x,{seed},{drawn.gauss(1, 0.002)}" for name in "AB" for seed in range(n_layouts)]
    (tmp_path / "in.csv").write_text("\n".join(["system,benchmark,seed,value", *rows]))
    assert run(["compare", "A", "B", "--import", "in.csv"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "≈ x same within 1 %" in said
    told = f"≈ the same, of {n_layouts} layouts: a group of up to {group} of all could have been missed"
    assert (told in said) if group else ("could have been missed" not in said)


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("situation", ["clear", "cannot tell", "many", "failures", "machine"])
def test_every_first_screen_fits_a_screen(screen, situation, command, width):
    """Of 20 benchmarks in two systems, too: `compare` had 27 lines of them, of one system against itself 32."""
    lines = screen(situation, command, width).rstrip("\n").split("\n")
    assert len(lines) <= SCREEN_LINES
    assert max(map(cell_len, lines)) <= width


def test_what_says_something_is_told_before_figures_are_drawn(screen):
    """Of 20 benchmarks the 5 that are slower stand there, whatever gives way; and none is counted that is not there."""
    for width in (60, 80, 120):
        text = screen("many", "compare", width)
        assert text.count("slower  ") >= 5
        assert "of 21" not in text
    assert "├" in text
