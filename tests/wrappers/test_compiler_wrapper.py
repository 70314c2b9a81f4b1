"""The compiler wrapper: what it makes of every kind of command line, and that it harms none."""

import os
import subprocess

import pytest

from buildkit import run
from layoutrand.text import render
from workshop import require
from wrapkit import COMPILE_FLAGS, LINK_FLAGS, NASTY, PATH_FLAG, SHELLS, compiler_script, dumped, start, write_script

MODES = {
    "pass": [
        "--version", "-v", "-dumpmachine", "-dumpversion", "-dumpfullversion", "-dumpspecs", "-print-prog-name=ld", "-print-search-dirs",
        "-print-file-name=libc.so", "-print-multiarch", "--print-sysroot", "--help", "--help=optimizers", "--target-help", "-### a.c", "",
        "-V", "-qversion", "-E a.c", "-E -", "-E -dM -", "-E -x c /dev/null", "-M a.c", "-MM a.c", "-M -MF a.d a.c", "-MM -MT x.o a.c",
        "-fsyntax-only a.c", "-c -E a.c", "-E -c a.c", "-c -M a.c", "-c -fsyntax-only a.c", "-Q --help=target", "-v -E a.c",
        "-o a.c", "-I a.c -D b.c", "--version a.c", "-cc1 a.c", "-cc1as a.s", "--analyze a.c", "-B a.c",
    ],
    "compile": [
        "-c a.c", "-c a.c -o a.o", "-o a.o -c a.c", "a.c -c", "-c a.cc", "-c a.cpp", "-c a.C", "-c a.cxx", "-c a.c++", "-c a.m", "-c a.mm", "-c a.f90",
        "-c a.F", "-c a.i", "-c a.ii", "-c a.h", "-c a.hpp", "-c a.go", "-c a.d", "-c a.adb", "-S a.c", "-S a.c -o -", "-MD -c a.c", "-MMD -MP -MF a.d -c a.c",
        "-MD -MT a.o -MF .deps/a.Tpo -c -o a.o a.c", "-c -x c -", "-x c -c - -o a.o", "-xc++ -c a.txt", "-x c++ a.txt -c", "-x c -x none -c a.c", "-xnone -c a.c",
        "-c @args", "@args -c", "-c a.s b.c", "-g -O0 -c a.c", "-Q -c a.c", "-v -c a.c", "-save-temps -c a.c", "-fPIC -DPIC -c a.c -o .libs/a.o",
        "-c -include b.h a.c", "-c -Wp,-MD,a.d a.c", "-c -- a.c", "-c a.tar.c", "-c -o a.s a.c", "-c dir.o/a.c",
        "-include config.h -c a.c", "-Xclang -E -c a.c", "-c -mllvm -r a.c", "-c a.ll", "-c a.bc", "-J a.s -c a.f90", "-B x.s -c a.c",
    ],
    "assemble": [
        "-c a.s", "-c a.S", "-c a.sx -o a.o", "-c -o a.o a.s", "-x assembler -c a.c", "-x assembler-with-cpp -c a.c", "-xassembler -c a.txt", "-c a.o",
        "-g -c a.S",
    ],
    "partial": [
        "-r a.o b.o -o c.o", "-nostdlib -r -o c.o a.o", "-r -nostdlib a.a", "-Wl,-r -nostdlib a.o", "-nostdlib -Wl,-O1,-r a.o", "-nostdlib -Wl,-r,-x a.o",
        "-nostdlib -Xlinker -r a.o", "-nostdlib -Wl,--relocatable a.o", "-Wl,-O1,--relocatable,-x a.o", "-Wl,-i a.o", "-r a.c",
    ],
    "link": [
        "a.o -o prog", "-o prog a.o b.a -lm", "-shared -o x.so a.o", "a.o", "-static a.o -o prog", "-pie a.o", "a.s -o prog", "a.S", "a.so.1 -o prog",
        "-o prog a.o -Wl,-rpath,$ORIGIN", "-Xlinker -rpath -Xlinker x a.o", "-Wl,--start-group a.a b.a -Wl,--end-group", "-flto a.o -o prog",
        "-x none a.o", "-Wl,-rpath,x a.o", "-Wl,--rpath,-relative a.o", "-T script.c a.o", "-o prog.c a.o", "-L lib.c a.o", "-u main.c a.o", "-specs x.c a.o",
        "-v a.o", "-Wl,-v a.o", "-B x.c a.o", "-Bx.c a.o", "--ld-path=ld.lld a.o",
    ],
    "build": [
        "a.c -o prog", "a.c b.c", "a.c b.o -lm -o prog", "a.o b.cc", "conftest.c -o conftest", "-x c -", "-x c - -o prog", "@args", "-o prog @args", "-MD a.c -o prog",
        "-shared -fPIC a.c -o x.so", "a.f90 -o prog", "-x c /dev/null -o prog",
    ],
}  # a table: a row for what belongs together  # fmt: skip
CASES = [(mode, line) for mode, lines in MODES.items() for line in lines]


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """A wrapper whose flags and paths hold blanks and quotes."""
    folder = tmp_path_factory.mktemp("wrap 'it'")
    return compiler_script(folder, levels=render.Levels(str(folder / "compiled"), str(folder / "optimised")))


@pytest.mark.parametrize(("mode", "line"), CASES, ids=[f"{mode}: {line}" for mode, line in CASES])
def test_mode_of_a_command_line(script, mode, line):
    """What is only asked or preprocessed passes; what is assembled, compiled or linked is known as that."""
    assert dumped(script, *line.split(), what="mode") == mode


def expected(mode, words):
    """What the real compiler must get."""
    compiled = {"compile": COMPILE_FLAGS, "build": COMPILE_FLAGS, "assemble": [PATH_FLAG]}.get(mode, [])
    way = ["-B/wrap pers/"] if mode in ("link", "build", "partial") else []
    linked = LINK_FLAGS if mode in ("link", "build") else []
    return [*way, *words, *compiled, *linked]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("mode", MODES)
def test_arguments_of_each_mode(script, mode, shell):
    """Flags are added behind the user's own, the way to the linker in front, and nothing else is touched."""
    for line in MODES[mode][:: 1 if shell == "dash" else 7]:
        words = line.split()

        assert dumped(script, *words, shell=shell) == [word.encode() for word in expected(mode, words)]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("word", NASTY.values(), ids=NASTY.keys())
def test_nasty_arguments_arrive_as_they_are(script, word, shell):
    """Blanks, quotes, dollars, newlines, globs and stray bytes reach the compiler untouched."""
    arguments = [b"-c", b"-D", word, b"a.c", b"-D" + word, b"-I" + word]

    assert dumped(script, *arguments, shell=shell) == [*arguments, *(flag.encode() for flag in COMPILE_FLAGS)]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "word", [word for word in NASTY.values() if b"\0" not in word and word], ids=[name for name in NASTY if NASTY[name]]
)
def test_nasty_file_names_are_sources_by_their_suffix(script, word, shell):
    """A source file is known whatever its name holds."""
    assert dumped(script, b"-c", b"./" + word + b".c", shell=shell, what="mode") == "compile"
    assert dumped(script, b"-c", b"./" + word + b".s", shell=shell, what="mode") == "assemble"


@pytest.mark.parametrize("shell", SHELLS)
def test_what_is_baked_in_may_be_nasty(tmp_path, shell):
    """Paths and flags with every kind of character come out of the generated script as they went in."""
    names = [os.fsdecode(word) for word in NASTY.values() if word]
    path = compiler_script(tmp_path, directory="/" + "".join(names[:-1]), compile_flags=names, link_flags=names[::-1])

    assert dumped(path, "a.c", "-o", "x", shell=shell) == [
        os.fsencode(word) for word in ("-B/" + "".join(names[:-1]) + "/", "a.c", "-o", "x", *names, *names[::-1])
    ]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("status", [0, 1, 2, 42, 127, 255])
def test_the_exit_status_is_the_compilers(tmp_path, shell, status):
    """Success and failure pass through."""
    real = write_script(tmp_path / "real cc", f"#!/bin/sh\nexit {status}\n")

    assert start(compiler_script(tmp_path, real=real), "-c", "a.c", shell=shell).returncode == status


@pytest.mark.parametrize("shell", SHELLS)
def test_a_killed_compiler_is_seen_as_killed(tmp_path, shell):
    """The wrapper becomes the compiler, so a signal that ends one ends the other."""
    real = write_script(tmp_path / "real", "#!/bin/sh\nkill -9 $$\n")

    assert start(compiler_script(tmp_path, real=real), "-c", "a.c", shell=shell).returncode == -9


@pytest.mark.parametrize("shell", SHELLS)
def test_standard_input_and_output_are_the_compilers(tmp_path, shell):
    """Nothing is printed by the wrapper, and input reaches the compiler."""
    real = write_script(tmp_path / "real", "#!/bin/sh\ncat; echo out; echo err >&2\n")
    done = start(compiler_script(tmp_path, real=real), "-x", "c", "-c", "-", shell=shell, input=b"source\n")

    assert (done.stdout, done.stderr) == (b"source\nout\n", b"err\n")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("kind", ["missing", "not executable"])
def test_a_compiler_that_is_gone_is_named(tmp_path, shell, kind):
    """The message says which wrapper could not execute what, and the status is that of a command not found."""
    real = tmp_path / "gone cc"
    if kind == "not executable":
        real.write_text("")
    done = start(compiler_script(tmp_path, real=real), "-c", "a.c", shell=shell)

    assert done.returncode == 127
    assert done.stderr.decode() == f"layoutrand: gcc wrapper: cannot execute {real}\n"


def test_an_empty_dump_variable_dumps_nothing(tmp_path):
    """The hook for tests is off when its variable is empty."""
    real = write_script(tmp_path / "real", "#!/bin/sh\necho real\n")
    done = start(compiler_script(tmp_path, real=real), "-c", "a.c", env={"LAYOUTRAND_WRAPPER_DUMP": ""})

    assert done.stdout == b"real\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        ["-dumpmachine"],
        ["-print-prog-name=cc1"],
        ["-print-search-dirs"],
        ["-E", "a.c"],
        ["-MM", "a.c"],
        ["-v"],
        [],
    ],
    ids=" ".join,
)
def test_probes_answer_as_the_real_compiler(tmp_path, arguments):
    """Output, errors and status of a probe are those of gcc itself."""
    gcc = require("gcc", "gcc")
    (tmp_path / "a.c").write_text("#define X 1\nint x = X;\n")
    script = compiler_script(tmp_path / "bin", real=gcc)
    real = subprocess.run([gcc, *arguments], cwd=tmp_path, capture_output=True)
    wrapped = start(script, *arguments, cwd=tmp_path)

    assert (wrapped.returncode, wrapped.stdout, wrapped.stderr) == (real.returncode, real.stdout, real.stderr)


def test_dependencies_are_written_as_without_wrapper(tmp_path):
    """-MD with -c writes the same dependency file."""
    gcc = require("gcc", "gcc")
    (tmp_path / "a.h").write_text("int f(void);\n")
    (tmp_path / "a.c").write_text('#include "a.h"\nint f(void) { return 1; }\n')
    script = compiler_script(tmp_path / "bin", real=gcc, compile_flags=["-ffunction-sections"])
    run(gcc, "-MD", "-MF", "real.d", "-c", "a.c", "-o", "a.o", cwd=tmp_path)
    start(script, "-MD", "-MF", "wrapped.d", "-c", "a.c", "-o", "a.o", cwd=tmp_path, check=True)

    assert (tmp_path / "wrapped.d").read_bytes() == (tmp_path / "real.d").read_bytes()


def test_a_compilation_gets_its_sections(tmp_path):
    """The object compiled through the wrapper has a section for each function."""
    script = compiler_script(tmp_path / "bin", real=require("gcc", "gcc"), compile_flags=["-ffunction-sections"])
    (tmp_path / "a.c").write_text("int one(void) { return 1; } int two(void) { return 2; }\n")
    start(script, "-c", "a.c", cwd=tmp_path, check=True)
    listed = run("objdump", "-h", tmp_path / "a.o").stdout

    assert b".text.one" in listed
    assert b".text.two" in listed


def test_an_assembler_file_is_assembled_unchanged(tmp_path):
    """An object made of assembler is the same bytes with and without the wrapper."""
    gcc = require("gcc", "gcc")
    script = compiler_script(tmp_path / "bin", real=gcc, compile_flags=["-ffunction-sections", "-g"])
    (tmp_path / "a.s").write_text(".globl f\nf: ret\n")
    run(gcc, "-c", "a.s", "-o", "real.o", cwd=tmp_path)
    start(script, "-c", "a.s", "-o", "wrapped.o", cwd=tmp_path, check=True)

    assert (tmp_path / "wrapped.o").read_bytes() == (tmp_path / "real.o").read_bytes()


def test_an_error_is_the_compilers_own(tmp_path):
    """A syntax error is reported by the compiler, word for word, with its status."""
    gcc = require("gcc", "gcc")
    (tmp_path / "a.c").write_text("int f( {\n")
    script = compiler_script(tmp_path / "bin", real=gcc, compile_flags=["-ffunction-sections"])
    real = subprocess.run([gcc, "-c", "a.c"], cwd=tmp_path, capture_output=True)
    wrapped = start(script, "-c", "a.c", cwd=tmp_path)

    assert (wrapped.returncode, wrapped.stderr) == (real.returncode, real.stderr)
    assert real.returncode == 1


@pytest.mark.parametrize("shell", SHELLS)
def test_a_linker_named_by_its_path(tmp_path, shell):
    """Where a build's -B or --ld-path lead to the toolchain's linker ours comes first; to another, the link ends."""
    (tmp_path / "usual").mkdir()
    (tmp_path / "own dir").mkdir()
    linker = write_script(tmp_path / "usual" / "ld", "#!/bin/sh\n")
    other = write_script(tmp_path / "own dir" / "ld", "#!/bin/sh\n")
    (tmp_path / "link").symlink_to(linker)
    made = compiler_script(tmp_path / "bin", linker=linker)
    folder = tmp_path / "own dir"

    for words in (
        ["-B", tmp_path / "usual"],
        [f"-B{tmp_path}/usual/"],
        [f"-B{tmp_path}"],
        [f"-B{tmp_path}/nowhere"],
        ["-c", f"-B{folder}", "a.c"],
    ):
        assert start(made, *words, "a.o", shell=shell, env={"LAYOUTRAND_WRAPPER_DUMP": "args"}).returncode == 0
    assert dumped(made, f"--ld-path={tmp_path}/link", "a.o", shell=shell)[-1] == b"--ld-path=/wrap pers/ld"
    assert b"--ld-path=/wrap pers/ld" not in dumped(made, "--ld-path=ld.lld", "a.o", shell=shell)
    for words in (["-B", folder], [f"-B{folder}"], [f"-B{folder}/"], [f"--ld-path={other}"]):
        done = start(made, "a.o", *words, shell=shell)
        assert done.returncode == 127
        said = done.stderr.decode().replace("//", "/")
        assert f"gcc wrapper: the build names a linker of its own, {folder}/ld: remove that option" in said


@pytest.mark.parametrize("shell", SHELLS)
def test_a_linker_named_by_its_path_may_be_left(tmp_path, shell):
    """Where links are never to fail the command line goes on as it came; others are as ever."""
    linker = write_script(tmp_path / "usual" / "ld", "#!/bin/sh\n")
    other = write_script(tmp_path / "own dir" / "ld", "#!/bin/sh\n")
    made = compiler_script(tmp_path / "bin", linker=linker, leave_foreign=True)

    for words in (["a.o", "-B", str(other.parent)], [f"--ld-path={other}", "a.c"]):
        assert dumped(made, *words, shell=shell) == [os.fsencode(word) for word in words]
    assert dumped(made, "a.o", f"-B{linker.parent}", shell=shell)[0] == b"-B/wrap pers/"


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("call", ["exec ", ""])
def test_a_driver_that_calls_another(tmp_path, shell, call):
    """c99 hands on to gcc: nothing is added twice where it does so by exec, and its -B is no linker of the build's."""
    folder = tmp_path / "bin"
    linker = write_script(tmp_path / "usual" / "ld", "#!/bin/sh\n")
    write_script(folder / "ld", "#!/bin/sh\n")
    real = write_script(tmp_path / "real", "#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    compiler_script(folder, real=real, linker=linker, directory=folder, link_flags=["-once"])
    script = write_script(tmp_path / "c99", f'#!/bin/sh\n{call}{folder}/gcc -std=c99 "$@"\n')
    made = compiler_script(
        folder, name="c99", real=script, linker=linker, directory=folder, link_flags=["-once"], calls_driver=True
    )

    for words in (["a.o", "-o", "prog"], ["a.c", "-o", "prog"]):
        done = start(made, *words, shell=shell)
        assert (done.returncode, done.stderr) == (0, b"")
        said = done.stdout.decode().splitlines()
        assert said.count("-once") == (1 if call else 2)
        assert said.count("-ffunction-sections") == ("a.c" in words) * (1 if call else 2)
        assert "-std=c99" in said


@pytest.mark.parametrize("shell", SHELLS)
def test_a_toolchain_that_chooses_its_linker_masks_the_builds_choice(tmp_path, shell):
    """With flags of the toolchain's own the last --ld-path is ours, and -B changes nothing."""
    other = write_script(tmp_path / "own" / "ld", "#!/bin/sh\n")
    made = compiler_script(tmp_path / "bin")

    assert dumped(made, f"--ld-path={other}", "a.o", shell=shell)[-1] == b"--ld-path=/wrap pers/ld"
    assert dumped(made, f"-B{other.parent}", "a.o", shell=shell)[1:3] == [os.fsencode(f"-B{other.parent}"), b"a.o"]


def test_ccache_behind_the_wrapper_is_told_where_compilers_are(tmp_path):
    """The compiler sees CCACHE_PATH as it was baked in, whatever the build has set."""
    real = write_script(tmp_path / "real", '#!/bin/sh\nprintf %s "$CCACHE_PATH"\n')
    made = compiler_script(tmp_path / "bin", real=real, ccache_path="/some where:/usr/bin")

    assert start(made, "-c", "a.c", env={"CCACHE_PATH": "/else"}).stdout == b"/some where:/usr/bin"


@pytest.fixture
def for_files(tmp_path):
    """A wrapper with flags for two of some files; the folder of these."""
    for name in ("a.c", "b.c", "lib/a.c"):
        (tmp_path / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "src" / name).touch()
    (tmp_path / "src" / "link.c").symlink_to("lib/a.c")
    flags = [
        render.FileFlags(name, str(tmp_path / "src" / name), [f"-D{word}", "it's"], str(tmp_path / f"heard-{word}"))
        for name, word in (("lib/a.c", "LIB"), ("b.c", "B"))
    ]
    return compiler_script(tmp_path / "bin", file_flags=flags), tmp_path / "src"


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("line", "where", "given"),
    [
        ("-c b.c", "", "B"),
        ("-c lib/a.c -o x.o", "", "LIB"),
        ("-c a.c", "lib", "LIB"),
        ("-c ./../lib/a.c", "lib", "LIB"),
        ("-c link.c", "", "LIB"),
        ("lib/a.c a.o -o prog", "", "LIB"),
        ("-x c++ -c b.c", "", "B"),
        ("-c a.c", "", None),  # of another directory
        ("-c a.c -include b.c", "", None),
        ("-c a.c -o b.c", "", None),
        ("-E b.c", "", None),
        ("-c missing.c", "", None),
        ("-x assembler -c b.c", "", None),
    ],
)
def test_flags_for_one_file_go_where_it_is_compiled(for_files, shell, line, where, given):
    """Whatever the build calls it; and that it was so is noted."""
    script, source = for_files
    words = line.split()
    cwd = source / where
    got = subprocess.run(
        [*SHELLS[shell], script, *words],
        cwd=cwd,
        env={**os.environ, "LAYOUTRAND_WRAPPER_DUMP": "args"},
        capture_output=True,
        check=True,
    ).stdout.split(b"\0")[:-1]
    mode = dumped(script, *words, what="mode")
    own = [] if given is None else [f"-D{given}", "it's"]
    way, linked = (["-B/wrap pers/"], LINK_FLAGS) if mode == "build" else ([], [])
    compiled = {"compile": COMPILE_FLAGS, "build": COMPILE_FLAGS, "assemble": [PATH_FLAG]}.get(mode, [])
    assert got == [word.encode() for word in (*way, *words, *compiled, *own, *linked)]
    noted = {path.name for path in source.parent.glob("heard-*")}
    assert noted == (set() if given is None else {f"heard-{given}"})


@pytest.mark.parametrize("shell", SHELLS)
def test_flags_for_one_file_of_several_in_a_command_are_refused(for_files, shell):
    """They would reach the others, too."""
    script, source = for_files
    done = start(script, "-c", "a.c", "b.c", shell=shell, cwd=source)
    assert done.returncode == 127
    assert done.stderr == (
        b"layoutrand: gcc wrapper: b.c is compiled with others by one command, so file_flags cannot be for it alone\n"
    )


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("--version", []),
        ("-E -O2 a.c", []),
        ("-c -O2 a.s", []),
        ("-O2 a.o -o prog", []),
        ("-c a.c", ["compiled"]),
        ("-g -O0 -c a.c", ["compiled"]),
        ("-O2 -O0 -c a.c", ["compiled"]),
        ("-c a.c -o -O2", ["compiled"]),
        ("-c -O0 -O2 a.c", ["compiled", "optimised"]),
        ("-Og -c a.c", ["compiled", "optimised"]),
        ("-O a.c -o prog", ["compiled", "optimised"]),
        ("-Ofast a.f90 b.f90 -o prog", ["compiled", "optimised"]),
        ("-c @args", ["compiled", "optimised"]),
    ],
)
def test_what_is_compiled_and_whether_it_is_optimised_is_noted(tmp_path, line, left, shell):
    """The last level counts; what a file of words says is taken to be one, as nobody looks."""
    script = compiler_script(
        tmp_path / "w", levels=render.Levels(str(tmp_path / "compiled"), str(tmp_path / "optimised"))
    )
    for _ in range(2):
        dumped(script, *line.split(), shell=shell)
        assert sorted(each.name for each in tmp_path.iterdir() if each.name != "w") == left


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(("line", "left"), [("-E a.c", []), ("a.o", []), ("-O0 -c a.c", ["compiled", "optimised"])])
def test_what_the_system_says_of_optimising_counts_as_asked_for(tmp_path, line, left, shell):
    levels = render.Levels(str(tmp_path / "compiled"), str(tmp_path / "optimised"), is_given=True)
    dumped(compiler_script(tmp_path / "w", levels=levels), *line.split(), shell=shell)
    assert sorted(each.name for each in tmp_path.iterdir() if each.name != "w") == left


def test_where_it_cannot_be_noted_the_compilation_fails_and_says_so(tmp_path):
    script = compiler_script(tmp_path, levels=render.Levels("/no such/compiled", "/no such/optimised"))
    done = start(script, "-c", "a.c")
    assert done.returncode != 0
    assert b"cannot write beside the records" in done.stderr


@pytest.mark.parametrize(
    ("folder", "source", "is_probe"),
    [
        (".", "a.c", False),
        ("sub", "conftest_of_ours.c", False),
        ("b", "CMakeFiles/prog.dir/Unity/unity_0_c.c", False),
        ("tests", "sanitycheck.c", False),
        (".", "conftest.c", True),
        ("lib", "/tmp/cgPLv4uU/dummy.c", True),
        ("b/CMakeFiles/3.25.1/CompilerIdC", "CMakeCCompilerId.c", True),
        ("b/CMakeFiles/CMakeScratch/TryCompile-x", "/usr/share/cmake/Modules/CMakeCXXCompilerABI.cpp", True),
        ("b/try/CMakeFiles/CMakeTmp", "/project/cmake/has_it.cpp", True),
        ("b/CMakeFiles/_CMakeLTOTest-C/bin", "/b/CMakeFiles/_CMakeLTOTest-C/src/foo.c", True),
        ("b/meson-private", "sanitycheckcpp.cc", True),
        ("b/meson-private/tmpx", "/b/meson-private/tmpx/testfile.c", True),
        ("config.tests/sse2", "sse2.cpp", True),
    ],
)
def test_what_a_configuration_compiles_is_no_part_of_the_program(tmp_path, folder, source, is_probe):
    """It leaves no mark that flags have reached something, or that something is optimised.

    Directories count in the build alone: where that lies is the user's choice.
    """
    tree = tmp_path / "CMakeFiles" / "work"
    (tree / folder).mkdir(parents=True)
    real = write_script(tmp_path / "real", "#!/bin/sh\n")
    marks = [tmp_path / name for name in ("heard", "compiled", "optimised")]
    levels = render.Levels(str(marks[1]), str(marks[2]))
    made = compiler_script(tmp_path / "bin", real=real, heard=str(marks[0]), levels=levels, tree=str(tree))
    assert start(made, "-O2", "-c", source, cwd=tree / folder).returncode == 0
    assert [mark.exists() for mark in marks] == [not is_probe] * 3
