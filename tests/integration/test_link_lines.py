"""Every way of writing a link: archives and positional options, response files, kinds of output, linker options."""

from __future__ import annotations

import re
import subprocess

import pytest

from layoutrand.objects import elf
from speeds import first_fast, only_fast
from workshop import (
    FILLER,
    LOADER,
    Built,
    Workshop,
    in_order,
    main_calling,
    many_functions,
    only_error,
    output,
    plain_program,
    symbols,
)

UNITS = {f"u{k}.c": many_functions(4, prefix=f"u{k}_") for k in range(3)}
MAIN = main_calling("u0_3", "u1_3", "u2_3")
COMPILE = "$CC -c *.c && "


@pytest.fixture
def units(shop: Workshop) -> Workshop:
    """Three units of four functions each, and a main that calls one of each."""
    shop.write_named({**UNITS, "main.c": MAIN})
    return shop


def assert_moved(built: Built, names: list[str]) -> None:
    """The named functions stand in another order in every seed."""
    orders = {tuple(in_order(binary.path, names)) for binary in built.seeded.values()}
    assert len(orders) == len(built.seeded)


NAMES = [f"u{unit}_{k}" for unit in range(3) for k in range(4)]


def test_archive_members_are_placed_singly(units: Workshop) -> None:
    """Functions of archive members move like any others, and only the members that the link needs are there."""
    units.write(unused__c="int not_called(void) { return 1; }\n")
    built = units.built(COMPILE + "$AR rcs libu.a u0.o u1.o u2.o unused.o && $CC -o prog main.o -L. -lu")
    built.assert_all_print_as_stock()
    assert_moved(built, NAMES)
    assert "not_called" not in symbols(built.path(1))
    assert built.result.capture is not None
    assert not any("unused" in member for member in built.result.capture.links[0].members)
    assert any("libu.a(u1.o)" in member for member in built.result.capture.links[0].members)


def test_which_archive_supplies_a_symbol(shop: Workshop) -> None:
    """Of two archives that define a symbol, the first on the line supplies it in every layout."""
    shop.write(
        a__c='const char *who(void) { return "a"; }\n',
        b__c='const char *who(void) { return "b"; }\n',
        filler__c=FILLER,
        main__c="#include <stdio.h>\nconst char *who(void);\nint main(void) { fputs(who(), stdout); return 0; }\n",
    )
    built = shop.built(
        COMPILE + "$AR rcs liba.a a.o && $AR rcs libb.a b.o && $CC -o prog main.o filler.o libb.a liba.a"
    )
    built.assert_prints("b")


def test_archives_that_need_each_other(shop: Workshop) -> None:
    """--start-group goes on resolving in every layout."""
    shop.write(
        a__c="int b1(int); int a1(int x) { return b1(x) + 1; } int a2(int x) { return x * 5; }\n" + FILLER,
        b__c="int c1(int); int b1(int x) { return c1(x) + 10; }\n",
        c__c="int a3(int); int c1(int x) { return a3(x) + 100; }\n",
        d__c="int a3(int x) { return x; }\n",
        main__c=main_calling("a1"),
    )
    built = shop.built(
        COMPILE + "$AR rcs libone.a a.o c.o && $AR rcs libtwo.a b.o d.o && "
        "$CC -o prog main.o -Wl,--start-group libone.a libtwo.a -Wl,--end-group"
    )
    built.assert_prints("a1 116\n")


def test_whole_archive_and_push_state(shop: Workshop) -> None:
    """--whole-archive pulls in members that only register themselves, within its bounds alone."""
    register = '#include <stdio.h>\n__attribute__((constructor)) static void r(void) {{ fputs("{0} ", stdout); }}\n'
    shop.write(
        a__c=register.format("in"),
        b__c=register.format("out"),
        filler__c=FILLER,
        main__c="int main(void) { return 0; }\n",
    )
    built = shop.built(
        COMPILE + "$AR rcs libin.a a.o && $AR rcs libout.a b.o && $CC -o prog main.o filler.o "
        "-Wl,--push-state,--whole-archive libin.a -Wl,--pop-state libout.a"
    )
    built.assert_prints("in ")


def test_as_needed_libraries(shop: Workshop) -> None:
    """--as-needed leaves out the same shared libraries in every layout, and the right ones are found in the tree."""
    shop.write(
        used__c="int used(int x) { return x + 7; }\n",
        idle__c="int idle(int x) { return x; }\n",
        filler__c=FILLER,
        main__c=main_calling("used"),
    )
    built = shop.built(
        COMPILE + "for n in used idle; do $CC -shared -fPIC -o lib$n.so $n.c -Wl,-soname,lib$n.so.1; done; "
        "$CC -o prog main.o filler.o -L. -Wl,--as-needed -lidle -lused -Wl,-rpath,/nowhere"
    )
    for binary in built.by_layout.values():
        needed = subprocess.run(["readelf", "-d", str(binary.path)], capture_output=True, text=True, check=True).stdout
        assert "libused.so.1" in needed
        assert "libidle" not in needed


def test_members_of_one_name_and_objects_of_one_name(shop: Workshop) -> None:
    """Two members called same.o and two objects called same.o are four objects."""
    shop.write_named(
        {
            "a/same.c": many_functions(3, prefix="a"),
            "b/same.c": many_functions(3, prefix="b"),
            "c/same.c": many_functions(3, prefix="c"),
            "d/same.c": many_functions(3, prefix="d"),
            "main.c": main_calling("a2", "b2", "c2", "d2"),
        }
    )
    built = shop.built(
        "for d in a b c d; do (cd $d && $CC -c same.c); done; $CC -c main.c; $AR qcs libx.a a/same.o b/same.o; "
        "$CC -o prog main.o c/same.o libx.a d/same.o"
    )
    built.assert_all_print_as_stock()
    names = [f"{letter}{k}" for letter in "abcd" for k in range(3)]
    assert_moved(built, names)
    assert built.result.capture is not None
    objects = {section.object for section in built.result.capture.links[0].sections if not section.pinned}
    assert objects == {"main.o", "c/same.o", "d/same.o", "libx.a(same.o)", "libx.a(same.o):1"}


def test_thin_archives(units: Workshop) -> None:
    """A thin archive's members are captured by content, since the archive names files only."""
    built = units.built(COMPILE + "mkdir lib && $AR rcsT lib/libu.a u0.o u1.o u2.o && $CC -o prog main.o lib/libu.a")
    built.assert_all_print_as_stock()
    assert_moved(built, NAMES)


def test_nested_thin_archives(units: Workshop) -> None:
    """A thin archive made of a thin archive keeps its members."""
    built = units.built(
        COMPILE + "$AR rcsT inner.a u0.o u1.o && $AR rcsT outer.a inner.a u2.o && $CC -o prog main.o outer.a"
    )
    built.assert_all_print_as_stock()
    assert_moved(built, NAMES)


def test_response_files_name_the_objects(units: Workshop) -> None:
    """Objects named only inside (nested, quoted) response files are placed like any others."""
    built = units.built(
        COMPILE + "mkdir 'with space' && cp u1.o 'with space/u1.o' && echo \"'with space/u1.o' u2.o\" > inner.rsp && "
        "printf 'main.o\\nu0.o @inner.rsp' > outer.rsp && $CC -o prog @outer.rsp && rm -f *.rsp"
    )
    built.assert_all_print_as_stock()
    assert_moved(built, NAMES)


def test_a_response_file_of_the_linker(units: Workshop) -> None:
    """-Wl,@file reaches the linker unexpanded by the driver, and is expanded in the record."""
    built = units.built(COMPILE + "echo u0.o u1.o > more.rsp && $CC -o prog main.o u2.o -Wl,@more.rsp && rm more.rsp")
    built.assert_all_print_as_stock()
    assert_moved(built, NAMES)


def test_compiling_and_linking_in_one_step(units: Workshop) -> None:
    """The driver's temporary objects are kept, and known by their source names."""
    built = units.built("$CC -o prog main.c u0.c u1.c u2.c")
    built.assert_all_print_as_stock()
    assert_moved(built, NAMES)
    assert built.result.capture is not None
    objects = {section.object for section in built.result.capture.links[0].sections if not section.pinned}
    assert objects == {"temp(main.c)", "temp(u0.c)", "temp(u1.c)", "temp(u2.c)"}


@pytest.mark.parametrize("kind", only_fast(["-static-pie", "-no-pie"], ["-static", "-static-pie", "-no-pie", "-pie"]))
def test_kinds_of_executable(units: Workshop, kind: str) -> None:
    """Static, position-independent and fixed executables can be laid out; libc's own code stays where it is."""
    compile_flag = "-fno-pie" if kind == "-no-pie" else "-fPIE"
    built = units.built(f"$CC {compile_flag} -c *.c && $CC {kind} -o prog main.o u0.o u1.o u2.o", seeds=[1, 2])
    built.assert_all_print_as_stock()
    assert_moved(built, NAMES)


def test_shared_library(shop: Workshop) -> None:
    """A shared library is an artefact like a program: loaded by another program it does what it did."""
    shop.write(
        lib__c='#include <stdio.h>\nint f5(int);\nint run(void) { printf("%d", f5(3)); return 0; }\n',
        f__c=many_functions(6),
    )
    loader = plain_program(shop.project, LOADER)
    built = shop.built(
        "$CC -fPIC -c lib.c f.c && $CC -shared -o libit.so.1 lib.o f.o -Wl,-soname,libit.so.1", artefacts=["libit.so.1"]
    )
    printed = {output(loader, str(binary.path)) for binary in built.by_layout.values()}
    assert len(printed) == 1
    assert_moved(built, [f"f{k}" for k in range(6)])


def test_two_artefacts_of_one_build(units: Workshop) -> None:
    """A program and its own library are captured in one build and laid out each by itself."""
    result = units.build(
        "$CC -fPIC -c u0.c u1.c u2.c && $CC -shared -o libu.so u0.o u1.o u2.o && $CC -c main.c && "
        "$CC -o prog main.o u0.o u1.o -L. -lu",
        artefacts=["prog", "libu.so"],
    )
    assert not result.failures
    assert {(b.artefact, b.layout) for b in result.binaries} == {
        (name, layout) for name in ("prog", "libu.so") for layout in ("stock", "identity", 1, 2, 3, 4)
    }


def test_debug_information(units: Workshop) -> None:
    """-g changes nothing: debug sections follow, and hold no path of the private copy."""
    built = units.built("$CC -g3 -c *.c && $CC -g -o prog main.o u0.o u1.o u2.o")
    built.assert_all_print_as_stock()
    assert_moved(built, NAMES)
    for binary in built.by_layout.values():
        assert str(units.cache).encode() not in binary.path.read_bytes()


def test_compressed_debug_information(units: Workshop) -> None:
    """Compressed debug sections in the objects and in the output are no obstacle."""
    built = units.built("$CC -g -gz -c *.c && $CC -g -gz -o prog main.o u0.o u1.o u2.o")
    built.assert_all_print_as_stock()


def test_garbage_collected_sections(units: Workshop) -> None:
    """--gc-sections drops the same functions in every layout."""
    units.write(dead__c=many_functions(5, prefix="dead"))
    built = units.built(COMPILE + "$CC -o prog -Wl,--gc-sections main.o u0.o u1.o u2.o dead.o")
    built.assert_all_print_as_stock()
    assert_moved(built, NAMES)
    for binary in built.by_layout.values():
        if binary.layout != "stock":  # without function sections dead.o is one section, dropped as one piece
            assert "dead0" not in symbols(binary.path)


@pytest.mark.parametrize("option", ["all", "safe"])
def test_identical_code_folding(units: Workshop, option: str) -> None:
    """lld's --icf folds the same functions in every layout."""
    if units.linker == "gnu":
        pytest.skip("GNU ld does not fold identical code")
    twin = "__attribute__((noinline)) int twin{0}(int x) {{ return x * 31 ^ 5; }}\n"
    units.write(a__c=twin.format("1") + twin.format("2"), b__c=twin.format("3"))
    units.write(main__c=main_calling("u0_3", "u1_3", "u2_3", "twin1", "twin2", "twin3"))
    built = units.built(COMPILE + f"$CC -o prog -Wl,--icf={option} main.o a.o u0.o u1.o u2.o b.o")
    built.assert_all_print_as_stock()
    assert_moved(built, NAMES)
    for binary in built.by_layout.values():
        known = symbols(binary.path)
        folded = len({known["twin1"], known["twin2"], known["twin3"]})
        if binary.layout != "stock":
            assert folded == (1 if option == "all" else 3)


@pytest.mark.parametrize("flag", ["-s", "-Wl,-s", "-Wl,--strip-all", "-Wl,-x", "-Wl,-S"])
def test_stripping_at_the_link(units: Workshop, flag: str) -> None:
    """A program stripped by its own link can be laid out, and what it loads is verified like any other."""
    built = units.built(COMPILE + f"$CC {flag} -o prog main.o u0.o u1.o u2.o")
    built.assert_all_print_as_stock()
    assert_moved(built, NAMES)


def test_version_scripts_and_hidden_symbols(shop: Workshop) -> None:
    """A version script exports the same symbols in every layout."""
    shop.write_named(
        {
            "lib.c": '#include <stdio.h>\nint f5(int);\nint run(void) { printf("%d", f5(3)); return 0; }\n',
            "f.c": many_functions(6),
            "exports.map": "V1 { global: run; local: *; };\n",
        }
    )
    loader = plain_program(shop.project, LOADER)
    built = shop.built(
        "$CC -fPIC -c lib.c f.c && $CC -shared -o libit.so lib.o f.o -Wl,--version-script=exports.map && rm exports.map",
        artefacts=["libit.so"],
    )
    for binary in built.by_layout.values():
        output(loader, str(binary.path))
        exported = subprocess.run(
            ["nm", "-D", "--defined-only", str(binary.path)], capture_output=True, text=True, check=True
        )
        assert [line.split()[2] for line in exported.stdout.splitlines() if " T " in line] == ["run@@V1"]


LINKER_OPTIONS = [
    "-z,now,-z,relro,-z,noexecstack",
    "-z,noseparate-code,-z,norelro",
    "-z,max-page-size=0x200000,--hash-style=both",
    "--build-id=none,--no-eh-frame-hdr",
    "--build-id=sha1,-O2,--sort-section=alignment",
    "-z,nognustack,-Bsymbolic,--export-dynamic",
    "--emit-relocs",
    "-Map=map.txt,--cref,--print-map,--trace,--warn-common",
    "--wrap=u0_2,--defsym=__wrap_u0_2=u1_2,--defsym=marker=5,--undefined=u1_1",
    "--exclude-libs,ALL,--dynamic-list=names.txt,--export-dynamic",
    "--retain-symbols-file=kept.txt",
    "-Ttext=0x600000 -no-pie",
]


@pytest.mark.parametrize(
    "options",
    only_fast(
        [
            "-z,max-page-size=0x200000,--hash-style=both",
            "--build-id=none,--no-eh-frame-hdr",
            "--build-id=sha1,-O2,--sort-section=alignment",
            "--wrap=u0_2,--defsym=__wrap_u0_2=u1_2,--defsym=marker=5,--undefined=u1_1",
        ],
        LINKER_OPTIONS,
    ),
)
def test_linker_options(units: Workshop, options: str) -> None:
    """Options that shape segments, hashes and notes hold in every layout."""
    if "nognustack" in options and units.linker != "gnu":
        options = options.replace("-z,nognustack,", "")
    if "--sort-section" in options and units.linker != "gnu":
        options = options.replace(",--sort-section=alignment", "")
    units.write_named({"names.txt": "{ u0_1; };\n", "kept.txt": "main\n"})
    built = units.built(COMPILE + f"$CC -o prog -Wl,{options} main.o u0.o u1.o u2.o", seeds=[1, 2])
    assert len({binary.text_sha256 for binary in built.by_layout.values()}) == len(built.by_layout)
    assert len({binary.text_sha256 for binary in built.by_layout.values()}) == 4


def test_code_in_several_output_sections(units: Workshop) -> None:
    """Where lld is told to leave code in sections apart, no single order exists: refused with the options to drop."""
    if units.linker == "gnu":
        pytest.skip("GNU ld has no -z keep-text-section-prefix")
    command = COMPILE + "$CC -o prog -Wl,-z,keep-text-section-prefix main.o u0.o u1.o u2.o"
    result = units.build(command, seeds=[1], controls=False)
    message = only_error(result)
    assert "spread over 2 output sections (.text, .text.startup)" in message
    assert "link without -z keep-text-section-prefix" in message


def test_each_function_in_an_output_section(units: Workshop) -> None:
    """As --unique with a pattern does: a few of the sections are named, and how many more there are."""
    if units.linker != "gnu":
        pytest.skip("lld has no --unique")
    message = only_error(units.build(COMPILE + "$CC -o prog -Wl,--unique=.text.* *.o", seeds=[1], controls=False))
    (count,) = re.findall(r"its code is spread over (\d+) output sections \(\.text, ", message)
    assert f" and {int(count) - 12} more), and only one can be ordered" in message


def test_the_linker_called_directly(shop: Workshop) -> None:
    """A link by $LD or by ld from PATH, with no driver and no libc, is captured."""
    shop.write(
        start__c="""
            int f5(int);
            static long call(long n, long a, long b, long c) {
                long r; __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory"); return r;
            }
            void _start(void) {
                char text[12]; int n = f5(3), k = 12;
                do text[--k] = '0' + (n % 10 + 10) % 10; while ((n /= 10) != 0);
                call(1, 1, (long)(text + k), 12 - k); call(60, 0, 0, 0);
            }
        """,
        f__c=many_functions(6),
    )
    for command in ("$LD", "ld"):
        built = shop.built(
            f"$CC -ffreestanding -fno-stack-protector -O1 -c start.c f.c && {command} -o prog start.o f.o"
        )
        built.assert_all_print_as_stock()
        assert_moved(built, [f"f{k}" for k in range(6)])


@pytest.mark.parametrize(
    "commands",
    first_fast(
        3,
        [
            "$CC -o progT {} && mv progT prog",
            "mkdir .libs && $CC -o .libs/lt-prog {} && mv .libs/lt-prog prog",
            "mkdir out && $CC -o out/prog {} && install -m 755 out/prog prog",
            "$CC -o unrelated.exe {} && cp unrelated.exe prog",
            "$CC -o some-temporary-name {} && mv some-temporary-name prog",
            "$CC -o prog.1.2 {} && ln -s prog.1.2 prog",
            "$CC {} && mv a.out prog",
        ],
    ),
)
def test_the_output_is_moved_after_the_link(units: Workshop, commands: str) -> None:
    """As libtool and install steps do: the artefact is found by its content where its path tells nothing."""
    built = units.built(COMPILE + commands.format("main.o u0.o u1.o u2.o"), seeds=[1])
    built.assert_all_print_as_stock()


def test_a_program_linked_twice(units: Workshop) -> None:
    """Of two links of the artefact the one counts that made the file the build left."""
    built = units.built(
        COMPILE + "$CC -o prog main.o u0.o u1.o u2.o -Wl,--defsym=marker=1 && cp prog keep && "
        "$CC -o prog main.o u2.o u1.o u0.o && cp keep prog",
        seeds=[1],
    )
    assert "marker" in symbols(built.path(1))


def test_relocatable_objects_are_joined_first(units: Workshop) -> None:
    """ld -r and gcc -r are not recorded as links; the functions inside the joined object are placed singly."""
    built = units.built(COMPILE + "$LD -r -o ab.o u0.o u1.o && $CC -r -o all.o ab.o u2.o && $CC -o prog main.o all.o")
    built.assert_all_print_as_stock()
    assert_moved(built, NAMES)


def test_relative_paths_through_other_directories(units: Workshop) -> None:
    """Inputs named through directories of which nothing else is captured, and through symbolic links."""
    built = units.built(
        COMPILE
        + "mkdir -p build/deep elsewhere lib && $AR rcs lib/libu.a u0.o && ln -s ../lib build/link && cd build && "
        "$CC -o ../prog deep/../../main.o ../elsewhere/../u1.o ../u2.o -Lnothing/here -Ldeep/../../lib -Llink -lu",
        seeds=[1, 2],
    )
    built.assert_all_print_as_stock()
    assert_moved(built, NAMES)


def test_objects_outside_the_source_tree(units: Workshop) -> None:
    """An object that the build makes in another directory, and then removes, is captured all the same."""
    built = units.built(
        f"$CC -c *.c && away=$(mktemp -d -p '{units.project}') && mv u0.o $away && $CC -o prog main.o $away/u0.o u1.o u2.o && rm -r $away"
    )
    built.assert_all_print_as_stock()
    assert_moved(built, [f"u1_{k}" for k in range(4)])


def test_inputs_removed_after_the_link(units: Workshop) -> None:
    """Objects that the build deletes as soon as they are linked are in the capture."""
    built = units.built(COMPILE + "$AR rcs libu.a u0.o u1.o && $CC -o prog main.o libu.a u2.o && rm *.o libu.a")
    built.assert_all_print_as_stock()
    assert_moved(built, NAMES)


def test_a_library_in_the_tree_that_is_a_linker_script(units: Workshop) -> None:
    """libx.a may be a text that names the real library."""
    built = units.built(
        COMPILE + "$AR rcs libreal.a u0.o u1.o && echo 'INPUT ( -lreal )' > libx.a && $CC -o prog main.o -L. -lx u2.o"
    )
    built.assert_all_print_as_stock()


def test_binary_data_as_an_input(units: Workshop) -> None:
    """-b binary turns a file into an object of data."""
    units.write(
        show__c="#include <stdio.h>\nextern char _binary_note_txt_start[];\nint show(int x) { return _binary_note_txt_start[x]; }\n",
        note__txt="blob!\n",
    )
    units.write(main__c=main_calling("u0_3", "show"))
    elf64 = "elf64-x86-64" if units.linker == "gnu" else "elf"
    built = units.built(COMPILE + f"$CC -o prog main.o show.o u0.o u1.o u2.o -Wl,-b,binary,note.txt,-b,{elf64}")
    built.assert_all_print_as_stock()


@pytest.mark.slow
def test_more_than_65280_sections(shop: Workshop) -> None:
    """An object with extended section numbers is edited and placed."""
    if shop.linker == "lld-14":
        pytest.skip("one lld is enough for this")
    body = "".join(
        f'.section .text.g{k},"ax",@progbits\\n.globl g{k}\\ng{k}: movl ${k}, %eax\\nret\\n' for k in range(3)
    )
    many = "".join(f'.section .rodata.r{k},"a",@progbits\\n.long {k}\\n' for k in range(65600))
    shop.write(main__c=main_calling("g0", "g1", "g2"), filler__c=FILLER)
    (shop.source / "big.s").write_text((many + body).replace("\\n", "\n") + '.section .note.GNU-stack,"",@progbits\n')
    built = shop.built("$CC -c main.c filler.c big.s && $CC -o prog main.o filler.o big.o", seeds=[1, 2])
    built.assert_prints("g0 0\ng1 1\ng2 2\n")
    assert isinstance(elf.read(built.path(1).read_bytes(), name="prog"), elf.Elf)


@pytest.mark.slow
def test_libraries_that_libraries_need(units: Workshop) -> None:
    """A shared library of the build that needs another one, found by -rpath-link or -rpath, is captured with it."""
    for option in ("-rpath-link,inner", "-rpath,$PWD/inner"):
        built = units.built(
            "mkdir inner outer && $CC -fPIC -shared u0.c -o inner/libinner.so && "
            "$CC -fPIC -shared u1.c -o outer/libouter.so -Linner -linner -Wl,--no-as-needed && "
            f"$CC -c main.c u0.c u2.c && $CC -o prog main.o u2.o u0.o -Louter -louter -Wl,{option}",
            seeds=[1],
        )
        assert_moved(built, ["u0_1", "u2_0", "u2_2"])
