"""Options that choose which recorded results a command is about."""

from __future__ import annotations

from typing import Annotated

import typer

from layoutrand.cli import completing

Benchmarks = Annotated[
    list[str] | None,
    typer.Option(
        "--benchmark",
        metavar="NAME",
        autocompletion=completing.benchmarks,
        help="Only this benchmark; may be repeated.",
    ),
]
Host = Annotated[str | None, typer.Option(help="Analyse the results of this machine; default: this one.")]
Captures = Annotated[
    list[str] | None,
    typer.Option("--capture", help="Results of this capture, by the beginning of its id; may be repeated."),
]
AnySource = Annotated[
    bool,
    typer.Option("--any-source", help="What was executed last, even if source or configuration are others by now."),
]
