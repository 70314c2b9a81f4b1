"""What flags of a build name outside of the source and the program depends on: profiles, orders, linker scripts.

The key of a source knows nothing of it, and a program that is trained anew is another program.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from layoutrand.platform.disk import digest_of_input, sha256_bytes

_PATH: Final = r"(/[^\s\"',;]+)"
_PROFILES: Final = re.compile(
    r"(?:-fprofile-(?:instr-|sample-)?use|-fprofile-dir|-fauto-profile|(?<![\w-])(?:-C\s?)?profile-use)[=,]" + _PATH
)
"""Where a directory may stand for the files in it; the last is rustc's."""
_FILES: Final = re.compile(
    r"(?:"
    r"(?:-fbasic-block-sections=list|--symbol-ordering-file|--section-ordering-file|--call-graph-ordering-file)[=,]"
    r"|(?<![\w-])--?(?:data|function-order)[=\s]"  # of BOLT
    r"|(?<![\w-])(?:-T|--script|--version-script)[=,\s]?"
    r")" + _PATH
)
"""What is a file; options of other programs, as ``sort -T /tmp`` or ``cp -T``, have a directory behind the same."""
_TRAINS: Final = re.compile(r"-fprofile-(?:instr-)?generate|\bllvm-profdata\b|\bperf2bolt\b|\bmerge-fdata\b")


def profiles_digest(flags: Iterable[str], commands: Sequence[str]) -> str:
    """What tells the files that flags name by absolute paths from others of these names; "" where they name none.

    Commands that train write such files themselves, and what those were before tells nothing.
    """
    trains = any(_TRAINS.search(command) for command in commands)
    texts = [*flags, *([] if trains else commands)]
    profiles = [path for text in texts for path in _PROFILES.findall(text)]
    files = [path for text in texts for path in _FILES.findall(text) if not os.path.isdir(path)]
    paths = dict.fromkeys([*profiles, *files])
    return sha256_bytes("\n".join(map(_digest, paths)).encode()) if paths else ""


def _digest(path: str) -> str:
    """The digest of what is there; "" of what cannot be read, of which the compiler tells."""
    try:
        return digest_of_input(Path(path))
    except OSError:
        return ""
