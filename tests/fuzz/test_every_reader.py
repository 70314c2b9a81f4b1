"""A reader without a target is found: what takes data apart is known by the calls that do so, and must have been executed.

The calls are looked for in the source; what the targets reach is seen while they read their samples.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

from fuzz.all_targets import TARGETS
from sourcekit import SOURCE, TREES

APART = {
    "loads",
    "frombuffer",
    "unpack",
    "unpack_from",
    "iter_unpack",
    "decompress",
    "ZipFile",
    "fromstring",
    "b64decode",
    "reader",
    "DictReader",
    "model_validate_json",
}
MODULES = {("tarfile", "open"), ("np", "load"), ("tomlkit", "parse"), ("ET", "parse")}
"""Calls that take data apart, by their last name, or with that of their module where others are called so."""

SAME_PROCESS = "what this very process, or one that it started and waits for, has just written"
OWN_FIGURES = "a figure that was drawn here"
CHECKED = "a text in the results whose row was read and checked before"
LEFT_OUT = {
    "analysis/selection.py Selection.in_sequence": CHECKED,
    "build/aftermath.py _recorded": SAME_PROCESS,
    "build/apply.py LinkOutcome.link": SAME_PROCESS,
    "build/apply.py RelinkOrders.read": SAME_PROCESS,
    "build/apply.py read_outcomes": SAME_PROCESS,
    "build/present_parts.py _parsed": CHECKED,
    "build/why_again.py changed_parts": SAME_PROCESS,
    "capture/bitcode.py _assembled": "an object that elf.read has read",
    "capture/link_memory.py LinkMemory.learn": SAME_PROCESS,
    "cluster/measuring_task.py RunDescription.get": "its SHA-256 came with the task, from the user",
    "config/lines.py _statement": "called by lines_of where something is wrong, which the changes of layoutrand.toml see to",
    "config/lines.py lines_of": "the same",
    "execute/experiment.py on_huge_pages": CHECKED,
    "explain/hot_functions.py _load": "a profile of this machine's cache; what cannot be read is made again",
    "explain/suspects_document.py explain_document": CHECKED,
    "explain/traced_data.py _load": "a trace of this machine's cache; what cannot be read is made again",
    "link/codecheck.py section_bytes": "a binary that codecheck.placed has read",
    "link/codecheck.py _blame": "objects that elf.read has read",
    "layout/keyed.py keyed_permutation": "hashes that were computed here",
    "objects/unique_names.py symbol_names": "names that were made here",
    "permute/learn.py first_difference": SAME_PROCESS,
    "permute/learned.py LearnedTable.stored": SAME_PROCESS,
    "platform/child.py call": SAME_PROCESS,
    "platform/child.py serve": SAME_PROCESS,
    "platform/helper.py Client.request": SAME_PROCESS,
    "platform/helper.py Client.sees_our_files": SAME_PROCESS,
    "platform/standing_child.py StandingChild.ask": SAME_PROCESS,
    "platform/standing_child.py StandingChild._answer": SAME_PROCESS,
    "platform/standing_child.py answer_calls": SAME_PROCESS,
    "report/paper.py _combined": OWN_FIGURES,
    "report/pdf.py missing": OWN_FIGURES,
    "report/pdf.py pdf": OWN_FIGURES,
    "report/style.py standalone": OWN_FIGURES,
}
"""Functions that no target reaches, and why none is needed."""


def _takes_apart(call: ast.Call) -> bool:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    module = getattr(getattr(call.func, "value", None), "id", "")
    return name in APART or (module, name) in MODULES


def _readers(node: ast.AST, path: str, outer: tuple[str, ...] = ()) -> Iterator[str]:
    """Functions that call such a thing, as ``file Class.function``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            yield from _readers(child, path, (*outer, child.name))
        else:
            if outer and isinstance(child, ast.Call) and _takes_apart(child):
                yield f"{path} {'.'.join(outer)}"
            yield from _readers(child, path, outer)


@functools.cache
def readers() -> frozenset[str]:
    """All of them: looked for when a test asks, since every worker imports this, also to execute others."""
    return frozenset(reader for path, tree in TREES.items() for reader in _readers(tree, path))


def _forget() -> None:
    """Whatever was read once and for all is read again."""
    for name, module in list(sys.modules.items()):
        if name.startswith("layoutrand."):
            for value in vars(module).values():
                getattr(value, "cache_clear", lambda: None)()


@pytest.fixture(scope="module")
def reached(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Functions that are called while the targets read their samples."""
    found: set[str] = set()
    source = f"{SOURCE}/"

    def see(frame: FrameType, event: str, argument: object) -> None:
        del argument
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(source):
            found.add(f"{code.co_filename.removeprefix(source)} {code.co_qualname.replace('<locals>.', '')}")

    for target in TARGETS:
        place: Path = tmp_path_factory.mktemp("reached")
        samples = list(target.samples())
        _forget()  # what other tests and the making of samples had read once and for all is read again
        for sample in samples:
            before = sys.getprofile()
            sys.setprofile(see)
            try:
                target.read(sample, place)
            finally:
                sys.setprofile(before)
    return found


def test_every_reader_has_a_target(reached: set[str]) -> None:
    """Or a reason; and no reason is for something that is reached or gone."""
    assert readers() - reached - set(LEFT_OUT) == set()
    assert set(LEFT_OUT) & reached == set()
    assert set(LEFT_OUT) <= readers()


def test_readers_are_found() -> None:
    """So that the test above cannot be about nothing."""
    assert len(readers()) > 50
    assert {"objects/elf.py read", "cluster/manifest.py parse_manifest", "interop/imported.py read_json"} <= readers()
