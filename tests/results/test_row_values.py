"""Rows are read a column at a time: what each of them says, and which are strange, is as if each were read by itself."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes import EXECUTION
from layoutrand.results.row_values import StrangeValue, executions_of
from layoutrand.results.rows import EXECUTION_COLUMNS, to_column

ROW = tuple(to_column(EXECUTION, column) for column in EXECUTION_COLUMNS)
MEASURED = tuple((*each[:4], int(each.warmup)) for each in EXECUTION.measurements)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def row_with(**values):
    return tuple(values.get(column, each) for column, each in zip(EXECUTION_COLUMNS, ROW, strict=True))


@pytest.mark.parametrize("value", [None, 1, "a" * 63, "A" * 64, "a" * 64 + "\n"])
def test_what_is_no_digest_of_an_output_is_strange(value):
    (known,) = executions_of([row_with(output_sha256="a" * 64)], [()])
    assert known.output_sha256 == "a" * 64
    with pytest.raises(StrangeValue, match="output_sha256 is no"):
        executions_of([row_with(output_sha256=value)], [()])


def test_measurements_stay_with_their_execution():
    none, both, one = (executions_of([ROW], [own])[0] for own in ((), MEASURED, MEASURED[1:]))
    assert (none.measurements, both) == ((), EXECUTION)
    assert executions_of([ROW, ROW, ROW], [(), MEASURED, MEASURED[1:]]) == [none, both, one]
    assert executions_of([], []) == []


@given(found=st.dictionaries(st.text(st.characters()), VALUES), is_ascii=st.booleans())
def test_json_is_read_as_pythons_module_reads_it(found, is_ascii):
    """To the bit and the kind of number; also names that are no text, which stand in it as halves of characters."""
    text = json.dumps({"of": found}, ensure_ascii=is_ascii)
    if any("\ud800" <= character <= "\udfff" for character in text):
        with pytest.raises(StrangeValue, match="conditions is no text"):
            executions_of([row_with(conditions=text)], [()])
        return
    (execution,) = executions_of([row_with(conditions=text)], [()])
    assert repr(execution.conditions) == repr(json.loads(text))


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        (0, 1, "metric and unit are text"),
        (1, None, "metric and unit are text"),
        (2, -1, "iteration is no whole number"),
        (2, True, "iteration is no whole number"),
        (3, float("inf"), "value is no number"),
        (3, 1, "value is no number"),
        (4, 0.0, "warmup is 0 or 1"),
    ],
)
def test_one_strange_measurement_among_others_is_found(place, value, reason):
    strange = tuple(value if number == place else each for number, each in enumerate(MEASURED[1]))
    with pytest.raises(StrangeValue, match=reason):
        executions_of([ROW, ROW, ROW], [MEASURED, (MEASURED[0], strange), MEASURED])
