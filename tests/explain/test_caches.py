"""Where code lies is looked at by the sizes of the machine that measured."""

from __future__ import annotations

import numpy as np
import pytest

from layoutrand.explain.caches import HUGE, USUAL, CodeCaches, caches_of
from layoutrand.explain.features import all_features
from layoutrand.explain.hotness import HotFunction, Hotness
from layoutrand.explain.mechanism_words import not_known
from layoutrand.explain.mechanisms import hot_code, levels
from layoutrand.instruments.known import cachegrind

ARM = {"page_bytes": 16384, "l1i": {"line_bytes": 128, "sets": 256, "ways": 4}}


@pytest.mark.parametrize(
    ("facts", "instrument", "expected"),
    [
        ({}, "native", USUAL),
        ({"page_bytes": None, "l1i": None}, "native", USUAL),
        (ARM, "native", CodeCaches(128, 16384, 256, 4)),
        (ARM, "perf", CodeCaches(128, 16384, 256, 4)),
        (ARM, "cachegrind", USUAL),
        ({"l1i": {"sets": 256}}, "native", CodeCaches(64, 4096, 256, 8)),
        ({"page_bytes": 5000, "l1i": {"line_bytes": -64, "sets": "64", "ways": True}}, "native", USUAL),
        ({"page_bytes": 1 << 40, "l1i": [64]}, "native", USUAL),
        ({"itlb": {"entries": 64, "ways": 8}}, "native", CodeCaches(itlb=(8, 8))),
        ({"itlb": {"entries": 64, "ways": 64}}, "native", CodeCaches(itlb=(1, 64))),
        ({"itlb": {"entries": 64, "ways": 8}}, "cachegrind", USUAL),
        ({"itlb": {"entries": 64}}, "native", USUAL),
        ({"itlb": {"entries": 64, "ways": 7}}, "native", USUAL),
        ({"itlb": {"entries": "64", "ways": 0}}, "native", USUAL),
        ({"itlb": [64, 8]}, "native", USUAL),
    ],
)
def test_what_is_told_is_taken_and_what_is_not_is_usual(facts, instrument, expected):
    assert caches_of(facts, instrument, "EM_X86_64") == expected


def test_the_tlb_is_of_no_use_for_huge_pages_and_emulated_programs():
    facts = {"itlb": {"entries": 64, "ways": 8}}
    assert caches_of(facts, "native", "EM_AARCH64") == USUAL
    assert caches_of(facts, "native", "EM_X86_64", huge=True) == CodeCaches(page=HUGE)
    assert not_known(CodeCaches(itlb=(8, 8))) == ""
    assert not_known(USUAL).endswith("its sizes are not known of what executes the program")
    assert "text lies on huge pages" in not_known(CodeCaches(page=HUGE))


def hot(caches):
    functions = tuple(HotFunction(n, name, 0.5, 128, hot=(0, 64), hottest=(0,)) for n, name in enumerate("fg"))
    return Hotness(functions, caches=caches)


def features_of(caches):
    starts = np.array([[0, 8192], [96, 8192], [4096, 4096 + 128]])
    return {feature.name: feature for feature in all_features(hot(caches), starts)}


def test_lines_pages_and_sets_are_the_machines():
    usual, arm = features_of(USUAL), features_of(CodeCaches(128, 16384, 256, 4))
    assert usual["line:f"].values.tolist() == [0, 32, 0]
    assert arm["line:f"].values.tolist() == [0, 96, 0]
    assert usual["page:f"].values.tolist() == [0, 96, 0]
    assert arm["page:f"].values.tolist() == [0, 96, 4096]
    assert usual["near:f:g"].values.tolist() == [0, 0, 1]
    assert arm["near:f:g"].values.tolist() == [1, 1, 1]
    assert arm["line:f"].words == "start of f within its 128-byte line"
    assert arm["page:f"].words == "start of f within its 16 KiB page"
    assert usual["page:f"].words == "start of f within its 4 KiB page"


def test_mechanisms_go_by_them_too():
    code = [(0, 9.0), (4, 9.0)]
    at = [0, 62, 126]
    usual = levels(hot_code(code, [], "f", USUAL), at)
    arm = levels(hot_code(code, [], "f", CodeCaches(128, 16384, 256, 4)), at)
    assert usual["line"] == (1, 2, 2)
    assert arm["line"] == (1, 1, 2)


def test_usual_ones_are_those_of_the_simulated_processor():
    size, ways, line = map(int, cachegrind.I1.words().split(","))
    assert (USUAL.line, USUAL.ways, USUAL.sets) == (line, ways, size // ways // line)
