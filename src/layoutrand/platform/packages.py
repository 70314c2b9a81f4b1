"""What to install where a program is missing: names of packages that this release of the system has.

The names are data, in ``toolchains/packages/apt.toml``; nothing is asked of the network or of apt.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

C_HEADERS: Final = "the C library's headers"
"""What libc6-dev has, beside what a program needs to be linked."""

_ROOT: Final = Path("/")
_LLVM: Final = frozenset({"clang", "lld", "llvm"})


def install(programs: Sequence[str], root: Path | None = None) -> str:
    """The command that installs the programs, or "install ..." where this system's packages are not known.

    ``root`` is /, or a directory that stands for it in a test.
    """
    return apt_command(programs, root) or f"install {', '.join(dict.fromkeys(programs))}"


def apt_command(programs: Sequence[str], root: Path | None = None) -> str | None:
    """``sudo apt-get install lld``; None where the system has no apt, or its release no such packages."""
    names = _releases(_os_release(_ROOT if root is None else root))
    packages = [_package(program, names) for program in programs] if names else [None]
    if None in packages:
        return None
    return f"sudo apt-get install {' '.join(dict.fromkeys(filter(None, packages)))}"


def _package(program: str, releases: Sequence[str]) -> str | None:
    """The package of a program such as ld.lld or clang-19; the versions of other than LLVM's are not known."""
    found = re.fullmatch(r"(.+?)(?:-(\d+))?", program)
    assert found is not None
    tables = [_table().get(name, {}) for name in releases]
    package: str | None = next((table[found[1]] for table in tables if found[1] in table), None)
    if found[2] is None or package is None:
        return package
    known: Sequence[int] = next((table["llvm"] for table in tables if "llvm" in table), [])
    return f"{package}-{found[2]}" if package in _LLVM and int(found[2]) in known else None


def _releases(facts: Mapping[str, str]) -> list[str]:
    """Names of tables, the most special first; nothing for a system that is no relative of Debian."""
    families = [name for name in (facts.get("ID", ""), *facts.get("ID_LIKE", "").split()) if name]
    if "debian" not in families and "ubuntu" not in families:
        return []
    family = "ubuntu" if "ubuntu" in families else "debian"
    codename = facts.get("UBUNTU_CODENAME") or facts.get("DEBIAN_CODENAME") or facts.get("VERSION_CODENAME", "")
    return [codename, family, "every"]


@cache
def _table() -> dict[str, dict[str, Any]]:
    path = files("layoutrand") / "toolchains" / "packages" / "apt.toml"
    return tomllib.loads(path.read_text("utf-8"))


def _os_release(root: Path) -> dict[str, str]:
    """See os-release(5): assignments as a shell would read them."""
    for name in ("etc/os-release", "usr/lib/os-release"):
        try:
            text = (root / name).read_text("utf-8", "replace")
        except OSError:
            continue
        try:
            words = shlex.split(text, comments=True)
        except ValueError:  # an unclosed quotation mark: nothing can be told
            return {}
        return dict(word.split("=", 1) for word in words if "=" in word)
    return {}
