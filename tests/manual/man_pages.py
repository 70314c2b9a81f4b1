"""Manual pages: layoutrand(1), and one for each command, as roff for man(1)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from layoutrand import __version__
from manual.command_tree import Command, Option, tree

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"


def pages() -> dict[str, str]:
    """Name of the file -> text."""
    root = tree()
    found = {"layoutrand.1": "\n".join([*_overview(root), ""])}
    for command in root.commands:
        found[f"{_name(command)}.1"] = "\n".join([*_of_command(command), ""])
    return found


def _overview(root: Command) -> Iterator[str]:
    yield from _opening("layoutrand", root.summary)
    yield from [".SH SYNOPSIS", ".B layoutrand", ".I COMMAND", "[OPTIONS]", ".SH DESCRIPTION"]
    yield from _paragraphs(root.help)
    yield ".SH COMMANDS"
    for command in root.commands:
        yield from [".TP", f".BR {_escaped(_name(command))} (1)", _line(command.summary + ".")]
    yield from _options(root.options)
    yield ".SH EXIT STATUS"
    yield from _rows("exit-status.md")
    yield ".SH ENVIRONMENT"
    yield from _rows("environment.md")
    yield from [".SH FILES", ".TP", ".I layoutrand.toml", "The configuration of a project.", ".TP", ".I .layoutrand/"]
    yield _line("Beside it: results, reports and figures of the project.")


def _of_command(command: Command) -> Iterator[str]:
    yield from _opening(_name(command), command.summary)
    yield ".SH SYNOPSIS"
    leaves = [each for each in command.all() if not each.commands]
    for each in leaves:
        yield from [f".B {_escaped(each.name)}", _escaped(each.usage.removeprefix(each.name).strip()), ".br"]
    yield ".SH DESCRIPTION"
    yield from _paragraphs(command.help)
    for each in leaves:
        if each is not command:
            yield f".SS {_escaped(each.name)}"
            yield from _paragraphs(each.help)
        yield from _options((*each.arguments, *each.options), level="SH" if each is command else "")
    if command.examples:
        yield ".SH EXAMPLES"
        yield from _paragraphs(command.examples)
    yield from [".SH SEE ALSO", ".BR layoutrand (1)"]


def _opening(name: str, summary: str) -> Iterator[str]:
    yield f'.TH {name.upper()} 1 "" "layoutrand {__version__}" "layoutrand"'
    yield from [".nh", ".ad l"]  # names of commands and files stay whole
    yield from [".SH NAME", f"{_escaped(name)} \\- {_escaped(summary)}"]


def _options(options: tuple[Option, ...], level: str = "SH") -> Iterator[str]:
    if options and level:
        yield f".{level} OPTIONS"
    for option in options:
        yield ".TP"
        names = ", ".join(f"\\fB{_escaped(name)}\\fR" for name in option.names)
        value = f"\\fI{_escaped(option.value)}\\fR" if option.value else ""
        yield " ".join(filter(None, [names, value]))
        yield _line(option.help + (f" Default: {option.default}." if option.default else ""))


def _paragraphs(texts: tuple[str, ...]) -> Iterator[str]:
    for text in texts:
        yield from [".PP", _line(text)]


def _rows(page: str) -> Iterator[str]:
    """The rows of the first table of a page of the reference: its first cell is what the second explains."""
    table = (REFERENCE / page).read_text("utf-8").split("|---", 1)[1]
    for row in re.findall(r"^\| *(.*?) *\| *(.*?) *\|$", table.split("\n\n")[0], re.MULTILINE):
        term, meaning = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", cell).replace("`", "") for cell in row)
        yield from [".TP", f".B {_escaped(term)}", _line(meaning[:1].upper() + meaning[1:].rstrip(".") + ".")]


def _name(command: Command) -> str:
    return command.name.replace(" ", "-")


def _line(text: str) -> str:
    """A line of text that begins with no request."""
    escaped = _escaped(text)
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def _escaped(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-")
