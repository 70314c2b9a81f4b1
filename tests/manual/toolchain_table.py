"""The table of shipped toolchains: what each is made of and can do, read from ``toolchains/``."""

from __future__ import annotations

from pathlib import Path

from layoutrand.config import toolchain

SHIPPED = Path(__file__).resolve().parents[2] / "toolchains"
LINKERS = {"gnu": "GNU ld", "lld": "lld", "gold": "gold", "mold": "mold", "go": "Go's own"}


def table() -> str:
    """A row for each toolchain."""
    rows = []
    for path in sorted(SHIPPED.glob("*.toml")):
        found = toolchain.parse(path.read_text("utf-8"), path=path.name, parent=_text, linkers=list(LINKERS))
        factors = ", ".join(f"`{factor}`" + _since(found.link.since.get(factor)) for factor in found.link.factors)
        flags = ", ".join(f"`{flag}`" for flag in found.compile.flags)
        cells = [f"`{found.name}`", found.description, LINKERS[found.link.linker], flags, factors]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(["| toolchain | what it is | linker | adds | factors |", "|---|---|---|---|---|", *rows])


def _since(version: int | None) -> str:
    return f" (from {version} on)" if version else ""


def _text(name: str) -> str:
    return (SHIPPED / f"{name}.toml").read_text("utf-8")
