#!/usr/bin/env python3
"""Print the release notes of a version: its section of CHANGELOG.md.

usage: release_notes.py VERSION [--draft]

Without a section of that version it is an error, unless it is a draft: then what is under "Unreleased" is printed.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

CHANGELOG = Path(__file__).resolve().parents[2] / "CHANGELOG.md"
UNRELEASED = "Unreleased"


class NoNotes(Exception):
    """The changelog has nothing to say of the version."""


def sections(text: str) -> dict[str, str]:
    """Version, or "Unreleased" -> what stands under its heading; a date behind the version is left out."""
    parts = re.split(r"^## +(.+?) *$", text, flags=re.MULTILINE)
    names = [re.split(r" +[-–] +", name.strip())[0].strip("[]") for name in parts[1::2]]
    return dict(zip(names, (part.strip() for part in parts[2::2]), strict=True))


def release_notes(text: str, version: str, *, draft: bool = False) -> str:
    """The notes of a version, with a heading; raises `NoNotes`."""
    found = sections(text)
    if found.get(version):
        return f"# layoutrand {version}\n\n{found[version]}\n"
    if draft and found.get(UNRELEASED):
        return f"# layoutrand {version} (draft)\n\n{found[UNRELEASED]}\n"
    raise NoNotes(
        f'CHANGELOG.md has no section "## {version}": put what is under "{UNRELEASED}" there, with the date'
        if found.get(UNRELEASED)
        else f'CHANGELOG.md has nothing under "## {version}" nor under "{UNRELEASED}"'
    )


def main(words: list[str]) -> int:
    """The command line."""
    names = [word for word in words if word != "--draft"]
    if len(names) != 1:
        sys.stderr.write(f"usage: {Path(__file__).name} VERSION [--draft]\n")
        return 2
    try:
        sys.stdout.write(release_notes(CHANGELOG.read_text("utf-8"), names[0], draft="--draft" in words))
    except NoNotes as error:
        sys.stderr.write(f"{Path(__file__).name}: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
