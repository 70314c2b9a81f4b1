"""What commands say of the same results: where they answer one question they have one number."""

from __future__ import annotations

import json
import random

import pytest

from experiments import execution, selected, write
from fakes import make_config
from layoutrand.analysis.analyse import Analysis, analyse
from layoutrand.analysis.compare import BenchmarkRatio, compare
from layoutrand.analysis.plan import BenchmarkPlan, make_plans
from layoutrand.cli import run
from layoutrand.model import Measurement

SYSTEMS = ("a", "b")
BENCHMARK = '[[benchmarks]]\nname = "x"\ncommand = ["{artefact}"]\n'
HEAD = '[project]\nname = "fake"\n[build]\ncommands = ["make"]\nartefacts = ["prog"]\n[systems.a]\n[systems.b]\n'
CONFIG = make_config(BENCHMARK, systems=SYSTEMS)

SITUATIONS: dict[str, dict[str, float]] = {
    "layouts differ": {"sd": 0.02},
    "noise alone": {"sd": 0.0, "noise": 0.03},
    "noise of as much as layouts": {"sd": 0.03, "noise": 0.03},
    "rounds that differ": {"sd": 0.02, "of_rounds": 0.05},
    "executed three times": {"sd": 0.02, "noise": 0.02, "executions": 3},
    "noise alone, executed twice": {"sd": 0.0, "noise": 0.03, "executions": 2},
    "out of reach, executed three times": {"sd": 0.02, "noise": 0.5, "executions": 3},
    "without controls": {"sd": 0.02, "controls": 0},
    "incomplete rounds": {"sd": 0.02, "lost": 5},
    "few layouts": {"sd": 0.02, "layouts": 4},
    "decided": {"sd": 0.002},
    "a difference": {"sd": 0.01, "ratio": 0.9},
}


def recorded(
    project,
    *,
    sd: float,
    noise: float = 0.002,
    of_rounds: float = 0.0,
    executions: int = 1,
    once: str = "",
    controls: int = 2,
    lost: int = 0,
    layouts: int = 20,
    ratio: float = 1.0,
    slow: int = 0,
) -> None:
    """Two systems in turns: what layouts, executions and rounds differ by, over the mean; ``lost`` seeds of one; ``once``: executed once."""
    chance = random.Random(7)
    own = {(system, seed): 1 + chance.gauss(0, sd) for system in SYSTEMS for seed in range(1, layouts + 1)}
    rows = []
    for repetition in range(executions):
        for seed in range(1, layouts + 1):
            both = 1 + chance.gauss(0, of_rounds)
            turn = [(s, name) for s in SYSTEMS for name in (seed, *("stock", "identity")[:controls])]
            chance.shuffle(turn)
            for system, layout in turn:
                if (system == "b" and layout == seed and seed > layouts - lost) or (system == once and repetition):
                    continue
                value = own.get((system, layout), 1.0) * both * (1 + chance.gauss(0, noise))
                value *= ratio if system == "b" else 1.0
                value *= 1.0 if system == "a" or layout != seed or not slow else 0.97 if seed % slow else 1.5
                rows.append(
                    execution(
                        CONFIG,
                        project,
                        system,
                        "x",
                        layout,
                        round=seed,
                        repetition=repetition,
                        started_at=1e9 + 2 * len(rows),
                        measurements=(Measurement("wall_s", "s", 0, value, warmup=False),),
                    )
                )
    (project / "layoutrand.toml").write_text(HEAD + BENCHMARK)
    write(CONFIG, project, rows)


def told(project) -> tuple[BenchmarkRatio, dict[str, Analysis], dict[str, BenchmarkPlan]]:
    selection = selected(CONFIG, project)
    (pair,) = compare(selection, "a", "b", confidence=0.95, threshold=0.01, metric=None).benchmarks
    plans = make_plans(selection, {}, half_widths=(0.01,), threshold=0.01, confidence=0.95)
    analyses = analyse(selection, confidence=0.95, metrics=[]).analyses
    return pair, {each.system: each for each in analyses}, {each.system: each for each in plans}


def test_means_and_medians_that_say_the_opposite_decide_nothing_anywhere(tmp_path, monkeypatch, capsys):
    """Three of four layouts are faster by 3 %, the others slower by half: "decided" would stand beside "cannot tell"."""
    monkeypatch.chdir(tmp_path)
    recorded(tmp_path, sd=0.003, layouts=40, slow=4)
    pair, _, plans = told(tmp_path)
    assert (pair.verdict, pair.forecast) == ("slower", None)
    assert plans["b"].for_ratio is not None
    assert not plans["b"].for_ratio.is_decided
    assert run(["compare", "a", "b", "--full"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "x: cannot tell: " in said
    assert not any(words in said for words in ("decided", "say the opposite"))
    assert run(["compare", "a", "b", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["benchmarks"]
    assert (row["conclusion"], row["single_pairs"]) == ("cannot tell", None)


@pytest.mark.parametrize("once", SYSTEMS)
def test_systems_of_which_one_alone_was_executed_repeatedly_are_planned(tmp_path, once):
    recorded(tmp_path, sd=0.02, executions=3, once=once, controls=0)
    plans = told(tmp_path)[2]
    assert {name: list(each.counts) for name, each in plans.items()} == {
        name: [] if name == once else ["execution"] for name in SYSTEMS
    }


@pytest.mark.parametrize("situation", SITUATIONS)
def test_one_question_has_one_number(tmp_path, situation):
    """Where the binaries are planned to be executed as often as they were, and else the plan has that number, too."""
    recorded(tmp_path, **SITUATIONS[situation])
    pair, analyses, plans = told(tmp_path)
    ratio = plans["b"].for_ratio

    assert ratio is not None
    assert ratio.is_decided == (pair.verdict != "undecided")
    assert ratio.is_paired == (pair.primary == "paired")
    as_often = all(each.counts == each.repetitions for each in plans.values())
    assert as_often == (situation != "executed three times")
    if pair.forecast is not None:
        both = [max(each.binaries[k] for each in (ratio.same, ratio.different)) for k in (0, 1)]
        counted = [pair.forecast.fewest, pair.forecast.n_binaries]
        assert both == counted if as_often else all(a > b for a, b in zip(both, counted, strict=True))
        assert (None if as_often else tuple(counted)) == (ratio.as_executed and ratio.as_executed.binaries)
    for system, plan in plans.items():
        found = analyses[system].findings
        assert found is not None
        if found.layout.noise_sd is not None:
            assert plan.relative_sds["execution"] == pytest.approx(found.layout.noise_sd)
        if as_often or found.needed.n_more == 0:
            assert plan.for_mean[0].count.binaries == (found.needed.fewest, found.needed.n_binaries)


@pytest.mark.parametrize("situation", [each for each in SITUATIONS if each != "executed three times"])
def test_the_same_is_to_be_done_next(tmp_path, monkeypatch, capsys, situation):
    """`compare` and `plan` name the same number of layouts to execute, or none does."""
    recorded(tmp_path, **SITUATIONS[situation])
    monkeypatch.chdir(tmp_path)
    commands = []
    for command in ("compare", "plan"):
        assert run([command]) == 0
        screen = capsys.readouterr().out
        assert "Details: --full" in screen
        steps = screen.partition("  Next: ")[2]  # which may be longer than a line, or nothing
        commands.append(" ".join(steps.split()).partition("layoutrand run")[2].split())
    assert commands[0][:2] == commands[1][:2]
