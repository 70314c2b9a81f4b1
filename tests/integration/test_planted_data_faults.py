"""Data that is not where it was asked for, or not what it was, is caught like code; so are gaps."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pytest

from layoutrand.objects import elf
from layoutrand.platform.process import SubprocessRunner
from sabotage import LAYOUTS, VICTIM, Saboteur, edit_output, rewrite_order, symbol
from workshop import Workshop, main_calling, many_functions

BUILD = "$CC -c *.c && $CC -o prog main.o u.o v.o"
DATA = """
    const int table[4] = {4, 3, 2, 1}; const int rows[6] = {9, 8, 7, 6, 5, 4};
    int counter = 5, step = 7, third = 8, fourth = 9;
    int zero[8], ones[16], twos[24];
    int *moving = &step, *other = &counter;
    int v3(int x) { zero[x & 7] += *moving; ones[x & 7]++; twos[x & 3]--;
        return table[x & 3] + rows[x & 3] + counter++ + *other + third + fourth + zero[x & 7] + ones[1] + twos[1]; }
"""


@pytest.fixture
def victim(shop: Workshop) -> Workshop:
    """A program with constants, variables, pointers and zeroed memory."""
    shop.write(u__c=many_functions(4, prefix="u"), main__c=main_calling("u3", "v3"), v__c=DATA)
    return shop


def sabotaged(
    shop: Workshop, saboteur: Saboteur, factors: Sequence[str] = ("function-order", "data-order"), **layout: object
) -> str:
    """The message of the victim, the only layout that fails; the next call makes it."""
    policy = {"layout": {"factors": list(factors), **layout}}
    shop.runner = saboteur
    result = shop.build(BUILD, layouts=LAYOUTS, jobs=1, **policy)
    assert saboteur.victims, "nothing was sabotaged"
    assert [failure.layout for failure in result.failures] == [VICTIM]
    shop.runner = SubprocessRunner()
    again = shop.build(BUILD, layouts=LAYOUTS, jobs=1, **policy)
    assert not again.failures
    assert [binary.layout for binary in again.binaries if not binary.cached] == [VICTIM]
    return result.failures[0].error


def place(binary: elf.Elf, name: str) -> int:
    """Where in the file a variable is."""
    row = binary.symbols[symbol(binary, name)]
    section = binary.sections[int(row["shndx"])]
    return int(row["value"]) - int(section["addr"]) + int(section["offset"])


@pytest.mark.parametrize(("name", "section"), [("table", ".rodata.table"), ("counter", ".data.counter")])
def test_a_flipped_byte_of_data(victim: Workshop, name: str, section: str) -> None:
    """One bit of a constant or of a variable's first value is found, and the variable named."""

    def flip(data: bytearray, binary: elf.Elf) -> None:
        data[place(binary, name) + 2] ^= 4

    assert (
        sabotaged(victim, Saboteur(after=edit_output(flip)))
        == f"{section} of v.o differs from identity at byte 2, addresses aside"
    )


@pytest.mark.parametrize(("one", "two"), [("counter", "third"), ("zero", "ones")])
def test_two_variables_swapped(victim: Workshop, one: str, two: str) -> None:
    """Swapped in the order file: the first wrong slot is named, also for memory that the file does not hold."""

    def swap(lines: list[str]) -> list[str]:
        kind = "bss" if one == "zero" else "data"
        at = [k for k, line in enumerate(lines) if f".{kind}.lr." in line] or [k for k, line in enumerate(lines)][-2:]
        lines[at[0]], lines[at[-1]] = lines[at[-1]], lines[at[0]]
        return lines

    message = sabotaged(victim, Saboteur(before=rewrite_order(swap)))
    assert re.match(r"slot \d+ holds \.\S+ of \S+ instead of \.\S+ of \S+; 2 of \d+ slots are wrong", message)


def test_two_variables_exchange_their_contents(victim: Workshop) -> None:
    """Symbols in place, bytes in each other's: not the program."""

    def exchange(data: bytearray, binary: elf.Elf) -> None:
        first, second = place(binary, "counter"), place(binary, "third")
        data[first : first + 4], data[second : second + 4] = data[second : second + 4], data[first : first + 4]

    assert re.match(
        r"\.data\.(counter|third) of v\.o differs from identity at byte 0",
        sabotaged(victim, Saboteur(after=edit_output(exchange))),
    )


@pytest.mark.parametrize("name", ["table", "counter", "zero"])
def test_a_variable_of_another_size(victim: Workshop, name: str) -> None:
    """A symbol whose size changed, in constants, data or bss."""

    def resize(data: bytearray, binary: elf.Elf) -> None:
        assert binary.symbol_table is not None
        at = int(binary.sections[binary.symbol_table]["offset"]) + symbol(binary, name) * elf.SYMBOL.itemsize + 16
        data[at] ^= 1

    message = sabotaged(victim, Saboteur(after=edit_output(resize)))
    assert message == "the variables' sizes or places inside their sections differ from identity's"


def test_the_order_of_data_is_ignored(victim: Workshop) -> None:
    """Code in place but data as it was is not the layout."""

    def by_number(lines: list[str]) -> list[str]:
        code = [line for line in lines if ".text.lr." in line]
        rest = [line for line in lines if ".text.lr." not in line]
        if not code:  # lld's file has symbols, which do not say what they are: the first half is code
            code, rest = lines[:12], lines[12:]
        numbers = sorted(line for line in rest if ".lr." in line)
        return [*code, *(numbers.pop(0) if ".lr." in line else line for line in rest)]

    assert " instead of ." in sabotaged(victim, Saboteur(before=rewrite_order(by_number)), ["data-order"])


def gap_lines(change: Callable[[int], int]) -> Callable[[list[str]], list[str]]:
    """Change the size in one statement that makes a gap; nothing takes it away."""

    def edit(lines: list[str]) -> list[str]:
        at = next(k for k, line in enumerate(lines) if re.search(r"\. \+= (\d+);", line) and k > 2)
        size = int(re.search(r"\+= (\d+)", lines[at])[1])  # type: ignore[index]
        wrong = change(size)
        return [*lines[:at], *([f"    . += {wrong};\n"] if wrong else []), *lines[at + 1 :]]

    return edit


@pytest.mark.parametrize(
    "change",
    [lambda size: 0, lambda size: size + 16, lambda size: max(0, size - 32)],
    ids=["none", "wider", "narrower"],
)
def test_a_gap_that_is_not_the_one_drawn(gnu: Workshop, change: Callable[[int], int]) -> None:
    """Left out, wider or narrower than asked for by an alignment or more: the slot is named with its gap."""
    gnu.write(u__c=many_functions(4, prefix="u"), main__c=main_calling("u3", "v3"), v__c=DATA)
    message = sabotaged(gnu, Saboteur(before=rewrite_order(gap_lines(change))), ["padding"], padding_bytes=4000)
    assert re.match(r"the gap of \d+ bytes before \.text\.\S+ of \S+ \(slot \d+\) is not what the binary has$", message)


def test_a_gap_where_none_was_drawn(gnu: Workshop) -> None:
    """Sandbox that nobody asked for is found too."""
    gnu.write(u__c=many_functions(4, prefix="u"), main__c=main_calling("u3", "v3"), v__c=DATA)

    def more(lines: list[str]) -> list[str]:
        at = next(k for k, line in enumerate(lines[1:], 1) if ".lr." in line and "+=" not in lines[k - 1])
        return [*lines[:at], "    . += 64;\n", *lines[at:]]

    message = sabotaged(gnu, Saboteur(before=rewrite_order(more)), ["padding"], padding_bytes=1)
    assert re.match(r"the gap of 0 bytes before ", message)
