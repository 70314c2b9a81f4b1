from __future__ import annotations

import os
import re
import shutil
import signal
import stat
from pathlib import Path

import pytest

from layoutrand.config.counter_names import checked_events, metric_of
from layoutrand.errors import FeatureUnsupported, NoMeasurement, ToolNotFound
from layoutrand.execute.measure import Command, measure
from layoutrand.instruments import counters
from layoutrand.instruments.known import instrument
from layoutrand.instruments.perf_stat import command_prefix, fatal_signal, parse_counts, unsupported
from layoutrand.platform.packages import install
from workshop import not_installed

HARDWARE = """\
# started on Sat Nov 21 21:20:29 2026

3202417;;instructions:u;1203945;100.00;1.21;insn per cycle
14127;;branch-misses;1203945;100.00;2.11;of all branches
1.12;msec;task-clock;1115120;100.00;0.684;CPUs utilized
812;;cpu/event=0xc5,umask=0x11/;1203945;100.00;;
1030526;ns;duration_time;1030526;100.00;;
12.5;Joules;power/energy-pkg/;1030526;100.00;;
"""
MULTIPLEXED = """\
# started on Sat Nov 21 21:20:29 2026

3202417;;instructions;903945;75.05;1.21;insn per cycle
"""
VIRTUAL = """\
# started on Sat Nov 21 21:20:29 2026

<not supported>;;instructions;0;100.00;;
50;;page-faults;427558;100.00;116.943;K/sec
<not counted>;;branches;0;0.00;;
"""
HYBRID = """\
# started on Sat Nov 21 21:20:29 2026

3202417;;cpu_core/instructions/;1203945;100.00;;
<not counted>;;cpu_atom/instructions/;0;0.00;;
"""

needs_perf = pytest.mark.skipif(shutil.which("perf") is None, reason=not_installed("perf", "linux-perf"))
SOFTWARE = ["task-clock", "page-faults"]


def test_counts_are_in_base_units():
    events = ["task-clock", "instructions:u", "cpu/event=0xc5,umask=0x11/", "duration_time", "power/energy-pkg/"]
    assert parse_counts(HARDWARE, events) == {
        "task_clock": (pytest.approx(1.12e-3), "s"),
        "instructions_u": (3202417, "1"),
        "cpu_event_0xc5_umask_0x11": (812, "1"),
        "duration_time": (pytest.approx(1.030526e-3), "s"),
        "power_energy_pkg": (12.5, "Joules"),
    }


def test_a_decimal_comma_is_read_too():
    assert parse_counts(HARDWARE.replace("1.12", "1,12"), ["task-clock"]) == {
        "task_clock": (pytest.approx(1.12e-3), "s")
    }


@pytest.mark.parametrize(
    ("text", "event", "message"),
    [
        (
            MULTIPLEXED,
            "instructions",
            r"'instructions' was counted for 75.05 % of the time only, the rest is extrapolated",
        ),
        (VIRTUAL, "instructions", "<not supported> of 'instructions'"),
        (VIRTUAL, "branches", "<not counted> of 'branches'"),
        (
            HYBRID,
            "instructions",
            "but cpu_core/instructions/, cpu_atom/instructions/. Where a processor has cores of two",
        ),
        (HARDWARE, "instructions", "did not count 'instructions' as such, but instructions:u"),
        ("", "cycles", "but nothing"),
        (MULTIPLEXED.replace("3202417", "3x"), "instructions", "75.05"),
        (HARDWARE.replace("14127", "1x"), "branch-misses", "'1x' as the count"),
        (HARDWARE.replace("100.00;2.11", "all;2.11"), "branch-misses", "cannot be read"),
        (HARDWARE[:40], "branch-misses", "did not count"),
        (HARDWARE.replace("14127", "9" * 400), "branch-misses", "as the count"),
        (HARDWARE.replace("14127", "nan"), "branch-misses", "'nan' as the count"),
        (HARDWARE.replace("14127", "-1"), "branch-misses", "'-1' as the count"),
        (HARDWARE.replace("100.00;2.11", "nan;2.11"), "branch-misses", "for nan % of the time only"),
    ],
)
def test_what_is_no_count(text, event, message):
    with pytest.raises(NoMeasurement, match=message):
        parse_counts(text, [event])


def test_what_is_unsupported():
    assert unsupported(VIRTUAL, ["page-faults", "instructions", "cycles"]) == ("instructions", "cycles")


@pytest.mark.parametrize(
    ("stderr", "number"),
    [
        (b"", None),
        (b"prog: all is well\n", None),
        (b"prog: Segmentation fault\n", signal.SIGSEGV),
        (b"words\n\xff no newlineprog: Aborted\n", signal.SIGABRT),
        (b"prog: Killed\nprog: more\n", None),
        (b"other: Killed\n", None),
        (b"prog: File size limit exceeded\n", signal.SIGXFSZ),
    ],
)
def test_the_signal_is_what_perf_says_last(stderr, number):
    assert (
        fatal_signal(stderr, (*command_prefix("/usr/bin/perf", ["cycles"], "/o", "/f"), "prog", "--", "word")) == number
    )


@pytest.mark.parametrize(
    ("event", "metric"),
    [
        ("branch-misses", "branch_misses"),
        ("LLC-load-misses", "llc_load_misses"),
        ("instructions:u", "instructions_u"),
        ("cpu_core/instructions/", "cpu_core_instructions"),
        ("r1a8", "r1a8"),
    ],
)
def test_metrics_have_plain_names(event, metric):
    assert metric_of(event) == metric
    checked_events([event])


@pytest.mark.parametrize("event", ["", "a,b", "{a}", "a b", "a;b", "a\nb", "-e", "cpu/a/b/c/"])
def test_what_is_not_one_event(event):
    with pytest.raises(ValueError, match=r"not the name of one event"):
        checked_events([event])


def test_two_events_of_one_name():
    with pytest.raises(ValueError, match="'branch-misses' and 'branch_misses' are both called branch_misses"):
        checked_events(["branch-misses", "branch_misses"])


def test_perf_absent_names_the_package(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolNotFound, match=re.escape(install(["perf"]))):
        instrument("perf").find()


def fake_perf(path: Path, lines: str) -> str:
    """A perf that writes these lines and does as the real one otherwise; ``$event`` is in EVENTS where it is asked for."""
    path.write_text(f"""#!/bin/sh
while [ "$1" != -- ]; do
  case "$1" in -o) out=$2; shift;; -e) EVENTS="$EVENTS $2 "; shift;; esac; shift
done
shift
{lines}
"$@"
""")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


WORKING = """
for e in $EVENTS; do
  case $e in page-faults|cycles) echo "5;;$e;1;100.00;;";; *) echo "<not supported>;;$e;0;100.00;;";; esac
done > "$out"
"""


def test_events_that_this_machine_lacks_are_told_with_those_that_work(tmp_path):
    perf = fake_perf(tmp_path / "perf", WORKING)
    counters.check_events(perf, ["page-faults", "cycles"])
    with pytest.raises(FeatureUnsupported) as caught:
        counters.check_events(perf, ["page-faults", "instructions", "cycles", "branches"])
    message = str(caught.value)
    assert "cannot count instructions, branches here" in message
    assert "it can count page-faults, cycles." in message


def test_perf_that_does_not_work_at_all_is_quoted(tmp_path):
    perf = fake_perf(tmp_path / "perf", "echo 'WARNING: perf not found for kernel 6.1' >&2; exit 2")
    with pytest.raises(
        FeatureUnsupported, match=r"cannot count cycles here \(WARNING: perf not found for kernel 6.1\)"
    ):
        counters.check_events(perf, ["cycles"])


def test_what_can_be_counted_in_user_mode_is_offered(tmp_path):
    perf = fake_perf(tmp_path / "perf", WORKING.replace("cycles)", "instructions:u)"))
    with pytest.raises(FeatureUnsupported, match=r"In user mode alone it can count instructions:u\. "):
        counters.check_events(perf, ["page-faults", "instructions", "branches:k"])


@pytest.mark.parametrize(("level", "words"), [("4", "or not at all"), ("2", "user mode only")])
def test_the_reason_names_perf_event_paranoid_for_an_ordinary_user(tmp_path, monkeypatch, level, words):
    setting = tmp_path / "paranoid"
    setting.write_text(f"{level}\n")
    monkeypatch.setattr(counters, "_PARANOID", setting)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(FeatureUnsupported, match=rf"perf_event_paranoid is {level}.*{words}.*sysctl"):
        counters.check_events(fake_perf(tmp_path / "perf", WORKING), ["instructions"])


@pytest.fixture
def perf():
    found = instrument("perf").find()
    try:
        counters.check_events(found, SOFTWARE)
    except FeatureUnsupported as error:
        pytest.skip(str(error))
    return found


@needs_perf
def test_an_event_that_does_not_exist(perf):
    with pytest.raises(FeatureUnsupported, match="cannot count no-such-event here .*it can count page-faults"):
        counters.check_events(perf, ["page-faults", "no-such-event"])


@needs_perf
@pytest.mark.parametrize(
    ("script", "status", "returncode", "number"),
    [("echo out", "ok", 0, None), ("exit 3", "exit", 3, None), ("ulimit -c 0; kill -SEGV $$", "ok", 0, signal.SIGSEGV)],
)
def test_real_perf_tells_how_the_program_ended_each_time(perf, tmp_path, script, status, returncode, number):
    """Without a FIFO to listen on, perf 6.1 takes some failures for successes."""
    weird = tmp_path / "a b;%p'$x\n"
    weird.mkdir()
    counters.make_fifo(weird / "fifo")
    argv = (*command_prefix(perf, SOFTWARE, str(weird / "counts"), str(weird / "fifo")), "/bin/sh", "-c", script)
    for _ in range(20):
        outcome = measure(
            Command(
                argv=argv,
                env={"PATH": "/usr/bin:/bin"},
                cwd=weird,
                stdin=None,
                stdout=weird / "o",
                stderr=weird / "e",
                timeout_s=60,
            )
        )
        assert (outcome.status, outcome.returncode) == (status, returncode), (weird / "e").read_text()
        assert fatal_signal((weird / "e").read_bytes(), argv) == number
        counts = parse_counts((weird / "counts").read_text(), SOFTWARE)
        assert counts["task_clock"][1] == "s"
        assert 0 < counts["task_clock"][0] < 60
        assert counts["page_faults"][0] > 10
