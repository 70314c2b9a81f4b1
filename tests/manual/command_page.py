"""docs/reference/commands.md: every command with its options."""

from __future__ import annotations

from itertools import groupby

from layoutrand.cli import help_text
from manual.command_tree import Command, Option, tree

OPENING = """\
# Command line

<!-- made by `make manual` from the commands themselves -->

`layoutrand COMMAND --help` says the same on the terminal, `man layoutrand-COMMAND` where manual pages are installed.
Every command that prints results takes `--json`; `report`, `figures` and `export` write files. What commands end with is in [exit status](exit-status.md), which
variables they read in [environment](environment.md).
"""


def page() -> str:
    """The whole page."""
    root = tree()
    rows = [f"| [`{each.name}`](#{anchor(each)}) | {_cell(each.summary)} |" for each in root.commands]
    parts = [OPENING, "\n".join(["| command | what it does |", "|---|---|", *rows, ""])]
    if root.options:
        parts.append(_options(root.options))
    parts += [_section(each) for command in root.commands for each in command.all()]
    return "\n".join(parts)


def anchor(command: Command) -> str:
    """The heading's name in a link."""
    return command.name.replace(" ", "-")


def _section(command: Command) -> str:
    depth = "##" if command.name.count(" ") == 1 else "###"
    parts = [f"{depth} {command.name}\n", f"```text\n{command.usage}\n```\n"]
    parts += [f"{_text(paragraph)}\n" for paragraph in command.help]
    if command.examples:
        parts.append("\n".join(["```sh", *command.examples, "```\n"]))
    if described := [each for each in command.arguments if each.help]:
        parts.append(_options(described))
    titles = ["", *help_text._GROUPS]
    options = sorted(command.options, key=lambda each: titles.index(each.group))
    for group, members in groupby(options, lambda each: each.group):
        parts += [f"*{group}*\n"] if group else []
        parts.append(_options(list(members)))
    return "\n".join(parts)


def _options(options: list[Option] | tuple[Option, ...]) -> str:
    rows = [f"| `{_cell(each.spelling)}` | {_meaning(each)} |" for each in options]
    return "\n".join(["| option | meaning |", "|---|---|", *rows, ""])


def _meaning(option: Option) -> str:
    default = f" Default: `{option.default}`." if option.default else ""
    return _cell(option.help) + default


def _cell(text: str) -> str:
    return _text(text).replace("|", "\\|")


def _text(text: str) -> str:
    """Help as Markdown: what is no markup there must be none here."""
    return text.replace("<", "&lt;").replace("*", "\\*")
