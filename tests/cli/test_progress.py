"""What a run shows while it goes on, and above all when."""

from __future__ import annotations

import dataclasses
import math
import os
import pty
import re
import sys
import threading
import tty
from contextlib import contextmanager

import pytest

from fakes import captures, make_config, shell_binaries
from layoutrand.analysis.display_names import DisplayNames
from layoutrand.cli import progress as progress_module
from layoutrand.cli import terminal as terminal_module
from layoutrand.cli.progress import FirstVerdicts, ratio_lines, show_progress, standing_lines
from layoutrand.cli.terminal import Terminal, time_left
from layoutrand.execute.execute import execute
from layoutrand.execute.live import RatioStanding, Standing
from layoutrand.execute.measure import measure
from layoutrand.execute.run_plan import BuiltSystems, RunChoices, RunRequest
from layoutrand.results.file import open_for_writing, results_path
from layoutrand.stats import Interval

CONFIG = make_config('[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n', systems=("a",))
TERMINAL = Terminal(json=False, quiet=False)


class Written:
    """A stream that counts what is written, over another one."""

    def __init__(self, inner):
        self.inner = inner
        self.text = ""

    def write(self, text):
        self.text += text
        return self.inner.write(text)

    def __getattr__(self, name):
        return getattr(self.inner, name)


@contextmanager
def a_terminal(monkeypatch):
    """Standard error is a terminal, and what was written to it is counted."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LINES", "30")
    master, slave = pty.openpty()
    tty.setraw(slave)
    reader = threading.Thread(target=_drain, args=(master,))
    reader.start()
    with os.fdopen(slave, "w", encoding="utf-8") as stream:
        written = Written(stream)
        monkeypatch.setattr(sys, "stderr", written)
        monkeypatch.setattr(progress_module, "_DRAW_S", 0.0)
        yield written
        monkeypatch.undo()
    reader.join()
    os.close(master)


def _drain(master):
    try:
        while os.read(master, 65536):
            pass
    except OSError:  # the other end is closed
        return


def run(tmp_path, executor=measure, terminal=TERMINAL, layouts=(1, 2, 3, "stock"), on_progress=lambda _: None):
    request = RunRequest(
        config=CONFIG,
        project=tmp_path,
        built=BuiltSystems(
            binaries=shell_binaries(tmp_path / "c", "sleep 0.1", systems=("a",), layouts=layouts),
            captures=captures(("a",)),
        ),
        choices=RunChoices(wait_s=0),
    )
    with open_for_writing(results_path(tmp_path)) as store, show_progress(terminal, 0.95, DisplayNames()) as update:

        def advance(progress):
            on_progress(progress)
            update(progress)

        return execute(request, store=store, executor=executor, progress=advance, say=terminal.say)


def test_a_terminal_shows_bar_time_left_and_means(tmp_path, monkeypatch):
    with a_terminal(monkeypatch) as terminal:
        run(tmp_path)
    assert "1/6" in terminal.text and "6/6" in terminal.text
    assert "s left" in terminal.text
    assert re.search(r"b, a: [\d.]+ m?s ± ", terminal.text) and "(3 binaries)" in terminal.text


def test_nothing_is_written_and_no_thread_runs_while_an_execution_is_in_flight(tmp_path, monkeypatch):
    seen = []
    with a_terminal(monkeypatch) as terminal:
        threads = threading.active_count()

        def executor(command):
            before = terminal.text
            outcome = measure(command)
            seen.append((terminal.text == before, threading.active_count()))
            return outcome

        run(tmp_path, executor)
    assert terminal.text
    assert seen == [(True, threads)] * 6


def test_a_failure_is_told_above_the_bar(tmp_path, monkeypatch):
    with a_terminal(monkeypatch) as terminal:
        run(tmp_path, on_progress=lambda progress: TERMINAL.fail(f"execution {progress.done}"))
    for number in range(1, 7):
        assert f"execution {number}" in terminal.text


def test_elsewhere_a_plain_line_at_most_every_ten_seconds(tmp_path, capsys, monkeypatch):
    every, shown = [], []
    run(tmp_path, terminal=Terminal(json=False, quiet=True), on_progress=every.append)
    clock = iter([0.0, *(4.0 * k for k in range(1, 7))])
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: next(clock))
    with show_progress(TERMINAL, 0.95, DisplayNames()) as update:
        for progress in every:
            update(dataclasses.replace(progress, total=7))
            shown.append(len(capsys.readouterr().err.splitlines()))
    monkeypatch.undo()
    assert shown == [0, 0, 1, 0, 0, 1]


def test_a_plain_line_says_how_far_how_long_and_what_is_known_worst(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(progress_module, "_LINE_S", 0.0)
    run(tmp_path)
    first, *lines = capsys.readouterr().err.splitlines()
    assert first == "6 executions; one that still runs after 10 min is killed (timeout_s)"
    assert len(lines) == 5  # the last execution says nothing: the result does
    assert "left" not in lines[0], "one short execution tells nothing of the time between"
    assert re.match(r"executions: 5 of 6, (about \d+ s|less than 1 s) left; ", lines[-1])
    assert "; widest: b, a: " in lines[-1]


def test_lines_have_the_labels_that_people_read(tmp_path, capsys, monkeypatch):
    every = []
    run(tmp_path, terminal=Terminal(json=False, quiet=True), on_progress=every.append)
    monkeypatch.setattr(progress_module, "_LINE_S", 0.0)
    with show_progress(TERMINAL, 0.95, DisplayNames({"a": "GCC 12"}, {"b": "a long sum"})) as update:
        update(every[-2])
    assert "widest: a long sum, GCC 12: " in capsys.readouterr().err


def test_quiet_shows_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(progress_module, "_LINE_S", 0.0)
    run(tmp_path, terminal=Terminal(json=False, quiet=True))
    assert capsys.readouterr().err == ""


def test_where_there_is_no_room_those_known_worst_are_shown():
    widths = [0.01, None, 0.03, 0.02]
    standings = [Standing(f"s{k}", "b", 1.0, "s", width, 2) for k, width in enumerate(widths)]
    assert [line[:5] for line in standing_lines(standings, 4)] == ["b, s0", "b, s1", "b, s2", "b, s3"]
    few = standing_lines(standings, 2)
    assert [line[:5] for line in few[:2]] == ["b, s1", "b, s2"]
    assert few[2] == "and 2 more that are known better"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "less than 1 s left"),
        (12.3, "about 12 s left"),
        (59.6, "about 1 min left"),
        (3599, "about 59 min 59 s left"),
        (None, ""),
    ],
)
def test_the_time_left_is_told_in_whole_seconds(seconds, text):
    assert time_left(seconds) == text


def test_a_time_left_is_told_as_soon_as_it_is_known(capsys, monkeypatch):
    """Of binaries that come at once after a build of a minute, nobody can tell when the rest is done."""
    clock = iter([0.0, 60.0, 60.001, 71.0, 85.0, 96.0])
    monkeypatch.setattr(terminal_module.time, "monotonic", lambda: next(clock))
    with TERMINAL.progress("binaries") as update:
        for done in (1, 2, 3, 4, 5):
            update(done, 100)
    monkeypatch.undo()
    assert capsys.readouterr().err.splitlines() == [
        "binaries: 2 of 100",
        "binaries: 3 of 100, about 8 min 54 s left",
        "binaries: 4 of 100, about 13 min 20 s left",
        "binaries: 5 of 100, about 14 min 15 s left",
    ]


def test_no_time_left_is_told_of_what_is_not_alike(capsys, monkeypatch):
    """Of a build of a minute for each system and a thousand links: the first ones' rate says nothing of the links."""
    clock = iter([0.0, 60.0, 75.0, 90.0])
    monkeypatch.setattr(terminal_module.time, "monotonic", lambda: next(clock))
    with TERMINAL.progress("binaries", alike=False) as update:
        for done in (1, 2, 3):
            update(done, 1100)
    monkeypatch.undo()
    assert capsys.readouterr().err.splitlines() == ["binaries: 2 of 1100", "binaries: 3 of 1100"]


@pytest.mark.parametrize(("seconds", "text"), [(None, ""), (0.3, "less than 1 s left"), (61, "about 1 min 1 s left")])
def test_no_time_left_is_never_about_0_s(seconds, text):
    assert time_left(seconds) == text


def test_a_verdict_is_shown_once_it_is_settled_and_else_how_it_stands():
    def standing(benchmark, low, high, better="less", unit="s"):
        middle = (low + high) / 2
        ratio = Interval(centre=middle, low=low, high=high, confidence=0.95, method="anytime", warnings=())
        return RatioStanding(benchmark, "O2", "O3", ratio, better, unit, 9)

    ratios = [
        standing("parse", 0.86, 0.90),
        standing("rate", 0.86, 0.90, "more", "1/s"),
        standing("count", 1.02, 1.04, unit="1"),
        standing("emit", 0.998, 1.004),
        standing("sort", 0.97, 1.04),
        standing("new", 0.0, math.inf),
    ]
    assert ratio_lines(ratios, FirstVerdicts()) == [
        "parse: O3 against O2 faster after 9 rounds: −12.0 % (−14.0 … −10.0)",
        "rate: O3 against O2 slower after 9 rounds: −12.0 % (−14.0 … −10.0)",
        "count: O3 against O2 more after 9 rounds: +3.0 % (+2.0 … +4.0)",
        "emit: O3 against O2 same after 9 rounds: +0.10 % (−0.20 … +0.40)",
        "sort: O3 against O2 open after 9 rounds: +0.5 % (−3.0 … +4.0)",
    ]
    assert progress_module._settled(ratios, FirstVerdicts()) == "; settled: 4 of 6 (1 faster, 1 slower, 1 more, 1 same)"


def test_a_verdict_that_is_settled_stays_so_though_a_later_interval_reaches_farther():
    def standing(low, high, n_rounds):
        ratio = Interval(centre=0.995, low=low, high=high, confidence=0.95, method="anytime", warnings=())
        return RatioStanding("parse", "O2", "O3", ratio, "less", "s", n_rounds)

    verdicts = FirstVerdicts()
    looks = [standing(0.98, 1.01, 8), standing(0.992, 0.998, 20), standing(0.989, 0.999, 21)]
    lines = [ratio_lines([look], verdicts)[0] for look in looks]
    assert [line.split(":")[1].split(" after ") for line in lines] == [
        [" O3 against O2 open", "8 rounds"],
        [" O3 against O2 same", "20 rounds"],
        [" O3 against O2 same", "20 rounds"],
    ]
    assert progress_module._settled(looks[-1:], verdicts) == "; settled: 1 of 1 (1 same)"
