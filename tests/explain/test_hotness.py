from __future__ import annotations

import numpy as np
import pytest

from buildkit import section
from layoutrand.errors import ToolNotFound
from layoutrand.explain.explain_warnings import CostOutside, NothingHot
from layoutrand.explain.hot_functions import readable_names
from layoutrand.explain.hotness import cost_elsewhere, function_names, hot_functions, mangled_of
from layoutrand.instruments.profile import Profile
from layoutrand.platform.process import SubprocessRunner
from workshop import require

SECTIONS = [
    section(0, name=".text.main", size=100),
    section(1, name=".text.hot", size=64),
    section(2, name=".text.warm", size=32),
    section(3, name=".text.never", size=500),
    section(4, name=".text.empty", size=0),
]
ADDRESS = np.array([4000, 1000, 1064, 2000, 1064])


def profile(cost, calls=None, total=None):
    return Profile(total or sum(cost.values()), cost, calls or {})


def test_the_hottest_come_first_with_their_shares():
    found = hot_functions(
        profile({1000: 600.0, 1060: 5.0, 1064: 300.0, 4000: 1.0}, total=2000), SECTIONS, ADDRESS, most=9
    )

    assert [f.name for f in found.functions] == ["hot", "warm"]
    assert [f.section for f in found.functions] == [1, 2]
    assert [f.share for f in found.functions] == pytest.approx([605 / 2000, 300 / 2000])
    assert found.functions[0].hottest == found.functions[0].hot == (0,)  # 5 is less than a hundredth of 600: not often
    assert found.in_artefact == pytest.approx(906 / 2000)
    assert found.covered == pytest.approx(905 / 2000)


def test_the_hot_and_the_hottest_part():
    found = hot_functions(profile({1000: 100.0, 1004: 60.0, 1008: 40.0, 1012: 0.5}), SECTIONS, ADDRESS, most=1)

    assert found.functions[0].hot == (0, 4, 8)
    assert found.functions[0].hottest == (0, 4)


def test_no_more_than_asked_for():
    found = hot_functions(profile({1000: 10.0, 1064: 9.0, 4000: 8.0}), SECTIONS, ADDRESS, most=2)

    assert [f.name for f in found.functions] == ["hot", "warm"]
    assert found.covered == pytest.approx(19 / 27)


def test_calls_between_hot_functions_only():
    calls = {(4010, 1000): 5, (4020, 1000): 2, (4030, 2000): 9, (1010, 1000): 4, (99, 1000): 1, (4010, 1064): 3}
    found = hot_functions(profile({4000: 10.0, 1000: 9.0, 1064: 8.0}, calls), SECTIONS, ADDRESS, most=9)

    assert [f.name for f in found.functions] == ["main", "hot", "warm"]
    assert found.calls == {(0, 1): 7, (0, 2): 3}  # itself, what is not hot and what is not placed are left out


def test_cost_outside_placed_sections_belongs_to_no_function():
    found = hot_functions(profile({1000: 5.0, 3000: 5.0, 99999: 5.0, 1096: 5.0}), SECTIONS, ADDRESS, most=9)

    assert [f.name for f in found.functions] == ["hot"]
    assert found.in_artefact == 1


def test_names_for_people_are_never_alike():
    sections = [
        section(0, obj="a.o", name=".text.f"),
        section(1, obj="b.o", name=".text.f"),
        section(2, name=".text.startup.main"),
        section(3, name=".text.unlikely.g"),
        section(4, name=".text"),
        section(5, name=".text.f", occurrence=1),
        section(6, name=".text._ZN1A1bEv"),
        section(7, name=".text." + "x" * 100),
        section(8, name=".text." + "x" * 101),
        section(9, name=".text.hot._D1a4bestFiZi"),
    ]
    names = function_names(sections, {"_ZN1A1bEv": "A::b"})

    assert names[:5] == ["f (a.o)", "f (b.o)", "main", "g (cold part)", ".text of a.o"]
    assert names[6] == "A::b"
    assert len(set(names)) == len(names)
    assert all(len(name) < 80 for name in names)
    assert mangled_of(sections) == ["_ZN1A1bEv", "_D1a4bestFiZi"]


def test_a_function_without_a_share_of_all_cost_is_not_hot_however_much_that_is_of_its_artefacts_own():
    cost = {1000: 999.0, 1064: 1000.0, 4000: 99.0}
    assert [f.name for f in hot_functions(profile(cost), SECTIONS, ADDRESS, most=9).functions] == [
        "warm",
        "hot",
        "main",
    ]

    found = hot_functions(profile(cost, total=1_000_000), SECTIONS, ADDRESS, most=9)
    assert [f.name for f in found.functions] == ["warm"]  # a thousandth
    assert found.covered == pytest.approx(0.001)
    assert found.in_artefact == pytest.approx(2098 / 1_000_000)
    assert cost_elsewhere(found, "bin/x", ()) == (CostOutside(1 - 2098 / 1_000_000, "bin/x"),)

    without = hot_functions(profile(cost, total=10_000_000), SECTIONS, ADDRESS, most=9)
    assert (without.functions, without.covered) == ((), 0)
    assert cost_elsewhere(without, "bin/x", ["lib/y"]) == (
        NothingHot("bin/x", 0.001),
        CostOutside(1 - 2098 / 10_000_000, "bin/x", ("lib/y",)),
    )
    assert cost_elsewhere(hot_functions(profile(cost), SECTIONS, ADDRESS, most=9), "bin/x", ["lib/y"]) == ()


def test_names_of_all_languages_are_read_whatever_order_they_come_in():
    """c++filt reads D by another style than C++ and Rust, and leaves what it cannot read as it is."""
    require("c++filt", "binutils")
    symbols = ["_ZN1A1bEv", "_D1a4bestFiZi", "_RNvC1a1b", "_Dmain"]

    names = readable_names(symbols, SubprocessRunner(), print)

    assert [names[symbol].split("(")[0] for symbol in symbols] == ["A::b", "a.best", "a[0]::b", "D main"]


def test_names_of_rust_have_no_hashes_of_crates():
    require("c++filt", "binutils")
    symbol = "_RNvMs_NtCs1nJdN2eYFoB_8smallvec3fooINtB4_8SmallVecE4push"
    assert readable_names([symbol], SubprocessRunner(), print) == {symbol: "<smallvec::foo::SmallVec<>>::push"}


def test_without_cxxfilt_it_is_said_once():
    said = []

    class Nothing:
        def run(self, words, **_):
            raise ToolNotFound(f"{words[0]} is missing")

    assert readable_names(["_ZN1A1bEv", "_D1a4bestFiZi"], Nothing(), said.append) == {}
    assert len(said) == 1
