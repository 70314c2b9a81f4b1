"""What could not be looked at is told once for all it is true of."""

from layoutrand.cli.terminal import Terminal
from layoutrand.explain.explain import Unexplained
from layoutrand.screens.explain_tables import show_unexplained


def test_a_reason_of_several_benchmarks_is_told_once(capsys):
    """As too few layouts are of every case of a harness."""
    few = [Unexplained("O2", f"case/{k}", "time_s", "5 measured binaries") for k in range(5)]
    others = [
        Unexplained("O3", "case/0", "time_s", "5 measured binaries"),
        Unexplained("O2", "x", "time_s", "no symbols"),
    ]
    show_unexplained([*few[:3], *others, *few[3:]], Terminal(json=False, quiet=False))
    assert capsys.readouterr().err.splitlines() == [
        "failed: case/0, case/1, case/2 and 2 more, O2, time_s; case/0, O3, time_s: 5 measured binaries",
        "failed: x, O2, time_s: no symbols",
    ]


def test_a_reason_of_several_systems_is_told_once_with_their_names(capsys):
    """As none of several JDKs was linked here."""
    prebuilt = [
        Unexplained(system, benchmark, "wall_s", "prebuilt")
        for benchmark in ("sort", "fib")
        for system in ("jdk17", "jdk21", "jdk25")
    ]
    show_unexplained([*prebuilt, Unexplained("jdk17", "jmh", "time_s", "prebuilt")], Terminal(json=False, quiet=False))
    assert capsys.readouterr().err.splitlines() == [
        "failed: sort, fib, jdk17, jdk21 and jdk25, wall_s; jmh, jdk17, time_s: prebuilt",
    ]
