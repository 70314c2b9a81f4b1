"""``--import`` and its companions: results of other harnesses in place of layoutrand's own."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from layoutrand.errors import UsageError
from layoutrand.library.project_directory import CONFIG_NAME

if TYPE_CHECKING:
    from layoutrand.analysis.selection import Selection

FORMATS = (
    "hyperfine, pyperf, jmh, renaissance, renaissance-csv, google-benchmark, criterion, catch2, doctest, nanobench, "
    "libtest, divan, go, pytest-benchmark, asv, rebench, bencher, spec-rsf, spec-csv, spec-report, csv, layoutrand"
)

Imports = Annotated[
    list[str] | None,
    typer.Option(
        "--import",
        metavar="[NAME[:SEED]=]FILE",
        help="Take results of another harness from this file; may be repeated. NAME is the system, SEED the binary; "
        "'NAME:*=PATTERN' takes every file that matches, * being the seed.",
    ),
]
Format = Annotated[
    str | None, typer.Option("--format", help=f"Format of the files to import: {FORMATS}. Default: by content.")
]
NamesAre = Annotated[
    str | None,
    typer.Option(
        help="What names in imported files stand for: benchmarks (default), or systems; then NAME is the benchmark."
    ),
]
Warmup = Annotated[
    int | None, typer.Option(min=0, help="First iterations of each imported execution to leave out as warm-up.")
]


@dataclass(frozen=True)
class ImportOptions:
    """The options as given, None or empty where not."""

    files: Sequence[str] | None
    format_name: str | None
    names_are: str | None
    warmup: int | None

    def check_unused(self) -> None:
        """Raise `UsageError` for options about imported files where there are none."""
        given = {"--format": self.format_name, "--names-are": self.names_are, "--warmup": self.warmup}
        for option, value in given.items():
            if value is not None:
                raise UsageError(f"{option} is about files to import; name them with --import")

    def select(self, systems: Sequence[str], benchmarks: Sequence[str], host: str | None, directory: Path) -> Selection:
        """What the files hold of these systems and benchmarks; raises `UsageError`."""
        from layoutrand.config.config import choose
        from layoutrand.interop import formats
        from layoutrand.interop.importing import ImportQuestion, import_selection

        if host is not None or directory != Path():
            option = "--host" if host is not None else "--directory"
            raise UsageError(f"{option} is about layoutrand's own results, which --import takes the place of")
        if self.format_name is not None:
            choose("format", [self.format_name], list(formats.FORMATS))
        names_are: Any = choose("meaning of --names-are", [self.names_are or "benchmarks"], ["benchmarks", "systems"])
        question = ImportQuestion(
            files=self.files or [],
            format_name=self.format_name,
            names_are=names_are[0],
            warmup=self.warmup or 0,
            systems=systems,
            benchmarks=benchmarks,
        )
        gc.disable()  # millions of rows are no garbage, and would be looked through again and again
        try:
            return replace(import_selection(question), at_home=Path(CONFIG_NAME).is_file())
        finally:
            gc.freeze()
            gc.enable()
