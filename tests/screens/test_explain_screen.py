"""The first screen of `explain`: who is suspected, how much nothing that was found leaves room for, within a screen.

``LAYOUTRAND_ANSWERS=write`` writes the transcripts anew.
"""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.cells import cell_len

from explainkit import EXPERIMENT, explanation, interval, suspect
from layoutrand.analysis.selection import Selection
from layoutrand.explain.explain_warnings import (
    CostOutside,
    ExplainedBefore,
    FewLayouts,
    MeasuredWhileChanging,
    NoCalls,
    NothingDiffers,
    NotShownToDiffer,
)
from layoutrand.explain.suspect_cause import SuspectCause, SuspectedMechanism
from layoutrand.screens.explain_screen import explain_screen

KEPT = Path(__file__).parent / "answers"
SELECTION = Selection(EXPERIMENT, (), (), (), (), ())
LINE, WINDOW = SuspectedMechanism("line", 0.91, 0.4, ""), SuspectedMechanism("window", 0.6, 0.3, "")
OUT = SuspectedMechanism("page", 0.1, 0.01, "it is the same in all layouts")
TOLD = SuspectCause("line", (LINE, OUT), 0.92, ())
OPEN = SuspectCause(None, (WINDOW, LINE), 0.92, ())


@pytest.fixture
def planted():
    """Sixty layouts in which starting at 32 is worse by 26.8 %."""
    starts = np.stack([16 * (np.arange(60) % 4), 4096 + 16 * np.arange(60)], axis=1)
    made = suspect(starts, 1.0 + (starts[:, 0] % 64 == 32))
    sweep = ("layoutrand", "sweep", "f", "--system", "O2", "--cause")
    return replace(made, effect=interval(1.227, 1.268, 1.309), cause=TOLD, sweep=sweep)


def case(tmp_path, benchmark, system="O2", suspects=(), unit="s", **changes):
    """What was found of one benchmark and system, in thirty layouts."""
    made = explanation(tmp_path / benchmark / system, suspects, seeds=tuple(range(1, 31)), closest=("start of g", 0.4))
    named = replace(made.subject.sample, benchmark=benchmark, system=system, unit=unit)
    return replace(made, subject=replace(made.subject, sample=named), **changes)


def screen(found, columns=80, **how):
    return text_of(explain_screen(found, SELECTION, columns, **how))


def text_of(lines):
    return "".join("".join(text for text, _ in line).rstrip() + "\n" for line in lines)


def every_kind(tmp_path, planted):
    """A suspect whose mechanism is told, one whose is not, nothing found, nothing to be found."""
    doubtful = replace(planted, effect=interval(1.01, 1.05, 1.09), cause=OPEN)
    return [
        case(tmp_path, "startup", detectable_ratio=1.034, warnings=(MeasuredWhileChanging(),)),
        case(tmp_path, "parse", suspects=[doubtful], predicted=-0.1),
        case(tmp_path, "work", suspects=[planted, doubtful, planted], warnings=(NoCalls(),)),
        case(tmp_path, "empty", closest=None, warnings=(NothingDiffers("wall_s"),)),
    ]


def kept_or_written(name, text):
    path = KEPT / f"{name}.txt"
    if os.environ.get("LAYOUTRAND_ANSWERS") == "write":
        path.write_text(text)
    return path.read_text()


@pytest.mark.parametrize("columns", [80, 120])
def test_transcripts(tmp_path, planted, columns):
    text = screen(every_kind(tmp_path, planted), columns)
    assert text == kept_or_written(f"explain-{columns}", text)
    assert max(map(cell_len, text.splitlines())) <= columns
    assert len(text.splitlines()) <= 30


def test_the_largest_stands_first_and_its_cause_beside_it(tmp_path, planted):
    text = screen(every_kind(tmp_path, planted))
    at = [text.index(name) for name in ("● work", "● parse", "? startup", "? empty")]
    assert at == sorted(at)
    assert "f: wall_s +27 %  (+23 … +31)  suspected, not proved" in text
    assert "why: instruction line straddle (91 %); no other mechanism is left" in text
    assert "left are instruction line straddle (91 %) or 32-byte window (60 %)" in " ".join(text.split())
    assert "and 2 more suspects" in text
    assert text.count("of layouts that took no part in finding it, it predicts nothing") == 1
    assert "startup  nothing found; 3.4 % would be" in text
    assert "empty    nothing found: wall_s is the same in all layouts" in text
    assert text.count("wall_s is the same") == 1  # the answer has it, so no warning repeats it


def test_what_to_do_next_and_what_it_is_called_after_it_was_done(tmp_path, planted):
    found = [case(tmp_path, "work", suspects=[planted])]
    text = screen(found)
    assert "Next: the same command with --confirm 15 · layoutrand sweep f --system O2 --cause" in " ".join(text.split())
    assert "chosen for being large" in text
    assert "by chance" not in text  # one search, whose suspects are false in 5 of 100
    elsewhere = screen(found, hint=False)
    assert "chosen for being large" in elsewhere
    assert "--confirm" not in elsewhere
    assert "chosen for being large" not in screen(found, is_tried=True, hint=False)
    tried = screen(found, is_tried=True, hint=False)
    assert "suspected before that" in tried
    assert "--confirm" not in tried


def test_where_nothing_is_found_more_layouts_would_find_what_makes_less(tmp_path):
    found = [case(tmp_path, "work")]
    assert "  Next: layoutrand run --seeds 60 · explain again " in screen(found, n_distinct=dict)
    assert "  Next: layoutrand run --seeds 60 · " in screen(found, n_distinct=lambda: {"O2": 60, "O3": 6})
    assert "  Next: more layouts: padding in layout.factors " in screen(found, n_distinct=lambda: {"O2": 59})
    same = [case(tmp_path, "empty", closest=None, warnings=(NothingDiffers("wall_s"),))]
    for nothing in (screen(same, n_distinct=dict), screen(found), screen(found, hint=False, n_distinct=dict)):
        assert "Next:" not in nothing
        assert nothing.splitlines()[-1] == "  Details: --full"


def test_several_searches_find_one_by_chance(tmp_path, planted):
    """Each holds false suspects at its own 5 %."""
    text = " ".join(screen(every_kind(tmp_path, planted)).split())
    assert "where no place matters, up to 1 row of 20 has one by chance: new layouts tell" in text


def test_nothing_is_said_of_sizes_where_no_size_would_be_found(tmp_path):
    few = case(tmp_path, "work", seeds=(1, 2, 3), detectable=1.0, warnings=(FewLayouts(3, 20),))
    text = screen([few])
    assert "nothing found: 3 layouts are too few for anything to be found" in text
    assert "would be:" not in text
    assert "⚠ 3 binaries: only what outweighs everything else can be found" in text


def test_many_benchmarks_are_within_a_screen_and_none_is_lost(tmp_path, planted):
    found = [case(tmp_path, f"b{k}", suspects=[planted] if k < 9 else []) for k in range(24)]
    text = screen(found)
    shown = text.count("● b")
    assert f"and {9 - shown} more with suspects" in text
    assert text.count("? b") == 1
    assert "and 14 more without any" in text
    assert len(text.splitlines()) <= 30


def test_who_is_suspected_comes_before_what_nothing_was_found_for(tmp_path, planted):
    found = [case(tmp_path, f"b{k}", suspects=[planted] if k < 5 else []) for k in range(24)]
    lines = screen(found).splitlines()
    assert len([line for line in lines if line.startswith("  ● b") and "suspected, not proved" in line]) == 5
    assert not [line for line in lines if "more with suspects" in line]
    assert [line for line in lines if "more without any" in line]


def test_one_warning_of_several_benchmarks_is_one_line(tmp_path):
    outside = CostOutside(0.97, "prog", ("lib/libshape.so",))
    found = [
        case(tmp_path, "work", warnings=(outside, MeasuredWhileChanging())),
        case(tmp_path, "work", "O3", warnings=(outside, ExplainedBefore("O2", "same code"))),
        case(tmp_path, "work", "O4", warnings=(outside,)),
    ]
    text = " ".join(screen(found, 120).split())
    assert "⚠ 97 % of the cost lies outside prog: in lib/libshape.so, or code that no layout moves" in text
    assert "⚠ O2: the machine changed its speed meanwhile" in text
    assert "⚠ O3: one program with O2" in text


def test_a_suspect_among_layouts_that_were_not_shown_to_differ_is_doubted(tmp_path, planted):
    swept = replace(planted, sweep=("layoutrand", "sweep", "f"))
    sure = screen([case(tmp_path, "work", suspects=[swept])])
    assert "  ● work" in sure
    assert "layoutrand sweep f" in sure
    doubted = NotShownToDiffer(0.0048, is_little=False, is_suspected=True)
    text = screen([case(tmp_path, "work", suspects=[swept], warnings=(doubted,))])
    assert "  ? work" in text
    assert "●" not in text
    assert "sweep" not in text
    told = " ".join(text.split())
    assert (
        "⚠ layouts were not shown to differ (by at most 0.48 %): what a suspect explains may be noise, which new "
        "layouts tell"
    ) in told
    assert "--confirm 15" in told
    tried = screen([case(tmp_path, "work", suspects=[swept], warnings=(doubted,))], is_tried=True)
    assert "  ● work" in tried
    assert "not shown to differ" not in tried


def test_nothing_is_advised_where_layout_hardly_matters(tmp_path):
    little = NotShownToDiffer(0.001, is_little=True, is_suspected=False)
    text = " ".join(screen([case(tmp_path, "work", warnings=(little,))]).split())
    assert "layout practically does not matter here (it adds at most 0.10 %): there may be little to find" in text


def test_what_is_no_time_is_worse_and_not_slow(tmp_path, planted):
    assert screen([case(tmp_path, "work", unit="count")]).startswith("What goes with the worse layouts?")
    assert screen([case(tmp_path, "work")]).startswith("What goes with the slow layouts?")
