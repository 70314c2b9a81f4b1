"""Functions that the build itself has its linker put first: with ``ordered = "keep"`` they stay there in every layout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from layoutrand.build.build import SystemBuild
from layoutrand.config.config import Config
from layoutrand.model import IDENTITY
from workshop import Workshop, main_calling, many_functions, only_error, require, symbols

BUILD = "for f in main u; do $CC -c $f.c; done; $CC -o prog main.o u.o"
GROUP = ["u7", "u2", "u5"]
FLAGS = "-Wl,--symbol-ordering-file=order.txt"


@pytest.fixture(params=["lld-19", pytest.param("lld-14", marks=pytest.mark.slow)])
def lld(tmp_path: Path, request: pytest.FixtureRequest) -> Workshop:
    """Ten functions and a list of three, for lld."""
    require(f"ld.{request.param}", request.param)
    shop = Workshop(tmp_path / "project", tmp_path / "cache", request.param)
    written(shop)
    return shop


def written(shop: Workshop) -> None:
    """The source of a workshop."""
    shop.write(main__c=main_calling("u9"), u__c=many_functions(10, prefix="u"))
    (shop.source / "order.txt").write_text("\n".join(["# hot", "", *GROUP, "nowhere", ""]))


def built(shop: Workshop, **system: Any) -> SystemBuild:
    """Identity and some seeds."""
    return shop.build(BUILD, seeds=[1, 2, 3, 4], system={"ldflags": FLAGS, **system})


def places(made: SystemBuild) -> dict[object, dict[str, int]]:
    """Address of each function by layout; stock has no part in this."""
    return {b.layout: symbols(b.path) for b in made.binaries if b.layout != "stock"}


def test_what_is_ordered_keeps_its_place_and_all_else_moves(lld: Workshop) -> None:
    made = built(lld, ordered="keep")
    assert not made.failures
    where = places(made)
    assert len(where) == 5
    identity = where[IDENTITY]
    functions = [f"u{k}" for k in range(10)]
    assert sorted(functions, key=identity.__getitem__)[:3] == GROUP
    others = [name for name in functions if name not in GROUP]
    for addresses in where.values():
        assert [addresses[name] for name in GROUP] == [identity[name] for name in GROUP]
        assert min(addresses[name] for name in others) > addresses[GROUP[-1]]
    assert len({tuple(sorted(others, key=addresses.__getitem__)) for addresses in where.values()}) == 5
    assert made.capture is not None
    link = made.capture.links[0]
    assert link.ordered == "keep"
    assert {each.name for each in link.sections if each.pinned and each.object == "u.o"} == {
        f".text.{name}" for name in GROUP
    }


def test_without_it_moves_as_before(lld: Workshop) -> None:
    """The same seeds give the same bytes whether or not there is the setting, and another capture with it."""
    moved, kept = built(lld), built(lld, ordered="keep")
    assert moved.capture is not None
    assert kept.capture is not None
    assert moved.capture.id != kept.capture.id
    where = places(moved)
    firsts = {min((f"u{k}" for k in range(10)), key=addresses.__getitem__) for addresses in where.values()}
    assert len(firsts) > 1
    said_so = built(lld, ordered="move")
    assert said_so.capture is not None
    assert said_so.capture.id == moved.capture.id
    same = [{b.layout: b.sha256 for b in each.binaries} for each in (moved, said_so)]
    assert same[0] == same[1]
    assert [b.sha256 for b in kept.binaries if b.layout == IDENTITY] == [
        b.sha256 for b in moved.binaries if b.layout == IDENTITY
    ]


def test_what_has_nothing_to_keep_is_an_error(lld: Workshop) -> None:
    none = lld.build(BUILD, seeds=[1], system={"ordered": "keep"})
    said = 'no artefact is linked with a --symbol-ordering-file that names one of its functions, so ordered = "keep"'
    assert said in only_error(none)
    (lld.source / "order.txt").write_text("nowhere\n")
    assert said in only_error(built(lld, ordered="keep"))


def test_it_is_of_lld(gnu: Workshop) -> None:
    written(gnu)
    made = gnu.build(BUILD, layouts=[IDENTITY, 1], system={"ordered": "keep"})
    assert only_error(made).startswith(
        'prog: ordered = "keep" is about --symbol-ordering-file of lld, and gnu links it'
    )


def test_a_prebuilt_system_takes_none(gnu: Workshop) -> None:
    with pytest.raises(Exception, match="is prebuilt, so nothing is built with ordered"):
        Config.model_validate(
            {
                "project": {"name": "p"},
                "build": {"commands": ["make"], "artefacts": ["prog"]},
                "systems": {"a": {"prebuilt": "x", "ordered": "keep"}},
            }
        )


def test_one_artefact_of_several_may_have_none_of_the_functions(lld: Workshop) -> None:
    """Flags of links reach all artefacts of a build."""
    more = "$CC -o other v.o"
    lld.write(v__c=many_functions(4, prefix="v") + "int main(void) { return v3(1); }\n")
    made = lld.build(
        f"{BUILD}; $CC -c v.c; {more}",
        seeds=[1, 2],
        artefacts=["prog", "other"],
        system={"ldflags": FLAGS, "ordered": "keep"},
    )
    assert not made.failures
    assert made.capture is not None
    assert [link.ordered for link in made.capture.links] == ["keep", "move"]
