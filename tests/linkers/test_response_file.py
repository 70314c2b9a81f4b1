"""Response files: expanded as the compiler driver and the linkers expand them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildkit import linker, run
from layoutrand.linkers import response_file
from layoutrand.linkers.response_file import expand, named_files, split
from workshop import require

TEXTS = {
    "nothing": (b"", []),
    "blanks only": (b" \t\r\n\v\f ", []),
    "one": (b"a.o", [b"a.o"]),
    "many, all kinds of blanks": (b"a\tb\nc\rd\ve\ff  g\n", [b"a", b"b", b"c", b"d", b"e", b"f", b"g"]),
    "single quotes": (b"'a b' c", [b"a b", b"c"]),
    "double quotes": (b'"a b" c', [b"a b", b"c"]),
    "quotes inside a word": (b"a'b c'd", [b"ab cd"]),
    "one kind of quotes inside the other": (b'"it\'s" \'say "x"\'', [b"it's", b'say "x"']),
    "empty in quotes": (b"a '' \"\" b", [b"a", b"", b"", b"b"]),
    "escaped blank": (b"a\\ b c", [b"a b", b"c"]),
    "escaped quote": (b"a\\'b \\\"c", [b"a'b", b'"c']),
    "escaped backslash": (b"a\\\\b", [b"a\\b"]),
    "escaped letter": (b"\\a\\n", [b"an"]),
    "escaped newline": (b"a\\\nb", [b"a\nb"]),
    "escape in double quotes": (b'"a\\"b"', [b'a"b']),
    "newline in quotes": (b"'a\nb'", [b"a\nb"]),
    "dollar and glob characters": (b"$HOME * ? [a] `x`", [b"$HOME", b"*", b"?", b"[a]", b"`x`"]),
    "hash is no comment": (b"a # b", [b"a", b"#", b"b"]),
    "bytes that are not UTF-8": (b"caf\xe9.o \xff", [b"caf\xe9.o", b"\xff"]),
    "quote left open": (b"'a b", [b"a b"]),
}


@pytest.mark.parametrize(("text", "expected"), TEXTS.values(), ids=TEXTS.keys())
def test_split(text, expected):
    """Blanks separate, quotes group, a backslash takes the next byte as it is."""
    assert split(text) == expected


# What gcc 14 and binutils 2.44 say to this; the words of drivers have it only where a file's name has a newline.
NEWER = {b"a\\\nb": [b"ab"]}
# gcc 14 leaves newlines out of what it says.
SAID = {**NEWER, b"'a\nb'": [b"ab"]}


def missing_files(program, folder, text):
    """The files that a program asked to read the response file says it cannot find."""
    (folder / "args").write_bytes(text)
    done = subprocess.run([program, "@args"], cwd=folder, capture_output=True, env={**os.environ, "LC_ALL": "C"})
    return re.findall(rb"(?:gcc: error: |cannot find |cannot open )(.*?): No such file", done.stderr, re.DOTALL)


@pytest.mark.parametrize(("text", "expected"), TEXTS.values(), ids=TEXTS.keys())
def test_the_compiler_driver_splits_alike(tmp_path, text, expected):
    """gcc, given the same file, looks for the same files as inputs."""
    require("gcc", "gcc")

    assert missing_files("gcc", tmp_path, text) in (expected, SAID.get(text))


def _quoted(word):
    """The word as libiberty's writeargv puts it into a response file."""
    return re.sub(rb"([\s\\'\"])", rb"\\\1", word) or b"''"


@given(st.lists(st.binary(max_size=12).filter(lambda word: b"\0" not in word), max_size=8))
def test_what_the_driver_writes_is_read_back(words):
    """Every list of arguments survives the way in which gcc writes response files for its linker."""
    assert split(b"\n".join(map(_quoted, words))) == words


@pytest.mark.parametrize("kind", ["bfd", "lld"])
@pytest.mark.parametrize(("text", "expected"), TEXTS.values(), ids=TEXTS.keys())
def test_the_linker_splits_alike(tmp_path, kind, text, expected):
    """ld and lld, given the same file, look for the same files as inputs."""
    text = text.replace(b"\v", b" ").replace(b"\f", b" ")  # lld takes these two for letters; nobody writes them
    found = missing_files(linker(kind), tmp_path, text)

    said = sorted({word for word in found if word})
    assert said in (sorted({word for word in expected if word}), NEWER.get(text))


def test_nested_files_are_expanded(tmp_path):
    """A response file may name others, in place of its own words."""
    (tmp_path / "inner").write_bytes(b"b 'c d'")
    (tmp_path / "outer").write_bytes(b"a @%s e" % os.fsencode(tmp_path / "inner"))

    assert expand([b"x", b"@%s" % os.fsencode(tmp_path / "outer"), b"y"]) == [b"x", b"a", b"b", b"c d", b"e", b"y"]


def test_an_unreadable_file_stays_a_word(tmp_path):
    """As in gcc, an argument that begins with @ and names no file is itself."""
    assert expand([b"@/nonexistent/file", b"@", b"@%s" % os.fsencode(tmp_path)]) == [
        b"@/nonexistent/file",
        b"@",
        b"@%s" % os.fsencode(tmp_path),
    ]


def test_a_file_that_names_itself_ends(tmp_path, monkeypatch):
    """Endless nesting ends at a fixed depth instead of never."""
    monkeypatch.chdir(tmp_path)
    Path("loop").write_bytes(b"a @loop")

    assert expand([b"@loop"]) == [b"a"] * 64 + [b"@loop"]


def test_named_files_are_inputs_and_files_of_options(tmp_path, monkeypatch):
    """Regular files count, by themselves or behind an option's equals sign; the output and directories do not."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.o", "v.map", "out", "b c.o", "-x=y"):
        Path(name).write_bytes(b"")
    Path("dir").mkdir()
    arguments = [
        b"-o",
        b"out",
        b"a.o",
        b"b c.o",
        b"--version-script=v.map",
        b"-Ldir",
        b"dir",
        b"missing.o",
        b"--output=out",
        b"-x=y",
    ]

    assert named_files(arguments, (b"/own/",), (b"/usr/",)) == [b"a.o", b"b c.o", b"v.map"]


def test_files_of_the_system_are_left_out_unless_they_are_ours(tmp_path):
    """Below a system directory only what lies in the build's own directories is kept."""
    system = tmp_path / "usr"
    (system / "build").mkdir(parents=True)
    for path in (system / "crt1.o", system / "build" / "a.o"):
        path.write_bytes(b"")
    arguments = [os.fsencode(system / "crt1.o"), os.fsencode(system / "build" / "a.o")]

    assert named_files(arguments, (os.fsencode(system) + b"/build/",), (os.fsencode(system) + b"/",)) == arguments[1:]


def test_as_a_program_it_writes_what_the_wrapper_reads(tmp_path):
    """Started by its path with nothing but the interpreter, it writes arguments and files, NUL after each."""
    (tmp_path / "record").mkdir()
    (tmp_path / "a b.o").write_bytes(b"")
    (tmp_path / "args").write_bytes(b"'a b.o' -lm \xff")
    run(
        sys.executable,
        "-I",
        "-S",
        response_file.__file__,
        "record",
        tmp_path,
        tmp_path / "tmp",
        "/usr/:/lib/",
        "-o",
        "prog",
        "@args",
        cwd=tmp_path,
    )

    assert (tmp_path / "record" / "argv").read_bytes() == b"-o\0prog\0a b.o\0-lm\0\xff\0"
    assert (tmp_path / "record" / "inputs").read_bytes() == b"a b.o\0"


def test_a_file_that_names_itself_twice_has_an_end(tmp_path, monkeypatch):
    """As many files as libiberty opens, and the rest stays as it is."""
    monkeypatch.chdir(tmp_path)
    Path("args").write_bytes(b"@args @args")

    assert set(expand([b"@args"])) == {b"@args"}


def test_a_name_with_a_nul_stays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("args").write_bytes(b"@a\0b x")

    assert expand([b"@args"]) == [b"@a\0b", b"x"]
