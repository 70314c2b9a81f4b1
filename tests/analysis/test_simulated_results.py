"""Results of a simulated processor: nothing on the machine disturbs them, and they are told of beside times."""

from __future__ import annotations

import json

import pytest

from experiments import execution, selected, write
from fakes import make_config
from layoutrand.analysis.analyse import analyse
from layoutrand.analysis.compare import compare
from layoutrand.cli import run
from layoutrand.model import Measurement
from warningkit import said, unwrapped

NATIVE, CACHEGRIND = "native", "cachegrind"
METRICS = {NATIVE: ("wall_s", "s"), CACHEGRIND: ("estimated_cycles", "1")}
BUSY = {"window_s": 1.0, "other_cpu_s": 0.9, "own_cpu_s": 0.1, "governor": "performance", "turbo": True}


def config_of(metric):
    return make_config(
        f'[[benchmarks]]\nname = "b"\ncommand = ["{{artefact}}"]\nmetric = {metric}\n', systems=("a", "c")
    )


def recorded(tmp_path, config, instruments, seeds=range(1, 7), **changes):
    rows = []
    for instrument in instruments:
        metric, unit = METRICS[instrument]
        extra = "instructions"
        for system in ("a", "c"):
            for seed in seeds:
                value = 100.0 + seed + (system == "c")
                values = [Measurement(metric, unit, 0, value, warmup=False)]
                if instrument == CACHEGRIND:
                    values.append(Measurement(extra, "1", 0, value, warmup=False))
                state = {"host_state": BUSY, "disturbances": ("busy",)} | changes.get(instrument, {})
                if seed == 3:
                    state["host_state"] = {**state["host_state"], "governor": "powersave"}
                rows.append(
                    execution(
                        config, tmp_path, system, "b", seed, instrument=instrument, measurements=tuple(values), **state
                    )
                )
    write(config, tmp_path, rows)
    return selected(config, tmp_path)


def of_host(warnings):
    return [text for text in warnings if "disturbed" in text or "settings" in text]


def test_nothing_disturbs_what_is_simulated(tmp_path):
    """Not even where an older layoutrand recorded that something did."""
    selection = recorded(tmp_path, config_of("{ cachegrind = true }"), [CACHEGRIND])
    report = analyse(selection, confidence=0.95, metrics=[])
    ratio = compare(selection, "a", "c", confidence=0.95, threshold=0.01, metric=None)
    assert of_host(said(selection.warnings)) == of_host(said(report.warnings)) == of_host(said(ratio.warnings)) == []
    assert report.disturbed == ratio.disturbed == ()


def test_one_simulated_layout_is_no_count_that_no_layout_changes(tmp_path):
    """That one differs from no other says nothing of others, and is told."""
    selection = recorded(tmp_path, config_of("{ cachegrind = true }"), [CACHEGRIND], seeds=[1])
    told = [said(each.warnings) for each in analyse(selection, confidence=0.95, metrics=[]).analyses]
    assert all(any("1 binary cannot show how much binaries differ" in text for text in texts) for texts in told)


@pytest.mark.parametrize(("metric", "told"), [("estimated_cycles", False), ("wall_s", True)])
def test_what_disturbed_times_is_not_told_of_simulated_counts(tmp_path, metric, told):
    selection = recorded(tmp_path, config_of("{ wall = true, cachegrind = true }"), [NATIVE, CACHEGRIND])
    report = analyse(selection, confidence=0.95, metrics=[metric])
    ratio = compare(selection, "a", "c", confidence=0.95, threshold=0.01, metric=metric)
    for warnings in (said(report.warnings), said(ratio.warnings)):
        assert len(of_host(warnings)) == (2 if told else 0)
    assert bool(report.disturbed) == bool(ratio.disturbed) == told


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "layoutrand.toml").write_text(
        '[project]\nname = "p"\n[build]\nsource = "src"\ncommands = ["make"]\nartefacts = ["prog"]\n'
        '[systems.a]\n[systems.c]\n[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'
        "metric = { wall = true, cachegrind = true }\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", [("analyse",), ("compare", "a", "c"), ("compare", "a", "a")])
def test_times_are_shown_with_a_line_on_the_simulated_counts(project, capsys, command):
    from layoutrand.cli.options import load_config

    recorded(project, load_config(project), [NATIVE, CACHEGRIND])
    assert run([*command, "--full"]) == 0
    lines = [line for line in unwrapped(capsys.readouterr().out).splitlines() if "imulated" in line]
    assert len(lines) == 1
    assert "recorded of b as well: --metric estimated_cycles shows them" in lines[0]
    assert lines[0].endswith("each of instructions.")
    assert run([*command, "--metric", "estimated_cycles"]) == 0
    assert "as well" not in capsys.readouterr().out
    assert run([*command, "--json"]) == 0
    json.loads(capsys.readouterr().out)


def test_without_simulated_counts_there_is_no_such_line(project, capsys):
    from layoutrand.cli.options import load_config

    recorded(project, load_config(project), [NATIVE])
    assert run(["analyse"]) == 0
    assert "imulated" not in capsys.readouterr().out
