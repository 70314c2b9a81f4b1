"""What a JDK says of itself: the file ``release``, lines ``NAME="VALUE"``, and the words of ``java -version``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from layoutrand.text.foreign_fields import plain

_LINE: Final = re.compile(r'^([A-Z][A-Z0-9_]*)="?(.*?)"?[ \t\r]*$', re.MULTILINE)
_OF_IDENTITY: Final = (
    "IMPLEMENTOR",
    "IMPLEMENTOR_VERSION",
    "JAVA_RUNTIME_VERSION",
    "JAVA_VERSION",
    "JAVA_VERSION_DATE",
    "JVM_VARIANT",
    "OS_ARCH",
    "SOURCE",
)
"""What tells one JDK from another; the list of modules is as long as it is useless for that."""

TOLD_BY_JAVA: Final = frozenset({"IMPLEMENTOR", "JAVA_RUNTIME_VERSION", "JAVA_VERSION"})
"""Version with build, and vendor, which are compiled into a JVM, too (a vendor's own version is not)."""

_LONGEST: Final = 200
_LONGEST_ANSWER: Final = 2000
_PICKED_UP: Final = "Picked up "
_BUILD: Final = re.compile(r"^.*Runtime Environment.*?\(build ([^\s()]{1,200})\)", re.MULTILINE)


def jdk_identity(text: str) -> dict[str, str]:
    r"""What of the file tells one JDK from another; nothing where it is no such file.

    >>> jdk_identity('IMPLEMENTOR="Debian"\nMODULES="java.base"\n')
    {'IMPLEMENTOR': 'Debian'}
    """
    found = {name: plain(value)[:_LONGEST] for name, value in _LINE.findall(text)}
    return {name: found[name] for name in _OF_IDENTITY if found.get(name)}


def jdk_words(identity: Mapping[str, str]) -> str:
    """``JDK 17.0.15+6-Debian-1 of Debian``: version and build, and whose it is; "" where no version is known."""
    version = identity.get("JAVA_RUNTIME_VERSION") or identity.get("JAVA_VERSION")
    if not version:
        return ""
    build = identity.get("IMPLEMENTOR_VERSION", "")
    vendor = " ".join(filter(None, [identity.get("IMPLEMENTOR", ""), f"({build})" if build else ""]))
    return f"JDK {version}{f' of {vendor}' if vendor else ''}"


def java_answer(printed: str) -> str:
    r"""What ``java -version`` printed, without lines about the variables that it was started with.

    >>> java_answer('Picked up JAVA_TOOL_OPTIONS: -Xint\nopenjdk version "17.0.9"\n')
    'openjdk version "17.0.9"'
    """
    lines = [plain(line).rstrip() for line in printed.splitlines() if not line.startswith(_PICKED_UP)]
    return "\n".join(line for line in lines if line)[:_LONGEST_ANSWER]


def build_of(answer: str) -> str:
    """The version with its build that ``java -version`` names; "" where it names none.

    >>> build_of('OpenJDK Runtime Environment Temurin-17.0.9+9 (build 17.0.9+9)')
    '17.0.9+9'
    """
    found = _BUILD.search(answer)
    return "" if found is None else found[1]


def told_words(identity: Mapping[str, str], answer: str) -> str:
    """`jdk_words`, and what ``java -version`` says where that is not so, or where there is no file ``release``."""
    words = jdk_words(identity)
    lines = answer.splitlines()
    if not lines:
        return words
    if not words:
        return f"java -version: {'; '.join(lines)}"
    version, build = identity.get("JAVA_RUNTIME_VERSION"), build_of(answer)
    is_same = build == version if version and build else f'"{identity.get("JAVA_VERSION")}"' in lines[0]
    return words if is_same else f"{words}, but java -version says {'; '.join(lines)}"
