from __future__ import annotations

import pytest

from layoutrand.errors import UsageError
from layoutrand.text.sizes import size_in_bytes, size_in_words, size_of


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (1, 1),
        (4096, 4096),
        ("1B", 1),
        ("2GiB", 2 << 30),
        ("2 GiB", 2 << 30),
        ("500 MB", 500_000_000),
        ("1.5KiB", 1536),
        ("3tib", 3 << 40),
        (" 7 mib ", 7 << 20),
        ("1kB", 1000),
        (None, None),
    ],
)
def test_sizes(text, size):
    assert size_in_bytes(text) == size


@pytest.mark.parametrize("text", ["", "2", "GiB", "-1GiB", "2 GiBs", "1e3MB", "2 G", "٢GiB", "1.GiB"])
def test_what_is_no_size(text):
    with pytest.raises(ValueError, match="must be bytes, or a number and one of B, KiB"):
        size_in_bytes(text)


@pytest.mark.parametrize("size", [0, -5, 2**63, "0B", "9000000TiB", f"{'9' * 400}GiB"])
def test_what_is_no_limit(size):
    with pytest.raises(ValueError, match="from 1 byte"):
        size_in_bytes(size)


@pytest.mark.parametrize("value", [True, 1.5, [], {}])
def test_other_types_are_left_to_the_type_check(value):
    assert size_in_bytes(value) is value


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("7", 7),
        ("500M", 500 << 20),
        (" 2g ", 2 << 30),
        ("1.5TiB", 3 << 39),
        ("500MB", 500_000_000),
        ("2 KB", 2000),
    ],
)
def test_an_option_takes_short_names_too_and_the_long_ones_mean_what_they_mean_in_the_file(text, size):
    assert size_of(text, "--max-size") == size


@pytest.mark.parametrize("text", ["", "M", "-1", "2Gi", "1e3", "2 Gs", "nan"])
def test_what_an_option_takes_for_no_size(text):
    with pytest.raises(UsageError, match="write a size such as"):
        size_of(text, "--max-size")


def test_in_words():
    assert [size_in_words(size) for size in (1, 1023, 1024, 1536, 2 << 30, 2000 << 20, 3 << 40)] == [
        "1 B",
        "1023 B",
        "1 KiB",
        "1.5 KiB",
        "2 GiB",
        "1.953 GiB",
        "3 TiB",
    ]
