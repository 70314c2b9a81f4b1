"""`layoutrand results`: the file that results are in."""

from __future__ import annotations

from pathlib import Path

import typer

from layoutrand.cli import options

results_app = typer.Typer(help="The file of results.", no_args_is_help=True)


@results_app.callback()
def _group() -> None:
    """The file of results."""


@results_app.command("verify")
def results_verify(directory: options.Directory = Path(), json: options.Json = False) -> int:
    """Check every row of the results against its checksum, and all of the file; exit status 1 if something is damaged.

    Nothing is changed. A damaged row is left out by every command, and `layoutrand run` executes anew what is lost.
    """
    from layoutrand.library.recorded import existing_results
    from layoutrand.results.verification import verify

    terminal = options.terminal(json=json, quiet=False)
    path = existing_results(directory)
    found = verify(path)
    if json:
        terminal.document(
            {
                "schema": "layoutrand/results-verify/1",
                "path": str(path),
                "sealed": found.sealed,
                "rows": found.rows,
                "damaged": [vars(row) for row in found.damaged],
            }
        )
    for row in found.damaged:
        terminal.fail(str(row))
    counts = ", ".join(
        f"{table.replace('_', ' ')} {'?' if count is None else count}" for table, count in found.rows.items()
    )
    terminal.line(f"{path}: {counts}; {len(found.damaged)} damaged")
    if not found.sealed:
        terminal.say(
            "it is of an earlier layoutrand and has no checksums, so only its pages and values were checked; "
            "the next `layoutrand run` adds them"
        )
    return 1 if found.damaged else 0
