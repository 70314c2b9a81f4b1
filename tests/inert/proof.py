"""The proof that a change is inert: the same code by content, and the same work.

Both programs are compiled with a section for each function and each variable.  Of every section of code in every object
the content is taken without the address of anything: its bytes outside relocations, and what each relocation refers
to, a name or the constant itself.  What is compared is the multiset of these, over all objects.  So it says nothing of
the order, the file or the place of a function, which are what an inert change may change, and it sees every
instruction, every constant and every callee, which it may not: if the multisets are equal, the two programs consist of
the same functions.  Beside what the change itself adds, all of it must be equal; for a string in code that is not executed,
what refers to the string differs, and must then not be executed.

A change that leaves all that is loaded as it was, as one in code that is not compiled does, is no change at all, and thrown
away as well: it would be an easy one for every judge.

The executed work is looked at as well, which would find what the first test cannot (another object chosen from an archive,
another variable behind the same name): own instructions, over all functions of the program, must agree to
`SAME_WORK`.  They need not be equal: a program that hashes addresses executes a few instructions more or fewer wherever
its data lie.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from inert.changes import INSERTED, LENGTHENED, Executed
from layoutrand.capture.identity import NOT_LOADED_CODE
from layoutrand.objects import elf
from layoutrand.objects.section_contents import section_contents

SAME_WORK = 1e-4
FLAGS = "-ffunction-sections -fdata-sections"
_COUNTED = re.compile(r"\.(\d+)(?=\.|$)")


@dataclass(frozen=True)
class Contents:
    """The code of a program: (section's name, digest of what it holds) -> how often."""

    functions: Mapping[tuple[str, bytes], int]

    def without(self, other: Contents) -> Counter[str]:
        """Names of the functions that the other has not, or has otherwise."""
        rest = Counter(self.functions) - Counter(other.functions)
        found: Counter[str] = Counter()
        for (name, _), count in rest.items():
            found[name] += count
        return found


def contents(tree: Path) -> Contents:
    """The code in all objects below the directory that a program was built in."""
    found: Counter[tuple[str, bytes]] = Counter()
    for path in objects(tree):
        source = elf.read(path.read_bytes(), name=path.name)
        if source.kind != "ET_REL" or source.symbol_table is None:
            continue
        flags, sizes = source.sections["flags"].tolist(), source.sections["size"].tolist()
        code = [place for place, flag in enumerate(flags) if flag & elf.SHF_EXECINSTR and sizes[place]]
        names = {place: _COUNTED.sub("", name) for place, name in enumerate(source.section_names)}
        for place, digest in section_contents(source, code, names).items():
            found[names[place], digest] += 1
    return Contents(found)


def objects(tree: Path) -> Iterator[Path]:
    """The object files below a directory, those that libtool makes a second time for shared libraries left out."""
    for path in sorted(tree.rglob("*.o")):
        if path.is_file() and ".libs" not in path.parts and elf.is_elf(path.read_bytes()[:4]):
            yield path


def loaded(program: Path) -> list[tuple[str, int, int, bytes]]:
    """What is loaded of a linked program: two with the same are one program, whatever their sources are called."""
    return elf.loaded_content(elf.read(program.read_bytes(), name=program.name), skip=NOT_LOADED_CODE)


def difference(kind: str, base: Contents, head: Contents, executed: Executed) -> str:
    """Why the change of this kind is not inert by its content; "" if it is."""
    gone, new = base.without(head), head.without(base)
    if kind == INSERTED:
        new = Counter({name: count for name, count in new.items() if "unused_" not in name})
    if kind == LENGTHENED:
        hot = [name for name in {*gone, *new} if executed.functions.get(_function(name), (0, 0)) != (0, 0)]
        if not gone:
            return "the string is in no code"
        if gone != new:
            return f"other functions: {_listed(gone, new)}"
        return f"executed functions differ: {', '.join(sorted(hot)[:4])}" if hot else ""
    return f"functions differ: {_listed(gone, new)}" if gone or new else ""


def work_differs(base: Executed, head: Executed) -> str:
    """Why the executed work is another; "" if it is the same."""
    old, new = (sum(own for _, own in each.functions.values()) for each in (base, head))
    if not old or abs(new / old - 1) > SAME_WORK:
        return f"{new} instructions in place of {old}"
    return ""


def _function(section: str) -> str:
    return re.sub(r"^\.text\.(?:unlikely\.|startup\.|hot\.|exit\.)?", "", section)


def _listed(gone: Counter[str], new: Counter[str]) -> str:
    return ", ".join(sorted(_function(name) for name in {*gone, *new})[:4])
