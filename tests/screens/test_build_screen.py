"""What `layoutrand build` shows at its end."""

from pathlib import Path

from layoutrand.build.build import SystemBuild
from layoutrand.cli.terminal import Terminal
from layoutrand.model import IDENTITY, STOCK, Binary
from layoutrand.screens.build_screen import show_build


def built(system, made):
    binaries = tuple(
        Binary(system, artefact, layout, Path(), "", "", cached=False, link_s=0.0, verification=None)
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


def test_where_some_of_the_binaries_are_missing_no_product_is_claimed(capsys):
    told = shown(capsys, built("a", {"prog": [1, 2], "lib.so": [1]}))
    assert "each layout of a system is a binary of each of its artefacts: 2 artefacts (prog, lib.so)\n" in told
