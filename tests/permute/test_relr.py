"""Packed relocations of the dynamic linker: places to words and back."""

from __future__ import annotations

import numpy as np
import pytest

from layoutrand.errors import NotPermuted
from layoutrand.layout.keyed import keyed_uniform
from layoutrand.permute.relr import Packed, packed, unpacked


def places(seed: int, count: int) -> np.ndarray:
    """Ascending ones, some side by side and some far apart."""
    steps = [
        8 * (1 + keyed_uniform(seed, "test", b"%d" % k, 3) ** 7 + keyed_uniform(seed, "far", b"%d" % k, 90))
        for k in range(count)
    ]
    return 4096 + np.cumsum(np.array(steps, np.int64))


@pytest.mark.parametrize("seed", range(20))
def test_words_stand_for_the_places(seed: int) -> None:
    """Whatever is packed is what is unpacked."""
    wanted = places(seed, 200)
    words = np.frombuffer(packed(wanted), "<u8")
    assert len(words) < len(wanted)
    assert unpacked(words.tobytes()).tolist() == wanted.tolist()


def test_the_form_is_that_of_linkers() -> None:
    """An address, and a word of bits for the 63 words behind it: 8 and 16 bytes on, then one far away."""
    made = np.frombuffer(packed(np.array([0x1000, 0x1008, 0x1010, 0x9000])), "<u8")
    assert made.tolist() == [0x1000, 0b111, 0x9000]
    assert unpacked(np.array([0x1000, 1, 3], np.uint64).tobytes()).tolist() == [0x1000, 0x1008 + 63 * 8]


def test_half_a_word_is_damage() -> None:
    with pytest.raises(NotPermuted, match="damaged"):
        unpacked(packed(np.array([0x1000, 0x1008]))[:-3])


def test_a_table_has_one_size() -> None:
    """Room that is left is filled with words that stand for nothing; where there is none, it is refused."""
    table = Packed(1, np.array([0, 0, 1], np.int32), np.array([0x1000, 0x1008, 0x9000]))
    assert len(table.written(np.array([0, 0]), 32)) == 32
    assert np.frombuffer(table.written(np.array([0, 0]), 32), "<u8").tolist() == [0x1000, 3, 0x9000, 1]
    assert np.frombuffer(table.written(np.array([0, 0x10 - 0x8000]), 32), "<u8").tolist() == [0x1000, 7, 1, 1]
    with pytest.raises(NotPermuted, match="take more room"):
        table.written(np.array([0, 0]), 16)
