"""The notebook under examples/ is executed, and shows what it shows; so are the examples of docs/library.md.

``LAYOUTRAND_NOTEBOOK=write`` writes the notebook's outputs anew.
"""

import doctest
import os
import re
from pathlib import Path

import pytest

import layoutrand
import notebookkit

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "examples/notebook/results.ipynb"
DOCS = ROOT / "docs/library.md"


def test_the_notebook_shows_what_it_says(monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.chdir(NOTEBOOK.parent)
    if os.environ.get("LAYOUTRAND_NOTEBOOK") == "write":
        notebookkit.rewrite(NOTEBOOK)
    executed = notebookkit.execute(NOTEBOOK)
    assert len(executed) > 8
    for done in executed:
        if "pandas" in done.cell["metadata"].get("tags", ()):  # which shows frames in the way of its version
            assert done.text is not None
        else:
            assert done.outputs == done.cell["outputs"]


def test_the_examples_of_the_page_give_what_they_say(monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.chdir(ROOT)
    blocks = re.findall(r"^```pycon\n(.*?)^```", DOCS.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    parsed = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, DOCS.name, str(DOCS), 0)
    assert len(parsed.examples) > 8
    said = []
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS).run(
        parsed, out=said.append
    )
    assert result.failed == 0, "".join(said)


def test_the_page_names_what_is_stable():
    text = DOCS.read_text("utf-8")
    for name in layoutrand.__all__:
        assert f"`{name}`" in text or f"layoutrand.{name}" in text, name
