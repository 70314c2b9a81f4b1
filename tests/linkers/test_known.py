"""The contract that every linker keeps, whatever its name; what each is told exactly is in `test_linkers.py`."""

from __future__ import annotations

import pytest

from buildkit import section
from layoutrand.errors import FeatureUnsupported
from layoutrand.layout.factors import LINK_ORDER, LINKER_SHUFFLE
from layoutrand.linkers.known import linker as known
from layoutrand.linkers.known import names
from layoutrand.linkers.linker import LayoutRequest
from layoutrand.linkers.toolbox import load, shipped
from layoutrand.model import IDENTITY, Layout

SECTIONS = [section(0), section(1), section(2)]
SCRIPT = "  .text :\n  {\n    *(.text .text.*)\n  }"
VERSIONS = ("", "GNU ld (GNU Binutils) 2.35", "GNU ld (GNU Binutils) 2.46", "LLD 14.0.0", "mold 2.37.1")


@pytest.fixture(params=names())
def linker(request):
    return known(request.param)


def asked(linker, name, order, version="", factors=("function-order",)):
    layout = Layout(name, factors, "keep", tuple(order), ())
    return linker.request(version, SCRIPT, SECTIONS, layout, users_script=False)


def test_it_is_known_by_its_name_and_each_name_is_of_one(linker):
    assert known(linker.name) is linker
    assert len({known(name).program for name in names()}) == len(names())
    assert linker.program.startswith("ld") != linker.own_objects


def test_a_toolchain_that_ships_uses_it(linker, tmp_path):
    assert linker.name in {load(name, tmp_path).link.linker for name in shipped()}


@pytest.mark.parametrize("version", VERSIONS)
def test_two_orders_are_two_requests_and_the_same_order_is_the_same(linker, version):
    """Or it says that it takes none, and shuffles instead."""
    if linker.name in ("go", "mold"):
        with pytest.raises(FeatureUnsupported, match=LINKER_SHUFFLE):
            asked(linker, 1, (0, 1, 2), version)
        shuffled = [asked(linker, name, (0, 1, 2), version, (LINKER_SHUFFLE,)) for name in (IDENTITY, 1, 2)]
        assert len({request.arguments for request in shuffled}) == 3
        return
    one, other = (asked(linker, 1, order, version) for order in ((0, 1, 2), (2, 1, 0)))
    assert one != other
    assert one == asked(linker, 1, (0, 1, 2), version)
    assert any("{}" in argument for argument in one.arguments)
    with pytest.raises(FeatureUnsupported, match=linker.name):
        asked(linker, 1, (0, 1, 2), version, (LINKER_SHUFFLE,))


def test_where_the_link_line_moves_nothing_is_asked(linker):
    assert asked(linker, 1, (2, 1, 0), factors=(LINK_ORDER,)) == LayoutRequest("", ())


def test_a_line_has_all_its_words_and_the_output(linker):
    line = linker.line(["a.o", "b.o"], ["-x"], "prog")
    assert sorted(line) == sorted(["a.o", "b.o", "-x", "-o", "prog"])
    assert line[line.index("-o") + 1] == "prog"


def test_it_can_be_made_to_tell_what_it_reads(linker):
    """In what it says or in a file, and a build whose linker told nothing has nothing to tell."""
    assert all(word.startswith("-") for word in linker.talkative("/x/reports"))
    assert linker.opened("", b"") == []
    assert any("/x/reports" in word for word in linker.talkative("/x/reports")) == linker.reports


def test_a_limit_of_threads_of_the_builds_own_stays(linker):
    assert linker.thread_limit(["-o", "x", "--threads=3"], 1) == []


@pytest.mark.parametrize(
    "reader",
    [known(name).map for name in names() if known(name).map],
    ids=lambda reader: type(reader).__module__.rsplit(".", 1)[-1],
)
def test_what_is_no_map_tells_nothing(reader):
    assert reader.sections("nonsense\n", str) == []
    assert reader.members("nonsense\n", str) == frozenset()
    assert not reader.mentioned("nonsense\n", str)


def test_a_name_that_is_none_is_told_with_those_that_are():
    with pytest.raises(FeatureUnsupported, match="no linker is called 'wild'; there are gnu, go, gold, lld, mold"):
        known("wild")
