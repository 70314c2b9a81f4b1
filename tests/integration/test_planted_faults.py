"""A binary that is not what was asked for is caught, recorded as the failure of that layout alone, and never kept."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from layoutrand.build.build import SystemBuild
from layoutrand.objects import elf
from layoutrand.platform.process import Completed, SubprocessRunner
from sabotage import LAYOUTS, VICTIM, Saboteur, edit_output, file_offset, order_file, rewrite_order, symbol
from workshop import Workshop, main_calling, many_functions, whole

BUILD = "$CC -c *.c && $CC -o prog main.o u.o v.o"


@pytest.fixture
def victim(shop: Workshop) -> Workshop:
    """A program of nine functions with calls, data and strings."""
    shop.write(
        u__c=many_functions(4, prefix="u"),
        main__c=main_calling("u3", "v3"),
        v__c='const char *note = "constant";\n' + many_functions(4, prefix="v"),
    )
    return shop


def sabotaged(shop: Workshop, saboteur: Saboteur) -> tuple[SystemBuild, str]:
    """Build with the saboteur; only the victim fails, with a message and not in the cache; the next call mends it."""
    shop.runner = saboteur
    result = shop.build(BUILD, layouts=LAYOUTS, jobs=1)
    assert saboteur.victims, "nothing was sabotaged"
    assert [failure.layout for failure in result.failures] == [VICTIM]
    assert [binary.layout for binary in result.binaries] == ["identity", 1, 3]
    shop.runner = SubprocessRunner()
    again = shop.build(BUILD, layouts=LAYOUTS, jobs=1)
    assert [binary.layout for binary in again.binaries if not binary.cached] == [VICTIM]
    whole(again)
    return result, result.failures[0].error


def test_two_sections_swapped(victim: Workshop) -> None:
    """The message tells the first slot that is wrong, what is there and what should be."""
    swap = rewrite_order(lambda lines: [*lines[:-2], lines[-1], lines[-2]])
    _, message = sabotaged(victim, Saboteur(before=swap))
    assert message.startswith("slot ")
    assert " instead of " in message
    assert "2 of " in message
    assert "slots are wrong (Kendall tau to the request 0." in message


def test_the_linker_ignores_the_order(victim: Workshop) -> None:
    """A linker that leaves everything where it was does not give a layout."""

    def without_order(argv: list[str]) -> list[str]:
        path = order_file(argv)
        at = next(k for k, word in enumerate(argv) if str(path) in word)
        return argv[: at - 1] + argv[at + 1 :] if argv[at - 1] == "-dT" else argv[:at] + argv[at + 1 :]

    _, message = sabotaged(victim, Saboteur(before=without_order))
    assert " instead of " in message


def test_a_byte_of_code_altered(victim: Workshop) -> None:
    """One flipped bit in one instruction is found, and the function named."""

    def flip(data: bytearray, binary: elf.Elf) -> None:
        data[file_offset(binary, "v0") + 1] ^= 0x08

    _, message = sabotaged(victim, Saboteur(after=edit_output(flip)))
    assert message == ".text.v0 of v.o differs from identity at byte 1, addresses aside"


def test_a_symbol_lost(victim: Workshop) -> None:
    """A section whose symbol is gone cannot be proved to be in place."""

    def lose(path: Path, done: Completed) -> Completed:
        subprocess.run(["objcopy", "--strip-symbol=.lr.0000003", str(path)], check=True)
        return done

    _, message = sabotaged(victim, Saboteur(after=lose))
    assert "sections were to be placed, the binary has" in message


def test_all_symbols_lost(victim: Workshop) -> None:
    """A stripped binary proves nothing."""

    def strip(path: Path, done: Completed) -> Completed:
        subprocess.run(["strip", str(path)], check=True)
        return done

    _, message = sabotaged(victim, Saboteur(after=strip))
    assert "the binary has 0 of them" in message


def test_a_function_of_another_size(victim: Workshop) -> None:
    """A function symbol whose size differs from identity's is changed code."""

    def resize(data: bytearray, binary: elf.Elf) -> None:
        assert binary.symbol_table is not None
        at = int(binary.sections[binary.symbol_table]["offset"]) + symbol(binary, "u2") * elf.SYMBOL.itemsize + 16
        data[at] ^= 1

    _, message = sabotaged(victim, Saboteur(after=edit_output(resize)))
    assert "functions' sizes or places inside their sections differ from identity's" in message


def test_more_in_the_binary_than_asked_for(victim: Workshop) -> None:
    """Another input makes other output sections: changed, although all functions are in place."""
    extra = victim.project / "extra.o"
    text = "static const char text[64] __attribute__((used)) = {1}; int more = 5;"
    subprocess.run(["gcc", "-x", "c", "-c", "-", "-o", str(extra)], input=text.encode(), check=True)
    _, message = sabotaged(victim, Saboteur(before=lambda argv: [*argv, str(extra)]))
    assert "output sections besides the placed ones have another size than in identity" in message


def test_the_linker_fails(victim: Workshop) -> None:
    """The linker's own words are shown, and all of them kept in a log."""
    result, message = sabotaged(victim, Saboteur(before=lambda argv: [*argv, "/does/not/exist.o"]))
    assert "exited with status 1: " in message
    assert "/does/not/exist.o" in message
    log = result.failures[0].log
    assert log is not None
    assert f"Full log: {log}" in message
    assert "/does/not/exist.o" in log.read_text()


def test_the_linker_is_killed(victim: Workshop) -> None:
    """A linker that dies by a signal has failed, too."""
    _, message = sabotaged(victim, Saboteur(after=lambda path, done: Completed(-9, b"", b"")))
    assert "exited with status -9: it said nothing" in message


def test_the_linker_writes_nothing(victim: Workshop) -> None:
    """Success without an output file is a failure of that layout."""

    def vanish(path: Path, done: Completed) -> Completed:
        path.unlink()
        return done

    _, message = sabotaged(victim, Saboteur(after=vanish))
    assert "No such file" in message


@pytest.mark.parametrize("size", [0, 10, 2000])
def test_a_truncated_output(victim: Workshop, size: int) -> None:
    """A file cut short is not read as if it were whole."""

    def cut(path: Path, done: Completed) -> Completed:
        path.write_bytes(path.read_bytes()[:size])
        return done

    _, message = sabotaged(victim, Saboteur(after=cut))
    assert "ELF" in message or "truncated" in message


def test_the_linker_itself_lies(victim: Workshop, tmp_path: Path) -> None:
    """A linker that gives the same file for every seed is caught at the first."""
    real = victim.build(BUILD, layouts=["identity"])
    same = real.binaries[0].path.read_bytes()

    def replace(path: Path, done: Completed) -> Completed:
        path.write_bytes(same)
        return done

    victim.cache = tmp_path / "another cache"
    _, message = sabotaged(victim, Saboteur(after=replace))
    assert " instead of " in message
