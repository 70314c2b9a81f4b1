"""Bad input gets a message that says what is wrong, why, and what to do; the log is named; the rest goes on."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from layoutrand.build.build import SystemBuild
from layoutrand.cache.capture_record import Capture
from layoutrand.errors import ConfigError, UsageError
from layoutrand.linkers import toolbox
from layoutrand.model import BuildFailure
from layoutrand.platform.packages import apt_command
from warningkit import said
from workshop import FILLER, Workshop, ended, main_calling, many_functions, only_error, programs_of, require

BUILD = "$CC -c *.c && $CC -o prog main.o u.o"


@pytest.fixture
def simple(gnu: Workshop) -> Workshop:
    """Two files that build without trouble."""
    gnu.write(main__c=main_calling("u3"), u__c=many_functions(4, prefix="u"))
    return gnu


@pytest.fixture
def path_without_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A PATH with everything but compilers and linkers, which the test may add."""
    folder = tmp_path / "few tools"
    folder.mkdir()
    for directory in ("/usr/bin", "/bin"):
        for name in os.listdir(directory):
            compiler = any(part in name for part in ("gcc", "g++", "c++", "cpp", "clang", "ld")) or name in (
                "cc",
                "c89",
                "c99",
                "as",
            )
            if not compiler and not os.path.lexists(folder / name):
                (folder / name).symlink_to(f"{directory}/{name}")
    monkeypatch.setenv("PATH", str(folder))
    return folder


def failure_of(result: SystemBuild, layout: object = "identity") -> BuildFailure:
    """The failure of one layout."""
    return next(failure for failure in result.failures if failure.layout == layout)


def test_a_build_that_fails_says_why_though_no_layout_is_asked_for(simple: Workshop) -> None:
    """As who compares captures does."""
    (result,) = simple.build_all("$CC -c nothing.c", layouts=[])
    assert result.capture is None
    assert "nothing.c" in failure_of(result).error


def test_no_compiler(simple: Workshop, path_without_tools: Path) -> None:
    """Without gcc every layout fails with the name of the missing program, what it is for and what to do."""
    message = only_error(simple.build(BUILD, seeds=[1]))
    start = "gcc not found on PATH, needed as the C compiler of toolchain 'gcc'; install it"
    command = apt_command(["gcc"])
    assert message == f"{start}{f' ({command})' if command else ''}, or choose another toolchain"


def test_no_linker(simple: Workshop, path_without_tools: Path) -> None:
    """Without the toolchain's linker the message names what was looked for."""
    (path_without_tools / "gcc").symlink_to("/usr/bin/gcc")
    message = only_error(simple.build(BUILD, system={"toolchain": "gcc-lld"}))
    assert message.startswith("ld.lld not found on PATH, ")
    assert "needed as the linker of toolchain 'gcc-lld'" in message


def test_a_c_program_needs_no_cxx_compiler(simple: Workshop, path_without_tools: Path) -> None:
    """Where only gcc is installed, C programs are built, and a use of $CXX is an error of the build."""
    for name in ("gcc", "ld", "ld.bfd", "as", "cc"):
        (path_without_tools / name).symlink_to(f"/usr/bin/{name}")
    simple.built(BUILD).assert_all_print_as_stock()
    assert "g++" in only_error(simple.build("$CXX -c *.c", controls=False))


def test_the_build_fails(simple: Workshop) -> None:
    """The first error is shown, the whole log is named, and stock and instrumented build are told apart."""
    simple.write(u__c="".join(f"int u{k}(int x) {{ return missing_{k}; }}\n" for k in range(40)))
    result = simple.build(BUILD, seeds=[1])
    for layout, variant in (("stock", "stock"), (1, "capture"), ("identity", "capture")):
        failure = failure_of(result, layout)
        assert f"system 'sys': the {variant} build exited with status 1; it says:\n    u.c:1:" in failure.error
        assert "missing_0" in failure.error
        assert "missing_2’" not in failure.error
        assert failure.log is not None
        assert f"Full log: {failure.log}" in failure.error
        assert "missing_39" in failure.log.read_text()
        assert f"layoutrand: $ {BUILD}" in failure.log.read_text()


def test_only_the_instrumented_build_fails(simple: Workshop) -> None:
    """A build that cannot bear function sections still gives its stock binary."""
    result = simple.build("$CC -c *.c && ! objdump -h u.o | grep -q '[.]text[.]u' && $CC -o prog main.o u.o", seeds=[1])
    assert {binary.layout for binary in result.binaries} == {"stock"}
    assert "the capture build exited with status 1; the end of its output:" in only_error(result)


@pytest.mark.parametrize(
    ("last", "told"),
    [("echo one; echo two; exit 7", "\n    one\n    two\n"), ("exit 7", "\n    layoutrand: $ exit 7\n")],
)
def test_of_a_build_that_says_no_cause_the_end_of_its_last_command_is_told(simple: Workshop, last, told) -> None:
    """It began with the command, which is all that a screen with room for a line had; a silent one tells no more."""
    result = simple.build(["echo earlier", last], seeds=[1], controls=False)
    assert f"exited with status 7; the end of its output:{told}" in only_error(result)


def test_the_build_does_not_end(simple: Workshop) -> None:
    """build.timeout_s ends a build and all its processes."""
    marker = simple.project / "pid"
    result = simple.build(
        f"sleep 600 & echo $! > '{marker}'; wait", controls=False, seeds=[1], build={"timeout_s": 1.5}
    )
    assert "did not finish within 1.5 s" in only_error(result)
    assert ended(int(marker.read_text()))


def test_the_artefact_was_never_made(simple: Workshop) -> None:
    """A wrong name in build.artefacts is recognised after a successful build."""
    result = simple.build(BUILD, artefacts=["bin/program"], seeds=[1])
    message = failure_of(result).error
    assert "the build succeeded, but made no bin/program; is build.artefacts right? It linked: prog" in message
    assert failure_of(result).log is not None


def test_the_artefact_is_a_script(simple: Workshop) -> None:
    """libtool's wrapper script is told from the program, and the program's place is named."""
    message = failure_of(
        simple.build(BUILD + " && mkdir .libs && mv prog .libs/ && printf '#!/bin/sh\\n' > prog", seeds=[1])
    ).error
    assert "prog is a script; libtool puts the program itself into .libs/prog" in message


@pytest.mark.parametrize(
    ("links", "told"),
    [
        ("$CC -o with main.o libu.a; $CC -o too main.o -Llib -L. -lu", ", here with, too"),
        # What is there of the same name as a shared library is what -lu takes, unless it is to be static.
        ("$CC -shared -o libu.so u.o; $CC -o not main.o -L. -lu; $CC -static -o with main.o -L. -lu", ", here with"),
        ("true", ". The build linked: prog"),
    ],
)
def test_the_artefact_is_a_static_library(simple: Workshop, links: str, told: str) -> None:
    """What is linked with it is named, and what else the build links is not."""
    build = f"{BUILD} && $AR rc libu.a u.o && {links}"
    message = failure_of(simple.build(build, artefacts=["libu.a"], seeds=[1])).error
    assert message.splitlines()[0] == (
        "libu.a is a static library, whose functions are laid out in the programs that are linked with it: "
        f"build.artefacts takes these{told}"
    )


def test_the_artefact_was_never_linked(simple: Workshop) -> None:
    """An executable that comes with the source was not linked by this build: the links seen are listed."""
    subprocess.run(["gcc", "-o", simple.source / "ready", "main.c", "u.c"], cwd=simple.source, check=True)
    failure = failure_of(simple.build(BUILD, artefacts=["ready"], seeds=[1]))
    message = failure.error
    assert failure.cause.startswith("ready was never linked")
    assert "ready was never linked through layoutrand's wrappers; these were: prog." in message
    assert "make clean" in message
    assert "--mode rebuild" not in message


@pytest.mark.parametrize("made", ["prog.bolt", "other"])
def test_the_artefact_is_made_from_what_was_linked(simple: Workshop, made: str) -> None:
    """By a tool of the build, as BOLT: a link whose name begins alike is what it may be made from."""
    build = f"{BUILD} && {{ head -c -1 prog; printf x; }} > {made} && chmod +x {made}"
    message = failure_of(simple.build(build, artefacts=[made], seeds=[1])).error
    advice = "If a step of the build makes it from prog, use --mode rebuild, which does that for every seed."
    assert (advice in message) == (made == "prog.bolt"), message


def test_all_links_go_round_the_wrappers(simple: Workshop) -> None:
    """A build that changes PATH to reach its compiler and linker is told to use $CC."""
    result = simple.build("PATH=/usr/bin:/bin; gcc -o prog *.c", seeds=[1])
    message = failure_of(result).error
    assert "no link of this build went through layoutrand's wrappers" in message
    assert failure_of(result).cause.startswith("no link of this build")  # no system's name: it is told once for all
    assert "absolute path" in message
    assert "$CC" in message
    assert "stock" in {binary.layout for binary in result.binaries}


def test_an_absolute_compiler(simple: Workshop) -> None:
    """A compiler called by its absolute path makes objects without function sections: refused, $CC is proposed."""
    result = simple.build("/usr/bin/gcc -O2 -o prog *.c", seeds=[1], system={"cflags": ""})
    message = failure_of(result).error
    assert "no object of it has function sections: none was compiled through the wrappers, or a flag" in message
    assert "or by distcc, which has it called elsewhere: call it by its name, as in CC=gcc" in message
    assert "stock" in {binary.layout for binary in result.binaries}


@pytest.mark.parametrize(
    ("flag", "toolchain"), [("-fno-function-sections", "gcc"), ("-fno-unique-section-names", "clang-lld")]
)
def test_a_flag_that_takes_function_sections_away(simple: Workshop, flag: str, toolchain: str) -> None:
    """All was compiled through the wrappers, so the flag is named."""
    programs_of(toolchain)  # or it is skipped
    system = {"toolchain": toolchain, "cflags": f"-O2 {flag}"}
    assert f"{flag}" in failure_of(simple.build(BUILD, seeds=[1], system=system)).error


def test_flags_that_an_absolute_compiler_is_not_given(simple: Workshop) -> None:
    """They would be measured as if the program had them; so there is no stock either."""
    result = simple.build("/usr/bin/gcc -o prog *.c", seeds=[1], system={"cflags": "-O2"})
    assert not result.binaries
    message = result.failures[0].error
    assert 'cflags = "-O2" reached no compiler of C, C++ or Fortran through the wrappers' in message
    assert "does the build use $CC or gcc from PATH, and not its compiler by an absolute path or by distcc" in message
    cause = result.failures[0].cause  # what the command prints, for all systems at once
    assert cause.startswith('cflags = "-O2" reached no compiler')
    assert "does the build use $CC or gcc from PATH" in cause
    assert "leave them out" in cause


def test_flags_for_a_file_that_is_not_compiled(simple: Workshop) -> None:
    """As if a misspelt name had changed the program."""
    result = simple.build("$CC -o prog main.c u.c", seeds=[1], system={"file_flags": {"v.c": "-O2"}})
    assert not result.binaries
    message = result.failures[0].error
    assert 'file_flags = { "v.c" = "-O2" } reached no compilation: is the file called so from the source' in message


def test_flags_for_a_file_that_is_compiled_with_others(simple: Workshop) -> None:
    """They would reach these, too."""
    result = simple.build("$CC -o prog main.c u.c", seeds=[1], system={"file_flags": {"u.c": "-O2"}})
    assert not result.binaries
    assert "u.c is compiled with others by one command, so file_flags cannot be for it alone" in (
        result.failures[0].error
    )


def test_flags_for_a_file_reach_that_file_and_are_part_of_the_builds_key(simple: Workshop) -> None:
    """In the stock build, too."""
    command = "for f in main u; do $CC -O1 -c $f.c; done; $CC -o prog main.o u.o"
    own = simple.build(command, seeds=[1])
    given = simple.build(command, seeds=[1], system={"file_flags": {"./u.c": "-falign-functions=128"}})
    assert own.capture is not None
    assert given.capture is not None
    assert own.capture.id != given.capture.id

    def aligned(capture: Capture) -> set[str]:
        return {section.object for section in capture.links[0].sections if section.align == 128}

    assert (aligned(own.capture), aligned(given.capture)) == (set(), {"u.o"})
    (stock,) = (binary for binary in given.binaries if binary.layout == "stock")
    (plain,) = (binary for binary in own.binaries if binary.layout == "stock")
    assert stock.sha256 != plain.sha256


def test_everything_was_built_before(simple: Workshop) -> None:
    """A tree with up-to-date objects and program links nothing: the message says so."""
    require("make", "make")
    (simple.source / "Makefile").write_text("prog: main.o u.o\n\t$(CC) -o $@ $^\n%.o: %.c\n\t$(CC) -c $<\n")
    subprocess.run(["make", "-s", "prog"], cwd=simple.source, check=True)
    message = failure_of(simple.build("make", seeds=[1])).error
    assert "no link of this build went through layoutrand's wrappers" in message
    assert "make clean" in message


def test_stale_objects_in_the_source_tree(simple: Workshop) -> None:
    """Old objects that are only linked again have no function sections: refused rather than moved in lumps."""
    require("make", "make")
    (simple.source / "Makefile").write_text("prog: main.o u.o\n\t$(CC) -o $@ $^\n%.o: %.c\n\t$(CC) -c $<\n")
    subprocess.run(["make", "-s", "prog"], cwd=simple.source, check=True)
    (simple.source / "prog").unlink()
    message = failure_of(simple.build("make", seeds=[1], system={"cflags": ""})).error
    assert "no object of it has function sections: none was compiled through the wrappers" in message
    assert "make clean" in message


def test_one_stale_object_among_others(simple: Workshop) -> None:
    """A prebuilt object among compiled ones moves as one piece, and is named."""
    subprocess.run(["gcc", "-c", "u.c", "-o", "old.o"], cwd=simple.source, check=True)
    (simple.source / "u.c").rename(simple.source / "v.c.txt")
    simple.write(w__c=FILLER)
    built = simple.built("$CC -c main.c w.c && $CC -o prog main.o w.o old.o")
    assert any(
        "old.o" in note
        and "1 object was not compiled through the wrappers (or is assembler) and moves as one piece" in note
        for note in said(built.result.notes)
    )


def test_objects_stripped_before_the_link(simple: Workshop) -> None:
    """Objects that keep only the symbols which the link needs are placed like others."""
    simple.built("$CC -c *.c && strip --strip-unneeded u.o && $CC -o prog main.o u.o").assert_all_print_as_stock()


def test_an_object_without_symbols(simple: Workshop) -> None:
    """Code in an object without any symbol table cannot be marked: the object is named."""
    simple.write_named({"pad.S": '.text\nnop\nnop\n.section .note.GNU-stack,"",@progbits\n'})
    result = simple.build("$CC -c *.c pad.S && strip -s pad.o && $CC -o prog main.o u.o pad.o", seeds=[1])
    message = failure_of(result).error
    assert "pad.o: the object has no symbol table (stripped before the link?)" in message


def test_stripped_after_the_link(simple: Workshop) -> None:
    """strip after the link makes another file than the one linked: the message names such steps and what to do."""
    result = simple.build(BUILD + " -Wl,--build-id=none && strip prog", seeds=[1])
    message = failure_of(result).error
    assert "prog: replaying its link gives another file than the build left" in message
    assert "Something changed the file after the link (strip, objcopy, chrpath, signing?)" in message
    assert "leave that step out of build.commands" in message
    assert "stock" in {binary.layout for binary in result.binaries}


def test_another_linker_than_the_toolchains(simple: Workshop) -> None:
    """-fuse-ld=gold under toolchain gcc is refused with the two ways out."""
    require("ld.gold", "binutils")
    message = failure_of(simple.build(BUILD + " -fuse-ld=gold", seeds=[1])).error
    assert "prog was linked by /usr/bin/ld.gold, but toolchain 'gcc' places functions with /usr/bin/ld.bfd" in message
    assert "Remove the build's own choice of linker (-fuse-ld=...), or choose the toolchain of that linker" in message


def test_an_unknown_toolchain(simple: Workshop) -> None:
    """A misspelt toolchain is met with the nearest name."""
    message = only_error(simple.build(BUILD, system={"toolchain": "gcc-ldd"}, seeds=[1]))
    known = ", ".join(toolbox.shipped())
    assert message == f"no toolchain called 'gcc-ldd'; there are {known}; did you mean 'gcc-lld'?"


def test_a_toolchain_file_that_is_not_there(simple: Workshop) -> None:
    """A path names the file that was looked for."""
    message = only_error(simple.build(BUILD, system={"toolchain": "my/own.toml"}, seeds=[1]))
    assert "toolchain file" in message
    assert str(simple.project / "my/own.toml") in message
    assert "No such file" in message


def test_a_toolchain_file_with_mistakes(simple: Workshop) -> None:
    """Every mistake in a toolchain file is reported."""
    (simple.project / "own.toml").write_text('extends = "gcc"\nname = 3\n[link]\nlinker = "ld"\nodd = 1\n')
    message = only_error(simple.build(BUILD, system={"toolchain": "own.toml"}, seeds=[1]))
    for part in ("own.toml: 3 problems", "name:", "link.linker:", "link.odd:"):
        assert part in message


def test_a_factor_that_the_toolchain_cannot_do(simple: Workshop) -> None:
    """The message names the toolchains that can, of those that make programs for the same machine."""
    (simple.project / "own.toml").write_text('extends = "gcc"\nname = "own"\n[link]\nfactors = ["module-order"]\n')
    message = only_error(simple.build(BUILD, system={"toolchain": "own.toml"}, seeds=[1]))
    shipped = [toolbox.load(name, Path()) for name in toolbox.shipped()]
    able = [other.name for other in shipped if "function-order" in other.link.factors and not other.machine]
    assert message == f"toolchain 'own' cannot do 'function-order'; these can: {', '.join(able)}"
    assert {"gcc", "gcc-lld", "clang"} <= set(able)


def test_an_unknown_factor(simple: Workshop) -> None:
    """A misspelt factor is an error of the configuration."""
    with pytest.raises(ConfigError, match="layout.factors"):
        simple.config(BUILD, layout={"factors": ["funtion-order"]})


def test_a_source_that_is_not_there(simple: Workshop) -> None:
    """build.source names a directory that must exist."""
    message = only_error(simple.build(BUILD, build={"source": "nowhere"}, seeds=[1]))
    assert message == f"build.source: {simple.project / 'nowhere'} is not a directory"


def test_one_bad_system_does_not_stop_the_other(simple: Workshop) -> None:
    """Systems fail each by themselves."""
    config = simple.config(BUILD, systems={"good": {}, "bad": {"cflags": "-O2 --no-such-flag"}})
    good, bad = simple.build_all(config, layouts=["stock", "identity", 1])
    assert not good.failures
    assert {failure.layout for failure in bad.failures} == {"stock", "identity", 1}
    assert not bad.binaries
    assert "--no-such-flag" in failure_of(bad).error


def test_one_bad_artefact_fails_the_capture(simple: Workshop) -> None:
    """An artefact that cannot be captured is named, also where another one could."""
    result = simple.build(BUILD + " && cp /bin/true other", artefacts=["prog", "other"], seeds=[1])
    assert {failure.artefact for failure in result.failures if failure.layout == 1} == {"prog", "other"}
    assert "other was never linked" in failure_of(result, 1).error


def test_a_32_bit_program(simple: Workshop) -> None:
    """A program for another machine is refused, not mangled."""
    source = "#include <stdio.h>\nint main(void) { return 0; }\n"
    able = subprocess.run(
        ["gcc", "-m32", "-x", "c", "-", "-o", "/dev/null"], input=source.encode(), capture_output=True
    )
    if able.returncode != 0:
        simple.write_named({"main.c": "void _start(void) { for (;;); }\nint f(int x) { return x; }\n"})
        result = simple.build("$CC -m32 -ffreestanding -c main.c && $LD -m elf_i386 -o prog main.o", seeds=[1])
    else:
        result = simple.build("$CC -m32 -c *.c && $CC -m32 -o prog main.o u.o", seeds=[1])
    assert (
        "prog is for x86 with 32 bits (-m32): layoutrand places and verifies code of AArch64 (arm64), RISC-V (64 bits) and x86-64 alone"
        in failure_of(result).error
    )


def test_a_random_build_id(simple: Workshop) -> None:
    """A link that is different each time cannot be replayed: the message does not blame the build alone."""
    message = failure_of(simple.build(BUILD + " -Wl,--build-id=uuid", seeds=[1])).error
    assert "--build-id=uuid" in message


def test_a_usage_error_is_a_usage_error(simple: Workshop) -> None:
    """An unknown system is refused before anything is built."""
    from layoutrand.config.config import choose

    with pytest.raises(UsageError, match="no system called 'syss'; there are sys; did you mean 'sys'"):
        choose("system", ["syss"], ["sys"])
