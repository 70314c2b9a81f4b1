"""GNU ld: put an exact order of sections into the linker's default script.

In that script each family of sections has an output section of its own, and the exact lines go first in it.
(`layoutrand.linkers.user_script` does the same to a script that the build brings along.)
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from layoutrand.errors import FeatureUnsupported
from layoutrand.objects.kinds import FAMILIES, PLAIN
from layoutrand.objects.unique_names import symbol_names

Line = tuple[str, str]
"""A family of sections (`layoutrand.objects.kinds`), and a statement for the output section that has it."""

_RULE = re.compile(rf"^{'=' * 50}\s*$", re.MULTILINE)
_STARTS = {
    family: re.compile(rf"^([ \t]*\.{re.escape(family)}[ \t]*:\s*\{{)[ \t]*\n?", re.MULTILINE) for family in FAMILIES
}
"""Where the output section of each family begins."""


def default_script(verbose_output: str) -> str:
    """The script inside what ``ld --verbose`` prints, between its two rules.

    Raises `FeatureUnsupported` if there is none, or none with a .text section.
    """
    parts = _RULE.split(verbose_output)
    if len(parts) < 3 or not _STARTS[PLAIN].search(parts[1]):
        raise FeatureUnsupported(
            "the linker does not show a default script with a .text section (ld --verbose); "
            "is it GNU ld? Use toolchain 'gcc-lld', or a toolchain file whose linker is GNU ld"
        )
    return parts[1].lstrip("\n")


def ordered_script(script: str, lines: Sequence[Line]) -> str:
    """The default ``script`` with the lines of each family first in its output section.

    The script's own patterns stay behind them for what has no unique name (empty sections). Raises
    `FeatureUnsupported` if there is no such output section.
    """
    for family in dict.fromkeys(family for family, _ in lines):
        start = _STARTS[family].search(script)
        if start is None:
            raise FeatureUnsupported(f"the linker's default script has no output section .{family} to order")
        added = "".join(f"    {text}\n" for of, text in lines if of == family)
        script = f"{script[: start.start()]}{start[1]}\n{added}{script[start.end() :]}"
    return script


def ordering_file(lines: Sequence[Line]) -> str:
    """What newer versions take beside the default script: the lines, to go first in their output sections."""
    families = dict.fromkeys(family for family, _ in lines)
    texts = {name: "".join(f"  {text}\n" for family, text in lines if family == name) for name in families}
    return "".join(f".{name} :\n{{\n{text}}}\n" for name, text in texts.items())


def ahead_of_code(sections: Sequence[str]) -> str:
    """A script that adds to the default one: these sections in an output section of their own, ahead of all code.

    It begins at a line, so what lies in front of it does not decide where in its line a function begins.
    """
    lines = "".join(f"    *({name})\n" for name in sections)
    return (
        "/* functions that lie together at the start of the code */\n"
        f"SECTIONS\n{{\n  .{PLAIN}.ordered : ALIGN(64)\n  {{\n{lines}  }}\n}}\nINSERT BEFORE .{PLAIN};\n"
    )


def symbol_order(order: Sequence[int]) -> str:
    """lld's symbol ordering file for the order: one unique symbol a line."""
    return symbol_names(order)
