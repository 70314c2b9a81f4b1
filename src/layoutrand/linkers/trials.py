"""Programs that are linked only to see whether they can be: by configure scripts, CMake, Meson, qmake.

They decide what is built, and are nobody's program: no layout is applied to them, and nothing is said of them.  Only
names and directories that these tools reserve count; an ``a.out`` that a makefile makes is a program like any other.
The linker wrapper (``ld.sh.j2``) has the same rules in shell, and passes such links on unrecorded; that of compilers
(``cc.sh.j2``) knows what is compiled for them by where the compiler works.
"""

from __future__ import annotations

import posixpath
import re
from fnmatch import translate
from typing import Final

from layoutrand.linkers.linkline import inside


def _any_of(*patterns: str) -> re.Pattern[str]:
    """One pattern for all, made once: a helper of a build asks in a new process for each link."""
    return re.compile("|".join(map(translate, patterns)))


_NAMES: Final = _any_of("conftest", "conftest.*", "conftest[0-9]*", "cmTC_*", "sanitycheckc*.exe")
_PLACES: Final = _any_of(
    "*/CMakeFiles/CMakeTmp/*",
    "*/CMakeFiles/CMakeScratch/*",
    "*/CMakeFiles/CompilerId*/*",
    "*/CMakeFiles/*/CompilerId*/*",
    "*/meson-private/*",
    "*/config.tests/*",
)
_COPIES: Final = _any_of("*/CMakeFiles/*.bin")
"""Where CMake puts copies of its trials; nothing is linked there."""


def is_trial(output: str, tree: str) -> bool:
    """Whether a link of this output (an absolute path) in the build ``tree`` is a trial."""
    return bool(_NAMES.match(posixpath.basename(output))) or _lies(output, tree, _PLACES)


def is_of_a_trial(path: str, tree: str) -> bool:
    """Whether the file at this path is a trial, or what such a tool keeps of one."""
    return is_trial(path, tree) or _lies(path, tree, _COPIES)


def _lies(path: str, tree: str, places: re.Pattern[str]) -> bool:
    return places.match("/" + (inside(path, tree) or path)) is not None
