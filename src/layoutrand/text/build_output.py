"""What a compiler or linker says where the C library was never installed for building."""

from __future__ import annotations

import re
from typing import Final

# Headers that only the C library has, as gcc and clang miss them; gcc has a stdint.h of its own, which includes it.
_HEADER: Final = (
    r"(?:assert|ctype|dlfcn|errno|fcntl|features|inttypes|limits|locale|math|pthread|setjmp|signal|stdint|stdio|stdlib|"
    r"string|strings|time|unistd|wchar|bits/[\w-]+|gnu/stubs|sys/(?:cdefs|mman|stat|time|types|wait))\.h"
)
_ABSENT: Final = re.compile(
    rf"fatal error: (?:{_HEADER}: No such file or directory|'{_HEADER}' file not found)"
    r"|cannot find \S*(?:crt1|crti|crtn)\.o\b|cannot open \S*(?:crt1|crti|crtn)\.o\b"
    r"|cannot find -l[cm](?![\w+.-])|unable to find library -l[cm](?![\w+.-])"
)


def lacks_c_library(text: str) -> bool:
    """Whether a header, a start file or a library of the C library was missed."""
    return _ABSENT.search(text) is not None
