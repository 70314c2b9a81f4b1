from __future__ import annotations

import pytest

from layoutrand.instruments.known import profilers, simulated, starter
from layoutrand.instruments.valgrind_log import NAME, why_it_gave_up

# What valgrind 3.19 wrote of a program of 41 files of C++ that clang 14 had compiled with -g.
DWARF = """\
--1040-- warning: L3 cache found, using its data for the LL simulation.
### unhandled dwarf2 abbrev form code 0x25
### unhandled dwarf2 abbrev form code 0x23
==1040== Valgrind: debuginfo reader: ensure_valid failed:
==1040== Valgrind:   during call to ML_(img_get)
==1040== Valgrind:   request for range [292170863, +4) exceeds
==1040== Valgrind:   valid image size of 2643576 for image:
==1040== Valgrind:   "/x/bin/prog"
==1040==
==1040== Valgrind: debuginfo reader: Possibly corrupted debuginfo file.
==1040== Valgrind: I can't recover.  Giving up.  Sorry.
==1040==
"""
MEMORY = """\
==12==
==12==     Valgrind's memory management: out of memory:
==12==        newSuperblock's request for 4194304 bytes failed.
==12==     Valgrind cannot continue.  Sorry.
"""
ASSERTION = """\

valgrind: the 'impossible' happened:
   VG_N_THREADS is too low

host stacktrace:
"""
FAULT = """\
==1810== Process terminating with default action of signal 11 (SIGSEGV)
==1810==  Access not within mapped region at address 0x0
"""


def test_of_debugging_information_that_it_cannot_read_the_telling_line_and_what_helps():
    said = why_it_gave_up([DWARF])
    assert said.startswith("valgrind gave up: 'Valgrind: debuginfo reader: Possibly corrupted debuginfo file'; ")
    assert "-gdwarf-4, or without -g" in said


@pytest.mark.parametrize(
    ("log", "told"),
    [
        (MEMORY, "out of memory: newSuperblock"),
        (ASSERTION, "the 'impossible' happened: VG_N_THREADS is too low"),
        ("valgrind: FATAL: aspacem assertion failed:\n  0\n", "FATAL: aspacem assertion failed: 0"),
    ],
)
def test_other_causes_are_told_without_that_advice(log, told):
    said = why_it_gave_up([log])
    assert told in said
    assert "-gdwarf-4" not in said


@pytest.mark.parametrize("log", ["", FAULT, "### unhandled dwarf2 abbrev form code 0x25\n"])
def test_of_a_program_that_ended_by_itself_nothing_is_said(log):
    """Valgrind has remarks about debugging information of programs that it counts, too."""
    assert why_it_gave_up([log]) == ""


def test_of_several_processes_one_may_have_been_given_up():
    assert why_it_gave_up([FAULT, DWARF]) == why_it_gave_up([DWARF]) != ""


def test_every_instrument_that_keeps_such_a_log_reads_it():
    of_valgrind = [each for each in (starter("cachegrind"), *profilers()) if each.name in simulated()]
    assert {each.name for each in of_valgrind} == {"cachegrind", "callgrind"}
    for each in of_valgrind:
        assert each.why_it_gave_up(lambda name: [DWARF] if name == NAME else []), each.name
    assert starter("native").why_it_gave_up(lambda _name: [DWARF]) == ""
