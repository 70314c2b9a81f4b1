"""Records of the cache begin with a seal: any change of any byte is noticed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutrand.cache.sealed_records import sealed, unsealed

VALUE = {"key": "k", "layout": 3, "names": ["caf\udce9", "größe"], "proof": None, "seconds": 0.25}


def test_a_sealed_record_is_json_and_comes_back():
    """The record is one JSON object that other programs can read, and gives the value without its seal."""
    data = sealed(VALUE)

    assert unsealed(data) == VALUE
    assert {key: value for key, value in json.loads(data).items() if key != "seal"} == VALUE


@given(st.data())
def test_any_changed_byte_is_noticed(data):
    """One flipped bit anywhere is an error, never another value."""
    record = bytearray(sealed(VALUE))
    at = data.draw(st.integers(0, len(record) - 1))
    record[at] ^= 1 << data.draw(st.integers(0, 7))

    with pytest.raises(ValueError, match="damaged"):
        unsealed(bytes(record))


@pytest.mark.parametrize("size", range(0, len(sealed(VALUE)), 13))
def test_a_record_cut_short_is_noticed(size):
    """A truncated record is damaged, an empty one too."""
    with pytest.raises(ValueError, match="damaged"):
        unsealed(sealed(VALUE)[:size])


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"null", b'{"seal":"0"}', b"\xff"])
def test_what_is_no_record_is_refused(data):
    """Other content under a record's name is damaged."""
    with pytest.raises(ValueError, match="damaged"):
        unsealed(data)
