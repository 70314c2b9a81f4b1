"""Layouts that are written without a linker are those that it links, byte for byte."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from layoutrand.build import permuting
from layoutrand.build.build_document import build_document
from layoutrand.build.build_warnings import LinkedAllTheSame
from layoutrand.errors import CacheError
from layoutrand.model import Binary
from layoutrand.objects import elf
from layoutrand.permute import build_id, fields
from workshop import Built, Workshop, main_calling, many_functions, require

ENGINE = {"engine": "permute"}
UNITS = {f"u{k}.c": many_functions(12, prefix=f"u{k}_") for k in range(3)} | {
    "main.c": main_calling("u0_11", "u1_11", "u2_11")
}
TABLES = """
    #include <cstdio>
    #include <stdexcept>
    #include <string>
    #include <vector>
    struct Shape { virtual ~Shape() {} virtual int area(int) const = 0; };
    template <int N> struct Square : Shape { int area(int k) const override { return N * k; } };
    static int thrown(int k) { if (k % 3 == 0) throw std::runtime_error(std::to_string(k)); return k; }
    __attribute__((noinline)) int chosen(int k, int x) {
        switch (k) {
            case 0: return x + 1; case 1: return x * 3; case 2: return x ^ 77; case 3: return x - 12;
            case 4: return x / 3; case 5: return x % 7; case 6: return -x; case 7: return x << 2;
        }
        return 0;
    }
    thread_local int counted = 3;
    struct Made { Made() { counted += 2; } } made;
    int main() {
        std::vector<Shape *> shapes{new Square<1>, new Square<2>, new Square<3>};
        int sum = 0, caught = 0;
        for (int k = 0; k < 100; k++) {
            try { sum += thrown(k); } catch (const std::exception &error) { caught += std::string(error.what()).size(); }
            sum += shapes[k % 3]->area(k) + chosen(k % 9, k) + counted;
        }
        std::printf("%d %d\\n", sum, caught);
    }
"""
ASSEMBLED = """
    .text
    .globl twice
    .type twice, @function
hidden: nop
twice:  lea (%rdi,%rdi), %eax
    ret
    .size twice, .-twice
    .section .note.GNU-stack,"",@progbits
"""
COMMANDS = "for f in *.c; do $CC -c $f || exit 1; done; $CC -o prog *.o"
CXX = "$CXX -c main.cc more.cc && $CXX -o prog main.o more.o"

PARTIAL = "for f in *.c *.s; do $CC -c $f || exit 1; done; $LD -r -o inner.obj u1.o data.o u2.o; $LD -r -o outer.obj "


def written(shop: Workshop, commands: str, seeds: int = 4, **changes: object) -> Built:
    """Build all seeds by both engines, in caches of their own, and insist that the files are the same and written."""
    layout: dict[str, object] = {**changes.pop("layout", {})}  # type: ignore[dict-item]
    linked = Workshop(shop.project, shop.cache.with_name("linked"), shop.linker).built(
        commands, seeds=range(1, seeds + 1), controls=False, layout={**layout, "engine": "link"}, **changes
    )
    made = shop.built(commands, seeds=range(1, seeds + 1), controls=False, layout={**layout, **ENGINE}, **changes)
    assert [str(note) for note in made.result.notes if isinstance(note, LinkedAllTheSame)] == []
    assert {binary.engine for binary in made.by_layout.values()} == {"permute"}
    assert {binary.engine for binary in linked.by_layout.values()} == {"link"}
    for layout_name, binary in made.by_layout.items():
        assert binary.path.read_bytes() == linked.path(layout_name).read_bytes()
    return made


def sources(shop: Workshop, *, cxx: bool = False) -> None:
    """Put a program there."""
    shop.write_named({"main.cc": TABLES, "more.cc": many_functions(20)} if cxx else UNITS)


def without_id(shop: Workshop) -> str:
    """Flags that leave out build ids for which a package is needed that may not be there."""
    return "" if shop.linker == "gnu" else "-Wl,--build-id=none"


def test_the_linkers_own_files(shop: Workshop) -> None:
    """A program of C, with a build id where GNU ld makes it."""
    sources(shop)
    made = written(shop, COMMANDS, system={"ldflags": without_id(shop)})
    assert len(build_document([made.result])["binaries"]) == 4
    assert {row["engine"] for row in build_document([made.result])["binaries"]} == {"permute"}


@pytest.mark.parametrize("alignment", [8, 256])
def test_a_segment_that_a_section_without_content_begins(shop: Workshop, alignment: int) -> None:
    """Without the start file's data, as with --gc-sections, lld begins the data with crtbegin's empty .tm_clone_table.

    Between the two there may be a gap, by which the segment begins before anything that is in it.
    """
    sources(shop)
    kept = f"__attribute__((aligned({alignment}))) volatile long kept = 3;\nlong reads(void) {{ return kept; }}\n"
    shop.write(kept__c=kept)
    changes = {"system": {"ldflags": f"-Wl,--gc-sections,-u,reads {without_id(shop)}"}}
    made = written(shop, COMMANDS, 12, **changes)
    file = elf.read(made.path(1).read_bytes(), name="prog")
    names = file.section_names
    if shop.linker != "gnu":
        assert names.index(".tm_clone_table") < names.index(".data"), "or it is no test"


ODD = "".join(f'void odd{k}(void) {{ asm(".skip {7 * k + 1}, 0x90"); }}\n' for k in range(9))
TLSDESC_GOT = 0x6FFFFEF7
THREADS = """
    __thread char small[5] = {1};
    __thread int large[9] __attribute__((aligned(32)));
    int of_thread(int x) { large[x & 7] += small[x & 3]; return large[1]; }
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "factor"),
    [
        *((flags, "data-order") for flags in ("", "-fno-pie -no-pie", "-fno-pie -static", "-g")),
        *((flags, "text-offset") for flags in ("", "-fno-pie -no-pie", "-g")),
        *((flags, "") for flags in ("", "-fno-pie -no-pie", "-fno-pie -static", "-g")),
    ],
)
def test_code_and_constants_in_the_same_pages(gnu: Workshop, flags: str, factor: str) -> None:
    """-z noseparate-code: what follows the code moves by bytes, and what is read-only after the start ends with a page.

    Zeroes of each thread take no room, but what follows them begins where they do.
    """
    units = [f"u{k}" for k in range(3)]
    gnu.write_named({f"{unit}.c": variables(unit, 20) for unit in units} | {"more.c": many_functions(12)})
    gnu.write_named({"main.c": main_calling(*(f"{unit}_data" for unit in units), "of_thread"), "threads.c": THREADS})
    compiled = " ".join(flag for flag in flags.split() if not flag.startswith(("-no-pie", "-static")))
    linked = " ".join(flag for flag in flags.split() if flag.startswith(("-no-pie", "-static")))
    system = {"cflags": f"-O2 {compiled}", "ldflags": f"{linked} -Wl,-z,noseparate-code"}
    factors = ["function-order", factor] if factor else ["function-order"]
    written(gnu, COMMANDS, 16, system=system, layout={"factors": factors})


@pytest.mark.slow
def test_an_order_that_moves_the_storage_of_threads(gnu: Workshop) -> None:
    """The C library, linked statically, counts from its end to what is undefined: such an order is linked, and told."""
    gnu.write_named({"main.c": main_calling("of_thread"), "threads.c": THREADS, "more.c": many_functions(12)})
    system = {"cflags": "-O2 -fno-pie", "ldflags": "-static -no-pie"}
    factors = ["function-order", "text-offset"]
    linked = Workshop(gnu.project, gnu.cache.with_name("linked"), gnu.linker).built(
        COMMANDS, seeds=range(1, 25), controls=False, system=system, layout={"factors": factors, "engine": "link"}
    )
    made = gnu.built(COMMANDS, seeds=range(1, 25), controls=False, system=system, layout={"factors": factors, **ENGINE})
    [note] = [note for note in made.result.notes if isinstance(note, LinkedAllTheSame)]
    assert "moves the storage of its threads" in str(note)
    assert not made.result.failures
    for name, binary in made.by_layout.items():
        assert binary.path.read_bytes() == linked.path(name).read_bytes()


@pytest.mark.slow
def test_storage_of_threads_that_moves_in_orders_to_learn_from(gnu: Workshop) -> None:
    """That is told, and not where one of the words is that count from its end."""
    tables = "".join(
        f"int x{k}; int *const table{k}[{3 * k + 1}] __attribute__((aligned({16 << k % 4}))) = {{&x{k}}};\n"
        f"int *const *of{k}(void) {{ return table{k}; }}\n"
        for k in range(12)
    )
    gnu.write_named({"main.c": main_calling("of_thread"), "threads.c": THREADS, "tables.c": tables})
    system = {"cflags": "-O2 -fPIE", "ldflags": "-static-pie"}
    layout = {"factors": ["function-order", "data-order"], **ENGINE}
    result = gnu.build(COMMANDS, seeds=[1, 2], controls=False, layout=layout, system=system)
    [note] = [note for note in result.notes if isinstance(note, LinkedAllTheSame)]
    assert "an order moves the storage of its threads, from whose end it counts" in str(note)
    assert not result.failures


@pytest.mark.slow
def test_storage_of_threads_that_moves_beside_that_of_a_library(gnu: Workshop) -> None:
    """A variable of threads of a library is found at the start, so nothing counts from where the program's own ends."""
    far = "".join(
        f'__attribute__((aligned(4096))) int far{k}(int x) {{ asm(".skip {3000 - 400 * k}, 0x90"); return x * {k}; }}\n'
        for k in range(3)
    ) + "".join(f'int near{k}(int x) {{ asm(".skip 300, 0x90"); return x * {k}; }}\n' for k in range(9))
    own = "extern __thread int theirs;\nint both(int x) { return theirs + of_thread(x); }\n"
    gnu.write_named({"main.c": main_calling("both"), "threads.c": THREADS + own, "more.c": far})
    gnu.write_named({"library.h": "__thread int theirs = 4;\n"})
    commands = f"$CC -x c -fPIC -shared -o libtheirs.so library.h; {COMMANDS} -L. -ltheirs"
    made = written(gnu, commands, 8, system={"cflags": "-O2"})
    files = [elf.read(binary.path.read_bytes(), name="prog") for binary in made.by_layout.values()]
    assert len({int(file.sections["addr"][file.section_names.index(".tdata")]) for file in files}) > 1


@pytest.mark.slow
def test_storage_of_threads_that_moves_where_lld_links(tmp_path: Path) -> None:
    """It resolves what is undefined to the same in every order."""
    require("ld.lld-14", "lld-14")
    shop = Workshop(tmp_path / "project", tmp_path / "cache", "lld-14")
    far = "".join(f"__attribute__((aligned(4096))) int far{k}(int x) {{ return x * {k}; }}\n" for k in range(3))
    shop.write_named({"main.c": main_calling("of_thread"), "threads.c": THREADS, "more.c": many_functions(12) + far})
    system = {"cflags": "-O2 -fno-pie", "ldflags": "-static -no-pie"}
    made = written(shop, COMMANDS, 8, system=system)
    files = [elf.read(binary.path.read_bytes(), name="prog") for binary in made.by_layout.values()]
    assert len({int(file.sections["addr"][file.section_names.index(".tdata")]) for file in files}) > 1


def test_where_threads_storage_is_looked_up_late(gnu: Workshop) -> None:
    """A library's dynamic section says where descriptors of thread-local variables are filled in at their first use."""
    far = "".join(
        f'__attribute__((aligned(4096))) int far{k}(int x) {{ asm(".skip {3000 - 400 * k}, 0x90"); return x * {k}; }}\n'
        for k in range(3)
    ) + "".join(f'int near{k}(int x) {{ asm(".skip 300, 0x90"); return x * {k}; }}\n' for k in range(9))
    gnu.write_named({"threads.c": THREADS, "more.c": many_functions(12) + far})
    commands = "for f in *.c; do $CC -c $f || exit 1; done; $CC -shared -Wl,-z,lazy -o prog *.o"
    made = written(gnu, commands, 8, system={"cflags": "-O2 -fPIC -mtls-dialect=gnu2"})
    files = [elf.read(binary.path.read_bytes(), name="prog") for binary in made.by_layout.values()]
    tables = [file.entries(file.section_names.index(".dynamic"), elf.DYNAMIC) for file in files]
    places = [int(table["value"][table["tag"] == TLSDESC_GOT][0]) for table in tables]
    assert len(set(places)) > 1, "or it is no test"


@pytest.mark.slow
@pytest.mark.parametrize("pages", ["separate-code", "separate-loadable-segments"])
@pytest.mark.parametrize("more", ["", ",-z,now", ",-z,norelro", ",--no-rosegment"])
def test_segments_on_pages_of_their_own(shop: Workshop, pages: str, more: str) -> None:
    """With lld what follows the code begins a page, and the rest of the code's last one is filled."""
    if shop.linker == "gnu":
        pytest.skip("GNU ld's default")
    sources(shop)
    made = written(shop, COMMANDS, 12, system={"ldflags": f"-Wl,-z,{pages}{more} {without_id(shop)}"})
    file = elf.read(made.path(1).read_bytes(), name="prog")
    text = int(file.sections["addr"][file.section_names.index(".text")])
    assert text % 4096 == 0 or "rosegment" in more


@pytest.mark.parametrize(
    ("pages", "alignment"), [("noseparate-code", 128), ("separate-code", 8), ("separate-loadable-segments", 8)]
)
def test_storage_of_threads_that_has_zeroes_alone(shop: Workshop, pages: str, alignment: int) -> None:
    """lld gives these a place in the file, behind the code's last page if that is filled, and aligned as they are."""
    if shop.linker == "gnu" and pages == "separate-loadable-segments":
        pytest.skip("lld's alone")
    sources(shop)
    shop.write(zeroes__c=f"__thread int zeroes[9] __attribute__((aligned({alignment})));\n{ODD}")
    made = written(shop, COMMANDS, 8, system={"cflags": "-O2", "ldflags": f"-Wl,-z,{pages} {without_id(shop)}"})
    file = elf.read(made.path(1).read_bytes(), name="prog")
    assert ".tbss" in file.section_names
    assert ".tdata" not in file.section_names, "or it is no test"


def test_relocations_packed_as_for_android(tmp_path: Path) -> None:
    """Another order may pack them to as many bytes, or to others: that is not understood, and told before any is written."""
    require("ld.lld-14", "lld-14")
    shop = Workshop(tmp_path / "project", tmp_path / "cache", "lld-14")
    units = [f"u{k}" for k in range(3)]
    shop.write_named({f"{unit}.c": variables(unit, 20) for unit in units})
    shop.write_named({"main.c": main_calling(*(f"{unit}_data" for unit in units))})
    system = {"ldflags": "-Wl,--pack-dyn-relocs=android+relr,--build-id=none"}
    result = shop.build(COMMANDS, seeds=[1, 2], controls=False, layout=ENGINE, system=system)
    [note] = [note for note in result.notes if isinstance(note, LinkedAllTheSame)]
    assert "linked without --pack-dyn-relocs=android" in str(note)


def test_relocations_that_the_build_keeps(shop: Workshop) -> None:
    """They follow the order, in no way that is known: that is told by what leaves them out."""
    sources(shop)
    system = {"ldflags": f"-Wl,-q {without_id(shop)}"}
    result = shop.build(COMMANDS, seeds=[1, 2], controls=False, layout=ENGINE, system=system)
    [note] = [note for note in result.notes if isinstance(note, LinkedAllTheSame)]
    assert "linked without --emit-relocs (-q) it has none" in str(note)


def test_a_symbol_that_an_expression_defines(shop: Workshop) -> None:
    """GNU ld makes an absolute one of it, which moves with what it is of."""
    sources(shop)
    written(
        shop, COMMANDS, 6, system={"ldflags": f"-Wl,--defsym=other=u1_11+4,--defsym=third=main+0 {without_id(shop)}"}
    )


@pytest.mark.parametrize("identity", ["0x12", "0x00112233445566778899aabbccddeeff", "md5"])
def test_build_ids_that_are_given_or_short(shop: Workshop, identity: str) -> None:
    """One that is given is no hash, whatever its size is."""
    if identity == "md5" and shop.linker != "lld-14":
        pytest.importorskip("blake3")
    sources(shop)
    written(shop, COMMANDS, 3, system={"ldflags": f"-Wl,--build-id={identity}"})


@pytest.mark.slow
@pytest.mark.parametrize("flags", ["", "-fno-pie -no-pie", "-fno-pie -static", "-static-pie", "-g"])
def test_programs_of_every_kind(shop: Workshop, flags: str) -> None:
    """Exceptions, virtual functions, tables of jumps, constructors, thread-local data; with debugging information."""
    sources(shop, cxx=True)
    compiled = " ".join(flag for flag in flags.split() if not flag.startswith(("-no-pie", "-static")))
    linked = " ".join(flag for flag in flags.split() if flag.startswith(("-no-pie", "-static")))
    linked = f"{linked} {without_id(shop)}"
    written(shop, CXX, 20, system={"cxxflags": f"-O2 {compiled}", "ldflags": linked})


@pytest.mark.slow
@pytest.mark.parametrize("factors", [["module-order"], ["module-order", "function-order-in-module"]])
def test_other_orders(shop: Workshop, factors: list[str]) -> None:
    """What a layout is learned from does not depend on the factors."""
    shop.write_named({f"u{k}.c": many_functions(4, prefix=f"u{k}_") for k in range(9)})
    shop.write_named({"main.c": main_calling(*(f"u{k}_3" for k in range(9)))})
    written(shop, COMMANDS, 6, system={"ldflags": without_id(shop)}, layout={"factors": factors})


@pytest.mark.slow
@pytest.mark.parametrize("factor", ["padding", "text-offset"])
def test_gaps_of_gnu_ld(gnu: Workshop, factor: str) -> None:
    """Gaps move what follows by pages."""
    sources(gnu)
    written(gnu, COMMANDS, 20, layout={"factors": ["function-order", factor]})


DATA = """
    #include <stdio.h>
    {variables}
    extern char *{unit}_texts[];
    static int sum(const int *from, const int *to) {{ int all = 0; while (from < to) all += *from++; return all; }}
    int {unit}_data(int x) {{
        puts({unit}_texts[1]);
        return x + {use};
    }}
    char *{unit}_texts[] = {{"some text of {unit}", "another text of {unit}", "text of {unit}"}};
"""


def variables(unit: str, count: int) -> str:
    """A unit with data of every kind, sizes and alignments, and loops up to the end of a table."""
    kinds = ["static const int {0}[{1}] = {{1, {2}}};", "int {0}[{1}] = {{2, {2}}};", "static int {0}[{1}];"]
    kinds += ['static const char *const {0}[{1}] = {{"{0}"}};', 'const char *{0}[{1}] = {{"{0}"}};']
    names = [f"{unit}_d{k}" for k in range(count)]
    lines = [kinds[k % 5].format(name, 1 + k * 7 % 13, k) for k, name in enumerate(names)]
    use = [f"sum({name}, {name} + {1 + k * 7 % 13})" for k, name in enumerate(names) if k % 5 < 3]
    use += [f"{name}[0][0]" for k, name in enumerate(names) if k % 5 > 2]
    return DATA.format(variables="\n".join(lines), unit=unit, use=" + ".join(use))


@pytest.mark.slow
@pytest.mark.parametrize("flags", ["", "-fno-pie -no-pie", "-fno-pie -static", "-g"])
def test_orders_of_data(shop: Workshop, flags: str) -> None:
    """Data moves what follows it, and the relocations of the dynamic linker are in the order of places."""
    units = [f"u{k}" for k in range(4)]
    shop.write_named({f"{unit}.c": variables(unit, 10 + 7 * number) for number, unit in enumerate(units)})
    shop.write_named({"main.c": main_calling(*(f"{unit}_data" for unit in units))})
    compiled = " ".join(flag for flag in flags.split() if not flag.startswith(("-no-pie", "-static")))
    linked = " ".join(flag for flag in flags.split() if flag.startswith(("-no-pie", "-static")))
    system = {"cflags": f"-O2 {compiled}", "ldflags": f"{linked} {without_id(shop)}"}
    written(shop, COMMANDS, 10, system=system, layout={"factors": ["function-order", "data-order"]})


@pytest.mark.parametrize("count", [5, 14])
def test_addresses_outside_of_their_arrays(shop: Workshop, count: int) -> None:
    """Code at a fixed address says that of an array less what is counted from, which is that of another array."""
    kept = "__attribute__((noinline)) "
    arrays = "".join(f"static long a{k}[40];\n" for k in range(count))
    uses = [(k, far) for k in range(count) for far in (41, 100, 170)]
    sets = "".join(f"{kept}void set{k}_{far}(long i) {{ a{k}[i - {far}] = i; }}\n" for k, far in uses)
    gets = "".join(f"{kept}long get{k}_{far}(long i) {{ return a{k}[i + {far}] + {k}; }}\n" for k, far in uses)
    calls = "".join(f"set{k}_{far}(c + {far}); sum += get{k}_{far}(c - {far});\n" for k, far in uses)
    main = f"int main(int c, char **v) {{ long sum = 0;\n{calls}return sum & 1; }}\n"
    shop.write_named({"main.c": arrays + sets + gets + main})
    system = {"cflags": "-O1 -fno-pie", "ldflags": f"-no-pie {without_id(shop)}"}
    written(shop, COMMANDS, 10, system=system, layout={"factors": ["function-order", "data-order"]})


@pytest.mark.slow
def test_zeroes_of_threads_that_are_larger_than_what_follows(shop: Workshop) -> None:
    """They take no room, so that their addresses are those of other data, which is moved by other amounts."""
    zeroes = "__thread int begun = 3; __thread char zeroes[40000]; int of_thread(int x) { return begun + zeroes[x & 1023]; }\n"
    shop.write_named({"u0.c": variables("u0", 40), "threads.c": zeroes, "main.c": main_calling("u0_data", "of_thread")})
    system = {"cflags": "-O2", "ldflags": without_id(shop)}
    written(shop, COMMANDS, 10, system=system, layout={"factors": ["function-order", "data-order"]})


@pytest.mark.slow
@pytest.mark.parametrize("factors", [["function-order"], ["function-order", "data-order"]])
def test_packed_relocations(shop: Workshop, factors: list[str]) -> None:
    """The places that they stand for move with what has them."""
    units = [f"u{k}" for k in range(3)]
    shop.write_named({f"{unit}.c": variables(unit, 20) for unit in units} | {"more.c": many_functions(12)})
    shop.write_named({"main.c": main_calling(*(f"{unit}_data" for unit in units))})
    how = "-Wl,-z,pack-relative-relocs" if shop.linker == "gnu" else "-Wl,--pack-dyn-relocs=relr"
    made = written(shop, COMMANDS, 10, system={"ldflags": f"{how} {without_id(shop)}"}, layout={"factors": factors})
    names = [elf.read(binary.path.read_bytes(), name="prog").section_names for binary in made.by_layout.values()]
    assert all(".relr.dyn" in each for each in names)


@pytest.mark.slow
def test_objects_without_the_name_of_a_file(shop: Workshop) -> None:
    """Assemblers name none: their local symbols follow those of another object."""
    sources(shop)
    shop.write_named({"twice.s": ASSEMBLED, "main.c": main_calling("u0_11", "u1_11", "u2_11", "twice")})
    commands = "as twice.s -o b.o && for f in *.c; do $CC -c $f || exit 1; done; $CC -o prog *.o"
    written(shop, commands, 6, system={"ldflags": without_id(shop)})


@pytest.mark.slow
@pytest.mark.parametrize("flags", ["", "-fno-pie -no-pie -static"])
@pytest.mark.parametrize(
    "commands",
    [
        "twice.o u0.o; $CC -o prog main.o outer.obj inner.obj",  # one behind another
        "inner.obj u0.o; $CC -o prog outer.obj main.o twice.o",  # one within another, and first
        "inner.obj u0.o main.o twice.o; $CC -o prog outer.obj",  # all of it
    ],
)
def test_objects_that_were_linked_of_several(gnu: Workshop, commands: str, flags: str) -> None:
    """By ``ld -r``: they name the files of all that they are made of."""
    sources(gnu)
    gnu.write_named({"data.c": "static int hidden[20]; int *shown = hidden + 3;\n", "twice.s": ASSEMBLED})
    written(gnu, PARTIAL + commands, 6, system={"cflags": "-O2 " + flags.partition("-no-pie")[0], "ldflags": flags})


@pytest.mark.slow
@pytest.mark.parametrize("package", ["blake3", "xxhash"])
def test_build_ids_of_lld(tmp_path: Path, package: str) -> None:
    """The hashes of two versions, by packages that are an extra."""
    pytest.importorskip(package)
    shop = Workshop(tmp_path / "project", tmp_path / "cache", "lld-19" if package == "blake3" else "lld-14")
    sources(shop)
    written(shop, COMMANDS, 3, system={"ldflags": "-Wl,--build-id"})


def test_what_is_missing_for_a_build_id(gnu: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hash that cannot be made is refused with words, and the linker links."""
    sources(gnu)
    monkeypatch.setitem(build_id._SIZES, "gnu", {})
    result = gnu.build(COMMANDS, seeds=[1, 2], controls=False, layout=ENGINE)
    assert not result.failures
    [note] = [note for note in result.notes if isinstance(note, LinkedAllTheSame)]
    assert note.linked == 2
    assert "build id has 20 bytes" in str(note)
    again = gnu.build(COMMANDS, seeds=[3], controls=False, layout=ENGINE)  # from the record, without learning anew
    assert "build id has 20 bytes" in str(again.notes)


def test_by_default_many_layouts_are_written_and_few_are_linked(gnu: Workshop) -> None:
    """A program is learned where that pays; once it is, a few layouts are written, too."""
    sources(gnu)

    def engines(seeds: range) -> list[str]:
        return [binary.engine for binary in gnu.built(COMMANDS, seeds=seeds, controls=False).result.binaries]

    assert engines(range(1, 16)) == ["link"] * 15
    assert not list(gnu.cache.glob("keys/permute-*.json"))
    assert engines(range(1, 32)) == ["link"] * 15 + ["permute"] * 16
    assert engines(range(40, 43)) == ["permute"] * 3
    assert engines(range(50, 52)) == ["link"] * 2


def test_by_default_what_cannot_be_written_is_linked_with_its_reason(gnu: Workshop) -> None:
    """It is told, once, and is no warning; nothing is told of layouts that are few."""
    sources(gnu)
    system = {"ldflags": "-Wl,--compress-debug-sections=zlib", "cflags": "-g -O2"}
    few = gnu.built(COMMANDS, seeds=range(1, 16), controls=False, system=system).result
    assert (few.notes, few.unwritten) == ((), ())
    many = gnu.built(COMMANDS, seeds=range(1, 32), controls=False, system=system).result
    assert {binary.engine for binary in many.binaries} == {"link"}
    assert many.notes == ()
    [told] = many.unwritten
    assert (told.artefact, told.linked) == ("prog", 16)
    assert "is compressed" in told.reason
    document = build_document([many])
    assert document["unwritten"] == [{"system": "sys", "artefact": "prog", "reason": told.reason, "linked": 16}]
    assert document["warnings"] == []


def test_what_is_learned_is_kept(gnu: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second build reads it; where it is damaged, that is told, and it is learned anew."""
    sources(gnu)
    gnu.built(COMMANDS, seeds=[1], controls=False, layout=ENGINE)
    learned = []
    monkeypatch.setattr(permuting, "learn", lambda *asked: learned.append(asked))
    second = gnu.build(COMMANDS, seeds=[2], controls=False, layout=ENGINE)
    assert not learned
    assert [binary.engine for binary in second.binaries] == ["permute"]
    assert not second.notes
    monkeypatch.undo()
    [table] = gnu.cache.glob("captures/*/0/learned-*.npz")
    table.write_bytes(table.read_bytes()[:-30])
    third = gnu.build(COMMANDS, seeds=[3], controls=False, layout=ENGINE)
    assert [binary.engine for binary in third.binaries] == ["permute"]
    assert not third.failures
    [note] = third.notes
    assert "what was learned of prog, to write its layouts without the linker, was damaged in the cache" in str(note)
    [record] = gnu.cache.glob("keys/permute-*.json")
    record.write_bytes(record.read_bytes()[:-30])
    fourth = gnu.build(COMMANDS, seeds=[4], controls=False, layout=ENGINE)
    assert fourth.notes == third.notes
    fifth = gnu.build(COMMANDS, seeds=[5], controls=False, layout=ENGINE)
    assert not fifth.notes


def test_a_package_that_is_missing_may_be_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For want of it layouts are linked, and the reason told; as soon as it is there they are written."""
    pytest.importorskip("xxhash")
    require("ld.lld-14", "lld-14")
    shop = Workshop(tmp_path / "project", tmp_path / "cache", "lld-14")
    sources(shop)
    monkeypatch.setitem(sys.modules, "xxhash", None)
    layout, system = {**ENGINE}, {"ldflags": "-Wl,--build-id"}
    first = shop.build(COMMANDS, seeds=[1], controls=False, layout=layout, system=system)
    assert [binary.engine for binary in first.binaries] == ["link"]
    assert "pip install 'layoutrand[permute]'" in str(first.notes)
    monkeypatch.undo()
    second = shop.build(COMMANDS, seeds=[2], controls=False, layout=layout, system=system)
    assert [binary.engine for binary in second.binaries] == ["permute"]
    assert not second.notes
    monkeypatch.setitem(sys.modules, "xxhash", None)  # of what was learned, too
    third = shop.build(COMMANDS, seeds=[3], controls=False, layout=layout, system=system)
    assert [binary.engine for binary in third.binaries] == ["link"]
    assert "pip install 'layoutrand[permute]'" in str(third.notes)
    monkeypatch.undo()
    fourth = shop.build(COMMANDS, seeds=[4], controls=False, layout=layout, system=system)
    assert [binary.engine for binary in fourth.binaries] == ["permute"]


def test_a_damaged_binary_is_written_again(gnu: Workshop) -> None:
    """It is told so, and not that it was linked."""
    sources(gnu)
    first = gnu.built(COMMANDS, seeds=[1], controls=False, layout=ENGINE)
    data = first.path(1).read_bytes()
    first.path(1).chmod(0o755)
    first.path(1).write_bytes(data[:-1] + b"x")
    second = gnu.built(COMMANDS, seeds=[1], controls=False, layout=ENGINE)
    assert [str(note) for note in second.result.notes] == [
        "sys: the cached binary of prog, layout 1, was damaged; written again"
    ]
    assert second.path(1).read_bytes() == data


def test_what_fails_while_it_is_learned_is_told(gnu: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it is, such as a full disk, the linker links; and it is tried again another time."""
    sources(gnu)

    def full(*_: object) -> None:
        raise CacheError("the disk is full")

    monkeypatch.setattr(permuting, "learn", full)
    first = gnu.build(COMMANDS, seeds=[1, 2], controls=False, layout=ENGINE)
    assert {binary.engine for binary in first.binaries} == {"link"}
    [note] = first.notes
    assert str(note) == ("sys: 2 layouts of prog were linked, and not written without the linker: the disk is full")
    monkeypatch.undo()
    second = gnu.build(COMMANDS, seeds=[3], controls=False, layout=ENGINE)
    assert [binary.engine for binary in second.binaries] == ["permute"]


def test_a_wrong_distance_is_found(gnu: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that differs from the linker's is no layout, and the later ones are linked."""
    sources(gnu)
    gnu.built(COMMANDS, seeds=[1], controls=False, layout=ENGINE)
    plain = fields.apply

    def wrong(out: bytearray, found: tuple[fields.Ready, ...], shift: fields.Numbers, moved: fields.Numbers) -> None:
        plain(out, found, shift, moved)
        some = found[-1]
        out[int(some.place[-1] + moved[some.within[-1]])] ^= 1

    monkeypatch.setattr("layoutrand.permute.write.apply", wrong)
    result = gnu.build(COMMANDS, seeds=[2, 3, 4], controls=False, layout=ENGINE, jobs=1)
    [failure] = result.failures
    assert failure.layout == 2
    assert "differs from the linker's file at byte" in failure.error
    assert {binary.engine for binary in result.binaries} == {"link"}
    assert "a file that was written so differed" in str(result.notes)


def test_one_in_fifty_is_linked_too(gnu: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which are, the seed says; a fault that the first layout does not show is found there."""
    sources(gnu)
    again = [seed for seed in range(1, 400) if permuting.is_linked_again(seed, "prog")]
    assert 2 < len(again) < 16
    compared: list[int] = []

    class Seen(permuting.Permuting):
        def compare(self, made: permuting.Made, linked: object) -> None:
            compared.append(len(made.data))

    monkeypatch.setattr("layoutrand.build.making.Permuting", Seen)
    others = [seed for seed in range(1, 8) if seed not in again]
    result = gnu.build(COMMANDS, seeds=[*others, again[0]], controls=False, layout=ENGINE, jobs=1)
    assert not result.failures
    assert len(compared) == 2  # the first, and that one


@pytest.mark.parametrize(
    ("layout", "reason"),
    [
        ({"factors": ["link-order"]}, "of layout.factors, link-order cannot be written where ld.bfd links"),
    ],
)
def test_factors_that_are_refused(gnu: Workshop, layout: dict[str, object], reason: str) -> None:
    """They are told, and linked."""
    gnu.write_named({**UNITS, "data.c": "".join(f"int d{k} = {k};\n" for k in range(20))})
    commands = f"{COMMANDS.removesuffix('*.o')} main.o u0.o u1.o u2.o data.o"
    result = gnu.build(commands, seeds=[1], controls=False, layout={**ENGINE, **layout})
    assert [binary.engine for binary in result.binaries if isinstance(binary, Binary)] == ["link"]
    assert reason in str(result.notes[-1])
