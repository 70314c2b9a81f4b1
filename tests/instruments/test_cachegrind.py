from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutrand.errors import NoMeasurement, ToolNotFound
from layoutrand.execute.measure import Command, measure
from layoutrand.instruments.known import instrument
from layoutrand.instruments.known.cachegrind import command_prefix, parse_counts
from layoutrand.platform.packages import install

PROFILE = """\
desc: I1 cache:         32768 B, 64 B, 8-way associative
desc: D1 cache:         32768 B, 64 B, 8-way associative
desc: LL cache:         8388608 B, 64 B, 16-way associative
cmd: ./program
events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw Bc Bcm Bi Bim
fl=a.c
fn=main
12 1000 20 3 400 50 6 70 8 9 100 11 12 13
summary: 1000 20 3 400 50 6 70 8 9 100 11 12 13
"""


def test_counts():
    assert parse_counts(PROFILE) == {
        "instructions": 1000,
        "i1_misses": 20,
        "ll_i_misses": 3,
        "data_reads": 400,
        "data_writes": 70,
        "d1_misses": 58,
        "ll_d_misses": 15,
        "branches": 112,
        "branch_mispredictions": 24,
        "estimated_cycles": 1000 + 10 * (20 + 58 + 24) + 100 * (3 + 15),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no line 'events:'"),
        ("hello\n", "no line 'events:'"),
        (PROFILE[:-1], "truncated"),
        (PROFILE[: PROFILE.index("summary")], "truncated"),
        (PROFILE.replace("summary: 1000", "summary:"), "garbled"),
        (PROFILE.replace("summary: 1000", "summary: 1x00"), "garbled"),
        (PROFILE.replace("summary: 1000", "summary: -100"), "garbled"),
        (PROFILE.replace("summary: 1000", "summary: ١٠٠٠"), "garbled"),
        (PROFILE.replace("summary: 1000", f"summary: {'9' * 400}"), "garbled"),
        (PROFILE.replace("summary: 1000", f"summary: {'9' * 5000}"), "garbled"),
        ("events: Ir\nsummary: 5\n", "lacks the events Bc, Bcm"),
    ],
)
def test_unreadable(text, message):
    with pytest.raises(NoMeasurement, match=message):
        parse_counts(text)


@given(st.integers(0, len(PROFILE)))
def test_every_truncation_is_noticed(length):
    if length == len(PROFILE):
        parse_counts(PROFILE)
        return
    with pytest.raises(NoMeasurement):
        parse_counts(PROFILE[:length])


def test_percent_in_a_path_is_no_escape_of_valgrind():
    prefix = command_prefix("/usr/bin/valgrind", "/100%p/out", "/100%/log")
    assert "--cachegrind-out-file=/100%%p/out.%p" in prefix
    assert "--log-file=/100%%/log" in prefix


def test_valgrind_absent_names_the_package(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolNotFound, match=re.escape(install(["valgrind"]))):
        instrument("cachegrind").find()


@pytest.mark.usefixtures("valgrind")
def test_valgrind_is_found_as_absolute_path():
    assert instrument("cachegrind").find().startswith("/")


@pytest.mark.usefixtures("valgrind")
def test_a_real_profile_repeats_to_the_digit(tmp_path: Path):
    weird = tmp_path / "a b%p'$x\n"
    weird.mkdir()
    counts = []
    for name in ("one", "two"):
        prefix = command_prefix(instrument("cachegrind").find(), str(weird / name), str(weird / "log"))
        outcome = measure(
            Command(
                argv=(*prefix, "/bin/echo", "hi"),
                env={},
                cwd=weird,
                stdin=None,
                stdout=weird / "stdout",
                stderr=weird / "stderr",
                timeout_s=60,
            )
        )
        assert outcome.status == "ok", (weird / "stderr").read_text()
        counts.append(parse_counts((weird / f"{name}.{outcome.pid}").read_text()))
    assert counts[0] == counts[1]
    assert counts[0]["instructions"] > 10_000
    assert (weird / "stdout").read_text() == "hi\n"
    assert (weird / "stderr").read_text() == ""
