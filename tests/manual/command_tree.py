"""The commands of layoutrand as plain values: what the reference page and the manual pages are made of.

Names, help and groups are typer's; types and defaults are those of the functions, since what typer calls them changes
with its versions.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import typer.main

from layoutrand.cli import help_text, make_app

_EXAMPLE = "Example: "
_OF_TYPER = {"help", "install_completion", "show_completion"}
"""Options that every program of typer has."""


@dataclass(frozen=True)
class Option:
    """An option or an argument: its spellings, the value it takes (empty for a switch), help, default in words."""

    names: tuple[str, ...]
    value: str
    help: str
    default: str
    repeats: bool
    group: str

    @property
    def spelling(self) -> str:
        """``-j, --jobs N``."""
        return " ".join(filter(None, [", ".join(self.names), self.value]))


@dataclass(frozen=True)
class Command:
    """A command with what it takes, or a group of commands."""

    name: str
    help: tuple[str, ...]
    examples: tuple[str, ...]
    arguments: tuple[Option, ...]
    options: tuple[Option, ...]
    commands: tuple[Command, ...]

    @property
    def usage(self) -> str:
        """The command line in short."""
        if self.commands:
            return f"{self.name} COMMAND [OPTIONS]"
        return " ".join([self.name, *(["[OPTIONS]"] if self.options else []), *(each.value for each in self.arguments)])

    @property
    def summary(self) -> str:
        """The first sentence of the help, without the full stop."""
        return self.help[0].split(". ")[0].rstrip(".") if self.help else ""

    def all(self) -> list[Command]:
        """It and all below it."""
        return [self, *(inner for each in self.commands for inner in each.all())]


@cache
def tree() -> Command:
    """The whole command line, hidden commands left out."""
    return _command(typer.main.get_command(make_app()), "layoutrand")


def _command(found: Any, name: str) -> Command:
    inner = [(word, each) for word, each in getattr(found, "commands", {}).items() if not each.hidden]
    function = inspect.unwrap(found.callback) if found.callback else None
    shown = [each for each in found.params if not getattr(each, "hidden", False)]
    options = [each for each in shown if each.param_type_name == "option"]
    told = _paragraphs(found.help)
    own = tuple(each.removeprefix(_EXAMPLE) for each in told if each.startswith(_EXAMPLE))
    return Command(
        name=name,
        help=tuple(each for each in told if not each.startswith(_EXAMPLE)),
        examples=own or tuple(help_text._EXAMPLES.get(name.removeprefix("layoutrand "), ())),
        arguments=tuple(_option(each, function) for each in shown if each.param_type_name == "argument"),
        options=tuple(_option(each, function) for each in options if each.name not in _OF_TYPER),
        commands=tuple(_command(each, f"{name} {word}") for word, each in inner),
    )


def _paragraphs(text: str | None) -> tuple[str, ...]:
    parts = inspect.cleandoc((text or "").split("\f")[0]).split("\n\n")
    return tuple(" ".join(part.split()) for part in parts if part.strip())


def _option(found: Any, function: Any) -> Option:
    annotation, default = _declared(found.name, function)
    kind, repeats = _kind(annotation)
    is_argument = found.param_type_name == "argument"
    names = () if is_argument else tuple(sorted([*found.opts, *found.secondary_opts], key=_short_first))
    return Option(
        names=names,
        value=_argument(found, repeats) if is_argument else _value(found, kind, names),
        help=" ".join((found.help or "").split()),
        default="" if "efault: " in (found.help or "") else _default(default, kind, found),
        repeats=repeats,
        group=next((title for title, members in help_text._GROUPS.items() if set(names) & set(members)), ""),
    )


def _declared(name: str, function: Any) -> tuple[Any, Any]:
    """The annotation of the parameter, and what stands there without the option."""
    if function is None or name not in inspect.signature(function).parameters:
        return str, None
    default = inspect.signature(function).parameters[name].default
    return get_type_hints(function).get(name, str), None if default is inspect.Parameter.empty else default


def _kind(annotation: Any) -> tuple[type, bool]:
    """The type of one value, and whether there may be several."""
    if get_origin(annotation) is list:
        return _kind(get_args(annotation)[0])[0], True
    if get_origin(annotation) is Union or type(annotation).__name__ == "UnionType":
        return _kind(next(each for each in get_args(annotation) if each is not type(None)))
    return (annotation if isinstance(annotation, type) else str), False


def _short_first(name: str) -> tuple[bool, bool]:
    return name.startswith("--"), name.startswith("--no-")


def _argument(found: Any, repeats: bool) -> str:
    text = (found.metavar or found.name.upper()).removesuffix("...")
    if " " in text:  # a whole form, brackets included
        return text if text.startswith("[") or found.required else f"[{text}]"
    text = text.strip("[]") + ("..." if repeats else "")
    return text if found.required else f"[{text}]"


def _value(found: Any, kind: type, names: tuple[str, ...]) -> str:
    if kind is bool:
        return ""
    if found.metavar:
        return str(found.metavar)
    if kind in {int, float}:
        return "N"
    if kind is Path:
        return "PATH"
    longest = max(names, key=len).lstrip("-")
    return "VALUE" if "-" in longest else longest.upper()


def _default(default: Any, kind: type, found: Any) -> str:
    if default is None or default in ([], (), ""):
        return ""
    if kind is bool:
        return max(found.opts, key=len) if default and found.secondary_opts else ""
    return f"{default:g}" if isinstance(default, float) else str(default)
