"""Numbers out of JSON: RFC 6901 to the letter, and every miss explained."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutrand.errors import NoMeasurement
from layoutrand.instruments.json_output import read_json_iterations
from layoutrand.text.digits import is_measurable

RFC_6901 = (
    r'{"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8}'
)


def read(output, pointer, lines="all"):
    return read_json_iterations(output if isinstance(output, bytes) else output.encode(), pointer, lines, key="k.json")


def message(output, pointer, lines="all"):
    with pytest.raises(NoMeasurement) as caught:
        read(output, pointer, lines)
    return str(caught.value)


@pytest.mark.parametrize(
    ("pointer", "value"),
    [("/", 0), ("/a~1b", 1), ("/c%d", 2), ("/e^f", 3), ("/g|h", 4), ("/i\\j", 5), ('/k"l', 6), ("/ ", 7), ("/m~0n", 8)],
)
def test_the_examples_of_the_rfc(pointer, value):
    assert read(RFC_6901, pointer) == (value,)


def test_a_tilde_before_a_one_is_unescaped_in_that_order():
    """RFC 6901, section 4: "~01" is "~1" and never "/"."""
    assert read('{"~1": 5, "/": 6}', "/~01") == (5,)


@pytest.mark.parametrize(
    ("output", "pointer", "values"),
    [
        ('{"time": 1.5}', "/time", (1.5,)),
        ('{"time": 1.5}\n{"time": 2}\n\n{"time": 3e-3}\n', "/time", (1.5, 2, 0.003)),
        ('{\n "results": [{"time": 1}, {"time": 2}]\n}\n', "/results/1/time", (2,)),
        ('{"times": [3, 4.5, 5]}', "/times", (3, 4.5, 5)),
        ('{"times": [1, 2]}\r\n{"times": [3]}\r\n', "/times", (1, 2, 3)),
        ("7", "", (7,)),
        ("1\n2\n3\n", "", (1, 2, 3)),
        ("[1, 2, 3]", "", (1, 2, 3)),
        ('{"name": "\xe9", "t": 1}', "/t", (1,)),
        (b'{"name": "\xff", "t": 1}', "/t", (1,)),
        ('{"0": {"00": 4}}', "/0/00", (4,)),
    ],
)
def test_one_document_or_one_per_line(output, pointer, values):
    assert read(output, pointer) == values


@pytest.mark.parametrize(
    ("output", "pointer", "words"),
    [
        ("", "/t", "found nothing: the output is empty"),
        ("\n \n", "/t", "found nothing: the output is empty"),
        (
            '{"a": 1, "b": 2}',
            "/t",
            "k.json = '/t': in the standard output the document has no key 't'; there are 'a', 'b'",
        ),
        ("{}", "/t", "there are none at all"),
        ('{"a": {"b": 1}}', "/a/t", "'/a' has no key 't'; there are 'b'"),
        ('{"a": [1, 2]}', "/a/2", "'/a' is an array of 2, which has no item '2'"),
        ('{"a": [1, 2]}', "/a/01", "has no item '01'"),
        ('{"a": [1, 2]}', "/a/-", "has no item '-'"),
        ('{"a": 5}', "/a/b", "'/a' is 5, which has no 'b' inside"),
        ('{"a": "5"}', "/a", 'the pointer leads to "5", which is no number'),
        ('{"a": true}', "/a", "the pointer leads to true, which is no number"),
        ('{"a": null}', "/a", "the pointer leads to null, which is no number"),
        ('{"a": {}}', "/a", "the pointer leads to {}, which is no number"),
        ('{"a": []}', "/a", "an empty array"),
        ('{"a": [1, "x"]}', "/a", 'item 1 of the array is "x", which is no number'),
        ('{"a": NaN}', "/a", "nan, which cannot be averaged"),
        ('{"a": 1e999}', "/a", "inf, which cannot be averaged"),
        ('{"a": 1' + "0" * 400 + "}", "/a", "inf, which cannot be averaged"),
        (
            '{"a": 1}\n{"b": 2}\n',
            "/a",
            "in line 2 of the standard output the document has no key 'a'; there are 'b'; json_lines = \"matching\"",
        ),
        ('{"a": 1}\nready\n', "/a", "line 2 is none either (Expecting value: line 1 column 1 (char 0)): 'ready'"),
        ('{\n "a": 1,\n}', "/a", "is not one JSON document, and line 1 is none either"),
        ("[" * 200_000, "/a", "nested too deeply"),
    ],
)
def test_every_miss_names_line_pointer_and_what_was_found(output, pointer, words):
    assert words in message(output, pointer)
    assert message(output, pointer).startswith(f"k.json = {pointer!r}")


LOG = 'starting\n{"event": "begin"}\n{"event": "done", "t": 1}\n\nend of round\n  {"event": "done", "t": 2}\n'


def test_other_lines_are_passed_over_where_that_is_asked_for():
    assert read(LOG, "/t", "matching") == (1, 2)
    assert "line 1 is none either" in message(LOG, "/t")


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (LOG + '{"event": "done", "t', "line 7 is none either (Unterminated string"),  # cut off: a number is missing
        (LOG + '{"t": "3"}', 'in line 7 of the standard output the pointer leads to "3", which is no number'),
        ("starting\nend\n", "leads nowhere in any of 2 lines"),
    ],
)
def test_what_is_wrong_is_never_passed_over(output, words):
    assert words in message(output, "/t", "matching")


@pytest.mark.parametrize("value", ["1e400", "1e-320", "9" * 400, "-1e61"])
def test_what_cannot_be_analysed_is_no_measurement(value):
    assert "which cannot be averaged; values lie between 1e-60 and 1e+60" in message(f'{{"t": {value}}}', "/t")


def test_an_index_of_thousands_of_digits_leads_nowhere():
    assert "is an array of 1, which has no item" in message("[1]", f"/{'9' * 5000}")


NUMBERS = st.floats(allow_nan=False, allow_infinity=False).filter(is_measurable)


@given(st.lists(NUMBERS, min_size=1, max_size=20), st.text(max_size=5))
def test_what_was_written_is_read(values, key):
    pointer = "/" + key.replace("~", "~0").replace("/", "~1")
    lines = "".join(json.dumps({key: value}) + "\n" for value in values)
    assert read(lines, pointer) == tuple(values)
    assert read(json.dumps({key: values}), pointer) == tuple(values)


@given(st.binary(max_size=60), st.sampled_from(["", "/a", "/0"]), st.sampled_from(["all", "matching"]))
def test_no_output_breaks_the_reader(output, pointer, lines):
    try:
        values = read(output, pointer, lines)
    except NoMeasurement:
        return
    assert values
    assert all(map(math.isfinite, values))
