"""What `layoutrand build` shows at its end."""

from pathlib import Path

from layoutrand.build.build import SystemBuild
from layoutrand.cli.terminal import Terminal
from layoutrand.model import IDENTITY, STOCK, Binary
from layoutrand.screens.build_screen import show_build


def built(system, made, still=()):
    """Artefact -> its layouts, each of other bytes but in the ``still`` ones."""
    binaries = tuple(
        Binary(
            *(system, artefact, layout, Path(), artefact if artefact in still else f"{artefact} {layout}", ""),
            cached=False,
            link_s=0.0,
            verification=None,
        )
        for artefact, layouts in made.items()
        for layout in layouts
    )
    return SystemBuild(system, None, cached=False, binaries=binaries, failures=(), notes=())


def shown(capsys, *results):
    show_build(results, Terminal(json=False, quiet=False))
    return capsys.readouterr().out


def test_binaries_of_several_artefacts_are_told_as_what_they_are(capsys):
    """Thirty seeds make 64 binaries of two artefacts, of which the table alone says nothing."""
    layouts = [*range(1, 31), IDENTITY, STOCK]
    both = {"prog": layouts, "lib.so": layouts}
    told = shown(capsys, built("a", both), built("b", both), built("failed", {}))
    assert "64 binaries of a system: 2 artefacts (prog, lib.so), each in 32 layouts\n" in told
    assert "artefacts" not in shown(capsys, built("a", {"prog": layouts}))


def test_an_artefact_that_is_the_same_for_every_seed_is_named(capsys):
    """A program of one function beside its library: *each in 12 layouts* was not true of it."""
    both = {"prog": [1, 2, STOCK], "lib.so": [1, 2, STOCK]}
    told = shown(capsys, built("a", both, still=["prog"]), built("b", both, still=["prog"]))
    assert "(prog, lib.so), each in 3 layouts; prog is the same for every seed\n" in told
    assert "the same" not in shown(capsys, built("a", both, still=["prog"]), built("b", both))
    assert "the same" not in shown(capsys, built("a", {"prog": [1], "lib.so": [1]}, still=["prog"]))


def test_where_some_of_the_binaries_are_missing_no_product_is_claimed(capsys):
    told = shown(capsys, built("a", {"prog": [1, 2], "lib.so": [1]}))
    assert "each layout of a system is a binary of each of its artefacts: 2 artefacts (prog, lib.so)\n" in told
