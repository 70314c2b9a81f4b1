"""Profiles of gcc whose names hold the path of what was built: found in the copy, or told to be missing."""

import subprocess

import pytest

from layoutrand.model import STOCK
from workshop import in_order, many_functions

SAID = "gcc did not find"
TRAINED = """\
__attribute__((noinline)) int hot(int x) { return x % 7 ? x + 1 : x * 3; }
__attribute__((noinline)) int cold(int x) { return x % 7 ? x - 1 : x / 3; }
int main(int argc, char **argv) {
    int i, s = 0;
    for (i = 0; i < 999; i++) s += argc > 9 ? cold(i) : hot(i);
    return s < 0;
}
"""
BUILD = "cd sub && $CC -O2 -c main.c u.c && $CC -o ../prog main.o u.o"
WITHOUT, WITH = ["hot", "cold"], ["cold", "hot"]
"""The order in which a linker places them: with a profile, what training did not execute comes first."""


def train(source, *flags):
    for words in (["-c", "main.c", "u.c"], ["-o", "trained", "main.o", "u.o"]):
        subprocess.run(["gcc", "-O2", *flags, *words], cwd=source / "sub", check=True)
    subprocess.run([source / "sub/trained"], cwd=source / "sub", check=True)
    for name in ("main.o", "u.o", "trained"):
        (source / "sub" / name).unlink()


@pytest.fixture
def trained(gnu):
    """A project whose program was trained where its source is; the profiles are in ``prof``."""
    gnu.write_named({"sub/main.c": TRAINED, "sub/u.c": many_functions(4, prefix="u")})
    train(gnu.source, "-fprofile-generate=../prof")
    return gnu


def told(made):
    return [str(note) for note in made.notes if SAID in str(note)]


def order_of_stock(made):
    return in_order(made.path(STOCK), WITHOUT)


def flags(text):
    return {"sys": {"cflags": f"-O2 {text}"}}


@pytest.mark.builds
@pytest.mark.parametrize(
    "given",
    [
        "-fprofile-use=../prof",
        "-fprofile-use={source}/prof -Wno-missing-profile",
        "-fprofile-use -fprofile-dir={source}/prof",
    ],
)
def test_profiles_in_the_source_are_found_in_the_copy(trained, given):
    made = trained.built(BUILD, systems=flags(given.format(source=trained.source)), seeds=[1])
    assert not told(made.result)
    assert order_of_stock(made) == WITH


@pytest.mark.builds
@pytest.mark.parametrize("mode", ["relink", "rebuild"])
def test_profiles_elsewhere_are_told_to_be_missing_whatever_the_build_silences(trained, tmp_path, mode):
    elsewhere = tmp_path / "elsewhere"
    (trained.source / "prof").rename(elsewhere)
    quiet = "-Wno-missing-profile -fdiagnostics-color=always -Werror"
    config = trained.config(BUILD, systems=flags(f"-fprofile-use={elsewhere} {quiet}"), build={"mode": mode})
    made = trained.built(config, seeds=[1])
    (line,) = told(made.result)
    assert "2 profiles that -fprofile-use asks for (sub/main.gcda, sub/u.gcda), and compiled without them" in line
    assert f"in {elsewhere} names have the path of the directory that was built, and this is a copy" in line
    assert order_of_stock(made) == WITHOUT
    again = trained.built(config, seeds=[1, 2])
    assert again.result.cached
    assert told(again.result) == [line]


@pytest.mark.builds
def test_one_that_training_did_not_have_is_told_as_that(trained):
    (missing,) = (trained.source / "prof").glob("*u.gcda")
    missing.unlink()
    made = trained.built(BUILD, systems=flags("-fprofile-use=../prof"), seeds=[1])
    (line,) = told(made.result)
    assert "1 profile that -fprofile-use asks for (sub/u.gcda), and compiled without it; there are profiles of" in line
    assert order_of_stock(made) == WITH


@pytest.mark.builds
def test_none_beside_the_object_is_told(trained):
    made = trained.built(BUILD, systems=flags("-fprofile-use"), seeds=[1])
    (line,) = told(made.result)
    assert "(sub/main.gcda, sub/u.gcda), and compiled without them: none is where gcc looks, in the copy of" in line


@pytest.mark.builds
def test_the_same_source_in_another_place_is_another_build(trained):
    systems = flags("-fprofile-use=../prof")
    assert not told(trained.built(BUILD, systems=systems, seeds=[1]).result)
    moved = trained.source.rename(trained.project / "moved")
    made = trained.built(trained.config(BUILD, systems=systems, build={"source": moved.name}), seeds=[1])
    assert not made.result.cached
    assert len(told(made.result)) == 1


@pytest.mark.builds
def test_a_profile_outside_of_the_source_that_is_trained_anew_makes_another_build(trained, tmp_path):
    order = tmp_path / "elsewhere"
    order.mkdir()
    (order / "a.gcda").write_bytes(b"")
    systems = flags(f"-fprofile-use={order}")
    trained.built(BUILD, systems=systems, seeds=[1])
    assert trained.built(BUILD, systems=systems, seeds=[1]).result.cached
    (order / "a.gcda").write_bytes(b"another")
    trained.said.clear()
    assert not trained.built(BUILD, systems=systems, seeds=[1]).result.cached
    assert any("built again: a profile, or an order of functions, that flags name" in line for line in trained.said)
