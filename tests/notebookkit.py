"""Execute a notebook's cells as Jupyter would, in order and in one namespace, without Jupyter.

nbclient would bring a kernel, a message queue and IPython, some 25 packages, into the tests' environment; cells that
use no magic commands need none of it.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Executed:
    """One cell of code: what it printed, and its last expression's value as text and as HTML, None where it has none."""

    cell: dict[str, Any]
    printed: str
    value: Any
    text: str | None
    html: str | None

    @property
    def outputs(self) -> list[dict[str, Any]]:
        """As the format has them (nbformat 4.5)."""
        found: list[dict[str, Any]] = []
        if self.printed:
            found.append({"name": "stdout", "output_type": "stream", "text": _lines(self.printed)})
        if self.text is not None:
            data = {"text/html": _lines(self.html)} if self.html is not None else {}
            data["text/plain"] = _lines(self.text)
            number = self.cell["execution_count"]
            found.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
        return found


def execute(path: Path) -> list[Executed]:
    """Every cell of code; what one raises is raised.  The current directory is to be the notebook's."""
    done, names = [], {"__name__": "__main__"}
    for number, cell in enumerate(code_cells(json.loads(path.read_text("utf-8"))), 1):
        assert cell["execution_count"] == number, "cells are numbered as they are executed"
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        printed, value = io.BytesIO(), None
        out = io.TextIOWrapper(printed, encoding="utf-8", write_through=True)
        with contextlib.redirect_stdout(out):
            exec(compile(tree, f"<cell {number}>", "exec"), names)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), f"<cell {number}>", "eval"), names)
            text = None if value is None else repr(value)
            as_html = getattr(value, "_repr_html_", None)
            html = None if as_html is None else as_html()
        done.append(Executed(cell, printed.getvalue().decode(), value, text, html))
    return done


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """The cells that are executed."""
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def rewrite(path: Path) -> None:
    """Execute it and keep the outputs in it."""
    notebook = json.loads(path.read_text("utf-8"))
    for cell, done in zip(code_cells(notebook), execute(path), strict=True):
        cell["outputs"] = done.outputs
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    rewrite(Path(sys.argv[1]))
