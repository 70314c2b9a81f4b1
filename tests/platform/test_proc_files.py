"""Files of /proc and /sys, whatever their size."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutrand.platform import proc_files


@pytest.mark.parametrize("in_one", [False, True])
@pytest.mark.parametrize("size", [0, 1, (1 << 16) - 1, 1 << 16, (1 << 16) + 1, 300_000])
def test_a_file_is_read_to_its_end(tmp_path: Path, size: int, in_one: bool) -> None:
    """/proc/stat of a machine with many CPUs is longer than one piece."""
    (tmp_path / "stat").write_text("x" * size)
    assert proc_files.text(tmp_path / "stat", in_one=in_one) == "x" * size


def test_fields_are_those_of_whole_names(tmp_path: Path) -> None:
    """A name that ends or begins another is none."""
    (tmp_path / "vmstat").write_text("zpswpin 7\npswpin 3\npswpinx 8\nlast 5")
    assert proc_files.fields(tmp_path / "vmstat", ("pswpin", "last", "none", "swpin")) == {"pswpin": 3, "last": 5}
