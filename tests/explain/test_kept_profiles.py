"""Profiles and traces that an earlier call has kept: what is damaged counts as not there, and is made again."""

import json

import numpy as np
import pytest

from layoutrand.explain import hot_functions, traced_data
from layoutrand.explain.data_use import DataUse, StoreLoads
from layoutrand.instruments.profile import Profile

ADDRESS = np.array([64, 128])
PROFILE = Profile(12.5, {64: 10.0, 68: 2.5}, {(64, 128): 3})
NUMBERS = np.array([1, 0])
USE = DataUse(np.ones((2, 3), np.int64), np.ones((1, 3), np.int64), StoreLoads(*[NUMBERS] * 6), ADDRESS, 1000, True)
DAMAGED = ["", "{", "[]", "{}", "1", "[" * 100_000, '{"pairs": 1}', "\ufeff{}"]


def loaded(path, kind):
    return hot_functions._load(path) if kind == "profile" else traced_data._load(path, ADDRESS)


@pytest.mark.parametrize("kind", ["profile", "trace"])
@pytest.mark.parametrize("text", DAMAGED)
def test_what_is_damaged_is_not_there(tmp_path, kind, text):
    (tmp_path / "kept").write_text(text)
    assert loaded(tmp_path / "kept", kind) is None
    assert loaded(tmp_path / "absent", kind) is None


@pytest.mark.parametrize("number", ["Infinity", "-Infinity", "NaN", "1e999", "null", '"x"', "[]"])
@pytest.mark.parametrize("place", ["cost", "calls", "touched", "traced"])
def test_a_number_that_is_none_is_damage(tmp_path, place, number):
    kind, whole = (
        ("profile", hot_functions._as_json(PROFILE))
        if place in {"cost", "calls"}
        else (
            "trace",
            traced_data._as_json(USE),
        )
    )
    path = tmp_path / "kept"
    path.write_text(json.dumps(whole))
    assert loaded(path, kind) is not None
    if place == "traced":
        whole[place] = "here"
    else:
        whole[place][0] = ["here", *whole[place][0][1:]]
    path.write_text(json.dumps(whole).replace('"here"', number))
    assert loaded(path, kind) is None


def test_what_is_whole_is_read_back(tmp_path):
    path = tmp_path / "kept"
    path.write_text(json.dumps(hot_functions._as_json(PROFILE)))
    assert loaded(path, "profile") == PROFILE
    path.write_text(json.dumps(traced_data._as_json(USE)))
    found = loaded(path, "trace")
    assert (found.touched == USE.touched).all()
    assert (found.instructions, found.whole) == (1000, True)
