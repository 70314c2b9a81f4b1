"""The product's own source as syntax trees, for tests of its shape: parsed once in each worker, when a test asks."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping
from pathlib import Path

import layoutrand

SOURCE = Path(layoutrand.__file__).parent


class _Trees(Mapping[str, ast.Module]):
    """By the module's path below the package."""

    @functools.cached_property
    def parsed(self) -> dict[str, ast.Module]:
        """All of them; the example is no part of the product."""
        found = (path for path in sorted(SOURCE.rglob("*.py")) if "quickstart" not in path.parts)
        return {str(path.relative_to(SOURCE)): ast.parse(path.read_text()) for path in found}

    def __getitem__(self, path: str) -> ast.Module:
        return self.parsed[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self.parsed)

    def __len__(self) -> int:
        return len(self.parsed)


TREES = _Trees()
