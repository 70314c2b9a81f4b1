"""What the site has beside docs/: pages that lie elsewhere in the repository, and links as they work in both places.

mkdocs calls this (``hooks`` in mkdocs.yml).  In the repository a link names a file relative to the one it stands in; on
the site the same link leads to the page made of that file, and one to a file of which there is no page becomes its text.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "examples/quickstart/README.md": "examples/quickstart.md",
    "examples/cint/README.md": "examples/cint.md",
    "examples/cint/RESULTS.md": "examples/cint-results.md",
    "examples/hotspot/README.md": "examples/hotspot.md",
    "examples/jvm-suite/README.md": "examples/jvm-suite.md",
}
"""Path in the repository -> page of the site."""

LINK = re.compile(r"\[([^\]\[]*)\]\(([^)\s]+)\)")
_FENCED = re.compile(r"(^ *```.*?^ *```[^\n]*$)", re.DOTALL | re.MULTILINE)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that lie elsewhere."""
    from mkdocs.structure.files import File

    for path, uri in ELSEWHERE.items():
        files.append(File.generated(config, uri, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Lead links to pages of the site."""
    del config, files
    place = page.file.src_uri
    return outside_of_code(markdown, lambda text: LINK.sub(lambda link: led(link, place), text))


def led(link: re.Match[str], place: str) -> str:
    """One link of the page ``place``, as the site has it."""
    text, target = link[1], link[2]
    path, _, heading = target.partition("#")
    if not path or re.match(r"[a-z]+:", path):
        return link[0]
    origin = next((own for own, uri in ELSEWHERE.items() if uri == place), f"docs/{place}")
    found = posixpath.normpath(posixpath.join(posixpath.dirname(origin), path))
    uri = ELSEWHERE.get(found, found.removeprefix("docs/") if found.startswith("docs/") else "")
    if not uri or not found.endswith((".md", ".svg", ".png")):
        return text
    relative = posixpath.relpath(uri, posixpath.dirname(place) or ".")
    return f"[{text}]({relative}{'#' if heading else ''}{heading})"


def outside_of_code(markdown: str, change: Any) -> str:
    """The text with the change made to everything but fenced code."""
    parts = _FENCED.split(markdown)
    return "".join(part if number % 2 else change(part) for number, part in enumerate(parts))
