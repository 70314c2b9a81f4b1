"""Seeds as they are written on a command line."""

import pytest

from layoutrand.config.seeds import format_seeds, layout_in_words, parse_layout, parse_seeds, seeds_in_words
from layoutrand.errors import UsageError


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("3", [1, 2, 3]),
        ("7..7", [7]),
        ("5..7,1, 6", [1, 5, 6, 7]),
        ("0,18446744073709551615", [0, 2**64 - 1]),
    ],
)
def test_seeds(text, seeds):
    assert parse_seeds(text) == seeds
    assert parse_seeds(format_seeds(seeds)) == seeds


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("0", "at least 1"),
        ("x", "is not a seed"),
        ("3..1", "counts downwards"),
        ("1000001", "more than 1,000,000 seeds"),
        ("99999999999999999999", "more than 1,000,000 seeds"),
        ("1..99999999999999999999", "more than 1,000,000 seeds"),
        ("18446744073709551616..18446744073709551616", "seeds are 0 to 2\\^64-1"),
        ("9" * 5000, "more than 1,000,000 seeds"),
        (f"1..{'9' * 5000}", "more than 1,000,000 seeds"),
        (f"{'9' * 5000}..{'9' * 5000}", "seeds are 0 to 2\\^64-1"),
        ("1..900000,2000000..2900000", "more than 1,000,000 seeds"),
        ("٣", "is not a seed"),
        ("01,1", "--seeds 01,1: '01' begins with a zero; seeds are numbers, so write 1$"),
        ("01..03", "'01' begins with a zero"),
        ("1..03", "'03' begins with a zero; seeds are numbers, so write 3"),
        ("1,00", "'00' begins with a zero; seeds are numbers, so write 0$"),
        ("030", "'030' begins with a zero; seeds are numbers, so write 30$"),
        ("0" * 5000, "begins with a zero"),
    ],
)
def test_what_is_no_seed_is_said(text, what):
    """However large the number: one that Python cannot take the length of a range of was a traceback."""
    with pytest.raises(UsageError, match=what):
        parse_seeds(text)


def test_one_layout():
    assert [parse_layout(text) for text in ("7", "stock", "identity")] == [7, "stock", "identity"]


@pytest.mark.parametrize("text", ["18446744073709551616", "9" * 5000, "٣", "-1"])
def test_what_is_no_layout(text):
    with pytest.raises(UsageError, match="is not a layout"):
        parse_layout(text)


@pytest.mark.parametrize(
    ("seeds", "words"),
    [([4], "seed 4"), ([4, 4], "seed 4"), ([5, 4], "seeds 4..5"), ([9, 1, 2, 2], "seeds 1..2,9")],
)
def test_seeds_in_a_sentence(seeds, words):
    assert seeds_in_words(seeds) == words


@pytest.mark.parametrize(("name", "words"), [(0, "seed 0"), (7, "seed 7"), ("stock", "stock"), ("7", "7")])
def test_a_layout_in_a_sentence(name, words):
    assert layout_in_words(name) == words
