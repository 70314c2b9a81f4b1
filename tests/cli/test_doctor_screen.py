"""What `layoutrand doctor` answers: whether this machine is ready, then what stands in the way and what mends it."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutrand.cli import doctor_checks, run
from layoutrand.cli.doctor_checks import Ability, Diagnosis
from layoutrand.cli.doctor_command import diagnosis_screen
from layoutrand.host.host_problems import HostProblem
from layoutrand.platform.control_groups import NoPlace, Place
from layoutrand.screens.charts import width_of

FACTS = {
    "hostname": "vm",
    "cpu_model": "Processor",
    "cpus_allowed": 2,
    "cpus": 4,
    "memory_bytes": 24 << 30,
    "kernel": "Linux 6",
    "aslr": 2,
}
NOTE = HostProblem("note", "a virtual machine: neighbours disturb wall times", "measure on bare metal")
WARNING = HostProblem("warning", "the governor is powersave " + "and so on " * 12, "first step\nsecond step")
ERROR = HostProblem("error", "the cache cannot be used", "export LAYOUTRAND_CACHE=/a/writable/directory")

NO_GROUP = NoPlace("systemd has not delegated one", "systemd-run")


def screen(*problems, columns=80, isolation=NO_GROUP, without_huge_pages=("", "")):
    abilities = (Ability("gcc", True, ("function-order",), ""), Ability("clang", False, (), "no clang"))
    programs = {"valgrind": None, "perf": "/usr/bin/perf"}
    found = Diagnosis(
        abilities, programs, FACTS, {}, {}, None, problems, isolation, without_huge_pages=without_huge_pages
    )
    lines = diagnosis_screen(found, columns)
    assert max(map(width_of, lines)) <= columns
    return ["".join(text for text, _ in line) for line in lines]


@pytest.mark.parametrize(
    ("problems", "answer"),
    [
        ((), "  ✓ ready to build and to measure"),
        ((NOTE,), "  ✓ ready to build and to measure"),
        ((NOTE, WARNING), "  ⚠ ready to build; 1 thing to see to before measuring"),
        ((NOTE, WARNING, WARNING), "  ⚠ ready to build; 2 things to see to before measuring"),
        ((NOTE, WARNING, ERROR), "  ✗ not ready: what is marked like this comes first"),
    ],
)
def test_the_answer_stands_first(problems, answer):
    assert screen(*problems)[2] == answer


def test_a_machine_that_does_not_tell_its_memory_is_answered_too(monkeypatch):
    """As a bare chroot without /proc."""
    monkeypatch.setitem(FACTS, "memory_bytes", None)
    assert screen(ERROR)[0] == "vm: Processor, 2 of 4 CPUs, unknown memory, Linux 6, ASLR 2"


def test_the_worst_comes_first_with_what_mends_it():
    lines = screen(NOTE, WARNING, ERROR)
    assert [line[:3] for line in lines if line[:4].strip()][2:5] == ["  ✗", "  ⚠", "  ⓘ"]
    place = lines.index("    mend: first step")
    assert lines[place + 1] == "          second step"
    assert "    mend: export LAYOUTRAND_CACHE=/a/writable/directory" in lines
    assert lines[-5:-2] == [
        "  Toolchains here: gcc",
        "  Toolchains not here: clang; --full says what each lacks",
        "  Measuring programs here: perf",
    ]


def test_versions_that_are_installed_are_said():
    abilities = (
        Ability("clang", True, ("function-order",), "clang 14; ld 2.40", ("clang-14", "clang-19")),
        Ability("clang-lld", True, ("function-order",), "clang 14; lld 14", ("clang-lld-14", "clang-lld-19")),
    )
    found = Diagnosis(abilities, {}, FACTS, {}, {}, None, (), NO_GROUP)
    lines = ["".join(text for text, _ in line) for line in diagnosis_screen(found, 80)]
    assert "  Versions that can be named, alone or as in clang-lld-19: clang-14, clang-19" in lines


def test_cross_compilers_that_are_not_here_are_not_named():
    abilities = (Ability("gcc", True, (), ""), Ability("gcc-aarch64", False, (), "no such gcc", is_cross=True))
    found = Diagnosis(abilities, {}, FACTS, {}, {}, None, (), NO_GROUP)
    assert not [line for line in diagnosis_screen(found, 80) for text, _ in line if "not here" in text]


@pytest.mark.parametrize(
    ("isolation", "words"),
    [
        (NO_GROUP, "process-group"),
        (Place(Path("/g"), ()), "control-group, which limits nothing"),
        (Place(Path("/g"), ("memory", "processes")), "control-group, which limits memory and processes"),
    ],
)
def test_it_says_which_isolation_there_is(isolation, words):
    assert screen(isolation=isolation)[-1] == f"  Isolation here: {words}"


def test_it_says_whether_text_can_lie_on_huge_pages():
    assert screen()[-2] == "  Text on huge pages here: yes, of programs that are linked for it"
    lines = screen(without_huge_pages=("are off", "echo madvise"), columns=100)
    assert lines[-2] == "  Text on huge pages here: no: are off (mend: echo madvise)"


@pytest.mark.parametrize(
    ("asked", "is_advised"), [(None, True), (frozenset({"clang"}), True), (frozenset({"gcc"}), False)]
)
def test_what_a_project_does_not_ask_for_is_not_advised(monkeypatch, capsys, asked, is_advised):
    """Nobody has to install Go for a project in C."""
    lacking = Ability("clang", False, (), "no clang", missing=("clang",))
    found = Diagnosis((lacking,), {}, FACTS, {}, {}, None, (), NO_GROUP, asked=asked)
    monkeypatch.setattr(doctor_checks, "diagnose", lambda *_: found)
    assert run(["doctor", "--full"]) == 0
    (line,) = [each for each in capsys.readouterr().out.splitlines() if each.startswith("clang is not usable")]
    assert line.startswith("clang is not usable: clang not found on PATH")
    assert ("install" in line) == is_advised
