"""What one system's build failed for is not found out once more by each of the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from layoutrand.build.build import SystemBuild, build
from layoutrand.build.build_setup import BuildProgress, BuildSetup
from layoutrand.build.build_warnings import NotBuilt
from layoutrand.build.shared_failures import SharedFailures
from layoutrand.cache.store import Cache
from layoutrand.config.config import Config
from layoutrand.errors import WrongArtefact
from layoutrand.model import IDENTITY, STOCK
from workshop import Workshop, main_calling, many_functions

Systems = dict[str, dict[str, object]]
THREE: Systems = {f"O{level}": {"cflags": f"-O{level}"} for level in (1, 2, 3)}
Make = Callable[..., tuple[list[SystemBuild], int]]


@pytest.fixture
def made(tmp_path: Path) -> Make:
    """Builds all systems of a small program, one at a time; results, and how many builds there were."""
    shop = Workshop(tmp_path / "project", tmp_path / "cache")
    shop.write_named({"a.c": many_functions(5, prefix="u_") + main_calling("u_3")})
    builds = tmp_path / "builds"

    def make(command: str, systems: Systems = THREE, *, keep_going: bool = False, **changes: object) -> object:
        count = f"echo x >> {builds}"
        config: Config = shop.config([count, command], systems=systems, **changes)
        setup = BuildSetup.of(
            config, shop.project, Cache(shop.cache), shop.runner, BuildProgress(lambda _: None, lambda: None), jobs=1
        )
        setup = replace(setup, failed=SharedFailures(keep_going))
        results = build(setup, list(systems), [STOCK, IDENTITY, 1])
        return results, len(builds.read_text().splitlines())

    return make  # type: ignore[return-value]


def errors(results: list[SystemBuild]) -> set[str]:
    return {failure.cause for result in results for failure in result.failures}


def left_out(results: list[SystemBuild]) -> list[str]:
    return [str(note) for result in results for note in result.notes if isinstance(note, NotBuilt)]


def test_a_wrong_artefact_is_found_by_one_build(made: Make) -> None:
    results, builds = made("$CC $CFLAGS -o prog a.c", artefacts=["bench"])
    assert builds == 1
    (error,) = errors(results)
    assert "made no bench; is build.artefacts right? It linked: prog" in error
    assert [len(result.failures) for result in results] == [3, 3, 3]
    assert left_out(results) == [
        "O2, O3 were not built: nothing but flags of compilers tells them from O1, which failed; "
        "`layoutrand build --keep-going` builds all"
    ]


def test_all_are_built_where_that_is_asked_for(made: Make) -> None:
    results, builds = made("$CC $CFLAGS -o prog a.c", keep_going=True, artefacts=["bench"])
    assert builds == 6
    assert len(errors(results)) == 1
    assert left_out(results) == []


@pytest.mark.slow
def test_what_flags_may_be_to_blame_for_stops_no_other(made: Make) -> None:
    """A compiler that refuses one system's flags says nothing of the others."""
    systems: Systems = {"bad": {"cflags": "-O2 -fno-such-flag"}, **THREE}
    results, builds = made("$CC $CFLAGS -o prog a.c", systems)
    assert builds == 8
    assert [len(result.failures) for result in results] == [3, 0, 0, 0]


def test_two_that_were_built_side_by_side_are_not_called_left_out(tmp_path: Path) -> None:
    """Both builds had begun before either failed; what is left of the second, its stock build, is not made."""
    config = Workshop(tmp_path / "project", tmp_path / "cache").config("true", systems=THREE)
    failed, error = SharedFailures(), WrongArtefact("made no prog")
    failed.note(config, "O1", error)
    failed.note(config, "O2", error)
    for name in ("O1", "O2", "O3"):
        with pytest.raises(WrongArtefact):
            failed.refuse(config, name)

    assert failed.left_out() == [NotBuilt(("O3",), "O1")]


def test_one_that_is_being_built_when_another_fails_is_not_called_left_out(tmp_path: Path) -> None:
    """Its first build goes on, though its stock build is refused before that first one has failed, too."""
    config = Workshop(tmp_path / "project", tmp_path / "cache").config("true", systems=THREE)
    failed, error = SharedFailures(), WrongArtefact("made no prog")
    for name in ("O1", "O2"):
        failed.refuse(config, name)
    failed.note(config, "O1", error)
    for name in ("O2", "O3"):
        with pytest.raises(WrongArtefact):
            failed.refuse(config, name)

    assert failed.left_out() == [NotBuilt(("O3",), "O1")]


def test_another_environment_is_another_build(made: Make) -> None:
    systems: Systems = {
        "a": {"env": {"NAME": "other"}},
        "b": {"env": {"NAME": "prog"}},
        "c": {"env": {"NAME": "other"}},
    }
    results, builds = made("$CC -o $NAME a.c", systems)
    assert [bool(result.failures) for result in results] == [True, False, True]
    assert builds == 3  # one of a, two of b
    (line,) = left_out(results)
    assert line.startswith("c was not built: nothing but flags of compilers tells it from a, which failed")
