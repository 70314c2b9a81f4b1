"""A build in which nothing is optimised is told: its layouts would be those of a program that nobody executes."""

import pytest

from workshop import main_calling, many_functions, require

SAID = "none of the compilations that layoutrand saw was given -O1 or more"


@pytest.mark.builds
@pytest.mark.parametrize(
    ("compile_words", "cflags", "told"),
    [
        ("$CC -c", "", True),
        ("$CC -g -O0 -c", "", True),
        ("$CC -O1 -c", "", False),
        ("$CC -c", "-O2", False),
        ("$CC -c", "-O0", False),  # which is what was asked for
    ],
)
def test_it_is_told_where_neither_the_build_nor_the_system_optimises(gnu, compile_words, cflags, told):
    gnu.write(main__c=main_calling("u3"), u__c=many_functions(9, prefix="u"))
    build = f"{compile_words} *.c && $CC -o prog main.o u.o"
    made = gnu.built(build, systems={"a": {"cflags": cflags}}, seeds=[1]).result
    assert any(SAID in warning for warning in made.capture.links[0].warnings) is told
    assert any(SAID in str(note) for note in made.notes) is told
    again = gnu.built(build, systems={"a": {"cflags": cflags}}, seeds=[1, 2]).result
    assert again.cached
    assert any(SAID in str(note) for note in again.notes) is told


@pytest.mark.builds
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"cflags": "-O2", "cxxflags": ""}, False),
        ({"cflags": "", "file_flags": {"u.c": "-O2"}}, False),
        ({"cflags": "-g", "fflags": "-O2"}, True),  # alone they are an error, as nothing is Fortran
    ],
)
def test_what_the_system_says_for_a_part_of_the_build_is_a_compilation_that_optimises(gnu, options, told):
    require("g++", "g++")
    gnu.write(main__cc='extern "C" int u3(int); int main() { return u3(0) == 1; }', u__c=many_functions(9, prefix="u"))
    build = "$CC -c u.c && $CXX -c main.cc && $CXX -o prog main.o u.o"
    made = gnu.built(build, systems={"a": options}, seeds=[1]).result
    assert any(SAID in warning for warning in made.capture.links[0].warnings) is told


@pytest.mark.builds
@pytest.mark.parametrize(("level", "told"), [("", True), ("-O1", False)])
def test_where_each_layout_is_a_build_it_is_told_too(gnu, level, told):
    gnu.write(main__c=main_calling("u3"), u__c=many_functions(9, prefix="u"))
    build = f"$CC {level} -c *.c && $CC -o prog main.o u.o"
    config = gnu.config(build, systems={"a": {"cflags": ""}}, build={"mode": "rebuild"})
    made = gnu.built(config, seeds=[1]).result
    assert sum(SAID in str(note) for note in made.notes) == told
