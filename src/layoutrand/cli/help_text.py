"""Help: what a command does, examples, and its options in groups, no name of which is ever cut.

`-h` shows the options that are used most and names the others; `--help` explains all of them.
"""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import typer

from layoutrand.cli.appearance import appearance

_WIDEST: Final = 100
_NAMES: Final = 24
"""Columns of names; longer ones stand in a line of their own."""

_EXAMPLE: Final = "Example: "
_OWN: Final = "Options"

_GROUPS: Final[Mapping[str, Sequence[str]]] = {
    "What to build and execute": (
        "--system",
        "--benchmark",
        "--controls",
        "--retry-failed",
        "--keep-going",
        "--only",
        "--except",
    ),
    "How it is measured": (
        "--order",
        "--tune",
        "--share-machine",
        "--wait",
        "--mode",
        "--executor",
        "--jobs",
        "--aa",
        "--twice",
        "--most-seeds",
        "--notify",
    ),
    "Which results": ("--host", "--capture", "--any-source", "--metric", "--all", "--confidence"),
    "Results of other harnesses": ("--import", "--import-format", "--format", "--names-are", "--warmup"),
    "Output": ("--full", "--json", "--csv", "--markdown", "--quiet"),
}
"""Options by what they are about; those of no group stand first, and are the ones that `-h` explains."""

_COMMANDS: Final[Mapping[str, Sequence[str]]] = {
    "Begin": ("try", "init", "demo", "doctor"),
    "Measure": ("build", "run", "exec"),
    "Understand": (
        "check",
        "analyse",
        "compare",
        "history",
        "bisect",
        "report",
        "explain",
        "sweep",
        "predict",
        "inspect",
    ),
    "Plan": ("plan", "warmup", "simulate"),
    "Keep and share": ("figures", "export", "cache", "staging", "bundle"),
}
_OTHERS: Final = "More"

_EXAMPLES: Final[Mapping[str, Sequence[str]]] = {
    "build": ("layoutrand build --seeds 50", "layoutrand build --explain"),
    "run": ("layoutrand run --seeds 50", "layoutrand run --until-half-width 1% --system 'gcc-*'"),
    "analyse": ("layoutrand analyse", "layoutrand analyse --system O2 --full"),
    "compare": (
        "layoutrand compare",
        "layoutrand compare O2 O3 --threshold 2%",
        "layoutrand compare O2 O3 --fail-if slower",
    ),
    "report": ("layoutrand report -o report.html",),
    "figures": ("layoutrand figures --format pdf,tex -o figures",),
    "explain": ("layoutrand explain --confirm 15",),
    "sweep": ("layoutrand sweep quantum_toffoli --system O2", "layoutrand sweep hash --offset 0..4095 --step 256"),
    "inspect": ("layoutrand inspect O2 7",),
    "plan": ("layoutrand plan --half-width 1% --difference 2%",),
    "warmup": ("layoutrand warmup --write",),
    "export": ("layoutrand export --format csv --output results.csv",),
    "doctor": ("layoutrand doctor", "sudo layoutrand doctor --tune"),
}
"""Of commands that have none in their own words, by all of their name: `bundle export` is another than `export`."""

_TYPES: Final[Mapping[str, str]] = {
    "<str>": "TEXT",
    "<list[str]>": "",
    "<int range>": "N",
    "<int>": "N",
    "<float range>": "X",
    "<float>": "X",
    "<path>": "PATH",
}
"""What stands for a value that has no name of its own."""

_EVERYWHERE: Final = (
    ("--color WHEN", "auto (on a terminal), always or never."),
    ("-v, --verbose", "Say more: what builds print, tables in full, where errors come from."),
    ("-h, --help", "The most used options (-h), or all of them (--help)."),
)
"""Options of all commands (`layoutrand.cli.appearance`)."""

_Row = tuple[str, str]


def dressed(command: Any, *, is_short: bool) -> Any:
    """The click command, and those in it, with help of this form."""
    command.format_help = partial(_write, command, is_short)
    for inner in getattr(command, "commands", {}).values():
        dressed(inner, is_short=is_short)
    return command


def _write(command: Any, is_short: bool, ctx: Any, formatter: Any) -> None:
    width = min(shutil.get_terminal_size().columns, max(_WIDEST, _spoken(command)))
    pieces = [piece.removesuffix("...") if "-- " in piece else piece for piece in command.collect_usage_pieces(ctx)]
    lines = [f"Usage: {ctx.command_path} {' '.join(pieces)}".rstrip(), ""]
    lines += _about(command.help or "", _EXAMPLES.get(ctx.command_path.partition(" ")[2], ()), width, is_short=is_short)
    if inner := getattr(command, "commands", None):
        rows = {name: (name, _first_sentence(each.help or "")) for name, each in inner.items() if not each.hidden}
        lines += _grouped(rows, _COMMANDS, _OTHERS if "run" in rows else "Commands", width)
    arguments, options = _parameters(command, ctx)
    if any(text for _, text in arguments):
        lines += _section("Arguments", arguments, width)
    grouped = {name for names in _GROUPS.values() if "--import" not in names or "--import" in options for name in names}
    own = {name: row for name, row in options.items() if name not in grouped and name != "--help"}
    if own:
        lines += _section(_OWN, list(own.values()), width)
    others = {name: row for name, row in options.items() if name in grouped}
    if is_short and others:
        more = f"{', '.join(others)}; `{ctx.command_path} --help` explains them"
        lines += [*textwrap.wrap(f"Also: {more}", width, break_on_hyphens=False), ""]
    else:
        lines += _grouped(others, _GROUPS, _OTHERS, width)
        lines += _section("Everywhere", _EVERYWHERE, width)
    formatter.write("\n".join(lines).rstrip() + "\n")


def _spoken(command: Any) -> int:
    """Columns of the longest example, which is never broken."""
    lines = [line.strip() for line in (command.help or "").splitlines() if line.strip().startswith(_EXAMPLE)]
    return max((len(line) for line in lines), default=0)


def _about(text: str, more: Sequence[str], width: int, *, is_short: bool) -> list[str]:
    """The command in words, and its examples."""
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]
    examples = [part.removeprefix(_EXAMPLE) for part in paragraphs if part.startswith(_EXAMPLE)] or list(more)
    words = [part for part in paragraphs if not part.startswith(_EXAMPLE)]
    lines: list[str] = []
    for part in words[:1] if is_short else words:
        indented = textwrap.wrap(part, width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
        lines += [*indented, ""]
    if examples:
        lines += [_heading("Examples"), *(f"  {example}" for example in examples), ""]
    return lines


def _first_sentence(text: str) -> str:
    first = " ".join(text.split("\n\n", maxsplit=1)[0].split())
    return first.partition(". ")[0].rstrip(".")


def _parameters(command: Any, ctx: Any) -> tuple[list[_Row], dict[str, _Row]]:
    """Arguments, and options by their longest names; hidden ones left out."""
    arguments: list[_Row] = []
    options: dict[str, _Row] = {}
    for each in command.get_params(ctx):
        row = each.get_help_record(ctx)
        if row is None:
            continue
        if each.param_type_name == "argument":
            arguments.append((_named(row[0]), each.help or ""))
        else:
            options[max(each.opts, key=len)] = (_named(row[0]), row[1])
    return arguments, options


def _named(names: str) -> str:
    for kind, name in _TYPES.items():
        names = names.replace(kind, name)
    return names.strip()


def _grouped(rows: Mapping[str, _Row], groups: Mapping[str, Sequence[str]], others: str, width: int) -> Iterator[str]:
    left = dict(rows)
    for title, names in groups.items():
        if members := [left.pop(name) for name in names if name in left]:
            yield from _section(title, members, width)
    if left:
        yield from _section(others, list(left.values()), width)


def _section(title: str, rows: Sequence[_Row], width: int) -> Iterator[str]:
    yield _heading(title)
    names = min(_NAMES, max(len(name) for name, _ in rows) + 2)
    for name, text in rows:
        words = textwrap.wrap(" ".join(text.split()), width - names - 2, break_on_hyphens=False, break_long_words=False)
        if len(name) + 2 > names:
            yield f"  {name}"
        else:
            yield f"  {name.ljust(names)}{words.pop(0) if words else ''}".rstrip()
        yield from (f"{' ' * (names + 2)}{line}" for line in words)
    yield ""


def _heading(title: str) -> str:
    is_plain = appearance().color == "never" or "NO_COLOR" in os.environ
    return title if is_plain else typer.style(title, bold=True)
