from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutrand.errors import NoMeasurement
from layoutrand.instruments.program_output import first_difference, read_iterations


@pytest.mark.parametrize(
    ("expected", "actual", "message"),
    [
        (b"a\nb\nc\n", b"a\nX\nc\n", "line 2: expected 'b', got 'X'"),
        (b"a\n", b"a\nb\n", "line 2: expected the end of the output, got 'b'"),
        (b"a\nb\n", b"a\n", "line 2: expected 'b', got the end of the output"),
        (b"a\n", b"a", "line 1: expected 'a', got 'a' without a newline"),
        (b"", b"a\n", "line 1: expected the end of the output, got 'a'"),
        (b"a\n", b"", "line 1: expected 'a', got the end of the output"),
        (b"\xff\n", b"\xfe\n", r"line 1: expected '\\xff', got '\\xfe'"),
        (b"a\r\n", b"a\n", r"line 1: expected 'a\r', got 'a'"),
        (b"x" * 200 + b"\n", b"y\n", "expected '" + "x" * 77 + "...', got 'y'"),
        (b"a b", b"a c", "line 1: expected 'a b' without a newline, got 'a c' without a newline"),
    ],
)
def test_first_difference(expected, actual, message):
    assert message in first_difference(expected, actual)


@given(st.binary(), st.binary())
def test_difference_exactly_where_bytes_differ(a, b):
    assert (first_difference(a, b) is None) == (a == b)


def test_regex_finds_one_number_per_iteration():
    output = b"time: 1.5 s\nnoise\ntime: 2e-3 s\n\xff\xfe\ntime: 3 s\n"
    assert read_iterations(output, r"^time: (\S+) s$") == (1.5, 0.002, 3.0)


@pytest.mark.parametrize(
    ("output", "regex", "message"),
    [
        (b"nothing", r"time (\d+)", "matches nothing"),
        (b"", r"(\d+)", "matches nothing"),
        (b"time abc", r"time (\w+)", "'abc' is no number"),
        (b"time inf", r"time (\w+)", "cannot be averaged"),
        (b"time nan", r"time (\w+)", "cannot be averaged"),
        (b"time ", r"time (\d+)?", "is no number"),
    ],
)
def test_no_measurement(output, regex, message):
    with pytest.raises(NoMeasurement, match=message):
        read_iterations(output, regex)
