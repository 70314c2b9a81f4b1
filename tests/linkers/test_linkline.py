"""Linker command lines: which words are files, which are values, and what may be left out."""

import re
import stat
import subprocess

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from buildkit import linker, run
from layoutrand.linkers import linkline
from layoutrand.linkers.linkline import absolute, inside, output, replayable, user_scripts, words
from workshop import require

WORDS = {
    # one logical word: arguments, kind, option, text
    "object": (["a.o"], "input", "", "a.o"),
    "archive with blanks": (["my lib.a"], "input", "", "my lib.a"),
    "standard input": (["-"], "input", "", "-"),
    "empty": ([""], "input", "", ""),
    "library joined": (["-lm"], "library", "l", "m"),
    "library separate": (["-l", "m"], "library", "l", "m"),
    "library by file name": (["-l:libm.so.6"], "library", "l", ":libm.so.6"),
    "library by long option": (["--library=m"], "library", "library", "m"),
    "library by long separate option": (["--library", "m"], "library", "library", "m"),
    "library by long option, one dash": (["-library=m"], "library", "library", "m"),
    "library with equals sign": (["-lfoo=bar"], "library", "l", "foo=bar"),
    "library called like an option": (["-ltorch"], "library", "l", "torch"),
    "library called ibrary": (["-library-x"], "library", "l", "ibrary-x"),
    "directory joined": (["-L/usr/lib"], "directory", "L", "/usr/lib"),
    "directory separate": (["-L", "lib dir"], "directory", "L", "lib dir"),
    "directory with equals sign": (["-L/a=b"], "directory", "L", "/a=b"),
    "directory by long option": (["--library-path=../lib"], "directory", "library-path", "../lib"),
    "directory by long separate option": (["--library-path", "../lib"], "directory", "library-path", "../lib"),
    "directory below the sysroot": (["-L=/usr/lib"], "directory", "L", "/usr/lib"),
    "directory below the sysroot, separate": (["-L", "=/usr/lib"], "directory", "L", "/usr/lib"),
    "directory below the named sysroot": (["-L$SYSROOT/lib"], "directory", "L", "/lib"),
    "directory whose name begins with an equals sign": (["-L=x"], "directory", "L", "=x"),
    "link-time directory": (["-rpath-link", "/opt/lib"], "directory", "rpath-link", "/opt/lib"),
    "output separate": (["-o", "prog"], "output", "o", "prog"),
    "output joined": (["-oprog"], "output", "o", "prog"),
    "output with equals sign": (["-oa=b"], "output", "o", "a=b"),
    "output by long option": (["--output=prog"], "output", "output", "prog"),
    "output by long separate option": (["--output", "prog"], "output", "output", "prog"),
    "output called magic": (["-omagic"], "output", "o", "magic"),
    "output called utput": (["-output"], "output", "o", "utput"),
    "omagic": (["--omagic"], "option", "omagic", "--omagic"),
    "script joined": (["-Tlink.ld"], "file", "T", "link.ld"),
    "script separate": (["-T", "link.ld"], "file", "T", "link.ld"),
    "script with equals sign": (["-Ta=b.ld"], "file", "T", "a=b.ld"),
    "script by long option": (["--script=link.ld"], "file", "script", "link.ld"),
    "default script": (["-dT", "link.ld"], "file", "dT", "link.ld"),
    "address of text": (["-Ttext=0x1000"], "value", "Ttext", "0x1000"),
    "address of text, separate": (["-Ttext", "0x1000"], "value", "Ttext", "0x1000"),
    "address of text, two dashes": (["--Ttext=0x1000"], "value", "Ttext", "0x1000"),
    "address of the text segment": (["-Ttext-segment=0x400000"], "value", "Ttext-segment", "0x400000"),
    "address of the text segment, separate": (["-Ttext-segment", "0x400000"], "value", "Ttext-segment", "0x400000"),
    "version script": (["--version-script=a map.ver"], "file", "version-script", "a map.ver"),
    "version script, separate": (["--version-script", "a.ver"], "file", "version-script", "a.ver"),
    "version script, one dash": (["-version-script", "a.ver"], "file", "version-script", "a.ver"),
    "dynamic list": (["--dynamic-list=x"], "file", "dynamic-list", "x"),
    "symbols of another program": (["--just-symbols=kernel"], "file", "just-symbols", "kernel"),
    "run path": (["-rpath", "$ORIGIN/../lib"], "value", "rpath", "$ORIGIN/../lib"),
    "run path, joined": (["-rpath=/x:/y"], "value", "rpath", "/x:/y"),
    "run path, short": (["-R", "/opt/lib"], "value", "R", "/opt/lib"),
    "keyword": (["-z", "now"], "value", "z", "now"),
    "keyword joined": (["-znow"], "option", "znow", "-znow"),
    "soname": (["-soname", "libx.so.1"], "value", "soname", "libx.so.1"),
    "soname, short": (["-h", "libx.so.1"], "value", "h", "libx.so.1"),
    "symbol definition": (["--defsym=a=b+4"], "value", "defsym", "a=b+4"),
    "wrapped symbol": (["--wrap", "malloc"], "value", "wrap", "malloc"),
    "plugin": (["-plugin", "/usr/lib/liblto_plugin.so"], "value", "plugin", "/usr/lib/liblto_plugin.so"),
    "plugin option": (["-plugin-opt=-pass-through=-lgcc"], "value", "plugin-opt", "-pass-through=-lgcc"),
    "interpreter": (["-dynamic-linker", "/lib64/ld.so"], "value", "dynamic-linker", "/lib64/ld.so"),
    "interpreter, short": (["-I", "/lib64/ld.so"], "value", "I", "/lib64/ld.so"),
    "map": (["-Map", "out.map"], "value", "Map", "out.map"),
    "entry": (["-e", "_start"], "value", "e", "_start"),
    "value that looks like an option": (["-u", "-weird"], "value", "u", "-weird"),
    "group": (["--start-group"], "option", "start-group", "--start-group"),
    "group in brackets": (["-("], "option", "(", "-("),
    "flag": (["--gc-sections"], "option", "gc-sections", "--gc-sections"),
    "optional value": (["--build-id=sha1"], "value", "build-id", "sha1"),
    "optional value left out": (["--build-id"], "option", "build-id", "--build-id"),
    "emulation": (["-m", "elf_x86_64"], "value", "m", "elf_x86_64"),
    "emulation joined": (["-melf_x86_64"], "option", "melf_x86_64", "-melf_x86_64"),
    "value missing": (["-o"], "output", "o", ""),
}


@pytest.mark.parametrize(("argv", "kind", "option", "text"), WORDS.values(), ids=WORDS.keys())
def test_one_word(argv, kind, option, text):
    """Each form of an option is one logical word of the right kind."""
    assert [(word.kind, word.option, word.text) for word in words(argv)] == [(kind, option, text)]


def test_a_list_of_link_time_directories_is_one_word_each():
    """-rpath-link takes a list, whose parts move one by one."""
    found = words(["-rpath-link", "/a:b", "-rpath-link=/c:/d"])

    assert [word.argv() for word in found] == [
        ["-rpath-link", "/a"],
        ["-rpath-link", "b"],
        ["-rpath-link=/c"],
        ["-rpath-link=/d"],
    ]


ARGUMENTS = st.lists(
    st.one_of(
        st.sampled_from(
            [word for argv, *_rest in WORDS.values() for word in argv if not word.startswith(("-L=", "=", "-L$"))]
        ),
        st.text("abLloT-=:./ \n'$é", max_size=8).filter(lambda text: not re.search(r"=/|\$S|-rpath-link", text)),
    ),
    max_size=12,
)


@given(ARGUMENTS)
def test_words_put_together_are_the_command_line(argv):
    """Nothing is lost, added or moved by reading a command line and writing it again, lists of directories aside."""
    assume("-rpath-link" not in argv or not any(":" in argument for argument in argv))
    again = [argument for word in words(argv) for argument in word.argv()]

    assert again in (argv, [*argv, ""])  # the value of a last option may be missing


@pytest.mark.parametrize(
    ("argv", "instead"),
    [
        (["a.o"], ["/new/b.o"]),
        (["-L", "lib"], ["-L", "/new/b.o"]),
        (["-Llib"], ["-L/new/b.o"]),
        (["--version-script=v"], ["--version-script=/new/b.o"]),
        (["-T", "x"], ["-T", "/new/b.o"]),
        (["-Tx"], ["-T/new/b.o"]),
    ],
)
def test_a_word_can_name_another_file(argv, instead):
    """A path is replaced in place, in the form in which it was given."""
    [word] = words(argv)

    assert word.argv("/new/b.o") == instead


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["a.o"], "a.out"),
        (["-o", "x", "a.o"], "x"),
        (["-ox"], "x"),
        (["--output=x"], "x"),
        (["-o", "x", "-o", "y"], "y"),
        (["-soname", "-o", "a.o"], "a.out"),
    ],
)
def test_output(argv, expected):
    """The last output named counts, and a.out if there is none."""
    assert output(argv) == expected


@pytest.mark.parametrize(
    "argv", [["-T", "x.ld"], ["-Tx.ld"], ["--script=x.ld"], ["-dT", "x.ld"], ["--default-script", "x.ld"]]
)
def test_scripts_of_the_user(argv):
    """Every way of replacing the linker's script is seen."""
    assert user_scripts(words([*argv, "-Ttext=0", "-Tdata", "0", "a.o"])) == ["x.ld"]


DROPPED = [
    "-plugin x.so -plugin-opt=-fresolution=r",
    "-Map=m",
    "-Map m",
    "--dependency-file=d",
    "-M",
    "--print-map",
    "--cref",
    "-t",
    "--trace",
    "-trace",
    "--verbose",
    "--verbose=2",
    "--stats",
    "-v",
    "-V",
    "--reproduce=r.tar",
    "--why-extract=w",
    "--print-symbol-order=p",
    "--print-archive-stats=s",
    "--time-trace",
    "--time-trace=t.json",
    "--out-implib=i",
    "-o prog",
    "-oprog",
    "--output=prog",
    "--error-handling-script=e",
]
STRIPPING = ["-s", "--strip-all", "-strip-all", "-x", "--discard-all", "-discard-all", "--retain-symbols-file=r"]
KEPT = [
    "-S",
    "--strip-debug",
    "-X",
    "--discard-locals",
    "--gc-sections",
    "-z now",
    "-e x",
    "-lm",
    "-L/lib",
    "a.o",
    "--build-id",
    "--as-needed",
    "-mllvm -x",
    "--wrap -s",
    "-u -M",
    "-T x",
    "--defsym t=1",
]


@pytest.mark.parametrize("option", DROPPED)
def test_what_does_not_change_the_code_is_left_out(option):
    """Plugins, reports and files written besides the output are no part of a replay."""
    assert replayable(words(option.split()), keep_symbols=False) == []


@pytest.mark.parametrize("option", STRIPPING)
def test_stripping_is_left_out_only_to_keep_symbols(option):
    """Options that strip are replayed to prove the capture, and left out where layouts are read off the symbols."""
    line = words([option])

    assert (replayable(line, keep_symbols=False), replayable(line, keep_symbols=True)) == (line, [])


@pytest.mark.parametrize("option", KEPT)
def test_everything_else_is_replayed(option):
    """What decides the program stays, also values that look like options."""
    line = words(option.split())

    assert replayable(line, keep_symbols=True) == line


@pytest.mark.parametrize("kind", ["bfd", pytest.param("lld", marks=pytest.mark.slow)])  # lld starts 300 times in 10 s
def test_every_option_that_takes_the_next_word_is_known(kind):
    """Each option in the linker's own help that asks for a value, when given alone, is read with its value here."""
    program = linker(kind)
    listed = subprocess.run([program, "--help"], capture_output=True, text=True).stdout
    names = {
        m
        for row in listed.splitlines()
        if row.startswith("  -")
        for m in re.findall(r"(?<!\S)--?[A-Za-z][\w-]*", row[:60])
    }
    asking = [name for name in sorted(names) if _asks_for_value(program, name)]
    unknown = [name for name in asking if len(words([name, "value"])) != 1]

    assert len(asking) > 40
    assert unknown == []


def _asks_for_value(program, name):
    done = subprocess.run([program, name], capture_output=True, text=True, cwd="/")
    return bool(re.search("requires an argument|missing argument", done.stderr))


@pytest.mark.parametrize("kind", ["bfd", "lld"])
@pytest.mark.parametrize(
    "form", [["-o", "x"], ["-ox"], ["-omagic"], ["-oa=b"], ["--output=x"], ["--output", "x"], ["-output=x"], []]
)
def test_the_linker_writes_where_we_think(tmp_path, kind, form):
    """The output of a real link is the file that the command line is read to name."""
    (tmp_path / "a.s").write_text(".globl _start\n_start: ret\n")
    run("as", "a.s", "-o", "a.o", cwd=tmp_path)
    argv = [*form, "a.o"]

    run(linker(kind), *argv, cwd=tmp_path)

    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["a.s", "a.o", output(argv)])


LINKS = {
    "C": ("gcc", ["a.o", "-o", "prog", "-lm"]),
    "C++ static": ("g++", ["a.o", "-static", "-o", "prog"]),
    "shared with everything": (
        "gcc",
        [
            "a.o", "-shared", "-Wl,-soname,libx.so.1,--version-script=v.map", "-Wl,-z,defs", "-Wl,-rpath,$ORIGIN/a b", "-Wl,--whole-archive",
            "lib.a", "-Wl,--no-whole-archive", "-Wl,--start-group", "lib.a", "-lm", "-Wl,--end-group", "-L", "dir", "-Ldir2",
            "-Wl,-Map=m.map", "-Wl,--gc-sections", "-o", "libx.so", "-Wl,--exclude-libs,ALL", "-Wl,-rpath-link,dir", "-u", "f",
        ],
    ),
    "through Xlinker": ("gcc", ["a.o", "-Xlinker", "--defsym=x=3", "-Xlinker", "-e", "-Xlinker", "main", "-o", "prog", "-no-pie", "-s"]),
    "linker scripts and addresses": ("gcc", ["a.o", "-T", "s.ld", "-Wl,-Ttext-segment,0x800000", "-o", "prog", "-nostdlib"]),
    "as one nested option": ("gcc", ["a.o", "-Wl,-z,relro,-z,now,-O1,--hash-style,gnu,--build-id,lib.a", "-o", "prog"]),
    "LTO": ("gcc", ["-flto", "a.o", "-o", "prog"]),
}  # a table: a row for what belongs together  # fmt: skip


@pytest.fixture
def dumper(tmp_path):
    """A directory whose ld writes its arguments down."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "ld").write_text(f"#!/bin/sh\nprintf '%s\\0' \"$@\" > '{tmp_path}/argv'\n")
    (folder / "ld").chmod((folder / "ld").stat().st_mode | stat.S_IXUSR)
    return folder


@pytest.mark.parametrize(("driver", "arguments"), LINKS.values(), ids=LINKS.keys())
def test_real_link_lines_name_the_files_they_were_given(tmp_path, dumper, driver, arguments):
    """In what the compiler driver hands to ld exactly the objects, archives and scripts are files, and start files of the system."""
    require(driver, driver)
    for name in ("a.o", "lib.a", "v.map", "s.ld"):
        (tmp_path / name).write_text("")
    run(driver, f"-B{dumper}/", *arguments, cwd=tmp_path)
    argv = (tmp_path / "argv").read_bytes().decode().split("\0")[:-1]
    line = words(argv)
    files = [word.text for word in line if word.kind in ("input", "file") and not word.text.startswith("/")]
    given = [
        name for argument in arguments for name in re.findall(r"(?<![\w-])(?:a\.o|lib\.a|v\.map|s\.ld)(?!\w)", argument)
    ]
    starts = [word.text for word in line if word.kind == "input" and word.text.startswith("/")]

    assert files == given
    assert all(re.search(r"/(?:crt\w*|S?crt1|gcrt1)\.o$", path) for path in starts)
    assert output(argv) == arguments[arguments.index("-o") + 1]
    assert not [word for word in replayable(line, keep_symbols=True) if "lto" in word.text]


@pytest.mark.parametrize(
    ("path", "directory", "relative"),
    [
        ("/a/b", "/a", "b"),
        ("/a/b/c", "/a/", "b/c"),
        ("/a", "/a", "."),
        ("/ab", "/a", None),
        ("/b", "/a", None),
        ("/a", "/", "a"),
        ("/a b/$c", "/a b", "$c"),
    ],
)
def test_inside(path, directory, relative):
    """A path lies in a directory if a whole component of it says so."""
    assert inside(path, directory) == relative


@pytest.mark.parametrize(
    ("path", "cwd", "full"),
    [
        ("a.o", "/b", "/b/a.o"),
        ("../a.o", "/b/c", "/b/a.o"),
        ("/a//b/./c", "/x", "/a/b/c"),
        ("//a", "/", "/a"),
        ("", "/b", "/b"),
        ("../../../a", "/b", "/a"),
        ("a\nb", "/", "/a\nb"),
    ],
)
def test_absolute(path, cwd, full):
    """Relative paths are resolved by name alone."""
    assert absolute(path, cwd) == full


def test_response_files_are_not_looked_into():
    """A response file must have been expanded before; here it is an input."""
    assert linkline.words(["@args"])[0].kind == "input"


@pytest.mark.parametrize(
    ("argv", "root", "directories"),
    [
        (["-L=/lib", "--sysroot=/opt/x/"], "/opt/x", ["/opt/x/lib"]),
        (["--sysroot", "/a", "--sysroot=/b", "-rpath-link", "=/l:/m"], "/b", ["/b/l", "/m"]),
        (["--sysroot=/", "-L=/lib"], "", ["/lib"]),
        (["-L$SYSROOT/lib"], "", ["/lib"]),
    ],
)
def test_directories_of_a_sysroot_are_those_below_it(argv, root, directories):
    line = linkline.words(argv)
    assert linkline.sysroot(line) == root
    assert [word.text for word in line if word.kind == "directory"] == directories
    assert all(word.option != "sysroot" for word in linkline.without_sysroot(line))
