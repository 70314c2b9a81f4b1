"""What is made of the code for readers: the reference's generated parts, shown output, pictures, manual pages, the schema.

``PYTHONPATH=tests python -m manual.write`` (`make manual`) writes what is not as it should be.  In pages that people write,
parts that are made stand between comments, and output behind its command.
"""

from __future__ import annotations

import re
from collections.abc import Container
from pathlib import Path

from layoutrand.config import schema
from manual import command_page, key_tables, man_pages, outputs, picture, toolchain_table

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SHOWN = "compare O2 O3 --import docs/data/quickstart.csv"
"""The command of the pictures."""

READ = {"O3 against": 1, "? compile": 2, "≈ events": 3, "◄ O3": 4, "ⓘ": 5, "Next:": 6}
"""Lines that docs/start/reading.md explains, by number."""

_PART = re.compile(r"(<!-- (keys [\w.-]+|toolchains): made by `make manual` -->\n).*?(<!-- end -->)", re.DOTALL)


def expected() -> dict[Path, str]:
    """Every file that is made, or has parts that are, with the text that it should have."""
    found = {DOCS / "reference/commands.md": command_page.page()}
    for name in ("configuration.md", "toolchains.md"):
        path = DOCS / "reference" / name
        found[path] = _PART.sub(lambda part: f"{part[1]}\n{_made(part[2])}\n\n{part[3]}", path.read_text("utf-8"))
    found[ROOT / "src/layoutrand/schemas" / schema.FILE_NAME] = schema.text(key_tables.BY_MODEL)
    return found | {DOCS / "man" / name: text for name, text in man_pages.pages().items()}


def shown() -> dict[Path, str]:
    """Every page that shows output, and every picture of it, as it would be now."""
    texts = {path: path.read_text("utf-8") for path in outputs.pages()}
    found = {path: outputs.with_output(text) for path, text in texts.items() if "--import docs/data" in text}
    command, output = f"layoutrand {SHOWN}", outputs.printed(SHOWN)
    what = "What layoutrand compare prints on a terminal"
    found[DOCS / "img/compare.svg"] = picture.drawn(command, output, {}, what)
    found[DOCS / "img/reading.svg"] = picture.drawn(command, output, READ, f"{what}, with numbers beside the lines")
    return found


def superfluous(made: Container[Path]) -> list[Path]:
    """Manual pages of commands that are no more."""
    return [path for path in (DOCS / "man").glob("*.1") if path not in made]


def _made(what: str) -> str:
    return toolchain_table.table() if what == "toolchains" else key_tables.table(what.removeprefix("keys "))


def main() -> None:
    """Write what differs."""
    made = expected()
    for path in superfluous(made):
        path.unlink()
        print(f"deleted: {path.relative_to(ROOT)}")
    for path, text in (made | shown()).items():
        if not path.exists() or path.read_text("utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
            print(f"written: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
