"""The table of verified cells: it is whole, says nothing that was not tried, and can be read back."""

import matrix_table as matrix
from larger_programs import LARGER
from layoutrand.linkers import toolbox as toolboxes
from real_programs import PROGRAMS


def test_a_table_is_read_back():
    """What is written is what is read, cells that were not tried included."""
    rows = {
        ("lua", "gcc"): {"function-order": "✓", "padding": "–"},
        ("zstd", "gcc-lld"): {"function-order": "✗", "module-order": "∅"},
    }
    table = matrix.rendered(rows, {"zstd": "C", "lua": "C"}, {"gcc": "GNU ld", "gcc-lld": "lld"}, "Made by a test.")

    found = matrix.known(f"before\n{matrix.BEGIN}\n{table}{matrix.END}\nafter")

    assert list(found) == [("zstd", "gcc-lld"), ("lua", "gcc")]
    assert {pair: {factor: mark for factor, mark in row.items() if mark} for pair, row in found.items()} == rows


def test_the_table_in_the_readme():
    """Rows are of programs and toolchains that exist, every program and toolchain has one, and no cell has failed."""
    found = matrix.known()

    programs = {program for program, _ in found}
    assert set(PROGRAMS) <= programs <= {*PROGRAMS, *LARGER}
    assert {toolchain for _, toolchain in found} <= set(toolboxes.shipped())
    assert {mark for row in found.values() for mark in row.values()} <= set(matrix.MARKS) - {matrix.FAILED}
    assert all(matrix.VERIFIED in row.values() for row in found.values())
