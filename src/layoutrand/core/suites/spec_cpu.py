"""``[suite] kind = "spec-cpu"``: what may be set."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from layoutrand.core.tables import Table


class SpecSuite(Table):
    """An installation of SPEC CPU."""

    kind: Literal["spec-cpu"]
    root: str
    benchmarks: Annotated[list[str], Field(min_length=1)]
    size: Literal["test", "train", "ref"] = "ref"
    tune: Literal["base", "peak"] = "base"
