"""What flags of a build name outside of the source and the program depends on: profiles, orders, linker scripts.

The key of a source knows nothing of it, and a program that is trained anew is another program.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from layoutrand.platform.disk import digest_of_input, sha256_bytes

_NAMED: Final = re.compile(
    r"(?:"
    r"(?:-fprofile-(?:instr-|sample-)?use|-fprofile-dir|-fauto-profile|-fbasic-block-sections=list"
    r"|--symbol-ordering-file|--section-ordering-file|--call-graph-ordering-file"
    r"|(?<![\w-])--?(?:data|function-order)"  # of BOLT
    r")[=,]"
    r"|(?<![\w-])(?:-T|--script|--version-script)[=,\s]?"
    r")(/[^\s\"',;]+)"
)
_TRAINS: Final = re.compile(r"-fprofile-(?:instr-)?generate|\bllvm-profdata\b|\bperf2bolt\b|\bmerge-fdata\b")


def profiles_digest(flags: Iterable[str], commands: Sequence[str]) -> str:
    """What tells the files that flags name by absolute paths from others of these names; "" where they name none.

    Commands that train write such files themselves, and what those were before tells nothing.
    """
    trains = any(_TRAINS.search(command) for command in commands)
    texts = [*flags, *([] if trains else commands)]
    paths = dict.fromkeys(path for text in texts for path in _NAMED.findall(text))
    return sha256_bytes("\n".join(map(_digest, paths)).encode()) if paths else ""


def _digest(path: str) -> str:
    """The digest of what is there; "" of what cannot be read, of which the compiler tells."""
    try:
        return digest_of_input(Path(path))
    except OSError:
        return ""
