"""Binaries damaged on purpose: a runner that interferes with one link, and ways to damage what it made."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from layoutrand.objects import elf
from layoutrand.platform.process import Completed, SubprocessRunner

LAYOUTS = ("identity", 1, 2, 3)
VICTIM = 2


def is_order_file(word: str) -> bool:
    """Whether a word of a link is, or points at, the file that asks for the layout."""
    return word.split("=", 1)[-1].endswith("/layout")


@dataclass
class Saboteur(SubprocessRunner):
    """Interferes with the link of one layout: changes the words before it, or the file after it."""

    before: Callable[[list[str]], list[str]] = lambda argv: argv
    after: Callable[[Path, Completed], Completed] = lambda _, done: done
    links: int = 0
    victim: int = 1 + LAYOUTS.index(VICTIM)  # the capture's own link of identity comes first
    victims: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Set up the real runner."""
        super().__init__()

    def run(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Completed:
        """Run; interfere with the victim."""
        words = list(argv)
        if not any("/edited/" in word for word in words):  # the tree that layouts are linked from
            return super().run(words, cwd=cwd, env=env)
        number, self.links = self.links, self.links + 1
        if number != self.victim:
            return super().run(words, cwd=cwd, env=env)
        done = super().run(self.before(words), cwd=cwd, env=env)
        output = cwd / words[words.index("-o") + 1]
        self.victims.append(output)
        return self.after(output, done)


def order_file(argv: Sequence[str]) -> Path:
    """The file that asks for the layout."""
    return next(Path(word.split("=", 1)[-1]) for word in argv if is_order_file(word))


def rewrite_order(change: Callable[[list[str]], list[str]]) -> Callable[[list[str]], list[str]]:
    """Change the lines that place sections, before the link."""

    def before(argv: list[str]) -> list[str]:
        path = order_file(argv)
        lines = path.read_text().splitlines(keepends=True)
        at = [k for k, line in enumerate(lines) if re.search(r"\.lr\.\d{7}", line)]
        lines[at[0] : at[-1] + 1] = change(lines[at[0] : at[-1] + 1])
        path.write_text("".join(lines))
        return argv

    return before


def edit_output(change: Callable[[bytearray, elf.Elf], None]) -> Callable[[Path, Completed], Completed]:
    """Change bytes of the file after the link."""

    def after(path: Path, done: Completed) -> Completed:
        data = bytearray(path.read_bytes())
        change(data, elf.read(bytes(data), name="victim"))
        path.write_bytes(data)
        return done

    return after


def symbol(binary: elf.Elf, name: str) -> int:
    """Number of the named symbol."""
    return binary.symbol_names(np.arange(len(binary.symbols))).index(name)


def file_offset(binary: elf.Elf, name: str) -> int:
    """Where in the file a function's code is."""
    row = binary.symbols[symbol(binary, name)]
    section = binary.sections[int(row["shndx"])]
    return int(row["value"]) - int(section["addr"]) + int(section["offset"])
