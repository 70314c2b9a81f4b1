"""How variables are used, from a trace: what is touched, and which loads come shortly after stores to others."""

from __future__ import annotations

import numpy as np

from layoutrand.explain.data_use import SHORTLY, STORES, DataCounter, DataUse, aliased, by_pairs
from layoutrand.instruments.memory_trace import parse

ADDRESS = np.array([0x4000, 0x5000, 0x6000, -1], np.int64)
SIZE = np.array([512, 512, 64, 8], np.int64)


def used(lines: str, *, section: int | None = 1, pieces: int = 1, moved: int = 0) -> DataUse:
    """What is counted of these lines, given in so many pieces."""
    counter = DataCounter([0, 1, 2, 3], ADDRESS, SIZE, moved=moved, section=section)
    every = lines.splitlines(keepends=True)
    done = 0
    for part in np.array_split(np.arange(len(every)), pieces):
        accesses, count = parse("".join(every[n] for n in part.tolist()).encode(), done)
        counter.add(accesses, count)
        done += count
    return counter.use(whole=True)


def rows(use: DataUse) -> list[tuple[int, ...]]:
    return sorted(zip(*(values.tolist() for values in vars(use.pairs).values()), strict=True))


def code(count: int = 1) -> str:
    return "I  00001000,4\n" * count


def test_what_is_touched_and_where() -> None:
    use = used(f"{code()} L 00005008,8\n{code()} L 00005008,8\n S 00004010,4\n S 00004200,4\n L 00007000,8\n")
    assert use.touched.tolist() == [[0, 1, 1], [1, 0, 2]]  # what lies behind a variable is none of its
    assert use.own.tolist() == [[8, 8, 2]]
    assert use.instructions == 2


def test_loads_after_stores_to_another_variable() -> None:
    text = f"{code()} S 00004010,8\n{code(3)} L 00005018,4\n"
    for pieces in (1, 3, 6):
        assert rows(used(text, pieces=pieces)) == [(0, 1, 8 + 0x1000 & 4095, 8, 4, 1)]
    assert rows(used(text, moved=0x108000)) == []
    # the same instruction, too many instructions before, the same variable, behind the load
    assert rows(used(f"{code()} S 00004010,8\n L 00005018,4\n")) == []
    assert rows(used(f"{code()} S 00004010,8\n{code(SHORTLY + 1)} L 00005018,4\n")) == []
    assert rows(used(f"{code()} S 00004010,8\n{code(SHORTLY)} L 00005018,4\n")) != []
    assert rows(used(f"{code()} S 00005010,8\n{code()} L 00005018,4\n")) == []
    assert rows(used(f"{code()} L 00005018,4\n{code()} S 00004010,8\n")) == []


def test_what_a_load_reads_was_stored_last_and_hides_what_is_before() -> None:
    before, own, behind = "S 00004010,8", "S 00005018,8", "S 00006000,8"
    text = "".join(f"{code()} {line}\n" for line in (before, own, behind, "L 00005018,4"))
    assert rows(used(text)) == [(2, 1, (0x5018 - 0x6000) % 4096, 8, 4, 1)]


def test_no_more_than_the_last_stores_count() -> None:
    stores = "".join(f"{code()} S 000040{n:02x},1\n" for n in range(STORES + 8))
    use = used(f"{stores}{code()} L 00005000,8\n")
    assert sorted(use.pairs.distance.tolist()) == sorted((0x1000 - n) % 4096 for n in range(8, STORES + 8))


def test_pairs_by_how_often_and_what_aliases_where_they_are_moved() -> None:
    text = (
        f"{code()} S 00004010,8\n{code()} L 00005018,4\n" * 200 + f"{code(300)} S 00006000,8\n{code()} L 00004000,8\n"
    )
    ((stored, loaded, pairs),) = by_pairs(used(text, section=None), most=9)
    assert (stored, loaded) == (0, 1)
    moved = np.array([[0], [-8], [-1], [-4], [-12], [4088], [-16]])
    # four bytes are loaded that begin 8 bytes behind the eight that were stored: they overlap once they are moved back by 1 to 11
    assert pairs.distance.tolist() == [8]
    assert aliased(pairs, moved)[:, 0].tolist() == [False, True, True, True, False, True, False]
    assert by_pairs(used("I  00001000,4\n", section=None), most=9) == ()
