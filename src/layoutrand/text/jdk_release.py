"""The file ``release`` of a JDK, which says what it is: lines ``NAME="VALUE"``."""

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
