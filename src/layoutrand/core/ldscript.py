"""GNU ld: put an exact order of sections into the linker's own default script."""

from __future__ import annotations

import re
from collections.abc import Sequence

from layoutrand.core.objedit import section_name, symbol_name
from layoutrand.errors import FeatureUnsupported

_RULE = "=" * 50
_TEXT_START = re.compile(r"^(\s*\.text\s*:\s*\{\s*\n)", re.MULTILINE)


def default_script(verbose_output: str) -> str:
    """The script inside what ``ld --verbose`` prints, between its two rules. Raises `FeatureUnsupported` if absent."""
    parts = re.split(rf"^{_RULE}\s*$", verbose_output, flags=re.MULTILINE)
    if len(parts) < 3 or not _TEXT_START.search(parts[1]):
        raise FeatureUnsupported(
            "the linker does not show a default script with a .text section (ld --verbose); "
            "is it GNU ld? Use toolchain 'gcc-lld', or a toolchain file whose linker is GNU ld"
        )
    return parts[1].lstrip("\n")


def ordered_script(script: str, order: Sequence[int]) -> str:
    """``script`` with the sections ``order`` placed first in .text, one exact line each.

    The script's own patterns stay behind them for what has no unique name (empty sections).
    """
    lines = "".join(f"    *({section_name(index)})\n" for index in order)
    return _TEXT_START.sub(lambda match: match.group(1) + lines, script, count=1)


def symbol_order(order: Sequence[int]) -> str:
    """lld's symbol ordering file for the order: one unique symbol a line."""
    return "".join(symbol_name(index) + "\n" for index in order)
