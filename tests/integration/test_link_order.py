"""``link-order``: objects change places on the link line, with all that follows from it, and nothing that does not."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from layoutrand.build.inspect import inspect
from layoutrand.errors import ConfigError, FeatureUnsupported
from layoutrand.model import IDENTITY, STOCK
from layoutrand.platform.process import SubprocessRunner
from sabotage import LAYOUTS, VICTIM, Saboteur, edit_output, file_offset
from speeds import first_fast
from workshop import Built, Workshop, in_order, many_functions, only_error, output, programs_of, require, symbols

TOOLCHAINS = [
    "gcc",
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("gcc-lld", "gcc-gold", "gcc-mold", "clang-lld")),
]
UNITS = "abcd"
BUILD = f"for f in *.cc; do $CXX -c $f; done; $CXX -funroll-all-loops -c d.cc; $CXX -o prog main.o {' '.join(f'{unit}.o' for unit in UNITS)}"
HEADER = """
    #include <cstdio>
    #include <string>
    std::string &trace();
    struct Announce { explicit Announce(const char *who) { trace() += who; trace() += ' '; } };
    template <class T> [[gnu::noinline]] T total(const T *values, int count) {
        T sum = 0;
        for (int i = 0; i < count; i++) sum += values[i] * (i + 1);
        return sum;
    }
"""
UNIT = """
    #include "all.h"
    static Announce one("{0}1"), two("{0}2");
    int {0}_value = {1};
    int {0}(int n) {{ static const int values[] = {{1, 2, 3, 4, 5, 6, 7, 8}}; return total(values, n) + {0}_value++; }}
"""
MAIN = """
    #include "all.h"
    std::string &trace() { static std::string all; return all; }
    int a(int); int b(int); int c(int); int d(int);
    int main() { printf("%s\\n%d\\n", trace().c_str(), a(3) + b(4) + c(5) + d(6)); return 0; }
"""
FACTOR = {"factors": ["link-order"]}


def sources(shop: Workshop) -> None:
    """Five objects with constructors, data and a template instance in each."""
    shop.write_named(
        {"all.h": HEADER, "main.cc": MAIN, **{f"{unit}.cc": UNIT.format(unit, ord(unit)) for unit in UNITS}}
    )


def built(shop: Workshop, toolchain: str = "gcc", commands: str = BUILD, seeds: range = range(1, 9)) -> Built:
    """Build with the factor; nothing fails."""
    require("g++", "g++")
    programs_of(toolchain)
    result = shop.build(commands, layout=FACTOR, system={"toolchain": toolchain}, seeds=seeds)
    assert not result.failures, [f"{failure.layout}: {failure.error}" for failure in result.failures]
    return Built(result, {binary.layout: binary for binary in result.binaries})


@pytest.mark.slow
@pytest.mark.parametrize("toolchain", TOOLCHAINS)
def test_objects_move_with_code_data_and_constructors(gnu: Workshop, toolchain: str) -> None:
    """Each object's functions, variables and constructors stand where its word stands on the line; results are the same."""
    sources(gnu)
    made = built(gnu, toolchain)
    lines = {layout: text.decode().splitlines() for layout, text in made.outputs().items()}
    assert len({line[1] for line in lines.values()}) == 1
    assert lines[IDENTITY] == lines[STOCK]
    assert len({line[0] for line in lines.values()}) > 4  # constructors run in the order of the line
    for layout, binary in made.by_layout.items():
        units = list(dict.fromkeys(word[0] for word in lines[layout][0].split()))
        names = {unit: f"_Z1{unit}i" for unit in UNITS}
        assert in_order(binary.path, names.values()) == [names[unit] for unit in units]
        assert in_order(binary.path, [f"{unit}_value" for unit in UNITS]) == [f"{unit}_value" for unit in units]
        assert all(f"{unit}1 {unit}2" in lines[layout][0] for unit in UNITS)


@pytest.mark.slow
@pytest.mark.parametrize("toolchain", TOOLCHAINS)
def test_an_empty_section_moves_with_its_object(gnu: Workshop, toolchain: str) -> None:
    """gcc leaves such, with a name in it, of a cold part of which nothing is left: it lies before whatever comes next."""
    sources(gnu)
    for unit in "efgh":
        sections = [
            (f".text.{unit}", "one"),
            (f".text.unlikely.{unit}", "cold"),
            (f".text.unlikely.{unit}.part", "empty"),
        ]
        lines = [
            f'.section {name},"ax",@progbits\n.type {unit}.{what},@function\n{unit}.{what}:' for name, what in sections
        ]
        gnu.write_named({f"{unit}.s": "\n.fill 15, 1, 0x90\nret\n".join(lines) + "\n"})
    commands = BUILD.replace("main.o", "main.o e.o f.o g.o h.o").replace("$CXX -o", "$CC -c e.s f.s g.s h.s; $CXX -o")
    made = built(gnu, toolchain, commands)
    next_to_it = set()
    for binary in made.seeded.values():
        names = symbols(binary.path)
        next_to_it.add(
            tuple(name for name, at in names.items() if at == names["e.empty"] and name[1:] in (".one", ".cold"))
        )
    assert len(next_to_it) > 2  # it is not always the same function that begins where it lies


@pytest.mark.slow
@pytest.mark.parametrize("toolchain", ["gcc", pytest.param("gcc-lld", marks=pytest.mark.slow)])
def test_another_copy_of_a_template_instance_may_be_chosen(gnu: Workshop, toolchain: str) -> None:
    """d.o's copy was compiled with other flags: where d.o comes first that one is linked, and allowed."""
    sources(gnu)
    made = built(gnu, toolchain)
    assert made.result.capture is not None
    link = made.result.capture.links[0]
    copies = [
        section
        for section in link.sections
        if section.group == "_Z5totalIiET_PKS0_i" and section.name.startswith(".text")
    ]
    assert len(copies) == 4
    sizes = {section.object: section.size for section in copies}
    assert sizes["d.o"] != sizes["a.o"]
    chosen = set()
    for binary in made.seeded.values():
        marks = {name for name in symbols(binary.path) if name.startswith(".lr.")}
        there = [section.object for section in copies if f".lr.{section.index:07d}" in marks]
        assert len(there) == 1 or toolchain == "gcc-mold"
        first = in_order(binary.path, [f"_Z1{unit}i" for unit in UNITS])[0][3]
        assert there == [f"{first}.o"]
        chosen.add(there[0])
    assert "d.o" in chosen and len(chosen) > 1


def sabotage(shop: Workshop, **how: object) -> str:
    """The message of the one layout whose link is damaged."""
    require("g++", "g++")
    sources(shop)
    shop.runner = Saboteur(**how)  # type: ignore[arg-type]
    result = shop.build(BUILD, layouts=LAYOUTS, jobs=1, layout=FACTOR)
    assert shop.runner.victims
    assert [failure.layout for failure in result.failures] == [VICTIM]
    shop.runner = SubprocessRunner()
    assert not shop.build(BUILD, layouts=LAYOUTS, jobs=1, layout=FACTOR).failures
    return result.failures[0].error


@pytest.mark.slow
def test_a_lost_constructor_is_found(gnu: Workshop) -> None:
    """An order in which a constructor no longer runs is another program."""

    def without(argv: list[str]) -> list[str]:
        at = next(k for k, word in enumerate(argv) if word.endswith("/b.o"))
        copy = Path(argv[at]).with_suffix(".lost.o")
        subprocess.run(["objcopy", "--remove-section=.init_array", argv[at], str(copy)], check=True)
        return [*argv[:at], str(copy), *argv[at + 1 :]]

    assert "a constructor is lost or new" in sabotage(gnu, before=without)


@pytest.mark.slow
def test_objects_in_the_wrong_order_are_found(gnu: Workshop) -> None:
    """The line's order is compared with the order in the binary."""

    def swapped(argv: list[str]) -> list[str]:
        places = [k for k, word in enumerate(argv) if re.search(r"/[abcd]\.o$", word)]
        words = list(argv)
        for place, other in zip(places, reversed(places), strict=True):
            words[place] = argv[other]
        return words

    assert "their objects stand the other way round on the link line" in sabotage(gnu, before=swapped)


@pytest.mark.slow
def test_an_object_too_few_or_too_many_is_found(gnu: Workshop) -> None:
    """What identity has must be there, what it has not must not."""
    message = sabotage(
        gnu, before=lambda argv: [word for word in argv if not word.endswith("/c.o")] + ["--defsym=_Z1ci=0"]
    )
    assert re.search(r"the binary lacks \.\S+ of c\.o #0, which identity has", message)


@pytest.mark.slow
def test_a_changed_byte_is_found(gnu: Workshop) -> None:
    """Code is compared with the objects' own."""

    def flip(data: bytearray, binary: object) -> None:
        data[file_offset(binary, "_Z1ci") + 1] ^= 0x08  # type: ignore[arg-type]

    assert re.search(r"\.text\._Z1ci of c\.o differs from its object", sabotage(gnu, after=edit_output(flip)))


@pytest.mark.slow
def test_the_line_that_is_not_moved_is_found(gnu: Workshop) -> None:
    """A link that ignores the new order gives the old one, which is an error and not a layout."""

    def ignored(argv: list[str]) -> list[str]:
        words = iter(sorted(word for word in argv if re.search(r"/[abcd]\.o$", word)))
        return [next(words) if re.search(r"/[abcd]\.o$", word) else word for word in argv]

    assert "the other way round" in sabotage(gnu, before=ignored)


@pytest.mark.slow
def test_nothing_crosses_archives_libraries_and_options(gnu: Workshop) -> None:
    """Objects before an archive stay before it, objects behind an option behind it."""
    require("g++", "g++")
    sources(gnu)
    gnu.write_named(
        {"lib.c": many_functions(3, prefix="lib"), "e.cc": UNIT.format("e", 101), "f.cc": UNIT.format("f", 102)}
    )
    commands = (
        "for f in *.cc; do $CXX -c $f; done; $CC -c lib.c; ar rc liblib.a lib.o; "
        "$CXX -o prog main.o a.o b.o c.o liblib.a -Wl,--as-needed d.o e.o f.o -Wl,-u,lib2 -lm"
    )
    made = built(gnu, commands=commands)
    seen = set()
    for layout, binary in made.by_layout.items():
        order = "".join(name[3] for name in in_order(binary.path, [f"_Z1{unit}i" for unit in "abcdef"]))
        assert (sorted(order[:3]), sorted(order[3:])) == (list("abc"), list("def"))
        names = symbols(binary.path)
        if layout != STOCK:
            assert max(names[f"_Z1{unit}i"] for unit in "abc") < min(names[f"_Z1{unit}i"] for unit in "def")
        seen.add(order)
    assert len(seen) > 4


@pytest.mark.slow
def test_a_program_in_archives_cannot_be_moved(gnu: Workshop) -> None:
    """One object on the line and the rest in archives: the message says so, and what to use instead."""
    require("g++", "g++")
    sources(gnu)
    commands = "for f in *.cc; do $CXX -c $f; done; ar rc liball.a a.o b.o c.o d.o; $CXX -o prog main.o liball.a"
    result = gnu.build(commands, layout=FACTOR)
    assert {binary.layout for binary in result.binaries} == {STOCK, IDENTITY}
    message = only_error(result)
    assert "no two object files stand side by side on the link line" in message
    assert "module-order" in message


@pytest.mark.slow
@pytest.mark.parametrize(
    ("toolchain", "option"),
    first_fast(1, [("gcc-gold", "--icf=all"), ("gcc-lld", "--icf=all"), ("gcc-mold", "--icf=all")]),
)
def test_folded_code_cannot_be_verified(gnu: Workshop, toolchain: str, option: str) -> None:
    """Which of two equal functions is kept depends on the order; the message says so."""
    require("g++", "g++")
    programs_of(toolchain)
    sources(gnu)
    gnu.write_named({"twins.cc": "int left(int x) { return x * 7 + 1; }\nint right(int x) { return x * 7 + 1; }\n"})
    main = MAIN.replace(
        "int main() {", "int left(int); int right(int);\n    int main() { if (left(1) != right(1)) return 1;"
    )
    gnu.write_named({"main.cc": main})
    result = gnu.build(
        BUILD.replace("main.o", f"-Wl,{option} main.o twins.o"),
        layout=FACTOR,
        system={"toolchain": toolchain},
        layouts=[IDENTITY, 1],
    )
    assert "linked with --icf: which of several equal functions is kept depends on the order" in only_error(result)


def test_link_order_goes_alone(gnu: Workshop) -> None:
    """With another factor it would not be known whose the effect is."""
    with pytest.raises(ConfigError, match="cannot go with another factor"):
        gnu.config(BUILD, layout={"factors": ["link-order", "function-order"]})


@pytest.mark.slow
def test_the_same_seed_gives_the_same_file(gnu: Workshop, tmp_path: Path) -> None:
    """Again from nothing in another place."""
    sources(gnu)
    other = Workshop(tmp_path / "another" / "project", tmp_path / "another cache")
    sources(other)
    digests = [
        {
            layout: binary.sha256
            for layout, binary in built(shop, seeds=range(1, 4)).by_layout.items()
            if layout != STOCK
        }
        for shop in (gnu, other)
    ]
    assert digests[0] == digests[1]
    assert output(built(gnu, seeds=range(1, 4)).path(1))


@pytest.mark.slow
@pytest.mark.parametrize(("toolchain", "factor"), [("gcc", "link-order"), ("gcc-mold", "linker-shuffle")])
def test_inspection_where_the_linker_decides_the_order(gnu: Workshop, toolchain: str, factor: str) -> None:
    """The distance to identity is that of the sections both have; to a layout that is not at hand there is none."""
    require("g++", "g++")
    programs_of(toolchain)
    sources(gnu)
    config = gnu.config(BUILD, layout={"factors": [factor]}, system={"toolchain": toolchain})
    result = gnu.build(config, layouts=[IDENTITY, 1, 2])
    assert not result.failures
    assert result.capture is not None
    for binary in result.binaries:
        found = inspect(config, result.capture.links[0], binary, [IDENTITY, binary.layout])
        assert found.wrong_slots == 0
        to_identity, to_itself = found.distances
        assert (to_itself.kendall_tau, to_itself.adjacent_kept) == (1.0, len(found.placed) - 1)
        assert (to_identity.kendall_tau == 1.0) == (binary.layout == IDENTITY)
        assert to_identity.kendall_tau == pytest.approx(binary.verification.tau_identity if binary.verification else 2)
    with pytest.raises(FeatureUnsupported, match=f"with {factor} the linker decides the order of layout 7"):
        inspect(config, result.capture.links[0], result.binaries[1], [7])
