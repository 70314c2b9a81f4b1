from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutrand.config.command import (
    MAX_PADDING,
    PADDING_VARIABLE,
    Places,
    arguments,
    environment,
    fill_in,
    padding_size,
)

PLACES = Places(artefact="/w/x/bin/p", artefact_dir="/w/x/bin", project="/it's $HOME", home="/h", tmp="/w/x/tmp")


@pytest.mark.parametrize(
    ("word", "result"),
    [
        ("{artefact}", "/w/x/bin/p"),
        ("--lib={artefact_dir}:{project}", "--lib=/w/x/bin:/it's $HOME"),
        ("{{artefact}}", "{artefact}"),
        ("{{print}}", "{print}"),
        ("{unknown} { } {} {1} {a-b}", "{unknown} { } {} {1} {a-b}"),
        ("", ""),
        ("{artefact}{artefact}", "/w/x/bin/p/w/x/bin/p"),
    ],
)
def test_placeholders(word, result):
    assert fill_in(word, PLACES) == result


@given(st.text().filter(lambda text: "{" not in text))
def test_a_word_without_braces_is_left_alone(word):
    assert arguments([word], PLACES) == (word,)


def test_a_value_that_looks_like_a_placeholder_is_not_filled_in_again():
    places = Places(artefact="/{project}/a", artefact_dir="", project="/p", home="", tmp="")
    assert fill_in("{artefact}", places) == "/{project}/a"


def test_environment_is_the_base_and_the_benchmarks_own():
    assert environment({"A": "{project}", "LANG": "de_DE"}, PLACES, None) == {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/h",
        "LANG": "de_DE",
        "TMPDIR": "/w/x/tmp",
        "A": "/it's $HOME",
    }


def test_padding_is_there_even_when_empty():
    assert environment({}, PLACES, 0)[PADDING_VARIABLE] == ""
    assert environment({}, PLACES, 5)[PADDING_VARIABLE] == "xxxxx"


def test_padding_sizes_are_pinned():
    assert [padding_size(1, str(k).encode()) for k in range(5)] == GOLDEN
    assert padding_size(2, b"0") != padding_size(1, b"0")


GOLDEN = [3433, 1137, 2871, 690, 1115]


@given(st.integers(0, 2**64 - 1), st.binary())
def test_padding_is_below_the_maximum(seed, identity):
    assert 0 <= padding_size(seed, identity) < MAX_PADDING
